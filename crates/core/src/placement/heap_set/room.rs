//! Whether the heaps have room, told without using it.

use std::collections::BTreeMap;

use super::super::heap_index::{Changes, IndexedHeaps as _};
use super::{HeapSet, Occupancy, PlacementId, SizeClass, Slot, lowest_offset};
use crate::placement::PlacementError;
use crate::suballoc::{SuballocError, Tlsf, WithFreed};
use crate::{Alignment, ByteSize};

/// A set with some allocations freed that are not.
///
/// It answers what the set itself would after the same calls of [`HeapSet::free_and_keep`]. Memory and time are of the order of
/// what is freed, O(log n) for each of n.
#[derive(Debug)]
pub(in crate::placement) struct SetWithFreed<'a, H> {
    set: &'a HeapSet<H>,
    heaps: BTreeMap<Slot, WithFreed<'a>>,
    occupied: [Changes; SizeClass::COUNT],
    empty: Changes,
    freed: ByteSize,
    /// Bytes of heaps that nothing is in then.
    emptied: ByteSize,
}

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
            let fits = |slot| self.table.heap(slot).suballocator.would_fit_lowest(size, alignment);
            if (0..).take(count).any(|slot| self.may_hold(slot, class, size) && fits(slot)) {
                return Ok(true);
            }
        }
        self.has_room(size, size, alignment)
    }

    /// Whether [`allocate_anywhere`](Self::allocate_anywhere) would place the request. O(1).
    ///
    /// # Errors
    ///
    /// A size of zero.
    pub(in crate::placement) fn has_room_anywhere(
        &self,
        size: ByteSize,
        alignment: Alignment,
    ) -> Result<bool, PlacementError> {
        // An empty heap begins where every alignment divides.
        Ok(self.has_room(size, size, alignment)? || self.empty.find(&self.table, size.get()).is_some())
    }

    /// The size of the heap that [`plan`](Self::plan) would answer when `freed` bytes fewer are in use.
    ///
    /// # Errors
    ///
    /// A request so large that the heap's size overflows.
    pub(in crate::placement) fn new_heap_size(
        &self,
        size: ByteSize,
        freed: ByteSize,
    ) -> Result<ByteSize, PlacementError> {
        self.sizing
            .heap_size(size, self.totals.used.saturating_sub(freed))
            .filter(|&size| size <= Tlsf::MAX_CAPACITY)
            .ok_or(PlacementError::TooLarge { requested: size })
    }

    /// The set with nothing freed yet. O(1).
    pub(in crate::placement) fn with_freed(&self) -> SetWithFreed<'_, H> {
        SetWithFreed {
            set: self,
            heaps: BTreeMap::new(),
            occupied: Default::default(),
            empty: Changes::default(),
            freed: ByteSize::ZERO,
            emptied: ByteSize::ZERO,
        }
    }
}

impl<H> SetWithFreed<'_, H> {
    /// As [`HeapSet::free_and_keep`]. The same id must not be freed twice; one that is not live changes nothing.
    pub(in crate::placement) fn free(&mut self, id: PlacementId) {
        let entry = self.set.table.entries.get(id.heap as usize);
        let Some((links, heap)) = entry.and_then(|entry| Some((entry.links, entry.heap.as_ref()?))) else {
            return;
        };
        let with = self.heaps.entry(id.heap).or_insert_with(|| heap.suballocator.with_freed());
        let Some(size) = with.free(id.suballocation()) else { return };
        self.freed = self.freed.saturating_add(size);
        if heap.class == SizeClass::Closed {
            return;
        }
        let (slot, occupied) = (id.heap, &mut self.occupied[heap.class.index()]);
        let key_class = with.largest_size_class();
        if with.is_empty() {
            occupied.remove(slot);
            self.empty.insert(slot, key_class);
            self.emptied = self.emptied.saturating_add(heap.suballocator.capacity());
        } else if !occupied.fits(slot, key_class).unwrap_or_else(|| links.fit(key_class)) {
            occupied.remove(slot);
            occupied.insert(slot, key_class);
        }
    }

    /// How many bytes were freed. O(1).
    pub(in crate::placement) fn freed(&self) -> ByteSize {
        self.freed
    }

    /// As [`HeapSet::has_room`]. O(n) for n that were freed.
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
        let class = self.set.class_of(slot_size);
        let find = |enough| self.find_heap(class, size, enough);
        let fits = |slot| match self.heaps.get(&slot) {
            Some(heap) => heap.would_fit(size, alignment),
            None => self.set.table.heap(slot).suballocator.would_fit(size, alignment),
        };
        has_room_by(size, alignment, find, fits)
    }

    /// As [`HeapSet::find_heap`].
    fn find_heap(&self, class: SizeClass, size: ByteSize, enough: ByteSize) -> Option<Slot> {
        let (set, key) = (self.set, |slot| self.key(slot));
        let Occupancy { mark, occupied, used } = set.occupancy();
        let occupancy = Occupancy {
            mark,
            occupied: occupied.saturating_sub(self.emptied),
            used: used.saturating_sub(self.freed),
        };
        let find_empty = || {
            let slot = set.empty.find_with(&set.table, &self.empty, key, size.get())?;
            set.may_take_empty(class, ByteSize::new(key(slot)), size, occupancy).then_some(slot)
        };
        if class == SizeClass::Own {
            return find_empty();
        }
        let changes = &self.occupied[class.index()];
        set.occupied[class.index()].find_with(&set.table, changes, key, enough.get()).or_else(find_empty)
    }

    fn key(&self, slot: Slot) -> u64 {
        match self.heaps.get(&slot) {
            Some(heap) => heap.largest_free_range().get(),
            None => self.set.table.key(slot),
        }
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
