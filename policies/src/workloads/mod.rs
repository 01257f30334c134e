//! Generated workloads for measuring policies: programs that use more than fits in memory.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::missing_panics_doc,
    reason = "the numbers of workloads are small"
)]

mod generated;

use std::time::Duration;

use heapwright_core::ByteSize;
use heapwright_core::residency::{PriorityLevel, SegmentGroup};
use heapwright_simulation::{Frame, HeapNumber, PagingCost, Random, WorkHeap, Workload};

pub use generated::{FIRST_EVALUATION_SEED, Shape, generate};

const MIB: u64 = 1 << 20;

/// The GPU may still execute the submission that is two before the current one.
const FRAMES_IN_FLIGHT: usize = 3;
const PAGING: PagingCost = PagingCost { bytes_per_second: 24e9, latency: Duration::from_micros(20) };
const GPU: Duration = Duration::from_micros(16_667);

/// The state of a heap before its first use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Beginning {
    /// Its content must be paged in.
    Evicted,
    /// It is created resident.
    Created,
}

#[derive(Debug, Clone, Copy)]
struct Heap {
    size: u64,
    beginning: Beginning,
    /// Whether it is destroyed after its last use.
    transient: bool,
}

#[derive(Debug)]
struct Submission {
    queue: usize,
    budget: u64,
    heaps: Vec<usize>,
}

#[derive(Debug)]
struct Build {
    name: String,
    heaps: Vec<Heap>,
    submissions: Vec<Submission>,
}

impl Build {
    fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), heaps: Vec::new(), submissions: Vec::new() }
    }

    fn heap(&mut self, size: u64, beginning: Beginning) -> usize {
        // The size that the device allocates.
        let size = size.next_multiple_of(64 << 10);
        self.heaps.push(Heap { size, beginning, transient: false });
        self.heaps.len() - 1
    }

    fn heaps(
        &mut self,
        count: usize,
        sizes: std::ops::Range<u64>,
        beginning: Beginning,
        random: &mut Random,
    ) -> Vec<usize> {
        (0..count).map(|_| self.heap(random.range(sizes.start, sizes.end), beginning)).collect()
    }

    fn submit(&mut self, budget: u64, heaps: Vec<usize>) {
        self.submit_to(0, budget, heaps);
    }

    fn submit_to(&mut self, queue: usize, budget: u64, mut heaps: Vec<usize>) {
        heaps.sort_unstable();
        heaps.dedup();
        self.submissions.push(Submission { queue, budget, heaps });
    }

    fn bytes(&self, heaps: &[usize]) -> u64 {
        heaps.iter().map(|&heap| self.heaps[heap].size).sum()
    }

    fn all_bytes(&self) -> u64 {
        self.heaps.iter().map(|heap| heap.size).sum()
    }

    /// Returns the maximum size of the heaps that `passes` consecutive submissions use.
    fn peak(&self, passes: usize) -> u64 {
        self.peak_from(0, passes)
    }

    /// Like [`peak`](Self::peak), from a submission on.
    fn peak_from(&self, begin: usize, passes: usize) -> u64 {
        let frame = |submissions: &[Submission]| {
            let mut heaps: Vec<_> =
                submissions.iter().flat_map(|submission| &submission.heaps).copied().collect();
            heaps.sort_unstable();
            heaps.dedup();
            self.bytes(&heaps)
        };
        self.submissions[begin..].windows(passes).map(frame).max().unwrap_or(0)
    }

    /// Returns the first and the last submission that use each heap.
    fn lives(&self) -> Vec<Option<(usize, usize)>> {
        let mut lives = vec![None; self.heaps.len()];
        for (number, submission) in self.submissions.iter().enumerate() {
            for &heap in &submission.heaps {
                lives[heap].get_or_insert((number, number)).1 = number;
            }
        }
        lives
    }

    /// Returns the most bytes that are alive at a time, of the heaps that are first used from `begin` on.
    fn most_alive(&self, begin: usize) -> u64 {
        let mut changes = vec![0_i64; self.submissions.len() + 1];
        for (heap, life) in self.heaps.iter().zip(self.lives()) {
            let Some((first, last)) = life.filter(|&(first, _)| first >= begin) else { continue };
            changes[first] += heap.size as i64;
            if heap.transient {
                changes[last + 1] -= heap.size as i64;
            }
        }
        let alive = changes.iter().scan(0, |alive, change| {
            *alive += change;
            Some(*alive)
        });
        alive.max().unwrap_or(0) as u64
    }

    /// Returns the workload with one frame per submission.
    fn done(self) -> Workload {
        let lives = self.lives();
        let queues = self.submissions.iter().map(|submission| submission.queue + 1).max().unwrap_or(1);
        let mut workload = Workload::new(self.name.clone(), PAGING, FRAMES_IN_FLIGHT, queues);
        let mut numbers: Vec<Option<HeapNumber>> = vec![None; self.heaps.len()];
        for (at, submission) in self.submissions.iter().enumerate() {
            let (mut born, mut died) = (Vec::new(), Vec::new());
            for &heap in &submission.heaps {
                let Heap { size, beginning, transient } = self.heaps[heap];
                let number = *numbers[heap].get_or_insert_with(|| {
                    let number = workload.add_heap(WorkHeap {
                        size: ByteSize::new(size),
                        group: SegmentGroup::Local,
                        level: PriorityLevel::Normal,
                        is_resident: beginning == Beginning::Created,
                        is_locked: false,
                        is_first: false,
                    });
                    born.push(number);
                    number
                });
                if transient && lives[heap].is_some_and(|(_, last)| last == at) {
                    died.push(number);
                }
            }
            let set: Vec<_> = submission.heaps.iter().filter_map(|&heap| numbers[heap]).collect();
            workload.submit(submission.queue, GPU, set);
            workload.frames.push(Frame {
                budget: [ByteSize::new(submission.budget), ByteSize::ZERO],
                cpu: Duration::ZERO,
                born,
                submissions: at..at + 1,
                died,
            });
        }
        workload
    }

    /// Returns the workload like [`done`](Self::done), with one budget: `peaks` times the maximum of `passes`
    /// consecutive submissions.
    fn done_with(mut self, peaks: f64, passes: usize) -> Workload {
        let budget = (self.peak(passes) as f64 * peaks) as u64;
        for submission in &mut self.submissions {
            submission.budget = budget;
        }
        self.done()
    }
}

/// A camera moves over a grid of tiles. Near tiles are drawn in every frame, tiles at the rim in some frames.
fn open_world(seed: u64, passes: usize, room: f64, route: Route) -> Workload {
    let mut random = Random::seeded(seed);
    let mut build = Build::new(format!("open world, {route:?}, {passes} submissions a frame, room {room}"));
    let side = 48_i64;
    let tiles = build.heaps(48 * 48, 2 * MIB..10 * MIB, Beginning::Evicted, &mut random);
    let shared = build.heaps(40, MIB..32 * MIB, Beginning::Created, &mut random);
    let targets = build.heaps(8, 8 * MIB..32 * MIB, Beginning::Created, &mut random);
    let (mut x, mut y, mut heading) = (24.0_f64, 24.0_f64, 0.3_f64);
    for frame in 0..2000_u32 {
        match route {
            Route::Wander => heading += (random.unit() - 0.5) * 0.25,
            Route::Circuit => heading = f64::from(frame) * std::f64::consts::TAU / 900.0,
            Route::BackAndForth => {
                heading = if frame / 250 % 2 == 0 { 0.4 } else { 0.4 + std::f64::consts::PI }
            }
        }
        x = (x + heading.cos() * 0.1).rem_euclid(side as f64);
        y = (y + heading.sin() * 0.1).rem_euclid(side as f64);
        let mut seen = Vec::new();
        for dx in -6..=6_i64 {
            for dy in -6..=6_i64 {
                let distance = ((dx * dx + dy * dy) as f64).sqrt();
                // Tiles at the rim are sometimes hidden.
                if distance < 4.0 || distance < 6.0 && random.chance(0.7) {
                    let column = (x as i64 + dx).rem_euclid(side);
                    let row = (y as i64 + dy).rem_euclid(side);
                    seen.push(tiles[usize::try_from(row * side + column).expect("on the grid")]);
                }
            }
        }
        for pass in 0..passes {
            let mut uses: Vec<_> =
                seen.iter().copied().filter(|tile| passes == 1 || (tile + pass) % 3 != 0).collect();
            uses.extend(shared.iter().skip(pass % 2).step_by(passes.min(2)));
            uses.extend(targets.iter().skip(pass).step_by(passes));
            build.submit(0, uses);
        }
    }
    build.done_with(room, passes)
}

#[derive(Debug, Clone, Copy)]
enum Route {
    Wander,
    Circuit,
    BackAndForth,
}

/// Models served in turn, with a submission per few layers; together they exceed memory.
fn serving(seed: u64, layers_at_once: usize, order: Order, room: f64) -> Workload {
    let mut random = Random::seeded(seed);
    let mut build =
        Build::new(format!("serving, {order:?}, {layers_at_once} layers a submission, room {room}"));
    let models: Vec<_> = [24, 36, 12, 48, 30]
        .map(|layers| build.heaps(layers, 8 * MIB..40 * MIB, Beginning::Evicted, &mut random))
        .to_vec();
    let activations = build.heaps(6, 8 * MIB..24 * MIB, Beginning::Created, &mut random);
    let budget = (build.all_bytes() as f64 * room) as u64;
    let mut turn = 0_usize;
    while turn < 60 {
        let (model, steps) = match order {
            Order::RoundRobin => (turn % 5, 20),
            Order::RoundRobinOfAnyLength => (turn % 5, 5 + random.index(40)),
            Order::Popularity => {
                // The first model is requested in half of the turns, the second in a quarter, and so on.
                let model = (random.bits() | 16).trailing_zeros() as usize;
                (model.min(4), 5 + random.index(20))
            }
            Order::PerRequest => (turn % 5, 1),
        };
        for _ in 0..steps {
            for layers in models[model].chunks(layers_at_once) {
                let mut uses = layers.to_vec();
                uses.extend(&activations[..2 + model.min(4)]);
                build.submit(budget, uses);
            }
        }
        turn += 1;
    }
    build.done()
}

#[derive(Debug, Clone, Copy)]
enum Order {
    RoundRobin,
    RoundRobinOfAnyLength,
    Popularity,
    PerRequest,
}

/// Levels, each with its own heaps, of which a frame shows a part; between levels, a hub.
fn levels(seed: u64, room: f64, again: bool) -> Workload {
    let mut random = Random::seeded(seed);
    let back = if again { "and back again" } else { "each once" };
    let mut build = Build::new(format!("levels, {back}, room {room}"));
    let shared = build.heaps(60, MIB..16 * MIB, Beginning::Created, &mut random);
    let hub = build.heaps(80, MIB..16 * MIB, Beginning::Evicted, &mut random);
    let levels: Vec<_> =
        (0..6).map(|_| build.heaps(200, MIB..24 * MIB, Beginning::Evicted, &mut random)).collect();
    let order: &[usize] = if again { &[0, 1, 0, 2, 1, 3, 0, 4, 1, 5] } else { &[0, 1, 2, 3, 4, 5] };
    for &level in order {
        for (heaps, frames) in [(&levels[level], 400), (&hub, 60)] {
            for frame in 0..frames {
                let mut uses = shared.clone();
                // The visible part moves along the level.
                let from = frame * heaps.len() / (frames * 2);
                let window = &heaps[from..from + heaps.len() / 2];
                uses.extend(window.iter().filter(|_| !random.chance(0.1)));
                build.submit(0, uses);
            }
        }
    }
    build.done_with(room, 1)
}

/// A scene that fits, until another program takes half of the memory for a while.
fn halved(seed: u64, room: f64) -> Workload {
    let mut random = Random::seeded(seed);
    let mut build = Build::new(format!("budget halved, room {room}"));
    let shared = build.heaps(50, MIB..16 * MIB, Beginning::Created, &mut random);
    let groups: Vec<_> =
        (0..8).map(|_| build.heaps(40, MIB..16 * MIB, Beginning::Created, &mut random)).collect();
    let whole = (build.all_bytes() as f64 * room) as u64;
    for frame in 0..2400_usize {
        let mut uses = shared.clone();
        // Two groups are visible at once, another pair every 30 frames.
        uses.extend(&groups[frame / 30 % 8]);
        uses.extend(&groups[(frame / 30 + 1) % 8]);
        // One heap is updated per frame, in turn.
        uses.push(groups[(frame / 30 + 4) % 8][frame % 40]);
        let budget = if (600..1400).contains(&frame) { whole / 2 } else { whole };
        build.submit(budget, uses);
    }
    build.done()
}

/// Heaps used in turn, more than fit.
fn scan(seed: u64, heaps: usize, each: usize, room: f64, jitter: bool) -> Workload {
    let mut random = Random::seeded(seed);
    let mut build = Build::new(format!("scan of {heaps}, {each} at once, room {room}, jitter {jitter}"));
    let all = build.heaps(heaps, 4 * MIB..12 * MIB, Beginning::Evicted, &mut random);
    let budget = (build.all_bytes() as f64 * room) as u64;
    for _ in 0..12 {
        for part in all.chunks(each) {
            if jitter && random.chance(0.1) {
                build.submit(budget, Vec::new());
            }
            build.submit(budget, part.to_vec());
        }
    }
    build.done()
}

/// A scene in steady use, and data that is used only once.
fn stream_once(seed: u64, room: f64) -> Workload {
    let mut random = Random::seeded(seed);
    let mut build = Build::new(format!("streamed once beside a scene, room {room}"));
    let always = build.heaps(60, 2 * MIB..16 * MIB, Beginning::Created, &mut random);
    let seldom = build.heaps(200, 2 * MIB..16 * MIB, Beginning::Created, &mut random);
    let budget = ((build.all_bytes()) as f64 * room) as u64;
    for frame in 0..1500_usize {
        let mut uses = always.clone();
        // A fifth of the other heaps in turn, so that each is used every five or every twenty frames.
        uses.extend(
            seldom
                .iter()
                .enumerate()
                .filter(|(at, _)| frame % if at % 2 == 0 { 5 } else { 20 } == at % 5)
                .map(|(_, &heap)| heap),
        );
        for _ in 0..4 {
            let video = build.heap(random.range(2 * MIB, 6 * MIB), Beginning::Evicted);
            uses.push(video);
        }
        build.submit(budget, uses);
    }
    build.done()
}

/// Many small heaps, of which every frame uses those near a moving point.
fn tiny(seed: u64, room: f64) -> Workload {
    let mut random = Random::seeded(seed);
    let mut build = Build::new(format!("many tiny heaps, room {room}"));
    let all = build.heaps(12_000, 16 << 10..256 << 10, Beginning::Created, &mut random);
    for frame in 0..900_usize {
        let at = (f64::from(u32::try_from(frame).unwrap()) / 900.0 * std::f64::consts::TAU * 3.0).sin() * 0.5
            + 0.5;
        let from = (at * 9_000.0) as usize;
        let mut uses: Vec<_> =
            all[from..from + 2_000].iter().copied().filter(|_| random.chance(0.8)).collect();
        uses.extend(&all[11_500..]);
        build.submit(0, uses);
    }
    build.done_with(room, 1)
}

/// Independent requests of uneven popularity: the next use is unpredictable, so no policy approaches the
/// bound.
#[must_use]
pub fn popular(seed: u64, room: f64) -> Workload {
    let mut random = Random::seeded(seed);
    let mut build = Build::new(format!("uneven popularity, room {room}"));
    let all = build.heaps(400, MIB..8 * MIB, Beginning::Created, &mut random);
    let budget = (build.all_bytes() as f64 * room) as u64;
    for _ in 0..4000 {
        let uses = (0..6).map(|_| all[((random.unit().powi(3)) * 400.0) as usize]).collect();
        build.submit(budget, uses);
    }
    build.done()
}

/// Training of a network: each layer's result is kept for the backward pass. Tensors are new in each step,
/// weights persist.
fn training(seed: u64, room: f64) -> Workload {
    let mut random = Random::seeded(seed);
    let mut build = Build::new(format!("training, room {room}"));
    let weights = build.heaps(40, 2 * MIB..16 * MIB, Beginning::Created, &mut random);
    let moments = build.heaps(40, 4 * MIB..32 * MIB, Beginning::Created, &mut random);
    let mut live = build.all_bytes();
    for step in 0..25 {
        let batch = random.range(1, 4);
        let mut kept: Vec<usize> = Vec::new();
        for (layer, &weight) in weights.iter().enumerate() {
            let result = build.heap((2 + (layer as u64 * 7919) % 23) * MIB * batch, Beginning::Created);
            build.heaps[result].transient = true;
            let mut uses = vec![weight, result];
            uses.extend(kept.last());
            kept.push(result);
            build.submit(0, uses);
        }
        if step == 0 {
            live += build.bytes(&kept) * 2 / batch;
        }
        for layer in (0..weights.len()).rev() {
            let mut uses = vec![weights[layer], kept[layer], moments[layer]];
            uses.extend(layer.checked_sub(1).map(|before| kept[before]));
            build.submit(0, uses);
        }
    }
    for submission in &mut build.submissions {
        submission.budget = (live as f64 * room) as u64;
    }
    build.done()
}

/// Returns one workload of each kind that takes little time, for tests without optimization.
#[must_use]
pub fn quick() -> Vec<Workload> {
    vec![
        open_world(1, 1, 1.3, Route::Wander),
        serving(5, 4, Order::RoundRobin, 0.6),
        serving(8, 3, Order::PerRequest, 0.6),
        levels(10, 2.0, true),
        halved(12, 1.0),
        scan(13, 300, 1, 0.7, false),
        training(20, 0.6),
    ]
}

/// Returns all workloads that are measured. Other seeds give other sizes, routes and orders.
#[must_use]
pub fn all(seeds: u64) -> Vec<Workload> {
    vec![
        open_world(seeds + 1, 1, 1.3, Route::Wander),
        open_world(seeds + 2, 3, 1.6, Route::Circuit),
        open_world(seeds + 3, 1, 2.0, Route::BackAndForth),
        open_world(seeds + 4, 2, 2.5, Route::Wander),
        serving(seeds + 5, 4, Order::RoundRobin, 0.6),
        serving(seeds + 6, 1, Order::RoundRobinOfAnyLength, 0.7),
        serving(seeds + 7, 6, Order::Popularity, 0.5),
        serving(seeds + 8, 3, Order::PerRequest, 0.6),
        serving(seeds + 18, 48, Order::RoundRobin, 0.6),
        levels(seeds + 9, 1.4, false),
        levels(seeds + 10, 2.0, true),
        halved(seeds + 11, 0.9),
        halved(seeds + 12, 1.0),
        scan(seeds + 13, 300, 1, 0.7, false),
        scan(seeds + 14, 400, 20, 0.5, true),
        stream_once(seeds + 15, 0.8),
        stream_once(seeds + 16, 1.05),
        tiny(seeds + 17, 1.5),
        training(seeds + 20, 0.6),
        training(seeds + 21, 0.8),
    ]
}

/// Returns a scan that takes little time under every policy.
#[must_use]
pub fn small_scan() -> Workload {
    scan(13, 60, 4, 0.6, true)
}

/// Returns the geometric mean.
#[must_use]
pub fn geometric_mean(ratios: &[f64]) -> f64 {
    (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp()
}
