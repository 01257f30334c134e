//! The planner: first fit in several orders, then searches that try the lower bound first.

use super::greedy::{FirstFit, Order, connected_parts, promote};
use super::instance::{Buffer, Instance};
use super::search::{Outcome, PLAIN_STRATEGIES, Problem, Random, Strategy, search};
use crate::{ByteSize, HeapOffset};

/// What is asked of the planner, and how much work it may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SolveOptions {
    /// Height that suffices: the planner stops when it is reached.
    pub capacity: Option<ByteSize>,
    /// Maximum number of steps; for a given number, results are the same on every machine. A step places one buffer in
    /// a search, or all buffers once without one. The first packing is made in any case.
    pub steps: u64,
}

impl Default for SolveOptions {
    /// Any height, 200,000 steps.
    fn default() -> Self {
        Self { capacity: None, steps: 200_000 }
    }
}

/// Offsets for the buffers of an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packing {
    /// The buffers' offsets, in the order of the instance.
    pub offsets: Vec<HeapOffset>,
    /// Highest end of a buffer: the size that the heap must have.
    pub height: ByteSize,
    /// No packing is lower than this.
    pub lower_bound: ByteSize,
    /// Whether the height is the lower bound, so that no packing is better.
    pub proved: bool,
    /// Number of steps taken.
    pub steps: u64,
}

/// The sum of the sizes of buffers that live at the same time, which no packing can be lower than.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    /// Sum of the sizes.
    pub size: ByteSize,
    /// An instant at which these buffers live, if lifetimes are intervals.
    pub instant: Option<i64>,
}

impl Instance {
    /// Returns the largest sum of sizes of buffers that live at the same time. For a partial order, it is the largest
    /// among the sets of buffers that the planner uses, not among all.
    #[must_use]
    pub fn load(&self) -> Load {
        match self.sections.heaviest() {
            None => Load { size: ByteSize::ZERO, instant: None },
            Some(section) => Load {
                size: ByteSize::new(self.sections.loads[section]),
                instant: self.sections.instants.get(section).copied(),
            },
        }
    }
}

/// Packs the buffers of an instance as low as possible within a number of steps.
///
/// `stop` is called often and ends the work early when it returns true, for example at a time limit; the best packing so
/// far is returned.
#[must_use]
pub fn solve(instance: &Instance, options: &SolveOptions, stop: &mut dyn FnMut() -> bool) -> Packing {
    let mut planner = Planner {
        instance,
        first_fit: FirstFit::new(instance),
        offsets: vec![0; instance.buffers.len()],
        work: Work { left: options.steps, taken: 0, stop, stopped: false },
    };
    let enough = options.capacity.map_or(0, ByteSize::get);
    let mut parts: Vec<Part> =
        connected_parts(instance).into_iter().map(|buffers| planner.part(buffers)).collect();
    // A part needs no work below the height that another part needs.
    let needed = |parts: &[Part]| parts.iter().map(|part| part.bound).max().unwrap_or(0).max(enough);
    // The parts with the largest bound first, because it is the aim of the others.
    parts.sort_by_key(|part| std::cmp::Reverse(part.bound));
    for number in 0..parts.len() {
        let aim = needed(&parts);
        planner.improve_orders(&mut parts[number], aim);
    }
    // The highest part decides about the height.
    let mut exhausted = vec![false; parts.len()];
    loop {
        let aim = needed(&parts);
        let highest =
            (0..parts.len()).filter(|&part| !exhausted[part]).max_by_key(|&part| parts[part].height);
        let Some(number) = highest.filter(|&part| parts[part].height > aim) else { break };
        if planner.work.done() {
            break;
        }
        exhausted[number] = true;
        planner.search(&mut parts[number], aim);
    }
    let height = parts.iter().map(|part| part.height).max().unwrap_or(0);
    let bound = parts.iter().map(|part| part.bound).max().unwrap_or(0);
    Packing {
        offsets: planner.offsets.into_iter().map(HeapOffset::new).collect(),
        height: ByteSize::new(height),
        lower_bound: ByteSize::new(bound),
        proved: height == bound,
        steps: planner.work.taken,
    }
}

/// The steps that are left, and the caller's wish to stop.
struct Work<'a> {
    left: u64,
    taken: u64,
    stop: &'a mut dyn FnMut() -> bool,
    stopped: bool,
}

impl Work<'_> {
    /// Number of steps of a search between two questions whether to stop.
    const POLL: u64 = 64;

    /// Takes a step. Returns false if there is none left.
    fn step(&mut self) -> bool {
        if self.left == 0 || (self.taken.is_multiple_of(Self::POLL) && self.poll()) {
            return false;
        }
        self.left -= 1;
        self.taken += 1;
        true
    }

    fn poll(&mut self) -> bool {
        self.stopped = self.stopped || (self.stop)();
        self.stopped
    }

    fn done(&self) -> bool {
        self.stopped || self.left == 0
    }
}

/// Buffers that conflicts connect.
struct Part {
    buffers: Vec<u32>,
    height: u64,
    bound: u64,
    /// The order in which first fit reached `height`.
    order: Vec<u32>,
}

/// The best packing so far, and what improves it.
struct Planner<'a, 'b> {
    instance: &'a Instance,
    first_fit: FirstFit<'a>,
    offsets: Vec<u64>,
    work: Work<'b>,
}

impl Planner<'_, '_> {
    /// Creates a part and its first packing.
    fn part(&mut self, buffers: Vec<u32>) -> Part {
        let instance = self.instance;
        let sections = &instance.sections;
        let load = (buffers.iter().flat_map(|&buffer| sections.ranges(buffer as usize)))
            .flat_map(|&(first, end)| &sections.loads[first as usize..end as usize])
            .max();
        let ends = buffers.iter().filter_map(|&buffer| {
            let desc = instance.buffers[buffer as usize];
            desc.fixed_offset.map(|offset| offset.get() + desc.size.get())
        });
        let bound = ends.chain(load.copied()).max().unwrap_or(0);
        let mut order = buffers.clone();
        Order::Size.sort(instance, &mut order);
        let height = self.first_fit.place(&order, u64::MAX, &mut self.offsets).unwrap_or(u64::MAX);
        let mut part = Part { buffers, height, bound, order };
        self.keep_hints(&mut part);
        part
    }

    /// Keeps the offsets of an earlier plan if the packing is no higher: the buffers whose hints still fit stay, and the
    /// others are placed around them.
    fn keep_hints(&mut self, part: &mut Part) {
        let instance = self.instance;
        let desc = |buffer: u32| instance.buffers[buffer as usize];
        if part.buffers.iter().all(|&buffer| desc(buffer).hint.is_none()) {
            return;
        }
        let mut placed = self.offsets.clone();
        let (mut height, mut others) = (0, Vec::new());
        self.first_fit.clear();
        // Buffers with a fixed offset are the first of the order.
        for &buffer in &part.order {
            let Buffer { size, alignment, fixed_offset, hint } = desc(buffer);
            let end = |offset: &HeapOffset| offset.get().saturating_add(size.get());
            let usable = |offset: &HeapOffset| offset.is_aligned(alignment) && end(offset) <= part.height;
            match fixed_offset.or(hint).filter(usable) {
                Some(offset) if self.first_fit.place_at(buffer, offset.get(), end(&offset)) => {
                    placed[buffer as usize] = offset.get();
                    height = height.max(end(&offset));
                }
                _ => others.push(buffer),
            }
        }
        let limit = part.height.saturating_add(1);
        if let Some(top) = self.first_fit.place_others(&others, limit, &mut placed) {
            self.offsets.copy_from_slice(&placed);
            part.height = height.max(top);
        }
    }

    /// Tries other orders of first fit.
    fn improve_orders(&mut self, part: &mut Part, aim: u64) {
        for order in &Order::ALL[1..] {
            if part.height <= aim.max(part.bound) || !self.work.step() || self.work.poll() {
                return;
            }
            let mut buffers = part.buffers.clone();
            order.sort(self.instance, &mut buffers);
            self.try_order(part, &buffers);
        }
    }

    /// Places the buffers in an order and keeps the packing if it is lower.
    fn try_order(&mut self, part: &mut Part, order: &[u32]) {
        let mut placed = self.offsets.clone();
        if let Some(height) = self.first_fit.place(order, part.height, &mut placed) {
            part.height = height;
            part.order = order.to_vec();
            self.offsets = placed;
        }
    }

    /// Searches for lower packings until the height is proved, at most `aim`, or no work may be done any more.
    fn search(&mut self, part: &mut Part, aim: u64) {
        match Problem::new(self.instance, part.buffers.clone()) {
            Some(problem) => self.search_exactly(part, &problem, aim),
            None => self.search_orders(part, aim),
        }
    }

    /// Runs many short searches with different strategies and heights.
    fn search_exactly(&mut self, part: &mut Part, problem: &Problem, aim: u64) {
        let unit = problem.unit.max(1);
        part.bound = part.bound.next_multiple_of(unit);
        let base = SHORTEST_RUN.max(2 * problem.len() as u64);
        // The part of the gap, as a power of 1/2, that a run between the bound and the best height tries to close, and
        // the number of such runs without success since it was set.
        let (mut halvings, mut failures) = (1, 0);
        let mut successful = None;
        let mut runs = 0;
        while part.height > part.bound.max(aim) && !self.work.done() {
            let round = runs / PLAIN_STRATEGIES;
            // The lower bound at first, and at every fourth run later. A height that suffices at every other run.
            let at_bound = if aim > part.bound { runs % 2 == 0 } else { round == 0 || runs % 4 == 0 };
            let gap = part.height - part.bound;
            let target = match (at_bound, aim > part.bound) {
                (true, _) => part.bound,
                (false, true) => aim,
                (false, false) => part.height - (gap >> halvings).max(1).next_multiple_of(unit),
            };
            // No height between two multiples is needed; hints alone can lead to one.
            let target = (target / unit * unit).max(part.bound);
            // What worked before is likely to work again.
            let strategy = match successful {
                Some(strategy) if runs % 2 == 1 => strategy + round * PLAIN_STRATEGIES,
                _ => runs,
            };
            let mut limit = base * luby(round);
            let outcome = search(problem, target, Strategy { number: strategy }, || {
                limit -= 1;
                limit > 0 && self.work.step()
            });
            match outcome {
                Outcome::Packed(packed) => {
                    let tops =
                        packed.iter().enumerate().map(|(buffer, &offset)| offset + problem.size(buffer));
                    part.height = tops.max().unwrap_or(0);
                    for (&buffer, &offset) in problem.buffers.iter().zip(&packed) {
                        self.offsets[buffer as usize] = offset;
                    }
                    successful = Some(strategy % PLAIN_STRATEGIES);
                    failures = 0;
                }
                Outcome::Infeasible => part.bound = target + unit,
                Outcome::Stopped => {
                    failures += u64::from(!at_bound);
                    if failures == FAILURES {
                        (halvings, failures) = ((halvings + 1).min(MAX_HALVINGS), 0);
                    }
                }
            }
            runs += 1;
        }
    }

    /// Repeats first fit, each time with the buffers at the top moved forward, or with neighbours exchanged.
    fn search_orders(&mut self, part: &mut Part, aim: u64) {
        let mut random = Random::new(1);
        let mut placed = self.offsets.clone();
        let mut order = part.order.clone();
        while part.height > part.bound.max(aim) && self.work.step() && !self.work.poll() {
            let Some(height) = self.first_fit.place(&order, u64::MAX, &mut placed) else { return };
            if height < part.height {
                part.height = height;
                part.order.clone_from(&order);
                self.offsets.copy_from_slice(&placed);
            }
            // From time to time, back to the best order.
            if random.next_below(8) == 0 {
                order.clone_from(&part.order);
            }
            let target = part.bound + (height - part.bound) * random.next_below(1000) / 1000;
            promote(self.instance, &mut order, &placed, target);
        }
    }
}

/// Steps of the shortest searches, if the problem is small.
const SHORTEST_RUN: u64 = 500;

/// Number of runs without success after which an easier height is tried.
const FAILURES: u64 = 12;

/// The easiest height is this power of 1/2 of the gap below the best one.
const MAX_HALVINGS: u32 = 6;

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
