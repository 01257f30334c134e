//! Suballocators that allocate sequentially: [`Linear`], [`DoubleStack`] and [`Ring`].
//!
//! They neither search nor join free ranges. Each allocates next to the newest live range, so allocating and
//! freeing take a few instructions in the worst case, however many ranges are live. In exchange, freed bytes
//! can be reused only in the order that suits the type; until then they are padding.
//!
//! ```text
//!   Linear         |####..####|                      >>|   one end; the last in is the first out
//!   DoubleStack    |####..####|          |<<   |####.##|   two ends that grow towards each other
//!   Ring           |###| >>        |..####..#####|.....|   the first in is the first out
//!                  # used    . padding    blank: free, next request at >> or <<
//! ```
//!
//! In all of them, suballocations may be freed in any order. The types differ in when the bytes can be
//! reused:
//!
//! | type | freed bytes can be reused |
//! |---|---|
//! | [`Linear`] | when nothing live lies above them |
//! | [`DoubleStack`] | when nothing live of their end lies between them and the middle |
//! | [`Ring`] | when nothing live is older than they were, or nothing newer |
//!
//! # Data structures
//!
//! Each live range has an entry of 32 bytes, linked to the ranges allocated before and after it. Freeing a
//! range unlinks it, wherever it is in the list, and leaves no entry; the ends of the list therefore
//! determine what is free. Host memory is proportional to the live ranges.
//!
//! # Retirement by fence
//!
//! The GPU uses uploaded data until a fence reaches a value. [`Ring::submit`] closes a batch of everything
//! allocated since the last batch, and [`Ring::retire`] frees all batches whose fence value is reached;
//! [`Linear`] has the same two methods. [`Ring`] has an example for a renderer with three frames in flight.
//!
//! # Invariants
//!
//! The `audit` of each type checks:
//!
//! - the links are consistent in both directions, and lead from older stamps to newer ones;
//! - live ranges lie within the capacity, without overlap, in the order in which the type allocates;
//! - each counter equals the sum that it represents;
//! - fence values and stamps of batches ascend, and the first batch has a live suballocation;
//! - when nothing is used, only the last submitted fence value remains of the state before.

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
