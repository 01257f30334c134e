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
