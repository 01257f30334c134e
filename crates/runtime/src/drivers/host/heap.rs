//! Memory of the simulated GPU.

use std::any::Any;
use std::fmt;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use heapwright_core::{ByteSize, GpuVirtualAddress};

use super::address_space::{AddressRange, FaultCause, PageFault, Target};
use super::reservation::Reservation;
use super::segment::{Charge, Segments};
use crate::ddi::{CpuPageProperty, DriverError, DriverHeap, HeapArgs, PagingWork, SegmentGroup};
use crate::residency::{PageableRecord, ResidencyLedger};

/// A heap: reserved host memory behind a range of GPU addresses, charged to a segment group while it is resident.
pub(super) struct HostHeap {
    cpu_accessible: bool,
    memory: Reservation,
    addresses: AddressRange,
    size: ByteSize,
    segments: Arc<Segments>,
    group: SegmentGroup,
    residency: Mutex<Residency>,
    record: PageableRecord,
    /// To stand behind tiles.
    this: Weak<Self>,
}

/// Why the heap is in its segment group.
#[derive(Debug)]
struct Residency {
    /// `MakeResident` without its `Evict`.
    count: u32,
    /// Held while the count is not zero.
    charge: Option<Charge>,
    /// The bytes are where the GPU can reach them; not before they are paged in.
    has_arrived: bool,
}

impl HostHeap {
    /// Makes a heap of `size` bytes in a segment group. Each step gives back what it took when a later one fails.
    pub(super) fn create(
        args: &HeapArgs,
        size: ByteSize,
        segments: &Arc<Segments>,
        group: SegmentGroup,
        addresses: AddressRange,
        ledger: &Arc<ResidencyLedger>,
    ) -> Result<Arc<Self>, DriverError> {
        let residency = if args.not_resident {
            Residency { count: 0, charge: None, has_arrived: false }
        } else {
            Residency { count: 1, charge: Some(Charge::new(segments, group, size)?), has_arrived: true }
        };
        let memory = Reservation::new(size).ok_or(DriverError::HostOutOfMemory { requested: size })?;
        let record = ledger.created(args.pageable, size, !args.not_resident);
        let heap = Arc::new_cyclic(|this| Self {
            cpu_accessible: args.cpu_page_property != CpuPageProperty::NotAvailable,
            memory,
            addresses,
            size,
            segments: Arc::clone(segments),
            group,
            residency: Mutex::new(residency),
            record,
            this: Weak::clone(this),
        });
        heap.addresses.map_to(Target::Heap(Arc::downgrade(&heap)));
        Ok(heap)
    }

    /// Whether the GPU may touch it; a fault at `address` otherwise.
    pub(super) fn check_access(&self, address: u64) -> Result<(), PageFault> {
        if self.residency().has_arrived {
            return Ok(());
        }
        Err(PageFault::new(address, FaultCause::Evicted(self.describe())))
    }

    /// Bytes for the GPU or the CPU, whatever the CPU may see.
    pub(super) fn bytes(&self, offset: u64, size: u64) -> Result<NonNull<u8>, DriverError> {
        self.memory
            .commit(offset, size)
            .ok_or(DriverError::HostOutOfMemory { requested: ByteSize::new(size) })
    }

    pub(super) fn downgrade(&self) -> Weak<Self> {
        Weak::clone(&self.this)
    }

    pub(super) fn size(&self) -> ByteSize {
        self.size
    }

    fn describe(&self) -> String {
        let start = self.addresses.start();
        match self.record.name() {
            Some(name) => format!("heap '{name}' ({} at {start})", self.size),
            None => format!("an unnamed heap ({} at {start})", self.size),
        }
    }

    fn residency(&self) -> MutexGuard<'_, Residency> {
        self.residency.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DriverHeap for HostHeap {
    fn gpu_virtual_address(&self) -> GpuVirtualAddress {
        self.addresses.start()
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
        self.group
    }

    fn make_resident(&self) -> Result<Option<PagingWork>, DriverError> {
        let mut residency = self.residency();
        if residency.count > 0 {
            residency.count = residency.count.saturating_add(1);
            return Ok(None);
        }
        residency.charge = Some(Charge::new(&self.segments, self.group, self.size)?);
        residency.count = 1;
        let Some(time) = self.segments.paging_time(self.size) else {
            residency.has_arrived = true;
            return Ok(None);
        };
        let heap = self.downgrade();
        Ok(Some(Box::new(move || {
            std::thread::sleep(time);
            // Released, or evicted again, meanwhile: then there is nothing to arrive.
            if let Some(heap) = heap.upgrade() {
                let mut residency = heap.residency();
                residency.has_arrived = residency.count > 0;
            }
        })))
    }

    fn evict(&self) -> Result<(), DriverError> {
        let mut residency = self.residency();
        residency.count = residency.count.checked_sub(1).ok_or(DriverError::NotResident)?;
        if residency.count == 0 {
            residency.charge = None;
            residency.has_arrived = false;
        }
        Ok(())
    }

    fn is_resident(&self) -> bool {
        self.residency().has_arrived
    }

    fn set_name(&self, name: &str) {
        self.record.set_name(name);
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl fmt::Debug for HostHeap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostHeap")
            .field("size", &self.size)
            .field("start", &self.addresses.start())
            .field("group", &self.group)
            .finish_non_exhaustive()
    }
}
