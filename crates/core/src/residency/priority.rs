//! Residency priorities.

/// D3D12's five levels of residency priority. Heaps of a lower level are evicted before all heaps of a higher
/// level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum PriorityLevel {
    /// `D3D12_RESIDENCY_PRIORITY_MINIMUM`: evicted first.
    Minimum,
    /// `D3D12_RESIDENCY_PRIORITY_LOW`.
    Low,
    /// `D3D12_RESIDENCY_PRIORITY_NORMAL`: D3D12's default.
    #[default]
    Normal,
    /// `D3D12_RESIDENCY_PRIORITY_HIGH`.
    High,
    /// `D3D12_RESIDENCY_PRIORITY_MAXIMUM`: evicted last.
    Maximum,
}

impl PriorityLevel {
    /// All levels, in the order of eviction.
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
