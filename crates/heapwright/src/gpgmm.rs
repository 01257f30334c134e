//! GPGMM's names and their counterparts in heapwright.
//!
//! C++ programs use GPGMM's names themselves, by the crate `heapwright-gpgmm`.
//!
//! This page lists every name of the allocating part of `gpgmm::d3d12`, in the order of its reference (the GPGMM
//! document), with the counterpart and the differences. Flags have GPGMM's values; our own begin at bit 16. Where the
//! reference and GPGMM's code disagree, the last column names the one that is followed: *reference* or *code*.
//!
//! # Objects and functions
//!
//! | GPGMM | heapwright | difference |
//! |---|---|---|
//! | `IResourceAllocator` | [`ResourceAllocator`] | a handle that is cloned instead of reference-counted |
//! | `IResourceAllocation` | [`ResourceAllocation`] | dropped instead of released; it may outlive its allocator, in any order (code: the allocator last) |
//! | `IDebugObject` | [`ResourceAllocator::set_debug_name`], [`ResourceAllocation::set_debug_name`] | heaps of the allocator have no names yet |
//! | `SetDebugName` | the same | a missing name is `None`, not the text `'Unknown'`; the name of a part of a resource is not set on the D3D12 object, as in GPGMM |
//! | `CreateResourceAllocator` with a device | [`ResourceAllocator::new`], [`ResourceAllocator::from_raw`]; with a manager [`ResourceAllocator::with_residency`]; with a new manager [`ResourceAllocator::with_new_residency`] | a null device is invalid argument (code: E_POINTER); the device and the adapter are referenced (code: kept raw) |
//! | `CreateResourceAllocator` from an allocator | [`ResourceAllocator::create_nested`] | empty heaps of every kind are exchanged between all algorithms, also of other suitable sizes, and their charge moves with them. Heaps in the shared pool are charged to the outermost allocator; together with those in use they are at most twice the maximum bytes that were in use at once (code: unbounded). The residency manager is the parent's |
//! | `ppResourceAllocatorOut` null | | nothing to test: dropping the allocator is the test |
//! | `CreateResource` | [`ResourceAllocator::create_resource`], [`ResourceAllocator::create`] | `create` supports parameters of later versions of D3D12: layouts, castable formats, sessions. An alignment that is not a power of two, or above the maximum of the kind of resource, is an invalid argument, as for D3D12's own calls (code: overwritten for placed and committed buffers, so that 65,535 and 2^64-1 are accepted) |
//! | `CreateResource` with a null out | [`ResourceAllocator::probe`] | nothing is created (code: created and dropped, which is [`ResourceAllocator::create`] without keeping what it returns) |
//! | `CreateResource` of a committed resource | [`ResourceAllocator::import`] | charged to its own segment group (code: always local); an `unsafe fn`, because other code may map it. A placed resource cannot be recognized, so it counts as memory of its own, as in GPGMM, among imported memory, to which no limit applies |
//! | `ReleaseResourceHeaps` | [`ResourceAllocator::release_resource_heaps`], [`ResourceAllocator::release_empty_heaps`] | returns the released bytes, which the caller can compare with the request. Releases as few heaps as possible (code: its arithmetic wraps) |
//! | `QueryStats` | [`ResourceAllocator::stats`] | O(1), amortized; a query records nothing, [`record_counters`](ResourceAllocator::record_counters) does |
//! | `CheckFeatureSupport` | [`ResourceAllocator::resource_allocation_support`] | typed, so that sizes cannot mismatch |
//! | `RESOURCE_ALLOCATOR_FEATURE`, `RESOURCE_ALLOCATOR_FEATURE_RESOURCE_ALLOCATION_SUPPORT` | the same call | one feature, one function |
//! | `FEATURE_DATA_RESOURCE_ALLOCATION_SUPPORT` | [`ResourceAllocationSupport`] | |
//! | `IsResourceAllocationWithinCoherent` | [`ResourceAllocationSupport::is_resource_allocation_within_coherent`] | as in the code: Intel's adapters |
//! | `GetResource` | [`ResourceAllocation::resource`] | |
//! | `GetGPUVirtualAddress` | [`ResourceAllocation::gpu_virtual_address`] | `None` for textures |
//! | `GetOffsetFromResource` | [`ResourceAllocation::offset_from_resource`] | |
//! | `GetInfo` | [`ResourceAllocation::info`] | |
//! | `GetMemory` | [`ResourceAllocation::memory`] | `None` without a manager, and for NEVER_RESIDENT (code: a heap of unknown status); [`ResourceAllocation::heap`] is the `ID3D12Heap`; [`ResourceAllocation::memory_reference`] keeps the memory |
//! | `GetResourceAllocator` | [`ResourceAllocation::allocator`] | `None` after the allocator was dropped |
//! | `Map` of a buffer, `pReadRange` | [`ResourceAllocation::map`], [`ResourceAllocation::map_range`], [`Mapping`] | one mapping at a time, limited to its bytes and to the range that may be read. A part begins at its own first byte, as in GPGMM. The memory is resident meanwhile: one lock and one unlock for each mapping (code: mapping twice leaves a lock, and destroying any allocation removes one) |
//! | `Map` of a texture, `subresource` | [`ResourceAllocation::map_texture`], [`TextureMapping`] | texels are copied in and out by the device, whatever their layout (code: the caller calls the resource). [`ResourceAllocation::map_subresource`] maps as D3D12 does |
//! | `Unmap`, `pWrittenRange` | dropping a [`Mapping`] or [`TextureMapping`] | the range that was written; for textures everything, or nothing if nothing was written |
//! | `ppDataOut`, `resourceDescriptor`, `initialResourceState`, `pClearValue`, `ppResourceAllocationOut` | parameters of these calls | |
//!
//! # `RESOURCE_ALLOCATOR_DESC`: [`ResourceAllocatorDesc`]
//!
//! | GPGMM | heapwright | difference |
//! |---|---|---|
//! | `Flags` | [`ResourceAllocatorDesc::flags`] | unknown bits are rejected |
//! | `MinLogLevel`, `MinRecordLevel` | | `tracing`'s subscriber filters; all events of the selected flags are recorded |
//! | `RecordOptions` | [`ResourceAllocatorDesc::record_options`] | see [`recording`](crate::recording) |
//! | `ResourceHeapTier` | [`ResourceAllocatorDesc::resource_heap_tier`] | as in GPGMM: a tier above the device's is an error, one below a warning. Buffers and textures have separate heaps on tier 2 as well (code: one family holds all): a small buffer would keep a heap alive after its textures were freed, and render targets are larger than other resources of a heap. A pool of [`ResourceKind::Any`](crate::ResourceKind::Any) holds both |
//! | `SubAllocationAlgorithm` | [`ResourceAllocatorDesc::suballocation_algorithm`] | pool algorithms are another type, which cannot be used here (code: undefined) |
//! | `PoolAlgorithm` | [`ResourceAllocatorDesc::empty_heap_policy`] | as above |
//! | `PreferredResourceHeapSize` | [`ResourceAllocatorDesc::preferred_heap_size`] | `None` is the default, as zero in GPGMM |
//! | `MaxResourceHeapSize` | [`ResourceAllocatorDesc::max_heap_size`] | `None` is the default, as zero in GPGMM |
//! | `ResourceHeapFragmentationLimit` | [`ResourceAllocatorDesc::heap_fragmentation_limit`] | `None` is 0.125, as zero in GPGMM; zero and negatives are rejected (code: 0.125) |
//! | `ResourceHeapGrowthFactor` | [`ResourceAllocatorDesc::heap_growth_factor`] | `None` is 1.25; below 1, a heap for each resource: *reference* (code: 1.25) |
//! | `ReleaseSizeInBytes` | [`ResourceAllocatorDesc::release_size`] | the retry helps (code: it never runs when the device is out of memory) |
//! | `ExtraRequiredResourceFlags` | [`ResourceAllocatorDesc::extra_required_resource_flags`] | |
//! | | [`limits`](ResourceAllocatorDesc::limits), [`nodes`](ResourceAllocatorDesc::nodes) | ours |
//!
//! # `RESOURCE_ALLOCATOR_FLAGS`: [`ResourceAllocatorFlags`]
//!
//! | `RESOURCE_ALLOCATOR_FLAG_` | heapwright | difference |
//! |---|---|---|
//! | `NONE` | [`ResourceAllocatorFlags::empty`] | |
//! | `ALWAYS_COMMITTED` | [`ResourceAllocatorFlags::ALWAYS_COMMITTED`] | resources in custom pools or with padding are still placed |
//! | `ALWAYS_IN_BUDGET` | [`ResourceAllocatorFlags::ALWAYS_IN_BUDGET`] | without a manager, the operating system's budget, which requires the adapter (code: a warning and no effect); with a manager, idle heaps are evicted. Also for heaps that are created evicted, which need no budget (code: fails) |
//! | `ALLOW_PREFETCH` | [`ResourceAllocatorFlags::ALLOW_PREFETCH`] | prefetches one heap of each kind, for which no thread waits and which is kept like any other empty heap; a failure has no effect (code: later allocations fail) |
//! | `ALWAYS_ON_DEMAND` | [`ResourceAllocatorFlags::ALWAYS_ON_DEMAND`] | |
//! | `ALLOW_UNIFIED_MEMORY` | [`ResourceAllocatorFlags::ALLOW_UNIFIED_MEMORY`] | cache-coherent UMA only: *code*, and the reference's `ALWAYS_ATTRIBUTE_HEAPS` (its text here says UMA). On other architectures the CPU's caches do not work for such memory, so a warning is logged and heaps keep their types. A resource that the device does not create there gets the requested type (code: fails) |
//! | `NEVER_LEAK` | [`ResourceAllocatorFlags::NEVER_LEAK`] | leaks are logged and not freed (code: freed by force) |
//! | `CREATE_NOT_RESIDENT` | [`ResourceAllocatorFlags::CREATE_NOT_RESIDENT`] | with a manager, heaps are made resident for their first use (code: never) |
//! | `NEVER_OVER_ALLOCATE` | [`ResourceAllocatorFlags::NEVER_OVER_ALLOCATE`] | free memory in heaps that are held is still used |
//! | | [`NEVER_TIGHT_ALIGNMENT`](ResourceAllocatorFlags::NEVER_TIGHT_ALIGNMENT), [`CREATE_NOT_ZEROED`](ResourceAllocatorFlags::CREATE_NOT_ZEROED) | ours |
//!
//! # `RESOURCE_ALLOCATION_ALGORITHM`: [`SuballocationAlgorithm`], [`EmptyHeapPolicy`]
//!
//! | `RESOURCE_ALLOCATION_ALGORITHM_` | heapwright | difference |
//! |---|---|---|
//! | `DEFAULT` | [`SuballocationAlgorithm::Default`], [`EmptyHeapPolicy::Default`] | all sizes share heaps, which are kept while they are likely to be used again (GPGMM: slabs and segmented pools) |
//! | `SLAB` | [`SuballocationAlgorithm::Slab`] | GPGMM's sizes |
//! | `BUDDY_SYSTEM` | [`SuballocationAlgorithm::BuddySystem`] | |
//! | `FIXED_POOL` | [`EmptyHeapPolicy::FixedPool`] | |
//! | `SEGMENTED_POOL` | [`EmptyHeapPolicy::SegmentedPool`] | the default with slabs, buddies and dedicated heaps: *code* (the reference's text names slabs) |
//! | `DEDICATED` | [`SuballocationAlgorithm::Dedicated`] | |
//! | | [`SuballocationAlgorithm::Linear`] | ours, for custom pools |
//!
//! # `RESOURCE_ALLOCATION_DESC`: [`ResourceAllocationDesc`]
//!
//! | GPGMM | heapwright | difference |
//! |---|---|---|
//! | `Flags` | [`ResourceAllocationDesc::flags`] | unknown bits are rejected |
//! | `HeapType` | [`ResourceAllocationDesc::heap_type`] | several in order of preference; `None` is inferred from the initial state, as zero in GPGMM. CUSTOM, which GPGMM also infers, is not a [`HeapType`](crate::HeapType): a CUSTOM heap is described by its properties, which a pool specifies ([`PoolDesc::custom_heap`](crate::PoolDesc::custom_heap)) |
//! | `ExtraRequiredHeapFlags` | [`ResourceAllocationDesc::extra_required_heap_flags`] | NOT_ZEROED alone does not make a resource committed: it is a hint |
//! | `ExtraRequiredResourcePadding` | [`ResourceAllocationDesc::extra_required_resource_padding`] | also in shared heaps (code: only with NEVER_SUBALLOCATE_HEAP) |
//! | | [`pool`](ResourceAllocationDesc::pool), [`strategy`](ResourceAllocationDesc::strategy), [`uses`](ResourceAllocationDesc::uses), [`user_data`](ResourceAllocationDesc::user_data) | ours |
//!
//! # `RESOURCE_ALLOCATION_FLAGS`: [`ResourceAllocationFlags`]
//!
//! | `RESOURCE_ALLOCATION_FLAG_` | heapwright | difference |
//! |---|---|---|
//! | `NONE` | [`ResourceAllocationFlags::empty`] | |
//! | `NEVER_ALLOCATE_HEAP` | [`ResourceAllocationFlags::NEVER_ALLOCATE_HEAP`] | E_OUTOFMEMORY: *reference* (code: E_FAIL) |
//! | `ALLOW_SUBALLOCATE_WITHIN_RESOURCE` | [`ResourceAllocationFlags::ALLOW_SUBALLOCATE_WITHIN_RESOURCE`] | also in GPU_UPLOAD heaps. Parts are aligned as in GPGMM: as requested, otherwise to 256 in state GENERIC_READ, otherwise to the next power of two, at least 4. The backing buffer is placed in a heap that other buffers share, whose usual initial size is 1 MiB (code: committed, 64 KiB), so that the next buffers need no heap |
//! | `NEVER_SUBALLOCATE_HEAP` | [`ResourceAllocationFlags::NEVER_SUBALLOCATE_HEAP`] | |
//! | `ALWAYS_PREFETCH_HEAP` | [`ResourceAllocationFlags::ALWAYS_PREFETCH_HEAP`] | rejected with NEVER_ALLOCATE_HEAP |
//! | `ALWAYS_CACHE_SIZE` | [`ResourceAllocationFlags::ALWAYS_CACHE_SIZE`] | |
//! | `ALWAYS_ATTRIBUTE_HEAPS` | [`ResourceAllocationFlags::ALWAYS_ATTRIBUTE_HEAPS`] | |
//! | `NEVER_FALLBACK` | [`ResourceAllocationFlags::NEVER_FALLBACK`] | |
//! | `NEVER_RESIDENT` | [`ResourceAllocationFlags::NEVER_RESIDENT`] | supported, also on import: *reference* (code: refused or ignored) |
//! | `ALWAYS_WARN_ON_ALIGNMENT_MISMATCH` | [`ResourceAllocationFlags::ALWAYS_WARN_ON_ALIGNMENT_MISMATCH`] | in every build; for a texture, the requested size is that of its texels (code: the device's size) |
//! | `ALWAYS_COMMITTED` | [`ResourceAllocationFlags::ALWAYS_COMMITTED`] | |
//! | | [`WITHIN_BUDGET`](ResourceAllocationFlags::WITHIN_BUDGET), [`PREFER_COMMITTED`](ResourceAllocationFlags::PREFER_COMMITTED), [`UPPER_ADDRESS`](ResourceAllocationFlags::UPPER_ADDRESS) | ours |
//!
//! # `RESOURCE_ALLOCATION_INFO` and `RESOURCE_ALLOCATION_TYPE`: [`ResourceAllocationInfo`], [`Placement`]
//!
//! | GPGMM | heapwright | difference |
//! |---|---|---|
//! | `SizeInBytes` | [`ResourceAllocationInfo::size`] | |
//! | `Alignment` | [`ResourceAllocationInfo::alignment`] | the alignment (code: the size again) |
//! | `Type` | [`ResourceAllocationInfo::decision`] | more detailed, with the reason |
//! | `RESOURCE_ALLOCATION_TYPE_UNKNOWN` | | every allocation has a type |
//! | `RESOURCE_ALLOCATION_TYPE_STANDALONE` | [`Placement::OwnHeap`], [`Placement::Committed`], [`Placement::Imported`] | |
//! | `RESOURCE_ALLOCATION_TYPE_SUBALLOCATED` | [`Placement::SharedHeap`] | |
//! | `RESOURCE_ALLOCATION_TYPE_SUBALLOCATED_WITHIN` | [`Placement::WithinResource`] | |
//!
//! # `RESOURCE_ALLOCATOR_STATS`: [`ResourceAllocatorStats`]
//!
//! | GPGMM | heapwright | difference |
//! |---|---|---|
//! | `UsedBlockCount` | [`ResourceAllocatorStats::used_block_count`] | |
//! | `UsedBlockUsage` | [`ResourceAllocatorStats::used`] | as the device sizes resources |
//! | `UsedHeapCount` | [`ResourceAllocatorStats::used_heap_count`] | |
//! | `UsedHeapUsage` | [`ResourceAllocatorStats::used_heap_usage`] | |
//! | `FreeHeapUsage` | [`ResourceAllocatorStats::free_heap_usage`] | empty heaps, as in GPGMM; the free bytes of other heaps are `reserved` less `used` and this |
//! | `PrefetchedHeapMisses` | [`ResourceAllocatorStats::prefetched_heap_misses`] | |
//! | `PrefetchedHeapMissesEliminated` | [`ResourceAllocatorStats::prefetched_heap_misses_eliminated`] | |
//! | `SizeCacheMisses` | [`ResourceAllocatorStats::size_cache_misses`] | with [`SuballocationAlgorithm::Slab`]; no sizes are added in advance. Parts of buffers are not counted (code: counted): they use the default algorithm, which supports all sizes, whatever the allocator's algorithm is |
//! | `SizeCacheHits` | [`ResourceAllocatorStats::size_cache_hits`] | as above |
//!
//! # Recording: `RECORD_OPTIONS`, `RECORD_FLAGS`, `RECORD_SCOPE`
//!
//! [`recording`](crate::recording) describes the files. They are written as events occur and strings are escaped (code: at the end,
//! without escapes), and a second format holds what an exact replay needs.
//!
//! | GPGMM | heapwright |
//! |---|---|
//! | `Flags`, `EventScope`, `UseDetailedTimingEvents`, `TraceFile` | [`RecordOptions::flags`], [`RecordOptions::scope`], [`RecordOptions::use_detailed_timing_events`], [`RecordOptions::trace_file`] |
//! | `RECORD_FLAG_NONE`, `_API_OBJECTS`, `_API_CALLS`, `_API_TIMINGS` | [`RecordFlags::empty`], [`RecordFlags::API_OBJECTS`], [`RecordFlags::API_CALLS`], [`RecordFlags::API_TIMINGS`] |
//! | `RECORD_FLAG_COUNTERS`, `_CAPTURE`, `_ALL` | [`RecordFlags::COUNTERS`], [`RecordFlags::CAPTURE`], [`RecordFlags::ALL`] |
//! | `RECORD_SCOPE_PER_PROCESS`, `_PER_INSTANCE` | [`RecordScope::PerProcess`], [`RecordScope::PerInstance`] |
//!
//! # Residency
//!
//! | GPGMM | heapwright | difference |
//! |---|---|---|
//! | `CreateResidencyManager` | [`ResidencyManager::new`], [`ResidencyManager::from_raw`] | without an adapter, the description must contain the budgets (code: E_POINTER) |
//! | `CreateResidencyHeap` with a pageable | [`ResidencyManager::manage`], [`ResidencyHeap::unmanaged`] | an object of another device, a reserved resource and an object that is never paged are rejected; so is a size below the object's (code: any size is accepted) |
//! | `CreateResidencyHeap` with `CreateHeapFn` | [`ResidencyManager::create_heap`], [`ResidencyHeap::create_unmanaged`] | a closure, which captures its context |
//! | `CreateResidencyList` | [`ResidencyList::new`] | |
//! | `ppResidencyManagerOut`, `ppResidencyHeapOut`, `ppResidencyListOut` null | | nothing to test: dropping the object is the test |
//! | `IResidencyHeap` | [`ResidencyHeap`] | dropped instead of released; a list that contains it is then rejected (code: use after free) |
//! | its `QueryInterface` | [`ResidencyHeap::pageable`] | |
//! | `Lock`, `Unlock` | [`ResidencyHeap::lock`], [`ResidencyHeap::unlock`] | a lock returns when the memory is resident (code: before); an unlock returns the number of remaining locks, and one too many is an error. An unlocked heap stays resident until memory is needed, and its status is resident: *code* (reference: back to evicted) |
//! | `GetResidencyManager` | [`ResidencyHeap::manager`] | `None` without a manager, and nothing is logged |
//! | `GetInfo` | [`ResidencyHeap::info`] | |
//! | `SetDebugName`, `GetDebugName` of heaps and managers | the same | a missing name is `None` |
//! | `IResidencyList`, `Add`, `Reset` | [`ResidencyList`], [`ResidencyList::add`], [`ResidencyList::reset`] | heaps of one manager; [`ResidencyList::add_allocation`] for allocations |
//! | `IResidencyManager` | [`ResidencyManager`] | a handle that is cloned instead of reference-counted |
//! | `ExecuteCommandLists` with `ppCommandLists`, `ppResidencyLists`, `count` | [`ResidencyManager::execute_command_lists`] | an `unsafe fn`, because D3D12 does not check what lists use; any number of lists (code: one); a queue is required, for its fence (code: null lists never finish); paging has a fence of its own for which the queue waits (code: the fence of the work). To make heaps resident without a submission: [`ResidencyManager::prefetch`]. A heap of unknown status in a list is made resident and managed from then on: *code*, which warns (reference: only after it was locked), because memory that the GPU uses must be resident, and the list declares the use |
//! | `SetVideoMemoryReservation` | [`ResidencyManager::set_video_memory_reservation`] | also set with the operating system (code: not), and reset when the manager is dropped; usage below it counts as zero (code: wraps) |
//! | `QueryVideoMemoryInfo` | [`ResidencyManager::query_video_memory_info`] | [`VideoMemoryInfo`]; the usage is what counts against the budget |
//! | `SetResidencyStatus` | [`ResidencyManager::set_residency_status`] | recorded in the books as done by other code (code: overwrites a word); evicted is rejected while the heap is locked or in use |
//! | `QueryStats` | [`ResidencyManager::stats`] | a query records nothing, [`record_counters`](ResidencyManager::record_counters) does |
//!
//! # `RESIDENCY_MANAGER_DESC`: [`ResidencyManagerDesc`]
//!
//! | GPGMM | heapwright | difference |
//! |---|---|---|
//! | `Flags` | [`ResidencyManagerDesc::flags`] | unknown bits are rejected |
//! | `MinLogLevel`, `MinRecordLevel` | | as for allocators |
//! | `RecordOptions` | [`ResidencyManagerDesc::record_options`] | see [`recording`](crate::recording) |
//! | `MaxPctOfVideoMemoryToBudget`, later `MaxPctOfMemoryToBudget` | [`ResidencyManagerDesc::max_pct_of_video_memory_to_budget`] | `None` is 0.95; above 1 is rejected (code: accepted) |
//! | `MinPctOfBudgetToReserve` | [`ResidencyManagerDesc::min_pct_of_budget_to_reserve`] | `None` is 0.5; the maximum that is reserved: *code* (reference: the minimum) |
//! | `MaxBudgetInBytes` | [`ResidencyManagerDesc::max_budget`] | in addition to the usage at creation, as in the code; never above the operating system's budget (code: regardless of it); a percentage in addition is ignored with a warning: *reference* (code: E_INVALIDARG) |
//! | `EvictSizeInBytes` | [`ResidencyManagerDesc::evict_size`] | evicted even within the budget, because the device reported a shortage (code: nothing is evicted) |
//! | `InitialFenceValue` | [`ResidencyManagerDesc::initial_fence_value`] | |
//! | | [`budget_override`](ResidencyManagerDesc::budget_override), [`refresh_interval`](ResidencyManagerDesc::refresh_interval), [`policy`](ResidencyManagerDesc::policy) | ours |
//!
//! | `RESIDENCY_MANAGER_FLAG_` | heapwright | difference |
//! |---|---|---|
//! | `NONE` | [`ResidencyManagerFlags::empty`] | |
//! | `ALLOW_BACKGROUND_BUDGET_UPDATES` | [`ResidencyManagerFlags::ALLOW_BACKGROUND_BUDGET_UPDATES`] | usage is also queried at an interval (code: only on events) |
//! | `NEVER_USE_UNIFIED_MEMORY` | [`ResidencyManagerFlags::NEVER_USE_UNIFIED_MEMORY`] | a group without a reported budget is unbounded (code: a budget of zero) |
//! | `ALWAYS_IN_BUDGET` | [`ResidencyManagerFlags::ALWAYS_IN_BUDGET`] | *code* (the reference inverts one bit) |
//!
//! # `RESIDENCY_HEAP_DESC`: [`ResidencyHeapDesc`], and `RESIDENCY_HEAP_INFO`: [`ResidencyHeapInfo`]
//!
//! | GPGMM | heapwright | difference |
//! |---|---|---|
//! | `HeapSegment` (`DXGI_MEMORY_SEGMENT_GROUP`, later `RESIDENCY_HEAP_SEGMENT`) | [`ResidencyHeapDesc::segment_group`] | `None` is determined from the heap properties; required for descriptor and query heaps on discrete GPUs. Where D3D12 reports the object's own, another one is logged and ignored |
//! | `SizeInBytes` | [`ResidencyHeapDesc::size`] | zero is determined from the object; budgets apply to it as well (code: the check is empty). Query heaps require one (code: E_INVALIDARG even with one) |
//! | `Alignment` | [`ResidencyHeapDesc::alignment`] | |
//! | `Flags` | [`ResidencyHeapDesc::flags`] | unknown bits are rejected |
//! | | [`priority`](ResidencyHeapDesc::priority) | ours |
//! | `RESIDENCY_HEAP_FLAG_NONE` | [`ResidencyHeapFlags::empty`] | |
//! | `RESIDENCY_HEAP_FLAG_CREATE_IN_BUDGET` | [`ResidencyHeapFlags::CREATE_IN_BUDGET`] | rejected for an existing object (code: ignored); no more is evicted than is missing (code: fails if that is little) |
//! | `RESIDENCY_HEAP_FLAG_CREATE_RESIDENT` | [`ResidencyHeapFlags::CREATE_RESIDENT`] | as in GPGMM: without effect if D3D12 reports the status |
//! | `RESIDENCY_HEAP_FLAG_CREATE_LOCKED` | [`ResidencyHeapFlags::CREATE_LOCKED`] | |
//! | `SizeInBytes`, `Alignment`, `IsLocked`, `Status` | [`ResidencyHeapInfo::size`], [`ResidencyHeapInfo::alignment`], [`ResidencyHeapInfo::is_locked`], [`ResidencyHeapInfo::status`] | |
//! | `RESIDENCY_HEAP_STATUS_UNKNOWN`, `_EVICTED`, `_RESIDENT` | [`ResidencyHeapStatus::Unknown`], [`ResidencyHeapStatus::Evicted`], [`ResidencyHeapStatus::Resident`] | |
//!
//! # `RESIDENCY_MANAGER_STATS`: [`ResidencyManagerStats`]
//!
//! | GPGMM | heapwright | difference |
//! |---|---|---|
//! | `CurrentHeapUsage` | [`ResidencyManagerStats::current_heap_usage`] | a heap that is dropped while it is locked is subtracted as well (code: stays) |
//! | `CurrentHeapCount` | [`ResidencyManagerStats::current_heap_count`] | |
//! | | the other fields | ours: totals of each segment group and of paging |
//!
//! # HRESULTs
//!
//! [`Error::hresult`](crate::Error::hresult) is the HRESULT that a COM call would return. A shortage of memory is
//! E_OUTOFMEMORY: *reference* (code: E_FAIL). With NEVER_FALLBACK it is E_FAIL, as in both. A description that the
//! device refuses is E_INVALIDARG (code: E_OUTOFMEMORY for textures, E_FAIL if three placements failed), but a size
//! that no memory of the device could hold is E_OUTOFMEMORY, as in GPGMM.

#[allow(unused_imports, reason = "for the links")]
use crate::residency::{
    ResidencyHeap, ResidencyHeapDesc, ResidencyHeapFlags, ResidencyHeapInfo, ResidencyHeapStatus,
    ResidencyList, ResidencyManager, ResidencyManagerDesc, ResidencyManagerFlags, ResidencyManagerStats,
};
#[allow(unused_imports, reason = "for the links")]
use crate::{
    EmptyHeapPolicy, Mapping, Placement, RecordFlags, RecordOptions, RecordScope, ResourceAllocation,
    ResourceAllocationDesc, ResourceAllocationFlags, ResourceAllocationInfo, ResourceAllocationSupport,
    ResourceAllocator, ResourceAllocatorDesc, ResourceAllocatorFlags, ResourceAllocatorStats,
    SuballocationAlgorithm, TextureMapping, VideoMemoryInfo,
};
