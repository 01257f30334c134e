//! Heaps of the simulated GPU.

use std::ptr::NonNull;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use heapwright_core::{ByteSize, GpuVirtualAddress};

use super::heap_time::{HeapTime, PaidHeap};
use crate::ddi::{CpuPageProperty, DriverError, DriverHeap, HeapArgs, PagingWork, SegmentGroup};
use crate::drivers::address_space::{AddressRange, Target};
use crate::drivers::page_fault::{FaultCause, PageFault};
use crate::drivers::reservation::{Pages, Reservation};
use crate::drivers::segment::{Charge, Residence, Segments};
use crate::residency::{PageableRecord, ResidencyLedger};

/// A heap: reserved host memory mapped to a range of GPU addresses, charged to a segment group while it is resident.
pub(super) struct HostHeap {
    cpu_accessible: bool,
    memory: Reservation,
    addresses: AddressRange<Self>,
    size: ByteSize,
    segments: Arc<Segments>,
    residence: Residence,
    paging_nanos_per_mib: u64,
    residency: Mutex<Residency>,
    /// Notified when the heap has been paged in, and when it is evicted.
    changed: Condvar,
    record: PageableRecord,
    /// Held for its drop.
    _cost: PaidHeap,
    /// A reference for paging work.
    this: Weak<Self>,
}

/// The residency state of a heap.
struct Residency {
    /// Calls of `MakeResident` without a matching `Evict`.
    count: u32,
    /// Present while the count is not zero.
    charge: Option<Charge>,
    /// The segment group of the charge, or of the last one.
    group: SegmentGroup,
    /// Whether the heap is paged in, so that the GPU can access it.
    has_arrived: bool,
    /// Counts the stays in the segment group, from a first `MakeResident` to the last `Evict`. Paging work for one stay
    /// has no effect on the next.
    stay: u64,
}

impl Residency {
    /// Returns whether `stay` has not ended.
    fn is_in(&self, stay: u64) -> bool {
        self.count > 0 && self.stay == stay
    }
}

impl HostHeap {
    /// Creates a heap of `size` bytes, charged to a segment group unless it is created not resident. On error, nothing
    /// stays allocated.
    pub(super) fn create(
        args: &HeapArgs,
        size: ByteSize,
        segments: &Arc<Segments>,
        (residence, paging_nanos_per_mib): (Residence, u64),
        addresses: AddressRange<Self>,
        ledger: &Arc<ResidencyLedger>,
        heap_time: &Arc<HeapTime>,
    ) -> Result<Arc<Self>, DriverError> {
        let residency = if args.not_resident {
            let group = match residence {
                Residence::In(group) => group,
                Residence::LocalOrSystem => SegmentGroup::Local,
            };
            Residency { count: 0, charge: None, group, has_arrived: false, stay: 0 }
        } else {
            let charge = Charge::of_resident(segments, residence, size)?;
            Residency { count: 1, group: charge.group(), charge: Some(charge), has_arrived: true, stay: 0 }
        };
        let memory =
            Reservation::new(size, Pages::Small).ok_or(DriverError::HostOutOfMemory { requested: size })?;
        let record = ledger.created(args.pageable, size, !args.not_resident);
        let cost = heap_time.pay(args, size);
        let heap = Arc::new_cyclic(|this| Self {
            cpu_accessible: args.cpu_page_property != CpuPageProperty::NotAvailable,
            memory,
            addresses,
            size,
            segments: Arc::clone(segments),
            residence,
            paging_nanos_per_mib,
            residency: Mutex::new(residency),
            changed: Condvar::new(),
            record,
            _cost: cost,
            this: Weak::clone(this),
        });
        heap.addresses.map_to(Target::Heap(Arc::downgrade(&heap)));
        Ok(heap)
    }

    /// Checks that the GPU may access the heap; otherwise returns a fault at `address`.
    pub(super) fn check_access(&self, address: u64) -> Result<(), PageFault> {
        if self.residency().has_arrived {
            return Ok(());
        }
        Err(PageFault::new(address, FaultCause::Evicted(self.describe())))
    }

    /// Returns a pointer to bytes of the heap, independently of its CPU access.
    pub(super) fn bytes(&self, offset: u64, size: u64) -> Result<NonNull<u8>, DriverError> {
        self.memory
            .commit(offset, size)
            .ok_or(DriverError::HostOutOfMemory { requested: ByteSize::new(size) })
    }

    fn describe(&self) -> String {
        let start = self.addresses.start();
        match self.record.name() {
            Some(name) => format!("heap '{name}' ({} at {start})", self.size),
            None => format!("an unnamed heap ({} at {start})", self.size),
        }
    }

    /// Marks the heap as paged in, unless `stay` has ended.
    fn arrive(&self, stay: u64) {
        let mut residency = self.residency();
        if residency.is_in(stay) {
            residency.has_arrived = true;
            self.changed.notify_all();
        }
    }

    /// Returns the time to page the heap in.
    fn paging_time(&self) -> Duration {
        let nanos = (u128::from(self.size.get()) * u128::from(self.paging_nanos_per_mib)) >> 20;
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// Blocks until the heap is paged in or the stay has ended.
    fn wait_for_arrival(&self, stay: u64) {
        let residency = self.residency();
        let waited = self.changed.wait_while(residency, |now| now.is_in(stay) && !now.has_arrived);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    fn residency(&self) -> MutexGuard<'_, Residency> {
        self.residency.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DriverHeap for HostHeap {
    fn gpu_virtual_address(&self) -> GpuVirtualAddress {
        self.addresses.start()
    }

    fn size(&self) -> ByteSize {
        self.size
    }

    fn map(&self, offset: u64, size: u64) -> Result<NonNull<u8>, DriverError> {
        if !self.cpu_accessible {
            return Err(DriverError::NotCpuAccessible);
        }
        self.bytes(offset, size)
    }

    fn record(&self) -> &PageableRecord {
        &self.record
    }

    fn segment_group(&self) -> SegmentGroup {
        self.residency().group
    }

    fn make_resident(&self) -> Result<Option<PagingWork>, DriverError> {
        let mut residency = self.residency();
        let is_first = residency.count == 0;
        if is_first {
            let charge = Charge::of_resident(&self.segments, self.residence, self.size)?;
            residency.group = charge.group();
            residency.charge = Some(charge);
            residency.stay += 1;
        }
        residency.count = residency.count.saturating_add(1);
        if residency.has_arrived {
            return Ok(None);
        }
        let (heap, stay) = (Weak::clone(&self.this), residency.stay);
        let time = if is_first { self.paging_time() } else { Duration::ZERO };
        Ok(Some(PagingWork::new(time, move || {
            // If the heap was released meanwhile, nothing is left to page in.
            if let Some(heap) = heap.upgrade() {
                if is_first { heap.arrive(stay) } else { heap.wait_for_arrival(stay) }
            }
            Ok(())
        })))
    }

    fn evict(&self) -> Result<Option<PagingWork>, DriverError> {
        let mut residency = self.residency();
        residency.count = residency.count.checked_sub(1).ok_or(DriverError::NotResident)?;
        if residency.count == 0 {
            residency.charge = None;
            residency.has_arrived = false;
            self.changed.notify_all();
        }
        Ok(None)
    }

    fn set_name(&self, name: Option<&str>) {
        self.record.set_name(name);
    }
}
