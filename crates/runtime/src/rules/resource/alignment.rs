//! The `Alignment` field and its combination with the tight alignment flag (tight alignment specification,
//! *Validation*).

use heapwright_core::Alignment;
use heapwright_d3d12::*;

use super::AlignmentRequest;
use crate::ddi::{DriverCaps, TextureArgs};
use crate::rules::{Options, Refusal, SdkVersion};

const DEFAULT: Alignment = constant(D3D12_DEFAULT_RESOURCE_PLACEMENT_ALIGNMENT.cast_unsigned() as u64);

/// The smallest alignment of a placed resource that a description may ask for beside the tight alignment flag.
const TIGHT_MINIMUM: Alignment =
    constant(D3D12_TIGHT_ALIGNMENT_MIN_PLACED_RESOURCE_ALIGNMENT.cast_unsigned() as u64);

/// The largest tight alignment of a buffer.
const TIGHT_BUFFER_MAXIMUM: Alignment = constant(256);

const fn constant(bytes: u64) -> Alignment {
    match Alignment::new(bytes) {
        Some(alignment) => alignment,
        None => panic!("not a power of two"),
    }
}

/// Checks the alignment of a buffer's description.
pub(super) fn check_buffer(
    desc: &D3D12_RESOURCE_DESC1,
    caps: &DriverCaps,
    options: &Options,
) -> Result<AlignmentRequest, Refusal> {
    if check_tight(desc, TIGHT_BUFFER_MAXIMUM, caps, options)? {
        return Ok(AlignmentRequest::Tight);
    }
    match desc.Alignment {
        // If the tight alignment flag is overruled, a floor has no effect: the alignment is 64 KiB in any case.
        0 => Ok(AlignmentRequest::Fixed(DEFAULT)),
        bytes if bytes == DEFAULT.get() => Ok(AlignmentRequest::Fixed(DEFAULT)),
        other => Err(Refusal::invalid(format!(
            "D3D12_RESOURCE_DESC::Alignment {other:#x} of a buffer must be 0 or 64 KiB"
        ))),
    }
}

/// Checks the alignment of a texture's description.
pub(super) fn check_texture(
    desc: &D3D12_RESOURCE_DESC1,
    texture: &TextureArgs,
    caps: &DriverCaps,
    options: &Options,
) -> Result<AlignmentRequest, Refusal> {
    let is_tight = desc.Flags & D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT != 0;
    if is_tight && texture.layout.is_tiled() {
        return Err(Refusal::invalid(
            "D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT cannot be combined with the 64KB_*_SWIZZLE layouts, whose \
             alignment is 64 KiB",
        ));
    }
    if check_tight(desc, texture.largest_tight_alignment(), caps, options)? {
        return Ok(AlignmentRequest::Tight);
    }
    let default = texture.default_alignment();
    let small = texture.small_alignment();
    let fixed = match desc.Alignment {
        0 => default,
        bytes if bytes == default.get() => default,
        bytes if bytes == small.get() => {
            if !texture.is_small() {
                return Err(Refusal::invalid(format!(
                    "D3D12_RESOURCE_DESC::Alignment {bytes:#x} is only valid for a small resource: layout UNKNOWN, \
                     not a render target or depth-stencil unless multisampled, and a most detailed mip level of at \
                     most {:#x} bytes in tiles of {bytes:#x} bytes",
                    default.get()
                ))
                .with_id(D3D12_MESSAGE_ID_CREATERESOURCE_INVALIDALIGNMENT_SMALLRESOURCE));
            }
            small
        }
        other => {
            return Err(Refusal::invalid(format!(
                "D3D12_RESOURCE_DESC::Alignment {other:#x} of a texture must be 0, {:#x} or, for a small resource, \
                 {:#x}",
                default.get(),
                small.get()
            )));
        }
    };
    Ok(AlignmentRequest::Fixed(fixed))
}

/// Returns whether the resource is tightly aligned: the flag is set and not overruled.
///
/// From SDK 1.619.4 on, a non-zero `Alignment` beside the flag is valid within the tables of the tight alignment
/// specification, from their minimum on. The specification calls it a floor, but Windows returns the alignments and
/// descriptions that it returns without one (vkd3d-proton, pull request 3308), and so does this runtime.
fn check_tight(
    desc: &D3D12_RESOURCE_DESC1,
    largest: Alignment,
    caps: &DriverCaps,
    options: &Options,
) -> Result<bool, Refusal> {
    if desc.Flags & D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT == 0 {
        return Ok(false);
    }
    if !caps.has_tight_alignment() {
        return Err(Refusal::invalid(
            "D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT is not supported: the device's tight alignment tier is \
             NOT_SUPPORTED",
        ));
    }
    // If ALLOW_CROSS_ADAPTER overrules the flag, `notices` warns the application. A floor has no effect on either.
    let is_tight = desc.Flags & D3D12_RESOURCE_FLAG_ALLOW_CROSS_ADAPTER == 0;
    if desc.Alignment == 0 {
        return Ok(is_tight);
    }
    if options.sdk < SdkVersion::ALIGNMENT_FLOOR {
        return Err(Refusal::invalid(format!(
            "D3D12_RESOURCE_DESC::Alignment {:#x} must be 0 with D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT before SDK \
             1.619.4",
            desc.Alignment
        )));
    }
    if !is_tight {
        return Ok(false);
    }
    match Alignment::new(desc.Alignment) {
        Some(floor) if (TIGHT_MINIMUM..=largest).contains(&floor) => Ok(true),
        _ => Err(Refusal::invalid(format!(
            "D3D12_RESOURCE_DESC::Alignment {:#x} must be a power of two from {:#x} to {:#x} with \
             D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT",
            desc.Alignment,
            TIGHT_MINIMUM.get(),
            largest.get()
        ))),
    }
}
