//! The planning time of a defragmentation's steps: 20,000 small buffers and 500 textures, of which 70 in 100 were freed
//! at random.
//!
//! Nothing is copied. A step's time includes the heaps that it creates and releases, on the host driver. The result is
//! the minimum over 7 runs of each run's worst step, because other load of the machine only makes a step longer.
#![allow(missing_docs, reason = "a bench")]
#![allow(clippy::print_stdout, reason = "a bench prints its figures")]

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use fastrand::Rng;
use heapwright::d3d12::*;
use heapwright::defragmentation::{DefragmentationBudget, DefragmentationState};
use heapwright::{
    ByteSize, HeapType, InitialState, ResourceAllocation, ResourceAllocationDesc, ResourceAllocator,
    buffer_desc,
};
use heapwright_runtime::{HostProfile, Instance};

fn texture(random: &mut Rng) -> D3D12_RESOURCE_DESC {
    let side = 64 << random.u64(..5);
    D3D12_RESOURCE_DESC {
        Dimension: D3D12_RESOURCE_DIMENSION_TEXTURE2D,
        Width: side,
        Height: 64 << random.u64(..5),
        DepthOrArraySize: 1,
        MipLevels: if random.u64(..2) == 0 { 1 } else { 5 },
        Format: if random.u64(..2) == 0 { DXGI_FORMAT_R8G8B8A8_UNORM } else { DXGI_FORMAT_BC3_UNORM },
        SampleDesc: DXGI_SAMPLE_DESC { Count: 1, Quality: 0 },
        ..Default::default()
    }
}

fn scene(allocator: &ResourceAllocator) -> BTreeMap<u64, ResourceAllocation> {
    let mut random = Rng::with_seed(1);
    let create = |key: u64, desc: &D3D12_RESOURCE_DESC| {
        let place =
            ResourceAllocationDesc { user_data: key, ..ResourceAllocationDesc::new(HeapType::Default) };
        allocator.create_resource(&place, desc, D3D12_RESOURCE_STATE_COMMON, None).expect("there is room")
    };
    let mut things = BTreeMap::new();
    for key in 1..=20_000 {
        let desc = buffer_desc(ByteSize::new(8 + random.u64(..(16 << 10) - 7)));
        things.insert(key, create(key, &desc));
    }
    for key in 20_001..=20_500 {
        let desc = texture(&mut random);
        things.insert(key, create(key, &desc));
    }
    things.retain(|_, _| random.u64(..10) >= 7);
    things
}

#[derive(Default)]
struct Figures {
    times: Vec<Duration>,
    moves: u64,
    heaps_created: u64,
    before: f64,
    after: f64,
}

fn run(profile: &str, budget: DefragmentationBudget) -> Figures {
    let gpu = Instance::open(HostProfile::find(profile).expect("exists")).expect("a fresh instance");
    let allocator =
        ResourceAllocator::new(&gpu.device, Some(&gpu.adapter), Default::default()).expect("sound");
    let mut things = scene(&allocator);
    let of_live = || allocator.reserved().get() as f64 / allocator.stats().used.get() as f64;
    let mut figures = Figures { before: of_live(), ..Default::default() };
    let heaps_before = allocator.stats().heaps_created;
    let mut defragmentation = allocator.defragment(Default::default()).expect("sound");
    loop {
        let begin = Instant::now();
        let step = defragmentation.step(budget);
        figures.times.push(begin.elapsed());
        for mut planned in step.moves {
            let thing = things.get_mut(&planned.user_data()).expect("it lives");
            planned.create_resource(thing, InitialState::default(), None, &[]).expect("created");
            planned.complete(thing).expect("it is the one");
            figures.moves += 1;
        }
        if step.state == DefragmentationState::Finished {
            break;
        }
        assert!(figures.times.len() < 100_000, "it does not end");
    }
    drop(defragmentation);
    figures.after = of_live();
    figures.heaps_created = allocator.stats().heaps_created - heaps_before;
    figures
}

fn main() {
    let usual = DefragmentationBudget::default();
    let budgets = [
        ("usual", usual),
        ("1 ms, 1,000 moves", DefragmentationBudget { moves: 1000, time: Duration::from_millis(1), ..usual }),
        ("100 µs", DefragmentationBudget { time: Duration::from_micros(100), ..usual }),
        ("16 moves", DefragmentationBudget { moves: 16, ..usual }),
        ("1 MiB", DefragmentationBudget { bytes: ByteSize::from_mib(1), ..usual }),
    ];
    for profile in ["discrete", "uma"] {
        for (name, budget) in budgets {
            let runs: Vec<_> = (0..7).map(|_| run(profile, budget)).collect();
            let least = |of: &dyn Fn(&Figures) -> Duration| runs.iter().map(of).min().unwrap_or_default();
            let worst = least(&|run| run.times.iter().max().copied().unwrap_or_default());
            let all = least(&|run| run.times.iter().sum());
            let first = &runs[0];
            let steps = u32::try_from(first.times.len()).unwrap_or(u32::MAX);
            println!(
                "{profile}, {name}: {steps} steps, {} moves, {} heaps created; reserved/live {:.3} to {:.3}; a step {worst:?} at \
                 most, {:?} on average, {all:?} in all",
                first.moves,
                first.heaps_created,
                first.before,
                first.after,
                all / steps,
            );
        }
    }
}
