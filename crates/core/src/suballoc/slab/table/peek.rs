//! What a table would do next, told without doing it.

use super::super::class::SizeClass;
use super::super::slabs::{SlabIndex, position};
use super::{SlabShape, SlabTable};
use crate::ByteSize;

impl SlabShape {
    /// The first slab of a class in a table that has none. O(1).
    pub(crate) fn of_first(class: SizeClass) -> Self {
        Self::after(class, 0)
    }

    /// The bytes of a slot.
    pub(crate) fn slot_size(self) -> ByteSize {
        ByteSize::new(self.class.slot_size())
    }

    /// The shape, and those with half the slots of the one before, down to one slot.
    pub(crate) fn and_halves(self) -> impl Iterator<Item = Self> {
        std::iter::successors(Some(self), |shape| shape.halved())
    }
}

impl<P> SlabTable<P> {
    /// What is held for slabs without a used slot, in the order in which [`take_empty`](Self::take_empty) takes them. O(1) for
    /// each, and for each class.
    pub(crate) fn empty_parents(&self) -> impl Iterator<Item = &P> {
        let classes = self.with_empty.highest_first();
        classes.flat_map(|class| self.empties_of(class)).filter_map(|index| {
            let at = position(index.number());
            self.parents[at].as_ref()
        })
    }

    fn empties_of(&self, class: SizeClass) -> impl Iterator<Item = SlabIndex> {
        let or_end =
            move |index| (index != SlabIndex::head(class) && self.slabs[index].is_empty()).then_some(index);
        std::iter::successors(or_end(self.slabs.last(class)), move |&index| or_end(self.slabs.before(index)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Alignment, HeapOffset};

    #[test]
    fn empty_slabs_are_told_in_the_order_in_which_they_are_taken() {
        let mut table = SlabTable::default();
        let mut live = Vec::new();
        for (parent, size) in [(0, 100), (1, 5000), (2, 100), (3, 5000), (4, 256), (5, 100)] {
            let size = ByteSize::new(size);
            let class = SizeClass::of(size, Alignment::ONE).unwrap();
            let shape = table.shape_for(class, 2);
            live.push(table.insert(shape, HeapOffset::ZERO, parent, size).unwrap().1);
        }
        table.close(2);
        assert_eq!(table.empty_parents().count(), 0);
        for one in [0, 3, 1, 2, 5] {
            table.free(live[one].id).unwrap();
        }
        table.audit().unwrap();
        let told: Vec<i32> = table.empty_parents().copied().collect();
        let taken: Vec<i32> = std::iter::from_fn(|| table.take_empty()).collect();
        assert_eq!(told, taken);
        assert_eq!(told.len(), 5);
    }

    #[test]
    fn the_first_slab_is_that_of_a_fresh_table() {
        for class in SizeClass::all() {
            let shape = SlabShape::of_first(class);
            assert_eq!(shape, SlabTable::<()>::default().shape(class));
            let slots: Vec<_> = shape.and_halves().map(|shape| shape.slot_count).collect();
            assert!(slots.windows(2).all(|pair| pair[0] / 2 == pair[1]) && slots.ends_with(&[1]));
        }
    }
}
