//! SlabRings of all classes, wherever their memory comes from.

use std::num::NonZeroU32;

use super::super::suballocation::SuballocationId;
use super::super::{RangeUse, SuballocError, Suballocation};
use super::class::SizeClass;
use super::class_set::ClassSet;
use super::note::SlotNote;
use super::slabs::{MAX_SLOTS, Slab, SlabIndex, SlabRings, position};
use crate::{Alignment, ByteSize, HeapOffset, HeapRange};

/// A new slab has this part of the slots that its class has already, as a power of two.
///
/// The newest slab of a class is half empty on average. With a quarter, an eighth and a 16th, 64 MiB of sizes from 256 B to
/// 64 KiB are 88, 92 and 94 % used when the first request is refused; an allocate and free takes 21, 23 and 26 ns
/// (2026-11-21).
const GROWTH_LOG2: u32 = 3;

/// A new slab has this many slots at least, so that the cost of a slab is shared.
///
/// With 2 instead of 4, filling a heap takes 36 ns an allocation and not 24, for at most one point more of use (2026-11-21).
const MIN_SLOTS: u32 = 4;

/// Slabs without a used slot are kept while they are no more than this part of the others, as a power of two.
///
/// A quarter or a 16th makes 5 ns of 28 in an allocate and free of 256 B to 64 KiB, and no difference to what a full heap
/// holds, as they go before anything is refused (2026-11-21).
const KEPT_LOG2: u32 = 2;

/// The bit of an id's slot that says it names a slot of a slab.
const SLOT_BIT: u32 = 1 << 31;

/// What a class wants for its next slab: memory of this size at this alignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SlabShape {
    class: SizeClass,
    slot_count: u32,
}

impl SlabShape {
    pub(crate) fn bytes(self) -> ByteSize {
        ByteSize::new(u64::from(self.slot_count) * self.class.slot_size())
    }

    pub(crate) fn alignment(self) -> Alignment {
        self.class.slot_alignment()
    }

    /// With as many slots as `bytes` hold, no more than it has; `None` if not one.
    pub(crate) fn within(self, bytes: ByteSize) -> Option<Self> {
        let slot_count = u32::try_from(bytes.get() / self.class.slot_size()).unwrap_or(u32::MAX);
        (slot_count > 0).then_some(Self { slot_count: slot_count.min(self.slot_count), ..self })
    }

    /// With half the slots; `None` when it has one.
    pub(crate) fn halved(self) -> Option<Self> {
        (self.slot_count > 1).then_some(Self { slot_count: self.slot_count / 2, ..self })
    }
}

/// SlabRings of all classes. `P` is what their owner holds for the memory of one.
///
/// It gets no memory itself: [`allocate`](Self::allocate) answers `None` when the class has no free slot, and the owner
/// inserts a slab of the [`shape`](Self::shape) wanted; [`take_surplus`](Self::take_surplus) is what the owner should give back.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
pub(crate) struct SlabTable<P> {
    pub(super) slabs: SlabRings,
    /// 64 for each slab, whether it has as many slots or not.
    pub(super) notes: Vec<SlotNote>,
    /// For each slab; `None` at vacant places.
    pub(super) parents: Vec<Option<P>>,
    /// Classes with a free slot.
    with_room: ClassSet,
    /// Classes with a slab that has no used slot.
    with_empty: ClassSet,
    /// Slots of each class, used and free.
    class_slots: [u32; SizeClass::COUNT],
    pub(super) totals: SlabTotals,
}

/// What a table holds, kept as it changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SlabTotals {
    /// The sum of the sizes asked for.
    pub(crate) used: u64,
    /// The bytes of the slots that they are in.
    pub(crate) used_slot_bytes: u64,
    /// Suballocations.
    pub(crate) allocation_count: u64,
    /// The bytes of all slabs.
    pub(crate) slab_bytes: u64,
    /// Slabs.
    pub(crate) slab_count: u64,
    /// Of the bytes of all slabs, those of slabs without a used slot.
    pub(crate) empty_slab_bytes: u64,
}

impl<P> Default for SlabTable<P> {
    fn default() -> Self {
        Self {
            slabs: SlabRings::new(),
            notes: Vec::new(),
            parents: Vec::new(),
            with_room: ClassSet::default(),
            with_empty: ClassSet::default(),
            class_slots: [0; SizeClass::COUNT],
            totals: SlabTotals::default(),
        }
    }
}

impl<P> SlabTable<P> {
    pub(crate) fn totals(&self) -> SlabTotals {
        self.totals
    }

    /// Whether an id names a slot of a slab.
    #[inline]
    pub(crate) const fn is_slot(id: SuballocationId) -> bool {
        id.slot().get() & SLOT_BIT != 0
    }

    /// Whether the class has a free slot. O(1).
    #[inline]
    pub(crate) fn has_room(&self, class: SizeClass) -> bool {
        self.slabs[self.slabs.first(class)].free != 0
    }

    /// Hands out a slot of the class for `size` bytes; `None` when it has none free. O(1).
    #[inline]
    pub(crate) fn allocate(&mut self, class: SizeClass, size: ByteSize) -> Option<(Suballocation, &P)> {
        let index = self.slabs.first(class);
        let slab = &mut self.slabs[index];
        if slab.free == 0 {
            // It is the head of the ring.
            return None;
        }
        let was_empty = slab.is_empty();
        let slot = slab.free.trailing_zeros();
        slab.free &= slab.free - 1;
        let (start, slot_size) = (slab.slot_start(slot), slab.slot_size);
        let head = SlabIndex::head(class);
        self.slabs.used_first(head, index);
        self.with_room.set(class, self.slabs.first(class) != head);
        if was_empty {
            self.totals.empty_slab_bytes -= self.slabs[index].bytes();
            self.note_empties(class);
        }
        let number = index.number() * MAX_SLOTS + slot;
        let note = &mut self.notes[position(number)];
        note.set_size(size.get());
        let id = NonZeroU32::new(number | SLOT_BIT).expect("a bit is set");
        let suballocation =
            Suballocation { id: SuballocationId::new(id, note.stamp()), range: range(start, size.get()) };
        self.totals.used += size.get();
        self.totals.used_slot_bytes += slot_size;
        self.totals.allocation_count += 1;
        let parent = self.parents[position(index.number())].as_ref();
        Some((suballocation, parent.expect("a slab in a ring has one")))
    }

    /// Takes a slot back and answers the range that was handed out. O(1).
    ///
    /// [`take_surplus`](Self::take_surplus) may have something to give back afterwards.
    #[inline]
    pub(crate) fn free(&mut self, id: SuballocationId) -> Result<HeapRange, SuballocError> {
        let (index, slot) = self.find(id).ok_or(SuballocError::StaleId { id })?;
        let note = &mut self.notes[position(index.number() * MAX_SLOTS + slot)];
        let size = note.size();
        note.next_generation();
        let slab = &mut self.slabs[index];
        let was_full = slab.free == 0;
        slab.free |= 1 << slot;
        let (start, slot_size, class, is_empty) =
            (slab.slot_start(slot), slab.slot_size, slab.class, slab.is_empty());
        self.slabs.freed_into(SlabIndex::head(class), index, was_full);
        self.with_room.set(class, true);
        if is_empty {
            // Behind all that have something in them.
            self.slabs.unlink(index);
            self.slabs.link_last(index);
            self.with_empty.set(class, true);
            self.totals.empty_slab_bytes += self.slabs[index].bytes();
        }
        self.totals.used -= size;
        self.totals.used_slot_bytes -= slot_size;
        self.totals.allocation_count -= 1;
        Ok(range(start, size))
    }

    /// The slab and slot of a live id.
    #[inline]
    fn find(&self, id: SuballocationId) -> Option<(SlabIndex, u32)> {
        let number = id.slot().get() & !SLOT_BIT;
        let (index, slot) = (SlabIndex::of(number / MAX_SLOTS), number % MAX_SLOTS);
        let slab = self.slabs.find(index)?;
        let is_used = (slab.all & !slab.free) >> slot & 1 == 1;
        (is_used && self.notes[position(number)].stamp() == id.stamp()).then_some((index, slot))
    }

    /// The range of a live suballocation, and what holds it. O(1).
    pub(crate) fn get(&self, id: SuballocationId) -> Result<(HeapRange, &P), SuballocError> {
        let (index, slot) = self.find(id).ok_or(SuballocError::StaleId { id })?;
        let size = self.notes[position(index.number() * MAX_SLOTS + slot)].size();
        let parent = self.parents[position(index.number())].as_ref().ok_or(SuballocError::StaleId { id })?;
        Ok((range(self.slabs[index].slot_start(slot), size), parent))
    }

    /// What the next slab of the class should be. O(1).
    pub(crate) fn shape(&self, class: SizeClass) -> SlabShape {
        let wanted = self.class_slots[class.index()] >> GROWTH_LOG2;
        SlabShape { class, slot_count: wanted.clamp(MIN_SLOTS, MAX_SLOTS) }
    }

    /// Adds a slab of the shape, whose memory starts at `start` and is held by `parent`, and answers its number, counted from
    /// zero; gives `parent` back when there are too many slabs. O(1), amortised over the growth of the table.
    pub(crate) fn insert(&mut self, shape: SlabShape, start: HeapOffset, parent: P) -> Result<u32, P> {
        let Some(index) = self.slabs.take_place() else { return Err(parent) };
        let at = position(index.number());
        if at == self.parents.len() {
            self.parents.push(Some(parent));
            self.notes.resize(self.notes.len() + position(MAX_SLOTS), SlotNote::FRESH);
        } else {
            self.parents[at] = Some(parent);
        }
        let SlabShape { class, slot_count } = shape;
        let slab = &mut self.slabs[index];
        slab.all = u64::MAX >> (MAX_SLOTS - slot_count);
        slab.free = slab.all;
        (slab.start, slab.slot_size, slab.class) = (start.get(), class.slot_size(), class);
        self.slabs.link_last(index);
        self.with_room.set(class, true);
        self.with_empty.set(class, true);
        self.class_slots[class.index()] += slot_count;
        self.totals.slab_count += 1;
        self.totals.slab_bytes += shape.bytes().get();
        self.totals.empty_slab_bytes += shape.bytes().get();
        Ok(index.number())
    }

    /// Takes a slab without a used slot out of the table, if there are more than are worth keeping. O(1).
    ///
    /// When nothing is live, all of them are.
    #[inline]
    pub(crate) fn take_surplus(&mut self) -> Option<P> {
        let SlabTotals { slab_bytes, empty_slab_bytes, .. } = self.totals;
        (empty_slab_bytes > (slab_bytes - empty_slab_bytes) >> KEPT_LOG2).then(|| self.take_empty())?
    }

    /// Takes a slab without a used slot out of the table. O(1).
    #[cold]
    pub(crate) fn take_empty(&mut self) -> Option<P> {
        let class = self.with_empty.highest()?;
        let index = self.slabs.last(class);
        self.slabs.unlink(index);
        Some(self.remove(index))
    }

    /// Takes a slab that is in no ring out of the table.
    fn remove(&mut self, index: SlabIndex) -> P {
        let Slab { class, .. } = self.slabs[index];
        let (slot_count, bytes) = (self.slabs[index].slot_count(), self.slabs[index].bytes());
        self.slabs.give_back_place(index);
        self.with_room.set(class, self.slabs.first(class) != SlabIndex::head(class));
        self.note_empties(class);
        self.class_slots[class.index()] -= slot_count;
        self.totals.slab_count -= 1;
        self.totals.slab_bytes -= bytes;
        self.totals.empty_slab_bytes -= bytes;
        self.parents[position(index.number())].take().expect("a slab has one")
    }

    /// Brings up to date whether the class has a slab without a used slot.
    fn note_empties(&mut self, class: SizeClass) {
        let last = self.slabs.last(class);
        let has_one = last != SlabIndex::head(class) && self.slabs[last].is_empty();
        self.with_empty.set(class, has_one);
    }

    /// The next larger class that has a free slot, if a slot of it is less than twice as large. O(1).
    pub(crate) fn larger_class_with_room(&self, class: SizeClass) -> Option<SizeClass> {
        self.with_room.lowest_from(class).filter(|larger| larger.slot_size() < 2 * class.slot_size())
    }

    /// The bytes of the largest free slot; zero when there is none. O(1).
    pub(crate) fn largest_free_slot(&self) -> u64 {
        self.with_room.highest().map_or(0, SizeClass::slot_size)
    }

    /// All slots of one slab, from the lowest up, with the padding behind what is used.
    pub(super) fn slots(&self, number: u32) -> impl Iterator<Item = RangeUse> + '_ {
        let slab = self.slabs[SlabIndex::of(number)];
        (0..slab.slot_count())
            .flat_map(move |slot| {
                let start = slab.slot_start(slot);
                if slab.free >> slot & 1 == 1 {
                    return [Some(RangeUse::Free(range(start, slab.slot_size))), None];
                }
                let at = number * MAX_SLOTS + slot;
                let note = self.notes[position(at)];
                let id = NonZeroU32::new(at | SLOT_BIT).expect("a bit is set");
                let used = Suballocation {
                    id: SuballocationId::new(id, note.stamp()),
                    range: range(start, note.size()),
                };
                let rest = slab.slot_size - note.size();
                let padding = (rest > 0).then(|| RangeUse::Padding(range(start + note.size(), rest)));
                [Some(RangeUse::Used(used)), padding]
            })
            .flatten()
    }

    /// Everything that is live is stale, and all slabs are gone; what was held for them is dropped. O(slots).
    pub(crate) fn clear(&mut self) {
        for number in 0..self.slabs.place_count() {
            let used = self.slabs[SlabIndex::of(number)];
            for slot in (0..MAX_SLOTS).filter(|slot| (used.all & !used.free) >> slot & 1 == 1) {
                self.notes[position(number * MAX_SLOTS + slot)].next_generation();
            }
        }
        let notes = std::mem::take(&mut self.notes);
        let places = self.slabs.place_count();
        *self = Self { notes, ..Self::default() };
        self.slabs.add_vacant(places);
        self.parents.resize_with(position(places), || None);
    }

    /// Answers the first rule found broken.
    pub(crate) fn audit(&self) -> Result<(), String> {
        let (linked, vacant) = self.slabs.audit()?;
        let mut counted = SlabTotals::default();
        let (mut class_slots, mut full, mut free_count) = ([0_u32; SizeClass::COUNT], 0, 0);
        let (mut with_room, mut with_empty) = (ClassSet::default(), ClassSet::default());
        for (number, parent) in (0..self.slabs.place_count()).zip(&self.parents) {
            let slab = self.slabs[SlabIndex::of(number)];
            if parent.is_none() {
                if slab.all != 0 {
                    return Err(format!("slab {number} has slots and no memory"));
                }
                free_count += 1;
                continue;
            }
            if slab.slot_size != slab.class.slot_size() || slab.all & (slab.all.wrapping_add(1)) != 0 {
                return Err(format!("slab {number} is misshapen: {slab:?}"));
            }
            full += u32::from(slab.free == 0);
            class_slots[slab.class.index()] += slab.slot_count();
            counted.slab_count += 1;
            counted.slab_bytes += slab.bytes();
            if slab.free != 0 {
                with_room.set(slab.class, true);
            }
            if slab.is_empty() {
                with_empty.set(slab.class, true);
                counted.empty_slab_bytes += slab.bytes();
            }
            for range_use in self.slots(number) {
                if let RangeUse::Used(suballocation) = range_use {
                    counted.used += suballocation.range.size().get();
                    counted.used_slot_bytes += slab.slot_size;
                    counted.allocation_count += 1;
                }
            }
        }
        if counted != self.totals {
            return Err(format!("counted {counted:?}, noted {:?}", self.totals));
        }
        if linked + full + vacant != self.slabs.place_count() || vacant != free_count {
            return Err(format!(
                "{linked} slabs in rings, {full} full, {vacant} vacant, {free_count} without memory"
            ));
        }
        if class_slots != self.class_slots {
            return Err("the slots of a class are miscounted".to_owned());
        }
        if (with_room, with_empty) != (self.with_room, self.with_empty) {
            return Err("a class is wrongly said to have room, or an empty slab".to_owned());
        }
        if self.notes.len() != self.parents.len() * position(MAX_SLOTS)
            || self.parents.len() != position(self.slabs.place_count())
        {
            return Err("the tables are not of one length".to_owned());
        }
        Ok(())
    }
}

#[inline]
fn range(start: u64, size: u64) -> HeapRange {
    HeapRange::new(HeapOffset::new(start), ByteSize::new(size)).expect("it lies in a heap")
}
