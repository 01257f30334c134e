//! `ClearRenderTargetView`, `ClearDepthStencilView`, `ClearUnorderedAccessViewUint` and
//! `ClearUnorderedAccessViewFloat`.

use std::sync::Arc;

use heapwright_d3d12::*;

use super::barriers::extents;
use super::{Recording, read_array};
use crate::api::descriptor_heap::DescriptorTable;
use crate::api::device::Device;
use crate::api::object::own;
use crate::api::resource::{Resource, Resource_Impl};
use crate::api::views::{Descriptor, View, ViewPart};
use crate::ddi::command::{Command, TexelValue};
use crate::ddi::driver_resource::{DriverResource, TexelRegion};
use crate::format::{self, texel_value};
use crate::rules::Refusal;

/// The rectangles of a clear, as passed by the application.
pub(super) type Rects = (u32, *const D3D12_RECT);

/// The values of an unordered access view clear.
#[derive(Debug, Clone, Copy)]
pub(super) enum ClearValues {
    Uint([u32; 4]),
    Float([f32; 4]),
}

/// Returns the descriptor that a CPU handle refers to, in a heap of the given type. The descriptor is `None` if it was
/// never written.
pub(super) fn find_descriptor(
    device: &Device,
    handle: D3D12_CPU_DESCRIPTOR_HANDLE,
    heap_type: D3D12_DESCRIPTOR_HEAP_TYPE,
    name: &str,
) -> Result<(Arc<DescriptorTable>, Option<Descriptor>), Refusal> {
    let (table, index) = device.descriptor_heaps().find(handle, name)?;
    if table.desc().Type != heap_type {
        return Err(Refusal::invalid(format!(
            "{name} is in a descriptor heap of type {}; must be of type {heap_type}",
            table.desc().Type
        ))
        .with_id(D3D12_MESSAGE_ID_INVALID_DESCRIPTOR_HANDLE));
    }
    let descriptor = table.get(index);
    Ok((table, descriptor))
}

/// Same as [`find_descriptor`], but requires a descriptor that can be cleared.
fn descriptor(
    device: &Device,
    handle: D3D12_CPU_DESCRIPTOR_HANDLE,
    heap_type: D3D12_DESCRIPTOR_HEAP_TYPE,
    name: &str,
) -> Result<(Arc<DescriptorTable>, Descriptor), Refusal> {
    match find_descriptor(device, handle, heap_type, name)? {
        (table, Some(descriptor @ (Descriptor::View(_) | Descriptor::Null))) => Ok((table, descriptor)),
        _ => Err(Refusal::invalid(format!("{name} refers to a descriptor without a clearable view"))
            .with_id(D3D12_MESSAGE_ID_INVALID_DESCRIPTOR_HANDLE)),
    }
}

/// Returns the width, height and depth of a mip level in texels.
fn mip_size(desc: &D3D12_RESOURCE_DESC1, mip: u32) -> Result<[u32; 3], Refusal> {
    let width = u32::try_from(desc.Width).map_err(|_| Refusal::invalid("the texture is too wide"))?;
    let is_3d = desc.Dimension == D3D12_RESOURCE_DIMENSION_TEXTURE3D;
    let depth = if is_3d { u32::from(desc.DepthOrArraySize) } else { 1 };
    Ok([width, desc.Height, depth].map(|extent| extent.checked_shr(mip).unwrap_or(0).max(1)))
}

/// Copies the rectangles that the application passes.
///
/// # Safety
///
/// The pointer is null or points to as many rectangles as the count.
unsafe fn read_rects((count, rects): Rects) -> Result<Vec<D3D12_RECT>, Refusal> {
    // SAFETY: by the COM contract, pRects is null or has that many elements, which stay valid until the call returns.
    unsafe { read_array(count, rects, "pRects") }.map(<[_]>::to_vec)
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

/// Records a fill of one plane of a view: all of it, or the given rectangles.
fn fill(
    recording: &mut Recording,
    view: &View,
    plane: u32,
    value: TexelValue,
    rects: &[D3D12_RECT],
) -> Result<(), Refusal> {
    let resource: Arc<dyn DriverResource> = view.resource()?;
    let (mip, first, count) = match view.part {
        ViewPart::Bytes { offset, size } => {
            fill_bytes(recording, (&resource, offset, size), value, rects);
            return Ok(());
        }
        ViewPart::Slices { mip, first, count, .. } => (mip, first, count),
    };
    let [width, height, depth] = mip_size(&view.desc, mip)?;
    let [mips, slices, _] = extents(&view.desc);
    let Some(format) = format::properties(view.desc.Format) else {
        return Err(Refusal::invalid(format!("the texture's format {} is unknown", view.desc.Format)));
    };
    let texel = format.plane(plane).block_bytes;
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
    for [start, size] in parts(rects, extent) {
        let start = [start[0] * block[0], start[1] * block[1]];
        let size = [(size[0] * block[0]).min(width - start[0]), (size[1] * block[1]).min(height - start[1])];
        let mut push = |subresource, z, depth| {
            let region = TexelRegion { start: [start[0], start[1], z], size: [size[0], size[1], depth] };
            let target = Arc::clone(&resource);
            recording.commands.push(Command::FillTexels { target, subresource, region, value });
        };
        if view.desc.Dimension == D3D12_RESOURCE_DIMENSION_TEXTURE3D {
            debug_assert!(first + count <= depth, "slices are checked when the view is created");
            push(subresource(0), first, count);
        } else {
            (first..first + count).for_each(|slice| push(subresource(slice), 0, 1));
        }
    }
    Ok(())
}

/// Records a fill of a range of a buffer. The elements form a single row: rectangles select elements in x, and only row
/// 0 exists.
fn fill_bytes(
    recording: &mut Recording,
    (buffer, offset, size): (&Arc<dyn DriverResource>, u64, u64),
    value: TexelValue,
    rects: &[D3D12_RECT],
) {
    let element = u64::from(value.len).max(1);
    let mut push = |offset, size| {
        let target = (Arc::clone(buffer), offset);
        recording.commands.push(Command::FillBuffer { target, size, value });
    };
    if rects.is_empty() {
        if size != 0 {
            push(offset, size);
        }
        return;
    }
    // A view has at most 2^32 - 1 elements.
    let elements = u32::try_from(size / element).unwrap_or(u32::MAX);
    for [[x, _], [width, _]] in parts(rects, [elements, 1]) {
        push(offset + u64::from(x) * element, u64::from(width) * element);
    }
}

/// Records a fill of a render target view with a colour.
///
/// # Errors
///
/// Returns E_NOTIMPL for a format with an unknown texel encoding, and E_INVALIDARG if the view's resource was released.
pub(super) fn fill_color(
    recording: &mut Recording,
    view: &View,
    color: [f32; 4],
    rects: &[D3D12_RECT],
) -> Result<(), Refusal> {
    let value = texel_value::of_floats(view.format, color).ok_or_else(|| {
        Refusal::not_implemented(format!("clearing a render target of format {}", view.format))
    })?;
    fill(recording, view, view.plane(), value, rects)
}

/// Records a fill of the depth plane of a depth stencil view.
///
/// # Errors
///
/// Returns E_INVALIDARG for a depth outside 0 to 1 and for a format that is not a depth stencil format.
pub(super) fn fill_depth(
    recording: &mut Recording,
    view: &View,
    depth: f32,
    rects: &[D3D12_RECT],
) -> Result<(), Refusal> {
    check_depth(depth)?;
    let value = match view.format {
        DXGI_FORMAT_D24_UNORM_S8_UINT => d24(depth),
        DXGI_FORMAT_D32_FLOAT_S8X24_UINT => texel_value::of_floats(DXGI_FORMAT_D32_FLOAT, [depth; 4]),
        DXGI_FORMAT_D32_FLOAT | DXGI_FORMAT_D16_UNORM => texel_value::of_floats(view.format, [depth; 4]),
        _ => None,
    };
    let value = value
        .ok_or_else(|| Refusal::invalid(format!("format {} is not a depth-stencil format", view.format)))?;
    fill(recording, view, 0, value, rects)
}

/// Records a fill of the stencil plane of a depth stencil view. Does nothing if the format has no stencil.
///
/// # Errors
///
/// Returns E_INVALIDARG if the view's resource was released.
pub(super) fn fill_stencil(
    recording: &mut Recording,
    view: &View,
    stencil: u8,
    rects: &[D3D12_RECT],
) -> Result<(), Refusal> {
    if has_stencil(view) {
        if let Some(value) = texel_value::of_uints(DXGI_FORMAT_R8_UINT, [stencil.into(); 4]) {
            fill(recording, view, 1, value, rects)?;
        }
    }
    Ok(())
}

/// Checks whether the format of a depth stencil view has a stencil.
pub(super) fn has_stencil(view: &View) -> bool {
    matches!(view.format, DXGI_FORMAT_D24_UNORM_S8_UINT | DXGI_FORMAT_D32_FLOAT_S8X24_UINT)
}

fn check_depth(depth: f32) -> Result<(), Refusal> {
    if (0.0..=1.0).contains(&depth) {
        return Ok(());
    }
    Err(Refusal::invalid(format!("Depth {depth} is out of range; must be 0 to 1"))
        .with_id(D3D12_MESSAGE_ID_CLEARDEPTHSTENCILVIEW_INVALID))
}

/// Records `ClearRenderTargetView`.
///
/// # Safety
///
/// `color` is null or points to four numbers; `rects` is null or points to as many rectangles as its count.
pub(super) unsafe fn clear_render_target(
    device: &Device,
    recording: &mut Recording,
    handle: D3D12_CPU_DESCRIPTOR_HANDLE,
    color: *const f32,
    rects: Rects,
) -> Result<(), Refusal> {
    let (_, descriptor) = descriptor(device, handle, D3D12_DESCRIPTOR_HEAP_TYPE_RTV, "RenderTargetView")?;
    // SAFETY: by the COM contract, ColorRGBA is null or has four elements.
    let color = unsafe { color.cast::<[f32; 4]>().as_ref() };
    let color = *color.ok_or_else(|| Refusal::invalid("ColorRGBA is null"))?;
    let Descriptor::View(view) = descriptor else { return Ok(()) };
    // SAFETY: guaranteed by the caller.
    fill_color(recording, &view, color, &unsafe { read_rects(rects) }?)
}

/// Records `ClearDepthStencilView`.
///
/// # Safety
///
/// `rects` is null or points to as many rectangles as its count.
pub(super) unsafe fn clear_depth_stencil(
    device: &Device,
    recording: &mut Recording,
    handle: D3D12_CPU_DESCRIPTOR_HANDLE,
    flags: D3D12_CLEAR_FLAGS,
    (depth, stencil): (f32, u8),
    rects: Rects,
) -> Result<(), Refusal> {
    let (_, descriptor) = descriptor(device, handle, D3D12_DESCRIPTOR_HEAP_TYPE_DSV, "DepthStencilView")?;
    let both = D3D12_CLEAR_FLAG_DEPTH | D3D12_CLEAR_FLAG_STENCIL;
    if flags == 0 || flags & !both != 0 {
        return Err(Refusal::invalid(format!("ClearFlags {flags:#x} is not DEPTH, STENCIL or both"))
            .with_id(D3D12_MESSAGE_ID_CLEARDEPTHSTENCILVIEW_INVALID));
    }
    if flags & D3D12_CLEAR_FLAG_DEPTH != 0 {
        check_depth(depth)?;
    }
    let Descriptor::View(view) = descriptor else { return Ok(()) };
    // SAFETY: guaranteed by the caller.
    let rects = unsafe { read_rects(rects) }?;
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
            recording.notices.tolerate(Err(broken));
        } else if clear == D3D12_CLEAR_FLAG_DEPTH {
            fill_depth(recording, &view, depth, &rects)?;
        } else {
            fill_stencil(recording, &view, stencil, &rects)?;
        }
    }
    Ok(())
}

/// Converts a depth to 24 bits, in the lower bytes of a 32-bit value.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from float, within 24 bits")]
fn d24(depth: f32) -> Option<TexelValue> {
    let depth = (f64::from(depth) * f64::from(0xff_ffff_u32) + 0.5) as u32;
    texel_value::of_uints(DXGI_FORMAT_R32_UINT, [depth; 4])
}

/// Records `SetDescriptorHeaps`.
pub(super) fn set_descriptor_heaps(
    device: &Device,
    recording: &mut Recording,
    heaps: &[Option<ID3D12DescriptorHeap>],
) -> Result<(), Refusal> {
    use crate::api::descriptor_heap::DescriptorHeap;

    let refuse =
        |message: String| Refusal::invalid(message).with_id(D3D12_MESSAGE_ID_SET_DESCRIPTOR_HEAP_INVALID);
    let mut set: Vec<Arc<DescriptorTable>> = Vec::new();
    for (index, heap) in heaps.iter().enumerate() {
        let table =
            own::<DescriptorHeap>(device, heap.as_ref(), &format!("ppDescriptorHeaps[{index}]"))?.table();
        if !table.is_shader_visible() {
            return Err(refuse(format!("ppDescriptorHeaps[{index}] is not shader-visible")));
        }
        if set.iter().any(|other| other.desc().Type == table.desc().Type) {
            return Err(refuse(format!("ppDescriptorHeaps[{index}] has the same type as an earlier heap")));
        }
        set.push(Arc::clone(table));
    }
    recording.descriptor_heaps = set.iter().map(Arc::downgrade).collect();
    Ok(())
}

/// Records `ClearUnorderedAccessViewUint` or `ClearUnorderedAccessViewFloat`.
///
/// # Safety
///
/// `rects` is null or points to as many rectangles as its count.
pub(super) unsafe fn clear_unordered_access(
    device: &Device,
    recording: &mut Recording,
    (gpu, cpu): (D3D12_GPU_DESCRIPTOR_HANDLE, D3D12_CPU_DESCRIPTOR_HANDLE),
    resource: Option<&ID3D12Resource>,
    values: ClearValues,
    rects: Rects,
) -> Result<(), Refusal> {
    let invalid = |message: &str| {
        Refusal::invalid(message.to_owned())
            .with_id(D3D12_MESSAGE_ID_CLEAR_UNORDERED_ACCESS_VIEW_INVALID_DESCRIPTOR_HANDLE)
    };
    let resource: &Resource_Impl = own::<Resource>(device, resource, "pResource")
        .map_err(|why| why.with_id(D3D12_MESSAGE_ID_CLEARUNORDEREDACCESSVIEW_INVALID_RESOURCE_PTR))?;
    // The CPU handle determines the view. Checking the GPU handle and the bound heaps is left to the debug layer.
    let set = device.descriptor_heaps().find_shader_visible(gpu, "ViewGPUHandleInCurrentHeap").and_then(
        |(visible, _)| {
            let is_set =
                |heap: &std::sync::Weak<DescriptorTable>| std::ptr::eq(heap.as_ptr(), &raw const *visible);
            if recording.descriptor_heaps.iter().any(is_set) {
                return Ok(());
            }
            Err(invalid("ViewGPUHandleInCurrentHeap is in a heap that was not set by SetDescriptorHeaps"))
        },
    );
    recording.notices.tolerate(set);
    let heap_type = D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV;
    let (table, descriptor) = descriptor(device, cpu, heap_type, "ViewCPUHandle")?;
    if table.is_shader_visible() {
        let refusal = invalid("ViewCPUHandle is in a shader-visible heap, which the CPU cannot read");
        recording.notices.tolerate(Err(refusal));
    }
    let Descriptor::View(view) = descriptor else { return Ok(()) };
    if !Arc::ptr_eq(&view.resource()?, resource.driver()) {
        return Err(Refusal::invalid("ViewCPUHandle is a view of a resource other than pResource")
            .with_id(D3D12_MESSAGE_ID_CLEARUNORDEREDACCESSVIEW_INVALID_RESOURCE_PTR));
    }
    // SAFETY: guaranteed by the caller.
    let rects = unsafe { read_rects(rects) }?;
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
            return Err(invalid("the format of the view cannot be cleared with float values"));
        }
    };
    let value = value
        .ok_or_else(|| Refusal::not_implemented(format!("clearing a view of format {}", view.format)))?;
    fill(recording, &view, view.plane(), value, &rects)
}
