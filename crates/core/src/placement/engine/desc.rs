//! Which algorithm an engine has, and its knobs.

use std::fmt;

use super::SlabSizing;
use crate::placement::{HeapRetention, HeapSizing, SharedHeapSet};
use crate::{Alignment, ByteSize};

/// The granularity of D3D12 heaps.
pub(super) const KIB_64: Alignment = match Alignment::new(64 * 1024) {
    Some(alignment) => alignment,
    None => panic!("64 KiB is a power of two"),
};

/// The algorithm of a [`HeapEngine`](super::HeapEngine), with its knobs.
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
        /// How large new heaps are.
        sizing: HeapSizing,
        /// How many bytes of empty heaps are kept.
        retention: HeapRetention,
        /// See [`SharedHeapSet::new`].
        slots_up_to: ByteSize,
        /// See [`SharedHeapSet::new`].
        lanes: u32,
    },
    /// Heaps of blocks of one size: GPGMM's slab allocator.
    SlabBySize(SlabSizing),
    /// Heaps of one size, a power of two, in blocks of powers of two: GPGMM's buddy system.
    BuddySystem {
        /// The size of a heap is this rounded up to a power of two, at least the granularity.
        preferred: ByteSize,
        /// No heap is larger, rounded down to a power of two.
        maximum: ByteSize,
        /// What the size of a heap is a multiple of.
        granularity: Alignment,
    },
    /// Heaps in which one thing follows the other: D3D12MA's linear algorithm.
    Linear {
        /// The size of a heap. Larger requests need one of their own.
        heap_size: ByteSize,
        /// There is one heap at most. It is a ring, and a double stack while something is live at its upper end.
        one_heap: bool,
    },
    /// A heap for each request.
    Dedicated {
        /// What the size of a heap is a multiple of: 64 KiB in D3D12, 4 MiB for multisampled textures.
        granularity: Alignment,
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
    /// The algorithm without its knobs.
    #[must_use]
    pub const fn algorithm(&self) -> PlacementAlgorithm {
        match self {
            Self::Default { .. } => PlacementAlgorithm::Default,
            Self::SlabBySize(_) => PlacementAlgorithm::SlabBySize,
            Self::BuddySystem { .. } => PlacementAlgorithm::BuddySystem,
            Self::Linear { .. } => PlacementAlgorithm::Linear,
            Self::Dedicated { .. } => PlacementAlgorithm::Dedicated,
        }
    }
}

/// How an engine places requests in heaps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum PlacementAlgorithm {
    /// Requests of all sizes share heaps, found by what they have free; small ones get a slot of a slab.
    #[default]
    Default,
    /// Heaps of blocks of one size; a size that is new has heaps of its own.
    SlabBySize,
    /// Heaps of one size, in blocks of powers of two.
    BuddySystem,
    /// A heap for each request.
    Dedicated,
    /// Heaps in which one thing follows the other, and comes back in the same order or the reverse.
    Linear,
}

impl fmt::Display for PlacementAlgorithm {
    /// In words: "slab by size".
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
