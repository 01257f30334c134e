//! The allocator, as its users see it.

use std::ffi::c_void;
use std::sync::{Arc, PoisonError};

use heapwright_core::{ByteSize, FenceValue};
use heapwright_d3d12::*;
use windows_core::Interface;

use super::allocation::ResourceAllocation;
use super::allocation_desc::ResourceAllocationDesc;
use super::inner::Inner;
use super::live_list::LiveAllocation;
use super::pool::Pool;
use super::stats::{MemoryTotals, ResourceAllocatorStats};
use crate::desc::{PoolDesc, ResourceAllocatorDesc, ResourceAllocatorFlags, ResourceDesc};
use crate::plan::Decision;
use crate::residency::{ResidencyManager, ResidencyManagerDesc, ResidencyManagerFlags};
use crate::{DeviceCaps, Error, HeapType, SegmentGroup};

/// Allocates resources of one device: `IResourceAllocator` (document GPGMM).
///
/// Cloning gives another handle to the same allocator. Allocations keep what they need alive: the allocator may be
/// dropped before them.
///
/// # Threads
///
/// `Send` and `Sync`. Small resources are placed under a lock that is the thread's own as a rule, others under one for each heap
/// type; both are held for the O(1) bookkeeping and never while the device creates or destroys anything.
#[derive(Debug, Clone)]
pub struct ResourceAllocator {
    inner: Arc<Inner>,
}

/// What an allocator supports: `FEATURE_DATA_RESOURCE_ALLOCATION_SUPPORT` (document GPGMM).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResourceAllocationSupport {
    /// Whether several command queues may use allocations within one resource at the same time, each its own. Intel's GPUs keep
    /// such accesses coherent; of others, and without an adapter, it is not known.
    pub is_resource_allocation_within_coherent: bool,
}

/// Intel's number as a PCI vendor.
const INTEL: u32 = 0x8086;

impl ResourceAllocator {
    /// Creates an allocator for `device`.
    ///
    /// The adapter is the device's own; without it, error messages lack budgets, and what needs a budget is refused.
    ///
    /// ```
    /// use heapwright::d3d12::D3D12_RESOURCE_STATE_GENERIC_READ;
    /// use heapwright::{ByteSize, HeapType, ResourceAllocationDesc, ResourceAllocator, buffer_desc};
    /// # let gpu = heapwright_runtime::Instance::open(heapwright_runtime::HostProfile::default_profile())?;
    /// # let (device, adapter) = (gpu.device, gpu.adapter);
    /// let allocator = ResourceAllocator::new(&device, Some(&adapter), Default::default())?;
    /// let upload = ResourceAllocationDesc::new(HeapType::Upload);
    /// let desc = buffer_desc(ByteSize::from_kib(4));
    /// let mut buffer = allocator.create_resource(&upload, &desc, D3D12_RESOURCE_STATE_GENERIC_READ, None)?;
    /// buffer.map()?.write(0, b"vertices")?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When the device does not answer to what every device knows, or the description contradicts itself or the device
    /// (the message names the field).
    pub fn new(
        device: &ID3D12Device,
        adapter: Option<&IDXGIAdapter3>,
        desc: ResourceAllocatorDesc,
    ) -> Result<Self, Error> {
        Inner::new(device, adapter, desc, None, None).map(Self::from_inner)
    }

    /// Creates a resource in a state, and the memory for it.
    ///
    /// The usual way, and everything else that the description does not change: it is placed in a heap that others of its kind
    /// share, with tight alignment where that is legal. See [`create`](Self::create) for the rest of D3D12.
    ///
    /// # Errors
    ///
    /// As [`create`](Self::create).
    pub fn create_resource(
        &self,
        allocation: &ResourceAllocationDesc<'_>,
        resource: &D3D12_RESOURCE_DESC,
        initial_state: D3D12_RESOURCE_STATES,
        clear_value: Option<&D3D12_CLEAR_VALUE>,
    ) -> Result<ResourceAllocation, Error> {
        let mut resource = ResourceDesc::in_state(resource, initial_state);
        resource.clear_value = clear_value.copied();
        self.create(allocation, &resource)
    }

    /// Creates a resource, and the memory for it.
    ///
    /// The ways to memory, in the order in which they are tried:
    ///
    /// 1. within a resource, if the allocation allows it;
    /// 2. in a heap that others share: one that has room, an empty one that is held, a new one;
    /// 3. in a heap of its own, if it is too large to share or wants none to;
    /// 4. committed.
    ///
    /// When the device has no memory for a new heap, empty heaps of the whole allocator go back and it is asked again, then for
    /// one as small as the request allows. [`ResourceAllocation::info`] says which way it was, and why.
    ///
    /// Cost: O(1); `CreatePlacedResource`, before it `GetResourceAllocationInfo` unless the answer about such a buffer is remembered,
    /// and `CreateHeap` when no heap has room. No call of the device within a resource.
    ///
    /// # Errors
    ///
    /// * out of memory: nothing of the above found any; the message says what was tried;
    /// * invalid argument: a description contradicts itself or the device; the message names the field;
    /// * unsupported: the device does not have what is asked for;
    /// * whatever else the device answers.
    ///
    /// Nothing is held after an error.
    pub fn create(
        &self,
        allocation: &ResourceAllocationDesc<'_>,
        resource: &ResourceDesc<'_>,
    ) -> Result<ResourceAllocation, Error> {
        self.inner.create(allocation, resource)
    }

    /// Makes a custom pool.
    ///
    /// # Errors
    ///
    /// Invalid argument, with the field of the description; unsupported where the device lacks something; out of memory for
    /// the heaps that it begins with.
    pub fn create_pool(&self, desc: PoolDesc) -> Result<Pool, Error> {
        self.inner.create_pool(desc)
    }

    /// Frees an allocation once `fence` has come to `value`, which the GPU signals behind its last use.
    ///
    /// It happens in [`collect`](Self::collect), and before the allocator tells anyone that memory is short. What is left when the
    /// last handle is dropped and its fence not reached is never freed, and a warning says so.
    ///
    /// Cost: O(log n) for n fences or allocations that wait.
    pub fn free_after(&self, allocation: ResourceAllocation, fence: &ID3D12Fence, value: FenceValue) {
        self.inner.deferred.add(allocation, fence, value);
    }

    /// Frees what waited for fences that are reached by now, and answers how many allocations that were: once a frame.
    ///
    /// O(fences + what is freed log n). A removed device's fences are all reached.
    pub fn collect(&self) -> usize {
        self.inner.deferred.collect()
    }

    /// Returns what the allocator holds. O(1), amortized, with a lock of each kind of heap in turn: of custom pools, those are looked at
    /// that changed since the last call. The numbers belong to one moment unless other threads allocate meanwhile.
    #[must_use]
    pub fn stats(&self) -> ResourceAllocatorStats {
        self.inner.stats()
    }

    /// Bytes of heaps and committed resources: what the device was asked for and has not got back. O(1), no lock.
    #[must_use]
    pub fn reserved(&self) -> ByteSize {
        self.inner.heaps.source.accounts.reserved()
    }

    /// Returns what is held of one heap type, without imported resources. O(1), amortized, as [`stats`](Self::stats).
    #[must_use]
    pub fn totals_of(&self, heap_type: HeapType) -> MemoryTotals {
        self.inner.totals_of(heap_type)
    }

    /// Returns what is held in one segment group. O(1), amortized, as [`stats`](Self::stats).
    #[must_use]
    pub fn totals_in(&self, group: SegmentGroup) -> MemoryTotals {
        self.inner.totals_in(group)
    }

    /// How many allocations were made in other ways than usual, and why, since the allocator exists.
    #[must_use]
    pub fn decisions(&self) -> Vec<(Decision, u64)> {
        self.inner.decisions.all()
    }

    /// Committed and imported allocations that live, and all of them with
    /// [`NEVER_LEAK`](crate::ResourceAllocatorFlags::NEVER_LEAK), the oldest first. O(n) under a lock.
    #[must_use]
    pub fn live_allocations(&self) -> Vec<LiveAllocation> {
        self.inner.live.all()
    }

    /// Gives empty heaps back to the device until `bytes` are reached, whole heaps, and answers how many bytes it was: less when
    /// there are no more. O(what is released).
    ///
    /// The allocator keeps some empty heaps for what comes next ([`EmptyHeapPolicy`](crate::EmptyHeapPolicy), or what
    /// [`EmptyHeapPolicy`](crate::EmptyHeapPolicy) says). It gives them back by itself when more memory would pass the budget or a limit,
    /// and when the device runs out of memory.
    pub fn release_resource_heaps(&self, bytes: ByteSize) -> ByteSize {
        self.inner.heaps.release(bytes)
    }

    /// Gives all empty heaps back to the device, and answers how many bytes that were.
    pub fn release_empty_heaps(&self) -> ByteSize {
        self.release_resource_heaps(ByteSize::MAX)
    }

    /// What the device supports, as found when the allocator was made.
    #[must_use]
    pub fn caps(&self) -> &DeviceCaps {
        &self.inner.caps
    }

    /// The device.
    #[must_use]
    pub fn device(&self) -> &ID3D12Device {
        &self.inner.heaps.source.devices.device
    }

    /// The residency manager, if there is one.
    #[must_use]
    pub fn residency_manager(&self) -> Option<&ResidencyManager> {
        self.inner.heaps.source.residency.as_ref()
    }

    /// What the allocator was asked for.
    #[must_use]
    pub fn desc(&self) -> &ResourceAllocatorDesc {
        self.inner.desc()
    }

    /// What the allocator supports: GPGMM's `CheckFeatureSupport`. O(1).
    #[must_use]
    pub fn resource_allocation_support(&self) -> ResourceAllocationSupport {
        ResourceAllocationSupport {
            is_resource_allocation_within_coherent: self.inner.vendor_id == Some(INTEL),
        }
    }

    /// Gives it a name, for logs and reports.
    pub fn set_debug_name(&self, name: &str) {
        *self.inner.debug_name.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::from(name));
    }

    /// The name that it was given.
    #[must_use]
    pub fn debug_name(&self) -> Option<Arc<str>> {
        self.inner.debug_name.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// An allocator whose memory `manager` makes resident and evicts: GPGMM's `CreateResourceAllocator` with a residency manager.
    ///
    /// Every heap and every committed or imported resource is a heap of the manager, which
    /// [`ResourceAllocation::memory`] names, but those of
    /// [`NEVER_RESIDENT`](crate::ResourceAllocationFlags::NEVER_RESIDENT). For a new heap, room is made in the budget: empty heaps of the allocator go back
    /// to the device first, then what is idle is evicted. With
    /// [`ALWAYS_IN_BUDGET`](crate::ResourceAllocatorFlags::ALWAYS_IN_BUDGET), here or in the manager, or with
    /// [`WITHIN_BUDGET`](crate::ResourceAllocationFlags::WITHIN_BUDGET) it is out of memory when that is not enough; the budget is the manager's. With
    /// [`CREATE_NOT_RESIDENT`](crate::ResourceAllocatorFlags::CREATE_NOT_RESIDENT) heaps begin evicted, need no room, and are paged in for their first use.
    ///
    /// The adapter is for what the manager does not say, and may be left out. Allocations and allocator keep the manager alive.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new); invalid argument for the manager of another device.
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
    /// let buffer = allocator.create_resource(&desc, &buffer_desc(ByteSize::from_kib(4)), D3D12_RESOURCE_STATE_COMMON, None)?;
    /// let uses = ResidencyList::new(); // of a command list that uses the buffer
    /// uses.add_allocation(&buffer)?;
    /// assert_eq!(uses.len()?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_residency(
        device: &ID3D12Device,
        adapter: Option<&IDXGIAdapter3>,
        desc: ResourceAllocatorDesc,
        manager: &ResidencyManager,
    ) -> Result<Self, Error> {
        Inner::new(device, adapter, desc, None, Some(manager)).map(Self::from_inner)
    }

    /// An allocator and the manager of its residency in one: GPGMM's `CreateResourceAllocator` that answers a manager too.
    ///
    /// An allocator that is [`ALWAYS_IN_BUDGET`](crate::ResourceAllocatorFlags::ALWAYS_IN_BUDGET) makes the manager so.
    ///
    /// # Errors
    ///
    /// As [`ResidencyManager::new`] and [`with_residency`](Self::with_residency).
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

    /// An allocator for a device that another version of the bindings holds, or another language.
    ///
    /// References are added to both objects; the caller keeps its own.
    ///
    /// # Errors
    ///
    /// Invalid argument for a null device; otherwise as [`new`](Self::new).
    ///
    /// # Safety
    ///
    /// `device` is null or points to an `ID3D12Device`, `adapter` is null or points to an `IDXGIAdapter3`, and both objects are
    /// alive.
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

    /// An allocator of its own that exchanges empty heaps with this one, of the same device.
    ///
    /// How empty heaps are pooled is this one's decision; the algorithm that divides them is its own, and so are its limits
    /// and statistics. The residency manager is this one's, if it has one.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn create_nested(&self, desc: ResourceAllocatorDesc) -> Result<Self, Error> {
        let inner = &self.inner;
        let source = &inner.heaps.source;
        let (adapter, residency) = (source.adapter.as_ref(), source.residency.as_ref());
        Inner::new(&source.devices.device, adapter, desc, Some(inner), residency).map(Self::from_inner)
    }

    /// Makes an allocation of a committed resource that exists, so that it is counted and handled like others.
    ///
    /// It adds a reference to the resource. Importing twice makes two allocations of one resource, and of one residency heap, which must not be
    /// mapped at the same time. With a
    /// residency manager the resource must be a committed one: a placed one does not tell that it is, and D3D12 refuses to page it. Import it as
    /// [`NEVER_RESIDENT`](crate::ResourceAllocationFlags::NEVER_RESIDENT), and have its heap managed.
    ///
    /// # Errors
    ///
    /// Invalid argument, with the field: a resource of another device or without a heap, another heap type or other heap flags than it
    /// has, flags beside [`NEVER_RESIDENT`](crate::ResourceAllocationFlags::NEVER_RESIDENT), padding, a pool.
    ///
    /// # Safety
    ///
    /// A [`Mapping`](crate::Mapping) takes it for granted that the bytes of its allocation are no other's. The allocator cannot know who else
    /// reaches the memory of a resource that it did not create, so for a buffer that can be mapped the caller promises for as long as the
    /// allocation lives: while one of its mappings exists, the CPU reaches these bytes in no other way, unless all of them only read. Other ways
    /// are another allocation of the same resource (imported twice, by this or another allocator, or the
    /// [`resource`](ResourceAllocation::resource) of an allocation that was created), an allocation that is a part of it, a resource that is
    /// placed in the same memory, and pointers that `ID3D12Resource::Map` returned. Nor does anybody `Unmap` what they have not mapped.
    ///
    /// The same goes for the texels of a texture in memory that the CPU reaches, which
    /// [`map_texture`](crate::ResourceAllocation::map_texture) maps. Nothing is asked for a resource in memory that the CPU cannot reach.
    pub unsafe fn import(
        &self,
        allocation: &ResourceAllocationDesc<'_>,
        resource: &ID3D12Resource,
    ) -> Result<ResourceAllocation, Error> {
        // SAFETY: the caller's promise.
        unsafe { self.inner.import(allocation, resource) }
    }

    /// Checks that the allocator's books agree with each other. Waits for heaps that are made in advance. O(heaps + allocations); for
    /// tests.
    ///
    /// # Errors
    ///
    /// What disagrees, as text for people.
    pub fn audit(&self) -> Result<(), String> {
        self.inner.audit()
    }

    pub(crate) fn inner(&self) -> &Arc<Inner> {
        &self.inner
    }

    pub(crate) fn from_inner(inner: Arc<Inner>) -> Self {
        Self { inner }
    }
}

impl ResourceAllocation {
    /// The allocator that made it, unless its last handle is gone.
    #[must_use]
    pub fn allocator(&self) -> Option<ResourceAllocator> {
        Inner::of(self.source()).map(ResourceAllocator::from_inner)
    }
}
