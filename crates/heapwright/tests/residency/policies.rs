//! Custom eviction policies.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use heapwright::ByteSize;
use heapwright::residency::eviction::{Admission, EvictionPolicy, HeapSlot, Moment, PolicyKind, Withdrawal};
use heapwright::residency::{ResidencyHeapDesc, ResidencyManagerDesc};

use crate::scene::{Scene, Thing, budget, until};

fn evicted(things: &[Thing]) -> Vec<u8> {
    things.iter().filter(|thing| !thing.is_resident()).map(|thing| thing.key).collect()
}

/// Evicts the heap that was admitted last first.
#[derive(Debug, Default)]
struct LastInFirstOut(Vec<HeapSlot>);

impl EvictionPolicy for LastInFirstOut {
    fn admit(&mut self, heap: HeapSlot, _size: ByteSize, _cause: Admission, _now: Moment) {
        self.0.push(heap);
    }

    fn touch(&mut self, _heap: HeapSlot, _now: Moment) {}

    fn withdraw(&mut self, heap: HeapSlot, _cause: Withdrawal, _now: Moment) {
        self.0.retain(|&held| held != heap);
    }

    fn forget(&mut self, heap: HeapSlot) {
        self.0.retain(|&held| held != heap);
    }

    fn choose(&mut self, need: ByteSize, _now: Moment, evict: &mut dyn FnMut(HeapSlot) -> Option<ByteSize>) {
        let mut chosen = ByteSize::ZERO;
        for &heap in self.0.iter().rev() {
            if chosen >= need {
                break;
            }
            chosen = chosen.saturating_add(evict(heap).unwrap_or_default());
        }
    }
}

/// Expects that every heap is used again at once.
#[derive(Debug, Default)]
struct NeededSoon(LastInFirstOut);

impl EvictionPolicy for NeededSoon {
    fn admit(&mut self, heap: HeapSlot, size: ByteSize, cause: Admission, now: Moment) {
        self.0.admit(heap, size, cause, now);
    }

    fn touch(&mut self, _heap: HeapSlot, _now: Moment) {}

    fn withdraw(&mut self, heap: HeapSlot, cause: Withdrawal, now: Moment) {
        self.0.withdraw(heap, cause, now);
    }

    fn forget(&mut self, heap: HeapSlot) {
        self.0.forget(heap);
    }

    fn choose(&mut self, need: ByteSize, now: Moment, evict: &mut dyn FnMut(HeapSlot) -> Option<ByteSize>) {
        self.0.choose(need, now, evict);
    }

    fn next_use_in(&self, _heap: HeapSlot, _now: Moment) -> Option<u64> {
        Some(0)
    }
}

/// Waiting is better than evicting what is needed soon, but not forever: another thread may always have something in flight.
#[test]
fn what_is_needed_soon_goes_while_another_thread_renders() {
    let policy = PolicyKind::custom("needed soon", || Box::new(NeededSoon::default()));
    let scene = Scene::new(ResidencyManagerDesc { policy, ..budget(3) });
    let (busy, queue, things) = (scene.queue(), scene.queue(), scene.things(2));
    let frames = [scene.work(&things[..1]), scene.work(&things[..1])];
    let new = scene.not_resident(7, 2, &ResidencyHeapDesc::default());
    let write = scene.write(&new);
    let (count, is_done) = (AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let rendering = scope.spawn(|| scene.render(&busy, &frames, &count, &is_done));
        until("it renders", || count.load(Ordering::Relaxed) > 2);
        let value = scene.execute(&queue, &[&write]).expect("there is something to evict");
        assert!(!rendering.is_finished(), "it was not waited for");
        scene.wait(&queue, value);
        is_done.store(true, Ordering::Relaxed);
    });
    let stats = scene.manager.stats();
    assert!(stats.cpu_stalls > 0 && stats.submissions_over_budget == 0, "{stats:?}");
    assert_eq!(evicted(&things), [1]);
    scene.end(things.into_iter().chain([new]).collect());
}

#[test]
fn a_policy_of_ones_own_says_what_goes() {
    let policy = PolicyKind::custom("last in, first out", || Box::new(LastInFirstOut::default()));
    for (policy, expected) in [(policy, 2), (PolicyKind::Lru, 0)] {
        let scene = Scene::new(ResidencyManagerDesc { policy, ..budget(3) });
        let (queue, mut things) = (scene.queue(), scene.things(3));
        for thing in &things {
            scene.run(&queue, &[&scene.work([thing])]);
        }
        things.push(scene.thing(3, 1));
        assert_eq!(evicted(&things), [expected]);
        scene.finish(things);
    }
}

/// The methods of a policy; [`Panicking`] panics in one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Method {
    Admit,
    Touch,
    Withdraw,
    Forget,
    Choose,
    ChooseAfterNaming,
    NextUseIn,
    ChooseAhead,
    CountsTime,
    Drop,
}

/// Chooses the heap that was admitted last, and panics in one of its methods.
#[derive(Debug)]
struct Panicking {
    method: Method,
    held: LastInFirstOut,
}

impl Panicking {
    fn call(&self, method: Method) {
        assert_ne!(self.method, method, "a panic on purpose");
    }
}

impl EvictionPolicy for Panicking {
    fn admit(&mut self, heap: HeapSlot, size: ByteSize, cause: Admission, now: Moment) {
        self.call(Method::Admit);
        self.held.admit(heap, size, cause, now);
    }

    fn touch(&mut self, _heap: HeapSlot, _now: Moment) {
        self.call(Method::Touch);
    }

    fn withdraw(&mut self, heap: HeapSlot, cause: Withdrawal, now: Moment) {
        self.call(Method::Withdraw);
        self.held.withdraw(heap, cause, now);
    }

    fn forget(&mut self, heap: HeapSlot) {
        self.call(Method::Forget);
        self.held.forget(heap);
    }

    fn choose(&mut self, need: ByteSize, now: Moment, evict: &mut dyn FnMut(HeapSlot) -> Option<ByteSize>) {
        self.call(Method::Choose);
        self.held.choose(need, now, evict);
        self.call(Method::ChooseAfterNaming);
    }

    fn next_use_in(&self, _heap: HeapSlot, _now: Moment) -> Option<u64> {
        self.call(Method::NextUseIn);
        None
    }

    fn choose_ahead(
        &mut self,
        _limit: ByteSize,
        _fullness: f64,
        _now: Moment,
        _evict: &mut dyn FnMut(HeapSlot) -> Option<ByteSize>,
    ) {
        self.call(Method::ChooseAhead);
    }

    fn counts_time(&self) -> bool {
        self.call(Method::CountsTime);
        true
    }
}

impl Drop for Panicking {
    fn drop(&mut self) {
        self.call(Method::Drop);
    }
}

/// Whichever method panics, no panic leaves the manager, its books stay consistent, and the least recently
/// used heap is evicted from then on.
#[test]
fn a_policy_that_panics_is_replaced_by_lru() {
    use Method::*;
    let methods =
        [Admit, Touch, Withdraw, Forget, Choose, ChooseAfterNaming, NextUseIn, ChooseAhead, CountsTime, Drop];
    for method in methods {
        let policy = PolicyKind::custom("panics", move || {
            Box::new(Panicking { method, held: LastInFirstOut::default() })
        });
        let scene = Scene::new(ResidencyManagerDesc { policy, ..budget(3) });
        let (queue, other, mut things) = (scene.queue(), scene.queue(), scene.things(4));
        for thing in &things {
            scene.run(&queue, &[&scene.work([thing])]);
        }
        let gate = scene.block(&other);
        let busy = scene.execute(&other, &[&scene.work([&things[2]])]).expect("executed");
        for thing in &things {
            scene.run(&queue, &[&scene.work([thing])]);
        }
        gate.open();
        scene.wait(&other, busy);
        things[3].heap.lock().expect("there is room");
        things[3].heap.unlock().expect("it is locked");
        scene.manager.trim();
        things.remove(0);
        scene.check_books(&things);
        // By now every method that is ever called has been called.
        for thing in &things {
            scene.run(&queue, &[&scene.work([thing])]);
        }
        things.push(scene.thing(4, 1));
        assert!(method == Drop || evicted(&things) == [1], "{method:?}: {:?}", evicted(&things));
        scene.check_books(&things);
        scene.assert_alive();
        scene.end(things);
    }
}

#[test]
fn a_policy_that_panics_when_it_is_created_is_an_error_that_names_it() {
    let gpu = crate::gpu::open("discrete");
    let policy = PolicyKind::custom("never", || panic!("on purpose"));
    let desc = ResidencyManagerDesc { policy, ..budget(3) };
    let error = heapwright::residency::ResidencyManager::new(&gpu.device, Some(&gpu.adapter), desc)
        .expect_err("no policy");
    let message = error.to_string();
    assert!(message.contains("ResidencyManagerDesc::policy") && message.contains("\"never\""), "{message}");
}
