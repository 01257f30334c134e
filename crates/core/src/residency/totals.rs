//! What is where, in sums.

use super::Status;
use super::heap_table::Record;
use crate::ByteSize;

/// Sums over the heaps of a segment group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GroupTotals {
    /// Heaps that are resident or on their way, locked ones among them.
    pub resident_count: u64,
    /// Their bytes.
    pub resident: ByteSize,
    /// Those of them of which a plan is being carried out.
    pub arriving_count: u64,
    /// Resident heaps with a lock.
    pub locked_count: u64,
    /// Their bytes.
    pub locked: ByteSize,
    /// Heaps that are evicted.
    pub evicted_count: u64,
    /// Their bytes.
    pub evicted: ByteSize,
    /// Heaps whose status is not known: nobody has asked for them yet.
    pub unknown_count: u64,
}

/// How much memory of a segment group there is for heaps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupMemory {
    /// What usage is to stay under. [`ByteSize::MAX`]: no bound.
    pub budget: ByteSize,
    /// What the process uses beside the planner's heaps.
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
