//! Requests that want to lie low: at the lowest offset of the first heap.

use super::{HeapSet, Placed, SizeClass, Slot};
use crate::placement::PlacementError;
use crate::suballoc::{Strategy, SuballocError, Tlsf};
use crate::{Alignment, ByteSize};

/// How many heaps are looked at, from the lowest number on, before the request is placed as others are. What bounds the cost.
pub(super) const CANDIDATES: usize = 256;

impl<H> HeapSet<H> {
    /// As [`allocate`](Self::allocate), at the lowest offset of the heap with the lowest number that has room.
    ///
    /// Heaps of other classes are left out. If none of the 256 heaps with the lowest numbers has room, or the request is so
    /// large that it wants a heap to itself, it is placed as `allocate` does.
    ///
    /// Bounded: a comparison for each of those heaps, and O(log n) for n free ranges in those that may have room.
    ///
    /// # Errors
    ///
    /// A size of zero.
    pub(in super::super) fn allocate_lowest(
        &mut self,
        size: ByteSize,
        alignment: Alignment,
    ) -> Result<Option<Placed<'_, H>>, PlacementError> {
        if size.is_zero() {
            return Err(SuballocError::ZeroSize.into());
        }
        let class = self.class_of(size);
        if class != SizeClass::Own {
            let count = self.table.entries.len().min(CANDIDATES);
            for slot in (0..).take(count) {
                if self.may_hold(slot, class, size) {
                    if let Some(placed) = self.try_allocate_by(slot, class, size, |heap| {
                        heap.allocate_with(size, alignment, Strategy::MinOffset)
                    })? {
                        return Ok(Some(self.placed(placed)));
                    }
                }
            }
        }
        self.allocate(size, alignment)
    }

    pub(super) fn may_hold(&self, slot: Slot, class: SizeClass, size: ByteSize) -> bool {
        self.table.entry(slot).heap.as_ref().is_some_and(|heap| {
            heap.class != SizeClass::Closed
                && (heap.class == class || heap.suballocator.is_empty())
                && heap.suballocator.largest_size_class() >= Tlsf::size_class(size.get())
        })
    }
}
