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
//! Each end has a queue of its ranges in the order of their allocation, with 32 bytes and a value for each. A range
//! that is freed between two live ones stays in the queue until everything older, or everything newer, is freed; the
//! ends of the queues therefore determine what is free.
//!
//! # Invariants
//!
//! [`Linear::audit`] checks:
//!
//! - stamps ascend, and the oldest and the newest range of each queue are live;
//! - live ranges lie within the capacity, without overlap, in allocation order, and nothing is live at the
//!   upper end while the ring is wrapped;
//! - each counter equals the sum that it represents;
//! - fence values and stamps of batches ascend, and the first batch has a live suballocation;
//! - when nothing is used, only the last submitted fence value remains of the state before.

mod batches;
mod suballocator;
#[cfg(test)]
mod tests;

pub use batches::{FenceOrderError, Retired};
pub use suballocator::Linear;
