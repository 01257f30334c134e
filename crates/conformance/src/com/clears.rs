//! Clears, discards and resolves.

use heapwright_d3d12::*;

use super::commands::List;
use crate::answer::Answer;

// The caller keeps the heaps of views, and the resources, until the list has executed.
impl List {
    /// Calls `ClearRenderTargetView` for rectangles, or for the whole view if there are none.
    pub(crate) fn clear_target(&self, view: D3D12_CPU_DESCRIPTOR_HANDLE, color: [f32; 4], rects: &[RECT]) {
        // SAFETY: the handle is a render target view's.
        unsafe { self.0.ClearRenderTargetView(view, &color, rects) };
    }

    /// Clears the depth of rectangles, or of the whole view if there are none.
    pub(crate) fn clear_depth(&self, view: D3D12_CPU_DESCRIPTOR_HANDLE, depth: f32, rects: &[RECT]) {
        // SAFETY: the handle is a depth stencil view's.
        unsafe { self.0.ClearDepthStencilView(view, D3D12_CLEAR_FLAG_DEPTH, depth, 0, rects) };
    }

    pub(crate) fn clear_stencil(&self, view: D3D12_CPU_DESCRIPTOR_HANDLE, stencil: u8) {
        // SAFETY: the handle is a depth stencil view's.
        unsafe { self.0.ClearDepthStencilView(view, D3D12_CLEAR_FLAG_STENCIL, 0.0, stencil, &[]) };
    }

    pub(crate) fn set_descriptor_heap(&self, visible: &ID3D12DescriptorHeap) {
        // SAFETY: the heap is live.
        unsafe { self.0.SetDescriptorHeaps(&[Some(visible.clone())]) };
    }

    /// Calls `ClearUnorderedAccessViewUint` for rectangles, or for the whole view if there are none. `visible` is the
    /// shader-visible heap that starts with the same view.
    pub(crate) fn clear_unordered(
        &self,
        resource: &ID3D12Resource,
        visible: &ID3D12DescriptorHeap,
        view: D3D12_CPU_DESCRIPTOR_HANDLE,
        values: [u32; 4],
        rects: &[RECT],
    ) {
        // SAFETY: both heaps have the view at their start.
        unsafe {
            let start = visible.GetGPUDescriptorHandleForHeapStart();
            self.0.ClearUnorderedAccessViewUint(start, view, resource, &values, rects);
        }
    }

    /// Calls `DiscardResource` for the whole resource or for one subresource.
    pub(crate) fn discard(&self, resource: &ID3D12Resource, subresource: Option<u32>) {
        let region = subresource.map(|subresource| D3D12_DISCARD_REGION {
            NumRects: 0,
            pRects: std::ptr::null(),
            FirstSubresource: subresource,
            NumSubresources: 1,
        });
        // SAFETY: the region is null or valid.
        unsafe { self.0.DiscardResource(resource, region.as_ref().map(std::ptr::from_ref)) };
    }

    /// Calls `ResolveSubresource` for the first subresources.
    pub(crate) fn resolve(&self, to: &ID3D12Resource, from: &ID3D12Resource, format: DXGI_FORMAT) {
        // SAFETY: the resources are live.
        unsafe { self.0.ResolveSubresource(to, 0, from, 0, format) };
    }

    /// Calls `ResolveSubresourceRegion` for a rectangle in mode AVERAGE.
    pub(crate) fn resolve_region(
        &self,
        (to, x, y): (&ID3D12Resource, u32, u32),
        (from, rect): (&ID3D12Resource, RECT),
        format: DXGI_FORMAT,
    ) -> Answer<()> {
        let (rect, mode) = (Some(&raw const rect), D3D12_RESOLVE_MODE_AVERAGE);
        self.newer("ResolveSubresourceRegion", |list: &ID3D12GraphicsCommandList1| {
            // SAFETY: the resources are live, and the rectangle outlives the call.
            unsafe { list.ResolveSubresourceRegion(to, 0, x, y, from, 0, rect, format, mode) };
        })
    }
}
