//! The rules of resource descriptions that hold on every device, so that none is called for a description that is never
//! valid.
//!
//! They are D3D12's limits (`D3D12_REQ_*`) and the rules of `D3D12_RESOURCE_DESC` and `D3D12_RESOURCE_FLAGS`. Which
//! formats, sample counts and layouts there are is the device's to say (`format_support`).

use heapwright_d3d12::*;

use super::standard_tiles::{Block, texel_block};
use crate::desc::{ClearValue, LayoutGuid, ResourceDesc};
use crate::{DeviceCaps, Error};

const fn limit(constant: i32) -> u64 {
    constant.cast_unsigned() as u64
}

const SIZE_1D: u64 = limit(D3D12_REQ_TEXTURE1D_U_DIMENSION);
const SIZE_2D: u64 = limit(D3D12_REQ_TEXTURE2D_U_OR_V_DIMENSION);
const SIZE_3D: u64 = limit(D3D12_REQ_TEXTURE3D_U_V_OR_W_DIMENSION);
const SLICES_1D: u64 = limit(D3D12_REQ_TEXTURE1D_ARRAY_AXIS_DIMENSION);
const SLICES_2D: u64 = limit(D3D12_REQ_TEXTURE2D_ARRAY_AXIS_DIMENSION);
const MIP_LEVELS: u64 = limit(D3D12_REQ_MIP_LEVELS);
const SUBRESOURCES: u64 = limit(D3D12_REQ_SUBRESOURCES);
const SAMPLES: u64 = limit(D3D12_MAX_MULTISAMPLE_SAMPLE_COUNT);

const WIDTH: &str = "D3D12_RESOURCE_DESC::Width";
const HEIGHT: &str = "D3D12_RESOURCE_DESC::Height";
const DEPTH: &str = "D3D12_RESOURCE_DESC::DepthOrArraySize";
const MIPS: &str = "D3D12_RESOURCE_DESC::MipLevels";
const FORMAT: &str = "D3D12_RESOURCE_DESC::Format";
const SAMPLE_COUNT: &str = "D3D12_RESOURCE_DESC::SampleDesc.Count";
const SAMPLE_QUALITY: &str = "D3D12_RESOURCE_DESC::SampleDesc.Quality";
const LAYOUT: &str = "D3D12_RESOURCE_DESC::Layout";
const LAYOUT_GUID: &str = "ResourceDesc::layout_guid";
const FLAGS: &str = "D3D12_RESOURCE_DESC::Flags";

const RENDER_TARGET: D3D12_RESOURCE_FLAGS = D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET;
const DEPTH_STENCIL: D3D12_RESOURCE_FLAGS = D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL;
const UNORDERED_ACCESS: D3D12_RESOURCE_FLAGS = D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS;
const SIMULTANEOUS_ACCESS: D3D12_RESOURCE_FLAGS = D3D12_RESOURCE_FLAG_ALLOW_SIMULTANEOUS_ACCESS;
const ACCELERATION_STRUCTURE: D3D12_RESOURCE_FLAGS = D3D12_RESOURCE_FLAG_RAYTRACING_ACCELERATION_STRUCTURE;

fn invalid<T>(field: &'static str, rule: impl Into<String>) -> Result<T, Error> {
    Err(Error::invalid_argument(field, rule))
}

/// Checks `desc`, which is that of the resource with all its flags.
///
/// # Errors
///
/// Invalid argument, with the field.
pub(super) fn check(
    desc: &D3D12_RESOURCE_DESC,
    resource: &ResourceDesc<'_>,
    caps: &DeviceCaps,
) -> Result<(), Error> {
    match desc.Dimension {
        D3D12_RESOURCE_DIMENSION_BUFFER => check_buffer(desc, resource),
        D3D12_RESOURCE_DIMENSION_TEXTURE1D
        | D3D12_RESOURCE_DIMENSION_TEXTURE2D
        | D3D12_RESOURCE_DIMENSION_TEXTURE3D => check_texture(desc, resource, caps),
        other => {
            let rule = format!("{other} is not the dimension of a buffer or a texture");
            invalid("D3D12_RESOURCE_DESC::Dimension", rule)
        }
    }
}

fn check_buffer(desc: &D3D12_RESOURCE_DESC, resource: &ResourceDesc<'_>) -> Result<(), Error> {
    if desc.Width == 0 {
        return invalid(WIDTH, "0 is not allowed; a buffer has at least 1 byte");
    }
    // Each field, its value, and the value that it must have.
    let fixed = [
        (HEIGHT, i64::from(desc.Height), 1),
        (DEPTH, i64::from(desc.DepthOrArraySize), 1),
        (MIPS, i64::from(desc.MipLevels), 1),
        (FORMAT, i64::from(desc.Format), i64::from(DXGI_FORMAT_UNKNOWN)),
        (SAMPLE_COUNT, i64::from(desc.SampleDesc.Count), 1),
        (SAMPLE_QUALITY, i64::from(desc.SampleDesc.Quality), 0),
        (LAYOUT, i64::from(desc.Layout), i64::from(D3D12_TEXTURE_LAYOUT_ROW_MAJOR)),
    ];
    if let Some((field, value, required)) = fixed.into_iter().find(|(_, value, required)| value != required) {
        return invalid(field, format!("{value} is not allowed; it must be {required} for a buffer"));
    }
    if resource.has_mip_region() {
        return invalid("ResourceDesc::sampler_feedback_mip_region", "must be zero for a buffer");
    }
    if !resource.layout_guid.is_null() {
        return invalid(LAYOUT_GUID, "must be null for a buffer");
    }
    let of_textures = desc.Flags & (DEPTH_STENCIL | SIMULTANEOUS_ACCESS);
    if of_textures != 0 {
        return invalid(FLAGS, format!("flags {of_textures:#x} are not allowed for a buffer"));
    }
    if desc.Flags & (ACCELERATION_STRUCTURE | UNORDERED_ACCESS) == ACCELERATION_STRUCTURE {
        return invalid(FLAGS, "RAYTRACING_ACCELERATION_STRUCTURE requires ALLOW_UNORDERED_ACCESS");
    }
    Ok(())
}

fn check_texture(
    desc: &D3D12_RESOURCE_DESC,
    resource: &ResourceDesc<'_>,
    caps: &DeviceCaps,
) -> Result<(), Error> {
    let (kind, [width, height, depth]) = match desc.Dimension {
        D3D12_RESOURCE_DIMENSION_TEXTURE1D => ("TEXTURE1D", [SIZE_1D, 1, SLICES_1D]),
        D3D12_RESOURCE_DIMENSION_TEXTURE2D => ("TEXTURE2D", [SIZE_2D, SIZE_2D, SLICES_2D]),
        _ => ("TEXTURE3D", [SIZE_3D, SIZE_3D, SIZE_3D]),
    };
    let extents = [
        (WIDTH, desc.Width, width),
        (HEIGHT, desc.Height.into(), height),
        (DEPTH, desc.DepthOrArraySize.into(), depth),
    ];
    if let Some((field, value, most)) =
        extents.into_iter().find(|&(_, value, most)| value == 0 || value > most)
    {
        return invalid(field, format!("{value} is out of range; 1 to {most} is allowed for a {kind}"));
    }
    if desc.Format == DXGI_FORMAT_UNKNOWN {
        return invalid(FORMAT, "DXGI_FORMAT_UNKNOWN is not allowed for a texture");
    }
    let group = match texel_block(desc.Format) {
        Some(_) if caps.unaligned_block_textures => (1, 1),
        Some(Block { side, .. }) => (side, side),
        None => subsampled_texels(desc.Format),
    };
    for (field, value, multiple) in [(WIDTH, desc.Width, group.0), (HEIGHT, desc.Height.into(), group.1)] {
        if !value.is_multiple_of(multiple) {
            let rule =
                format!("{value} is not a multiple of {multiple}, as DXGI_FORMAT {} requires", desc.Format);
            return invalid(field, rule);
        }
    }
    check_mips(desc)?;
    check_samples(desc, kind)?;
    check_layout(desc.Layout, resource.layout_guid)?;
    check_flags(desc, resource)?;
    check_casts(desc.Format, resource.castable_formats)
}

fn check_layout(layout: D3D12_TEXTURE_LAYOUT, layout_guid: LayoutGuid) -> Result<(), Error> {
    match (layout, layout_guid.is_null()) {
        (LayoutGuid::LAYOUT, false)
        | (D3D12_TEXTURE_LAYOUT_UNKNOWN..=D3D12_TEXTURE_LAYOUT_64KB_STANDARD_SWIZZLE, true) => Ok(()),
        (_, false) => invalid(
            LAYOUT_GUID,
            "must be null unless D3D12_RESOURCE_DESC::Layout is D3D12_TEXTURE_LAYOUT_GUID",
        ),
        (LayoutGuid::LAYOUT, true) if cfg!(feature = "preview") => {
            invalid(LAYOUT, "D3D12_TEXTURE_LAYOUT_GUID requires ResourceDesc::layout_guid")
        }
        (other, true) => invalid(LAYOUT, format!("{other} is not a D3D12_TEXTURE_LAYOUT")),
    }
}

/// Returns the width and the height, in texels, of what shares one value in a format with planes of other sizes.
const fn subsampled_texels(format: DXGI_FORMAT) -> (u64, u64) {
    match format {
        DXGI_FORMAT_NV12 | DXGI_FORMAT_P010 | DXGI_FORMAT_P016 | DXGI_FORMAT_420_OPAQUE => (2, 2),
        DXGI_FORMAT_YUY2 | DXGI_FORMAT_Y210 | DXGI_FORMAT_Y216 | DXGI_FORMAT_P208 => (2, 1),
        DXGI_FORMAT_NV11 => (4, 1),
        DXGI_FORMAT_V208 => (1, 2),
        _ => (1, 1),
    }
}

/// Returns the number of planes of a format.
const fn planes(format: DXGI_FORMAT) -> u64 {
    match format {
        DXGI_FORMAT_R32G8X24_TYPELESS..=DXGI_FORMAT_X32_TYPELESS_G8X24_UINT
        | DXGI_FORMAT_R24G8_TYPELESS..=DXGI_FORMAT_X24_TYPELESS_G8_UINT
        | DXGI_FORMAT_NV12..=DXGI_FORMAT_420_OPAQUE
        | DXGI_FORMAT_NV11
        | DXGI_FORMAT_P208 => 2,
        DXGI_FORMAT_V208 | DXGI_FORMAT_V408 => 3,
        _ => 1,
    }
}

fn check_mips(desc: &D3D12_RESOURCE_DESC) -> Result<(), Error> {
    let levels = u64::from(desc.MipLevels);
    if levels > MIP_LEVELS {
        return invalid(MIPS, format!("{levels} is out of range; 0 to {MIP_LEVELS} is allowed"));
    }
    let is_volume = desc.Dimension == D3D12_RESOURCE_DIMENSION_TEXTURE3D;
    let (depth, slices) = match u64::from(desc.DepthOrArraySize) {
        depth if is_volume => (depth, 1),
        slices => (1, slices),
    };
    let all = || u64::from(desc.Width.max(desc.Height.into()).max(depth).max(1).ilog2() + 1);
    let levels = match levels {
        0 if desc.SampleDesc.Count > 1 => 1,
        0 => all(),
        levels => levels,
    };
    let subresources = levels * slices * planes(desc.Format);
    if subresources > SUBRESOURCES {
        let rule = format!(
            "{levels} levels of {slices} slices are {subresources} subresources; {SUBRESOURCES} are allowed"
        );
        return invalid(MIPS, rule);
    }
    Ok(())
}

fn check_samples(desc: &D3D12_RESOURCE_DESC, kind: &str) -> Result<(), Error> {
    let DXGI_SAMPLE_DESC { Count: count, Quality: quality } = desc.SampleDesc;
    if !count.is_power_of_two() || u64::from(count) > SAMPLES {
        return invalid(SAMPLE_COUNT, format!("{count} is not a power of two from 1 to {SAMPLES}"));
    }
    if count == 1 {
        return match quality {
            0 => Ok(()),
            _ => invalid(SAMPLE_QUALITY, format!("{quality} is not allowed; it must be 0 with one sample")),
        };
    }
    if desc.Dimension != D3D12_RESOURCE_DIMENSION_TEXTURE2D {
        return invalid(SAMPLE_COUNT, format!("{count} is not allowed; a {kind} has one sample"));
    }
    if desc.MipLevels > 1 {
        let rule = format!("{} is not allowed; a multisampled texture has one level", desc.MipLevels);
        return invalid(MIPS, rule);
    }
    if desc.Flags & (RENDER_TARGET | DEPTH_STENCIL) == 0 {
        return invalid(FLAGS, "a multisampled texture requires ALLOW_RENDER_TARGET or ALLOW_DEPTH_STENCIL");
    }
    if desc.Flags & SIMULTANEOUS_ACCESS != 0 {
        return invalid(FLAGS, "ALLOW_SIMULTANEOUS_ACCESS is not allowed for a multisampled texture");
    }
    let layouts = [D3D12_TEXTURE_LAYOUT_ROW_MAJOR, D3D12_TEXTURE_LAYOUT_64KB_STANDARD_SWIZZLE];
    if layouts.contains(&desc.Layout) {
        return invalid(LAYOUT, format!("{} is not allowed for a multisampled texture", desc.Layout));
    }
    Ok(())
}

fn check_flags(desc: &D3D12_RESOURCE_DESC, resource: &ResourceDesc<'_>) -> Result<(), Error> {
    let has = |flags: D3D12_RESOURCE_FLAGS| desc.Flags & flags == flags;
    let is_volume = desc.Dimension == D3D12_RESOURCE_DIMENSION_TEXTURE3D;
    // Whether the flags are refused, and the rule.
    let rules = [
        (has(ACCELERATION_STRUCTURE), "RAYTRACING_ACCELERATION_STRUCTURE is for buffers"),
        (
            has(RENDER_TARGET | DEPTH_STENCIL),
            "ALLOW_RENDER_TARGET and ALLOW_DEPTH_STENCIL are mutually exclusive",
        ),
        (
            has(DEPTH_STENCIL | UNORDERED_ACCESS),
            "ALLOW_DEPTH_STENCIL and ALLOW_UNORDERED_ACCESS are mutually exclusive",
        ),
        (
            has(DEPTH_STENCIL | SIMULTANEOUS_ACCESS),
            "ALLOW_DEPTH_STENCIL and ALLOW_SIMULTANEOUS_ACCESS are mutually exclusive",
        ),
        (has(DEPTH_STENCIL) && is_volume, "ALLOW_DEPTH_STENCIL is not allowed for a TEXTURE3D"),
        (
            has(D3D12_RESOURCE_FLAG_DENY_SHADER_RESOURCE) && !has(DEPTH_STENCIL),
            "DENY_SHADER_RESOURCE requires ALLOW_DEPTH_STENCIL",
        ),
    ];
    if let Some((_, rule)) = rules.into_iter().find(|(is_refused, _)| *is_refused) {
        return invalid(FLAGS, rule);
    }
    // With castable formats, these may be what the flags are for.
    if !resource.castable_formats.is_empty() {
        return Ok(());
    }
    if has(DEPTH_STENCIL) && !is_depth_family(desc.Format) {
        return invalid(
            FORMAT,
            format!("{} is not a format of depth-stencils, which the flags allow", desc.Format),
        );
    }
    let is_compressed = texel_block(desc.Format).is_some_and(|block| block.side > 1);
    if desc.Flags & (RENDER_TARGET | UNORDERED_ACCESS) != 0 && (is_compressed || is_depth(desc.Format)) {
        let rule =
            format!("{} is not a format that the GPU writes by the views that the flags allow", desc.Format);
        return invalid(FORMAT, rule);
    }
    Ok(())
}

/// Returns whether depth-stencil views have the format.
const fn is_depth(format: DXGI_FORMAT) -> bool {
    matches!(
        format,
        DXGI_FORMAT_D16_UNORM
            | DXGI_FORMAT_D24_UNORM_S8_UINT
            | DXGI_FORMAT_D32_FLOAT
            | DXGI_FORMAT_D32_FLOAT_S8X24_UINT
    )
}

/// Returns whether depth-stencil views can be created of textures with the format.
const fn is_depth_family(format: DXGI_FORMAT) -> bool {
    is_depth(format)
        || matches!(
            format,
            DXGI_FORMAT_R16_TYPELESS
                | DXGI_FORMAT_R24G8_TYPELESS
                | DXGI_FORMAT_R32_TYPELESS
                | DXGI_FORMAT_R32G8X24_TYPELESS
        )
}

fn check_casts(format: DXGI_FORMAT, castable: &[DXGI_FORMAT]) -> Result<(), Error> {
    let own = texel_block(format);
    for (index, &other) in castable.iter().enumerate() {
        let block = texel_block(other);
        let is_sound = match (&own, &block) {
            _ if other == DXGI_FORMAT_UNKNOWN => false,
            // An uncompressed format cannot be cast to a compressed one.
            (Some(own), Some(block)) => own.bytes == block.bytes && own.side >= block.side,
            _ => true,
        };
        if !is_sound {
            let rule =
                format!("number {index}, {other}, is not a format that DXGI_FORMAT {format} can be cast to");
            return invalid("ResourceDesc::castable_formats", rule);
        }
    }
    Ok(())
}

/// Checks the optimized clear value of a resource with these flags.
///
/// # Errors
///
/// Invalid argument.
#[cold]
pub(crate) fn check_clear_value(
    clear_value: &ClearValue,
    dimension: D3D12_RESOURCE_DIMENSION,
    flags: D3D12_RESOURCE_FLAGS,
) -> Result<(), Error> {
    let rule = match clear_value {
        _ if dimension == D3D12_RESOURCE_DIMENSION_BUFFER => "must be None for a buffer",
        _ if flags & (RENDER_TARGET | DEPTH_STENCIL) == 0 => {
            "must be None without ALLOW_RENDER_TARGET and ALLOW_DEPTH_STENCIL"
        }
        ClearValue::Color { .. } if flags & DEPTH_STENCIL != 0 => {
            "must be DepthStencil with ALLOW_DEPTH_STENCIL"
        }
        ClearValue::DepthStencil { .. } if flags & RENDER_TARGET != 0 => {
            "must be Color with ALLOW_RENDER_TARGET"
        }
        ClearValue::DepthStencil { depth, .. } if !(0.0..=1.0).contains(depth) => {
            "its depth must be from 0 to 1"
        }
        ClearValue::Color { .. } | ClearValue::DepthStencil { .. } => return Ok(()),
    };
    invalid("ResourceDesc::clear_value", rule)
}
