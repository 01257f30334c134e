//! Placement: which heap of several serves a request, how large a new heap is, and when an empty one goes back.
//!
//! | type | is |
//! |---|---|
//! | [`HeapSet`] | the mechanism: heaps with a [`Tlsf`](crate::suballoc::Tlsf) each, found by what they have free |
//! | [`SharedHeapSet`] | the same for many threads, each with slabs of its own for small sizes |
//! | [`HeapEngine`] | one of several algorithms: a [`SharedHeapSet`], or what GPGMM and D3D12MA have beside it |
//! | [`HeapPool`] | empty heaps between an engine and the device |
//! | [`Evacuation`] | emptying heaps of such a set that hold little, step by step |
//! | [`HeapSizing`] | policy: the size of a new heap |
//! | [`HeapReuse`] | policy: which empty heaps are too large for a request |
//! | [`HeapRetention`] | policy: how many bytes of empty heaps are worth keeping |
//!
//! A heap set creates and destroys nothing. It says what it wants (a heap of this size; these heaps may go) and its
//! owner carries that out, outside of whatever lock guards the set.

pub mod engine;
mod evacuation;
mod heap_index;
mod heap_pool;
mod heap_set;
mod lane;
mod retention;
mod reuse;
mod room;
mod shared_heap_set;
mod sizing;

pub use engine::{EngineDesc, HeapEngine, PlacementAlgorithm, PlacementRequest, SizeCacheCounts, SlabSizing};
pub use evacuation::{
    CompletedMove, Evacuation, EvacuationBudget, EvacuationProgress, EvacuationState, EvacuationStep,
    PlannedMove,
};
pub use heap_pool::{HeapPool, HeapPoolTotals, HeapPooling};
pub use heap_set::{HeapId, HeapSet, HeapSetTotals, NewHeap, Placed, PlacementError, PlacementId};
pub use retention::HeapRetention;
pub use reuse::HeapReuse;
pub use room::Room;
pub use shared_heap_set::{
    HeapSurvey, SharedHeapSet, SharedPlaced, SharedPlacementId, SurveyedRange, lane_of_thread,
};
pub use sizing::HeapSizing;

#[cfg(all(test, not(loom)))]
mod heap_pool_tests;
#[cfg(all(test, not(loom)))]
mod last_resort_tests;
#[cfg(all(test, loom))]
mod loom_tests;
#[cfg(all(test, not(loom)))]
mod slab_tests;
#[cfg(test)]
mod tests;
