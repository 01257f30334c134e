//! The planner: first fit and best fit in several orders, then in turns a local search over the order of first fit, and
//! searches that try the lower bound first. Buffers stay at their hints, offsets of an earlier plan, if the packing is
//! low enough.

use std::num::NonZero;

use super::greedy::{Fit, Greedy, Order, connected_parts};
use super::instance::{Buffer, Instance, LIMIT};
use super::keys::KeySearch;
use super::runs::Schedule;
use super::search::Problem;
use heapwright_core::{ByteSize, HeapOffset};

/// The goal of the planner, and the work that it may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SolveOptions {
    /// Height that suffices: the planner stops when it is reached.
    pub capacity: Option<ByteSize>,
    /// Maximum number of steps; for a given number, results are the same on every machine. A step places one buffer in
    /// a search, or all buffers once without one. The first packing is made in any case.
    pub steps: u64,
    /// Number of threads that search; none is created for 1. Results depend on this number, but not on which thread is
    /// faster.
    pub threads: NonZero<usize>,
    /// How far above the lower bound a packing may be that keeps buffers at their hints, in thousandths of the bound;
    /// with a capacity, it may be as high as that. The planner moves those buffers only if it finds no such packing.
    pub hint_slack_permille: u32,
}

impl Default for SolveOptions {
    /// Any height, 200,000 steps, one thread, no slack.
    fn default() -> Self {
        Self { capacity: None, steps: 200_000, threads: NonZero::<usize>::MIN, hint_slack_permille: 0 }
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
/// `stop` is called often and ends the work early when it returns true, for example at a time limit; the best packing
/// so far is returned.
#[must_use]
pub fn solve(instance: &Instance, options: &SolveOptions, stop: &mut dyn FnMut() -> bool) -> Packing {
    let mut planner = Planner::new(instance, options, stop);
    let enough = options.capacity.map_or(0, ByteSize::get);
    let mut parts: Vec<Part> =
        connected_parts(instance).into_iter().map(|buffers| planner.part(buffers)).collect();
    // A part needs no work below the height that another part needs.
    let needed = |parts: &[Part]| parts.iter().map(|part| part.bound).max().unwrap_or(0).max(enough);
    let bound = parts.iter().map(|part| part.bound).max().unwrap_or(0);
    parts.iter_mut().for_each(|part| planner.keep_hints(part, bound));
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
        let highest = (0..parts.len())
            .filter(|&part| !exhausted[part] && parts[part].height > parts[part].enough)
            .max_by_key(|&part| parts[part].height);
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
pub(super) struct Work<'a> {
    pub(super) left: u64,
    taken: u64,
    stop: &'a mut dyn FnMut() -> bool,
    stopped: bool,
}

impl Work<'_> {
    /// Number of steps of a search between two questions whether to stop.
    const POLL: u64 = 64;

    /// Takes a step. Returns false if there is none left.
    pub(super) fn step(&mut self) -> bool {
        if self.left == 0 || (self.taken.is_multiple_of(Self::POLL) && self.poll()) {
            return false;
        }
        self.left -= 1;
        self.taken += 1;
        true
    }

    /// Takes steps that were made elsewhere.
    pub(super) fn take(&mut self, steps: u64) {
        self.left = self.left.saturating_sub(steps);
        self.taken += steps;
    }

    pub(super) fn poll(&mut self) -> bool {
        self.stopped = self.stopped || (self.stop)();
        self.stopped
    }

    pub(super) fn done(&self) -> bool {
        self.stopped || self.left == 0
    }
}

/// Buffers that conflicts connect.
pub(super) struct Part {
    pub(super) buffers: Vec<u32>,
    pub(super) height: u64,
    pub(super) bound: u64,
    /// The order and the rule by which the buffers were placed at `height`.
    pub(super) order: Vec<u32>,
    pub(super) fit: Fit,
    /// A height that suffices, because the packing keeps hints.
    pub(super) enough: u64,
}

/// The best packing so far, and what improves it.
pub(super) struct Planner<'a, 'b> {
    pub(super) instance: &'a Instance,
    pub(super) greedy: Greedy<'a>,
    pub(super) offsets: Vec<u64>,
    pub(super) options: SolveOptions,
    pub(super) work: Work<'b>,
}

impl<'a, 'b> Planner<'a, 'b> {
    pub(super) fn new(
        instance: &'a Instance,
        options: &SolveOptions,
        stop: &'b mut dyn FnMut() -> bool,
    ) -> Self {
        Self {
            instance,
            greedy: Greedy::new(instance),
            offsets: vec![0; instance.buffers.len()],
            options: *options,
            work: Work { left: options.steps, taken: 0, stop, stopped: false },
        }
    }

    /// Creates a part and its first packing: the lower one of first fit and best fit by size.
    pub(super) fn part(&mut self, buffers: Vec<u32>) -> Part {
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
        let height = self.greedy.place(&order, Fit::First, u64::MAX, &mut self.offsets).unwrap_or(u64::MAX);
        let mut part = Part { buffers, height, bound, order: order.clone(), fit: Fit::First, enough: 0 };
        if part.height > bound {
            self.try_order(&mut part, &order, Fit::Best);
        }
        part
    }

    fn is_large(&self, part: &Part) -> bool {
        Problem::is_too_large(part.buffers.len(), self.instance.sections.len())
    }

    /// Tries other orders, each by first fit and by best fit.
    fn improve_orders(&mut self, part: &mut Part, aim: u64) {
        for order in &Order::ALL[1..] {
            let mut buffers = part.buffers.clone();
            order.sort(self.instance, &mut buffers);
            for fit in [Fit::First, Fit::Best] {
                if part.height <= aim.max(part.bound).max(part.enough)
                    || !self.work.step()
                    || self.work.poll()
                {
                    return;
                }
                self.try_order(part, &buffers, fit);
            }
        }
    }

    /// Places the buffers in an order and keeps the packing if it is lower.
    fn try_order(&mut self, part: &mut Part, order: &[u32], fit: Fit) {
        let mut placed = self.offsets.clone();
        if let Some(height) = self.greedy.place(order, fit, part.height, &mut placed) {
            (part.height, part.fit) = (height, fit);
            part.order = order.to_vec();
            self.offsets = placed;
        }
    }

    /// Searches for lower packings until the height is proved, at most `aim`, or no work may be done any more: in turns
    /// by first fit in changed orders, and by exact searches of the part or of its heaviest sections.
    fn search(&mut self, part: &mut Part, aim: u64) {
        let problem = Problem::new(self.instance, part.buffers.clone());
        self.search_in_turns(part, problem.as_ref(), aim);
    }

    /// Searches, without exact searches of the part if there is no `problem`.
    pub(super) fn search_in_turns(&mut self, part: &mut Part, problem: Option<&Problem>, aim: u64) {
        let mut schedule = problem.map(|problem| Schedule::new(problem, part, aim));
        let mut keys = KeySearch::new();
        let mut is_first_fits_turn = true;
        let mut round = 0;
        loop {
            let before = part.height;
            let packings = PACKINGS << round.min(20);
            match (problem, &mut schedule) {
                _ if is_first_fits_turn => self.search_keys(part, aim, &mut keys, packings),
                // As many steps as buffers are placed by first fit.
                (Some(problem), Some(schedule)) => {
                    let steps = packings.saturating_mul(problem.len() as u64);
                    self.search_exactly(part, problem, schedule, steps);
                }
                _ => self.pack_heaviest_first(part, aim, round),
            }
            if part.height <= part.bound.max(aim) || self.work.done() {
                return;
            }
            // What makes the packing lower goes on.
            if part.height == before {
                is_first_fits_turn = !is_first_fits_turn;
                round += u32::from(is_first_fits_turn);
            }
        }
    }
}

/// Packings by first fit in the first turns; in the next round of turns there are twice as many.
const PACKINGS: u64 = 16;

/// Steps of a search for places around buffers that keep their hints; at most an eighth of those that are left.
const HINT_STEPS: u64 = 20_000;

impl Planner<'_, '_> {
    /// Keeps the buffers of a part at their hints if there is a packing that fits into the capacity or, without one, is
    /// at most [`SolveOptions::hint_slack_permille`] above `bound`, which the heap has anyway: at first all of them,
    /// then all but those that conflict with a buffer that has to move. Otherwise keeps them if the packing is no
    /// higher than that of first fit.
    pub(super) fn keep_hints(&mut self, part: &mut Part, bound: u64) {
        let instance = self.instance;
        if part.buffers.iter().all(|&buffer| instance.buffers[buffer as usize].hint.is_none()) {
            return;
        }
        let slack = u128::from(bound) * u128::from(self.options.hint_slack_permille) / 1000;
        let enough = match self.options.capacity {
            Some(capacity) => capacity.get().max(bound),
            None => bound.saturating_add(u64::try_from(slack).unwrap_or(u64::MAX)),
        };
        // Hints are not checked. A buffer is not kept at one where sums of offsets and sizes can overflow.
        let enough = enough.min(LIMIT - 1);
        let (mut kept, others, is_placed) = self.place_at_hints(part, enough.max(part.height).min(LIMIT - 1));
        if is_placed && part.height <= enough {
            part.enough = enough;
            return;
        }
        // In a large part, a step takes too long for a search.
        if others.is_empty() || self.is_large(part) {
            return;
        }
        let mut is_found = self.search_around(part, &kept, enough);
        if !is_found {
            let moves = |buffer: &u32| {
                others.iter().any(|&other| instance.conflict(*buffer as usize, other as usize))
            };
            kept.retain(|buffer| !moves(buffer));
            is_found = self.search_around(part, &kept, enough);
        }
        if is_found {
            part.enough = enough;
        }
    }

    /// Places buffers at their hints, and the others around them by first fit. Keeps the packing if it is at most
    /// `limit` high. Returns the buffers that are at their hints, the others, and whether the packing is kept.
    fn place_at_hints(&mut self, part: &mut Part, limit: u64) -> (Vec<u32>, Vec<u32>, bool) {
        let instance = self.instance;
        let mut placed = self.offsets.clone();
        let (mut height, mut kept, mut others) = (0, Vec::new(), Vec::new());
        self.greedy.clear();
        // Buffers with a fixed offset are the first of the order.
        for &buffer in &part.order {
            let Buffer { size, alignment, fixed_offset, hint } = instance.buffers[buffer as usize];
            let end = |offset: u64| offset.saturating_add(size.get());
            let wanted = fixed_offset.or(hint).filter(|offset| offset.is_aligned(alignment));
            match wanted.map(HeapOffset::get).filter(|&offset| end(offset) <= limit) {
                Some(offset) if self.greedy.place_at(buffer, offset, end(offset)) => {
                    placed[buffer as usize] = offset;
                    height = height.max(end(offset));
                    kept.push(buffer);
                }
                _ => others.push(buffer),
            }
        }
        let top = self.greedy.place_others(&others, part.fit, limit.saturating_add(1), &mut placed);
        if let Some(top) = top {
            self.offsets = placed;
            part.height = height.max(top);
        }
        (kept, others, top.is_some())
    }

    /// Searches for a packing of at most this height in which some buffers have the offsets of their hints. Returns
    /// whether there is one.
    fn search_around(&mut self, part: &mut Part, kept: &[u32], limit: u64) -> bool {
        let mut instance = self.instance.subset(&part.buffers);
        let mut is_kept = vec![false; self.instance.buffers.len()];
        kept.iter().for_each(|&buffer| is_kept[buffer as usize] = true);
        for (&number, buffer) in part.buffers.iter().zip(&mut instance.buffers) {
            let hint = buffer.hint.take().filter(|_| is_kept[number as usize]);
            buffer.fixed_offset = buffer.fixed_offset.or(hint);
            if hint.is_some_and(|offset| offset.get().saturating_add(buffer.size.get()) > limit) {
                return false;
            }
        }
        let options = SolveOptions {
            capacity: Some(ByteSize::new(limit)),
            steps: HINT_STEPS.min(self.work.left / 8),
            hint_slack_permille: 0,
            ..self.options
        };
        let packing = solve(&instance, &options, &mut || self.work.poll());
        self.work.take(packing.steps);
        let height = packing.height.get();
        if height > limit {
            return false;
        }
        for (&buffer, offset) in part.buffers.iter().zip(&packing.offsets) {
            self.offsets[buffer as usize] = offset.get();
        }
        part.height = height;
        true
    }
}
