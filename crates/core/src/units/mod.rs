//! Number types of GPU memory, one for each meaning, so that a size cannot be passed as an offset; and
//! [`SegmentGroup`].
//!
//! | type | meaning | unit |
//! |---|---|---|
//! | [`ByteSize`] | a size | bytes |
//! | [`HeapOffset`] | an offset from the start of a heap | bytes |
//! | [`HeapRange`] | an offset and a size; half open | bytes |
//! | [`Alignment`] | the alignment of an offset or address; a power of two | bytes |
//! | [`GpuVirtualAddress`] | the GPU virtual address of a resource; never zero | bytes |
//! | [`FenceValue`] | the progress of a GPU queue | a count |
//!
//! Arithmetic that can overflow returns an [`Option`]; it neither panics nor wraps. Every operation is O(1).

mod alignment;
mod byte_size;
mod fence_value;
mod gpu_virtual_address;
mod heap_offset;
mod heap_range;
mod segment_group;

pub use alignment::Alignment;
pub use byte_size::{ByteSize, ParseByteSizeError};
pub use fence_value::FenceValue;
pub use gpu_virtual_address::GpuVirtualAddress;
pub use heap_offset::HeapOffset;
pub use heap_range::HeapRange;
pub use segment_group::SegmentGroup;
