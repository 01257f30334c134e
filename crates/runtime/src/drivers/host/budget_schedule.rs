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

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use heapwright_core::ByteSize;

    use super::*;
    use crate::drivers::host::HostProfile;
    use crate::drivers::segment::Listener;

    /// Each budget of the schedule is set, in order, and its listeners are called.
    #[test]
    fn a_scheduled_budget_shrinks_and_comes_back() {
        let shrinking = HostProfile::find("shrinking-budget").expect("a profile of that name");
        let segments = Arc::new(Segments::new(shrinking.local, shrinking.non_local));
        let before = segments.get(SegmentGroup::Local).report().budget;
        let (budgets, changes) = mpsc::channel();
        let watched = Arc::downgrade(&segments);
        let listener: Arc<Listener> = Arc::new(move || {
            let segments = watched.upgrade().expect("the test holds it");
            budgets.send(segments.get(SegmentGroup::Local).report().budget).expect("the test waits");
        });
        segments.listen(&listener);
        follow(&segments, shrinking.budget_schedule);
        let next = || changes.recv_timeout(Duration::from_secs(60)).expect("the schedule is followed");
        assert_eq!((next(), next()), (ByteSize::from_gib(2), before));
    }
}
