//! Allocations within the budget.

use std::sync::atomic::{AtomicBool, Ordering};

use super::scene::{Scene, Setup, is_locked, is_resident};
use crate::gpu::*;

#[test]
fn empty_heaps_are_released_while_heaps_in_use_are_evicted() {
    for (budget_mib, kept) in [(256, 32), (64, 0)] {
        let scene = Scene::of_mib(budget_mib);
        let make = |mib: u64| local(&scene.allocator, mib << 20);
        // The smaller budget has room for two of the three heaps.
        let made = [make(33), make(34)];
        drop(make(32));
        scene.allocator.end_frame();
        let empty = scene.allocator.stats().free_heap_usage;
        assert_eq!(empty, mib(kept), "budget of {budget_mib} MiB");
        scene.end(made);
    }
}

#[test]
fn shared_heaps_and_committed_resources_are_paged_too() {
    for flags in [NO_FLAGS, ResourceAllocatorFlags::ALWAYS_COMMITTED] {
        let scene = Scene::with_flags(8, flags);
        let make = |kib: u64| local(&scene.allocator, kib << 10);
        let made: Vec<_> = (0..48).map(|number| make(64 + 37 * (number % 11))).collect();
        scene.fill_all(&made);
        for (seed, allocation) in (1..).zip(&made) {
            scene.assert_filled(allocation, seed);
            assert!(scene.used_mib() <= 8, "{} MiB of 8", scene.used_mib());
        }
        assert_eq!(scene.manager.stats().submissions_over_budget, 0);
        scene.end(made);
    }
}

#[test]
fn a_heap_that_must_fit_says_what_the_budget_is() {
    let scene = Scene::with_flags(4, ResourceAllocatorFlags::ALWAYS_IN_BUDGET);
    let made: Vec<_> = (0..4).map(|_| scene.alone(1)).collect();
    for allocation in &made {
        allocation.memory().expect("managed").lock().expect("resident");
    }
    for flags in [NONE, COMMITTED] {
        let error = scene.try_alone(1, flags).expect_err("everything is locked");
        assert!(error.is_out_of_memory() && error.is_over_budget());
        assert_eq!(error.hresult(), E_OUTOFMEMORY);
        let message = error.to_string();
        assert!(message.contains("the local budget of 4.00 MiB (4.00 MiB in use)"), "{message}");
    }
    assert_eq!(scene.used_mib(), 4);
    made[2].memory().expect("managed").unlock().expect("locked");
    let fits = scene.try_alone(1, NONE).expect("one may go");
    assert!(is_resident(&fits) && !is_resident(&made[2]));
    for allocation in [&made[0], &made[1], &made[3]] {
        assert!(is_locked(allocation) && is_resident(allocation));
    }
    scene.end((made, fits));
}

#[test]
fn without_the_flag_usage_may_exceed_the_budget() {
    let scene = Scene::of_mib(2);
    let locked = scene.alone(2);
    locked.memory().expect("managed").lock().expect("resident");
    refused(scene.try_alone(1, WITHIN_BUDGET), Error::is_over_budget);
    let over = scene.alone(1);
    assert!(is_resident(&over));
    assert_eq!(scene.used_mib(), 3);
    scene.end((locked, over));
}

/// GPGMM's defect 18, in part: a request that exceeds the budget slightly evicts only what is missing, and
/// is not refused.
#[test]
fn no_more_is_evicted_than_is_missing() {
    let scene = Scene::with_flags(10, ResourceAllocatorFlags::ALWAYS_IN_BUDGET);
    let made: Vec<_> = (0..8).map(|_| scene.alone(1)).collect();
    let large = scene.try_alone(3, NONE).expect("one has to go");
    assert_eq!(made.iter().filter(|made| !is_resident(made)).count(), 1, "one missing, one gone");
    assert_eq!(scene.used_mib(), 10);
    scene.end((made, large));
}

/// GPGMM's defect 18: heaps that are created at the same time are checked one by one.
#[test]
fn threads_together_stay_within_the_budget() {
    let scene = Scene::with_flags(8, ResourceAllocatorFlags::ALWAYS_IN_BUDGET);
    let is_done = AtomicBool::new(false);
    let most = std::thread::scope(|scope| {
        let watch = scope.spawn(|| {
            let mut most = 0;
            while !is_done.load(Ordering::Relaxed) {
                most = most.max(scene.used_mib());
            }
            most
        });
        let make = || {
            for _ in 0..20 {
                let made: Vec<_> = (0..4).filter_map(|_| scene.try_alone(1, WITHIN_BUDGET).ok()).collect();
                drop(made);
            }
        };
        let makers: Vec<_> = (0..4).map(|_| scope.spawn(make)).collect();
        makers.into_iter().for_each(|maker| maker.join().expect("no panic"));
        is_done.store(true, Ordering::Relaxed);
        watch.join().expect("no panic")
    });
    assert!(most <= 8, "{most} MiB of 8");
    scene.end(());
}

#[test]
fn empty_heaps_go_before_live_ones() {
    let scene = Scene::of_mib(8);
    let live = scene.alone(4);
    // Kept as an empty heap, which was used later than the live one.
    drop(scene.alone(4));
    assert_eq!(scene.allocator.reserved(), mib(8));
    let texture_like = buffer(&scene.allocator, &place(HeapType::GpuUpload, OWN), 4 << 20);
    assert_eq!(texture_like.memory().expect("managed").segment_group(), SegmentGroup::Local);
    assert!(is_resident(&live), "the empty heap was enough");
    assert_eq!(scene.allocator.reserved(), mib(8), "it went back to the device");
    scene.end((live, texture_like));
}

#[test]
fn the_operating_systems_budget_counts_without_an_override() {
    let scene = Scene::new(Setup { manager: ResidencyManagerFlags::ALWAYS_IN_BUDGET, ..Setup::default() });
    set_local_budget(&scene.gpu, mib(20));
    scene.manager.trim();
    let made: Vec<_> = (0..8).map(|_| scene.alone(4)).collect();
    assert!(scene.used_mib() <= 19, "{} MiB of 95 % of 20", scene.used_mib());
    assert!(made.iter().any(is_resident));
    // Half of the budget is given to another process.
    set_local_budget(&scene.gpu, mib(10));
    scene.manager.trim();
    assert!(scene.used_mib() <= 9, "{} MiB of 95 % of 10", scene.used_mib());
    scene.end(made);
}

#[test]
fn what_may_never_be_needed_evicts_nothing() {
    let scene = Scene::with_flags(8, ResourceAllocatorFlags::ALLOW_PREFETCH);
    let live: Vec<_> = (0..7)
        .map(|_| {
            let made = scene.alone(1);
            wait_for_empty_heap(&scene.allocator);
            made
        })
        .collect();
    let flags = ALWAYS_PREFETCH_HEAP;
    let more: Vec<_> = (0..2).map(|_| scene.try_alone(1, flags).expect("there is room")).collect();
    scene.allocator.audit().expect("consistent, and no heap is being made");
    let evicted = live.iter().chain(&more).filter(|made| !is_resident(made)).count();
    assert_eq!(evicted, 1, "for the ninth, and not for a tenth");
    scene.end((live, more));
}

#[test]
fn a_probe_knows_what_could_be_evicted() {
    let scene = Scene::of_mib(4);
    let idle = scene.alone(4);
    let desc = place(HeapType::Default, WITHIN_BUDGET | OWN);
    let resource = ResourceDesc::new(&buffer_desc(mib(2)));
    scene.allocator.probe(&desc, resource).expect("what is idle can go");
    assert!(is_resident(&idle), "a probe changes nothing");
    idle.memory().expect("managed").lock().expect("resident");
    refused(scene.allocator.probe(&desc, resource), Error::is_over_budget);
    refused(scene.allocator.create(&desc, resource), Error::is_over_budget);
    scene.end(idle);
}

#[test]
fn a_probe_knows_what_needs_no_room_and_what_is_not_held() {
    let scene = Scene::with_flags(
        2,
        ResourceAllocatorFlags::CREATE_NOT_RESIDENT | ResourceAllocatorFlags::ALWAYS_IN_BUDGET,
    );
    let locked = scene.alone(2);
    locked.memory().expect("managed").lock().expect("there is room");
    let probe = |flags| {
        let desc = place(HeapType::Default, flags | OWN);
        let resource = ResourceDesc::new(&buffer_desc(mib(1)));
        let probed = scene.allocator.probe(&desc, resource).map(|probe| probe.memory);
        let made = scene.allocator.create(&desc, resource).map(drop);
        assert_eq!(probed.is_ok(), made.is_ok(), "{probed:?} and {made:?}");
        probed.expect("nothing is needed for it")
    };
    let new = PredictedMemory::NewHeap(mib(1));
    assert_eq!(probe(NONE), new);
    assert_eq!(probe(COMMITTED), new);
    scene.end(locked);

    let allocator = of_policy(SegmentedPool);
    let scene = Scene::new(Setup { allocator, ..Setup::default() });
    drop(scene.alone(1));
    let probe = |flags| {
        let desc = place(HeapType::Default, flags | OWN);
        scene.allocator.probe(&desc, buffer_desc(mib(1))).expect("there is room").memory
    };
    assert_eq!(probe(NONE), PredictedMemory::Held);
    assert_eq!(probe(NEVER_RESIDENT), new, "what is held is managed");
    let nested = nested_in(&scene.allocator, Default::default());
    let place = place(HeapType::Default, NEVER_RESIDENT);
    let probed = nested.probe(&place, buffer_of(MIB)).expect("there is room");
    assert_eq!(probed.memory, new, "what another allocator holds as well");
    drop(nested);
    scene.end(());
}

/// An empty heap that the manager could evict is in the way of nothing but what it does not manage.
#[test]
fn an_empty_heap_makes_way_only_where_that_helps() {
    let (allocator, manager) =
        (keeping_empty_heaps(Default::default()), ResidencyManagerFlags::ALWAYS_IN_BUDGET);
    let scene = Scene::new(Setup { budget_mib: Some(8), allocator, manager, ..Setup::default() });
    let locked = scene.alone(2);
    locked.memory().expect("managed").lock().expect("there is room");
    drop(scene.alone(5));
    refused(scene.allocator.probe(&in_default(), buffer_of(7 * MIB)), Error::is_over_budget);
    refused(scene.try_alone(7, NONE), Error::is_over_budget);
    assert_eq!(scene.allocator.reserved(), mib(7));
    let unmanaged = scene.try_alone(6, NEVER_RESIDENT).expect("there is room");
    assert_eq!(scene.allocator.reserved(), mib(8));
    scene.end((locked, unmanaged));
}

#[test]
fn limits_hold_beside_the_budget() {
    let allocator = limited_to(mib(3));
    let scene = Scene::new(Setup { budget_mib: Some(2), allocator, ..Setup::default() });
    let made: Vec<_> = (0..3).map(|_| scene.alone(1)).collect();
    assert_eq!((scene.used_mib(), made.iter().filter(|made| is_resident(made)).count()), (2, 2));
    fails(scene.try_alone(1, NONE), "limit of 3.00 MiB");
    scene.end(made);
}
