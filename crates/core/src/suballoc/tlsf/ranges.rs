//! Iterator over all ranges of a TLSF suballocator.

use std::fmt;
use std::iter::FusedIterator;

use super::super::suballocation::{RangeUse, Stamp, Suballocation, SuballocationId};
use super::nodes::{Node, NodeIndex};
use crate::{ByteSize, HeapOffset, HeapRange};

/// An iterator over the used and free ranges of a [`Tlsf`](super::Tlsf) in address order, O(1) per step.
///
/// Created by [`Tlsf::ranges`](super::Tlsf::ranges).
#[derive(Clone)]
pub struct Ranges<'a> {
    slots: &'a [Node],
    next: NodeIndex,
}

impl<'a> Ranges<'a> {
    pub(super) fn new(slots: &'a [Node]) -> Self {
        Self { slots, next: slots[NodeIndex::EDGE].above }
    }
}

impl Iterator for Ranges<'_> {
    type Item = RangeUse;

    fn next(&mut self) -> Option<RangeUse> {
        let index = self.next;
        if index == NodeIndex::EDGE {
            return None;
        }
        let node = &self.slots[index];
        self.next = node.above;
        Some(match node.stamp() {
            Some(stamp) => RangeUse::Used(suballocation(index, stamp, node.start(), node.size())),
            None => RangeUse::Free(heap_range(node.start(), node.size())),
        })
    }
}

impl FusedIterator for Ranges<'_> {}

impl fmt::Debug for Ranges<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}

/// Creates the public view of a used range.
#[inline]
pub(super) fn suballocation(index: NodeIndex, stamp: Stamp, start: u64, size: u64) -> Suballocation {
    let slot = index.slot().expect("the edge is not a range");
    Suballocation { id: SuballocationId::new(slot, stamp), range: heap_range(start, size) }
}

#[inline]
pub(super) fn heap_range(start: u64, size: u64) -> HeapRange {
    HeapRange::new(HeapOffset::new(start), ByteSize::new(size)).expect("ranges end at or below 2^63")
}
