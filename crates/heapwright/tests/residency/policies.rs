//! Eviction policies of the user's own.

use heapwright::ByteSize;
use heapwright::residency::ResidencyManagerDesc;
use heapwright::residency::eviction::{Admission, EvictionPolicy, HeapSlot, Moment, PolicyKind, Withdrawal};

use crate::scene::{Scene, Thing, budget};

fn evicted(things: &[Thing]) -> Vec<u8> {
    things.iter().filter(|thing| !thing.is_resident()).map(|thing| thing.key).collect()
}

/// The heap that came last goes first.
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
        scene.check_books(&things);
        scene.end(things);
    }
}

/// Names every slot that there is and many that there are not, more than once, and whatever is in use.
#[derive(Debug)]
struct Hostile;

impl Hostile {
    fn name_all(evict: &mut dyn FnMut(HeapSlot) -> Option<ByteSize>) {
        for slot in (0..20).chain([u32::MAX, 1 << 31]).chain((0..20).rev()) {
            if evict(HeapSlot::new(slot)).is_some() {
                assert_eq!(evict(HeapSlot::new(slot)), None, "slot {slot} is taken twice");
            }
        }
    }
}

impl EvictionPolicy for Hostile {
    fn admit(&mut self, _heap: HeapSlot, _size: ByteSize, _cause: Admission, _now: Moment) {}

    fn touch(&mut self, _heap: HeapSlot, _now: Moment) {}

    fn withdraw(&mut self, _heap: HeapSlot, _cause: Withdrawal, _now: Moment) {}

    fn forget(&mut self, _heap: HeapSlot) {}

    fn choose(&mut self, _need: ByteSize, _now: Moment, evict: &mut dyn FnMut(HeapSlot) -> Option<ByteSize>) {
        Self::name_all(evict);
    }

    fn next_use_in(&self, _heap: HeapSlot, _now: Moment) -> Option<u64> {
        Some(0)
    }

    fn choose_ahead(
        &mut self,
        _limit: ByteSize,
        _fullness: f64,
        _now: Moment,
        evict: &mut dyn FnMut(HeapSlot) -> Option<ByteSize>,
    ) {
        Self::name_all(evict);
    }
}

/// What is locked, in use or in the list stays, nothing is evicted twice, and every copy finds its bytes.
#[test]
fn a_hostile_policy_can_only_choose_badly() {
    let policy = PolicyKind::custom("hostile", || Box::new(Hostile));
    let scene = Scene::new(ResidencyManagerDesc { policy, ..budget(4) });
    let (queue, other, things) = (scene.queue(), scene.queue(), scene.things(10));
    things[9].heap.lock().expect("there is room");
    let gate = scene.block(&other);
    let busy = scene.work([&things[8]]);
    let value = scene.execute(&other, &[&busy]).expect("executed");
    for turn in 0..40 {
        let pair = [&things[turn % 8], &things[turn * 3 % 8]];
        scene.run(&queue, &[&scene.work(pair)]);
        assert!(things[8].is_resident() && things[9].is_resident());
        assert!(evicted(&things).len() >= 6);
        scene.check_books(&things);
    }
    gate.open();
    scene.wait(&other, value);
    scene.check(&busy);
    things[9].heap.unlock().expect("it is locked");
    scene.assert_alive();
    scene.end(things);
}
