//! Uses of heaps by submissions.

use super::ResidencyPlanner;
use crate::FenceValue;
use crate::residency::in_flight::{QueueSlot, Submission};
use crate::residency::policy::{Admission, Moment};
use crate::residency::{ManagedHeapId, Status, UnknownHeap};

impl ResidencyPlanner {
    /// Begins a submission, at whose end the queue's fence reaches `value`. O(1).
    #[inline]
    pub fn begin(&mut self, queue: QueueSlot, value: FenceValue, time: std::time::Duration) -> Submission {
        self.clock += 1;
        self.time = time;
        let now = Moment { submission: self.clock, time };
        Submission { queue, number: self.in_flight.begin(queue, value), value, now }
    }

    /// Cancels a submission that was not made; it must be the last one of its queue.
    pub fn cancel(&mut self, submission: &Submission) {
        self.in_flight.cancel(submission);
        // If it is repeated, it is the same submission to policies.
        if submission.now.submission == self.clock {
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
                self.unlearned.use_record(id.slot(), record, uses);
            } else {
                self.use_other(id, submission).ok_or(UnknownHeap { position })?;
            }
        }
        self.teach_if_due();
        Ok(FenceValue::new(if arrives > self.paging.1.get() { arrives } else { 0 }))
    }

    /// Records the use of a heap that is not known to be resident. Returns `None` if it was removed.
    #[cold]
    fn use_other(&mut self, id: ManagedHeapId, submission: &Submission) -> Option<()> {
        // Missing heaps would be a mistake of the caller, and are left unchanged.
        if self.heaps.get(id)?.status == Some(Status::Unknown) {
            self.adopt(id, submission.now);
            self.use_resident(id, submission);
        }
        Some(())
    }

    /// Records the use of one heap if it is resident, like [`touch`](Self::touch).
    pub(super) fn use_resident(&mut self, id: ManagedHeapId, submission: &Submission) {
        let uses = self.uses_by(submission);
        if let Some(record) = self.heaps.resident_mut(id) {
            self.unlearned.use_record(id.slot(), record, uses);
        }
    }

    /// Records the use of a heap of unknown status: D3D12 creates heaps resident unless they are created
    /// otherwise on request.
    pub(super) fn adopt(&mut self, id: ManagedHeapId, now: Moment) {
        let Some(record) = self.heaps.get(id) else { return };
        // It was counted as external usage.
        let external = &mut self.memory[record.group.index()].external;
        *external = external.saturating_sub(self.heaps.size(id.slot()));
        self.arrive(id, FenceValue::ZERO, Admission::Created, now);
    }
}
