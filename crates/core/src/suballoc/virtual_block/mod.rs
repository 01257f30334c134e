//! Virtual blocks: ranges of offsets that the user owns, managed by any of the algorithms, with a user value
//! for each suballocation.
//!
//! Nothing here touches memory: the offsets may belong to a buffer, a descriptor heap, a file, or the rows of
//! an atlas.
//!
//! | type | meaning |
//! |---|---|
//! | [`VirtualBlock`] | the range and its suballocations |
//! | [`Algorithm`] | the algorithm, and its optional features ([`Feature`]) |
//! | [`VirtualAllocationDesc`], [`End`] | the description of a request |
//! | [`Refused`] | the error of a refused request, with the value passed to it |
//! | [`Allocations`] | an iterator over the suballocations in address order |
//! | [`Dump`], [`DumpJson`] | dumps of every range, for people and for tools |
//!
//! The values are kept in a table indexed by the dense number in an id, so they need no hashing and no host
//! allocation of their own.

mod algorithm;
mod allocations;
mod block;
mod desc;
mod dump;
mod heap;
mod refused;
mod user_data;

pub use algorithm::{Algorithm, Feature};
pub use allocations::Allocations;
pub use block::VirtualBlock;
pub use desc::{End, VirtualAllocationDesc};
pub use dump::{Dump, DumpJson};
pub use refused::Refused;
