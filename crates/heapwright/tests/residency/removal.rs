//! Device removal at every stage: no call hangs, errors report the removal, and everything can be dropped.

use crate::faulty_device::Call;
use crate::gpu::*;
use crate::scene::{Front, Scene, budget, until};

fn fronts() -> [Front; 3] {
    [Front::Plain, Front::Newest, Front::First]
}

#[test]
fn before_a_submission() {
    for front in fronts() {
        let scene = Scene::faulty(front, Call::SetResidencyPriority, E_FAIL, budget(4));
        let (queue, new) = (scene.queue(), scene.queue());
        let things = scene.things(6);
        let resident: Vec<_> = things.iter().filter(|thing| thing.is_resident()).collect();
        let missing: Vec<_> = things.iter().filter(|thing| !thing.is_resident()).collect();
        let works = [scene.work(resident.iter().copied()), scene.work(missing.iter().copied())];
        scene.run(&queue, &[&works[0]]);
        scene.lose_device();
        for (queue, work) in pairs([&queue, &new], &works) {
            match scene.execute(queue, &[work]) {
                Err(error) => assert!(error.is_device_removed(), "{front:?}: {error}"),
                // The paging thread notices later.
                Ok(_) => assert_eq!(front, Front::First),
            }
            scene.manager.audit().expect("sound");
        }
        refused(missing[0].heap.lock(), Error::is_device_removed);
        let error = scene.manager.prefetch(&works[1].list).map(|()| missing[0].heap.lock());
        assert!(error.is_err() || error.is_ok_and(|lock| lock.is_err()), "{front:?}");
        let made = scene.try_thing(9, 1, D3D12_HEAP_TYPE_DEFAULT, &ResidencyHeapDesc::default());
        refused(made, Error::is_device_removed);
        scene.manager.trim();
        scene.manager.evict_at_least(LOCAL, mib(1));
        let _ = scene.manager.query_video_memory_info(LOCAL);
        scene.manager.audit().expect("sound");
        drop((resident, missing));
        scene.end(things);
    }
}

/// With and without ALWAYS_IN_BUDGET.
#[test]
fn while_somebody_waits_for_memory() {
    for (flags, front) in
        pairs([ResidencyManagerFlags::empty(), ResidencyManagerFlags::ALWAYS_IN_BUDGET], fronts())
    {
        let desc = ResidencyManagerDesc { flags, ..budget(2) };
        let scene = Scene::faulty(front, Call::SetResidencyPriority, E_FAIL, desc);
        let (slow, other) = (scene.queue(), scene.queue());
        let mut things = scene.things(2);
        let _never_opened = scene.block(&slow);
        let used = scene.work(&things);
        scene.execute(&slow, &[&used]).expect("executed");
        things.push(scene.evicted(3, 1));
        things.push(scene.evicted(4, 1));
        let work = scene.write(&things[2]);
        std::thread::scope(|scope| {
            let executing = scope.spawn(|| scene.execute(&other, &[&work]));
            let locking = scope.spawn(|| things[3].heap.lock());
            until("both wait", || scene.manager.stats().cpu_stalls >= 2);
            scene.lose_device();
            let answers = [executing.join().expect("no panic").map(drop), locking.join().expect("no panic")];
            for error in answers.into_iter().filter_map(Result::err) {
                assert!(error.is_device_removed(), "{front:?}: {error}");
            }
        });
        refused(scene.execute(&other, &[&work]), Error::is_device_removed);
        scene.manager.audit().expect("sound");
        scene.end(things);
    }
}

#[test]
fn while_paging_is_under_way() {
    let (scene, queue, things) = Scene::failing(Call::EnqueueMakeResident, E_FAIL, budget(4)).with_things(2);
    assert_eq!(scene.manager.evict_at_least(LOCAL, mib(2)), mib(2));
    let calls = scene.faults.calls();
    scene.faults.hold_paging();
    let work = scene.work(&things[..1]);
    scene.execute(&queue, &[&work]).expect("executed");
    std::thread::scope(|scope| {
        let locking = scope.spawn(|| things[1].heap.lock());
        until("it is on its way", || scene.faults.calls() >= calls + 2);
        scene.lose_device();
        refused(locking.join().expect("no panic"), Error::is_device_removed);
    });
    // Neither what is told of the work that is done nor what asks the operating system makes them arrive.
    for _ in 0..2 {
        for thing in &things {
            refused(thing.heap.lock(), Error::is_device_removed);
            assert!(!thing.info().is_locked);
        }
        refused(scene.execute(&queue, &[&work]), Error::is_device_removed);
        scene.manager.trim();
    }
    scene.manager.audit().expect("sound");
    drop(things);
}

/// A queue waits for a signal that only this thread would send later. After `max_stall` the submission
/// exceeds the budget, or is refused.
#[test]
fn a_queue_that_this_thread_holds_up_is_no_deadlock() {
    for flags in [ResidencyManagerFlags::empty(), ResidencyManagerFlags::ALWAYS_IN_BUDGET] {
        let max_stall = Duration::from_millis(30);
        let scene = Scene::new(ResidencyManagerDesc { flags, max_stall, ..budget(2) });
        let (held, other) = (scene.queue(), scene.queue());
        let mut things = scene.things(2);
        let busy = scene.keep_busy(&held, &things);
        things.push(scene.evicted(3, 1));
        let write = scene.write(&things[2]);
        let answer = scene.execute(&other, &[&write]);
        if flags.is_empty() {
            scene.wait(&other, answer.expect("above the budget"));
            assert_eq!(scene.manager.stats().submissions_over_budget, 1);
        } else {
            refused(answer, Error::is_over_budget);
        }
        scene.finish_work(busy);
        scene.check_books(&things);
        scene.run(&other, &[&scene.write(&things[2])]);
        scene.manager.trim();
        assert!(scene.used() <= mib(2));
        scene.finish(things);
    }
}

/// The same while other queues advance: their progress does not imply that of the waiting queue.
#[test]
fn a_busy_queue_does_not_keep_a_thread_waiting_for_ever() {
    let max_stall = Duration::from_millis(30);
    let scene = Scene::new(ResidencyManagerDesc { max_stall, ..budget(2) });
    let (held, other, other_work) = (scene.queue(), scene.queue(), scene.queue());
    let mut things = scene.things(2);
    let waiting_queue = scene.keep_busy(&held, &things);
    things.push(scene.evicted(3, 1));
    let write = scene.write(&things[2]);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| scene.execute(&other, &[&write]));
        let work = scene.work(&things[..2]);
        // The loop ends by itself, as the other thread does not wait for this queue.
        until("the thread gives up", || {
            scene.run(&other_work, &[&work]);
            waiting.is_finished()
        });
        scene.wait(&other, waiting.join().expect("no panic").expect("above the budget"));
    });
    scene.finish_work(waiting_queue);
    scene.finish(things);
}
