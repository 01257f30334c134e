//! The rivals and the workloads in which they take part.
//!
//! To add a rival, write its adapter in a file here and add a line to the lists below. Each list is for the workloads
//! that rivals of a kind can run: frees in any order, or oldest first.

pub mod combined;
pub mod null;
pub mod offset_allocator;
pub mod ours;
pub mod vma;

use self::combined::OurCombined;
use self::null::Null;
use self::offset_allocator::OffsetAllocator;
use self::ours::{OurLinear, OurTlsf, OurTlsfMinTime, OurTlsfWithValues};
use self::vma::Vma;
use crate::rival::Rival;

/// The rival that the others' figures are divided by, in each list.
pub const BASELINE: &str = "VMA default";

/// The entry for the cost of the harness itself, in each list.
pub const HARNESS: &str = "(harness alone)";

/// A measurement that can be made with any rival.
pub trait Job {
    /// The result of the measurement.
    type Outcome;

    /// Makes the measurement once, with a new rival.
    fn run<R: Rival>(&self) -> Self::Outcome;
}

/// A rival, ready for a job `J` with the outcome `O`.
#[derive(Debug)]
pub struct Entrant<J, O> {
    /// Name in the tables.
    pub name: &'static str,
    /// Runs the job.
    pub run: fn(&J) -> O,
}

fn entrant<R: Rival, J: Job>(name: &'static str) -> Entrant<J, J::Outcome> {
    Entrant { name, run: J::run::<R> }
}

/// Returns the rivals for workloads that free in any order.
#[must_use]
pub fn any_order<J: Job>() -> Vec<Entrant<J, J::Outcome>> {
    vec![
        entrant::<OurCombined, J>("heapwright combined"),
        entrant::<OurTlsf, J>("heapwright TLSF"),
        entrant::<OurTlsfWithValues, J>("heapwright TLSF, values"),
        entrant::<OurTlsfMinTime, J>("heapwright TLSF min-time"),
        entrant::<Vma<vma::Default>, J>(BASELINE),
        entrant::<Vma<vma::MinMemory>, J>("VMA min-memory"),
        entrant::<Vma<vma::MinTime>, J>("VMA min-time"),
        entrant::<OffsetAllocator, J>("offset-allocator"),
        entrant::<Null, J>(HARNESS),
    ]
}

/// Returns the rivals for workloads that free the oldest first, like an upload ring.
#[must_use]
pub fn oldest_first<J: Job>() -> Vec<Entrant<J, J::Outcome>> {
    let mut entrants = any_order();
    entrants.insert(0, entrant::<OurLinear, J>("heapwright linear"));
    entrants.insert(1, entrant::<Vma<vma::Linear>, J>("VMA linear"));
    entrants
}
