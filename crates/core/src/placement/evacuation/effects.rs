//! What a run asks its owner for, and what it may take.

use crate::placement::{HeapId, SharedPlaced, SharedPlacementId};
use crate::{ByteSize, HeapRange};

/// What one step may plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EvacuationBudget {
    /// This many moves at most. Default 64.
    pub moves: u32,
    /// Moves of this many bytes together, at most. Default 64 MiB.
    pub bytes: ByteSize,
    /// A step's only move may be larger than `bytes`: without that, what is larger never moves. Default `true`.
    pub or_one_larger: bool,
}

impl Default for EvacuationBudget {
    fn default() -> Self {
        Self { moves: 64, bytes: ByteSize::from_mib(64), or_one_larger: true }
    }
}

/// An allocation that should be somewhere else. Its new place is allocated already.
///
/// Copy the content, then [complete](super::Evacuation::complete) or [abandon](super::Evacuation::abandon) it. Until then
/// both places are live, and either may be freed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "its target is live until the move is completed or abandoned"]
pub struct PlannedMove<H> {
    /// What moves.
    pub source: SharedPlacementId,
    /// Where it is.
    pub source_range: HeapRange,
    /// What the owner holds for the heap that it is in.
    pub source_heap: H,
    /// Where it goes: as many bytes, at an alignment that suits whatever was aligned at the source.
    pub target: SharedPlaced<H>,
    pub(super) from: HeapId,
    /// The slot of the heap that it goes to.
    pub(super) to: u32,
}

/// What a step wants done, in any order.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "the moves hold memory, and the heaps to release left the set"]
pub struct EvacuationStep<H> {
    /// To be carried out, then completed or abandoned.
    pub moves: Vec<PlannedMove<H>>,
    /// These heaps left the set: nothing is in them.
    pub release: Vec<H>,
    /// A heap of this size is wanted: make it and [supply](super::Evacuation::supply) it, or say that it was refused. The run waits
    /// for the answer; it is asked for once.
    pub create: Option<ByteSize>,
    /// What there is to do next.
    pub state: EvacuationState,
}

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EvacuationState {
    /// There is more to plan.
    Planning,
    /// A heap was asked for, and neither supplied nor refused yet.
    AwaitingHeap,
    /// Nothing can be planned before moves are completed or abandoned.
    AwaitingMoves,
    /// No heap is worth emptying any more, and none is closed.
    Finished,
}

/// What became of a move that was to be completed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "the heaps to release left the set"]
pub struct CompletedMove<H> {
    /// The source was live, and its place is free now. If not, it was freed meanwhile: the target is free again, too.
    pub is_moved: bool,
    /// These heaps left the set: nothing is in them.
    pub release: Vec<H>,
}

/// What a run did so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EvacuationProgress {
    /// Moves that were planned.
    pub planned_moves: u64,
    /// Their bytes.
    pub planned_bytes: ByteSize,
    /// Moves that were completed while the source was live.
    pub completed_moves: u64,
    /// Their bytes.
    pub completed_bytes: ByteSize,
    /// Heaps that left the set, and were empty from the begin or were emptied.
    pub freed_heaps: u64,
    /// Their bytes.
    pub freed_bytes: ByteSize,
    /// Bytes of heaps that were asked for and supplied.
    pub supplied_bytes: ByteSize,
    /// Heaps that are closed now.
    pub closed_heaps: u64,
    /// Heaps that may be worth emptying yet, by what was last seen of them.
    pub candidate_heaps: u64,
}
