//! Reuse of empty heaps for smaller requests.

use crate::ByteSize;

/// Limits how much of an empty heap may be wasted on a smaller request before the request gets a new heap
/// instead.
///
/// A large heap with a small allocation in it cannot be released when its memory is needed in another shape;
/// before this rule, most wasted bytes were lost in this way. An empty heap therefore serves a request
///
/// - if it is about as large as the heap that would be created for the request
///   ([`close_log2`](Self::close_log2)), or
/// - while the unused bytes of heaps in use are a small fraction of the most that was ever held, or of the
///   distance to it ([`waste_log2`](Self::waste_log2), [`headroom_log2`](Self::headroom_log2)).
///
/// Far below the high-water mark of [`HeapRetention`](super::HeapRetention), nearly every heap qualifies.
/// Close to it, where waste would raise the peak, heaps are exchanged: empty heaps are released, a fitting
/// one is created, and the mark stays.
///
/// The number of such exchanges is limited by a credit. Each allocation earns one credit, up to 2,048, and a
/// new heap below the mark costs [`creation_cost`](Self::creation_cost). A set with negative credit doubles
/// both fractions. The credit does not go below -1,024; a set that two more heaps would take below that
/// reuses any empty heap, so that no more such heaps are created than are paid for. New heaps above the mark
/// cost nothing, because there is no other way to grow.
///
/// # Choice of defaults
///
/// Measured like those of [`HeapSizing`](super::HeapSizing), on 2026-11-21:
///
/// | change | traces | | all | |
/// |---|---|---|---|---|
/// | defaults | 1.028 | 3.3 % | 1.058 | 4.5 % |
/// | `close_log2` 1 / 3 / 63 | 1.032 / 1.028 / 1.028 | 3.3 / 3.3 / 3.4 % | 1.056 / 1.057 / 1.057 | 4.5 / 4.5 / 4.8 % |
/// | `waste_log2` 3 / 5 | 1.038 / 1.027 | 2.9 / 3.5 % | 1.067 / 1.055 | 4.3 / 4.7 % |
/// | `headroom_log2` 1 / 3 | 1.056 / 1.032 | 3.0 / 3.4 % | 1.064 / 1.057 | 4.3 / 5.0 % |
/// | `creation_cost` 0 / 16 / 64 | 1.028 / 1.028 / 1.039 | 3.3 / 3.3 / 3.1 % | 1.046 / 1.048 / 1.073 | 7.4 / 6.9 / 4.2 % |
/// | `waste_log2` 0: any heap will do | 1.083 | 2.9 % | 1.128 | 4.1 % |
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeapReuse {
    /// An empty heap is always used if it exceeds the size of the heap that would be created for the request
    /// by at most 1/2^`close_log2` of that size. Default 2: a quarter.
    pub close_log2: u32,
    /// Unused bytes may be up to 1/2^`waste_log2` of the high-water mark. Default 4: a 16th.
    pub waste_log2: u32,
    /// Alternatively, unused bytes may be up to 1/2^`headroom_log2` of the distance from the heaps in use to
    /// the high-water mark. Default 2: a quarter.
    pub headroom_log2: u32,
    /// The number of allocations that pay for a heap that is created although an empty one was available.
    /// Default 32. With 0 such heaps are free.
    pub creation_cost: u32,
}

impl Default for HeapReuse {
    fn default() -> Self {
        Self { close_log2: 2, waste_log2: 4, headroom_log2: 2, creation_cost: 32 }
    }
}

/// The state of a set that reuse depends on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Occupancy {
    /// The high-water mark.
    pub(super) mark: ByteSize,
    /// The total size of heaps in use.
    pub(super) occupied: ByteSize,
    /// The bytes used in those heaps.
    pub(super) used: ByteSize,
}

impl HeapReuse {
    /// Returns whether an empty heap of `heap_size` bytes is about as large as the heap that would be
    /// created.
    pub(super) fn is_close(self, heap_size: ByteSize, wanted: ByteSize) -> bool {
        heap_size <= wanted.saturating_add(part(wanted, self.close_log2))
    }

    /// Returns whether a request of `size` bytes may use a larger empty heap.
    pub(super) fn may_waste(
        self,
        heap_size: ByteSize,
        size: ByteSize,
        occupancy: Occupancy,
        credit: ReuseCredit,
    ) -> bool {
        let Occupancy { mark, occupied, used } = occupancy;
        let unused = occupied.saturating_sub(used).saturating_add(heap_size.saturating_sub(size));
        if credit.is_exhausted(self.creation_cost) {
            return true;
        }
        // A shift of one less doubles the fraction.
        let shift = |log2: u32| log2.saturating_sub(u32::from(credit.is_owed()));
        unused <= part(mark, shift(self.waste_log2))
            || unused <= part(mark.saturating_sub(occupied), shift(self.headroom_log2))
    }
}

/// `size / 2^log2`.
fn part(size: ByteSize, log2: u32) -> ByteSize {
    ByteSize::new(size.get().checked_shr(log2).unwrap_or(0))
}

/// The number of heaps that a set may create although it could do without them. A negative credit is owed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ReuseCredit(i32);

impl ReuseCredit {
    /// The maximum credit. It is limited because a long quiet phase may be followed by a burst.
    const MOST: i32 = 2048;
    /// The minimum credit. Beyond it, heaps that had to be created because no other was large enough are not
    /// charged.
    const LEAST: i32 = -1024;

    pub(super) const fn new() -> Self {
        Self(Self::MOST)
    }

    const fn is_owed(self) -> bool {
        self.0 < 0
    }

    /// Returns whether two more heaps of this cost, the one to be created and a similar one that replaces it
    /// later, would take the credit below the minimum.
    fn is_exhausted(self, cost: u32) -> bool {
        i64::from(self.0) - 2 * i64::from(cost) < i64::from(Self::LEAST)
    }

    /// Adds the credit for an allocation.
    #[inline(always)]
    pub(super) fn earn(&mut self) {
        self.0 = (self.0 + 1).min(Self::MOST);
    }

    /// Charges for a new heap of `size` bytes, of which `below_mark` had been held before.
    pub(super) fn pay(&mut self, cost: u32, below_mark: ByteSize, size: ByteSize) {
        let share = u128::from(cost) * u128::from(below_mark.get()) / u128::from(size.get().max(1));
        let share = i32::try_from(share).unwrap_or(i32::MAX);
        self.0 = self.0.saturating_sub(share).max(Self::LEAST);
    }

    /// Returns whether the credit is within its bounds.
    pub(super) const fn is_sound(self) -> bool {
        Self::LEAST <= self.0 && self.0 <= Self::MOST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mib(mib: u64) -> ByteSize {
        ByteSize::from_mib(mib)
    }

    fn occupancy(mark: u64, occupied: u64, used: u64) -> Occupancy {
        Occupancy { mark: mib(mark), occupied: mib(occupied), used: mib(used) }
    }

    #[test]
    fn close_is_a_quarter_more() {
        let reuse = HeapReuse::default();
        assert!(reuse.is_close(mib(10), mib(8)));
        assert!(!reuse.is_close(ByteSize::new(mib(10).get() + 1), mib(8)));
        assert!(reuse.is_close(ByteSize::new(u64::MAX), ByteSize::new(u64::MAX)));
    }

    #[test]
    fn far_from_the_mark_nearly_all_will_do_and_close_to_it_little() {
        let (reuse, credit) = (HeapReuse::default(), ReuseCredit::new());
        // A quarter of the distance to the mark.
        assert!(reuse.may_waste(mib(257), mib(1), occupancy(1024, 0, 0), credit));
        assert!(!reuse.may_waste(mib(258), mib(1), occupancy(1024, 0, 0), credit));
        // A 16th of the mark, including bytes that are unused already.
        assert!(reuse.may_waste(mib(65), mib(1), occupancy(1024, 1000, 1000), credit));
        assert!(reuse.may_waste(mib(5), mib(1), occupancy(1024, 1000, 940), credit));
        assert!(!reuse.may_waste(mib(6), mib(1), occupancy(1024, 1000, 940), credit));
    }

    #[test]
    fn who_owes_wastes_twice_as_much() {
        let (reuse, mut credit) = (HeapReuse::default(), ReuseCredit::new());
        let wastes = |credit| reuse.may_waste(mib(129), mib(1), occupancy(1024, 1000, 1000), credit);
        // Half of each heap had been held before.
        for _ in 0..128 {
            credit.pay(reuse.creation_cost, mib(4), mib(8));
        }
        assert!(!credit.is_owed() && !wastes(credit));
        credit.pay(reuse.creation_cost, mib(4), mib(8));
        assert!(credit.is_owed() && wastes(credit));
        for _ in 0..16 {
            credit.earn();
        }
        assert!(!credit.is_owed() && !wastes(credit));
    }

    #[test]
    fn who_owes_the_most_wastes_anything() {
        let (reuse, mut credit) = (HeapReuse::default(), ReuseCredit::new());
        let wastes = |credit| reuse.may_waste(mib(1024), mib(1), occupancy(1024, 1000, 0), credit);
        let mut made = 0;
        while !wastes(credit) {
            credit.pay(reuse.creation_cost, mib(8), mib(8));
            made += 1;
        }
        assert_eq!(made, (2048 + 1024) / 32 - 1);
    }

    #[test]
    fn credit_stays_within_its_bounds() {
        let mut credit = ReuseCredit::new();
        credit.earn();
        assert_eq!(credit, ReuseCredit::new());
        credit.pay(32, ByteSize::ZERO, mib(1));
        assert_eq!(credit, ReuseCredit::new());
        credit.pay(u32::MAX, mib(1), mib(1));
        assert_eq!(credit, ReuseCredit(ReuseCredit::LEAST));
        credit.pay(u32::MAX, ByteSize::new(u64::MAX), ByteSize::ZERO);
        assert!(credit.is_sound() && credit.is_owed());
    }
}
