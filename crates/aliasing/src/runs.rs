//! Searches of a part: many short ones with different strategies and heights, one after the other or on several
//! threads; and for a part that is too large to be searched, packings of its heaviest sections.
//!
//! Only the sections whose load is near the largest one leave little room, and in a large instance these are few. The
//! buffers that live in them are packed on their own, by a search if possible, and first fit places the others around
//! them.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, Thread};
use std::time::Duration;

use super::greedy::fixed_first;
use super::instance::{Buffer, Instance};
use super::search::{Outcome, PLAIN_STRATEGIES, Problem, Strategy, search};
use super::solve::{Part, Planner, SolveOptions, solve};
use heapwright_core::{ByteSize, HeapOffset};

/// Steps of the shortest searches, if the problem is small.
const SHORTEST_RUN: u64 = 500;

/// Number of runs without success after which an easier height is tried.
const FAILURES: u64 = 12;

/// The easiest height is this power of 1/2 of the gap below the best one.
const MAX_HALVINGS: u32 = 6;

/// Time between two questions whether to stop, while other threads search.
const POLL: Duration = Duration::from_millis(1);

/// One search.
#[derive(Debug, Clone, Copy)]
struct Run {
    target: u64,
    at_bound: bool,
    strategy: u64,
    limit: u64,
}

/// The state that decides about the next runs.
pub(super) struct Schedule {
    unit: u64,
    /// Steps of the shortest run.
    base: u64,
    aim: u64,
    /// The part of the gap, as a power of 1/2, that a run between the bound and the best height tries to close, and the
    /// number of such runs without success since it was set.
    halvings: u32,
    failures: u64,
    successful: Option<u64>,
    runs: u64,
}

impl Schedule {
    /// Begins the search of a part, whose lower bound becomes a multiple of what all sizes are multiples of.
    pub(super) fn new(problem: &Problem, part: &mut Part, aim: u64) -> Self {
        let unit = problem.unit.max(1);
        part.bound = part.bound.next_multiple_of(unit);
        let base = SHORTEST_RUN.max(2 * problem.len() as u64);
        Self { unit, base, aim, halvings: 1, failures: 0, successful: None, runs: 0 }
    }

    /// Returns the run that is `ahead` of the next one.
    fn run(&self, part: &Part, ahead: u64) -> Run {
        let number = self.runs + ahead;
        let (aim, unit) = (self.aim, self.unit);
        let round = number / PLAIN_STRATEGIES;
        // The lower bound at first, and at every fourth run later. A height that suffices at every other run.
        let at_bound = match aim > part.bound {
            true => number.is_multiple_of(2),
            false => round == 0 || number.is_multiple_of(4),
        };
        let gap = part.height - part.bound;
        let target = match (at_bound, aim > part.bound) {
            (true, _) => part.bound,
            (false, true) => aim,
            (false, false) => part.height - (gap >> self.halvings).max(1).next_multiple_of(unit),
        };
        // No height between two multiples is needed; hints alone can lead to one.
        let target = (target / unit * unit).max(part.bound);
        // What worked before is likely to work again.
        let strategy = match self.successful {
            Some(strategy) if number % 2 == 1 => strategy + round * PLAIN_STRATEGIES,
            _ => number,
        };
        Run { target, at_bound, strategy, limit: self.base * luby(round) }
    }

    /// Takes the result of the next run into account.
    fn learn(&mut self, run: &Run, outcome: &Outcome, part: &mut Part) {
        match outcome {
            Outcome::Packed(_) => {
                self.successful = Some(run.strategy % PLAIN_STRATEGIES);
                self.failures = 0;
            }
            Outcome::Infeasible => part.bound = part.bound.max(run.target + self.unit),
            Outcome::Stopped => {
                self.failures += u64::from(!run.at_bound);
                if self.failures == FAILURES {
                    (self.halvings, self.failures) = ((self.halvings + 1).min(MAX_HALVINGS), 0);
                }
            }
        }
        self.runs += 1;
    }
}

impl Planner<'_, '_> {
    /// Runs many short searches with different strategies and heights, of about this many steps in all.
    pub(super) fn search_exactly(
        &mut self,
        part: &mut Part,
        problem: &Problem,
        schedule: &mut Schedule,
        steps: u64,
    ) {
        let end = self.work.left.saturating_sub(steps);
        while part.height > part.bound.max(schedule.aim) && !self.work.done() && self.work.left > end {
            let runs: Vec<Run> =
                (0..self.options.threads.get() as u64).map(|ahead| schedule.run(part, ahead)).collect();
            let outcomes = match &runs[..] {
                [run] => vec![self.search_alone(problem, run)],
                runs => self.search_together(problem, runs),
            };
            // In the order of the runs, so that it does not matter which of them ended first.
            for (run, outcome) in runs.iter().zip(&outcomes) {
                if part.height <= part.bound.max(schedule.aim) {
                    break;
                }
                if let Outcome::Packed(packed) = outcome {
                    self.keep_lower(part, problem, packed);
                }
                schedule.learn(run, outcome, part);
            }
        }
    }

    fn keep_lower(&mut self, part: &mut Part, problem: &Problem, packed: &[u64]) {
        let tops = packed.iter().enumerate().map(|(buffer, &offset)| offset + problem.size(buffer));
        let height = tops.max().unwrap_or(0);
        if height < part.height {
            part.height = height;
            for (&buffer, &offset) in problem.buffers.iter().zip(packed) {
                self.offsets[buffer as usize] = offset;
            }
        }
    }

    fn search_alone(&mut self, problem: &Problem, run: &Run) -> Outcome {
        let mut limit = run.limit;
        search(problem, run.target, Strategy { number: run.strategy }, || {
            limit -= 1;
            limit > 0 && self.work.step()
        })
    }

    /// Executes each run on its own thread.
    fn search_together(&mut self, problem: &Problem, runs: &[Run]) -> Vec<Outcome> {
        let is_stopped = AtomicBool::new(false);
        let ended = AtomicUsize::new(0);
        let caller = thread::current();
        // Divided beforehand, so that it does not matter who takes the last step.
        let each = self.work.left / runs.len() as u64;
        let execute = |run: &Run| {
            let _end = End { ended: &ended, caller: &caller };
            let (mut limit, mut steps) = (run.limit.min(each), 0);
            let outcome = search(problem, run.target, Strategy { number: run.strategy }, || {
                if limit == 0 || is_stopped.load(Ordering::Relaxed) {
                    return false;
                }
                limit -= 1;
                steps += 1;
                true
            });
            (outcome, steps)
        };
        let results: Vec<(Outcome, u64)> = thread::scope(|scope| {
            let execute = &execute;
            let threads: Vec<_> = (runs.iter())
                .map(|run| thread::Builder::new().spawn_scoped(scope, move || execute(run)).map_err(|_| run))
                .collect();
            // What the system has no threads for is done here.
            let results: Vec<_> = threads.into_iter().map(|thread| thread.map_err(execute)).collect();
            while ended.load(Ordering::Relaxed) < runs.len() {
                if self.work.poll() {
                    is_stopped.store(true, Ordering::Relaxed);
                }
                thread::park_timeout(POLL);
            }
            (results.into_iter())
                .map(|result| match result {
                    Ok(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                    Err(result) => result,
                })
                .collect()
        });
        self.work.take(results.iter().map(|(_, steps)| steps).sum());
        if each == 0 {
            // Too few steps for all.
            self.work.take(self.work.left);
        }
        results.into_iter().map(|(outcome, _)| outcome).collect()
    }
}

/// Counts the end of a run and wakes the caller, also if the run panics.
struct End<'a> {
    ended: &'a AtomicUsize,
    caller: &'a Thread,
}

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.ended.fetch_add(1, Ordering::Relaxed);
        self.caller.unpark();
    }
}

/// Returns the terms of the sequence 1, 1, 2, 1, 1, 2, 4, ...: limits of restarts for searches of unknown length.
fn luby(term: u64) -> u64 {
    let mut term = term + 1;
    loop {
        let bits = u64::BITS - term.leading_zeros();
        if term == (1 << bits) - 1 {
            return 1 << (bits - 1);
        }
        term -= (1 << (bits - 1)) - 1;
    }
}

/// The loads from which sections are packed first, in thousandths of the part's load.
const THRESHOLDS: [u64; 10] = [990, 980, 960, 930, 900, 850, 800, 700, 600, 500];

/// Steps of the first search of a core, for each of its buffers.
const STEPS_PER_BUFFER: u64 = 8;

impl Planner<'_, '_> {
    /// Packs the buffers of the heaviest sections first, with each threshold. `round` doubles the steps of each search.
    pub(super) fn pack_heaviest_first(&mut self, part: &mut Part, aim: u64, round: u32) {
        let mut last = 0;
        for threshold in THRESHOLDS {
            let target = part.bound.max(aim);
            if part.height <= target || self.work.done() {
                return;
            }
            let core = self.heaviest(part, threshold);
            if core.len() == last {
                continue;
            }
            last = core.len();
            if core.len() == part.buffers.len() {
                return;
            }
            let mut instance = self.instance.subset(&core);
            instance.forget_hints();
            let steps = (STEPS_PER_BUFFER * core.len() as u64) << round.min(20);
            let options = SolveOptions {
                capacity: Some(ByteSize::new(target)),
                steps: steps.min(self.work.left),
                ..SolveOptions::default()
            };
            let packing = solve(&instance, &options, &mut || self.work.poll());
            self.work.take(packing.steps);
            if packing.height.get() < part.height {
                self.place_around(part, &core, &packing.offsets);
            }
        }
    }

    /// Returns the buffers of a part that live in sections with at least this load, in thousandths of the largest, and
    /// those with fixed offsets, which none of them may overlap.
    fn heaviest(&self, part: &Part, threshold: u64) -> Vec<u32> {
        let sections = &self.instance.sections;
        let load = |&section: &usize| u128::from(sections.loads[section]);
        let largest =
            |buffer: u32| sections.of(buffer as usize).map(|section| load(&section)).max().unwrap_or(0);
        let limit =
            part.buffers.iter().map(|&buffer| largest(buffer)).max().unwrap_or(0) * u128::from(threshold);
        let is_fixed = |buffer: u32| self.instance.buffers[buffer as usize].fixed_offset.is_some();
        (part.buffers.iter().copied())
            .filter(|&buffer| is_fixed(buffer) || largest(buffer) * 1000 >= limit)
            .collect()
    }

    /// Places the buffers of a core at their offsets and the others around them. Keeps the packing if it is lower.
    fn place_around(&mut self, part: &mut Part, core: &[u32], offsets: &[HeapOffset]) {
        let desc = |buffer: u32| self.instance.buffers[buffer as usize];
        let mut placed = self.offsets.clone();
        let mut is_core = vec![false; self.instance.buffers.len()];
        let mut height = 0;
        self.greedy.clear();
        for (&buffer, &offset) in core.iter().zip(offsets) {
            let end = offset.get() + desc(buffer).size.get();
            if !self.greedy.place_at(buffer, offset.get(), end) {
                return;
            }
            placed[buffer as usize] = offset.get();
            is_core[buffer as usize] = true;
            height = height.max(end);
        }
        let others: Vec<u32> =
            part.order.iter().copied().filter(|&buffer| !is_core[buffer as usize]).collect();
        if !self.work.step() {
            return;
        }
        if let Some(top) = self.greedy.place_others(&others, part.fit, part.height, &mut placed) {
            part.height = height.max(top);
            self.offsets = placed;
            part.order = core.iter().copied().chain(others).collect();
            // First fit has to know what is fixed.
            fixed_first(self.instance, &mut part.order);
        }
    }
}

impl Instance {
    fn forget_hints(&mut self) {
        self.buffers.iter_mut().for_each(|buffer| *buffer = Buffer { hint: None, ..*buffer });
    }
}
