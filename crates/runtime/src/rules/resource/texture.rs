//! Descriptions of textures.

use heapwright_d3d12::*;

#[cfg(feature = "preview")]
use super::layout_guid;
use super::{Additions, AlignmentRequest, alignment, flags};
use crate::ddi::{DriverCaps, Extent, TextureArgs, TextureDimension, TextureMemoryLayout};
use crate::format::{FormatKind, FormatProperties, properties};
use crate::rules::{Options, Refusal, under};

/// A valid texture description, in the driver's terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Texture {
    /// The texture as described to the driver.
    pub(crate) args: TextureArgs,
    /// The alignment that the description requests.
    pub(crate) alignment: AlignmentRequest,
}

const fn limit(constant: i32) -> u32 {
    constant.cast_unsigned()
}

const SIZE_1D: u32 = limit(D3D12_REQ_TEXTURE1D_U_DIMENSION);
const SIZE_2D: u32 = limit(D3D12_REQ_TEXTURE2D_U_OR_V_DIMENSION);
const SIZE_3D: u32 = limit(D3D12_REQ_TEXTURE3D_U_V_OR_W_DIMENSION);
const SLICES_1D: u32 = limit(D3D12_REQ_TEXTURE1D_ARRAY_AXIS_DIMENSION);
const SLICES_2D: u32 = limit(D3D12_REQ_TEXTURE2D_ARRAY_AXIS_DIMENSION);
const SUBRESOURCES: u32 = limit(D3D12_REQ_SUBRESOURCES);
const MIP_LEVELS: u32 = limit(D3D12_REQ_MIP_LEVELS);

pub(super) fn check(
    desc: &D3D12_RESOURCE_DESC1,
    additions: &Additions<'_>,
    caps: &DriverCaps,
    options: &Options,
) -> Result<Texture, Refusal> {
    let castable_formats = additions.castable_formats;
    let dimension = match desc.Dimension {
        D3D12_RESOURCE_DIMENSION_TEXTURE1D => TextureDimension::Texture1D,
        D3D12_RESOURCE_DIMENSION_TEXTURE2D => TextureDimension::Texture2D,
        _ => TextureDimension::Texture3D,
    };
    let format =
        check_format(desc.Format, dimension).map_err(under(D3D12_MESSAGE_ID_CREATERESOURCE_INVALIDFORMAT))?;
    if desc.SamplerFeedbackMipRegion != D3D12_MIP_REGION::default() {
        return Err(Refusal::invalid(
            "SamplerFeedbackMipRegion must be zero unless Format is one of the sampler feedback formats",
        ));
    }
    let (extent, array_size) =
        check_extent(desc, dimension).map_err(under(D3D12_MESSAGE_ID_CREATERESOURCE_INVALIDDIMENSIONS))?;
    check_blocks(extent, format).map_err(under(D3D12_MESSAGE_ID_CREATERESOURCE_INVALIDDIMENSIONS))?;
    let mip_levels = check_mips(desc, extent, array_size, format)
        .map_err(under(D3D12_MESSAGE_ID_CREATERESOURCE_INVALIDMIPLEVELS))?;
    check_samples(desc, dimension, mip_levels, format)
        .map_err(under(D3D12_MESSAGE_ID_CREATERESOURCE_INVALIDSAMPLEDESC))?;
    let layout = check_layout(desc, dimension, (mip_levels, array_size), format, caps);
    #[cfg(feature = "preview")]
    let layout = layout_guid::layout(desc, caps, options).map_or(layout, Ok);
    let layout = layout.map_err(under(D3D12_MESSAGE_ID_CREATERESOURCE_INVALIDLAYOUT))?;
    let sample_count = desc.SampleDesc.Count;
    check_casts(castable_formats, format).map_err(under(D3D12_MESSAGE_ID_CREATERESOURCE_INVALIDFORMAT))?;
    let facts = flags::TextureFacts { dimension, sample_count, layout, format, castable_formats };
    let usage = flags::check_texture(desc.Flags, &facts)
        .map_err(under(D3D12_MESSAGE_ID_CREATERESOURCE_INVALIDMISCFLAGS))?;
    let args = TextureArgs { dimension, extent, array_size, mip_levels, format, sample_count, layout, usage };
    #[cfg(feature = "preview")]
    if layout_guid::layout(desc, caps, options).is_some() {
        layout_guid::check(&args, desc.Flags, &additions.layout_guid)?;
    }
    check_size(&args, caps).map_err(under(D3D12_MESSAGE_ID_CREATERESOURCE_INVALIDDIMENSIONS))?;
    let alignment = alignment::check_texture(desc, &args, caps, options)
        .map_err(under(D3D12_MESSAGE_ID_CREATERESOURCE_INVALIDALIGNMENT))?;
    Ok(Texture { args, alignment })
}

fn check_format(
    format: DXGI_FORMAT,
    dimension: TextureDimension,
) -> Result<&'static FormatProperties, Refusal> {
    let Some(row) = properties(format) else {
        return Err(Refusal::invalid(format!(
            "D3D12_RESOURCE_DESC::Format {format} is not a texture format"
        )));
    };
    if row.kind == FormatKind::Unsupported {
        return Err(Refusal::not_implemented(format!(
            "textures with D3D12_RESOURCE_DESC::Format {}",
            row.name
        )));
    }
    let (support, name) = match dimension {
        TextureDimension::Texture1D => (D3D12_FORMAT_SUPPORT1_TEXTURE1D, "TEXTURE1D"),
        TextureDimension::Texture2D => (D3D12_FORMAT_SUPPORT1_TEXTURE2D, "TEXTURE2D"),
        TextureDimension::Texture3D => (D3D12_FORMAT_SUPPORT1_TEXTURE3D, "TEXTURE3D"),
    };
    if !row.support().has(support) {
        return Err(Refusal::invalid(format!(
            "a {name} cannot have D3D12_RESOURCE_DESC::Format {}",
            row.name
        )));
    }
    Ok(row)
}

/// Returns the extent of the most detailed mip level, in texels, and the number of array slices.
fn check_extent(desc: &D3D12_RESOURCE_DESC1, dimension: TextureDimension) -> Result<(Extent, u32), Refusal> {
    let (size, slices) = match dimension {
        TextureDimension::Texture1D => (SIZE_1D, SLICES_1D),
        TextureDimension::Texture2D => (SIZE_2D, SLICES_2D),
        TextureDimension::Texture3D => (SIZE_3D, SIZE_3D),
    };
    let within = |field: &str, value: u64, limit: u32| {
        u32::try_from(value).ok().filter(|value| (1..=limit).contains(value)).ok_or_else(|| {
            Refusal::invalid(format!(
                "D3D12_RESOURCE_DESC::{field} {value} of a texture must be between 1 and {limit}"
            ))
        })
    };
    let width = within("Width", desc.Width, size)?;
    let height = within(
        "Height",
        desc.Height.into(),
        if dimension == TextureDimension::Texture1D { 1 } else { size },
    )?;
    let depth_or_slices = within("DepthOrArraySize", desc.DepthOrArraySize.into(), slices)?;
    Ok(if dimension == TextureDimension::Texture3D {
        (Extent { width, height, depth: depth_or_slices }, 1)
    } else {
        (Extent { width, height, depth: 1 }, depth_or_slices)
    })
}

/// Checks that the most detailed mip level consists of whole blocks of each plane: the device does not support
/// `UnalignedBlockTexturesSupported`.
fn check_blocks(extent: Extent, format: &FormatProperties) -> Result<(), Refusal> {
    let (width, height) = format.size_alignment();
    for (field, texels, block) in [("Width", extent.width, width), ("Height", extent.height, height)] {
        if !texels.is_multiple_of(block.max(1)) {
            return Err(Refusal::invalid(format!(
                "D3D12_RESOURCE_DESC::{field} {texels} must be a multiple of {block}, the block size of Format {}",
                format.name
            )));
        }
    }
    Ok(())
}

/// Returns the number of mip levels; 0 in the description stands for the full chain.
///
/// Windows accepts more levels than the full chain has, as vkd3d-proton's tests record
/// (`test_create_committed_resource`, 10 levels of 32 by 32). The additional levels have one texel, like the last of
/// the chain. `D3D12_REQ_MIP_LEVELS` limits them.
fn check_mips(
    desc: &D3D12_RESOURCE_DESC1,
    extent: Extent,
    array_size: u32,
    format: &FormatProperties,
) -> Result<u32, Refusal> {
    let largest = extent.width.max(extent.height).max(extent.depth);
    let all = u32::BITS - largest.leading_zeros();
    let mip_levels = match u32::from(desc.MipLevels) {
        // A multisampled texture has exactly one level, so 0 stands for 1. So has one of video.
        0 if desc.SampleDesc.Count > 1 || format.kind == FormatKind::Video => 1,
        0 => all,
        levels if levels > 1 && format.kind == FormatKind::Video => {
            return Err(Refusal::invalid(format!(
                "D3D12_RESOURCE_DESC::MipLevels {levels} must be 1 with Format {}",
                format.name
            )));
        }
        levels if levels <= MIP_LEVELS => levels,
        levels => {
            return Err(Refusal::invalid(format!(
                "D3D12_RESOURCE_DESC::MipLevels {levels} exceeds the maximum of {MIP_LEVELS}"
            )));
        }
    };
    let subresources = mip_levels * array_size * format.plane_count();
    if subresources > SUBRESOURCES {
        return Err(Refusal::invalid(format!(
            "D3D12_RESOURCE_DESC::MipLevels and DepthOrArraySize result in {subresources} subresources, above the \
             maximum of {SUBRESOURCES}"
        )));
    }
    Ok(mip_levels)
}

fn check_samples(
    desc: &D3D12_RESOURCE_DESC1,
    dimension: TextureDimension,
    mip_levels: u32,
    format: &FormatProperties,
) -> Result<(), Refusal> {
    let DXGI_SAMPLE_DESC { Count: count, Quality: quality } = desc.SampleDesc;
    if count == 1 {
        if quality != 0 {
            return Err(Refusal::invalid(format!(
                "D3D12_RESOURCE_DESC::SampleDesc.Quality {quality} must be 0 with SampleDesc.Count 1"
            )));
        }
        return Ok(());
    }
    let levels = format.quality_levels(count);
    if levels == 0 {
        return Err(Refusal::invalid(format!(
            "D3D12_RESOURCE_DESC::SampleDesc.Count {count} is not supported with Format {}",
            format.name
        )));
    }
    // Quality level 0xffffffff selects the standard pattern.
    if quality >= levels && quality != D3D12_STANDARD_MULTISAMPLE_PATTERN.cast_unsigned() {
        return Err(Refusal::invalid(format!(
            "D3D12_RESOURCE_DESC::SampleDesc.Quality {quality} must be less than the number of quality levels, {levels}"
        )));
    }
    if dimension != TextureDimension::Texture2D {
        return Err(Refusal::invalid("D3D12_RESOURCE_DESC::SampleDesc.Count above 1 needs a TEXTURE2D"));
    }
    if mip_levels != 1 {
        return Err(Refusal::invalid(format!(
            "D3D12_RESOURCE_DESC::MipLevels {mip_levels} must be 1 with SampleDesc.Count above 1"
        )));
    }
    Ok(())
}

fn check_layout(
    desc: &D3D12_RESOURCE_DESC1,
    dimension: TextureDimension,
    (mip_levels, array_size): (u32, u32),
    format: &FormatProperties,
    caps: &DriverCaps,
) -> Result<TextureMemoryLayout, Refusal> {
    match desc.Layout {
        D3D12_TEXTURE_LAYOUT_UNKNOWN => Ok(TextureMemoryLayout::Unknown),
        D3D12_TEXTURE_LAYOUT_ROW_MAJOR => {
            let one_image = dimension == TextureDimension::Texture2D
                && mip_levels == 1
                && array_size == 1
                && desc.SampleDesc.Count == 1
                && !format.is_planar()
                && !format.is_block_compressed();
            if desc.Flags & D3D12_RESOURCE_FLAG_ALLOW_CROSS_ADAPTER == 0 || !one_image {
                return Err(Refusal::invalid(
                    "D3D12_TEXTURE_LAYOUT_ROW_MAJOR needs a buffer, or a TEXTURE2D with ALLOW_CROSS_ADAPTER, one mip \
                     level, one array slice, one sample and a format that is neither planar nor block-compressed",
                ));
            }
            if !caps.cross_adapter_row_major {
                return Err(Refusal::invalid(
                    "a texture with D3D12_TEXTURE_LAYOUT_ROW_MAJOR is not supported: \
                     CrossAdapterRowMajorTextureSupported is FALSE",
                ));
            }
            Ok(TextureMemoryLayout::RowMajor)
        }
        D3D12_TEXTURE_LAYOUT_64KB_UNDEFINED_SWIZZLE => {
            if caps.tiled_resources_tier == 0 {
                return Err(Refusal::invalid(
                    "D3D12_TEXTURE_LAYOUT_64KB_UNDEFINED_SWIZZLE is not supported: the device's tiled resources tier \
                     is NOT_SUPPORTED",
                ));
            }
            check_tiled(dimension, format, "D3D12_TEXTURE_LAYOUT_64KB_UNDEFINED_SWIZZLE")?;
            if dimension == TextureDimension::Texture3D && caps.tiled_resources_tier < 3 {
                return Err(Refusal::invalid(
                    "a TEXTURE3D with D3D12_TEXTURE_LAYOUT_64KB_UNDEFINED_SWIZZLE needs tiled resources tier 3",
                ));
            }
            Ok(TextureMemoryLayout::UndefinedSwizzle64Kib)
        }
        D3D12_TEXTURE_LAYOUT_64KB_STANDARD_SWIZZLE => {
            if !caps.standard_swizzle {
                return Err(Refusal::invalid(
                    "D3D12_TEXTURE_LAYOUT_64KB_STANDARD_SWIZZLE is not supported: StandardSwizzle64KBSupported is \
                     FALSE",
                ));
            }
            check_tiled(dimension, format, "D3D12_TEXTURE_LAYOUT_64KB_STANDARD_SWIZZLE")?;
            if desc.SampleDesc.Count > 1 {
                return Err(Refusal::invalid(
                    "D3D12_TEXTURE_LAYOUT_64KB_STANDARD_SWIZZLE needs D3D12_RESOURCE_DESC::SampleDesc.Count 1",
                ));
            }
            Ok(TextureMemoryLayout::StandardSwizzle64Kib)
        }
        other => Err(Refusal::invalid(format!("D3D12_RESOURCE_DESC::Layout {other} is not a valid layout"))
            .with_id(D3D12_MESSAGE_ID_CREATERESOURCE_UNRECOGNIZEDLAYOUT)),
    }
}

/// Checks the rules that both layouts with 64 KiB tiles share.
fn check_tiled(
    dimension: TextureDimension,
    format: &FormatProperties,
    layout: &'static str,
) -> Result<(), Refusal> {
    if format.support().support2 & D3D12_FORMAT_SUPPORT2_TILED == 0 {
        return Err(Refusal::invalid(format!(
            "{layout} is not supported with Format {}, which does not support D3D12_FORMAT_SUPPORT2_TILED",
            format.name
        )));
    }
    if dimension == TextureDimension::Texture1D {
        return Err(Refusal::invalid(format!("a TEXTURE1D cannot have {layout}")));
    }
    Ok(())
}

/// Checks that the texture fits the GPU virtual addresses of one resource. The bound ignores the driver's padding.
fn check_size(args: &TextureArgs, caps: &DriverCaps) -> Result<(), Refusal> {
    let slices = u64::from(args.array_size) * u64::from(args.sample_count);
    let plane_bytes = |plane| {
        let block = u64::from(args.format.plane(plane).block_bytes);
        args.mip_blocks(0, plane).volume().checked_mul(block)?.checked_mul(slices)
    };
    let bytes =
        (0..args.format.plane_count()).try_fold(0, |sum: u64, plane| sum.checked_add(plane_bytes(plane)?));
    if bytes.is_none_or(|bytes| bytes > 1 << caps.gpu_va_bits_per_resource) {
        return Err(Refusal::invalid(format!(
            "the texture exceeds the GPU virtual address space of a resource, {} bits",
            caps.gpu_va_bits_per_resource
        )));
    }
    Ok(())
}

/// Checks the castable formats of a texture of `format`.
///
/// Each must be a supported format with blocks of the same size. Block-compressed formats may be cast to uncompressed
/// formats and to other block-compressed ones; uncompressed formats only to uncompressed ones (vkd3d-proton's
/// test_enhanced_barrier_castable_formats_validation). Planar and depth formats cast only within their family.
fn check_casts(castable_formats: &[DXGI_FORMAT], format: &FormatProperties) -> Result<(), Refusal> {
    for (index, &castable) in castable_formats.iter().enumerate() {
        let Some(row) = properties(castable).filter(|row| row.kind != FormatKind::Unsupported) else {
            return Err(Refusal::invalid(format!(
                "pCastableFormats[{index}] {castable} is not a supported texture format"
            )));
        };
        if row.block_bytes != format.block_bytes {
            return Err(Refusal::invalid(format!(
                "pCastableFormats[{index}] {} has blocks of {} bytes, but Format {} has blocks of {} bytes; the sizes \
                 must be equal",
                row.name, row.block_bytes, format.name, format.block_bytes
            )));
        }
        if row.is_block_compressed() && !format.is_block_compressed() {
            return Err(Refusal::invalid(format!(
                "pCastableFormats[{index}] {} is block-compressed, but Format {} is uncompressed and can only be cast \
                 to uncompressed formats",
                row.name, format.name
            )));
        }
        let is_depth = |row: &FormatProperties| row.is_planar() || row.is_depth_stencil();
        if (is_depth(row) || is_depth(format)) && row.family != format.family {
            return Err(Refusal::invalid(format!(
                "pCastableFormats[{index}] {} must be in the same format family as Format {}, because depth-stencil \
                 and planar formats cannot be cast to other families",
                row.name, format.name
            )));
        }
    }
    Ok(())
}
