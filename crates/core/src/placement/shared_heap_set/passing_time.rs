//! Release of empty heaps as operations, frames and time pass.

use super::SharedHeapSet;
use crate::sync::lock;

impl<H: Clone> SharedHeapSet<H> {
    /// Removes the heaps that are not worth keeping, because of operations and heaps of this set and of those that share
    /// its tally: a call that frees releases only heaps of its own set. Slabs without used slots return their memory to
    /// the heaps. O(1) per heap and slab, and O(lanes).
    pub fn pass_operations(&self) -> Vec<H> {
        self.give_up_unused_slabs();
        let mut heaps = lock(&self.heaps.0);
        std::iter::from_fn(|| heaps.take_expired()).collect()
    }

    /// Counts a frame, and removes heaps that have been empty for too many frames. See
    /// [`HeapSet::pass_frame`](super::HeapSet::pass_frame). Slabs without used slots return their memory to the
    /// heaps once in the frames for which heaps are kept. O(1) per heap and slab, and then O(lanes).
    pub fn pass_frame(&self) -> Vec<H> {
        let mut heaps = lock(&self.heaps.0);
        let removed = heaps.pass_frame();
        if heaps.is_time_for_slabs() {
            drop(heaps);
            self.give_up_unused_slabs();
        }
        removed
    }

    /// Counts a period, and removes heaps that were empty for too many. See
    /// [`HeapSet::pass_period`](super::HeapSet::pass_period). Slabs without used slots return their memory to
    /// the heaps. O(1) per heap and slab, and O(lanes).
    pub fn pass_period(&self) -> Vec<H> {
        self.give_up_unused_slabs();
        lock(&self.heaps.0).pass_period()
    }
}
