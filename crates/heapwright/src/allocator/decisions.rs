//! How often allocations were made in other ways than usual.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::plan::{Decision, Placement, Reason};

/// How many allocations were made by each decision, since the allocator exists. O(1) to count.
#[derive(Debug, Default)]
pub(crate) struct Decisions {
    counts: [[AtomicU64; Reason::ALL.len()]; Placement::ALL.len()],
}

impl Decisions {
    #[inline]
    pub(crate) fn count(&self, decision: Decision) {
        // The usual decisions are left out, so that threads which make them share no cache line.
        if decision.reason != Reason::Usual {
            self.counts[decision.placement as usize][decision.reason as usize]
                .fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Those that were made at least once and are not the usual ones.
    pub(crate) fn all(&self) -> Vec<(Decision, u64)> {
        let mut all = Vec::new();
        for placement in Placement::ALL {
            for reason in Reason::ALL {
                let count = self.counts[placement as usize][reason as usize].load(Ordering::Relaxed);
                if count > 0 {
                    all.push((Decision { placement, reason }, count));
                }
            }
        }
        all
    }
}
