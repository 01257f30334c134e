//! Residency priorities.

/// D3D12's five levels of residency priority. Heaps of a lower level go before all of a higher one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum PriorityLevel {
    /// `D3D12_RESIDENCY_PRIORITY_MINIMUM`: goes first.
    Minimum,
    /// `D3D12_RESIDENCY_PRIORITY_LOW`.
    Low,
    /// `D3D12_RESIDENCY_PRIORITY_NORMAL`: what D3D12 gives.
    #[default]
    Normal,
    /// `D3D12_RESIDENCY_PRIORITY_HIGH`.
    High,
    /// `D3D12_RESIDENCY_PRIORITY_MAXIMUM`: goes last.
    Maximum,
}

impl PriorityLevel {
    /// From the first to go to the last.
    pub const ALL: [Self; 5] = [Self::Minimum, Self::Low, Self::Normal, Self::High, Self::Maximum];

    pub(super) const fn index(self) -> usize {
        match self {
            Self::Minimum => 0,
            Self::Low => 1,
            Self::Normal => 2,
            Self::High => 3,
            Self::Maximum => 4,
        }
    }
}
