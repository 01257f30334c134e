//! Which resident heaps go first when memory is short.
//!
//! A policy knows heaps by their [`HeapSlot`], sizes, and when they were used. It knows neither fences nor locks nor budgets: the planner
//! says how many bytes are needed and which heaps may go ([`EvictionPolicy::choose`]).

pub mod chains;
mod kind;
mod lru;
mod next_use;
mod victims;

use std::fmt;

use crate::ByteSize;

pub use kind::{CustomPolicy, PolicyKind, UnknownPolicy};
pub use lru::Lru;
pub use next_use::NextUse;
pub use victims::spare_unneeded;

/// The place of a heap in the tables of a [`ResidencyPlanner`](super::ResidencyPlanner): small, and used again when the heap is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HeapSlot(u32);

impl HeapSlot {
    /// The slot of this number.
    #[must_use]
    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }

    /// Where it is in a table.
    #[must_use]
    #[inline]
    pub fn index(self) -> usize {
        usize::try_from(self.0).expect("wherever there is a GPU, a usize has 32 bits or more")
    }
}

/// When something happens: the caller's two clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Moment {
    /// How many submissions there were before, on all queues. Never goes back.
    pub submission: u64,
    /// Time since a beginning of the caller's choice. Never goes back.
    pub time: std::time::Duration,
}

/// Which resident heaps go first when memory is short.
///
/// A planner has ten policies, one for each segment group and priority. Every method costs O(1), amortized, except the two that choose.
///
/// # Contract
///
/// A heap is *held* from [`admit`](Self::admit) to [`withdraw`](Self::withdraw). The planner keeps that order, and calls
/// [`touch`](Self::touch) for heaps that are held. What is not held may be remembered, until [`forget`](Self::forget).
///
/// An implementation can only choose badly: the planner checks each heap that it names. If it names fewer heaps than may go, those
/// that it does not name stay, and the budget may be exceeded. The methods are called with the locks of a residency manager held, so
/// they must not call the manager.
///
/// # Panics
///
/// A residency manager contains the panics of a [custom](PolicyKind::custom) policy: it logs the first one as an error, and uses [`Lru`] in
/// place of that policy from then on. The planner by itself does not.
pub trait EvictionPolicy: fmt::Debug + Send {
    /// A heap is resident, and used now, from now on: it was paged in, created, or is no longer locked.
    ///
    /// `cause` says which; a policy that learns from paging counts [`Admission::PagedIn`] as a miss.
    fn admit(&mut self, heap: HeapSlot, size: ByteSize, cause: Admission, now: Moment);

    /// A heap that is held is used again.
    fn touch(&mut self, heap: HeapSlot, now: Moment);

    /// A heap is no longer held.
    fn withdraw(&mut self, heap: HeapSlot, cause: Withdrawal, now: Moment);

    /// A heap is no more: its slot will be another's. It may be held.
    fn forget(&mut self, heap: HeapSlot);

    /// Calls `evict` for held heaps in the order in which they are to go, until the sizes that it returns reach `need` or no heap is left.
    ///
    /// `evict` returns the size of a heap that it takes, and `None` for one that may not go (the GPU may use it, or it is about to), that
    /// is not held by this policy, that was taken before, or that is not needed any more. Heaps that are taken stay held until
    /// [`withdraw`](Self::withdraw): the last ones are given back if larger ones after them make them unnecessary.
    ///
    /// Cost: O(heaps taken + heaps that may not go), and what the policy says.
    fn choose(&mut self, need: ByteSize, now: Moment, evict: &mut dyn FnMut(HeapSlot) -> Option<ByteSize>);

    /// In how many submissions a heap that is held is used again, if the policy can tell. O(1).
    ///
    /// Whoever would evict what is used before the GPU has finished what it was given waits for the GPU instead: then there is more to
    /// choose from. By default a policy cannot tell.
    fn next_use_in(&self, _heap: HeapSlot, _now: Moment) -> Option<u64> {
        None
    }

    /// Calls `evict` for held heaps that are not worth keeping although there is still room, the least worth first, up to `limit` bytes
    /// in sum (the last may reach above it).
    ///
    /// `fullness` is usage over budget, 0 to 1 and above. By default: none.
    fn choose_ahead(
        &mut self,
        _limit: ByteSize,
        _fullness: f64,
        _now: Moment,
        _evict: &mut dyn FnMut(HeapSlot) -> Option<ByteSize>,
    ) {
    }

    /// Whether the policy goes by [`Moment::time`]. If it does not, the time that it is told may stand still, which saves reading a clock
    /// at each submission.
    fn counts_time(&self) -> bool {
        true
    }
}

/// Why a heap is held from now on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// It was created resident.
    Created,
    /// It was not resident, and is paged in for a use.
    PagedIn,
    /// It was resident, and may go again from now on (its last lock is gone).
    Unlocked,
}

/// Why a heap is no longer held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Withdrawal {
    /// It is evicted.
    Evicted,
    /// It stays resident, and may not go until it is admitted again.
    Locked,
}
