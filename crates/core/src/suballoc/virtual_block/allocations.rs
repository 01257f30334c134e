//! Iterator over the suballocations of a virtual block.

use std::fmt;
use std::iter::FusedIterator;

use super::user_data::UserData;
use crate::suballoc::{RangeUse, Suballocation};

/// An iterator over the suballocations of a [`VirtualBlock`](super::VirtualBlock) in address order, each with
/// its value.
///
/// Created by [`VirtualBlock::iter`](super::VirtualBlock::iter).
pub struct Allocations<'a, T> {
    ranges: Box<dyn Iterator<Item = RangeUse> + 'a>,
    user_data: &'a UserData<T>,
    /// The number of remaining suballocations.
    left: usize,
}

impl<'a, T> Allocations<'a, T> {
    pub(super) fn new(
        ranges: Box<dyn Iterator<Item = RangeUse> + 'a>,
        user_data: &'a UserData<T>,
        count: u64,
    ) -> Self {
        // Each suballocation has an entry in a table in memory, so the count fits in a usize.
        Self { ranges, user_data, left: usize::try_from(count).unwrap_or(usize::MAX) }
    }
}

impl<'a, T> Iterator for Allocations<'a, T> {
    type Item = (Suballocation, &'a T);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let RangeUse::Used(suballocation) = self.ranges.next()? {
                self.left = self.left.saturating_sub(1);
                return Some((suballocation, self.user_data.get(suballocation.id)?));
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<T> ExactSizeIterator for Allocations<'_, T> {}

impl<T> FusedIterator for Allocations<'_, T> {}

impl<T> fmt::Debug for Allocations<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Allocations").field("left", &self.left).finish_non_exhaustive()
    }
}
