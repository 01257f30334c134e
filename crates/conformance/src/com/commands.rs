//! Queues, command lists and fences.

use std::mem::ManuallyDrop;
use std::time::{Duration, Instant};

use heapwright_d3d12::*;
use windows_core::Interface;

use super::{Result, done};

/// How long a check waits for a fence before it gives up on it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

pub(super) fn made<T>(result: windows_core::Result<T>) -> Result<T> {
    result.map_err(|error| error.code())
}

/// `CreateFence`.
pub(crate) fn create_fence(
    device: &ID3D12Device,
    value: u64,
    flags: D3D12_FENCE_FLAGS,
) -> Result<ID3D12Fence> {
    // SAFETY: the device is live.
    made(unsafe { device.CreateFence(value, flags) })
}

/// `GetCompletedValue`.
pub(crate) fn completed(fence: &ID3D12Fence) -> u64 {
    // SAFETY: the fence is live.
    unsafe { fence.GetCompletedValue() }
}

/// `ID3D12Fence::Signal`.
pub(crate) fn signal(fence: &ID3D12Fence, value: u64) -> Result<()> {
    // SAFETY: the fence is live.
    done(unsafe { fence.Signal(value) })
}

/// `SetEventOnCompletion` without an event: blocks until the fence has the value.
pub(crate) fn block_until(fence: &ID3D12Fence, value: u64) -> Result<()> {
    // SAFETY: the fence is live; a null event blocks.
    done(unsafe { fence.SetEventOnCompletion(value, HANDLE::default()) })
}

/// Waits until the fence has the value, or the time is up; whether it has.
pub(crate) fn wait_until(fence: &ID3D12Fence, value: u64, patience: Duration) -> bool {
    let start = Instant::now();
    loop {
        if completed(fence) >= value {
            return true;
        }
        if start.elapsed() >= patience {
            return false;
        }
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// `CreateCommandQueue`.
pub(crate) fn create_queue(
    device: &ID3D12Device,
    desc: &D3D12_COMMAND_QUEUE_DESC,
) -> Result<ID3D12CommandQueue> {
    // SAFETY: desc is valid.
    made(unsafe { device.CreateCommandQueue(desc) })
}

/// `ID3D12CommandQueue::GetDesc`.
pub(crate) fn queue_desc(queue: &ID3D12CommandQueue) -> D3D12_COMMAND_QUEUE_DESC {
    // SAFETY: the queue is live.
    unsafe { queue.GetDesc() }
}

/// `CreateCommandAllocator`.
pub(crate) fn create_allocator(
    device: &ID3D12Device,
    list_type: D3D12_COMMAND_LIST_TYPE,
) -> Result<ID3D12CommandAllocator> {
    // SAFETY: the device is live.
    made(unsafe { device.CreateCommandAllocator(list_type) })
}

/// `CreateCommandList`; the list is open.
pub(crate) fn create_list(
    device: &ID3D12Device,
    list_type: D3D12_COMMAND_LIST_TYPE,
    allocator: &ID3D12CommandAllocator,
) -> Result<List> {
    // SAFETY: the allocator is live and of the same type.
    made(unsafe { device.CreateCommandList(0, list_type, allocator, None) }).map(List)
}

/// `ID3D12CommandAllocator::Reset`.
pub(crate) fn reset_allocator(allocator: &ID3D12CommandAllocator) -> Result<()> {
    // SAFETY: the allocator is live; resetting one in use is refused.
    done(unsafe { allocator.Reset() })
}

/// One `ExecuteCommandLists` with closed lists, in this order.
pub(crate) fn execute(queue: &ID3D12CommandQueue, lists: &[&List]) -> Result<()> {
    let lists: Vec<Option<ID3D12CommandList>> = lists
        .iter()
        .map(|list| list.0.cast().map(Some).map_err(|error| error.code()))
        .collect::<Result<_>>()?;
    // SAFETY: the lists are live and closed.
    unsafe { queue.ExecuteCommandLists(&lists) };
    Ok(())
}

/// `ID3D12CommandQueue::Signal`.
pub(crate) fn queue_signal(queue: &ID3D12CommandQueue, fence: &ID3D12Fence, value: u64) -> Result<()> {
    // SAFETY: both are live.
    done(unsafe { queue.Signal(fence, value) })
}

/// `ID3D12CommandQueue::Wait`.
pub(crate) fn queue_wait(queue: &ID3D12CommandQueue, fence: &ID3D12Fence, value: u64) -> Result<()> {
    // SAFETY: both are live.
    done(unsafe { queue.Wait(fence, value) })
}

/// `GetTimestampFrequency`.
pub(crate) fn timestamp_frequency(queue: &ID3D12CommandQueue) -> Result<u64> {
    // SAFETY: the queue is live.
    made(unsafe { queue.GetTimestampFrequency() })
}

/// A region of tiles, and the tiles of a heap from `heap_tile` on that back it. `None` unmaps.
pub(crate) fn map_tiles(
    queue: &ID3D12CommandQueue,
    resource: &ID3D12Resource,
    first_tile: u32,
    tile_count: u32,
    heap: Option<(&ID3D12Heap, u32)>,
) {
    let start = D3D12_TILED_RESOURCE_COORDINATE { X: first_tile, ..Default::default() };
    let size = D3D12_TILE_REGION_SIZE { NumTiles: tile_count, ..Default::default() };
    let flags = if heap.is_some() { D3D12_TILE_RANGE_FLAG_NONE } else { D3D12_TILE_RANGE_FLAG_NULL };
    let offset = heap.map_or(0, |(_, tile)| tile);
    // SAFETY: one region and one range, whose arrays have one element each; the objects are live.
    unsafe {
        queue.UpdateTileMappings(
            resource,
            1,
            Some(&raw const start),
            Some(&raw const size),
            heap.map(|(heap, _)| heap),
            1,
            Some(&raw const flags),
            Some(&raw const offset),
            Some(&raw const tile_count),
            D3D12_TILE_MAPPING_FLAG_NONE,
        );
    }
}

/// Regions of a resource and the ranges that are laid over them, as `UpdateTileMappings` takes them. What is `None` is a null array.
#[derive(Clone, Copy, Default)]
pub(crate) struct TileUpdate<'a> {
    /// As many as there are regions, one where there is none.
    pub(crate) starts: Option<&'a [D3D12_TILED_RESOURCE_COORDINATE]>,
    /// As many as starts.
    pub(crate) sizes: Option<&'a [D3D12_TILE_REGION_SIZE]>,
    pub(crate) heap: Option<&'a ID3D12Heap>,
    /// As many as there are ranges.
    pub(crate) flags: Option<&'a [D3D12_TILE_RANGE_FLAGS]>,
    /// As many as there are ranges.
    pub(crate) heap_tiles: Option<&'a [u32]>,
    /// As many as there are ranges.
    pub(crate) counts: Option<&'a [u32]>,
}

/// `UpdateTileMappings`.
///
/// # Panics
///
/// When arrays that belong together differ in length.
pub(crate) fn update_tiles(queue: &ID3D12CommandQueue, resource: &ID3D12Resource, update: &TileUpdate<'_>) {
    fn length(lens: &[Option<usize>]) -> u32 {
        let mut known = lens.iter().flatten();
        let len = known.next().copied().unwrap_or(1);
        assert!(known.all(|&other| other == len), "arrays of one length: {lens:?}");
        u32::try_from(len).expect("few")
    }
    let TileUpdate { starts, sizes, heap, flags, heap_tiles, counts } = *update;
    let regions = length(&[starts.map(<[_]>::len), sizes.map(<[_]>::len)]);
    let ranges = length(&[flags.map(<[_]>::len), heap_tiles.map(<[_]>::len), counts.map(<[_]>::len)]);
    // SAFETY: each array is null or has as many elements as its count says; the objects are live.
    unsafe {
        queue.UpdateTileMappings(
            resource,
            regions,
            starts.map(<[_]>::as_ptr),
            sizes.map(<[_]>::as_ptr),
            heap,
            ranges,
            flags.map(<[_]>::as_ptr),
            heap_tiles.map(<[_]>::as_ptr),
            counts.map(<[_]>::as_ptr),
            D3D12_TILE_MAPPING_FLAG_NONE,
        );
    }
}

/// One side of a texture copy.
#[derive(Clone, Copy)]
pub(crate) enum CopyLocation<'a> {
    /// A subresource of a texture.
    Subresource(&'a ID3D12Resource, u32),
    /// Rows in a buffer.
    Footprint(&'a ID3D12Resource, D3D12_PLACED_SUBRESOURCE_FOOTPRINT),
}

impl CopyLocation<'_> {
    fn to_d3d12(self) -> D3D12_TEXTURE_COPY_LOCATION {
        let borrowed = |resource: &ID3D12Resource| {
            // SAFETY: an interface and an optional one are both a pointer; without a drop the reference stays the
            // owner's, who outlives the call.
            unsafe {
                std::mem::transmute_copy::<ID3D12Resource, ManuallyDrop<Option<ID3D12Resource>>>(resource)
            }
        };
        match self {
            Self::Subresource(resource, index) => D3D12_TEXTURE_COPY_LOCATION {
                pResource: borrowed(resource),
                Type: D3D12_TEXTURE_COPY_TYPE_SUBRESOURCE_INDEX,
                Anonymous: D3D12_TEXTURE_COPY_LOCATION_0 { SubresourceIndex: index },
            },
            Self::Footprint(resource, footprint) => D3D12_TEXTURE_COPY_LOCATION {
                pResource: borrowed(resource),
                Type: D3D12_TEXTURE_COPY_TYPE_PLACED_FOOTPRINT,
                Anonymous: D3D12_TEXTURE_COPY_LOCATION_0 { PlacedFootprint: footprint },
            },
        }
    }
}

/// A command list that records.
pub(crate) struct List(pub(super) ID3D12GraphicsCommandList);

impl List {
    /// `Close`.
    pub(crate) fn close(&self) -> Result<()> {
        // SAFETY: the list is live.
        done(unsafe { self.0.Close() })
    }

    /// `Reset`.
    pub(crate) fn reset(&self, allocator: &ID3D12CommandAllocator) -> Result<()> {
        // SAFETY: both are live.
        done(unsafe { self.0.Reset(allocator, None) })
    }

    /// `GetType`.
    pub(crate) fn list_type(&self) -> D3D12_COMMAND_LIST_TYPE {
        // SAFETY: the list is live.
        unsafe { self.0.GetType() }
    }

    /// `CopyBufferRegion`.
    pub(crate) fn copy_buffer(
        &self,
        (to, to_offset): (&ID3D12Resource, u64),
        (from, from_offset): (&ID3D12Resource, u64),
        len: u64,
    ) {
        // SAFETY: the resources are live, and outlive the list's execution: the caller waits for it.
        unsafe { self.0.CopyBufferRegion(to, to_offset, from, from_offset, len) };
    }

    /// `CopyResource`.
    pub(crate) fn copy_resource(&self, to: &ID3D12Resource, from: &ID3D12Resource) {
        // SAFETY: as in copy_buffer.
        unsafe { self.0.CopyResource(to, from) };
    }

    /// `CopyTextureRegion` of a whole source, or of a box.
    pub(crate) fn copy_texture(
        &self,
        to: CopyLocation<'_>,
        at: (u32, u32, u32),
        from: CopyLocation<'_>,
        source: Option<D3D12_BOX>,
    ) {
        let source = source.as_ref().map(std::ptr::from_ref);
        // SAFETY: the locations are valid structures with live resources; see copy_buffer.
        unsafe {
            self.0.CopyTextureRegion(&to.to_d3d12(), at.0, at.1, at.2, &from.to_d3d12(), source);
        }
    }

    /// `CopyTiles` between a tiled resource, from its tile `first_tile` on, and a buffer.
    pub(crate) fn copy_tiles(
        &self,
        tiled: &ID3D12Resource,
        first_tile: u32,
        tile_count: u32,
        buffer: &ID3D12Resource,
        flags: D3D12_TILE_COPY_FLAGS,
    ) {
        let start = D3D12_TILED_RESOURCE_COORDINATE { X: first_tile, ..Default::default() };
        let size = D3D12_TILE_REGION_SIZE { NumTiles: tile_count, ..Default::default() };
        // SAFETY: the structures are valid; see copy_buffer.
        unsafe { self.0.CopyTiles(tiled, &start, &size, buffer, 0, flags) };
    }

    /// `WriteBufferImmediate` of one value at a GPU address.
    ///
    /// # Errors
    ///
    /// What the list answers when it has no `ID3D12GraphicsCommandList2`.
    pub(crate) fn write_immediate(&self, address: u64, value: u32) -> Result<()> {
        let list: ID3D12GraphicsCommandList2 = self.0.cast().map_err(|error| error.code())?;
        let parameter =
            D3D12_WRITEBUFFERIMMEDIATE_PARAMETER { Dest: D3D12_GPU_VIRTUAL_ADDRESS(address), Value: value };
        // SAFETY: one parameter, and no modes.
        unsafe { list.WriteBufferImmediate(1, &parameter, None) };
        Ok(())
    }

    /// `Barrier` with one global barrier that orders everything.
    ///
    /// # Errors
    ///
    /// What the list answers when it has no `ID3D12GraphicsCommandList7`.
    pub(crate) fn global_barrier(&self) -> Result<()> {
        let list: ID3D12GraphicsCommandList7 = self.0.cast().map_err(|error| error.code())?;
        let barrier = D3D12_GLOBAL_BARRIER {
            SyncBefore: D3D12_BARRIER_SYNC_ALL,
            SyncAfter: D3D12_BARRIER_SYNC_ALL,
            AccessBefore: D3D12_BARRIER_ACCESS_COMMON,
            AccessAfter: D3D12_BARRIER_ACCESS_COMMON,
        };
        let group = D3D12_BARRIER_GROUP {
            Type: D3D12_BARRIER_TYPE_GLOBAL,
            NumBarriers: 1,
            Anonymous: D3D12_BARRIER_GROUP_0 { pGlobalBarriers: &raw const barrier },
        };
        // SAFETY: the group has one barrier, which outlives the call.
        unsafe { list.Barrier(&[group]) };
        Ok(())
    }

    /// `ClearRenderTargetView` of all that the view shows.
    pub(crate) fn clear_render_target(&self, view: D3D12_CPU_DESCRIPTOR_HANDLE, color: [f32; 4]) {
        // SAFETY: the handle is a render target view's; the caller keeps its heap and resource.
        unsafe { self.0.ClearRenderTargetView(view, &color, &[]) };
    }

    /// `ClearDepthStencilView` of depth in all that the view shows.
    pub(crate) fn clear_depth(&self, view: D3D12_CPU_DESCRIPTOR_HANDLE, depth: f32) {
        // SAFETY: the handle is a depth stencil view's; the caller keeps its heap and resource.
        unsafe { self.0.ClearDepthStencilView(view, D3D12_CLEAR_FLAG_DEPTH, depth, 0, &[]) };
    }

    /// `ClearDepthStencilView` of stencil in all that the view shows.
    pub(crate) fn clear_stencil(&self, view: D3D12_CPU_DESCRIPTOR_HANDLE, stencil: u8) {
        // SAFETY: the handle is a depth stencil view's; the caller keeps its heap and resource.
        unsafe { self.0.ClearDepthStencilView(view, D3D12_CLEAR_FLAG_STENCIL, 0.0, stencil, &[]) };
    }

    /// `ClearUnorderedAccessViewUint` of all that the view shows, without `SetDescriptorHeaps`.
    pub(crate) fn clear_without_heaps(
        &self,
        resource: &ID3D12Resource,
        visible: &ID3D12DescriptorHeap,
        view: D3D12_CPU_DESCRIPTOR_HANDLE,
    ) {
        // SAFETY: both heaps hold the view at their start; the caller keeps them and the resource.
        unsafe {
            let start = visible.GetGPUDescriptorHandleForHeapStart();
            self.0.ClearUnorderedAccessViewUint(start, view, resource, &[0; 4], &[]);
        }
    }

    /// `ClearUnorderedAccessViewUint` of all that the view shows. `visible` is the heap that the GPU sees.
    pub(crate) fn clear_unordered_access(
        &self,
        resource: &ID3D12Resource,
        visible: &ID3D12DescriptorHeap,
        view: D3D12_CPU_DESCRIPTOR_HANDLE,
        values: [u32; 4],
    ) {
        // SAFETY: both heaps hold the view at their start; the caller keeps them and the resource.
        unsafe {
            self.0.SetDescriptorHeaps(&[Some(visible.clone())]);
            let start = visible.GetGPUDescriptorHandleForHeapStart();
            self.0.ClearUnorderedAccessViewUint(start, view, resource, &values, &[]);
        }
    }

    /// `DiscardResource` of a whole resource.
    pub(crate) fn discard(&self, resource: &ID3D12Resource) {
        // SAFETY: see copy_buffer.
        unsafe { self.0.DiscardResource(resource, None) };
    }

    /// `DiscardResource` of one subresource.
    pub(crate) fn discard_subresource(&self, resource: &ID3D12Resource, subresource: u32) {
        let region = D3D12_DISCARD_REGION {
            NumRects: 0,
            pRects: std::ptr::null(),
            FirstSubresource: subresource,
            NumSubresources: 1,
        };
        // SAFETY: the region is valid; see copy_buffer.
        unsafe { self.0.DiscardResource(resource, Some(&raw const region)) };
    }
}

/// `CreateDescriptorHeap`.
pub(crate) fn create_descriptor_heap(
    device: &ID3D12Device,
    desc: &D3D12_DESCRIPTOR_HEAP_DESC,
) -> Result<ID3D12DescriptorHeap> {
    // SAFETY: desc is valid.
    made(unsafe { device.CreateDescriptorHeap(desc) })
}

/// `CreateRenderTargetView` of the whole resource at the start of a heap; where it is.
pub(crate) fn create_render_target_view(
    device: &ID3D12Device,
    resource: &ID3D12Resource,
    heap: &ID3D12DescriptorHeap,
) -> D3D12_CPU_DESCRIPTOR_HANDLE {
    // SAFETY: the heap is of render target views and has room for one.
    unsafe {
        let handle = heap.GetCPUDescriptorHandleForHeapStart();
        device.CreateRenderTargetView(resource, None, handle);
        handle
    }
}

/// `CreateRenderTargetView` of one mip level and one array slice of a 2D texture at the start of a heap; where it is.
pub(crate) fn create_slice_view(
    device: &ID3D12Device,
    resource: &ID3D12Resource,
    (format, mip, slice): (DXGI_FORMAT, u32, u32),
    heap: &ID3D12DescriptorHeap,
) -> D3D12_CPU_DESCRIPTOR_HANDLE {
    let desc = D3D12_RENDER_TARGET_VIEW_DESC {
        Format: format,
        ViewDimension: D3D12_RTV_DIMENSION_TEXTURE2DARRAY,
        Anonymous: D3D12_RENDER_TARGET_VIEW_DESC_0 {
            Texture2DArray: D3D12_TEX2D_ARRAY_RTV {
                MipSlice: mip,
                FirstArraySlice: slice,
                ArraySize: 1,
                PlaneSlice: 0,
            },
        },
    };
    // SAFETY: the heap is of render target views and has room for one; desc is valid for a 2D texture.
    unsafe {
        let handle = heap.GetCPUDescriptorHandleForHeapStart();
        device.CreateRenderTargetView(resource, Some(&raw const desc), handle);
        handle
    }
}

/// `CreateUnorderedAccessView` of a 2D texture's first mip level at the start of a heap; where it is.
pub(crate) fn create_texture_view(
    device: &ID3D12Device,
    resource: &ID3D12Resource,
    heap: &ID3D12DescriptorHeap,
) -> D3D12_CPU_DESCRIPTOR_HANDLE {
    // SAFETY: the heap is of unordered access views and has room for one; without a description the view is of mip 0.
    unsafe {
        let handle = heap.GetCPUDescriptorHandleForHeapStart();
        device.CreateUnorderedAccessView(resource, None, None, handle);
        handle
    }
}

/// `CreateDepthStencilView` of the whole resource at the start of a heap; where it is.
pub(crate) fn create_depth_stencil_view(
    device: &ID3D12Device,
    resource: &ID3D12Resource,
    heap: &ID3D12DescriptorHeap,
) -> D3D12_CPU_DESCRIPTOR_HANDLE {
    // SAFETY: the heap is of depth stencil views and has room for one.
    unsafe {
        let handle = heap.GetCPUDescriptorHandleForHeapStart();
        device.CreateDepthStencilView(resource, None, handle);
        handle
    }
}

/// `CreateDepthStencilView` of a 2D texture's first mip level, with a format and flags, at the start of a heap; where it is.
pub(crate) fn create_depth_view(
    device: &ID3D12Device,
    resource: &ID3D12Resource,
    (format, flags): (DXGI_FORMAT, D3D12_DSV_FLAGS),
    heap: &ID3D12DescriptorHeap,
) -> D3D12_CPU_DESCRIPTOR_HANDLE {
    let desc = D3D12_DEPTH_STENCIL_VIEW_DESC {
        Format: format,
        ViewDimension: D3D12_DSV_DIMENSION_TEXTURE2D,
        Flags: flags,
        ..Default::default()
    };
    // SAFETY: the heap is of depth stencil views and has room for one; desc is valid for a 2D texture.
    unsafe {
        let handle = heap.GetCPUDescriptorHandleForHeapStart();
        device.CreateDepthStencilView(resource, Some(&raw const desc), handle);
        handle
    }
}

/// `CreateUnorderedAccessView` of a buffer's `count` first 4-byte elements at the start of a heap; where it is.
pub(crate) fn create_raw_view(
    device: &ID3D12Device,
    buffer: &ID3D12Resource,
    count: u32,
    heap: &ID3D12DescriptorHeap,
) -> D3D12_CPU_DESCRIPTOR_HANDLE {
    let desc = D3D12_UNORDERED_ACCESS_VIEW_DESC {
        Format: DXGI_FORMAT_R32_TYPELESS,
        ViewDimension: D3D12_UAV_DIMENSION_BUFFER,
        Anonymous: D3D12_UNORDERED_ACCESS_VIEW_DESC_0 {
            Buffer: D3D12_BUFFER_UAV {
                NumElements: count,
                Flags: D3D12_BUFFER_UAV_FLAG_RAW,
                ..Default::default()
            },
        },
    };
    // SAFETY: the heap is of unordered access views and has room for one; desc is valid for a buffer.
    unsafe {
        let handle = heap.GetCPUDescriptorHandleForHeapStart();
        device.CreateUnorderedAccessView(buffer, None, Some(&raw const desc), handle);
        handle
    }
}

/// `CopyTileMappings` of the first `count` tiles.
pub(crate) fn copy_tile_mappings(
    queue: &ID3D12CommandQueue,
    to: &ID3D12Resource,
    from: &ID3D12Resource,
    count: u32,
) {
    let start = D3D12_TILED_RESOURCE_COORDINATE::default();
    let size = D3D12_TILE_REGION_SIZE { NumTiles: count, ..Default::default() };
    copy_tile_mappings_between(queue, (to, start), (from, start), size);
}

/// `CopyTileMappings` of a region.
pub(crate) fn copy_tile_mappings_between(
    queue: &ID3D12CommandQueue,
    (to, to_start): (&ID3D12Resource, D3D12_TILED_RESOURCE_COORDINATE),
    (from, from_start): (&ID3D12Resource, D3D12_TILED_RESOURCE_COORDINATE),
    size: D3D12_TILE_REGION_SIZE,
) {
    // SAFETY: the structures are valid, the resources live.
    unsafe { queue.CopyTileMappings(to, &to_start, from, &from_start, &size, D3D12_TILE_MAPPING_FLAG_NONE) };
}

/// `SetEventOnMultipleFenceCompletion` without an event: blocks until the fences have their values.
pub(crate) fn block_until_several(
    device: &ID3D12Device1,
    fences: &[Option<ID3D12Fence>],
    values: &[u64],
    flags: D3D12_MULTIPLE_FENCE_WAIT_FLAGS,
) -> Result<()> {
    assert_eq!(fences.len(), values.len(), "one value for each fence");
    let count = u32::try_from(fences.len()).expect("few");
    // SAFETY: both arrays have count elements; a null event blocks.
    done(unsafe {
        device.SetEventOnMultipleFenceCompletion(
            fences.as_ptr(),
            values.as_ptr(),
            count,
            flags,
            HANDLE::default(),
        )
    })
}

/// `CreateQueryHeap`.
pub(crate) fn create_query_heap(
    device: &ID3D12Device,
    desc: &D3D12_QUERY_HEAP_DESC,
) -> Result<ID3D12QueryHeap> {
    let mut heap = None;
    // SAFETY: desc is valid, heap takes one interface.
    super::created(unsafe { device.CreateQueryHeap(desc, &mut heap) }, heap)
}

/// A shared handle, which is closed when it is dropped.
#[derive(Debug)]
pub(crate) struct SharedHandle(HANDLE);

impl Drop for SharedHandle {
    fn drop(&mut self) {
        // SAFETY: the device made the handle for the caller of CreateSharedHandle, and nobody else knows it.
        unsafe { event::close(self.0) };
    }
}

/// `CreateSharedHandle`.
pub(crate) fn create_shared_handle(device: &ID3D12Device, child: &ID3D12DeviceChild) -> Result<SharedHandle> {
    const GENERIC_ALL: u32 = 0x1000_0000;
    // SAFETY: the object is live, and attributes and name may be null.
    made(unsafe { device.CreateSharedHandle(child, None, GENERIC_ALL, PCWSTR::null()) }).map(SharedHandle)
}

/// `OpenSharedHandle` as a resource or a heap.
pub(crate) fn open_shared_handle<T: Interface>(device: &ID3D12Device, handle: &SharedHandle) -> Result<T> {
    let mut object = None;
    // SAFETY: the handle is open, object takes one interface.
    super::created(unsafe { device.OpenSharedHandle(handle.0, &mut object) }, object)
}
