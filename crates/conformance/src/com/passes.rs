//! Clears of rectangles, resolves, render passes and barriers of textures.

use std::mem::ManuallyDrop;

use heapwright_d3d12::*;
use windows_core::Interface;

use super::Result;
use super::commands::List;

/// The resource, lent to a structure that takes a reference and does not release it.
pub(super) fn lent(resource: &ID3D12Resource) -> ManuallyDrop<Option<ID3D12Resource>> {
    // SAFETY: an interface and an optional one are both a pointer; without a drop the reference stays the owner's, who
    // outlives the call.
    unsafe { std::mem::transmute_copy::<ID3D12Resource, ManuallyDrop<Option<ID3D12Resource>>>(resource) }
}

/// All of the first subresources: a rectangle of zeros is the whole one.
static WHOLE: D3D12_RENDER_PASS_ENDING_ACCESS_RESOLVE_SUBRESOURCE_PARAMETERS =
    D3D12_RENDER_PASS_ENDING_ACCESS_RESOLVE_SUBRESOURCE_PARAMETERS {
        SrcSubresource: 0,
        DstSubresource: 0,
        DstX: 0,
        DstY: 0,
        SrcRect: RECT { left: 0, top: 0, right: 0, bottom: 0 },
    };

/// What a render pass does to a render target; cleared to white.
pub(crate) enum Pass<'a> {
    /// A clear at the beginning, and PRESERVE at the end.
    Clear,
    /// PRESERVE on both sides.
    Preserve,
    /// A clear at the beginning, and a resolve to another texture at the end.
    ClearAndResolve(&'a ID3D12Resource, &'a ID3D12Resource),
}

/// One side of a barrier of a texture: synchronization scope, access and layout.
pub(crate) type Use = (D3D12_BARRIER_SYNC, D3D12_BARRIER_ACCESS, D3D12_BARRIER_LAYOUT);

impl List {
    /// `ClearRenderTargetView` of rectangles.
    pub(crate) fn clear_target_rects(&self, view: D3D12_CPU_DESCRIPTOR_HANDLE, rects: &[RECT]) {
        // SAFETY: the handle is a render target view's; the caller keeps its heap and resource.
        unsafe { self.0.ClearRenderTargetView(view, &[1.0; 4], rects) };
    }

    /// `ClearDepthStencilView` of rectangles, of depth.
    pub(crate) fn clear_depth_rects(&self, view: D3D12_CPU_DESCRIPTOR_HANDLE, depth: f32, rects: &[RECT]) {
        // SAFETY: the handle is a depth stencil view's; the caller keeps its heap and resource.
        unsafe { self.0.ClearDepthStencilView(view, D3D12_CLEAR_FLAG_DEPTH, depth, 0, rects) };
    }

    /// `ClearUnorderedAccessViewUint` of rectangles. `visible` is the heap that the GPU sees.
    pub(crate) fn clear_unordered_rects(
        &self,
        resource: &ID3D12Resource,
        visible: &ID3D12DescriptorHeap,
        view: D3D12_CPU_DESCRIPTOR_HANDLE,
        value: u32,
        rects: &[RECT],
    ) {
        // SAFETY: both heaps hold the view at their start; the caller keeps them and the resource.
        unsafe {
            self.0.SetDescriptorHeaps(&[Some(visible.clone())]);
            let start = visible.GetGPUDescriptorHandleForHeapStart();
            self.0.ClearUnorderedAccessViewUint(start, view, resource, &[value; 4], rects);
        }
    }

    /// `ResolveSubresource` of the first subresources.
    pub(crate) fn resolve(&self, to: &ID3D12Resource, from: &ID3D12Resource, format: DXGI_FORMAT) {
        // SAFETY: the resources are live, and outlive the list's execution: the caller waits for it.
        unsafe { self.0.ResolveSubresource(to, 0, from, 0, format) };
    }

    /// `ResolveSubresourceRegion` of a rectangle, by averages.
    ///
    /// # Errors
    ///
    /// What the list answers when it has no `ID3D12GraphicsCommandList1`.
    pub(crate) fn resolve_region(
        &self,
        (to, x, y): (&ID3D12Resource, u32, u32),
        (from, rect): (&ID3D12Resource, RECT),
        format: DXGI_FORMAT,
    ) -> Result<()> {
        let list: ID3D12GraphicsCommandList1 = self.0.cast().map_err(|error| error.code())?;
        let (rect, mode) = (Some(&raw const rect), D3D12_RESOLVE_MODE_AVERAGE);
        // SAFETY: as in resolve; the rectangle outlives the call.
        unsafe { list.ResolveSubresourceRegion(to, 0, x, y, from, 0, rect, format, mode) };
        Ok(())
    }

    /// `BeginRenderPass` with one render target of RGBA.
    ///
    /// # Errors
    ///
    /// What the list answers when it has no `ID3D12GraphicsCommandList4`.
    pub(crate) fn begin_pass(&self, view: D3D12_CPU_DESCRIPTOR_HANDLE, pass: &Pass<'_>) -> Result<()> {
        let list: ID3D12GraphicsCommandList4 = self.0.cast().map_err(|error| error.code())?;
        let format = DXGI_FORMAT_R8G8B8A8_UNORM;
        let white = D3D12_CLEAR_VALUE { Format: format, Anonymous: D3D12_CLEAR_VALUE_0 { Color: [1.0; 4] } };
        let clear = D3D12_RENDER_PASS_BEGINNING_ACCESS_0 {
            Clear: D3D12_RENDER_PASS_BEGINNING_ACCESS_CLEAR_PARAMETERS { ClearValue: white },
        };
        let begins = match pass {
            Pass::Preserve => D3D12_RENDER_PASS_BEGINNING_ACCESS_TYPE_PRESERVE,
            Pass::Clear | Pass::ClearAndResolve(..) => D3D12_RENDER_PASS_BEGINNING_ACCESS_TYPE_CLEAR,
        };
        let ending = match pass {
            Pass::Clear | Pass::Preserve => D3D12_RENDER_PASS_ENDING_ACCESS {
                Type: D3D12_RENDER_PASS_ENDING_ACCESS_TYPE_PRESERVE,
                ..Default::default()
            },
            Pass::ClearAndResolve(from, to) => D3D12_RENDER_PASS_ENDING_ACCESS {
                Type: D3D12_RENDER_PASS_ENDING_ACCESS_TYPE_RESOLVE,
                Anonymous: D3D12_RENDER_PASS_ENDING_ACCESS_0 {
                    Resolve: ManuallyDrop::new(D3D12_RENDER_PASS_ENDING_ACCESS_RESOLVE_PARAMETERS {
                        pSrcResource: lent(from),
                        pDstResource: lent(to),
                        SubresourceCount: 1,
                        pSubresourceParameters: &raw const WHOLE,
                        Format: format,
                        ResolveMode: D3D12_RESOLVE_MODE_AVERAGE,
                        PreserveResolveSource: true.into(),
                    }),
                },
            },
        };
        let target = D3D12_RENDER_PASS_RENDER_TARGET_DESC {
            cpuDescriptor: view,
            BeginningAccess: D3D12_RENDER_PASS_BEGINNING_ACCESS { Type: begins, Anonymous: clear },
            EndingAccess: ending,
        };
        // SAFETY: the structures are valid and outlive the call, and what the resolve points to outlives the pass.
        unsafe { list.BeginRenderPass(Some(&[target]), None, D3D12_RENDER_PASS_FLAG_NONE) };
        Ok(())
    }

    /// `EndRenderPass`.
    ///
    /// # Errors
    ///
    /// As [`begin_pass`](Self::begin_pass).
    pub(crate) fn end_pass(&self) -> Result<()> {
        let list: ID3D12GraphicsCommandList4 = self.0.cast().map_err(|error| error.code())?;
        // SAFETY: the list is live.
        unsafe { list.EndRenderPass() };
        Ok(())
    }

    /// `Barrier` with one barrier of one array slice, whose number of slices is 0.
    ///
    /// # Errors
    ///
    /// What the list answers when it has no `ID3D12GraphicsCommandList7`.
    pub(crate) fn slice_barrier(
        &self,
        texture: &ID3D12Resource,
        slice: u32,
        (before, after): (Use, Use),
    ) -> Result<()> {
        let list: ID3D12GraphicsCommandList7 = self.0.cast().map_err(|error| error.code())?;
        let barrier = D3D12_TEXTURE_BARRIER {
            SyncBefore: before.0,
            SyncAfter: after.0,
            AccessBefore: before.1,
            AccessAfter: after.1,
            LayoutBefore: before.2,
            LayoutAfter: after.2,
            pResource: lent(texture),
            Subresources: D3D12_BARRIER_SUBRESOURCE_RANGE {
                NumMipLevels: 1,
                FirstArraySlice: slice,
                NumPlanes: 1,
                ..Default::default()
            },
            Flags: D3D12_TEXTURE_BARRIER_FLAG_NONE,
        };
        let group = D3D12_BARRIER_GROUP {
            Type: D3D12_BARRIER_TYPE_TEXTURE,
            NumBarriers: 1,
            Anonymous: D3D12_BARRIER_GROUP_0 { pTextureBarriers: &raw const barrier },
        };
        // SAFETY: the group has one barrier, which outlives the call.
        unsafe { list.Barrier(&[group]) };
        Ok(())
    }

    /// `Barrier` with one barrier of all of a texture to RENDER_TARGET, from a layout, after accesses.
    ///
    /// # Errors
    ///
    /// What the list answers when it has no `ID3D12GraphicsCommandList7`.
    pub(crate) fn target_barrier(&self, texture: &ID3D12Resource, (sync, access, layout): Use) -> Result<()> {
        let list: ID3D12GraphicsCommandList7 = self.0.cast().map_err(|error| error.code())?;
        let barrier = D3D12_TEXTURE_BARRIER {
            SyncBefore: sync,
            SyncAfter: D3D12_BARRIER_SYNC_RENDER_TARGET,
            AccessBefore: access,
            AccessAfter: D3D12_BARRIER_ACCESS_RENDER_TARGET,
            LayoutBefore: layout,
            LayoutAfter: D3D12_BARRIER_LAYOUT_RENDER_TARGET,
            pResource: lent(texture),
            Subresources: D3D12_BARRIER_SUBRESOURCE_RANGE {
                IndexOrFirstMipLevel: D3D12_RESOURCE_BARRIER_ALL_SUBRESOURCES,
                ..Default::default()
            },
            Flags: D3D12_TEXTURE_BARRIER_FLAG_NONE,
        };
        let group = D3D12_BARRIER_GROUP {
            Type: D3D12_BARRIER_TYPE_TEXTURE,
            NumBarriers: 1,
            Anonymous: D3D12_BARRIER_GROUP_0 { pTextureBarriers: &raw const barrier },
        };
        // SAFETY: the group has one barrier, which outlives the call.
        unsafe { list.Barrier(&[group]) };
        Ok(())
    }
}
