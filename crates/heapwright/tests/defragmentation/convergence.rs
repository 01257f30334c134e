//! Defragments thousands of resources, most of which were freed, and checks the number of steps and the memory
//! held in the end. Core's test of the same name has more of them, without a device.

use super::scene::Scene;
use crate::gpu::*;

/// A time budget that is never used up, so that the number of steps depends on moves and bytes alone.
const ENOUGH: Duration = Duration::from_secs(3600);

fn scene(profile: &str, buffers: u32, textures: u32) -> Scene {
    let mut random = fastrand::Rng::with_seed(0x1234_5678_9abc_def1);
    let mut scene = Scene::open(profile);
    scene.populate(buffers, textures, &mut random);
    scene.thin_out(&mut random);
    scene
}

fn converges(name: &str, mut scene: Scene, budget: DefragmentationBudget, latency: usize, most_steps: u64) {
    let survivors = scene.things.len();
    let mut run = scene.run();
    let figures = scene.defragment(&mut run, budget, latency, most_steps);
    let progress = run.progress();
    assert_eq!(progress.moves, figures.moves);
    assert!(progress.heaps_freed > 0);
    let freed = progress.bytes_freed.get() - progress.bytes_created.get();
    assert_eq!(figures.before - figures.after, freed, "{progress:?}");
    assert!(figures.before > 3 * figures.live, "{name} was not thin: {figures:?}");
    assert!(figures.after * 100 <= figures.live * 115, "{name}: {figures:?}");
    assert!(figures.peak <= figures.before, "{name}: {figures:?}");
    assert_eq!(scene.things.len(), survivors);
    scene.check_things();
    scene.end(run);
}

#[test]
fn little_more_is_held_in_the_end_than_lives() {
    let all = DefragmentationBudget { moves: u32::MAX, bytes: ByteSize::MAX, time: ENOUGH };
    let usual = DefragmentationBudget { time: ENOUGH, ..Default::default() };
    let moves = DefragmentationBudget { moves: 16, ..all };
    let bytes = DefragmentationBudget { bytes: mib(1), ..all };
    // The number of moves that fit depends on the machine.
    let time = DefragmentationBudget { time: Duration::from_micros(100), ..all };
    // Buffers and textures also alone, so that neither hides a defect of the other.
    for (name, profile, [buffers, textures], budget, latency, most_steps) in [
        ("usual", "discrete", [6000, 150], usual, 0, 200),
        ("completed later", "uma", [6000, 150], usual, 2, 200),
        ("buffers", "uma", [3000, 0], usual, 0, 200),
        ("textures", "discrete", [0, 500], usual, 0, 200),
        ("16 moves", "discrete", [6000, 150], moves, 0, 300),
        ("1 MiB", "discrete", [6000, 150], bytes, 0, 300),
        ("100 µs", "discrete", [3000, 0], time, 0, 1_000_000),
        ("no bound", "discrete", [3000, 150], all, 0, 20),
    ] {
        converges(name, scene(profile, buffers, textures), budget, latency, most_steps);
    }
}

#[test]
fn a_process_beyond_its_budget_creates_no_heap_to_empty_others() {
    let created = |is_beyond_budget: bool| {
        let mut scene = scene("discrete", 6000, 150);
        let info = || VideoMemoryInfo::query(&scene.instance.adapter, LOCAL).expect("answered");
        // Another allocator of the process takes so much that the process stays beyond its budget whatever is released.
        let other = usual(&scene.instance);
        let left = info().budget.saturating_sub(info().current_usage);
        let taken = left.saturating_add(scene.allocator.reserved());
        let committed = place(HeapType::Default, COMMITTED);
        let held = is_beyond_budget.then(|| buffer(&other, &committed, taken.get()));
        let mut run = scene.run();
        let figures = scene.defragment(&mut run, without_time_limit(), 0, 1000);
        assert!(figures.after < figures.before, "{figures:?}");
        let progress = run.progress();
        scene.end((held, run));
        progress.bytes_created
    };
    assert!(created(false) > ByteSize::ZERO, "new heaps help");
    assert_eq!(created(true), ByteSize::ZERO);
}
