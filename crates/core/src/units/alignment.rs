//! Alignments.

use std::fmt;
use std::num::NonZeroU64;

/// A power of two, in bytes, of which an offset, an address or a size must be a multiple.
///
/// Every value is a power of two, so code that takes an `Alignment` does not have to check it.
///
/// ```
/// use heapwright_core::{Alignment, HeapOffset};
///
/// const PLACEMENT: Alignment = Alignment::new(64 << 10).unwrap();
/// assert_eq!(HeapOffset::new(1).align_up(PLACEMENT), Some(HeapOffset::new(65_536)));
/// assert_eq!(Alignment::new(48), None);
/// assert_eq!(Alignment::new(0), None);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Alignment(NonZeroU64);

impl Alignment {
    /// An alignment of one byte, which every offset satisfies.
    pub const ONE: Self = Self(NonZeroU64::MIN);

    /// The largest power of two that fits in 64 bits, 2^63 bytes.
    pub const MAX: Self = match Self::from_log2(63) {
        Some(alignment) => alignment,
        None => panic!("2^63 fits in 64 bits"),
    };

    /// Creates an alignment of `bytes`. Returns `None` unless `bytes` is a power of two; zero is not.
    #[must_use]
    pub const fn new(bytes: u64) -> Option<Self> {
        match NonZeroU64::new(bytes) {
            Some(bytes) if bytes.is_power_of_two() => Some(Self(bytes)),
            _ => None,
        }
    }

    /// Creates an alignment of 2^`log2` bytes. Returns `None` if `log2` is greater than 63.
    #[must_use]
    pub const fn from_log2(log2: u32) -> Option<Self> {
        match 1_u64.checked_shl(log2) {
            Some(bytes) => Self::new(bytes),
            None => None,
        }
    }

    /// Returns the alignment in bytes, a power of two.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0.get()
    }

    /// Returns the base-2 logarithm of the alignment, 0 to 63.
    #[must_use]
    pub const fn log2(self) -> u32 {
        self.0.trailing_zeros()
    }

    /// Returns the bits that are zero in every multiple of the alignment: the alignment minus one.
    pub(crate) const fn mask(self) -> u64 {
        self.0.get() - 1
    }
}

impl Default for Alignment {
    /// Returns [`Alignment::ONE`].
    fn default() -> Self {
        Self::ONE
    }
}

impl fmt::Debug for Alignment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Alignment({})", self.get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_powers_of_two() {
        for log2 in 0..64 {
            let alignment = Alignment::from_log2(log2).unwrap();
            assert_eq!(alignment.log2(), log2);
            assert_eq!(alignment.get(), 1 << log2);
            assert_eq!(Alignment::new(alignment.get()), Some(alignment));
        }
        for bytes in [0, 3, 6, 100, (1 << 63) + 1, u64::MAX] {
            assert_eq!(Alignment::new(bytes), None, "{bytes}");
        }
        assert_eq!(Alignment::from_log2(64), None);
        assert_eq!(Alignment::MAX.get(), 1 << 63);
    }
}
