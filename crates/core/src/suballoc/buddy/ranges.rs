//! All ranges in address order.

use std::fmt;
use std::iter::FusedIterator;

use super::super::slots::SlotIndex;
use super::super::suballocation::{RangeUse, Suballocation, heap_range};
use super::Buddy;
use super::blocks::EDGE;

/// Walks the ranges of a [`Buddy`] from the lowest offset to the highest, O(1) a step.
///
/// A free range is one free block: two of them may be neighbours. What a used block was rounded up by is a range of
/// padding behind it. Made by [`Buddy::ranges`].
#[derive(Clone)]
pub struct Ranges<'a> {
    buddy: &'a Buddy,
    next: SlotIndex,
    /// Where the range before ended.
    end: u64,
    /// Where the block that the range before is in ended.
    block_end: u64,
}

impl<'a> Ranges<'a> {
    pub(super) fn new(buddy: &'a Buddy) -> Self {
        Self { buddy, next: buddy.blocks.slots[EDGE].above, end: 0, block_end: 0 }
    }

    /// The bytes from the end of the last range on.
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
            self.block_end = self.buddy.capacity;
            return self.padding_up_to(self.block_end);
        }
        let block = &self.buddy.blocks.slots[index];
        let (start, size) = (block.start(), block.size());
        self.next = block.above;
        self.end = start + size;
        Some(match block.stamp() {
            Some(stamp) => {
                self.block_end = start + self.buddy.order_for(size).bytes();
                RangeUse::Used(Suballocation::new(index.slot(), stamp, start, size))
            }
            None => {
                self.block_end = self.end;
                RangeUse::Free(heap_range(start, size))
            }
        })
    }
}

impl FusedIterator for Ranges<'_> {}

impl fmt::Debug for Ranges<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}
