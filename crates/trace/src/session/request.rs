//! What a resource was requested with, and how it was placed.

use std::fmt;

use super::heap_type::HeapType;

/// How an allocation was requested, and how it was placed. The numbers are those of Direct3D 12 and of heapwright's
/// flags.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Description {
    /// Id of the allocation.
    pub allocation: u64,
    /// How it was placed, if that was recorded.
    pub placement: Option<Placement>,
    /// `ResourceAllocationFlags`.
    pub allocation_flags: u32,
    /// Additional `D3D12_HEAP_FLAGS`.
    pub heap_flags: u32,
    /// Additional size in bytes.
    pub padding: u64,
    /// `Strategy`: 0 for the default, otherwise its number in heapwright's documentation.
    pub strategy: u8,
    /// `D3D12_RESOURCE_STATES`.
    pub initial_state: u32,
    /// `D3D12_RESOURCE_DIMENSION`.
    pub dimension: u32,
    /// `D3D12_RESOURCE_DESC::Alignment`.
    pub alignment: u64,
    /// Width in texels, or in bytes for a buffer.
    pub width: u64,
    /// Height in texels.
    pub height: u32,
    /// Depth or array size.
    pub depth_or_array_size: u16,
    /// Number of mip levels, or 0 for all.
    pub mip_levels: u16,
    /// `DXGI_FORMAT`.
    pub format: u32,
    /// Number of samples.
    pub sample_count: u32,
    /// Quality of the samples.
    pub sample_quality: u32,
    /// `D3D12_TEXTURE_LAYOUT`.
    pub layout: u32,
}

/// What a request asked for beyond the fields of a [`Description`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Asked {
    /// Heap types in order of preference, at most [`MAX_HEAP_TYPES`](super::MAX_HEAP_TYPES); none if they were
    /// inferred.
    pub heap_types: Vec<HeapType>,
    /// Uses of a buffer: `BufferUses`.
    pub uses: u32,
    /// Memory without a resource. The description is that of a buffer of its size.
    pub memory: Option<BareMemory>,
}

/// Memory without a resource, in which others are placed, such as those of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BareMemory {
    /// The resources that it holds: number of heapwright's `ResourceKind`, in the order of its documentation.
    pub resources: u8,
    /// Alignment in bytes.
    pub alignment: u64,
}

/// A request that failed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refusal {
    /// The request, with allocation 0 and no placement.
    pub description: Description,
    /// `D3D12_RESOURCE_FLAGS`.
    pub resource_flags: u32,
    /// What was asked.
    pub request: Asked,
    /// Id of the pool from which it was requested.
    pub pool: Option<u64>,
    /// Whether there was no memory for it, and no other error.
    pub is_out_of_memory: bool,
}

/// How an allocation was placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum Placement {
    /// A part of a shared buffer.
    WithinResource = 1,
    /// Placed in a shared heap.
    SharedHeap = 2,
    /// Placed in a heap of its own.
    OwnHeap = 3,
    /// Committed, with an implicit heap.
    Committed = 4,
    /// Imported: the application created the resource.
    Imported = 5,
}

impl Placement {
    /// All placements.
    pub const ALL: [Self; 5] =
        [Self::WithinResource, Self::SharedHeap, Self::OwnHeap, Self::Committed, Self::Imported];
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::WithinResource => "within a resource",
            Self::SharedHeap => "in a shared heap",
            Self::OwnHeap => "in its own heap",
            Self::Committed => "committed",
            Self::Imported => "imported",
        })
    }
}

/// The reason for a placement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum PlacementReason {
    /// The first placement that the kind of resource allows.
    Usual = 1,
    /// A flag of the allocation requires it.
    AllocationFlag = 2,
    /// A flag of the allocator requires it.
    AllocatorFlag = 3,
    /// The request has heap flags that the allocator's heaps do not have.
    ExtraHeapFlags = 4,
    /// The resource is larger than shared heaps may be.
    TooLargeToShare = 5,
    /// The usual placements found no memory, although no limit refused it.
    OutOfMemory = 6,
    /// The allocator's limit for the heap type refused the usual placements.
    HeapTypeLimit = 7,
    /// The allocator's share of the budget refused the usual placements.
    BudgetShare = 8,
    /// The operating system's budget refused the usual placements.
    Budget = 9,
}

impl PlacementReason {
    /// All reasons.
    pub const ALL: [Self; 9] = [
        Self::Usual,
        Self::AllocationFlag,
        Self::AllocatorFlag,
        Self::ExtraHeapFlags,
        Self::TooLargeToShare,
        Self::OutOfMemory,
        Self::HeapTypeLimit,
        Self::BudgetShare,
        Self::Budget,
    ];
}

impl fmt::Display for PlacementReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Usual => "usual",
            Self::AllocationFlag => "allocation flag",
            Self::AllocatorFlag => "allocator flag",
            Self::ExtraHeapFlags => "extra heap flags",
            Self::TooLargeToShare => "too large to share",
            Self::OutOfMemory => "out of memory",
            Self::HeapTypeLimit => "limit of the heap type",
            Self::BudgetShare => "share of the budget",
            Self::Budget => "budget",
        })
    }
}
