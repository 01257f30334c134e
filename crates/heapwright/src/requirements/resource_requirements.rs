//! The decision with which description a resource is created, and how much memory it needs.

use heapwright_core::{Alignment, ByteSize};
use heapwright_d3d12::*;

use super::tight_alignment::TightAlignment;
use super::{
    Creation, RequestedResource, RequirementsOptions, floor, standard_tiles, tight_alignment, without_asking,
};
use crate::caps::COMMITTED_MINIMUM;
use crate::{DeviceCaps, Error};

/// The description that a resource is created with, and the memory that it needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ResourceRequirements {
    /// The description to create it with. Its flags, width and `Alignment` may differ from the requested ones.
    pub(crate) desc: D3D12_RESOURCE_DESC,
    /// Size in bytes, a multiple of the alignment. The heap of a committed resource has the same size.
    pub(crate) size: ByteSize,
    /// Required alignment of the offset: the maximum of the reported and the requested alignment.
    pub(crate) alignment: Alignment,
}

/// Returns the requirements of a resource on a device with `caps`.
///
/// `ask` is `GetResourceAllocationInfo` for one description; it returns `None` if the device finds it invalid. It is
/// called
///
/// * not at all for a well-formed buffer without tight alignment,
/// * twice for a placed texture without tight alignment that may be small but is not,
/// * once for everything else.
///
/// A committed texture without tight alignment is never created as a small one: its heap is a multiple of 64 KiB, or 4
/// MiB if it is multisampled, whatever the alignment within it, so its reported size would be wrong.
///
/// # Errors
///
/// Invalid argument, with the field: the device finds the description invalid, `Alignment` is not a power of two or too
/// large, or uses and castable formats belong to the other kind of resource. Out of memory: the resource is larger than
/// the device can address. Unsupported: the description has the tight alignment flag, and the device does not support
/// it. Any error of `ask`.
#[inline]
pub(crate) fn requirements(
    requested: &RequestedResource<'_>,
    creation: Creation,
    caps: &DeviceCaps,
    options: &RequirementsOptions,
    mut ask: impl FnMut(&D3D12_RESOURCE_DESC) -> Result<Option<(ByteSize, Alignment)>, Error>,
) -> Result<ResourceRequirements, Error> {
    let (desc, uses) = requested.effective(caps, options)?;
    let floor = floor::of(&desc, uses)?;
    let with = |desc: D3D12_RESOURCE_DESC, (size, alignment): (ByteSize, Alignment)| {
        let own = Alignment::new(desc.Alignment).unwrap_or(Alignment::ONE);
        let alignment = alignment.max(own).max(floor);
        let size = size.align_up(alignment).ok_or_else(invalid)?;
        Ok(ResourceRequirements { desc, size, alignment })
    };
    let flags = desc.Flags & !D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT;
    let tight = tight_alignment::decide(&desc, floor, creation, caps, options.tight_alignment)?;
    if let TightAlignment::On { alignment } = tight {
        let tight = D3D12_RESOURCE_DESC {
            Alignment: alignment,
            Flags: flags | D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT,
            ..desc
        };
        let (size, reported) = ask(&tight)?.ok_or_else(|| refused(&desc, caps))?;
        // The device is asked about placed resources; a heap of its own is aligned to pages.
        let least = if creation == Creation::Committed { COMMITTED_MINIMUM } else { Alignment::ONE };
        return with(tight, (size, reported.max(least)));
    }
    let default = D3D12_RESOURCE_DESC { Alignment: 0, Flags: flags, ..desc };
    let is_opaque = requested.has_mip_region();
    if let Some(known) = without_asking::buffer(&default).filter(|_| !is_opaque) {
        return with(default, known);
    }
    let small = floor::small(&desc);
    let is_placed = creation == Creation::Placed;
    if is_placed && floor <= small && without_asking::may_be_small(&default, is_opaque) {
        let asked = D3D12_RESOURCE_DESC { Alignment: small.get(), ..default };
        // If the texture is not small, the device returns the default alignment, or that the description is invalid.
        if let Some(found) = ask(&asked)?.filter(|&(_, alignment)| alignment <= small) {
            return with(asked, found);
        }
    }
    with(default, ask(&default)?.ok_or_else(|| refused(&desc, caps))?)
}

/// Returns the reason why the device does not return a size: its result is the same for invalid and too large
/// resources.
fn refused(desc: &D3D12_RESOURCE_DESC, caps: &DeviceCaps) -> Error {
    let (least, largest) = (standard_tiles::least_bytes(desc), caps.max_resource_size());
    if desc.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER || least <= largest {
        return invalid();
    }
    Error::too_large(
        "D3D12_RESOURCE_DESC",
        format!("the texture needs at least {least}, which exceeds the maximum resource size of {largest}"),
    )
}

fn invalid() -> Error {
    Error::invalid_argument("D3D12_RESOURCE_DESC", "GetResourceAllocationInfo rejected the description")
}
