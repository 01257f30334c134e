//! The platform-independent part of heapwright: number types and algorithms, with no D3D12, no I/O and no
//! `unsafe`.
//!
//! | module | holds |
//! |---|---|
//! | [`units`] | number types: sizes, offsets, ranges, alignments, GPU virtual addresses, fence values |
//! | [`suballoc`] | suballocators: which ranges of a heap are used and which are free |
//! | [`residency`] | which heaps are resident: policies and plans |
//! | [`placement`] | which heap serves a request, how large a new heap is, and when an empty heap is released |
//!
//! Everything here is deterministic: the same calls return the same results on any machine. There is no
//! clock, no hashing and no randomness.

#![forbid(unsafe_code)]

pub mod placement;
#[cfg(feature = "residency")]
pub mod residency;
pub mod suballoc;
mod sync;
pub mod units;

pub use units::{Alignment, ByteSize, FenceValue, GpuVirtualAddress, HeapOffset, HeapRange, SegmentGroup};
