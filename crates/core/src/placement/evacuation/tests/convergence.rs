//! Counts the steps, and the bytes held at the end, after many random frees.

use std::collections::{HashMap, VecDeque};

use fastrand::Rng;

use crate::placement::{
    Evacuation, EvacuationBudget, EvacuationState, Placed, PlacementId, PlacementRequest, PlannedMove,
    SharedHeapSet,
};
use crate::{Alignment, ByteSize};

/// A heap: its name.
type Heap = u32;

struct Scene {
    set: SharedHeapSet<Heap>,
    /// The live allocations, in allocation order.
    live: Vec<(PlacementId, ByteSize)>,
    heap_count: u32,
}

/// The results of a run.
#[derive(Debug)]
struct Figures {
    steps: u32,
    live: u64,
    before: u64,
    after: u64,
    /// The peak of reserved bytes.
    peak: u64,
}

impl Scene {
    /// Allocates all sizes on `lanes` lanes, and frees 70 of 100 at random.
    fn new(sizes: impl Iterator<Item = u64>, lanes: u64) -> Self {
        let mut random = Rng::with_seed(2);
        let mut scene = Self { set: SharedHeapSet::default(), live: Vec::new(), heap_count: 0 };
        let mut all = Vec::new();
        for size in sizes {
            let alignment = Alignment::from_log2(size.trailing_zeros().min(16)).unwrap();
            let size = ByteSize::new(size);
            let lane = u32::try_from(random.u64(..lanes)).unwrap();
            all.push((scene.allocate(lane, size, alignment).id, size));
        }
        for (id, size) in all {
            if random.u64(..10) < 7 {
                drop(scene.set.free(id).unwrap());
            } else {
                scene.live.push((id, size));
            }
        }
        scene
    }

    fn allocate(&mut self, lane: u32, size: ByteSize, alignment: Alignment) -> Placed<Heap> {
        let request = PlacementRequest::new(size, alignment);
        self.set.allocate_on(lane, &request).unwrap().unwrap_or_else(|| {
            self.heap_count += 1;
            let heap_size = self.set.new_heap_size(&request).unwrap();
            self.set.allocate_in_new(heap_size, self.heap_count, &request).unwrap()
        })
    }

    /// Evacuates, completing each move `latency` steps after it was planned, and then frees everything.
    fn evacuate(mut self, latency: usize) -> Figures {
        let reserved = |set: &SharedHeapSet<Heap>| set.totals().reserved.get();
        let live = self.live.iter().map(|(_, size)| size.get()).sum();
        let mut figures = Figures { steps: 0, live, before: reserved(&self.set), after: 0, peak: 0 };
        let mut numbers: HashMap<_, _> =
            self.live.iter().zip(0..).map(|((id, _), number)| (*id, number)).collect();
        let mut under_way: VecDeque<Vec<PlannedMove<Heap>>> = VecDeque::new();
        let mut run = Evacuation::new(&self.set);
        loop {
            // There is always time left, so that only the planning itself is bounded.
            let step = run.step(EvacuationBudget::default(), &mut || true);
            figures.steps += 1;
            figures.peak = figures.peak.max(reserved(&self.set));
            assert!(figures.steps <= 2000, "the run does not terminate: {:?}", run.progress());
            if let Some(size) = step.create {
                self.heap_count += 1;
                run.supply(size, Some(self.heap_count)).unwrap();
            }
            if step.state == EvacuationState::Finished {
                break;
            }
            under_way.push_back(step.moves);
            while under_way.len() > latency {
                for planned in under_way.pop_front().unwrap() {
                    let number = numbers.remove(&planned.source).expect("the allocation is live");
                    let thing: &mut (_, _) = &mut self.live[number];
                    assert_eq!(
                        (planned.source_range.size(), planned.target.range.size()),
                        (thing.1, thing.1)
                    );
                    assert!(run.complete(&planned).is_moved);
                    numbers.insert(planned.target.id, number);
                    thing.0 = planned.target.id;
                }
            }
        }
        assert!(under_way.iter().all(Vec::is_empty), "finished before all moves completed");
        drop(run);
        self.set.audit().unwrap();
        figures.after = reserved(&self.set);
        assert_eq!(self.set.totals().used.get(), live);
        for (id, _) in self.live {
            drop(self.set.free(id).unwrap());
        }
        drop(self.set.take_empty(ByteSize::MAX));
        assert_eq!(self.set.totals(), Default::default());
        figures
    }
}

/// 20,000 sizes from 8 B to 16 KiB, uniformly distributed.
fn buffers(multiple: u64, lanes: u64) -> Scene {
    let mut random = Rng::with_seed(1);
    Scene::new((0..20_000).map(|_| multiple * (1 + random.u64(..(16 << 10) / multiple))), lanes)
}

/// 20,000 sizes from 8 B to 16 KiB, each power of two equally likely.
fn mostly_tiny_buffers(multiple: u64, lanes: u64) -> Scene {
    let mut random = Rng::with_seed(1);
    let size = move |_| {
        let octave = 8_u64 << random.u64(..11);
        (octave + random.u64(..octave)).next_multiple_of(multiple)
    };
    Scene::new((0..20_000).map(size), lanes)
}

/// 500 sizes from 64 KiB to 8 MiB, and one in ten from 4 KiB.
fn textures() -> Scene {
    let mut random = Rng::with_seed(1);
    let size = move |_| {
        if random.u64(..10) == 0 { 4096 * (1 + random.u64(..15)) } else { 65_536 * (1 + random.u64(..128)) }
    };
    Scene::new((0..500).map(size), 1)
}

/// The case of D3D12MemoryAllocator's issue 91: many thousand allocations in several hundred heaps, most of
/// them freed.
#[test]
#[cfg_attr(miri, ignore)]
fn reserved_bytes_converge_within_200_steps() {
    type Make = fn() -> Scene;
    let scenes: [(&str, Make); 7] = [
        ("buffers, multiples of 256", || buffers(256, 1)),
        ("buffers, multiples of 8", || buffers(8, 1)),
        ("buffers of 4 lanes, multiples of 8", || buffers(8, 4)),
        ("mostly tiny buffers, multiples of 256", || mostly_tiny_buffers(256, 1)),
        ("mostly tiny buffers, multiples of 8", || mostly_tiny_buffers(8, 1)),
        ("mostly tiny buffers of 4 lanes, multiples of 8", || mostly_tiny_buffers(8, 4)),
        ("textures", textures),
    ];
    for latency in [0, 1, 3] {
        for (name, make) in scenes {
            let figures = make().evacuate(latency);
            assert!(figures.before > 3 * figures.live, "{name} is not thin: {figures:?}");
            assert!(figures.steps <= 200, "{name}: {figures:?}");
            assert!(figures.after * 100 <= figures.live * 115, "{name}: {figures:?}");
            assert!(figures.peak <= figures.before, "{name}: {figures:?}");
        }
    }
}
