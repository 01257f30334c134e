//! Defragments tens of thousands of resources, most of which were freed, and checks the number of steps and
//! the memory held in the end.
//!
//! The case to beat is issue 91 of D3D12MemoryAllocator: 45 ms a pass, and no convergence.

use std::time::Duration;

use heapwright::ByteSize;
use heapwright::defragmentation::{DefragmentationBudget, DefragmentationDesc};

use super::scene::{Figures, Scene, any_texture, small_buffer};

/// A time budget that is never used up, so that the number of steps depends on moves and bytes alone.
const ENOUGH: Duration = Duration::from_secs(3600);

fn scene(profile: &str, buffers: u32, textures: u32) -> Scene {
    let mut random = fastrand::Rng::with_seed(0x1234_5678_9abc_def1);
    let mut scene = Scene::open(profile);
    for _ in 0..buffers {
        scene.create(&small_buffer(&mut random));
    }
    for _ in 0..textures {
        scene.create(&any_texture(&mut random));
    }
    scene.thin_out(&mut random);
    scene
}

#[expect(clippy::print_stdout, reason = "what was measured, for whoever runs it with --nocapture")]
fn print(name: &str, figures: &Figures) {
    let of_live = |bytes: u64| bytes as f64 / figures.live as f64;
    println!(
        "{name}: {} steps, {} moves; reserved/live {:.3}, at most {:.3} meanwhile, {:.3} in the end; a step {:?} at \
         most, {:?} on average",
        figures.steps,
        figures.moves,
        of_live(figures.before),
        of_live(figures.peak),
        of_live(figures.after),
        figures.worst,
        figures.all / u32::try_from(figures.steps).unwrap_or(u32::MAX),
    );
}

fn converges(name: &str, mut scene: Scene, budget: DefragmentationBudget, latency: usize, most_steps: u64) {
    let survivors = scene.things.len();
    let mut run = scene.allocator.defragment(DefragmentationDesc::default()).expect("heaps to defragment");
    let figures = scene.defragment(&mut run, budget, latency, most_steps);
    print(name, &figures);
    let progress = run.progress();
    assert_eq!(progress.moves, figures.moves);
    assert!(progress.heaps_freed > 0);
    let freed = progress.bytes_freed.get() - progress.bytes_created.get();
    assert_eq!(figures.before - figures.after, freed, "{progress:?}");
    assert!(figures.before > 3 * figures.live, "{name} was not thin: {figures:?}");
    assert!(figures.after * 100 <= figures.live * 115, "{name}: {figures:?}");
    assert!(figures.peak <= figures.before, "{name}: {figures:?}");
    assert_eq!(scene.things.len(), survivors);
    scene.check_contents();
    scene.check_places([]);
    drop(run);
    scene.end();
}

/// The case of issue 5.
#[test]
fn within_200_steps_little_more_is_held_than_lives() {
    let budget = DefragmentationBudget { time: ENOUGH, ..Default::default() };
    for (profile, latency) in [("discrete", 0), ("uma", 2)] {
        let name = format!("{profile}, completed {latency} steps later");
        converges(&name, scene(profile, 20_000, 500), budget, latency, 200);
    }
}

/// Tests buffers and textures separately, so that neither hides a defect of the other.
#[test]
fn buffers_alone_and_textures_alone_come_as_far() {
    let budget = DefragmentationBudget { time: ENOUGH, ..Default::default() };
    converges("buffers", scene("uma", 20_000, 0), budget, 0, 200);
    converges("textures", scene("discrete", 0, 500), budget, 0, 200);
}

#[test]
fn other_budgets_come_as_far() {
    let all = DefragmentationBudget { moves: u32::MAX, bytes: ByteSize::MAX, time: ENOUGH };
    let budgets = [
        ("16 moves", DefragmentationBudget { moves: 16, ..all }, 300),
        ("1 MiB", DefragmentationBudget { bytes: ByteSize::from_mib(1), ..all }, 300),
        // The number of moves that fit depends on the machine.
        ("100 µs", DefragmentationBudget { time: Duration::from_micros(100), ..all }, 1_000_000),
        ("no bound", all, 20),
    ];
    for (name, budget, most_steps) in budgets {
        converges(name, scene("discrete", 6000, 150), budget, 0, most_steps);
    }
}
