//! One event of a trace.

use std::fmt;

use heapwright_core::ByteSize;

/// One row of a trace: an allocation or a free.
///
/// 24 bytes, so a trace with a million events takes 24 MB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Microseconds since the recording began; never less than that of the event before.
    pub time_us: u64,
    /// What the application asked for, at least 1 byte; a free repeats the size of its allocation.
    pub size: ByteSize,
    /// Which allocation is made or freed.
    pub allocation: AllocationIndex,
    /// Whether it is made or freed.
    pub kind: EventKind,
}

/// What an [`Event`] does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// The allocation is made.
    Alloc,
    /// The allocation is freed.
    Free,
}

/// Names an allocation inside one trace: the n-th that it makes, counted from 0.
///
/// The ids in the file may be any numbers; indices are dense, so a replay keeps what it knows of an allocation in a
/// plain vector. [`Trace::id`](crate::Trace::id) leads back to the id in the file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AllocationIndex(u32);

impl AllocationIndex {
    /// The allocation with this number, counted from 0.
    #[must_use]
    pub const fn new(index: u32) -> Self {
        Self(index)
    }

    /// The number as it is.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }

    /// The number as an index into a vector with one entry for each allocation of the trace.
    #[must_use]
    pub const fn as_usize(self) -> usize {
        // Lossless: this crate does not build where `usize` is narrower (checked below).
        self.0 as usize
    }
}

const _: () = assert!(size_of::<usize>() >= size_of::<u32>(), "an allocation index must fit in usize");
const _: () = assert!(size_of::<Event>() == 24, "an event takes 24 bytes, as its documentation says");

impl fmt::Debug for AllocationIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}
