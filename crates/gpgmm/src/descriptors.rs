//! The structures of the header, with its layout, and their conversion to heapwright's.
//!
//! Enumerations are integers and `bool` is a byte here, because C++ may pass any value.

use std::ffi::{CStr, c_char};

use heapwright::d3d12::*;
use heapwright::residency::{
    ResidencyHeapDesc, ResidencyHeapFlags, ResidencyHeapInfo, ResidencyManagerDesc, ResidencyManagerFlags,
};
use heapwright::{
    Alignment, ByteSize, EmptyHeapPolicy, FenceValue, HeapType, Placement, RecordFlags, RecordOptions,
    RecordScope, ResourceAllocationDesc, ResourceAllocationFlags, ResourceAllocationInfo,
    ResourceAllocatorDesc, ResourceAllocatorFlags, ResourceAllocatorStats, SegmentGroup,
    SuballocationAlgorithm,
};

use crate::failure::Failure;

/// `RECORD_OPTIONS`.
#[repr(C)]
pub struct RecordingOptions {
    flags: u32,
    event_scope: u32,
    use_detailed_timing_events: u8,
    trace_file: *const c_char,
}

/// `RESIDENCY_HEAP_DESC`.
#[repr(C)]
pub struct HeapDesc {
    heap_segment: DXGI_MEMORY_SEGMENT_GROUP,
    size_in_bytes: u64,
    alignment: u64,
    flags: u32,
}

/// `RESIDENCY_HEAP_INFO`.
#[repr(C)]
#[derive(Default)]
pub(crate) struct HeapInfo {
    size_in_bytes: u64,
    alignment: u64,
    is_locked: bool,
    status: u32,
}

/// `RESIDENCY_MANAGER_DESC`.
#[repr(C)]
pub struct ManagerDesc {
    flags: u32,
    min_record_level: D3D12_MESSAGE_SEVERITY,
    pub(crate) min_log_level: D3D12_MESSAGE_SEVERITY,
    record_options: RecordingOptions,
    max_pct_of_video_memory_to_budget: f32,
    min_pct_of_budget_to_reserve: f32,
    max_budget_in_bytes: u64,
    evict_size_in_bytes: u64,
    initial_fence_value: u64,
}

/// `RESIDENCY_MANAGER_STATS`.
#[repr(C)]
pub(crate) struct ManagerStats {
    pub(crate) current_heap_usage: u64,
    pub(crate) current_heap_count: u64,
}

/// `RESOURCE_ALLOCATION_DESC`.
#[repr(C)]
pub(crate) struct AllocationDesc {
    flags: u32,
    heap_type: D3D12_HEAP_TYPE,
    extra_required_heap_flags: D3D12_HEAP_FLAGS,
    extra_required_resource_padding: u64,
}

/// `RESOURCE_ALLOCATION_INFO`.
#[repr(C)]
#[derive(Default)]
pub(crate) struct AllocationInfo {
    size_in_bytes: u64,
    alignment: u64,
    allocation_type: u32,
}

/// `RESOURCE_ALLOCATOR_DESC`.
#[repr(C)]
pub struct AllocatorDesc {
    flags: u32,
    min_record_level: D3D12_MESSAGE_SEVERITY,
    pub(crate) min_log_level: D3D12_MESSAGE_SEVERITY,
    record_options: RecordingOptions,
    resource_heap_tier: D3D12_RESOURCE_HEAP_TIER,
    sub_allocation_algorithm: u32,
    pool_algorithm: u32,
    preferred_resource_heap_size: u64,
    max_resource_heap_size: u64,
    resource_heap_fragmentation_limit: f32,
    resource_heap_growth_factor: f32,
    release_size_in_bytes: u64,
    extra_required_resource_flags: D3D12_RESOURCE_FLAGS,
}

/// `RESOURCE_ALLOCATOR_STATS`.
#[repr(C)]
pub(crate) struct AllocatorStats {
    used_block_count: u32,
    used_block_usage: u64,
    used_heap_count: u32,
    used_heap_usage: u64,
    free_heap_usage: u64,
    prefetched_heap_misses: u64,
    prefetched_heap_misses_eliminated: u64,
    size_cache_misses: u64,
    size_cache_hits: u64,
}

pub(crate) fn refuse<T>(field: &str, rule: impl std::fmt::Display) -> Result<T, Failure> {
    Err(Failure::invalid_argument(format!("{field}: {rule}")))
}

/// Converts a number of an enumeration whose values begin with zero.
pub(crate) fn enumerator<T: Copy>(
    field: &str,
    enumeration: &str,
    number: u32,
    values: &[T],
) -> Result<T, Failure> {
    match values.get(number as usize) {
        Some(&value) => Ok(value),
        None => refuse(field, format_args!("{number} is not a value of {enumeration}")),
    }
}

/// Refuses bits that the header does not define. heapwright has flags of its own there.
#[inline]
fn check_bits(field: &str, flags: u32, known: u32) -> Result<u32, Failure> {
    match flags & !known {
        0 => Ok(flags),
        unknown => refuse(field, format_args!("unknown flag bits {unknown:#x}")),
    }
}

fn check_severity(field: &str, severity: D3D12_MESSAGE_SEVERITY) -> Result<(), Failure> {
    match severity {
        D3D12_MESSAGE_SEVERITY_CORRUPTION..=D3D12_MESSAGE_SEVERITY_MESSAGE => Ok(()),
        _ => refuse(field, format_args!("{severity} is not a D3D12_MESSAGE_SEVERITY value")),
    }
}

/// Converts an alignment, of which zero is 1.
pub(crate) fn alignment(field: &str, number: u64) -> Result<Alignment, Failure> {
    match Alignment::new(number.max(1)) {
        Some(alignment) => Ok(alignment),
        None => refuse(field, format_args!("{number} is not a power of two")),
    }
}

/// Converts a heap type whose memory is determined by itself.
#[inline(always)]
pub(crate) fn heap_type(field: &str, number: D3D12_HEAP_TYPE) -> Result<HeapType, Failure> {
    HeapType::try_from(number).map_err(|error| Failure::at(field, &error))
}

/// Zero is the default.
pub(crate) fn size(bytes: u64) -> Option<ByteSize> {
    (bytes != 0).then(|| ByteSize::new(bytes))
}

/// Zero is the default.
fn fraction(number: f32) -> Option<f64> {
    (number != 0.0).then(|| f64::from(number))
}

pub(crate) fn segment_group(group: DXGI_MEMORY_SEGMENT_GROUP) -> Result<SegmentGroup, Failure> {
    match group {
        DXGI_MEMORY_SEGMENT_GROUP_LOCAL => Ok(SegmentGroup::Local),
        DXGI_MEMORY_SEGMENT_GROUP_NON_LOCAL => Ok(SegmentGroup::NonLocal),
        other => refuse("memory segment", format_args!("{other} is not a DXGI_MEMORY_SEGMENT_GROUP value")),
    }
}

impl RecordingOptions {
    /// # Safety
    ///
    /// The trace file is null or a zero-terminated string.
    unsafe fn convert(&self) -> Result<RecordOptions, Failure> {
        let flags = check_bits("RECORD_OPTIONS::Flags", self.flags, RecordFlags::ALL.bits())?;
        let scopes = [RecordScope::PerProcess, RecordScope::PerInstance];
        let scope = enumerator("RECORD_OPTIONS::EventScope", "RECORD_SCOPE", self.event_scope, &scopes)?;
        let trace_file = if self.trace_file.is_null() {
            None
        } else {
            // SAFETY: the caller's promise.
            match unsafe { CStr::from_ptr(self.trace_file) }.to_str() {
                Ok(path) => Some(path.into()),
                Err(_) => return refuse("RECORD_OPTIONS::TraceFile", "is not UTF-8"),
            }
        };
        Ok(RecordOptions {
            flags: RecordFlags::from_bits_retain(flags),
            scope,
            use_detailed_timing_events: self.use_detailed_timing_events != 0,
            trace_file,
        })
    }
}

impl HeapDesc {
    pub(crate) fn convert(&self) -> Result<ResidencyHeapDesc, Failure> {
        let alignment = match self.alignment {
            0 => None,
            number => Some(alignment("RESIDENCY_HEAP_DESC::Alignment", number)?),
        };
        let flags = ResidencyHeapFlags::from_bits_truncate(self.flags);
        if flags.bits() != self.flags {
            // GPGMM's replay passes flags of D3D12 heaps.
            tracing::warn!("RESIDENCY_HEAP_DESC::Flags: unknown bits of {:#x} are ignored", self.flags);
        }
        Ok(ResidencyHeapDesc {
            segment_group: Some(segment_group(self.heap_segment)?),
            size: ByteSize::new(self.size_in_bytes),
            alignment,
            flags,
            priority: None,
        })
    }
}

impl From<ResidencyHeapInfo> for HeapInfo {
    fn from(info: ResidencyHeapInfo) -> Self {
        Self {
            size_in_bytes: info.size.get(),
            alignment: info.alignment.get(),
            is_locked: info.is_locked,
            status: info.status as u32,
        }
    }
}

impl ManagerDesc {
    /// # Safety
    ///
    /// The trace file is null or a zero-terminated string.
    pub(crate) unsafe fn convert(&self) -> Result<ResidencyManagerDesc, Failure> {
        check_severity("RESIDENCY_MANAGER_DESC::MinRecordLevel", self.min_record_level)?;
        let known = ResidencyManagerFlags::all().bits();
        let flags = check_bits("RESIDENCY_MANAGER_DESC::Flags", self.flags, known)?;
        Ok(ResidencyManagerDesc {
            flags: ResidencyManagerFlags::from_bits_retain(flags),
            // SAFETY: the caller's promise.
            record_options: unsafe { self.record_options.convert() }?,
            max_pct_of_video_memory_to_budget: fraction(self.max_pct_of_video_memory_to_budget),
            min_pct_of_budget_to_reserve: fraction(self.min_pct_of_budget_to_reserve),
            max_budget: ByteSize::new(self.max_budget_in_bytes),
            evict_size: ByteSize::new(self.evict_size_in_bytes),
            initial_fence_value: FenceValue::new(self.initial_fence_value),
            ..Default::default()
        })
    }
}

/// The flags of allocations that the header defines.
const ALLOCATION_FLAGS: u32 = 0x3ff;
/// The flags of allocators that the header defines.
const ALLOCATOR_FLAGS: u32 = 0xff;

impl AllocationDesc {
    // Each allocation does this, and must not build the description twice.
    #[inline(always)]
    pub(crate) fn convert(&self) -> Result<ResourceAllocationDesc<'static>, Failure> {
        let flags = check_bits("RESOURCE_ALLOCATION_DESC::Flags", self.flags, ALLOCATION_FLAGS)?;
        let heap_type = match self.heap_type {
            // CUSTOM, too, is inferred from the initial state.
            0 | D3D12_HEAP_TYPE_CUSTOM => None,
            named => Some(heap_type("RESOURCE_ALLOCATION_DESC::HeapType", named)?.into()),
        };
        Ok(ResourceAllocationDesc {
            flags: ResourceAllocationFlags::from_bits_retain(flags),
            heap_type,
            extra_required_heap_flags: self.extra_required_heap_flags,
            extra_required_resource_padding: ByteSize::new(self.extra_required_resource_padding),
            ..Default::default()
        })
    }
}

impl From<ResourceAllocationInfo> for AllocationInfo {
    fn from(info: ResourceAllocationInfo) -> Self {
        let allocation_type = match info.decision.placement {
            Placement::OwnHeap | Placement::Committed | Placement::Imported => 1,
            Placement::SharedHeap => 2,
            Placement::WithinResource => 3,
            // A placement that the header does not know.
            _ => 0,
        };
        Self { size_in_bytes: info.size.get(), alignment: info.alignment.get(), allocation_type }
    }
}

impl AllocatorDesc {
    /// Returns whether the pool algorithm is not the default.
    pub(crate) fn names_pool_algorithm(&self) -> bool {
        self.pool_algorithm != 0
    }

    /// # Safety
    ///
    /// The trace file is null or a zero-terminated string.
    pub(crate) unsafe fn convert(&self) -> Result<ResourceAllocatorDesc, Failure> {
        check_severity("RESOURCE_ALLOCATOR_DESC::MinRecordLevel", self.min_record_level)?;
        let flags = check_bits("RESOURCE_ALLOCATOR_DESC::Flags", self.flags, ALLOCATOR_FLAGS)?;
        let Ok(resource_heap_tier) = u8::try_from(self.resource_heap_tier) else {
            let rule = format!("{} is not a D3D12_RESOURCE_HEAP_TIER value", self.resource_heap_tier);
            return refuse("RESOURCE_ALLOCATOR_DESC::ResourceHeapTier", rule);
        };
        let suballocation_algorithm = match self.sub_allocation_algorithm {
            0 => SuballocationAlgorithm::Default,
            1 => SuballocationAlgorithm::Slab,
            2 => SuballocationAlgorithm::BuddySystem,
            5 => SuballocationAlgorithm::Dedicated,
            other => {
                let rule = format!("{other} is not DEFAULT, SLAB, BUDDY_SYSTEM or DEDICATED");
                return refuse("RESOURCE_ALLOCATOR_DESC::SubAllocationAlgorithm", rule);
            }
        };
        let empty_heap_policy = match self.pool_algorithm {
            // GPGMM's default.
            0 | 4 => EmptyHeapPolicy::SegmentedPool,
            3 => EmptyHeapPolicy::FixedPool,
            other => {
                let rule = format!("{other} is not DEFAULT, FIXED_POOL or SEGMENTED_POOL");
                return refuse("RESOURCE_ALLOCATOR_DESC::PoolAlgorithm", rule);
            }
        };
        Ok(ResourceAllocatorDesc {
            // `GetDesc` returns what was asked for. Programs ask for tight alignment by the flag of resources.
            flags: ResourceAllocatorFlags::from_bits_retain(flags)
                | ResourceAllocatorFlags::NEVER_TIGHT_ALIGNMENT,
            resource_heap_tier: Some(resource_heap_tier).filter(|&tier| tier != 0),
            suballocation_algorithm,
            empty_heap_policy,
            preferred_heap_size: size(self.preferred_resource_heap_size),
            max_heap_size: size(self.max_resource_heap_size),
            heap_fragmentation_limit: fraction(self.resource_heap_fragmentation_limit),
            heap_growth_factor: fraction(self.resource_heap_growth_factor),
            release_size: ByteSize::new(self.release_size_in_bytes),
            extra_required_resource_flags: self.extra_required_resource_flags,
            // SAFETY: the caller's promise.
            record_options: unsafe { self.record_options.convert() }?,
            ..Default::default()
        })
    }
}

impl From<ResourceAllocatorStats> for AllocatorStats {
    fn from(stats: ResourceAllocatorStats) -> Self {
        let count = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
        Self {
            used_block_count: count(stats.used_block_count),
            used_block_usage: stats.used.get(),
            used_heap_count: count(stats.used_heap_count),
            used_heap_usage: stats.used_heap_usage.get(),
            // Nested allocators have the same empty heaps.
            free_heap_usage: stats.free_heap_usage.saturating_add(stats.shared_free_heap_usage).get(),
            prefetched_heap_misses: stats.prefetched_heap_misses,
            prefetched_heap_misses_eliminated: stats.prefetched_heap_misses_eliminated,
            size_cache_misses: stats.size_cache_misses,
            size_cache_hits: stats.size_cache_hits,
        }
    }
}
