//! The inputs and results of a run of evacuation.

use crate::placement::{HeapId, Placed, PlacementId};
use crate::{ByteSize, HeapRange};

/// The limits of one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EvacuationBudget {
    /// Maximum number of moves. Default 64.
    pub moves: u32,
    /// Maximum total size of the moves. Default 64 MiB.
    pub bytes: ByteSize,
    /// Allows a step's only move to exceed `bytes`. Otherwise larger allocations never move. Default `true`.
    pub or_one_larger: bool,
}

impl Default for EvacuationBudget {
    fn default() -> Self {
        Self { moves: 64, bytes: ByteSize::from_mib(64), or_one_larger: true }
    }
}

/// A planned move of an allocation, whose target is already allocated.
///
/// Copy the content, then [complete](super::Evacuation::complete) or [abandon](super::Evacuation::abandon)
/// the move. Until then source and target are both live, and either may be freed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "the target range stays live until the move is completed or abandoned"]
pub struct PlannedMove<H> {
    /// The allocation to move.
    pub source: PlacementId,
    /// The range of the source.
    pub source_range: HeapRange,
    /// The target: a range of the same size, with an alignment that is sufficient for anything that was
    /// aligned at the source.
    pub target: Placed<H>,
    pub(super) from: HeapId,
    /// The slot of the target's heap.
    pub(super) to: u32,
}

/// The actions that a step requires, in any order.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "the moves hold memory, and the heaps to release were removed from the set"]
pub struct EvacuationStep<H> {
    /// Moves to carry out, then to complete or abandon.
    pub moves: Vec<PlannedMove<H>>,
    /// Empty heaps that left the set, to be released.
    pub release: Vec<H>,
    /// The size of a heap that the run needs. Create it and [supply](super::Evacuation::supply) it, or report
    /// that it was refused. The run waits for the heap, and asks for it once.
    pub create: Option<ByteSize>,
    /// The state of the run.
    pub state: EvacuationState,
}

/// The state of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EvacuationState {
    /// There is more to plan.
    Planning,
    /// A heap is needed, and was neither supplied nor refused yet.
    AwaitingHeap,
    /// Nothing can be planned before moves are completed or abandoned.
    AwaitingMoves,
    /// No heap is worth emptying any more, and none is closed.
    Finished,
}

/// The result of completing a move.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "the heaps to release were removed from the set"]
pub struct CompletedMove<H> {
    /// Whether the source was live; its range is now free. If it is false, the source was freed before, and
    /// the target was freed, too.
    pub is_moved: bool,
    /// Empty heaps that left the set, to be released.
    pub release: Vec<H>,
}

/// The progress of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EvacuationProgress {
    /// The number of completed moves.
    pub moves: u64,
    /// The total size of the moved allocations.
    pub bytes_moved: ByteSize,
    /// The number of heaps that were released, whether they were emptied or were empty before.
    pub heaps_freed: u64,
    /// The total size of those heaps.
    pub bytes_freed: ByteSize,
    /// The total size of the heaps that were created as targets.
    pub bytes_created: ByteSize,
}

impl EvacuationProgress {
    /// Adds the progress of another run.
    pub fn add(&mut self, other: &Self) {
        self.moves += other.moves;
        self.bytes_moved = self.bytes_moved.saturating_add(other.bytes_moved);
        self.heaps_freed += other.heaps_freed;
        self.bytes_freed = self.bytes_freed.saturating_add(other.bytes_freed);
        self.bytes_created = self.bytes_created.saturating_add(other.bytes_created);
    }
}
