//! Insertion and removal of whole heaps.

use super::{SharedHeapSet, SharedPlacementId};
use crate::ByteSize;
use crate::placement::PlacementError;
use crate::sync::lock;

impl<H: Clone> SharedHeapSet<H> {
    /// Adds an empty heap of `size` bytes. O(1).
    ///
    /// # Errors
    ///
    /// Returns an error if the size cannot be managed, or there are too many heaps.
    pub fn insert(&self, size: ByteSize, payload: H) -> Result<(), PlacementError> {
        lock(&self.heaps.0).insert(size, payload).map(drop)
    }

    /// Removes empty heaps from the set until their total size is `up_to`, or none are left.
    ///
    /// It removes the largest first, and last the smallest that suffices. If the empty heaps are not enough,
    /// slabs without used slots return their memory, lane by lane. O(1) per heap and slab, and O(lanes).
    pub fn take_empty_up_to(&self, up_to: ByteSize) -> Vec<(ByteSize, H)> {
        let mut taken = lock(&self.heaps.0).take_empty_up_to(up_to);
        let mut bytes = sum(&taken);
        for lane in self.used_lanes() {
            if bytes >= up_to {
                break;
            }
            let mut lane = lock(&lane.0);
            let mut heaps = lock(&self.heaps.0);
            if lane.give_up_empty(&mut heaps) {
                let mut more = heaps.take_empty_up_to(up_to.saturating_sub(bytes));
                bytes = bytes.saturating_add(sum(&more));
                taken.append(&mut more);
            }
        }
        self.put_back_superfluous(&mut taken, bytes, up_to);
        taken
    }

    /// Puts back heaps that are not needed to reach `up_to` bytes; the heap found last may make an earlier
    /// one unnecessary.
    fn put_back_superfluous(&self, taken: &mut Vec<(ByteSize, H)>, mut bytes: ByteSize, up_to: ByteSize) {
        let superfluous = taken.extract_if(.., |&mut (size, _)| {
            let is_superfluous = bytes.saturating_sub(size) >= up_to;
            if is_superfluous {
                bytes = bytes.saturating_sub(size);
            }
            is_superfluous
        });
        for (size, heap) in superfluous {
            let inserted = self.insert(size, heap);
            debug_assert!(inserted.is_ok(), "the heap was just found");
        }
    }

    /// If nothing is live, removes all heaps except the first for which `keeps` returns true. O(n) for n heaps then.
    pub fn take_unused(&self, keeps: impl FnMut(&H) -> bool) -> Vec<H> {
        lock(&self.heaps.0).take_unused(keeps)
    }

    /// Removes a smallest empty heap of `at_least` to `at_most` bytes. O(1).
    pub fn take_empty_fitting(&self, at_least: ByteSize, at_most: ByteSize) -> Option<(ByteSize, H)> {
        lock(&self.heaps.0).take_empty_fitting(at_least, at_most)
    }

    /// Calls a function with the owner's handle of each empty heap, and collects the results. O(n) for n
    /// empty heaps, under the lock of the heaps.
    pub fn map_empty<T>(&self, of: impl FnMut(&H) -> T) -> Vec<T> {
        lock(&self.heaps.0).empty_heaps().map(of).collect()
    }

    /// Returns the number of allocations in the heap of a live allocation, where a slab counts as one.
    /// Returns `None` for an allocation in a slab. O(1).
    #[must_use]
    pub fn count_in_heap_of(&self, id: SharedPlacementId) -> Option<u64> {
        lock(&self.heaps.0).count_in_heap_of(id.0).filter(|_| id.0.slot().is_none())
    }

    /// Returns whether [`take_empty_fitting`](Self::take_empty_fitting) would find a heap. O(1).
    #[must_use]
    pub fn has_empty_fitting(&self, at_least: ByteSize, at_most: ByteSize) -> bool {
        lock(&self.heaps.0).has_empty_fitting(at_least, at_most)
    }
}

fn sum<H>(heaps: &[(ByteSize, H)]) -> ByteSize {
    heaps.iter().fold(ByteSize::ZERO, |sum, &(size, _)| sum.saturating_add(size))
}
