//! Devices without `ID3D12Device3`, where a thread of the manager makes heaps resident.

use std::time::Duration;

use heapwright::d3d12::*;
use heapwright::residency::{ResidencyManagerDesc, ResidencyManagerFlags};
use heapwright::{Error, SegmentGroup};

use crate::faults::fails_in_front;
use crate::faulty_device::{Call, Faults};
use crate::gpu::*;
use crate::scene::{Front, Scene, Thing, budget, mib};

const LOCAL: SegmentGroup = SegmentGroup::Local;

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
fn a_first_generation_device_pages_on_a_thread() {
    pages(Scene::on(open("first-generation"), Front::Plain, Faults::new(None, E_FAIL), budget(4)));
}

#[test]
fn a_device_without_newer_interfaces_pages_on_a_thread() {
    pages(Scene::faulty(Front::First, Call::MakeResident, E_FAIL, budget(4)));
}

/// Other heaps are evicted until there is memory; no caller sees the failure.
#[test]
fn a_thread_that_finds_no_memory_evicts() {
    fails_in_front(Front::First, Call::MakeResident, E_OUTOFMEMORY);
}

#[test]
fn every_other_call_may_fail_there_too() {
    fails_in_front(Front::First, Call::Evict, E_FAIL);
    fails_in_front(Front::First, Call::QueueWait, E_FAIL);
    fails_in_front(Front::First, Call::QueueSignal, E_FAIL);
    fails_in_front(Front::First, Call::CreateFence, E_OUTOFMEMORY);
}

/// A lock whose heap could not be made resident is an error, on the paging thread or not, and the manager
/// then refuses all calls.
#[test]
fn a_thread_that_fails_is_an_error() {
    for hresult in [E_FAIL, E_OUTOFMEMORY] {
        let desc = ResidencyManagerDesc { max_stall: Duration::from_millis(20), ..budget(8) };
        let (scene, queue, things) =
            Scene::faulty(Front::First, Call::MakeResident, hresult, desc).with_things(3);
        assert_eq!(scene.manager.evict_at_least(LOCAL, mib(2)), mib(2));
        let missing = things.iter().find(|thing| !thing.is_resident()).expect("two of them");
        scene.faults.fail_all();
        let error = missing.heap.lock().expect_err("it is not resident");
        assert_eq!(error.hresult(), hresult, "{error}");
        assert!(error.to_string().contains("ID3D12Device::MakeResident"), "{error}");
        assert!(!missing.info().is_locked);
        scene.faults.disarm();
        let work = scene.work(&things);
        for error in [
            scene.execute(&queue, &[&work]).map(drop).expect_err("refused"),
            scene.manager.prefetch(&work.list).expect_err("refused"),
            things[0].heap.lock().expect_err("refused"),
        ] {
            assert_eq!(error.hresult(), hresult, "{error}");
        }
        // A heap that may not be resident is not evicted.
        scene.manager.evict_at_least(LOCAL, mib(8));
        scene.manager.trim();
        scene.manager.audit().expect("sound");
        scene.instance.residency().check_balance().expect("as often evicted as made resident");
        scene.end(things);
    }
}

/// ALWAYS_IN_BUDGET applies, although D3D12 has no call for it there.
#[test]
fn a_thread_stays_in_the_budget() {
    let flags = ResidencyManagerFlags::ALWAYS_IN_BUDGET;
    let (scene, queue, things) =
        Scene::faulty(Front::First, Call::MakeResident, E_FAIL, ResidencyManagerDesc { flags, ..budget(4) })
            .with_things(8);
    refused(scene.execute(&queue, &[&scene.work(&things)]), Error::is_over_budget);
    scene.run(&queue, &[&scene.work(&things[2..6])]);
    assert!(things[2..6].iter().all(Thing::is_resident));
    scene.finish(things);
}
