//! Compares the heap set with a simple model: an ordered map of live allocations.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::suballoc::SuballocError;
use crate::{Alignment, ByteSize, HeapRange};

fn alignment(log2: u32) -> Alignment {
    Alignment::from_log2(log2).expect("below 64")
}

/// A heap set with a model of its owner, which knows what is live.
struct Driven {
    set: HeapSet<u32>,
    next_heap: u32,
    /// The existing heaps by name, with their sizes.
    heaps: BTreeMap<u32, ByteSize>,
    /// The live ranges by heap and start.
    live: BTreeMap<(u32, u64), (PlacementId, HeapRange)>,
    created: u64,
}

impl Driven {
    fn new(sizing: HeapSizing, retention: HeapRetention) -> Self {
        let set = HeapSet::new(sizing, retention);
        Self { set, next_heap: 0, heaps: BTreeMap::new(), live: BTreeMap::new(), created: 0 }
    }

    fn allocate(&mut self, size: ByteSize, alignment: Alignment) -> (u32, HeapRange) {
        let placed = self.set.allocate(size, alignment).expect("nonzero size");
        let (id, range, heap) = match placed {
            Some(placed) => (placed.id, placed.range, *placed.heap),
            None => self.grow(size, alignment),
        };
        assert!(range.start().is_aligned(alignment));
        assert_eq!(range.size(), size);
        assert!(range.end().get() <= self.heaps[&heap].get(), "{range:?} leaves its heap");
        let before = self.live.range(..(heap, range.start().get())).next_back();
        let after = self.live.range((heap, range.start().get())..).next();
        for (&(other_heap, _), &(_, other)) in before.into_iter().chain(after) {
            assert!(other_heap != heap || !other.overlaps(range), "{range:?} overlaps {other:?}");
        }
        self.live.insert((heap, range.start().get()), (id, range));
        (heap, range)
    }

    fn grow(&mut self, size: ByteSize, alignment: Alignment) -> (PlacementId, HeapRange, u32) {
        let NewHeap { size: heap_size, release } = self.set.plan(size).expect("fits in 64 bits");
        assert!(heap_size >= size);
        self.gone(release);
        let name = self.next_heap;
        self.next_heap += 1;
        self.created += 1;
        self.heaps.insert(name, heap_size);
        let heap = self.set.insert(heap_size, name).expect("a heap of a planned size can be managed");
        let placed = self.set.allocate_in(heap, size, alignment).expect("the heap was just inserted");
        let placed = placed.expect("a new heap is large enough at offset 0");
        (placed.id, placed.range, *placed.heap)
    }

    fn free(&mut self, index: usize) {
        let Some(&key) = self.live.keys().nth(index % self.live.len().max(1)) else { return };
        let (id, _) = self.live.remove(&key).expect("the key exists");
        let released = self.set.free(id).expect("the allocation is live");
        self.gone(released);
        assert!(self.set.free(id).is_err(), "a second free must fail");
    }

    fn gone(&mut self, released: impl IntoIterator<Item = u32>) {
        for name in released {
            assert!(self.live.keys().all(|&(heap, _)| heap != name), "released heap is not empty");
            assert!(self.heaps.remove(&name).is_some(), "heap released twice");
        }
    }

    fn check(&self) {
        self.set.audit().expect("consistent");
        let totals = self.set.totals();
        let reserved: u64 = self.heaps.values().map(|size| size.get()).sum();
        let used: u64 = self.live.values().map(|(_, range)| range.size().get()).sum();
        assert_eq!((totals.reserved.get(), totals.used.get()), (reserved, used));
        assert_eq!(totals.heap_count, self.heaps.len() as u64);
        assert_eq!(totals.allocation_count, self.live.len() as u64);
    }
}

#[derive(Debug, Clone)]
enum Step {
    Allocate { size: u64, alignment_log2: u32 },
    Free { index: usize },
    TakeEmpty,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let size = (0_u32..34, 1_u64..1024).prop_map(|(log2, part)| (1_u64 << log2) * part / 512 + 1);
    let allocate =
        (size, 0_u32..=22).prop_map(|(size, alignment_log2)| Step::Allocate { size, alignment_log2 });
    let free = (0_usize..256).prop_map(|index| Step::Free { index });
    let step = prop_oneof![6 => allocate, 5 => free, 1 => Just(Step::TakeEmpty)];
    prop::collection::vec(step, 1..120)
}

/// The default, and settings from lenient to strict.
fn reuses() -> impl Strategy<Value = HeapReuse> {
    let log2 = || prop_oneof![0_u32..8, Just(63), Just(u32::MAX)];
    let cost = prop_oneof![0_u32..64, Just(u32::MAX)];
    let any =
        (log2(), log2(), log2(), cost).prop_map(|(close_log2, waste_log2, headroom_log2, creation_cost)| {
            HeapReuse { close_log2, waste_log2, headroom_log2, creation_cost }
        });
    prop_oneof![Just(HeapReuse::default()), any]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 200 }))]

    #[test]
    fn agrees_with_the_model(steps in steps(), decay_log2 in 0_u32..6, reuse in reuses()) {
        let sizing = HeapSizing { reuse, ..HeapSizing::default() };
        let mut driven = Driven::new(sizing, HeapRetention { decay_log2 });
        for step in steps {
            match step {
                Step::Allocate { size, alignment_log2 } => {
                    driven.allocate(ByteSize::new(size), alignment(alignment_log2));
                }
                Step::Free { index } => driven.free(index),
                Step::TakeEmpty => {
                    let taken = driven.set.take_empty();
                    driven.gone(taken);
                    prop_assert_eq!(driven.set.totals().empty_heap_count, 0);
                }
            }
            driven.check();
        }
        while !driven.live.is_empty() {
            driven.free(0);
        }
        let taken = driven.set.take_empty();
        driven.gone(taken);
        driven.check();
        prop_assert_eq!(driven.set.totals(), HeapSetTotals::default());
    }

    #[test]
    fn a_new_heap_is_large_enough_and_not_much_larger(size in 1_u64..1 << 50, used in 0_u64..1 << 50) {
        let sizing = HeapSizing::default();
        let heap = sizing.heap_size(ByteSize::new(size), ByteSize::new(used)).expect("far from overflow").get();
        prop_assert!(heap >= size);
        prop_assert!(heap.is_multiple_of(64 * 1024));
        prop_assert!(heap <= size.max(24 << 20).next_multiple_of(64 * 1024));
        // Except for the minimum, the size exceeds whole requests by less than one granule.
        prop_assert!(heap % size < 64 * 1024 || heap == 256 * 1024);
        prop_assert!(heap / size <= 16 || heap == 256 * 1024 || size < 4096);
    }
}

#[test]
fn zero_is_an_error_and_changes_nothing() {
    let mut set: HeapSet<()> = HeapSet::default();
    assert!(set.allocate(ByteSize::ZERO, Alignment::ONE).is_err());
    assert_eq!(set.totals(), HeapSetTotals::default());
}

#[test]
fn a_size_that_overflows_is_an_error_and_releases_nothing() {
    let mut set: HeapSet<()> = HeapSet::default();
    set.insert(ByteSize::from_mib(1), ()).expect("valid size");
    for size in [u64::MAX, u64::MAX - 65_535, (1 << 63) + 1] {
        let size = ByteSize::new(size);
        assert_eq!(set.allocate(size, Alignment::ONE), Ok(None));
        assert_eq!(set.plan(size), Err(PlacementError::TooLarge { requested: size }));
    }
    assert_eq!(set.totals().heap_count, 1);
}

#[test]
fn an_id_of_a_released_heap_is_recognised() {
    let mut set = HeapSet::default();
    let heap = set.insert(ByteSize::from_mib(1), 'a').expect("valid size");
    let placed = set
        .allocate_in(heap, ByteSize::new(16), Alignment::ONE)
        .expect("the heap is in the set")
        .expect("room");
    let id = placed.id;
    set.free(id).expect("live");
    assert_eq!(set.take_empty(), ['a']);
    let other = set.insert(ByteSize::from_mib(1), 'b').expect("valid size");
    set.allocate_in(other, ByteSize::new(16), Alignment::ONE).expect("the heap is in the set").expect("room");
    assert!(matches!(set.free(id), Err(PlacementError::Suballocation(SuballocError::StaleId { .. }))));
    assert_eq!(set.allocate_in(heap, ByteSize::new(16), Alignment::ONE), Err(PlacementError::UnknownHeap));
}

#[test]
fn what_is_too_large_to_share_has_its_heap_to_itself() {
    let mut driven = Driven::new(HeapSizing::default(), HeapRetention::default());
    let (large, _) = driven.allocate(ByteSize::from_mib(160), Alignment::ONE);
    driven.free(0);
    // It returns to the heap that it left. Nothing else may use the rest of that heap.
    let (again, _) = driven.allocate(ByteSize::from_mib(150), Alignment::ONE);
    assert_eq!(again, large);
    let (other, _) = driven.allocate(ByteSize::from_mib(1), Alignment::ONE);
    assert_ne!(other, large);
}

#[test]
fn small_and_large_requests_do_not_share_a_heap() {
    let mut driven = Driven::new(HeapSizing::default(), HeapRetention::default());
    let (small, _) = driven.allocate(ByteSize::new(256), Alignment::ONE);
    let (large, _) = driven.allocate(ByteSize::from_kib(65), Alignment::ONE);
    let (small_again, _) = driven.allocate(ByteSize::new(256), Alignment::ONE);
    assert_ne!(small, large);
    assert_eq!(small, small_again);
}

#[test]
fn what_recurs_creates_no_heaps() {
    let mut driven = Driven::new(HeapSizing::default(), HeapRetention::default());
    let sizes = [3_u64 << 20, 70 << 10, 9 << 20, 300, 5000, 1 << 20];
    for round in 0..50 {
        for &size in &sizes {
            driven.allocate(ByteSize::new(size), alignment(8));
        }
        while !driven.live.is_empty() {
            driven.free(0);
        }
        assert!(driven.created <= sizes.len() as u64, "round {round} created more heaps");
    }
}

/// Creates three empty heaps of 64, 16 and 4 MiB, with the mark at their sum.
fn with_empty_heaps(reuse: HeapReuse) -> (Driven, [u32; 3]) {
    let mut driven = Driven::new(HeapSizing { reuse, ..HeapSizing::default() }, HeapRetention::default());
    let heaps = [64, 16, 4].map(|mib| driven.allocate(ByteSize::from_mib(mib), Alignment::ONE).0);
    while !driven.live.is_empty() {
        driven.free(0);
    }
    assert_eq!(driven.set.totals().empty_heap_count, 3);
    (driven, heaps)
}

#[test]
fn far_from_the_mark_a_larger_heap_is_reused() {
    let (mut driven, [_, medium, _]) = with_empty_heaps(HeapReuse::default());
    let (heap, _) = driven.allocate(ByteSize::from_mib(6), Alignment::ONE);
    assert_eq!((heap, driven.created), (medium, 3));
}

#[test]
fn near_the_mark_a_heap_that_is_too_large_makes_way() {
    let (mut driven, [large, medium, _]) = with_empty_heaps(HeapReuse::default());
    driven.allocate(ByteSize::from_mib(16), Alignment::ONE);
    let before = driven.set.totals().reserved;
    let (heap, _) = driven.allocate(ByteSize::from_mib(30), Alignment::ONE);
    assert!(heap != large && heap != medium, "a larger heap must not be reused");
    assert!(driven.set.totals().reserved <= before, "reserved bytes must not grow");
    assert!(!driven.heaps.contains_key(&large));
    driven.check();
}

#[test]
fn who_can_make_no_heap_gets_one_that_is_too_large() {
    let (mut driven, [large, ..]) = with_empty_heaps(HeapReuse::default());
    driven.allocate(ByteSize::from_mib(16), Alignment::ONE);
    let size = ByteSize::from_mib(30);
    assert_eq!(driven.set.allocate(size, Alignment::ONE), Ok(None));
    let placed =
        driven.set.allocate_anywhere(size, Alignment::ONE).expect("no error").expect("a heap with room");
    assert_eq!(*placed.heap, large);
    assert_eq!(driven.set.allocate_anywhere(ByteSize::from_mib(40), Alignment::ONE), Ok(None));
    driven.set.audit().expect("consistent");
}

#[test]
fn what_is_about_as_large_is_always_reused() {
    let (mut driven, [large, ..]) =
        with_empty_heaps(HeapReuse { waste_log2: 63, headroom_log2: 63, ..HeapReuse::default() });
    let (heap, _) = driven.allocate(ByteSize::from_kib(64 * 1024 * 4 / 5 + 1), Alignment::ONE);
    assert_eq!((heap, driven.created), (large, 3));
}

#[test]
fn an_empty_heap_serves_any_alignment() {
    let (mut driven, [large, ..]) = with_empty_heaps(HeapReuse::default());
    let (heap, range) = driven.allocate(ByteSize::from_mib(64), alignment(22));
    assert_eq!((heap, range.start().get()), (large, 0));
}

/// Two alternating sizes near the mark, so that each turn exchanges the heap of one for a heap of the other.
#[test]
fn exchanges_are_bounded_by_what_allocations_pay_for() {
    let created = |creation_cost| {
        let reuse = HeapReuse { creation_cost, ..HeapReuse::default() };
        let sizing = HeapSizing { reuse, ..HeapSizing::default() };
        let mut driven = Driven::new(sizing, HeapRetention { decay_log2: 63 });
        driven.allocate(ByteSize::from_mib(100), Alignment::ONE);
        for _ in 0..2_000 {
            for mib in [70, 14] {
                let key = driven.allocate(ByteSize::from_mib(mib), Alignment::ONE);
                let (id, _) =
                    driven.live.remove(&(key.0, key.1.start().get())).expect("the allocation is live");
                let released = driven.set.free(id).expect("the allocation is live");
                driven.gone(released);
            }
        }
        driven.check();
        driven.created
    };
    assert!(created(0) > 1_000, "only {} heaps were created", created(0));
    // One in 32, plus the initial credit.
    assert!(created(32) <= 4_000 / 32 + 96 + 2, "{} heaps are too many", created(32));
}

#[test]
fn memory_goes_back_once_it_is_not_needed_for_long() {
    let mut driven = Driven::new(HeapSizing::default(), HeapRetention { decay_log2: 4 });
    for _ in 0..100 {
        driven.allocate(ByteSize::from_mib(1), Alignment::ONE);
    }
    for _ in 0..100 {
        driven.free(0);
    }
    for _ in 0..100 {
        driven.allocate(ByteSize::from_kib(1), Alignment::ONE);
        driven.free(0);
    }
    driven.check();
    assert!(driven.set.totals().reserved <= ByteSize::from_mib(2), "{:?}", driven.set.totals());
}

#[test]
fn heaps_of_more_bytes_than_can_be_counted_are_refused() {
    let mut heaps: HeapSet<u32> = HeapSet::default();
    let half = ByteSize::new(1 << 63);
    let first = heaps.insert(half, 1).expect("half of all bytes");
    heaps.allocate_in(first, half, Alignment::ONE).expect("an empty heap").expect("enough memory");
    assert_eq!(heaps.insert(half, 2), Err(PlacementError::TooManyBytes));
    assert_eq!(heaps.totals().heap_count, 1);
    heaps.audit().expect("consistent");
}
