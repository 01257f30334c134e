//! `ClearRenderTargetView`, `ClearDepthStencilView`, `ClearUnorderedAccessViewUint` and
//! `ClearUnorderedAccessViewFloat`.

use std::sync::Arc;

use heapwright_d3d12::*;

use crate::drivers::command::{Command, TexelValue};
use crate::drivers::resource::DriverResource;
use crate::drivers::texels::TexelRegion;
use crate::format::{self, texel_value};
use crate::rules::operand::{Operand, extents};
use crate::rules::views::{View, ViewPart};
use crate::rules::{Notices, Refusal};

/// The values of an unordered access view clear.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ClearValues {
    Uint([u32; 4]),
    Float([f32; 4]),
}

/// Returns the width, height and depth of a mip level in texels.
fn mip_size(desc: &D3D12_RESOURCE_DESC1, mip: u32) -> Result<[u32; 3], Refusal> {
    let width = u32::try_from(desc.Width).map_err(|_| Refusal::invalid("the texture is too wide"))?;
    let is_3d = desc.Dimension == D3D12_RESOURCE_DIMENSION_TEXTURE3D;
    let depth = if is_3d { u32::from(desc.DepthOrArraySize) } else { 1 };
    Ok([width, desc.Height, depth].map(|extent| extent.checked_shr(mip).unwrap_or(0).max(1)))
}

/// A part of a view: the first element and the number of elements, in x and y.
type Part = [[u32; 2]; 2];

/// Intersects the rectangles with `extent` and omits empty results. Without rectangles, returns all of `extent`.
fn parts(rects: &[D3D12_RECT], extent: [u32; 2]) -> Vec<Part> {
    if rects.is_empty() {
        return vec![[[0, 0], extent]];
    }
    let along = |first: i32, end: i32, extent: u32| {
        let first = u32::try_from(first).unwrap_or(0);
        let end = u32::try_from(end).unwrap_or(0).min(extent);
        end.checked_sub(first).filter(|&count| count != 0).map(|count| (first, count))
    };
    let part = |rect: &D3D12_RECT| {
        let (x, width) = along(rect.left, rect.right, extent[0])?;
        let (y, height) = along(rect.top, rect.bottom, extent[1])?;
        Some([[x, y], [width, height]])
    };
    rects.iter().filter_map(part).collect()
}

/// Fills one plane of a view: all of it, or the given rectangles.
fn fill(view: &View, plane: u32, value: TexelValue, rects: &[D3D12_RECT]) -> Result<Vec<Command>, Refusal> {
    let resource: Arc<DriverResource> = view.resource()?;
    let (mip, first, count) = match view.part {
        ViewPart::Bytes { offset, size } => {
            return Ok(fill_bytes((&resource, offset, size), value, rects));
        }
        ViewPart::Slices { mip, first, count, .. } => (mip, first, count),
    };
    let [width, height, depth] = mip_size(&view.desc, mip)?;
    let [mips, slices, _] = extents(&view.desc);
    let Some(format) = format::properties(view.desc.Format) else {
        return Err(Refusal::invalid(format!("the texture's format {} is unknown", view.desc.Format)));
    };
    let shown = format.plane(plane);
    let (width, height) = (width >> shown.subsample_x, height >> shown.subsample_y);
    let texel = shown.block_bytes;
    if texel != u32::from(value.len) {
        return Err(Refusal::invalid(format!(
            "the clear value has {} bytes, which does not match the texture's format {}",
            value.len, view.desc.Format
        )));
    }
    // A view can be cleared only if its elements are single texels. On a BC texture, such a view has one texel per
    // block.
    let block = [format.block_width.max(1), format.block_height.max(1)];
    let extent = [width.div_ceil(block[0]), height.div_ceil(block[1])];
    let subresource = |slice: u32| mip + (slice + plane * slices) * mips;
    let mut commands = Vec::new();
    for [start, size] in parts(rects, extent) {
        let start = [start[0] * block[0], start[1] * block[1]];
        let size = [(size[0] * block[0]).min(width - start[0]), (size[1] * block[1]).min(height - start[1])];
        let mut push = |subresource, z, depth| {
            let region = TexelRegion { start: [start[0], start[1], z], size: [size[0], size[1], depth] };
            let target = Arc::clone(&resource);
            commands.push(Command::FillTexels { target, subresource, region, value });
        };
        if view.desc.Dimension == D3D12_RESOURCE_DIMENSION_TEXTURE3D {
            debug_assert!(first + count <= depth, "slices are checked when the view is created");
            push(subresource(0), first, count);
        } else {
            (first..first + count).for_each(|slice| push(subresource(slice), 0, 1));
        }
    }
    Ok(commands)
}

/// Fills a range of a buffer. The elements form a single row: rectangles select elements in x, and only row
/// 0 exists.
fn fill_bytes(
    (buffer, offset, size): (&Arc<DriverResource>, u64, u64),
    value: TexelValue,
    rects: &[D3D12_RECT],
) -> Vec<Command> {
    let element = u64::from(value.len).max(1);
    let fill = |offset, size| Command::FillBuffer { target: (Arc::clone(buffer), offset), size, value };
    if rects.is_empty() {
        return if size == 0 { Vec::new() } else { vec![fill(offset, size)] };
    }
    // A view has at most 2^32 - 1 elements.
    let elements = u32::try_from(size / element).unwrap_or(u32::MAX);
    let parts = parts(rects, [elements, 1]).into_iter();
    parts
        .map(|[[x, _], [width, _]]| fill(offset + u64::from(x) * element, u64::from(width) * element))
        .collect()
}

/// Fills a render target view with a colour.
///
/// # Errors
///
/// Returns E_NOTIMPL for a format with an unknown texel encoding, and E_INVALIDARG if the view's resource was released.
pub(crate) fn fill_color(
    view: &View,
    color: [f32; 4],
    rects: &[D3D12_RECT],
) -> Result<Vec<Command>, Refusal> {
    let value = texel_value::of_floats(view.format, color).ok_or_else(|| {
        Refusal::not_implemented(format!("clearing a render target of format {}", view.format))
    })?;
    fill(view, view.plane(), value, rects)
}

/// Fills the depth plane of a depth stencil view.
///
/// # Errors
///
/// Returns E_INVALIDARG for a depth outside 0 to 1 and for a format that is not a depth stencil format.
pub(crate) fn fill_depth(view: &View, depth: f32, rects: &[D3D12_RECT]) -> Result<Vec<Command>, Refusal> {
    check_depth(depth)?;
    let value = match view.format {
        DXGI_FORMAT_D24_UNORM_S8_UINT => d24(depth),
        DXGI_FORMAT_D32_FLOAT_S8X24_UINT => texel_value::of_floats(DXGI_FORMAT_D32_FLOAT, [depth; 4]),
        DXGI_FORMAT_D32_FLOAT | DXGI_FORMAT_D16_UNORM => texel_value::of_floats(view.format, [depth; 4]),
        _ => None,
    };
    let value = value
        .ok_or_else(|| Refusal::invalid(format!("format {} is not a depth-stencil format", view.format)))?;
    fill(view, 0, value, rects)
}

/// Fills the stencil plane of a depth stencil view. Does nothing if the format has no stencil.
///
/// # Errors
///
/// Returns E_INVALIDARG if the view's resource was released.
pub(crate) fn fill_stencil(view: &View, stencil: u8, rects: &[D3D12_RECT]) -> Result<Vec<Command>, Refusal> {
    match texel_value::of_uints(DXGI_FORMAT_R8_UINT, [stencil.into(); 4]) {
        Some(value) if has_stencil(view) => fill(view, 1, value, rects),
        _ => Ok(Vec::new()),
    }
}

/// Checks whether the format of a depth stencil view has a stencil.
pub(crate) fn has_stencil(view: &View) -> bool {
    matches!(view.format, DXGI_FORMAT_D24_UNORM_S8_UINT | DXGI_FORMAT_D32_FLOAT_S8X24_UINT)
}

fn check_depth(depth: f32) -> Result<(), Refusal> {
    if (0.0..=1.0).contains(&depth) {
        return Ok(());
    }
    Err(Refusal::invalid(format!("Depth {depth} is out of range; must be 0 to 1"))
        .with_id(D3D12_MESSAGE_ID_CLEARDEPTHSTENCILVIEW_INVALID))
}

/// Converts a depth to 24 bits, in the lower bytes of a 32-bit value.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from float, within 24 bits")]
fn d24(depth: f32) -> Option<TexelValue> {
    let depth = (f64::from(depth) * f64::from(0xff_ffff_u32) + 0.5) as u32;
    texel_value::of_uints(DXGI_FORMAT_R32_UINT, [depth; 4])
}

/// Checks `ClearDepthStencilView`. `None` is a null view.
pub(crate) fn clear_depth_stencil(
    view: Option<&View>,
    flags: D3D12_CLEAR_FLAGS,
    (depth, stencil): (f32, u8),
    rects: &[D3D12_RECT],
    notices: &mut Notices,
) -> Result<Vec<Command>, Refusal> {
    let both = D3D12_CLEAR_FLAG_DEPTH | D3D12_CLEAR_FLAG_STENCIL;
    if flags == 0 || flags & !both != 0 {
        return Err(Refusal::invalid(format!("ClearFlags {flags:#x} is not DEPTH, STENCIL or both"))
            .with_id(D3D12_MESSAGE_ID_CLEARDEPTHSTENCILVIEW_INVALID));
    }
    if flags & D3D12_CLEAR_FLAG_DEPTH != 0 {
        check_depth(depth)?;
    }
    let Some(view) = view else { return Ok(Vec::new()) };
    let mut commands = Vec::new();
    let aspects = [
        (D3D12_CLEAR_FLAG_DEPTH, D3D12_DSV_FLAG_READ_ONLY_DEPTH, "depth"),
        (D3D12_CLEAR_FLAG_STENCIL, D3D12_DSV_FLAG_READ_ONLY_STENCIL, "stencil"),
    ];
    for (clear, read_only, name) in aspects {
        if flags & clear == 0 {
            continue;
        }
        if view.read_only & read_only != 0 {
            let broken = Refusal::invalid(format!("{name} is not cleared because the view is read-only"))
                .with_id(D3D12_MESSAGE_ID_CLEARDEPTHSTENCILVIEW_INVALID);
            notices.tolerate(Err(broken));
        } else if clear == D3D12_CLEAR_FLAG_DEPTH {
            commands.extend(fill_depth(view, depth, rects)?);
        } else {
            commands.extend(fill_stencil(view, stencil, rects)?);
        }
    }
    Ok(commands)
}

/// Checks `ClearUnorderedAccessViewUint` or `ClearUnorderedAccessViewFloat`.
pub(crate) fn clear_unordered_access(
    view: &View,
    resource: Operand<'_>,
    values: ClearValues,
    rects: &[D3D12_RECT],
) -> Result<Vec<Command>, Refusal> {
    if !Arc::ptr_eq(&view.resource()?, resource.driver) {
        return Err(Refusal::invalid("ViewCPUHandle is a view of a resource other than pResource")
            .with_id(D3D12_MESSAGE_ID_CLEARUNORDEREDACCESSVIEW_INVALID_RESOURCE_PTR));
    }
    if view.format == DXGI_FORMAT_UNKNOWN {
        return Err(Refusal::invalid("views of structured buffers cannot be cleared")
            .with_id(D3D12_MESSAGE_ID_CLEARUNORDEREDACCESSVIEW_INCOMPATIBLE_WITH_STRUCTURED_BUFFERS));
    }
    let value = match values {
        ClearValues::Uint(values) => texel_value::of_uints(view.format, values),
        ClearValues::Float(values) if texel_value::takes_floats(view.format) => {
            texel_value::of_floats(view.format, values)
        }
        ClearValues::Float(_) => {
            let message = "the format of the view cannot be cleared with float values";
            return Err(Refusal::invalid(message)
                .with_id(D3D12_MESSAGE_ID_CLEAR_UNORDERED_ACCESS_VIEW_INVALID_DESCRIPTOR_HANDLE));
        }
    };
    let value = value
        .ok_or_else(|| Refusal::not_implemented(format!("clearing a view of format {}", view.format)))?;
    fill(view, view.plane(), value, rects)
}
