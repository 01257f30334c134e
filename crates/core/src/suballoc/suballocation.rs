//! Suballocations, their ids, and the uses of ranges.

use std::fmt;
use std::num::{NonZeroU32, NonZeroU64};

use crate::{ByteSize, HeapOffset, HeapRange};

/// An allocated range, and the id to free it with.
///
/// It is a plain value: dropping it frees nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Suballocation {
    /// The id that frees it.
    pub id: SuballocationId,
    /// The usable bytes: exactly the requested size, at the requested alignment.
    pub range: HeapRange,
}

impl Suballocation {
    /// Creates the suballocation of the note in `slot`. Its end must be at most 2^63, as every managed
    /// range's is.
    #[inline]
    pub(super) fn new(slot: NonZeroU32, stamp: Stamp, start: u64, size: u64) -> Self {
        Self { id: SuballocationId::new(slot, stamp), range: heap_range(start, size) }
    }
}

/// The type of the values of a suballocator without values: it has none, and takes no memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoValue {}

/// Creates a range of a suballocator's offsets, whose end is at most 2^63.
#[inline]
pub(super) fn heap_range(start: u64, size: u64) -> HeapRange {
    HeapRange::new(HeapOffset::new(start), ByteSize::new(size)).expect("ranges end at or below 2^63")
}

/// Identifies one suballocation for the lifetime of the suballocator that issued it.
///
/// It contains a stamp that no other suballocation of that suballocator ever gets, so an id whose
/// suballocation was freed is recognized as stale, even if its range and slot are in use again. Ids of two
/// suballocators cannot be distinguished.
///
/// The slot is the index in the tables, counted densely from one, so that data on suballocations can be kept
/// in a table next to the suballocator's own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SuballocationId {
    stamp: Stamp,
    slot: NonZeroU32,
}

impl SuballocationId {
    pub(crate) const fn new(slot: NonZeroU32, stamp: Stamp) -> Self {
        Self { stamp, slot }
    }

    /// Returns the slot of the suballocator's note.
    pub(crate) const fn slot(self) -> NonZeroU32 {
        self.slot
    }

    /// Returns the stamp, which detects stale ids.
    pub(crate) const fn stamp(self) -> Stamp {
        self.stamp
    }
}

impl fmt::Debug for SuballocationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SuballocationId({}#{})", self.slot, self.stamp.get())
    }
}

/// The serial number of a suballocation within its suballocator.
///
/// 64 bits do not wrap: at a thousand million suballocations per second they last 584 years.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Stamp(NonZeroU64);

impl Stamp {
    /// The first stamp of a new suballocator.
    pub(crate) const FIRST: Self = Self(NonZeroU64::MIN);

    pub(super) const fn new(serial: u64) -> Option<Self> {
        match NonZeroU64::new(serial) {
            Some(serial) => Some(Self(serial)),
            None => None,
        }
    }

    pub(super) const fn get(self) -> u64 {
        self.0.get()
    }

    /// Returns the next stamp.
    pub(crate) const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

/// The use of a range of a heap. Each byte lies in exactly one such range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RangeUse {
    /// Allocated.
    Used(Suballocation),
    /// Free to be allocated.
    Free(HeapRange),
    /// Padding: bytes by which a size was rounded up, or which alignment skipped, until the neighbour is
    /// freed.
    Padding(HeapRange),
}

impl RangeUse {
    /// Returns the range.
    #[must_use]
    pub const fn range(&self) -> HeapRange {
        match self {
            Self::Used(suballocation) => suballocation.range,
            Self::Free(range) | Self::Padding(range) => *range,
        }
    }

    /// Returns whether the range is free.
    #[must_use]
    pub const fn is_free(&self) -> bool {
        matches!(self, Self::Free(_))
    }
}
