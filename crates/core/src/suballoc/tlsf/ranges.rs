//! The ranges of a TLSF suballocator: their order, their numbers, and their division.

use std::iter::successors;

use super::Tlsf;
use super::nodes::{Node, NodeIndex, Nodes, suballocation};
use crate::ByteSize;
use crate::suballoc::suballocation::heap_range;
use crate::suballoc::{RangeUse, SuballocError, Suballocation, SuballocationId};

impl<T> Tlsf<T> {
    /// Returns an iterator over all ranges, used and free, in address order. O(1) per step.
    ///
    /// ```
    /// use heapwright_core::suballoc::{RangeUse, Tlsf};
    /// use heapwright_core::{Alignment, ByteSize};
    ///
    /// let mut heap = Tlsf::new(ByteSize::new(100))?;
    /// let used = heap.allocate(ByteSize::new(60), Alignment::ONE)?;
    /// let ranges: Vec<_> = heap.ranges().collect();
    /// assert_eq!(ranges[0], RangeUse::Used(used));
    /// assert!(ranges[1].is_free());
    /// assert_eq!(ranges[1].range().size(), ByteSize::new(40));
    /// # Ok::<(), heapwright_core::suballoc::SuballocError>(())
    /// ```
    pub fn ranges(&self) -> impl Iterator<Item = RangeUse> {
        self.in_address_order().map(|index| {
            let node = &self.nodes.slots()[index];
            match node.stamp() {
                Some(stamp) => RangeUse::Used(suballocation(index, stamp, node.start(), node.size())),
                None => RangeUse::Free(heap_range(node.start(), node.size())),
            }
        })
    }

    pub(super) fn in_address_order(&self) -> impl Iterator<Item = NodeIndex> {
        let slots = self.nodes.slots();
        let or_end = |index| (index != NodeIndex::EDGE).then_some(index);
        successors(or_end(slots[NodeIndex::EDGE].above), move |&index| or_end(slots[index].above))
    }

    /// Returns the number of the range that an id names. Numbers count from zero, densely except for free
    /// ranges. O(1).
    pub(crate) fn number_of(&self, id: SuballocationId) -> usize {
        (id.slot().get() as usize).saturating_sub(Nodes::<T>::FIRST)
    }

    /// Returns the suballocation with this number, if it is live. O(1).
    ///
    /// A live suballocation keeps its number. A walk therefore finds every suballocation that lives from its
    /// beginning to its end, whatever is freed meanwhile.
    pub(crate) fn at_number(&self, number: usize) -> Option<Suballocation> {
        let position = u32::try_from(number.checked_add(Nodes::<T>::FIRST)?).ok()?;
        let index = NodeIndex::from_slot(position.try_into().ok()?);
        let node = self.nodes.find(index)?;
        Some(suballocation(index, node.stamp()?, node.start(), node.size()))
    }

    /// Returns a number greater than all numbers. O(1).
    pub(crate) fn number_limit(&self) -> usize {
        self.nodes.slots().len() - Nodes::<T>::FIRST
    }

    /// Returns what is beside a live suballocation, below it and above it: the bytes of the free range, and the
    /// suballocation beyond. O(1).
    pub(crate) fn beside(&self, id: SuballocationId) -> Option<[(ByteSize, Option<Suballocation>); 2]> {
        let slots = self.nodes.slots();
        let look = |next: NodeIndex, beyond: NodeIndex| {
            let (free, used) = if slots[next].is_used() { (0, next) } else { (slots[next].size(), beyond) };
            let node = &slots[used];
            let used = node.stamp().map(|stamp| suballocation(used, stamp, node.start(), node.size()));
            (ByteSize::new(free), used)
        };
        let Node { below, above, .. } = self.nodes.live(id).ok()?.node;
        Some([look(below, slots[below].below), look(above, slots[above].above)])
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
        let (slots, vacant, _) = self.nodes.parts_mut();
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
    use super::*;
    use crate::Alignment;

    #[test]
    fn exactly_the_live_ranges_have_numbers() {
        let mut heap = Tlsf::new(ByteSize::new(1000)).unwrap();
        let all: Vec<_> =
            (1..20).map(|size| heap.allocate(ByteSize::new(size), Alignment::ONE).unwrap()).collect();
        let (freed, kept): (Vec<_>, Vec<_>) = all.into_iter().partition(|one| one.range.size().get() % 3 > 0);
        for one in &freed {
            heap.free(one.id).unwrap();
            assert!(heap.at_number(heap.number_of(one.id)).is_none_or(|other| other.id != one.id));
        }
        for one in &kept {
            assert_eq!(heap.at_number(heap.number_of(one.id)), Some(*one));
        }
        let mut found: Vec<_> =
            (0..heap.number_limit()).filter_map(|number| heap.at_number(number)).collect();
        found.sort_unstable_by_key(|one| one.range.size());
        assert_eq!(found, kept);
        assert_eq!(heap.at_number(usize::MAX), None);
        assert!(heap.divide(kept[0].id, kept[0].range.size()).is_err(), "nothing would be left");
        let heap: Tlsf = Tlsf::with_range_limit(ByteSize::new(1000), 4).unwrap();
        assert!(heap.has_numbers_for(2) && !heap.has_numbers_for(3));
    }
}
