//! Types for the numbers of GPU memory, one per meaning, so that a size cannot be passed for an offset.
//!
//! | type | meaning | unit |
//! |---|---|---|
//! | [`ByteSize`] | how many bytes | bytes |
//! | [`HeapOffset`] | where in a heap, counted from its start | bytes |
//! | [`HeapRange`] | from an offset, so many bytes; half open | bytes |
//! | [`Alignment`] | what an offset or address must be a multiple of; a power of two | bytes |
//! | [`GpuVirtualAddress`] | where the GPU sees a resource; never zero | bytes |
//! | [`FenceValue`] | how far a GPU has come | a count |
//!
//! Arithmetic that can overflow answers an [`Option`]; nothing here panics or wraps. Every operation is O(1).

mod alignment;
mod byte_size;
mod fence_value;
mod gpu_virtual_address;
mod heap_offset;
mod heap_range;

pub use alignment::Alignment;
pub use byte_size::ByteSize;
pub use fence_value::FenceValue;
pub use gpu_virtual_address::GpuVirtualAddress;
pub use heap_offset::HeapOffset;
pub use heap_range::HeapRange;
