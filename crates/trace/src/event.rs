//! Events of a trace.

use std::fmt;

use heapwright_core::ByteSize;

/// An event of a trace: an allocation or a free.
///
/// It takes 24 bytes, so a million events take 24 MB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Time since the start of the recording, in microseconds. Never less than that of the previous event.
    pub time_us: u64,
    /// Requested size, at least 1 byte. A free has the size of its allocation.
    pub size: ByteSize,
    /// The allocation that is created or freed.
    pub allocation: AllocationIndex,
    /// Kind of the event.
    pub kind: EventKind,
}

/// The kind of an [`Event`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// The allocation is created.
    Alloc,
    /// The allocation is freed.
    Free,
}

/// Index of an allocation in a trace, in order of allocation, counted from 0.
///
/// Unlike the ids in the file, which may be any numbers, indices are dense and can index a vector.
/// [`Trace::id`](crate::Trace::id) returns the id in the file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AllocationIndex(u32);

impl AllocationIndex {
    /// Creates an index, counted from 0.
    #[must_use]
    pub const fn new(index: u32) -> Self {
        Self(index)
    }

    /// Returns the index as a number.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }

    /// Returns the index as a `usize`.
    #[must_use]
    pub const fn as_usize(self) -> usize {
        // Lossless, as the assertion below checks.
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
