//! Insertion and removal of whole heaps, and the release of empty heaps as operations, frames and time pass.

use super::SharedHeapSet;
use crate::ByteSize;
use crate::placement::{PlacementAlgorithm, PlacementError, PlacementId};
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
    pub fn take_empty(&self, up_to: ByteSize) -> Vec<(ByteSize, H)> {
        let mut taken = lock(&self.heaps.0).take_empty(up_to);
        let mut bytes = sum(&taken);
        for lane in self.used_lanes() {
            if bytes >= up_to {
                break;
            }
            let mut lane = lock(&lane.0);
            let mut heaps = lock(&self.heaps.0);
            if lane.give_up_empty(&mut heaps) {
                let mut more = heaps.take_empty(up_to.saturating_sub(bytes));
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

    /// Removes a smallest empty heap of `at_least` to `at_most` bytes. O(n) for n empty heaps of at least these bytes.
    pub fn take_empty_fitting(&self, at_least: ByteSize, at_most: ByteSize) -> Option<(ByteSize, H)> {
        lock(&self.heaps.0).take_empty_fitting(at_least, at_most)
    }

    /// Calls a function with the owner's handle of each empty heap, and collects the results. O(n) for n
    /// empty heaps, under the lock of the heaps.
    pub fn map_empty<T>(&self, mut of: impl FnMut(&H) -> T) -> Vec<T> {
        let (heaps, mut mapped) = (lock(&self.heaps.0), Vec::new());
        heaps.empty_heaps().for_each(|heap| mapped.push(of(heap)));
        mapped
    }

    /// Frees an allocation that is in no slab, and keeps its heap even if that is empty then. Heaps that are not worth
    /// keeping leave with [`pass_operations`](Self::pass_operations). A heap that may not be reused leaves
    /// nevertheless, and with other algorithms than the default one, this is [`free`](Self::free). O(1).
    ///
    /// # Errors
    ///
    /// Returns an error if the id is not live in a heap of this set.
    pub fn free_and_keep(&self, id: PlacementId) -> Result<Vec<H>, PlacementError> {
        if self.algorithm() != PlacementAlgorithm::Default {
            return self.free(id);
        }
        let mut heaps = lock(&self.heaps.0);
        heaps.free_and_keep(id)?;
        Ok(heaps.take_unusable(id).into_iter().collect())
    }

    /// Calls a function with the owner's handle of each heap in which nothing would be left if slabs without used slots
    /// returned their memory and the allocations `unused`, which are in no slab, were freed, and collects the results.
    /// Heaps that are empty already are left out. O(n log n) for n slabs without used slots and `unused` allocations,
    /// and O(lanes).
    pub fn vacated<T>(&self, unused: &[PlacementId], of: impl FnMut(&H) -> T) -> Vec<T> {
        let mut ids: Vec<_> = unused.to_vec();
        self.used_lanes().for_each(|lane| ids.extend(lock(&lane.0).unused()));
        if ids.is_empty() {
            return Vec::new();
        }
        lock(&self.heaps.0).vacated(ids, of)
    }

    /// Returns whether [`take_empty_fitting`](Self::take_empty_fitting) would find a heap. O(n) likewise.
    #[must_use]
    pub fn has_empty_fitting(&self, at_least: ByteSize, at_most: ByteSize) -> bool {
        lock(&self.heaps.0).find_empty_fitting(at_least, at_most).is_some()
    }

    /// Removes the heaps that are not worth keeping, because of operations and heaps of this set and of those that
    /// share its tally: a call that frees releases only heaps of its own set. Slabs without used slots return their
    /// memory to the heaps. O(1) per heap and slab, and O(lanes).
    pub fn pass_operations(&self) -> Vec<H> {
        self.give_up_unused_slabs();
        let mut heaps = lock(&self.heaps.0);
        std::iter::from_fn(|| heaps.take_expired()).collect()
    }

    /// Counts a frame, and removes heaps that have been empty for [`HeapRetention::frames`]. Slabs without used slots
    /// return their memory to the heaps once in half of these frames.
    ///
    /// At most a 16th of the empty heaps leave with each frame, so that no frame pays for all of them. O(1) per heap
    /// and slab, and then O(lanes).
    ///
    /// [`HeapRetention::frames`]: crate::placement::HeapRetention::frames
    pub fn pass_frame(&self) -> Vec<H> {
        let mut heaps = lock(&self.heaps.0);
        let removed = heaps.pass_frame();
        if heaps.times.is_time_for_slabs() {
            drop(heaps);
            self.give_up_unused_slabs();
        }
        removed
    }

    /// Counts a period, and removes heaps that were empty during [`HeapRetention::periods`] whole ones, by default
    /// during the whole time since the call before the last one. Slabs without used slots return their memory to the
    /// heaps. O(1) per heap and slab, and O(lanes).
    ///
    /// The set has no clock. This is for owners that do not tell of [frames](Self::pass_frame), and whose calls
    /// may be so few that counting them would keep empty heaps for ever.
    ///
    /// [`HeapRetention::periods`]: crate::placement::HeapRetention::periods
    pub fn pass_period(&self) -> Vec<H> {
        self.give_up_unused_slabs();
        lock(&self.heaps.0).pass_period()
    }

    /// Counts a period like [`pass_period`](Self::pass_period), and leaves the heaps to
    /// [`take_overdue`](Self::take_overdue).
    pub fn count_period(&self) {
        self.give_up_unused_slabs();
        lock(&self.heaps.0).count_period();
    }

    /// Removes some of the heaps that [`pass_period`](Self::pass_period) would remove: as many as cost 2 ms to create
    /// and release, and at least one. Call it until it returns none, with pauses, so that no call releases many heaps.
    /// Until then, they are as usable as other empty heaps. O(1) per heap.
    pub fn take_overdue(&self) -> Vec<H> {
        lock(&self.heaps.0).take_slice()
    }

    /// Returns the memory of slabs without used slots to the heaps, and whether there were any. O(lanes), and O(1) per
    /// slab.
    pub fn give_up_unused_slabs(&self) -> bool {
        let mut are_any = false;
        for lane in self.used_lanes() {
            let mut lane = lock(&lane.0);
            are_any |= lane.give_up_empty(&mut lock(&self.heaps.0));
        }
        are_any
    }

    /// Reopens the heaps that are being emptied, whose run then leaves them alone. Returns whether there were any. O(1)
    /// if there is none, and O(slabs + heaps) otherwise.
    pub fn reopen_closed(&self) -> bool {
        if !lock(&self.heaps.0).has_closed() {
            return false;
        }
        for lane in self.used_lanes() {
            lock(&lane.0).reopen_slabs();
        }
        lock(&self.heaps.0).reopen_all(false);
        true
    }
}

fn sum<H>(heaps: &[(ByteSize, H)]) -> ByteSize {
    heaps.iter().fold(ByteSize::ZERO, |sum, &(size, _)| sum.saturating_add(size))
}
