//! Resource descriptions. Buffers so far; textures answer E_NOTIMPL.

use heapwright_core::ByteSize;
use heapwright_d3d12::*;

use super::{Notice, Notices, Refusal};
use crate::ddi::DriverCaps;

/// A valid buffer description, in the driver's terms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Buffer {
    /// Bytes, not zero.
    pub(crate) width: ByteSize,
    /// Asked for with `D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT` and not overruled by a cross-adapter flag.
    pub(crate) tight_alignment: bool,
    /// What the application should know about it.
    pub(crate) notices: Notices,
}

/// Flags that a buffer may carry.
const BUFFER_FLAGS: D3D12_RESOURCE_FLAGS = D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS
    | D3D12_RESOURCE_FLAG_ALLOW_CROSS_ADAPTER
    | D3D12_RESOURCE_FLAG_RAYTRACING_ACCELERATION_STRUCTURE
    | D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT;

const BUFFER_ALIGNMENT: u64 = D3D12_DEFAULT_RESOURCE_PLACEMENT_ALIGNMENT.cast_unsigned() as u64;

/// Checks a resource description.
pub(crate) fn check(desc: &D3D12_RESOURCE_DESC1, caps: &DriverCaps) -> Result<Buffer, Refusal> {
    match desc.Dimension {
        D3D12_RESOURCE_DIMENSION_BUFFER => check_buffer(desc, caps),
        D3D12_RESOURCE_DIMENSION_TEXTURE1D
        | D3D12_RESOURCE_DIMENSION_TEXTURE2D
        | D3D12_RESOURCE_DIMENSION_TEXTURE3D => Err(Refusal::not_implemented("textures")),
        other => Err(Refusal::invalid(format!("D3D12_RESOURCE_DESC::Dimension {other} is no dimension"))),
    }
}

fn check_buffer(desc: &D3D12_RESOURCE_DESC1, caps: &DriverCaps) -> Result<Buffer, Refusal> {
    if desc.Width == 0 {
        return Err(Refusal::invalid("a buffer has D3D12_RESOURCE_DESC::Width 0"));
    }
    if desc.Width > 1 << caps.gpu_va_bits_per_resource {
        return Err(Refusal::invalid(format!(
            "a buffer of {:#x} bytes is above the {} bits of GPU virtual address that a resource has",
            desc.Width, caps.gpu_va_bits_per_resource
        )));
    }
    let fixed_fields: [(&str, bool, &str); 7] = [
        ("Height", desc.Height == 1, "1"),
        ("DepthOrArraySize", desc.DepthOrArraySize == 1, "1"),
        ("MipLevels", desc.MipLevels == 1, "1"),
        ("Format", desc.Format == DXGI_FORMAT_UNKNOWN, "DXGI_FORMAT_UNKNOWN"),
        ("SampleDesc.Count", desc.SampleDesc.Count == 1, "1"),
        ("SampleDesc.Quality", desc.SampleDesc.Quality == 0, "0"),
        ("Layout", desc.Layout == D3D12_TEXTURE_LAYOUT_ROW_MAJOR, "D3D12_TEXTURE_LAYOUT_ROW_MAJOR"),
    ];
    for (field, is_valid, rule) in fixed_fields {
        if !is_valid {
            return Err(Refusal::invalid(format!("a buffer's D3D12_RESOURCE_DESC::{field} must be {rule}")));
        }
    }
    if desc.SamplerFeedbackMipRegion != D3D12_MIP_REGION::default() {
        return Err(Refusal::invalid("a buffer's SamplerFeedbackMipRegion must be zero"));
    }
    check_buffer_flags(desc.Flags)?;
    let mut notices = Notices::default();
    let tight_alignment = check_alignment(desc, caps, &mut notices)?;
    Ok(Buffer { width: ByteSize::new(desc.Width), tight_alignment, notices })
}

fn check_buffer_flags(flags: D3D12_RESOURCE_FLAGS) -> Result<(), Refusal> {
    if flags & !BUFFER_FLAGS != 0 {
        return Err(Refusal::invalid(format!(
            "a buffer cannot have resource flags {:#x}",
            flags & !BUFFER_FLAGS
        )));
    }
    if flags & D3D12_RESOURCE_FLAG_RAYTRACING_ACCELERATION_STRUCTURE != 0
        && flags & D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS == 0
    {
        return Err(Refusal::invalid("RAYTRACING_ACCELERATION_STRUCTURE needs ALLOW_UNORDERED_ACCESS"));
    }
    Ok(())
}

/// Whether the buffer is tightly aligned; the error cases are TIGHT's *Validation*.
fn check_alignment(
    desc: &D3D12_RESOURCE_DESC1,
    caps: &DriverCaps,
    notices: &mut Notices,
) -> Result<bool, Refusal> {
    if desc.Flags & D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT == 0 {
        return match desc.Alignment {
            0 | BUFFER_ALIGNMENT => Ok(false),
            other => {
                Err(Refusal::invalid(format!("a buffer's Alignment is {other:#x}, neither 0 nor 64 KiB")))
            }
        };
    }
    if caps.tight_alignment_tier == 0 {
        return Err(Refusal::invalid(
            "D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT on a device whose tight alignment tier is NOT_SUPPORTED",
        ));
    }
    if desc.Alignment != 0 {
        return Err(Refusal::invalid(format!(
            "Alignment is {:#x} and must be 0 with D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT",
            desc.Alignment
        )));
    }
    if desc.Flags & D3D12_RESOURCE_FLAG_ALLOW_CROSS_ADAPTER != 0 {
        notices.push(Notice::warning(
            D3D12_MESSAGE_ID_UNKNOWN,
            "USE_TIGHT_ALIGNMENT has no effect beside ALLOW_CROSS_ADAPTER: the alignment stays 64 KiB",
        ));
        return Ok(false);
    }
    Ok(true)
}

/// A description of the first generation as one of the second; they differ by a field that is zero for most.
pub(crate) fn upgrade(desc: &D3D12_RESOURCE_DESC) -> D3D12_RESOURCE_DESC1 {
    D3D12_RESOURCE_DESC1 {
        Dimension: desc.Dimension,
        Alignment: desc.Alignment,
        Width: desc.Width,
        Height: desc.Height,
        DepthOrArraySize: desc.DepthOrArraySize,
        MipLevels: desc.MipLevels,
        Format: desc.Format,
        SampleDesc: desc.SampleDesc,
        Layout: desc.Layout,
        Flags: desc.Flags,
        SamplerFeedbackMipRegion: D3D12_MIP_REGION::default(),
    }
}

/// The first-generation view of a description.
pub(crate) fn downgrade(desc: &D3D12_RESOURCE_DESC1) -> D3D12_RESOURCE_DESC {
    D3D12_RESOURCE_DESC {
        Dimension: desc.Dimension,
        Alignment: desc.Alignment,
        Width: desc.Width,
        Height: desc.Height,
        DepthOrArraySize: desc.DepthOrArraySize,
        MipLevels: desc.MipLevels,
        Format: desc.Format,
        SampleDesc: desc.SampleDesc,
        Layout: desc.Layout,
        Flags: desc.Flags,
    }
}
