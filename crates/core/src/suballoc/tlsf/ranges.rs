//! Iterator over all ranges of a TLSF suballocator.

use std::fmt;
use std::iter::FusedIterator;

use super::super::suballocation::{NoValue, RangeUse, Stamp, Suballocation, heap_range};
use super::nodes::{Node, NodeIndex, Slot};

/// An iterator over the used and free ranges of a [`Tlsf`](super::Tlsf) in address order, O(1) per step.
///
/// Created by [`Tlsf::ranges`](super::Tlsf::ranges).
pub struct Ranges<'a, T = NoValue> {
    slots: &'a [Slot<T>],
    next: NodeIndex,
}

impl<'a, T> Ranges<'a, T> {
    pub(super) fn new(slots: &'a [Slot<T>]) -> Self {
        Self { slots, next: slots[NodeIndex::EDGE].above }
    }
}

impl<T> Iterator for Ranges<'_, T> {
    type Item = RangeUse;

    fn next(&mut self) -> Option<RangeUse> {
        let index = self.next;
        if index == NodeIndex::EDGE {
            return None;
        }
        let node: &Node = &self.slots[index];
        self.next = node.above;
        Some(match node.stamp() {
            Some(stamp) => RangeUse::Used(suballocation(index, stamp, node.start(), node.size())),
            None => RangeUse::Free(heap_range(node.start(), node.size())),
        })
    }
}

impl<T> FusedIterator for Ranges<'_, T> {}

impl<T> Clone for Ranges<'_, T> {
    fn clone(&self) -> Self {
        Self { ..*self }
    }
}

impl<T> fmt::Debug for Ranges<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}

/// Creates the public view of a used range.
#[inline]
pub(super) fn suballocation(index: NodeIndex, stamp: Stamp, start: u64, size: u64) -> Suballocation {
    let slot = index.slot().expect("the edge is not a range");
    Suballocation::new(slot, stamp, start, size)
}
