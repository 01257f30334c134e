//! Suballocators that hand out what comes next: [`Linear`], [`DoubleStack`] and [`Ring`].
//!
//! They search nothing and join nothing. Each allocates beside the live range that was handed out last, so both calls are
//! a few instructions in the worst case, whatever is live. The price is that bytes come back only in the order that suits
//! the type; until then they are padding.
//!
//! ```text
//!   Linear         |####..####|                      >>|   one end; the last in is the first out
//!   DoubleStack    |####..####|          |<<   |####.##|   two ends that grow towards each other
//!   Ring           |###| >>        |..####..#####|.....|   the first in is the first out
//!                  # used    . padding    blank: free, next request at >> or <<
//! ```
//!
//! Suballocations may be freed in any order in all of them. The types differ in when the bytes can be handed out again:
//!
//! | type | bytes that were freed can be handed out again |
//! |---|---|
//! | [`Linear`] | when nothing live lies above them |
//! | [`DoubleStack`] | when nothing live of their end lies between them and the middle |
//! | [`Ring`] | when nothing live is older than they were, or nothing newer |
//!
//! # What is kept
//!
//! A note of 32 bytes for each live range, linked to the one that was handed out before it and the one after it. A range
//! that is freed is unlinked, wherever it is, and no trace of it is left; so what is free is always what the ends of the
//! list say. Only what is live costs memory.
//!
//! # Retirement by fence
//!
//! What is uploaded for a GPU is in use until the GPU says so, by the value of a fence. [`Ring::submit`] closes a batch of
//! everything handed out since the last one, and [`Ring::retire`] takes back all batches whose fence value was reached;
//! [`Linear`] has the same two. [`Ring`] shows it for a renderer with three frames in flight.
//!
//! # Invariants
//!
//! The `audit` of each type checks:
//!
//! - the links go both ways, and from older stamps to newer ones;
//! - live ranges lie within the capacity, without overlap, in the order that the type hands them out in;
//! - the counters are the sums they claim to be;
//! - fence values and stamps of batches ascend, and the first batch has something live in it;
//! - when nothing is used, there is no trace of what was there before, but the fence value that was submitted last.

mod audit;
mod batches;
mod bump;
mod double_stack;
mod fence_order_error;
mod live_ranges;
mod methods;
mod placement;
mod ranges;
mod ring;
mod ring_or_stacks;
#[cfg(test)]
mod ring_or_stacks_tests;
#[cfg(test)]
mod tests;

pub use batches::Retired;
pub use bump::Linear;
pub use double_stack::DoubleStack;
pub use fence_order_error::FenceOrderError;
pub use ranges::Ranges;
pub use ring::Ring;
pub(crate) use ring_or_stacks::RingOrStacks;
