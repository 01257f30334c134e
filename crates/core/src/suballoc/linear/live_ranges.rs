//! The live ranges, linked in allocation order.
//!
//! # Invariants
//!
//! - A chain is a ring through its head, so linking and unlinking need no branch for the ends. A head is an
//!   empty range where the chain begins, so the end of an empty chain needs no branch either.
//! - Only live ranges are linked: freeing a range leaves no entry.

use super::super::SuballocError;
use super::super::slots::{Note, SlotIndex, Slots};
use super::super::suballocation::{Stamp, Suballocation, SuballocationId, heap_range};
use super::batches::Retired;
use crate::{ByteSize, HeapRange};

/// A chain of live ranges, identified by the slot of its head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chain(u32);

impl Chain {
    /// The first chain, or the only one.
    pub(super) const FIRST: Self = Self(0);
    /// The second chain, if there are two.
    pub(super) const SECOND: Self = Self(1);

    #[inline]
    pub(super) const fn head(self) -> SlotIndex {
        SlotIndex::new(self.0)
    }
}

/// A live range and its links, or the head of a chain. Two fill a cache line of 64 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(align(32))]
pub(super) struct LiveRange {
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
}

const _: () = assert!(size_of::<LiveRange>() == 32);

impl LiveRange {
    /// The size that marks a vacant slot; no range has it.
    const VACANT_SIZE: u64 = u64::MAX;

    const fn head(start: u64, index: SlotIndex) -> Self {
        Self { start, size: 0, stamp: None, older: index, newer: index }
    }

    /// Returns the offset after the last byte, at most 2^63.
    #[inline]
    pub(super) const fn end(&self) -> u64 {
        self.start + self.size
    }
}

impl Note for LiveRange {
    #[inline]
    fn vacant(next: SlotIndex) -> Self {
        Self { start: 0, size: Self::VACANT_SIZE, stamp: None, older: SlotIndex::ZERO, newer: next }
    }

    #[inline]
    fn next_vacant(&self) -> Option<SlotIndex> {
        (self.size == Self::VACANT_SIZE).then_some(self.newer)
    }
}

/// All live ranges.
#[derive(Clone, Debug)]
pub(super) struct LiveRanges {
    pub(super) slots: Slots<LiveRange>,
    /// The number of chains.
    pub(super) chains: u32,
    /// The sum of the sizes, in bytes.
    pub(super) used: u64,
    /// The stamp of the next suballocation.
    pub(super) next_stamp: Stamp,
}

impl LiveRanges {
    /// Creates one empty chain for each offset at which a chain begins, with a limit of `limit` live ranges.
    pub(super) fn new<const CHAINS: usize>(begins: [u64; CHAINS], limit: u32) -> Self {
        let mut chains = 0;
        let heads = begins.map(|begin| {
            let head = Chain(chains).head();
            chains += 1;
            LiveRange::head(begin, head)
        });
        Self { slots: Slots::new(heads.into_iter(), limit), chains, used: 0, next_stamp: Stamp::FIRST }
    }

    /// Returns the oldest live range of a chain, or the head if there is none.
    #[inline]
    pub(super) fn oldest(&self, chain: Chain) -> &LiveRange {
        &self.slots[self.slots[chain.head()].newer]
    }

    /// Returns the newest live range of a chain, or the head if there is none.
    #[inline]
    pub(super) fn newest(&self, chain: Chain) -> &LiveRange {
        &self.slots[self.slots[chain.head()].older]
    }

    /// Returns the oldest range of a chain that was allocated after the ring wrapped, or the head if it has
    /// not wrapped. O(n) for n such ranges.
    pub(super) fn lowest_of_wrapped(&self, chain: Chain) -> SlotIndex {
        let oldest = self.oldest(chain).start;
        let (mut lowest, mut index) = (chain.head(), self.slots[chain.head()].older);
        while self.slots[index].start < oldest {
            (lowest, index) = (index, self.slots[index].older);
        }
        lowest
    }

    /// Continues the stamps of an earlier suballocator, so that its ids are stale here.
    pub(super) fn continue_stamps(&mut self, next: Stamp) {
        self.next_stamp = self.next_stamp.max(next);
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
        let index = self.slots.insert(LiveRange { start, size, stamp: Some(stamp), older, newer: head });
        self.slots[older].newer = index;
        self.slots[head].older = index;
        self.next_stamp = stamp.next();
        self.used += size;
        Ok(Suballocation::new(index.slot(), stamp, start, size))
    }

    /// Unlinks a live range, wherever it is in its chain. O(1).
    #[inline]
    pub(super) fn remove(&mut self, id: SuballocationId) -> Result<HeapRange, SuballocError> {
        let LiveRange { start, size, older, newer, .. } = *self.live(id)?;
        self.slots[older].newer = newer;
        self.slots[newer].older = older;
        self.slots.vacate(SlotIndex::from_slot(id.slot()));
        self.used -= size;
        // No range is empty.
        if self.used == 0 {
            self.slots.vacate_all();
        }
        Ok(heap_range(start, size))
    }

    /// Returns the oldest live suballocation of a chain. O(1).
    pub(super) fn oldest_suballocation(&self, chain: Chain) -> Option<Suballocation> {
        let index = self.slots[chain.head()].newer;
        let LiveRange { start, size, stamp, .. } = self.slots[index];
        // The head has no stamp.
        let stamp = stamp?;
        Some(Suballocation::new(index.slot(), stamp, start, size))
    }

    /// Frees all ranges of a chain that are older than the stamp `end`. O(1) each.
    pub(super) fn remove_before(&mut self, chain: Chain, end: Stamp) -> Retired {
        let used_before = self.used;
        let head = chain.head();
        let (mut index, mut suballocations) = (self.slots[head].newer, 0);
        while let LiveRange { stamp: Some(stamp), size, newer, .. } = self.slots[index] {
            if stamp >= end {
                break;
            }
            self.slots.vacate(index);
            self.used -= size;
            suballocations += 1;
            index = newer;
        }
        self.slots[head].newer = index;
        self.slots[index].older = head;
        if self.used == 0 {
            self.slots.vacate_all();
        }
        Retired { suballocations, bytes: ByteSize::new(used_before - self.used) }
    }

    /// Unlinks all ranges. O(1), however many are live.
    pub(super) fn clear(&mut self) {
        self.slots.vacate_all();
        for head in (0..self.chains).map(SlotIndex::new) {
            (self.slots[head].older, self.slots[head].newer) = (head, head);
        }
        self.used = 0;
    }

    /// Returns the entry of a live suballocation.
    #[inline]
    fn live(&self, id: SuballocationId) -> Result<&LiveRange, SuballocError> {
        match self.slots.get(SlotIndex::from_slot(id.slot())) {
            Some(live) if live.stamp == Some(id.stamp()) => Ok(live),
            _ => Err(SuballocError::StaleId { id }),
        }
    }

    /// Returns the range of a live suballocation. O(1).
    pub(super) fn range_of(&self, id: SuballocationId) -> Result<HeapRange, SuballocError> {
        self.live(id).map(|live| heap_range(live.start, live.size))
    }

    /// Returns the number of live ranges. O(1).
    pub(super) fn count(&self) -> u64 {
        self.slots.count()
    }
}
