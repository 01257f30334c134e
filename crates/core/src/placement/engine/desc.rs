//! Which algorithm an engine has, and its knobs.

use std::fmt;

use crate::placement::{HeapRetention, HeapSizing, SharedHeapSet};
use crate::{Alignment, ByteSize};

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
    /// A heap for each request.
    Dedicated,
}

impl fmt::Display for PlacementAlgorithm {
    /// In words: "slab by size".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Default => "default",
            Self::Dedicated => "dedicated",
        })
    }
}
