//! The live ranges, linked in allocation order.
//!
//! # Invariants
//!
//! - A chain is a ring through its head, so linking and unlinking need no branch for the ends. A head is an
//!   empty range where the chain begins, so the end of an empty chain needs no branch either.
//! - Only live ranges are linked: freeing a range leaves no entry.

use std::fmt;

use super::super::SuballocError;
use super::super::slots::{Note, SlotIndex, Slots};
use super::super::suballocation::{NoValue, Stamp, Suballocation, SuballocationId, heap_range};
use crate::HeapRange;

/// The ranges at the lower end, or of the whole ring.
pub(super) const LOWER: Chain = Chain(0);
/// The ranges at the upper end.
pub(super) const UPPER: Chain = Chain(1);

/// A chain of live ranges, identified by the slot of its head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chain(u32);

impl Chain {
    #[inline]
    pub(super) const fn head(self) -> SlotIndex {
        SlotIndex::new(self.0)
    }
}

/// A live range, its links and its value, or the head of a chain. Two without values fill a cache line of 64
/// bytes.
#[derive(Clone)]
#[cfg_attr(test, derive(PartialEq, Eq))]
#[repr(align(32))]
pub(super) struct LiveRange<T> {
    /// The offset of the first byte.
    pub(super) start: u64,
    /// The size in bytes, at most 2^63; zero for a head.
    pub(super) size: u64,
    /// The stamp; `None` for a head and in a vacant slot.
    pub(super) stamp: Option<Stamp>,
    /// The range allocated before this one; for the head, the newest range.
    pub(super) older: SlotIndex,
    /// The range allocated after this one; for the head, the oldest range. In a vacant slot, the next vacant
    /// slot.
    pub(super) newer: SlotIndex,
    /// The user's value; `None` for a head and in a vacant slot.
    pub(super) value: Option<T>,
}

const _: () = assert!(size_of::<LiveRange<NoValue>>() == 32);

impl<T> LiveRange<T> {
    /// The size that marks a vacant slot; no range has it.
    const VACANT_SIZE: u64 = u64::MAX;

    const fn head(start: u64, chain: Chain) -> Self {
        Self { start, size: 0, stamp: None, older: chain.head(), newer: chain.head(), value: None }
    }

    /// Returns the offset after the last byte, at most 2^63.
    #[inline]
    pub(super) const fn end(&self) -> u64 {
        self.start + self.size
    }

    pub(super) fn range(&self) -> HeapRange {
        heap_range(self.start, self.size)
    }
}

impl<T> fmt::Debug for LiveRange<T> {
    /// Omits the value, so that `T` need not be `Debug`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "range {:?} at {:#x} of {:#x} bytes", self.stamp, self.start, self.size)
    }
}

impl<T> Note for LiveRange<T> {
    #[inline]
    fn vacant(next: SlotIndex) -> Self {
        let older = SlotIndex::ZERO;
        Self { start: 0, size: Self::VACANT_SIZE, stamp: None, older, newer: next, value: None }
    }

    #[inline]
    fn next_vacant(&self) -> Option<SlotIndex> {
        (self.size == Self::VACANT_SIZE).then_some(self.newer)
    }
}

/// All live ranges.
#[derive(Clone)]
pub(super) struct LiveRanges<T> {
    pub(super) slots: Slots<LiveRange<T>>,
    /// The sum of the sizes, in bytes.
    pub(super) used: u64,
    /// The stamp of the next suballocation.
    pub(super) next_stamp: Stamp,
}

impl<T> LiveRanges<T> {
    /// Creates two empty chains, with a limit of `limit` live ranges.
    pub(super) fn new(capacity: u64, limit: u32) -> Self {
        let heads = [LiveRange::head(0, LOWER), LiveRange::head(capacity, UPPER)];
        Self { slots: Slots::new(heads.into_iter(), limit), used: 0, next_stamp: Stamp::FIRST }
    }

    /// Returns the oldest live range of a chain, or the head if there is none.
    #[inline]
    pub(super) fn oldest(&self, chain: Chain) -> &LiveRange<T> {
        &self.slots[self.slots[chain.head()].newer]
    }

    /// Returns the newest live range of a chain, or the head if there is none.
    #[inline]
    pub(super) fn newest(&self, chain: Chain) -> &LiveRange<T> {
        &self.slots[self.slots[chain.head()].older]
    }

    /// Returns the stamp of the oldest live range of both chains.
    #[inline]
    pub(super) fn oldest_stamp(&self) -> Option<Stamp> {
        [LOWER, UPPER].into_iter().filter_map(|chain| self.oldest(chain).stamp).min()
    }

    /// Returns the stamp of the newest live range of both chains.
    pub(super) fn newest_stamp(&self) -> Option<Stamp> {
        self.newest(LOWER).stamp.max(self.newest(UPPER).stamp)
    }

    /// Returns the id of the oldest live range of both chains.
    pub(super) fn oldest_id(&self) -> Option<SuballocationId> {
        let oldest = [LOWER, UPPER].map(|chain| self.slots[chain.head()].newer).into_iter();
        let ids = oldest.filter_map(|index| Some((self.slots[index].stamp?, index)));
        ids.min_by_key(|&(stamp, _)| stamp).map(|(stamp, index)| SuballocationId::new(index.slot(), stamp))
    }

    /// Returns the oldest range of the lower chain that was allocated after the ring wrapped, or the head if
    /// it has not wrapped. O(n) for n such ranges.
    pub(super) fn lowest_of_wrapped(&self) -> SlotIndex {
        let oldest = self.oldest(LOWER).start;
        let (mut lowest, mut index) = (LOWER.head(), self.slots[LOWER.head()].older);
        while self.slots[index].start < oldest {
            (lowest, index) = (index, self.slots[index].older);
        }
        lowest
    }

    /// Appends a range to a chain as its newest. O(1).
    #[inline]
    pub(super) fn push(
        &mut self,
        chain: Chain,
        start: u64,
        size: u64,
    ) -> Result<Suballocation, SuballocError> {
        if !self.slots.has_room_for(1) {
            return Err(SuballocError::TooManyRanges { limit: self.slots.note_limit() });
        }
        let stamp = self.next_stamp;
        let head = chain.head();
        let older = self.slots[head].older;
        let range = LiveRange { start, size, stamp: Some(stamp), older, newer: head, value: None };
        let index = self.slots.insert(range);
        self.slots[older].newer = index;
        self.slots[head].older = index;
        self.next_stamp = stamp.next();
        self.used += size;
        Ok(Suballocation::new(index.slot(), stamp, start, size))
    }

    /// Unlinks a live range, wherever it is in its chain. O(1).
    #[inline]
    pub(super) fn remove(&mut self, id: SuballocationId) -> Result<(HeapRange, Option<T>), SuballocError> {
        let removed = self.get_mut(id)?;
        let (start, size, older, newer) = (removed.start, removed.size, removed.older, removed.newer);
        let value = removed.value.take();
        self.slots[older].newer = newer;
        self.slots[newer].older = older;
        self.slots.vacate(SlotIndex::from_slot(id.slot()));
        self.used -= size;
        // No range is empty.
        if self.used == 0 {
            self.slots.vacate_all();
        }
        Ok((heap_range(start, size), value))
    }

    /// Unlinks all ranges, and drops their values.
    pub(super) fn clear(&mut self) {
        // If the drop of a value panics, the ranges are still live.
        if std::mem::needs_drop::<T>() {
            self.slots.for_each(|range| range.value = None);
        }
        self.slots.vacate_all();
        for head in [LOWER, UPPER].map(Chain::head) {
            (self.slots[head].older, self.slots[head].newer) = (head, head);
        }
        self.used = 0;
    }

    /// Returns the entry of a live suballocation.
    #[inline]
    pub(super) fn get(&self, id: SuballocationId) -> Result<&LiveRange<T>, SuballocError> {
        match self.slots.get(SlotIndex::from_slot(id.slot())) {
            Some(live) if live.stamp == Some(id.stamp()) => Ok(live),
            _ => Err(SuballocError::StaleId { id }),
        }
    }

    /// Returns the entry of a live suballocation mutably.
    #[inline]
    pub(super) fn get_mut(&mut self, id: SuballocationId) -> Result<&mut LiveRange<T>, SuballocError> {
        self.get(id)?;
        Ok(&mut self.slots[SlotIndex::from_slot(id.slot())])
    }
}
