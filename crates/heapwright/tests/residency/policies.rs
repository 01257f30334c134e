//! Eviction policies in a manager.

use std::time::Duration;

use heapwright::residency::PolicyKind;
use heapwright::residency::{ResidencyHeapDesc, ResidencyManagerDesc};

use crate::scene::{Scene, budget, until};

/// Waiting is better than evicting what is needed soon, but not forever: another thread may always have something in flight, and may use
/// the heap again and again.
#[test]
fn what_is_needed_soon_goes_while_another_thread_renders() {
    let max_stall = Duration::from_millis(200);
    let scene = Scene::new(ResidencyManagerDesc { policy: PolicyKind::NextUse, max_stall, ..budget(3) });
    let (busy, steady_queue, queue) = (scene.queue(), scene.queue(), scene.queue());
    let things = scene.things(2);
    let (frame, steady) = (scene.work(&things[..1]), scene.work(&things[1..]));
    let new = scene.not_resident(7, 2, &ResidencyHeapDesc::default());
    let write = scene.write(&new);
    for _ in 0..16 {
        scene.run(&steady_queue, &[&steady]);
    }
    let mut gate = scene.block(&busy);
    let mut last = scene.execute(&busy, &[&frame]).expect("it is resident");
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| scene.execute(&queue, &[&write]));
        until("the thread gets its memory", || {
            // One frame is always in flight, and the GPU gets on.
            scene.run(&steady_queue, &[&steady]);
            let next = scene.block(&busy);
            let value = scene.execute(&busy, &[&frame]).expect("within or above the budget");
            std::mem::replace(&mut gate, next).open();
            scene.wait(&busy, std::mem::replace(&mut last, value));
            waiting.is_finished()
        });
        scene.wait(&queue, waiting.join().expect("no panic").expect("within or above the budget"));
    });
    gate.open();
    scene.wait(&busy, last);
    let stats = scene.manager.stats();
    assert!(stats.cpu_stalls > 0, "{stats:?}");
    scene.end(things.into_iter().chain([new]).collect());
}
