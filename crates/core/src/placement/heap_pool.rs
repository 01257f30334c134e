//! Empty heaps between an engine and the device.

use super::engine::EmptyHeaps;
use crate::ByteSize;
use crate::suballoc::AuditError;
use crate::sync::{Mutex, lock};

/// Which empty heaps a [`HeapPool`] keeps: GPGMM's pool algorithms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HeapPooling {
    /// Those of this size: `FIXED_POOL`.
    Fixed(ByteSize),
    /// All: `SEGMENTED_POOL`.
    #[default]
    Segmented,
    /// None: `RESOURCE_ALLOCATOR_FLAG_ALWAYS_ON_DEMAND`.
    None,
}

/// What a pool holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HeapPoolTotals {
    /// Heaps.
    pub heap_count: u64,
    /// Bytes of heaps.
    pub bytes: ByteSize,
}

/// Keeps heaps that nothing is in for the next that wants one of their size.
///
/// Several [engines](super::HeapEngine) may share a pool, so that a heap that leaves one of them serves another. It locks
/// itself. Calls are O(log n) for n distinct sizes of heaps in it, [`totals`](Self::totals) is O(1).
///
/// ```
/// use heapwright_core::ByteSize;
/// use heapwright_core::placement::{HeapPool, HeapPooling};
///
/// let pool = HeapPool::new(HeapPooling::Segmented);
/// assert_eq!(pool.put(ByteSize::from_mib(4), "old"), None);
/// assert_eq!(pool.put(ByteSize::from_mib(4), "new"), None);
/// assert_eq!(pool.take(ByteSize::from_mib(2)), None, "a heap of exactly the size or none");
/// assert_eq!(pool.take(ByteSize::from_mib(4)), Some("new"));
/// assert_eq!(pool.release(ByteSize::new(1)), [(ByteSize::from_mib(4), "old")]);
///
/// let none = HeapPool::new(HeapPooling::None);
/// assert_eq!(none.put(ByteSize::from_mib(4), "not kept"), Some("not kept"));
/// ```
#[derive(Debug)]
pub struct HeapPool<H> {
    pooling: HeapPooling,
    heaps: Mutex<EmptyHeaps<H>>,
}

impl<H> HeapPool<H> {
    /// A pool without heaps.
    #[must_use]
    pub fn new(pooling: HeapPooling) -> Self {
        Self { pooling, heaps: Mutex::new(EmptyHeaps::default()) }
    }

    /// Which heaps it keeps.
    #[must_use]
    pub fn pooling(&self) -> HeapPooling {
        self.pooling
    }

    /// Puts a heap of `size` bytes in; answers it when the pool does not keep it.
    #[must_use = "a heap that is not kept is the caller's to destroy"]
    pub fn put(&self, size: ByteSize, heap: H) -> Option<H> {
        let keeps = match self.pooling {
            HeapPooling::Fixed(fixed) => size == fixed,
            HeapPooling::Segmented => true,
            HeapPooling::None => false,
        };
        if !keeps {
            return Some(heap);
        }
        lock(&self.heaps).insert(size, heap);
        None
    }

    /// Takes a heap of exactly `size` bytes out, the one that was put in last.
    pub fn take(&self, size: ByteSize) -> Option<H> {
        lock(&self.heaps).take(size)
    }

    /// Takes heaps out until they are `bytes` together or there are no more, with their sizes.
    ///
    /// As few heaps as can be: the largest first, and the smallest that will do last. `u64::MAX` bytes are all of them.
    pub fn release(&self, bytes: ByteSize) -> Vec<(ByteSize, H)> {
        lock(&self.heaps).take_up_to(bytes)
    }

    /// What it holds. O(1).
    #[must_use]
    pub fn totals(&self) -> HeapPoolTotals {
        let heaps = lock(&self.heaps);
        HeapPoolTotals { heap_count: heaps.count(), bytes: heaps.bytes() }
    }

    /// Checks that the totals are the sums they claim to be. O(n); for tests.
    ///
    /// # Errors
    ///
    /// What disagrees, a defect in this crate.
    pub fn audit(&self) -> Result<(), AuditError> {
        lock(&self.heaps).audit()
    }
}
