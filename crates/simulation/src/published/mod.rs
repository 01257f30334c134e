//! The policies that are simulated: the library's, and D3DX12Residency's rules to compare them with. SIEVE, S3-FIFO and LIRS were
//! compared, too, until 2026-11-24.
//!
//! # What was tried for the default policy
//!
//! Combinations of policies in 220 generated workloads of heaps (the part `generated:development`, in the repository until
//! a3c8e508) and in the five recorded traces at budgets of 40 to 90 %: bytes paged
//! in, divided by those of the best of seven policies for each workload (geometric mean and maximum) and by LRU's (maximum),
//! each with 64 MiB added (2026-11-23, when heaps were evicted ahead of need after each frame). All simulate the resident sets of their experts, as
//! [`Adaptive`](heapwright_core::residency::policy::Adaptive) does.
//!
//! | combination | mean | maximum | of LRU | in the traces |
//! |---|---|---|---|---|
//! | `next-use` alone | 1.037 | 2.65 | 1.81 | 1.048, 1.43, 1.43 |
//! | the leader changes if the other one is better by C/8 (C is the capacity), as until 2026-11-23 | 1.040 | 1.61 | 1.16 | 1.049, 1.17, 1.08 |
//! | `next-use` leads if better by C/16, without a limit relative to LRU | 1.041 | 1.46 | 1.11 | 1.051, 1.15, 1.06 |
//! | it leads if better by C/32, and 21/20 of LRU and C/20 are not exceeded | 1.035 | 1.46 | 1.11 | 1.038, 1.15, 1.01 |
//! | **C/32, 17/16 of LRU and C/64** | 1.035 | 1.50 | 1.10 | 1.042, 1.15, 1.06 |
//! | with S3-FIFO as third expert | 1.036 | 1.37 | 1.14 | 1.036, 1.15, 1.03 |
//! | with S3-FIFO and SIEVE, without a limit relative to LRU | 1.042 | 1.34 | 1.18 | 1.046, 1.15, 1.03 |
//! | each heap follows an expert by a fixed threshold and the experts' weights (Hedge) | 1.056 | 1.53 | 1.12 | 1.065, 1.28, 1.28 |
//!
//! A maximum of 1.15 of the best is out of reach for combinations: the better of `next-use` and LRU in hindsight is at 1.46,
//! and that of `next-use`, LRU and S3-FIFO at 1.15. The worst workloads page in little more than a capacity in all, so one wrong set
//! of victims decides. S3-FIFO improves them, for 24 bytes per heap and a worse ratio to LRU.

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
