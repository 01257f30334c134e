//! The algorithms by which a set divides its heaps.

use std::fmt;

/// The algorithm by which a set places requests in heaps.
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
