//! What a suballocator hands out, and what it is asked about.

use std::fmt;
use std::num::{NonZeroU32, NonZeroU64};

use crate::{ByteSize, HeapOffset, HeapRange};

/// A range handed out, and the id to give it back with.
///
/// It is a plain value: dropping it frees nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Suballocation {
    /// What to free it by.
    pub id: SuballocationId,
    /// The bytes it may use: exactly the size asked for, at the alignment asked for.
    pub range: HeapRange,
}

impl Suballocation {
    /// The suballocation whose notes are in `slot`. It has to end at 2^63 or before, as all that is managed does.
    #[inline]
    pub(super) fn new(slot: NonZeroU32, stamp: Stamp, start: u64, size: u64) -> Self {
        Self { id: SuballocationId::new(slot, stamp), range: heap_range(start, size) }
    }
}

/// A range of what a suballocator manages: it ends at 2^63 or before.
#[inline]
pub(super) fn heap_range(start: u64, size: u64) -> HeapRange {
    HeapRange::new(HeapOffset::new(start), ByteSize::new(size)).expect("ranges end at 2^63 or before")
}

/// Names one suballocation for as long as the suballocator that issued it exists.
///
/// It carries a stamp that no other suballocation of that suballocator ever gets, so an id whose suballocation was freed
/// is recognised as stale, even when its range and its place in the tables were given to another one. Ids of two
/// suballocators cannot be told apart.
///
/// Its slot is the place in the tables, counted densely from one, so that notes on suballocations can be kept in a table
/// beside the suballocator's own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SuballocationId {
    stamp: Stamp,
    slot: NonZeroU32,
}

impl SuballocationId {
    pub(crate) const fn new(slot: NonZeroU32, stamp: Stamp) -> Self {
        Self { stamp, slot }
    }

    /// Where the suballocator keeps its notes on it.
    pub(crate) const fn slot(self) -> NonZeroU32 {
        self.slot
    }

    /// The generation check.
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
/// With 64 bits it does not come round again: at a thousand million a second it lasts 584 years.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Stamp(NonZeroU64);

impl Stamp {
    /// What a fresh suballocator issues first.
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

    /// The stamp issued after this one.
    pub(crate) const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

/// What a range of a heap is: each byte lies in exactly one of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RangeUse {
    /// Handed out.
    Used(Suballocation),
    /// Not handed out.
    Free(HeapRange),
    /// Neither: what a size class or a power of two rounded up by, or alignment skipped, until its neighbour is freed.
    Padding(HeapRange),
}

impl RangeUse {
    /// The bytes in question.
    #[must_use]
    pub const fn range(&self) -> HeapRange {
        match self {
            Self::Used(suballocation) => suballocation.range,
            Self::Free(range) | Self::Padding(range) => *range,
        }
    }

    /// Whether the bytes are free.
    #[must_use]
    pub const fn is_free(&self) -> bool {
        matches!(self, Self::Free(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_optional_id_is_no_larger_than_an_id() {
        assert_eq!(size_of::<SuballocationId>(), 16);
        assert_eq!(size_of::<Option<SuballocationId>>(), 16);
    }
}
