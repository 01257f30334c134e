//! The books of residency, and plans made of them.

use std::fmt;

use super::heap_table::{HeapTable, Record};
use super::in_flight::{InFlight, QueueSlot, Submission};
use super::plan::{OverBudget, Plan, PlanOutcome, PlanRequest, Touched, WaitFor};
use super::policy::{Admission, EvictionPolicy, HeapSlot, Moment, Withdrawal};
use super::{GroupMemory, GroupTotals, ManagedHeapId, PriorityLevel, SegmentGroup, Status};
use crate::{ByteSize, FenceValue};

/// How many heaps are looked at before they are changed.
const TOUCHED_TOGETHER: usize = 64;

/// A heap that the planner is to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewManagedHeap {
    /// Where its bytes are when it is resident.
    pub group: SegmentGroup,
    /// How many bytes that are.
    pub size: ByteSize,
    /// When it goes, compared with others.
    pub level: PriorityLevel,
    /// Where it is now.
    pub status: Status,
}

/// What the planner knows of a heap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeapState {
    /// Where it is.
    pub status: Status,
    /// How many locks keep it resident.
    pub locks: u32,
    /// Its size.
    pub size: ByteSize,
    /// Its segment group.
    pub group: SegmentGroup,
    /// Its priority.
    pub level: PriorityLevel,
    /// Whether the GPU may still use it.
    pub is_in_use: bool,
}

/// What came of [`ResidencyPlanner::lock`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockOutcome {
    /// It is not resident: a plan has to make it so.
    pub is_missing: bool,
    /// What the paging fence must have come to before it is used; zero: nothing to wait for.
    pub arrives: FenceValue,
}

/// An id whose heap is gone, or that another planner gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no heap has the id at position {position}")]
pub struct UnknownHeap {
    /// Where in what was given.
    pub position: usize,
}

/// Why the books cannot be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// The heap is gone.
    #[error("the heap is gone")]
    Unknown,
    /// There is nothing to unlock.
    #[error("the heap is not locked")]
    NotLocked,
    /// A locked heap stays resident.
    #[error("the heap is locked")]
    Locked,
    /// 2^32 locks.
    #[error("the heap has 2^32 - 1 locks")]
    TooManyLocks,
    /// Sizes add up to 2^64 or more, or there are 2^32 heaps.
    #[error("there are too many heaps, or too large ones")]
    TooMuch,
    /// The GPU may still use it.
    #[error("the GPU may still use the heap")]
    InUse,
}

/// Keeps the books of residency, and plans.
///
/// It knows heaps (size, status, locks), which submissions use them and which of those the GPU has finished, and what memory there is. Before
/// a submission, it notes the use when everything is resident ([`are_resident`](Self::are_resident), [`touch`](Self::touch)), or plans what to
/// evict and what to make resident ([`plan`](Self::plan)). It never plans to evict what the GPU may still use, what is locked, or what is still on its way.
///
/// Somebody else carries plans out, one at a time: [`paged_in`](Self::paged_in) or [`page_in_failed`](Self::page_in_failed) follows each
/// plan before the next.
///
/// # Cost
///
/// O(heaps of the submission) plus O(victims), whatever the number of heaps it knows; no memory is taken in the long run.
///
/// ```
/// use heapwright_core::residency::policy::{Moment, PolicyKind};
/// use heapwright_core::residency::*;
/// use heapwright_core::{ByteSize, FenceValue};
///
/// let mut planner = ResidencyPlanner::new(false, || PolicyKind::Lru.create());
/// let group = SegmentGroup::Local;
/// planner.set_memory(group, GroupMemory { budget: ByteSize::from_mib(3), external: ByteSize::ZERO });
/// let heap = |status| NewManagedHeap { group, size: ByteSize::from_mib(2), level: PriorityLevel::Normal, status };
/// let old = planner.add(heap(Status::Resident), Moment::default())?;
/// let new = planner.add(heap(Status::Evicted), Moment::default())?;
///
/// let queue = planner.add_queue();
/// let submission = planner.begin(queue, FenceValue::new(1), Default::default());
/// assert!(!planner.are_resident(&[new])?);
/// let mut plan = Plan::default();
/// let request = PlanRequest {
///     submission: Some(&submission),
///     heaps: &[new],
///     list_ends: &[1],
///     ..PlanRequest::new(submission.moment())
/// };
/// assert_eq!(planner.plan(&request, &mut plan)?, PlanOutcome::Ready);
/// assert_eq!((&plan.evict[..], &plan.make_resident[..]), (&[old][..], &[new][..]));
/// planner.paged_in(&plan, FenceValue::new(1), submission.moment());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ResidencyPlanner {
    heaps: HeapTable,
    in_flight: InFlight,
    policies: [[Box<dyn EvictionPolicy>; 5]; 2],
    memory: [GroupMemory; 2],
    totals: [GroupTotals; 2],
    /// Both segment groups are one.
    is_unified: bool,
    /// Submissions as policies count them.
    clock: u64,
    /// The last value of the paging fence that was planned with, and how far it has come.
    paging: (FenceValue, FenceValue),
    /// Number of the plan.
    stamp: u64,
    /// The period that began last, and the last submission before it.
    period: (u64, u64),
    /// Of all heaps.
    bytes: ByteSize,
}

impl ResidencyPlanner {
    /// With no heaps and no queues, and no bounds on memory.
    ///
    /// `is_unified` makes one segment group of both: the local one. Each group has a policy of its own for each priority.
    #[must_use]
    pub fn new(is_unified: bool, mut create_policy: impl FnMut() -> Box<dyn EvictionPolicy>) -> Self {
        Self {
            heaps: HeapTable::default(),
            in_flight: InFlight::default(),
            policies: std::array::from_fn(|_| std::array::from_fn(|_| create_policy())),
            memory: Default::default(),
            totals: Default::default(),
            is_unified,
            clock: 0,
            paging: (FenceValue::ZERO, FenceValue::ZERO),
            stamp: 0,
            period: (0, 0),
            bytes: ByteSize::ZERO,
        }
    }

    /// Adds a heap. O(1), amortized.
    ///
    /// # Errors
    ///
    /// [`PlanError::TooMuch`].
    pub fn add(&mut self, heap: NewManagedHeap, now: Moment) -> Result<ManagedHeapId, PlanError> {
        let NewManagedHeap { group, size, level, status } = heap;
        let bytes = self.bytes.checked_add(size).ok_or(PlanError::TooMuch)?;
        let group = self.effective_group(group);
        let id = self.heaps.insert(size, group, level, status).ok_or(PlanError::TooMuch)?;
        self.heaps.set_period(id.slot(), self.period.0);
        self.bytes = bytes;
        self.totals[group.index()].enter(self.heaps.at(id.slot()), size);
        if status == Status::Resident {
            self.policies[group.index()][level.index()].admit(id.slot(), size, Admission::Created, now);
        }
        Ok(id)
    }

    /// Removes a heap, wherever it is, locked or not. O(1).
    ///
    /// # Errors
    ///
    /// [`PlanError::Unknown`].
    pub fn remove(&mut self, id: ManagedHeapId) -> Result<(), PlanError> {
        let record = self.heaps.get(id).ok_or(PlanError::Unknown)?;
        let (group, level) = (record.group.index(), record.level.index());
        let size = self.heaps.size(id.slot());
        self.totals[group].leave(record, size);
        self.bytes = self.bytes.saturating_sub(size);
        self.policies[group][level].forget(id.slot());
        self.heaps.remove(id);
        Ok(())
    }

    /// What is known of a heap. O(1).
    #[must_use]
    pub fn heap(&self, id: ManagedHeapId) -> Option<HeapState> {
        let record = self.heaps.get(id)?;
        Some(HeapState {
            status: record.status?,
            locks: record.locks,
            size: self.heaps.size(id.slot()),
            group: record.group,
            level: record.level,
            is_in_use: !self.in_flight.is_idle(record),
        })
    }

    /// All heaps, for reports and tests. O(heaps).
    pub fn heaps(&self) -> impl Iterator<Item = (ManagedHeapId, HeapState)> {
        self.heaps.iter().filter_map(|(id, _)| self.heap(id).map(|state| (id, state)))
    }

    /// Sums over the heaps of a segment group. O(1).
    #[must_use]
    pub fn totals(&self, group: SegmentGroup) -> GroupTotals {
        self.totals[self.effective_group(group).index()]
    }

    /// What memory there is.
    #[must_use]
    pub fn memory(&self, group: SegmentGroup) -> GroupMemory {
        self.memory[self.effective_group(group).index()]
    }

    /// Says what memory there is from now on.
    pub fn set_memory(&mut self, group: SegmentGroup, memory: GroupMemory) {
        self.memory[self.effective_group(group).index()] = memory;
    }

    /// Bytes in use: what is resident and what others use.
    #[must_use]
    pub fn usage(&self, group: SegmentGroup) -> ByteSize {
        self.usage_at(self.effective_group(group).index())
    }

    fn usage_at(&self, group: usize) -> ByteSize {
        self.totals[group].resident.saturating_add(self.memory[group].external)
    }

    /// The segment group that stands for `group`.
    #[must_use]
    pub const fn effective_group(&self, group: SegmentGroup) -> SegmentGroup {
        if self.is_unified { SegmentGroup::Local } else { group }
    }

    /// Adds a queue, with a fence of its own.
    pub fn add_queue(&mut self) -> QueueSlot {
        self.in_flight.add_queue()
    }

    /// Removes a queue that has finished everything, or never will.
    pub fn remove_queue(&mut self, queue: QueueSlot) {
        self.in_flight.remove_queue(queue);
    }

    /// Notes how far the fence of a queue has come. O(submissions finished + queues).
    #[inline]
    pub fn complete(&mut self, queue: QueueSlot, completed: FenceValue) {
        self.in_flight.complete(queue, completed);
    }

    /// Notes how far the paging fence has come. O(1).
    #[inline]
    pub fn complete_paging(&mut self, completed: FenceValue) {
        self.paging.1 = self.paging.1.max(completed);
    }

    /// Whether something is on its way, as far as is known.
    #[must_use]
    #[inline]
    pub fn awaits_paging(&self) -> bool {
        self.paging.0 > self.paging.1
    }

    /// How many submissions the GPU has not finished.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// When it is, as policies count: `time` since a beginning of the caller's choice.
    #[must_use]
    pub const fn moment(&self, time: std::time::Duration) -> Moment {
        Moment { submission: self.clock, time }
    }

    /// Begins a submission, at whose end the queue's fence comes to `value`. O(1).
    #[inline]
    pub fn begin(&mut self, queue: QueueSlot, value: FenceValue, time: std::time::Duration) -> Submission {
        self.clock += 1;
        let now = self.moment(time);
        Submission { queue, number: self.in_flight.begin(queue, value), value, now }
    }

    /// Takes back a submission that was not made: the last one of its queue.
    pub fn cancel(&mut self, submission: &Submission) {
        self.in_flight.cancel(submission);
        // Tried again, it is the same submission to policies.
        if submission.now.submission == self.clock {
            self.clock -= 1;
        }
    }

    /// Whether there is any heap that is not resident. O(1).
    #[must_use]
    #[inline]
    pub fn has_missing(&self) -> bool {
        self.totals.iter().any(|totals| totals.evicted_count > 0 || totals.arriving_count > 0)
    }

    /// Whether all heaps are resident, or on their way; changes nothing. O(heaps), and O(1) when no heap is evicted at all.
    ///
    /// # Errors
    ///
    /// A heap that is gone, if it was looked at: [`touch`](Self::touch) looks at all.
    #[inline]
    pub fn are_resident(&self, heaps: &[ManagedHeapId]) -> Result<bool, UnknownHeap> {
        if !self.has_missing() {
            // Ids are checked by whoever uses the heaps.
            return Ok(true);
        }
        let mut are_resident = true;
        for (position, &id) in heaps.iter().enumerate() {
            let record = self.heaps.get(id).ok_or(UnknownHeap { position })?;
            are_resident &= matches!(record.status, Some(Status::Resident | Status::Unknown));
        }
        Ok(are_resident)
    }

    /// Notes that a submission uses heaps, and answers whether all are resident. O(heaps).
    ///
    /// The heaps count as used by the submission also when others are missing, so ask [`are_resident`](Self::are_resident) first.
    ///
    /// # Errors
    ///
    /// A heap that is gone; nothing may be executed then, and the submission is to be [cancelled](Self::cancel).
    #[inline]
    pub fn touch(
        &mut self,
        submission: &Submission,
        heaps: &[ManagedHeapId],
    ) -> Result<Touched, UnknownHeap> {
        let mut touched = Touched::default();
        let mut arrives = 0;
        for (number, part) in heaps.chunks(TOUCHED_TOGETHER).enumerate() {
            // All are looked at before the first is changed: the processor fetches several notes at a time then.
            let position = |at: usize| UnknownHeap { position: number * TOUCHED_TOGETHER + at };
            let all_live = part.iter().fold(true, |all, &id| all & self.heaps.get(id).is_some());
            if !all_live {
                let at = part.iter().position(|&id| self.heaps.get(id).is_none());
                return Err(position(at.unwrap_or(0)));
            }
            for &id in part {
                let Some(record) = self.heaps.get_mut(id) else { continue };
                if record.status != Some(Status::Resident) {
                    if record.status != Some(Status::Unknown) {
                        touched.is_missing = true;
                        continue;
                    }
                    self.adopt(id, submission.now);
                    self.use_resident(id, submission);
                    continue;
                }
                if record.last_use == submission.number {
                    continue;
                }
                self.in_flight.stamp(record, submission);
                arrives = record.arrives.max(arrives);
                if record.locks == 0 {
                    let policy = &mut self.policies[record.group.index()][record.level.index()];
                    policy.touch(id.slot(), submission.now);
                }
            }
        }
        if arrives > self.paging.1.get() {
            touched.arrives = FenceValue::new(arrives);
        }
        Ok(touched)
    }

    /// As [`touch`](Self::touch), of one heap that is resident.
    fn use_resident(&mut self, id: ManagedHeapId, submission: &Submission) {
        let Some(record) = self.heaps.get_mut(id) else { return };
        if record.last_use == submission.number {
            return;
        }
        self.in_flight.stamp(record, submission);
        if record.locks == 0 {
            self.policies[record.group.index()][record.level.index()].touch(id.slot(), submission.now);
        }
    }

    /// A heap of unknown status is asked for: D3D12 creates everything resident that cannot be told not to be.
    fn adopt(&mut self, id: ManagedHeapId, now: Moment) {
        let size = self.heaps.size(id.slot());
        let Some(record) = self.heaps.get_mut(id) else { return };
        let group = record.group.index();
        self.totals[group].leave(record, size);
        record.status = Some(Status::Resident);
        self.totals[group].enter(record, size);
        if record.locks == 0 {
            let policy = &mut self.policies[group][record.level.index()];
            policy.admit(id.slot(), size, Admission::Created, now);
        }
        self.heaps.set_period(id.slot(), self.period.0);
        // It was counted among what others use.
        let external = &mut self.memory[group].external;
        *external = external.saturating_sub(size);
    }

    /// Counts a lock, which keeps a heap resident once it is. O(1).
    ///
    /// When the outcome is that it is missing, a plan for it alone has to follow, or an [`unlock`](Self::unlock).
    ///
    /// # Errors
    ///
    /// [`PlanError::Unknown`], [`PlanError::TooManyLocks`].
    pub fn lock(&mut self, id: ManagedHeapId, now: Moment) -> Result<LockOutcome, PlanError> {
        let record = self.heaps.get(id).ok_or(PlanError::Unknown)?;
        if record.locks == u32::MAX {
            return Err(PlanError::TooManyLocks);
        }
        if record.status == Some(Status::Unknown) {
            self.adopt(id, now);
        }
        let size = self.heaps.size(id.slot());
        let record = self.heaps.get_mut(id).ok_or(PlanError::Unknown)?;
        let (group, level) = (record.group.index(), record.level.index());
        self.totals[group].leave(record, size);
        record.locks += 1;
        self.totals[group].enter(record, size);
        let is_resident = record.status == Some(Status::Resident);
        if is_resident && record.locks == 1 {
            self.policies[group][level].withdraw(id.slot(), Withdrawal::Locked, now);
        }
        let arrives = if record.arrives > self.paging.1.get() { record.arrives } else { 0 };
        Ok(LockOutcome { is_missing: !is_resident, arrives: FenceValue::new(arrives) })
    }

    /// Takes a lock away, and answers how many are left. O(1).
    ///
    /// # Errors
    ///
    /// [`PlanError::Unknown`], [`PlanError::NotLocked`].
    pub fn unlock(&mut self, id: ManagedHeapId, now: Moment) -> Result<u32, PlanError> {
        let size = self.heaps.get(id).map(|_| self.heaps.size(id.slot())).ok_or(PlanError::Unknown)?;
        let record = self.heaps.get_mut(id).ok_or(PlanError::Unknown)?;
        let left = record.locks.checked_sub(1).ok_or(PlanError::NotLocked)?;
        let (group, level) = (record.group.index(), record.level.index());
        self.totals[group].leave(record, size);
        record.locks = left;
        self.totals[group].enter(record, size);
        if left == 0 && record.status == Some(Status::Resident) {
            self.policies[group][level].admit(id.slot(), size, Admission::Unlocked, now);
            self.heaps.set_period(id.slot(), self.period.0);
        }
        Ok(left)
    }

    /// Changes a heap's priority. O(1).
    ///
    /// # Errors
    ///
    /// [`PlanError::Unknown`].
    pub fn set_level(
        &mut self,
        id: ManagedHeapId,
        level: PriorityLevel,
        now: Moment,
    ) -> Result<(), PlanError> {
        let size = self.heaps.get(id).map(|_| self.heaps.size(id.slot())).ok_or(PlanError::Unknown)?;
        let record = self.heaps.get_mut(id).ok_or(PlanError::Unknown)?;
        let (group, old) = (record.group.index(), record.level);
        if old == level {
            return Ok(());
        }
        record.level = level;
        let is_held = record.is_held();
        self.policies[group][old.index()].forget(id.slot());
        if is_held {
            self.policies[group][level.index()].admit(id.slot(), size, Admission::Unlocked, now);
        }
        Ok(())
    }

    /// Somebody else has made a heap resident (`true`) or evicted it. O(1).
    ///
    /// # Errors
    ///
    /// [`PlanError::Unknown`]; for an eviction also [`PlanError::Locked`] and [`PlanError::InUse`].
    pub fn set_resident(
        &mut self,
        id: ManagedHeapId,
        is_resident: bool,
        now: Moment,
    ) -> Result<(), PlanError> {
        let record = self.heaps.get(id).ok_or(PlanError::Unknown)?;
        if !is_resident && record.locks > 0 {
            return Err(PlanError::Locked);
        }
        if !is_resident && (record.status == Some(Status::Arriving) || !self.in_flight.is_idle(record)) {
            return Err(PlanError::InUse);
        }
        match (record.status, is_resident) {
            (Some(Status::Resident | Status::Arriving), true) | (Some(Status::Evicted), false) => Ok(()),
            (Some(Status::Unknown | Status::Evicted), true) => {
                self.make_resident(id, Status::Resident);
                self.arrive(id, FenceValue::ZERO, Admission::Created, now);
                Ok(())
            }
            _ => {
                let is_held = record.is_held();
                self.evict(id, is_held, now);
                Ok(())
            }
        }
    }

    /// Plans what is to be evicted and made resident. O(heaps asked for + victims + heaps that may not go).
    ///
    /// [`PlanOutcome::Ready`]: `plan` is to be carried out, what it evicts counts as evicted from now on, and what it makes resident counts as
    /// usage. Otherwise nothing has changed.
    ///
    /// # Errors
    ///
    /// A heap that is gone; nothing has changed.
    pub fn plan(&mut self, request: &PlanRequest<'_>, plan: &mut Plan) -> Result<PlanOutcome, UnknownHeap> {
        plan.clear();
        if let Some(position) = request.heaps.iter().position(|&id| self.heaps.get(id).is_none()) {
            return Err(UnknownHeap { position });
        }
        self.stamp += 1;
        let needs = self.gather(request, plan);
        for group in SegmentGroup::ALL {
            if let Some(refusal) = self.choose(request, group, &needs[group.index()], plan) {
                plan.clear();
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
                    self.adopt(id, request.now);
                }
                let slot = id.slot();
                if self.heaps.stamp(slot) == self.stamp {
                    continue;
                }
                self.heaps.set_stamp(slot, self.stamp);
                plan.set.push(slot);
                let record = self.heaps.at(slot);
                needs[record.group.index()].count(record, self.heaps.size(slot));
            }
            if number > 0 && !self.fits(request, &needs) {
                for &slot in &plan.set[before.1..] {
                    self.heaps.set_stamp(slot, 0);
                }
                plan.set.truncate(before.1);
                needs = before.0;
                break;
            }
            plan.lists = number + 1;
            begin = end;
        }
        needs
    }

    /// Whether so much can be resident at the same time, when everything goes that may go in the end.
    fn fits(&self, request: &PlanRequest<'_>, needs: &[Needs; 2]) -> bool {
        (0..2).all(|group| self.least_usage(group, request, &needs[group]) <= self.memory[group].budget)
    }

    /// Usage of a segment group when only what must stay is left.
    fn least_usage(&self, group: usize, request: &PlanRequest<'_>, needs: &Needs) -> ByteSize {
        let locked_elsewhere = self.totals[group].locked.saturating_sub(needs.locked);
        self.memory[group]
            .external
            .saturating_add(locked_elsewhere)
            .saturating_add(needs.total)
            .saturating_add(request.incoming[group])
    }

    /// Chooses the victims in a segment group; a refusal if that is not enough.
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
        let over = self.usage_at(index).saturating_add(incoming).saturating_sub(budget);
        // What nobody brings in does not have to go: trimming has a plan of its own.
        let over = if incoming.is_zero() && request.submission.is_some() { ByteSize::ZERO } else { over };
        let need = over.max(request.at_least[index]);
        if need.is_zero() {
            return None;
        }
        let (heaps, in_flight, stamp, arrived) =
            (&self.heaps, &self.in_flight, self.stamp, self.paging.1.get());
        let mut evictable = |slot: HeapSlot| {
            let record = heaps.at(slot);
            let is_free =
                heaps.stamp(slot) != stamp && record.arrives <= arrived && in_flight.is_idle(record);
            is_free.then(|| heaps.size(slot))
        };
        let first = plan.victims.len();
        let mut found = ByteSize::ZERO;
        for policy in &mut self.policies[index] {
            let before = plan.victims.len();
            policy.choose(need.saturating_sub(found), request.now, &mut evictable, &mut plan.victims);
            found =
                plan.victims[before..].iter().fold(found, |sum, &slot| sum.saturating_add(heaps.size(slot)));
            if found >= need {
                break;
            }
        }
        prune(&mut plan.victims, first, need, &mut found, |slot| heaps.size(slot));
        plan.bytes_out[index] = found;
        let held = self.totals[index].resident.saturating_sub(self.totals[index].locked);
        let busy = held.saturating_sub(needs.held).saturating_sub(found);
        if found >= over && (found >= request.at_least[index] || !found.is_zero()) {
            if request.may_wait
                && !busy.is_zero()
                && self.are_needed_soon(request, index, &plan.victims[first..])
                && let Some(wait) = self.wait_for(request)
            {
                return Some(PlanOutcome::Wait(wait));
            }
            return None;
        }
        if request.may_wait
            && !busy.is_zero()
            && let Some(wait) = self.wait_for(request)
        {
            return Some(PlanOutcome::Wait(wait));
        }
        if found < over && !request.may_exceed {
            let needed = self.usage_at(index).saturating_sub(found).saturating_add(incoming);
            return Some(PlanOutcome::OverBudget(OverBudget { group, needed, budget }));
        }
        plan.over_budget[index] = over.saturating_sub(found);
        None
    }

    /// Whether one of the victims is expected to be used before the GPU has finished what it was given: then it is better to wait, as
    /// something that is not needed so soon can be evicted in its place.
    fn are_needed_soon(&self, request: &PlanRequest<'_>, group: usize, victims: &[HeapSlot]) -> bool {
        let in_flight = u64::try_from(self.in_flight.len()).unwrap_or(u64::MAX);
        victims.iter().any(|&slot| {
            let policy = &self.policies[group][self.heaps.at(slot).level.index()];
            policy.next_use_in(slot, request.now).is_some_and(|next| next <= in_flight)
        })
    }

    /// What ends next of what keeps heaps from being evicted.
    fn wait_for(&self, request: &PlanRequest<'_>) -> Option<WaitFor> {
        let own = request.submission.map_or(0, |submission| submission.number);
        if let Some((queue, value)) = self.in_flight.oldest_but(own) {
            return Some(WaitFor::Submission(queue, value));
        }
        let (planned, completed) = self.paging;
        (planned > completed).then_some(WaitFor::Paging(planned))
    }

    /// Enters a plan into the books.
    fn apply(&mut self, request: &PlanRequest<'_>, plan: &mut Plan) {
        self.evict_victims(request.now, plan);
        let mut arrives = 0;
        for index in 0..plan.set.len() {
            let id = self.heaps.id_at(plan.set[index]);
            let Some(record) = self.heaps.get_mut(id) else { continue };
            let is_missing = record.status == Some(Status::Evicted);
            arrives = record.arrives.max(arrives);
            if let Some(submission) = request.submission {
                if is_missing {
                    self.in_flight.stamp(record, submission);
                } else {
                    self.use_resident(id, submission);
                }
            }
            if is_missing {
                let (group, size) = self.make_resident(id, Status::Arriving);
                plan.bytes_in[group] = plan.bytes_in[group].saturating_add(size);
                plan.make_resident.push(id);
            }
        }
        if arrives > self.paging.1.get() {
            plan.arrives = FenceValue::new(arrives);
        }
    }

    fn evict_victims(&mut self, now: Moment, plan: &mut Plan) {
        for index in 0..plan.victims.len() {
            let id = self.heaps.id_at(plan.victims[index]);
            self.evict(id, true, now);
            plan.evict.push(id);
        }
    }

    fn evict(&mut self, id: ManagedHeapId, is_held: bool, now: Moment) {
        let size = self.heaps.size(id.slot());
        let Some(record) = self.heaps.get_mut(id) else { return };
        let (group, level) = (record.group.index(), record.level.index());
        self.totals[group].leave(record, size);
        record.status = Some(Status::Evicted);
        record.arrives = 0;
        self.totals[group].enter(record, size);
        if is_held {
            self.policies[group][level].withdraw(id.slot(), Withdrawal::Evicted, now);
        }
    }

    /// Its bytes count as usage from now on.
    fn make_resident(&mut self, id: ManagedHeapId, status: Status) -> (usize, ByteSize) {
        let size = self.heaps.size(id.slot());
        let Some(record) = self.heaps.get_mut(id) else { return (0, ByteSize::ZERO) };
        let group = record.group.index();
        self.totals[group].leave(record, size);
        record.status = Some(status);
        self.totals[group].enter(record, size);
        (group, size)
    }

    /// It may be evicted from now on, if it is not locked.
    fn arrive(&mut self, id: ManagedHeapId, value: FenceValue, cause: Admission, now: Moment) {
        let size = self.heaps.size(id.slot());
        let Some(record) = self.heaps.get_mut(id) else { return };
        let group = record.group.index();
        self.totals[group].leave(record, size);
        record.status = Some(Status::Resident);
        self.totals[group].enter(record, size);
        record.arrives = value.get();
        if record.locks == 0 {
            let (group, level) = (record.group.index(), record.level.index());
            self.policies[group][level].admit(id.slot(), size, cause, now);
        }
        self.heaps.set_period(id.slot(), self.period.0);
    }

    /// A plan was carried out: what it makes resident is so when the paging fence comes to `value`. O(heaps of the plan).
    ///
    /// Heaps that were removed meanwhile are left out.
    pub fn paged_in(&mut self, plan: &Plan, value: FenceValue, now: Moment) {
        self.paging.0 = self.paging.0.max(value);
        for &id in &plan.make_resident {
            if self.heaps.get(id).is_some_and(|record| record.status == Some(Status::Arriving)) {
                self.arrive(id, value, Admission::PagedIn, now);
            }
        }
    }

    /// The device did not make resident what a plan asked for; what the plan evicted is evicted. O(heaps of the plan).
    pub fn page_in_failed(&mut self, plan: &Plan, now: Moment) {
        for &id in &plan.make_resident {
            if self.heaps.get(id).is_some_and(|record| record.status == Some(Status::Arriving)) {
                self.evict(id, false, now);
            }
        }
    }

    /// The device did not evict what a plan asked for: all of it is resident still. O(heaps of the plan).
    pub fn evict_failed(&mut self, plan: &Plan, now: Moment) {
        for &id in &plan.evict {
            if self.heaps.get(id).is_some_and(|record| record.status == Some(Status::Evicted)) {
                self.make_resident(id, Status::Resident);
                self.arrive(id, FenceValue::ZERO, Admission::Unlocked, now);
            }
        }
    }

    /// Plans to evict what is not worth keeping although nobody asks for its memory, at most about `limit` bytes in each segment
    /// group: the policy decides, by how full the group is. O(victims + heaps that may not go).
    ///
    /// The plan is to be carried out; it makes nothing resident.
    pub fn plan_ahead(&mut self, limit: [ByteSize; 2], now: Moment, plan: &mut Plan) {
        plan.clear();
        self.stamp += 1;
        for (group, &limit) in limit.iter().enumerate() {
            let budget = self.memory[group].budget;
            if budget.is_zero() || budget == ByteSize::MAX || limit.is_zero() {
                continue;
            }
            let fullness = ratio(self.usage_at(group), budget);
            let (heaps, in_flight, arrived) = (&self.heaps, &self.in_flight, self.paging.1.get());
            let mut evictable = |slot: HeapSlot| {
                let record = heaps.at(slot);
                (record.arrives <= arrived && in_flight.is_idle(record)).then(|| heaps.size(slot))
            };
            for policy in &mut self.policies[group] {
                let left = limit.saturating_sub(plan.bytes_out[group]);
                if left.is_zero() {
                    break;
                }
                let before = plan.victims.len();
                policy.choose_ahead(left, fullness, now, &mut evictable, &mut plan.victims);
                plan.bytes_out[group] = plan.victims[before..]
                    .iter()
                    .fold(plan.bytes_out[group], |sum, &slot| sum.saturating_add(heaps.size(slot)));
            }
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

    /// Checks that the books agree with each other. O(heaps); for tests.
    ///
    /// # Errors
    ///
    /// What disagrees, as text for people.
    pub fn audit(&self) -> Result<(), String> {
        let mut totals = [GroupTotals::default(); 2];
        let mut bytes = ByteSize::ZERO;
        for (id, record) in self.heaps.iter() {
            let size = self.heaps.size(id.slot());
            totals[record.group.index()].enter(record, size);
            bytes = bytes.saturating_add(size);
        }
        if totals != self.totals {
            return Err(format!("the heaps sum up to {totals:?}, the totals are {:?}", self.totals));
        }
        if bytes != self.bytes {
            return Err(format!("the heaps have {bytes}, the sum is {}", self.bytes));
        }
        Ok(())
    }
}

/// Of the heaps that a plan is for, in one segment group.
#[derive(Debug, Clone, Copy, Default)]
struct Needs {
    total: ByteSize,
    missing: ByteSize,
    locked: ByteSize,
    /// Resident and not locked.
    held: ByteSize,
}

impl Needs {
    fn count(&mut self, record: &Record, size: ByteSize) {
        let add = |sum: &mut ByteSize| *sum = sum.saturating_add(size);
        add(&mut self.total);
        if record.status == Some(Status::Evicted) {
            add(&mut self.missing);
        } else if record.locks > 0 {
            add(&mut self.locked);
        } else {
            add(&mut self.held);
        }
    }
}

impl Record {
    /// Whether a policy holds it.
    fn is_held(&self) -> bool {
        self.status == Some(Status::Resident) && self.locks == 0
    }
}

impl GroupTotals {
    fn enter(&mut self, record: &Record, size: ByteSize) {
        self.change(record, size, ByteSize::saturating_add, |count| count + 1);
    }

    fn leave(&mut self, record: &Record, size: ByteSize) {
        self.change(record, size, ByteSize::saturating_sub, |count| count - 1);
    }

    fn change(
        &mut self,
        record: &Record,
        size: ByteSize,
        bytes: fn(ByteSize, ByteSize) -> ByteSize,
        count: fn(u64) -> u64,
    ) {
        match record.status {
            Some(status @ (Status::Resident | Status::Arriving)) => {
                if status == Status::Arriving {
                    self.arriving_count = count(self.arriving_count);
                }
                self.resident_count = count(self.resident_count);
                self.resident = bytes(self.resident, size);
                if record.locks > 0 {
                    self.locked_count = count(self.locked_count);
                    self.locked = bytes(self.locked, size);
                }
            }
            Some(Status::Evicted) => {
                self.evicted_count = count(self.evicted_count);
                self.evicted = bytes(self.evicted, size);
            }
            Some(Status::Unknown) => self.unknown_count = count(self.unknown_count),
            None => {}
        }
    }
}

/// Lets victims live that are not needed, those first that the policy would keep longest.
fn prune(
    victims: &mut Vec<HeapSlot>,
    first: usize,
    need: ByteSize,
    found: &mut ByteSize,
    size: impl Fn(HeapSlot) -> ByteSize,
) {
    for index in (first..victims.len()).rev() {
        let without = found.saturating_sub(size(victims[index]));
        if without >= need {
            victims.remove(index);
            *found = without;
        }
    }
}

/// Usage over budget.
#[expect(clippy::cast_precision_loss, reason = "a ratio")]
fn ratio(usage: ByteSize, budget: ByteSize) -> f64 {
    usage.get() as f64 / budget.get() as f64
}

impl Submission {
    /// When it was begun, as policies count.
    #[must_use]
    pub const fn moment(&self) -> Moment {
        self.now
    }
}

impl Plan {
    fn clear(&mut self) {
        let Self { evict, make_resident, bytes_out, bytes_in, arrives, lists, over_budget, set, victims } =
            self;
        for list in [evict, make_resident] {
            list.clear();
        }
        for list in [set, victims] {
            list.clear();
        }
        for bytes in [bytes_out, bytes_in, over_budget] {
            *bytes = [ByteSize::ZERO; 2];
        }
        *arrives = FenceValue::ZERO;
        *lists = 0;
    }

    /// Whether there is nothing to do.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.evict.is_empty() && self.make_resident.is_empty()
    }
}

impl fmt::Display for OverBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { group, needed, budget } = self;
        write!(f, "{needed} must be resident in the {group} segment group, whose budget is {budget}")
    }
}
