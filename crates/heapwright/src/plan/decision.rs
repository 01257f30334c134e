//! How an allocation was made, and why so.

use std::fmt;

/// How an allocation was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Placement {
    /// A part of a buffer that others share.
    WithinResource,
    /// Placed in a heap that others share.
    SharedHeap,
    /// Placed in a heap that nothing else is in.
    OwnHeap,
    /// D3D12 made the heap with it.
    Committed,
    /// Somebody else made it.
    Imported,
}

/// Why an allocation was made the way it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// The first way that is open to its kind.
    Usual,
    /// A flag of the allocation asks for it.
    AllocationFlag,
    /// A flag of the allocator asks for it.
    AllocatorFlag,
    /// Heap flags that the allocator's heaps do not have.
    ExtraHeapFlags,
    /// Larger than heaps that are shared may be.
    TooLargeToShare,
    /// The usual ways found no memory.
    OutOfMemory,
}

/// How an allocation was made, and why so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Decision {
    /// How.
    pub placement: Placement,
    /// Why.
    pub reason: Reason,
}

impl Placement {
    /// Every placement.
    pub const ALL: [Self; 5] =
        [Self::WithinResource, Self::SharedHeap, Self::OwnHeap, Self::Committed, Self::Imported];
}

impl Reason {
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

impl Decision {
    pub(crate) const fn new(placement: Placement, reason: Reason) -> Self {
        Self { placement, reason }
    }
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::WithinResource => "within a resource",
            Self::SharedHeap => "in a shared heap",
            Self::OwnHeap => "in a heap of its own",
            Self::Committed => "committed",
            Self::Imported => "imported",
        })
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Usual => "usual",
            Self::AllocationFlag => "flag of the allocation",
            Self::AllocatorFlag => "flag of the allocator",
            Self::ExtraHeapFlags => "extra heap flags",
            Self::TooLargeToShare => "too large to share",
            Self::OutOfMemory => "out of memory",
        })
    }
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.placement, self.reason)
    }
}
