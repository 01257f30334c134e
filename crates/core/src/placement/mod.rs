//! Placement: which heap serves a request, how large a new heap is, and when an empty heap is released.
//!
//! | type | meaning |
//! |---|---|
//! | [`SharedHeapSet`] | heaps with a [`Tlsf`](crate::suballoc::Tlsf) each, for many threads, each with its own slabs for small sizes |
//! | [`HeapEngine`] | one of several algorithms: a [`SharedHeapSet`], or those of GPGMM and D3D12MA |
//! | [`Evacuation`] | emptying heaps with few live bytes, in steps |
//! | [`HeapPrices`] | the time that a device takes to create and free heaps, by size, learned from calls |
//! | [`HeapCosts`] | the time that a device takes to create and free heaps, by size |
//! | [`HeapSizing`] | policy: the size of a new heap |
//! | [`HeapRetention`] | policy: how long empty heaps are kept, and how many bytes of them |
//! | [`HeapTally`] | what the sets of an allocator count together for this policy |
//!
//! A heap set creates and destroys no heaps. It returns what is needed (the size of a heap, heaps to
//! release), and its owner carries that out, outside of the lock that guards the set.

pub mod engine;
mod evacuation;
mod heap_cost;
mod heap_index;
mod heap_prices;
mod heap_set;
mod idle_times;
mod lane;
mod placement_error;
mod request;
mod retention;
mod shared_heap_set;
mod sizing;

pub use engine::{EngineDesc, HeapEngine, PlacementAlgorithm, PlacementRule, SizeCacheCounts, SlabSizing};
pub use evacuation::{
    CompletedMove, Evacuation, EvacuationBudget, EvacuationProgress, EvacuationState, EvacuationStep,
    PlannedMove,
};
pub use heap_cost::{HeapCost, HeapCosts};
pub use heap_prices::HeapPrices;
pub use heap_set::HeapSetTotals;
pub(crate) use heap_set::{HeapId, HeapSet, Placed, PlacementId};
pub use idle_times::HeapTally;
pub use placement_error::PlacementError;
pub use request::PlacementRequest;
pub use retention::{HeapRetention, Keeping};
pub use shared_heap_set::{
    HeapSurvey, SharedHeapSet, SharedPlaced, SharedPlacementId, SurveyedRange, lane_of_thread,
};
pub use sizing::HeapSizing;

#[cfg(all(test, not(loom)))]
mod heap_price_tests;
#[cfg(all(test, not(loom)))]
mod last_resort_tests;
#[cfg(all(test, loom))]
mod loom_tests;
#[cfg(all(test, not(loom)))]
mod slab_tests;
#[cfg(all(test, not(loom)))]
mod tests;
