//! `ClearRenderTargetView`, `ClearDepthStencilView`, `ClearUnorderedAccessViewUint` and `ClearUnorderedAccessViewFloat`.

use std::sync::Arc;

use heapwright_d3d12::*;

use super::barriers::extents;
use super::{Recording, read_array};
use crate::api::descriptor_heap::DescriptorTable;
use crate::api::device::Device;
use crate::api::object::own;
use crate::api::resource::{Resource, Resource_Impl};
use crate::api::texel_value;
use crate::api::views::{Descriptor, View, ViewPart};
use crate::ddi::command::{Command, TexelValue};
use crate::ddi::driver_resource::{DriverResource, TexelRegion};
use crate::format;
use crate::rules::Refusal;

/// The rectangles of a clear, as the application passes them.
pub(super) type Rects = (u32, *const D3D12_RECT);

/// The values of a clear of an unordered access view.
#[derive(Debug, Clone, Copy)]
pub(super) enum ClearValues {
    Uint([u32; 4]),
    Float([f32; 4]),
}

/// What a CPU handle names, in a heap of the type that the call needs.
fn descriptor(
    device: &Device,
    handle: D3D12_CPU_DESCRIPTOR_HANDLE,
    heap_type: D3D12_DESCRIPTOR_HEAP_TYPE,
    name: &str,
) -> Result<(Arc<DescriptorTable>, Descriptor), Refusal> {
    let (table, index) = device.descriptor_heaps().find(handle, name)?;
    if table.desc().Type != heap_type {
        return Err(Refusal::invalid(format!(
            "{name} is of a descriptor heap of type {}, not {heap_type}",
            table.desc().Type
        ))
        .with_id(D3D12_MESSAGE_ID_INVALID_DESCRIPTOR_HANDLE));
    }
    match table.get(index) {
        Some(descriptor @ (Descriptor::View(_) | Descriptor::Null)) => Ok((table, descriptor)),
        _ => Err(Refusal::invalid(format!("{name} names a descriptor without a view that can be cleared"))
            .with_id(D3D12_MESSAGE_ID_INVALID_DESCRIPTOR_HANDLE)),
    }
}

/// Texels in x, y and z of a mip level of a texture.
fn mip_size(desc: &D3D12_RESOURCE_DESC1, mip: u32) -> Result<[u32; 3], Refusal> {
    let width = u32::try_from(desc.Width).map_err(|_| Refusal::invalid("the texture is too wide"))?;
    let is_3d = desc.Dimension == D3D12_RESOURCE_DIMENSION_TEXTURE3D;
    let depth = if is_3d { u32::from(desc.DepthOrArraySize) } else { 1 };
    Ok([width, desc.Height, depth].map(|extent| extent.checked_shr(mip).unwrap_or(0).max(1)))
}

/// Checks that the rectangles are none, or all of a subresource.
///
/// # Errors
///
/// E_NOTIMPL for any others.
fn check_rects(view: &View, (count, rects): Rects) -> Result<(), Refusal> {
    // SAFETY: by the COM contract pRects is null or has that many elements.
    let rects = unsafe { read_array(count, rects, "pRects") }?;
    let ViewPart::Slices { mip, .. } = view.part else {
        return if rects.is_empty() {
            Ok(())
        } else {
            Err(Refusal::not_implemented("clears of a part of a buffer"))
        };
    };
    let [width, height, _] = mip_size(&view.desc, mip)?;
    let is_whole = |rect: &D3D12_RECT| {
        let right = u32::try_from(rect.right).is_ok_and(|right| right == width);
        let bottom = u32::try_from(rect.bottom).is_ok_and(|bottom| bottom == height);
        rect.left == 0 && rect.top == 0 && right && bottom
    };
    if rects.iter().all(is_whole) {
        return Ok(());
    }
    Err(Refusal::not_implemented("clears of rectangles that are not the whole subresource"))
}

/// Fills all that a view is of, in one plane.
fn fill(recording: &mut Recording, view: &View, plane: u32, value: TexelValue) -> Result<(), Refusal> {
    let resource: Arc<dyn DriverResource> = view.resource()?;
    let (mip, first, count) = match view.part {
        ViewPart::Bytes { offset, size } => {
            if size != 0 {
                recording.commands.push(Command::FillBuffer { target: (resource, offset), size, value });
            }
            return Ok(());
        }
        ViewPart::Slices { mip, first, count, .. } => (mip, first, count),
    };
    let [width, height, depth] = mip_size(&view.desc, mip)?;
    let [mips, slices, _] = extents(&view.desc);
    let texel = format::properties(view.desc.Format).map(|format| format.plane(plane).block_bytes);
    if texel != Some(value.len.into()) {
        return Err(Refusal::invalid(format!(
            "a texel of {} bytes in a texture of format {}",
            value.len, view.desc.Format
        )));
    }
    let subresource = |slice: u32| mip + (slice + plane * slices) * mips;
    if view.desc.Dimension == D3D12_RESOURCE_DIMENSION_TEXTURE3D {
        debug_assert!(first + count <= depth, "checked when the view was made");
        let region = TexelRegion { start: [0, 0, first], size: [width, height, count] };
        recording.commands.push(Command::FillTexels {
            target: resource,
            subresource: subresource(0),
            region,
            value,
        });
        return Ok(());
    }
    let region = TexelRegion { start: [0; 3], size: [width, height, 1] };
    recording.commands.extend((first..first + count).map(|slice| Command::FillTexels {
        target: Arc::clone(&resource),
        subresource: subresource(slice),
        region,
        value,
    }));
    Ok(())
}

/// `ClearRenderTargetView`.
pub(super) fn clear_render_target(
    device: &Device,
    recording: &mut Recording,
    handle: D3D12_CPU_DESCRIPTOR_HANDLE,
    color: *const f32,
    rects: Rects,
) -> Result<(), Refusal> {
    let (_, descriptor) = descriptor(device, handle, D3D12_DESCRIPTOR_HEAP_TYPE_RTV, "RenderTargetView")?;
    // SAFETY: by the COM contract ColorRGBA is null or has four elements.
    let color = unsafe { color.cast::<[f32; 4]>().as_ref() };
    let color = *color.ok_or_else(|| Refusal::invalid("ColorRGBA is null"))?;
    let Descriptor::View(view) = descriptor else { return Ok(()) };
    check_rects(&view, rects)?;
    let value = texel_value::of_floats(view.format, color).ok_or_else(|| {
        Refusal::not_implemented(format!("clears of a render target of format {}", view.format))
    })?;
    fill(recording, &view, plane_of(&view), value)
}

fn plane_of(view: &View) -> u32 {
    match view.part {
        ViewPart::Slices { plane, .. } => plane,
        ViewPart::Bytes { .. } => 0,
    }
}

/// `ClearDepthStencilView`.
pub(super) fn clear_depth_stencil(
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
        return Err(Refusal::invalid(format!("ClearFlags {flags:#x} names neither depth nor stencil"))
            .with_id(D3D12_MESSAGE_ID_CLEARDEPTHSTENCILVIEW_INVALID));
    }
    if flags & D3D12_CLEAR_FLAG_DEPTH != 0 && !(0.0..=1.0).contains(&depth) {
        return Err(Refusal::invalid(format!("Depth {depth} is not from 0 to 1"))
            .with_id(D3D12_MESSAGE_ID_CLEARDEPTHSTENCILVIEW_INVALID));
    }
    let Descriptor::View(view) = descriptor else { return Ok(()) };
    check_rects(&view, rects)?;
    let (depth_value, has_stencil) = match view.format {
        DXGI_FORMAT_D24_UNORM_S8_UINT => (d24(depth), true),
        DXGI_FORMAT_D32_FLOAT_S8X24_UINT => (texel_value::of_floats(DXGI_FORMAT_D32_FLOAT, [depth; 4]), true),
        DXGI_FORMAT_D32_FLOAT | DXGI_FORMAT_D16_UNORM => {
            (texel_value::of_floats(view.format, [depth; 4]), false)
        }
        other => return Err(Refusal::invalid(format!("format {other} is none of a depth stencil"))),
    };
    if flags & D3D12_CLEAR_FLAG_DEPTH != 0
        && let Some(value) = depth_value
    {
        fill(recording, &view, 0, value)?;
    }
    // A clear of the stencil that a format does not have does nothing.
    if flags & D3D12_CLEAR_FLAG_STENCIL != 0
        && has_stencil
        && let Some(value) = texel_value::of_uints(DXGI_FORMAT_R8_UINT, [stencil.into(); 4])
    {
        fill(recording, &view, 1, value)?;
    }
    Ok(())
}

/// 24 bits of depth in the lower bytes of four.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from float, within 24 bits")]
fn d24(depth: f32) -> Option<TexelValue> {
    let depth = (f64::from(depth) * f64::from(0xff_ffff_u32) + 0.5) as u32;
    texel_value::of_uints(DXGI_FORMAT_R32_UINT, [depth; 4])
}

/// `SetDescriptorHeaps`.
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
            return Err(refuse(format!("ppDescriptorHeaps[{index}] is no heap that shaders see")));
        }
        if set.iter().any(|other| other.desc().Type == table.desc().Type) {
            return Err(refuse(format!("ppDescriptorHeaps[{index}] is the second heap of its type")));
        }
        set.push(Arc::clone(table));
    }
    recording.descriptor_heaps = set.iter().map(Arc::downgrade).collect();
    Ok(())
}

/// `ClearUnorderedAccessViewUint` and `ClearUnorderedAccessViewFloat`.
pub(super) fn clear_unordered_access(
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
    let (visible, _) = device.descriptor_heaps().find_shader_visible(gpu, "ViewGPUHandleInCurrentHeap")?;
    let is_set = |heap: &std::sync::Weak<DescriptorTable>| std::ptr::eq(heap.as_ptr(), Arc::as_ptr(&visible));
    if !recording.descriptor_heaps.iter().any(is_set) {
        return Err(invalid("ViewGPUHandleInCurrentHeap is of a heap that SetDescriptorHeaps has not set"));
    }
    let heap_type = D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV;
    let (table, descriptor) = descriptor(device, cpu, heap_type, "ViewCPUHandle")?;
    if table.is_shader_visible() {
        return Err(invalid("ViewCPUHandle is of a shader-visible heap, which the CPU does not read"));
    }
    let Descriptor::View(view) = descriptor else { return Ok(()) };
    if !Arc::ptr_eq(&view.resource()?, resource.driver()) {
        return Err(Refusal::invalid("ViewCPUHandle is a view of another resource than pResource")
            .with_id(D3D12_MESSAGE_ID_CLEARUNORDEREDACCESSVIEW_INVALID_RESOURCE_PTR));
    }
    check_rects(&view, rects)?;
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
            return Err(invalid("ClearUnorderedAccessViewFloat of a view whose format has no float values"));
        }
    };
    let value = value
        .ok_or_else(|| Refusal::not_implemented(format!("clears of a view of format {}", view.format)))?;
    fill(recording, &view, plane_of(&view), value)
}
