//! Converts scenarios to workloads.

use heapwright::{Alignment, ByteSize};

use super::patterns::{CameraPath, Draw, Draws, Drifting, Turns, share, sums};
use super::random::{Random, power};
use super::{Frame, HeapNumber, WorkHeap, Workload, as_index};
use crate::scenario::{GRANULARITY, Group, Pattern, RotaDraw, Scenario};

/// The error of a scenario that exceeds the limits of the simulation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TooMuch {
    /// The submissions use heaps too often.
    #[error(
        "{path}: the submissions use heaps more than {limit} times in total; reduce the number of frames or heaps"
    )]
    Uses {
        /// The file.
        path: String,
        /// The maximum number of uses.
        limit: usize,
    },
    /// There are too many heaps.
    #[error("{path}: the scenario has more than {limit} heaps in total, including replacements")]
    Heaps {
        /// The file.
        path: String,
        /// The maximum number of heaps.
        limit: usize,
    },
    /// The heaps have too many bytes.
    #[error("{path}: the heaps exceed {limit} in total, including replacements")]
    Bytes {
        /// The file.
        path: String,
        /// The maximum total size of the heaps.
        limit: ByteSize,
    },
}

/// The maximum number of uses, which take 800 MB of memory.
const MAX_USES: usize = 200_000_000;
const MAX_HEAPS: usize = 4_000_000;
/// The maximum total size, less than the address space of the simulated GPU and of a process on the host.
const MAX_BYTES: ByteSize = ByteSize::from_gib(8 << 10);

/// The streams of random numbers that have the same seed.
mod stream {
    pub(super) const SIZES: u64 = 1;
    pub(super) const LIVES: u64 = 2;
    pub(super) const CAMERA: u64 = 3;
    pub(super) const ROTA: u64 = 4;
    pub(super) const RANDOM: u64 = 5;
    pub(super) const DRIFT: u64 = 6;
}

/// Creates the workload that a scenario describes. The result is deterministic.
pub fn expand(scenario: &Scenario) -> Result<Workload, TooMuch> {
    let mut expansion = Expansion::new(scenario)?;
    for frame in 0..scenario.frames {
        expansion.frame(frame)?;
    }
    Ok(expansion.workload)
}

struct Expansion<'a> {
    scenario: &'a Scenario,
    workload: Workload,
    bytes: ByteSize,
    groups: Vec<Places>,
    cameras: Vec<CameraPath>,
    rotas: Vec<Turns>,
    /// The progress of each use of each kind of submission.
    progress: Vec<Vec<Progress>>,
    /// The number plus one of the last submission that used each heap.
    used_by: Vec<usize>,
}

/// The heaps of a group.
struct Places {
    /// The current heap of each place.
    heaps: Vec<HeapNumber>,
    /// The frame in which each place gets another heap; empty if heaps are never replaced.
    ends: Vec<u32>,
    sizes: Random,
    lives: Random,
}

/// The progress of a pattern.
enum Progress {
    /// The pattern depends only on the frame.
    None,
    Cyclic(u32),
    Random(Draws),
    Drift(Drifting),
}

impl<'a> Expansion<'a> {
    fn new(scenario: &'a Scenario) -> Result<Self, TooMuch> {
        let queue_count = scenario.submissions.iter().map(|kind| kind.queue + 1).max().unwrap_or(1);
        let workload =
            Workload::new(scenario.name.clone(), scenario.paging, scenario.frames_in_flight, queue_count);
        let cameras = scenario.cameras.iter().map(|camera| {
            CameraPath::new(camera.speed, camera.turn, camera.back, Random::new(camera.seed, stream::CAMERA))
        });
        let rotas = scenario.rotas.iter().map(|rota| {
            let draw = match &rota.draw {
                RotaDraw::Weights(weights) => Draw::Weighted(sums(weights.iter().copied())),
                RotaDraw::Order(order) => Draw::InOrder(order.clone(), 0),
            };
            Turns::new(rota.turns, draw, Random::new(rota.seed, stream::ROTA))
        });
        let progress = scenario.submissions.iter().map(|kind| {
            kind.uses.iter().map(|entry| Progress::new(&entry.pattern, &scenario.groups)).collect()
        });
        let mut expansion = Self {
            scenario,
            workload,
            bytes: ByteSize::ZERO,
            groups: Vec::new(),
            cameras: cameras.collect(),
            rotas: rotas.collect(),
            progress: progress.collect(),
            used_by: Vec::new(),
        };
        for group in &scenario.groups {
            expansion.add_group(group)?;
        }
        Ok(expansion)
    }

    fn add_group(&mut self, group: &Group) -> Result<(), TooMuch> {
        let mut places = Places {
            heaps: Vec::new(),
            ends: Vec::new(),
            sizes: Random::new(group.seed, stream::SIZES),
            lives: Random::new(group.seed, stream::LIVES),
        };
        for _ in 0..group.count {
            places.heaps.push(self.add_heap(group, &mut places.sizes, group.is_resident, true)?);
            if let Some([_, most]) = group.lives {
                // As if the heaps had lived for a while.
                places.ends.push(places.lives.between([1, most]));
            }
        }
        self.groups.push(places);
        Ok(())
    }

    fn add_heap(
        &mut self,
        group: &Group,
        sizes: &mut Random,
        is_resident: bool,
        is_first: bool,
    ) -> Result<HeapNumber, TooMuch> {
        let path = || self.scenario.path.clone();
        let size = draw_size(group.sizes, sizes);
        self.bytes = self.bytes.saturating_add(size);
        if self.bytes > MAX_BYTES {
            return Err(TooMuch::Bytes { path: path(), limit: MAX_BYTES });
        }
        if self.workload.heaps.len() == MAX_HEAPS {
            return Err(TooMuch::Heaps { path: path(), limit: MAX_HEAPS });
        }
        self.used_by.push(0);
        Ok(self.workload.add_heap(WorkHeap {
            size,
            group: group.segment,
            level: group.level,
            is_resident,
            is_locked: group.is_locked,
            is_first,
        }))
    }

    fn frame(&mut self, number: u32) -> Result<(), TooMuch> {
        let scenario = self.scenario;
        self.cameras.iter_mut().for_each(CameraPath::step);
        self.rotas.iter_mut().for_each(Turns::step);
        let born = self.replace_heaps(number)?;
        let first = self.workload.submissions.len();
        for (kind_number, kind) in scenario.submissions.iter().enumerate() {
            for part in 0..kind.repeat {
                let set = self.set(kind_number, number, part);
                if self.workload.uses.len() + set.len() > MAX_USES {
                    let path = scenario.path.clone();
                    return Err(TooMuch::Uses { path, limit: MAX_USES });
                }
                self.workload.submit(kind.queue, kind.gpu, set);
            }
        }
        let budget = scenario.budgets.iter().rev().find(|(from, _)| *from <= number);
        let &(_, budget) = budget.expect("the first budget is from frame 0");
        self.workload.frames.push(Frame {
            budget,
            cpu: scenario.cpu,
            born,
            submissions: first..self.workload.submissions.len(),
            died: Vec::new(),
        });
        Ok(())
    }

    /// Replaces the heaps whose lifetime has ended.
    fn replace_heaps(&mut self, frame: u32) -> Result<Vec<HeapNumber>, TooMuch> {
        let scenario = self.scenario;
        let mut born = Vec::new();
        for (number, group) in scenario.groups.iter().enumerate() {
            let Some(lives) = group.lives else { continue };
            for place in 0..self.groups[number].ends.len() {
                if self.groups[number].ends[place] != frame {
                    continue;
                }
                let mut sizes = self.groups[number].sizes.clone();
                let heap = self.add_heap(group, &mut sizes, true, false)?;
                born.push(heap);
                let places = &mut self.groups[number];
                places.sizes = sizes;
                let old = std::mem::replace(&mut places.heaps[place], heap);
                places.ends[place] = frame.saturating_add(places.lives.between(lives));
                if let Some(before) = self.workload.frames.last_mut() {
                    before.died.push(old);
                }
            }
        }
        Ok(born)
    }

    /// Returns the heaps of a submission, each once, in the order of the uses.
    fn set(&mut self, kind: usize, frame: u32, part: u32) -> Vec<HeapNumber> {
        let scenario = self.scenario;
        let parts = scenario.submissions[kind].repeat;
        let mark = self.workload.submissions.len() + 1;
        let mut set = Vec::new();
        let mut places = Vec::new();
        for (entry, progress) in scenario.submissions[kind].uses.iter().zip(&mut self.progress[kind]) {
            if !entry.frames.contains(&frame) {
                continue;
            }
            places.clear();
            let all = |group: usize, by_parts: bool| {
                let count = scenario.groups[group].count;
                if by_parts { share(count, part, parts) } else { 0..count }
            };
            let group = match (&entry.pattern, progress) {
                (&Pattern::All { group, by_parts }, _) => {
                    places.extend(all(group, by_parts));
                    group
                }
                (Pattern::InTurn { rota, groups, by_parts }, _) => {
                    let group = groups[as_index(self.rotas[*rota].current())];
                    places.extend(all(group, *by_parts));
                    group
                }
                (&Pattern::Window { group, columns, radius, camera }, _) => {
                    places.extend(self.cameras[camera].tiles_around(columns, radius));
                    group
                }
                (&Pattern::Cyclic { group, count }, Progress::Cyclic(next)) => {
                    let of = scenario.groups[group].count;
                    for _ in 0..count {
                        places.push(*next);
                        *next = (*next + 1) % of;
                    }
                    group
                }
                (&Pattern::Random { group, .. }, Progress::Random(draws)) => {
                    draws.step(&mut places);
                    group
                }
                (&Pattern::Drift { group, .. }, Progress::Drift(drifting)) => {
                    drifting.step(&mut places);
                    group
                }
                (Pattern::Cyclic { .. } | Pattern::Random { .. } | Pattern::Drift { .. }, _) => continue,
            };
            let heaps = &self.groups[group].heaps;
            for heap in places.iter().map(|&place| heaps[as_index(place)]) {
                if std::mem::replace(&mut self.used_by[as_index(heap)], mark) != mark {
                    set.push(heap);
                }
            }
        }
        set
    }
}

impl Progress {
    fn new(pattern: &Pattern, groups: &[Group]) -> Self {
        match *pattern {
            Pattern::All { .. } | Pattern::Window { .. } | Pattern::InTurn { .. } => Self::None,
            Pattern::Cyclic { .. } => Self::Cyclic(0),
            Pattern::Random { group, count, zipf, seed } => {
                Self::Random(Draws::new(groups[group].count, count, zipf, Random::new(seed, stream::RANDOM)))
            }
            Pattern::Drift { group, count, change, seed } => Self::Drift(Drifting::new(
                groups[group].count,
                count,
                change,
                Random::new(seed, stream::DRIFT),
            )),
        }
    }
}

/// Draws a size, uniformly distributed over the logarithm, and rounds it up.
#[expect(clippy::cast_precision_loss, reason = "sizes in scenario files have at most 40 bits")]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between the two sizes")]
fn draw_size([least, most]: [ByteSize; 2], random: &mut Random) -> ByteSize {
    if least == most {
        return least;
    }
    let spread = most.get() as f64 / least.get() as f64;
    let bytes = least.get() as f64 * power(spread, random.unit());
    let granularity = Alignment::new(GRANULARITY.get()).expect("the granularity is a power of two");
    ByteSize::new(bytes as u64).align_up(granularity).map_or(most, |size| size.clamp(least, most))
}
