//! Reports uses of heaps to the policies: late and in runs, or at once.
//!
//! Policies need to know of uses only when they decide, or when something else changes. Until then uses are collected
//! ([`UntoldUses`](crate::residency::untold::UntoldUses)).

use super::ResidencyPlanner;
use crate::residency::in_flight::{Submission, UsesBy};
use crate::residency::policy::Moment;
use crate::residency::untold::Run;

impl ResidencyPlanner {
    /// Tells the policies of all uses. Every call of a policy comes after this one.
    #[inline]
    pub(super) fn tell_policies(&mut self) {
        if !self.untold.is_empty() {
            self.tell();
        }
    }

    /// Tells the policies of all uses if they cannot wait, or if there are many.
    #[inline]
    pub(super) fn tell_if_due(&mut self) {
        if self.tells_at_once || self.untold.is_full() {
            self.tell_policies();
        }
    }

    /// Returns what the uses by a submission have in common, before the first is recorded.
    #[inline]
    pub(super) fn uses_by(&mut self, submission: &Submission) -> UsesBy {
        // Cancelled submissions have a number, but no moment. Uses that are told of together have the same difference.
        let cancelled = submission.number - submission.now.submission;
        if cancelled != self.cancelled {
            self.tell_policies();
            self.cancelled = cancelled;
        }
        self.in_flight.uses_by(submission)
    }

    /// O(n log n) for n uses, where regular uses of a heap count as two.
    fn tell(&mut self) {
        let Self { untold, heaps, policies, known, time, cancelled, .. } = self;
        let uses = untold.take(|heap| {
            let record = heaps.at_mut(heap);
            (std::mem::replace(&mut record.untold, Run::NONE), record.last_use)
        });
        for uses in &uses {
            let record = heaps.at(uses.heap);
            let policy = &mut policies[record.group.index()][record.level.index()];
            let now = Moment { submission: uses.last - *cancelled, time: *time };
            *known = now.submission.max(*known);
            if uses.count == 1 {
                policy.touch(uses.heap, now);
            } else {
                policy.touch_regularly(uses.heap, uses.interval, uses.count, now);
            }
        }
        untold.recycle(uses);
    }
}
