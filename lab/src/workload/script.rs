//! Scripts: lists of operations, known before the clock starts.

use std::hint::black_box;
use std::time::Instant;

use heapwright_core::{ByteSize, HeapOffset};

use super::{Best, Slices};
use crate::rival::{Rival, Terms};
use crate::rivals::Job;

/// One call. A slot is the index of a handle in the workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Allocates into an empty slot.
    Allocate {
        /// The slot's number.
        slot: u32,
        /// The size to request.
        size: ByteSize,
    },
    /// Frees the allocation in a slot; no operation if it was refused.
    Free {
        /// The slot's number.
        slot: u32,
    },
}

/// Operations on a fresh rival.
#[derive(Clone, Debug)]
pub struct Script {
    /// Name in the tables.
    pub name: String,
    /// Terms for the rival. All operations have the alignment of the terms.
    pub terms: Terms,
    /// Number of slots.
    pub slots: usize,
    /// Operations to run first, without timing.
    pub warm_up: Vec<Operation>,
    /// Passes, each of which is timed separately, in this order.
    pub passes: Vec<Vec<Operation>>,
}

/// The times of the passes of a [`Script`].
#[derive(Clone, Debug)]
pub struct Timing {
    /// Times and number of operations of each pass.
    passes: Vec<(Slices, usize)>,
    /// Share of refused allocations, in warm-up and passes.
    pub refused: f64,
}

impl Timing {
    /// Returns the mean time of an operation in a pass, in nanoseconds.
    #[must_use]
    pub fn nanoseconds(&self, pass: usize) -> f64 {
        let (slices, operations) = &self.passes[pass];
        slices.nanoseconds() / *operations as f64
    }
}

impl Best for Timing {
    fn keep_best(&mut self, again: Self) {
        for ((best, _), (again, _)) in self.passes.iter_mut().zip(again.passes) {
            best.keep_best(again);
        }
    }
}

/// Times the passes of a script.
#[derive(Clone, Copy, Debug)]
pub struct Time<'a>(pub &'a Script);

impl Job for Time<'_> {
    type Outcome = Timing;

    fn run<R: Rival>(&self) -> Timing {
        let script = self.0;
        let mut stage = Stage::<R>::new(script);
        stage.play(&script.warm_up);
        let mut passes = Vec::new();
        for pass in &script.passes {
            let mut slices = Slices::default();
            for slice in pass.chunks(Slices::LENGTH) {
                let start = Instant::now();
                stage.play(slice);
                slices.push(start.elapsed());
            }
            passes.push((slices, pass.len()));
        }
        Timing { passes, refused: stage.refused() }
    }
}

/// The times of single operations of a [`Script`], and the highest end of its allocations.
#[derive(Clone, Debug)]
pub struct Survey {
    /// Nanoseconds of each operation, including the warm-up, in order: the minimum of all rounds. Each includes a clock
    /// reading.
    nanoseconds: Vec<u32>,
    /// The 99.9th percentile of each round.
    p999: Vec<f64>,
    /// The highest end of any allocation, relative to the peak of live bytes.
    pub high_water: f64,
}

impl Survey {
    /// Returns the 99.9th percentile of the operations' times in nanoseconds: the median of the rounds. It includes the
    /// effect of other load of the machine, which users of the rival experience as well.
    #[must_use]
    pub fn p999(&self) -> f64 {
        let mut rounds = self.p999.clone();
        rounds.sort_unstable_by(f64::total_cmp);
        rounds.len().checked_sub(1).map_or(f64::NAN, |last| rounds[last / 2])
    }

    /// Returns the time of the slowest operation in nanoseconds, where the time of an operation is the minimum of all
    /// rounds. Rivals are deterministic: an operation does the same work in each round, and any additional time is due
    /// to the machine.
    #[must_use]
    pub fn worst(&self) -> f64 {
        self.nanoseconds.iter().max().map_or(f64::NAN, |&time| f64::from(time))
    }
}

/// Returns the 99.9th percentile by nearest rank.
fn p999(nanoseconds: &[u32]) -> f64 {
    let mut sorted = nanoseconds.to_vec();
    sorted.sort_unstable();
    let rank = (sorted.len() * 999).div_ceil(1000);
    sorted.get(rank.saturating_sub(1)).map_or(f64::NAN, |&time| f64::from(time))
}

impl Best for Survey {
    fn keep_best(&mut self, again: Self) {
        self.p999.extend(again.p999);
        for (best, again) in self.nanoseconds.iter_mut().zip(again.nanoseconds) {
            *best = (*best).min(again);
        }
    }
}

/// Times each operation of a script: the warm-up and each pass once.
#[derive(Clone, Copy, Debug)]
pub struct TimeEach<'a>(pub &'a Script);

impl Job for TimeEach<'_> {
    type Outcome = Survey;

    fn run<R: Rival>(&self) -> Survey {
        let script = self.0;
        let mut stage = Stage::<R>::new(script);
        let operations: usize = script.warm_up.len() + script.passes.iter().map(Vec::len).sum::<usize>();
        let mut nanoseconds = Vec::with_capacity(operations);
        let mut sizes = vec![0; script.slots];
        let (mut live, mut peak, mut end) = (0_u64, 0_u64, 0_u64);
        for &operation in script.warm_up.iter().chain(script.passes.iter().flatten()) {
            let start = Instant::now();
            let offset = stage.perform(operation);
            let time = start.elapsed();
            nanoseconds.push(u32::try_from(time.as_nanos()).unwrap_or(u32::MAX));
            match operation {
                Operation::Allocate { slot, size } => {
                    if let Some(offset) = offset {
                        sizes[slot as usize] = size.get();
                        live += size.get();
                        peak = peak.max(live);
                        end = end.max(offset.get() + size.get());
                    }
                }
                Operation::Free { slot } => live -= std::mem::take(&mut sizes[slot as usize]),
            }
        }
        Survey { p999: vec![p999(&nanoseconds)], nanoseconds, high_water: end as f64 / peak as f64 }
    }
}

/// A rival and its handles.
struct Stage<'a, R: Rival> {
    script: &'a Script,
    rival: R,
    handles: Vec<Option<R::Handle>>,
    asked: u64,
    refused: u64,
}

impl<'a, R: Rival> Stage<'a, R> {
    fn new(script: &'a Script) -> Self {
        let handles = std::iter::repeat_with(|| None).take(script.slots).collect();
        Self { script, rival: R::new(&script.terms), handles, asked: 0, refused: 0 }
    }

    fn play(&mut self, operations: &[Operation]) {
        for &operation in operations {
            black_box(self.perform(operation));
        }
    }

    /// Returns the offset of an allocation that was not refused.
    #[inline]
    fn perform(&mut self, operation: Operation) -> Option<HeapOffset> {
        match operation {
            Operation::Allocate { slot, size } => {
                self.asked += 1;
                let Some((handle, offset)) = self.rival.allocate(size, self.script.terms.alignment) else {
                    self.refused += 1;
                    return None;
                };
                self.handles[slot as usize] = Some(handle);
                Some(offset)
            }
            Operation::Free { slot } => {
                if let Some(handle) = self.handles[slot as usize].take() {
                    self.rival.free(handle);
                }
                None
            }
        }
    }

    fn refused(&self) -> f64 {
        self.refused as f64 / self.asked as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn survey(nanoseconds: Vec<u32>) -> Survey {
        Survey { p999: vec![p999(&nanoseconds)], nanoseconds, high_water: 1.0 }
    }

    #[test]
    fn the_percentile_is_the_median_of_the_rounds_and_the_worst_the_least() {
        // 1 to 1,000 ns: 999 operations of 1,000 do not exceed 999 ns.
        let round = |factor: u32| survey((1..=1000).map(|time| time * factor).collect());
        let mut survey = round(1);
        assert_eq!((survey.p999(), survey.worst()), (999.0, 1000.0));
        survey.keep_best(round(7));
        survey.keep_best(round(3));
        assert_eq!((survey.p999(), survey.worst()), (3.0 * 999.0, 1000.0));
    }
}
