//! The report of one heap and of its allocations.

use heapwright_core::{ByteSize, HeapOffset};
#[cfg(feature = "serde")]
use serde::{Deserialize, Serialize};

use super::names::{AllocationKind, HeapContents, HeapTypeName};
use crate::SegmentGroup;

/// The report of one heap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
pub struct HeapReport {
    /// Index in [`AllocatorReport::heaps`](super::AllocatorReport::heaps); `recount` sets it.
    pub index: usize,
    /// Index of its pool in [`AllocatorReport::pools`](super::AllocatorReport::pools).
    pub pool: usize,
    /// The heap type.
    pub heap_type: HeapTypeName,
    /// The segment group that the heap is charged to.
    pub segment_group: SegmentGroup,
    /// The resources that the heap may hold.
    pub kind: HeapContents,
    /// The algorithm that divides the heap: `default`, `slab`, ...; `committed` for the implicit heap of a buffer that
    /// others are within.
    pub algorithm: String,
    /// Size in bytes.
    pub size: ByteSize,
    /// Bytes that allocations use; `recount` sets it.
    pub used: ByteSize,
    /// Names of the `D3D12_HEAP_FLAGS` without their prefix; bits without a name as one hexadecimal number.
    pub flags: Vec<String>,
    /// The allocations in the heap, by offset; `recount` sorts them.
    pub allocations: Vec<AllocationReport>,
}

/// The report of one allocation in a heap or within another allocation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
pub struct AllocationReport {
    /// Offset in bytes from the start of the heap, or of the backing buffer that contains it.
    pub offset: HeapOffset,
    /// Size in bytes.
    pub size: ByteSize,
    /// The kind of allocation.
    pub kind: AllocationKind,
    /// The name.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub name: Option<String>,
    /// The application's value, as text.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub user_data: Option<String>,
    /// The allocations within a backing buffer, by offset. `Some` of an empty list if it is known to be
    /// empty; `None` if its contents are not known, or for any other kind.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub within: Option<Vec<Self>>,
}
