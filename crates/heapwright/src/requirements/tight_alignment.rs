//! Decides whether a resource gets the tight alignment flag, and which `Alignment` with it.

use heapwright_core::Alignment;
use heapwright_d3d12::*;

use super::buffer_uses::d3d12_alignment;
use super::{Creation, floor};
use crate::caps::COMMITTED_MINIMUM;
use crate::{AlignmentWithTight, DeviceCaps, Error};

/// The largest alignment of a placed buffer with tight alignment.
const BUFFER_MAXIMUM: Alignment = d3d12_alignment(256);

/// The decision for a description.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TightAlignment {
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
/// | 64 KiB swizzle layouts | no; an error if the description requests it |
/// | `ALLOW_CROSS_ADAPTER` | no: it would have no effect but a warning |
/// | a committed resource with a floor above 4 KiB | no: without it, the alignment is at least the floor on every SDK |
/// | [`AlignmentWithTight::Invalid`] | yes, `Alignment` 0; placement honours the floor |
/// | [`AlignmentWithTight::Floor`] | yes, and the floor is passed to the driver where that is certainly legal |
///
/// Floors above the maximum of *small* textures are not passed, because only the device knows which textures are small.
/// Floors of buffers that the device satisfies anyway are not passed either.
#[inline]
pub(super) fn decide(
    desc: &D3D12_RESOURCE_DESC,
    floor: Alignment,
    creation: Creation,
    caps: &DeviceCaps,
    by_default: bool,
) -> Result<TightAlignment, Error> {
    let is_asked = desc.Flags & D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT != 0;
    let has_fixed_layout =
        [D3D12_TEXTURE_LAYOUT_64KB_STANDARD_SWIZZLE, D3D12_TEXTURE_LAYOUT_64KB_UNDEFINED_SWIZZLE]
            .contains(&desc.Layout);
    if is_asked && caps.tight_alignment_tier == 0 {
        return Err(Error::unsupported(
            "D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT (requires tight alignment tier 1)",
        ));
    }
    if is_asked && has_fixed_layout {
        return Err(Error::invalid_argument(
            "D3D12_RESOURCE_DESC::Flags",
            "USE_TIGHT_ALIGNMENT cannot be combined with the 64KB_*_SWIZZLE layouts",
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
        (Alignment::ONE, floor::small(desc))
    };
    // Committed resources are aligned to at least the largest possible floor.
    let is_of_use = creation == Creation::Placed && floor > least && floor <= most;
    match caps.alignment_beside_tight {
        AlignmentWithTight::Floor if is_of_use => floor.get(),
        AlignmentWithTight::Floor | AlignmentWithTight::Invalid => 0,
    }
}
