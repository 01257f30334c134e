//! Uses of heaps by submissions, and when policies learn of them.
//!
//! Policies need to know of uses only when they decide, or when something else changes. Until then uses are collected
//! ([`UnlearnedUses`](crate::residency::unlearned::UnlearnedUses)).

use super::ResidencyPlanner;
use crate::FenceValue;
use crate::residency::in_flight::{QueueSlot, Submission, UsesBy};
use crate::residency::policy::{Admission, Moment};
use crate::residency::{ManagedHeapId, Status, UnknownHeap};

impl ResidencyPlanner {
    /// Begins a submission, at whose end the queue's fence reaches `value`. O(1).
    #[inline]
    pub fn begin(&mut self, queue: QueueSlot, value: FenceValue) -> Submission {
        self.clock += 1;
        Submission { queue, number: self.in_flight.begin(queue, value), value, clock: self.clock }
    }

    /// Cancels a submission that was not made; it must be the last one of its queue.
    pub fn cancel(&mut self, submission: &Submission) {
        self.in_flight.cancel(submission);
        // If it is repeated, it is the same submission to policies.
        if submission.clock == self.clock {
            self.clock -= 1;
        }
    }

    /// Returns whether any heap is not resident. O(1).
    #[must_use]
    #[inline]
    pub fn has_missing(&self) -> bool {
        self.totals.iter().any(|totals| totals.evicted_count > 0 || totals.arriving_count > 0)
    }

    /// Returns whether all heaps are resident, or will be when the paging fence reaches a value. Changes
    /// nothing. O(heaps), and O(1) if no heap is evicted.
    ///
    /// # Errors
    ///
    /// Returns an error if a heap was removed and was examined. [`touch`](Self::touch) examines all heaps.
    #[inline]
    pub fn are_resident(&self, heaps: &[ManagedHeapId]) -> Result<bool, UnknownHeap> {
        if !self.has_missing() {
            // The caller's next step, `touch` or `plan`, checks the ids.
            return Ok(true);
        }
        let mut are_resident = true;
        for (position, &id) in heaps.iter().enumerate() {
            let record = self.heaps.get(id).ok_or(UnknownHeap { position })?;
            are_resident &= matches!(record.status, Some(Status::Resident | Status::Unknown));
        }
        Ok(are_resident)
    }

    /// Records that a submission uses heaps, after [`are_resident`](Self::are_resident) returned true for
    /// them. O(heaps).
    ///
    /// Returns the value that the paging fence must reach before the GPU begins; zero if there is nothing to
    /// wait for.
    ///
    /// # Errors
    ///
    /// Returns an error if a heap was removed. Nothing may be executed then, and the submission must be
    /// [cancelled](Self::cancel).
    #[inline]
    pub fn touch(
        &mut self,
        submission: &Submission,
        heaps: &[ManagedHeapId],
    ) -> Result<FenceValue, UnknownHeap> {
        let uses = self.uses_by(submission);
        let mut arrives = 0;
        for (position, &id) in heaps.iter().enumerate() {
            if let Some(record) = self.heaps.resident_mut(id) {
                arrives = record.arrives.max(arrives);
                self.unlearned.use_record(id.slot, record, uses);
            } else {
                self.use_other(id, uses).ok_or(UnknownHeap { position })?;
            }
        }
        self.teach_if_due();
        Ok(FenceValue::new(if arrives > self.paging.1.get() { arrives } else { 0 }))
    }

    /// Records the use of a heap that is not known to be resident. Returns `None` if it was removed.
    #[cold]
    fn use_other(&mut self, id: ManagedHeapId, uses: UsesBy) -> Option<()> {
        // Missing heaps would be a mistake of the caller, and are left unchanged.
        if self.heaps.get(id)?.status == Some(Status::Unknown) {
            self.adopt(id);
            self.unlearned.use_record(id.slot, self.heaps.get_mut(id)?, uses);
        }
        Some(())
    }

    /// Records the use of a heap of unknown status: D3D12 creates heaps resident unless they are created
    /// otherwise on request.
    pub(super) fn adopt(&mut self, id: ManagedHeapId) {
        let Some(record) = self.heaps.get(id) else { return };
        // It was counted as external usage.
        let external = &mut self.memory[record.group.index()].external;
        *external = external.saturating_sub(self.heaps.planned(id).size);
        self.arrive(id, FenceValue::ZERO, Admission::Created);
    }

    /// Passes all uses to the policies. Every other call of a policy comes after this one. O(n log n) for n uses,
    /// where regular uses of a heap count as two.
    pub(super) fn teach_policies(&mut self) {
        if self.unlearned.is_empty() {
            return;
        }
        let Self { unlearned, heaps, policies, known, time, cancelled, .. } = self;
        unlearned.take(heaps, |uses, record| {
            let policy = &mut policies[record.group.index()][record.level.index()];
            let now = Moment { submission: uses.last - *cancelled, time: *time };
            *known = now.submission.max(*known);
            if uses.count == 1 {
                policy.touch(uses.heap, now);
            } else {
                policy.touch_regularly(uses.heap, uses.interval, uses.count, now);
            }
        });
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
        let cancelled = submission.number - submission.clock;
        if cancelled != self.cancelled {
            self.teach_policies();
            self.cancelled = cancelled;
        }
        self.in_flight.uses_by(submission)
    }
}
