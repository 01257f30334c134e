//! Full check of the planner.

use super::ResidencyPlanner;
use crate::ByteSize;
use crate::residency::GroupTotals;

impl ResidencyPlanner {
    /// Checks that the planner's data are consistent. O(heaps); for tests.
    ///
    /// # Errors
    ///
    /// Returns the first disagreement, as text for people.
    pub fn audit(&self) -> Result<(), String> {
        let mut totals = [GroupTotals::default(); 2];
        let mut bytes = ByteSize::ZERO;
        for (id, record) in self.heaps.iter() {
            let size = self.heaps.planned(id).size;
            totals[record.group.index()].count(record, size, true);
            bytes = bytes.saturating_add(size);
        }
        if totals != self.totals {
            return Err(format!("counted {totals:?}, recorded {:?}", self.totals));
        }
        if bytes != self.bytes {
            return Err(format!("counted {bytes} in all heaps, recorded {}", self.bytes));
        }
        Ok(())
    }
}
