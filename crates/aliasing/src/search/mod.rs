//! Exact search: is there a packing of at most a given height?
//!
//! The search decides one memory cell after the other. It takes a section and asks which buffer begins at the section's
//! floor: one of those whose head is the floor, or none, so that the memory there stays free. The answers exclude each
//! other and leave nothing out, so no packing is visited twice. A section can be asked as soon as no buffer could move
//! below one of the answers; of those sections, the one with the fewest answers is taken.
//!
//! Buffers that no chain of conflicts connects any more are searched apart: if one part is infeasible, the search
//! returns to the step that separated it, without trying other packings of the other parts.
//!
//! Search times have a heavy tail, so the caller runs many short searches that differ in their [`Strategy`].

mod state;

use std::cmp::Reverse;
use std::collections::BTreeMap;

use self::state::State;
use super::instance::{Instance, index};

/// Which section is decided next, and which of its buffers is tried first.
#[derive(Debug, Clone, Copy)]
pub(super) struct Strategy {
    /// Number of the strategy: it decides about the two orders, and about the perturbation of the second.
    pub(super) number: u64,
}

/// Number of strategies without a perturbation.
pub(super) const PLAIN_STRATEGIES: u64 = 16;

impl Strategy {
    /// Returns the ranks of buffers: buffers with a higher rank are tried first. Equal buffers have equal ranks.
    fn ranks(self, problem: &Problem) -> Vec<u64> {
        let mut random = Random::new(self.number);
        let mut ranks: Vec<u64> = Vec::with_capacity(problem.len());
        let sections = problem.loads.len() as u64 + 1;
        let unit = problem.unit.max(1);
        for buffer in 0..problem.len() {
            let noise = random.next_below(1000);
            let twin = problem.twins[buffer] as usize;
            if twin < buffer {
                ranks.push(ranks[twin]);
                continue;
            }
            let size = u128::from(problem.sizes[buffer] / unit);
            let length = problem.cover.get(buffer).len() as u128;
            let load = problem.cover.get(buffer).iter().map(|&section| problem.loads[section as usize]).max();
            let load = u128::from(load.unwrap_or(0) / unit);
            let rank = match self.number % 4 {
                0 => length * size,
                1 => (length << 32) + size,
                2 => size * u128::from(sections) + length,
                _ => (load << 40) + length * size,
            };
            let rank = if self.number < PLAIN_STRATEGIES {
                rank
            } else {
                rank * (600 + u128::from(noise) * 8 / 10) / 1000
            };
            ranks.push(u64::try_from(rank).unwrap_or(u64::MAX));
        }
        ranks
    }

    /// Returns the sort key of a section: its number of answers, its memory that may stay free, and its floor.
    fn key(self, answers: u64, slack: u64, floor: u64) -> (u64, u64) {
        let forced = answers <= 1;
        match self.number / 4 % 4 {
            0 => (answers, slack),
            1 => (if forced { 0 } else { slack + 1 }, answers),
            2 => (answers, floor),
            _ => (if forced { 0 } else { floor + 1 }, answers),
        }
    }
}

/// A small generator of pseudo-random numbers, xorshift64*.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(super) fn next_below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32) % bound
    }
}

/// Result of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The offsets of a packing, in the order of the problem's buffers.
    Packed(Vec<u64>),
    /// There is no packing of this height.
    Infeasible,
    /// The search was stopped.
    Stopped,
}

/// One answer to a question.
#[derive(Debug, Clone, Copy)]
enum Answer {
    Place(u32),
    LeaveFree,
}

/// A question with its answers.
struct Question {
    /// State of the packing before the answer.
    mark: usize,
    section: usize,
    /// Answers that were not tried yet, the next one last.
    answers: Vec<Answer>,
    /// The question whose answers are the cause if none of these works.
    parent: Option<usize>,
    part: Vec<u32>,
    /// Parts that are searched after this one.
    later: Option<usize>,
}

/// A part that is searched later.
struct Later {
    part: Vec<u32>,
    parent: Option<usize>,
    next: Option<usize>,
}

/// Searches for a packing of at most `capacity` bytes. `step` is called for each step and returns whether to go on.
pub(super) fn search(
    problem: &Problem,
    capacity: u64,
    strategy: Strategy,
    mut step: impl FnMut() -> bool,
) -> Outcome {
    let Some(mut state) = State::new(problem, capacity) else { return Outcome::Infeasible };
    let ranks = strategy.ranks(problem);
    let mut questions: Vec<Question> = Vec::new();
    let mut agenda: Vec<Later> = Vec::new();
    let mut part: Vec<u32> = (0..index(problem.loads.len())).collect();
    let (mut parent, mut later) = (None, None);
    loop {
        let mut parts = separate(&state, &part);
        // The part with the least memory to spare fails first, if any does.
        parts.sort_by_key(|part| Reverse(part.iter().map(|&section| slack(&state, section as usize)).min()));
        match parts.pop() {
            Some(tightest) => {
                for part in parts {
                    agenda.push(Later { part, parent, next: later });
                    later = Some(agenda.len() - 1);
                }
                part = tightest;
            }
            None => match later {
                None => return Outcome::Packed(state.offsets),
                Some(number) => {
                    let next = &agenda[number];
                    (part, parent, later) = (next.part.clone(), next.parent, next.next);
                }
            },
        }
        let (section, answers) = ask(&mut state, &part, strategy, &ranks);
        questions.push(Question { mark: state.mark(), section, answers, parent, part, later });
        let mut current = questions.len() - 1;
        loop {
            let question = &mut questions[current];
            state.undo_to(question.mark);
            let Some(answer) = question.answers.pop() else {
                match question.parent {
                    Some(parent) => current = parent,
                    None => return Outcome::Infeasible,
                }
                continue;
            };
            if !step() {
                return Outcome::Stopped;
            }
            let feasible = match answer {
                Answer::Place(buffer) => state.place(buffer),
                Answer::LeaveFree => state.leave_free(question.section),
            };
            if feasible {
                break;
            }
        }
        questions.truncate(current + 1);
        let question = &questions[current];
        part = question.part.clone();
        (parent, later) = (Some(current), question.later);
        agenda.truncate(later.map_or(0, |later| later + 1));
    }
}

/// Returns the memory of a section that may stay free.
fn slack(state: &State<'_>, section: usize) -> u64 {
    state.capacity - state.floors[section] - state.left[section]
}

/// Splits a part into parts between which there is no conflict, without the sections in which all is placed.
fn separate(state: &State<'_>, part: &[u32]) -> Vec<Vec<u32>> {
    let mut remaining: Vec<u32> =
        part.iter().copied().filter(|&section| state.left[section as usize] > 0).collect();
    let mut parts = Vec::new();
    let mut set = vec![0; state.words];
    while let Some(&first) = remaining.first() {
        set.fill(0);
        state.collect(first as usize, &mut set);
        let mut joined = Vec::new();
        loop {
            let before = joined.len();
            // In the order of time, the first pass finds all.
            remaining.retain(|&section| {
                let joins = state.join(section as usize, &mut set);
                if joins {
                    joined.push(section);
                }
                !joins
            });
            if joined.len() == before || remaining.is_empty() {
                break;
            }
        }
        parts.push(joined);
    }
    parts
}

/// Chooses a section of a part and returns the answers to what is at its floor, the first to be tried last.
fn ask(state: &mut State<'_>, part: &[u32], strategy: Strategy, ranks: &[u64]) -> (usize, Vec<Answer>) {
    if let Some(buffer) = state.everlasting(part, ranks) {
        return (part[0] as usize, vec![Answer::Place(buffer)]);
    }
    state.begin_question();
    let mut best: Option<((u64, u64), usize, Vec<u32>)> = None;
    let mut found = Vec::new();
    for &section in part {
        let section = section as usize;
        if !state.candidates(section, ranks, &mut found) {
            continue;
        }
        let slack = slack(state, section);
        let answers = found.len() as u64 + u64::from(slack > 0);
        let key = strategy.key(answers, slack, state.floors[section]);
        if best.as_ref().is_none_or(|(best, ..)| key < *best) {
            best = Some((key, section, found.clone()));
            if answers == 0 {
                break;
            }
        }
    }
    // The lowest section of a part can always be decided.
    let Some((_, section, mut buffers)) = best else { return (part[0] as usize, Vec::new()) };
    buffers.sort_unstable_by_key(|&buffer| (ranks[buffer as usize], Reverse(buffer)));
    let free = (slack(state, section) > 0).then_some(Answer::LeaveFree);
    (section, free.into_iter().chain(buffers.into_iter().map(Answer::Place)).collect())
}

/// Lists of numbers, one after the other.
#[derive(Clone, Default)]
pub(super) struct Lists {
    starts: Vec<u32>,
    items: Vec<u32>,
}

impl Lists {
    fn new() -> Self {
        Self { starts: vec![0], items: Vec::new() }
    }

    fn end_list(&mut self) {
        self.starts.push(index(self.items.len()));
    }

    pub(super) fn get(&self, list: usize) -> &[u32] {
        &self.items[self.starts[list] as usize..self.starts[list + 1] as usize]
    }
}

/// Buffers that conflicts connect, numbered from zero, and the sections in which they live.
#[derive(Clone)]
pub(super) struct Problem {
    /// The instance's index of each buffer.
    pub(super) buffers: Vec<u32>,
    sizes: Vec<u64>,
    /// Alignments minus one.
    masks: Vec<u64>,
    /// The largest alignment minus one.
    largest_mask: u64,
    fixed: Vec<Option<u64>>,
    /// Whether any offset is fixed.
    any_fixed: bool,
    /// Sections of each buffer, ascending.
    cover: Lists,
    /// Buffers of each section.
    members: Lists,
    /// Buffers that conflict with each buffer.
    neighbours: Lists,
    /// For each buffer, the first one of the same size, alignment and sections.
    twins: Vec<u32>,
    /// Sum of the sizes in each section.
    loads: Vec<u64>,
    /// Every height of a packing without needless gaps is a multiple of this.
    pub(super) unit: u64,
}

/// Problems with larger tables are not searched.
const MAX_TABLE: usize = 6_000_000;

/// Maximum product of the numbers of buffers and sections of a problem that is searched. A step takes time in
/// proportion to it, and a packing has a step for each buffer: with ten times as many, 10,000 random buffers had no
/// packing after ten seconds.
const MAX_CELLS: usize = 4_000_000;

impl Problem {
    /// Returns whether so many buffers in so many sections are surely too many to be searched.
    pub(super) fn is_too_large(buffers: usize, sections: usize) -> bool {
        sections.saturating_mul(buffers) > MAX_CELLS
    }

    /// Creates the problem of these buffers of an instance, or `None` if it is too large to be searched.
    pub(super) fn new(instance: &Instance, buffers: Vec<u32>) -> Option<Self> {
        let sections = &instance.sections;
        let size: usize = buffers.iter().map(|&buffer| sections.count_of(buffer as usize)).sum();
        if size > MAX_TABLE {
            return None;
        }
        // The part's own numbers for its sections.
        let mut used: Vec<usize> = buffers.iter().flat_map(|&buffer| sections.of(buffer as usize)).collect();
        used.sort_unstable();
        used.dedup();
        if Self::is_too_large(buffers.len(), used.len()) {
            return None;
        }
        let mut numbers = vec![0; used.last().map_or(0, |&last| last + 1)];
        for (number, &section) in used.iter().enumerate() {
            numbers[section] = index(number);
        }
        let mut cover = Lists::new();
        let mut of_section = vec![Vec::new(); used.len()];
        for (number, &buffer) in buffers.iter().enumerate() {
            for section in sections.of(buffer as usize) {
                cover.items.push(numbers[section]);
                of_section[numbers[section] as usize].push(index(number));
            }
            cover.end_list();
        }
        let mut members = Lists::new();
        for list in &of_section {
            members.items.extend(list);
            members.end_list();
        }
        let mut neighbours = Lists::new();
        let mut seen = vec![usize::MAX; buffers.len()];
        for buffer in 0..buffers.len() {
            seen[buffer] = buffer;
            for &section in cover.get(buffer) {
                for &other in &of_section[section as usize] {
                    if std::mem::replace(&mut seen[other as usize], buffer) != buffer {
                        neighbours.items.push(other);
                    }
                }
            }
            if neighbours.items.len() > MAX_TABLE {
                return None;
            }
            neighbours.end_list();
        }
        let of = |buffer: &u32| instance.buffers()[*buffer as usize];
        let sizes: Vec<u64> = buffers.iter().map(|buffer| of(buffer).size.get()).collect();
        let masks: Vec<u64> = buffers.iter().map(|buffer| of(buffer).alignment.get() - 1).collect();
        let fixed: Vec<Option<u64>> =
            buffers.iter().map(|buffer| of(buffer).fixed_offset.map(|offset| offset.get())).collect();
        // Offsets are sums of sizes, rounded up to alignments.
        let unit = (sizes.iter().copied().chain(fixed.iter().flatten().copied()))
            .chain(masks.iter().filter(|&&mask| mask > 0).map(|&mask| mask + 1))
            .fold(0, greatest_common_divisor);
        let loads = used.iter().map(|&section| sections.loads[section]).collect();
        let mut first_of = BTreeMap::new();
        let twins = (0..buffers.len())
            .map(|buffer| {
                let key = (sizes[buffer], masks[buffer], fixed[buffer], cover.get(buffer));
                *first_of.entry(key).or_insert(index(buffer))
            })
            .collect();
        let largest_mask = masks.iter().copied().max().unwrap_or(0);
        let any_fixed = fixed.iter().any(Option::is_some);
        Some(Self {
            any_fixed,
            twins,
            largest_mask,
            buffers,
            sizes,
            masks,
            fixed,
            cover,
            members,
            neighbours,
            loads,
            unit,
        })
    }

    pub(super) fn len(&self) -> usize {
        self.sizes.len()
    }

    pub(super) fn size(&self, buffer: usize) -> u64 {
        self.sizes[buffer]
    }

    fn align_up(&self, buffer: usize, offset: u64) -> u64 {
        (offset + self.masks[buffer]) & !self.masks[buffer]
    }
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
