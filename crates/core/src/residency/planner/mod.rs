//! The residency planner.
//!
//! * `uses`: the uses of heaps by submissions, whether all of them are resident, and when policies learn of uses.
//! * `planning`: plans for submissions, plans ahead of need, and their completion.

mod audit;
mod planning;
mod uses;

use super::heap_table::{HeapTable, Planned, Record};
use super::in_flight::{InFlight, QueueSlot};
use super::policy::{Admission, EvictionPolicy, Moment, Withdrawal};
use super::unlearned::UnlearnedUses;
use super::{
    GroupMemory, GroupTotals, HeapState, LockOutcome, ManagedHeapId, NewManagedHeap, PlanError, PlannedWork,
    PriorityLevel, Status,
};
use crate::{ByteSize, FenceValue, SegmentGroup};

/// Tracks the residency of heaps, and plans evictions and paging.
///
/// It tracks heaps (size, status, locks), the submissions that use them, which of these the GPU has finished,
/// and the memory budgets. Before a submission, it records the use if everything is resident
/// ([`are_resident`](Self::are_resident), [`touch`](Self::touch)), or plans what to evict and what to make
/// resident ([`plan`](Self::plan)). It never plans to evict heaps that the GPU may still use, that are
/// locked, or that are still in transit.
///
/// The caller carries plans out, one at a time: it must call [`paged_in`](Self::paged_in) or
/// [`page_in_failed`](Self::page_in_failed) for each plan before the next.
///
/// # Cost
///
/// O(heaps of the submission) plus O(victims), amortized, however many heaps are tracked; no host memory is
/// allocated in the long run. Policies that [may learn late](EvictionPolicy::may_learn_late) learn of uses
/// just before any other call of theirs, so that a submission whose heaps are resident
/// costs little, and one that pages more.
///
/// ```
/// use heapwright_core::residency::policy::PolicyKind;
/// use heapwright_core::residency::*;
/// use heapwright_core::{ByteSize, FenceValue, SegmentGroup};
///
/// let mut planner = ResidencyPlanner::new(false, || PolicyKind::Lru.create());
/// let group = SegmentGroup::Local;
/// planner.set_memory(group, GroupMemory { budget: ByteSize::from_mib(3), external: ByteSize::ZERO });
/// let heap = |status| NewManagedHeap { group, size: ByteSize::from_mib(2), level: PriorityLevel::Normal, status };
/// let old = planner.add(heap(Status::Resident))?;
/// let new = planner.add(heap(Status::Evicted))?;
///
/// let queue = planner.add_queue();
/// let submission = planner.begin(queue, FenceValue::new(1));
/// assert!(!planner.are_resident(&[new])?);
/// let mut plan = Plan::default();
/// let request = PlanRequest {
///     submission: Some(&submission),
///     heaps: &[new],
///     list_ends: &[1],
///     ..Default::default()
/// };
/// assert_eq!(planner.plan(&request, &mut plan)?, PlanOutcome::Ready);
/// assert_eq!((&plan.evict[..], &plan.make_resident[..]), (&[old][..], &[new][..]));
/// planner.paged_in(&plan, FenceValue::new(1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ResidencyPlanner {
    heaps: HeapTable,
    in_flight: InFlight,
    policies: [[Box<dyn EvictionPolicy>; 5]; 2],
    /// The uses that the policies do not know of yet.
    unlearned: UnlearnedUses,
    /// The submissions that were cancelled before those of these uses.
    cancelled: u64,
    /// Whether any policy must learn of each use at once.
    teaches_at_once: bool,
    memory: [GroupMemory; 2],
    totals: [GroupTotals; 2],
    /// Whether both segment groups are one.
    is_unified: bool,
    /// The number of submissions on the policies' clock.
    clock: u64,
    /// The last submission that a policy knows, on its clock.
    known: u64,
    /// The time of policies' clock.
    time: std::time::Duration,
    /// The last planned value of the paging fence, and the value that it has reached.
    paging: (FenceValue, FenceValue),
    /// The number of the plan.
    stamp: u64,
    /// The current period, and the last submission before it.
    period: (u64, u64),
    /// The total size of all heaps.
    bytes: ByteSize,
}

impl ResidencyPlanner {
    /// Creates a planner without heaps and queues, and with unlimited budgets.
    ///
    /// With `is_unified`, both segment groups are one, the local group. Each group has a separate policy for
    /// each priority.
    #[must_use]
    pub fn new(is_unified: bool, mut create_policy: impl FnMut() -> Box<dyn EvictionPolicy>) -> Self {
        let policies: [[Box<dyn EvictionPolicy>; 5]; 2] =
            std::array::from_fn(|_| std::array::from_fn(|_| create_policy()));
        Self {
            heaps: HeapTable::default(),
            in_flight: InFlight::default(),
            unlearned: UnlearnedUses::default(),
            cancelled: 0,
            teaches_at_once: !policies.iter().flatten().all(|policy| policy.may_learn_late()),
            policies,
            memory: Default::default(),
            totals: Default::default(),
            is_unified,
            clock: 0,
            known: 0,
            time: std::time::Duration::ZERO,
            paging: (FenceValue::ZERO, FenceValue::ZERO),
            stamp: 0,
            period: (0, 0),
            bytes: ByteSize::ZERO,
        }
    }

    /// Adds a heap. Amortized O(1).
    ///
    /// # Errors
    ///
    /// Returns [`PlanError::TooMuch`] if the sizes or the number of heaps exceed the limits.
    pub fn add(&mut self, heap: NewManagedHeap) -> Result<ManagedHeapId, PlanError> {
        self.teach_policies();
        let NewManagedHeap { group, size, level, status } = heap;
        let bytes = self.bytes.checked_add(size).ok_or(PlanError::TooMuch)?;
        let group = self.effective_group(group);
        let id = self.heaps.insert(size, group, level, status, self.period.0).ok_or(PlanError::TooMuch)?;
        self.bytes = bytes;
        if let Some(record) = self.heaps.get(id) {
            self.totals[group.index()].count(record, size, true);
        }
        if status == Status::Resident {
            let now = self.now();
            self.policies[group.index()][level.index()].admit(id.slot, size, Admission::Created, now);
        }
        Ok(id)
    }

    /// Removes a heap, whatever its status, locked or not. O(1).
    ///
    /// # Errors
    ///
    /// Returns [`PlanError::Unknown`] if the heap was removed before.
    pub fn remove(&mut self, id: ManagedHeapId) -> Result<(), PlanError> {
        self.teach_policies();
        let record = self.heaps.get(id).ok_or(PlanError::Unknown)?;
        let (group, size) = (record.group.index(), self.heaps.planned(id).size);
        self.totals[group].count(record, size, false);
        self.bytes = self.bytes.saturating_sub(size);
        self.policies[group][record.level.index()].forget(id.slot);
        self.heaps.remove(id);
        Ok(())
    }

    /// Returns the state of a heap, or `None` if it was removed. O(1).
    #[must_use]
    pub fn heap(&self, id: ManagedHeapId) -> Option<HeapState> {
        let (record, planned) = (self.heaps.get(id)?, self.heaps.planned(id));
        Some(HeapState {
            status: record.status?,
            locks: planned.locks,
            size: planned.size,
            group: record.group,
            level: record.level,
            is_in_use: !self.in_flight.is_idle(record),
        })
    }

    /// Iterates over all heaps, for reports and tests. O(heaps).
    pub fn heaps(&self) -> impl Iterator<Item = (ManagedHeapId, HeapState)> {
        self.heaps.iter().filter_map(|(id, _)| self.heap(id).map(|state| (id, state)))
    }

    /// Returns the totals of a segment group. O(1).
    #[must_use]
    pub fn totals(&self, group: SegmentGroup) -> GroupTotals {
        self.totals[self.effective_group(group).index()]
    }

    /// Returns the memory of a segment group.
    #[must_use]
    pub fn memory(&self, group: SegmentGroup) -> GroupMemory {
        self.memory[self.effective_group(group).index()]
    }

    /// Sets the memory of a segment group.
    pub fn set_memory(&mut self, group: SegmentGroup, memory: GroupMemory) {
        self.memory[self.effective_group(group).index()] = memory;
    }

    /// Returns the usage of a segment group: the resident heaps, and the usage outside of the planner.
    #[must_use]
    pub fn usage(&self, group: SegmentGroup) -> ByteSize {
        self.totals(group).resident.saturating_add(self.memory(group).external)
    }

    /// Returns the segment group that is used for `group`: the local one if the planner is unified.
    #[must_use]
    pub const fn effective_group(&self, group: SegmentGroup) -> SegmentGroup {
        if self.is_unified { SegmentGroup::Local } else { group }
    }

    /// Adds a queue, with its own fence.
    pub fn add_queue(&mut self) -> QueueSlot {
        self.in_flight.add_queue()
    }

    /// Removes a queue that has finished all its work, or never will.
    pub fn remove_queue(&mut self, queue: QueueSlot) {
        self.in_flight.remove_queue(queue);
    }

    /// Records the value that the fence of a queue has reached. O(submissions finished + queues).
    #[inline]
    pub fn complete(&mut self, queue: QueueSlot, completed: FenceValue) {
        self.in_flight.complete(queue, completed);
    }

    /// Records the value that the paging fence has reached. O(1).
    #[inline]
    pub fn complete_paging(&mut self, completed: FenceValue) {
        self.paging.1 = self.paging.1.max(completed);
    }

    /// Returns whether paging is in progress, as far as is known.
    #[must_use]
    #[inline]
    pub fn awaits_paging(&self) -> bool {
        self.paging.0 > self.paging.1
    }

    /// Returns the work that was planned so far. O(1).
    #[must_use]
    pub fn planned_work(&self) -> PlannedWork {
        PlannedWork { last_submission: self.in_flight.last_number(), last_paging: self.paging.0 }
    }

    /// Returns the number of submissions that the GPU has not finished.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// Sets the time that policies are told from now on. Policies of this crate count submissions alone, and need none.
    pub fn set_time(&mut self, time: std::time::Duration) {
        self.time = time;
    }

    /// Returns the moment at which policies are called: that of the last submission, because other queues may submit
    /// while a caller waits or pages. A cancelled submission has no moment, but policies may know it.
    fn now(&mut self) -> Moment {
        self.known = self.known.max(self.clock);
        Moment { submission: self.known, time: self.time }
    }

    /// Adds a lock, which keeps a heap resident once it is. O(1).
    ///
    /// If the result says that the heap is missing, a plan for this heap alone must follow, or an
    /// [`unlock`](Self::unlock).
    ///
    /// # Errors
    ///
    /// Returns [`PlanError::Unknown`] if the heap was removed, or [`PlanError::TooManyLocks`].
    pub fn lock(&mut self, id: ManagedHeapId) -> Result<LockOutcome, PlanError> {
        self.teach_policies();
        let record = self.heaps.get(id).ok_or(PlanError::Unknown)?;
        let locks = self.heaps.planned(id).locks.checked_add(1).ok_or(PlanError::TooManyLocks)?;
        if record.status == Some(Status::Unknown) {
            self.adopt(id);
        }
        let lock = |record: &mut Record, planned: &mut Planned| {
            (record.is_locked, planned.locks) = (true, locks);
        };
        let (record, _) = self.change(id, lock).ok_or(PlanError::Unknown)?;
        let is_resident = record.status == Some(Status::Resident);
        if is_resident && locks == 1 {
            let now = self.now();
            self.policy_of(&record).withdraw(id.slot, Withdrawal::Locked, now);
        }
        let arrives = if record.arrives > self.paging.1.get() { record.arrives } else { 0 };
        Ok(LockOutcome { is_missing: !is_resident, arrives: FenceValue::new(arrives) })
    }

    /// Removes a lock, and returns the number of remaining locks. O(1).
    ///
    /// # Errors
    ///
    /// Returns [`PlanError::Unknown`] if the heap was removed, or [`PlanError::NotLocked`].
    pub fn unlock(&mut self, id: ManagedHeapId) -> Result<u32, PlanError> {
        self.teach_policies();
        self.heaps.get(id).ok_or(PlanError::Unknown)?;
        let left = self.heaps.planned(id).locks.checked_sub(1).ok_or(PlanError::NotLocked)?;
        let period = self.period.0;
        let unlock = |record: &mut Record, planned: &mut Planned| {
            (record.is_locked, planned.locks) = (left > 0, left);
            if left == 0 {
                planned.period = period;
            }
        };
        let (record, size) = self.change(id, unlock).ok_or(PlanError::Unknown)?;
        if record.is_held() {
            let now = self.now();
            self.policy_of(&record).admit(id.slot, size, Admission::Unlocked, now);
        }
        Ok(left)
    }

    /// Changes a heap's priority. O(1).
    ///
    /// # Errors
    ///
    /// Returns [`PlanError::Unknown`] if the heap was removed.
    pub fn set_level(&mut self, id: ManagedHeapId, level: PriorityLevel) -> Result<(), PlanError> {
        self.teach_policies();
        let record = self.heaps.get_mut(id).ok_or(PlanError::Unknown)?;
        let old = std::mem::replace(&mut record.level, level);
        let record = *record;
        if old != level {
            self.policies[record.group.index()][old.index()].forget(id.slot);
            if record.is_held() {
                let (now, size) = (self.now(), self.heaps.planned(id).size);
                self.policy_of(&record).admit(id.slot, size, Admission::Unlocked, now);
            }
        }
        Ok(())
    }

    /// Records that a heap was made resident (`true`) or evicted by other means than a plan. O(1).
    ///
    /// # Errors
    ///
    /// Returns [`PlanError::Unknown`] if the heap was removed; for an eviction also [`PlanError::Locked`] and
    /// [`PlanError::InUse`].
    pub fn set_resident(&mut self, id: ManagedHeapId, is_resident: bool) -> Result<(), PlanError> {
        let record = self.heaps.get(id).ok_or(PlanError::Unknown)?;
        if !is_resident && record.is_locked {
            return Err(PlanError::Locked);
        }
        if !is_resident && (record.status == Some(Status::Arriving) || !self.in_flight.is_idle(record)) {
            return Err(PlanError::InUse);
        }
        match (record.status, is_resident) {
            (Some(Status::Resident | Status::Arriving), true) | (Some(Status::Evicted), false) => Ok(()),
            (Some(Status::Unknown | Status::Evicted), true) => {
                self.arrive(id, FenceValue::ZERO, Admission::Created);
                Ok(())
            }
            _ => {
                let is_held = record.is_held();
                self.evict(&[id], is_held);
                Ok(())
            }
        }
    }

    /// Changes the data of a heap, and updates the totals. Returns its record afterwards and its size, or `None` if it
    /// was removed.
    fn change(
        &mut self,
        id: ManagedHeapId,
        change: impl FnOnce(&mut Record, &mut Planned),
    ) -> Option<(Record, ByteSize)> {
        self.heaps.get(id)?;
        let (record, planned) = self.heaps.at_mut(id.slot)?;
        let (totals, size) = (&mut self.totals[record.group.index()], planned.size);
        totals.count(record, size, false);
        change(record, planned);
        totals.count(record, size, true);
        Some((*record, size))
    }

    /// Returns the policy of a heap.
    fn policy_of(&mut self, record: &Record) -> &mut dyn EvictionPolicy {
        &mut *self.policies[record.group.index()][record.level.index()]
    }
}
