//! Heaps: one buffer with memory of its own each, at GPU virtual addresses that stay when the memory is away.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use heapwright_core::{ByteSize, GpuVirtualAddress};

use super::memory::NORMAL_PRIORITY;
use super::paging::{HeapMemory, MemoryArgs, Usable};
use super::paging_engine::PagingEngine;
use crate::ddi::{DriverError, DriverHeap, HeapArgs, PagingWork, SegmentGroup};
use crate::drivers::address_space::{AddressRange, Target};
use crate::drivers::page_fault::{FaultCause, PageFault};
use crate::drivers::segment::{Charge, Residence, Segments};
use crate::residency::{PageableRecord, ResidencyLedger};

/// A heap. It is charged to a segment group while it has device memory.
pub(super) struct VulkanHeap {
    cpu_accessible: bool,
    size: ByteSize,
    /// The device memory of the heap, which may be a little larger than the heap.
    charged: ByteSize,
    segments: Arc<Segments>,
    group: SegmentGroup,
    /// Of the two locks, this one is taken first. The memory is freed before the charge ends and the addresses are free.
    memory: Mutex<HeapMemory>,
    addresses: AddressRange<Self>,
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
    /// Present while the heap has, or is about to get, device memory.
    charge: Option<Charge>,
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

impl VulkanHeap {
    /// Creates a heap, if its segment group has room for its memory, which takes `charged` bytes.
    pub(super) fn create(
        args: &HeapArgs,
        (memory, charged): (MemoryArgs, ByteSize),
        (segments, group): (&Arc<Segments>, SegmentGroup),
        addresses: AddressRange<Self>,
        ledger: &Arc<ResidencyLedger>,
        engine: &Arc<PagingEngine>,
    ) -> Result<Arc<Self>, DriverError> {
        let (is_resident, size, cpu_accessible) = (!args.not_resident, memory.size, memory.cpu_accessible);
        let charge = (is_resident || cpu_accessible)
            .then(|| Charge::of_resident(segments, Residence::In(group), charged))
            .transpose()?;
        let memory = HeapMemory::create(memory, is_resident, engine)?;
        let usable = memory.usable().filter(|_| is_resident);
        let record = ledger.created(args.pageable, size, is_resident);
        let heap = Arc::new_cyclic(|this: &Weak<Self>| Self {
            cpu_accessible,
            size,
            charged,
            segments: Arc::clone(segments),
            group,
            memory: Mutex::new(memory),
            addresses,
            priority: AtomicU32::new(NORMAL_PRIORITY.to_bits()),
            residency: Mutex::new(Residency {
                count: u32::from(is_resident),
                charge,
                usable,
                failure: None,
                stay: 0,
                uses: 0,
            }),
            changed: Condvar::new(),
            record,
            this: Weak::clone(this),
        });
        heap.addresses.map_to(Target::Heap(Arc::downgrade(&heap)));
        Ok(heap)
    }

    /// Begins a use by a queue, until [`end_use`](Self::end_use), during which the buffer stays. Returns a fault at `address` if the
    /// heap is not paged in.
    pub(super) fn begin_use(&self, address: u64) -> Result<Usable, PageFault> {
        let mut residency = self.residency();
        let Some(usable) = residency.usable else {
            return Err(PageFault::new(address, FaultCause::Evicted(self.describe())));
        };
        residency.uses += 1;
        Ok(usable)
    }

    /// Ends a use.
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
        self.left(&memory, begun)
    }

    /// Ends paging out after [`begin_leaving`](Self::begin_leaving). If the heap became resident again meanwhile, its return waits
    /// for that, or has done it.
    fn end_leaving(&self) -> Result<(), DriverError> {
        let mut memory = self.memory();
        let ended = memory.end_leaving();
        self.left(&memory, ended)
    }

    /// Ends the charge if the heap's memory is gone, and returns the error of paging it out if the device is lost.
    fn left(&self, memory: &HeapMemory, paged_out: Result<(), DriverError>) -> Result<(), DriverError> {
        if !memory.has_device_memory() {
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

    pub(super) fn memory(&self) -> MutexGuard<'_, HeapMemory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DriverHeap for VulkanHeap {
    fn gpu_virtual_address(&self) -> GpuVirtualAddress {
        self.addresses.start()
    }

    fn size(&self) -> ByteSize {
        self.size
    }

    fn map(&self, offset: u64, _size: u64) -> Result<NonNull<u8>, DriverError> {
        if !self.cpu_accessible {
            return Err(DriverError::NotCpuAccessible);
        }
        self.memory().map(offset)
    }

    fn record(&self) -> &PageableRecord {
        &self.record
    }

    fn segment_group(&self) -> SegmentGroup {
        self.group
    }

    fn make_resident(&self) -> Result<Option<PagingWork>, DriverError> {
        // Without the lock of the memory: paging out may be under way.
        let mut residency = self.residency();
        let is_first = residency.count == 0;
        if is_first {
            if residency.charge.is_none() {
                let charge = Charge::of_resident(&self.segments, Residence::In(self.group), self.charged)?;
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
        let action = |act: fn(&Self, u64) -> Result<(), DriverError>| {
            let heap = Weak::clone(&self.this);
            // If the heap was released meanwhile, nothing is left to page in.
            move || heap.upgrade().map_or(Ok(()), |heap| act(&heap, stay))
        };
        Ok(Some(if pages_in {
            PagingWork::new(Duration::ZERO, action(Self::arrive)).with_beginning(action(Self::begin_arrival))
        } else {
            PagingWork::new(Duration::ZERO, action(Self::wait_for_arrival))
        }))
    }

    fn evict(&self) -> Result<Option<PagingWork>, DriverError> {
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

    fn set_priority(&self, priority: f32) {
        self.priority.store(priority.to_bits(), Ordering::Relaxed);
        // While the heap is being paged, what pages it sets the priority at the end.
        if let Ok(mut memory) = self.memory.try_lock() {
            memory.set_priority(priority);
        }
    }

    fn set_name(&self, name: Option<&str>) {
        self.record.set_name(name);
    }
}

#[cfg(test)]
pub(super) mod tests;
