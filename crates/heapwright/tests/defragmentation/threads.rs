//! Other threads allocate and free during a run.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::scene::{Scene, small_buffer};
use crate::gpu::*;

/// Ends the other threads, also if a check fails.
struct StopAtEnd<'a>(&'a AtomicBool);

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn what_others_do_meanwhile_harms_nobody() {
    let mut random = fastrand::Rng::with_seed(0x2545_f491_4f6c_dd1d);
    let mut scene = Scene::open("discrete");
    scene.populate(4000, 60, &mut random);
    scene.thin_out(&mut random);
    let allocator = scene.allocator.clone();
    let (stop, rounds) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let _stop = StopAtEnd(&stop);
        for thread in 0..3_u64 {
            let (allocator, stop, rounds) = (&allocator, &stop, &rounds);
            scope.spawn(move || {
                let mut random = fastrand::Rng::with_seed(0x9e37_79b9_7f4a_7c15 + thread);
                // The owner of the scene does not know the numbers of other threads' allocations.
                let place = ResourceAllocationDesc { user_data: u64::MAX - thread, ..in_default() };
                let mut held = Vec::new();
                while !stop.load(Ordering::Relaxed) {
                    let desc = if random.u64(..20) == 0 {
                        buffer_desc(kib(random.u64(..900) + 1))
                    } else {
                        small_buffer(&mut random)
                    };
                    held.push(create(allocator, &place, &desc));
                    while held.len() as u64 > 40 + 200 * random.u64(..2) {
                        let at = usize::try_from(random.u64(..held.len() as u64)).expect("small");
                        held.swap_remove(at);
                    }
                    rounds.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let mut heaps_freed = 0;
        for _ in 0..2 {
            let mut run = allocator.defragment(DefragmentationDesc::default()).expect("sound");
            let budget = DefragmentationBudget { moves: 48, ..without_time_limit() };
            // Moves of other threads' allocations are abandoned, and their heaps with them.
            scene.defragment(&mut run, budget, 1, 20_000);
            heaps_freed += run.progress().heaps_freed;
        }
        // A single run may free none, if the others have allocations in all heaps.
        assert!(heaps_freed > 0);
    });
    assert!(rounds.load(Ordering::Relaxed) > 100, "the others did nothing");
    drop(allocator);
    scene.check_things();
    let mut run = scene.run();
    let figures = scene.defragment(&mut run, without_time_limit(), 0, 1000);
    assert!(figures.after * 100 <= figures.live * 115, "{figures:?}");
    scene.check_things();
    scene.end(run);
}
