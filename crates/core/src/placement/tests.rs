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
        let placed = self.set.allocate(size, alignment).expect("the size is not zero");
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
        let NewHeap { size: heap_size, release } = self.set.plan(size).expect("it fits 64 bits");
        assert!(heap_size >= size);
        self.gone(release);
        let name = self.next_heap;
        self.next_heap += 1;
        self.created += 1;
        self.heaps.insert(name, heap_size);
        let heap = self.set.insert(heap_size, name).expect("a heap of a planned size can be managed");
        let placed = self.set.allocate_in(heap, size, alignment).expect("the heap is new");
        let placed = placed.expect("a fresh heap begins at offset 0 and is large enough");
        (placed.id, placed.range, *placed.heap)
    }

    fn free(&mut self, index: usize) {
        let Some(&key) = self.live.keys().nth(index % self.live.len().max(1)) else { return };
        let (id, _) = self.live.remove(&key).expect("the key was just read");
        let released = self.set.free(id).expect("it is live");
        self.gone(released);
        assert!(self.set.free(id).is_err(), "a second free is recognised");
    }

    fn gone(&mut self, released: impl IntoIterator<Item = u32>) {
        for name in released {
            assert!(self.live.keys().all(|&(heap, _)| heap != name), "a heap left with something in it");
            assert!(self.heaps.remove(&name).is_some(), "a heap left twice");
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
    Frame,
    Period,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let size = (0_u32..34, 1_u64..1024).prop_map(|(log2, part)| (1_u64 << log2) * part / 512 + 1);
    let allocate =
        (size, 0_u32..=22).prop_map(|(size, alignment_log2)| Step::Allocate { size, alignment_log2 });
    let free = (0_usize..256).prop_map(|index| Step::Free { index });
    let rare = prop_oneof![Just(Step::TakeEmpty), Just(Step::Frame), Just(Step::Period)];
    let step = prop_oneof![6 => allocate, 5 => free, 2 => rare];
    prop::collection::vec(step, 1..120)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 200 }))]

    #[test]
    fn agrees_with_the_model(steps in steps(), operations in 0_u64..20, frames in 0_u32..4) {
        let mut driven = Driven::new(HeapSizing::default(), HeapRetention { operations, frames });
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
                Step::Frame => {
                    let released = driven.set.pass_frame();
                    driven.gone(released);
                }
                Step::Period => {
                    let released = driven.set.pass_period();
                    driven.gone(released);
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
    fn a_new_heap_is_large_enough_and_not_much_larger(size in 1_u64..1 << 50, most_held in 0_u64..1 << 50) {
        const GRANULE: u64 = 64 * 1024;
        let sizing = HeapSizing::default();
        let heap = sizing.heap_size(ByteSize::new(size), ByteSize::new(most_held)).expect("far from overflow").get();
        let usual = (most_held / 10).clamp(4 << 20, 128 << 20);
        prop_assert!(heap >= size);
        prop_assert!(heap.is_multiple_of(GRANULE));
        prop_assert!(heap <= size.max(usual).next_multiple_of(GRANULE));
        prop_assert!(heap >= usual / 2 || size > usual, "{heap} is much less than {usual}");
        // A whole number of requests, unless there are so many that what remains is little.
        prop_assert!(heap % size < GRANULE || heap / size >= 64);
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
    set.insert(ByteSize::from_mib(1), ()).expect("a sound size");
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
    let heap = set.insert(ByteSize::from_mib(1), 'a').expect("a sound size");
    let placed = set.allocate_in(heap, ByteSize::new(16), Alignment::ONE).expect("in the set").expect("room");
    let id = placed.id;
    set.free(id).expect("live");
    assert_eq!(set.take_empty(), ['a']);
    let other = set.insert(ByteSize::from_mib(1), 'b').expect("a sound size");
    set.allocate_in(other, ByteSize::new(16), Alignment::ONE).expect("in the set").expect("room");
    assert!(matches!(set.free(id), Err(PlacementError::Suballocation(SuballocError::StaleId { .. }))));
    assert_eq!(set.allocate_in(heap, ByteSize::new(16), Alignment::ONE), Err(PlacementError::UnknownHeap));
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

/// Creates empty heaps of 64, 16 and 8 MiB.
fn with_empty_heaps() -> (Driven, [u32; 3]) {
    let mut driven = Driven::new(HeapSizing::default(), HeapRetention::default());
    let heaps = [64, 16, 8].map(|mib| driven.allocate(ByteSize::from_mib(mib), Alignment::ONE).0);
    while !driven.live.is_empty() {
        driven.free(0);
    }
    assert_eq!(driven.set.totals().empty_heap_count, 3);
    (driven, heaps)
}

#[test]
fn the_smallest_sufficient_empty_heap_is_reused() {
    let (mut driven, [large, medium, small]) = with_empty_heaps();
    assert_eq!(driven.allocate(ByteSize::from_mib(1), Alignment::ONE).0, small);
    assert_eq!(driven.allocate(ByteSize::from_mib(10), Alignment::ONE).0, medium);
    assert_eq!(driven.allocate(ByteSize::from_mib(10), Alignment::ONE).0, large);
    assert_eq!(driven.created, 3);
}

#[test]
fn an_empty_heap_that_is_too_small_makes_way() {
    let (mut driven, heaps) = with_empty_heaps();
    let before = driven.set.totals().reserved;
    let (heap, _) = driven.allocate(ByteSize::from_mib(65), Alignment::ONE);
    assert!(!heaps.contains(&heap) && !driven.heaps.contains_key(&heaps[0]));
    assert!(driven.set.totals().reserved <= before, "what is held does not grow");
    driven.check();
}

#[test]
fn an_empty_heap_serves_any_alignment() {
    let (mut driven, [large, ..]) = with_empty_heaps();
    let (heap, range) = driven.allocate(ByteSize::from_mib(64), alignment(22));
    assert_eq!((heap, range.start().get()), (large, 0));
}

#[test]
fn of_heaps_with_room_the_one_in_use_for_longest_is_used() {
    let mut set = HeapSet::default();
    let (one, small) = (ByteSize::from_mib(1), ByteSize::from_kib(100));
    // The first has the most room, so that a best fit would use another one.
    let mut first = None;
    for mib in [4, 3, 2] {
        let heap = set.insert(ByteSize::from_mib(mib), mib).expect("a sound size");
        let placed = set.allocate_in(heap, one, Alignment::ONE).expect("in the set").expect("room");
        first.get_or_insert(placed.id);
    }
    for _ in 0..4 {
        let placed = set.allocate(small, Alignment::ONE).expect("a sound size").expect("room");
        let (id, heap) = (placed.id, *placed.heap);
        assert_eq!(heap, 4);
        set.free(id).expect("it is live");
    }
    // A heap that becomes empty and is used again begins anew.
    set.free(first.expect("there are three")).expect("it is live");
    let placed = set.allocate(small, Alignment::ONE).expect("a sound size").expect("room");
    assert_eq!(*placed.heap, 3);
    set.audit().expect("consistent");
}

#[test]
fn an_empty_heap_is_kept_for_a_number_of_operations() {
    let retention = HeapRetention { operations: 20, frames: 5 };
    let mut driven = Driven::new(HeapSizing::default(), retention);
    let (kept, _) = driven.allocate(ByteSize::from_mib(100), Alignment::ONE);
    let (_, _) = driven.allocate(ByteSize::from_mib(1), Alignment::ONE);
    let at = driven.live.keys().position(|&(heap, _)| heap == kept).expect("it is live");
    driven.free(at);
    for operation in 0..20 {
        assert_eq!(driven.heaps.contains_key(&kept), operation < 10, "after {operation} pairs");
        driven.allocate(ByteSize::from_kib(100), Alignment::ONE);
        let last = driven.live.len() - 1;
        driven.free(last);
    }
}

#[test]
fn with_frames_operations_alone_do_not_release_what_the_next_frame_needs() {
    let mut driven = Driven::new(HeapSizing::default(), HeapRetention { operations: 20, frames: 30 });
    driven.allocate(ByteSize::from_mib(1), Alignment::ONE);
    for _ in 0..100 {
        let (heap, _) = driven.allocate(ByteSize::from_mib(100), Alignment::ONE);
        let at = driven.live.keys().position(|&(of, _)| of == heap).expect("it is live");
        driven.free(at);
        for _ in 0..50 {
            driven.allocate(ByteSize::from_kib(100), Alignment::ONE);
            let last = driven.live.len() - 1;
            driven.free(last);
        }
        let released = driven.set.pass_frame();
        driven.gone(released);
    }
    assert_eq!(driven.created, 3, "the first frame does not know that there are frames");
}

#[test]
fn after_some_frames_everything_empty_is_released_bit_by_bit() {
    let mut driven = Driven::new(HeapSizing::default(), HeapRetention::default());
    for _ in 0..200 {
        driven.allocate(ByteSize::from_mib(100), Alignment::ONE);
    }
    while !driven.live.is_empty() {
        driven.free(0);
    }
    assert_eq!(driven.set.totals().heap_count, 200);
    let mut most = 0;
    for _ in 0..300 {
        let released = driven.set.pass_frame();
        most = most.max(released.len());
        driven.gone(released);
    }
    driven.check();
    assert_eq!(driven.set.totals().heap_count, 0);
    assert_eq!(most, 13, "a sixteenth of all at most");
}

#[test]
fn after_two_periods_everything_empty_is_released() {
    let (mut driven, _) = with_empty_heaps();
    let released = driven.set.pass_period();
    driven.gone(released);
    assert_eq!(driven.set.totals().heap_count, 3);
    let (heap, _) = driven.allocate(ByteSize::from_mib(60), Alignment::ONE);
    driven.free(0);
    let released = driven.set.pass_period();
    driven.gone(released);
    assert_eq!(driven.heaps.keys().copied().collect::<Vec<_>>(), [heap], "it was used in the last period");
    let released = driven.set.pass_period();
    driven.gone(released);
    driven.check();
    assert_eq!(driven.set.totals(), HeapSetTotals::default());
}

#[test]
fn heaps_of_more_bytes_than_can_be_counted_are_refused() {
    let mut heaps: HeapSet<u32> = HeapSet::default();
    let half = ByteSize::new(1 << 63);
    let first = heaps.insert(half, 1).expect("half of all bytes");
    heaps.allocate_in(first, half, Alignment::ONE).expect("an empty heap").expect("it fits");
    assert_eq!(heaps.insert(half, 2), Err(PlacementError::TooManyBytes));
    assert_eq!(heaps.totals().heap_count, 1);
    heaps.audit().expect("consistent");
}
