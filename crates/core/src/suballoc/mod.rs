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
//! | [`Slabs`] | slots of size classes for small sizes, good fit for large sizes | O(1) |
//! | [`Buddy`] | blocks of powers of two, halved and joined again | O(log capacity) |
//! | [`Linear`] | above the highest live range: an arena, or a stack | O(1) |
//! | [`DoubleStack`] | two ends that grow towards each other | O(1) |
//! | [`Ring`] | after the newest live range, wrapping at the end: first in, first out; retired by fence values | O(1) |
//!
//! A [`VirtualBlock`] is a range served by any of these algorithms, chosen at creation, with a user value for
//! each suballocation. [`Statistics`] and [`DetailedStatistics`] report how full any of them is, and how
//! fragmented.
//!
//! Terms: a *suballocation* is an allocated range. Each byte of the heap lies in exactly one *used range*,
//! *free range* or *padding* range; padding is the bytes by which sizes are rounded up. A free range is
//! *split* when part of it is allocated, and neighbouring free ranges *coalesce*. A *bin* holds the free
//! ranges of one size class. A *block* is internal to an algorithm; the name *virtual block* is taken from
//! VMA and D3D12MA.
//!
//! None of these types locks. Use one per thread, protect it with a lock, or use
//! [`SharedHeapSet`](crate::placement::SharedHeapSet).

mod audit_error;
mod branchless;
pub mod buddy;
mod error;
pub mod linear;
#[cfg(test)]
mod private_state_tests;
pub mod slab;
mod slots;
pub mod statistics;
mod strategy;
mod suballocation;
mod suballocator;
pub mod tlsf;
pub mod virtual_block;

pub use audit_error::AuditError;
pub use buddy::Buddy;
pub use error::SuballocError;
pub(crate) use linear::RingOrStacks;
pub use linear::{DoubleStack, FenceOrderError, Linear, Retired, Ring};
pub use slab::Slabs;
pub use statistics::{DetailedStatistics, Statistics};
pub use strategy::Strategy;
pub(crate) use suballocation::Stamp;
pub use suballocation::{RangeUse, Suballocation, SuballocationId};
pub use suballocator::Suballocator;
pub use tlsf::Tlsf;
pub use virtual_block::{Algorithm, VirtualAllocationDesc, VirtualBlock};
