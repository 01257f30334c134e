//! Failing calls: each call, at every place of a random workload.
//!
//! After a failure the books are consistent and agree with D3D12, nothing of the call was executed, and the
//! same call succeeds when repeated.

use windows_core::HRESULT;

use crate::faulty_device::{Call, Faults};
use crate::gpu::*;
use crate::scene::{Front, Scene, Thing, Work, budget};

/// Checks the error of a failed step and the state after it.
fn check_failure(scene: &Scene, things: &[Thing], call: Call, error: &Error, hresult: HRESULT) {
    assert_eq!(error.hresult(), hresult, "{error}");
    let name = match call {
        Call::Evict => "ID3D12Device::Evict",
        Call::EnqueueMakeResident => "ID3D12Device3::EnqueueMakeResident",
        Call::MakeResident => "ID3D12Device::MakeResident",
        Call::CreateFence => "ID3D12Device::CreateFence",
        Call::QueueWait => "ID3D12CommandQueue::Wait",
        Call::QueueSignal => "ID3D12CommandQueue::Signal",
        _ => unreachable!("only these can fail a submission"),
    };
    assert!(error.to_string().contains(name), "{error}");
    scene.check_books(things);
}

/// Runs a workload of submissions, locks and evictions whose `n`th call of a kind fails. Returns whether
/// the workload reached that call.
fn fails_at(front: Front, call: Call, hresult: HRESULT, n: u64) -> bool {
    let desc = ResidencyManagerDesc { evict_size: mib(1), ..budget(4) };
    let scene = Scene::faulty(front, call, hresult, desc);
    let queues = [scene.queue(), scene.queue()];
    let things = scene.things(8);
    scene.faults.fail_nth(n);
    let mut random = fastrand::Rng::with_seed(n + 1);
    for _ in 0..12 {
        let first = random.usize(..6);
        let works = [scene.work(&things[first..first + 2]), scene.work(&things[first + 1..first + 3])];
        let queue = &queues[random.usize(..2)];
        let fence_before = last_value(&scene, queue);
        let armed = !scene.faults.has_failed();
        let value = match scene.execute(queue, &[&works[0], &works[1]]) {
            Ok(value) => value,
            Err(error) => {
                assert!(armed && scene.faults.has_failed(), "{error}");
                check_failure(&scene, &things, call, &error, hresult);
                let value = scene.execute(queue, &[&works[0], &works[1]]).expect("it fails once");
                let taken = u64::from(call == Call::QueueSignal);
                if let Some(before) = fence_before {
                    assert_eq!(value.get(), before.get() + 1 + taken, "values go on");
                }
                value
            }
        };
        scene.wait(queue, value);
        works.iter().for_each(|work| scene.check(work));
        scene.check_books(&things);
        let thing = &things[random.usize(..8)];
        if let Err(error) = thing.heap.lock() {
            check_failure(&scene, &things, call, &error, hresult);
            assert!(!thing.info().is_locked);
            thing.heap.lock().expect("it fails once");
        }
        scene.check_books(&things);
        assert_eq!(thing.heap.unlock().expect("locked"), 0);
        // Evictions that are not required only log the failure.
        scene.manager.evict_at_least(LOCAL, mib(1));
        scene.check_books(&things);
        scene.manager.trim();
        scene.check_books(&things);
    }
    assert!(scene.used() <= mib(4));
    assert_eq!(scene.manager.stats().submissions_over_budget, 0);
    // Submissions that failed use nothing.
    assert_eq!(scene.manager.stats().cpu_stalls, 0, "nothing ever had to be waited for");
    // Twice, as the first one may be the call that fails.
    for _ in 0..2 {
        scene.manager.evict_at_least(LOCAL, mib(8));
    }
    assert_eq!(scene.used(), ByteSize::ZERO);
    let has_failed = scene.faults.has_failed();
    scene.end(things);
    has_failed
}

/// Returns the last fence value of the queue; `None` before it is known.
fn last_value(scene: &Scene, queue: &ID3D12CommandQueue) -> Option<FenceValue> {
    scene.execute(queue, &[]).ok()
}

pub(crate) fn fails_in_front(front: Front, call: Call, hresult: HRESULT) {
    let places = (0..).take_while(|&n| fails_at(front, call, hresult, n)).count();
    assert!(places >= 2, "{call:?} comes {places} times");
}

#[test]
fn every_call_may_fail() {
    for (call, hresult) in [
        (Call::Evict, E_FAIL),
        (Call::EnqueueMakeResident, E_FAIL),
        // The failure causes further evictions, and the submission normally succeeds.
        (Call::EnqueueMakeResident, E_OUTOFMEMORY),
        (Call::QueueWait, E_OUTOFMEMORY),
        (Call::QueueSignal, E_OUTOFMEMORY),
    ] {
        fails_in_front(Front::Newest, call, hresult);
    }
}

/// The first fence is the paging fence; each queue creates another one.
#[test]
fn every_fence_may_fail() {
    let faults = Faults::new(Some(Call::CreateFence), E_OUTOFMEMORY);
    faults.fail_nth(0);
    let error =
        fails(Scene::try_on(open("discrete"), Front::Newest, faults, budget(4)).map(drop), "CreateFence");
    assert!(error.is_out_of_memory(), "{error}");
    fails_in_front(Front::Newest, Call::CreateFence, E_OUTOFMEMORY);
}

/// When the adapter's queries fail, only their results are missing.
#[test]
fn the_adapter_may_fail() {
    for call in [
        Call::QueryVideoMemoryInfo,
        Call::SetVideoMemoryReservation,
        Call::RegisterVideoMemoryBudgetChangeNotificationEvent,
    ] {
        let desc = ResidencyManagerDesc {
            refresh_interval: 1,
            flags: ResidencyManagerFlags::ALLOW_BACKGROUND_BUDGET_UPDATES,
            ..budget(4)
        };
        if call == Call::QueryVideoMemoryInfo {
            let faults = Faults::new(Some(call), E_FAIL);
            faults.fail_all();
            let made = Scene::try_on(open("discrete"), Front::Newest, faults, desc.clone());
            fails(made.map(drop), "QueryVideoMemoryInfo");
        }
        let faults = Faults::new(Some(call), E_FAIL);
        if call == Call::RegisterVideoMemoryBudgetChangeNotificationEvent {
            faults.fail_all();
        }
        let (scene, queue, things) = Scene::on(open("discrete"), Front::Newest, faults, desc).with_things(8);
        scene.faults.fail_all();
        for index in 0..20 {
            scene.run(&queue, &[&scene.work(&things[index % 5..index % 5 + 3])]);
            scene.check_books(&things);
        }
        let reserved = scene.manager.set_video_memory_reservation(LOCAL, mib(1));
        let is_about_it = call != Call::RegisterVideoMemoryBudgetChangeNotificationEvent;
        assert_eq!(reserved.is_err(), is_about_it, "{reserved:?}");
        scene.manager.trim();
        let _ = scene.manager.query_video_memory_info(LOCAL);
        scene.check_books(&things);
        assert_eq!(scene.manager.stats().submissions_over_budget, 0);
        scene.faults.disarm();
        scene.run(&queue, &[&scene.work(&things[..3])]);
        assert_eq!(scene.manager.set_video_memory_reservation(LOCAL, mib(1)).expect("answered"), mib(1));
        scene.end(things);
    }
}

/// An old result of the adapter is not compared with the present residency: that would count evicted heaps
/// as memory of others.
#[test]
fn an_answer_that_does_not_come_changes_nothing() {
    let (scene, queue, things) = Scene::failing(Call::QueryVideoMemoryInfo, E_FAIL, budget(8)).with_things(8);
    // The adapter reports 8 MiB, all of them the manager's.
    scene.manager.trim();
    assert_eq!(scene.manager.evict_at_least(LOCAL, mib(6)), mib(6));
    scene.faults.fail_all();
    scene.manager.trim();
    scene.run(&queue, &[&scene.work(&things)]);
    assert_eq!(scene.manager.stats().submissions_over_budget, 0, "8 MiB of 8, and nobody else's");
    scene.finish(things);
}

/// The result of the query after failed ones counts although it equals the last result: meanwhile memory of others was
/// released, and a heap became resident.
#[test]
fn the_same_answer_after_one_that_did_not_come_is_news() {
    let scene = Scene::failing(Call::QueryVideoMemoryInfo, E_FAIL, budget(8));
    let (queue, thing) = (scene.queue(), scene.thing(0, 2));
    let work = scene.work([&thing]);
    (0..4).for_each(|_| scene.run(&queue, &[&work]));
    assert_eq!(scene.manager.evict_at_least(LOCAL, mib(2)), mib(2));
    let [_stays, goes] = [2, 2].map(|mib| scene.unmanaged(mib));
    scene.manager.trim();
    drop(goes);
    scene.faults.fail_all();
    (0..4).for_each(|_| scene.run(&queue, &[&work]));
    scene.faults.disarm();
    scene.run(&queue, &[&work]);
    let new = scene.thing(1, 3);
    assert!(thing.is_resident() && new.is_resident(), "2, 3, and 2 of others, of 8");
    scene.end((thing, new));
}

/// A reservation that fails has queried the operating system. The next query returns the same result, which must count.
#[test]
fn the_answer_to_a_reservation_that_was_refused_is_news() {
    let scene = Scene::failing(Call::SetVideoMemoryReservation, E_FAIL, budget(8));
    let (queue, thing) = (scene.queue(), scene.thing(0, 2));
    let [_stays, goes] = [2, 2].map(|mib| scene.unmanaged(mib));
    let work = scene.work([&thing]);
    (0..4).for_each(|_| scene.run(&queue, &[&work]));
    drop(goes);
    scene.faults.fail_all();
    fails(scene.manager.set_video_memory_reservation(LOCAL, mib(1)), "SetVideoMemoryReservation");
    scene.run(&queue, &[&work]);
    let new = scene.thing(1, 3);
    assert!(thing.is_resident() && new.is_resident(), "2, 3, and 2 of others, of 8");
    scene.end((thing, new));
}

/// Nor is an old result of the other segment group, when a reservation queries one group.
#[test]
fn a_reservation_of_one_group_changes_nothing_of_the_other() {
    let (scene, queue, things) = Scene::simulated(budget(8)).with_things(8);
    scene.manager.trim();
    assert_eq!(scene.manager.evict_at_least(LOCAL, mib(6)), mib(6));
    scene.manager.set_video_memory_reservation(NON_LOCAL, mib(1)).expect("answered");
    scene.run(&queue, &[&scene.work(&things)]);
    assert_eq!(scene.manager.stats().submissions_over_budget, 0, "8 MiB of 8, and nobody else's");
    scene.end(things);
}

/// A queue whose Wait failed has executed nothing, and the heaps of the submission are not in use.
#[test]
fn what_a_queue_could_not_wait_for_is_not_in_use() {
    let (scene, queue, things) = Scene::failing(Call::QueueWait, E_FAIL, budget(8)).with_things(2);
    assert_eq!(scene.manager.evict_at_least(LOCAL, mib(2)), mib(2));
    scene.faults.fail_all();
    let work = scene.work(&things);
    scene.faults.hold_paging();
    fails(scene.execute(&queue, &[&work]), "ID3D12CommandQueue::Wait");
    // The same while the heaps are being paged in.
    scene.execute(&queue, &[&work]).expect_err("it cannot wait");
    scene.faults.release_paging();
    things.iter().for_each(|thing| thing.heap.lock().expect("there"));
    things.iter().for_each(|thing| assert_eq!(thing.heap.unlock().expect("locked"), 0));
    let error = scene.manager.set_residency_status(&things[0].heap, ResidencyHeapStatus::Resident);
    error.expect("it is");
    assert_eq!(scene.manager.evict_at_least(LOCAL, mib(2)), mib(2), "the queue has nothing to do");
    scene.check_books(&things);
    scene.faults.disarm();
    scene.run(&queue, &[&work]);
    scene.end(things);
}

/// A queue whose Signal failed has executed the lists, and the error says so. The heaps stay in use until a
/// later signal.
#[test]
fn what_a_queue_could_not_signal_stays_in_use() {
    let (scene, queue, things) = Scene::failing(Call::QueueSignal, E_FAIL, budget(8)).with_things(2);
    let work = scene.work(&things);
    scene.faults.fail_nth(0);
    let error = scene.execute(&queue, &[&work]).expect_err("it cannot signal");
    assert!(error.to_string().contains("ID3D12CommandQueue::Signal"), "{error}");
    assert!(error.to_string().contains("after executing"), "{error}");
    assert_eq!(scene.manager.evict_at_least(LOCAL, mib(2)), ByteSize::ZERO, "the GPU may use them");
    let empty = scene.work(&[]);
    let value = scene.execute(&queue, &[&empty]).expect("executed");
    scene.wait(&queue, value);
    scene.check(&work);
    assert_eq!(scene.manager.evict_at_least(LOCAL, mib(2)), mib(2));
    scene.finish(things);
}

/// A list that is larger than the budget is executed above the budget, or refused with ALWAYS_IN_BUDGET.
#[test]
fn a_list_larger_than_the_budget() {
    let flags = ResidencyManagerFlags::ALWAYS_IN_BUDGET;
    let (scene, queue, things) = Scene::new(ResidencyManagerDesc { flags, ..budget(3) }).with_things(5);
    let (small, large) = (scene.work(&things[..2]), scene.work(&things));
    refused(scene.execute(&queue, &[&large]), Error::is_over_budget);
    assert_eq!(last_value(&scene, &queue), Some(FenceValue::ZERO), "nothing was executed");
    // In one call with other lists, those before it are executed, and the message says so.
    assert!(fails(scene.execute(&queue, &[&small, &large, &small]), "1").is_over_budget());
    assert_eq!(last_value(&scene, &queue), Some(FenceValue::new(1)));
    scene.wait(&queue, FenceValue::new(1));
    scene.check(&small);
    scene.check_books(&things);
    assert!(scene.used() <= mib(3));
    scene.end(things);

    let (scene, queue, things) = Scene::new(budget(3)).with_things(5);
    scene.run(&queue, &[&scene.work(&things)]);
    assert_eq!(scene.manager.stats().submissions_over_budget, 1);
    scene.check_books(&things);
    // Usage above the budget is evicted again.
    scene.manager.trim();
    assert!(scene.used() <= mib(3));
    scene.end(things);
}

/// Lists that are too large together are executed in parts that fit, in their order.
#[test]
fn lists_larger_than_the_budget_together() {
    for flags in [ResidencyManagerFlags::empty(), ResidencyManagerFlags::ALWAYS_IN_BUDGET] {
        let (scene, queue, mut things) =
            Scene::new(ResidencyManagerDesc { flags, ..budget(4) }).with_things(12);
        let works: Vec<_> = (0..6).map(|pair| scene.work(&things[2 * pair..2 * pair + 2])).collect();
        // Each list first writes what the next one reads, which reveals the order.
        let mut written = scene.thing(50, 1);
        let mut chain: Vec<Work> = Vec::new();
        for (key, work) in (60..).zip(works) {
            written.key = key;
            chain.push(scene.write(&written));
            chain.push(work);
            chain.push(scene.work([&written]));
        }
        let value = scene.execute(&queue, &chain.iter().collect::<Vec<_>>()).expect("executed");
        assert!(value.get() >= 3, "{value} parts for 13 MiB of 4");
        scene.wait(&queue, value);
        for (index, work) in chain.iter().enumerate() {
            if index % 3 != 0 {
                scene.check(work);
            }
        }
        assert_eq!(scene.manager.stats().submissions_over_budget, 0);
        things.push(written);
        scene.finish(things);
    }
}
