//! Placement: which heap serves a request, how large a new heap is, and when an empty heap is released.
//!
//! | type | meaning |
//! |---|---|
//! | [`SharedHeapSet`] | heaps of one kind, for many threads; by the default algorithm each has a [`Tlsf`](crate::suballoc::Tlsf), and there are slabs for small sizes |
//! | [`PlacementRule`] | the algorithm of a set with its parameters |
//! | [`Evacuation`] | emptying heaps with few live bytes, in steps |
//! | [`HeapPrices`] | the time that a device takes to create and free heaps, by size, learned from calls |
//! | [`HeapCosts`] | the time that a device takes to create and free heaps, by size |
//! | [`HeapSizing`] | policy: the size of a new heap |
//! | [`HeapRetention`] | policy: how long empty heaps are kept, and how many bytes of them |
//! | [`HeapTally`] | what the sets of an allocator count together for this policy |
//!
//! A heap set creates and destroys no heaps. It returns what is needed (the size of a heap, heaps to
//! release), and its owner carries that out, outside of the lock that guards the set.
//!
//! # Algorithms
//!
//! | algorithm | from | content of a heap |
//! |---|---|---|
//! | [`Default`](PlacementAlgorithm::Default) | | requests of many sizes, good fit, with slabs for small ones |
//! | [`SlabBySize`](PlacementAlgorithm::SlabBySize) | GPGMM | blocks of one size |
//! | [`BuddySystem`](PlacementAlgorithm::BuddySystem) | GPGMM | blocks of powers of two |
//! | [`Dedicated`](PlacementAlgorithm::Dedicated) | GPGMM | one request |
//! | [`Linear`](PlacementAlgorithm::Linear) | D3D12MA | sequential requests |
//!
//! All are rules of one set, which differ in what divides a heap. With each, a request may be [alone](Sharing::Alone)
//! in a heap, and empty heaps are kept by the same [rule](HeapRetention).

mod algorithm;
mod desc;
mod evacuation;
mod heap_cost;
mod heap_index;
mod heap_prices;
mod heap_set;
mod heap_table;
mod idle_times;
mod ids;
mod lane;
mod placement_error;
mod ranges;
mod request;
mod retention;
mod rule;
mod shared_heap_set;
mod sizing;
mod slab_notes;
mod slab_sizing;
mod surveyed;

pub use algorithm::PlacementAlgorithm;
pub use desc::HeapSetDesc;
pub use evacuation::{
    CompletedMove, Evacuation, EvacuationBudget, EvacuationProgress, EvacuationState, EvacuationStep,
    PlannedMove,
};
pub use heap_cost::{HeapCost, HeapCosts};
pub use heap_prices::HeapPrices;
pub(crate) use heap_set::HeapSet;
pub use heap_set::{HeapSetTotals, SizeCacheCounts};
pub use idle_times::HeapTally;
pub(crate) use ids::HeapId;
pub use ids::PlacementId;
pub use placement_error::PlacementError;
pub use request::{Placed, PlacementRequest, Sharing};
pub use retention::{HeapRetention, Keeping};
pub use rule::PlacementRule;
pub use shared_heap_set::{SharedHeapSet, lane_of_thread};
pub use sizing::HeapSizing;
pub use slab_sizing::SlabSizing;
pub use surveyed::{HeapSurvey, SurveyedRange};

#[cfg(all(test, not(loom)))]
mod block_tests;
#[cfg(all(test, not(loom)))]
mod heap_price_tests;
#[cfg(all(test, not(loom)))]
mod last_resort_tests;
#[cfg(all(test, loom))]
mod loom_tests;
#[cfg(all(test, not(loom)))]
mod model_tests;
#[cfg(all(test, not(loom)))]
mod slab_tests;
#[cfg(all(test, not(loom)))]
mod tests;
#[cfg(all(test, not(loom)))]
mod thread_tests;
