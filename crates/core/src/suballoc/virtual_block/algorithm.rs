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
}

impl Algorithm {
    /// All that there are.
    pub const ALL: &[Self] = &[Self::Tlsf, Self::Slabs, Self::Buddy];

    /// Whether requests may ask for it.
    #[must_use]
    pub const fn has(self, feature: Feature) -> bool {
        match (self, feature) {
            (Self::Tlsf, Feature::Strategies) => true,
            (Self::Slabs | Self::Buddy, Feature::Strategies) => false,
        }
    }
}

impl fmt::Display for Algorithm {
    /// One word: "tlsf".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Tlsf => "tlsf",
            Self::Slabs => "slabs",
            Self::Buddy => "buddy",
        })
    }
}

/// What some algorithms have and others do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Feature {
    /// A choice of what matters most: a [`Strategy`](crate::suballoc::Strategy).
    Strategies,
}

impl fmt::Display for Feature {
    /// To follow "has no": "strategies".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Strategies => "strategies",
        })
    }
}
