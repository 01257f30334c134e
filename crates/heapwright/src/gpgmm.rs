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
//! | `CreateResourceAllocator` with a device | [`ResourceAllocator::new`], [`ResourceAllocator::from_raw`] | the residency manager that two of them take or answer comes with its own issue; a null device is invalid argument (code: E_POINTER); the device and the adapter are referenced (code: kept raw) |
//! | `CreateResourceAllocator` from an allocator | [`ResourceAllocator::create_nested`] | empty heaps of every kind are exchanged, also of other sizes if they fit, and limits move with them |
//! | `ppResourceAllocatorOut` null | | nothing to test: dropping the allocator is the test |
//! | `CreateResource` | [`ResourceAllocator::create_resource`], [`ResourceAllocator::create`] | `create` takes what later versions of D3D12 do: layouts, castable formats, sessions |
//! | `CreateResource` with a null out | [`ResourceAllocator::test_create`] | it is really created and dropped, as there; [`ResourceAllocator::create`] has no null |
//! | `CreateResource` of a committed resource | [`ResourceAllocator::import`] | accounted in its own segment group (code: local always) |
//! | `ReleaseResourceHeaps` | [`ResourceAllocator::release_resource_heaps`], [`ResourceAllocator::release_empty_heaps`] | answers the bytes; whether they are fewer than asked is the caller's to compare. As few heaps as possible go (code: its arithmetic wraps) |
//! | `QueryStats` | [`ResourceAllocator::stats`] | O(1); nothing is recorded by asking |
//! | `CheckFeatureSupport` | [`ResourceAllocator::resource_allocation_support`] | typed, so that there is no size to mismatch |
//! | `RESOURCE_ALLOCATOR_FEATURE`, `RESOURCE_ALLOCATOR_FEATURE_RESOURCE_ALLOCATION_SUPPORT` | the same call | one feature, one function |
//! | `FEATURE_DATA_RESOURCE_ALLOCATION_SUPPORT` | [`ResourceAllocationSupport`] | |
//! | `IsResourceAllocationWithinCoherent` | [`ResourceAllocationSupport::is_resource_allocation_within_coherent`] | as code: Intel's adapters |
//! | `GetResource` | [`ResourceAllocation::resource`] | |
//! | `GetGPUVirtualAddress` | [`ResourceAllocation::gpu_virtual_address`] | `None` for textures |
//! | `GetOffsetFromResource` | [`ResourceAllocation::offset_from_resource`] | |
//! | `GetInfo` | [`ResourceAllocation::info`] | |
//! | `GetMemory` | [`ResourceAllocation::heap`] | the `ID3D12Heap`; the residency heap comes with its own issue |
//! | `GetResourceAllocator` | [`ResourceAllocation::allocator`] | `None` once the allocator is gone |
//! | `Map`, `Unmap` | [`ResourceAllocation::map`], [`Mapping`] | one mapping at a time, unmapped when dropped, never beyond its bytes; buffers only. A part begins at its own first byte, as there |
//! | `pReadRange`, `ppDataOut`, `resourceDescriptor`, `initialResourceState`, `pClearValue`, `ppResourceAllocationOut` | parameters of these calls | |
//!
//! # `RESOURCE_ALLOCATOR_DESC`: [`ResourceAllocatorDesc`]
//!
//! | GPGMM | heapwright | difference |
//! |---|---|---|
//! | `Flags` | [`ResourceAllocatorDesc::flags`] | unknown bits are refused |
//! | `MinLogLevel`, `MinRecordLevel` | | `tracing`'s subscriber filters; recording comes with its own issue |
//! | `RecordOptions` | [`ResourceAllocatorDesc::record_options`] | refused unless it records nothing |
//! | `ResourceHeapTier` | [`ResourceAllocatorDesc::resource_heap_tier`] | as there: above the device's is an error, below a warning |
//! | `SubAllocationAlgorithm` | [`ResourceAllocatorDesc::suballocation_algorithm`] | pool algorithms are another type, so that none can be given here (code: undefined) |
//! | `PoolAlgorithm` | [`ResourceAllocatorDesc::pool_algorithm`] | as above |
//! | `PreferredResourceHeapSize` | [`ResourceAllocatorDesc::preferred_heap_size`] | |
//! | `MaxResourceHeapSize` | [`ResourceAllocatorDesc::max_heap_size`] | |
//! | `ResourceHeapFragmentationLimit` | [`ResourceAllocatorDesc::heap_fragmentation_limit`] | `None` and zero are 0.125; negatives are refused (code: 0.125) |
//! | `ResourceHeapGrowthFactor` | [`ResourceAllocatorDesc::heap_growth_factor`] | `None` is 1.25; below 1 a heap for each resource: *reference* (code: 1.25) |
//! | `ReleaseSizeInBytes` | [`ResourceAllocatorDesc::release_size`] | the retry helps (code: it never runs when the device is out of memory) |
//! | `ExtraRequiredResourceFlags` | [`ResourceAllocatorDesc::extra_required_resource_flags`] | |
//! | | [`heap_sizing`](ResourceAllocatorDesc::heap_sizing), [`heap_retention`](ResourceAllocatorDesc::heap_retention), [`limits`](ResourceAllocatorDesc::limits), [`nodes`](ResourceAllocatorDesc::nodes) | ours |
//!
//! # `RESOURCE_ALLOCATOR_FLAGS`: [`ResourceAllocatorFlags`]
//!
//! | `RESOURCE_ALLOCATOR_FLAG_` | heapwright | difference |
//! |---|---|---|
//! | `NONE` | [`ResourceAllocatorFlags::empty`] | |
//! | `ALWAYS_COMMITTED` | [`ResourceAllocatorFlags::ALWAYS_COMMITTED`] | custom pools and padding are placed all the same |
//! | `ALWAYS_IN_BUDGET` | [`ResourceAllocatorFlags::ALWAYS_IN_BUDGET`] | without an adapter an error (code: without a manager a warning); evicting for it comes with residency |
//! | `ALLOW_PREFETCH` | [`ResourceAllocatorFlags::ALLOW_PREFETCH`] | one heap in advance of each kind; a failed one leaves no trace (code: later allocations fail) |
//! | `ALWAYS_ON_DEMAND` | [`ResourceAllocatorFlags::ALWAYS_ON_DEMAND`] | |
//! | `ALLOW_UNIFIED_MEMORY` | [`ResourceAllocatorFlags::ALLOW_UNIFIED_MEMORY`] | |
//! | `NEVER_LEAK` | [`ResourceAllocatorFlags::NEVER_LEAK`] | leaks are logged and left alone (code: freed by force) |
//! | `CREATE_NOT_RESIDENT` | [`ResourceAllocatorFlags::CREATE_NOT_RESIDENT`] | |
//! | `NEVER_OVER_ALLOCATE` | [`ResourceAllocatorFlags::NEVER_OVER_ALLOCATE`] | |
//! | | [`NEVER_TIGHT_ALIGNMENT`](ResourceAllocatorFlags::NEVER_TIGHT_ALIGNMENT), [`CREATE_NOT_ZEROED`](ResourceAllocatorFlags::CREATE_NOT_ZEROED) | ours |
//!
//! # `RESOURCE_ALLOCATION_ALGORITHM`: [`SuballocationAlgorithm`], [`PoolAlgorithm`]
//!
//! | `RESOURCE_ALLOCATION_ALGORITHM_` | heapwright | difference |
//! |---|---|---|
//! | `DEFAULT` | [`SuballocationAlgorithm::Default`], [`PoolAlgorithm::Default`] | sizes share heaps, which are kept while they are likely to be used again (GPGMM: slabs and segmented pools) |
//! | `SLAB` | [`SuballocationAlgorithm::Slab`] | GPGMM's sizes |
//! | `BUDDY_SYSTEM` | [`SuballocationAlgorithm::BuddySystem`] | |
//! | `FIXED_POOL` | [`PoolAlgorithm::FixedPool`] | |
//! | `SEGMENTED_POOL` | [`PoolAlgorithm::SegmentedPool`] | the default beside slabs, buddies and dedicated heaps: *code* (the reference's text names slabs) |
//! | `DEDICATED` | [`SuballocationAlgorithm::Dedicated`] | |
//! | | [`SuballocationAlgorithm::Linear`] | ours, for custom pools |
//!
//! # `RESOURCE_ALLOCATION_DESC`: [`ResourceAllocationDesc`]
//!
//! | GPGMM | heapwright | difference |
//! |---|---|---|
//! | `Flags` | [`ResourceAllocationDesc::flags`] | unknown bits are refused |
//! | `HeapType` | [`ResourceAllocationDesc::heap_type`] | several in order of preference; `None` is inferred from the initial state, as zero is there |
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
//! | `ALLOW_SUBALLOCATE_WITHIN_RESOURCE` | [`ResourceAllocationFlags::ALLOW_SUBALLOCATE_WITHIN_RESOURCE`] | GPU_UPLOAD heaps as well |
//! | `NEVER_SUBALLOCATE_HEAP` | [`ResourceAllocationFlags::NEVER_SUBALLOCATE_HEAP`] | |
//! | `ALWAYS_PREFETCH_HEAP` | [`ResourceAllocationFlags::ALWAYS_PREFETCH_HEAP`] | with NEVER_ALLOCATE_HEAP refused |
//! | `ALWAYS_CACHE_SIZE` | [`ResourceAllocationFlags::ALWAYS_CACHE_SIZE`] | |
//! | `ALWAYS_ATTRIBUTE_HEAPS` | [`ResourceAllocationFlags::ALWAYS_ATTRIBUTE_HEAPS`] | |
//! | `NEVER_FALLBACK` | [`ResourceAllocationFlags::NEVER_FALLBACK`] | |
//! | `NEVER_RESIDENT` | [`ResourceAllocationFlags::NEVER_RESIDENT`] | works, on import as well: *reference* (code: refused or ignored) |
//! | `ALWAYS_WARN_ON_ALIGNMENT_MISMATCH` | [`ResourceAllocationFlags::ALWAYS_WARN_ON_ALIGNMENT_MISMATCH`] | in every build |
//! | `ALWAYS_COMMITTED` | [`ResourceAllocationFlags::ALWAYS_COMMITTED`] | |
//! | | [`WITHIN_BUDGET`](ResourceAllocationFlags::WITHIN_BUDGET), [`PREFER_COMMITTED`](ResourceAllocationFlags::PREFER_COMMITTED), [`UPPER_ADDRESS`](ResourceAllocationFlags::UPPER_ADDRESS) | ours |
//!
//! # `RESOURCE_ALLOCATION_INFO` and `RESOURCE_ALLOCATION_TYPE`: [`ResourceAllocationInfo`], [`ResourceAllocationType`]
//!
//! | GPGMM | heapwright | difference |
//! |---|---|---|
//! | `SizeInBytes` | [`ResourceAllocationInfo::size`] | |
//! | `Alignment` | [`ResourceAllocationInfo::alignment`] | the alignment (code: the size once more) |
//! | `Type` | [`ResourceAllocationInfo::allocation_type`] | |
//! | `RESOURCE_ALLOCATION_TYPE_UNKNOWN` | | an allocation that exists has a type |
//! | `RESOURCE_ALLOCATION_TYPE_STANDALONE` | [`ResourceAllocationType::Standalone`] | |
//! | `RESOURCE_ALLOCATION_TYPE_SUBALLOCATED` | [`ResourceAllocationType::Suballocated`] | |
//! | `RESOURCE_ALLOCATION_TYPE_SUBALLOCATED_WITHIN` | [`ResourceAllocationType::SuballocatedWithin`] | |
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
//! | `SizeCacheMisses` | [`ResourceAllocatorStats::size_cache_misses`] | with slabs; no sizes are entered in advance |
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
//! These come with their own issue: `CreateHeapFn`, `CreateResidencyHeap` (both), `CreateResidencyList`, `CreateResidencyManager`,
//! `IResidencyHeap` (`Lock`, `Unlock`, `GetResidencyManager`, `GetInfo`), `IResidencyList` (`Add`, `Reset`), `IResidencyManager`
//! (`ExecuteCommandLists` with `ppCommandLists`, `ppResidencyLists` and `count`, `SetVideoMemoryReservation`, `QueryVideoMemoryInfo`,
//! `SetResidencyStatus`, `QueryStats`), `RESIDENCY_HEAP_DESC`, `RESIDENCY_HEAP_INFO`, `RESIDENCY_HEAP_FLAGS`
//! (`RESIDENCY_HEAP_FLAG_NONE`, `_CREATE_IN_BUDGET`, `_CREATE_RESIDENT`, `_CREATE_LOCKED`), `RESIDENCY_HEAP_STATUS`
//! (`RESIDENCY_HEAP_STATUS_UNKNOWN`, `_EVICTED`, `_RESIDENT`), `RESIDENCY_MANAGER_DESC`, `RESIDENCY_MANAGER_STATS`,
//! `RESIDENCY_MANAGER_FLAGS` (`RESIDENCY_MANAGER_FLAG_NONE`, `_ALLOW_BACKGROUND_BUDGET_UPDATES`, `_NEVER_USE_UNIFIED_MEMORY`,
//! `_ALWAYS_IN_BUDGET`). What the operating system says of budgets is [`VideoMemoryInfo`](crate::VideoMemoryInfo) today.
//!
//! # HRESULTs
//!
//! [`Error::hresult`](crate::Error::hresult) is what a COM call would answer. A real shortage is E_OUTOFMEMORY: *reference* (code:
//! E_FAIL); NEVER_FALLBACK's is E_FAIL, as in both; a description that the device refuses is E_INVALIDARG (code: E_OUTOFMEMORY for
//! textures, E_FAIL where three ways failed).

#[allow(unused_imports, reason = "for the links")]
use crate::{
    Mapping, PoolAlgorithm, RecordFlags, RecordOptions, RecordScope, ResourceAllocation,
    ResourceAllocationDesc, ResourceAllocationFlags, ResourceAllocationInfo, ResourceAllocationSupport,
    ResourceAllocationType, ResourceAllocator, ResourceAllocatorDesc, ResourceAllocatorFlags,
    ResourceAllocatorStats, SuballocationAlgorithm,
};
