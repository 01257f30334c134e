//! Tests for the defects of Microsoft's residency library (D3DX12Residency): part 4c of peers.md in the
//! research notes.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::counting_allocator::allocations;
use crate::faulty_device::Call;
use crate::gpu::*;
use crate::scene::{Scene, Thing, Work, budget, budgets_of, until};

/// 4c, 1: each segment group has its own budget; free budget of one is not available to the other.
#[test]
fn room_in_system_memory_is_no_room_in_video_memory() {
    let (scene, queue, mut things) = Scene::simulated(budget(2)).with_things(4);
    assert!(scene.used() <= mib(2));
    for thing in &things {
        scene.run(&queue, &[&scene.work([thing])]);
        assert!(scene.used() <= mib(2), "1 GiB of the other memory is free, and {} used", scene.used());
    }
    // The reverse.
    let small = budgets_of(GroupBudgets { local: gib(1), non_local: mib(3) });
    let other = Scene::simulated(small);
    let uploads: Vec<_> = (0..4).map(|key| other.non_local(key, 1)).collect();
    other.manager.trim();
    assert_eq!(uploads.iter().filter(|thing| thing.is_resident()).count(), 2, "a MiB at most is staging");
    things.clear();
    other.check_books(&uploads);
    other.end(uploads);
    scene.end(things);
}

/// 4c, 2: any number of lists can be open at once.
#[test]
fn any_number_of_lists_is_open() {
    let scene = Scene::new(budget(8));
    let things = scene.things(2);
    let lists: Vec<_> = (0..1000).map(|_| ResidencyList::new()).collect();
    let mut open: Vec<_> = lists.iter().map(|list| list.open().expect("new")).collect();
    for list in &mut open {
        things.iter().for_each(|thing| list.add(&thing.heap).expect("of one manager"));
    }
    drop(open);
    assert!(lists.iter().all(|list| list.len().expect("closed") == 2));
    let queue = scene.queue();
    let work = scene.work(&things);
    let lists: Vec<_> = lists.iter().map(|list| (&work.commands, list)).collect();
    let value = unsafe { scene.manager.execute_command_lists(&queue, &lists) }.expect("executed");
    scene.wait(&queue, value);
    scene.check(&work);
    scene.end(things);
}

/// 4c, 3: in the steady state, a submission allocates no CPU memory beyond the queue's own allocations.
#[test]
fn a_submission_allocates_nothing() {
    let (scene, queue, things) = Scene::new(budget(80)).with_things(60);
    let works = [scene.work(&things[..40]), scene.work(&things[20..])];
    let commands: Vec<_> = works.iter().map(|work| Some(work.commands.clone())).collect();
    let lists: Vec<_> = works.iter().map(|work| (&work.commands, &work.list)).collect();
    let fence = scene.fence();
    let mut value = 0;
    let mut bare = || {
        value += 1;
        unsafe {
            queue.ExecuteCommandLists(&commands);
            queue.Signal(&fence, value).ok().expect("signalled");
        }
        until("the queue is done", || unsafe { fence.GetCompletedValue() } >= value);
    };
    let managed = || {
        let value = unsafe { scene.manager.execute_command_lists(&queue, &lists) }.expect("executed");
        scene.wait(&queue, value);
    };
    for _ in 0..8 {
        bare();
        managed();
    }
    let of_the_queue = allocations(|| (0..16).for_each(|_| bare()));
    // Within one interval between two queries of the operating system.
    let of_the_manager = allocations(|| (0..16).for_each(|_| managed()));
    let counts = (of_the_manager, of_the_queue);
    assert!(of_the_manager <= of_the_queue, "{counts:?} allocations with the manager and without");
    scene.end(things);
}

/// 4c, 4: the operating system is not queried for each submission, paging or not, but once for each
/// interval.
#[test]
fn the_operating_system_is_asked_once_for_each_interval() {
    let desc = ResidencyManagerDesc { refresh_interval: 100, ..budget(2) };
    let (scene, queue, things) = Scene::failing(Call::QueryVideoMemoryInfo, E_FAIL, desc).with_things(4);
    let works: Vec<_> = things.iter().map(|thing| scene.work([thing])).collect();
    let calls = || scene.faults.calls();
    let before = calls();
    for index in 0..80 {
        scene.run(&queue, &[&works[index % 4]]);
    }
    assert!(scene.manager.stats().local.bytes_paged_in > mib(20), "most of them page");
    assert_eq!(calls(), before, "within the interval");
    for index in 0..400 {
        scene.run(&queue, &[&works[index % 4]]);
    }
    assert_eq!(calls() - before, 2 * 4, "two groups, four intervals");
    scene.end(things);
}

/// While nothing changes, only the memory is asked about in which there are heaps.
#[test]
fn the_operating_system_is_not_asked_about_memory_without_heaps() {
    let (scene, queue, things) = Scene::failing(Call::QueryVideoMemoryInfo, E_FAIL, budget(8)).with_things(2);
    let work = scene.work(&things);
    (0..4).for_each(|_| scene.run(&queue, &[&work]));
    let before = scene.faults.calls();
    (0..20).for_each(|_| scene.run(&queue, &[&work]));
    assert_eq!(scene.faults.calls() - before, 20, "one group each");
    scene.end(things);
}

/// 4c, 5: a queue that waits for memory does not block other queues.
#[test]
fn a_queue_that_waits_for_memory_holds_nobody_up() {
    let scene = Scene::simulated(budget(2));
    let queues: Vec<_> = (0..3).map(|_| scene.queue()).collect();
    let things: Vec<_> = (0..4).map(|key| scene.thing(key, 1)).collect();
    scene.run(&queues[2], &[&scene.work(&things[..2])]);
    let gate = scene.block(&queues[0]);
    let used = scene.work(&things[..2]);
    let first = scene.execute(&queues[0], &[&used]).expect("executed");
    let more = scene.work(&things[2..]);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| scene.execute(&queues[1], &[&more]));
        until("the submission waits", || scene.manager.stats().cpu_stalls > 0);
        let resident = scene.work(&things[..2]);
        (0..50).for_each(|_| scene.run(&queues[2], &[&resident]));
        assert!(!waiting.is_finished());
        gate.open();
        let value = waiting.join().expect("no panic").expect("there is room now");
        scene.wait(&queues[1], value);
    });
    scene.wait(&queues[0], first);
    scene.check(&used);
    scene.check(&more);
    assert_eq!(scene.manager.stats().submissions_over_budget, 0);
    scene.finish(things);
}

/// Executes a work on `queue` while a thread renders frames on `busy`, and returns when it is done.
fn execute_beside(
    scene: &Scene,
    busy: &ID3D12CommandQueue,
    frames: &[Work; 2],
    queue: &ID3D12CommandQueue,
    work: &Work,
) {
    let (count, is_done) = (AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let rendering = scope.spawn(|| scene.render(busy, frames, &count, &is_done));
        until("it renders", || count.load(Ordering::Relaxed) > 2);
        let value = scene.execute(queue, &[work]).expect("above the budget");
        assert!(!rendering.is_finished(), "it was not waited for");
        scene.wait(queue, value);
        is_done.store(true, Ordering::Relaxed);
    });
}

/// A thread whose frames use most of the budget, with one always in flight, holds another thread up for a limited time
/// only: for the frames that were submitted before, and then for `max_stall`.
#[test]
fn a_thread_that_renders_does_not_hold_another_up_forever() {
    let max_stall = Duration::from_millis(200);
    let scene = Scene::new(ResidencyManagerDesc { max_stall, ..budget(10) });
    let (busy, queue) = (scene.queue(), scene.queue());
    let things = scene.things(7);
    let frames = [scene.work(&things), scene.work(&things)];
    let large = scene.evicted(7, 4);
    let write = scene.write(&large);
    execute_beside(&scene, &busy, &frames, &queue, &write);
    let stats = scene.manager.stats();
    assert_eq!(stats.submissions_over_budget, 1, "{stats:?}");
    assert!(stats.cpu_stalls > 0, "{stats:?}");
    assert!(things.iter().all(Thing::is_resident), "they were always in use");
    scene.end((things, large));
}

/// Nor does a thread that renders hold up one that waits for a queue which stands still: what is submitted later is no
/// progress.
#[test]
fn a_thread_that_renders_does_not_keep_another_waiting_for_a_third() {
    let max_stall = Duration::from_millis(200);
    let scene = Scene::new(ResidencyManagerDesc { max_stall, ..budget(10) });
    let [busy, queue, still] = [0; 3].map(|_| scene.queue());
    let things = scene.things(8);
    let held = scene.keep_busy(&still, &things[..1]);
    let frames = [scene.work(&things[1..7]), scene.work(&things[1..7])];
    let large = scene.evicted(8, 4);
    let write = scene.write(&large);
    execute_beside(&scene, &busy, &frames, &queue, &write);
    scene.finish_work(held);
    scene.end((things, large));
}

/// A submission uses the heaps that its lists named when it was made. While it waits for the GPU, the lists
/// can be changed without blocking, and other submissions to its queue are executed first.
#[test]
fn a_list_may_be_changed_while_its_submission_waits() {
    let scene = Scene::new(budget(2));
    let (busy, queue, things) = (scene.queue(), scene.queue(), scene.things(4));
    let (used, more) = (scene.work(&things[..2]), scene.work(&things[2..]));
    scene.run(&queue, &[&used]);
    let gate = scene.block(&busy);
    let first = scene.execute(&busy, &[&used]).expect("executed");
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| scene.execute(&queue, &[&more]));
        until("the submission waits", || scene.manager.stats().cpu_stalls > 0);
        more.list.reset().expect("nobody has it open");
        more.list.add(&things[0].heap).expect("nobody has it open");
        scene.run(&queue, &[&scene.work(&things[..2])]);
        assert!(!waiting.is_finished());
        gate.open();
        let value = waiting.join().expect("no panic").expect("there is room now");
        scene.wait(&queue, value);
    });
    scene.wait(&busy, first);
    scene.check(&more);
    scene.assert_alive();
    scene.finish(things);
}

/// 4c, 7: no call has an empty list of objects, neither for resident heaps nor for one larger than the free
/// budget.
#[test]
fn no_batch_is_empty() {
    let (scene, queue, mut things) = Scene::simulated(budget(4)).with_things(3);
    let calls = || {
        let report = scene.instance.residency();
        assert_eq!((report.evict.refused, report.enqueue_make_resident.refused), (0, 0));
        (report.evict, report.enqueue_make_resident)
    };
    scene.run(&queue, &[&scene.work(&things)]);
    assert_eq!((calls().0.calls, calls().1.calls), (0, 0));
    // Larger than the free budget, and the first of its batch.
    things.insert(0, scene.evicted(9, 3));
    scene.run(&queue, &[&scene.write(&things[0])]);
    let (evict, enqueue) = calls();
    assert_eq!((evict.calls, evict.objects), (1, 2));
    assert_eq!((enqueue.calls, enqueue.objects), (1, 1));
    // Larger than the budget as a whole.
    let busy = scene.keep_busy(&queue, &things);
    let (evict, enqueue) = calls();
    assert_eq!((evict.calls, evict.objects), (1, 2), "everything is used");
    assert_eq!((enqueue.calls, enqueue.objects), (2, 3));
    scene.finish_work(busy);
    scene.finish(things);
}

/// 4c, 9: threads that use new queues for the first time create one fence for each, and no value is given
/// twice.
#[test]
fn the_first_use_of_a_queue_may_be_anybodys() {
    const THREADS: usize = 8;
    let scene = Scene::new(budget(8));
    let things = scene.things(4);
    for _ in 0..20 {
        let queue = scene.queue();
        let barrier = Barrier::new(THREADS);
        let (mut values, fences): (Vec<_>, Vec<_>) = std::thread::scope(|scope| {
            let submit = || {
                let work = scene.work(&things);
                let own = scene.queue();
                barrier.wait();
                let value = scene.execute(&queue, &[&work]).expect("executed");
                scene.run(&own, &[&scene.work(&things)]);
                scene.wait(&queue, value);
                scene.check(&work);
                (value.get(), scene.manager.queue_fence(&queue).expect("known"))
            };
            let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(submit)).collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).unzip()
        });
        values.sort_unstable();
        assert!(values.iter().copied().eq(1..=8), "{values:?}");
        assert!(fences.iter().all(|fence| *fence == fences[0]), "one fence for the queue");
    }
    scene.finish(things);
}

/// 4c, 9: queues are used for the first time while others page, and forgotten queues have no effect.
#[test]
fn queues_come_and_go_while_others_page() {
    let scene = Scene::new(budget(2));
    let things = scene.things(4);
    std::thread::scope(|scope| {
        let pagers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let queue = scene.queue();
                    let works: Vec<_> = things.iter().map(|thing| scene.work([thing])).collect();
                    for index in 0..400 {
                        scene.run(&queue, &[&works[index % 4]]);
                    }
                })
            })
            .collect();
        let work = scene.work(&things[..1]);
        while !pagers.iter().all(|pager| pager.is_finished()) {
            scene.run(&scene.queue(), &[&work]);
        }
    });
    scene.finish(things);
}

/// 4c, 10: when paging fails, nothing is executed; a lack of memory is an error; and no list remains in
/// use.
#[test]
fn nothing_is_executed_when_paging_fails() {
    for hresult in [E_FAIL, E_OUTOFMEMORY] {
        let (scene, queue, things) =
            Scene::failing(Call::EnqueueMakeResident, hresult, budget(8)).with_things(3);
        scene.run(&queue, &[&scene.work(&things)]);
        assert_eq!(scene.manager.evict_at_least(LOCAL, mib(2)), mib(2));
        // This list writes other bytes to a resident heap, which would reveal its execution.
        let mut marked = scene.thing(7, 1);
        marked.key = 99;
        let mark = scene.write(&marked);
        marked.key = 7;
        let missing = scene.work(&things);
        scene.faults.fail_all();
        let error = scene.execute(&queue, &[&mark, &missing]).expect_err("paging fails");
        assert_eq!(error.hresult(), hresult, "{error}");
        let fence = scene.manager.queue_fence(&queue).expect("known");
        assert_eq!(unsafe { fence.GetCompletedValue() }, 1);
        scene.faults.disarm();
        // The lists are free, and the fence values continue.
        mark.list.open().expect("not open");
        let value = scene.execute(&queue, &[&missing]).expect("executed");
        assert_eq!(value.get(), 2);
        scene.wait(&queue, value);
        scene.check(&missing);
        scene.run(&queue, &[&scene.work([&marked])]);
        drop((mark, marked));
        scene.finish(things);
    }
}

/// 4c, 12: a heap that many resources share is one entry of a list, however often it is added. (The
/// allocator maps resources to heaps.)
#[test]
fn a_heap_that_many_resources_share_is_one_entry() {
    let scene = Scene::new(budget(8));
    let things = scene.things(3);
    let list = ResidencyList::new();
    let mut open = list.open().expect("new");
    for index in 0..3000 {
        open.add(&things[index % 3].heap).expect("of one manager");
    }
    open.close();
    assert_eq!(list.len().expect("closed"), 3);
    // A reset removes all entries.
    list.reset().expect("closed");
    assert!(list.is_empty().expect("closed"));
    list.add(&things[2].heap).expect("closed");
    list.add(&things[2].heap).expect("closed");
    assert_eq!(list.len().expect("closed"), 1);
    scene.end(things);
}

/// A heap in constant use is evicted for another rather than that a submission waits for the GPU, which may be blocked
/// by this very thread.
///
/// On the simulated GPU: the budget has room for the two heaps and nothing else. Where all memory is one, as on
/// lavapipe, the buffers of uploads and readbacks use a part of it.
#[test]
fn what_is_needed_soon_is_evicted_rather_than_waited_for() {
    let (max_stall, policy) = (Duration::from_secs(3600), PolicyKind::NextUse);
    let scene = Scene::simulated(ResidencyManagerDesc { max_stall, policy, ..budget(2) });
    let (blocked, queue) = (scene.queue(), scene.queue());
    let things = scene.things(2);
    let new = scene.evicted(7, 1);
    let steady = scene.work(&things[1..]);
    (0..16).for_each(|_| scene.run(&queue, &[&steady]));
    let busy = scene.keep_busy(&blocked, &things[..1]);
    scene.run(&queue, &[&steady]);
    let before = scene.manager.stats().cpu_stalls;
    scene.run(&queue, &[&scene.write(&new)]);
    assert_eq!(scene.manager.stats().cpu_stalls, before, "nothing is waited for");
    assert!(!things[1].is_resident() && things[0].is_resident());
    assert_eq!(scene.manager.stats().submissions_over_budget, 0);
    scene.finish_work(busy);
    scene.end((things, new));
}
