//! The table of nodes, one for each range, used or free, and the table of their links within bins.
//!
//! ```text
//!   slot    0       after that                            link    0 .. bins     bins      after that
//!           edge    ranges and vacant slots, in no order          bin heads     (edge)    those of the slots
//! ```
//!
//! The heads have no nodes: 8 bytes each, of which a program's sizes use few, stay in the processor's cache, where 32
//! bytes in each of 60 heaps did not (a twentieth of the time of wgpu's allocations, 2026-11-25).
//!
//! # Invariants
//!
//! - Every list is a ring through something that is not a range, so linking and unlinking need no branch for the
//!   ends: the ranges in address order through the *edge*, the free ranges of a bin through that bin's
//!   *head*.
//! - The edge is below the lowest range and above the highest. It counts as used, so nothing coalesces with
//!   it. Its size is zero, so nothing fits into it.
//! - Ranges start below 2^63, so the top bit of the offset can mark a used range.

use std::num::NonZeroU32;
use std::ops::{Index, IndexMut};

use super::super::SuballocError;
use super::super::branchless::select;
use super::super::suballocation::{NoValue, Stamp, Suballocation, SuballocationId};

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
}

/// The index of a bin's head, or of a free range's links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Link(u32);

impl Link {
    /// Returns the head of the bin with this number.
    #[inline]
    pub(super) const fn head_of_bin(number: u32) -> Self {
        Self(number)
    }

    /// Returns the number of the bin whose head this is.
    #[inline]
    pub(super) const fn bin_number(self) -> u32 {
        self.0
    }
}

/// The rings of the bins.
#[derive(Clone, Debug)]
#[cfg_attr(test, derive(PartialEq, Eq))]
pub(super) struct Rings {
    /// The previous and the next link of the heads, and of the slots. Meaningless for slots that are not free ranges.
    links: Vec<[Link; 2]>,
    bin_count: u32,
}

impl Rings {
    /// Returns where a slot has its links.
    #[inline]
    pub(super) const fn link_of(&self, index: NodeIndex) -> Link {
        Link(index.0 + self.bin_count)
    }

    /// Returns the slot of a link; the edge, in which nothing fits, for a head.
    #[inline]
    pub(super) const fn node_at(&self, link: Link) -> NodeIndex {
        NodeIndex(link.0.saturating_sub(self.bin_count))
    }

    #[inline]
    pub(super) fn previous(&self, link: Link) -> Link {
        self.links[link.0 as usize][0]
    }

    #[inline]
    pub(super) fn next(&self, link: Link) -> Link {
        self.links[link.0 as usize][1]
    }

    /// Links `new` between a head and the first range of its bin.
    #[inline(always)]
    pub(super) fn insert(&mut self, head: Link, new: Link) {
        let next = std::mem::replace(&mut self.links[head.0 as usize][1], new);
        self.links[new.0 as usize] = [head, next];
        self.links[next.0 as usize][0] = new;
    }

    /// Unlinks a range. Returns the previous and the next link.
    #[inline(always)]
    pub(super) fn remove(&mut self, link: Link) -> [Link; 2] {
        let [previous, next] = self.links[link.0 as usize];
        self.links[previous.0 as usize][1] = next;
        self.links[next.0 as usize][0] = previous;
        [previous, next]
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
    /// The stamp of a used range; zero for others.
    stamp: u64,
}

const _: () = assert!(size_of::<Node>() == 32);

impl Node {
    const USED: u64 = 1 << 63;

    const EDGE: Self =
        Self { start_and_use: Self::USED, size: 0, below: NodeIndex::EDGE, above: NodeIndex::EDGE, stamp: 0 };

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
        Self { start_and_use: start, size, below, above, stamp: 0 }
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
        Self { start_and_use: start | Self::USED, size, below, above, stamp: stamp.get() }
    }

    /// Returns the stamp of a used range, `None` otherwise.
    #[inline]
    pub(super) fn stamp(&self) -> Option<Stamp> {
        if self.is_used() { Stamp::new(self.stamp) } else { None }
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
        &self[index.0 as usize].node
    }
}

impl<T> IndexMut<NodeIndex> for [Slot<T>] {
    #[inline]
    fn index_mut(&mut self, index: NodeIndex) -> &mut Node {
        &mut self[index.0 as usize].node
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
    rings: Rings,
    vacant: VacantSlots,
    range_limit: u32,
}

impl<T> Nodes<T> {
    /// The number of ranges before the table grows for the first time.
    const FIRST_RANGES: usize = 32;

    /// The slot of the first range, after the edge.
    pub(super) const FIRST: usize = 1;

    /// Creates a table with heads for `bin_count` empty bins, and with no ranges.
    pub(super) fn new(bin_count: u32, range_limit: u32) -> Self {
        let mut slots = Vec::with_capacity(Self::FIRST + Self::FIRST_RANGES);
        slots.push(Node::EDGE.into());
        let mut links = Vec::with_capacity(bin_count as usize + slots.capacity());
        links.extend((0..bin_count).map(|bin| [Link::head_of_bin(bin); 2]));
        links.push([Link(bin_count); 2]);
        // The last link is below 2^32.
        let range_limit = range_limit.min(u32::MAX - bin_count - 1);
        Self { slots, rings: Rings { links, bin_count }, vacant: VacantSlots::NONE, range_limit }
    }

    /// Removes all ranges, and returns the slot of the single new range, which the caller must write.
    ///
    /// All bins must be empty. The table keeps its memory. O(1).
    #[inline]
    pub(super) fn reset(&mut self) -> NodeIndex {
        let whole = if self.slots.len() > Self::FIRST {
            self.slots.truncate(Self::FIRST + 1);
            self.rings.links.truncate(self.rings.bin_count as usize + Self::FIRST + 1);
            NodeIndex(1)
        } else {
            self.push()
        };
        self.vacant = VacantSlots::NONE;
        let edge = &mut self.slots.as_mut_slice()[NodeIndex::EDGE];
        (edge.below, edge.above) = (whole, whole);
        whole
    }

    /// Empties all bins, whatever they contain.
    pub(super) fn unlink_all_bins(&mut self) {
        for bin in 0..self.rings.bin_count {
            self.rings.links[bin as usize] = [Link::head_of_bin(bin); 2];
        }
    }

    /// Returns all slots: the edge, the ranges and the vacant ones.
    #[inline]
    pub(super) fn slots(&self) -> &[Slot<T>] {
        &self.slots
    }

    #[inline]
    pub(super) fn rings(&self) -> &Rings {
        &self.rings
    }

    /// Returns all slots, the stack of vacant slots, and the rings of the bins.
    #[inline]
    pub(super) fn parts_mut(&mut self) -> (&mut [Slot<T>], &mut VacantSlots, &mut Rings) {
        (&mut self.slots, &mut self.vacant, &mut self.rings)
    }

    /// Returns the node that an id names, if that slot exists.
    #[inline]
    pub(super) fn find(&self, index: NodeIndex) -> Option<&Node> {
        Some(&self.slots.get(index.0 as usize)?.node)
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
        match self.slots.get(id.slot().get() as usize) {
            Some(slot) if slot.node.stamp() == Some(id.stamp()) => Ok(slot),
            _ => Err(SuballocError::StaleId { id }),
        }
    }

    /// Returns the value of the used range that an id names, if it is live.
    #[inline]
    pub(super) fn value_mut(&mut self, id: SuballocationId) -> Result<&mut Option<T>, SuballocError> {
        self.live(id)?;
        Ok(&mut self.slots[id.slot().get() as usize].value)
    }

    /// Reserves space for `additional` more slots.
    pub(super) fn reserve(&mut self, additional: usize) {
        self.slots.reserve(additional);
        self.rings.links.reserve(additional);
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
            if self.slots.len() - Self::FIRST >= self.range_limit as usize {
                return false;
            }
            let index = self.push();
            self.vacant.give_back(&mut self.slots, index);
        }
        true
    }

    /// Appends a slot, linked to the edge on both sides.
    #[inline]
    fn push(&mut self) -> NodeIndex {
        let index = NodeIndex(u32::try_from(self.slots.len()).expect("the limit on ranges fits in 32 bits"));
        self.slots.push(Node { start_and_use: 0, ..Node::EDGE }.into());
        self.rings.links.push([Link(0); 2]);
        index
    }

    /// Returns the largest number of ranges.
    pub(super) const fn range_limit(&self) -> u32 {
        self.range_limit
    }

    /// Returns the number of ranges, used and free.
    pub(super) fn range_count(&self) -> u64 {
        u64::try_from(self.slots.len() - Self::FIRST).unwrap_or(u64::MAX) - u64::from(self.vacant.count)
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

/// Creates the public view of a used range.
#[inline]
pub(super) fn suballocation(index: NodeIndex, stamp: Stamp, start: u64, size: u64) -> Suballocation {
    let slot = index.slot().expect("the edge is not a range");
    Suballocation::new(slot, stamp, start, size)
}
