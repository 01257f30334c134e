//! Counts of allocations that were not placed in the usual way.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::plan::{Placement, PlacementDecision, PlacementReason};

/// The number of allocations for each decision, since the allocator was created. Counting is O(1).
#[derive(Debug, Default)]
pub(crate) struct Decisions {
    counts: [[AtomicU64; PlacementReason::ALL.len()]; Placement::ALL.len()],
}

impl Decisions {
    #[inline]
    pub(crate) fn count(&self, decision: PlacementDecision) {
        // Usual decisions are not counted, so that threads which make them share no cache line.
        if decision.reason != PlacementReason::Usual {
            self.counts[decision.placement as usize][decision.reason as usize]
                .fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns the decisions that were made at least once, except the usual ones.
    pub(crate) fn all(&self) -> Vec<(PlacementDecision, u64)> {
        let mut all = Vec::new();
        for placement in Placement::ALL {
            for reason in PlacementReason::ALL {
                let count = self.counts[placement as usize][reason as usize].load(Ordering::Relaxed);
                if count > 0 {
                    all.push((PlacementDecision { placement, reason }, count));
                }
            }
        }
        all
    }
}
