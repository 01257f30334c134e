//! Budgets that the program sets while the manager is in use.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use crate::gpu::*;
use crate::scene::{Scene, Thing, budget};

const ZERO: ResidencyBudget = ResidencyBudget::Bytes(ByteSize::ZERO);

fn set(scene: &Scene, group: SegmentGroup, budget: ResidencyBudget) {
    scene.manager.set_budget(group, budget).expect("a budget that can be");
}

fn budget_of(scene: &Scene, group: SegmentGroup) -> ByteSize {
    scene.manager.query_video_memory_info(group).budget
}

/// Zero concerns the idle heaps of one group, without any submission. What is used later returns with the budget.
#[test]
fn with_zero_everything_idle_leaves_at_once() {
    for zero in [ZERO, ResidencyBudget::Share(0.0)] {
        let (scene, queue, mut things) = Scene::simulated(budget(8)).with_things(4);
        things.push(scene.non_local(4, 1));
        let work = scene.work(&things);
        scene.run(&queue, &[&work]);
        set(&scene, LOCAL, zero);
        let resident: Vec<_> = things.iter().map(Thing::is_resident).collect();
        assert_eq!(resident, [false, false, false, false, true], "{zero:?}");
        let stats = scene.manager.stats();
        assert_eq!((stats.local.resident, stats.local.resident_count), (mib(0), 0));
        assert_eq!((stats.local.evicted, stats.local.evicted_count), (mib(4), 4));
        assert_eq!((stats.non_local.resident, stats.non_local.evicted), (mib(1), mib(0)));
        scene.check_books(&things);
        set(&scene, NON_LOCAL, zero);
        assert_eq!(scene.manager.stats().non_local.evicted, mib(1));
        set(&scene, LOCAL, ResidencyBudget::AsDescribed);
        set(&scene, NON_LOCAL, ResidencyBudget::AsDescribed);
        assert!(!things.iter().any(Thing::is_resident), "what is not used stays evicted");
        scene.run(&queue, &[&work]);
        assert!(things.iter().all(Thing::is_resident));
        assert_eq!(scene.manager.stats().submissions_over_budget, 0);
        scene.finish(things);
    }
}

/// What the GPU uses, and what is locked, stays. The next submission evicts it, or a trim.
#[test]
fn what_is_in_use_leaves_later() {
    let (scene, queue, things) = Scene::simulated(budget(8)).with_things(5);
    let other = scene.queue();
    let busy = scene.keep_busy(&queue, &things[..2]);
    things[2].heap.lock().expect("resident");
    set(&scene, LOCAL, ZERO);
    let resident = || things.iter().map(Thing::is_resident).collect::<Vec<_>>();
    assert_eq!(resident(), [true, true, true, false, false]);
    scene.finish_work(busy);
    assert_eq!(resident(), [true, true, true, false, false], "nobody has called the manager");
    scene.run(&other, &[&scene.work(&things[2..3])]);
    assert_eq!(resident(), [false, false, true, false, false]);
    things[2].heap.unlock().expect("locked");
    scene.manager.trim();
    assert_eq!(resident(), [false; 5]);
    scene.finish(things);
}

/// A program in the background may go on rendering.
#[test]
fn submissions_go_on_with_zero() {
    let (scene, queue, things) = Scene::simulated(budget(8)).with_things(6);
    let works: Vec<_> = things.chunks(2).map(|pair| scene.work(pair)).collect();
    set(&scene, LOCAL, ZERO);
    for work in works.iter().cycle().take(12) {
        scene.run(&queue, &[work]);
        assert!(scene.used() <= mib(2), "what was used before is idle");
    }
    // Several lists of one call.
    scene.run(&queue, &works.iter().collect::<Vec<_>>());
    assert_eq!(scene.manager.stats().submissions_over_budget, 15, "one for each list");
    scene.manager.trim();
    assert_eq!(scene.used(), mib(0));
    scene.finish(things);
}

#[test]
fn always_in_budget_a_submission_is_refused() {
    let desc = ResidencyManagerDesc { flags: ResidencyManagerFlags::ALWAYS_IN_BUDGET, ..budget(8) };
    let (scene, queue, things) = Scene::simulated(desc).with_things(2);
    let work = scene.work(&things);
    for budget in [ZERO, ResidencyBudget::Share(0.125)] {
        set(&scene, LOCAL, budget);
        refused(scene.execute(&queue, &[&work]), Error::is_over_budget);
        set(&scene, LOCAL, ResidencyBudget::Bytes(mib(2)));
        scene.run(&queue, &[&work]);
    }
    scene.finish(things);
}

/// Bytes replace a fraction of the system's budget, and a share follows it.
#[test]
fn a_budget_follows_that_of_the_system() {
    let half = Some(0.5);
    let desc = ResidencyManagerDesc { max_pct_of_video_memory_to_budget: half, ..Default::default() };
    let (scene, queue, things) = Scene::simulated(desc).with_things(16);
    scene.set_budget(64);
    let work = scene.work(&things);
    scene.run(&queue, &[&work]);
    assert_eq!(budget_of(&scene, LOCAL), mib(32));
    for (set_to, expected, least) in [
        (ResidencyBudget::Share(0.25), [8, 4], 4),
        (ResidencyBudget::Bytes(mib(12)), [12, 12], 12),
        (ResidencyBudget::Bytes(mib(60)), [60, 32], 16),
        (ResidencyBudget::AsDescribed, [32, 16], 16),
    ] {
        for (system, expected) in [64, 32].into_iter().zip(expected) {
            scene.set_budget(system);
            set(&scene, LOCAL, set_to);
            assert_eq!(budget_of(&scene, LOCAL), mib(expected), "{set_to:?} of {system} MiB");
            assert!(scene.used() <= mib(expected));
        }
        assert_eq!(scene.used(), mib(least), "no more is evicted than exceeds the budget");
        set(&scene, LOCAL, ResidencyBudget::AsDescribed);
        scene.run(&queue, &[&work]);
    }
    scene.finish(things);
}

#[test]
fn a_budget_replaces_an_override() {
    let (scene, queue, things) = Scene::simulated(budget(2)).with_things(4);
    set(&scene, LOCAL, ResidencyBudget::Bytes(mib(4)));
    scene.run(&queue, &[&scene.work(&things)]);
    assert!(things.iter().all(Thing::is_resident), "more than the override");
    set(&scene, LOCAL, ResidencyBudget::AsDescribed);
    assert_eq!((scene.used(), budget_of(&scene, LOCAL)), (mib(2), mib(2)));
    scene.finish(things);
}

#[test]
fn a_share_that_cannot_be_changes_nothing() {
    let (scene, _, things) = Scene::simulated(budget(8)).with_things(4);
    set(&scene, LOCAL, ResidencyBudget::Share(0.5));
    for share in [-0.1, 1.1, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let error = scene.manager.set_budget(LOCAL, ResidencyBudget::Share(share)).expect_err("no share");
        let text = error.to_string();
        assert!(error.is_invalid_argument() && text.contains("ResidencyBudget::Share"), "{text}");
        assert!(text.contains(&format!("{share} is out of range; 0 to 1 is allowed")), "{text}");
        assert_eq!(budget_of(&scene, LOCAL), mib(4));
    }
    scene.finish(things);
}

#[test]
fn callbacks_learn_of_the_pressure() {
    let (scene, _, things) = Scene::simulated(budget(16)).with_things(4);
    let levels = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&levels);
    let _registration = scene.manager.on_pressure(move |pressure| {
        heard.lock().expect("no panic").push((pressure.group, pressure.level));
    });
    things.iter().for_each(|thing| thing.heap.lock().expect("there is memory"));
    set(&scene, LOCAL, ResidencyBudget::Bytes(mib(2)));
    assert_eq!(*levels.lock().expect("no panic"), [(LOCAL, PressureLevel::Over)]);
    set(&scene, LOCAL, ResidencyBudget::AsDescribed);
    assert_eq!(levels.lock().expect("no panic").last(), Some(&(LOCAL, PressureLevel::None)));
    things.iter().for_each(|thing| assert_eq!(thing.heap.unlock().expect("locked"), 0));
    scene.finish(things);
}

#[test]
fn unified_memory_has_no_non_local_budget() {
    let (scene, _, mut things) = Scene::of_profile("uma", budget(8)).with_things(2);
    things.push(scene.non_local(2, 1));
    set(&scene, NON_LOCAL, ZERO);
    assert!(things.iter().all(Thing::is_resident));
    assert_eq!((budget_of(&scene, LOCAL), budget_of(&scene, NON_LOCAL)), (mib(8), mib(0)));
    set(&scene, LOCAL, ZERO);
    assert!(!things.iter().any(Thing::is_resident));
    scene.end(things);
}

/// The program's budget is that of its allocators, too.
#[test]
fn an_allocator_keeps_within_it() {
    let scene = Scene::simulated(budget(256));
    let desc = flagged(ResourceAllocatorFlags::ALWAYS_IN_BUDGET);
    let allocator = managed_by(&scene.manager, &*scene.instance, desc);
    let create = || try_buffer(&allocator, &in_default(), 8 * MIB);
    let first = create().expect("there is room");
    set(&scene, LOCAL, ResidencyBudget::Bytes(mib(4)));
    refused(create(), Error::is_out_of_memory);
    set(&scene, LOCAL, ResidencyBudget::AsDescribed);
    drop((create().expect("there is room again"), first));
}

/// Budgets change while other threads submit.
#[test]
fn threads_may_set_budgets_while_others_submit() {
    let (scene, queue, things) = Scene::simulated(budget(8)).with_things(8);
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let budgets = [0, 3, 8, 1, 5].into_iter().cycle();
            for budget in budgets.take_while(|_| !is_done.load(Ordering::Relaxed)) {
                set(&scene, LOCAL, ResidencyBudget::Bytes(mib(budget)));
            }
        });
        for start in (0..6).cycle().take(300) {
            scene.run(&queue, &[&scene.work(&things[start..start + 3])]);
        }
        is_done.store(true, Ordering::Relaxed);
    });
    set(&scene, LOCAL, ZERO);
    assert_eq!(scene.used(), mib(0));
    scene.finish(things);
}
