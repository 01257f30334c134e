//! Which empty heaps are too large for a request.

use crate::ByteSize;

/// How much of an empty heap may be wasted on a smaller request, before the request gets a new heap instead.
///
/// A large heap that something small lives in cannot go back when its memory is needed in another shape: that is what most
/// bytes were lost to before this rule. So an empty heap serves a request
///
/// - if it is about as large as the heap that would be made for it ([`close_log2`](Self::close_log2)), or
/// - while all that is unused in heaps with something in them is a small part of the most that was ever held, or of what is
///   still missing to that ([`waste_log2`](Self::waste_log2), [`headroom_log2`](Self::headroom_log2)).
///
/// Far from the high-water mark of [`HeapRetention`](super::HeapRetention), nearly every heap will do. Close to it, where waste
/// becomes the peak, heaps are exchanged for ones that fit: empty ones go, a new one comes, and the mark stays.
///
/// Such exchanges are paid for: each allocation saves one credit, up to 2,048, and a new heap below the mark costs
/// [`creation_cost`](Self::creation_cost). A set that owes credit wastes twice the part of each; one that owes 1,024 wastes
/// anything, so that no more such heaps are made than are paid for. New heaps above the mark cost nothing, as there is no other
/// way to grow.
///
/// # Why these defaults
///
/// Measured as those of [`HeapSizing`](super::HeapSizing) are, on 2026-11-21:
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
    /// Always taken is an empty heap that is larger than the one that would be made for the request by no more than 1/2^this of
    /// that. Default 2: a quarter.
    pub close_log2: u32,
    /// Unused bytes may be 1/2^this of the high-water mark. Default 4: a 16th.
    pub waste_log2: u32,
    /// Or 1/2^this of the distance from the heaps with something in them to the high-water mark. Default 2: a quarter.
    pub headroom_log2: u32,
    /// How many allocations pay for a heap that is made although there was one. Default 32. At 0 such heaps are free.
    pub creation_cost: u32,
}

impl Default for HeapReuse {
    fn default() -> Self {
        Self { close_log2: 2, waste_log2: 4, headroom_log2: 2, creation_cost: 32 }
    }
}

/// What a set holds, as far as it decides about reuse.
#[derive(Debug, Clone, Copy)]
pub(super) struct Occupancy {
    /// The high-water mark.
    pub(super) mark: ByteSize,
    /// Bytes of heaps with something in them.
    pub(super) occupied: ByteSize,
    /// Of those, the bytes in use.
    pub(super) used: ByteSize,
}

impl HeapReuse {
    /// Whether an empty heap of `heap_size` bytes is about as large as the one that would be made.
    pub(super) fn is_close(self, heap_size: ByteSize, wanted: ByteSize) -> bool {
        heap_size <= wanted.saturating_add(part(wanted, self.close_log2))
    }

    /// Whether a request of `size` bytes may have a larger heap to itself.
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
        // One less is twice the part.
        let shift = |log2: u32| log2.saturating_sub(u32::from(credit.is_owed()));
        unused <= part(mark, shift(self.waste_log2))
            || unused <= part(mark.saturating_sub(occupied), shift(self.headroom_log2))
    }
}

/// `size / 2^log2`.
fn part(size: ByteSize, log2: u32) -> ByteSize {
    ByteSize::new(size.get().checked_shr(log2).unwrap_or(0))
}

/// What a set may spend on heaps that it could do without. Below zero it is owed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ReuseCredit(i32);

impl ReuseCredit {
    /// More is not saved: what comes after a long calm may not be a storm.
    const MOST: i32 = 2048;
    /// More is not owed: heaps that had to be made, because no other was large enough, are forgiven.
    const LEAST: i32 = -1024;

    pub(super) const fn new() -> Self {
        Self(Self::MOST)
    }

    const fn is_owed(self) -> bool {
        self.0 < 0
    }

    /// Whether two more heaps of this cost, the one to be made and one like that which makes way for it, would be owed in part
    /// only. So no more such heaps are made than were paid for.
    fn is_exhausted(self, cost: u32) -> bool {
        i64::from(self.0) - 2 * i64::from(cost) < i64::from(Self::LEAST)
    }

    /// For an allocation.
    #[inline(always)]
    pub(super) fn earn(&mut self) {
        self.0 = (self.0 + 1).min(Self::MOST);
    }

    /// For a new heap of `size` bytes, of which `below_mark` had been held before.
    pub(super) fn pay(&mut self, cost: u32, below_mark: ByteSize, size: ByteSize) {
        let share = u128::from(cost) * u128::from(below_mark.get()) / u128::from(size.get().max(1));
        let share = i32::try_from(share).unwrap_or(i32::MAX);
        self.0 = self.0.saturating_sub(share).max(Self::LEAST);
    }

    /// Whether it is within its bounds.
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
        // A quarter of what is missing to the mark.
        assert!(reuse.may_waste(mib(257), mib(1), occupancy(1024, 0, 0), credit));
        assert!(!reuse.may_waste(mib(258), mib(1), occupancy(1024, 0, 0), credit));
        // A 16th of the mark, with what is unused already.
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
