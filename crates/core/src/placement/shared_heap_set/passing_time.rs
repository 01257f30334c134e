//! Release of empty heaps as frames and time pass.

use std::sync::atomic::Ordering;

use super::SharedHeapSet;
use crate::ByteSize;
use crate::sync::lock;

impl<H: Clone> SharedHeapSet<H> {
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

    /// Returns the total size of the empty heaps. O(1), without a lock; the value may be outdated.
    #[must_use]
    #[inline]
    pub fn empty_bytes(&self) -> ByteSize {
        ByteSize::new(self.empty_bytes.load(Ordering::Relaxed))
    }

    /// Removes heaps that were empty since the call before the last one. See
    /// [`HeapSet::pass_period`](super::HeapSet::pass_period). Slabs without used slots return their memory to
    /// the heaps. O(1) per heap and slab, and O(lanes).
    pub fn pass_period(&self) -> Vec<H> {
        self.give_up_unused_slabs();
        lock(&self.heaps.0).pass_period()
    }
}
