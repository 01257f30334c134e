//! Evicts idle heaps although no submission needs their memory.

use heapwright_core::ByteSize;
use heapwright_core::residency::policy::Moment;
use heapwright_core::residency::{Plan, PlanRequest, ResidencyPlanner};

use super::{CurrentPlan, Pager};
use crate::residency::budget::TrimRequest;

impl Pager {
    /// Evicts idle heaps above the budget, and then idle heaps that the policy does not want to keep.
    pub(in crate::residency) fn trim(&self, current: &mut CurrentPlan) {
        self.trim_to_budget(current);
        self.evict_ahead(current);
    }

    /// Evicts idle heaps above the budget.
    pub(in crate::residency) fn trim_to_budget(&self, current: &mut CurrentPlan) {
        self.evict_planned(current, |planner, plan, now| {
            let request = PlanRequest { may_exceed: true, ..PlanRequest::new(now) };
            // The request has no heaps, so none can be unknown.
            let _ = planner.plan(&request, plan);
        });
    }

    /// Evicts idle heaps that the policy does not want to keep.
    pub(in crate::residency) fn evict_ahead(&self, current: &mut CurrentPlan) {
        let limit = [self.evict_size; 2];
        self.evict_planned(current, |planner, plan, now| planner.plan_ahead(limit, now, plan));
    }

    /// Queries the operating system, and evicts idle heaps that no longer fit.
    pub(in crate::residency) fn refresh_and_trim(&self, current: &mut CurrentPlan) {
        self.refresh();
        self.trim(current);
    }

    /// Evicts at least `bytes` bytes of idle heaps, or all of them if they are fewer, and returns the number of evicted
    /// bytes.
    pub(in crate::residency) fn evict_at_least(&self, bytes: [ByteSize; 2]) -> ByteSize {
        self.evict_bytes(&mut self.lock(), bytes)
    }

    /// Evicts what trim notifications request: heaps that were not used for a whole period, and a number of bytes that
    /// includes these. Local memory is evicted first, because notifications do not name a segment group.
    pub(in crate::residency) fn trim_as_requested(&self, current: &mut CurrentPlan, request: TrimRequest) {
        let mut left = request.bytes;
        if request.restarts {
            self.books.lock().planner.begin_period();
        } else if request.is_periodic {
            let [local, non_local] =
                self.evict_planned(current, |planner, plan, now| planner.plan_unused(now, plan));
            left = left.saturating_sub(local).saturating_sub(non_local);
        }
        for group in 0..2 {
            if !left.is_zero() {
                let mut bytes = [ByteSize::ZERO; 2];
                bytes[group] = left;
                left = left.saturating_sub(self.evict_bytes(current, bytes));
            }
        }
    }

    fn evict_bytes(&self, current: &mut CurrentPlan, bytes: [ByteSize; 2]) -> ByteSize {
        let [local, non_local] = self.evict_planned(current, |planner, plan, now| {
            let request = PlanRequest { at_least: bytes, may_exceed: true, ..PlanRequest::new(now) };
            let _ = planner.plan(&request, plan);
        });
        local.saturating_add(non_local)
    }

    /// Carries out a plan that only evicts, and returns the evicted bytes of each segment group.
    fn evict_planned(
        &self,
        current: &mut CurrentPlan,
        plan: impl FnOnce(&mut ResidencyPlanner, &mut Plan, Moment),
    ) -> [ByteSize; 2] {
        if self.poll(current).is_err() {
            return [ByteSize::ZERO; 2];
        }
        let now = {
            let mut state = self.books.lock_updated();
            let now = state.planner.moment(self.books.elapsed());
            plan(&mut state.planner, &mut current.plan, now);
            current.collect_objects(&state);
            now
        };
        if let Err(error) = self.evict(current) {
            tracing::warn!(%error, "Evict failed");
            self.books.lock().planner.evict_failed(&current.plan, now);
            return [ByteSize::ZERO; 2];
        }
        current.plan.bytes_out
    }
}
