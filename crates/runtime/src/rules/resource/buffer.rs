//! Descriptions of buffers.

use heapwright_core::ByteSize;
use heapwright_d3d12::*;

use super::{AlignmentRequest, alignment, flags};
use crate::ddi::DriverCaps;
use crate::rules::{Options, Refusal, under};

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
    caps: &DriverCaps,
    options: &Options,
) -> Result<Buffer, Refusal> {
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
    flags::check_buffer(desc.Flags).map_err(under(D3D12_MESSAGE_ID_CREATERESOURCE_INVALIDMISCFLAGS))?;
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
