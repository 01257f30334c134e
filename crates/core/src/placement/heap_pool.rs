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
/// Heaps of many sizes do not pile up: see [`make_way`](Self::make_way).
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
/// let (two, four) = (ByteSize::from_mib(2), ByteSize::from_mib(4));
/// assert_eq!(pool.take_fitting(two, two), None, "it is larger");
/// assert_eq!(pool.take_fitting(two, four), Some((four, "new")));
/// assert_eq!(pool.release(ByteSize::new(1)), [(ByteSize::from_mib(4), "old")]);
///
/// let none = HeapPool::new(HeapPooling::None);
/// assert_eq!(none.put(ByteSize::from_mib(4), "not kept"), Some("not kept"));
/// ```
#[derive(Debug)]
pub struct HeapPool<H> {
    pooling: HeapPooling,
    state: Mutex<State<H>>,
}

#[derive(Debug)]
struct State<H> {
    heaps: EmptyHeaps<H>,
    /// The most bytes of heaps that were in use at once.
    peak: ByteSize,
}

impl<H> HeapPool<H> {
    /// A pool without heaps.
    #[must_use]
    pub fn new(pooling: HeapPooling) -> Self {
        Self { pooling, state: Mutex::new(State { heaps: EmptyHeaps::default(), peak: ByteSize::ZERO }) }
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
        lock(&self.state).heaps.insert(size, heap);
        None
    }

    /// Takes out the heaps that are not kept beside a new one of `heap_size` bytes, while heaps of `in_use` bytes are in use: those
    /// with which all of them would be more than twice what was ever in use at once. The largest go first. A pool of heaps of one
    /// size keeps them all.
    #[must_use = "the heaps are the caller's to destroy"]
    pub fn make_way(&self, in_use: ByteSize, heap_size: ByteSize) -> Vec<H> {
        let mut state = lock(&self.state);
        let needed = in_use.saturating_add(heap_size);
        state.peak = state.peak.max(needed);
        let mut released = Vec::new();
        if self.pooling != HeapPooling::Segmented {
            return released;
        }
        while needed.saturating_add(state.heaps.bytes()) > state.peak.saturating_add(state.peak) {
            let Some(heap) = state.heaps.largest().and_then(|size| state.heaps.take(size)) else { break };
            released.push(heap);
        }
        released
    }

    /// Takes a heap of `at_least` to `at_most` bytes out, one of the smallest, with its size. Of equal ones, the last that was put in.
    pub fn take_fitting(&self, at_least: ByteSize, at_most: ByteSize) -> Option<(ByteSize, H)> {
        lock(&self.state).heaps.take_fitting(at_least, at_most)
    }

    /// Whether there is a heap of `at_least` to `at_most` bytes.
    #[must_use]
    pub fn has_fitting(&self, at_least: ByteSize, at_most: ByteSize) -> bool {
        lock(&self.state).heaps.smallest_from(at_least).is_some_and(|size| size <= at_most)
    }

    /// Takes heaps out until they are `bytes` together or there are no more, with their sizes.
    ///
    /// As few heaps as can be: the largest first, and the smallest that will do last. `u64::MAX` bytes are all of them.
    pub fn release(&self, bytes: ByteSize) -> Vec<(ByteSize, H)> {
        lock(&self.state).heaps.take_up_to(bytes)
    }

    /// The size of each heap in it, the smallest first. O(n) for n heaps.
    #[must_use]
    pub fn sizes(&self) -> Vec<ByteSize> {
        lock(&self.state).heaps.sizes()
    }

    /// What it holds. O(1).
    #[must_use]
    pub fn totals(&self) -> HeapPoolTotals {
        let state = lock(&self.state);
        HeapPoolTotals { heap_count: state.heaps.count(), bytes: state.heaps.bytes() }
    }

    /// Checks that the totals are the sums they claim to be. O(n); for tests.
    ///
    /// # Errors
    ///
    /// What disagrees, a defect in this crate.
    pub fn audit(&self) -> Result<(), AuditError> {
        lock(&self.state).heaps.audit()
    }
}
