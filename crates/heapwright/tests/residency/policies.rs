//! Eviction policies in a manager.

use std::time::Instant;

use crate::gpu::*;
use crate::scene::{LONG, Scene, Thing, budget, until};

/// What was used once and long ago goes while there is room: one heap of the evict size at a time, at most once in 32
/// submissions, until a twentieth of the budget is free.
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

/// Each of two queues uses a heap that may be evicted afterwards. A submission waits for the queue that finishes first,
/// and not for the one whose work is older.
#[test]
fn the_first_of_the_queues_is_waited_for() {
    let scene = Scene::simulated(ResidencyManagerDesc { max_stall: Duration::from_secs(3600), ..budget(2) });
    let (older, newer, queue) = (scene.queue(), scene.queue(), scene.queue());
    let things = scene.things(2);
    let older = scene.keep_busy(&older, &things[..1]);
    let newer = scene.keep_busy(&newer, &things[1..]);
    let new = scene.evicted(7, 1);
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
    scene.end((things, new));
}
