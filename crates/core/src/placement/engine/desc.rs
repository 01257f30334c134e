//! Descriptions of engines: the algorithm and its parameters.

use std::fmt;

use super::SlabSizing;
use crate::placement::{HeapRetention, HeapSizing, SharedHeapSet};
use crate::{Alignment, ByteSize};

/// The granularity of D3D12 heaps.
pub(super) const KIB_64: Alignment = match Alignment::new(64 * 1024) {
    Some(alignment) => alignment,
    None => panic!("64 KiB is a power of two"),
};

/// Describes a [`HeapEngine`](super::HeapEngine): its algorithm and parameters.
///
/// ```
/// use heapwright_core::placement::{EngineDesc, PlacementAlgorithm};
///
/// assert_eq!(EngineDesc::default().algorithm(), PlacementAlgorithm::Default);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum EngineDesc {
    /// A [`SharedHeapSet`].
    Default {
        /// The sizes of new heaps.
        sizing: HeapSizing,
        /// How long empty heaps are kept.
        retention: HeapRetention,
        /// See [`SharedHeapSet::new`].
        slots_up_to: ByteSize,
        /// See [`SharedHeapSet::new`].
        lanes: u32,
    },
    /// Heaps of blocks of one size: GPGMM's slab allocator.
    SlabBySize {
        /// The sizes of new heaps.
        sizing: SlabSizing,
        /// How long empty heaps are kept.
        retention: HeapRetention,
    },
    /// Heaps of one size, a power of two, in blocks of powers of two: GPGMM's buddy system.
    BuddySystem {
        /// The size of a heap, in bytes: this value, at least the granularity, rounded up to a power of two.
        preferred: ByteSize,
        /// The maximum size of a heap, rounded down to a power of two.
        maximum: ByteSize,
        /// The unit of heap sizes.
        granularity: Alignment,
        /// How long empty heaps are kept.
        retention: HeapRetention,
    },
    /// Heaps with sequential allocation: D3D12MA's linear algorithm.
    Linear {
        /// The size of a heap. Larger requests need a heap of their own.
        heap_size: ByteSize,
        /// Limits the engine to one heap, whose upper end can be used as well: a
        /// [`Linear`](crate::suballoc::Linear) suballocator.
        one_heap: bool,
        /// How long empty heaps are kept.
        retention: HeapRetention,
    },
    /// One heap per request.
    Dedicated {
        /// The unit of heap sizes: 64 KiB in D3D12, 4 MiB for multisampled textures.
        granularity: Alignment,
        /// How long empty heaps are kept.
        retention: HeapRetention,
    },
}

impl Default for EngineDesc {
    fn default() -> Self {
        Self::Default {
            sizing: HeapSizing::default(),
            retention: HeapRetention::default(),
            slots_up_to: SharedHeapSet::<()>::SLOTS_UP_TO,
            lanes: SharedHeapSet::<()>::LANES,
        }
    }
}

impl EngineDesc {
    /// Returns the algorithm without its parameters.
    #[must_use]
    pub const fn algorithm(&self) -> PlacementAlgorithm {
        match self {
            Self::Default { .. } => PlacementAlgorithm::Default,
            Self::SlabBySize { .. } => PlacementAlgorithm::SlabBySize,
            Self::BuddySystem { .. } => PlacementAlgorithm::BuddySystem,
            Self::Linear { .. } => PlacementAlgorithm::Linear,
            Self::Dedicated { .. } => PlacementAlgorithm::Dedicated,
        }
    }
}

/// The algorithm by which an engine places requests in heaps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum PlacementAlgorithm {
    /// Requests of all sizes share heaps, chosen by their free ranges. Small requests get a slot of a slab.
    #[default]
    Default,
    /// Heaps of blocks of one size. Each block size has its own heaps.
    SlabBySize,
    /// Heaps of one size, in blocks of powers of two.
    BuddySystem,
    /// One heap per request.
    Dedicated,
    /// Heaps with sequential allocation, freed in the same order or in reverse order.
    Linear,
}

impl fmt::Display for PlacementAlgorithm {
    /// Formats the algorithm in words: "slab by size".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Default => "default",
            Self::SlabBySize => "slab by size",
            Self::BuddySystem => "buddy system",
            Self::Dedicated => "dedicated",
            Self::Linear => "linear",
        })
    }
}
