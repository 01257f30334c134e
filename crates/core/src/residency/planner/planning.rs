//! Plans for submissions, plans ahead of need, and their completion.

use super::ResidencyPlanner;
use crate::residency::in_flight::WaitFor;
use crate::residency::plan::{OverBudget, Plan, PlanOutcome, PlanRequest};
use crate::residency::policy::{Admission, EvictionPolicy, HeapSlot, Withdrawal, spare_unneeded};
use crate::residency::{ManagedHeapId, Status, UnknownHeap};
use crate::{ByteSize, FenceValue, SegmentGroup};

/// The part of the budget that must be used for policies to be asked. They do not learn of uses before, so that
/// programs that need little memory do not pay for what policies learn.
const LEAST_FULLNESS: f64 = 0.5;

impl ResidencyPlanner {
    /// Plans what to evict and what to make resident. O(heaps requested + victims + heaps that cannot be
    /// evicted).
    ///
    /// If the result is [`PlanOutcome::Ready`], `plan` must be carried out: the heaps that it evicts count as
    /// evicted from now on, and the heaps that it makes resident count as usage. Otherwise nothing is
    /// changed, except that requested heaps of unknown status are now resident, because D3D12 creates them
    /// resident.
    ///
    /// # Errors
    ///
    /// Returns an error if a heap was removed; nothing is changed.
    pub fn plan(&mut self, request: &PlanRequest<'_>, plan: &mut Plan) -> Result<PlanOutcome, UnknownHeap> {
        plan.clear();
        self.teach_policies();
        if let Some(position) = request.heaps.iter().position(|&id| self.heaps.get(id).is_none()) {
            return Err(UnknownHeap { position });
        }
        self.stamp += 1;
        let needs = self.gather(request, plan);
        for group in SegmentGroup::ALL {
            if let Some(refusal) = self.choose(request, group, &needs[group.index()], plan) {
                let awaited = std::mem::take(&mut plan.awaited);
                plan.clear();
                plan.awaited = awaited;
                return Ok(refusal);
            }
        }
        self.apply(request, plan);
        Ok(PlanOutcome::Ready)
    }

    /// Collects the heaps of as many lists as fit together, and sums them up.
    fn gather(&mut self, request: &PlanRequest<'_>, plan: &mut Plan) -> [Needs; 2] {
        let mut needs = [Needs::default(); 2];
        let mut begin = 0;
        for (number, &end) in request.list_ends.iter().enumerate() {
            let before = (needs, plan.set.len());
            for &id in request.heaps.get(begin..end).unwrap_or_default() {
                if self.heaps.get(id).is_some_and(|record| record.status == Some(Status::Unknown)) {
                    self.adopt(id);
                }
                let Some((record, planned)) = self.heaps.at_mut(id.slot) else { continue };
                if std::mem::replace(&mut planned.stamp, self.stamp) == self.stamp {
                    continue;
                }
                plan.set.push(id);
                let needs = &mut needs[record.group.index()];
                needs.total = needs.total.saturating_add(planned.size);
                if record.status == Some(Status::Evicted) {
                    needs.missing = needs.missing.saturating_add(planned.size);
                } else if record.is_locked {
                    needs.locked = needs.locked.saturating_add(planned.size);
                }
            }
            if number > 0 && !self.fits(request, &needs) {
                for id in plan.set.drain(before.1..) {
                    if let Some((_, planned)) = self.heaps.at_mut(id.slot) {
                        planned.stamp = 0;
                    }
                }
                needs = before.0;
                break;
            }
            plan.lists = number + 1;
            begin = end;
        }
        needs
    }

    /// Returns whether the heaps fit in the budgets once everything that can be evicted is evicted.
    fn fits(&self, request: &PlanRequest<'_>, needs: &[Needs; 2]) -> bool {
        (0..2).all(|group| self.least_usage(group, request, &needs[group]) <= self.memory[group].budget)
    }

    /// Returns the usage of a segment group when only what must stay is left.
    fn least_usage(&self, group: usize, request: &PlanRequest<'_>, needs: &Needs) -> ByteSize {
        let locked_elsewhere = self.totals[group].locked.saturating_sub(needs.locked);
        self.memory[group]
            .external
            .saturating_add(locked_elsewhere)
            .saturating_add(needs.total)
            .saturating_add(request.incoming[group])
    }

    /// Chooses the victims in a segment group. Returns an outcome other than `Ready` if that is not enough.
    fn choose(
        &mut self,
        request: &PlanRequest<'_>,
        group: SegmentGroup,
        needs: &Needs,
        plan: &mut Plan,
    ) -> Option<PlanOutcome> {
        let index = group.index();
        let budget = self.memory[index].budget;
        let incoming = needs.missing.saturating_add(request.incoming[index]);
        let over = self.usage(group).saturating_add(incoming).saturating_sub(budget);
        // A submission that adds nothing evicts nothing; trimming has a plan of its own.
        let over = if incoming.is_zero() && request.submission.is_some() { ByteSize::ZERO } else { over };
        let need = over.max(request.at_least[index]);
        if need.is_zero() {
            return None;
        }
        let now = self.now();
        self.ask_policies(group, need, plan, |policy, rest, evict| policy.choose(rest, now, evict));
        spare_unneeded(&mut plan.chosen, need, |(_, size)| size);
        let found = plan.chosen.iter().fold(ByteSize::ZERO, |sum, &(_, size)| sum.saturating_add(size));
        plan.evict.extend(plan.chosen.iter().map(|&(id, _)| id));
        plan.bytes_out[index] = found;
        if found >= over && (found >= request.at_least[index] || !found.is_zero()) {
            return None;
        }
        if request.may_wait && self.waits(request, plan) {
            return Some(PlanOutcome::Wait);
        }
        if found < over && !request.may_exceed {
            let needed = self.usage(group).saturating_sub(found).saturating_add(incoming);
            return Some(PlanOutcome::OverBudget(OverBudget { group, needed, budget }));
        }
        plan.over_budget[index] = over.saturating_sub(found);
        None
    }

    /// Asks the policies of a segment group, from the lowest priority up, until `need` bytes are chosen.
    /// Returns the number of bytes chosen. The plan remembers when others that they name may be evicted.
    ///
    /// Policies are not trusted: a heap that they name is chosen only if it is live, held by the policy that
    /// names it, idle, and not in the plan yet.
    pub(super) fn ask_policies(
        &mut self,
        group: SegmentGroup,
        need: ByteSize,
        plan: &mut Plan,
        ask: impl Fn(&mut dyn EvictionPolicy, ByteSize, &mut dyn FnMut(HeapSlot) -> Option<ByteSize>),
    ) -> ByteSize {
        let Self { heaps, in_flight, policies, stamp, paging: (_, arrived), .. } = self;
        let Plan { chosen, ends, first_arrival, .. } = plan;
        chosen.clear();
        ends.clear();
        *first_arrival = None;
        let mut found = ByteSize::ZERO;
        for (level, policy) in policies[group.index()].iter_mut().enumerate() {
            let rest = need.saturating_sub(found);
            if rest.is_zero() {
                break;
            }
            ask(&mut **policy, rest, &mut |slot| {
                let (record, planned) = heaps.at_mut(slot)?;
                let size = planned.size;
                let may_go = found < need
                    && record.is_held()
                    && (record.group, record.level.index()) == (group, level)
                    && planned.stamp != *stamp;
                if !may_go {
                    return None;
                }
                let (is_used, is_arriving) = (!in_flight.is_idle(record), record.arrives > arrived.get());
                if is_used || is_arriving {
                    if is_used && !size.is_zero() {
                        in_flight.note_end(record, ends);
                    } else if !size.is_zero() {
                        let first = first_arrival.get_or_insert(record.arrives);
                        *first = record.arrives.min(*first);
                    }
                    return None;
                }
                planned.stamp = *stamp;
                chosen.push((record.id(slot), size));
                found = found.saturating_add(size);
                Some(size)
            });
        }
        found
    }

    /// Lists the events after the first of which a heap may be evicted that policies named in vain. Returns whether
    /// there are any.
    fn waits(&self, request: &PlanRequest<'_>, plan: &mut Plan) -> bool {
        let own = request.submission.map_or(0, |submission| submission.number);
        plan.awaited.extend(self.in_flight.noted(&plan.ends, own));
        plan.awaited.extend(plan.first_arrival.map(|value| WaitFor::Paging(FenceValue::new(value))));
        !plan.awaited.is_empty()
    }

    /// Records the effects of a plan.
    fn apply(&mut self, request: &PlanRequest<'_>, plan: &mut Plan) {
        self.evict(&plan.evict, true);
        let uses = request.submission.map(|submission| self.uses_by(submission));
        let mut arrives = 0;
        for &id in &plan.set {
            let Some(record) = self.heaps.get_mut(id) else { continue };
            arrives = record.arrives.max(arrives);
            let is_missing = record.status == Some(Status::Evicted);
            match uses {
                Some(uses) if is_missing => uses.stamp(record),
                Some(uses) if record.status == Some(Status::Resident) => {
                    self.unlearned.use_record(id.slot, record, uses);
                }
                _ => {}
            }
            if is_missing {
                // Its bytes count as usage from now on.
                let arriving = self.change(id, |record, _| record.status = Some(Status::Arriving));
                if let Some((record, size)) = arriving {
                    let bytes_in = &mut plan.bytes_in[record.group.index()];
                    *bytes_in = bytes_in.saturating_add(size);
                    plan.make_resident.push(id);
                }
            }
        }
        if arrives > self.paging.1.get() {
            plan.arrives = FenceValue::new(arrives);
        }
        self.teach_if_due();
    }

    /// Records that heaps are evicted, which policies hold or do not.
    pub(super) fn evict(&mut self, ids: &[ManagedHeapId], are_held: bool) {
        self.teach_policies();
        for &id in ids {
            let evicted = self.change(id, |record, _| {
                (record.status, record.arrives) = (Some(Status::Evicted), 0);
            });
            if let Some((record, _)) = evicted.filter(|_| are_held) {
                let now = self.now();
                self.policy_of(&record).withdraw(id.slot, Withdrawal::Evicted, now);
            }
        }
    }

    /// Records that a heap is resident once the paging fence has reached `value`. It may be evicted from then
    /// on unless it is locked.
    pub(super) fn arrive(&mut self, id: ManagedHeapId, value: FenceValue, cause: Admission) {
        self.teach_policies();
        let now = self.now();
        let period = self.period.0;
        let arrived = self.change(id, |record, planned| {
            (record.status, record.arrives) = (Some(Status::Resident), value.get());
            planned.period = period;
        });
        if let Some((record, size)) = arrived.filter(|(record, _)| record.is_held()) {
            self.policy_of(&record).admit(id.slot, size, cause, now);
        }
    }

    /// Completes a plan that was carried out: its heaps are resident when the paging fence reaches `value`.
    /// O(heaps of the plan).
    ///
    /// Heaps that were removed meanwhile are skipped.
    pub fn paged_in(&mut self, plan: &Plan, value: FenceValue) {
        self.paging.0 = self.paging.0.max(value);
        for &id in &plan.make_resident {
            if self.heaps.get(id).is_some_and(|record| record.status == Some(Status::Arriving)) {
                self.arrive(id, value, Admission::PagedIn);
            }
        }
    }

    /// Completes a plan whose MakeResident failed. Heaps that the plan evicted stay evicted. O(heaps of the
    /// plan).
    pub fn page_in_failed(&mut self, plan: &Plan) {
        for &id in &plan.make_resident {
            if self.heaps.get(id).is_some_and(|record| record.status == Some(Status::Arriving)) {
                self.evict(&[id], false);
            }
        }
    }

    /// Completes a plan whose Evict failed: all of its victims are still resident. O(heaps of the plan).
    pub fn evict_failed(&mut self, plan: &Plan) {
        for &id in &plan.evict {
            if self.heaps.get(id).is_some_and(|record| record.status == Some(Status::Evicted)) {
                self.arrive(id, FenceValue::ZERO, Admission::Unlocked);
            }
        }
    }

    /// Plans to evict heaps that are not worth keeping, without a need for their memory, up to about `limit`
    /// bytes in each segment group. The policy decides, by how full the group is; nothing is evicted while less
    /// than half of the budget is used. O(victims + heaps that cannot be evicted).
    ///
    /// The plan must be carried out. It makes nothing resident.
    pub fn plan_ahead(&mut self, limit: [ByteSize; 2], plan: &mut Plan) {
        plan.clear();
        self.stamp += 1;
        for (group, limit) in SegmentGroup::ALL.into_iter().zip(limit) {
            let index = group.index();
            let budget = self.memory[index].budget;
            if budget.is_zero() || limit.is_zero() {
                continue;
            }
            let fullness = ratio(self.usage(group), budget);
            if fullness < LEAST_FULLNESS {
                continue;
            }
            self.teach_policies();
            let now = self.now();
            plan.bytes_out[index] = self.ask_policies(group, limit, plan, |policy, rest, evict| {
                policy.choose_ahead(rest, fullness, now, evict);
            });
            plan.evict.extend(plan.chosen.iter().map(|&(id, _)| id));
        }
        self.evict(&plan.evict, true);
    }

    /// Plans to evict the heaps that were resident and unused for a whole period, however much room there is,
    /// and begins the next period. O(heaps).
    ///
    /// A heap counts as used if a submission uses it, if it becomes resident, or if its last lock is removed.
    /// The first period began with the planner's creation. Heaps that the GPU may still use, that are locked,
    /// or that are in transit are kept.
    ///
    /// The plan must be carried out. It makes nothing resident.
    pub fn plan_unused(&mut self, plan: &mut Plan) {
        plan.clear();
        let (period, last_before) = self.period;
        for (id, record) in self.heaps.iter() {
            let is_unused = record.last_use <= last_before && self.heaps.planned(id).period < period;
            let may_go =
                record.is_held() && record.arrives <= self.paging.1.get() && self.in_flight.is_idle(record);
            if is_unused && may_go {
                plan.evict.push(id);
                let bytes = &mut plan.bytes_out[record.group.index()];
                *bytes = bytes.saturating_add(self.heaps.planned(id).size);
            }
        }
        self.evict(&plan.evict, true);
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

/// Sums over the heaps of a plan in one segment group.
#[derive(Debug, Clone, Copy, Default)]
struct Needs {
    total: ByteSize,
    missing: ByteSize,
    locked: ByteSize,
}
