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
    pub(super) fn enter(&mut self, record: &Record, size: ByteSize) {
        self.change(record, size, ByteSize::saturating_add, |count| count + 1);
    }

    pub(super) fn leave(&mut self, record: &Record, size: ByteSize) {
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
                if record.is_locked {
                    self.locked_count = count(self.locked_count);
                    self.locked = bytes(self.locked, size);
                }
            }
            Some(Status::Evicted) => {
                self.evicted_count = count(self.evicted_count);
                self.evicted = bytes(self.evicted, size);
            }
            Some(Status::Unknown) | None => {}
        }
    }
}
