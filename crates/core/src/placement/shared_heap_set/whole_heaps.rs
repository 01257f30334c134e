//! Heaps that come and go as a whole.

use super::{SharedHeapSet, SharedPlacementId};
use crate::ByteSize;
use crate::placement::PlacementError;
use crate::sync::lock;

impl<H: Clone> SharedHeapSet<H> {
    /// Adds an empty heap of `size` bytes. O(1).
    ///
    /// # Errors
    ///
    /// A size that a suballocator cannot manage, or more heaps than can be numbered.
    pub fn insert(&self, size: ByteSize, payload: H) -> Result<(), PlacementError> {
        lock(&self.heaps.0).insert(size, payload).map(drop)
    }

    /// Takes empty heaps out of the set, whole, until they are `up_to` bytes together or there are no more.
    ///
    /// The largest first, and the smallest that will do last. When those that nothing is in are not enough, slabs without a
    /// used slot give up their memory, lane by lane. O(1) for each heap and slab, and O(lanes).
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

    /// Puts heaps back without which there are `up_to` bytes still, as one may be that was found last.
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
            debug_assert!(inserted.is_ok(), "there was such a heap a moment ago");
        }
    }

    /// Takes an empty heap of `at_least` to `at_most` bytes out of the set, one of the smallest there are. O(1).
    pub fn take_empty_fitting(&self, at_least: ByteSize, at_most: ByteSize) -> Option<(ByteSize, H)> {
        lock(&self.heaps.0).take_empty_fitting(at_least, at_most)
    }

    /// Shows what the owner holds for each heap that nothing is in, and collects what is made of it. O(n) for n of them, under
    /// the lock of the heaps.
    pub fn map_empty<T>(&self, of: impl FnMut(&H) -> T) -> Vec<T> {
        lock(&self.heaps.0).empty_heaps().map(of).collect()
    }

    /// How many allocations are in the heap of a live allocation, which is not one in a slab; a slab counts as one. O(1).
    #[must_use]
    pub fn count_in_heap_of(&self, id: SharedPlacementId) -> Option<u64> {
        lock(&self.heaps.0).count_in_heap_of(id.0).filter(|_| id.0.slot().is_none())
    }

    /// Whether [`take_empty_fitting`](Self::take_empty_fitting) would find a heap. O(1).
    #[must_use]
    pub fn has_empty_fitting(&self, at_least: ByteSize, at_most: ByteSize) -> bool {
        lock(&self.heaps.0).has_empty_fitting(at_least, at_most)
    }
}

fn sum<H>(heaps: &[(ByteSize, H)]) -> ByteSize {
    heaps.iter().fold(ByteSize::ZERO, |sum, &(size, _)| sum.saturating_add(size))
}
