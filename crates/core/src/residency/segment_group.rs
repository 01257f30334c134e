//! DXGI's memory segment groups.

use std::fmt;

/// One of DXGI's two memory segment groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub enum SegmentGroup {
    /// Video memory, or all memory on UMA.
    Local,
    /// System memory that the GPU reaches over the bus; empty on UMA.
    NonLocal,
}

impl SegmentGroup {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Local, Self::NonLocal];

    pub(super) const fn index(self) -> usize {
        match self {
            Self::Local => 0,
            Self::NonLocal => 1,
        }
    }
}

impl fmt::Display for SegmentGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Local => "local",
            Self::NonLocal => "non-local",
        })
    }
}
