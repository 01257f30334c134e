//! Views that commands name by descriptor handles: clears, and the descriptor heaps of a list.

use std::sync::{Arc, Weak};

use heapwright_d3d12::*;

use super::{Recording, read_array};
use crate::api::descriptor_heap::{DescriptorHeap, DescriptorTable};
use crate::api::device::Device;
use crate::api::object::own;
use crate::api::resource::operand;
use crate::drivers::command::Command;
use crate::rules::Refusal;
use crate::rules::commands::clears::{self, ClearValues};
use crate::rules::views::{Descriptor, View};

/// The rectangles of a clear, as passed by the application.
pub(super) type Rects = (u32, *const D3D12_RECT);

/// Returns the descriptor heap of a CPU handle, which has the given type, and the view that the handle refers to:
/// `None` for a null view.
pub(super) fn find_view(
    device: &Device,
    handle: D3D12_CPU_DESCRIPTOR_HANDLE,
    heap_type: D3D12_DESCRIPTOR_HEAP_TYPE,
    name: &str,
) -> Result<(Arc<DescriptorTable>, Option<View>), Refusal> {
    let (table, index) = device.descriptor_heaps().find_in(handle, heap_type, name)?;
    match table.get(index) {
        Some(Descriptor::View(view)) => Ok((table, Some(view))),
        Some(Descriptor::Null) => Ok((table, None)),
        Some(Descriptor::ShadersOnly) | None => Err(Refusal::invalid(format!(
            "{name} refers to a descriptor without a view that can be written to"
        ))
        .with_id(D3D12_MESSAGE_ID_INVALID_DESCRIPTOR_HANDLE)),
    }
}

/// Reads the rectangles that the application passes.
///
/// # Safety
///
/// The pointer is null or points to as many rectangles as the count, which stay readable while the result is in use.
unsafe fn read_rects<'a>((count, rects): Rects) -> Result<&'a [D3D12_RECT], Refusal> {
    // SAFETY: guaranteed by the caller.
    unsafe { read_array(count, rects, "pRects") }
}

/// Records `ClearRenderTargetView`.
///
/// # Safety
///
/// `color` is null or points to four numbers; `rects` is null or points to as many rectangles as its count.
pub(super) unsafe fn clear_render_target(
    device: &Device,
    handle: D3D12_CPU_DESCRIPTOR_HANDLE,
    color: *const f32,
    rects: Rects,
) -> Result<Vec<Command>, Refusal> {
    let (_, view) = find_view(device, handle, D3D12_DESCRIPTOR_HEAP_TYPE_RTV, "RenderTargetView")?;
    // SAFETY: by the COM contract, ColorRGBA is null or has four elements.
    let color = unsafe { color.cast::<[f32; 4]>().as_ref() };
    let color = *color.ok_or_else(|| Refusal::invalid("ColorRGBA is null"))?;
    let Some(view) = view else { return Ok(Vec::new()) };
    // SAFETY: guaranteed by the caller.
    clears::fill_color(&view, color, unsafe { read_rects(rects) }?)
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
    values: (f32, u8),
    rects: Rects,
) -> Result<Vec<Command>, Refusal> {
    let (_, view) = find_view(device, handle, D3D12_DESCRIPTOR_HEAP_TYPE_DSV, "DepthStencilView")?;
    // SAFETY: guaranteed by the caller.
    let rects = unsafe { read_rects(rects) }?;
    clears::clear_depth_stencil(view.as_ref(), flags, values, rects, &mut recording.notices)
}

/// Records `SetDescriptorHeaps`.
///
/// # Safety
///
/// The pointer is null or points to as many heaps as the count.
pub(super) unsafe fn set_descriptor_heaps(
    device: &Device,
    recording: &mut Recording,
    (count, heaps): (u32, *const Option<ID3D12DescriptorHeap>),
) -> Result<Option<Command>, Refusal> {
    // SAFETY: guaranteed by the caller.
    let heaps = unsafe { read_array(count, heaps, "ppDescriptorHeaps") }?;
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
    Ok(None)
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
) -> Result<Vec<Command>, Refusal> {
    let invalid = |message: &str| {
        Refusal::invalid(message.to_owned())
            .with_id(D3D12_MESSAGE_ID_CLEAR_UNORDERED_ACCESS_VIEW_INVALID_DESCRIPTOR_HANDLE)
    };
    let resource = operand(device, resource, "pResource")
        .map_err(|why| why.with_id(D3D12_MESSAGE_ID_CLEARUNORDEREDACCESSVIEW_INVALID_RESOURCE_PTR))?;
    // The CPU handle determines the view. Checking the GPU handle and the bound heaps is left to the debug layer.
    let set = device.descriptor_heaps().find_shader_visible(gpu, "ViewGPUHandleInCurrentHeap").and_then(
        |(visible, _)| {
            let is_set = |heap: &Weak<DescriptorTable>| std::ptr::eq(heap.as_ptr(), &raw const *visible);
            if recording.descriptor_heaps.iter().any(is_set) {
                return Ok(());
            }
            Err(invalid("ViewGPUHandleInCurrentHeap is in a heap that was not set by SetDescriptorHeaps"))
        },
    );
    recording.notices.tolerate(set);
    let heap_type = D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV;
    let (table, view) = find_view(device, cpu, heap_type, "ViewCPUHandle")?;
    if table.is_shader_visible() {
        let refusal = invalid("ViewCPUHandle is in a shader-visible heap, which the CPU cannot read");
        recording.notices.tolerate(Err(refusal));
    }
    let Some(view) = view else { return Ok(Vec::new()) };
    // SAFETY: guaranteed by the caller.
    let rects = unsafe { read_rects(rects) }?;
    clears::clear_unordered_access(&view, resource, values, rects)
}
