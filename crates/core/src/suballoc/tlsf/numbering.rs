//! Numbers of used ranges, for a walk that can be interrupted and resumed.

use super::Tlsf;
use super::nodes::NodeIndex;
use super::ranges::suballocation;
use crate::suballoc::{Suballocation, SuballocationId};

impl<T> Tlsf<T> {
    /// Returns the number of the range that an id names. Numbers count from zero, densely except for free
    /// ranges. O(1).
    pub(crate) fn number_of(&self, id: SuballocationId) -> usize {
        NodeIndex::from_slot(id.slot()).position().saturating_sub(self.nodes.first_range())
    }

    /// Returns the suballocation with this number, if it is live. O(1).
    ///
    /// A live suballocation keeps its number. A walk therefore finds every suballocation that lives from its
    /// beginning to its end, whatever is freed meanwhile.
    pub(crate) fn at_number(&self, number: usize) -> Option<Suballocation> {
        let position = u32::try_from(number.checked_add(self.nodes.first_range())?).ok()?;
        let index = NodeIndex::from_slot(position.try_into().ok()?);
        let node = self.nodes.find(index)?;
        Some(suballocation(index, node.stamp()?, node.start(), node.size()))
    }

    /// Returns a number greater than all numbers. O(1).
    pub(crate) fn number_limit(&self) -> usize {
        self.nodes.slots().len() - self.nodes.first_range()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Alignment, ByteSize};

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
    }
}
