//! Those that take part, and in what.
//!
//! To add one: write its adapter in a file here, and a line in the lists below. Each list is for the workloads that a
//! rival of that kind can run: frees in any order, oldest first, or many threads.

pub mod buddy_system;
pub mod checked;
pub mod combined;
pub mod null;
pub mod offset_allocator;
pub mod ours;
pub mod range_alloc;
mod units;
pub mod vma;
pub mod vulkano;
pub mod xalloc;

use self::buddy_system::BuddySystem;
use self::checked::{Checked, CheckedShared};
use self::combined::{OurCombined, OurShared};
use self::null::Null;
use self::offset_allocator::OffsetAllocator;
use self::ours::{OurBuddy, OurRing, OurSlabs, OurTlsf, OurTlsfMinTime};
use self::range_alloc::RangeAlloc;
use self::vma::Vma;
use self::vulkano::{VulkanoBuddy, VulkanoFreeList};
use self::xalloc::{Xalloc, XallocRing};
use crate::rival::{Locked, Rival, SharedRival, Unfit};

/// Whose figures the others are divided by, in each list.
pub const BASELINE: &str = "VMA default";

/// What the harness costs by itself, in each list.
pub const HARNESS: &str = "(harness alone)";

/// Something that can be done with any rival.
pub trait Job {
    /// What comes of it.
    type Outcome;

    /// Does it once, with a fresh rival.
    ///
    /// # Errors
    ///
    /// Those of [`Rival::new`].
    fn run<R: Rival>(&self) -> Result<Self::Outcome, Unfit>;
}

/// Something that can be done with any rival for several threads.
pub trait SharedJob {
    /// What comes of it.
    type Outcome;

    /// Does it once, with a fresh rival.
    ///
    /// # Errors
    ///
    /// Those of [`SharedRival::new`].
    fn run<S: SharedRival>(&self) -> Result<Self::Outcome, Unfit>;
}

/// Does a job once, with a fresh rival.
pub type Run<J, O> = fn(&J) -> Result<O, Unfit>;

/// One rival, ready for a job `J` with the outcome `O`.
#[derive(Debug)]
pub struct Entrant<J, O> {
    /// As the table calls it.
    pub name: &'static str,
    /// Does the job.
    pub run: Run<J, O>,
    /// Does the job with each answer checked; `None` for the harness alone, whose answers are no ranges.
    pub check: Option<Run<J, O>>,
}

fn entrant<R: Rival, J: Job>(name: &'static str) -> Entrant<J, J::Outcome> {
    Entrant { name, run: J::run::<R>, check: Some(J::run::<Checked<R>>) }
}

fn shared<S: SharedRival, J: SharedJob>(name: &'static str) -> Entrant<J, J::Outcome> {
    Entrant { name, run: J::run::<S>, check: Some(J::run::<CheckedShared<S>>) }
}

/// For workloads that free in any order.
#[must_use]
pub fn any_order<J: Job>() -> Vec<Entrant<J, J::Outcome>> {
    vec![
        entrant::<OurCombined, J>("heapwright combined"),
        entrant::<OurSlabs, J>("heapwright slabs"),
        entrant::<OurTlsf, J>("heapwright TLSF"),
        entrant::<OurTlsfMinTime, J>("heapwright TLSF min-time"),
        entrant::<OurBuddy, J>("heapwright buddy"),
        entrant::<Vma<vma::Default>, J>(BASELINE),
        entrant::<Vma<vma::MinMemory>, J>("VMA min-memory"),
        entrant::<Vma<vma::MinTime>, J>("VMA min-time"),
        entrant::<OffsetAllocator, J>("offset-allocator"),
        entrant::<Xalloc, J>("xalloc TLSF"),
        entrant::<VulkanoFreeList, J>("vulkano free list"),
        entrant::<VulkanoBuddy, J>("vulkano buddy"),
        entrant::<BuddySystem, J>("buddy_system frames"),
        entrant::<RangeAlloc, J>("range-alloc"),
        harness(),
    ]
}

/// For workloads that free the oldest first, as an upload ring does.
#[must_use]
pub fn oldest_first<J: Job>() -> Vec<Entrant<J, J::Outcome>> {
    let mut entrants = any_order();
    entrants.insert(0, entrant::<OurRing, J>("heapwright ring"));
    entrants.insert(1, entrant::<Vma<vma::Linear>, J>("VMA linear"));
    entrants.insert(2, entrant::<XallocRing, J>("xalloc ring"));
    entrants
}

/// For several threads at once.
#[must_use]
pub fn threads<J: SharedJob>() -> Vec<Entrant<J, J::Outcome>> {
    vec![
        shared::<OurShared, J>("heapwright combined"),
        shared::<Locked<OurCombined>, J>("heapwright combined, one lock"),
        shared::<Locked<OurSlabs>, J>("heapwright slabs"),
        shared::<Locked<OurTlsf>, J>("heapwright TLSF"),
        shared::<Locked<Vma<vma::Default>>, J>(BASELINE),
        shared::<Locked<Vma<vma::MinMemory>>, J>("VMA min-memory"),
        shared::<Locked<Vma<vma::MinTime>>, J>("VMA min-time"),
        shared::<Locked<OffsetAllocator>, J>("offset-allocator"),
        Entrant { check: None, ..shared::<Locked<Null>, J>(HARNESS) },
    ]
}

fn harness<J: Job>() -> Entrant<J, J::Outcome> {
    Entrant { check: None, ..entrant::<Null, J>(HARNESS) }
}
