//! The public interface of a residency manager.

use std::ffi::c_void;
use std::fmt;
use std::sync::{Arc, PoisonError};

use heapwright_core::{ByteSize, FenceValue};
use heapwright_d3d12::*;
use windows_core::{IUnknown, Interface};

use super::budget::{Pressure, PressureLevel, PressureRegistration};
use super::desc::{
    ResidencyBudget, ResidencyHeapDesc, ResidencyHeapFlags, ResidencyHeapStatus, ResidencyManagerDesc,
    ResidencyManagerStats,
};
use super::heap::ResidencyHeap;
use super::list::ResidencyList;
use super::pager::Pager;
use super::{heap, submit};
use crate::recording::{CREATE_HEAP, name_args};
use crate::{Error, SegmentGroup, VideoMemoryInfo};

/// Keeps the memory that the GPU uses resident, and evicts other memory when memory is short: `IResidencyManager` of
/// GPGMM.
///
/// A GPU does not make memory resident on access: everything that a command list uses must be resident before it runs.
/// The manager manages [heaps](ResidencyHeap), receives [lists](ResidencyList) of the heaps that command lists use, and
/// [executes](Self::execute_command_lists) the command lists when these heaps are resident. It makes missing heaps
/// resident, and the queue, not the CPU, waits for them. It evicts the heaps that its
/// [policy](ResidencyManagerDesc::policy) selects, once the GPU has finished with them.
///
/// Cloning returns another handle to the same manager. Heaps keep it alive.
///
/// # Faults
///
/// | situation | result |
/// |---|---|
/// | a command list uses more than the budget | all other heaps are evicted, and usage exceeds the budget; with [`ALWAYS_IN_BUDGET`] an error, and the list is not executed |
/// | several lists of a call together use more than the budget | they are executed one after the other, as many at a time as fit; later ones wait for earlier ones |
/// | the heaps to evict are in use | the calling thread waits for the GPU, without a lock; if neither the queue that it waits for nor paging makes progress for [`max_stall`], usage exceeds the budget (with [`ALWAYS_IN_BUDGET`] an error) |
/// | other threads use these heaps again and again | the calling thread waits for all that was submitted before its first wait, and then for [`max_stall`] in all; then usage exceeds the budget (with [`ALWAYS_IN_BUDGET`] an error) |
/// | the heaps to evict are expected to be used again before the GPU has finished the submitted work | the calling thread waits for the GPU as long as it makes progress; after a tenth of a second without progress, or of waiting for later submissions of other threads, they are evicted anyway |
/// | the budget shrinks | idle heaps are evicted at once where notifications arrive, otherwise within [`refresh_interval`] submissions; locked heaps stay |
/// | the device is out of memory within the budget | at least [`evict_size`] bytes of other heaps are evicted, repeatedly; then an error |
/// | making heaps resident fails | nothing of the call is resident or executed, and nothing is counted; heaps that were evicted for it stay evicted |
/// | the device is removed | [`Error::is_device_removed`], at the latest after 8 submissions to a queue whose `Signal` does not fail; the books stay consistent, so that everything can be dropped |
///
/// [`ALWAYS_IN_BUDGET`]: crate::residency::ResidencyManagerFlags::ALWAYS_IN_BUDGET
/// [`max_stall`]: ResidencyManagerDesc::max_stall
/// [`refresh_interval`]: ResidencyManagerDesc::refresh_interval
/// [`evict_size`]: ResidencyManagerDesc::evict_size
///
/// # Threads
///
/// `Send` and `Sync`: any number of threads may submit to any number of queues at the same time. No lock is held while
/// a thread waits for the GPU. When everything is resident, a submission takes three locks that are otherwise only held
/// for bookkeeping, and allocates nothing.
///
/// ```
/// use heapwright::d3d12::*;
/// use heapwright::residency::{ResidencyList, ResidencyManager, ResidencyManagerDesc};
/// use heapwright::*;
/// # let gpu = heapwright_runtime::Instance::open(heapwright_runtime::HostProfile::default_profile())?;
/// # let device = &gpu.device;
/// # let queue_desc = D3D12_COMMAND_QUEUE_DESC::default();
/// # let queue: ID3D12CommandQueue = unsafe { device.CreateCommandQueue(&queue_desc) }?;
/// # let commands: ID3D12CommandAllocator = unsafe { device.CreateCommandAllocator(D3D12_COMMAND_LIST_TYPE_DIRECT) }?;
/// # let command_list: ID3D12GraphicsCommandList =
/// #     unsafe { device.CreateCommandList(0, D3D12_COMMAND_LIST_TYPE_DIRECT, &commands, None) }?;
/// # unsafe { command_list.Close() }.ok()?;
/// let manager = ResidencyManager::new(device, Some(&gpu.adapter), ResidencyManagerDesc::default())?;
/// let allocator = ResourceAllocator::with_residency(device, Some(&gpu.adapter), Default::default(), &manager)?;
/// let vertices = allocator.create_resource(
///     &ResourceAllocationDesc::new(HeapType::Default),
///     &buffer_desc(ByteSize::from_mib(1)),
///     D3D12_RESOURCE_STATE_COMMON,
///     None,
/// )?;
///
/// let list = ResidencyList::new();
/// list.add_allocation(&vertices)?; // while the commands that use it are recorded
/// // SAFETY: the list is closed and uses the allocation alone, which lives until the queue's fence has come to `done`.
/// let done = unsafe { manager.execute_command_lists(&queue, &[list.of(&command_list)]) }?;
/// # let _ = done;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct ResidencyManager {
    pager: Arc<Pager>,
}

// By hand: derived, it would be code for all of the state.
impl fmt::Debug for ResidencyManager {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResidencyManager").finish_non_exhaustive()
    }
}

impl ResidencyManager {
    /// Creates a manager for the objects of `device`: `CreateResidencyManager`.
    ///
    /// `adapter` must be the device's own, and reports the budgets. Without one, the description must contain them.
    ///
    /// # Errors
    ///
    /// Invalid argument, with the field of the description; errors of the device and the adapter.
    #[inline]
    pub fn new(
        device: &ID3D12Device,
        adapter: Option<&IDXGIAdapter3>,
        desc: ResidencyManagerDesc,
    ) -> Result<Self, Error> {
        Pager::new(device, adapter, &desc).map(|pager| Self { pager })
    }

    /// Creates a manager for a device from another version of the bindings or from another language.
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
    #[inline]
    pub unsafe fn from_raw(
        device: *mut c_void,
        adapter: *mut c_void,
        desc: ResidencyManagerDesc,
    ) -> Result<Self, Error> {
        // SAFETY: the caller's promise; borrowing takes no reference.
        let device = unsafe { ID3D12Device::from_raw_borrowed(&device) };
        let device = device.ok_or_else(|| Error::invalid_argument("device", "the device is null"))?;
        // SAFETY: as above.
        let adapter = unsafe { IDXGIAdapter3::from_raw_borrowed(&adapter) };
        Self::new(device, adapter, desc)
    }

    /// Returns the device.
    #[must_use]
    #[inline]
    pub fn device(&self) -> &ID3D12Device {
        self.pager.device.interface()
    }

    /// Manages an existing object: a heap, a committed resource, a descriptor heap or a query heap.
    /// `CreateResidencyHeap`.
    ///
    /// Until the residency heap is dropped, only the manager may make the object resident or evict it. The manager
    /// knows whether the object is resident, also if a manager has managed it before: the object notes it in its
    /// private data. It does not know whether the application itself has made it resident or evicted it: see
    /// [`set_residency_status`](Self::set_residency_status).
    ///
    /// A *placed* resource is paged with its heap, which must be managed instead. It is not refused, because D3D12
    /// reports nothing that distinguishes it from a committed one. The device refuses to evict it; then a warning is
    /// logged, the statistics [count](ResidencyManagerStats::refused_evictions) it, and the residency heap is locked
    /// from then on.
    ///
    /// # Errors
    ///
    /// Invalid argument: an object of another device, one that a manager already manages (this or another one of the
    /// process), one that is never paged (a reserved resource: the heaps behind it are), a description that contradicts
    /// it, [`CREATE_IN_BUDGET`](crate::residency::ResidencyHeapFlags::CREATE_IN_BUDGET). For heaps that are created
    /// locked or resident, also the errors of [`ResidencyHeap::lock`].
    #[inline]
    pub fn manage(
        &self,
        desc: &ResidencyHeapDesc,
        pageable: &ID3D12Pageable,
    ) -> Result<ResidencyHeap, Error> {
        self.pager.timed(CREATE_HEAP, || heap::adopt(desc, &self.pager, pageable))
    }

    /// Makes memory available, calls `create` to create an object, and manages it: `CreateResidencyHeap` with a
    /// callback.
    ///
    /// Memory is made available before the call if the description contains the object's size and segment group,
    /// otherwise right after it. Without [`CREATE_IN_BUDGET`](crate::residency::ResidencyHeapFlags::CREATE_IN_BUDGET)
    /// (or [`ALWAYS_IN_BUDGET`](crate::residency::ResidencyManagerFlags::ALWAYS_IN_BUDGET)), idle heaps are evicted,
    /// and the call does not wait.
    ///
    /// # Errors
    ///
    /// Out of memory if the object must fit into the budget and does not; the error of `create`; as
    /// [`manage`](Self::manage).
    pub fn create_heap(
        &self,
        desc: &ResidencyHeapDesc,
        create: impl FnOnce() -> Result<ID3D12Pageable, windows_core::Error>,
    ) -> Result<ResidencyHeap, Error> {
        self.pager.timed(CREATE_HEAP, || heap::create(desc, &self.pager, Box::new(create)))
    }

    /// Executes command lists once the heaps of the residency list beside each are resident: `ExecuteCommandLists`.
    /// Returns the value that the queue's [fence](Self::queue_fence) reaches when the GPU has finished them.
    ///
    /// The order of the lists is kept, and that of calls for the same queue. If they together use more than the budget,
    /// they are executed in several parts, otherwise all at once.
    ///
    /// Cost: O(heaps in the lists), and the queue's `ExecuteCommandLists` and `Signal`; paging adds its own cost.
    ///
    /// # Errors
    ///
    /// After an error nothing is executed, unless the message says that the first lists were.
    ///
    /// * invalid argument: a residency list that is already open, of another manager, or with a heap that was
    ///   destroyed; a queue of another device;
    /// * out of memory: the device cannot make the heaps resident, or must not
    ///   ([`ALWAYS_IN_BUDGET`](crate::residency::ResidencyManagerFlags::ALWAYS_IN_BUDGET));
    /// * the device is removed.
    ///
    /// # Safety
    ///
    /// D3D12 checks neither what command lists reference nor what the GPU does with it. The manager knows only what the
    /// residency lists contain. Until the GPU has finished the lists (the [fence of the queue](Self::queue_fence) has
    /// reached the returned value), the caller must keep these promises. After an error they apply to the lists that
    /// were executed.
    ///
    /// * **Lists.** Each command list is closed, belongs to the queue's device, has the type of the queue, and may be
    ///   executed now: no other thread records to it or resets it during the call, and neither its command allocator
    ///   nor a bundle that it executes is reset.
    /// * **Lifetime.** Everything that the lists reference stays alive and in place: resources, heaps and the resources
    ///   mapped to them, descriptor heaps, query heaps, pipeline states, root signatures. An allocation is not dropped,
    ///   passed to [`free_after`](crate::ResourceAllocator::free_after) with a fence value that is reached earlier, or
    ///   the subject of a [`Move::complete`](crate::defragmentation::Move::complete); a reference to its
    ///   `ID3D12Resource` alone does not keep its memory.
    /// * **Residency.** Everything that the lists reference is in the residency list beside the command list, or
    ///   resident for another reason: it is [locked](ResidencyHeap::lock), or no code evicts it. Only this manager
    ///   evicts the heaps in the lists, and every status of them that was passed to
    ///   [`set_residency_status`](Self::set_residency_status) is true.
    /// * **Order.** Accesses of the GPU to the same memory are ordered as D3D12 requires, by barriers and fences, and
    ///   so are those of the CPU: as long as the lists may write to mapped bytes, nothing reads or writes these through
    ///   a [`Mapping`](crate::Mapping), and as long as they may read them, nothing writes.
    /// * **Commands.** The recorded commands keep D3D12's other rules: states of resources, valid descriptors where
    ///   shaders use them, accesses within resources, copies within their bounds.
    #[inline]
    pub unsafe fn execute_command_lists(
        &self,
        queue: &ID3D12CommandQueue,
        lists: &[(&ID3D12CommandList, &ResidencyList)],
    ) -> Result<FenceValue, Error> {
        // SAFETY: the caller's promises.
        let execute = || unsafe { submit::execute(&self.pager, queue, lists) };
        match &self.pager.recording {
            None => execute(),
            Some(recording) => {
                let heaps = |list: &ResidencyList| list.recorded_heaps(self.pager.number, recording);
                let heaps = lists.iter().map(|(_, list)| heaps(list)).collect();
                recording.submit(&self.pager.books, queue, heaps, execute)
            }
        }
    }

    /// Makes the heaps of a list resident before they are used, if that is possible within the budget and without
    /// waiting. Otherwise does nothing: until the GPU has finished with other heaps, or until they have arrived, they
    /// cannot be evicted.
    ///
    /// The heaps may be evicted again before they are used; [`ResidencyHeap::lock`] prevents that.
    ///
    /// # Errors
    ///
    /// Out of memory if the heaps exceed the budget by themselves, or if the device has no memory for them; invalid
    /// argument as [`execute_command_lists`](Self::execute_command_lists).
    #[inline]
    pub fn prefetch(&self, list: &ResidencyList) -> Result<(), Error> {
        let prefetch = || submit::prefetch(&self.pager, list);
        match &self.pager.recording {
            None => prefetch(),
            Some(recording) => {
                recording.prefetch(list.recorded_heaps(self.pager.number, recording), prefetch)
            }
        }
    }

    /// Returns the fence of a queue, which the manager signals after each submission. No other code may signal it,
    /// because the manager uses it to know what the GPU has finished.
    ///
    /// # Errors
    ///
    /// Invalid argument for a queue of another device.
    #[inline]
    pub fn queue_fence(&self, queue: &ID3D12CommandQueue) -> Result<ID3D12Fence, Error> {
        Ok(self.pager.queue(queue)?.fence.clone())
    }

    /// Records that other code has made a heap resident or evicted it: `SetResidencyStatus`.
    ///
    /// The manager does not verify the status. A wrong status breaks a promise of the
    /// [`execute_command_lists`](Self::execute_command_lists) calls that rely on it.
    ///
    /// # Errors
    ///
    /// Invalid argument: a heap of another manager; an unknown status; evicted while it is locked or the GPU may use
    /// it.
    #[inline]
    pub fn set_residency_status(
        &self,
        heap: &ResidencyHeap,
        status: ResidencyHeapStatus,
    ) -> Result<(), Error> {
        let args = || format!("{},\"Status\":{}", heap.recorded_args(), status as u32);
        self.pager.traced("ResidencyManager.SetResidencyStatus", args, || {
            let Some((_, id)) = heap.managed().filter(|&(number, _)| number == self.pager.number) else {
                let rule = "the heap is not managed by this residency manager";
                return Err(Error::invalid_argument("heap", rule));
            };
            let is_resident = match status {
                ResidencyHeapStatus::Resident => true,
                ResidencyHeapStatus::Evicted => false,
                ResidencyHeapStatus::Unknown => {
                    let rule = "the status must be Evicted or Resident, not Unknown";
                    return Err(Error::invalid_argument("status", rule));
                }
            };
            self.pager.set_resident(id, is_resident)
        })
    }

    /// Queries the operating system, and returns budget and usage of a segment group as the manager sees them:
    /// `QueryVideoMemoryInfo`.
    #[must_use]
    #[inline]
    pub fn query_video_memory_info(&self, group: SegmentGroup) -> VideoMemoryInfo {
        let query = || {
            let books = &self.pager.books;
            let current = self.pager.lock();
            self.pager.refresh();
            drop(current);
            let resident = books.lock().resident();
            books.budgets.video_memory_info(group, resident)
        };
        self.pager.traced("ResidencyManager.QueryVideoMemoryInfo", || group_args(group), query)
    }

    /// Reserves memory that the manager does not manage, also with the operating system, and returns the reserved
    /// bytes: `SetVideoMemoryReservation`.
    ///
    /// # Errors
    ///
    /// Errors of the adapter; the previous reservation stays in force.
    #[inline]
    pub fn set_video_memory_reservation(
        &self,
        group: SegmentGroup,
        bytes: ByteSize,
    ) -> Result<ByteSize, Error> {
        let pager = &self.pager;
        let args = || format!("{},\"Reservation\":{}", group_args(group), bytes.get());
        pager.traced("ResidencyManager.SetVideoMemoryReservation", args, || {
            let _current = pager.lock();
            pager.books.set_reservation(group, bytes, pager.paging_completed())
        })
    }

    /// Sets the budget of a segment group, from now on, and evicts idle heaps that exceed it.
    ///
    /// With a budget of zero, every idle heap is evicted at once, for instance while the application is in the
    /// background. Heaps that the GPU still uses are evicted with a later submission or [`trim`](Self::trim). What a
    /// submission uses is made resident all the same, once the GPU has finished with everything else, since the
    /// submission exceeds the budget; with
    /// [`ALWAYS_IN_BUDGET`](crate::residency::ResidencyManagerFlags::ALWAYS_IN_BUDGET), it fails.
    ///
    /// Allocators that use the manager have this budget, too: for allocations that must be within it, and for limits
    /// that are a share of it. [`query_video_memory_info`](Self::query_video_memory_info) returns the budget in force,
    /// in bytes, and [`stats`](Self::stats) the resident and the evicted bytes of each group. On UMA, where all memory
    /// is local, a budget of the non-local group has no effect.
    ///
    /// ```
    /// # use heapwright::{Error, SegmentGroup, residency::{ResidencyBudget, ResidencyManager}};
    /// # fn on_focus(manager: &ResidencyManager, has_focus: bool) -> Result<(), Error> {
    /// let budget = if has_focus { ResidencyBudget::AsDescribed } else { ResidencyBudget::Share(0.0) };
    /// manager.set_budget(SegmentGroup::Local, budget)
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Invalid argument: a share that is not between 0 and 1.
    #[inline]
    pub fn set_budget(&self, group: SegmentGroup, budget: ResidencyBudget) -> Result<(), Error> {
        let args = || match budget {
            ResidencyBudget::AsDescribed => group_args(group),
            ResidencyBudget::Bytes(bytes) => format!("{},\"SizeInBytes\":{}", group_args(group), bytes.get()),
            ResidencyBudget::Share(part) => format!("{},\"Share\":{part}", group_args(group)),
        };
        self.pager.traced("ResidencyManager.SetBudget", args, || {
            budget.check()?;
            self.pager.set_budget(group, budget);
            Ok(())
        })
    }

    /// Returns the memory pressure of a segment group. O(1), no lock.
    #[must_use]
    #[inline]
    pub fn pressure_level(&self, group: SegmentGroup) -> PressureLevel {
        self.pager.upkeep.pressure.level(group)
    }

    /// Registers `callback`, which is called when the pressure level of a segment group changes, so that caches can be
    /// dropped. No lock is held during the call.
    ///
    /// It is called by threads that submit, and by the thread that waits for budget changes.
    pub fn on_pressure(&self, callback: impl Fn(&Pressure) + Send + Sync + 'static) -> PressureRegistration {
        self.pager.upkeep.pressure.on_pressure(callback)
    }

    /// Queries the operating system for budgets, and evicts idle heaps that exceed them. Call this when the application
    /// becomes idle, or learns that memory is short.
    #[inline]
    pub fn trim(&self) {
        self.pager.traced("ResidencyManager.Trim", String::new, || self.pager.trim());
    }

    /// Evicts at least `bytes` bytes of idle heaps, or all of them if they are fewer, and returns the number of evicted
    /// bytes.
    #[inline]
    pub fn evict_at_least(&self, group: SegmentGroup, bytes: ByteSize) -> ByteSize {
        let mut wanted = [ByteSize::ZERO; 2];
        wanted[group.index()] = bytes;
        let args = || format!("{},\"SizeInBytes\":{}", group_args(group), bytes.get());
        self.pager.traced("ResidencyManager.EvictAtLeast", args, || self.pager.evict_at_least(wanted))
    }

    /// Returns the statistics: `QueryStats`. O(1), under a lock.
    #[must_use]
    #[inline]
    pub fn stats(&self) -> ResidencyManagerStats {
        let stats = || self.pager.books.stats(self.pager.cpu_stalls());
        self.pager.traced("ResidencyManager.QueryStats", String::new, stats)
    }

    /// Records the counters now, if a [recording](crate::recording) with counters is made: `QueryStats` with null.
    #[doc(hidden)]
    #[inline]
    pub fn record_counters(&self) {
        let pager = &self.pager;
        if let Some(recording) = &pager.recording {
            recording.count_now(&pager.books);
        }
    }

    /// Sets the name in logs and reports.
    #[inline]
    pub fn set_debug_name(&self, name: &str) {
        self.pager.traced(
            "ResidencyManager.SetDebugName",
            || name_args(name),
            || {
                *self.pager.debug_name.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::from(name));
            },
        );
    }

    /// Returns the name that was set.
    #[must_use]
    #[inline]
    pub fn debug_name(&self) -> Option<Arc<str>> {
        self.pager.debug_name.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns a number by which handles of the same manager are recognized: no other manager has it while this one
    /// exists.
    #[must_use]
    #[doc(hidden)]
    #[inline]
    pub fn id(&self) -> usize {
        Arc::as_ptr(&self.pager) as usize
    }

    /// Checks the consistency of the books. O(heaps); for tests.
    ///
    /// # Errors
    ///
    /// Returns a description of the inconsistency.
    #[doc(hidden)]
    #[inline]
    pub fn audit(&self) -> Result<(), String> {
        self.pager.books.lock().planner.audit()
    }
}

/// Returns a segment group in the arguments of a recorded call, with DXGI's number.
#[inline]
fn group_args(group: SegmentGroup) -> String {
    format!("\"MemorySegmentGroup\":{}", group.index())
}

/// The functions that an allocator calls. Without the feature `residency`, `absent.rs` has them.
impl ResidencyManager {
    /// Creates memory, for which `needed` bytes are made available first.
    pub(crate) fn create_memory(
        &self,
        needed: Option<(SegmentGroup, ByteSize)>,
        within_budget: bool,
        priority: Option<D3D12_RESIDENCY_PRIORITY>,
        create: impl FnOnce() -> Result<ID3D12Pageable, windows_core::Error>,
    ) -> Result<ResidencyHeap, Error> {
        let mut desc = ResidencyHeapDesc { priority, ..Default::default() };
        desc.flags.set(ResidencyHeapFlags::CREATE_IN_BUDGET, within_budget);
        if let Some((group, size)) = needed {
            (desc.segment_group, desc.size) = (Some(group), size);
        }
        self.create_heap(&desc, create)
    }

    /// Manages a resource that the application created.
    #[inline]
    pub(crate) fn manage_resource(&self, resource: &ID3D12Resource) -> Result<ResidencyHeap, Error> {
        self.manage(&ResidencyHeapDesc::default(), &resource.clone().into())
    }

    /// Returns whether usage must never exceed the budget.
    #[must_use]
    #[doc(hidden)]
    #[inline]
    pub fn is_always_in_budget(&self) -> bool {
        self.pager.always_in_budget
    }

    /// Returns whether the manager has memory of a segment group: not of the non-local one where all memory is local.
    #[inline]
    pub(crate) fn has_group(&self, group: SegmentGroup) -> bool {
        self.pager.books.budgets.is_in_use(group)
    }

    /// Returns whether the operating system never reported anything about a segment group.
    #[inline]
    pub(crate) fn is_unreported(&self, group: SegmentGroup) -> bool {
        self.pager.books.budgets.is_unreported(self.pager.books.budgets.effective_group(group))
    }

    /// Queries the operating system for budgets and usage.
    #[inline]
    pub(crate) fn refresh(&self) {
        let _current = self.pager.lock();
        self.pager.refresh();
    }

    /// Returns whether the manager has two segment groups although the GPU has one memory.
    #[inline]
    pub(crate) fn separates_segment_groups(&self) -> bool {
        self.pager.device.separates_groups()
    }

    /// Checks that `device` is the manager's device.
    #[inline]
    pub(crate) fn check_device(&self, device: &ID3D12Device) -> Result<(), Error> {
        let identity = |device: &ID3D12Device| device.cast::<IUnknown>().ok();
        let ours = identity(self.device());
        if ours.is_some() && ours == identity(device) {
            return Ok(());
        }
        Err(Error::invalid_argument("residency manager", "the manager belongs to another device"))
    }

    /// Returns current usage and budget of a segment group, from cached values (no OS query). O(1), under the lock of
    /// the books.
    #[inline]
    pub(crate) fn usage_and_budget(&self, group: SegmentGroup) -> (ByteSize, ByteSize) {
        let state = self.pager.books.lock_updated();
        (state.planner.usage(group), state.planner.memory(group).budget)
    }

    /// Returns the usage that there would be if no heap was evicted, and the budget. O(1), under the lock of the books.
    #[inline]
    pub(crate) fn demand_and_budget(&self, group: SegmentGroup) -> (ByteSize, ByteSize) {
        let state = self.pager.books.lock_updated();
        let planner = &state.planner;
        (planner.usage(group).saturating_add(planner.totals(group).evicted), planner.memory(group).budget)
    }

    /// Returns the usage that would remain if every unlocked heap was evicted, and the budget. O(1), under the lock of
    /// the books.
    #[inline]
    pub(crate) fn needed_and_budget(&self, group: SegmentGroup) -> (ByteSize, ByteSize) {
        let state = self.pager.books.lock_updated();
        let memory = state.planner.memory(group);
        (state.planner.totals(group).locked.saturating_add(memory.external), memory.budget)
    }
}

impl ResidencyHeap {
    /// Returns the manager: `GetResidencyManager`.
    #[must_use]
    #[inline]
    pub fn manager(&self) -> Option<ResidencyManager> {
        self.pager().map(|pager| ResidencyManager { pager: Arc::clone(pager) })
    }
}
