//! Algorithms of virtual blocks.

use std::fmt;

/// The algorithm of a [`VirtualBlock`](super::VirtualBlock).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Algorithm {
    /// [`Tlsf`](crate::suballoc::Tlsf): a good fit for sizes and lifetimes of any kind. The default.
    #[default]
    Tlsf,
    /// [`Slabs`](crate::suballoc::Slabs): slots of size classes for sizes up to 64 KiB, a good fit for larger
    /// sizes. The fastest for many small, short-lived suballocations.
    Slabs,
    /// [`Buddy`](crate::suballoc::Buddy), with blocks down to one byte: for sizes that are powers of two.
    Buddy,
    /// [`Linear`](crate::suballoc::Linear): an arena or a stack, which allocates above everything that is
    /// live.
    Linear,
    /// [`DoubleStack`](crate::suballoc::DoubleStack): two stacks that grow towards each other from the ends.
    DoubleStack,
    /// [`Ring`](crate::suballoc::Ring): first in, first out, for example for uploads.
    Ring,
}

impl Algorithm {
    /// All algorithms.
    pub const ALL: &[Self] =
        &[Self::Tlsf, Self::Slabs, Self::Buddy, Self::Linear, Self::DoubleStack, Self::Ring];

    /// Returns whether the algorithm supports an optional feature.
    #[must_use]
    pub const fn has(self, feature: Feature) -> bool {
        match feature {
            Feature::Strategies => matches!(self, Self::Tlsf),
            Feature::UpperEnd => matches!(self, Self::DoubleStack),
            Feature::Fences => matches!(self, Self::Linear | Self::Ring),
        }
    }
}

impl fmt::Display for Algorithm {
    /// Formats the algorithm as one word: "tlsf", "double-stack".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Tlsf => "tlsf",
            Self::Slabs => "slabs",
            Self::Buddy => "buddy",
            Self::Linear => "linear",
            Self::DoubleStack => "double-stack",
            Self::Ring => "ring",
        })
    }
}

/// A feature that only some algorithms support.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Feature {
    /// A choice of [`Strategy`](crate::suballoc::Strategy).
    Strategies,
    /// Allocation at the upper end as well as the lower: [`End::Upper`](super::End::Upper).
    UpperEnd,
    /// Retirement by fence value: [`VirtualBlock::submit`](super::VirtualBlock::submit) and
    /// [`retire`](super::VirtualBlock::retire).
    Fences,
}

impl fmt::Display for Feature {
    /// Formats the feature as a phrase that can follow "does not support": "strategies".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Strategies => "strategies",
            Self::UpperEnd => "allocation at the upper end",
            Self::Fences => "fences",
        })
    }
}
