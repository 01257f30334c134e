//! The description that a resource is created with, and the memory that it needs.

use heapwright_core::{Alignment, ByteSize};
use heapwright_d3d12::*;

use super::alignment::{
    BufferUses, DEFAULT_ALIGNMENT, d3d12_alignment, default_alignment, least_alignment, small_alignment,
};
use super::{description, standard_tiles};
use crate::caps::{COMMITTED_MINIMUM, has_fixed_alignment};
use crate::desc::ResourceDesc;
use crate::{AlignmentWithTight, DeviceCaps, Error};

/// Options for all resources of an allocator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RequirementsOptions {
    /// Whether resources are tightly aligned where that is legal. If not, only those whose description has the flag.
    pub(crate) tight_alignment: bool,
    /// Flags that are added to every resource.
    pub(crate) extra_required_resource_flags: D3D12_RESOURCE_FLAGS,
}

impl Default for RequirementsOptions {
    fn default() -> Self {
        Self { tight_alignment: true, extra_required_resource_flags: D3D12_RESOURCE_FLAG_NONE }
    }
}

/// How a resource gets its memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Creation {
    /// At an offset of a heap that it may share.
    Placed,
    /// With an implicit heap of its own.
    Committed,
}

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

/// Returns the description with the flags and the width that do not depend on the device, and all its uses.
#[inline]
fn effective(
    resource: &ResourceDesc<'_>,
    uses: BufferUses,
    caps: &DeviceCaps,
    options: &RequirementsOptions,
) -> Result<(D3D12_RESOURCE_DESC, BufferUses), Error> {
    let mut desc = resource.desc;
    desc.Flags |= options.extra_required_resource_flags;
    description::check(&desc, resource, caps)?;
    if desc.Dimension != D3D12_RESOURCE_DIMENSION_BUFFER {
        if !uses.is_empty() {
            return Err(Error::invalid_argument("BufferUses", "must be empty for a texture"));
        }
        return Ok((desc, BufferUses::empty()));
    }
    if !resource.castable_formats.is_empty() {
        return Err(Error::invalid_argument("castable formats", "must be empty for a buffer"));
    }
    let uses = uses.with_flags(desc.Flags);
    let largest = caps.max_resource_size();
    let width = uses.width(ByteSize::new(desc.Width)).filter(|&width| width <= largest);
    desc.Width = width
        .ok_or_else(|| {
            let width = ByteSize::new(desc.Width);
            Error::too_large(
                "D3D12_RESOURCE_DESC::Width",
                format!("{width} exceeds the maximum resource size of {largest}"),
            )
        })?
        .get();
    Ok((desc, uses))
}

/// Returns the requirements of a resource on a device with `caps`, or `None` if the device finds the description
/// invalid.
///
/// `ask` is `GetResourceAllocationInfo` for one description; it returns `None` if the device finds it invalid. It is
/// called
///
/// * not at all for a well-formed buffer without tight alignment,
/// * twice for a placed texture without tight alignment that may be small but is not, if the device has small textures
///   of its kind,
/// * once for everything else.
///
/// A committed texture without tight alignment is never created as a small one: its heap is a multiple of 64 KiB, or 4
/// MiB if it is multisampled, whatever the alignment within it, so its reported size would be wrong.
///
/// # Errors
///
/// Invalid argument, with the field: the description is valid on no device, `Alignment` is not a power of two or too
/// large, or uses and castable formats belong to the other kind of resource. Out of memory: the buffer is larger than
/// the device can address. Unsupported: the description has the tight alignment flag, and the device does not support
/// it. Any error of `ask`.
#[inline]
pub(crate) fn requirements(
    resource: &ResourceDesc<'_>,
    uses: BufferUses,
    creation: Creation,
    caps: &DeviceCaps,
    options: &RequirementsOptions,
    mut ask: impl FnMut(&D3D12_RESOURCE_DESC) -> Result<Option<(ByteSize, Alignment)>, Error>,
) -> Result<Option<ResourceRequirements>, Error> {
    let (desc, uses) = effective(resource, uses, caps, options)?;
    let floor = least_alignment(&desc, uses)?;
    let with = |desc: D3D12_RESOURCE_DESC, (size, alignment): (ByteSize, Alignment)| {
        let own = Alignment::new(desc.Alignment).unwrap_or(Alignment::ONE);
        let alignment = alignment.max(own).max(floor);
        // Not more than 64 bits, of which the device returns none.
        Ok(size.align_up(alignment).map(|size| ResourceRequirements { desc, size, alignment }))
    };
    let flags = desc.Flags & !D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT;
    let tight = tight_alignment(&desc, floor, creation, caps, options.tight_alignment)?;
    if let TightAlignment::On { alignment } = tight {
        let tight = D3D12_RESOURCE_DESC {
            Alignment: alignment,
            Flags: flags | D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT,
            ..desc
        };
        let Some((size, reported)) = ask(&tight)? else { return Ok(None) };
        // The device is asked about placed resources; a heap of its own is aligned to pages.
        let least = if creation == Creation::Committed { COMMITTED_MINIMUM } else { Alignment::ONE };
        return with(tight, (size, reported.max(least)));
    }
    let default = D3D12_RESOURCE_DESC { Alignment: 0, Flags: flags, ..desc };
    let is_opaque = resource.has_mip_region();
    if let Some(known) = known_buffer(&default).filter(|_| !is_opaque) {
        return with(default, known);
    }
    let small = small_alignment(&desc);
    let is_placed = creation == Creation::Placed;
    let is_allowed = desc.SampleDesc.Count <= 1 || caps.small_multisampled_textures;
    if is_placed && is_allowed && floor <= small && may_be_small(&default, is_opaque) {
        let asked = D3D12_RESOURCE_DESC { Alignment: small.get(), ..default };
        // If the texture is not small, the device returns the default alignment, or that the description is invalid.
        if let Some(found) = ask(&asked)?.filter(|&(_, alignment)| alignment <= small) {
            return with(asked, found);
        }
    }
    match ask(&default)? {
        Some(found) => with(default, found),
        None => Ok(None),
    }
}

/// Returns the requirements of a buffer without tight alignment: D3D12 documents that it is aligned to 64 KiB and has
/// the smallest multiple of 64 KiB that holds its width (Microsoft's tight alignment specification, FAQ, *Can this be
/// the default behavior?*).
///
/// `None` for a description that the device must see: one that is not a buffer, is not well-formed, or has flags for
/// which the documentation says more. With tight alignment nothing is known: the driver chooses between 8 and 256
/// bytes, and may choose by width and flags.
#[inline]
pub(super) fn known_buffer(desc: &D3D12_RESOURCE_DESC) -> Option<(ByteSize, Alignment)> {
    const PLAIN_FLAGS: D3D12_RESOURCE_FLAGS = D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS;
    let D3D12_RESOURCE_DESC { Width, Flags, .. } = *desc;
    let well_formed = D3D12_RESOURCE_DESC {
        Dimension: D3D12_RESOURCE_DIMENSION_BUFFER,
        Alignment: 0,
        Width,
        Height: 1,
        DepthOrArraySize: 1,
        MipLevels: 1,
        Format: DXGI_FORMAT_UNKNOWN,
        SampleDesc: DXGI_SAMPLE_DESC { Count: 1, Quality: 0 },
        Layout: D3D12_TEXTURE_LAYOUT_ROW_MAJOR,
        Flags: Flags & PLAIN_FLAGS,
    };
    if *desc != well_formed || Width == 0 {
        return None;
    }
    Some((ByteSize::new(Width).align_up(DEFAULT_ALIGNMENT)?, DEFAULT_ALIGNMENT))
}

/// Checks whether the device could find a texture small if it is queried with the small alignment.
///
/// The device decides by the most detailed mip level, which may take 64 KiB in tiles of 4 KiB, or, if it is
/// multisampled, 4 MiB in tiles of 64 KiB ([`standard_tiles`]). A query in vain causes an error message of the debug
/// layer, so only formats whose blocks are not known here may be queried in vain. Those have texels of at least half a
/// byte; sampler feedback is opaque.
fn may_be_small(desc: &D3D12_RESOURCE_DESC, is_opaque: bool) -> bool {
    let target = D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET | D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL;
    let is_texture = desc.Dimension != D3D12_RESOURCE_DIMENSION_BUFFER;
    let is_plain = desc.Flags & target == 0 || desc.SampleDesc.Count > 1;
    let is_free = desc.Layout == D3D12_TEXTURE_LAYOUT_UNKNOWN
        && desc.Flags & D3D12_RESOURCE_FLAG_ALLOW_CROSS_ADAPTER == 0;
    is_texture && is_plain && is_free && (is_opaque || fits_small(desc))
}

fn fits_small(desc: &D3D12_RESOURCE_DESC) -> bool {
    let most = default_alignment(desc).get();
    if let Some(tiles) = standard_tiles::over_most_detailed_mip(desc) {
        return tiles.saturating_mul(small_alignment(desc).get()) <= most;
    }
    let depth = match desc.Dimension {
        D3D12_RESOURCE_DIMENSION_TEXTURE3D => u64::from(desc.DepthOrArraySize),
        _ => 1,
    };
    let samples = u64::from(desc.SampleDesc.Count.max(1));
    let factors = [desc.Width, u64::from(desc.Height), depth, samples];
    let texels = factors.into_iter().fold(1, u64::saturating_mul);
    texels <= most.saturating_mul(2)
}

/// The smallest tight alignment of a placed resource. Devices refuse a smaller one in a description.
const PLACED_MINIMUM: Alignment = d3d12_alignment(D3D12_TIGHT_ALIGNMENT_MIN_PLACED_RESOURCE_ALIGNMENT);

/// The largest alignment of a placed buffer with tight alignment.
const BUFFER_MAXIMUM: Alignment = d3d12_alignment(256);

/// The decision for a description.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TightAlignment {
    /// Without the flag.
    Off,
    /// With the flag, and this value in `D3D12_RESOURCE_DESC::Alignment`.
    On { alignment: u64 },
}

/// Decides whether a resource is tightly aligned. `by_default` applies to a description without the flag.
///
/// | | |
/// |---|---|
/// | the device has no tier | no; an error if the description requests it |
/// | 64 KiB swizzle layouts, layout GUIDs | no; an error if the description requests it |
/// | `ALLOW_CROSS_ADAPTER` | no: it would have no effect but a warning |
/// | a committed resource with a floor above 4 KiB | no: without it, the alignment is at least the floor on every SDK |
/// | [`AlignmentWithTight::Invalid`] | yes, `Alignment` 0; placement honours the floor |
/// | [`AlignmentWithTight::Floor`] | yes, and the floor is passed to the driver where that is certainly legal |
///
/// Floors above the maximum of *small* textures are not passed, because only the device knows which textures are small.
/// Floors that the device satisfies anyway are not passed either. A device may ignore a floor in
/// `GetResourceAllocationInfo` and in creation, as Windows does; placement honours it in any case.
#[inline]
fn tight_alignment(
    desc: &D3D12_RESOURCE_DESC,
    floor: Alignment,
    creation: Creation,
    caps: &DeviceCaps,
    by_default: bool,
) -> Result<TightAlignment, Error> {
    let is_asked = desc.Flags & D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT != 0;
    let has_fixed_layout = has_fixed_alignment(desc.Layout);
    if is_asked && caps.tight_alignment_tier == 0 {
        return Err(Error::unsupported(
            "D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT (requires tight alignment tier 1)",
        ));
    }
    if is_asked && has_fixed_layout {
        return Err(Error::invalid_argument(
            "D3D12_RESOURCE_DESC::Flags",
            "USE_TIGHT_ALIGNMENT cannot be combined with the 64KB_*_SWIZZLE layouts and those of a GUID",
        ));
    }
    let is_fixed = has_fixed_layout || desc.Flags & D3D12_RESOURCE_FLAG_ALLOW_CROSS_ADAPTER != 0;
    let is_too_high = creation == Creation::Committed && floor > COMMITTED_MINIMUM;
    if caps.tight_alignment_tier == 0 || is_fixed || is_too_high || !(is_asked || by_default) {
        return Ok(TightAlignment::Off);
    }
    Ok(TightAlignment::On { alignment: told_to_device(desc, floor, creation, caps) })
}

/// Returns the floor to pass to the device, or 0.
fn told_to_device(
    desc: &D3D12_RESOURCE_DESC,
    floor: Alignment,
    creation: Creation,
    caps: &DeviceCaps,
) -> u64 {
    let (least, most) = if desc.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER {
        (caps.buffer_alignment, BUFFER_MAXIMUM)
    } else {
        (PLACED_MINIMUM, small_alignment(desc))
    };
    // Committed resources are aligned to at least the largest possible floor.
    let is_of_use = creation == Creation::Placed && floor > least && floor <= most;
    match caps.alignment_beside_tight {
        AlignmentWithTight::Floor if is_of_use => floor.get(),
        AlignmentWithTight::Floor | AlignmentWithTight::Invalid => 0,
    }
}
