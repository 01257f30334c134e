//! The totals of all pools of an allocator, maintained so that pools need not be visited one by one.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use heapwright_core::ByteSize;
use heapwright_core::placement::HeapSetTotals;

use crate::HeapType;

/// The totals of all pools as of their last visit, and the pools that have changed since.
///
/// A pool adds itself to the list after its first change, and is visited by the next query: O(1) for each change,
/// however many pools there are.
#[derive(Debug, Default)]
pub(crate) struct PoolSums {
    sums: Mutex<[HeapsShare; HeapType::ALL.len()]>,
    changed: Mutex<Vec<Weak<dyn Counted>>>,
}

/// Heaps that are counted. Those of a pool have an entry.
pub(crate) trait Counted: fmt::Debug + Send + Sync {
    fn entry(&self) -> Option<&PoolEntry>;

    /// Returns what the heaps contribute to statistics.
    fn share(&self) -> HeapsShare;
}

/// The contribution of heaps of one kind to statistics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct HeapsShare {
    pub(crate) totals: HeapSetTotals,
    pub(crate) prefetch_misses: u64,
    pub(crate) prefetch_eliminated: u64,
    pub(crate) size_cache_hits: u64,
    pub(crate) size_cache_misses: u64,
}

/// The entry of a pool.
#[derive(Debug)]
pub(crate) struct PoolEntry {
    sums: Arc<PoolSums>,
    heap_type: HeapType,
    /// Whether the pool is in the list of changed pools.
    has_changed: AtomicBool,
    /// The contribution that the totals include.
    counted: Mutex<HeapsShare>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl PoolSums {
    /// Returns the current totals, by heap type. O(pools that changed since the last call).
    pub(crate) fn now(&self) -> [HeapsShare; HeapType::ALL.len()] {
        // Held before the list is taken, so that no concurrent call misses its entries.
        let mut sums = lock(&self.sums);
        let changed: Vec<_> = {
            let changed = std::mem::take(&mut *lock(&self.changed));
            changed.iter().filter_map(Weak::upgrade).collect()
        };
        for heaps in &changed {
            let Some(entry) = heaps.entry() else { continue };
            // Before the visit: a later change adds the pool again.
            entry.has_changed.store(false, Ordering::Relaxed);
            let (mut counted, now) = (lock(&entry.counted), heaps.share());
            let sum = &mut sums[entry.heap_type.index()];
            *sum = sum.without(&counted).with(&now);
            *counted = now;
        }
        let now = *sums;
        drop(sums);
        // These may be the last references, whose drop takes the lock of the totals.
        drop(changed);
        now
    }
}

impl PoolEntry {
    pub(crate) fn new(sums: &Arc<PoolSums>, heap_type: HeapType) -> Self {
        let sums = Arc::clone(sums);
        Self { sums, heap_type, has_changed: AtomicBool::new(false), counted: Mutex::default() }
    }

    /// Records that the pool's contents have changed. O(1), without a lock except for the first time.
    ///
    /// Relaxed is enough: a query clears the mark and then takes the locks of the pool's heaps, under which the change
    /// was made.
    pub(crate) fn note_change<T: Counted + 'static>(&self, heaps: impl FnOnce() -> Weak<T>) {
        if !self.has_changed.load(Ordering::Relaxed) && !self.has_changed.swap(true, Ordering::Relaxed) {
            lock(&self.sums.changed).push(heaps());
        }
    }

    /// Returns whether the totals include the pool's contents, or the pool will be visited again.
    pub(crate) fn is_counted(&self, share: impl Fn() -> HeapsShare) -> bool {
        self.has_changed.load(Ordering::Relaxed) || *lock(&self.counted) == share()
    }
}

impl Drop for PoolEntry {
    fn drop(&mut self) {
        let counted = *lock(&self.counted);
        let sum = &mut lock(&self.sums.sums)[self.heap_type.index()];
        *sum = sum.without(&counted);
    }
}

impl HeapsShare {
    /// Returns the sum of both.
    pub(crate) fn with(&self, other: &Self) -> Self {
        self.combined(other, ByteSize::saturating_add, u64::saturating_add)
    }

    /// Returns the difference.
    fn without(&self, part: &Self) -> Self {
        self.combined(part, ByteSize::saturating_sub, u64::saturating_sub)
    }

    fn combined(
        &self,
        other: &Self,
        bytes: impl Fn(ByteSize, ByteSize) -> ByteSize,
        count: impl Fn(u64, u64) -> u64,
    ) -> Self {
        let (one, two) = (&self.totals, &other.totals);
        Self {
            totals: HeapSetTotals {
                used: bytes(one.used, two.used),
                reserved: bytes(one.reserved, two.reserved),
                allocation_count: count(one.allocation_count, two.allocation_count),
                heap_count: count(one.heap_count, two.heap_count),
                empty_heap_count: count(one.empty_heap_count, two.empty_heap_count),
                empty: bytes(one.empty, two.empty),
            },
            prefetch_misses: count(self.prefetch_misses, other.prefetch_misses),
            prefetch_eliminated: count(self.prefetch_eliminated, other.prefetch_eliminated),
            size_cache_hits: count(self.size_cache_hits, other.size_cache_hits),
            size_cache_misses: count(self.size_cache_misses, other.size_cache_misses),
        }
    }
}
