//! Which algorithm serves a virtual block.

use std::fmt;

/// The algorithm of a [`VirtualBlock`](super::VirtualBlock).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Algorithm {
    /// [`Tlsf`](crate::suballoc::Tlsf): a good fit for sizes and lifetimes of any kind. What to take when in doubt.
    #[default]
    Tlsf,
    /// [`Slabs`](crate::suballoc::Slabs): slots of size classes for sizes up to 64 KiB, a good fit for larger ones. The
    /// fastest where many small things come and go.
    Slabs,
    /// [`Buddy`](crate::suballoc::Buddy), with blocks down to one byte: for sizes that are powers of two.
    Buddy,
    /// [`Linear`](crate::suballoc::Linear): an arena or a stack, which hands out what lies above all that is live.
    Linear,
    /// [`DoubleStack`](crate::suballoc::DoubleStack): two stacks that grow towards each other from the ends.
    DoubleStack,
    /// [`Ring`](crate::suballoc::Ring): first in, first out, as uploads are.
    Ring,
}

impl Algorithm {
    /// All that there are.
    pub const ALL: &[Self] =
        &[Self::Tlsf, Self::Slabs, Self::Buddy, Self::Linear, Self::DoubleStack, Self::Ring];

    /// Whether it has what some others do not.
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
    /// One word: "tlsf", "double-stack".
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

/// What some algorithms have and others do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Feature {
    /// A choice of what matters most: a [`Strategy`](crate::suballoc::Strategy).
    Strategies,
    /// An upper end to hand out from, besides the lower: [`End::Upper`](super::End::Upper).
    UpperEnd,
    /// Taking back all that the GPU is done with: [`VirtualBlock::submit`](super::VirtualBlock::submit) and
    /// [`retire`](super::VirtualBlock::retire).
    Fences,
}

impl fmt::Display for Feature {
    /// To follow "has no": "strategies".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Strategies => "strategies",
            Self::UpperEnd => "upper end",
            Self::Fences => "fences",
        })
    }
}
