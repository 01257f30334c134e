//! Placement: which heap of several serves a request, how large a new heap is, and when an empty one goes back.
//!
//! | type | is |
//! |---|---|
//! | [`HeapSet`] | the mechanism: heaps with a [`Tlsf`](crate::suballoc::Tlsf) each, found by what they have free |
//! | [`HeapSizing`] | policy: the size of a new heap |
//! | [`HeapRetention`] | policy: how many bytes of empty heaps are worth keeping |
//!
//! A heap set creates and destroys nothing. It says what it wants (a heap of this size; these heaps may go) and its
//! owner carries that out, outside of whatever lock guards the set.

mod heap_index;
mod heap_set;
mod retention;
mod sizing;

pub use heap_set::{HeapId, HeapSet, HeapSetTotals, NewHeap, Placed, PlacementError, PlacementId};
pub use retention::HeapRetention;
pub use sizing::HeapSizing;

#[cfg(test)]
mod tests;
