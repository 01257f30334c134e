//! Evictions ahead of need.

use super::ResidencyPlanner;
use crate::ByteSize;
use crate::residency::SegmentGroup;
use crate::residency::plan::Plan;
use crate::residency::policy::Moment;

/// The part of the budget that must be used for policies to be asked. They do not learn of uses before, so that
/// programs that need little memory do not pay for what policies learn.
const LEAST_FULLNESS: f64 = 0.5;

impl ResidencyPlanner {
    /// Plans to evict heaps that are not worth keeping, without a need for their memory, up to about `limit`
    /// bytes in each segment group. The policy decides, by how full the group is; nothing is evicted while less
    /// than half of the budget is used. O(victims + heaps that cannot be evicted).
    ///
    /// The plan must be carried out. It makes nothing resident.
    pub fn plan_ahead(&mut self, limit: [ByteSize; 2], now: Moment, plan: &mut Plan) {
        plan.clear();
        self.stamp += 1;
        for (group, limit) in SegmentGroup::ALL.into_iter().zip(limit) {
            let index = group.index();
            let budget = self.memory[index].budget;
            if budget.is_zero() || budget == ByteSize::MAX || limit.is_zero() {
                continue;
            }
            let fullness = ratio(self.usage_at(index), budget);
            if fullness < LEAST_FULLNESS {
                continue;
            }
            self.teach_policies();
            plan.bytes_out[index] =
                self.ask_policies(group, limit, &mut plan.victims, |policy, rest, evict| {
                    policy.choose_ahead(rest, fullness, now, evict);
                });
        }
        self.evict_victims(now, plan);
    }

    /// Plans to evict the heaps that were resident and unused for a whole period, however much room there is,
    /// and begins the next period. O(heaps).
    ///
    /// A heap counts as used if a submission uses it, if it becomes resident, or if its last lock is removed.
    /// The first period began with the planner's creation. Heaps that the GPU may still use, that are locked,
    /// or that are in transit are kept.
    ///
    /// The plan must be carried out. It makes nothing resident.
    pub fn plan_unused(&mut self, now: Moment, plan: &mut Plan) {
        plan.clear();
        let (period, last_before) = self.period;
        for (id, record) in self.heaps.iter() {
            let slot = id.slot();
            let is_unused = record.last_use <= last_before && self.heaps.period(slot) < period;
            let may_go =
                record.is_held() && record.arrives <= self.paging.1.get() && self.in_flight.is_idle(record);
            if is_unused && may_go {
                plan.victims.push(slot);
                let bytes = &mut plan.bytes_out[record.group.index()];
                *bytes = bytes.saturating_add(self.heaps.size(slot));
            }
        }
        self.evict_victims(now, plan);
        self.begin_period();
    }

    /// Begins a new period without evicting anything. O(1).
    pub fn begin_period(&mut self) {
        self.period = (self.period.0 + 1, self.in_flight.last_number());
    }
}

/// Returns usage divided by budget.
#[expect(clippy::cast_precision_loss, reason = "a ratio")]
fn ratio(usage: ByteSize, budget: ByteSize) -> f64 {
    usage.get() as f64 / budget.get() as f64
}
