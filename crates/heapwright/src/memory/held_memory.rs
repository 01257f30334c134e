//! The two ways in which a plan uses held memory: a probe only checks for a free range, and an allocation takes it.
//!
//! An allocation returns unused memory in place, even if it is refused after all. A probe must change nothing, so it
//! tries the same in copies.

use std::sync::Arc;

use heapwright_core::placement::{PlacementError, PlacementRequest};

use super::after_return::{AfterReturn, GivenBack};
use super::heap_kinds::HeapKinds;
use super::placed_range::PlacedRange;
use super::typed_heaps::{Sharing, TypedHeaps};

/// The heaps that exist, as a plan uses them.
pub(crate) trait HeldMemory {
    /// A free range: for an allocation the range itself, for a probe only that there is one.
    type Range;

    /// Returns a range of any heap of the kind, however much of an empty heap it wastes.
    fn any_range(
        &mut self,
        heaps: &Arc<TypedHeaps>,
        sharing: Sharing,
        request: &PlacementRequest,
    ) -> Result<Option<Self::Range>, PlacementError>;

    /// Returns the memory of empty backing buffers and slabs to the heaps.
    fn return_unused(&mut self, kinds: &HeapKinds);

    /// Returns what could be released for heaps of a kind.
    fn given_back(&self, kinds: &HeapKinds, heaps: &TypedHeaps) -> GivenBack;
}

/// Takes what an allocation needs.
#[derive(Debug)]
pub(crate) struct TakenMemory;

impl HeldMemory for TakenMemory {
    type Range = PlacedRange;

    fn any_range(
        &mut self,
        heaps: &Arc<TypedHeaps>,
        sharing: Sharing,
        request: &PlacementRequest,
    ) -> Result<Option<PlacedRange>, PlacementError> {
        PlacedRange::find_anywhere(heaps, sharing, request)
    }

    fn return_unused(&mut self, kinds: &HeapKinds) {
        kinds.return_unused_memory();
    }

    fn given_back(&self, kinds: &HeapKinds, heaps: &TypedHeaps) -> GivenBack {
        kinds.given_back(heaps)
    }
}

/// Changes nothing.
#[derive(Debug, Default)]
pub(crate) struct AskedMemory {
    after_return: Option<AfterReturn>,
}

impl HeldMemory for AskedMemory {
    type Range = ();

    fn any_range(
        &mut self,
        heaps: &Arc<TypedHeaps>,
        sharing: Sharing,
        request: &PlacementRequest,
    ) -> Result<Option<()>, PlacementError> {
        let has_room = match &self.after_return {
            None => heaps.has_any_room(sharing, request)?,
            Some(after) => after.has_any_room(heaps, sharing, request)?,
        };
        Ok(has_room.then_some(()))
    }

    fn return_unused(&mut self, kinds: &HeapKinds) {
        self.after_return = Some(kinds.after_return());
    }

    fn given_back(&self, kinds: &HeapKinds, heaps: &TypedHeaps) -> GivenBack {
        match &self.after_return {
            None => kinds.given_back(heaps),
            Some(after) => after.given_back(heaps),
        }
    }
}
