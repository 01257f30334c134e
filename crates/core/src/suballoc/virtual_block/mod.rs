//! A range of offsets that the user owns, by any of the algorithms, with a value of the user's beside each suballocation.
//!
//! Nothing here touches memory: the offsets may be of a buffer, of a descriptor heap, of a file, of an atlas's rows.
//!
//! | type | is |
//! |---|---|
//! | [`VirtualBlock`] | the range, and what is handed out of it |
//! | [`Algorithm`] | which algorithm serves it, and what it can do beyond the others ([`Feature`]) |
//! | [`VirtualAllocationDesc`], [`End`] | a request in full |
//! | [`Refused`] | why a request was declined, and the value that came with it |
//! | [`Allocations`] | what is handed out, in address order |
//! | [`Dump`], [`DumpJson`] | every range, for people and for tools |
//!
//! The values are kept in a table by the dense number that an id carries: no hashing, and no allocation of their own.

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
