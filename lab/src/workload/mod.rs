//! The workloads, and the halves of those that are generated.
//!
//! Operations are generated before the clock starts and are the same for all rivals. Only [`full`] reacts to refusals,
//! since full heaps are its subject.

pub mod full;
pub mod programs;
pub mod script;
pub mod shapes;
pub mod traces;

use std::time::Duration;

use heapwright_core::{Alignment, ByteSize};
use heapwright_simulation::{GeneratedTrace, TraceShape};

/// The use of what is generated: what is tuned on the programs by which it is judged proves nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Constants may be chosen by it.
    Development,
    /// It is only evaluated.
    Evaluation,
}

impl Part {
    /// Returns the part's generated traces: three of each shape. Parameters have other ranges from seed 1000 on.
    pub fn traces(self) -> impl Iterator<Item = GeneratedTrace> {
        let first = if self == Self::Development { 1 } else { 1000 };
        let seeds = first..first + 3;
        TraceShape::ALL
            .iter()
            .flat_map(move |&shape| seeds.clone().map(move |seed| GeneratedTrace { shape, seed }))
    }
}

/// Rounds a size up to units of the alignment, as applications request it.
///
/// `GetResourceAllocationInfo` and `vkGetBufferMemoryRequirements` return such sizes, and allocators pass them on. With
/// other sizes, free ranges too small for any request remain between used ones, and some rivals' lists of them grow
/// long.
#[must_use]
pub fn rounded_up(size: ByteSize, alignment: Alignment) -> ByteSize {
    size.align_up(alignment).unwrap_or(size)
}

/// The amount of each workload to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// For figures to publish.
    Full,
    /// For a first impression, in less than a minute.
    Quick,
}

impl Effort {
    /// Returns the argument for this effort.
    #[must_use]
    pub fn pick<T>(self, full: T, quick: T) -> T {
        match self {
            Self::Full => full,
            Self::Quick => quick,
        }
    }
}

/// A measurement that may be repeated.
///
/// The minimum of times is kept instead of the mean, as other load of the machine can only increase them. All other
/// values are the same in each repetition.
pub trait Best {
    /// Keeps the better of both measurements.
    fn keep_best(&mut self, again: Self);
}

/// The times of a series of operations in slices, each the minimum of its repetitions.
///
/// Slices are short, so that a slice that was interrupted is measured without interruption in another repetition.
#[derive(Clone, Debug, Default)]
pub struct Slices(Vec<Duration>);

impl Slices {
    /// Number of operations per slice. Reading the clock is negligible in comparison.
    pub const LENGTH: usize = 1000;

    /// Adds the time of the next slice.
    pub fn push(&mut self, time: Duration) {
        self.0.push(time);
    }

    /// Returns the sum of all slices, in nanoseconds.
    #[must_use]
    pub fn nanoseconds(&self) -> f64 {
        self.0.iter().sum::<Duration>().as_secs_f64() * 1e9
    }
}

impl Best for Slices {
    fn keep_best(&mut self, again: Self) {
        for (best, again) in self.0.iter_mut().zip(again.0) {
            *best = (*best).min(again);
        }
    }
}
