use std::fmt;

/// One of DXGI's two memory segment groups.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub enum SegmentGroup {
    /// The local segment group: video memory, or all memory on UMA.
    #[default]
    Local,
    /// The non-local segment group: system memory that the GPU accesses over the bus; empty on UMA.
    NonLocal,
}

impl SegmentGroup {
    /// Both segment groups, in the order of their [index](Self::index).
    pub const ALL: [Self; 2] = [Self::Local, Self::NonLocal];

    /// Returns the index of the group in an array with one value per group: 0 for local, 1 for non-local.
    #[must_use]
    #[inline]
    pub const fn index(self) -> usize {
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
