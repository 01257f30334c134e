//! GPGMM's names, and ours.
//!
//! Every name of the part of `gpgmm::d3d12` that allocates, from the top of its reference (document GPGMM) to the bottom, with what
//! it is here and where it differs. Flags have GPGMM's numbers; ours begin at bit 16. Where the reference and GPGMM's code disagree,
//! the last column says which of them is followed: *reference* or *code*.
//!
//! # Objects and functions
//!
//! | GPGMM | heapwright | difference |
//! |---|---|---|
//! | `IResourceAllocator` | [`ResourceAllocator`] | a handle that is cloned instead of counted |
//! | `IResourceAllocation` | [`ResourceAllocation`] | dropped instead of released; it may outlive its allocator, in any order (code: the allocator last) |
//! | `IDebugObject` | [`ResourceAllocator::set_debug_name`], [`ResourceAllocation::set_debug_name`] | heaps of the allocator have no names yet |
//! | `SetDebugName` | the same | no name is `None`, not the text `'Unknown'`; a part of a resource keeps its name to itself, as there |
//! | `CreateResourceAllocator` with a device | [`ResourceAllocator::new`], [`ResourceAllocator::from_raw`]; with a manager [`ResourceAllocator::with_residency`]; answering a new one [`ResourceAllocator::with_new_residency`] | a null device is invalid argument (code: E_POINTER); the device and the adapter are referenced (code: kept raw) |
//! | `CreateResourceAllocator` from an allocator | [`ResourceAllocator::create_nested`] | empty heaps of every kind are exchanged, whatever the algorithms, also of other sizes if they fit, and limits move with them. Heaps that wait in the common pool are the outermost allocator's to count; together with those in use they are at most twice the bytes that were ever in use at once (code: without bound). The residency manager is the parent's |
//! | `ppResourceAllocatorOut` null | | nothing to test: dropping the allocator is the test |
//! | `CreateResource` | [`ResourceAllocator::create_resource`], [`ResourceAllocator::create`] | `create` takes what later versions of D3D12 do: layouts, castable formats, sessions. An alignment that is no power of two, or above what the kind of resource has, is an invalid argument, as for D3D12's own calls (code: overwritten for placed and committed buffers, so that 65,535 and 2^64-1 are taken) |
//! | `CreateResource` with a null out | [`ResourceAllocator::probe`] | nothing is created (code: created and dropped, which is [`ResourceAllocator::create`] without keeping what it returns) |
//! | `CreateResource` of a committed resource | [`ResourceAllocator::import`] | accounted in its own segment group (code: local always); an `unsafe fn`, as nobody knows who else maps it. A placed resource does not tell D3D12's caller that it is one, so that it counts as memory of its own here as there, among what is imported; no limit is about that |
//! | `ReleaseResourceHeaps` | [`ResourceAllocator::release_resource_heaps`], [`ResourceAllocator::release_empty_heaps`] | answers the bytes; whether they are fewer than asked is the caller's to compare. As few heaps as possible go (code: its arithmetic wraps) |
//! | `QueryStats` | [`ResourceAllocator::stats`] | O(1), amortized; nothing is recorded by asking |
//! | `CheckFeatureSupport` | [`ResourceAllocator::resource_allocation_support`] | typed, so that there is no size to mismatch |
//! | `RESOURCE_ALLOCATOR_FEATURE`, `RESOURCE_ALLOCATOR_FEATURE_RESOURCE_ALLOCATION_SUPPORT` | the same call | one feature, one function |
//! | `FEATURE_DATA_RESOURCE_ALLOCATION_SUPPORT` | [`ResourceAllocationSupport`] | |
//! | `IsResourceAllocationWithinCoherent` | [`ResourceAllocationSupport::is_resource_allocation_within_coherent`] | as code: Intel's adapters |
//! | `GetResource` | [`ResourceAllocation::resource`] | |
//! | `GetGPUVirtualAddress` | [`ResourceAllocation::gpu_virtual_address`] | `None` for textures |
//! | `GetOffsetFromResource` | [`ResourceAllocation::offset_from_resource`] | |
//! | `GetInfo` | [`ResourceAllocation::info`] | |
//! | `GetMemory` | [`ResourceAllocation::memory`] | `None` without a manager, and for NEVER_RESIDENT (code: a heap of unknown status); [`ResourceAllocation::heap`] is the `ID3D12Heap` |
//! | `GetResourceAllocator` | [`ResourceAllocation::allocator`] | `None` once the allocator is gone |
//! | `Map` of a buffer, `pReadRange` | [`ResourceAllocation::map`], [`ResourceAllocation::map_range`], [`Mapping`] | one mapping at a time, never beyond its bytes, nor beyond those that are to be read. A part begins at its own first byte, as there. The memory is resident meanwhile: one lock and one unlock for each mapping (code: mapping twice leaves one, and destroying any allocation takes one) |
//! | `Map` of a texture, `subresource` | [`ResourceAllocation::map_texture`], [`TextureMapping`] | texels are copied in and out by the device, whatever their layout (code: the caller calls the resource) |
//! | `Unmap`, `pWrittenRange` | dropping a [`Mapping`] or [`TextureMapping`] | the range is what was written; of textures everything, or nothing if nothing was |
//! | `ppDataOut`, `resourceDescriptor`, `initialResourceState`, `pClearValue`, `ppResourceAllocationOut` | parameters of these calls | |
//!
//! # `RESOURCE_ALLOCATOR_DESC`: [`ResourceAllocatorDesc`]
//!
//! | GPGMM | heapwright | difference |
//! |---|---|---|
//! | `Flags` | [`ResourceAllocatorDesc::flags`] | unknown bits are refused |
//! | `MinLogLevel`, `MinRecordLevel` | | `tracing`'s subscriber filters; recording comes with its own issue |
//! | `RecordOptions` | [`ResourceAllocatorDesc::record_options`] | refused unless it records nothing |
//! | `ResourceHeapTier` | [`ResourceAllocatorDesc::resource_heap_tier`] | as there: above the device's is an error, below a warning. Buffers and textures have heaps of their own on tier 2 as well (code: one family holds all): a small buffer would keep a heap alive whose textures are gone, and render targets are larger than what would share with them. A pool of [`ResourceKind::Any`](crate::ResourceKind::Any) holds both |
//! | `SubAllocationAlgorithm` | [`ResourceAllocatorDesc::suballocation_algorithm`] | pool algorithms are another type, so that none can be given here (code: undefined) |
//! | `EmptyHeapPolicy` | [`ResourceAllocatorDesc::empty_heap_policy`] | as above |
//! | `PreferredResourceHeapSize` | [`ResourceAllocatorDesc::preferred_heap_size`] | `None` is the default, as zero is there |
//! | `MaxResourceHeapSize` | [`ResourceAllocatorDesc::max_heap_size`] | `None` is the default, as zero is there |
//! | `ResourceHeapFragmentationLimit` | [`ResourceAllocatorDesc::heap_fragmentation_limit`] | `None` is 0.125, as zero is there; zero and negatives are refused (code: 0.125) |
//! | `ResourceHeapGrowthFactor` | [`ResourceAllocatorDesc::heap_growth_factor`] | `None` is 1.25; below 1 a heap for each resource: *reference* (code: 1.25) |
//! | `ReleaseSizeInBytes` | [`ResourceAllocatorDesc::release_size`] | the retry helps (code: it never runs when the device is out of memory) |
//! | `ExtraRequiredResourceFlags` | [`ResourceAllocatorDesc::extra_required_resource_flags`] | |
//! | | [`limits`](ResourceAllocatorDesc::limits), [`nodes`](ResourceAllocatorDesc::nodes) | ours |
//!
//! # `RESOURCE_ALLOCATOR_FLAGS`: [`ResourceAllocatorFlags`]
//!
//! | `RESOURCE_ALLOCATOR_FLAG_` | heapwright | difference |
//! |---|---|---|
//! | `NONE` | [`ResourceAllocatorFlags::empty`] | |
//! | `ALWAYS_COMMITTED` | [`ResourceAllocatorFlags::ALWAYS_COMMITTED`] | custom pools and padding are placed all the same |
//! | `ALWAYS_IN_BUDGET` | [`ResourceAllocatorFlags::ALWAYS_IN_BUDGET`] | without a manager the operating system's budget, which needs the adapter (code: a warning and no effect); with one, what is idle makes way. Also for heaps that begin evicted, which need no room (code: fails) |
//! | `ALLOW_PREFETCH` | [`ResourceAllocatorFlags::ALLOW_PREFETCH`] | one heap in advance of each kind, which nobody waits for and which is kept as any other empty heap; a failed one leaves no trace (code: later allocations fail) |
//! | `ALWAYS_ON_DEMAND` | [`ResourceAllocatorFlags::ALWAYS_ON_DEMAND`] | |
//! | `ALLOW_UNIFIED_MEMORY` | [`ResourceAllocatorFlags::ALLOW_UNIFIED_MEMORY`] | cache-coherent UMA only: *code*, and the reference's `ALWAYS_ATTRIBUTE_HEAPS` (its text here says UMA). Elsewhere the CPU's caches do not work for such memory, so that a warning is logged and heaps keep their types. What the device does not create there gets the type that was asked for (code: fails) |
//! | `NEVER_LEAK` | [`ResourceAllocatorFlags::NEVER_LEAK`] | leaks are logged and left alone (code: freed by force) |
//! | `CREATE_NOT_RESIDENT` | [`ResourceAllocatorFlags::CREATE_NOT_RESIDENT`] | with a manager the first use pages it in (code: nothing ever does) |
//! | `NEVER_OVER_ALLOCATE` | [`ResourceAllocatorFlags::NEVER_OVER_ALLOCATE`] | free memory in heaps that are held is used all the same |
//! | | [`NEVER_TIGHT_ALIGNMENT`](ResourceAllocatorFlags::NEVER_TIGHT_ALIGNMENT), [`CREATE_NOT_ZEROED`](ResourceAllocatorFlags::CREATE_NOT_ZEROED) | ours |
//!
//! # `RESOURCE_ALLOCATION_ALGORITHM`: [`SuballocationAlgorithm`], [`EmptyHeapPolicy`]
//!
//! | `RESOURCE_ALLOCATION_ALGORITHM_` | heapwright | difference |
//! |---|---|---|
//! | `DEFAULT` | [`SuballocationAlgorithm::Default`], [`EmptyHeapPolicy::Default`] | sizes share heaps, which are kept while they are likely to be used again (GPGMM: slabs and segmented pools) |
//! | `SLAB` | [`SuballocationAlgorithm::Slab`] | GPGMM's sizes |
//! | `BUDDY_SYSTEM` | [`SuballocationAlgorithm::BuddySystem`] | |
//! | `FIXED_POOL` | [`EmptyHeapPolicy::FixedPool`] | |
//! | `SEGMENTED_POOL` | [`EmptyHeapPolicy::SegmentedPool`] | the default beside slabs, buddies and dedicated heaps: *code* (the reference's text names slabs) |
//! | `DEDICATED` | [`SuballocationAlgorithm::Dedicated`] | |
//! | | [`SuballocationAlgorithm::Linear`] | ours, for custom pools |
//!
//! # `RESOURCE_ALLOCATION_DESC`: [`ResourceAllocationDesc`]
//!
//! | GPGMM | heapwright | difference |
//! |---|---|---|
//! | `Flags` | [`ResourceAllocationDesc::flags`] | unknown bits are refused |
//! | `HeapType` | [`ResourceAllocationDesc::heap_type`] | several in order of preference; `None` is inferred from the initial state, as zero is there. CUSTOM, which is inferred as well there, is no [`HeapType`](crate::HeapType): a CUSTOM heap is described by its properties, which a pool has ([`PoolDesc::custom_heap`](crate::PoolDesc::custom_heap)) |
//! | `ExtraRequiredHeapFlags` | [`ResourceAllocationDesc::extra_required_heap_flags`] | NOT_ZEROED alone commits nothing: it is a permission |
//! | `ExtraRequiredResourcePadding` | [`ResourceAllocationDesc::extra_required_resource_padding`] | also in shared heaps (code: with NEVER_SUBALLOCATE_HEAP only) |
//! | | [`pool`](ResourceAllocationDesc::pool), [`strategy`](ResourceAllocationDesc::strategy), [`uses`](ResourceAllocationDesc::uses), [`user_data`](ResourceAllocationDesc::user_data) | ours |
//!
//! # `RESOURCE_ALLOCATION_FLAGS`: [`ResourceAllocationFlags`]
//!
//! | `RESOURCE_ALLOCATION_FLAG_` | heapwright | difference |
//! |---|---|---|
//! | `NONE` | [`ResourceAllocationFlags::empty`] | |
//! | `NEVER_ALLOCATE_HEAP` | [`ResourceAllocationFlags::NEVER_ALLOCATE_HEAP`] | E_OUTOFMEMORY: *reference* (code: E_FAIL) |
//! | `ALLOW_SUBALLOCATE_WITHIN_RESOURCE` | [`ResourceAllocationFlags::ALLOW_SUBALLOCATE_WITHIN_RESOURCE`] | GPU_UPLOAD heaps as well. Parts are aligned as there: as asked, else to 256 in state GENERIC_READ, else to the next power of two, 4 at least. The buffer that they are parts of is placed in a heap that other buffers share, and which begins with the usual 1 MiB (code: committed, 64 KiB): the next buffers need no heap |
//! | `NEVER_SUBALLOCATE_HEAP` | [`ResourceAllocationFlags::NEVER_SUBALLOCATE_HEAP`] | |
//! | `ALWAYS_PREFETCH_HEAP` | [`ResourceAllocationFlags::ALWAYS_PREFETCH_HEAP`] | with NEVER_ALLOCATE_HEAP refused |
//! | `ALWAYS_CACHE_SIZE` | [`ResourceAllocationFlags::ALWAYS_CACHE_SIZE`] | |
//! | `ALWAYS_ATTRIBUTE_HEAPS` | [`ResourceAllocationFlags::ALWAYS_ATTRIBUTE_HEAPS`] | |
//! | `NEVER_FALLBACK` | [`ResourceAllocationFlags::NEVER_FALLBACK`] | |
//! | `NEVER_RESIDENT` | [`ResourceAllocationFlags::NEVER_RESIDENT`] | works, on import as well: *reference* (code: refused or ignored) |
//! | `ALWAYS_WARN_ON_ALIGNMENT_MISMATCH` | [`ResourceAllocationFlags::ALWAYS_WARN_ON_ALIGNMENT_MISMATCH`] | in every build; of a texture the texels are what was asked for (code: what the device says that it takes) |
//! | `ALWAYS_COMMITTED` | [`ResourceAllocationFlags::ALWAYS_COMMITTED`] | |
//! | | [`WITHIN_BUDGET`](ResourceAllocationFlags::WITHIN_BUDGET), [`PREFER_COMMITTED`](ResourceAllocationFlags::PREFER_COMMITTED), [`UPPER_ADDRESS`](ResourceAllocationFlags::UPPER_ADDRESS) | ours |
//!
//! # `RESOURCE_ALLOCATION_INFO` and `RESOURCE_ALLOCATION_TYPE`: [`ResourceAllocationInfo`], [`Placement`]
//!
//! | GPGMM | heapwright | difference |
//! |---|---|---|
//! | `SizeInBytes` | [`ResourceAllocationInfo::size`] | |
//! | `Alignment` | [`ResourceAllocationInfo::alignment`] | the alignment (code: the size once more) |
//! | `Type` | [`ResourceAllocationInfo::decision`] | finer, and with the reason |
//! | `RESOURCE_ALLOCATION_TYPE_UNKNOWN` | | an allocation that exists has a type |
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
//! | `FreeHeapUsage` | [`ResourceAllocatorStats::free_heap_usage`] | heaps that nothing is in, as there; what is free in others is `reserved` less `used` and this |
//! | `PrefetchedHeapMisses` | [`ResourceAllocatorStats::prefetched_heap_misses`] | |
//! | `PrefetchedHeapMissesEliminated` | [`ResourceAllocatorStats::prefetched_heap_misses_eliminated`] | |
//! | `SizeCacheMisses` | [`ResourceAllocatorStats::size_cache_misses`] | with [`SuballocationAlgorithm::Slab`]; no sizes are entered in advance. Parts of buffers are not among them (code: counted): they are divided by the default algorithm, which knows all sizes, whatever the allocator's is |
//! | `SizeCacheHits` | [`ResourceAllocatorStats::size_cache_hits`] | as above |
//!
//! # Recording: `RECORD_OPTIONS`, `RECORD_FLAGS`, `RECORD_SCOPE`
//!
//! Comes with its own issue; the names are there, so that descriptions can be written.
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
//! | `CreateResidencyManager` | [`ResidencyManager::new`], [`ResidencyManager::from_raw`] | without an adapter the description must say what the budgets are (code: E_POINTER) |
//! | `CreateResidencyHeap` with a pageable | [`ResidencyManager::manage`], [`ResidencyHeap::unmanaged`] | an object of another device, a reserved resource and what is never paged are refused; so is a size below the object's (code: any size is believed) |
//! | `CreateResidencyHeap` with `CreateHeapFn` | [`ResidencyManager::create_heap`] | a closure, which has its context with it; without a manager, create the object first |
//! | `CreateResidencyList` | [`ResidencyList::new`] | |
//! | `ppResidencyManagerOut`, `ppResidencyHeapOut`, `ppResidencyListOut` null | | nothing to test: dropping the object is the test |
//! | `IResidencyHeap` | [`ResidencyHeap`] | dropped instead of released; a list that names it is refused then (code: used after free) |
//! | its `QueryInterface` | [`ResidencyHeap::pageable`] | |
//! | `Lock`, `Unlock` | [`ResidencyHeap::lock`], [`ResidencyHeap::unlock`] | a lock returns when the memory is resident (code: before); an unlock answers how many locks are left, and one too many is an error. What is unlocked stays resident until memory is needed, and its status says so: *code* (the reference: back to evicted) |
//! | `GetResidencyManager` | [`ResidencyHeap::manager`] | `None` where there is none, and nothing is logged |
//! | `GetInfo` | [`ResidencyHeap::info`] | |
//! | `SetDebugName`, `GetDebugName` of heaps and managers | the same | no name is `None` |
//! | `IResidencyList`, `Add`, `Reset` | [`ResidencyList`], [`ResidencyList::add`], [`ResidencyList::reset`] | heaps of one manager; [`ResidencyList::add_allocation`] for what an allocator made |
//! | `IResidencyManager` | [`ResidencyManager`] | a handle that is cloned instead of counted |
//! | `ExecuteCommandLists` with `ppCommandLists`, `ppResidencyLists`, `count` | [`ResidencyManager::execute_command_lists`] | an `unsafe fn`, as D3D12 checks nothing of what lists use; any number of lists (code: one); a queue is needed, for its fence (code: null lists never finish); paging has a fence of its own for which the queue waits (code: the one of the work). What is paged without a submission: [`ResidencyManager::prefetch`]. A heap of unknown status that a list names is paged in and managed from then on: *code*, which warns (the reference: only once it was locked), since what the GPU uses must be resident, and naming it says that it is used |
//! | `SetVideoMemoryReservation` | [`ResidencyManager::set_video_memory_reservation`] | the operating system hears of it (code: does not), and gets it back with the manager; usage below it is zero (code: wraps) |
//! | `QueryVideoMemoryInfo` | [`ResidencyManager::query_video_memory_info`] | [`VideoMemoryInfo`]; the usage is what counts against the budget |
//! | `SetResidencyStatus` | [`ResidencyManager::set_residency_status`] | enters it in the books, as by somebody who did it (code: overwrites a word); evicted is refused while it is locked or in use |
//! | `QueryStats` | [`ResidencyManager::stats`] | nothing is recorded by asking |
//!
//! # `RESIDENCY_MANAGER_DESC`: [`ResidencyManagerDesc`]
//!
//! | GPGMM | heapwright | difference |
//! |---|---|---|
//! | `Flags` | [`ResidencyManagerDesc::flags`] | unknown bits are refused |
//! | `MinLogLevel`, `MinRecordLevel` | | as for allocators |
//! | `RecordOptions` | [`ResidencyManagerDesc::record_options`] | refused unless it records nothing |
//! | `MaxPctOfVideoMemoryToBudget`, later `MaxPctOfMemoryToBudget` | [`ResidencyManagerDesc::max_pct_of_video_memory_to_budget`] | `None` is 0.95; above 1 is refused (code: taken) |
//! | `MinPctOfBudgetToReserve` | [`ResidencyManagerDesc::min_pct_of_budget_to_reserve`] | `None` is 0.5; the most that is reserved: *code* (reference: the least) |
//! | `MaxBudgetInBytes` | [`ResidencyManagerDesc::max_budget`] | beside what was in use at the beginning, as code; never above the operating system's budget (code: whatever that is); a percentage beside it is ignored with a warning: *reference* (code: E_INVALIDARG) |
//! | `EvictSizeInBytes` | [`ResidencyManagerDesc::evict_size`] | is evicted also where the budget says that there is room, since the device said that there is none (code: nothing is) |
//! | `InitialFenceValue` | [`ResidencyManagerDesc::initial_fence_value`] | |
//! | | [`budget_override`](ResidencyManagerDesc::budget_override), [`refresh_interval`](ResidencyManagerDesc::refresh_interval), [`policy`](ResidencyManagerDesc::policy) | ours |
//!
//! | `RESIDENCY_MANAGER_FLAG_` | heapwright | difference |
//! |---|---|---|
//! | `NONE` | [`ResidencyManagerFlags::empty`] | |
//! | `ALLOW_BACKGROUND_BUDGET_UPDATES` | [`ResidencyManagerFlags::ALLOW_BACKGROUND_BUDGET_UPDATES`] | usage is asked for at an interval as well (code: on events alone) |
//! | `NEVER_USE_UNIFIED_MEMORY` | [`ResidencyManagerFlags::NEVER_USE_UNIFIED_MEMORY`] | a group whose budget nobody counts has no bound (code: a budget of zero) |
//! | `ALWAYS_IN_BUDGET` | [`ResidencyManagerFlags::ALWAYS_IN_BUDGET`] | *code* (the reference says the reverse of one bit) |
//!
//! # `RESIDENCY_HEAP_DESC`: [`ResidencyHeapDesc`], and `RESIDENCY_HEAP_INFO`: [`ResidencyHeapInfo`]
//!
//! | GPGMM | heapwright | difference |
//! |---|---|---|
//! | `HeapSegment` (`DXGI_MEMORY_SEGMENT_GROUP`, later `RESIDENCY_HEAP_SEGMENT`) | [`ResidencyHeapDesc::segment_group`] | `None` is found out of the heap properties; needed for descriptor and query heaps on discrete GPUs. One that is wrong is refused |
//! | `SizeInBytes` | [`ResidencyHeapDesc::size`] | zero is found out; budgets hold for it as well (code: the check is empty). Query heaps need one (code: E_INVALIDARG with it, too) |
//! | `Alignment` | [`ResidencyHeapDesc::alignment`] | |
//! | `Flags` | [`ResidencyHeapDesc::flags`] | unknown bits are refused |
//! | | [`priority`](ResidencyHeapDesc::priority) | ours |
//! | `RESIDENCY_HEAP_FLAG_NONE` | [`ResidencyHeapFlags::empty`] | |
//! | `RESIDENCY_HEAP_FLAG_CREATE_IN_BUDGET` | [`ResidencyHeapFlags::CREATE_IN_BUDGET`] | refused for an object that exists (code: ignored); no more is evicted than is missing (code: refused when that is little) |
//! | `RESIDENCY_HEAP_FLAG_CREATE_RESIDENT` | [`ResidencyHeapFlags::CREATE_RESIDENT`] | as there: without effect where D3D12 tells the status |
//! | `RESIDENCY_HEAP_FLAG_CREATE_LOCKED` | [`ResidencyHeapFlags::CREATE_LOCKED`] | |
//! | `SizeInBytes`, `Alignment`, `IsLocked`, `Status` | [`ResidencyHeapInfo::size`], [`ResidencyHeapInfo::alignment`], [`ResidencyHeapInfo::is_locked`], [`ResidencyHeapInfo::status`] | |
//! | `RESIDENCY_HEAP_STATUS_UNKNOWN`, `_EVICTED`, `_RESIDENT` | [`ResidencyHeapStatus::Unknown`], [`ResidencyHeapStatus::Evicted`], [`ResidencyHeapStatus::Resident`] | |
//!
//! # `RESIDENCY_MANAGER_STATS`: [`ResidencyManagerStats`]
//!
//! | GPGMM | heapwright | difference |
//! |---|---|---|
//! | `CurrentHeapUsage` | [`ResidencyManagerStats::current_heap_usage`] | a heap that goes while it is locked goes from here as well (code: stays) |
//! | `CurrentHeapCount` | [`ResidencyManagerStats::current_heap_count`] | |
//! | | the other fields | ours: of each segment group, and what paging there was |
//!
//! # HRESULTs
//!
//! [`Error::hresult`](crate::Error::hresult) is what a COM call would answer. A real shortage is E_OUTOFMEMORY: *reference* (code:
//! E_FAIL); NEVER_FALLBACK's is E_FAIL, as in both; a description that the device refuses is E_INVALIDARG (code: E_OUTOFMEMORY for
//! textures, E_FAIL where three ways failed), but a size that no memory of the device could hold is E_OUTOFMEMORY, as there.

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
