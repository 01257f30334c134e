//! Full check of the invariants that the module page lists.

use super::super::super::suballocation::{Stamp, SuballocationId};
use super::super::batches::Batches;
use super::{AuditError, Linear, UPPER};

impl<T> Linear<T> {
    /// Checks every invariant of the [module page](super::super). O(n); for tests.
    ///
    /// # Errors
    ///
    /// Returns an [`AuditError`] with the first violated invariant. It is a defect in this crate; no sequence
    /// of calls should cause one.
    pub fn audit(&self) -> Result<(), AuditError> {
        self.find_violation().map_or(Ok(()), |finding| Err(AuditError::new(finding)))
    }

    fn find_violation(&self) -> Option<String> {
        for end in &self.ends {
            if let Some((older, newer)) =
                end.iter().zip(end.iter().skip(1)).find(|(older, newer)| older.stamp >= newer.stamp)
            {
                return Some(format!("the stamp of {newer:?} is not greater than that of {older:?}"));
            }
            if let Some(newest) = end.back().filter(|newest| newest.stamp >= self.next_stamp) {
                return Some(format!("{newest:?} has a stamp that was not issued yet"));
            }
            if [end.front(), end.back()].into_iter().flatten().any(|range| !range.is_live()) {
                return Some("a range that was freed is the oldest or the newest".to_owned());
            }
        }
        let (mut end, mut used, mut count) = (0, 0, 0);
        for (_, range) in self.in_address_order() {
            if range.start < end {
                return Some(format!("{range:?} starts before {end:#x}"));
            }
            (end, used, count) = (range.end(), used + range.size, count + 1);
        }
        if end > self.capacity {
            return Some(format!("the ranges end at {end:#x}, which exceeds {:#x}", self.capacity));
        }
        if (used, count) != (self.used, self.allocation_count) {
            let noted = (self.used, self.allocation_count);
            return Some(format!("found {used} bytes in {count} live ranges, recorded {noted:?}"));
        }
        if self.gaps().is_wrapped && !self.ends[UPPER].is_empty() {
            return Some("a wrapped ring has ranges at the upper end".to_owned());
        }
        self.batches.audit(self.oldest_id().map(SuballocationId::stamp), self.next_stamp).err()
    }
}

impl Batches {
    /// Returns the first violated invariant, given the stamps of the oldest live suballocation and of the
    /// next one.
    #[inline]
    fn audit(&self, oldest: Option<Stamp>, next: Stamp) -> Result<(), String> {
        let (mut last_fence, mut last_end) = (None, oldest);
        for batch in &self.pending {
            if last_end.is_none_or(|last| last >= batch.end) {
                return Err(format!("{batch:?} after {last_end:?} is empty"));
            }
            if last_fence >= Some(batch.fence) {
                return Err(format!("the fence value of {batch:?} is not greater than {last_fence:?}"));
            }
            if batch.end > next {
                return Err(format!("{batch:?} ends beyond the next stamp, {next:?}"));
            }
            (last_fence, last_end) = (Some(batch.fence), Some(batch.end));
        }
        if last_fence > self.latest {
            return Err(format!(
                "the newest batch has {last_fence:?}, which is greater than the recorded {:?}",
                self.latest
            ));
        }
        Ok(())
    }
}
