//! Pools of empty heaps between an engine and the device.

use super::engine::EmptyHeaps;
use super::idle_times::Moment;
use crate::ByteSize;
use crate::suballoc::AuditError;
use crate::sync::{Mutex, lock};

/// The empty heaps that a [`HeapPool`] keeps: GPGMM's pool algorithms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HeapPooling {
    /// Heaps of this size: `FIXED_POOL`.
    Fixed(ByteSize),
    /// All heaps: `SEGMENTED_POOL`.
    #[default]
    Segmented,
    /// No heaps: `RESOURCE_ALLOCATOR_FLAG_ALWAYS_ON_DEMAND`.
    None,
}

/// The totals of a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HeapPoolTotals {
    /// The number of heaps.
    pub heap_count: u64,
    /// The total size of the heaps.
    pub bytes: ByteSize,
}

/// Keeps empty heaps until a heap of their size is needed.
///
/// [`make_way`](Self::make_way) prevents heaps of many sizes from accumulating.
///
/// Several [engines](super::HeapEngine) may share a pool, so that a heap that leaves one engine can serve
/// another. The pool locks itself. Calls are O(log n) for n distinct heap sizes; [`totals`](Self::totals) is
/// O(1).
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
pub struct HeapPool<H> {
    pooling: HeapPooling,
    state: Mutex<State<H>>,
}

struct State<H> {
    heaps: EmptyHeaps<H>,
    /// The largest total size of heaps that were in use at once.
    peak: ByteSize,
}

impl<H> HeapPool<H> {
    /// Creates a pool without heaps.
    #[must_use]
    pub fn new(pooling: HeapPooling) -> Self {
        Self { pooling, state: Mutex::new(State { heaps: EmptyHeaps::default(), peak: ByteSize::ZERO }) }
    }

    /// Returns which heaps the pool keeps.
    #[must_use]
    pub fn pooling(&self) -> HeapPooling {
        self.pooling
    }

    /// Adds a heap of `size` bytes. Returns the heap if the pool does not keep it.
    #[must_use = "the caller must destroy a heap that is not kept"]
    pub fn put(&self, size: ByteSize, heap: H) -> Option<H> {
        let keeps = match self.pooling {
            HeapPooling::Fixed(fixed) => size == fixed,
            HeapPooling::Segmented => true,
            HeapPooling::None => false,
        };
        if !keeps {
            return Some(heap);
        }
        lock(&self.state).heaps.insert(size, Moment::default(), heap);
        None
    }

    /// Removes the heaps that the pool should not keep in addition to a new heap of `heap_size` bytes, while
    /// heaps of `in_use` bytes are in use. It keeps the total, with the new heap, at no more than twice the
    /// peak of heaps in use. The largest heaps are removed first. A pool of heaps of one size keeps them all.
    #[must_use = "the caller must destroy the returned heaps"]
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

    /// Removes a smallest heap of `at_least` to `at_most` bytes, and returns it with its size. Among equals,
    /// the heap added last is taken.
    pub fn take_fitting(&self, at_least: ByteSize, at_most: ByteSize) -> Option<(ByteSize, H)> {
        lock(&self.state).heaps.take_fitting(at_least, at_most)
    }

    /// Returns whether there is a heap of `at_least` to `at_most` bytes.
    #[must_use]
    pub fn has_fitting(&self, at_least: ByteSize, at_most: ByteSize) -> bool {
        lock(&self.state).heaps.smallest_from(at_least).is_some_and(|size| size <= at_most)
    }

    /// Removes heaps until their total size is `bytes`, or none are left, and returns them with their sizes.
    ///
    /// Removes the largest heaps first, and last the smallest heap that suffices, so that few heaps are removed.
    /// `u64::MAX` bytes removes all heaps.
    pub fn release(&self, bytes: ByteSize) -> Vec<(ByteSize, H)> {
        lock(&self.state).heaps.take_up_to(bytes)
    }

    /// Returns the size of each heap, in ascending order. O(n) for n heaps.
    #[must_use]
    pub fn sizes(&self) -> Vec<ByteSize> {
        lock(&self.state).heaps.sizes()
    }

    /// Returns the totals of the pool. O(1).
    #[must_use]
    pub fn totals(&self) -> HeapPoolTotals {
        let state = lock(&self.state);
        HeapPoolTotals { heap_count: state.heaps.count(), bytes: state.heaps.bytes() }
    }

    /// Checks the totals against the heaps. O(n); for tests.
    ///
    /// # Errors
    ///
    /// Returns the first disagreement, a defect in this crate.
    pub fn audit(&self) -> Result<(), AuditError> {
        lock(&self.state).heaps.audit()
    }
}
