//! Configurations of the allocator for a replay.

use clap::ValueEnum;
use heapwright::{EmptyHeapPolicy, ResourceAllocatorDesc, ResourceAllocatorFlags, SuballocationAlgorithm};
use serde::Serialize;

use super::recorded::RecordedTrace;

/// A configuration of the allocator. `heapwright replay --profile` takes those that are not skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Configuration {
    /// heapwright's defaults
    Default,
    /// The settings of the recording; a session of heapwright on the same device is replayed exactly
    Captured,
    /// Fewest creations of heaps; empty heaps are kept for longer
    MaxPerformance,
    /// Least memory: smaller heaps, and empty ones are released sooner
    LowMemory,
    /// GPGMM's strategy with its default settings: slabs by size class, pools of empty heaps, and no tight alignment.
    #[value(skip)]
    Gpgmm,
    /// One heap per resource.
    #[value(skip)]
    Dedicated,
}

impl Configuration {
    /// The configurations that `--compare` replays.
    pub(super) const COMPARED: [Self; 3] = [Self::Default, Self::Gpgmm, Self::Dedicated];

    /// Returns the name in the table.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Default => "heapwright",
            Self::Gpgmm => "like GPGMM",
            Self::Dedicated => "dedicated",
            Self::Captured => "as captured",
            Self::MaxPerformance => "max perf.",
            Self::LowMemory => "low memory",
        }
    }

    /// Returns the settings for an allocator of a recorded trace.
    pub(super) fn desc(
        self,
        recorded: &RecordedTrace,
        allocator: usize,
    ) -> Result<ResourceAllocatorDesc, heapwright::Error> {
        let usual = ResourceAllocatorDesc::default();
        Ok(match self {
            Self::Default => usual,
            Self::Captured => recorded.desc(allocator)?,
            Self::MaxPerformance => {
                ResourceAllocatorDesc { empty_heap_policy: EmptyHeapPolicy::FewestHitches, ..usual }
            }
            Self::LowMemory => {
                ResourceAllocatorDesc { empty_heap_policy: EmptyHeapPolicy::LeastMemory, ..usual }
            }
            Self::Gpgmm => ResourceAllocatorDesc {
                flags: ResourceAllocatorFlags::NEVER_TIGHT_ALIGNMENT,
                suballocation_algorithm: SuballocationAlgorithm::Slab,
                empty_heap_policy: EmptyHeapPolicy::SegmentedPool,
                ..usual
            },
            Self::Dedicated => ResourceAllocatorDesc {
                suballocation_algorithm: SuballocationAlgorithm::Dedicated,
                flags: ResourceAllocatorFlags::ALWAYS_ON_DEMAND,
                ..usual
            },
        })
    }
}
