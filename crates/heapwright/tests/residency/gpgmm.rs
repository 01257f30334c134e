//! Tests for the defects of GPGMM: part F.2 of the research notes (gpgmm.md). The items on GPGMM in part 1e
//! of peers.md are among them (13, 15, 25, 26), except for the one command list per call.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::faulty_device::Call;
use crate::gpu::*;
use crate::scene::{Scene, budget, until};

fn with_flags(flags: ResidencyHeapFlags) -> ResidencyHeapDesc {
    ResidencyHeapDesc { flags, ..Default::default() }
}

/// GPGMM's reference: "the flag only has effect when the heap's residency status cannot be determined".
#[test]
fn create_resident_leaves_alone_what_is_known_to_be_evicted() {
    let scene = Scene::new(budget(8));
    let flags = ResidencyHeapFlags::CREATE_RESIDENT;
    let mut things = vec![scene.not_resident(1, 1, &with_flags(flags))];
    // A heap that exists already.
    let evicted = D3D12_HEAP_FLAG_CREATE_NOT_RESIDENT;
    let heap = scene.raw_heap(D3D12_HEAP_TYPE_DEFAULT, 1, evicted).expect("there is room");
    let adopted = scene.manager.manage(&with_flags(flags), &heap.into()).expect("a heap");
    for info in [things[0].info(), adopted.info()] {
        assert_eq!((info.status, info.is_locked), (ResidencyHeapStatus::Evicted, false));
    }
    let stats = scene.manager.stats();
    assert_eq!((stats.local.resident_count, stats.local.bytes_paged_in), (0, ByteSize::ZERO));
    // A lock makes it resident; with CREATE_LOCKED this happens on creation.
    adopted.lock().expect("there is room");
    assert_eq!(adopted.info().status, ResidencyHeapStatus::Resident);
    assert_eq!(adopted.unlock().expect("locked"), 0);
    things.push(scene.not_resident(2, 1, &with_flags(ResidencyHeapFlags::CREATE_LOCKED)));
    assert!(things[1].is_resident());
    assert_eq!(things[1].heap.unlock().expect("locked"), 0);
    scene.end((adopted, things));
}

/// F.2, 15 (and 1e): the queue does not begin before paging has ended.
#[test]
fn a_queue_waits_for_paging() {
    let (scene, queue, things) = Scene::failing(Call::EnqueueMakeResident, E_FAIL, budget(8)).with_things(3);
    assert_eq!(scene.manager.evict_at_least(LOCAL, mib(2)), mib(2));
    let work = scene.work(&things[..2]);
    scene.faults.hold_paging();
    let value = scene.execute(&queue, &[&work]).expect("executed, and the CPU does not wait");
    let fence = scene.manager.queue_fence(&queue).expect("known");
    // A submission to another queue that uses the same heaps waits as well, also if its last list does not.
    let (other, again, last) = (scene.queue(), scene.work(&things[..2]), scene.work(&things[2..]));
    let other_value = scene.execute(&other, &[&again, &last]).expect("executed");
    std::thread::sleep(Duration::from_millis(20));
    scene.assert_alive();
    assert!(unsafe { fence.GetCompletedValue() } < value.get(), "the queue did not wait");
    // Heaps that are being paged in are not evicted.
    assert_eq!(scene.manager.evict_at_least(LOCAL, mib(2)), ByteSize::ZERO);
    scene.faults.release_paging();
    scene.wait(&queue, value);
    scene.wait(&other, other_value);
    scene.check(&work);
    scene.check(&again);
    scene.finish(things);
}

/// F.2, 15: a lock returns when the heap is resident.
#[test]
fn a_lock_waits_for_paging() {
    let scene = Scene::failing(Call::EnqueueMakeResident, E_FAIL, budget(8));
    let things = scene.things(1);
    assert_eq!(scene.manager.evict_at_least(LOCAL, mib(1)), mib(1));
    let calls = scene.faults.calls();
    scene.faults.hold_paging();
    let is_released = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let locking = scope.spawn(|| {
            things[0].heap.lock().expect("there is room");
            is_released.load(Ordering::SeqCst)
        });
        until("the lock pages in", || scene.faults.calls() > calls);
        std::thread::sleep(Duration::from_millis(20));
        is_released.store(true, Ordering::SeqCst);
        scene.faults.release_paging();
        assert!(locking.join().expect("no panic"), "the lock was there before the heap");
    });
    assert_eq!(things[0].heap.unlock().expect("locked"), 0);
    scene.finish(things);
}

/// F.2, 16: a failing MakeResident is an error of the call that needed it.
#[test]
fn a_failure_to_make_resident_is_an_error() {
    for hresult in [E_FAIL, E_OUTOFMEMORY, E_INVALIDARG, S_FALSE] {
        let (scene, queue, things) =
            Scene::failing(Call::EnqueueMakeResident, hresult, budget(8)).with_things(1);
        assert_eq!(scene.manager.evict_at_least(LOCAL, mib(1)), mib(1));
        let work = scene.work(&things);
        if hresult.is_ok() {
            // Any success code of COM counts as success.
            scene.run(&queue, &[&work]);
            scene.end(things);
            continue;
        }
        scene.faults.fail_all();
        for answer in [
            scene.execute(&queue, &[&work]).map(drop),
            scene.manager.prefetch(&work.list),
            things[0].heap.lock(),
        ] {
            let error = fails(answer, "ID3D12Device3::EnqueueMakeResident");
            assert_eq!(error.hresult(), hresult, "{error}");
        }
        assert!(!things[0].is_resident() && !things[0].info().is_locked);
        scene.check_books(&things);
        scene.faults.disarm();
        scene.run(&queue, &[&work]);
        scene.finish(things);
    }
}

/// F.2, 17: when the device has no memory although the budget has room, `evict_size` bytes of other heaps
/// in the same memory are evicted, and the call is repeated.
#[test]
fn evict_size_is_evicted_when_the_device_has_no_memory() {
    let desc = ResidencyManagerDesc { evict_size: mib(2), ..budget(100) };
    let (scene, queue, mut things) =
        Scene::failing(Call::EnqueueMakeResident, E_OUTOFMEMORY, desc).with_things(6);
    assert_eq!(scene.manager.evict_at_least(LOCAL, mib(1)), mib(1));
    let missing = things.remove(things.iter().position(|thing| !thing.is_resident()).expect("one"));
    things.push(scene.non_local(10, 1));
    let before = scene.manager.stats();
    scene.faults.fail_nth(0);
    let work = scene.work([&missing]);
    scene.run(&queue, &[&work]);
    assert!(scene.faults.has_failed());
    let stats = scene.manager.stats();
    assert_eq!(stats.local.bytes_paged_out.saturating_sub(before.local.bytes_paged_out), mib(2));
    assert_eq!(stats.local.bytes_paged_in.saturating_sub(before.local.bytes_paged_in), mib(1));
    assert_eq!(stats.non_local.bytes_paged_out, ByteSize::ZERO);
    things.push(missing);
    scene.check_books(&things);

    // The repetition ends when nothing is left to evict.
    assert_eq!(scene.manager.evict_at_least(LOCAL, mib(6)), mib(4));
    let work = scene.work(&things[..1]);
    scene.faults.fail_all();
    refused(scene.execute(&queue, &[&work]), Error::is_out_of_memory);
    scene.check_books(&things);
    scene.faults.disarm();
    scene.run(&queue, &[&work]);
    scene.end(things);
}

/// Such a failure says that the budget is out of date. What exceeds the present one is evicted as well.
#[test]
fn the_operating_system_is_asked_when_the_device_has_no_memory() {
    let desc = ResidencyManagerDesc { evict_size: mib(1), refresh_interval: 1000, ..Default::default() };
    let (scene, queue, things) =
        Scene::failing(Call::EnqueueMakeResident, E_OUTOFMEMORY, desc).with_things(8);
    assert_eq!(scene.manager.evict_at_least(LOCAL, mib(1)), mib(1));
    let missing = scene.work(things.iter().filter(|thing| !thing.is_resident()));
    scene.set_budget(4);
    scene.faults.fail_nth(0);
    scene.run(&queue, &[&missing]);
    assert!(scene.faults.has_failed() && scene.used() <= mib(4), "{}", scene.used());
    scene.finish(things);
}

/// F.2, 18: the budget reserved for a heap stays reserved until the heap is created, and cannot be taken
/// meanwhile.
#[test]
fn room_for_a_heap_is_kept_until_it_is_there() {
    let scene = Scene::simulated(budget(8));
    let device = &scene.instance.device;
    let size = mib(6);
    let desc = ResidencyHeapDesc {
        segment_group: Some(LOCAL),
        size,
        flags: ResidencyHeapFlags::CREATE_IN_BUDGET,
        ..Default::default()
    };
    let create = || raw_heap(device, D3D12_HEAP_TYPE_DEFAULT, 6 * MIB, D3D12_HEAP_FLAG_NONE).map(Into::into);
    let first = scene
        .manager
        .create_heap(&desc, || {
            // Simulates another thread in between.
            refused(scene.manager.create_heap(&desc, create), Error::is_over_budget);
            create()
        })
        .expect("there is room for one");
    assert_eq!(scene.used(), size);
    scene.manager.audit().expect("sound");
    drop(first);
    // The reservation has ended with the heap.
    let again = scene.manager.create_heap(&desc, create).expect("there is room again");
    scene.end(again);
}

/// F.2, 18: heaps of unknown size are checked as well, and no more is evicted than necessary.
#[test]
fn create_in_budget_checks_every_heap_and_evicts_what_is_needed() {
    let scene = Scene::new(budget(8));
    let in_budget = with_flags(ResidencyHeapFlags::CREATE_IN_BUDGET);
    let mut things = scene.things(7);
    // 2 MiB are needed and 1 MiB is free: one of the seven is evicted, although it is smaller than the new
    // heap.
    things.push(scene.try_thing(7, 2, D3D12_HEAP_TYPE_DEFAULT, &in_budget).expect("one has to go"));
    assert_eq!(things.iter().filter(|thing| thing.is_resident()).count(), 7);
    assert_eq!(scene.manager.stats().local.bytes_paged_out, mib(1));
    scene.check_books(&things);
    // Without a size: nothing may be evicted, so the heap is refused after its creation, and released.
    let resident: Vec<_> = things.iter().filter(|thing| thing.is_resident()).collect();
    resident.iter().for_each(|thing| thing.heap.lock().expect("resident"));
    let usage = scene.used();
    refused(scene.try_thing(8, 1, D3D12_HEAP_TYPE_DEFAULT, &in_budget), Error::is_over_budget);
    assert_eq!(scene.used(), usage);
    resident.iter().for_each(|thing| assert_eq!(thing.heap.unlock().expect("locked"), 0));
    drop(resident);
    // Larger than the budget: refused, and nothing is evicted for it.
    let out = scene.manager.stats().local.bytes_paged_out;
    let sized = ResidencyHeapDesc { segment_group: Some(LOCAL), size: mib(9), ..in_budget };
    refused(scene.try_thing(8, 9, D3D12_HEAP_TYPE_DEFAULT, &sized), Error::is_over_budget);
    assert_eq!(scene.manager.stats().local.bytes_paged_out, out);
    scene.finish(things);
}

/// F.2, 18, and the operating system's numbers: a request is not refused on an outdated query.
#[test]
fn a_refusal_asks_the_operating_system_first() {
    let scene = Scene::new(budget(4));
    let in_budget = with_flags(ResidencyHeapFlags::CREATE_IN_BUDGET);
    let unmanaged = scene.unmanaged(3);
    scene.manager.trim();
    refused(scene.try_thing(1, 2, D3D12_HEAP_TYPE_DEFAULT, &in_budget), Error::is_over_budget);
    drop(unmanaged);
    let things = vec![scene.try_thing(1, 2, D3D12_HEAP_TYPE_DEFAULT, &in_budget).expect("it is gone")];
    scene.finish(things);
}

/// Nor does a submission exceed the budget on an outdated query.
#[test]
fn a_submission_asks_the_operating_system_before_it_exceeds_the_budget() {
    let (scene, queue, things) = Scene::new(budget(4)).with_things(2);
    let unmanaged = scene.unmanaged(3);
    scene.manager.trim();
    // On a real GPU, the process may use more than what the test creates.
    assert!(scene.manager.stats().local.resident < mib(2));
    drop(unmanaged);
    scene.run(&queue, &[&scene.work(&things)]);
    assert_eq!(scene.manager.stats().submissions_over_budget, 0);
    scene.finish(things);
}

/// F.2, 23: a heap that is dropped between `add` and `execute` is an error, even if a new heap has taken
/// its slot.
#[test]
fn a_heap_that_is_gone_is_not_used() {
    let (scene, queue, mut things) = Scene::new(budget(8)).with_things(3);
    let works = [scene.work(&things[..1]), scene.work(&things[1..])];
    drop(things.pop());
    for round in 0..2 {
        let error = scene.execute(&queue, &[&works[0], &works[1]]).expect_err("it is gone");
        assert!(error.is_invalid_argument(), "{error}");
        assert!(error.to_string().contains("heap 1 of list 1 was destroyed"), "{round}: {error}");
        fails(scene.manager.prefetch(&works[1].list), "heap 1 of list 0 was destroyed");
        scene.manager.audit().expect("sound");
        // Takes the slot of the dropped heap.
        things.push(scene.thing(9, 1));
    }
    works[1].list.reset().expect("not open");
    scene.run(&queue, &[&works[0]]);
    scene.end(things);
}

/// F.2, 26 (and 1e): a lock that waits for the GPU blocks no other call.
#[test]
fn nothing_is_locked_while_a_lock_waits_for_the_gpu() {
    let scene = Scene::new(budget(2));
    let (slow, quick) = (scene.queue(), scene.queue());
    let mut things = scene.things(2);
    let gate = scene.block(&slow);
    let used = scene.work(&things);
    let value = scene.execute(&slow, &[&used]).expect("executed");
    things.push(scene.evicted(5, 1));
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| things[2].heap.lock());
        until("the lock waits", || scene.manager.stats().cpu_stalls > 0);
        // Everything else goes on: submissions, trimming, queries, locks on other heaps, creation and
        // destruction of heaps.
        scene.run(&quick, &[&scene.work(&things[..2])]);
        scene.manager.trim();
        let _ = scene.manager.query_video_memory_info(LOCAL);
        things[0].heap.lock().expect("resident");
        assert_eq!(things[0].heap.unlock().expect("locked"), 0);
        drop(scene.evicted(6, 1));
        assert!(!waiting.is_finished());
        gate.open();
        waiting.join().expect("no panic").expect("there is room now");
    });
    scene.wait(&slow, value);
    scene.check(&used);
    assert!(things[2].is_resident());
    assert_eq!(things[2].heap.unlock().expect("locked"), 0);
    scene.finish(things);
}

/// F.2, 27: a reservation above the usage does not make the usage wrap.
#[test]
fn usage_does_not_wrap_below_a_reservation() {
    let (scene, queue, things) = Scene::new(ResidencyManagerDesc::default()).with_things(2);
    let whole = scene.manager.query_video_memory_info(LOCAL);
    let gib = gib(4);
    assert_eq!(scene.manager.set_video_memory_reservation(LOCAL, gib).expect("within the half"), gib);
    let info = scene.manager.query_video_memory_info(LOCAL);
    assert_eq!((info.current_usage, info.current_reservation), (mib(2), gib));
    assert!(info.budget < whole.budget && !info.budget.is_zero(), "{info:?}");
    scene.run(&queue, &[&scene.work(&things)]);
    assert_eq!(scene.manager.stats().local.bytes_paged_out, ByteSize::ZERO, "there is room enough");
    scene.check_books(&things);
    let told = VideoMemoryInfo::query(&scene.instance.adapter, LOCAL).expect("answered");
    assert_eq!(told.current_reservation, gib, "the operating system is told");
    scene.end(things);
}

/// F.2, 28: a heap that the application has evicted itself is paged in when it is used.
#[test]
fn what_is_said_to_be_evicted_is_paged_in() {
    let (scene, queue, things) = Scene::new(budget(8)).with_things(2);
    scene.run(&queue, &[&scene.work(&things)]);
    let object = [Some(things[0].heap.pageable().clone())];
    assert_eq!(unsafe { scene.device.Evict(&object) }, S_OK);
    let set = |status| scene.manager.set_residency_status(&things[0].heap, status);
    set(ResidencyHeapStatus::Evicted).expect("the GPU has finished with it");
    assert!(!things[0].is_resident());
    scene.check_books(&things);
    // The reverse: a heap that the application has made resident.
    scene.run(&queue, &[&scene.work(&things)]);
    scene.check_books(&things);
    assert_eq!(scene.manager.evict_at_least(LOCAL, mib(2)), mib(2));
    assert_eq!(unsafe { scene.device.MakeResident(&object) }, S_OK);
    set(ResidencyHeapStatus::Resident).expect("somebody did it");
    scene.check_books(&things);
    scene.run(&queue, &[&scene.work(&things)]);
    assert_eq!(scene.manager.stats().local.bytes_paged_in, mib(2), "once each, by the manager");
    scene.finish(things);
}

/// F.2, 29: with background updates too, heaps created between two notifications count at once.
#[test]
fn what_is_created_between_notifications_counts_at_once() {
    let flags = ResidencyManagerFlags::ALLOW_BACKGROUND_BUDGET_UPDATES;
    let desc = ResidencyManagerDesc { flags, ..budget(4) };
    let (scene, queue, things) = Scene::simulated(desc).with_things(20);
    assert!(scene.used() <= mib(4), "{}", scene.used());
    scene.check_books(&things);
    for thing in &things {
        scene.run(&queue, &[&scene.work([thing])]);
        assert!(scene.used() <= mib(4), "{}", scene.used());
    }
    assert_eq!(scene.manager.stats().submissions_over_budget, 0);
    scene.finish(things);
}
