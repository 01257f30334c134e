//! The table of nodes, one for each range, used or free.
//!
//! ```text
//!   slot    0       1 ..= bins      after that
//!           edge    bin heads       ranges and vacant slots, in no order
//! ```
//!
//! # Invariants
//!
//! - Every list is a ring through a node that is not a range, so linking and unlinking need no branch for the
//!   ends: the ranges in address order through the *edge*, the free ranges of a bin through that bin's
//!   *head*.
//! - The edge is below the lowest range and above the highest. It counts as used, so nothing coalesces with
//!   it. Its size is zero, like that of the heads, so nothing fits into it.
//! - Ranges start below 2^63, so the top bit of the offset can mark a used range.
//! - A used node stores its stamp where a free node stores its links within its bin.

use std::num::NonZeroU32;
use std::ops::{Index, IndexMut};

use super::super::SuballocError;
use super::super::branchless::select;
use super::super::suballocation::{NoValue, Stamp, SuballocationId};

/// The slot of a node in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NodeIndex(u32);

impl NodeIndex {
    #[inline(always)]
    pub(super) fn select(condition: bool, yes: Self, no: Self) -> Self {
        Self(select(condition, yes.0, no.0))
    }

    /// The node below the lowest range and above the highest.
    pub(super) const EDGE: Self = Self(0);

    /// Returns the node that an id names.
    pub(super) const fn from_slot(slot: NonZeroU32) -> Self {
        Self(slot.get())
    }

    /// Returns the slot number for an id; `None` for the edge.
    #[inline]
    pub(super) const fn slot(self) -> Option<NonZeroU32> {
        NonZeroU32::new(self.0)
    }

    /// Returns the head of the bin with this number.
    #[inline]
    pub(super) const fn head_of_bin(number: u32) -> Self {
        Self(number + 1)
    }

    /// Returns the number of the bin whose head this is.
    #[inline]
    pub(super) const fn bin_number(self) -> u32 {
        self.0 - 1
    }

    /// Returns the index in the table.
    #[inline]
    pub(super) fn position(self) -> usize {
        usize::try_from(self.0).expect("usize has at least 32 bits on every platform with a GPU")
    }
}

/// A range and its links. Two nodes fill a cache line of 64 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(align(32))]
pub(super) struct Node {
    /// The offset of the first byte. The top bit is set if the range is used.
    start_and_use: u64,
    /// The size in bytes.
    size: u64,
    /// The neighbour at lower offsets.
    pub(super) below: NodeIndex,
    /// The neighbour at higher offsets; in a vacant slot, the next vacant slot.
    pub(super) above: NodeIndex,
    /// Free: the slots of the previous and the next range in the bin. Used: the lower and upper half of the
    /// stamp.
    tail: [u32; 2],
}

const _: () = assert!(size_of::<Node>() == 32);

impl Node {
    const USED: u64 = 1 << 63;

    const EDGE: Self = Self {
        start_and_use: Self::USED,
        size: 0,
        below: NodeIndex::EDGE,
        above: NodeIndex::EDGE,
        tail: [0; 2],
    };

    /// Creates the head of an empty bin. It does not count as used, so an id that names it is stale.
    const fn empty_head(index: NodeIndex) -> Self {
        Self { start_and_use: 0, tail: [index.0; 2], ..Self::EDGE }
    }

    /// Returns the offset of the first byte, below 2^63.
    #[inline]
    pub(super) const fn start(&self) -> u64 {
        self.start_and_use & !Self::USED
    }

    /// Returns the offset after the last byte, at most 2^63.
    pub(super) const fn end(&self) -> u64 {
        self.start() + self.size
    }

    /// Returns the size in bytes, at most 2^63.
    #[inline]
    pub(super) const fn size(&self) -> u64 {
        self.size
    }

    #[inline]
    pub(super) const fn is_used(&self) -> bool {
        self.start_and_use & Self::USED != 0
    }

    /// Creates a free range that is in no bin.
    #[inline]
    pub(super) const fn free(start: u64, size: u64, below: NodeIndex, above: NodeIndex) -> Self {
        Self { start_and_use: start, size, below, above, tail: [0; 2] }
    }

    /// Creates a used range.
    #[inline]
    pub(super) const fn used(
        start: u64,
        size: u64,
        below: NodeIndex,
        above: NodeIndex,
        stamp: Stamp,
    ) -> Self {
        let [a, b, c, d, e, f, g, h] = stamp.get().to_le_bytes();
        let tail = [u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h])];
        Self { start_and_use: start | Self::USED, size, below, above, tail }
    }

    /// Returns the free range with its links in the bin.
    #[inline]
    pub(super) const fn in_bin_between(self, previous: NodeIndex, next: NodeIndex) -> Self {
        Self { tail: [previous.0, next.0], ..self }
    }

    /// Returns the stamp of a used range, `None` otherwise.
    #[inline]
    pub(super) fn stamp(&self) -> Option<Stamp> {
        let [lower, upper] = self.tail;
        if self.is_used() { Stamp::new(u64::from(upper) << 32 | u64::from(lower)) } else { None }
    }

    /// Returns the previous node in the ring of its bin. Valid for free ranges and heads only.
    #[inline]
    pub(super) const fn previous_in_bin(&self) -> NodeIndex {
        NodeIndex(self.tail[0])
    }

    /// Returns the next node in the ring of its bin. Valid for free ranges and heads only.
    #[inline]
    pub(super) const fn next_in_bin(&self) -> NodeIndex {
        NodeIndex(self.tail[1])
    }

    #[inline]
    pub(super) const fn set_previous_in_bin(&mut self, index: NodeIndex) {
        self.tail[0] = index.0;
    }

    #[inline]
    pub(super) const fn set_next_in_bin(&mut self, index: NodeIndex) {
        self.tail[1] = index.0;
    }
}

/// A slot of the table: a node, and the value of a used range.
#[derive(Clone, Debug)]
#[cfg_attr(test, derive(PartialEq, Eq))]
pub(super) struct Slot<T> {
    pub(super) node: Node,
    /// `None` unless the node is used.
    pub(super) value: Option<T>,
}

const _: () = assert!(size_of::<Slot<NoValue>>() == 32);

impl<T> From<Node> for Slot<T> {
    fn from(node: Node) -> Self {
        Self { node, value: None }
    }
}

impl<T> Index<NodeIndex> for [Slot<T>] {
    type Output = Node;

    #[inline]
    fn index(&self, index: NodeIndex) -> &Node {
        &self[index.position()].node
    }
}

impl<T> IndexMut<NodeIndex> for [Slot<T>] {
    #[inline]
    fn index_mut(&mut self, index: NodeIndex) -> &mut Node {
        &mut self[index.position()].node
    }
}

/// The vacant slots: a stack, linked through `above`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct VacantSlots {
    /// The top of the stack, or the edge if it is empty.
    first: NodeIndex,
    count: u32,
}

impl VacantSlots {
    const NONE: Self = Self { first: NodeIndex::EDGE, count: 0 };

    /// Takes a slot for a new range; its old content is meaningless. [`Nodes::prepare_two`] must have ensured
    /// that there is one.
    #[inline]
    pub(super) fn take<T>(&mut self, slots: &[Slot<T>]) -> NodeIndex {
        let index = self.first;
        self.first = slots[index].above;
        self.count -= 1;
        index
    }

    /// Returns the slot of a removed free range, which is in no bin, to the stack.
    #[inline]
    pub(super) fn give_back<T>(&mut self, slots: &mut [Slot<T>], index: NodeIndex) {
        slots[index].above = self.first;
        self.first = index;
        self.count += 1;
    }
}

/// The table of nodes.
#[derive(Clone, Debug)]
#[cfg_attr(test, derive(PartialEq, Eq))]
pub(super) struct Nodes<T = NoValue> {
    slots: Vec<Slot<T>>,
    vacant: VacantSlots,
    /// The number of slots at the front that are not ranges: the edge and the heads.
    fixed: usize,
    /// The maximum number of slots.
    slot_limit: u32,
}

impl<T> Nodes<T> {
    /// The number of ranges before the table grows for the first time.
    const FIRST_RANGES: usize = 32;

    /// Creates a table with heads for `bin_count` empty bins, and with no ranges.
    pub(super) fn new(bin_count: u32, range_limit: u32) -> Self {
        let heads = (0..bin_count).map(NodeIndex::head_of_bin).map(|index| Node::empty_head(index).into());
        let mut slots = Vec::with_capacity(1 + heads.len() + Self::FIRST_RANGES);
        slots.push(Node::EDGE.into());
        slots.extend(heads);
        let fixed = slots.len();
        Self {
            slots,
            vacant: VacantSlots::NONE,
            fixed,
            slot_limit: range_limit.saturating_add(1 + bin_count),
        }
    }

    /// Removes all ranges, and returns the slot of the single new range, which the caller must write.
    ///
    /// All bins must be empty. The table keeps its memory. O(1).
    pub(super) fn reset(&mut self) -> NodeIndex {
        self.slots.truncate(self.fixed);
        self.vacant = VacantSlots::NONE;
        let whole = self.push();
        let edge = &mut self.slots.as_mut_slice()[NodeIndex::EDGE];
        (edge.below, edge.above) = (whole, whole);
        whole
    }

    /// Empties all bins, whatever they contain.
    pub(super) fn unlink_all_bins(&mut self) {
        for (number, head) in (0..).zip(&mut self.slots[1..self.fixed]) {
            head.node = Node::empty_head(NodeIndex::head_of_bin(number));
        }
    }

    /// Returns all slots: the edge, the heads, the ranges and the vacant ones.
    #[inline]
    pub(super) fn slots(&self) -> &[Slot<T>] {
        &self.slots
    }

    /// Returns all slots, and the stack of vacant slots.
    #[inline]
    pub(super) fn slots_mut(&mut self) -> (&mut [Slot<T>], &mut VacantSlots) {
        (&mut self.slots, &mut self.vacant)
    }

    /// Returns the slot of the first range.
    pub(super) const fn first_range(&self) -> usize {
        self.fixed
    }

    /// Returns the node that an id names, if that slot exists.
    #[inline]
    pub(super) fn find(&self, index: NodeIndex) -> Option<&Node> {
        Some(&self.slots.get(index.position())?.node)
    }

    /// Drops all values. If the drop of one panics, all nodes are unchanged.
    pub(super) fn drop_values(&mut self) {
        if std::mem::needs_drop::<T>() {
            self.slots.iter_mut().for_each(|slot| slot.value = None);
        }
    }

    /// Returns the slot of the used range that an id names, if it is live.
    #[inline]
    pub(super) fn live(&self, id: SuballocationId) -> Result<&Slot<T>, SuballocError> {
        match self.slots.get(NodeIndex::from_slot(id.slot()).position()) {
            Some(slot) if slot.node.stamp() == Some(id.stamp()) => Ok(slot),
            _ => Err(SuballocError::StaleId { id }),
        }
    }

    /// Returns the value of the used range that an id names, if it is live.
    #[inline]
    pub(super) fn value_mut(&mut self, id: SuballocationId) -> Result<&mut Option<T>, SuballocError> {
        self.live(id)?;
        Ok(&mut self.slots[NodeIndex::from_slot(id.slot()).position()].value)
    }

    /// Reserves space for `additional` more slots.
    pub(super) fn reserve(&mut self, additional: usize) {
        self.slots.reserve(additional);
    }

    /// Ensures that two slots are vacant, the most that one allocation needs. Returns `false` if the table is
    /// full.
    ///
    /// Amortized O(1).
    #[inline]
    pub(super) fn prepare_two(&mut self) -> bool {
        self.vacant.count >= 2 || self.grow()
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) -> bool {
        while self.vacant.count < 2 {
            if u32::try_from(self.slots.len()).map_or(true, |slot| slot >= self.slot_limit) {
                return false;
            }
            let index = self.push();
            self.vacant.give_back(&mut self.slots, index);
        }
        true
    }

    /// Appends a slot, linked to the edge on both sides.
    fn push(&mut self) -> NodeIndex {
        let index = NodeIndex(u32::try_from(self.slots.len()).expect("the slot limit fits in 32 bits"));
        self.slots.push(Node { start_and_use: 0, ..Node::EDGE }.into());
        index
    }

    /// Returns the largest number of ranges.
    pub(super) fn range_limit(&self) -> u32 {
        self.slot_limit - u32::try_from(self.fixed).expect("the slot limit fits in 32 bits")
    }

    /// Returns the number of ranges, used and free.
    pub(super) fn range_count(&self) -> u64 {
        u64::try_from(self.slots.len() - self.fixed).unwrap_or(u64::MAX) - u64::from(self.vacant.count)
    }

    /// Returns the first violated invariant of the vacant slots.
    pub(super) fn audit_vacant(&self) -> Result<(), String> {
        let (mut index, mut found) = (self.vacant.first, 0);
        while index != NodeIndex::EDGE {
            let node =
                self.find(index).ok_or_else(|| format!("vacant node {index:?} is not in the table"))?;
            if node.is_used() {
                return Err(format!("vacant node {index:?} is in use: {node:?}"));
            }
            if found == self.vacant.count {
                return Err(format!("the list of vacant nodes is longer than the recorded {found}"));
            }
            (index, found) = (node.above, found + 1);
        }
        if found == self.vacant.count {
            Ok(())
        } else {
            Err(format!("found {found} vacant nodes, recorded {}", self.vacant.count))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_table_is_an_error_and_unchanged() {
        let mut nodes = Nodes::<NoValue>::new(5, 2);
        nodes.reset();
        assert_eq!((nodes.range_limit(), nodes.range_count()), (2, 1));
        // Only one more slot is available, and an allocation may need two.
        assert!(!nodes.prepare_two());
        assert_eq!(nodes.range_count(), 1);
        nodes.audit_vacant().unwrap();
    }
}
