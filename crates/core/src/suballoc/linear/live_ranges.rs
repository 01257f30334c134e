//! The live ranges, linked in the order in which they were handed out.
//!
//! # Invariants
//!
//! - A chain is a ring through its head, so that linking and unlinking need no branch for the ends. A head is a range of no
//!   bytes where the chain begins, so that the end of an empty chain needs no branch either.
//! - Only what is live is linked: freeing leaves nothing behind.

use super::super::SuballocError;
use super::super::slots::{Note, SlotIndex, Slots};
use super::super::suballocation::{Stamp, Suballocation, SuballocationId, heap_range};
use super::batches::Retired;
use crate::{ByteSize, HeapRange};

/// A chain of live ranges, by the slot of its head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chain(u32);

impl Chain {
    /// The first chain, or the only one.
    pub(super) const FIRST: Self = Self(0);
    /// The other one where there are two.
    pub(super) const SECOND: Self = Self(1);

    #[inline]
    pub(super) const fn head(self) -> SlotIndex {
        SlotIndex::new(self.0)
    }
}

/// A live range and its links; or the head of a chain. Two of them fill a cache line of 64 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(align(32))]
pub(super) struct LiveRange {
    /// The offset of the first byte.
    pub(super) start: u64,
    /// In bytes, at most 2^63; zero for a head.
    pub(super) size: u64,
    /// `None` for a head and in a vacant slot.
    pub(super) stamp: Option<Stamp>,
    /// The one handed out before it; for the head, the newest of all.
    pub(super) older: SlotIndex,
    /// The one handed out after it; for the head, the oldest of all. In a vacant slot, the next vacant one.
    pub(super) newer: SlotIndex,
}

const _: () = assert!(size_of::<LiveRange>() == 32);

impl LiveRange {
    /// A size that no range has.
    const VACANT_SIZE: u64 = u64::MAX;

    const fn head(start: u64, index: SlotIndex) -> Self {
        Self { start, size: 0, stamp: None, older: index, newer: index }
    }

    /// The offset after the last byte, at most 2^63.
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
#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
pub(super) struct LiveRanges {
    pub(super) slots: Slots<LiveRange>,
    /// How many chains there are.
    pub(super) chains: u32,
    /// The sum of the sizes.
    pub(super) used: u64,
    /// What the next suballocation gets.
    pub(super) next_stamp: Stamp,
}

impl LiveRanges {
    /// No live ranges, in as many chains as there are offsets at which one begins, with room for `limit` of them.
    pub(super) fn new<const CHAINS: usize>(begins: [u64; CHAINS], limit: u32) -> Self {
        let mut chains = 0;
        let heads = begins.map(|begin| {
            let head = Chain(chains).head();
            chains += 1;
            LiveRange::head(begin, head)
        });
        Self { slots: Slots::new(heads.into_iter(), limit), chains, used: 0, next_stamp: Stamp::FIRST }
    }

    /// The live range of a chain that was handed out first; the head when there is none.
    #[inline]
    pub(super) fn oldest(&self, chain: Chain) -> &LiveRange {
        &self.slots[self.slots[chain.head()].newer]
    }

    /// The live range of a chain that was handed out last; the head when there is none.
    #[inline]
    pub(super) fn newest(&self, chain: Chain) -> &LiveRange {
        &self.slots[self.slots[chain.head()].older]
    }

    /// The oldest of a chain that was handed out after it wrapped as a ring; the head when it has not. O(n) for those.
    pub(super) fn lowest_of_wrapped(&self, chain: Chain) -> SlotIndex {
        let oldest = self.oldest(chain).start;
        let (mut lowest, mut index) = (chain.head(), self.slots[chain.head()].older);
        while self.slots[index].start < oldest {
            (lowest, index) = (index, self.slots[index].older);
        }
        lowest
    }

    /// Goes on with these stamps, so that ids of a suballocator that was here before are stale.
    pub(super) fn continue_stamps(&mut self, next: Stamp) {
        self.next_stamp = self.next_stamp.max(next);
    }

    /// Hands out a range as the newest of a chain. O(1).
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

    /// The suballocation of a chain that was handed out first. O(1).
    pub(super) fn oldest_suballocation(&self, chain: Chain) -> Option<Suballocation> {
        let index = self.slots[chain.head()].newer;
        let LiveRange { start, size, stamp, .. } = self.slots[index];
        // The head has none.
        let stamp = stamp?;
        Some(Suballocation::new(index.slot(), stamp, start, size))
    }

    /// Takes back all of a chain that were handed out before the one with this stamp. O(1) for each.
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

    /// Unlinks all. O(1), whatever is live.
    pub(super) fn clear(&mut self) {
        self.slots.vacate_all();
        for head in (0..self.chains).map(SlotIndex::new) {
            (self.slots[head].older, self.slots[head].newer) = (head, head);
        }
        self.used = 0;
    }

    /// The notes on a live suballocation.
    #[inline]
    fn live(&self, id: SuballocationId) -> Result<&LiveRange, SuballocError> {
        match self.slots.get(SlotIndex::from_slot(id.slot())) {
            Some(live) if live.stamp == Some(id.stamp()) => Ok(live),
            _ => Err(SuballocError::StaleId { id }),
        }
    }

    /// The range of a live suballocation. O(1).
    pub(super) fn range_of(&self, id: SuballocationId) -> Result<HeapRange, SuballocError> {
        self.live(id).map(|live| heap_range(live.start, live.size))
    }

    /// How many ranges are live. O(1).
    pub(super) fn count(&self) -> u64 {
        self.slots.count()
    }
}
