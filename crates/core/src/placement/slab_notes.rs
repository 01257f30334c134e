//! The slabs among the ranges of a heap.

use crate::suballoc::Stamp;

/// The location of a slab's record: its lane, and its number there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SlabPlace {
    pub(crate) lane: u32,
    pub(crate) number: u32,
}

/// The slabs among the ranges of a heap, by the number of the range.
///
/// An entry stays when its range is freed; it contains the stamp, which no other range of the heap ever gets.
#[derive(Clone, Default)]
pub(super) struct SlabNotes(Vec<Option<(Stamp, SlabPlace)>>);

impl SlabNotes {
    /// Notes that a live range is a slab. Amortized O(1).
    pub(super) fn note(&mut self, number: usize, stamp: Stamp, place: SlabPlace) {
        if number >= self.0.len() {
            self.0.resize(number + 1, None);
        }
        self.0[number] = Some((stamp, place));
    }

    /// Returns the slab in a live range, if it is one.
    pub(super) fn get(&self, number: usize, stamp: Stamp) -> Option<SlabPlace> {
        let (noted, place) = self.0.get(number).copied().flatten()?;
        (noted == stamp).then_some(place)
    }
}
