//! Shapes of slabs.

use super::super::class::SizeClass;
use super::SlabShape;

impl SlabShape {
    /// Returns the shape of a class's first slab. O(1).
    pub(crate) fn of_first(class: SizeClass) -> Self {
        Self::after(class, 0)
    }

    /// Iterates over this shape and the shapes with half the slots of the previous one, down to one slot.
    pub(crate) fn and_halves(self) -> impl Iterator<Item = Self> {
        std::iter::successors(Some(self), |shape| shape.halved())
    }
}

#[cfg(test)]
mod tests {
    use super::super::SlabTable;
    use super::*;

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
