//! One heap and what lies in it.

use heapwright_core::{ByteSize, GpuVirtualAddress, HeapOffset, HeapRange};
use heapwright_d3d12::D3D12_HEAP_FLAGS;
use serde::{Deserialize, Serialize};

use super::allocator_report::{SegmentGroupName, share};
use super::names::{AllocationKind, HeapContents, HeapTypeName, heap_flag_names};
use super::number;
use crate::SegmentGroup;

/// One heap.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct HeapReport {
    /// Its place in [`AllocatorReport::heaps`](super::AllocatorReport::heaps); `recount` sets it.
    pub index: usize,
    /// The place of its pool in [`AllocatorReport::pools`](super::AllocatorReport::pools).
    pub pool: usize,
    /// The heap type.
    pub heap_type: HeapTypeName,
    /// The segment group that it is charged to.
    #[serde(with = "SegmentGroupName")]
    pub segment_group: SegmentGroup,
    /// Which resources it is for.
    pub kind: HeapContents,
    /// How ranges of it are given out: `tlsf`, `buddy`, ...
    pub algorithm: String,
    /// Bytes.
    #[serde(with = "number")]
    pub size: ByteSize,
    /// Bytes that allocations use; `recount` sets it.
    #[serde(with = "number")]
    pub used: ByteSize,
    /// Names of `D3D12_HEAP_FLAGS` without their prefix, as [`heap_flag_names`] gives them.
    pub flags: Vec<String>,
    /// Where it begins, where it has an address.
    #[serde(default, with = "number::option", skip_serializing_if = "Option::is_none")]
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

    /// The ranges before, between and behind the allocations, from the lowest offset. O(allocations) for all.
    ///
    /// What is free within a slab or a backing buffer is not among them.
    #[must_use]
    pub fn free_ranges(&self) -> FreeRanges<'_> {
        FreeRanges::new(&self.allocations, self.size)
    }

    /// The size of the largest of [`free_ranges`](Self::free_ranges). O(allocations).
    #[must_use]
    pub fn largest_free_range(&self) -> ByteSize {
        self.free_and_largest().1
    }

    /// The share of the free ranges' bytes that one request cannot have, 0 to 1: `1 - largest / sum`. O(allocations).
    #[must_use]
    pub fn external_fragmentation(&self) -> f64 {
        let (free, largest) = self.free_and_largest();
        share(free.saturating_sub(largest), free)
    }

    /// All bytes of free ranges, and those of the largest.
    pub(super) fn free_and_largest(&self) -> (ByteSize, ByteSize) {
        self.free_ranges()
            .map(HeapRange::size)
            .fold((ByteSize::ZERO, ByteSize::ZERO), |(sum, largest), size| {
                (sum.saturating_add(size), largest.max(size))
            })
    }
}

/// One allocation in a heap, or within another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AllocationReport {
    /// Bytes from the start of what it lies in: the heap, or the slab or backing buffer.
    #[serde(with = "number")]
    pub offset: HeapOffset,
    /// Bytes that it takes there.
    #[serde(with = "number")]
    pub size: ByteSize,
    /// What it is.
    pub kind: AllocationKind,
    /// Bytes that were asked for, where that is known and less; the difference is what alignment and size classes cost.
    #[serde(default, with = "number::option", skip_serializing_if = "Option::is_none")]
    pub requested: Option<ByteSize>,
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The user's own, as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_data: Option<String>,
    /// What lies in a slab or a backing buffer, in the order of offsets. `Some` of nothing where it is known to be empty,
    /// `None` where it is not known, or where this is neither.
    #[serde(default, skip_serializing_if = "Option::is_none")]
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

    /// Where it ends; what has more than 64 bits is the largest offset.
    pub(super) fn end(&self) -> HeapOffset {
        self.offset.checked_add(self.size).unwrap_or(HeapOffset::new(u64::MAX))
    }
}

/// The free ranges of a heap. Made by [`HeapReport::free_ranges`].
#[derive(Clone, Debug)]
pub struct FreeRanges<'a> {
    rest: std::slice::Iter<'a, AllocationReport>,
    /// The end of what was seen.
    next: HeapOffset,
    /// The end of the heap.
    end: HeapOffset,
}

impl<'a> FreeRanges<'a> {
    fn new(allocations: &'a [AllocationReport], size: ByteSize) -> Self {
        Self { rest: allocations.iter(), next: HeapOffset::ZERO, end: HeapOffset::new(size.get()) }
    }

    /// From where the last allocation ended up to `end`, unless that is nothing.
    fn up_to(&self, end: HeapOffset) -> Option<HeapRange> {
        let size = end.checked_distance_from(self.next).filter(|size| !size.is_zero())?;
        HeapRange::new(self.next, size)
    }
}

impl Iterator for FreeRanges<'_> {
    type Item = HeapRange;

    fn next(&mut self) -> Option<HeapRange> {
        while let Some(allocation) = self.rest.next() {
            let free = self.up_to(allocation.offset.min(self.end));
            self.next = self.next.max(allocation.end());
            if free.is_some() {
                return free;
            }
        }
        let last = self.up_to(self.end);
        self.next = self.next.max(self.end);
        last
    }
}
