//! Uses of heaps by submissions.

use super::ResidencyPlanner;
use crate::FenceValue;
use crate::residency::in_flight::{QueueSlot, Submission};
use crate::residency::policy::{Admission, Moment};
use crate::residency::{ManagedHeapId, Status, UnknownHeap};

/// How many heaps are looked at before they are changed.
const TOUCHED_TOGETHER: usize = 64;

impl ResidencyPlanner {
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

    /// Notes that a submission uses heaps, of which [`are_resident`](Self::are_resident) has said that all are resident. O(heaps).
    ///
    /// Returns the value that the paging fence must have reached before the GPU begins; zero if there is nothing to wait for.
    ///
    /// # Errors
    ///
    /// A heap that is gone; nothing may be executed then, and the submission is to be [cancelled](Self::cancel).
    #[inline]
    pub fn touch(
        &mut self,
        submission: &Submission,
        heaps: &[ManagedHeapId],
    ) -> Result<FenceValue, UnknownHeap> {
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
                    // What is missing would be a mistake of the caller, and stays as it is.
                    if record.status == Some(Status::Unknown) {
                        self.adopt(id, submission.now);
                        self.use_resident(id, submission);
                    }
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
        Ok(FenceValue::new(if arrives > self.paging.1.get() { arrives } else { 0 }))
    }

    /// As [`touch`](Self::touch), of one heap that is resident.
    pub(super) fn use_resident(&mut self, id: ManagedHeapId, submission: &Submission) {
        let Some(record) = self.heaps.get_mut(id) else { return };
        if record.last_use == submission.number {
            return;
        }
        self.in_flight.stamp(record, submission);
        if record.locks == 0 {
            self.policies[record.group.index()][record.level.index()].touch(id.slot(), submission.now);
        }
    }

    /// Notes that a heap of unknown status is used: D3D12 creates everything resident that cannot be told not to be.
    pub(super) fn adopt(&mut self, id: ManagedHeapId, now: Moment) {
        let Some(record) = self.heaps.get(id) else { return };
        // It was counted among what others use.
        let external = &mut self.memory[record.group.index()].external;
        *external = external.saturating_sub(self.heaps.size(id.slot()));
        self.arrive(id, FenceValue::ZERO, Admission::Created, now);
    }
}
