//! The header's structures, with its layout, and their conversion to heapwright's.

use std::ffi::c_void;
use std::sync::Arc;

use heapwright::d3d12::*;
use heapwright::suballoc::FreeRangeChoice;
use heapwright::{
    Alignment, HeapType, NodeMasks, PoolDesc, ResourceAllocationDesc, ResourceAllocationFlags, ResourceKind,
    SuballocationAlgorithm,
};
use windows_core::Interface;

pub(super) use super::host_memory::Callbacks;
use super::pool::{PoolObject, PoolState};
use super::state::State;
use crate::descriptors::{alignment, heap_type, refuse, size};
use crate::failure::{Failure, Fallible};
use crate::object::{Out, optional};

/// `ALLOCATOR_DESC`.
#[repr(C)]
pub struct AllocatorDesc {
    pub(super) flags: u32,
    pub(super) device: *mut c_void,
    pub(super) preferred_block_size: u64,
    pub(super) callbacks: *const Callbacks,
    pub(super) adapter: *mut c_void,
}

/// `ALLOCATION_DESC`.
#[repr(C)]
pub(super) struct AllocationDesc {
    flags: u32,
    heap_type: D3D12_HEAP_TYPE,
    extra_heap_flags: D3D12_HEAP_FLAGS,
    pool: *mut c_void,
    pub(super) private_data: usize,
}

/// `POOL_DESC`.
#[repr(C)]
#[derive(Clone)]
pub(super) struct PoolDescription {
    pub(super) flags: u32,
    pub(super) properties: D3D12_HEAP_PROPERTIES,
    pub(super) heap_flags: D3D12_HEAP_FLAGS,
    pub(super) block_size: u64,
    pub(super) min_block_count: u32,
    pub(super) max_block_count: u32,
    min_alignment: u64,
    protected_session: *mut c_void,
    residency_priority: D3D12_RESIDENCY_PRIORITY,
}

// SAFETY: the pool that has the description holds the session.
unsafe impl Send for PoolDescription {}
// SAFETY: as above.
unsafe impl Sync for PoolDescription {}

/// `ALLOCATION_FLAGS`.
mod allocation_flag {
    pub(super) const COMMITTED: u32 = 1;
    pub(super) const NEVER_ALLOCATE: u32 = 2;
    pub(super) const WITHIN_BUDGET: u32 = 4;
    pub(super) const UPPER_ADDRESS: u32 = 8;
    pub(super) const CAN_ALIAS: u32 = 0x10;
    pub(super) const MIN_TIME: u32 = 0x2_0000;
    pub(super) const MIN_OFFSET: u32 = 0x4000;
    pub(super) const ALL: u32 = 0x3_401f;
}

/// `ALLOCATOR_FLAGS`.
pub(super) mod allocator_flag {
    pub(crate) const ALWAYS_COMMITTED: u32 = 2;
    pub(crate) const NOT_ZEROED: u32 = 4;
    pub(crate) const MSAA_COMMITTED: u32 = 8;
    pub(crate) const PLACE_SMALL_BUFFERS: u32 = 0x10;
    pub(crate) const NOT_TIGHT: u32 = 0x20;
    pub(crate) const ALL: u32 = 0x3f;
}

/// `POOL_FLAGS`.
pub(super) mod pool_flag {
    pub(crate) const LINEAR: u32 = 1;
    pub(crate) const MSAA_COMMITTED: u32 = 2;
    pub(crate) const ALWAYS_COMMITTED: u32 = 4;
    pub(crate) const NOT_TIGHT: u32 = 8;
    pub(crate) const ALL: u32 = 0xf;
}

/// The flags that say which resources a heap may hold.
const KINDS: D3D12_HEAP_FLAGS = D3D12_HEAP_FLAG_DENY_BUFFERS
    | D3D12_HEAP_FLAG_DENY_RT_DS_TEXTURES
    | D3D12_HEAP_FLAG_DENY_NON_RT_DS_TEXTURES;

/// Buffers up to this size are committed, unless they are aligned tightly or asked to be placed: they take 64 KiB in
/// either case.
const SMALL_BUFFER: u64 = 32 << 10;

/// The alignment of buffers with tight alignment, unless the program asks for another one: they may have constant
/// buffer views.
pub(super) const TIGHT_ALIGNMENT: u64 = 256;

/// Returns a structure that C++ passes by pointer.
///
/// # Safety
///
/// The pointer is null or points to a readable `T`.
pub(super) unsafe fn required<'a, T>(pointer: *const T, parameter: &str) -> Fallible<&'a T> {
    // SAFETY: the caller's promise.
    unsafe { pointer.as_ref() }.ok_or_else(|| null(parameter))
}

/// Returns a parameter that receives an object, with null stored in it.
///
/// # Safety
///
/// The pointer is null or points to a writable one.
#[inline]
pub(super) unsafe fn receiving(out: *mut *mut c_void, parameter: &str) -> Fallible<Out> {
    // SAFETY: the caller's promise.
    Some(unsafe { Out::new(out) }).filter(|out| !out.is_null()).ok_or_else(|| null(parameter))
}

/// Stores a value, unless the pointer is null.
///
/// # Safety
///
/// The pointer is null or points to a writable `T`.
pub(super) unsafe fn store<T>(out: *mut T, value: impl FnOnce() -> T) {
    if !out.is_null() {
        // SAFETY: the caller's promise.
        unsafe { out.write(value()) };
    }
}

pub(super) fn null(parameter: &str) -> Failure {
    Failure::invalid_argument(format!("{parameter} is null"))
}

#[inline]
pub(super) fn check_bits(field: &str, flags: u32, known: u32) -> Fallible<()> {
    if flags & !known == 0 {
        return Ok(());
    }
    refuse(field, format_args!("unknown flag bits {:#x}", flags & !known))
}

/// Returns the strategy of an allocation's flags.
#[inline]
pub(super) fn strategy_of(flags: u32) -> FreeRangeChoice {
    match () {
        () if flags & allocation_flag::MIN_OFFSET != 0 => FreeRangeChoice::MinOffset,
        () if flags & allocation_flag::MIN_TIME != 0 => FreeRangeChoice::MinTime,
        () => FreeRangeChoice::MinMemory,
    }
}

/// Returns the kind of resources that heap flags allow.
#[inline]
pub(super) fn kind_of(flags: D3D12_HEAP_FLAGS) -> ResourceKind {
    match flags & KINDS {
        D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS => ResourceKind::Buffers,
        D3D12_HEAP_FLAG_ALLOW_ONLY_NON_RT_DS_TEXTURES => ResourceKind::Textures,
        D3D12_HEAP_FLAG_ALLOW_ONLY_RT_DS_TEXTURES => ResourceKind::RenderTargets,
        // Heaps that deny one kind hold all: the device would only check more.
        _ => ResourceKind::Any,
    }
}

/// Returns the heap type of a default pool.
#[inline(always)]
fn default_type(state: &State, number: D3D12_HEAP_TYPE) -> Fallible<HeapType> {
    let heap_type = heap_type("ALLOCATION_DESC::HeapType", number)?;
    if heap_type == HeapType::GpuUpload && !state.allocator.caps().gpu_upload_heaps {
        let rule = "ALLOCATION_DESC::HeapType: the device has no GPU_UPLOAD heaps";
        return Err(Failure::Refused(E_NOTIMPL, rule.into()));
    }
    Ok(heap_type)
}

impl AllocationDesc {
    /// Checks the description, converts it to `desc`, which is a default one, and decides how the resource is placed,
    /// or memory without one. Returns the pool.
    ///
    /// # Safety
    ///
    /// The pool is null or points to a live object.
    #[inline(always)]
    pub(super) unsafe fn convert<'a>(
        &'a self,
        state: &State,
        resource: Option<&mut D3D12_RESOURCE_DESC>,
        desc: &mut ResourceAllocationDesc<'a>,
    ) -> Fallible<Option<&'a Arc<PoolState>>> {
        use allocation_flag::*;
        check_bits("ALLOCATION_DESC::Flags", self.flags, ALL)?;
        // SAFETY: the caller's promise.
        let pool = unsafe { optional::<PoolObject>(self.pool, "ALLOCATION_DESC::CustomPool") }?;
        let pool = pool.map(|PoolObject(pool)| pool);
        let has = |flag| self.flags & flag != 0;
        let (of_pool, is_fixed) = pool.map_or((0, false), |pool| (pool.desc.flags, pool.has_block_size()));
        if has(COMMITTED) && is_fixed {
            return refuse("ALLOCATION_DESC::Flags", "COMMITTED requires a pool without a BlockSize");
        }
        let always =
            state.has(allocator_flag::ALWAYS_COMMITTED) || of_pool & pool_flag::ALWAYS_COMMITTED != 0;
        let mut is_committed = has(COMMITTED) || (always && !is_fixed);
        if is_committed && has(NEVER_ALLOCATE) {
            return refuse("ALLOCATION_DESC::Flags", "NEVER_ALLOCATE excludes COMMITTED");
        }
        match pool {
            Some(pool) => desc.pool = Some(&pool.pool),
            None => {
                desc.heap_type = Some(default_type(state, self.heap_type)?.into());
                desc.extra_required_heap_flags = self.extra_heap_flags & !KINDS;
            }
        }
        desc.strategy = strategy_of(self.flags);
        // Without an adapter that tells budgets, there is none to be within.
        let is_limited = has(WITHIN_BUDGET) && state.adapter.is_some();
        desc.flags.set(ResourceAllocationFlags::WITHIN_BUDGET, is_limited);
        desc.flags.set(ResourceAllocationFlags::UPPER_ADDRESS, has(UPPER_ADDRESS));
        desc.flags.set(ResourceAllocationFlags::NEVER_ALLOCATE_HEAP, has(NEVER_ALLOCATE));
        desc.flags.set(ResourceAllocationFlags::NEVER_FALLBACK, has(CAN_ALIAS));
        let has_explicit_heap = has(CAN_ALIAS) || resource.is_none();
        if let Some(resource) = resource {
            let is_buffer = resource.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER;
            let is_tight = state.is_tight && of_pool & pool_flag::NOT_TIGHT == 0;
            if is_buffer && of_pool & pool_flag::NOT_TIGHT != 0 && resource.Alignment == 0 {
                resource.Alignment = D3D12_DEFAULT_RESOURCE_PLACEMENT_ALIGNMENT.cast_unsigned().into();
            }
            let msaa_committed = match pool {
                None => state.has(allocator_flag::MSAA_COMMITTED),
                Some(_) => of_pool & pool_flag::MSAA_COMMITTED != 0 && !is_fixed,
            };
            is_committed |= resource.SampleDesc.Count > 1 && msaa_committed && !has_explicit_heap;
            let is_free = !has_explicit_heap && !is_fixed && !has(MIN_TIME | NEVER_ALLOCATE);
            let is_small = is_buffer && resource.Width <= SMALL_BUFFER && !is_tight;
            let prefers = is_small && is_free && !state.has(allocator_flag::PLACE_SMALL_BUFFERS);
            desc.flags.set(ResourceAllocationFlags::PREFER_COMMITTED, prefers && !is_committed);
        }
        // In an explicit heap of its own if others are to share it.
        let alone = match has_explicit_heap {
            true => ResourceAllocationFlags::NEVER_SUBALLOCATE_HEAP,
            false => ResourceAllocationFlags::ALWAYS_COMMITTED,
        };
        desc.flags.set(alone, is_committed);
        Ok(pool)
    }

    /// Returns the resources that memory without a resource is for.
    pub(super) fn kind(&self, pool: Option<&Arc<PoolState>>) -> ResourceKind {
        pool.map_or_else(|| kind_of(self.extra_heap_flags), |pool| kind_of(pool.desc.heap_flags))
    }
}

impl PoolDescription {
    /// # Safety
    ///
    /// The session is null or a live object.
    pub(super) unsafe fn convert(&self, state: &State) -> Fallible<PoolDesc> {
        check_bits("POOL_DESC::Flags", self.flags, pool_flag::ALL)?;
        let has = |flag| self.flags & flag != 0;
        let most = self.max_block_count;
        if most != 0 && most < self.min_block_count {
            return refuse("POOL_DESC::MaxBlockCount", format_args!("{most} is less than MinBlockCount"));
        }
        let properties = &self.properties;
        let (heap_type, custom_heap) = if properties.Type == D3D12_HEAP_TYPE_CUSTOM {
            (HeapType::Default, Some((properties.CPUPageProperty, properties.MemoryPoolPreference)))
        } else {
            (default_type(state, properties.Type)?, None)
        };
        let resources = kind_of(self.heap_flags);
        if resources == ResourceKind::Any && state.options.ResourceHeapTier < D3D12_RESOURCE_HEAP_TIER_2 {
            return refuse(
                "POOL_DESC::HeapFlags",
                "one of the ALLOW_ONLY flags is required on resource heap tier 1",
            );
        }
        let is_tight = state.is_tight && !has(pool_flag::NOT_TIGHT);
        let min_alignment = match self.min_alignment {
            0 if is_tight => Alignment::new(TIGHT_ALIGNMENT).unwrap_or(Alignment::ONE),
            number => alignment("POOL_DESC::MinAllocationAlignment", number)?,
        };
        let granularity = u64::from(D3D12_DEFAULT_RESOURCE_PLACEMENT_ALIGNMENT.cast_unsigned());
        let Some(block_size) = self.block_size.checked_next_multiple_of(granularity) else {
            return refuse("POOL_DESC::BlockSize", format_args!("{} exceeds 64 bits", self.block_size));
        };
        let nodes = (properties.CreationNodeMask, properties.VisibleNodeMask);
        // SAFETY: the caller's promise.
        let session = unsafe { ID3D12ProtectedResourceSession::from_raw_borrowed(&self.protected_session) };
        Ok(PoolDesc {
            heap_type,
            custom_heap,
            resources,
            extra_heap_flags: self.heap_flags & !KINDS,
            algorithm: match has(pool_flag::LINEAR) {
                true => SuballocationAlgorithm::Linear,
                false => SuballocationAlgorithm::Default,
            },
            // Heaps that are created with the pool need a size.
            heap_size: size(block_size).or((self.min_block_count > 0).then_some(PoolState::USUAL_BLOCK)),
            min_heap_count: self.min_block_count,
            max_heap_count: (most != 0 && most != u32::MAX).then_some(most),
            min_alignment,
            residency_priority: (self.residency_priority != 0).then_some(self.residency_priority),
            multisampled: !has(pool_flag::MSAA_COMMITTED)
                && matches!(resources, ResourceKind::RenderTargets | ResourceKind::Any),
            nodes: (nodes != (0, 0)).then_some(NodeMasks { creation: nodes.0, visible: nodes.1 }),
            protected_session: session.cloned(),
            ..Default::default()
        })
    }
}

/// Returns the alignment for memory that the program places resources in, of which zero is the usual one.
pub(super) fn memory_alignment(number: u64) -> Fallible<Alignment> {
    let usual = D3D12_DEFAULT_RESOURCE_PLACEMENT_ALIGNMENT.cast_unsigned().into();
    alignment("D3D12_RESOURCE_ALLOCATION_INFO::Alignment", if number == 0 { usual } else { number })
}
