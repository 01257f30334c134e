//! How the allocator is set up for a replay.

use heapwright::{EmptyHeapPolicy, ResourceAllocatorDesc, ResourceAllocatorFlags, SuballocationAlgorithm};
use serde::Serialize;

/// A set-up of the allocator that traces are replayed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Configuration {
    /// The allocator's defaults.
    Default,
    /// As GPGMM with its default knobs: slabs by size, pools of empty heaps, and no tight alignment, which it does not know.
    Gpgmm,
    /// A heap for each resource.
    Dedicated,
}

impl Configuration {
    /// What `--compare` replays.
    pub(super) const ALL: [Self; 3] = [Self::Default, Self::Gpgmm, Self::Dedicated];

    /// As the table has it.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Default => "heapwright",
            Self::Gpgmm => "as GPGMM",
            Self::Dedicated => "a heap each",
        }
    }

    pub(super) fn desc(self) -> ResourceAllocatorDesc {
        match self {
            Self::Default => ResourceAllocatorDesc::default(),
            Self::Gpgmm => ResourceAllocatorDesc {
                flags: ResourceAllocatorFlags::NEVER_TIGHT_ALIGNMENT,
                suballocation_algorithm: SuballocationAlgorithm::Slab,
                empty_heap_policy: EmptyHeapPolicy::SegmentedPool,
                ..ResourceAllocatorDesc::default()
            },
            Self::Dedicated => ResourceAllocatorDesc {
                suballocation_algorithm: SuballocationAlgorithm::Dedicated,
                flags: ResourceAllocatorFlags::ALWAYS_ON_DEMAND,
                ..ResourceAllocatorDesc::default()
            },
        }
    }
}
