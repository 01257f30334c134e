//! Queues, command lists and fences.

use std::time::{Duration, Instant};

use heapwright_d3d12::sdk_619::D3D12_QUERY_HEAP_FLAGS;
use heapwright_d3d12::trim::ID3D12Device15;
use heapwright_d3d12::*;
use windows_core::{Interface, Param};

use super::{borrowed, cast, count, created, done, returned};
use crate::answer::Answer;

/// The time after which a check gives up waiting for a fence.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) fn create_fence(
    device: &ID3D12Device,
    value: u64,
    flags: D3D12_FENCE_FLAGS,
) -> Answer<ID3D12Fence> {
    // SAFETY: the device is live.
    returned("CreateFence", unsafe { device.CreateFence(value, flags) })
}

/// Returns the fence's completed value.
pub(crate) fn completed(fence: &ID3D12Fence) -> u64 {
    // SAFETY: the fence is live.
    unsafe { fence.GetCompletedValue() }
}

pub(crate) fn signal(fence: &ID3D12Fence, value: u64) -> Answer<()> {
    // SAFETY: the fence is live.
    done("ID3D12Fence::Signal", unsafe { fence.Signal(value) })
}

/// Calls `SetEventOnCompletion` with a null event, which blocks until the fence reaches the value.
pub(crate) fn block_until(fence: &ID3D12Fence, value: u64) -> Answer<()> {
    // SAFETY: the fence is live; a null event blocks.
    done("SetEventOnCompletion", unsafe { fence.SetEventOnCompletion(value, HANDLE::default()) })
}

/// Calls `SetEventOnMultipleFenceCompletion` with a null event, which blocks until the fences reach their values.
pub(crate) fn block_until_several(
    device: &ID3D12Device1,
    fences: &[Option<ID3D12Fence>],
    values: &[u64],
    flags: D3D12_MULTIPLE_FENCE_WAIT_FLAGS,
) -> Answer<()> {
    assert_eq!(fences.len(), values.len(), "one value for each fence");
    let (first, value, event) = (fences.as_ptr(), values.as_ptr(), HANDLE::default());
    // SAFETY: both arrays have as many elements; a null event blocks.
    done("SetEventOnMultipleFenceCompletion", unsafe {
        device.SetEventOnMultipleFenceCompletion(first, value, count(fences), flags, event)
    })
}

/// Waits until the fence reaches the value and returns whether it did so before the timeout.
pub(crate) fn wait_until(fence: &ID3D12Fence, value: u64, timeout: Duration) -> bool {
    let start = Instant::now();
    loop {
        if completed(fence) >= value {
            return true;
        }
        if start.elapsed() >= timeout {
            return false;
        }
        std::thread::sleep(Duration::from_micros(200));
    }
}

pub(crate) fn create_queue(
    device: &ID3D12Device,
    list_type: D3D12_COMMAND_LIST_TYPE,
) -> Answer<ID3D12CommandQueue> {
    let desc = D3D12_COMMAND_QUEUE_DESC { Type: list_type, ..Default::default() };
    // SAFETY: desc is a valid structure.
    returned("CreateCommandQueue", unsafe { device.CreateCommandQueue(&desc) })
}

pub(crate) fn queue_type(queue: &ID3D12CommandQueue) -> D3D12_COMMAND_LIST_TYPE {
    // SAFETY: the queue is live.
    unsafe { queue.GetDesc() }.Type
}

pub(crate) fn create_allocator(
    device: &ID3D12Device,
    list_type: D3D12_COMMAND_LIST_TYPE,
) -> Answer<ID3D12CommandAllocator> {
    // SAFETY: the device is live.
    returned("CreateCommandAllocator", unsafe { device.CreateCommandAllocator(list_type) })
}

/// Creates a command list, which is open.
pub(crate) fn create_list(
    device: &ID3D12Device,
    list_type: D3D12_COMMAND_LIST_TYPE,
    allocator: &ID3D12CommandAllocator,
) -> Answer<List> {
    // SAFETY: the allocator is live.
    let list = unsafe { device.CreateCommandList(0, list_type, allocator, None) };
    returned("CreateCommandList", list.map(List))
}

pub(crate) fn reset_allocator(allocator: &ID3D12CommandAllocator) -> Answer<()> {
    // SAFETY: the allocator is live; resetting one that is in use is refused.
    done("ID3D12CommandAllocator::Reset", unsafe { allocator.Reset() })
}

/// Executes closed lists in this order with one call.
pub(crate) fn execute(queue: &ID3D12CommandQueue, lists: &[&List]) -> Answer<()> {
    #[cfg(test)]
    crate::answer::bytes::note_execution();
    let lists: super::Result<Vec<Option<ID3D12CommandList>>> =
        lists.iter().map(|list| cast(&list.0).map(Some)).collect();
    // SAFETY: the lists are live and closed.
    Answer::new("ExecuteCommandLists", lists.map(|lists| unsafe { queue.ExecuteCommandLists(&lists) }))
}

pub(crate) fn queue_signal(queue: &ID3D12CommandQueue, fence: &ID3D12Fence, value: u64) -> Answer<()> {
    // SAFETY: both are live.
    done("ID3D12CommandQueue::Signal", unsafe { queue.Signal(fence, value) })
}

pub(crate) fn queue_wait(queue: &ID3D12CommandQueue, fence: &ID3D12Fence, value: u64) -> Answer<()> {
    // SAFETY: both are live.
    done("ID3D12CommandQueue::Wait", unsafe { queue.Wait(fence, value) })
}

pub(crate) fn timestamp_frequency(queue: &ID3D12CommandQueue) -> Answer<u64> {
    // SAFETY: the queue is live.
    returned("GetTimestampFrequency", unsafe { queue.GetTimestampFrequency() })
}

/// Regions of a resource and the ranges of heap tiles for them, as `UpdateTileMappings` takes them. `None` passes a
/// null array.
#[derive(Clone, Copy, Default)]
pub(crate) struct TileUpdate<'a> {
    /// One element for each region.
    pub(crate) starts: Option<&'a [D3D12_TILED_RESOURCE_COORDINATE]>,
    /// One element for each region.
    pub(crate) sizes: Option<&'a [D3D12_TILE_REGION_SIZE]>,
    pub(crate) heap: Option<&'a ID3D12Heap>,
    /// One element for each range.
    pub(crate) flags: Option<&'a [D3D12_TILE_RANGE_FLAGS]>,
    /// One element for each range.
    pub(crate) heap_tiles: Option<&'a [u32]>,
    /// One element for each range.
    pub(crate) counts: Option<&'a [u32]>,
}

/// Calls `UpdateTileMappings`.
///
/// # Panics
///
/// Panics if arrays of regions, or arrays of ranges, differ in length.
pub(crate) fn update_tiles(queue: &ID3D12CommandQueue, resource: &ID3D12Resource, update: &TileUpdate<'_>) {
    fn length(lens: &[Option<usize>]) -> u32 {
        let mut known = lens.iter().flatten();
        let len = known.next().copied().unwrap_or(1);
        assert!(known.all(|&other| other == len), "arrays of different lengths: {lens:?}");
        u32::try_from(len).expect("the number of elements fits in 32 bits")
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

/// Maps a run of tiles to consecutive tiles of a heap, or to null.
pub(crate) fn map_tiles(
    queue: &ID3D12CommandQueue,
    resource: &ID3D12Resource,
    first_tile: u32,
    tile_count: u32,
    heap: Option<(&ID3D12Heap, u32)>,
) {
    let flags = if heap.is_some() { D3D12_TILE_RANGE_FLAG_NONE } else { D3D12_TILE_RANGE_FLAG_NULL };
    let update = TileUpdate {
        starts: Some(&[tile_at(first_tile)]),
        sizes: Some(&[tile_run(tile_count)]),
        heap: heap.map(|(heap, _)| heap),
        flags: Some(&[flags]),
        heap_tiles: Some(&[heap.map_or(0, |(_, tile)| tile)]),
        counts: Some(&[tile_count]),
    };
    update_tiles(queue, resource, &update);
}

pub(crate) fn tile_at(tile: u32) -> D3D12_TILED_RESOURCE_COORDINATE {
    D3D12_TILED_RESOURCE_COORDINATE { X: tile, ..Default::default() }
}

pub(crate) fn tile_run(tile_count: u32) -> D3D12_TILE_REGION_SIZE {
    D3D12_TILE_REGION_SIZE { NumTiles: tile_count, ..Default::default() }
}

/// Calls `CopyTileMappings` for a run of tiles; each side is a resource and its first tile.
pub(crate) fn copy_tile_mappings(
    queue: &ID3D12CommandQueue,
    (to, to_tile): (&ID3D12Resource, u32),
    (from, from_tile): (&ID3D12Resource, u32),
    tile_count: u32,
) {
    let (to_start, from_start, size) = (tile_at(to_tile), tile_at(from_tile), tile_run(tile_count));
    // SAFETY: the structures are valid, the resources live.
    unsafe { queue.CopyTileMappings(to, &to_start, from, &from_start, &size, D3D12_TILE_MAPPING_FLAG_NONE) };
}

/// One side of a texture copy.
#[derive(Clone, Copy)]
pub(crate) enum CopyLocation<'a> {
    /// A subresource of a texture.
    Subresource(&'a ID3D12Resource, u32),
    /// Rows of texels in a buffer.
    Footprint(&'a ID3D12Resource, D3D12_PLACED_SUBRESOURCE_FOOTPRINT),
}

impl CopyLocation<'_> {
    fn to_d3d12(self) -> D3D12_TEXTURE_COPY_LOCATION {
        match self {
            Self::Subresource(resource, index) => D3D12_TEXTURE_COPY_LOCATION {
                pResource: borrowed(Some(resource)),
                Type: D3D12_TEXTURE_COPY_TYPE_SUBRESOURCE_INDEX,
                Anonymous: D3D12_TEXTURE_COPY_LOCATION_0 { SubresourceIndex: index },
            },
            Self::Footprint(resource, footprint) => D3D12_TEXTURE_COPY_LOCATION {
                pResource: borrowed(Some(resource)),
                Type: D3D12_TEXTURE_COPY_TYPE_PLACED_FOOTPRINT,
                Anonymous: D3D12_TEXTURE_COPY_LOCATION_0 { PlacedFootprint: footprint },
            },
        }
    }
}

/// A graphics command list.
pub(crate) struct List(pub(super) ID3D12GraphicsCommandList);

// Resources outlive the execution of the list: the caller waits for it.
impl List {
    pub(crate) fn close(&self) -> Answer<()> {
        // SAFETY: the list is live.
        done("ID3D12GraphicsCommandList::Close", unsafe { self.0.Close() })
    }

    pub(crate) fn reset(&self, allocator: &ID3D12CommandAllocator) -> Answer<()> {
        // SAFETY: both are live.
        done("ID3D12GraphicsCommandList::Reset", unsafe { self.0.Reset(allocator, None) })
    }

    pub(crate) fn list_type(&self) -> D3D12_COMMAND_LIST_TYPE {
        // SAFETY: the list is live.
        unsafe { self.0.GetType() }
    }

    /// Records a call of a newer interface. Fails with the HRESULT of QueryInterface if the list does not have it.
    pub(super) fn newer<I: Interface>(&self, call: &'static str, record: impl FnOnce(&I)) -> Answer<()> {
        Answer::new(call, cast(&self.0).map(|list: I| record(&list)))
    }

    pub(crate) fn copy_buffer(
        &self,
        (to, to_offset): (&ID3D12Resource, u64),
        (from, from_offset): (&ID3D12Resource, u64),
        len: u64,
    ) {
        // SAFETY: the resources are live.
        unsafe { self.0.CopyBufferRegion(to, to_offset, from, from_offset, len) };
    }

    /// Records a timestamp.
    pub(crate) fn end_timestamp(&self, heap: &ID3D12QueryHeap, index: u32) {
        // SAFETY: the heap is live.
        unsafe { self.0.EndQuery(heap, D3D12_QUERY_TYPE_TIMESTAMP, index) };
    }

    pub(crate) fn copy_resource(&self, to: &ID3D12Resource, from: &ID3D12Resource) {
        // SAFETY: the resources are live.
        unsafe { self.0.CopyResource(to, from) };
    }

    /// Copies all of `from`, or a box of it, to a place in `to`.
    pub(crate) fn copy_texture_to(
        &self,
        to: CopyLocation<'_>,
        at: (u32, u32, u32),
        from: CopyLocation<'_>,
        source: Option<D3D12_BOX>,
    ) {
        let source = source.as_ref().map(std::ptr::from_ref);
        // SAFETY: the locations are valid structures with live resources.
        unsafe {
            self.0.CopyTextureRegion(&to.to_d3d12(), at.0, at.1, at.2, &from.to_d3d12(), source);
        }
    }

    /// Copies all of `from` to the beginning of `to`.
    pub(crate) fn copy_texture(&self, to: CopyLocation<'_>, from: CopyLocation<'_>) {
        self.copy_texture_to(to, (0, 0, 0), from, None);
    }

    /// Copies between a run of tiles of a tiled resource and a buffer.
    pub(crate) fn copy_tiles(
        &self,
        tiled: &ID3D12Resource,
        first_tile: u32,
        tile_count: u32,
        buffer: &ID3D12Resource,
        flags: D3D12_TILE_COPY_FLAGS,
    ) {
        // SAFETY: the structures are valid, the resources live.
        unsafe { self.0.CopyTiles(tiled, &tile_at(first_tile), &tile_run(tile_count), buffer, 0, flags) };
    }

    /// Writes one value at a GPU virtual address.
    pub(crate) fn write_immediate(&self, address: u64, value: u32) -> Answer<()> {
        let parameter =
            D3D12_WRITEBUFFERIMMEDIATE_PARAMETER { Dest: D3D12_GPU_VIRTUAL_ADDRESS(address), Value: value };
        self.newer("WriteBufferImmediate", |list: &ID3D12GraphicsCommandList2| {
            // SAFETY: there is one parameter, and the modes may be null.
            unsafe { list.WriteBufferImmediate(1, &parameter, None) };
        })
    }
}

pub(crate) fn create_query_heap(
    device: &ID3D12Device,
    desc: &D3D12_QUERY_HEAP_DESC,
) -> Answer<ID3D12QueryHeap> {
    let mut heap = None;
    // SAFETY: desc is valid, and heap takes one interface.
    created("CreateQueryHeap", unsafe { device.CreateQueryHeap(desc, &mut heap) }, heap)
}

/// Calls `ID3D12Device15::CreateQueryHeap1`.
pub(crate) fn create_query_heap1(
    device: &ID3D12Device15,
    desc: &D3D12_QUERY_HEAP_DESC,
    flags: D3D12_QUERY_HEAP_FLAGS,
) -> Answer<ID3D12QueryHeap> {
    let mut heap = std::ptr::null_mut();
    // SAFETY: desc is valid, and heap takes the interface that is asked for.
    let hresult = unsafe { device.CreateQueryHeap1(desc, flags, &ID3D12QueryHeap::IID, &mut heap) };
    // SAFETY: the call returned a reference to this interface, or null.
    let heap = (!heap.is_null()).then(|| unsafe { ID3D12QueryHeap::from_raw(heap) });
    created("CreateQueryHeap1", hresult.ok(), heap)
}

/// Calls `ID3D12Device15::ResolveQueryData` for `count` timestamps, at most four.
pub(crate) fn resolve_timestamps(
    device: &ID3D12Device15,
    heap: &ID3D12QueryHeap,
    start: u32,
    count: u32,
) -> Answer<[u64; 4]> {
    assert!(count <= 4, "the results have room for four");
    let mut results = [0_u64; 4];
    let data = results.as_mut_ptr().cast();
    // SAFETY: the heap is live, and there is room for the results.
    let hresult =
        unsafe { device.ResolveQueryData(heap.as_raw(), D3D12_QUERY_TYPE_TIMESTAMP, start, count, data) };
    done("ResolveQueryData of the device", hresult).map(|()| results)
}

/// A shared handle, which is closed when it is dropped.
#[derive(Debug)]
pub(crate) struct SharedHandle(HANDLE);

impl Drop for SharedHandle {
    fn drop(&mut self) {
        // SAFETY: CreateSharedHandle made the handle for this owner alone.
        unsafe { event::close(self.0) };
    }
}

pub(crate) fn create_shared_handle(
    device: &ID3D12Device,
    child: impl Param<ID3D12DeviceChild>,
) -> Answer<SharedHandle> {
    const GENERIC_ALL: u32 = 0x1000_0000;
    // SAFETY: the object is live, and attributes and name may be null.
    let handle = unsafe { device.CreateSharedHandle(child, None, GENERIC_ALL, PCWSTR::null()) };
    returned("CreateSharedHandle", handle.map(SharedHandle))
}

pub(crate) fn open_shared_handle<T: Interface>(device: &ID3D12Device, handle: &SharedHandle) -> Answer<T> {
    let mut object = None;
    // SAFETY: the handle is open, and object takes one interface.
    created("OpenSharedHandle", unsafe { device.OpenSharedHandle(handle.0, &mut object) }, object)
}
