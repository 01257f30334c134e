//! What is where, in sums.

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
