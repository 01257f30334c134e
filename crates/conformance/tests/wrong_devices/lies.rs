//! The lies of wrong devices. Each lie is a function that falsifies a call; `None` leaves the call alone.

use std::ffi::c_void;

use heapwright_conformance as _;
use heapwright_d3d12::sdk_619::D3D12_QUERY_HEAP_FLAGS;
use heapwright_d3d12::*;
use heapwright_intercept::Intercepted;
use windows_core::{GUID, HRESULT, Interface as _};

/// An intercepted object of a wrong device.
pub(crate) type Liar<I> = Intercepted<I, Lies>;

/// Defines the structure with a value for each field, and a constant that has these values.
macro_rules! with_honest {
    (
        $(#[$attribute:meta])*
        pub(crate) struct $name:ident {
            $($(#[$documentation:meta])* pub(crate) $field:ident: $type:ty = $value:expr,)*
        }
    ) => {
        $(#[$attribute])*
        pub(crate) struct $name {
            $($(#[$documentation])* pub(crate) $field: $type,)*
        }

        /// A device without lies.
        pub(crate) const HONEST: $name = $name { $($field: $value,)* };
    };
}

with_honest! {
    /// The lies of one device.
    #[derive(Clone, Copy)]
    pub(crate) struct Lies {
        /// Changes the result of `CheckFeatureSupport`: feature, size, data, and the HRESULT.
        pub(crate) feature: Option<fn(D3D12_FEATURE, &mut Feature<'_>)> = None,
        /// A field of a feature's structure, by its place among the 4-byte fields, and its value.
        pub(crate) field: Option<(D3D12_FEATURE, usize, u32)> = None,
        /// Changes the size passed to `CheckFeatureSupport`.
        pub(crate) feature_size: Option<fn(D3D12_FEATURE, u32) -> u32> = None,
        /// Changes the result of `GetCustomHeapProperties` for a heap type.
        pub(crate) custom_properties: Option<fn(D3D12_HEAP_TYPE, &mut D3D12_HEAP_PROPERTIES)> = None,
        /// The page property and the pool in the custom heap properties of one heap type.
        pub(crate) custom: Option<(D3D12_HEAP_TYPE, D3D12_CPU_PAGE_PROPERTY, D3D12_MEMORY_POOL)> = None,
        /// Changes the result of `GetResourceAllocationInfo` and its successors for some descriptions.
        pub(crate) allocation: Option<fn(&[D3D12_RESOURCE_DESC1], &mut D3D12_RESOURCE_ALLOCATION_INFO)> = None,
        /// Changes the descriptions passed to `GetResourceAllocationInfo`.
        pub(crate) allocation_request: Option<fn(&mut D3D12_RESOURCE_DESC1)> = None,
        /// Changes the elements that `GetResourceAllocationInfo1` writes.
        pub(crate) parts: Option<fn(&mut [D3D12_RESOURCE_ALLOCATION_INFO1])> = None,
        /// Changes the result of `GetResourceAllocationInfo2` only.
        pub(crate) newer_allocation: Option<fn(&mut D3D12_RESOURCE_ALLOCATION_INFO)> = None,
        /// Changes the arguments of `CreateHeap` so that invalid ones become valid.
        pub(crate) heap: Option<fn(&mut D3D12_HEAP_DESC)> = None,
        /// Changes the address passed to `OpenExistingHeapFromAddress`.
        pub(crate) existing: Option<fn(*const c_void) -> *const c_void> = None,
        /// Selects heap descriptions that are refused.
        pub(crate) refused_heap: Option<fn(&D3D12_HEAP_DESC) -> bool> = None,
        /// Selects resource creation calls that are refused.
        pub(crate) refused_resource: Option<fn(&Request) -> bool> = None,
        /// Changes the description of a buffer that is created.
        pub(crate) buffer: Option<fn(&mut D3D12_RESOURCE_DESC)> = None,
        /// Changes the arguments of a resource creation call.
        pub(crate) resource: Option<fn(&mut Request)> = None,
        /// Changes the HRESULT of creation calls that only validate.
        pub(crate) check_only: Option<fn(HRESULT) -> HRESULT> = None,
        /// Fills new CPU-accessible memory.
        pub(crate) dirt: Option<Dirt> = None,
        /// Lets shared handles become stale when the application releases the object.
        pub(crate) forgets_shared: bool = false,
        /// Keeps a reference to the device for each heap.
        pub(crate) leaks_device: bool = false,
        /// Changes the result of `ID3D12Heap::GetDesc`.
        pub(crate) heap_desc: Option<fn(&mut D3D12_HEAP_DESC)> = None,
        /// Changes the result of `ID3D12Resource::GetDesc`.
        pub(crate) desc: Option<fn(&mut D3D12_RESOURCE_DESC)> = None,
        /// Changes a GPU virtual address.
        pub(crate) address: Option<fn(&D3D12_RESOURCE_DESC, u64) -> u64> = None,
        /// Changes the result of `GetHeapProperties`.
        pub(crate) heap_properties: Option<fn(&mut D3D12_HEAP_PROPERTIES)> = None,
        /// Changes the result of `Map`.
        pub(crate) map: Option<fn(&mut Map)> = None,
        /// The lie about private data of resources.
        pub(crate) private_data: Option<PrivateData> = None,
        /// Makes `WriteToSubresource` and `ReadFromSubresource` refuse a box. The first argument is whether the
        /// resource was the last one mapped.
        pub(crate) refuses_texels: Option<fn(bool, Option<&D3D12_BOX>) -> bool> = None,
        /// Whether a placed resource holds a public reference to its heap.
        pub(crate) counts_placed: bool = false,
        /// Changes the result of `QueryVideoMemoryInfo`.
        pub(crate) video_memory: Option<fn(DXGI_MEMORY_SEGMENT_GROUP, &mut DXGI_QUERY_VIDEO_MEMORY_INFO)> = None,
        /// Changes the segment group passed to `QueryVideoMemoryInfo`.
        pub(crate) segment_group: Option<fn(DXGI_MEMORY_SEGMENT_GROUP) -> DXGI_MEMORY_SEGMENT_GROUP> = None,
        /// Changes the adapter's LUID.
        pub(crate) luid: Option<fn(&mut LUID)> = None,
        /// Changes the number of nodes.
        pub(crate) node_count: Option<u32> = None,
        /// An interface that the device denies.
        pub(crate) denies: Option<GUID> = None,
        /// Changes the result of `GetCopyableFootprints`.
        pub(crate) footprints: Option<fn(&mut [D3D12_PLACED_SUBRESOURCE_FOOTPRINT], &mut u64)> = None,
        /// Selects descriptions whose footprints `GetCopyableFootprints` refuses: every byte that it writes is 0xff.
        pub(crate) refused_footprints: Option<fn(&D3D12_RESOURCE_DESC) -> bool> = None,
        /// Changes the offsets and the length of `CopyBufferRegion`.
        pub(crate) copy: Option<fn(&mut u64, &mut u64, &mut u64)> = None,
        /// What is wrong for the resources that the function selects.
        pub(crate) of_kind: Option<(fn(&D3D12_RESOURCE_DESC) -> bool, OfKind)> = None,
        /// Makes queues ignore waits for fences.
        pub(crate) ignores_wait: bool = false,
        /// Makes a queue that waits for a fence keep it alive.
        pub(crate) keeps_fences: bool = false,
        /// A queue reads the fence of a queued wait only after the commands before it have finished.
        pub(crate) waits_take_turns: bool = false,
        /// Only the last of several consecutive `ID3D12Fence::Signal` calls takes effect.
        pub(crate) coalesces_signals: bool = false,
        /// `ExecuteCommandLists` closes lists that are open.
        pub(crate) closes_lists: bool = false,
        /// Changes the value that a queue signals.
        pub(crate) signal: Option<fn(u64) -> u64> = None,
        /// Changes the value that a fence has.
        pub(crate) completed: Option<fn(u64) -> u64> = None,
        /// Makes `SetEventOnCompletion` never block.
        pub(crate) ignores_null_event: bool = false,
        /// Changes the tile count that `GetResourceTiling` returns.
        pub(crate) tile_count: Option<fn(u32) -> u32> = None,
        /// Changes the tile shape that `GetResourceTiling` returns.
        pub(crate) tile_shape: Option<fn(&mut D3D12_TILE_SHAPE)> = None,
        /// Changes the arguments of `CreateReservedResource`.
        pub(crate) reserved: Option<fn(&mut D3D12_RESOURCE_DESC)> = None,
        /// Changes the flags of a range of `UpdateTileMappings`.
        pub(crate) tile_flags: Option<fn(D3D12_TILE_RANGE_FLAGS) -> D3D12_TILE_RANGE_FLAGS> = None,
        /// Changes the start coordinates of `CopyTileMappings`.
        pub(crate) copied_tiles: Option<fn(&mut D3D12_TILED_RESOURCE_COORDINATE)> = None,
        /// Makes `UpdateTileMappings` map another tile of the heap.
        pub(crate) tile_offset: Option<fn(u32) -> u32> = None,
        /// Changes the color of a clear.
        pub(crate) clear_color: Option<fn(&mut f32)> = None,
        /// Changes the arguments of `CreateDepthStencilView`.
        pub(crate) depth_view: Option<fn(&mut D3D12_DEPTH_STENCIL_VIEW_DESC)> = None,
        /// Changes the offset and size of views by byte offsets.
        pub(crate) byte_offset: Option<fn(&mut u64, &mut u64)> = None,
        /// Changes the arguments of `CreateQueryHeap1`.
        pub(crate) query_heap: Option<fn(&mut D3D12_QUERY_HEAP_DESC, &mut D3D12_QUERY_HEAP_FLAGS)> = None,
        /// A valid call that is refused.
        pub(crate) refuses: Option<Refused> = None,
        /// Makes clears ignore their rectangles.
        pub(crate) ignores_rects: bool = false,
        /// A command that lists do not record.
        pub(crate) forgets: Option<Command> = None,
        /// The result of `GetDeviceRemovedReason`.
        pub(crate) removed: Option<HRESULT> = None,
        /// Heaps and resources fail to return their device.
        pub(crate) orphans: bool = false,
        /// `Evict` and `MakeResident` do nothing and return this HRESULT.
        pub(crate) residency: Option<HRESULT> = None,
        /// `MakeResident` does nothing and returns this HRESULT.
        pub(crate) make_resident: Option<HRESULT> = None,
        /// `Evict` does nothing and returns this HRESULT.
        pub(crate) evict: Option<HRESULT> = None,
        /// Queues do not execute `UpdateTileMappings`.
        pub(crate) drops_tiles: bool = false,
        /// Queues do not execute `CopyTileMappings`.
        pub(crate) drops_copied_tiles: bool = false,
        /// `MakeResident` succeeds without adding a reference.
        pub(crate) uncounted: bool = false,
        /// Changes the arguments of `ResourceBarrier`.
        pub(crate) barriers: Option<fn(&mut Vec<D3D12_RESOURCE_BARRIER>)> = None,
        /// Changes the texture barriers passed to `Barrier`.
        pub(crate) texture_barrier: Option<fn(&mut D3D12_TEXTURE_BARRIER)> = None,
        /// The lie about creation at given addresses.
        pub(crate) recreate: Option<Recreate> = None,
    }
}

/// What is wrong for one kind of resource.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum OfKind {
    /// `CopyBufferRegion` and `CopyTextureRegion` to it are not recorded.
    Dropped,
    /// `CopyResource` to it is not recorded.
    NotCopiedWhole,
    /// It is placed at the beginning of its heap.
    AtTheBeginning,
    /// It is placed one place further, where the heap goes on.
    AtTheNeighbour,
    /// It is committed instead of placed.
    Elsewhere,
}

impl Lies {
    /// Returns what is wrong for a resource.
    pub(crate) fn wrong_for(&self, desc: &D3D12_RESOURCE_DESC) -> Option<OfKind> {
        self.of_kind.filter(|(is_kind, _)| is_kind(desc)).map(|(_, wrong)| wrong)
    }

    /// Returns whether this is wrong for a live resource.
    ///
    /// # Safety
    ///
    /// `resource` is a live resource.
    pub(crate) unsafe fn is_wrong_for(&self, resource: *mut c_void, wrong: OfKind) -> bool {
        // SAFETY: the caller upholds the contract of this function.
        let resource = unsafe { ID3D12Resource::from_raw_borrowed(&resource) };
        // SAFETY: as above.
        resource.is_some_and(|resource| self.wrong_for(&unsafe { resource.GetDesc() }) == Some(wrong))
    }

    /// Returns whether lists record this command.
    pub(crate) fn records(&self, command: Command) -> bool {
        self.forgets != Some(command)
    }
}

/// A lie of the tools' interfaces.
#[derive(Clone, Copy)]
pub(crate) enum Recreate {
    /// Changes the result of `GetAllocation` for a heap.
    HeapAllocation(fn(&mut D3D12_GPU_VIRTUAL_ADDRESS_RANGE)),
    /// Changes the result of `GetAllocation` for a resource.
    ResourceAllocation(fn(&mut D3D12_GPU_VIRTUAL_ADDRESS_RANGE)),
    /// Changes the address passed to `SetNextAllocationAddress`.
    NextAddress(fn(u64) -> u64),
    /// The address stays until another is set.
    Stays,
    /// A refused creation clears the address.
    UsedUpByRefusals,
    /// The address belongs to the process instead of the thread.
    AnyThread,
    /// A heap whose address is unavailable is created at another one.
    HeapElsewhere,
    /// Textures and placed buffers ignore the address.
    Forgets { textures: bool, placed: bool },
    /// Changes the ranges of a call of `ReserveGPUVARangesAtCreate`.
    Ranges(fn(&mut Vec<D3D12_GPU_VIRTUAL_ADDRESS_RANGE>)),
    /// A call of `ReserveGPUVARangesAtCreate` replaces the ranges of earlier calls.
    Replaces,
    /// A call of `CreateDevice` clears the list.
    UsesUp,
    /// `ClearReservedGPUVARangesList` clears nothing.
    KeepsList,
    /// An unavailable address removes the device.
    Removes,
}

/// A lie of `SetPrivateData` and `SetPrivateDataInterface`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum PrivateData {
    /// Nothing is kept.
    Forgotten,
    /// A null pointer with a size is refused.
    SizeNeedsData,
    /// Removing absent data returns S_OK.
    RemovesNothing,
    /// A null interface removes.
    NullInterfaceRemoves,
}

/// A call that a wrong device or list refuses.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    QueryHeaps,
    /// `ClearUnorderedAccessViewUint` on a list without descriptor heaps.
    ClearsWithoutHeaps,
    /// Copies between textures of two formats.
    CopiesBetweenFormats,
    /// Copies from a subresource to itself.
    CopiesWithinSubresources,
    /// `CopyTiles` with `D3D12_TILE_COPY_FLAG_NONE`.
    TilesWithoutDirection,
    /// Resolves whose format is not that of both textures.
    ResolvesBetweenFormats,
    /// Resolves of textures that are depth buffers.
    ResolvesOfDepth,
}

/// A command that a wrong list forgets.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Command {
    CopyResource,
    CopyTextureRegion,
    CopyTiles,
    ClearRenderTargetView,
    ClearDepthStencilView,
    ClearUnorderedAccessViewUint,
    ResolveSubresource,
    ResolveSubresourceRegion,
    DiscardResource,
    WriteBufferImmediate,
    Barrier,
}

/// Which new memory is dirty.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dirt {
    /// The memory of heaps.
    Heaps,
    /// The memory of committed resources.
    Committed,
}

/// A result of `CheckFeatureSupport`.
pub(crate) struct Feature<'a> {
    pub(crate) hresult: HRESULT,
    /// The structure, in 4-byte fields.
    pub(crate) fields: &'a mut [u32],
}

/// The arguments of a resource creation call of any generation.
pub(crate) struct Request {
    /// The heap properties and flags of a committed resource.
    pub(crate) properties: Option<D3D12_HEAP_PROPERTIES>,
    pub(crate) flags: D3D12_HEAP_FLAGS,
    /// The offset of a placed resource, and the size of its heap.
    pub(crate) place: Option<(u64, D3D12_HEAP_DESC)>,
    pub(crate) desc: D3D12_RESOURCE_DESC,
    pub(crate) state: D3D12_RESOURCE_STATES,
    pub(crate) has_clear_value: bool,
}

/// The arguments and the result of `Map`.
pub(crate) struct Map {
    pub(crate) subresource: u32,
    /// The begin of the range to read; 0 without a range.
    pub(crate) begin: usize,
    pub(crate) address: u64,
    pub(crate) hresult: HRESULT,
    /// The pointer; null if there is none, or if the caller requests none.
    pub(crate) start: *mut u8,
    /// A pointer to other memory that could be returned instead.
    pub(crate) elsewhere: *mut u8,
}

/// Returns a key that distinguishes an object from objects of other wrong devices that had the same address.
pub(crate) fn identity(this: *mut c_void, lies: &'static Lies) -> (usize, usize) {
    (this.addr(), std::ptr::from_ref(lies).addr())
}
