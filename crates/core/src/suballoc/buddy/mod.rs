//! A buddy suballocator: blocks of powers of two, halved for a request and joined again with their other
//! half.
//!
//! After K. C. Knowlton, "A fast storage allocator" (CACM 8, 1965). The metadata is kept outside the memory, and the
//! capacity is arbitrary.
//!
//! ```text
//!   capacity 13, roots of 8, 4 and 1 bytes; 2 bytes are handed out at offset 4
//!
//!   order 3    |               .               |
//!   order 2    |     free      |       .       |     free      |
//!   order 1    .               | used  | free  |               .
//!   order 0    .               .       .       .               | f |
//!   offset     0               4       6       8               12  13
//! ```
//!
//! A *block* has 2^k bytes, where k is its *order*, and starts at a multiple of its size. The two halves of a block are
//! *buddies*: their starts differ in one bit. A capacity that is not a power of two is a row of *roots*, one block for
//! each set bit of the capacity, in descending order of size, so that each root starts at a multiple of its size.

mod audit;
#[cfg(test)]
mod tests;

use std::num::NonZeroU32;

use super::ordered_set::OrderedSet;
use super::suballocation::{Stamp, heap_range};
use super::{AuditError, RangeUse, SuballocError, Suballocation, SuballocationId};
use crate::{Alignment, ByteSize, HeapRange};

/// A suballocator that hands out blocks of powers of two by halving larger blocks and joining them again.
#[derive(Clone, Debug)]
#[cfg_attr(test, derive(PartialEq, Eq))]
pub(crate) struct Buddy {
    capacity: ByteSize,
    /// The free blocks: their order, and the offset of their first byte.
    free: OrderedSet,
    /// The suballocations: their stamp, and the start and size of the requested range.
    live: OrderedSet,
    /// The sum of the requested sizes.
    used: ByteSize,
    next_stamp: Stamp,
}

/// Ids have no slots: stamps identify suballocations.
const SLOT: NonZeroU32 = NonZeroU32::MIN;

/// Returns the order of the smallest block that holds `size` bytes, 1 to 2^63.
fn order_of(size: ByteSize) -> u64 {
    u64::from(u64::BITS - (size.get() - 1).leading_zeros())
}

/// A free block as its set has it.
const fn free_block(order: u64, start: u64) -> [u64; 3] {
    [order, start, 0]
}

impl Buddy {
    /// Creates a suballocator for the offsets from zero to `capacity`, 1 to 2^63, all free. Returns `None` if the
    /// capacity is another.
    pub(crate) fn new(capacity: ByteSize) -> Option<Self> {
        let (mut free, mut start) = (OrderedSet::default(), 0);
        for order in (0..u64::from(u64::BITS)).rev().filter(|order| capacity.get() & (1 << order) != 0) {
            free.insert(free_block(order, start));
            start += 1 << order;
        }
        (1..=1 << 63).contains(&capacity.get()).then_some(Self {
            capacity,
            free,
            live: OrderedSet::default(),
            used: ByteSize::ZERO,
            next_stamp: Stamp::FIRST,
        })
    }

    /// Allocates `size` bytes at a multiple of `alignment`, or returns `None` if no free block holds them. O(log n),
    /// and O(n) for an alignment above the size, for n free blocks.
    ///
    /// The request gets a block of its size rounded up to a power of two: the lowest of the smallest free blocks of at
    /// least the size and the alignment, halved. If there is none, a smaller free block that happens to be aligned is
    /// taken.
    pub(crate) fn allocate(&mut self, size: ByteSize, alignment: Alignment) -> Option<Suballocation> {
        let (mut from, start) = self.find(size, alignment)?;
        self.free.remove(free_block(from, start));
        while from > order_of(size) {
            from -= 1;
            self.free.insert(free_block(from, start + (1 << from)));
        }
        let (stamp, range) = (self.next_stamp, heap_range(start, size.get()));
        self.live.insert([stamp.get(), start, size.get()]);
        self.next_stamp = stamp.next();
        self.used = self.used.saturating_add(size);
        Some(Suballocation { id: SuballocationId::new(SLOT, stamp), range })
    }

    /// Returns the order and the start of the free block that [`allocate`](Self::allocate) would halve.
    pub(crate) fn find(&self, size: ByteSize, alignment: Alignment) -> Option<(u64, u64)> {
        if size.is_zero() || size > self.capacity {
            return None;
        }
        let (order, aligned) = (order_of(size), u64::from(alignment.log2()));
        let certain = self.free.first_from(free_block(order.max(aligned), 0));
        let smaller = || {
            let mut from = self.free.iter_from(free_block(order, 0));
            from.find(|[_, start, _]| start & alignment.mask() == 0)
        };
        certain.or_else(smaller).map(|[order, start, _]| (order, start))
    }

    /// Frees a suballocation and returns its range. Its block is joined with its buddy if that is free, and so on up to
    /// the root. O(log n · log capacity).
    pub(crate) fn free(&mut self, id: SuballocationId) -> Result<HeapRange, SuballocError> {
        let [stamp, mut start, size] = self.live(id).ok_or(SuballocError::StaleId { id })?;
        self.live.remove([stamp, start, size]);
        let range = heap_range(start, size);
        let mut order = order_of(range.size());
        while self.free.remove(free_block(order, start ^ (1 << order))) {
            start &= !(1 << order);
            order += 1;
        }
        self.free.insert(free_block(order, start));
        self.used = self.used.saturating_sub(range.size());
        Ok(range)
    }

    fn live(&self, id: SuballocationId) -> Option<[u64; 3]> {
        let stamp = id.stamp().get();
        self.live.first_from([stamp, 0, 0]).filter(|&[found, ..]| found == stamp)
    }

    /// Returns whether an id is live. O(log n).
    pub(crate) fn contains(&self, id: SuballocationId) -> bool {
        self.live(id).is_some()
    }

    /// Continues the stamps of an earlier suballocator, so that its ids are stale here.
    pub(crate) fn continue_stamps(&mut self, next: Stamp) {
        self.next_stamp = self.next_stamp.max(next);
    }

    pub(crate) const fn next_stamp(&self) -> Stamp {
        self.next_stamp
    }

    pub(crate) const fn capacity(&self) -> ByteSize {
        self.capacity
    }

    pub(crate) const fn used(&self) -> ByteSize {
        self.used
    }

    pub(crate) fn allocation_count(&self) -> u64 {
        ByteSize::from_usize(self.live.len()).get()
    }

    /// Returns the size of the largest free block, or zero.
    pub(crate) fn largest_free_range(&self) -> ByteSize {
        self.free.last().map_or(ByteSize::ZERO, |[order, ..]| ByteSize::new(1 << order))
    }

    /// Returns all ranges in address order. A free range is one free block, so two may be neighbours. The bytes by
    /// which a request was rounded up are padding. O(n log n).
    pub(crate) fn ranges(&self) -> Vec<RangeUse> {
        let mut ranges = Vec::new();
        for [order, start, _] in self.free.iter() {
            ranges.push(RangeUse::Free(heap_range(start, 1 << order)));
        }
        for [stamp, start, size] in self.live.iter() {
            let id = SuballocationId::new(SLOT, Stamp::new(stamp).unwrap_or(Stamp::FIRST));
            ranges.push(RangeUse::Used(Suballocation { id, range: heap_range(start, size) }));
            let rest = (1 << order_of(ByteSize::new(size))) - size;
            if rest > 0 {
                ranges.push(RangeUse::Padding(heap_range(start + size, rest)));
            }
        }
        ranges.sort_unstable_by_key(|range| range.range().start());
        ranges
    }
}
