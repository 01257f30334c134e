//! The policies that are simulated: the library's, and D3DX12Residency's rules to compare them with. SIEVE, S3-FIFO and
//! LIRS were compared, too, until 2026-11-24.

mod aged_lru;

use std::fmt;

use heapwright_core::residency::policy::{EvictionPolicy, PolicyKind};

pub use aged_lru::AgedLru;

/// A policy that can be simulated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// A policy of the library.
    Library(PolicyKind),
    /// The rules of D3DX12Residency: [`AgedLru`].
    D3dx12Residency,
}

impl Policy {
    /// Returns every policy: those of the library, the default first, then the published one.
    #[must_use]
    pub fn all() -> Vec<Self> {
        PolicyKind::all().iter().copied().map(Self::Library).chain([Self::D3dx12Residency]).collect()
    }

    /// Returns the name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Library(kind) => kind.name(),
            Self::D3dx12Residency => "d3dx12-residency",
        }
    }

    /// Creates a policy with default parameters that holds no heap.
    #[must_use]
    pub fn create(self) -> Box<dyn EvictionPolicy> {
        match self {
            Self::Library(kind) => kind.create(),
            Self::D3dx12Residency => Box::<AgedLru>::default(),
        }
    }
}

impl From<PolicyKind> for Policy {
    fn from(kind: PolicyKind) -> Self {
        Self::Library(kind)
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
