//! What a device supports of a texture's format and samples, and why it refuses a texture.

use heapwright_d3d12::*;

use crate::Error;
use crate::caps::check_feature;

/// Checks that a device supports the format of a texture, if it is one that devices may lack: of video, palettes or
/// single bits.
///
/// # Errors
///
/// Unsupported.
pub(super) fn check_optional(device: &ID3D12Device, desc: &D3D12_RESOURCE_DESC) -> Result<(), Error> {
    let is_optional = matches!(
        desc.Format,
        DXGI_FORMAT_R1_UNORM
            | DXGI_FORMAT_AYUV..=DXGI_FORMAT_A8P8
            | DXGI_FORMAT_P208..=DXGI_FORMAT_V408
    );
    if desc.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER || !is_optional {
        return Ok(());
    }
    check_dimension(device, desc)
}

/// Checks that a device supports a format for a texture of the dimension.
fn check_dimension(device: &ID3D12Device, desc: &D3D12_RESOURCE_DESC) -> Result<(), Error> {
    let format = desc.Format;
    let support = format_support(device, format).map_or(0, |support| support.Support1);
    let (kind, flag) = match desc.Dimension {
        D3D12_RESOURCE_DIMENSION_TEXTURE1D => ("TEXTURE1D", D3D12_FORMAT_SUPPORT1_TEXTURE1D),
        D3D12_RESOURCE_DIMENSION_TEXTURE2D => ("TEXTURE2D", D3D12_FORMAT_SUPPORT1_TEXTURE2D),
        _ => ("TEXTURE3D", D3D12_FORMAT_SUPPORT1_TEXTURE3D),
    };
    if support & flag != 0 {
        Ok(())
    } else if support & D3D12_FORMAT_SUPPORT1_TEXTURE2D != 0 {
        let rule = format!("{kind} is not allowed with DXGI_FORMAT {format}");
        Err(Error::invalid_argument("D3D12_RESOURCE_DESC::Dimension", rule))
    } else {
        Err(Error::unsupported(format!("textures with DXGI_FORMAT {format} on this device")))
    }
}

fn format_support(device: &ID3D12Device, format: DXGI_FORMAT) -> Option<D3D12_FEATURE_DATA_FORMAT_SUPPORT> {
    let mut support = D3D12_FEATURE_DATA_FORMAT_SUPPORT { Format: format, ..Default::default() };
    check_feature(device, D3D12_FEATURE_FORMAT_SUPPORT, &mut support).is_ok().then_some(support)
}

/// Checks whether the format, the samples or the layout of a texture explain that the device has refused its
/// description.
///
/// # Errors
///
/// Unsupported, or invalid argument with the field.
#[cold]
pub(super) fn explain_refusal(
    device: &ID3D12Device,
    desc: &D3D12_RESOURCE_DESC,
    has_casts: bool,
) -> Result<(), Error> {
    if desc.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER {
        return Ok(());
    }
    check_dimension(device, desc)?;
    let (format, count) = (desc.Format, desc.SampleDesc.Count);
    let support = format_support(device, format).unwrap_or_default();
    // Views of typeless textures, and of those that can be cast, have other formats.
    let views = [
        (D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET, D3D12_FORMAT_SUPPORT1_RENDER_TARGET, "ALLOW_RENDER_TARGET"),
        (
            D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS,
            D3D12_FORMAT_SUPPORT1_TYPED_UNORDERED_ACCESS_VIEW,
            "ALLOW_UNORDERED_ACCESS",
        ),
    ];
    for (flag, needed, name) in views {
        if desc.Flags & flag != 0 && support.Support1 & needed == 0 && !is_typeless(format) && !has_casts {
            return Err(Error::unsupported(format!("{name} with DXGI_FORMAT {format} on this device")));
        }
    }
    if count > 1 {
        let mut levels = D3D12_FEATURE_DATA_MULTISAMPLE_QUALITY_LEVELS {
            Format: format,
            SampleCount: count,
            ..Default::default()
        };
        let answer = check_feature(device, D3D12_FEATURE_MULTISAMPLE_QUALITY_LEVELS, &mut levels);
        let levels = levels.NumQualityLevels;
        if answer.is_err() || levels == 0 {
            return Err(Error::unsupported(format!(
                "{count} samples with DXGI_FORMAT {format} on this device"
            )));
        }
        // Negative numbers select a pattern.
        if desc.SampleDesc.Quality >= levels && desc.SampleDesc.Quality.cast_signed() >= 0 {
            let rule = format!(
                "{} is out of range; the device has {levels} quality levels",
                desc.SampleDesc.Quality
            );
            return Err(Error::invalid_argument("D3D12_RESOURCE_DESC::SampleDesc.Quality", rule));
        }
    }
    match desc.Layout {
        D3D12_TEXTURE_LAYOUT_UNKNOWN => Ok(()),
        D3D12_TEXTURE_LAYOUT_ROW_MAJOR if desc.Flags & D3D12_RESOURCE_FLAG_ALLOW_CROSS_ADAPTER == 0 => {
            let rule = "ROW_MAJOR is for buffers, and for textures with ALLOW_CROSS_ADAPTER";
            Err(Error::invalid_argument("D3D12_RESOURCE_DESC::Layout", rule))
        }
        layout => {
            Err(Error::unsupported(format!("this texture with D3D12_TEXTURE_LAYOUT {layout} on this device")))
        }
    }
}

/// Returns whether views of the format have other formats.
const fn is_typeless(format: DXGI_FORMAT) -> bool {
    matches!(
        format,
        DXGI_FORMAT_R32G32B32A32_TYPELESS
            | DXGI_FORMAT_R32G32B32_TYPELESS
            | DXGI_FORMAT_R16G16B16A16_TYPELESS
            | DXGI_FORMAT_R32G32_TYPELESS
            | DXGI_FORMAT_R32G8X24_TYPELESS
            | DXGI_FORMAT_R10G10B10A2_TYPELESS
            | DXGI_FORMAT_R8G8B8A8_TYPELESS
            | DXGI_FORMAT_R16G16_TYPELESS
            | DXGI_FORMAT_R32_TYPELESS
            | DXGI_FORMAT_R24G8_TYPELESS
            | DXGI_FORMAT_R8G8_TYPELESS
            | DXGI_FORMAT_R16_TYPELESS
            | DXGI_FORMAT_R8_TYPELESS
            | DXGI_FORMAT_B8G8R8A8_TYPELESS
            | DXGI_FORMAT_B8G8R8X8_TYPELESS
    )
}
