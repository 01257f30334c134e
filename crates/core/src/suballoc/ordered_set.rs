//! Numbers in order.

use std::collections::BTreeSet;

/// Triples of numbers in ascending order. A call is O(log n).
///
/// All that is kept in order is kept in this one type, because each type of set would be 15 KB of code in every
/// program.
#[derive(Clone, Debug, Default)]
#[cfg_attr(test, derive(PartialEq, Eq))]
pub(super) struct OrderedSet(BTreeSet<[u64; 3]>);

impl OrderedSet {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn insert(&mut self, value: [u64; 3]) {
        self.0.insert(value);
    }

    /// Removes a triple and returns whether it was there.
    pub(super) fn remove(&mut self, value: [u64; 3]) -> bool {
        self.0.remove(&value)
    }

    pub(super) fn contains(&self, value: [u64; 3]) -> bool {
        self.0.contains(&value)
    }

    /// Returns the first triple that is not below `least`.
    pub(super) fn first_from(&self, least: [u64; 3]) -> Option<[u64; 3]> {
        self.0.range(least..).next().copied()
    }

    /// Returns the triples that are not below `least`, in order.
    pub(super) fn iter_from(&self, least: [u64; 3]) -> impl Iterator<Item = [u64; 3]> + '_ {
        self.0.range(least..).copied()
    }

    pub(super) fn last(&self) -> Option<[u64; 3]> {
        self.0.last().copied()
    }

    /// Returns all triples, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = [u64; 3]> + '_ {
        self.0.iter().copied()
    }
}
