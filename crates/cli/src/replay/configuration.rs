//! Configurations of the allocator for a replay.

use heapwright::{EmptyHeapPolicy, ResourceAllocatorDesc, ResourceAllocatorFlags, SuballocationAlgorithm};
use serde::Serialize;

use super::args::Profile;
use super::recorded::RecordedTrace;

/// A configuration of the allocator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Configuration {
    /// The allocator's defaults.
    Default,
    /// GPGMM's strategy with its default settings: slabs by size class, pools of empty heaps, and no tight alignment.
    Gpgmm,
    /// One heap per resource.
    Dedicated,
    /// The settings that the file records.
    Captured,
    /// Fewest creations of heaps.
    MaxPerformance,
    /// Least memory.
    LowMemory,
}

impl From<Profile> for Configuration {
    fn from(profile: Profile) -> Self {
        match profile {
            Profile::Default => Self::Default,
            Profile::Captured => Self::Captured,
            Profile::MaxPerformance => Self::MaxPerformance,
            Profile::LowMemory => Self::LowMemory,
        }
    }
}

impl Configuration {
    /// The configurations that `--compare` replays.
    pub(super) const ALL: [Self; 3] = [Self::Default, Self::Gpgmm, Self::Dedicated];

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
        Ok(match self {
            Self::Default => ResourceAllocatorDesc::default(),
            Self::Captured => recorded.desc(allocator)?,
            Self::MaxPerformance => ResourceAllocatorDesc {
                empty_heap_policy: EmptyHeapPolicy::FewestHitches,
                ..ResourceAllocatorDesc::default()
            },
            Self::LowMemory => ResourceAllocatorDesc {
                empty_heap_policy: EmptyHeapPolicy::LeastMemory,
                ..ResourceAllocatorDesc::default()
            },
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
        })
    }
}
