//! Budgets, pressure, trimming, priorities, and the division of memory.

use std::sync::{Arc, Mutex};

use crate::faulty_device::{Call, Faults};
use crate::gpu::*;
use crate::scene::{Front, Scene, Thing, budget, until};

/// Tested without any submission: the operating system sends a notification, and idle heaps are evicted.
#[test]
fn a_smaller_budget_evicts_in_the_background() {
    let flags = ResidencyManagerFlags::ALLOW_BACKGROUND_BUDGET_UPDATES;
    let scene = Scene::simulated(ResidencyManagerDesc { flags, ..Default::default() });
    let things = scene.things(8);
    assert_eq!(scene.used(), mib(8));
    for budget in [6, 3] {
        scene.set_budget(budget);
        until("what is above the budget goes", || scene.used() <= mib(budget));
        scene.check_books(&things);
    }
    assert!(things.iter().any(Thing::is_resident), "no more than necessary");
    scene.end(things);
}

/// With the default settings. With notifications a thread evicts, for which no submission is needed:
/// [`a_smaller_budget_evicts_in_the_background`].
#[test]
fn one_submission_at_most_is_over_a_smaller_budget() {
    let (scene, queue, things) = Scene::new(ResidencyManagerDesc::default()).with_things(8);
    let work = scene.work(&things[..2]);
    (0..40).for_each(|_| scene.run(&queue, &[&work]));
    assert!(things.iter().all(Thing::is_resident));
    for budget in [5, 3] {
        scene.set_budget(budget);
        let over = (0..20).filter(|_| {
            scene.run(&queue, &[&work]);
            scene.used() > mib(budget)
        });
        let over = over.count();
        assert!(over <= 1, "{over} submissions are over {budget} MiB");
    }
    scene.finish(things);
}

/// Heaps of a lower priority are evicted first, regardless of their last use.
#[test]
fn a_lower_priority_goes_first() {
    let scene = Scene::failing(Call::SetResidencyPriority, E_FAIL, budget(8));
    let queue = scene.queue();
    let levels = [
        D3D12_RESIDENCY_PRIORITY_HIGH,
        D3D12_RESIDENCY_PRIORITY_MINIMUM,
        D3D12_RESIDENCY_PRIORITY_MAXIMUM,
        D3D12_RESIDENCY_PRIORITY_LOW,
        D3D12_RESIDENCY_PRIORITY_NORMAL,
    ];
    let mut things = Vec::new();
    for (key, priority) in (0..).zip(levels) {
        let desc = ResidencyHeapDesc { priority: Some(priority), ..Default::default() };
        things.push(scene.try_thing(key, 1, D3D12_HEAP_TYPE_DEFAULT, &desc).expect("there is room"));
    }
    // The heap of the lowest priority is used last.
    for index in [2, 0, 4, 3, 1] {
        scene.run(&queue, &[&scene.work([&things[index]])]);
    }
    for index in [1, 3, 4, 0, 2] {
        assert!(things[index].is_resident());
        assert_eq!(scene.manager.evict_at_least(LOCAL, mib(1)), mib(1));
        assert!(!things[index].is_resident(), "thing {index} is the next");
    }
    assert_eq!(scene.faults.calls(), 5, "D3D12 is told");
    // Priorities can be changed later. An error of D3D12's call has no effect on the manager.
    scene.run(&queue, &[&scene.work(&things)]);
    scene.faults.fail_all();
    things[2].heap.set_residency_priority(D3D12_RESIDENCY_PRIORITY_MINIMUM).expect("a level");
    things[1].heap.set_residency_priority(D3D12_RESIDENCY_PRIORITY_MAXIMUM).expect("a level");
    assert_eq!(scene.manager.evict_at_least(LOCAL, mib(1)), mib(1));
    assert!(!things[2].is_resident() && things[1].is_resident());
    scene.finish(things);
}

/// Usage above the budget is evicted exactly down to the budget, which ends the pressure level `Over`.
#[test]
fn pressure_beyond_the_budget_ends_where_eviction_does() {
    let (scene, queue, things) = Scene::simulated(ResidencyManagerDesc {
        refresh_interval: 1,
        max_pct_of_video_memory_to_budget: Some(1.0),
        ..Default::default()
    })
    .with_things(8);
    let levels = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&levels);
    let _registration =
        scene.manager.on_pressure(move |pressure| heard.lock().expect("no panic").push(pressure.level));
    let work = scene.work(&things[..1]);
    for budget in [6, 3] {
        things.iter().for_each(|thing| thing.heap.lock().expect("there is memory"));
        scene.set_budget(budget);
        (0..5).for_each(|_| scene.run(&queue, &[&work]));
        assert_eq!(scene.manager.pressure_level(LOCAL), PressureLevel::Over, "nothing can go");
        things.iter().for_each(|thing| assert_eq!(thing.heap.unlock().expect("locked"), 0));
        (0..20).for_each(|_| scene.run(&queue, &[&work]));
        assert_eq!(scene.used(), mib(budget), "what is above the budget is gone, and no more");
        assert_eq!(scene.manager.pressure_level(LOCAL), PressureLevel::High, "{budget} of {budget} MiB");
    }
    // The level does not change back and forth meanwhile.
    let count = levels.lock().expect("no panic").len();
    (0..20).for_each(|_| scene.run(&queue, &[&work]));
    assert_eq!(levels.lock().expect("no panic").len(), count);
    scene.end(things);
}

/// Callbacks may call the manager, as no lock is held.
#[test]
fn a_pressure_callback_may_call_the_manager() {
    let scene = Arc::new(Scene::new(budget(10)));
    let queue = scene.queue();
    let caches = Arc::new(Mutex::new(Vec::new()));
    let levels = Arc::new(Mutex::new(Vec::new()));
    let registration = scene.manager.on_pressure({
        let (manager, caches) = (scene.manager.clone(), Arc::clone(&caches));
        let levels = Arc::clone(&levels);
        move |pressure| {
            levels.lock().expect("no panic").push(pressure.level);
            if pressure.level >= PressureLevel::High {
                drop(std::mem::take(&mut *caches.lock().expect("no panic")));
                manager.trim();
                let _ = manager.query_video_memory_info(pressure.group);
                manager.evict_at_least(pressure.group, ByteSize::new(1));
                let _ = manager.stats();
            }
        }
    });
    let things = scene.things(2);
    let work = scene.work(&things);
    scene.run(&queue, &[&work]);
    assert_eq!(scene.manager.pressure_level(LOCAL), PressureLevel::None);
    for key in 10..15 {
        caches.lock().expect("no panic").push(scene.thing(key, 1));
    }
    scene.run(&queue, &[&work]);
    assert_eq!(scene.manager.pressure_level(LOCAL), PressureLevel::Moderate);
    let more = scene.things(2);
    scene.run(&queue, &[&work]);
    assert!(caches.lock().expect("no panic").is_empty(), "dropped under pressure");
    scene.run(&queue, &[&work]);
    let seen = levels.lock().expect("no panic").clone();
    assert_eq!(seen[..2], [PressureLevel::Moderate, PressureLevel::High], "{seen:?}");
    assert_eq!(scene.manager.pressure_level(LOCAL), PressureLevel::None);
    drop((registration, work));
    let told = levels.lock().expect("no panic").len();
    let scene = Arc::into_inner(scene).expect("the callback is gone with its registration");
    let works: Vec<_> = (20..32).map(|key| scene.thing(key, 1)).collect();
    scene.run(&queue, &[&scene.work(&works)]);
    assert_eq!(levels.lock().expect("no panic").len(), told, "nobody is told any more");
    scene.end((things, more, works));
}

/// On unified memory, both segment groups share one budget.
#[test]
fn unified_memory_has_one_budget() {
    for profile in ["uma", "cache-coherent-uma"] {
        let (scene, queue, mut things) = Scene::of_profile(profile, budget(6)).with_things(4);
        things.extend((10..14).map(|key| scene.non_local(key, 1)));
        assert!(things.iter().all(|thing| thing.heap.segment_group() == LOCAL));
        for pair in things.windows(2) {
            scene.run(&queue, &[&scene.work(pair)]);
            assert!(scene.manager.stats().local.resident <= mib(6));
        }
        scene.manager.trim();
        let stats = scene.manager.stats();
        assert_eq!(stats.non_local, Default::default(), "{profile}");
        let report = scene.instance.residency();
        report.check_balance().expect("balanced");
        assert_eq!(report.paged_in.bytes, stats.local.bytes_paged_in);
        assert_eq!(report.paged_out.bytes, stats.local.bytes_paged_out);
        assert!(report.paged_out.objects > 0, "8 MiB of 6");
        let other = NON_LOCAL;
        assert_eq!(scene.manager.set_video_memory_reservation(other, mib(1)).expect("sound"), mib(0));
        let info = scene.manager.query_video_memory_info(other);
        assert_eq!((info.budget, info.current_usage), (mib(0), mib(0)), "no such group");
        assert_eq!((info.available_for_reservation, info.current_reservation), (mib(0), mib(0)));
        scene.end(things);
    }
}

/// With NEVER_USE_UNIFIED_MEMORY, heaps are counted in the segment group of their description, or that of a discrete
/// GPU.
#[test]
fn unified_memory_may_be_kept_apart() {
    let flags = ResidencyManagerFlags::NEVER_USE_UNIFIED_MEMORY;
    let desc = ResidencyManagerDesc { flags, ..budget(6) };
    let (scene, queue, mut things) = Scene::of_profile("uma", desc).with_things(3);
    let of = |group| ResidencyHeapDesc { segment_group: group, ..Default::default() };
    for (key, heap_type, group) in [
        (10, D3D12_HEAP_TYPE_UPLOAD, Some(NON_LOCAL)),
        (11, D3D12_HEAP_TYPE_UPLOAD, None),
        (12, D3D12_HEAP_TYPE_READBACK, None),
        (13, D3D12_HEAP_TYPE_DEFAULT, Some(NON_LOCAL)),
        (14, D3D12_HEAP_TYPE_UPLOAD, Some(LOCAL)),
    ] {
        things.push(scene.try_thing(key, 1, heap_type, &of(group)).expect("there is room"));
    }
    let stats = scene.manager.stats();
    assert_eq!((stats.local.resident, stats.non_local.resident), (mib(4), mib(4)));
    scene.run(&queue, &[&scene.work(&things)]);
    assert_eq!(scene.manager.evict_at_least(NON_LOCAL, mib(2)), mib(2));
    let stats = scene.manager.stats();
    assert_eq!((stats.local.resident, stats.non_local.resident), (mib(4), mib(2)));
    scene.run(&queue, &[&scene.work(&things)]);
    scene.manager.audit().expect("sound");
    scene.instance.residency().check_balance().expect("balanced");
    scene.end(things);
}

/// A prefetch evicts idle heaps only, and never waits for the GPU.
#[test]
fn a_prefetch_waits_for_nothing() {
    let (scene, queue, mut things) = Scene::new(budget(3)).with_things(3);
    things.push(scene.evicted(7, 1));
    let wanted = scene.write(&things[3]);
    let busy = scene.keep_busy(&queue, &things[..3]);
    scene.manager.prefetch(&wanted.list).expect("there is no room yet");
    assert!(!things[3].is_resident(), "nothing was done");
    scene.check_books(&things);
    scene.finish_work(busy);
    scene.manager.prefetch(&wanted.list).expect("one is idle now");
    assert_eq!(scene.manager.stats().cpu_stalls, 0);
    let paged_in = scene.manager.stats().local.bytes_paged_in;
    scene.run(&queue, &[&wanted]);
    assert_eq!(scene.manager.stats().local.bytes_paged_in, paged_in, "it was there already");
    scene.finish(things);
}

/// Nor does a new heap that may exceed the budget, which no submission does then.
#[test]
fn a_new_heap_waits_for_nothing() {
    let (scene, queue, mut things) = Scene::new(budget(2)).with_things(2);
    let busy = scene.keep_busy(&queue, &things);
    things.push(scene.thing(7, 1));
    assert!(things.iter().all(Thing::is_resident));
    let stats = scene.manager.stats();
    assert_eq!((stats.cpu_stalls, stats.submissions_over_budget), (0, 0));
    scene.finish_work(busy);
    scene.finish(things);
}

/// The usage that the operating system reports does not include a heap that is still being paged in.
#[test]
fn what_is_being_paged_in_is_not_subtracted_from_what_others_use() {
    let scene = Scene::failing(Call::EnqueueMakeResident, E_FAIL, budget(8));
    let (queue, mut things) = (scene.queue(), vec![scene.thing(0, 2)]);
    assert_eq!(scene.manager.evict_at_least(LOCAL, mib(2)), mib(2));
    things.push(scene.thing(1, 1));
    let others = scene.unmanaged(4);
    scene.manager.trim();
    scene.faults.hold_paging();
    let work = scene.work(&things[..1]);
    let value = scene.execute(&queue, &[&work]).expect("executed");
    scene.manager.trim();
    things.push(scene.thing(2, 2));
    let resident: Vec<_> = things.iter().map(Thing::is_resident).collect();
    scene.faults.release_paging();
    scene.wait(&queue, value);
    scene.check(&work);
    assert_eq!(resident, [true, false, true], "2 and 2, and 4 of others, of 8");
    drop(others);
    scene.finish(things);
}

/// One prefetch after another, each within the budget: the later ones do nothing until the heaps of the first have
/// arrived.
#[test]
fn prefetches_may_follow_each_other_directly() {
    let front = Front::Newest;
    let faults = Faults::new(None, E_FAIL);
    let (scene, queue, things) = Scene::on(open("discrete"), front, faults, budget(2)).with_things(6);
    scene.manager.evict_at_least(LOCAL, mib(6));
    let works: Vec<_> = things.chunks(2).map(|things| scene.work(things)).collect();
    scene.faults.hold_paging();
    scene.manager.prefetch(&works[0].list).expect("there is room");
    for _ in 0..2 {
        for work in &works {
            scene.manager.prefetch(&work.list).expect("there is no room yet");
        }
    }
    let resident: Vec<_> = things.iter().map(Thing::is_resident).collect();
    assert_eq!(resident, [true, true, false, false, false, false]);
    scene.faults.release_paging();
    scene.run(&queue, &[&works[0]]);
    // What was prefetched may go.
    scene.manager.prefetch(&works[1].list).expect("the others are idle");
    assert!(!things[0].is_resident() && things[2].is_resident());
    scene.run(&queue, &[&works[1]]);
    // Locked heaps leave no room for now. What never fits is an error.
    things[2].heap.lock().expect("resident");
    scene.manager.prefetch(&works[2].list).expect("there is no room yet");
    assert!(!things[4].is_resident());
    things[2].heap.unlock().expect("locked");
    refused(scene.manager.prefetch(&scene.work(&things[..3]).list), Error::is_over_budget);
    scene.finish(things);
}

/// After any sequence of calls, the sums equal those that D3D12 counts.
#[test]
fn statistics_add_up_to_what_d3d12_counts() {
    let (scene, queue, things) = Scene::new(budget(5)).with_things(9);
    things[4].heap.lock().expect("there is room");
    for index in 0..60 {
        let first = (index * 5) % 8;
        scene.run(&queue, &[&scene.work(&things[first..first + 2])]);
        let (stats, report) = (scene.manager.stats(), scene.instance.residency());
        assert_eq!(stats.local.bytes_paged_in, report.paged_in.bytes);
        assert_eq!(stats.local.bytes_paged_out, report.paged_out.bytes);
        assert_eq!(stats.paging_operations, report.evict.calls + report.enqueue_make_resident.calls);
        assert_eq!(stats.local.resident_count + stats.local.evicted_count, 9);
        assert_eq!(stats.local.resident.saturating_add(stats.local.evicted), mib(9));
        assert_eq!((stats.local.locked_count, stats.local.locked), (1, mib(1)));
        assert!(things[4].is_resident(), "locked");
        scene.check_books(&things);
    }
    assert_eq!(things[4].heap.unlock().expect("locked"), 0);
    scene.end(things);
}
