//! Descriptions of buffers.

use heapwright_core::ByteSize;
use heapwright_d3d12::*;

use super::{AlignmentRequest, alignment};
use crate::ddi::DriverCaps;
use crate::rules::{Options, Refusal, under};

/// Flags that a buffer may have.
///
/// The reference of `D3D12_RESOURCE_FLAGS` forbids only ALLOW_DEPTH_STENCIL and ALLOW_SIMULTANEOUS_ACCESS for buffers:
/// render target views of buffers exist (`D3D12_BUFFER_RTV`). According to the reference, DENY_SHADER_RESOURCE requires
/// ALLOW_DEPTH_STENCIL. Windows enforces that for textures only, and readback buffers of many programs have the flag.
const FLAGS: D3D12_RESOURCE_FLAGS = D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET
    | D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS
    | D3D12_RESOURCE_FLAG_DENY_SHADER_RESOURCE
    | D3D12_RESOURCE_FLAG_ALLOW_CROSS_ADAPTER
    | D3D12_RESOURCE_FLAG_RAYTRACING_ACCELERATION_STRUCTURE
    | D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT;

/// A valid buffer description, in the driver's terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Buffer {
    /// Width in bytes; never zero.
    pub(crate) width: ByteSize,
    /// The alignment that the description requests.
    pub(crate) alignment: AlignmentRequest,
    /// Whether `D3D12_RESOURCE_FLAG_ALLOW_CROSS_ADAPTER` is set.
    pub(crate) cross_adapter: bool,
    /// Whether `D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET` or `ALLOW_UNORDERED_ACCESS` is set.
    pub(crate) gpu_writes: bool,
}

pub(super) fn check(
    desc: &D3D12_RESOURCE_DESC1,
    castable_formats: &[DXGI_FORMAT],
    caps: &DriverCaps,
    options: &Options,
) -> Result<Buffer, Refusal> {
    // A buffer has no format and casts only to `DXGI_FORMAT_UNKNOWN` (vkd3d-proton's
    // test_enhanced_barrier_castable_formats_validation).
    if let Some(index) = castable_formats.iter().position(|&castable| castable != DXGI_FORMAT_UNKNOWN) {
        return Err(Refusal::invalid(format!(
            "pCastableFormats[{index}] {} must be DXGI_FORMAT_UNKNOWN for a buffer",
            castable_formats[index]
        )));
    }
    if desc.Width == 0 {
        return Err(Refusal::invalid("D3D12_RESOURCE_DESC::Width of a buffer must not be 0")
            .with_id(D3D12_MESSAGE_ID_CREATERESOURCE_INVALIDDIMENSIONS));
    }
    if desc.Width > 1 << caps.gpu_va_bits_per_resource {
        return Err(Refusal::invalid(format!(
            "D3D12_RESOURCE_DESC::Width {:#x} of a buffer exceeds the GPU virtual address space of a resource, {} bits",
            desc.Width, caps.gpu_va_bits_per_resource
        ))
        .with_id(D3D12_MESSAGE_ID_CREATERESOURCE_INVALIDDIMENSIONS));
    }
    let fixed_fields: [(&str, bool, &str, D3D12_MESSAGE_ID); 7] = [
        ("Height", desc.Height == 1, "1", D3D12_MESSAGE_ID_CREATERESOURCE_INVALIDDIMENSIONS),
        (
            "DepthOrArraySize",
            desc.DepthOrArraySize == 1,
            "1",
            D3D12_MESSAGE_ID_CREATERESOURCE_INVALIDDIMENSIONS,
        ),
        ("MipLevels", desc.MipLevels == 1, "1", D3D12_MESSAGE_ID_CREATERESOURCE_INVALIDMIPLEVELS),
        (
            "Format",
            desc.Format == DXGI_FORMAT_UNKNOWN,
            "DXGI_FORMAT_UNKNOWN",
            D3D12_MESSAGE_ID_CREATERESOURCE_INVALIDFORMAT,
        ),
        (
            "SampleDesc.Count",
            desc.SampleDesc.Count == 1,
            "1",
            D3D12_MESSAGE_ID_CREATERESOURCE_INVALIDSAMPLEDESC,
        ),
        (
            "SampleDesc.Quality",
            desc.SampleDesc.Quality == 0,
            "0",
            D3D12_MESSAGE_ID_CREATERESOURCE_INVALIDSAMPLEDESC,
        ),
        (
            "Layout",
            desc.Layout == D3D12_TEXTURE_LAYOUT_ROW_MAJOR,
            "D3D12_TEXTURE_LAYOUT_ROW_MAJOR",
            D3D12_MESSAGE_ID_CREATERESOURCE_INVALIDLAYOUT,
        ),
    ];
    for (field, is_valid, rule, id) in fixed_fields {
        if !is_valid {
            let message = format!("a buffer's D3D12_RESOURCE_DESC::{field} must be {rule}");
            return Err(Refusal::invalid(message).with_id(id));
        }
    }
    if desc.SamplerFeedbackMipRegion != D3D12_MIP_REGION::default() {
        return Err(Refusal::invalid("a buffer's SamplerFeedbackMipRegion must be zero"));
    }
    if desc.Flags & !FLAGS != 0 {
        return Err(Refusal::invalid(format!(
            "a buffer cannot have resource flags {:#x}",
            desc.Flags & !FLAGS
        ))
        .with_id(D3D12_MESSAGE_ID_CREATERESOURCE_INVALIDMISCFLAGS));
    }
    if desc.Flags & D3D12_RESOURCE_FLAG_RAYTRACING_ACCELERATION_STRUCTURE != 0
        && desc.Flags & D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS == 0
    {
        return Err(Refusal::invalid("RAYTRACING_ACCELERATION_STRUCTURE needs ALLOW_UNORDERED_ACCESS")
            .with_id(D3D12_MESSAGE_ID_CREATERESOURCE_INVALIDMISCFLAGS));
    }
    let alignment = alignment::check_buffer(desc, caps, options)
        .map_err(under(D3D12_MESSAGE_ID_CREATERESOURCE_INVALIDALIGNMENT))?;
    Ok(Buffer {
        width: ByteSize::new(desc.Width),
        alignment,
        cross_adapter: desc.Flags & D3D12_RESOURCE_FLAG_ALLOW_CROSS_ADAPTER != 0,
        gpu_writes: desc.Flags
            & (D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET | D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS)
            != 0,
    })
}
