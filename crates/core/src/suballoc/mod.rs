//! Suballocation: allocating and freeing ranges of a heap.
//!
//! A suballocator decides where in a heap, a buffer, a descriptor heap or a file each object is placed. It
//! manages offsets only: no memory, no device, no budget. Its metadata lies outside the managed range.
//!
//! ```
//! use heapwright_core::suballoc::Tlsf;
//! use heapwright_core::{Alignment, ByteSize, HeapOffset};
//!
//! let mut heap = Tlsf::new(ByteSize::from_mib(64))?;
//! let mesh = heap.allocate(ByteSize::from_mib(4), Alignment::new(64 << 10).unwrap())?;
//! let constants = heap.allocate(ByteSize::new(640), Alignment::new(256).unwrap())?;
//! assert_eq!(mesh.range.start(), HeapOffset::ZERO);
//! assert!(!mesh.range.overlaps(constants.range));
//! heap.free(mesh.id)?;
//! assert_eq!(heap.used(), ByteSize::new(640));
//! # Ok::<(), heapwright_core::suballoc::SuballocError>(())
//! ```
//!
//! | type | algorithm | allocate, free |
//! |---|---|---|
//! | [`Tlsf`] | good fit, two-level segregated lists | O(1) |
//! | [`Linear`] | after the newest live range: a ring, stacks from both ends, or an arena; retired by fence values | O(1) |
//!
//! Each suballocation may have a value: `Tlsf::with_values` is what VMA and D3D12MA call a virtual block.
//!
//! Terms: a *suballocation* is an allocated range. Each byte of the heap lies in exactly one *used range*,
//! *free range* or *padding* range; padding is the bytes by which sizes are rounded up. A free range is
//! *split* when part of it is allocated, and neighbouring free ranges *coalesce*. A *bin* holds the free
//! ranges of one size class.
//!
//! None of these types locks. Use one per thread, protect it with a lock, or use
//! [`SharedHeapSet`](crate::placement::SharedHeapSet).

mod audit_error;
mod branchless;
mod buddy;
mod error;
#[cfg(test)]
#[allow(dead_code, reason = "the tests of the public suballocators use the rest")]
#[path = "../../tests/suballoc/interval_map.rs"]
mod interval_map;
pub mod linear;
mod ordered_set;
#[cfg(test)]
mod private_state_tests;
pub(crate) mod slab;
mod strategy;
mod suballocation;
pub mod tlsf;

pub use audit_error::AuditError;
pub(crate) use buddy::Buddy;
pub use error::SuballocError;
pub use linear::{FenceOrderError, Linear, Retired};
pub use strategy::FreeRangeChoice;
pub(crate) use suballocation::Stamp;
pub use suballocation::{NoValue, RangeUse, Suballocation, SuballocationId};
pub use tlsf::Tlsf;
