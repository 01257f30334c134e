//! An index of the free ranges by offset, for the strategy that takes the lowest free range that fits.
//!
//! The index is a treap: a search tree by offset, and a heap by a pseudorandom rank, so its depth is
//! logarithmic. Each node stores the largest free range in its subtree, so that a search skips subtrees
//! without a large enough range.

use std::ops::{Index, IndexMut};

use super::nodes::{Node, NodeIndex};
use super::search::{Placement, Request};

/// The number of large enough but misaligned free ranges that are examined before one that is certain to fit
/// is taken.
const CANDIDATES: u32 = 64;

/// The links of a free range in the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Links {
    lower: NodeIndex,
    upper: NodeIndex,
    /// The size of the largest free range in this subtree.
    largest: u64,
}

/// The links, by slot.
#[derive(Clone, Debug)]
#[cfg_attr(test, derive(PartialEq, Eq))]
struct Table(Vec<Links>);

impl Index<NodeIndex> for Table {
    type Output = Links;

    fn index(&self, node: NodeIndex) -> &Links {
        &self.0[node.position()]
    }
}

impl IndexMut<NodeIndex> for Table {
    fn index_mut(&mut self, node: NodeIndex) -> &mut Links {
        &mut self.0[node.position()]
    }
}

/// The value for no node.
const NONE: NodeIndex = NodeIndex::EDGE;

/// The tree. Nodes are named by their slots in the table of nodes.
#[derive(Clone, Debug)]
#[cfg_attr(test, derive(PartialEq, Eq))]
pub(super) struct OffsetIndex {
    links: Table,
    root: NodeIndex,
}

impl OffsetIndex {
    /// Creates the index of all free ranges in the table. O(n log n).
    pub(super) fn new(slots: &[Node]) -> Self {
        let mut index = Self { links: Table(Vec::new()), root: NONE };
        let mut node = slots[NodeIndex::EDGE].above;
        while node != NodeIndex::EDGE {
            if !slots[node].is_used() {
                index.insert(slots, node);
            }
            node = slots[node].above;
        }
        index
    }

    /// Adds a free range. O(log n).
    pub(super) fn insert(&mut self, slots: &[Node], node: NodeIndex) {
        if self.links.0.len() < slots.len() {
            let vacant = Links { lower: NONE, upper: NONE, largest: 0 };
            self.links.0.resize(slots.len(), vacant);
        }
        let (lower, upper) = self.split(slots, self.root, slots[node].start());
        self.links[node] = Links { lower: NONE, upper: NONE, largest: slots[node].size() };
        let lower = self.merge(slots, lower, node);
        self.root = self.merge(slots, lower, upper);
    }

    /// Removes a free range, whose offset and size must be unchanged. O(log n).
    pub(super) fn remove(&mut self, slots: &[Node], node: NodeIndex) {
        self.root = self.remove_below(slots, self.root, node);
    }

    /// Updates a free range whose offset or size changed, but not its order among the others. O(log n).
    pub(super) fn update(&mut self, slots: &[Node], node: NodeIndex) {
        self.update_below(slots, self.root, node);
    }

    /// Returns the lowest free range in which the request fits. O(log n).
    ///
    /// Examines up to 64 ranges that are large enough but misaligned; after that, it takes the lowest range
    /// that is certain to fit.
    pub(super) fn lowest(&self, slots: &[Node], request: Request) -> Option<Placement> {
        let mut candidates = CANDIDATES;
        let placement = self.lowest_below(slots, self.root, request.size, request, &mut candidates);
        if placement.is_some() || candidates > 0 {
            return placement;
        }
        let mut candidates = 1;
        self.lowest_below(slots, self.root, request.certain_size(), request, &mut candidates)
    }

    fn lowest_below(
        &self,
        slots: &[Node],
        root: NodeIndex,
        at_least: u64,
        request: Request,
        candidates: &mut u32,
    ) -> Option<Placement> {
        if root == NONE || self.largest(root) < at_least {
            return None;
        }
        let Links { lower, upper, .. } = self.links[root];
        if let Some(placement) = self.lowest_below(slots, lower, at_least, request, candidates) {
            return Some(placement);
        }
        if *candidates > 0 && slots[root].size() >= at_least {
            if let Some(placement) = request.place(slots, root) {
                return Some(placement);
            }
            *candidates -= 1;
        }
        if *candidates == 0 { None } else { self.lowest_below(slots, upper, at_least, request, candidates) }
    }

    /// Splits a tree into the ranges that start below `start`, and the rest.
    fn split(&mut self, slots: &[Node], root: NodeIndex, start: u64) -> (NodeIndex, NodeIndex) {
        if root == NONE {
            return (NONE, NONE);
        }
        if slots[root].start() < start {
            let (lower, upper) = self.split(slots, self.links[root].upper, start);
            self.links[root].upper = lower;
            self.refresh(slots, root);
            (root, upper)
        } else {
            let (lower, upper) = self.split(slots, self.links[root].lower, start);
            self.links[root].lower = upper;
            self.refresh(slots, root);
            (lower, root)
        }
    }

    /// Merges two trees, where all of the first lies below the second.
    fn merge(&mut self, slots: &[Node], lower: NodeIndex, upper: NodeIndex) -> NodeIndex {
        if lower == NONE {
            return upper;
        }
        if upper == NONE {
            return lower;
        }
        let root = if rank(lower) > rank(upper) {
            self.links[lower].upper = self.merge(slots, self.links[lower].upper, upper);
            lower
        } else {
            self.links[upper].lower = self.merge(slots, lower, self.links[upper].lower);
            upper
        };
        self.refresh(slots, root);
        root
    }

    fn remove_below(&mut self, slots: &[Node], root: NodeIndex, node: NodeIndex) -> NodeIndex {
        if root == NONE {
            return NONE;
        }
        if root == node {
            let Links { lower, upper, .. } = self.links[root];
            return self.merge(slots, lower, upper);
        }
        if slots[node].start() < slots[root].start() {
            self.links[root].lower = self.remove_below(slots, self.links[root].lower, node);
        } else {
            self.links[root].upper = self.remove_below(slots, self.links[root].upper, node);
        }
        self.refresh(slots, root);
        root
    }

    fn update_below(&mut self, slots: &[Node], root: NodeIndex, node: NodeIndex) {
        if root == NONE {
            return;
        }
        if root != node {
            let links = self.links[root];
            let is_lower = slots[node].start() < slots[root].start();
            self.update_below(slots, if is_lower { links.lower } else { links.upper }, node);
        }
        self.refresh(slots, root);
    }

    fn refresh(&mut self, slots: &[Node], root: NodeIndex) {
        let Links { lower, upper, .. } = self.links[root];
        self.links[root].largest = slots[root].size().max(self.largest(lower)).max(self.largest(upper));
    }

    fn largest(&self, root: NodeIndex) -> u64 {
        if root == NONE { 0 } else { self.links[root].largest }
    }

    /// Returns the first violated invariant, given the number of free ranges.
    pub(super) fn audit(&self, slots: &[Node], free_count: u64) -> Result<(), String> {
        let mut found = Vec::new();
        self.audit_below(slots, self.root, &mut found)?;
        if !found.is_sorted_by(|a, b| a < b) {
            return Err("the tree is not sorted by offset".to_owned());
        }
        if u64::try_from(found.len()) != Ok(free_count) {
            return Err(format!("found {} of {free_count} free ranges in the tree", found.len()));
        }
        Ok(())
    }

    fn audit_below(&self, slots: &[Node], root: NodeIndex, found: &mut Vec<u64>) -> Result<(), String> {
        if root == NONE {
            return Ok(());
        }
        let Links { lower, upper, largest } = self.links[root];
        self.audit_below(slots, lower, found)?;
        let node = &slots[root];
        if node.is_used() {
            return Err(format!("{node:?} is used but in the tree"));
        }
        found.push(node.start());
        self.audit_below(slots, upper, found)?;
        if largest != node.size().max(self.largest(lower)).max(self.largest(upper)) {
            return Err(format!("the recorded largest size {largest} of the subtree of {node:?} is wrong"));
        }
        if [lower, upper].into_iter().any(|below| below != NONE && rank(below) > rank(root)) {
            return Err(format!("{root:?} has a child of higher rank"));
        }
        Ok(())
    }
}

/// Returns a pseudorandom but deterministic rank, by the multiplication of D. Knuth's Fibonacci hashing.
fn rank(node: NodeIndex) -> u32 {
    node.number().wrapping_mul(0x9e37_79b1).swap_bytes().wrapping_mul(0x85eb_ca6b)
}
