//! Iterator over all ranges of a buddy suballocator.

use super::super::slots::SlotIndex;
use super::super::suballocation::{RangeUse, Suballocation, heap_range};
use super::Buddy;
use super::blocks::EDGE;
use super::order::Order;

/// An iterator over the ranges of a [`Buddy`] in address order, O(1) per step.
///
/// A free range is one free block, so two free ranges may be neighbours. The bytes by which a request was
/// rounded up are a padding range after the suballocation. Created by [`Buddy::ranges`].
pub(crate) struct Ranges<'a> {
    buddy: &'a Buddy,
    next: SlotIndex,
    /// The end of the previous range.
    end: u64,
    /// The end of the block that contains the previous range.
    block_end: u64,
}

impl<'a> Ranges<'a> {
    pub(super) fn new(buddy: &'a Buddy) -> Self {
        Self { buddy, next: buddy.blocks.slots[EDGE].above, end: 0, block_end: 0 }
    }

    /// Returns the padding from the end of the previous range to `end`, if any.
    fn padding_up_to(&mut self, end: u64) -> Option<RangeUse> {
        let start = std::mem::replace(&mut self.end, end);
        (start < end).then(|| RangeUse::Padding(heap_range(start, end - start)))
    }
}

impl Iterator for Ranges<'_> {
    type Item = RangeUse;

    fn next(&mut self) -> Option<RangeUse> {
        if let Some(padding) = self.padding_up_to(self.block_end) {
            return Some(padding);
        }
        let index = self.next;
        if index == EDGE {
            return None;
        }
        let block = &self.buddy.blocks.slots[index];
        let (start, size) = (block.start(), block.size());
        self.next = block.above;
        self.end = start + size;
        Some(match block.stamp() {
            Some(stamp) => {
                self.block_end = start + Order::holding(size).bytes();
                RangeUse::Used(Suballocation::new(index.slot(), stamp, start, size))
            }
            None => {
                self.block_end = self.end;
                RangeUse::Free(heap_range(start, size))
            }
        })
    }
}
