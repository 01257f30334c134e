//! Compares sets with slabs, on one thread and on many, with a list of live allocations.

use std::sync::Mutex;

use proptest::prelude::*;

use super::{HeapRetention, HeapSizing, PlacementError, SharedHeapSet, SharedPlaced, SharedPlacementId};
use crate::{Alignment, ByteSize, HeapRange};

const CASES: u32 = if cfg!(miri) { 2 } else { 64 };

#[derive(Debug, Clone)]
enum Step {
    Allocate { size: u64, alignment_log2: u32 },
    Free(prop::sample::Index),
    TakeEmpty,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let size = prop_oneof![6 => 1_u64..3000, 2 => 1_u64..70_000, 1 => 70_000_u64..3_000_000];
    let step = prop_oneof![
        12 => (size, prop_oneof![Just(0), Just(8), 0..=16_u32])
            .prop_map(|(size, alignment_log2)| Step::Allocate { size, alignment_log2 }),
        9 => any::<prop::sample::Index>().prop_map(Step::Free),
        1 => Just(Step::TakeEmpty),
    ];
    prop::collection::vec(step, 0..if cfg!(miri) { 30 } else { 200 })
}

/// The owner's view of a heap: its name and its size.
type Heap = (u32, ByteSize);

fn assert_apart(live: &[(Heap, HeapRange)]) {
    let mut sorted: Vec<_> = live.iter().map(|(heap, range)| (heap.0, range.start(), *range)).collect();
    sorted.sort_unstable();
    for pair in sorted.windows(2) {
        assert!(pair[0].0 != pair[1].0 || !pair[0].2.overlaps(pair[1].2), "{pair:?}");
    }
    for (heap, range) in live {
        assert!(range.end().get() <= heap.1.get(), "{range} in {heap:?}");
    }
}

/// The heaps that an owner has created and not released.
#[derive(Default)]
struct Owner {
    made: u32,
    sizes: std::collections::BTreeMap<u32, ByteSize>,
}

impl Owner {
    fn make(&mut self, size: ByteSize) -> Heap {
        self.made += 1;
        self.sizes.insert(self.made, size);
        (self.made, size)
    }

    fn give_back(&mut self, heaps: Vec<Heap>) {
        for (name, size) in heaps {
            assert_eq!(self.sizes.remove(&name), Some(size), "given back twice");
        }
    }

    fn reserved(&self) -> ByteSize {
        self.sizes.values().fold(ByteSize::ZERO, |sum, &size| sum.saturating_add(size))
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_shared_set_as_one_thread_sees_it(
        steps in steps(),
        lanes in 1_u32..4,
        slots_up_to in prop_oneof![Just(0), Just(1024), Just(65_536_u64)],
        maximum in prop_oneof![Just(4), Just(128_u64)],
    ) {
        let sizing = HeapSizing { maximum: ByteSize::from_mib(maximum), ..HeapSizing::default() };
        let set = SharedHeapSet::new(sizing, HeapRetention { operations: 16, ..HeapRetention::default() }, ByteSize::new(slots_up_to), lanes);
        let (owner, mut live) = (Mutex::new(Owner::default()), Vec::new());
        for step in steps {
            match step {
                Step::Allocate { size, alignment_log2 } => {
                    let (size, alignment) = (ByteSize::new(size), Alignment::from_log2(alignment_log2).unwrap());
                    let placed = allocate(&set, size, alignment, &owner);
                    prop_assert!(placed.range.start().is_aligned(alignment) && placed.range.size() == size);
                    live.push((placed.id, placed.heap, placed.range));
                }
                Step::Free(at) if !live.is_empty() => {
                    let (id, ..) = live.swap_remove(at.index(live.len()));
                    owner.lock().unwrap().give_back(set.free(id).unwrap());
                    prop_assert!(set.free(id).is_err(), "freed twice");
                }
                Step::Free(_) => {}
                Step::TakeEmpty => owner.lock().unwrap().give_back(set.take_empty()),
            }
            set.audit().unwrap();
            assert_apart(&live.iter().map(|&(_, heap, range)| (heap, range)).collect::<Vec<_>>());
            let totals = set.totals();
            let used: u64 = live.iter().map(|(_, _, range)| range.size().get()).sum();
            prop_assert_eq!((totals.used.get(), totals.reserved), (used, owner.lock().unwrap().reserved()));
            prop_assert_eq!(totals.allocation_count, u64::try_from(live.len()).unwrap());
        }
        for (id, ..) in live {
            owner.lock().unwrap().give_back(set.free(id).unwrap());
        }
        owner.lock().unwrap().give_back(set.take_empty());
        prop_assert_eq!(set.totals(), super::HeapSetTotals::default());
        prop_assert!(owner.lock().unwrap().sizes.is_empty());
    }
}

/// Allocates in an existing heap, or in a new one.
fn allocate(
    set: &SharedHeapSet<Heap>,
    size: ByteSize,
    alignment: Alignment,
    owner: &Mutex<Owner>,
) -> SharedPlaced<Heap> {
    if let Some(placed) = set.allocate(size, alignment).unwrap() {
        return placed;
    }
    let wanted = set.plan(size, alignment).unwrap();
    let heap = {
        let mut owner = owner.lock().unwrap();
        owner.give_back(wanted.release);
        owner.make(wanted.size)
    };
    set.allocate_in_new(wanted.size, heap, size, alignment).unwrap()
}

/// Four threads allocate and free at random, and pass half of their allocations to another thread to free.
#[test]
fn threads_get_ranges_of_their_own() {
    const THREADS: u64 = 4;
    let rounds = if cfg!(miri) { 20_u64 } else { 3000 };
    let set: SharedHeapSet<Heap> = SharedHeapSet::new(
        HeapSizing::default(),
        HeapRetention { operations: 64, ..HeapRetention::default() },
        SharedHeapSet::<Heap>::SLOTS_UP_TO,
        2,
    );
    let owner = Mutex::new(Owner::default());
    let passed: Mutex<Vec<SharedPlacementId>> = Mutex::default();
    // The live allocations. A thread removes an entry before it frees the allocation.
    let live: Mutex<Vec<(SharedPlacementId, Heap, HeapRange)>> = Mutex::default();
    std::thread::scope(|threads| {
        for seed in 1..=THREADS {
            let (set, owner, passed, live) = (&set, &owner, &passed, &live);
            threads.spawn(move || {
                let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
                let mut next = |below: u64| {
                    // Xorshift, G. Marsaglia 2003.
                    random ^= random << 13;
                    random ^= random >> 7;
                    random ^= random << 17;
                    random % below
                };
                let forget = |id: SharedPlacementId| {
                    let mut live = live.lock().unwrap();
                    let at = live.iter().position(|&(other, ..)| other == id).unwrap();
                    live.swap_remove(at);
                };
                let mut mine = Vec::new();
                for round in 0..rounds {
                    let size = if next(20) == 0 { 1 + next(300_000) } else { 1 + next(5000) };
                    let alignment = Alignment::from_log2(u32::try_from(next(9)).unwrap()).unwrap();
                    let placed = allocate(set, ByteSize::new(size), alignment, owner);
                    live.lock().unwrap().push((placed.id, placed.heap, placed.range));
                    if next(2) == 0 {
                        mine.push(placed.id)
                    } else {
                        passed.lock().unwrap().push(placed.id)
                    }
                    let victim = if next(2) == 0 { mine.pop() } else { passed.lock().unwrap().pop() };
                    if let Some(id) = victim.filter(|_| next(4) > 0 || round > 100) {
                        forget(id);
                        let released = set.free(id).unwrap();
                        owner.lock().unwrap().give_back(released);
                    } else if let Some(id) = victim {
                        mine.push(id);
                    }
                    if next(500) == 0 {
                        let live = live.lock().unwrap();
                        assert_apart(&live.iter().map(|&(_, heap, range)| (heap, range)).collect::<Vec<_>>());
                    }
                }
                for id in mine {
                    forget(id);
                    let released = set.free(id).unwrap();
                    owner.lock().unwrap().give_back(released);
                }
            });
        }
    });
    set.audit().unwrap();
    let mut owner = owner.into_inner().unwrap();
    for id in passed.into_inner().unwrap() {
        owner.give_back(set.free(id).unwrap());
    }
    owner.give_back(set.take_empty());
    assert_eq!(set.totals(), super::HeapSetTotals::default());
    assert!(owner.sizes.is_empty());
}

/// Free slots of one thread's slabs serve another thread before a heap is created.
#[test]
fn a_slot_of_another_lane_comes_before_a_new_heap() {
    let set: SharedHeapSet<Heap> = SharedHeapSet::new(
        HeapSizing {
            minimum: ByteSize::from_kib(64),
            maximum: ByteSize::from_kib(64),
            ..HeapSizing::default()
        },
        HeapRetention::default(),
        ByteSize::from_kib(64),
        16,
    );
    let size = ByteSize::from_kib(16);
    let first = allocate(&set, size, Alignment::ONE, &Mutex::default());
    // Its slab of four slots is the whole heap.
    let second = std::thread::scope(|threads| {
        threads.spawn(|| set.allocate(size, Alignment::ONE).unwrap()).join().unwrap()
    });
    assert_eq!(second.map(|placed| placed.heap), Some(first.heap));
}

/// An empty slab is kept for its class, and released before a heap is created for another size.
#[test]
fn what_empty_slabs_hold_comes_before_a_new_heap() {
    let sizing = HeapSizing {
        minimum: ByteSize::from_kib(64),
        maximum: ByteSize::from_kib(64),
        ..HeapSizing::default()
    };
    for wanted in [ByteSize::from_kib(7), ByteSize::from_kib(8)] {
        // The larger requests get a slot as well, or a range.
        for (up_to, lanes) in [(64, 1), (1, 4)] {
            let set: SharedHeapSet<u32> =
                SharedHeapSet::new(sizing, HeapRetention::default(), ByteSize::from_kib(up_to), lanes);
            let small = ByteSize::from_kib(1);
            let first = set.allocate_in_new(ByteSize::from_kib(64), 1, small, Alignment::ONE).unwrap();
            let mut ids = vec![first.id];
            while let Some(placed) = set.allocate(small, Alignment::ONE).unwrap() {
                ids.push(placed.id);
            }
            assert_eq!(ids.len(), 64);
            // The first slab of eight is empty, and kept because it is no more than a quarter of the others.
            for &id in &ids[..8] {
                set.free(id).unwrap();
            }
            assert!(set.allocate(wanted, Alignment::ONE).unwrap().is_some(), "{wanted}");
            set.audit().unwrap();
        }
    }
}

#[test]
fn a_request_that_does_not_fit_into_the_heap_made_for_it_says_so() {
    let set: SharedHeapSet<u32> = SharedHeapSet::default();
    for size in [ByteSize::from_kib(8), ByteSize::from_mib(1)] {
        let refused = set.allocate_in_new(ByteSize::new(100), 1, size, Alignment::ONE);
        assert_eq!(refused.err(), Some(PlacementError::TooLarge { requested: size }));
    }
    assert_eq!(set.take_empty(), [1, 1]);
}

#[test]
fn an_id_of_another_set_is_refused() {
    let owner = Mutex::default();
    let many: SharedHeapSet<Heap> = SharedHeapSet::default();
    let one: SharedHeapSet<Heap> =
        SharedHeapSet::new(HeapSizing::default(), HeapRetention::default(), ByteSize::from_kib(64), 1);
    let small = allocate(&many, ByteSize::new(10), Alignment::ONE, &owner);
    let large = allocate(&many, ByteSize::from_mib(1), Alignment::ONE, &owner);
    assert!(one.free(small.id).is_err());
    assert!(one.free(large.id).is_err());
}
