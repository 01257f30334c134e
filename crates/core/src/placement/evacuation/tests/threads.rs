//! Threads that allocate and free while a run empties heaps.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::placement::tests::take_all_empty;
use crate::placement::{
    Evacuation, EvacuationBudget, HeapRetention, HeapSetDesc, HeapSizing, Keeping, PlacementId,
    PlacementRequest, PlacementRule, SharedHeapSet,
};
use crate::{Alignment, ByteSize, HeapRange};

/// A heap: its name and its size.
type Heap = (u32, ByteSize);

#[derive(Default)]
struct Owner {
    made: u32,
    sizes: BTreeMap<u32, ByteSize>,
}

impl Owner {
    fn make(&mut self, size: ByteSize) -> Heap {
        self.made += 1;
        self.sizes.insert(self.made, size);
        (self.made, size)
    }

    fn give_back(&mut self, heaps: Vec<Heap>) {
        for (name, size) in heaps {
            assert_eq!(self.sizes.remove(&name), Some(size), "released twice");
        }
    }
}

type Things = BTreeMap<u64, (PlacementId, Heap, HeapRange)>;

fn assert_apart(things: &Things) {
    let mut places: Vec<_> =
        things.values().map(|(_, heap, range)| (heap.0, range.start(), *range)).collect();
    places.sort_unstable_by_key(|place| (place.0, place.1));
    for pair in places.windows(2) {
        assert!(pair[0].0 != pair[1].0 || !pair[0].2.overlaps(pair[1].2), "{pair:?}");
    }
}

/// Three threads allocate, free allocations of any thread, and reopen closed heaps, while one runs evacuations
/// continuously.
#[test]
fn threads_allocate_and_free_during_a_run() {
    let rounds = if cfg!(miri) { 30_u64 } else { 4000 };
    let sizing = HeapSizing {
        minimum: ByteSize::from_kib(64),
        maximum: ByteSize::from_kib(512),
        ..HeapSizing::default()
    };
    let retention = HeapRetention { keeping: Keeping::Operations(64), ..HeapRetention::default() };
    let desc = HeapSetDesc { lanes: 2, ..HeapSetDesc::new(PlacementRule::Default(sizing), retention) };
    let set: SharedHeapSet<Heap> = SharedHeapSet::new(&desc);
    let owner = Mutex::new(Owner::default());
    // The live allocations. A thread removes an entry before it frees the allocation.
    let things: Mutex<Things> = Mutex::default();
    let (is_over, moved) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|threads| {
        let (set, owner, things, is_over, moved) = (&set, &owner, &things, &is_over, &moved);
        let workers: Vec<_> = (1..=3_u64)
            .map(|seed| {
                threads.spawn(move || {
                    let mut random = fastrand::Rng::with_seed(seed);
                    let mut next = |below: u64| random.u64(..below);
                    // On a busy machine, the evacuations may come late.
                    let goes_on =
                        |&round: &u64| round < rounds || !cfg!(miri) && moved.load(Ordering::Relaxed) == 0;
                    for round in (0..100 * rounds).take_while(goes_on) {
                        let size =
                            ByteSize::new(if next(10) == 0 { 1 + next(100_000) } else { 1 + next(5000) });
                        let placed = match set.allocate(&PlacementRequest::new(size, Alignment::ONE)).unwrap()
                        {
                            Some(placed) => placed,
                            None => {
                                let request = PlacementRequest::new(size, Alignment::ONE);
                                let heap_size = set.new_heap_size(&request).unwrap();
                                let left = set.make_way(heap_size);
                                let heap = {
                                    let mut owner = owner.lock().unwrap();
                                    owner.give_back(left);
                                    owner.make(heap_size)
                                };
                                set.allocate_in_new(heap_size, heap, &request).unwrap()
                            }
                        };
                        let key = next(u64::MAX);
                        let old = things.lock().unwrap().insert(key, (placed.id, placed.heap, placed.range));
                        assert!(old.is_none());
                        // As many are freed as allocated, and occasionally most of them.
                        let count = if next(1000) == 0 { 500 } else { u64::from(round > 500) };
                        for _ in 0..count {
                            let from = next(u64::MAX);
                            // The entry is removed before the allocation is freed, so the run may not find
                            // the entry.
                            let victim = {
                                let mut things = things.lock().unwrap();
                                let key = things.range(from..).next().map(|(&key, _)| key);
                                key.and_then(|key| things.remove(&key))
                            };
                            if let Some((id, ..)) = victim {
                                let released = set.free(id).unwrap();
                                owner.lock().unwrap().give_back(released);
                            }
                        }
                        if next(300) == 0 {
                            set.reopen_closed();
                        }
                        if next(200) == 0 {
                            assert_apart(&things.lock().unwrap());
                        }
                    }
                })
            })
            .collect();
        let runner = threads.spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                let mut run = Evacuation::new(set);
                for count in 0..200_u32 {
                    let budget = EvacuationBudget { moves: 1 + count % 17, ..EvacuationBudget::default() };
                    let step = run.step(budget, &mut || true);
                    owner.lock().unwrap().give_back(step.release);
                    for (at, planned) in step.moves.iter().enumerate() {
                        if (at + count as usize) % 97 == 96 {
                            let released = run.abandon(planned);
                            owner.lock().unwrap().give_back(released);
                            continue;
                        }
                        // The owner's table of places is updated before the source is freed.
                        let mut things = things.lock().unwrap();
                        let thing = things.iter_mut().find(|(_, thing)| thing.0 == planned.source);
                        let is_known = thing.is_some();
                        if let Some((_, thing)) = thing {
                            *thing = (planned.target.id, planned.target.heap, planned.target.range);
                        }
                        drop(things);
                        if is_known {
                            let completed = run.complete(planned);
                            assert!(completed.is_moved, "no other owner of this id");
                            owner.lock().unwrap().give_back(completed.release);
                            moved.fetch_add(1, Ordering::Relaxed);
                        } else {
                            // Another thread removed the entry to free the allocation, or has not added it
                            // yet.
                            let released = run.abandon(planned);
                            owner.lock().unwrap().give_back(released);
                        }
                    }
                    if let Some(size) = step.create {
                        let heap = (count % 5 > 0).then(|| owner.lock().unwrap().make(size));
                        run.supply(size, heap).unwrap();
                    }
                }
            }
        });
        for worker in workers {
            worker.join().unwrap();
        }
        is_over.store(true, Ordering::Relaxed);
        runner.join().unwrap();
    });
    assert!(moved.into_inner() > 0 || cfg!(miri), "no allocation was moved");
    set.audit().unwrap();
    let things = things.into_inner().unwrap();
    assert_apart(&things);
    assert_eq!(set.totals().allocation_count, things.len() as u64);
    let mut owner = owner.into_inner().unwrap();
    for (id, ..) in things.into_values() {
        owner.give_back(set.free(id).unwrap());
    }
    owner.give_back(take_all_empty(&set));
    assert_eq!(set.totals(), Default::default());
    assert!(owner.sizes.is_empty());
}
