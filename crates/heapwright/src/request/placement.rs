//! How an allocation was placed, and why.

use std::fmt;

pub use heapwright_trace::session::{Placement, PlacementReason};

/// How an allocation was placed, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PlacementDecision {
    /// The placement.
    pub placement: Placement,
    /// The reason.
    pub reason: PlacementReason,
}

impl PlacementDecision {
    pub(crate) const fn new(placement: Placement, reason: PlacementReason) -> Self {
        Self { placement, reason }
    }

    /// Returns whether the usual placements were refused before.
    pub(crate) fn is_fallback(self) -> bool {
        use PlacementReason::{Budget, BudgetShare, HeapTypeLimit, OutOfMemory};
        matches!(self.reason, OutOfMemory | HeapTypeLimit | BudgetShare | Budget)
    }
}

impl fmt::Display for PlacementDecision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.placement, self.reason)
    }
}
