//! The sizes of blocks.

use crate::Alignment;

/// The size of a block, as an exponent: the block has 2 to this power bytes. 0 to 63.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Order(u32);

impl Order {
    /// How many orders there are.
    pub(super) const COUNT: u32 = u64::BITS;

    /// The order of this number, 0 to 63.
    #[inline]
    pub(super) const fn new(number: u32) -> Self {
        assert!(number < Self::COUNT, "2^63 is the largest block");
        Self(number)
    }

    /// That of the smallest block that holds `size` bytes, 1 to 2^63.
    #[inline]
    pub(super) const fn holding(size: u64) -> Self {
        Self::new(u64::BITS - (size - 1).leading_zeros())
    }

    /// That of the largest block that `size` bytes hold; `None` when there are none.
    pub(super) fn within(size: u64) -> Option<Self> {
        size.checked_ilog2().map(Self)
    }

    /// That of the blocks which all start at a multiple of the alignment.
    #[inline]
    pub(super) const fn of_alignment(alignment: Alignment) -> Self {
        Self::new(alignment.log2())
    }

    #[inline]
    pub(super) const fn number(self) -> u32 {
        self.0
    }

    /// How many bytes such a block has.
    #[inline]
    pub(super) const fn bytes(self) -> u64 {
        // The mask tells the compiler what is known anyway.
        1 << (self.0 & (Self::COUNT - 1))
    }

    /// That of half a block; the half of the smallest is never asked for.
    #[inline]
    pub(super) const fn half(self) -> Self {
        Self(self.0 - 1)
    }

    /// That of two buddies together; the largest has no buddy.
    #[inline]
    pub(super) const fn double(self) -> Self {
        Self(self.0 + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_block_that_holds_a_size() {
        for number in 0..63 {
            let bytes = 1_u64 << number;
            assert_eq!(Order::holding(bytes), Order(number));
            assert_eq!(Order::holding(bytes + 1), Order(number + 1));
            assert_eq!((Order(number).bytes(), Order::within(bytes)), (bytes, Some(Order(number))));
            assert_eq!(Order::within(2 * bytes - 1), Some(Order(number)));
        }
        assert_eq!(Order::holding(1 << 63), Order(63));
        assert_eq!(Order::within(u64::MAX), Some(Order(63)));
        assert_eq!(Order::within(0), None);
        assert_eq!(Order::of_alignment(Alignment::MAX), Order(63));
    }
}
