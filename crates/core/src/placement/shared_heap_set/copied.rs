//! Copies of a set, which show what calls would do.

use std::sync::atomic::{AtomicU32, Ordering};

use super::{Alone, SharedHeapSet};
use crate::sync::{Mutex, lock};

impl<H: Clone> SharedHeapSet<H> {
    /// Calls a function with a copy of the set, in which the same ids are live. So a call can be tried without doing it: what
    /// it returns for the copy, it would return for the set. O(lanes + heaps + allocations).
    ///
    /// # Locking
    ///
    /// The whole set is locked until the function returns, which must not use it: all lanes in the order of their numbers,
    /// then the heaps.
    ///
    /// ```
    /// use heapwright_core::placement::SharedHeapSet;
    /// use heapwright_core::{Alignment, ByteSize};
    ///
    /// let heaps: SharedHeapSet<&str> = SharedHeapSet::default();
    /// let size = ByteSize::new(200);
    /// let placed = heaps.allocate_in_new(ByteSize::from_kib(256), "a heap", size, Alignment::ONE)?;
    /// let released = heaps.with_copy(|copy| copy.free(placed.id).map(|_| copy.take_empty()))?;
    /// assert_eq!(released, ["a heap"]);
    /// assert_eq!(heaps.totals().allocation_count, 1, "nothing was freed");
    /// # Ok::<(), heapwright_core::placement::PlacementError>(())
    /// ```
    pub fn with_copy<T>(&self, of: impl FnOnce(Self) -> T) -> T {
        // All lanes: one without slabs may get one before the heaps are locked.
        let lanes: Vec<_> = self.lanes.iter().map(|lane| lock(&lane.0)).collect();
        let heaps = self.lock_heaps();
        let copy_of_heaps = heaps.copied();
        of(Self {
            slots: self.slots,
            lanes: lanes.iter().map(|lane| Alone(Mutex::new((**lane).clone()))).collect(),
            lanes_used: AtomicU32::new(self.lanes_used.load(Ordering::Relaxed)),
            keeps_slabs: self.keeps_slabs,
            heaps: Alone(Mutex::new(copy_of_heaps)),
        })
    }

    /// Returns whether a slab has no used slot. O(lanes).
    #[must_use]
    pub fn has_unused_slabs(&self) -> bool {
        self.used_lanes().any(|lane| lock(&lane.0).slab_totals().empty_slab_bytes > 0)
    }
}
