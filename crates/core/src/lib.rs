//! The pure part of heapwright: numbers and the algorithms over them, with no D3D12, no I/O and no `unsafe`.
//!
//! | module | holds |
//! |---|---|
//! | [`units`] | a type per meaning of a number: sizes, offsets, ranges, alignments, GPU virtual addresses, fence values |
//! | [`suballoc`] | handing out ranges of a heap: which offsets are used, which are free |
//! | [`residency`] | which heaps are in memory: policies, plans, and the optimum to compare them with |
//! | [`placement`] | which of several heaps serves a request, how large a new one is, when an empty one goes back |
//!
//! Everything here answers the same to the same calls on any machine: no clock, no hashing, no randomness.

#![forbid(unsafe_code)]

pub mod placement;
pub mod residency;
pub mod suballoc;
mod sync;
pub mod units;

pub use units::{Alignment, ByteSize, FenceValue, GpuVirtualAddress, HeapOffset, HeapRange};
