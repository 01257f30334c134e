//! Slabs, ranges of a heap cut into slots of one size, and the rings that link them.

mod audit;

use std::ops::{Index, IndexMut};

use super::super::branchless::select;
use super::class::SizeClass;

/// The largest number of slots in a slab: one bit of a word for each.
pub(crate) const MAX_SLOTS: u32 = u64::BITS;

/// The number of slabs before the tables grow for the first time.
///
/// Growing copies a table, which makes the slowest operations. With this many slabs, the tables take 12 KiB.
pub(super) const FIRST_SLABS: usize = 64;

/// The index of a slab in the table. The first indices are the heads of rings, one for each class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SlabIndex(u32);

impl SlabIndex {
    #[inline(always)]
    fn select(condition: bool, yes: Self, no: Self) -> Self {
        Self(select(condition, yes.0, no.0))
    }

    /// The first index that is not a head.
    const FIRST: u32 = 113;

    /// The largest number of slabs, which is also the largest number of slots.
    pub(super) const LIMIT: u32 = (1 << 31) - 1;

    /// Returns the head of the ring of the class's slabs that have a free slot.
    #[inline]
    pub(super) fn head(class: SizeClass) -> Self {
        Self(u32::try_from(class.index()).expect("the number of rings is 113"))
    }

    /// Returns the index of the slab with this number, counted from zero.
    #[inline]
    pub(super) const fn of(number: u32) -> Self {
        Self(number + Self::FIRST)
    }

    /// Returns the number of the slab, which must not be a head.
    #[inline]
    pub(super) const fn number(self) -> u32 {
        self.0 - Self::FIRST
    }
}

const _: () = assert!(SlabIndex::FIRST as usize == SizeClass::RING_COUNT);

/// A slab, the head of a ring, or a vacant place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slab {
    /// A bitmap of the free slots. Zero for a head and a vacant place.
    pub(super) free: u64,
    /// A bitmap of the slots that exist: contiguous from bit 0, until free slots are cut off.
    pub(super) all: u64,
    /// The offset of the first slot.
    pub(super) start: u64,
    /// The size of a slot, in bytes.
    pub(super) slot_size: u64,
    /// The number of the first slot.
    pub(super) first_slot: u32,
    /// The number of slots at the slab's creation.
    pub(super) made_slots: u32,
    next: SlabIndex,
    previous: SlabIndex,
    pub(super) class: SizeClass,
}

impl Slab {
    /// Returns the number of slots.
    pub(super) const fn slot_count(&self) -> u32 {
        self.all.count_ones()
    }

    /// Returns the total size of the slots, in bytes.
    pub(super) fn bytes(&self) -> u64 {
        u64::from(self.slot_count()) * self.slot_size
    }

    /// Returns whether no slot is used.
    #[inline]
    pub(super) const fn is_empty(&self) -> bool {
        self.free == self.all
    }

    /// Iterates over the slots that exist, in ascending order.
    pub(super) fn slots(&self) -> impl Iterator<Item = u32> + use<> {
        let all = self.all;
        (0..self.made_slots).filter(move |slot| all >> slot & 1 == 1)
    }

    /// Returns the offset of a slot.
    #[inline]
    pub(super) fn slot_start(&self, slot: u32) -> u64 {
        self.start + u64::from(slot) * self.slot_size
    }
}

/// All slabs, and the rings of those with a free slot.
///
/// # Invariants
///
/// - Each class has a ring of its slabs with a free slot, through a head that is not a slab, so linking needs
///   no branch.
/// - A full slab is a ring of its own, so unlinking it has no effect.
/// - In a ring, slabs without a used slot come last, so they are used last and released first.
#[derive(Clone, Debug)]
#[cfg_attr(test, derive(PartialEq, Eq))]
pub(super) struct SlabRings {
    places: Vec<Slab>,
    /// The first vacant place. Vacant places are linked through `next`, and the last one names the first
    /// head.
    vacant: SlabIndex,
}

impl Index<SlabIndex> for SlabRings {
    type Output = Slab;

    #[inline]
    fn index(&self, index: SlabIndex) -> &Slab {
        &self.places[index.0 as usize]
    }
}

impl IndexMut<SlabIndex> for SlabRings {
    #[inline]
    fn index_mut(&mut self, index: SlabIndex) -> &mut Slab {
        &mut self.places[index.0 as usize]
    }
}

impl SlabRings {
    const NO_VACANT: SlabIndex = SlabIndex(0);

    pub(super) fn new() -> Self {
        let head = |class| {
            let index = SlabIndex::head(class);
            Slab {
                free: 0,
                all: 0,
                start: 0,
                slot_size: 0,
                first_slot: 0,
                made_slots: 0,
                next: index,
                previous: index,
                class,
            }
        };
        let mut places = Vec::with_capacity(SizeClass::RING_COUNT + FIRST_SLABS);
        places.extend(SizeClass::rings().map(head));
        Self { places, vacant: Self::NO_VACANT }
    }

    /// Returns the number of places for slabs.
    pub(super) fn place_count(&self) -> u32 {
        u32::try_from(self.places.len()).map_or(SlabIndex::LIMIT, |places| places - SlabIndex::FIRST)
    }

    /// Returns the slab at the index named by an id; it may be vacant.
    #[inline]
    pub(super) fn find(&self, index: SlabIndex) -> Option<&Slab> {
        self.places.get(index.0 as usize)
    }

    /// Returns a place for a new slab, in no ring, or `None` if the limit is reached.
    pub(super) fn take_place(&mut self) -> Option<SlabIndex> {
        let index = self.vacant;
        if index != Self::NO_VACANT {
            self.vacant = self[index].next;
            return Some(index);
        }
        let number = self.place_count();
        (number < SlabIndex::LIMIT).then(|| {
            self.places.push(self.places[0]);
            SlabIndex::of(number)
        })
    }

    /// Releases the place of a slab that is in no ring.
    pub(super) fn give_back_place(&mut self, index: SlabIndex) {
        let vacant = self.vacant;
        let place = &mut self[index];
        (place.free, place.all) = (0, 0);
        place.next = vacant;
        self.vacant = index;
    }

    /// Returns the slab to use next, or the head, which has no free slot, if no slab has one.
    #[inline]
    pub(super) fn first(&self, class: SizeClass) -> SlabIndex {
        self.places[class.index()].next
    }

    /// Returns the slab to release first, or the head if no slab has a free slot.
    #[inline]
    pub(super) fn last(&self, class: SizeClass) -> SlabIndex {
        self.places[class.index()].previous
    }

    /// Returns whether a slab of a class has a free slot.
    pub(super) fn has_free_slots(&self, class: SizeClass) -> bool {
        self.first(class) != SlabIndex::head(class)
    }

    /// Iterates over the slabs of a class that have a free slot.
    pub(super) fn ring(&self, class: SizeClass) -> impl Iterator<Item = SlabIndex> {
        let head = SlabIndex::head(class);
        let or_none = move |index| (index != head).then_some(index);
        std::iter::successors(or_none(self.first(class)), move |&index| or_none(self[index].next))
    }

    /// Iterates over the slabs of a class without a used slot, which are the last of its ring. O(1) each.
    pub(super) fn empty_in(&self, class: SizeClass) -> impl Iterator<Item = SlabIndex> {
        let head = SlabIndex::head(class);
        let or_none = move |index: SlabIndex| (index != head && self[index].is_empty()).then_some(index);
        std::iter::successors(or_none(self.last(class)), move |&index| or_none(self[index].previous))
    }

    /// Inserts a slab that is in no ring at the front of the ring of its class.
    pub(super) fn link_first(&mut self, index: SlabIndex) {
        let head = SlabIndex::head(self[index].class);
        self.link_after(head, index);
    }

    /// Appends a slab that is in no ring to the ring of its class.
    pub(super) fn link_last(&mut self, index: SlabIndex) {
        let head = SlabIndex::head(self[index].class);
        self.link_after(self[head].previous, index);
    }

    #[inline]
    fn link_after(&mut self, previous: SlabIndex, index: SlabIndex) {
        let next = self[previous].next;
        self[previous].next = index;
        self[next].previous = index;
        let slab = &mut self[index];
        (slab.previous, slab.next) = (previous, next);
    }

    /// Makes a full slab a ring of its own.
    pub(super) fn keep_alone(&mut self, index: SlabIndex) {
        let slab = &mut self[index];
        (slab.previous, slab.next) = (index, index);
    }

    /// Removes a slab from its ring.
    #[inline]
    pub(super) fn unlink(&mut self, index: SlabIndex) {
        let Slab { previous, next, .. } = self[index];
        self[previous].next = next;
        self[next].previous = previous;
    }

    /// Removes the first slab of a class from its ring if it is full. Called after a slot of it was used.
    ///
    /// Without a branch, because random sizes make the outcome unpredictable. The same holds for
    /// [`freed_into`](Self::freed_into); together they save 2 to 3 of 23 ns of an allocate and free
    /// (2026-11-21).
    #[inline]
    pub(super) fn used_first(&mut self, head: SlabIndex, index: SlabIndex) {
        let is_full = self[index].free == 0;
        let next = self[index].next;
        self[head].next = SlabIndex::select(is_full, next, index);
        self[next].previous = SlabIndex::select(is_full, head, index);
        let slab = &mut self[index];
        slab.next = SlabIndex::select(is_full, index, next);
        slab.previous = SlabIndex::select(is_full, index, head);
    }

    /// Moves the slab to the front of the ring of its class if it was full. Called after a slot of it was
    /// freed.
    #[inline]
    pub(super) fn freed_into(&mut self, head: SlabIndex, index: SlabIndex, was_full: bool) {
        let previous = SlabIndex::select(was_full, head, self[index].previous);
        self.unlink(index);
        self.link_after(previous, index);
    }
}
