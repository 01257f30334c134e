//! A table of slabs of all classes, independent of the source of their memory.

mod audit;
mod closing;
mod cutting;

use std::num::NonZeroU32;

pub(crate) use self::cutting::{CutSlots, FreeRun};
use super::super::suballocation::SuballocationId;
use super::super::{SuballocError, Suballocation};
use super::class::{ClassSet, SizeClass};
pub(crate) use super::slabs::MAX_SLOTS;
use super::slabs::{FIRST_SLABS, SlabIndex, SlabRings};
use super::slots::SlotRecords;
use crate::{Alignment, ByteSize, HeapOffset, HeapRange};

/// The fraction of its class's existing slots that a new slab has, as a power of two.
///
/// The newest slab of a class is half empty on average. With a quarter, an eighth and a 16th, 64 MiB of sizes
/// from 256 B to 64 KiB are 90.2, 93.9 and 93.9 % used when the first request is refused (with [`MIN_SLOTS`]
/// 8, 8 and 2); filling them takes 16, 19 and 38 ns per allocation (2026-11-21).
const GROWTH_LOG2: u32 = 2;

/// The minimum number of slots in a new slab, so that they share the cost of a slab.
///
/// With 4, filling a heap takes 24 ns per allocation instead of 14, and a heap of 64 MiB is no fuller
/// (2026-11-21).
const MIN_SLOTS: u32 = 8;

/// The maximum size of a new slab, in bytes: four of the largest slots.
///
/// Otherwise the classes with the largest slots have the most unused bytes: 64 MiB of sizes from 256 B to 64
/// KiB are 91.7 % used when the first request is refused, and 90.2 % without this limit (2026-11-21).
pub(crate) const MAX_BYTES: u64 = 256 << 10;

/// The size of the slabs without used slots that are kept, as a fraction of the other slabs and as a power of
/// two.
///
/// They are released before a request is refused, so a full heap holds the same with a quarter, an eighth and
/// a 16th; no difference in time could be measured either (2026-11-21).
const KEPT_LOG2: u32 = 2;

/// The size of the slabs without used slots that are always kept while anything is live, in bytes.
///
/// With few live suballocations, a slab would otherwise be created and released repeatedly: on one of five
/// real traces, the 99.9th percentile of an operation's time is 66 ns with 64 KiB, 82 with 32 and 109 with 16
/// (2026-11-21).
const KEPT_BYTES: u64 = 64 << 10;

/// The bit of an id's slot that marks a slot of a slab.
const SLOT_BIT: u32 = 1 << 31;

/// The memory that a class needs for its next slab: a size and an alignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SlabShape {
    class: SizeClass,
    slot_count: u32,
}

impl SlabShape {
    /// Returns the shape of a class's first slab. O(1).
    pub(crate) fn of_first(class: SizeClass) -> Self {
        Self::after(class, 0)
    }

    /// Returns the shape of the next slab of a class that has `slots` slots.
    fn after(class: SizeClass, slots: u32) -> Self {
        let slots_in = |bytes: u64| u32::try_from(bytes / class.slot_size()).unwrap_or(u32::MAX);
        let at_most = slots_in(MAX_BYTES).min(MAX_SLOTS);
        Self { class, slot_count: (slots >> GROWTH_LOG2).max(MIN_SLOTS).min(at_most) }
    }

    pub(crate) fn bytes(self) -> ByteSize {
        ByteSize::new(u64::from(self.slot_count) * self.class.slot_size())
    }

    pub(crate) fn alignment(self) -> Alignment {
        self.class.slot_alignment()
    }

    /// Returns the shape with half the slots, or `None` if it has only one.
    pub(crate) fn halved(self) -> Option<Self> {
        (self.slot_count > 1).then_some(Self { slot_count: self.slot_count / 2, ..self })
    }

    /// Iterates over this shape and the shapes with half the slots of the previous one, down to one slot.
    pub(crate) fn and_halves(self) -> impl Iterator<Item = Self> {
        std::iter::successors(Some(self), |shape| shape.halved())
    }
}

/// Slabs of all classes. `P` is the owner's handle of a slab's memory.
///
/// The table obtains no memory itself: [`allocate`](Self::allocate) returns `None` if the class has no free
/// slot, and the owner then inserts a slab of the [`shape`](Self::shape) needed.
/// [`take_surplus`](Self::take_surplus) returns memory that the owner should release.
#[derive(Clone, Debug)]
pub(crate) struct SlabTable<P> {
    pub(super) slabs: SlabRings,
    pub(super) slots: SlotRecords,
    /// The memory of each slab; `None` at vacant places.
    pub(super) parents: Vec<Option<P>>,
    /// The classes with a slab that has no used slot.
    with_empty: ClassSet,
    /// The number of slots of each class, used and free.
    class_slots: [u32; SizeClass::RING_COUNT],
    pub(super) totals: SlabTotals,
}

/// The totals of a table, updated with each change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SlabTotals {
    /// The sum of the requested sizes, in bytes.
    pub(crate) used: u64,
    /// The number of suballocations.
    pub(crate) allocation_count: u64,
    /// The total size of all slabs, in bytes.
    pub(crate) slab_bytes: u64,
    /// The number of slabs.
    pub(crate) slab_count: u64,
    /// The total size of the slabs without a used slot, in bytes.
    pub(crate) empty_slab_bytes: u64,
}

impl<P> Default for SlabTable<P> {
    fn default() -> Self {
        Self {
            slabs: SlabRings::new(),
            slots: SlotRecords::new(),
            parents: Vec::with_capacity(FIRST_SLABS),
            with_empty: ClassSet::default(),
            class_slots: [0; SizeClass::RING_COUNT],
            totals: SlabTotals::default(),
        }
    }
}

impl<P> SlabTable<P> {
    pub(crate) fn totals(&self) -> SlabTotals {
        self.totals
    }

    /// Returns whether an id names a slot of a slab.
    #[inline]
    pub(crate) const fn is_slot(id: SuballocationId) -> bool {
        id.slot().get() & SLOT_BIT != 0
    }

    /// Returns whether the class has a free slot. O(1).
    #[inline]
    pub(crate) fn has_room(&self, class: SizeClass) -> bool {
        self.slabs[self.slabs.first(class)].free != 0
    }

    /// Allocates a slot of the class for `size` bytes. Returns `None` if no slot is free. O(1).
    #[inline]
    pub(crate) fn allocate(&mut self, class: SizeClass, size: ByteSize) -> Option<(Suballocation, &P)> {
        let index = self.slabs.first(class);
        let slab = &mut self.slabs[index];
        if slab.free == 0 {
            // The index is that of the ring's head.
            return None;
        }
        let was_empty = slab.is_empty();
        let slot = slab.free.trailing_zeros();
        slab.free &= slab.free - 1;
        let (start, number) = (slab.slot_start(slot), slab.first_slot + slot);
        self.slabs.used_first(SlabIndex::head(class), index);
        if was_empty {
            self.totals.empty_slab_bytes -= self.slabs[index].bytes();
            self.note_empties(class);
        }
        let suballocation = self.hand_out(number, start, size.get());
        let parent = self.parents[index.number() as usize].as_ref();
        Some((suballocation, parent.expect("a slab in a ring has a free slot")))
    }

    /// Records and counts a used slot.
    #[inline]
    fn hand_out(&mut self, number: u32, start: u64, size: u64) -> Suballocation {
        let note = self.slots.note_mut(number);
        note.set_size(size);
        let id = NonZeroU32::new(number | SLOT_BIT).expect("at least one bit is set");
        let suballocation =
            Suballocation { id: SuballocationId::new(id, note.stamp()), range: range(start, size) };
        self.totals.used += size;
        self.totals.allocation_count += 1;
        suballocation
    }

    /// Frees a slot and returns the range of its suballocation. O(1).
    ///
    /// Call [`take_surplus`](Self::take_surplus) afterwards, as the slab may now be surplus.
    #[inline]
    pub(crate) fn free(&mut self, id: SuballocationId) -> Result<HeapRange, SuballocError> {
        let (index, slot) = self.find(id).ok_or(SuballocError::StaleId { id })?;
        let note = self.slots.note_mut(id.slot().get() & !SLOT_BIT);
        let size = note.size();
        note.next_generation();
        let slab = &mut self.slabs[index];
        let was_full = slab.free == 0;
        slab.free |= 1 << slot;
        let (start, class, is_empty) = (slab.slot_start(slot), slab.class, slab.is_empty());
        self.slabs.freed_into(SlabIndex::head(class), index, was_full);
        if is_empty {
            // Empty slabs come after all others.
            self.slabs.unlink(index);
            self.slabs.link_last(index);
            self.with_empty.set(class, true);
            self.totals.empty_slab_bytes += self.slabs[index].bytes();
        }
        self.totals.used -= size;
        self.totals.allocation_count -= 1;
        Ok(range(start, size))
    }

    /// Returns the slab and slot of a live id.
    #[inline]
    fn find(&self, id: SuballocationId) -> Option<(SlabIndex, u32)> {
        let number = id.slot().get() & !SLOT_BIT;
        let record = self.slots.get(number)?;
        let index = record.slab();
        let slab = self.slabs.find(index)?;
        // For a vacant number this may be any slab; the number is then not in the slab's range.
        let slot = number.wrapping_sub(slab.first_slot);
        let is_used = slot < MAX_SLOTS && (slab.all & !slab.free) >> slot & 1 == 1;
        (is_used && record.note.stamp() == id.stamp()).then_some((index, slot))
    }

    /// Returns the range of a live suballocation. O(1).
    pub(crate) fn get(&self, id: SuballocationId) -> Result<HeapRange, SuballocError> {
        let (index, slot) = self.find(id).ok_or(SuballocError::StaleId { id })?;
        let record = self.slots.get(id.slot().get() & !SLOT_BIT).ok_or(SuballocError::StaleId { id })?;
        Ok(range(self.slabs[index].slot_start(slot), record.note.size()))
    }

    /// Returns the owner's handle of a slab's memory.
    pub(crate) fn parent(&self, number: u32) -> Option<&P> {
        self.parents.get(number as usize)?.as_ref()
    }

    /// Returns the shape of the next slab of the class. O(1).
    pub(crate) fn shape(&self, class: SizeClass) -> SlabShape {
        SlabShape::after(class, self.class_slots[class.index()])
    }

    /// Adds a slab of the shape, whose memory starts at `start` and is held by `parent`, and allocates its
    /// first slot for `size` bytes. Returns the number of the slab, counted from zero, and the suballocation.
    /// Returns `parent` as the error if the limit on slabs or slots is reached. O(slots), amortized over the
    /// growth of the table.
    pub(crate) fn insert(
        &mut self,
        shape: SlabShape,
        start: HeapOffset,
        parent: P,
        size: ByteSize,
    ) -> Result<(u32, Suballocation), P> {
        let SlabShape { class, slot_count } = shape;
        let Some(index) = self.slabs.take_place() else { return Err(parent) };
        let Some(first_slot) = self.slots.take_run(slot_count, index) else {
            self.slabs.give_back_place(index);
            return Err(parent);
        };
        let at = index.number() as usize;
        if at >= self.parents.len() {
            self.parents.resize_with(at + 1, || None);
        }
        self.parents[at] = Some(parent);
        let slab = &mut self.slabs[index];
        slab.all = u64::MAX >> (MAX_SLOTS - slot_count);
        slab.free = slab.all & !1;
        (slab.start, slab.slot_size, slab.class) = (start.get(), class.slot_size(), class);
        (slab.first_slot, slab.made_slots) = (first_slot, slot_count);
        if slot_count > 1 {
            self.slabs.link_first(index);
        } else {
            self.slabs.keep_alone(index);
        }
        self.class_slots[class.index()] += slot_count;
        self.totals.slab_count += 1;
        self.totals.slab_bytes += shape.bytes().get();
        Ok((index.number(), self.hand_out(first_slot, start.get(), size.get())))
    }

    /// Removes a slab without a used slot from the table, if there are more such slabs than are kept. O(1).
    ///
    /// If nothing is live, no slab is kept.
    #[inline]
    pub(crate) fn take_surplus(&mut self) -> Option<P> {
        let SlabTotals { slab_bytes, empty_slab_bytes, .. } = self.totals;
        let others = slab_bytes - empty_slab_bytes;
        let kept = if others == 0 { 0 } else { KEPT_BYTES.max(others >> KEPT_LOG2) };
        (empty_slab_bytes > kept).then(|| self.take_smallest_empty())?
    }

    /// Removes an empty slab with the smallest slots, which is the cheapest to create again. O(1).
    #[cold]
    fn take_smallest_empty(&mut self) -> Option<P> {
        let class = self.with_empty.lowest_from(SizeClass::SMALLEST)?;
        self.take_empty_of(class)
    }

    /// Removes an empty slab with the largest slots. O(1).
    #[cold]
    pub(crate) fn take_empty(&mut self) -> Option<P> {
        let class = self.with_empty.highest()?;
        self.take_empty_of(class)
    }

    /// Iterates over the memory of the slabs without a used slot. O(1) if there are none, and otherwise O(classes), and
    /// O(1) each.
    pub(crate) fn empty_parents(&self) -> impl Iterator<Item = &P> {
        let classes = SizeClass::rings().filter(|_| self.totals.empty_slab_bytes > 0);
        let empty = classes.flat_map(|class| self.slabs.empty_in(class));
        empty.filter_map(|index| self.parent(index.number()))
    }

    fn take_empty_of(&mut self, class: SizeClass) -> Option<P> {
        let index = self.slabs.last(class);
        self.slabs.unlink(index);
        Some(self.remove(index))
    }

    /// Removes a slab that is in no ring from the table.
    fn remove(&mut self, index: SlabIndex) -> P {
        let slab = self.slabs[index];
        let (class, slot_count, bytes) = (slab.class, slab.slot_count(), slab.bytes());
        self.slots.give_back_run(slab.first_slot, slab.made_slots);
        self.slabs.give_back_place(index);
        self.note_empties(class);
        self.class_slots[class.index()] -= slot_count;
        self.totals.slab_count -= 1;
        self.totals.slab_bytes -= bytes;
        self.totals.empty_slab_bytes -= bytes;
        self.parents[index.number() as usize].take().expect("a slab has a slot")
    }

    /// Updates whether the class has a slab without a used slot.
    fn note_empties(&mut self, class: SizeClass) {
        let last = self.slabs.last(class);
        let has_one = last != SlabIndex::head(class) && self.slabs[last].is_empty();
        self.with_empty.set(class, has_one);
    }

    /// Iterates over the suballocations in the slots of a slab, or in one slot, in address order.
    pub(super) fn used_in(&self, number: u32, only: Option<u32>) -> impl Iterator<Item = Suballocation> + '_ {
        let slab = self.slabs[SlabIndex::of(number)];
        let slots = only.map_or(0..slab.made_slots, |slot| slot..slot + 1);
        slots.filter(move |slot| (slab.all & !slab.free) >> slot & 1 == 1).map(move |slot| {
            let at = slab.first_slot + slot;
            let note = self.slots.get(at).expect("the slots of a slab have numbers").note;
            let id = NonZeroU32::new(at | SLOT_BIT).expect("at least one bit is set");
            let range = range(slab.slot_start(slot), note.size());
            Suballocation { id: SuballocationId::new(id, note.stamp()), range }
        })
    }
}

#[inline]
fn range(start: u64, size: u64) -> HeapRange {
    HeapRange::new(HeapOffset::new(start), ByteSize::new(size)).expect("the slab lies in a heap")
}
