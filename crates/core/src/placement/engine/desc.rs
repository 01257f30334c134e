//! Descriptions of engines: the algorithm and its parameters.

use std::fmt;

use super::PlacementRule;
use crate::ByteSize;
use crate::placement::{HeapRetention, HeapSizing, SharedHeapSet};

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
    /// GPGMM's or D3D12MA's algorithm.
    ByRule {
        /// The algorithm with its parameters.
        rule: PlacementRule,
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
            Self::ByRule { rule, .. } => rule.algorithm(),
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
