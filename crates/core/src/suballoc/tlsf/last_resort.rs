//! Exhaustive search, which tries every free range before a request is refused.

use std::iter::successors;

use super::Tlsf;
use super::bins::Bin;
use super::nodes::{Node, NodeIndex};
use super::ranges::suballocation;
use super::search::{Placement, Request};
use crate::suballoc::{SuballocError, Suballocation, SuballocationId};
use crate::{Alignment, ByteSize};

impl<T> Tlsf<T> {
    /// Returns where [`allocate`](Self::allocate) would place the request. O(1).
    #[inline(always)]
    pub(crate) fn find(&self, size: ByteSize, alignment: Alignment) -> Option<Placement> {
        self.search(Request::new(size, alignment, self.capacity)?)
    }

    /// Returns a place for the request like `find`, and `None` only if no free range holds the request. O(1)
    /// if `find` finds one; otherwise O(n) for n free ranges of at least the request's size.
    pub(crate) fn find_anywhere(&self, size: ByteSize, alignment: Alignment) -> Option<Placement> {
        self.search_everywhere(Request::new(size, alignment, self.capacity)?)
    }

    /// Returns where [`FreeRangeChoice::MinOffset`](crate::suballoc::FreeRangeChoice::MinOffset) would place the request.
    /// O(n) for n ranges.
    pub(crate) fn find_lowest(&self, size: ByteSize, alignment: Alignment) -> Option<Placement> {
        self.search_lowest(Request::new(size, alignment, self.capacity)?)
    }

    /// Walks the ranges in address order.
    pub(super) fn search_lowest(&self, request: Request) -> Option<Placement> {
        let slots = self.nodes.slots();
        let or_end = |index| (index != NodeIndex::EDGE).then_some(index);
        successors(or_end(slots[NodeIndex::EDGE].above), |&index| or_end(slots[index].above))
            .filter(|&index| !slots[index].is_used())
            .find_map(|free| request.place(slots, free))
    }

    fn search_everywhere(&self, request: Request) -> Option<Placement> {
        let slots = self.nodes.slots();
        let bins = || {
            let own = Some(Bin::of(request.size)).filter(|&own| own <= self.highest_bin);
            let lowest = own.and_then(|own| self.bins.lowest_from(own));
            successors(lowest, |bin| {
                Some(bin.next())
                    .filter(|&next| next <= self.highest_bin)
                    .and_then(|next| self.bins.lowest_from(next))
            })
        };
        self.search(request)
            .or_else(|| bins().flat_map(|bin| self.in_bin(bin)).find_map(|free| request.place(slots, free)))
    }

    /// Returns whether the table has room for `ranges` more ranges. O(1).
    pub(crate) fn has_numbers_for(&self, ranges: u32) -> bool {
        let left = u64::from(self.nodes.range_limit()).saturating_sub(self.nodes.range_count());
        u64::from(ranges) < left
    }

    /// Divides a suballocation: it keeps its first `size` bytes, and the rest becomes a new suballocation,
    /// which is returned. O(1).
    ///
    /// # Errors
    ///
    /// On error, the state is unchanged.
    ///
    /// - [`SuballocError::StaleId`]: the id is not live.
    /// - [`SuballocError::ZeroSize`]: one of the parts would be empty.
    /// - [`SuballocError::TooManyRanges`]: the limit on the number of ranges is reached.
    pub(crate) fn divide(
        &mut self,
        id: SuballocationId,
        size: ByteSize,
    ) -> Result<Suballocation, SuballocError> {
        let range = self.range_of(id)?;
        if size.is_zero() || size >= range.size() {
            return Err(SuballocError::ZeroSize);
        }
        if !self.nodes.prepare_two() {
            return Err(SuballocError::TooManyRanges { limit: self.nodes.range_limit() });
        }
        let lower = NodeIndex::from_slot(id.slot());
        let (start, kept) = (range.start().get(), size.get());
        let rest = range.size().get() - kept;
        let (slots, vacant) = self.nodes.slots_mut();
        let upper = vacant.take(slots);
        let Node { below, above, .. } = slots[lower];
        let stamp = self.next_stamp;
        slots[lower] = Node::used(start, kept, below, upper, id.stamp());
        slots[upper] = Node::used(start + kept, rest, lower, above, stamp);
        slots[above].below = upper;
        self.next_stamp = stamp.next();
        self.allocation_count += 1;
        Ok(suballocation(upper, stamp, start + kept, rest))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 4 } else { 128 }, failure_persistence: None, ..ProptestConfig::default() })]

        /// The invariant: a request fails only if no free range holds it.
        #[test]
        fn a_request_fails_only_if_no_free_range_holds_it(
            // A full heap with many free ranges that are too small only for the alignment: `find` tries 83.
            sizes in prop::collection::vec((1_u64..300, 0_u32..4), 1..1000),
            freed in prop::collection::vec(any::<bool>(), 1000),
            requests in prop::collection::vec((1_u64..200, 0_u32..15), 1..60),
        ) {
            let mut heap = Tlsf::new(ByteSize::from_kib(96)).unwrap();
            let mut live = Vec::new();
            for (size, log2) in sizes {
                live.extend(heap.allocate(ByteSize::new(size), Alignment::from_log2(log2).unwrap()).ok());
            }
            for (one, _) in live.iter().zip(freed).filter(|(_, free)| *free) {
                heap.free(one.id).unwrap();
            }
            for (size, log2) in requests {
                let (size, alignment) = (ByteSize::new(size), Alignment::from_log2(log2).unwrap());
                let fits = heap.ranges().filter(|range| range.is_free()).any(|free| {
                    let start = free.range().start().get().next_multiple_of(alignment.get());
                    start + size.get() <= free.range().end().get()
                });
                let found = heap.find_anywhere(size, alignment);
                prop_assert_eq!(found.is_some(), fits);
                if let Some(found) = found {
                    let placed = heap.allocate_at(found, size).unwrap();
                    prop_assert!(placed.range.start().is_aligned(alignment) && placed.range.size() == size);
                }
                heap.audit().unwrap();
            }
        }

        #[test]
        fn divided_parts_are_freed_separately(cuts in prop::collection::vec(1_u64..1000, 0..20), reverse in any::<bool>()) {
            let mut heap = Tlsf::new(ByteSize::from_kib(64)).unwrap();
            let before = heap.allocate(ByteSize::new(100), Alignment::ONE).unwrap();
            let whole = heap.allocate(ByteSize::new(10_000), Alignment::ONE).unwrap();
            let mut parts = vec![whole.id];
            for cut in cuts {
                let last = *parts.last().unwrap();
                let size = heap.range_of(last).unwrap().size().get();
                let divided = heap.divide(last, ByteSize::new(cut));
                prop_assert_eq!(divided.is_ok(), cut < size);
                parts.extend(divided.ok().map(|part| part.id));
                heap.audit().unwrap();
            }
            prop_assert_eq!(heap.used(), ByteSize::new(10_100));
            if reverse {
                parts.reverse();
            }
            for part in parts {
                heap.free(part).unwrap();
                heap.audit().unwrap();
            }
            heap.free(before.id).unwrap();
            prop_assert!(heap.is_empty());
        }
    }

    #[test]
    fn an_empty_division_is_allowed() {
        let mut heap = Tlsf::new(ByteSize::from_kib(1)).unwrap();
        let one = heap.allocate(ByteSize::new(10), Alignment::ONE).unwrap();
        for size in [0, 10, 11, u64::MAX] {
            assert_eq!(heap.divide(one.id, ByteSize::new(size)), Err(SuballocError::ZeroSize));
        }
        heap.free(one.id).unwrap();
        assert_eq!(heap.divide(one.id, ByteSize::new(5)), Err(SuballocError::StaleId { id: one.id }));
    }
}
