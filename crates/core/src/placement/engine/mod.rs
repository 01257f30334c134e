//! Engines: one type for a family of heaps, independent of the placement algorithm.
//!
//! | algorithm | from | content of a heap |
//! |---|---|---|
//! | [`Default`](PlacementAlgorithm::Default) | | requests of many sizes, good fit, with slabs for small ones |
//! | [`SlabBySize`](PlacementAlgorithm::SlabBySize) | GPGMM | blocks of one size |
//! | [`BuddySystem`](PlacementAlgorithm::BuddySystem) | GPGMM | blocks of powers of two |
//! | [`Dedicated`](PlacementAlgorithm::Dedicated) | GPGMM | one request |
//! | [`Linear`](PlacementAlgorithm::Linear) | D3D12MA | sequential requests |
//!
//! All keep empty heaps by the same [rule](super::HeapRetention). A heap that leaves is returned to its owner.

mod blocks;
mod desc;
mod empty_heaps;
mod heap_engine;
mod heap_table;
mod heaps;
mod ranges;
mod rule;
mod slab_sizing;
#[cfg(all(test, not(loom)))]
mod slab_tests;
#[cfg(all(test, not(loom)))]
mod tests;

pub use desc::{EngineDesc, PlacementAlgorithm};
pub(super) use empty_heaps::EmptyHeaps;
pub use heap_engine::HeapEngine;
pub use heaps::SizeCacheCounts;
pub use rule::PlacementRule;
pub use slab_sizing::SlabSizing;
