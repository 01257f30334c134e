//! Uses of heaps by submissions.

use super::ResidencyPlanner;
use crate::FenceValue;
use crate::residency::heap_table::Record;
use crate::residency::in_flight::{InFlight, QueueSlot, Submission};
use crate::residency::policy::{Admission, Moment};
use crate::residency::untold::UntoldUses;
use crate::residency::{ManagedHeapId, Status, UnknownHeap};

impl ResidencyPlanner {
    /// Begins a submission, at whose end the queue's fence reaches `value`. O(1).
    #[inline]
    pub fn begin(&mut self, queue: QueueSlot, value: FenceValue, time: std::time::Duration) -> Submission {
        self.clock += 1;
        self.time = time;
        let now = self.moment(time);
        Submission { queue, number: self.in_flight.begin(queue, value), value, now }
    }

    /// Cancels a submission that was not made; it must be the last one of its queue.
    pub fn cancel(&mut self, submission: &Submission) {
        // With the clock as it was when it was used.
        self.tell_policies();
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
        let mut arrives = 0;
        for (position, &id) in heaps.iter().enumerate() {
            let Some(record) = self.heaps.get_mut(id) else { return Err(UnknownHeap { position }) };
            if record.status != Some(Status::Resident) {
                // Missing heaps would be a mistake of the caller, and are left unchanged.
                if record.status == Some(Status::Unknown) {
                    self.adopt(id, submission.now);
                    self.use_resident(id, submission);
                }
                continue;
            }
            arrives = record.arrives.max(arrives);
            use_record(record, id, submission, &self.in_flight, &mut self.untold);
        }
        self.tell_if_due();
        Ok(FenceValue::new(if arrives > self.paging.1.get() { arrives } else { 0 }))
    }

    /// Records the use of one resident heap, like [`touch`](Self::touch).
    pub(super) fn use_resident(&mut self, id: ManagedHeapId, submission: &Submission) {
        let Some(record) = self.heaps.get_mut(id) else { return };
        use_record(record, id, submission, &self.in_flight, &mut self.untold);
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

/// Records the use of a resident heap, unless the submission has used it before.
#[inline]
fn use_record(
    record: &mut Record,
    id: ManagedHeapId,
    submission: &Submission,
    in_flight: &InFlight,
    untold: &mut UntoldUses,
) {
    if record.last_use == submission.number {
        return;
    }
    if !record.is_locked && record.last_use < submission.number {
        untold.add(id.slot(), &mut record.untold, record.last_use, submission.number);
    }
    in_flight.stamp(record, submission);
}
