//! The number of each decision about placements.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::request::{Placement, PlacementDecision, PlacementReason};

/// The number of allocations for each decision, since the allocator was created. Counting is O(1).
#[derive(Default)]
pub(crate) struct Decisions {
    /// Placements and reasons are numbered from 1.
    counts: [[AtomicU64; PlacementReason::ALL.len() + 1]; Placement::ALL.len() + 1],
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
