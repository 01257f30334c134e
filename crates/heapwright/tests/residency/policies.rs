//! Eviction policies in a manager.

use std::time::{Duration, Instant};

use heapwright::residency::PolicyKind;
use heapwright::residency::{ResidencyHeapDesc, ResidencyManagerDesc};

use crate::scene::{LONG, Scene, Thing, budget, mib, until};

/// Waiting is better than evicting what is needed soon, but not forever: another thread may always have something in flight, and may use
/// the heap again and again.
#[test]
fn what_is_needed_soon_goes_while_another_thread_renders() {
    let max_stall = Duration::from_millis(200);
    let scene =
        Scene::simulated(ResidencyManagerDesc { policy: PolicyKind::NextUse, max_stall, ..budget(3) });
    let (busy, steady_queue, queue) = (scene.queue(), scene.queue(), scene.queue());
    let things = scene.things(2);
    let (frame, steady) = (scene.work(&things[..1]), scene.work(&things[1..]));
    let new = scene.not_resident(7, 2, &ResidencyHeapDesc::default());
    let write = scene.write(&new);
    // The frame's heap is needed later than the other one, so waiting for it is better.
    for submission in 0..64 {
        scene.run(&steady_queue, &[&steady]);
        if submission % 4 == 0 {
            scene.run(&busy, &[&frame]);
        }
    }
    let mut gate = scene.block(&busy);
    let mut last = scene.execute(&busy, &[&frame]).expect("it is resident");
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| scene.execute(&queue, &[&write]));
        until("the submission waits", || scene.manager.stats().cpu_stalls > 0);
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
    scene.end(things.into_iter().chain([new]).collect());
}

/// What was used once and long ago goes while there is room: one heap of the evict size at a time, at most once in 32 submissions, until
/// a twentieth of the budget is free.
#[test]
fn what_is_not_used_any_more_goes_ahead_of_need() {
    let policy = PolicyKind::NextUse;
    let desc = ResidencyManagerDesc { policy, evict_size: mib(1), refresh_interval: 1, ..budget(40) };
    // The usage of Vulkan includes what its driver holds, for which others go first.
    let scene = Scene::simulated(desc);
    let queue = scene.queue();
    let things = scene.things(40);
    for once in things[..3].iter() {
        scene.run(&queue, &[&scene.work(std::slice::from_ref(once))]);
    }
    let steady = scene.work(&things[3..]);
    let mut gone = Vec::new();
    for submission in 0..720 {
        scene.run(&queue, &[&steady]);
        let evicted = things.iter().filter(|thing| !thing.is_resident()).count();
        gone.extend((gone.len()..evicted).map(|_| submission));
    }
    assert_eq!(gone.len(), 3, "{gone:?}");
    assert!(gone.windows(2).all(|pair| pair[1] - pair[0] >= 32), "{gone:?}");
    assert!(things[3..].iter().all(Thing::is_resident));
    assert_eq!(scene.manager.stats().local.bytes_paged_out, mib(3));
    scene.end(things);
}

/// Each of two queues uses a heap that may be evicted afterwards. A submission waits for the queue that finishes first, and not for the one
/// whose work is older.
#[test]
fn the_first_of_the_queues_is_waited_for() {
    let scene = Scene::simulated(ResidencyManagerDesc { max_stall: Duration::from_secs(3600), ..budget(2) });
    let (older, newer, queue) = (scene.queue(), scene.queue(), scene.queue());
    let things = scene.things(2);
    let older = scene.keep_busy(&older, &things[..1]);
    let newer = scene.keep_busy(&newer, &things[1..]);
    let new = scene.not_resident(7, 1, &ResidencyHeapDesc::default());
    let write = scene.write(&new);
    let is_enough = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| scene.execute(&queue, &[&write]));
        until("the submission waits", || scene.manager.stats().cpu_stalls > 0);
        scene.finish_work(newer);
        let begun = Instant::now();
        while !waiting.is_finished() && begun.elapsed() < LONG {
            std::thread::yield_now();
        }
        let is_enough = waiting.is_finished();
        scene.finish_work(older);
        scene.wait(&queue, waiting.join().expect("no panic").expect("there is room now"));
        is_enough
    });
    assert!(is_enough, "the older work was waited for, too");
    assert_eq!((things[0].is_resident(), things[1].is_resident()), (true, false));
    assert_eq!(scene.manager.stats().submissions_over_budget, 0);
    scene.end(things.into_iter().chain([new]).collect());
}
