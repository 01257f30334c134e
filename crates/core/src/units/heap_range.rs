//! Ranges of a heap.

use std::fmt;

use super::{ByteSize, HeapOffset};

/// The half-open range of a heap's bytes from `start` to `start + size`.
///
/// # Invariants
///
/// The end fits in 64 bits. A range may be empty; an empty range contains no offset and overlaps nothing.
///
/// ```
/// use heapwright_core::{ByteSize, HeapOffset, HeapRange};
///
/// let range = HeapRange::new(HeapOffset::new(0x1000), ByteSize::from_kib(4)).unwrap();
/// assert_eq!(range.end(), HeapOffset::new(0x2000));
/// assert!(range.contains(HeapOffset::new(0x1fff)) && !range.contains(range.end()));
/// assert_eq!(range.to_string(), "0x1000..0x2000 (4.00 KiB)");
/// // It would end beyond the last offset there is.
/// assert_eq!(HeapRange::new(HeapOffset::new(u64::MAX), ByteSize::new(2)), None);
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HeapRange {
    start: HeapOffset,
    size: ByteSize,
}

impl HeapRange {
    /// Creates a range of `size` bytes at `start`. Returns `None` if the end does not fit in 64 bits.
    #[must_use]
    pub const fn new(start: HeapOffset, size: ByteSize) -> Option<Self> {
        match start.checked_add(size) {
            Some(_) => Some(Self { start, size }),
            None => None,
        }
    }

    /// Creates the range of a whole heap of the given size, starting at offset zero.
    #[must_use]
    pub const fn whole(size: ByteSize) -> Self {
        Self { start: HeapOffset::ZERO, size }
    }

    /// Returns the offset of the first byte.
    #[must_use]
    pub const fn start(self) -> HeapOffset {
        self.start
    }

    /// Returns the number of bytes.
    #[must_use]
    pub const fn size(self) -> ByteSize {
        self.size
    }

    /// Returns the offset after the last byte.
    #[must_use]
    pub const fn end(self) -> HeapOffset {
        // The type's invariant excludes overflow.
        HeapOffset::new(self.start.get() + self.size.get())
    }

    /// Returns whether the range is empty.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.size.is_zero()
    }

    /// Returns whether the range contains the byte at `offset`.
    #[must_use]
    pub const fn contains(self, offset: HeapOffset) -> bool {
        self.start.get() <= offset.get() && offset.get() < self.end().get()
    }

    /// Returns whether the range contains all bytes of `other`. Every range contains an empty `other`.
    #[must_use]
    pub const fn contains_range(self, other: Self) -> bool {
        other.is_empty() || (self.start.get() <= other.start.get() && other.end().get() <= self.end().get())
    }

    /// Returns whether the two ranges have a byte in common.
    #[must_use]
    pub const fn overlaps(self, other: Self) -> bool {
        self.intersection(other).is_some()
    }

    /// Returns the bytes that both ranges contain, or `None` if there are none.
    ///
    /// ```
    /// # use heapwright_core::{ByteSize, HeapOffset, HeapRange};
    /// # let range = |start, size| HeapRange::new(HeapOffset::new(start), ByteSize::new(size)).unwrap();
    /// assert_eq!(range(0, 10).intersection(range(8, 10)), Some(range(8, 2)));
    /// // Neighbours touch, and share nothing.
    /// assert_eq!(range(0, 10).intersection(range(10, 10)), None);
    /// ```
    #[must_use]
    pub const fn intersection(self, other: Self) -> Option<Self> {
        let start = if self.start.get() > other.start.get() { self.start } else { other.start };
        let end = if self.end().get() < other.end().get() { self.end() } else { other.end() };
        match end.checked_distance_from(start) {
            Some(size) if !size.is_zero() => Some(Self { start, size }),
            _ => None,
        }
    }
}

impl fmt::Display for HeapRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}..{} ({})", self.start, self.end(), self.size))
    }
}

impl fmt::Debug for HeapRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HeapRange({:#x}..{:#x})", self.start.get(), self.end().get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(start: u64, size: u64) -> HeapRange {
        HeapRange::new(HeapOffset::new(start), ByteSize::new(size)).unwrap()
    }

    #[test]
    fn half_open_at_both_ends() {
        let ten = range(10, 10);
        assert!(!ten.contains(HeapOffset::new(9)));
        assert!(ten.contains(HeapOffset::new(10)));
        assert!(ten.contains(HeapOffset::new(19)));
        assert!(!ten.contains(HeapOffset::new(20)));
        assert!(!ten.overlaps(range(0, 10)));
        assert!(!ten.overlaps(range(20, 10)));
        assert!(ten.overlaps(range(19, 1)));
        assert!(ten.overlaps(range(0, 100)));
        assert!(ten.contains_range(ten));
        assert!(!ten.contains_range(range(10, 11)));
    }

    #[test]
    fn an_empty_range_has_nothing_in_it() {
        let empty = range(15, 0);
        assert!(empty.is_empty());
        assert!(!empty.contains(HeapOffset::new(15)));
        assert!(!empty.overlaps(range(10, 10)));
        assert!(range(10, 10).contains_range(empty));
        assert_eq!(empty.intersection(empty), None);
    }

    #[test]
    fn the_last_offset_is_the_limit() {
        assert!(HeapRange::new(HeapOffset::new(u64::MAX), ByteSize::ZERO).is_some());
        assert!(HeapRange::new(HeapOffset::new(1), ByteSize::MAX).is_none());
        assert_eq!(HeapRange::whole(ByteSize::MAX).end(), HeapOffset::new(u64::MAX));
    }
}
