//! The calls by which policies learn of uses of heaps: late and in runs, or at once.
//!
//! Policies need to know of uses only when they decide, or when something else changes. Until then uses are collected
//! ([`UnlearnedUses`](crate::residency::unlearned::UnlearnedUses)).

use super::ResidencyPlanner;
use crate::residency::in_flight::{Submission, UsesBy};
use crate::residency::policy::Moment;
use crate::residency::unlearned::Run;

impl ResidencyPlanner {
    /// Passes all uses to the policies. Every other call of a policy comes after this one.
    #[inline]
    pub(super) fn teach_policies(&mut self) {
        if !self.unlearned.is_empty() {
            self.teach();
        }
    }

    /// Passes all uses to the policies if these cannot wait, or if there are many.
    #[inline]
    pub(super) fn teach_if_due(&mut self) {
        if self.teaches_at_once || self.unlearned.is_full() {
            self.teach_policies();
        }
    }

    /// Returns what the uses by a submission have in common, before the first is recorded.
    #[inline]
    pub(super) fn uses_by(&mut self, submission: &Submission) -> UsesBy {
        // Cancelled submissions have a number, but no moment. The difference of the two numbers is the same
        // for all uses that are passed together.
        let cancelled = submission.number - submission.now.submission;
        if cancelled != self.cancelled {
            self.teach_policies();
            self.cancelled = cancelled;
        }
        self.in_flight.uses_by(submission)
    }

    /// O(n log n) for n uses, where regular uses of a heap count as two.
    fn teach(&mut self) {
        let Self { unlearned, heaps, policies, known, time, cancelled, .. } = self;
        let uses = unlearned.take(|heap| {
            let record = heaps.at_mut(heap);
            (std::mem::replace(&mut record.unlearned, Run::NONE), record.last_use)
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
        unlearned.recycle(uses);
    }
}
