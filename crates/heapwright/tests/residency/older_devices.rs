//! Devices without `ID3D12Device3`, which make heaps resident before the call returns.

use crate::faults::fails_in_front;
use crate::faulty_device::Call;
use crate::gpu::*;
use crate::scene::{Front, Scene, Thing, budget};

fn pages(scene: Scene) {
    let queues = [scene.queue(), scene.queue()];
    let things = scene.things(8);
    let before = scene.instance.residency().enqueue_make_resident;
    for index in 0..40 {
        let first = (index * 3) % 7;
        let works = [scene.work(&things[first..first + 1]), scene.work(&things[first + 1..first + 2])];
        scene.run(&queues[index % 2], &[&works[0], &works[1]]);
        scene.check_books(&things);
        assert!(scene.used() <= mib(4));
    }
    things[0].heap.lock().expect("there is room");
    assert!(things[0].is_resident());
    scene.check_books(&things);
    assert_eq!(things[0].heap.unlock().expect("locked"), 0);
    let report = scene.instance.residency();
    assert_eq!(report.enqueue_make_resident, before);
    assert!(report.make_resident.calls > 8 && report.make_resident.refused == 0, "{report:?}");
    assert_eq!(scene.manager.stats().submissions_over_budget, 0);
    scene.end(things);
}

#[test]
fn a_first_generation_device_pages() {
    pages(Scene::of_profile("first-generation", budget(4)));
}

#[test]
fn a_device_without_newer_interfaces_pages() {
    pages(Scene::faulty(Front::First, Call::MakeResident, E_FAIL, budget(4)));
}

#[test]
fn every_call_may_fail() {
    fails_in_front(Front::First, Call::MakeResident, E_FAIL);
    // The failure causes further evictions, and the submission normally succeeds.
    fails_in_front(Front::First, Call::MakeResident, E_OUTOFMEMORY);
    fails_in_front(Front::First, Call::Evict, E_FAIL);
    fails_in_front(Front::First, Call::QueueWait, E_FAIL);
    fails_in_front(Front::First, Call::QueueSignal, E_FAIL);
    fails_in_front(Front::First, Call::CreateFence, E_OUTOFMEMORY);
}

/// The heap is resident when the call returns, and a failure is that call's alone.
#[test]
fn a_lock_that_fails_is_an_error() {
    for hresult in [E_FAIL, E_OUTOFMEMORY] {
        let (scene, queue, things) =
            Scene::faulty(Front::First, Call::MakeResident, hresult, budget(8)).with_things(3);
        assert_eq!(scene.manager.evict_at_least(LOCAL, mib(2)), mib(2));
        let missing = things.iter().find(|thing| !thing.is_resident()).expect("two of them");
        scene.faults.fail_all();
        let error = fails(missing.heap.lock(), "ID3D12Device::MakeResident");
        assert_eq!(error.hresult(), hresult, "{error}");
        assert!(!missing.info().is_locked && !missing.is_resident());
        scene.faults.disarm();
        missing.heap.lock().expect("there is memory");
        assert!(missing.is_resident());
        missing.heap.unlock().expect("locked");
        scene.run(&queue, &[&scene.work(&things)]);
        scene.finish(things);
    }
}

/// ALWAYS_IN_BUDGET applies, although D3D12 has no call for it there.
#[test]
fn the_budget_is_kept() {
    let flags = ResidencyManagerFlags::ALWAYS_IN_BUDGET;
    let desc = ResidencyManagerDesc { flags, ..budget(4) };
    let (scene, queue, things) = Scene::faulty(Front::First, Call::MakeResident, E_FAIL, desc).with_things(8);
    refused(scene.execute(&queue, &[&scene.work(&things)]), Error::is_over_budget);
    scene.run(&queue, &[&scene.work(&things[2..6])]);
    assert!(things[2..6].iter().all(Thing::is_resident));
    scene.finish(things);
}
