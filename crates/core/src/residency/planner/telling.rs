//! What policies are told of uses, and when.
//!
//! Policies need to know of uses only when they decide, or when something else changes. Until then uses are collected
//! ([`UntoldUses`](crate::residency::untold::UntoldUses)).

use super::ResidencyPlanner;
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

    /// O(uses told), where regular uses of a heap count as two.
    fn tell(&mut self) {
        let Self { untold, heaps, policies, time, .. } = self;
        // Cancelled submissions have a number, but no moment. None was cancelled since the first of these uses.
        let cancelled = self.in_flight.last_number() - self.clock;
        let uses = untold.take(|heap| {
            let record = heaps.at_mut(heap);
            (std::mem::replace(&mut record.untold, Run::NONE), record.last_use)
        });
        for uses in &uses {
            let record = heaps.at(uses.heap);
            let policy = &mut policies[record.group.index()][record.level.index()];
            let now = Moment { submission: uses.last - cancelled, time: *time };
            if uses.count == 1 {
                policy.touch(uses.heap, now);
            } else {
                policy.touch_regularly(uses.heap, uses.interval, uses.count, now);
            }
        }
        untold.recycle(uses);
    }
}
