//! Eviction policies: which resident heaps are evicted first when memory is short.
//!
//! A policy knows heaps by their [`HeapSlot`], sizes and uses. It knows neither fences nor locks nor budgets:
//! the planner passes the number of bytes needed, and accepts or rejects each heap
//! ([`EvictionPolicy::choose`]).

// Every function is `#[inline]`, so that only programs that call it compile it (CONTRIBUTING.md, Style).

pub mod chains;
mod lru;
mod next_use;

use std::fmt;

use crate::ByteSize;

pub use lru::Lru;
pub use next_use::NextUse;

/// The index of a heap in the tables of a [`ResidencyPlanner`](super::ResidencyPlanner). It is small, and
/// reused after the heap is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HeapSlot(pub u32);

impl HeapSlot {
    /// Returns the slot as an index of a table.
    #[must_use]
    #[inline]
    pub fn index(self) -> usize {
        usize::try_from(self.0).expect("usize has at least 32 bits on every platform with a GPU")
    }
}

/// A point in time, on the caller's two clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Moment {
    /// The number of submissions before, on all queues. Never decreases.
    pub submission: u64,
    /// The time since a start of the caller's choice. Never decreases. No policy of this crate counts it, so it may
    /// stand still.
    pub time: std::time::Duration,
}

/// Determines which resident heaps are evicted first when memory is short.
///
/// A planner has ten policies, one for each segment group and priority. Every method costs amortized O(1),
/// except the two that choose heaps, and [`touch_regularly`](Self::touch_regularly).
///
/// # Contract
///
/// A heap is *held* from [`admit`](Self::admit) to [`withdraw`](Self::withdraw). The planner keeps that
/// order, and calls [`touch`](Self::touch) only for heaps that are held. A policy may remember heaps that it
/// does not hold, until [`forget`](Self::forget).
///
/// An implementation can only choose badly, because the planner checks each heap that it names. If it names
/// fewer heaps than can be evicted, the others are kept, and the budget may be exceeded. The methods are
/// called with the locks of a residency manager held, so they must not call the manager.
pub trait EvictionPolicy: Send {
    /// Records that a heap is held and used from now on: it was paged in, created, or is no longer locked.
    ///
    /// `cause` is the reason; a policy that learns from paging counts [`Admission::PagedIn`] as a miss.
    fn admit(&mut self, heap: HeapSlot, size: ByteSize, cause: Admission, now: Moment);

    /// Records another use of a held heap.
    fn touch(&mut self, heap: HeapSlot, now: Moment);

    /// Records `count` uses of a held heap, at least one, the last one at `last`, with `interval` submissions from
    /// one to the next.
    ///
    /// Called only if the policy [may learn late](Self::may_learn_late). The default calls
    /// [`touch`](Self::touch) for each use.
    #[inline]
    fn touch_regularly(&mut self, heap: HeapSlot, interval: u64, count: u64, last: Moment) {
        for later in (0..count).rev() {
            let submission = last.submission.saturating_sub(interval.saturating_mul(later));
            self.touch(heap, Moment { submission, ..last });
        }
    }

    /// Returns whether the policy may learn of uses late: just before the next call of another method. They come in the
    /// order of the submissions, except that one call may stand for regular uses of a heap, at the time of the last of
    /// them ([`touch_regularly`](Self::touch_regularly)). The default is `false`: each use is passed at once.
    ///
    /// Must always return the same value. Late calls are given the time of the last submission. A submission whose
    /// heaps are resident then costs about half.
    #[inline]
    fn may_learn_late(&self) -> bool {
        false
    }

    /// Records that a heap is no longer held.
    fn withdraw(&mut self, heap: HeapSlot, cause: Withdrawal, now: Moment);

    /// Records that a heap was removed, so that its slot may be reused. The heap may be held.
    fn forget(&mut self, heap: HeapSlot);

    /// Calls `evict` for held heaps in the order of eviction, until the sizes that it returns reach `need` or
    /// no heap is left.
    ///
    /// `evict` returns the size of a heap that it takes, and `None` for a heap that cannot be evicted (the
    /// GPU uses it, or is about to), that is not held by this policy, that was taken before, or that is not
    /// needed any more. Heaps that are taken stay held until [`withdraw`](Self::withdraw): the last ones are
    /// returned if larger heaps after them make them unnecessary.
    ///
    /// Cost: O(heaps taken + heaps that cannot be evicted), plus the cost that the policy documents.
    fn choose(&mut self, need: ByteSize, now: Moment, evict: &mut dyn FnMut(HeapSlot) -> Option<ByteSize>);

    /// Calls `evict` for held heaps that are not worth keeping although there is still room, the least
    /// valuable first, up to `limit` bytes in total (the last heap may exceed it).
    ///
    /// `fullness` is usage divided by budget, and may exceed 1; at less than a half, this is not called. The default
    /// chooses none.
    #[inline]
    fn choose_ahead(
        &mut self,
        _limit: ByteSize,
        _fullness: f64,
        _now: Moment,
        _evict: &mut dyn FnMut(HeapSlot) -> Option<ByteSize>,
    ) {
    }
}

/// The reason why a heap is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// The heap was created resident.
    Created,
    /// The heap was not resident, and is paged in for a use.
    PagedIn,
    /// The heap was resident, and may be evicted from now on (its last lock was removed).
    Unlocked,
}

/// The reason why a heap is no longer held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Withdrawal {
    /// The heap is evicted.
    Evicted,
    /// The heap stays resident, and cannot be evicted until it is admitted again.
    Locked,
}

/// An eviction policy, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum PolicyKind {
    /// The policy [`NextUse`].
    #[default]
    NextUse,
    /// The policy [`Lru`].
    Lru,
}

impl PolicyKind {
    /// Returns every policy of this crate, the default first.
    #[must_use]
    #[inline]
    pub const fn all() -> &'static [Self] {
        &[Self::NextUse, Self::Lru]
    }

    /// Returns the name.
    #[must_use]
    #[inline]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NextUse => "next-use",
            Self::Lru => "lru",
        }
    }

    /// Creates a policy of this kind, with default parameters, that holds no heap.
    #[must_use]
    #[inline]
    pub fn create(self) -> Box<dyn EvictionPolicy> {
        match self {
            Self::NextUse => Box::new(NextUse::default()),
            Self::Lru => Box::new(Lru::default()),
        }
    }
}

impl fmt::Display for PolicyKind {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Removes victims that are not needed to reach `need`, the last first, and keeps the order of the others.
///
/// Heaps are large and of different sizes: a small victim chosen first is not needed any more if a large one
/// follows. Because policies name the least valuable heaps first, the most valuable are kept resident.
/// `size_of` is called at most twice for each victim. A victim may be a [`HeapSlot`] or anything else.
///
/// Cost: O(victims). Nothing is allocated.
///
/// ```
/// use heapwright_core::ByteSize;
/// use heapwright_core::residency::policy::{HeapSlot, spare_unneeded};
///
/// let sizes = [2, 1, 8].map(ByteSize::new);
/// let mut victims: Vec<_> = (0..3).map(HeapSlot).collect();
/// spare_unneeded(&mut victims, ByteSize::new(9), |heap| sizes[heap.index()]);
/// // 11 bytes were chosen: the heap of one byte can stay, but then not the one of two.
/// assert_eq!(victims, [HeapSlot(0), HeapSlot(2)]);
/// ```
pub fn spare_unneeded<T: Copy>(victims: &mut Vec<T>, need: ByteSize, mut size_of: impl FnMut(T) -> ByteSize) {
    let chosen = victims.iter().fold(0_u128, |sum, &heap| sum + u128::from(size_of(heap).get()));
    let Some(mut surplus) = chosen.checked_sub(u128::from(need.get())) else {
        return;
    };
    let mut kept = victims.len();
    for at in (0..victims.len()).rev() {
        let size = u128::from(size_of(victims[at]).get());
        if size <= surplus {
            surplus -= size;
        } else {
            kept -= 1;
            victims[kept] = victims[at];
        }
    }
    victims.drain(..kept);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn exactly_the_needed_victims_are_chosen(
            sizes in prop::collection::vec(0..30_u64, 0..20), need in 0..200_u64
        ) {
            let size_of = |heap: HeapSlot| ByteSize::new(sizes[heap.index()]);
            let mut victims: Vec<_> = (0..u32::try_from(sizes.len()).unwrap()).map(HeapSlot).collect();
            let before = victims.clone();
            spare_unneeded(&mut victims, ByteSize::new(need), size_of);
            let bytes: u64 = victims.iter().map(|&heap| size_of(heap).get()).sum();
            prop_assert!(victims.is_sorted());
            if sizes.iter().sum::<u64>() < need {
                prop_assert_eq!(victims, before);
            } else {
                prop_assert!(bytes >= need);
                for &victim in &victims {
                    prop_assert!(bytes - size_of(victim).get() < need, "{:?} is not needed", victim);
                }
            }
        }
    }
}
