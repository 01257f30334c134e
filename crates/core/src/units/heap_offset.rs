//! Offsets in a heap.

use std::fmt;

use super::{Alignment, ByteSize};

/// An offset in a heap, in bytes from the start of the heap.
///
/// It is not an address: every heap has the same offsets. Offsets are formatted in hexadecimal.
///
/// ```
/// use heapwright_core::{Alignment, ByteSize, HeapOffset};
///
/// let offset = HeapOffset::ZERO.checked_add(ByteSize::new(100)).unwrap();
/// assert_eq!(offset.to_string(), "0x64");
/// assert_eq!(offset.align_up(Alignment::new(256).unwrap()), Some(HeapOffset::new(256)));
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct HeapOffset(u64);

impl HeapOffset {
    /// The start of a heap.
    pub const ZERO: Self = Self(0);

    /// Creates an offset of `bytes` from the start of the heap.
    #[must_use]
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// Returns the distance from the start of the heap, in bytes.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Returns the offset `size` bytes higher, or `None` if it does not fit in 64 bits.
    #[must_use]
    pub const fn checked_add(self, size: ByteSize) -> Option<Self> {
        match self.0.checked_add(size.get()) {
            Some(bytes) => Some(Self(bytes)),
            None => None,
        }
    }

    /// Returns the distance from `earlier` to this offset, or `None` if `earlier` is higher.
    #[must_use]
    pub const fn checked_distance_from(self, earlier: Self) -> Option<ByteSize> {
        match self.0.checked_sub(earlier.0) {
            Some(bytes) => Some(ByteSize::new(bytes)),
            None => None,
        }
    }

    /// Returns the smallest multiple of `alignment` that is not less than this offset, or `None` if it does
    /// not fit in 64 bits.
    #[must_use]
    pub const fn align_up(self, alignment: Alignment) -> Option<Self> {
        match self.0.checked_add(alignment.mask()) {
            Some(sum) => Some(Self(sum & !alignment.mask())),
            None => None,
        }
    }

    /// Returns whether the offset is a multiple of `alignment`.
    #[must_use]
    pub const fn is_aligned(self, alignment: Alignment) -> bool {
        self.0 & alignment.mask() == 0
    }
}

impl fmt::Display for HeapOffset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{:#x}", self.0))
    }
}

impl fmt::Debug for HeapOffset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HeapOffset({:#x})", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aligning_at_the_upper_end_overflows_into_none() {
        let last = HeapOffset::new(u64::MAX);
        assert_eq!(last.align_up(Alignment::ONE), Some(last));
        assert_eq!(last.align_up(Alignment::from_log2(1).unwrap()), None);
        assert_eq!(HeapOffset::new(1).align_up(Alignment::MAX), Some(HeapOffset::new(1 << 63)));
        assert!(!last.is_aligned(Alignment::from_log2(1).unwrap()));
        assert!(HeapOffset::ZERO.is_aligned(Alignment::MAX));
    }

    #[test]
    fn distances_are_not_negative() {
        let (low, high) = (HeapOffset::new(16), HeapOffset::new(48));
        assert_eq!(high.checked_distance_from(low), Some(ByteSize::new(32)));
        assert_eq!(low.checked_distance_from(high), None);
        assert_eq!(HeapOffset::new(u64::MAX).checked_add(ByteSize::new(1)), None);
    }

    #[test]
    fn prints_hexadecimal() {
        assert_eq!(
            format!("{:>8}|{:?}", HeapOffset::new(255), HeapOffset::new(255)),
            "    0xff|HeapOffset(0xff)"
        );
    }
}
