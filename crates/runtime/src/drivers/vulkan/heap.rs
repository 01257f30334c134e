//! Heaps: Vulkan memory with one buffer across it.

use std::any::Any;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use ash::vk;
use heapwright_core::{ByteSize, GpuVirtualAddress};

use super::address_map::{AddressMap, Target};
use super::heap_contents::HeapContents;
use super::memory::NORMAL_PRIORITY;
use super::paging_engine::Submitted;
use crate::ddi::{CpuPageProperty, DriverError, DriverHeap, HeapArgs, PagingWork, SegmentGroup};
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
    map: Arc<AddressMap>,
    address: GpuVirtualAddress,
    buffer: (vk::Buffer, u64),
    /// The work that creates the heap's memory, which queues wait for.
    new: Submitted,
    /// The memory. Of the two locks, this one is taken first. Its memory is freed before the charge ends.
    contents: Mutex<HeapContents>,
    /// The priority that the application has set, as bits.
    priority: AtomicU32,
    residency: Mutex<Residency>,
    /// Notified when the heap has been paged in, when it is evicted, and when the last use by a queue ends.
    changed: Condvar,
    record: PageableRecord,
    this: Weak<Self>,
}

/// The residency state of a heap.
struct Residency {
    /// Calls of `MakeResident` without a matching `Evict`.
    count: u32,
    /// Present while the heap has, or is about to get, device memory.
    charge: Option<Charge>,
    /// Whether the heap is paged in, so that the GPU can access it.
    has_arrived: bool,
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
    /// Creates a heap over contents, which `make` creates. Memory that can be paged out is allocated here, if the heap is to
    /// be resident.
    pub(super) fn create(
        args: &HeapArgs,
        size: ByteSize,
        (segments, group): (&Arc<Segments>, SegmentGroup),
        map: &Arc<AddressMap>,
        ledger: &Arc<ResidencyLedger>,
        make: impl FnOnce() -> Result<HeapContents, DriverError>,
    ) -> Result<Arc<Self>, DriverError> {
        let mut contents = make()?;
        let charged = contents.device_size();
        let has_memory = contents.has_device_memory();
        let charge = (has_memory || !args.not_resident)
            .then(|| Charge::of_resident(segments, Residence::In(group), charged))
            .transpose()?;
        if !has_memory && !args.not_resident {
            contents.begin_return()?;
            contents.end_return();
        }
        let new = contents.work();
        let (address, buffer) = (contents.address(), contents.buffer());
        let count = u32::from(!args.not_resident);
        let record = ledger.created(args.pageable, size, !args.not_resident);
        let heap = Arc::new_cyclic(|this: &Weak<Self>| {
            map.insert(address, size.get(), Target::Heap(Weak::clone(this)));
            Self {
                cpu_accessible: args.cpu_page_property != CpuPageProperty::NotAvailable,
                size,
                charged,
                segments: Arc::clone(segments),
                group,
                map: Arc::clone(map),
                address,
                buffer,
                new,
                contents: Mutex::new(contents),
                priority: AtomicU32::new(NORMAL_PRIORITY.to_bits()),
                residency: Mutex::new(Residency {
                    count,
                    charge,
                    has_arrived: count > 0,
                    failure: None,
                    stay: 0,
                    uses: 0,
                }),
                changed: Condvar::new(),
                record,
                this: Weak::clone(this),
            }
        });
        Ok(heap)
    }

    /// Begins a use by a queue, until [`end_use`](Self::end_use). Returns a fault at `address` if the heap is not paged
    /// in.
    pub(super) fn begin_use(&self, address: u64) -> Result<(), PageFault> {
        let mut residency = self.residency();
        if !residency.has_arrived {
            return Err(PageFault::new(address, FaultCause::Evicted(self.describe())));
        }
        residency.uses += 1;
        Ok(())
    }

    /// Ends a use.
    pub(super) fn end_use(&self) {
        let mut residency = self.residency();
        residency.uses = residency.uses.saturating_sub(1);
        if residency.uses == 0 {
            self.changed.notify_all();
        }
    }

    /// Returns the buffer and the offset in it of the byte at `address`, and the number of bytes from there to the end
    /// of the heap. Returns `None` for an address outside of the heap.
    pub(super) fn place(&self, address: u64) -> Option<(vk::Buffer, u64, u64)> {
        let offset = address.checked_sub(self.address.get())?;
        let left = self.size.get().checked_sub(offset).filter(|&left| left > 0)?;
        let (buffer, base) = self.buffer;
        Some((buffer, base + offset, left))
    }

    /// The work of the paging engine after which queues may use the heap, as long as it is paged in.
    pub(super) fn new_at(&self) -> Submitted {
        self.new
    }

    /// Returns whether the heap is paged in.
    pub(super) fn has_arrived(&self) -> bool {
        self.residency().has_arrived
    }

    fn describe(&self) -> String {
        match self.record.name() {
            Some(name) => format!("heap '{name}' ({} at {})", self.size, self.address),
            None => format!("an unnamed heap ({} at {})", self.size, self.address),
        }
    }

    /// Begins to page the heap in, unless `stay` has ended.
    fn begin_arrival(&self, stay: u64) -> Result<(), DriverError> {
        // Paging out may be under way; it ends before the contents can be locked.
        let mut contents = self.contents();
        if !self.residency().is_in(stay) {
            return Ok(());
        }
        contents.begin_return().inspect_err(|&error| {
            self.residency().failure = Some(error);
            self.changed.notify_all();
        })
    }

    /// Pages the heap in after [`begin_arrival`](Self::begin_arrival), unless `stay` has ended.
    fn arrive(&self, stay: u64) -> Result<(), DriverError> {
        let mut contents = self.contents();
        if !self.residency().is_in(stay) {
            return Ok(());
        }
        let restored = contents.finish_return();
        contents.set_priority(f32::from_bits(self.priority.load(Ordering::Relaxed)));
        if let Err(error) = &restored {
            tracing::error!(%error, "paging in failed: {}", self.describe());
        }
        let mut residency = self.residency();
        residency.has_arrived = restored.is_ok() && residency.is_in(stay);
        residency.failure = restored.err();
        self.changed.notify_all();
        restored
    }

    /// Blocks until the heap is paged in, paging in has failed, which is the error, or the stay has ended.
    fn wait_for_arrival(&self, stay: u64) -> Result<(), DriverError> {
        let waits = |now: &mut Residency| now.is_in(stay) && !now.has_arrived && now.failure.is_none();
        let now = self.changed.wait_while(self.residency(), waits).unwrap_or_else(PoisonError::into_inner);
        now.failure.filter(|_| now.is_in(stay)).map_or(Ok(()), Err)
    }

    /// Begins to page the heap out when no queue uses it any more, unless it became resident again.
    fn begin_leaving(&self) -> Result<(), DriverError> {
        // The application may not evict what the GPU uses. If it does, the memory must stay until the GPU is done.
        let used = self.changed.wait_while(self.residency(), |now| now.uses > 0 && now.count == 0);
        drop(used.unwrap_or_else(PoisonError::into_inner));
        let mut contents = self.contents();
        if self.residency().count > 0 {
            return Ok(());
        }
        let begun = contents.begin_leaving();
        self.left(&contents, begun)
    }

    /// Ends paging out after [`begin_leaving`](Self::begin_leaving). If the heap became resident again meanwhile, its return waits
    /// for that, or has done it.
    fn end_leaving(&self) -> Result<(), DriverError> {
        let mut contents = self.contents();
        let ended = contents.end_leaving();
        self.left(&contents, ended)
    }

    /// Ends the charge if the heap's memory is gone, and returns the error of paging it out if the device is lost.
    fn left(&self, contents: &HeapContents, paged_out: Result<(), DriverError>) -> Result<(), DriverError> {
        if !contents.has_device_memory() {
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

    fn contents(&self) -> MutexGuard<'_, HeapContents> {
        self.contents.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for VulkanHeap {
    fn drop(&mut self) {
        self.map.remove(self.address);
    }
}

impl DriverHeap for VulkanHeap {
    fn gpu_virtual_address(&self) -> GpuVirtualAddress {
        self.address
    }

    fn size(&self) -> ByteSize {
        self.size
    }

    fn map(&self, offset: u64, _size: u64) -> Result<NonNull<u8>, DriverError> {
        if !self.cpu_accessible {
            return Err(DriverError::NotCpuAccessible);
        }
        self.contents().map(offset)
    }

    fn record(&self) -> &PageableRecord {
        &self.record
    }

    fn segment_group(&self) -> SegmentGroup {
        self.group
    }

    fn make_resident(&self) -> Result<Option<PagingWork>, DriverError> {
        // Without the lock of the contents: paging out may be under way.
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
        if residency.has_arrived {
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
        residency.has_arrived = false;
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
        if let Ok(mut contents) = self.contents.try_lock() {
            contents.set_priority(priority);
        }
    }

    fn set_name(&self, name: Option<&str>) {
        self.record.set_name(name);
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

#[cfg(test)]
pub(super) mod tests;
