//! Suballocation: handing out ranges of a heap, and taking them back.
//!
//! A suballocator knows offsets and nothing else: no memory, no device, no budget. It keeps its notes outside the
//! range it manages, so the range may be a GPU heap, the inside of one buffer, or a file.
//!
//! | type | rule | allocate, free |
//! |---|---|---|
//! | [`Tlsf`] | good fit, two-level segregated lists | O(1) |
//! | [`Slabs`] | slots of size classes for small sizes, good fit for large ones | O(1) |
//! | [`Buddy`] | blocks of powers of two, halved and joined again | O(log capacity) |
//! | [`Linear`] | above what is live: an arena, or a stack | O(1) |
//! | [`DoubleStack`] | two ends that grow towards each other | O(1) |
//! | [`Ring`] | behind what is newest, and round the end: first in, first out; retired by fence values | O(1) |
//!
//! A [`VirtualBlock`] is a range served by any of them, chosen when it is made, with a value of the user's beside each
//! suballocation. [`Statistics`] and [`DetailedStatistics`] tell how full any of them is, and in what pieces.
//!
//! Words: a *suballocation* is a range handed out; each byte of the heap lies in exactly one *used range*, *free range* or
//! *padding*, which is neither: what a size was rounded up by. A free range is *split* when part of it is handed out, and neighbouring free ranges *coalesce*. A *bin*
//! holds the free ranges of one size class. *Block* is a word of the inside of a strategy; a *virtual block* is called what
//! VMA and D3D12MA call it.
//!
//! None of these types locks: give each thread its own, put a lock around it, or use
//! [`SharedHeapSet`](crate::placement::SharedHeapSet).

mod audit_error;
mod branchless;
pub mod buddy;
mod error;
pub mod linear;
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
