//! What is evicted although nobody asks for its memory.

use super::ResidencyPlanner;
use crate::ByteSize;
use crate::residency::SegmentGroup;
use crate::residency::plan::Plan;
use crate::residency::policy::Moment;

impl ResidencyPlanner {
    /// Plans to evict what is not worth keeping although nobody asks for its memory, at most about `limit` bytes in each segment
    /// group: the policy decides, by how full the group is. O(victims + heaps that may not go).
    ///
    /// The plan is to be carried out; it makes nothing resident.
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
            plan.bytes_out[index] =
                self.ask_policies(group, limit, &mut plan.victims, |policy, rest, evict| {
                    policy.choose_ahead(rest, fullness, now, evict);
                });
        }
        self.evict_victims(now, plan);
    }

    /// Plans to evict what was resident and not used for the whole of a period, however much room there is, and begins the next period.
    /// O(heaps).
    ///
    /// Used is what a submission uses, and what becomes resident or loses its last lock. The first period began with the planner. What
    /// the GPU may still use, what is locked and what is on its way stays.
    ///
    /// The plan is to be carried out; it makes nothing resident.
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

    /// Begins a period anew, and evicts nothing. O(1).
    pub fn begin_period(&mut self) {
        self.period = (self.period.0 + 1, self.in_flight.last_number());
    }
}

/// Usage over budget.
#[expect(clippy::cast_precision_loss, reason = "a ratio")]
fn ratio(usage: ByteSize, budget: ByteSize) -> f64 {
    usage.get() as f64 / budget.get() as f64
}
