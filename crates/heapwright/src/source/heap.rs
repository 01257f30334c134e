//! Heaps that the allocator created.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use heapwright_core::ByteSize;
use heapwright_d3d12::*;

use super::heap_time::HeapTimer;
use super::ledger::{Charge, Ledger};
use super::managed::MemoryReference;
use crate::error::{Obstacle, Row};
use crate::recording::{HeapMemory, Recorded, Recording};
use crate::residency::ResidencyHeap;

/// A heap, and its charge. Dropping the last reference releases it to the device, which is timed.
pub(crate) struct Heap {
    /// `None` only while it is dropped. The residency heap, if a manager manages the heap, comes second: it releases
    /// the last reference.
    parts: Option<(ID3D12Heap, Option<Arc<ResidencyHeap>>)>,
    size: ByteSize,
    timer: Arc<HeapTimer>,
    charge: Mutex<Charge>,
    /// Whether the heap was prefetched and has not been used yet.
    is_prefetched: AtomicBool,
    /// Held in a pool.
    permit: Option<HeapPermit>,
    /// The heap in the allocator's recording, unless the manager's recording has it.
    recorded: Option<Recorded>,
}

impl Drop for Heap {
    /// Releases the memory; the charge and the permit end after it.
    fn drop(&mut self) {
        match self.parts.take() {
            // Somebody else releases it.
            Some((_, Some(residency))) if Arc::strong_count(&residency) > 1 => {}
            parts => self.timer.free(self.size, parts),
        }
    }
}

impl Heap {
    /// Wraps a new heap, which has this description except for the size, and records it, unless the residency manager
    /// has recorded it in the same file.
    pub(crate) fn new(
        timer: &Arc<HeapTimer>,
        desc: &D3D12_HEAP_DESC,
        size: ByteSize,
        (heap, residency, charge): (ID3D12Heap, Option<ResidencyHeap>, Charge),
        permit: Option<HeapPermit>,
    ) -> Arc<Self> {
        let recorded = timer.recording().and_then(|recording| {
            let of_manager = residency.as_ref().and_then(ResidencyHeap::recorded);
            if of_manager.is_some_and(|recorded| recorded.id_in(recording).is_some()) {
                return None;
            }
            let &D3D12_HEAP_DESC { Properties: properties, Alignment: alignment, Flags: flags, .. } = desc;
            recording.heap(&HeapMemory { size: size.get(), alignment, properties, flags })
        });
        Arc::new(Self {
            parts: Some((heap, residency.map(Arc::new))),
            size,
            timer: Arc::clone(timer),
            charge: Mutex::new(charge),
            is_prefetched: AtomicBool::new(false),
            permit,
            recorded,
        })
    }

    #[inline]
    fn parts(&self) -> &(ID3D12Heap, Option<Arc<ResidencyHeap>>) {
        self.parts.as_ref().expect("the parts are taken when it is dropped")
    }

    /// Returns the heap's id in the file of a recording.
    pub(crate) fn id_in(&self, recording: &Recording) -> Option<u64> {
        let of_manager = self.residency().and_then(ResidencyHeap::recorded);
        self.recorded.as_ref().or(of_manager)?.id_in(recording)
    }

    /// Marks the heap as prefetched.
    pub(crate) fn mark_prefetched(&self) {
        self.is_prefetched.store(true, Ordering::Relaxed);
    }

    /// Returns whether the heap was prefetched and is used for the first time.
    pub(crate) fn take_prefetched(&self) -> bool {
        self.is_prefetched.load(Ordering::Relaxed) && self.is_prefetched.swap(false, Ordering::Relaxed)
    }

    /// Returns the object by which the residency manager knows the heap.
    #[inline]
    pub(crate) fn residency(&self) -> Option<&ResidencyHeap> {
        self.parts().1.as_deref()
    }

    /// Counts one more user of the heap: an allocation in it, or a move to it.
    #[inline]
    pub(crate) fn add_user(&self) {
        if let Some(residency) = self.residency() {
            residency.add_user();
        }
    }

    /// Counts one user of the heap less.
    #[inline]
    pub(crate) fn remove_user(&self) {
        if let Some(residency) = self.residency() {
            residency.remove_user();
        }
    }

    /// Returns a reference that keeps the object alive, and with it the memory.
    pub(crate) fn residency_reference(&self) -> Option<MemoryReference> {
        self.parts().1.clone().map(MemoryReference::of_heap)
    }

    /// Returns whether the heap, which is in no set, may be released to the device. If so, this must be done: its
    /// pool no longer counts it.
    pub(crate) fn leave_pool(&self) -> bool {
        self.permit.as_ref().is_none_or(HeapPermit::give_up)
    }

    /// Returns whether a heap that [left](Self::leave_pool) its pool may be put back. If so, the pool counts it again.
    pub(crate) fn return_to_pool(&self) -> bool {
        self.permit.as_ref().is_none_or(HeapPermit::take_back)
    }

    pub(crate) fn d3d12(&self) -> &ID3D12Heap {
        &self.parts().0
    }

    pub(crate) fn size(&self) -> ByteSize {
        self.size
    }

    /// Charges the heap in another ledger. If its limits do not allow it, the charge stays.
    pub(crate) fn transfer_to(&self, ledger: &Arc<Ledger>) -> Result<(), Row> {
        let mut charge = self.charge.lock().unwrap_or_else(PoisonError::into_inner);
        *charge = charge.transferred(ledger)?;
        Ok(())
    }
}

/// Counts the heaps of a pool. A heap that [leaves](HeapPermit::give_up) is not counted while the device destroys it.
pub(crate) struct PoolHeaps {
    least: u64,
    /// Zero is no limit.
    most: u64,
    count: AtomicU64,
    /// The number of heaps that have the pool's heap size. Heaps of their own may have another size.
    regular_count: AtomicU64,
}

impl PoolHeaps {
    /// Creates the counts of a pool that keeps `least` heaps of its heap size, and has no more than `most` heaps; zero
    /// is no limit.
    pub(crate) fn new(least: u64, most: u64) -> Arc<Self> {
        let [count, regular_count] = Default::default();
        Arc::new(Self { least, most, count, regular_count })
    }

    /// Checks whether one more heap is permitted.
    pub(crate) fn check(&self) -> Result<(), Obstacle> {
        let is_permitted = self.most == 0 || self.count.load(Ordering::Relaxed) < self.most;
        if is_permitted { Ok(()) } else { Err(Obstacle::HeapCount { limit: self.most }) }
    }

    /// Counts one more heap, if the limit permits it.
    fn count_one(&self, is_regular: bool) -> Result<(), Obstacle> {
        let limit = if self.most == 0 { u64::MAX } else { self.most };
        let next = |count: u64| (count < limit).then_some(count + 1);
        self.count
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, next)
            .map_err(|_| Obstacle::HeapCount { limit })?;
        if is_regular {
            self.regular_count.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Counts one more heap, if the limit permits it.
    pub(crate) fn add(self: &Arc<Self>, is_regular: bool) -> Result<HeapPermit, Obstacle> {
        self.count_one(is_regular)?;
        Ok(HeapPermit { pool: Arc::clone(self), is_regular, is_given_up: AtomicBool::new(false) })
    }
}

/// A permission to create one of a pool's heaps.
pub(crate) struct HeapPermit {
    pool: Arc<PoolHeaps>,
    is_regular: bool,
    is_given_up: AtomicBool,
}

impl HeapPermit {
    /// Gives the permission up, unless the pool would then have fewer heaps of its heap size than its minimum. Returns
    /// whether it did; the heap, which is in no set, must then be released to the device.
    pub(crate) fn give_up(&self) -> bool {
        if self.is_regular {
            let next = |count: u64| (count > self.pool.least).then(|| count - 1);
            if self.pool.regular_count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).is_err() {
                return false;
            }
        }
        self.pool.count.fetch_sub(1, Ordering::Relaxed);
        self.is_given_up.store(true, Ordering::Relaxed);
        true
    }

    /// Takes the permission back after it was given up, unless the pool has as many heaps as it may by now. Returns
    /// whether it did.
    fn take_back(&self) -> bool {
        let is_counted = self.pool.count_one(self.is_regular).is_ok();
        self.is_given_up.store(!is_counted, Ordering::Relaxed);
        is_counted
    }
}

impl Drop for HeapPermit {
    fn drop(&mut self) {
        if *self.is_given_up.get_mut() {
            return;
        }
        self.pool.count.fetch_sub(1, Ordering::Relaxed);
        if self.is_regular {
            self.pool.regular_count.fetch_sub(1, Ordering::Relaxed);
        }
    }
}
