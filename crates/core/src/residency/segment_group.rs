//! Totals of DXGI's memory segment groups.

use super::Status;
use super::heap_table::Record;
use crate::ByteSize;

/// Totals over the heaps of a segment group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GroupTotals {
    /// The number of heaps that are resident or arriving, including locked ones.
    pub resident_count: u64,
    /// The total size of those heaps.
    pub resident: ByteSize,
    /// The number of those heaps whose plan is still being carried out.
    pub arriving_count: u64,
    /// The number of those heaps with a lock.
    pub locked_count: u64,
    /// The total size of the locked heaps.
    pub locked: ByteSize,
    /// The number of evicted heaps.
    pub evicted_count: u64,
    /// The total size of the evicted heaps.
    pub evicted: ByteSize,
}

/// The memory of a segment group that is available to heaps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupMemory {
    /// The budget below which usage is kept. [`ByteSize::MAX`] means unlimited.
    pub budget: ByteSize,
    /// The process's usage outside of the planner's heaps.
    pub external: ByteSize,
}

impl Default for GroupMemory {
    fn default() -> Self {
        Self { budget: ByteSize::MAX, external: ByteSize::ZERO }
    }
}

impl GroupTotals {
    /// Adds a heap, or removes it.
    pub(super) fn count(&mut self, record: &Record, size: ByteSize, enters: bool) {
        let count = |sum: &mut u64| if enters { *sum += 1 } else { *sum -= 1 };
        let change = |sum: &mut ByteSize| {
            *sum = if enters { sum.saturating_add(size) } else { sum.saturating_sub(size) };
        };
        match record.status {
            Some(status @ (Status::Resident | Status::Arriving)) => {
                if status == Status::Arriving {
                    count(&mut self.arriving_count);
                }
                count(&mut self.resident_count);
                change(&mut self.resident);
                if record.is_locked {
                    count(&mut self.locked_count);
                    change(&mut self.locked);
                }
            }
            Some(Status::Evicted) => {
                count(&mut self.evicted_count);
                change(&mut self.evicted);
            }
            Some(Status::Unknown) | None => {}
        }
    }
}
