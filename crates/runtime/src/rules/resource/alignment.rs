//! The `Alignment` field and its combination with the tight alignment flag (tight alignment specification,
//! *Validation*).

use heapwright_core::Alignment;
use heapwright_d3d12::*;

use super::AlignmentRequest;
use crate::ddi::{DriverCaps, TextureArgs};
use crate::rules::{Options, Refusal};

const DEFAULT: Alignment = constant(D3D12_DEFAULT_RESOURCE_PLACEMENT_ALIGNMENT.cast_unsigned() as u64);

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
    if let Some(floor) = check_tight(desc, TIGHT_BUFFER_MAXIMUM, caps, options)? {
        return Ok(AlignmentRequest::Tight { floor });
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
    if let Some(floor) = check_tight(desc, texture.largest_tight_alignment(), caps, options)? {
        return Ok(AlignmentRequest::Tight { floor });
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

/// Returns the floor of a tightly aligned resource, or `None` if the flag is not set or is overruled.
fn check_tight(
    desc: &D3D12_RESOURCE_DESC1,
    largest: Alignment,
    caps: &DriverCaps,
    options: &Options,
) -> Result<Option<Alignment>, Refusal> {
    if desc.Flags & D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT == 0 {
        return Ok(None);
    }
    if !caps.has_tight_alignment() {
        return Err(Refusal::invalid(
            "D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT is not supported: the device's tight alignment tier is \
             NOT_SUPPORTED",
        ));
    }
    if desc.Alignment != 0 && !options.alignment_is_floor {
        return Err(Refusal::invalid(format!(
            "D3D12_RESOURCE_DESC::Alignment {:#x} must be 0 with D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT",
            desc.Alignment
        )));
    }
    if desc.Flags & D3D12_RESOURCE_FLAG_ALLOW_CROSS_ADAPTER != 0 {
        // The flag is overruled; `notices` warns the application.
        return Ok(None);
    }
    if desc.Alignment == 0 {
        return Ok(Some(Alignment::ONE));
    }
    let floor = Alignment::new(desc.Alignment).filter(|&floor| floor <= largest);
    floor.map(Some).ok_or_else(|| {
        Refusal::invalid(format!(
            "D3D12_RESOURCE_DESC::Alignment {:#x} must be a power of two of at most {:#x} with \
             D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT",
            desc.Alignment,
            largest.get()
        ))
    })
}
