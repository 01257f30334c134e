//! The table of blocks and the lists of free blocks.
//!
//! ```text
//!   slot    0       1 ..= 64           after that
//!           edge    heads of orders    blocks and vacant slots, in no order
//! ```
//!
//! # Invariants
//!
//! - Every list is a ring through a note that is not a block, so linking and unlinking need no branch for the
//!   ends: the blocks in address order through the *edge*, the free blocks of an order through that order's
//!   *head*.
//! - The edge counts as used, so nothing is joined with it.
//! - Blocks start below 2^63, so the top bit of the offset can mark a used block.
//! - A used block stores its stamp where a free block stores its list links.

use std::iter::successors;

use super::super::slots::{Note, SlotIndex, Slots};
use super::super::suballocation::Stamp;
use super::order::Order;

/// The slot of the edge, which is below the lowest block and above the highest.
pub(super) const EDGE: SlotIndex = SlotIndex::ZERO;

/// A block and its links. Two blocks fill a cache line of 64 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(align(32))]
pub(super) struct Block {
    /// The offset of the first byte. The top bit is set if the block is used.
    start_and_use: u64,
    /// Free: the size of the block. Used: the requested size, from which the block's size follows.
    size: u64,
    /// The neighbour at lower offsets.
    pub(super) below: SlotIndex,
    /// The neighbour at higher offsets; in a vacant slot, the next vacant slot.
    pub(super) above: SlotIndex,
    /// Free: the slots of the previous and the next block in the list. Used: the lower and upper half of the
    /// stamp.
    tail: [u32; 2],
}

const _: () = assert!(size_of::<Block>() == 32);

impl Block {
    const USED: u64 = 1 << 63;

    pub(super) const EDGE: Self =
        Self { start_and_use: Self::USED, size: 0, below: EDGE, above: EDGE, tail: [0; 2] };

    /// Creates the head of an empty list. It does not count as used, so an id that names it is stale.
    const fn empty_head(index: SlotIndex) -> Self {
        Self { start_and_use: 0, tail: [index.get(); 2], ..Self::EDGE }
    }

    /// Creates a free block that is in no list.
    #[inline]
    const fn free(start: u64, size: u64, below: SlotIndex, above: SlotIndex) -> Self {
        Self { start_and_use: start, size, below, above, tail: [0; 2] }
    }

    /// Returns the offset of the first byte, below 2^63.
    #[inline]
    pub(super) const fn start(&self) -> u64 {
        self.start_and_use & !Self::USED
    }

    /// Returns the size of a free block, or the requested size of a used block; at most 2^63.
    #[inline]
    pub(super) const fn size(&self) -> u64 {
        self.size
    }

    #[inline]
    pub(super) const fn is_used(&self) -> bool {
        self.start_and_use & Self::USED != 0
    }

    /// Makes it a free block that is in no list. The links in address order are unchanged.
    #[inline]
    pub(super) const fn set_free(&mut self, start: u64, size: u64) {
        self.start_and_use = start;
        self.size = size;
    }

    /// Makes it a used block. The links in address order are unchanged; the block must not be in a list.
    #[inline]
    pub(super) const fn set_used(&mut self, size: u64, stamp: Stamp) {
        self.start_and_use |= Self::USED;
        self.size = size;
        let [a, b, c, d, e, f, g, h] = stamp.get().to_le_bytes();
        self.tail = [u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h])];
    }

    /// Returns the stamp of a used block, `None` otherwise.
    #[inline]
    pub(super) fn stamp(&self) -> Option<Stamp> {
        let [lower, upper] = self.tail;
        if self.is_used() { Stamp::new(u64::from(upper) << 32 | u64::from(lower)) } else { None }
    }

    /// Returns the previous note in the ring of its order. Valid for free blocks and heads only.
    #[inline]
    pub(super) const fn previous_free(&self) -> SlotIndex {
        SlotIndex::new(self.tail[0])
    }

    /// Returns the next note in the ring of its order. Valid for free blocks and heads only.
    #[inline]
    pub(super) const fn next_free(&self) -> SlotIndex {
        SlotIndex::new(self.tail[1])
    }
}

impl Note for Block {
    /// Creates a block of zero bytes at offset zero, which distinguishes a vacant slot from the edge and from
    /// every block.
    #[inline]
    fn vacant(next: SlotIndex) -> Self {
        Self { start_and_use: 0, size: 0, below: EDGE, above: next, tail: [0; 2] }
    }

    #[inline]
    fn next_vacant(&self) -> Option<SlotIndex> {
        (self.start_and_use == 0 && self.size == 0).then_some(self.above)
    }
}

/// Returns the slot of the head of an order's free list.
#[inline]
pub(super) const fn head(order: Order) -> SlotIndex {
    SlotIndex::new(1 + order.number())
}

/// All blocks, used and free.
#[derive(Clone, Debug)]
#[cfg_attr(test, derive(PartialEq, Eq))]
pub(super) struct Blocks {
    pub(super) slots: Slots<Block>,
    /// A bitmap of free orders: bit k is set if some block of order k is free.
    pub(super) free_orders: u64,
}

impl Blocks {
    /// Creates the roots for `size` bytes, all free, with a limit of `block_limit` blocks.
    pub(super) fn new(size: u64, block_limit: u32) -> Self {
        let mut fixed = [Block::EDGE; 1 + u64::BITS as usize];
        for (number, fixed_head) in (0..Order::COUNT).zip(&mut fixed[1..]) {
            *fixed_head = Block::empty_head(head(Order::new(number)));
        }
        let mut blocks = Self { slots: Slots::new(fixed.into_iter(), block_limit), free_orders: 0 };
        blocks.reset(size);
        blocks
    }

    /// Replaces all blocks by the roots for `size` bytes, which are free. O(log size), however many blocks
    /// there were.
    pub(super) fn reset(&mut self, size: u64) {
        while let Some(order) = self.largest_free() {
            self.slots[head(order)] = Block::empty_head(head(order));
            self.free_orders &= !order.bytes();
        }
        self.slots.vacate_all();
        (self.slots[EDGE].below, self.slots[EDGE].above) = (EDGE, EDGE);
        let (mut start, mut below) = (0, EDGE);
        while let Some(order) = Order::within(size - start) {
            let root = self.slots.insert(Block::free(start, order.bytes(), below, EDGE));
            self.slots[below].above = root;
            self.slots[EDGE].below = root;
            self.link_free(root, order);
            start += order.bytes();
            below = root;
        }
    }

    /// Halves a free block from one order down to another, keeping the first half each time, and uses what
    /// remains for a request of `size` bytes. Returns the offset.
    ///
    /// The table must have room for one more block per halving. O(log size).
    #[inline]
    pub(super) fn split(&mut self, block: SlotIndex, from: Order, to: Order, size: u64, stamp: Stamp) -> u64 {
        self.unlink_free(block, from);
        let Block { above, .. } = self.slots[block];
        let start = self.slots[block].start();
        let (mut order, mut above) = (from, above);
        while order > to {
            order = order.half();
            // The next iteration sets the link to the block below.
            let half = Block::free(start + order.bytes(), order.bytes(), block, above);
            let half = self.slots.insert(half);
            self.slots[above].below = half;
            self.link_free(half, order);
            above = half;
        }
        self.slots[above].below = block;
        let used = &mut self.slots[block];
        used.above = above;
        used.set_used(size, stamp);
        start
    }

    /// Frees a used block of this order, and joins it with its buddy for as long as the buddy is free. O(log
    /// size).
    #[inline]
    pub(super) fn join(&mut self, block: SlotIndex, order: Order) {
        let Block { mut below, mut above, .. } = self.slots[block];
        let (mut start, mut order) = (self.slots[block].start(), order);
        loop {
            let bytes = order.bytes();
            let is_first_half = start & bytes == 0;
            // An undivided buddy is the neighbour on its side. Any other neighbour is smaller, or the edge.
            let buddy = if is_first_half { above } else { below };
            let note = self.slots[buddy];
            if note.is_used() || note.size() != bytes {
                break;
            }
            self.unlink_free(buddy, order);
            self.slots.vacate(buddy);
            if is_first_half {
                above = note.above;
            } else {
                below = note.below;
                start = note.start();
            }
            order = order.double();
        }
        self.slots[below].above = block;
        self.slots[above].below = block;
        let free = &mut self.slots[block];
        free.set_free(start, order.bytes());
        (free.below, free.above) = (below, above);
        self.link_free(block, order);
    }

    /// Inserts a block at the front of the list of its order. O(1).
    #[inline]
    pub(super) fn link_free(&mut self, block: SlotIndex, order: Order) {
        let head = head(order);
        let next = self.slots[head].next_free();
        self.slots[head].tail[1] = block.get();
        self.slots[block].tail = [head.get(), next.get()];
        self.slots[next].tail[0] = block.get();
        self.free_orders |= order.bytes();
    }

    /// Removes a block from the list of its order. O(1).
    #[inline]
    pub(super) fn unlink_free(&mut self, block: SlotIndex, order: Order) {
        let [previous, next] = self.slots[block].tail;
        self.slots[SlotIndex::new(previous)].tail[1] = next;
        self.slots[SlotIndex::new(next)].tail[0] = previous;
        // Both are the head if the list is now empty.
        self.free_orders &= !(u64::from(previous == next) << order.number());
    }

    /// Returns the smallest order not below `from` that has a free block. O(1).
    #[inline]
    pub(super) fn smallest_free_from(&self, from: Order) -> Option<Order> {
        let orders = self.free_orders & (u64::MAX << from.number());
        (orders != 0).then(|| Order::new(orders.trailing_zeros()))
    }

    /// Returns the largest order that has a free block. O(1).
    #[inline]
    pub(super) fn largest_free(&self) -> Option<Order> {
        Order::within(self.free_orders)
    }

    /// Returns the first block in the free list of an order that has one. O(1).
    #[inline]
    pub(super) fn first_free(&self, order: Order) -> SlotIndex {
        self.slots[head(order)].next_free()
    }

    /// Iterates over the free blocks of an order.
    pub(super) fn free_of(&self, order: Order) -> impl Iterator<Item = (SlotIndex, &Block)> {
        let or_end = move |index| (index != head(order)).then(|| (index, &self.slots[index]));
        successors(or_end(self.first_free(order)), move |(_, block)| or_end(block.next_free()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_keeps_every_bit_of_offset_size_and_stamp() {
        for stamp in [1, u64::from(u32::MAX), 1 << 32, 0x0123_4567_89ab_cdef, u64::MAX] {
            for (start, size) in [(0, 1 << 63), ((1 << 63) - 1, 1), (1 << 40, 12_345)] {
                let mut block = Block::free(start, size, EDGE, EDGE);
                assert_eq!((block.start(), block.size(), block.stamp()), (start, size, None));
                block.set_used(size, Stamp::new(stamp).unwrap());
                assert!(block.is_used() && block.next_vacant().is_none());
                assert_eq!((block.start(), block.size()), (start, size));
                assert_eq!(block.stamp().map(Stamp::get), Some(stamp));
            }
        }
    }

    #[test]
    fn neither_the_edge_nor_a_head_nor_a_vacant_slot_has_a_stamp() {
        let blocks = Blocks::new(1, 10);
        for number in 0..=Order::COUNT {
            assert_eq!(blocks.slots[SlotIndex::new(number)].stamp(), None);
        }
        assert_eq!(Block::vacant(EDGE).stamp(), None);
    }

    #[test]
    fn the_roots_are_the_bits_of_the_capacity() {
        let blocks = Blocks::new(13, 10);
        assert_eq!((blocks.free_orders, blocks.slots.count()), (13, 3));
        let roots: Vec<_> = [3, 2, 0]
            .map(|number| {
                blocks.free_of(Order::new(number)).map(|(_, root)| root.start()).collect::<Vec<_>>()
            })
            .concat();
        assert_eq!(roots, [0, 8, 12]);
    }
}
