//! The report of one heap and of its allocations.

use heapwright_core::{ByteSize, GpuVirtualAddress, HeapOffset};
use heapwright_d3d12::D3D12_HEAP_FLAGS;
#[cfg(feature = "serde")]
use serde::{Deserialize, Serialize};

use super::names::{AllocationKind, HeapContents, HeapTypeName, heap_flag_names};
use crate::SegmentGroup;

/// The report of one heap.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
#[non_exhaustive]
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
    /// The algorithm that divides the heap: `tlsf`, `buddy`, ...
    pub algorithm: String,
    /// Size in bytes.
    pub size: ByteSize,
    /// Bytes that allocations use; `recount` sets it.
    pub used: ByteSize,
    /// Names of the `D3D12_HEAP_FLAGS` without their prefix; bits without a name as one hexadecimal number.
    pub flags: Vec<String>,
    /// GPU virtual address, if the heap has one.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub gpu_virtual_address: Option<GpuVirtualAddress>,
    /// The allocations in the heap, by offset; `recount` sorts them.
    pub allocations: Vec<AllocationReport>,
}

impl HeapReport {
    /// Creates a report of an empty heap of the first pool, with TLSF.
    #[must_use]
    pub fn new(
        heap_type: HeapTypeName,
        segment_group: SegmentGroup,
        kind: HeapContents,
        size: ByteSize,
    ) -> Self {
        Self {
            index: 0,
            pool: 0,
            heap_type,
            segment_group,
            kind,
            algorithm: "tlsf".to_owned(),
            size,
            used: ByteSize::ZERO,
            flags: Vec::new(),
            gpu_virtual_address: None,
            allocations: Vec::new(),
        }
    }

    /// Sets the index of the pool in [`AllocatorReport::pools`](super::AllocatorReport::pools).
    #[must_use]
    pub fn in_pool(mut self, pool: usize) -> Self {
        self.pool = pool;
        self
    }

    /// Sets the name of the algorithm, such as "tlsf".
    #[must_use]
    pub fn with_algorithm(mut self, algorithm: impl Into<String>) -> Self {
        self.algorithm = algorithm.into();
        self
    }

    /// Sets the flags.
    #[must_use]
    pub fn with_flags(mut self, flags: D3D12_HEAP_FLAGS) -> Self {
        self.flags = heap_flag_names(flags);
        self
    }

    /// Sets the address.
    #[must_use]
    pub fn with_gpu_virtual_address(mut self, address: Option<GpuVirtualAddress>) -> Self {
        self.gpu_virtual_address = address;
        self
    }
}

/// The report of one allocation in a heap or within another allocation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
#[non_exhaustive]
pub struct AllocationReport {
    /// Offset in bytes from the start of the heap, or of the slab or backing buffer that contains it.
    pub offset: HeapOffset,
    /// Size in bytes.
    pub size: ByteSize,
    /// The kind of allocation.
    pub kind: AllocationKind,
    /// Requested bytes, if they are known and less; the difference is the cost of alignment and size classes.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub requested: Option<ByteSize>,
    /// The name.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub name: Option<String>,
    /// The application's value, as text.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub user_data: Option<String>,
    /// The allocations within a slab or a backing buffer, by offset. `Some` of an empty list if it is known to be
    /// empty; `None` if its contents are not known, or for any other kind.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub within: Option<Vec<Self>>,
}

impl AllocationReport {
    /// Creates a report of an allocation with the required properties.
    #[must_use]
    pub fn new(offset: HeapOffset, size: ByteSize, kind: AllocationKind) -> Self {
        Self { offset, size, kind, requested: None, name: None, user_data: None, within: None }
    }

    /// Sets the name; an empty name is none.
    #[must_use]
    pub fn with_name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into()).filter(|name| !name.is_empty());
        self
    }

    /// Sets the application's value, as text.
    #[must_use]
    pub fn with_user_data(mut self, user_data: impl Into<String>) -> Self {
        self.user_data = Some(user_data.into());
        self
    }

    /// Sets the requested bytes; omitted if they equal the size.
    #[must_use]
    pub fn with_requested(mut self, requested: ByteSize) -> Self {
        self.requested = Some(requested).filter(|&requested| requested != self.size);
        self
    }

    /// Sets the allocations within a slab or a backing buffer.
    #[must_use]
    pub fn with_within(mut self, within: Vec<Self>) -> Self {
        self.within = Some(within);
        self
    }
}
