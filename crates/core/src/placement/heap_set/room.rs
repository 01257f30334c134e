//! Whether the heaps have room, told without using it.

use super::{HeapSet, SizeClass, Slot, lowest_offset};
use crate::placement::PlacementError;
use crate::suballoc::{SuballocError, Tlsf};
use crate::{Alignment, ByteSize};

impl<H> HeapSet<H> {
    /// Whether [`allocate_slab`](Self::allocate_slab) would place a slab of these slots, or, where both sizes are the same,
    /// [`allocate`](Self::allocate) the request. O(1).
    ///
    /// # Errors
    ///
    /// A size of zero.
    pub(in crate::placement) fn has_room(
        &self,
        slot_size: ByteSize,
        size: ByteSize,
        alignment: Alignment,
    ) -> Result<bool, PlacementError> {
        let class = self.class_of(slot_size);
        let find = |enough| self.find_heap(class, size, enough);
        let fits = |slot| self.table.heap(slot).suballocator.would_fit(size, alignment);
        has_room_by(size, alignment, find, fits)
    }

    /// Whether [`allocate_lowest`](Self::allocate_lowest) would place the request. Bounded as that is, but O(n) for n ranges of a
    /// heap in which nothing was allocated at the lowest offset yet.
    ///
    /// # Errors
    ///
    /// A size of zero.
    pub(in crate::placement) fn has_room_lowest(
        &self,
        size: ByteSize,
        alignment: Alignment,
    ) -> Result<bool, PlacementError> {
        let class = self.class_of(size);
        if class != SizeClass::Own && !size.is_zero() {
            let count = self.table.entries.len().min(lowest_offset::CANDIDATES);
            let fits = |slot| self.table.heap(slot).suballocator.holds(size, alignment);
            if (0..).take(count).any(|slot| self.may_hold(slot, class, size) && fits(slot)) {
                return Ok(true);
            }
        }
        self.has_room(size, size, alignment)
    }

    /// The size of the heap that [`plan`](Self::plan) would return.
    ///
    /// # Errors
    ///
    /// A request so large that the heap's size overflows.
    pub(in crate::placement) fn new_heap_size(&self, size: ByteSize) -> Result<ByteSize, PlacementError> {
        self.sizing
            .heap_size(size, self.totals.used)
            .filter(|&size| size <= Tlsf::MAX_CAPACITY)
            .ok_or(PlacementError::TooLarge { requested: size })
    }
}

/// Whether [`HeapSet::place`] would place a request, given how it finds heaps with a range of a size, and whether one holds it.
fn has_room_by(
    size: ByteSize,
    alignment: Alignment,
    find: impl Fn(ByteSize) -> Option<Slot>,
    fits: impl Fn(Slot) -> bool,
) -> Result<bool, PlacementError> {
    if size.is_zero() {
        return Err(SuballocError::ZeroSize.into());
    }
    let padded = size.saturating_add(ByteSize::new(alignment.get() - 1));
    Ok(find(size).is_some_and(|slot| fits(slot) || find(padded).is_some_and(&fits)))
}
