//! The allocator's public interface.

use std::ffi::c_void;
use std::fmt;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use heapwright_core::{ByteSize, FenceValue};
use heapwright_d3d12::*;
use heapwright_trace::session::Action;
use windows_core::Interface;

use super::allocation::ResourceAllocation;
use super::deferred::NotFreed;
use super::inner::Inner;
use super::pool::Pool;
use super::request::ResourceAllocationDesc;
use super::stats::ResourceAllocatorStats;
use crate::desc::{ClearValue, PoolDesc, ResourceAllocatorDesc, ResourceAllocatorFlags, ResourceDesc};
use crate::recording::{CREATE_RESOURCE, name_args};
use crate::residency::ResidencyManager;
#[cfg(feature = "residency")]
use crate::residency::{ResidencyManagerDesc, ResidencyManagerFlags};
use crate::source::IdleThreadUser;
use crate::{DeviceCaps, Error, HeapType};

/// Creates resources of a device, and the heaps that they share: `IResourceAllocator` of GPGMM.
///
/// [`create_resource`](Self::create_resource) returns a [`ResourceAllocation`], which frees its memory when dropped.
/// The heaps are created, shared and released by the allocator; [`ResourceAllocatorDesc`] sets how.
///
/// Cloning returns another handle to the same allocator. Allocations keep everything that they need alive, so the
/// allocator may be dropped before them.
///
/// # Threads
///
/// `Send` and `Sync`. Small resources are placed under a lock that other threads rarely use; others under one lock for
/// each heap type. Both are held for O(1) bookkeeping, and never while the device creates or destroys an object.
#[derive(Clone)]
pub struct ResourceAllocator {
    // Fields are dropped in order: the handle before what waits for the thread.
    inner: Arc<Inner>,
    _idle_thread: IdleThreadUser,
}

// By hand: derived, it would be code for all of the state.
impl fmt::Debug for ResourceAllocator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResourceAllocator")
            .field("name", &self.debug_name())
            .field("reserved", &self.reserved())
            .finish_non_exhaustive()
    }
}

/// Features that an allocator supports: `FEATURE_DATA_RESOURCE_ALLOCATION_SUPPORT` of GPGMM.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResourceAllocationSupport {
    /// Whether several command queues may use different allocations within one resource at the same time. `true` for
    /// Intel's GPUs, which keep such accesses coherent. `false` if that is unknown: for other GPUs, and without an
    /// adapter.
    pub is_resource_allocation_within_coherent: bool,
}

/// Intel's PCI vendor id.
const INTEL: u32 = 0x8086;

impl ResourceAllocator {
    /// Creates an allocator for `device`.
    ///
    /// `adapter` must be the device's own. Without it, error messages contain no budgets, and options that need a
    /// budget are rejected.
    ///
    /// ```
    /// use heapwright::{ByteSize, ResourceAllocator, ResourceAllocatorDesc};
    /// # let gpu = heapwright_runtime::Instance::open(heapwright_runtime::HostProfile::default_profile())?;
    /// # let (device, adapter) = (gpu.device, gpu.adapter);
    /// let desc = ResourceAllocatorDesc { max_heap_size: Some(ByteSize::from_mib(64)), ..Default::default() };
    /// let allocator = ResourceAllocator::new(&device, Some(&adapter), desc)?;
    /// assert_eq!(allocator.reserved(), ByteSize::ZERO);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error if the device does not support the queries that every device must support, or if the
    /// description is inconsistent or exceeds the device (the message names the field).
    pub fn new(
        device: &ID3D12Device,
        adapter: Option<&IDXGIAdapter3>,
        desc: ResourceAllocatorDesc,
    ) -> Result<Self, Error> {
        Inner::new(device, adapter, desc, None, None).map(Self::from_inner)
    }

    /// Creates a resource and the memory for it: [`create`](Self::create) with the arguments of D3D12's own calls.
    ///
    /// ```
    /// use heapwright::d3d12::D3D12_RESOURCE_STATE_GENERIC_READ;
    /// use heapwright::{ByteSize, HeapType, ResourceAllocationDesc, ResourceAllocator, buffer_desc};
    /// # let gpu = heapwright_runtime::Instance::open(heapwright_runtime::HostProfile::default_profile())?;
    /// # let allocator = ResourceAllocator::new(&gpu.device, Some(&gpu.adapter), Default::default())?;
    /// let upload = ResourceAllocationDesc::new(HeapType::Upload);
    /// let desc = buffer_desc(ByteSize::from_kib(4));
    /// let mut buffer = allocator.create_resource(&upload, &desc, D3D12_RESOURCE_STATE_GENERIC_READ, None)?;
    /// buffer.map()?.write(0, b"vertices")?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`create`](Self::create).
    pub fn create_resource(
        &self,
        allocation: &ResourceAllocationDesc<'_>,
        resource: &D3D12_RESOURCE_DESC,
        initial_state: D3D12_RESOURCE_STATES,
        clear_value: Option<ClearValue>,
    ) -> Result<ResourceAllocation, Error> {
        let resource = ResourceDesc { clear_value, ..ResourceDesc::in_state(resource, initial_state) };
        self.inner.create(allocation, &resource, None)
    }

    /// Creates a resource and the memory for it. `resource` is a [`ResourceDesc`], or a `D3D12_RESOURCE_DESC` for a
    /// resource in state COMMON, by value or by reference.
    ///
    /// By default the resource is placed in a heap that it shares with others of its kind, with tight alignment where
    /// that is legal. The placements are tried in this order:
    ///
    /// 1. within a resource, if the allocation allows it;
    /// 2. in a shared heap: one with a large enough free range, an empty heap that is held, a new heap;
    /// 3. in a heap of its own, if it is too large to share one or must not;
    /// 4. committed.
    ///
    /// If the device has no memory for a new heap, the allocator releases its empty heaps and tries again, then tries
    /// the smallest heap that can hold the request. [`ResourceAllocation::info`] returns which placement was used, and
    /// why.
    ///
    /// Cost: O(1), and these calls of the device: `CreatePlacedResource`; before it `GetResourceAllocationInfo`, unless
    /// the result for such a buffer is remembered; and `CreateHeap` if no heap has a large enough free range. Within a
    /// resource, the device is not called.
    ///
    /// ```
    /// use heapwright::{
    ///     ByteSize, Placement, ResourceAllocationDesc, ResourceAllocationFlags, ResourceAllocator, buffer_desc,
    /// };
    /// # let gpu = heapwright_runtime::Instance::open(heapwright_runtime::HostProfile::default_profile())?;
    /// # let allocator = ResourceAllocator::new(&gpu.device, Some(&gpu.adapter), Default::default())?;
    /// let committed = ResourceAllocationFlags::ALWAYS_COMMITTED;
    /// let allocation = ResourceAllocationDesc { flags: committed, ..Default::default() };
    /// let target = allocator.create(&allocation, buffer_desc(ByteSize::from_mib(8)))?;
    /// assert_eq!(target.info().decision.placement, Placement::Committed);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// * out of memory: no placement succeeded; the message lists the attempts;
    /// * invalid argument: a description is inconsistent or exceeds the device; the message names the field;
    /// * unsupported: the device does not support the request;
    /// * any other error of the device.
    ///
    /// After an error, nothing is held.
    pub fn create<'a>(
        &self,
        allocation: &ResourceAllocationDesc<'_>,
        resource: impl Into<ResourceDesc<'a>>,
    ) -> Result<ResourceAllocation, Error> {
        self.inner.create(allocation, &resource.into(), None)
    }

    /// Creates as [`create`](Self::create) does, from a description that is not copied: it is large.
    ///
    /// # Errors
    ///
    /// Those of [`create`](Self::create).
    #[doc(hidden)]
    #[inline]
    pub fn create_from(
        &self,
        allocation: &ResourceAllocationDesc<'_>,
        resource: &ResourceDesc<'_>,
    ) -> Result<ResourceAllocation, Error> {
        self.inner.create(allocation, resource, None)
    }

    /// Creates a custom pool: heaps that are separate from the allocator's own, for allocations that name the pool.
    ///
    /// ```
    /// use heapwright::d3d12::D3D12_RESOURCE_STATE_COMMON;
    /// use heapwright::{ByteSize, PoolDesc, ResourceAllocationDesc, ResourceAllocator, buffer_desc};
    /// # let gpu = heapwright_runtime::Instance::open(heapwright_runtime::HostProfile::default_profile())?;
    /// # let allocator = ResourceAllocator::new(&gpu.device, Some(&gpu.adapter), Default::default())?;
    /// let desc = PoolDesc { name: "meshes".into(), heap_size: Some(ByteSize::from_mib(16)), ..Default::default() };
    /// let pool = allocator.create_pool(desc)?;
    /// let in_pool = ResourceAllocationDesc { pool: Some(&pool), ..Default::default() };
    /// let desc = buffer_desc(ByteSize::from_mib(1));
    /// let mesh = allocator.create_resource(&in_pool, &desc, D3D12_RESOURCE_STATE_COMMON, None)?;
    /// assert_eq!(allocator.reserved(), ByteSize::from_mib(16));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Invalid argument, with the field of the description; unsupported if the device lacks a feature; out of memory
    /// for the heaps that are created with the pool.
    #[inline]
    pub fn create_pool(&self, desc: PoolDesc) -> Result<Pool, Error> {
        self.inner.attempt("ResourceAllocator.CreatePool", || self.inner.create_pool(desc))
    }

    /// Frees an allocation once `fence` has reached `value`, which the GPU signals after its last use.
    ///
    /// The allocation is freed in [`collect`](Self::collect), and before the allocator reports that memory, a limit or
    /// the budget is short, or makes a resource committed for that reason. What another thread is freeing at that
    /// moment may come too late. When the last handle of the allocator is dropped, allocations whose fence value is not
    /// reached are leaked, and a warning is logged.
    ///
    /// Cost: O(fences + log n) for n waiting allocations, and O(n) if some of the same fence wait for a higher value.
    ///
    /// # Errors
    ///
    /// Returns the allocation if it belongs to another allocator.
    ///
    /// ```
    /// use heapwright::d3d12::{D3D12_FENCE_FLAG_NONE, ID3D12Fence};
    /// use heapwright::{FenceValue, ResourceAllocator};
    /// # use heapwright::d3d12::D3D12_RESOURCE_STATE_COMMON;
    /// # use heapwright::{ByteSize, buffer_desc};
    /// # let gpu = heapwright_runtime::Instance::open(heapwright_runtime::HostProfile::default_profile())?;
    /// # let allocator = ResourceAllocator::new(&gpu.device, Some(&gpu.adapter), Default::default())?;
    /// # let desc = buffer_desc(ByteSize::from_kib(4));
    /// # let buffer = allocator.create_resource(&Default::default(), &desc, D3D12_RESOURCE_STATE_COMMON, None)?;
    /// // SAFETY: the device is a live COM object.
    /// let fence: ID3D12Fence = unsafe { gpu.device.CreateFence(0, D3D12_FENCE_FLAG_NONE) }?;
    /// allocator.free_after(buffer, &fence, FenceValue::new(1))?;
    /// assert_eq!(allocator.collect(), 0);
    /// // SAFETY: the fence is a live COM object.
    /// unsafe { fence.Signal(1) }.ok()?; // usually by the queue, after the last command list that uses the buffer
    /// assert_eq!(allocator.collect(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn free_after(
        &self,
        allocation: ResourceAllocation,
        fence: &ID3D12Fence,
        value: FenceValue,
    ) -> Result<(), NotFreed> {
        if !std::ptr::eq(allocation.source(), &*self.inner.heaps.source) {
            return Err(NotFreed { allocation: Box::new(allocation) });
        }
        let args = || format!("{}\"FenceValue\":{}", allocation.recorded_args(), value.get());
        let args = self.inner.heaps.source.recording.as_ref().map(|_| args()).unwrap_or_default();
        self.inner.traced(
            "ResourceAllocator.FreeAfter",
            || args,
            || self.inner.deferred.add(allocation, fence, value),
        );
        Ok(())
    }

    /// Frees deferred allocations whose fence value has been reached and returns their number. Call it once per frame,
    /// or whenever work of the GPU may be done; it does not count as a [frame](Self::end_frame). See
    /// [`free_after`](Self::free_after) for an example.
    ///
    /// O(fences + freed log n). On a removed device, all fence values count as reached.
    #[inline]
    pub fn collect(&self) -> usize {
        self.inner.traced("ResourceAllocator.Collect", String::new, || self.inner.deferred.collect())
    }

    /// Tells the allocator and those that are nested in it that a frame passed. Call it once per frame.
    ///
    /// The allocator keeps empty heaps for a number of frames ([`EmptyHeapPolicy`](crate::EmptyHeapPolicy)) and then
    /// releases some with each frame, so that no frame pays for all of them. If the process uses more than its budget,
    /// because the budget sank, empty heaps are released at once. A nested allocator that is told of frames itself
    /// counts only those.
    ///
    /// Cost: O(kinds of heaps and custom pools), the queries of the two budgets, and the release of the heaps.
    pub fn end_frame(&self) {
        self.inner.timed("ResourceAllocator.Frame", || self.inner.pass_frame());
    }

    /// Tells the allocator the time since any fixed moment, instead of the clock, which is not read from then on.
    ///
    /// For simulations and replays, whose time is not the clock's: with it, the same calls always create and release
    /// the same heaps, because they prefetch themselves instead of a thread. Allocators that are nested in this one are
    /// told, too. A time before an earlier one is ignored. O(1), or as [`end_frame`](Self::end_frame) once in 0.4
    /// seconds.
    pub fn on_time(&self, time: Duration) {
        self.inner.tell_time(time);
    }

    /// Returns the time that the device took to create and free the heaps of this allocator, and to create its
    /// committed resources. On a simulated GPU it is the modelled time. O(1), no lock.
    #[must_use]
    #[doc(hidden)]
    #[inline]
    pub fn heap_time(&self) -> Duration {
        self.inner.heaps.source.ledger.heap_time()
    }

    /// Returns the allocator's statistics. The values belong to one moment unless other threads allocate meanwhile.
    ///
    /// O(pools), and O(n) for n unused slabs and backing buffers; locks each kind of heap and each custom pool in turn.
    ///
    /// ```
    /// use heapwright::d3d12::D3D12_RESOURCE_STATE_COMMON;
    /// use heapwright::{ByteSize, ResourceAllocator, buffer_desc};
    /// # let gpu = heapwright_runtime::Instance::open(heapwright_runtime::HostProfile::default_profile())?;
    /// # let allocator = ResourceAllocator::new(&gpu.device, Some(&gpu.adapter), Default::default())?;
    /// let desc = buffer_desc(ByteSize::from_kib(64));
    /// let buffer = allocator.create_resource(&Default::default(), &desc, D3D12_RESOURCE_STATE_COMMON, None)?;
    /// let stats = allocator.stats();
    /// assert_eq!((stats.allocation_count, stats.used), (1, ByteSize::from_kib(64)));
    /// assert!(stats.reserved >= stats.used); // heaps are larger than the resources in them
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    #[inline]
    pub fn stats(&self) -> ResourceAllocatorStats {
        self.inner.traced("ResourceAllocator.QueryStats", String::new, || self.inner.stats())
    }

    /// Records the counters now, if a [recording](crate::recording) with counters is made: `QueryStats` with null.
    #[doc(hidden)]
    #[inline]
    pub fn record_counters(&self) {
        if let Some(recording) = &self.inner.heaps.source.recording {
            recording.count_now(|| self.inner.counters());
        }
    }

    /// Returns the bytes of heaps and committed resources that are held. O(1), no lock.
    #[must_use]
    pub fn reserved(&self) -> ByteSize {
        self.inner.heaps.source.ledger.reserved()
    }

    /// Releases whole empty heaps until at least `bytes` are released, and returns the number of bytes. It is less than
    /// `bytes` if there are not enough empty heaps. O(released heaps).
    ///
    /// After its own heaps come those of allocators that are [nested](Self::create_nested) with this one, except their
    /// pools'.
    ///
    /// The allocator keeps some empty heaps for later requests, as [`EmptyHeapPolicy`](crate::EmptyHeapPolicy) says. It
    /// releases them by itself when more memory would exceed the budget or a limit, and when the device runs out of
    /// memory, its own or that of another allocator of the process on the same adapter. Waits while another thread
    /// releases heaps of this allocator or of one that it is nested with.
    #[inline]
    pub fn release_resource_heaps(&self, bytes: ByteSize) -> ByteSize {
        if let Some(recording) = &self.inner.heaps.source.recording {
            let bytes = bytes.get();
            recording.call(|| Action::ReleaseHeaps { bytes });
        }
        self.inner.timed("ResourceAllocator.ReleaseResourceHeaps", || self.inner.heaps.release(bytes))
    }

    /// Releases all empty heaps, and returns their size in bytes.
    ///
    /// ```
    /// use heapwright::d3d12::D3D12_RESOURCE_STATE_COMMON;
    /// use heapwright::{ByteSize, ResourceAllocator, buffer_desc};
    /// # let gpu = heapwright_runtime::Instance::open(heapwright_runtime::HostProfile::default_profile())?;
    /// # let allocator = ResourceAllocator::new(&gpu.device, Some(&gpu.adapter), Default::default())?;
    /// let desc = buffer_desc(ByteSize::from_mib(4));
    /// drop(allocator.create_resource(&Default::default(), &desc, D3D12_RESOURCE_STATE_COMMON, None)?);
    /// let kept = allocator.reserved(); // for later requests
    /// assert_eq!(allocator.release_empty_heaps(), kept);
    /// assert_eq!(allocator.reserved(), ByteSize::ZERO);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn release_empty_heaps(&self) -> ByteSize {
        self.release_resource_heaps(ByteSize::MAX)
    }

    /// Returns the capabilities of the device, as queried when the allocator was created.
    #[must_use]
    pub fn caps(&self) -> &DeviceCaps {
        &self.inner.caps
    }

    /// Returns the device.
    #[must_use]
    pub fn device(&self) -> &ID3D12Device {
        &self.inner.heaps.source.devices.device
    }

    /// Returns the residency manager, if there is one.
    #[must_use]
    pub fn residency_manager(&self) -> Option<&ResidencyManager> {
        self.inner.heaps.source.residency.as_ref()
    }

    /// Returns the description that the allocator was created with.
    #[must_use]
    pub fn desc(&self) -> &ResourceAllocatorDesc {
        self.inner.desc()
    }

    /// Returns the supported features: GPGMM's `CheckFeatureSupport`. O(1).
    #[must_use]
    #[doc(hidden)]
    pub fn resource_allocation_support(&self) -> ResourceAllocationSupport {
        let is_resource_allocation_within_coherent = self.inner.vendor_id == Some(INTEL);
        // RESOURCE_ALLOCATOR_FEATURE_RESOURCE_ALLOCATION_SUPPORT is 0.
        let feature = || "\"Feature\":0".to_owned();
        self.inner.traced("ResourceAllocator.CheckFeatureSupport", feature, || ResourceAllocationSupport {
            is_resource_allocation_within_coherent,
        })
    }

    /// Sets the name in logs and reports.
    #[inline]
    pub fn set_debug_name(&self, name: &str) {
        self.inner.traced(
            "ResourceAllocator.SetDebugName",
            || name_args(name),
            || {
                *self.inner.debug_name.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::from(name));
            },
        );
    }

    /// Returns the name that was set.
    #[must_use]
    pub fn debug_name(&self) -> Option<Arc<str>> {
        self.inner.debug_name.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Creates an allocator whose memory `manager` makes resident and evicts: GPGMM's `CreateResourceAllocator` with a
    /// residency manager.
    ///
    /// Every heap and every committed or imported resource becomes a heap of the manager, except those of
    /// [`NEVER_RESIDENT`](crate::ResourceAllocationFlags::NEVER_RESIDENT). [`ResourceAllocation::memory`] returns the
    /// manager's heap.
    ///
    /// To keep a new heap within the budget, empty heaps of the allocator are released first, then idle heaps are
    /// evicted. If that is not enough, the request is out of memory with
    /// [`ALWAYS_IN_BUDGET`](crate::ResourceAllocatorFlags::ALWAYS_IN_BUDGET), here or in the manager, or with
    /// [`WITHIN_BUDGET`](crate::ResourceAllocationFlags::WITHIN_BUDGET). The budget is the manager's. With
    /// [`CREATE_NOT_RESIDENT`](crate::ResourceAllocatorFlags::CREATE_NOT_RESIDENT), heaps are created evicted, take no
    /// budget, and are made resident for their first use.
    ///
    /// `adapter` provides what the manager does not know, and may be `None`. Allocations and the allocator keep the
    /// manager alive.
    ///
    /// # Errors
    ///
    /// The errors of [`new`](Self::new); invalid argument for a manager of another device.
    ///
    /// ```
    /// use heapwright::{ByteSize, HeapType, ResourceAllocationDesc, ResourceAllocator, buffer_desc};
    /// use heapwright::residency::{ResidencyList, ResidencyManager};
    /// # use heapwright::d3d12::D3D12_RESOURCE_STATE_COMMON;
    /// # let gpu = heapwright_runtime::Instance::open(heapwright_runtime::HostProfile::default_profile())?;
    /// # let (device, adapter) = (gpu.device, gpu.adapter);
    /// let manager = ResidencyManager::new(&device, Some(&adapter), Default::default())?;
    /// let allocator = ResourceAllocator::with_residency(&device, Some(&adapter), Default::default(), &manager)?;
    /// let desc = ResourceAllocationDesc::new(HeapType::Default);
    /// let resource = buffer_desc(ByteSize::from_kib(4));
    /// let buffer = allocator.create_resource(&desc, &resource, D3D12_RESOURCE_STATE_COMMON, None)?;
    /// let uses = ResidencyList::new(); // of a command list that uses the buffer
    /// uses.add_allocation(&buffer)?;
    /// assert_eq!(uses.len()?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(feature = "residency")]
    #[inline]
    pub fn with_residency(
        device: &ID3D12Device,
        adapter: Option<&IDXGIAdapter3>,
        desc: ResourceAllocatorDesc,
        manager: &ResidencyManager,
    ) -> Result<Self, Error> {
        Inner::new(device, adapter, desc, None, Some(manager)).map(Self::from_inner)
    }

    /// Creates an allocator and its residency manager: GPGMM's `CreateResourceAllocator` that also returns a manager.
    ///
    /// [`ALWAYS_IN_BUDGET`](crate::ResourceAllocatorFlags::ALWAYS_IN_BUDGET) in `desc` also applies to the manager.
    ///
    /// # Errors
    ///
    /// The errors of [`ResidencyManager::new`] and [`with_residency`](Self::with_residency).
    #[cfg(feature = "residency")]
    #[inline]
    pub fn with_new_residency(
        device: &ID3D12Device,
        adapter: Option<&IDXGIAdapter3>,
        desc: ResourceAllocatorDesc,
        mut residency: ResidencyManagerDesc,
    ) -> Result<(Self, ResidencyManager), Error> {
        if desc.flags.contains(ResourceAllocatorFlags::ALWAYS_IN_BUDGET) {
            residency.flags |= ResidencyManagerFlags::ALWAYS_IN_BUDGET;
        }
        let manager = ResidencyManager::new(device, adapter, residency)?;
        Ok((Self::with_residency(device, adapter, desc, &manager)?, manager))
    }

    /// Creates an allocator for a device from another version of the bindings or from another language.
    ///
    /// References are added to both objects; the caller keeps its own.
    ///
    /// # Errors
    ///
    /// Invalid argument for a null device; otherwise as [`new`](Self::new).
    ///
    /// # Safety
    ///
    /// `device` is null or points to an `ID3D12Device`, `adapter` is null or points to an `IDXGIAdapter3`, and both
    /// objects are alive.
    ///
    /// ```
    /// use heapwright::ResourceAllocator;
    /// use heapwright::d3d12::windows_core::Interface;
    /// # let gpu = heapwright_runtime::Instance::open(heapwright_runtime::HostProfile::default_profile())?;
    /// let (device, adapter) = (gpu.device.as_raw(), gpu.adapter.as_raw());
    /// // SAFETY: both objects are alive, and of these interfaces.
    /// let allocator = unsafe { ResourceAllocator::from_raw(device, adapter, Default::default()) }?;
    /// // SAFETY: null is refused.
    /// let error = unsafe { ResourceAllocator::from_raw(std::ptr::null_mut(), adapter, Default::default()) };
    /// assert!(error.unwrap_err().to_string().starts_with("device: "));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub unsafe fn from_raw(
        device: *mut c_void,
        adapter: *mut c_void,
        desc: ResourceAllocatorDesc,
    ) -> Result<Self, Error> {
        // SAFETY: the caller's promise; borrowing takes no reference.
        let device = unsafe { ID3D12Device::from_raw_borrowed(&device) };
        let device = device.ok_or_else(|| Error::invalid_argument("device", "is null"))?;
        // SAFETY: as above.
        let adapter = unsafe { IDXGIAdapter3::from_raw_borrowed(&adapter) };
        Self::new(device, adapter, desc)
    }

    /// Creates an allocator for the same device that exchanges empty heaps with this one.
    ///
    /// Each takes empty heaps of the other before it creates one. The nested allocator has its own suballocation
    /// algorithm, policy for empty heaps, limits and statistics. It shares the residency manager, if there is one.
    ///
    /// ```
    /// use heapwright::{ResourceAllocator, ResourceAllocatorDesc, SuballocationAlgorithm};
    /// # let gpu = heapwright_runtime::Instance::open(heapwright_runtime::HostProfile::default_profile())?;
    /// # let allocator = ResourceAllocator::new(&gpu.device, Some(&gpu.adapter), Default::default())?;
    /// let buddy = SuballocationAlgorithm::BuddySystem;
    /// let desc = ResourceAllocatorDesc { suballocation_algorithm: buddy, ..Default::default() };
    /// let nested = allocator.create_nested(desc)?;
    /// assert_eq!(nested.stats().allocation_count, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`new`](Self::new).
    #[inline]
    pub fn create_nested(&self, desc: ResourceAllocatorDesc) -> Result<Self, Error> {
        let inner = &self.inner;
        let source = &inner.heaps.source;
        let (adapter, residency) = (source.adapter.as_ref(), source.residency.as_ref());
        Inner::new(&source.devices.device, adapter, desc, Some(inner), residency).map(Self::from_inner)
    }

    /// Creates an allocation for an existing committed resource, so that it is counted and handled like others.
    ///
    /// A reference is added to the resource. Importing a resource twice creates two allocations of one resource and of
    /// one residency heap; they must not be mapped at the same time. With a residency manager the resource must be a
    /// committed one. A placed resource cannot be recognized as such, and D3D12 refuses to page it: import it as
    /// [`NEVER_RESIDENT`](crate::ResourceAllocationFlags::NEVER_RESIDENT), and manage its heap. Otherwise the first
    /// refused eviction is logged as a warning, and the memory is locked from then on.
    ///
    /// When the last allocation of the resource is dropped, the resource is resident, as
    /// [`ResidencyHeap`](crate::residency::ResidencyHeap) documents, so that the application can go on using it.
    ///
    /// # Errors
    ///
    /// Invalid argument, with the field: a resource of another device or without a heap, a different heap type or heap
    /// flags than the resource has, flags other than
    /// [`NEVER_RESIDENT`](crate::ResourceAllocationFlags::NEVER_RESIDENT), padding, a pool, a resource that is managed
    /// already, but not for this allocator or one that is nested with it.
    ///
    /// # Safety
    ///
    /// A [`Mapping`](crate::Mapping) relies on the bytes of its allocation belonging to no other object. The allocator
    /// cannot know who else accesses the memory of a resource that it did not create. Therefore, for a buffer that can
    /// be mapped, the caller promises for as long as the allocation lives: while one of its mappings exists, the CPU
    /// accesses these bytes in no other way, unless all accesses are reads. Other ways are another allocation of the
    /// same resource (imported twice, by this or another allocator, or the [`resource`](ResourceAllocation::resource)
    /// of an allocation that was created), an allocation that is a part of it, a resource that is placed in the same
    /// memory, and pointers that `ID3D12Resource::Map` returned. Nor does any code call `Unmap` without a `Map` of its
    /// own.
    ///
    /// The same applies to the texels of a texture in memory that the CPU can access, which
    /// [`map_texture`](crate::ResourceAllocation::map_texture) maps. For a resource in memory that the CPU cannot
    /// access, nothing is required.
    #[inline]
    pub unsafe fn import(
        &self,
        allocation: &ResourceAllocationDesc<'_>,
        resource: &ID3D12Resource,
    ) -> Result<ResourceAllocation, Error> {
        // SAFETY: the caller's promise.
        self.inner.attempt(CREATE_RESOURCE, || unsafe { self.inner.import(allocation, resource) })
    }

    /// Checks the consistency of the allocator's bookkeeping. Waits for heaps that are being prefetched. O(heaps +
    /// allocations); for tests.
    ///
    /// # Errors
    ///
    /// Returns a description of the inconsistency.
    #[doc(hidden)]
    #[inline]
    pub fn audit(&self) -> Result<(), String> {
        self.inner.audit()
    }

    /// Returns a number by which handles of the same allocator are recognized: no other allocator has it while this one
    /// exists.
    #[must_use]
    #[doc(hidden)]
    pub fn id(&self) -> usize {
        Arc::as_ptr(&self.inner) as usize
    }

    /// Counts a request of a recording whose arguments were not valid.
    #[doc(hidden)]
    #[inline]
    pub fn replay_invalid_request(&self) {
        self.inner.replay_invalid_request();
    }

    /// Counts a period of a recording. Those of nested allocators are recorded as theirs.
    #[doc(hidden)]
    #[inline]
    pub fn replay_idle_period(&self) {
        self.inner.pass_period();
    }

    /// Tells how long a call of the device for a heap took in a recording, in the order of the recording and before the
    /// call. The allocator then decides as the recorded one did, whatever this device takes.
    #[doc(hidden)]
    #[inline]
    pub fn replay_heap_time(&self, heap_type: HeapType, is_free: bool, time: Duration) {
        self.inner.replay_heap_time(heap_type, is_free, time);
    }

    pub(crate) fn inner(&self) -> &Arc<Inner> {
        &self.inner
    }

    pub(crate) fn from_inner(inner: Arc<Inner>) -> Self {
        let _idle_thread = inner.heaps.source.idle_thread.user();
        Self { inner, _idle_thread }
    }
}

impl ResourceAllocation {
    /// Returns the allocator that created the allocation, unless its last handle was dropped.
    #[must_use]
    pub fn allocator(&self) -> Option<ResourceAllocator> {
        Inner::of(self.source()).map(ResourceAllocator::from_inner)
    }
}
