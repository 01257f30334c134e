//! Where many things were freed at random: how many steps it takes, and what is held in the end.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::placement::{
    Evacuation, EvacuationBudget, EvacuationState, SharedHeapSet, SharedPlaced, SharedPlacementId,
};
use crate::{Alignment, ByteSize};

/// A heap: its name.
type Heap = u32;

struct Scene {
    set: SharedHeapSet<Heap>,
    live: BTreeMap<usize, (SharedPlacementId, ByteSize)>,
    heap_count: u32,
}

/// What a run came to.
#[derive(Debug)]
struct Figures {
    steps: u32,
    moves: u64,
    live: u64,
    reserved_before: u64,
    reserved: u64,
    worst_step: Duration,
    total: Duration,
    /// The most bytes of heaps, what is held in their place among them.
    peak: u64,
}

struct Random(u64);

impl Random {
    fn below(&mut self, below: u64) -> u64 {
        // Xorshift, G. Marsaglia 2003.
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % below
    }
}

impl Scene {
    /// Allocates all sizes, and frees 70 of 100 at random.
    fn new(sizes: impl Iterator<Item = u64>, mut random: Random) -> Self {
        let mut scene = Self { set: SharedHeapSet::default(), live: BTreeMap::new(), heap_count: 0 };
        for (number, size) in sizes.enumerate() {
            let alignment = Alignment::from_log2(size.trailing_zeros().min(16)).unwrap();
            let size = ByteSize::new(size);
            let placed = scene.allocate(size, alignment);
            scene.live.insert(number, (placed.id, size));
        }
        let numbers: Vec<_> = scene.live.keys().copied().collect();
        for number in numbers {
            if random.below(10) < 7 {
                let (id, _) = scene.live.remove(&number).unwrap();
                drop(scene.set.free(id).unwrap());
            }
        }
        scene
    }

    fn allocate(&mut self, size: ByteSize, alignment: Alignment) -> SharedPlaced<Heap> {
        if let Some(placed) = self.set.allocate(size, alignment).unwrap() {
            return placed;
        }
        let wanted = self.set.plan(size, alignment).unwrap();
        self.heap_count += 1;
        self.set.allocate_in_new(wanted.size, self.heap_count, size, alignment).unwrap()
    }

    fn evacuate(&mut self, budget: EvacuationBudget) -> Figures {
        let reserved = |set: &SharedHeapSet<Heap>| set.totals().reserved.get();
        let mut by_id: BTreeMap<_, _> = BTreeMap::new();
        for (&number, &(id, size)) in &self.live {
            by_id.insert(format!("{id:?}"), (number, size));
        }
        let live = self.live.values().map(|(_, size)| size.get()).sum();
        let mut figures = Figures {
            steps: 0,
            moves: 0,
            live,
            reserved_before: reserved(&self.set),
            reserved: 0,
            worst_step: Duration::ZERO,
            total: Duration::ZERO,
            peak: 0,
        };
        let mut run = Evacuation::new(&self.set);
        loop {
            let begin = Instant::now();
            let step = run.step(budget, &mut || begin.elapsed() < Duration::from_millis(1));
            let time = begin.elapsed();
            figures.worst_step = figures.worst_step.max(time);
            figures.total += time;
            figures.steps += 1;
            figures.peak = figures.peak.max(reserved(&self.set));
            if let Some(size) = step.create {
                self.heap_count += 1;
                run.supply(size, Some(self.heap_count)).unwrap();
            }
            for planned in step.moves {
                let (number, size) = by_id.remove(&format!("{:?}", planned.source)).expect("it is live");
                assert_eq!(planned.target.range.size(), size);
                assert!(run.complete(&planned).is_moved);
                by_id.insert(format!("{:?}", planned.target.id), (number, size));
                self.live.insert(number, (planned.target.id, size));
                figures.moves += 1;
            }
            assert!(figures.steps < 2000, "{:?}", run.progress());
            if step.state == EvacuationState::Finished {
                break;
            }
        }
        drop(run);
        self.set.audit().unwrap();
        figures.reserved = reserved(&self.set);
        assert_eq!(self.set.totals().used.get(), live);
        for (id, _) in self.live.values() {
            drop(self.set.free(*id).unwrap());
        }
        drop(self.set.take_empty());
        assert_eq!(self.set.totals(), Default::default());
        figures
    }
}

fn check(name: &str, figures: &Figures) {
    let ratio = |bytes: u64| bytes as f64 / figures.live as f64;
    println!(
        "{name}: {} steps, {} moves, reserved/live {:.3} -> {:.3} (peak {:.3}), worst step {:?}, mean {:?}",
        figures.steps,
        figures.moves,
        ratio(figures.reserved_before),
        ratio(figures.reserved),
        ratio(figures.peak),
        figures.worst_step,
        figures.total / figures.steps,
    );
}

fn buffers(multiple: u64) -> Scene {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let sizes: Vec<_> = (0..20_000).map(|_| multiple * (1 + random.below((16 << 10) / multiple))).collect();
    Scene::new(sizes.into_iter(), random)
}

fn log_buffers(multiple: u64) -> Scene {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let size = |random: &mut Random| {
        let octave = 8_u64 << random.below(11);
        (octave + random.below(octave)).next_multiple_of(multiple)
    };
    let sizes: Vec<_> = (0..20_000).map(|_| size(&mut random)).collect();
    Scene::new(sizes.into_iter(), random)
}

fn textures() -> Scene {
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let size = |random: &mut Random| {
        if random.below(10) == 0 { 4096 * (1 + random.below(15)) } else { 65_536 * (1 + random.below(128)) }
    };
    let sizes: Vec<_> = (0..500).map(|_| size(&mut random)).collect();
    Scene::new(sizes.into_iter(), random)
}

#[test]
fn most_of_what_was_freed_goes_back() {
    for (name, mut scene) in [
        ("buffers of 256", buffers(256)),
        ("buffers of 8", buffers(8)),
        ("log 256", log_buffers(256)),
        ("log 8", log_buffers(8)),
        ("textures", textures()),
    ] {
        let figures = scene.evacuate(EvacuationBudget::default());
        check(name, &figures);
    }
}
