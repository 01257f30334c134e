//! Misuse gives an error that names the object and the rule, and changes nothing.

use std::ptr::null_mut;

use crate::gpu::*;
use crate::pageables::query_heap;
use crate::scene::{COPY, Scene, budget, budgets_of};

#[track_caller]
fn refused<T: std::fmt::Debug>(answer: Result<T, Error>, parts: &[&str]) {
    let error = answer.expect_err("refused");
    assert!(error.is_invalid_argument(), "{error}");
    for part in parts {
        assert!(error.to_string().contains(part), "{error}, without {part:?}");
    }
}

fn of_size(size: ByteSize) -> ResidencyHeapDesc {
    ResidencyHeapDesc { segment_group: Some(LOCAL), size, ..Default::default() }
}

#[test]
fn objects_of_others() {
    let (scene, other) = (Scene::new(budget(8)), Scene::new(budget(8)));
    let things = scene.things(1);
    let strangers = other.things(1);
    let none = ResidencyHeapDesc::default();
    let foreign = raw_heap(&other.instance.device, D3D12_HEAP_TYPE_DEFAULT, MIB, D3D12_HEAP_FLAG_NONE);
    let foreign: ID3D12Pageable = foreign.expect("there is room").into();
    refused(scene.manager.manage(&none, &foreign), &["pageable", "another device"]);
    refused(scene.manager.create_heap(&none, || Ok(foreign.clone())), &["pageable", "another device"]);
    let work = scene.work(&things);
    refused(scene.execute(&other.queue(), &[&work]), &["queue", "another device"]);
    refused(scene.manager.queue_fence(&other.queue()), &["queue", "another device"]);
    let status = ResidencyHeapStatus::Resident;
    refused(scene.manager.set_residency_status(&strangers[0].heap, status), &["heap", "not managed by this"]);
    // A list belongs to one manager.
    refused(work.list.add(&strangers[0].heap), &["residency heap", "different residency manager"]);
    let list = naming([&strangers[0].heap]);
    let queue = scene.queue();
    let answer = unsafe { scene.manager.execute_command_lists(&queue, &[(&work.commands, &list)]) };
    refused(answer, &["residency list", "number 0", "another residency manager"]);
    refused(scene.manager.prefetch(&list), &["residency list", "another residency manager"]);
    // A list that was reset belongs to none.
    list.reset().expect("closed");
    list.add(&things[0].heap).expect("the first one since the reset");
    scene.manager.prefetch(&list).expect("its own heap");
    // Two managers of the same device are distinct as well.
    let second = scene.another_manager();
    let answer = unsafe { second.execute_command_lists(&queue, &[(&work.commands, &work.list)]) };
    refused(answer, &["another residency manager"]);
    scene.run(&queue, &[&work]);
    scene.finish(things);
    other.end(strangers);
}

#[test]
fn the_same_lists_twice_and_lists_of_nothing() {
    let (scene, queue, things) = Scene::new(budget(8)).with_things(2);
    let work = scene.work(&things);
    let manager = &scene.manager;
    let nothing = unsafe { manager.execute_command_lists(&queue, &[]) };
    assert_eq!(nothing.expect("nothing to do"), FenceValue::ZERO);
    // Using a residency list twice is allowed, and so is an empty list.
    let empty = ResidencyList::new();
    let resident = scene.work(&[]);
    let three =
        [(&work.commands, &work.list), (&resident.commands, &empty), (&resident.commands, &work.list)];
    let value = unsafe { manager.execute_command_lists(&queue, &three) }.expect("executed");
    scene.wait(&queue, value);
    scene.check(&work);
    scene.finish(things);
}

#[test]
fn lists_that_are_open() {
    let (scene, queue, things) = Scene::new(budget(8)).with_things(2);
    let (work, other) = (scene.work(&things), scene.work(&things));
    assert_eq!(scene.manager.evict_at_least(LOCAL, mib(1)), mib(1));
    for is_paging in [true, false] {
        let open = work.list.open().expect("closed");
        refused(scene.execute(&queue, &[&other, &work]), &["residency list", "number 1", "already open"]);
        refused(scene.manager.prefetch(&work.list), &["already open"]);
        refused(work.list.open().map(drop), &["already open"]);
        refused(work.list.add(&things[0].heap), &["already open"]);
        refused(work.list.reset(), &["already open"]);
        refused(work.list.len(), &["already open"]);
        std::thread::scope(|scope| {
            let elsewhere = || refused(scene.execute(&scene.queue(), &[&work]), &["already open"]);
            scope.spawn(elsewhere).join().expect("no panic");
        });
        drop(open);
        scene.check_books(&things);
        if is_paging {
            scene.run(&queue, &[&other, &work]);
        }
    }
    scene.run(&queue, &[&work]);
    scene.end(things);
}

#[test]
fn locks_and_statuses_that_cannot_be() {
    let (scene, queue, things) = Scene::new(budget(8)).with_things(1);
    let heap = &things[0].heap;
    refused(heap.unlock(), &["residency heap", "is not locked"]);
    let set = |status| scene.manager.set_residency_status(heap, status);
    refused(set(ResidencyHeapStatus::Unknown), &["status", "Unknown"]);
    heap.lock().expect("resident");
    refused(set(ResidencyHeapStatus::Evicted), &["residency heap", "locked"]);
    assert_eq!(heap.unlock().expect("locked"), 0);
    let busy = scene.keep_busy(&queue, &things);
    refused(set(ResidencyHeapStatus::Evicted), &["residency heap", "in use by the GPU"]);
    scene.finish_work(busy);
    set(ResidencyHeapStatus::Resident).expect("it is");
    refused(heap.set_residency_priority(1), &["priority", "0x1", "D3D12_RESIDENCY_PRIORITY"]);
    scene.check_books(&things);

    // A heap without a manager cannot be locked.
    let raw = scene.unmanaged(1);
    let alone = ResidencyHeap::unmanaged(&ResidencyHeapDesc::default(), &raw).expect("sound");
    refused(alone.lock(), &["residency heap", "no residency manager"]);
    refused(alone.unlock(), &["residency heap", "no residency manager"]);
    refused(alone.set_residency_priority(D3D12_RESIDENCY_PRIORITY_LOW), &["no residency manager"]);
    let status = ResidencyHeapStatus::Evicted;
    refused(scene.manager.set_residency_status(&alone, status), &["not managed by this"]);
    for flag in [ResidencyHeapFlags::CREATE_IN_BUDGET, ResidencyHeapFlags::CREATE_LOCKED] {
        let desc = ResidencyHeapDesc { flags: flag, ..Default::default() };
        let says = ["ResidencyHeapDesc::flags", "requires a residency manager"];
        refused(ResidencyHeap::unmanaged(&desc, &raw), &says);
        let create = || panic!("called for an invalid description");
        refused(ResidencyHeap::create_unmanaged(&desc, create), &says);
    }
    let none = ResidencyHeapDesc::default();
    let created = ResidencyHeap::create_unmanaged(&none, || Ok(raw.clone())).expect("sound");
    assert_eq!(created.info().size, mib(1));
    let failed = ResidencyHeap::create_unmanaged(&none, || Err(E_FAIL.into()));
    assert_eq!(failed.expect_err("the callback's error").hresult(), E_FAIL);
    assert!(naming([&alone]).is_empty().expect("closed"));
    scene.end(things);
}

#[test]
fn descriptions_that_are_wrong() {
    let scene = Scene::new(budget(8));
    let heap = scene.unmanaged(1);
    let small = ResidencyHeapDesc { size: ByteSize::new(1), ..Default::default() };
    refused(scene.manager.manage(&small, &heap), &["ResidencyHeapDesc::size", "less than"]);
    // D3D12 reports the segment group of a heap, which is what counts.
    let elsewhere = ResidencyHeapDesc { segment_group: Some(SegmentGroup::NonLocal), ..Default::default() };
    let here = scene.manager.manage(&elsewhere, &heap).expect("as in GPGMM");
    assert_eq!(here.segment_group(), SegmentGroup::Local);
    drop(here);
    let in_budget = ResidencyHeapDesc { flags: ResidencyHeapFlags::CREATE_IN_BUDGET, ..Default::default() };
    refused(scene.manager.manage(&in_budget, &heap), &["ResidencyHeapDesc::flags", "CREATE_IN_BUDGET"]);
    let fence: Result<ID3D12Pageable, _> = scene.fence().cast();
    let fence = fence.expect("D3D12 calls it one");
    refused(scene.manager.manage(&ResidencyHeapDesc::default(), &fence), &["pageable", "cannot be paged"]);
    let made = scene.manager.create_heap(&ResidencyHeapDesc::default(), || Err(E_NOTIMPL.into()));
    assert_eq!(fails(made, "callback").hresult(), E_NOTIMPL);
    assert_eq!(scene.manager.stats().current_heap_count, 0);
    // A size above the object's is no error, and counts.
    let larger = ResidencyHeapDesc { size: kib(1100), ..Default::default() };
    let counted = scene.manager.manage(&larger, &heap).expect("it is believed");
    assert_eq!(scene.manager.stats().current_heap_usage, kib(1100));
    drop(counted);
    // SAFETY: null is a documented error.
    let null = unsafe { ResidencyManager::from_raw(null_mut(), null_mut(), budget(8)) };
    refused(null.map(drop), &["device", "null"]);
    let blind = ResidencyManager::new(&scene.device, None, ResidencyManagerDesc::default());
    refused(blind.map(drop), &["budget_override", "adapter"]);
    scene.end(heap);
}

#[test]
fn sizes_at_the_end_of_the_numbers() {
    let (scene, queue, things) = Scene::new(budget(8)).with_things(2);
    let object = query_heap(&scene.device);
    let rest = ByteSize::new(u64::MAX - 2 * mib(1).get());
    let huge = scene.manager.manage(&of_size(rest), &object).expect("it is believed");
    let again = query_heap(&scene.device);
    refused(scene.manager.manage(&of_size(ByteSize::new(1)), &again), &["residency heap", "2^64 bytes"]);
    let must = ResidencyHeapDesc { flags: ResidencyHeapFlags::CREATE_IN_BUDGET, ..of_size(ByteSize::MAX) };
    crate::gpu::refused(scene.manager.create_heap(&must, || Ok(again.clone())), Error::is_over_budget);
    let work = scene.work(&things);
    work.list.add(&huge).expect("closed");
    // The heap is larger than any budget, and the submission is executed nevertheless.
    scene.run(&queue, &[&work]);
    assert_eq!(scene.manager.stats().submissions_over_budget, 0, "it was resident, as far as anybody knew");
    scene.manager.trim();
    scene.manager.evict_at_least(LOCAL, ByteSize::MAX);
    scene.manager.audit().expect("sound");
    scene.run(&queue, &[&work]);
    drop(huge);
    scene.manager.audit().expect("sound");
    scene.manager.trim();
    let plain = scene.work(&things);
    scene.run(&queue, &[&plain]);
    scene.finish(things);
}

#[test]
fn a_submission_that_is_refused_uses_nothing() {
    let (scene, queue, mut things) = Scene::new(budget(8)).with_things(2);
    let works = [scene.work(&things[..1]), scene.work(&things[1..])];
    drop(things.pop());
    let error = scene.execute(&queue, &[&works[0], &works[1]]).expect_err("a heap is gone");
    assert!(error.is_invalid_argument(), "{error}");
    assert_eq!(scene.manager.evict_at_least(LOCAL, mib(1)), mib(1));
    drop(works);
    scene.finish(things);
}

#[test]
fn a_list_of_100_000_heaps() {
    let scene = Scene::new(budget(8));
    let queue = scene.queue();
    let of_one_byte = of_size(ByteSize::new(1));
    let make = |_| scene.manager.manage(&of_one_byte, &query_heap(&scene.device)).expect("sound");
    let heaps: Vec<_> = (0..100_000).map(make).collect();
    let things = scene.things(1);
    let work = scene.work(&things);
    {
        let mut open = work.list.open().expect("closed");
        heaps.iter().for_each(|heap| open.add(heap).expect("of one manager"));
    }
    assert_eq!(work.list.len().expect("closed"), 100_001);
    scene.run(&queue, &[&work]);
    scene.run(&queue, &[&work]);
    assert_eq!(scene.manager.stats().current_heap_count, 100_001);
    scene.manager.audit().expect("sound");
    drop(heaps);
    scene.finish(things);
}

/// Fence values that reach the end of their range.
#[test]
fn fences_at_the_end_of_the_numbers() {
    let initial_fence_value = FenceValue::new(u64::MAX - 2);
    let (scene, queue, things) =
        Scene::new(ResidencyManagerDesc { initial_fence_value, ..budget(8) }).with_things(2);
    let work = scene.work(&things);
    scene.run(&queue, &[&work]);
    refused(scene.execute(&queue, &[&work]), &["queue", "has reached the maximum"]);
    // Another queue has its own fence values; the paging fence allows one more operation.
    let other = scene.queue();
    assert_eq!(scene.manager.evict_at_least(LOCAL, mib(2)), mib(2));
    scene.run(&other, &[&work]);
    assert_eq!(scene.manager.evict_at_least(LOCAL, mib(2)), mib(2));
    refused(things[0].heap.lock(), &["residency manager", "has reached the maximum"]);
    refused(scene.execute(&scene.queue(), &[&work]), &["residency manager", "has reached the maximum"]);
    scene.finish(things);
}

/// Without an adapter no usage is known, and a budget of zero is a valid budget.
#[test]
fn a_budget_of_nothing() {
    let gpu = open("discrete");
    let budgets = GroupBudgets { local: ByteSize::ZERO, non_local: ByteSize::ZERO };
    let desc = ResidencyManagerDesc { max_stall: Duration::from_millis(1), ..budgets_of(budgets) };
    let manager = ResidencyManager::new(&gpu.device, None, desc).expect("sound");
    let create = || raw_heap(&gpu.device, D3D12_HEAP_TYPE_DEFAULT, MIB, D3D12_HEAP_FLAG_NONE).map(Into::into);
    let heap = manager.create_heap(&ResidencyHeapDesc::default(), create).expect("above the budget");
    let list = naming([&heap]);
    let queue = queue_of(&gpu.device, COPY);
    manager.trim();
    assert_eq!(heap.info().status, ResidencyHeapStatus::Evicted);
    manager.prefetch(&list).expect_err("there is no room");
    heap.lock().expect("above the budget");
    let [one, again] = [0, 1].map(|_| manager.queue_fence(&queue).expect("of this device"));
    assert_eq!(one, again);
    manager.audit().expect("sound");
    gpu.residency().check_balance().expect("balanced");
}

/// Nobody is asked for a reservation without an adapter, and it lowers the budget nevertheless.
#[test]
fn a_reservation_without_an_adapter() {
    let gpu = open("discrete");
    let manager = ResidencyManager::new(&gpu.device, None, budget(5)).expect("sound");
    assert_eq!(manager.set_video_memory_reservation(LOCAL, mib(1)).expect("half may be reserved"), mib(1));
    let info = manager.query_video_memory_info(LOCAL);
    assert_eq!((info.budget, info.current_reservation), (mib(4), mib(1)));
}

/// The runtime's safe functions cannot page on another device, where callers may rely on residency.
#[test]
fn an_instance_does_not_page_on_another_d3d12() {
    let mut instance = open("discrete");
    let heap = instance.create_heap(mib(1), heapwright_runtime::SegmentGroup::Local, true).expect("room");
    let objects = [Some(heap.into())];
    instance.evict(&objects).expect("it is resident");
    instance.device = open("discrete").device;
    for answer in [instance.make_resident(&objects), instance.evict(&objects)] {
        assert_eq!(answer.map_err(|error| error.code()), Err(E_INVALIDARG));
    }
}
