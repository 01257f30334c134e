//! Changes of a simulated GPU's budget over time.

use std::sync::Arc;
use std::time::Instant;

use super::profile::BudgetStep;
use crate::ddi::SegmentGroup;
use crate::drivers::segment::Segments;

/// Starts a thread that changes the local budget by the schedule for as long as the GPU exists.
pub(super) fn follow(segments: &Arc<Segments>, schedule: &'static [BudgetStep]) {
    if schedule.is_empty() {
        return;
    }
    let (segments, opened) = (Arc::downgrade(segments), Instant::now());
    let follow = move || {
        for step in schedule {
            std::thread::sleep(step.after.saturating_sub(opened.elapsed()));
            let Some(segments) = segments.upgrade() else { return };
            segments.set_budget(SegmentGroup::Local, step.local);
        }
    };
    let started = std::thread::Builder::new().name("heapwright budget".to_owned()).spawn(follow);
    if let Err(error) = started {
        tracing::error!(%error, "failed to spawn the budget thread; the budget of the simulated GPU stays constant");
    }
}
