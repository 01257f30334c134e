//! Block orders.

use crate::Alignment;

/// The order of a block: the block has 2 to this power bytes. 0 to 63.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Order(u32);

impl Order {
    /// The number of orders.
    pub(super) const COUNT: u32 = u64::BITS;

    /// Creates the order with this number, 0 to 63.
    #[inline]
    pub(super) const fn new(number: u32) -> Self {
        assert!(number < Self::COUNT, "the largest block size is 2^63");
        Self(number)
    }

    /// Returns the order of the smallest block that holds `size` bytes, 1 to 2^63.
    #[inline]
    pub(super) const fn holding(size: u64) -> Self {
        Self::new(u64::BITS - (size - 1).leading_zeros())
    }

    /// Returns the order of the largest block that fits in `size` bytes, or `None` for zero bytes.
    pub(super) fn within(size: u64) -> Option<Self> {
        size.checked_ilog2().map(Self)
    }

    /// Returns the smallest order whose blocks all start at a multiple of the alignment.
    #[inline]
    pub(super) const fn of_alignment(alignment: Alignment) -> Self {
        Self::new(alignment.log2())
    }

    #[inline]
    pub(super) const fn number(self) -> u32 {
        self.0
    }

    /// Returns the size of a block of this order, in bytes.
    #[inline]
    pub(super) const fn bytes(self) -> u64 {
        // The mask only tells the compiler that the shift is in range.
        1 << (self.0 & (Self::COUNT - 1))
    }

    /// Returns the order of half a block. Must not be called on order 0.
    #[inline]
    pub(super) const fn half(self) -> Self {
        Self(self.0 - 1)
    }

    /// Returns the order of two joined buddies. The largest order has no buddies.
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
