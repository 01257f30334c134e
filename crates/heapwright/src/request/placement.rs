//! How an allocation was placed, and why.

use std::fmt;

/// How an allocation was placed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Placement {
    /// A part of a shared buffer.
    WithinResource,
    /// Placed in a shared heap.
    SharedHeap,
    /// Placed in a heap of its own.
    OwnHeap,
    /// Committed, with an implicit heap.
    Committed,
    /// Imported: the application created the resource.
    Imported,
}

/// The reason for a placement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum PlacementReason {
    /// The first placement that the kind of resource allows.
    Usual,
    /// A flag of the allocation requires it.
    AllocationFlag,
    /// A flag of the allocator requires it.
    AllocatorFlag,
    /// The request has heap flags that the allocator's heaps do not have.
    ExtraHeapFlags,
    /// The resource is larger than shared heaps may be.
    TooLargeToShare,
    /// The usual placements found no memory.
    OutOfMemory,
}

/// How an allocation was placed, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PlacementDecision {
    /// The placement.
    pub placement: Placement,
    /// The reason.
    pub reason: PlacementReason,
}

impl Placement {
    /// Every placement.
    pub const ALL: [Self; 5] =
        [Self::WithinResource, Self::SharedHeap, Self::OwnHeap, Self::Committed, Self::Imported];
}

impl PlacementReason {
    /// Every reason.
    pub const ALL: [Self; 6] = [
        Self::Usual,
        Self::AllocationFlag,
        Self::AllocatorFlag,
        Self::ExtraHeapFlags,
        Self::TooLargeToShare,
        Self::OutOfMemory,
    ];
}

impl PlacementDecision {
    pub(crate) const fn new(placement: Placement, reason: PlacementReason) -> Self {
        Self { placement, reason }
    }
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

impl fmt::Display for PlacementReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Usual => "usual",
            Self::AllocationFlag => "allocation flag",
            Self::AllocatorFlag => "allocator flag",
            Self::ExtraHeapFlags => "extra heap flags",
            Self::TooLargeToShare => "too large to share",
            Self::OutOfMemory => "out of memory",
        })
    }
}

impl fmt::Display for PlacementDecision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.placement, self.reason)
    }
}
