//! One heap and what lies in it.

use heapwright_core::{ByteSize, GpuVirtualAddress, HeapOffset};
use heapwright_d3d12::D3D12_HEAP_FLAGS;
#[cfg(feature = "serde")]
use serde::{Deserialize, Serialize};

use super::names::{AllocationKind, HeapContents, HeapTypeName, heap_flag_names};
use crate::SegmentGroup;

/// One heap.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
#[non_exhaustive]
pub struct HeapReport {
    /// Its place in [`AllocatorReport::heaps`](super::AllocatorReport::heaps); `recount` sets it.
    pub index: usize,
    /// The place of its pool in [`AllocatorReport::pools`](super::AllocatorReport::pools).
    pub pool: usize,
    /// The heap type.
    pub heap_type: HeapTypeName,
    /// The segment group that it is charged to.
    pub segment_group: SegmentGroup,
    /// Which resources it is for.
    pub kind: HeapContents,
    /// How ranges of it are given out: `tlsf`, `buddy`, ...
    pub algorithm: String,
    /// Bytes.
    pub size: ByteSize,
    /// Bytes that allocations use; `recount` sets it.
    pub used: ByteSize,
    /// Names of `D3D12_HEAP_FLAGS` without their prefix, bits without a name as one hexadecimal number.
    pub flags: Vec<String>,
    /// Where it begins, where it has an address.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub gpu_virtual_address: Option<GpuVirtualAddress>,
    /// What lies in it, in the order of offsets; `recount` sorts it.
    pub allocations: Vec<AllocationReport>,
}

impl HeapReport {
    /// An empty heap of the first pool, with TLSF.
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

    /// In the pool at this place of [`AllocatorReport::pools`](super::AllocatorReport::pools).
    #[must_use]
    pub fn in_pool(mut self, pool: usize) -> Self {
        self.pool = pool;
        self
    }

    /// With an algorithm; [`Algorithm`](heapwright_core::suballoc::Algorithm) prints as what is wanted here.
    #[must_use]
    pub fn with_algorithm(mut self, algorithm: impl Into<String>) -> Self {
        self.algorithm = algorithm.into();
        self
    }

    /// With these flags.
    #[must_use]
    pub fn with_flags(mut self, flags: D3D12_HEAP_FLAGS) -> Self {
        self.flags = heap_flag_names(flags);
        self
    }

    /// With an address.
    #[must_use]
    pub fn with_gpu_virtual_address(mut self, address: Option<GpuVirtualAddress>) -> Self {
        self.gpu_virtual_address = address;
        self
    }
}

/// One allocation in a heap, or within another.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
#[non_exhaustive]
pub struct AllocationReport {
    /// Bytes from the start of what it lies in: the heap, or the slab or backing buffer.
    pub offset: HeapOffset,
    /// Bytes that it takes there.
    pub size: ByteSize,
    /// What it is.
    pub kind: AllocationKind,
    /// Bytes that were asked for, where that is known and less; the difference is what alignment and size classes cost.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub requested: Option<ByteSize>,
    /// Its name.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub name: Option<String>,
    /// The user's own, as text.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub user_data: Option<String>,
    /// What lies in a slab or a backing buffer, in the order of offsets. `Some` of nothing where it is known to be empty,
    /// `None` where it is not known, or where this is neither.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub within: Option<Vec<Self>>,
}

impl AllocationReport {
    /// An allocation of which nothing else is known.
    #[must_use]
    pub fn new(offset: HeapOffset, size: ByteSize, kind: AllocationKind) -> Self {
        Self { offset, size, kind, requested: None, name: None, user_data: None, within: None }
    }

    /// With a name; an empty one is none.
    #[must_use]
    pub fn with_name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into()).filter(|name| !name.is_empty());
        self
    }

    /// With the user's own, as text.
    #[must_use]
    pub fn with_user_data(mut self, user_data: impl Into<String>) -> Self {
        self.user_data = Some(user_data.into());
        self
    }

    /// With what was asked for; left out where that is the size.
    #[must_use]
    pub fn with_requested(mut self, requested: ByteSize) -> Self {
        self.requested = Some(requested).filter(|&requested| requested != self.size);
        self
    }

    /// With what lies within; for slabs and backing buffers.
    #[must_use]
    pub fn with_within(mut self, within: Vec<Self>) -> Self {
        self.within = Some(within);
        self
    }
}
