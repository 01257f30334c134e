//! The structures of `heapwright_d3d12.h`, with its layout, and their conversion to heapwright's.

use std::ffi::c_void;
use std::time::Duration;

use heapwright::d3d12::*;
use heapwright::defragmentation::{DefragmentationBudget, DefragmentationProgress};
use heapwright::{
    Alignment, EmptyHeapPolicy, HeapLimits, HeapType, Pool, PoolDesc, ResourceAllocatorDesc,
    ResourceAllocatorFlags, ResourceKind, SuballocationAlgorithm,
};

use crate::call::Failure;
use crate::debug_name::{self, WideChar};
use crate::descriptors::{AllocationDesc, AllocatorDesc, refuse, size};

/// `POOL_DESC`.
#[repr(C)]
pub(crate) struct PoolDescription {
    name: *const WideChar,
    heap_type: D3D12_HEAP_TYPE,
    resources: u32,
    extra_heap_flags: D3D12_HEAP_FLAGS,
    algorithm: u32,
    heap_size: u64,
    min_heap_count: u32,
    max_heap_count: u32,
    min_alignment: u64,
}

/// `POOL_TOTALS`.
#[repr(C)]
pub(crate) struct PoolTotals {
    used_size: u64,
    reserved_size: u64,
    allocation_count: u64,
    heap_count: u64,
}

/// `DEFRAGMENTATION_BUDGET`.
#[repr(C)]
pub(crate) struct Budget {
    bytes: u64,
    microseconds: u32,
}

/// `DEFRAGMENTATION_PROGRESS`.
#[repr(C)]
pub(crate) struct Progress {
    move_count: u64,
    bytes_moved: u64,
    heaps_released: u64,
    bytes_released: u64,
    bytes_created: u64,
}

/// `HEAP_LIMITS`.
#[repr(C)]
struct Limits {
    default: u64,
    upload: u64,
    readback: u64,
    gpu_upload: u64,
    share_of_budget: f64,
}

/// `ALLOCATOR_DESC`.
#[repr(C)]
pub struct ExtendedAllocatorDesc {
    pub(crate) base: AllocatorDesc,
    limits: Limits,
    empty_heap_policy: u32,
    never_tight_alignment: i32,
}

/// `ALLOCATION_DESC`.
#[repr(C)]
pub(crate) struct PlacedAllocationDesc {
    pub(super) base: AllocationDesc,
    pub(super) pool: *mut c_void,
    pub(super) user_data: u64,
    pub(super) cpu_page_property: D3D12_CPU_PAGE_PROPERTY,
    pub(super) memory_pool: D3D12_MEMORY_POOL,
}

/// `VIRTUAL_ALLOCATION`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct VirtualAllocation {
    pub(super) id: u64,
    pub(super) offset: u64,
    pub(super) size: u64,
    pub(super) user_data: u64,
}

/// `VIRTUAL_BLOCK_TOTALS`.
#[repr(C)]
pub(crate) struct VirtualTotals {
    pub(super) capacity: u64,
    pub(super) used_size: u64,
    pub(super) allocation_count: u64,
    pub(super) largest_free_size: u64,
}

/// Converts an alignment, of which zero is 1.
pub(super) fn alignment(field: &str, number: u64) -> Result<Alignment, Failure> {
    match Alignment::new(number.max(1)) {
        Some(alignment) => Ok(alignment),
        None => refuse(field, format_args!("{number} is not a power of two")),
    }
}

impl PoolDescription {
    /// # Safety
    ///
    /// The name is null or a zero-terminated string.
    pub(super) unsafe fn convert(&self) -> Result<PoolDesc, Failure> {
        let heap_type = match self.heap_type {
            0 | D3D12_HEAP_TYPE_DEFAULT => HeapType::Default,
            D3D12_HEAP_TYPE_UPLOAD => HeapType::Upload,
            D3D12_HEAP_TYPE_READBACK => HeapType::Readback,
            D3D12_HEAP_TYPE_GPU_UPLOAD => HeapType::GpuUpload,
            other => {
                return refuse(
                    "POOL_DESC::HeapType",
                    format_args!("{other} is not DEFAULT, UPLOAD, READBACK or GPU_UPLOAD"),
                );
            }
        };
        let resources = match self.resources {
            0 => ResourceKind::Buffers,
            1 => ResourceKind::Textures,
            2 => ResourceKind::RenderTargets,
            3 => ResourceKind::Any,
            other => {
                return refuse("POOL_DESC::Resources", format_args!("{other} is not a POOL_RESOURCES value"));
            }
        };
        let algorithm = match self.algorithm {
            0 => SuballocationAlgorithm::Default,
            1 => SuballocationAlgorithm::Linear,
            other => {
                return refuse("POOL_DESC::Algorithm", format_args!("{other} is not a POOL_ALGORITHM value"));
            }
        };
        Ok(PoolDesc {
            // SAFETY: the caller's promise.
            name: unsafe { debug_name::text(self.name) }.unwrap_or_default(),
            heap_type,
            resources,
            extra_heap_flags: self.extra_heap_flags,
            algorithm,
            heap_size: size(self.heap_size),
            min_heap_count: self.min_heap_count,
            max_heap_count: (self.max_heap_count != 0).then_some(self.max_heap_count),
            min_alignment: alignment("POOL_DESC::MinAlignment", self.min_alignment)?,
            ..Default::default()
        })
    }
}

impl PlacedAllocationDesc {
    /// Returns the properties of a CUSTOM heap, unless both are UNKNOWN.
    pub(super) fn custom_heap(&self) -> Option<(D3D12_CPU_PAGE_PROPERTY, D3D12_MEMORY_POOL)> {
        let unknown = (D3D12_CPU_PAGE_PROPERTY_UNKNOWN, D3D12_MEMORY_POOL_UNKNOWN);
        Some((self.cpu_page_property, self.memory_pool)).filter(|custom| *custom != unknown)
    }
}

impl From<&Pool> for PoolTotals {
    fn from(pool: &Pool) -> Self {
        let totals = pool.totals();
        Self {
            used_size: totals.used.get(),
            reserved_size: totals.reserved.get(),
            allocation_count: totals.allocation_count,
            heap_count: totals.heap_count,
        }
    }
}

impl Budget {
    /// Returns the budget of a step that makes at most `moves` moves.
    pub(super) fn convert(budget: Option<&Self>, moves: u32) -> DefragmentationBudget {
        let defaults = DefragmentationBudget { moves, ..Default::default() };
        let Some(budget) = budget else { return defaults };
        let time = Duration::from_micros(budget.microseconds.into());
        DefragmentationBudget {
            moves,
            bytes: size(budget.bytes).unwrap_or(defaults.bytes),
            time: if time.is_zero() { defaults.time } else { time },
        }
    }
}

impl From<DefragmentationProgress> for Progress {
    fn from(progress: DefragmentationProgress) -> Self {
        Self {
            move_count: progress.moves,
            bytes_moved: progress.bytes_moved.get(),
            heaps_released: progress.heaps_freed,
            bytes_released: progress.bytes_freed.get(),
            bytes_created: progress.bytes_created.get(),
        }
    }
}

impl ExtendedAllocatorDesc {
    /// # Safety
    ///
    /// The strings of the description are null or zero-terminated.
    pub(crate) unsafe fn convert(&self) -> Result<ResourceAllocatorDesc, Failure> {
        // SAFETY: the caller's promise.
        let mut desc = unsafe { self.base.convert() }?;
        let policy = match self.empty_heap_policy {
            0 => EmptyHeapPolicy::Default,
            1 => EmptyHeapPolicy::LeastMemory,
            2 => EmptyHeapPolicy::FewestHitches,
            other => {
                let field = "ALLOCATOR_DESC::EmptyHeapPolicy";
                return refuse(field, format_args!("{other} is not an EMPTY_HEAP_POLICY value"));
            }
        };
        if !self.base.names_pool_algorithm() {
            desc.empty_heap_policy = policy;
        }
        desc.flags.set(ResourceAllocatorFlags::NEVER_TIGHT_ALIGNMENT, self.never_tight_alignment != 0);
        let Limits { default, upload, readback, gpu_upload, share_of_budget } = self.limits;
        desc.limits = HeapLimits {
            default: size(default),
            upload: size(upload),
            readback: size(readback),
            gpu_upload: size(gpu_upload),
            // Anything but zero is checked with the other fields.
            share_of_budget: (share_of_budget != 0.0).then_some(share_of_budget),
        };
        Ok(desc)
    }
}
