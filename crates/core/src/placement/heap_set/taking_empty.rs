//! Removal of some of the empty heaps.

use super::{HeapSet, Slot};
use crate::ByteSize;

impl<H> HeapSet<H> {
    /// Removes empty heaps from the set until their total size is `up_to`, or none are left.
    ///
    /// It removes the largest first, and last the smallest that suffices; heaps that differ by less than an
    /// eighth count as equal. It removes no heap that is not needed to reach the total. O(1) each.
    pub(in super::super) fn take_empty_up_to(&mut self, up_to: ByteSize) -> Vec<(ByteSize, H)> {
        let (mut taken, mut bytes) = (Vec::new(), ByteSize::ZERO);
        while bytes < up_to {
            let missing = up_to.saturating_sub(bytes);
            let Some(slot) = self.empty.find(&self.table, missing.get()).or_else(|| self.empty.largest())
            else {
                break;
            };
            let size = self.table.heap(slot).suballocator.capacity();
            bytes = bytes.saturating_add(size);
            taken.push((size, self.remove(slot)));
        }
        taken
    }

    /// If nothing is live, removes all heaps except the first for which `keeps` returns true.
    pub(in super::super) fn take_unused(&mut self, mut keeps: impl FnMut(&H) -> bool) -> Vec<H> {
        if self.totals.allocation_count > 0 {
            return Vec::new();
        }
        let mut leaving = self.idle_slots();
        if let Some(kept) = leaving.iter().position(|&slot| keeps(&self.table.heap(slot).payload)) {
            leaving.remove(kept);
        }
        leaving.into_iter().map(|slot| self.remove(slot)).collect()
    }

    /// Removes a smallest empty heap of `at_least` to `at_most` bytes. O(1).
    ///
    /// Examines at most eight heaps whose sizes differ by less than an eighth, so it may miss a heap that fits.
    pub(in super::super) fn take_empty_fitting(
        &mut self,
        at_least: ByteSize,
        at_most: ByteSize,
    ) -> Option<(ByteSize, H)> {
        let slot = self.find_empty_fitting(at_least, at_most)?;
        let size = self.table.heap(slot).suballocator.capacity();
        Some((size, self.remove(slot)))
    }

    /// Returns whether [`take_empty_fitting`](Self::take_empty_fitting) would find a heap. O(1).
    pub(in super::super) fn has_empty_fitting(&self, at_least: ByteSize, at_most: ByteSize) -> bool {
        self.find_empty_fitting(at_least, at_most).is_some()
    }

    fn find_empty_fitting(&self, at_least: ByteSize, at_most: ByteSize) -> Option<Slot> {
        let slot = self.empty.find(&self.table, at_least.get())?;
        (self.table.heap(slot).suballocator.capacity() <= at_most).then_some(slot)
    }
}
