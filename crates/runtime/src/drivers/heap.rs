//! Heaps: memory of a driver at GPU virtual addresses, which stay the heap's when the memory is away.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use heapwright_core::{ByteSize, GpuVirtualAddress};

use super::address_space::{AddressRange, Target};
use super::noise::UnwrittenNoise;
use super::page_fault::{FaultCause, PageFault};
use super::paging_work::PagingWork;
use super::segment::{Account, Charge};
use crate::ddi::{CpuPageProperty, DriverError, HeapArgs, SegmentGroup};
use crate::residency::{PageableRecord, ResidencyLedger};

/// The memory of a heap, and its way to where the GPU can access it, and back.
///
/// A way that fails leaves the memory where it was. One that turns midway, by the beginning of the other, ends where it
/// began.
pub(super) trait HeapMemory: Send {
    /// Returns what queues need, if the GPU can access the memory.
    fn usable(&self) -> Option<Usable>;

    /// Returns whether the heap is charged for it: not while it is away.
    fn is_charged(&self) -> bool;

    /// Makes `size` bytes from `offset` on accessible in this process, for as long as the value lives, and returns a
    /// pointer to the first of them, which is always the same.
    ///
    /// # Errors
    ///
    /// Returns [`DriverError::HostOutOfMemory`] outside of the memory or if the operating system cannot commit it, and
    /// [`DriverError::NotCpuAccessible`] if no process can access it.
    fn map(&self, offset: u64, size: u64) -> Result<NonNull<u8>, DriverError>;

    /// Begins to bring the bytes to where the GPU can access them.
    fn begin_return(&mut self) -> Result<(), DriverError> {
        Ok(())
    }

    /// Waits until they are there.
    fn end_return(&mut self) -> Result<(), DriverError>;

    /// Begins to bring the bytes away.
    fn begin_leaving(&mut self) -> Result<(), DriverError> {
        Ok(())
    }

    /// Waits until they are away, and frees the memory that the GPU could access.
    fn end_leaving(&mut self) -> Result<(), DriverError>;

    /// Sets the priority of the memory over other memory, from 0 to 1. Only a hint, without effect on a simulated GPU.
    fn set_priority(&mut self, _priority: f32) {}

    /// Returns whether the memory has the wanted address on the device, or wants none.
    #[cfg(all(test, feature = "vulkan"))]
    fn is_at_its_address(&self) -> bool {
        true
    }
}

/// What queues need to use memory that is there.
#[derive(Clone, Copy, Debug, Default)]
#[cfg_attr(not(feature = "vulkan"), expect(dead_code, reason = "the simulated GPU needs none of it"))]
pub(super) struct Usable {
    /// The driver's handle of the memory, if it has one.
    pub(super) handle: u64,
    /// The offset of the heap's first byte in that memory.
    pub(super) offset: u64,
    /// When the bytes are there, in the driver's time: queues wait for that.
    pub(super) from: u64,
}

/// New memory of a driver.
pub(super) struct NewMemory {
    pub(super) memory: Box<dyn HeapMemory>,
    /// Where the heap is charged for it.
    pub(super) account: Account,
    /// The charge; `None` while the memory is away.
    pub(super) charge: Option<Charge>,
    /// The simulated time of its return.
    pub(super) paging_time: Duration,
}

/// A heap. Dropping the last reference frees its memory.
///
/// Residency is a count, as in D3D12: it starts at one, or at zero if the heap is created not resident.
pub(crate) struct DriverHeap {
    cpu_accessible: bool,
    has_contents: bool,
    noise: UnwrittenNoise,
    size: ByteSize,
    account: Account,
    paging_time: Duration,
    /// Of the two locks, this one is taken first. The memory is freed before the charge ends and the addresses are
    /// free.
    memory: Mutex<Box<dyn HeapMemory>>,
    addresses: AddressRange,
    /// The priority that the application has set, as bits.
    priority: AtomicU32,
    residency: Mutex<Residency>,
    /// Notified when the heap has been paged in, when it is evicted, and when the last use by a queue ends.
    changed: Condvar,
    record: PageableRecord,
    this: Weak<Self>,
}

/// How often a heap was made resident, and who uses it.
struct Residency {
    /// Calls of `MakeResident` without a matching `Evict`.
    count: u32,
    /// Present while the heap has, or is about to get, memory that the GPU can access.
    charge: Option<Charge>,
    /// The segment group of the charge, or of the last one.
    group: SegmentGroup,
    /// What queues use while the heap is paged in.
    usable: Option<Usable>,
    /// Why paging in failed during this stay, if it did.
    failure: Option<DriverError>,
    /// Counts the stays, from a first `MakeResident` to the last `Evict`.
    stay: u64,
    /// Number of queues whose commands use the heap and are not done.
    uses: usize,
}

impl Residency {
    /// Returns whether `stay` has not ended.
    fn is_in(&self, stay: u64) -> bool {
        self.count > 0 && self.stay == stay
    }
}

/// The priority of memory whose priority the application has not set (`D3D12_RESIDENCY_PRIORITY_NORMAL`).
pub(super) const NORMAL_PRIORITY: f32 = 0.5;

impl DriverHeap {
    /// Creates a heap over new memory, as large as its range of addresses.
    pub(super) fn create(
        args: &HeapArgs,
        addresses: AddressRange,
        new: NewMemory,
        ledger: &Arc<ResidencyLedger>,
    ) -> Arc<Self> {
        let NewMemory { memory, account, charge, paging_time } = new;
        let (size, is_resident) = (addresses.size(), !args.not_resident);
        let usable = memory.usable().filter(|_| is_resident);
        let group = charge.as_ref().map_or(account.usual_group(), Charge::group);
        let record = ledger.created(args.pageable, size, is_resident);
        let (failure, stay, uses) = (None, 0, 0);
        let count = u32::from(is_resident);
        let heap = Arc::new_cyclic(|this: &Weak<Self>| Self {
            cpu_accessible: args.cpu_page_property != CpuPageProperty::NotAvailable,
            has_contents: args.existing.is_some(),
            noise: UnwrittenNoise::default(),
            size,
            account,
            paging_time,
            memory: Mutex::new(memory),
            addresses,
            priority: AtomicU32::new(NORMAL_PRIORITY.to_bits()),
            residency: Mutex::new(Residency { count, charge, group, usable, failure, stay, uses }),
            changed: Condvar::new(),
            record,
            this: Weak::clone(this),
        });
        heap.addresses.map_to(Target::Heap(Arc::downgrade(&heap)));
        heap
    }

    /// The GPU virtual address of the first byte.
    pub(crate) fn gpu_virtual_address(&self) -> GpuVirtualAddress {
        self.addresses.start()
    }

    /// The size of the heap in bytes, at least the requested one (the DDI's `CheckExistingResourceAllocation` of a
    /// heap).
    pub(crate) fn size(&self) -> ByteSize {
        self.size
    }

    /// Returns whether the CPU can access the heap.
    pub(super) fn is_cpu_accessible(&self) -> bool {
        self.cpu_accessible
    }

    /// The bytes that are noise and not written yet.
    pub(super) fn noise(&self) -> &UnwrittenNoise {
        &self.noise
    }

    /// Returns whether the heap had contents when it was created: it was opened over memory of the application.
    pub(crate) fn has_contents(&self) -> bool {
        self.has_contents
    }

    /// The heap's record in the ledger.
    pub(crate) fn record(&self) -> &PageableRecord {
        &self.record
    }

    /// The segment group that the heap is charged to, or was charged to when it was last resident.
    ///
    /// The group may change whenever the heap becomes resident: CPU-visible video memory falls back to system memory
    /// (GPU upload heaps specification).
    pub(crate) fn segment_group(&self) -> SegmentGroup {
        self.residency().group
    }

    /// The bytes that the heap is charged for.
    #[cfg(all(test, feature = "vulkan"))]
    pub(super) fn charged(&self) -> ByteSize {
        self.account.size
    }

    /// Makes `size` bytes from `offset` on accessible to the CPU and returns a pointer to the first of them. It stays
    /// valid until the heap is dropped, and the same byte always has the same address.
    ///
    /// # Errors
    ///
    /// Returns [`DriverError::NotCpuAccessible`] for a heap without CPU access, and the errors of [`HeapMemory::map`].
    pub(crate) fn map(&self, offset: u64, size: u64) -> Result<NonNull<u8>, DriverError> {
        if !self.cpu_accessible {
            return Err(DriverError::NotCpuAccessible);
        }
        self.memory().map(offset, size)
    }

    /// Sets the heap's name for messages about page faults.
    pub(crate) fn set_name(&self, name: Option<&str>) {
        self.record.set_name(name);
    }

    /// Sets the priority of the heap's memory over other memory, from 0 to 1.
    pub(crate) fn set_priority(&self, priority: f32) {
        self.priority.store(priority.to_bits(), Ordering::Relaxed);
        // While the heap is being paged, what pages it sets the priority at the end.
        if let Ok(mut memory) = self.memory.try_lock() {
            memory.set_priority(priority);
        }
    }

    /// Increments the residency count.
    ///
    /// If the count was zero, the heap joins a segment group, and the returned work pages it in; memory is allocated
    /// when the work begins, without the ledger's lock, and GPU accesses to the heap fault until the work has run. If
    /// the count was not zero, returns `None` if the heap is already paged in, and otherwise work that waits until it
    /// is paged in or evicted again, or, if paging in failed, tries it again. Work that fails leaves the count to the
    /// caller.
    ///
    /// # Errors
    ///
    /// Returns [`DriverError::OutOfMemory`] if no segment group that the heap may be in has room. The count is
    /// unchanged then.
    pub(crate) fn make_resident(&self) -> Result<Option<PagingWork>, DriverError> {
        // Without the lock of the memory: paging out may be under way.
        let mut residency = self.residency();
        let is_first = residency.count == 0;
        if is_first {
            if residency.charge.is_none() {
                let charge = self.account.charge()?;
                residency.group = charge.group();
                residency.charge = Some(charge);
            }
            residency.stay += 1;
        }
        // After a failure, the next call tries again.
        let pages_in = residency.failure.take().is_some() || is_first;
        residency.count = residency.count.saturating_add(1);
        if residency.usable.is_some() {
            return Ok(None);
        }
        let stay = residency.stay;
        drop(residency);
        let action = |act: fn(&Self, u64) -> Result<(), DriverError>| {
            let heap = Weak::clone(&self.this);
            // If the heap was released meanwhile, nothing is left to page in.
            move || heap.upgrade().map_or(Ok(()), |heap| act(&heap, stay))
        };
        Ok(Some(if pages_in {
            PagingWork::new(self.paging_time, action(Self::arrive))
                .with_beginning(action(Self::begin_arrival))
        } else {
            PagingWork::new(Duration::ZERO, action(Self::wait_for_arrival))
        }))
    }

    /// Decrements the residency count. At zero, GPU accesses to the heap fault at once, and it leaves its segment group
    /// by the returned work, which may wait for the GPU and therefore runs without the ledger's lock.
    ///
    /// # Errors
    ///
    /// Returns [`DriverError::NotResident`] if the count is already zero.
    pub(crate) fn evict(&self) -> Result<Option<PagingWork>, DriverError> {
        let mut residency = self.residency();
        residency.count = residency.count.checked_sub(1).ok_or(DriverError::NotResident)?;
        if residency.count > 0 {
            return Ok(None);
        }
        residency.usable = None;
        self.changed.notify_all();
        let action = |act: fn(&Self) -> Result<(), DriverError>| {
            let heap = Weak::clone(&self.this);
            // If the heap was released meanwhile, its memory is freed already.
            move || heap.upgrade().map_or(Ok(()), |heap| act(&heap))
        };
        let work = PagingWork::new(Duration::ZERO, action(Self::end_leaving));
        Ok(Some(work.with_beginning(action(Self::begin_leaving))))
    }

    /// Begins a use by a queue, until [`end_use`](Self::end_use), during which the memory stays. Returns a fault at
    /// `address` if the heap is not paged in.
    #[cfg_attr(
        not(any(feature = "vulkan", test)),
        expect(dead_code, reason = "the simulated GPU uses heaps in single accesses")
    )]
    pub(super) fn begin_use(&self, address: u64) -> Result<Usable, PageFault> {
        let mut residency = self.residency();
        let usable = residency.usable.ok_or_else(|| self.evicted(address))?;
        residency.uses += 1;
        Ok(usable)
    }

    /// Ends a use.
    #[cfg_attr(not(any(feature = "vulkan", test)), expect(dead_code, reason = "as above"))]
    pub(super) fn end_use(&self) {
        let mut residency = self.residency();
        residency.uses = residency.uses.saturating_sub(1);
        if residency.uses == 0 {
            self.changed.notify_all();
        }
    }

    /// Returns whether the heap is paged in.
    pub(super) fn has_arrived(&self) -> bool {
        self.residency().usable.is_some()
    }

    /// Returns the fault of an access at `address` to the heap, which is not paged in.
    pub(super) fn evicted(&self, address: u64) -> PageFault {
        PageFault::new(address, FaultCause::Evicted(self.describe()))
    }

    fn describe(&self) -> String {
        match self.record.name() {
            Some(name) => format!("heap '{name}' ({} at {})", self.size, self.addresses.start()),
            None => format!("an unnamed heap ({} at {})", self.size, self.addresses.start()),
        }
    }

    /// Begins to page the heap in, unless `stay` has ended.
    fn begin_arrival(&self, stay: u64) -> Result<(), DriverError> {
        // Paging out may be under way; it ends before the memory can be locked.
        let mut memory = self.memory();
        if !self.residency().is_in(stay) {
            return Ok(());
        }
        memory.begin_return().inspect_err(|&error| {
            self.residency().failure = Some(error);
            self.changed.notify_all();
        })
    }

    /// Pages the heap in after [`begin_arrival`](Self::begin_arrival), unless `stay` has ended.
    fn arrive(&self, stay: u64) -> Result<(), DriverError> {
        let mut memory = self.memory();
        if !self.residency().is_in(stay) {
            return Ok(());
        }
        let restored = memory.end_return();
        memory.set_priority(f32::from_bits(self.priority.load(Ordering::Relaxed)));
        if let Err(error) = &restored {
            tracing::error!(%error, "paging in failed: {}", self.describe());
        }
        let mut residency = self.residency();
        residency.usable = memory.usable().filter(|_| residency.is_in(stay));
        residency.failure = restored.err();
        self.changed.notify_all();
        restored
    }

    /// Blocks until the heap is paged in, paging in has failed, which is the error, or the stay has ended.
    fn wait_for_arrival(&self, stay: u64) -> Result<(), DriverError> {
        let waits = |now: &mut Residency| now.is_in(stay) && now.usable.is_none() && now.failure.is_none();
        let now = self.changed.wait_while(self.residency(), waits).unwrap_or_else(PoisonError::into_inner);
        now.failure.filter(|_| now.is_in(stay)).map_or(Ok(()), Err)
    }

    /// Begins to page the heap out when no queue uses it any more, unless it became resident again.
    fn begin_leaving(&self) -> Result<(), DriverError> {
        // The application may not evict what the GPU uses. If it does, the memory must stay until the GPU is done.
        let used = self.changed.wait_while(self.residency(), |now| now.uses > 0 && now.count == 0);
        drop(used.unwrap_or_else(PoisonError::into_inner));
        let mut memory = self.memory();
        if self.residency().count > 0 {
            return Ok(());
        }
        let begun = memory.begin_leaving();
        self.left(&**memory, begun)
    }

    /// Ends paging out after [`begin_leaving`](Self::begin_leaving). If the heap became resident again meanwhile, its
    /// return waits for that, or has done it.
    fn end_leaving(&self) -> Result<(), DriverError> {
        let mut memory = self.memory();
        let ended = memory.end_leaving();
        self.left(&**memory, ended)
    }

    /// Ends the charge if the heap's memory is gone, and returns the error of paging it out if the device is lost.
    fn left(&self, memory: &dyn HeapMemory, paged_out: Result<(), DriverError>) -> Result<(), DriverError> {
        if !memory.is_charged() {
            let mut residency = self.residency();
            // If it is to be resident again, it is about to have memory.
            if residency.count == 0 {
                residency.charge = None;
            }
        }
        match paged_out {
            // Memory that cannot be freed stays charged.
            Ok(()) => {}
            Err(error @ DriverError::DeviceLost { .. }) => return Err(error),
            Err(error) => tracing::warn!(%error, "the heap keeps its memory: {}", self.describe()),
        }
        Ok(())
    }

    fn residency(&self) -> MutexGuard<'_, Residency> {
        self.residency.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks the memory. While it is on its way, blocks until a part of the way is done.
    pub(super) fn memory(&self) -> MutexGuard<'_, Box<dyn HeapMemory>> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
pub(crate) mod tests;
