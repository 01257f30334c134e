//! [`Linear`]: a suballocator that allocates sequentially, as a ring or as two stacks.
//!
//! It neither searches nor joins free ranges. It allocates next to the newest live range, so allocating and
//! freeing take a few instructions in the worst case, however many ranges are live. In exchange, freed bytes
//! can be reused only if nothing older, or nothing newer, is live; until then they are padding.
//!
//! ```text
//!   ring           |   |##..####..#####|   >>|   nothing wrapped: free at both ends
//!   wrapped ring   |###| >>    |..####..#####|   the first in is the first out
//!   two stacks     |####..####|  >>  <<  |##.|   the last in is the first out, at each end
//!                  # used    . padding    blank: free, next request at >> or <<
//! ```
//!
//! # Data structures
//!
//! Each live range has an entry of 32 bytes and its value, linked to the ranges allocated before and after it.
//! Freeing a range unlinks it, wherever it is in the list, and leaves no entry; the ends of the list therefore
//! determine what is free. Host memory is proportional to the live ranges.
//!
//! # Invariants
//!
//! [`Linear::audit`] checks:
//!
//! - the links are consistent in both directions, and lead from older stamps to newer ones;
//! - live ranges lie within the capacity, without overlap, in allocation order, and nothing is live at the
//!   upper end while the ring is wrapped;
//! - each counter equals the sum that it represents;
//! - fence values and stamps of batches ascend, and the first batch has a live suballocation;
//! - when nothing is used, only the last submitted fence value remains of the state before.

mod audit;
mod batches;
mod fence_order_error;
mod live_ranges;
mod placement;
mod ranges;
mod suballocator;
#[cfg(test)]
mod tests;

pub use batches::Retired;
pub use fence_order_error::FenceOrderError;
pub use ranges::Ranges;
pub use suballocator::Linear;
