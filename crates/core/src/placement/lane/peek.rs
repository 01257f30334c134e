//! What a lane would do next, told without doing it.

use super::super::PlacementId;
use super::Lane;
use crate::suballoc::slab::class::SizeClass;
use crate::suballoc::slab::table::SlabShape;

impl<H: Clone> Lane<H> {
    /// As [`shape`](Self::shape), without making room for slabs. O(1).
    pub(in crate::placement) fn next_shape(&self, class: SizeClass) -> SlabShape {
        self.slabs.as_ref().map_or_else(|| SlabShape::of_first(class), |slabs| slabs.shape(class))
    }

    /// The memory of slabs without a used slot, in the order in which [`give_up_empty`](Self::give_up_empty) gives it up.
    pub(in crate::placement) fn empty_slabs(&self) -> impl Iterator<Item = PlacementId> {
        self.slabs.iter().flat_map(|slabs| slabs.empty_parents()).map(|memory| memory.id)
    }
}
