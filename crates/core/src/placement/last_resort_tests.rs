//! Tests the invariant of a set that can have no new heap: a request fails only if no free range of its heaps
//! holds it.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::tests::driven_set::{DrivenSet, Heap};
use super::tests::unaligned;
use super::{HeapSetDesc, PlacementRequest, SharedHeapSet, Sharing, SurveyedRange};
use crate::{Alignment, ByteSize, HeapRange};

const ALONE: Sharing = Sharing::Alone { reusable: true };

#[derive(Debug, Clone)]
enum Step {
    Allocate {
        size: u64,
        alignment_log2: u32,
        own_heap: bool,
    },
    Free(prop::sample::Index),
    /// Frees three of four allocations.
    FreeMost,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let size = prop_oneof![1_u64..300, 300_u64..20_000, 20_000_u64..400_000, Just(65_536), Just(16_384)];
    let allocate =
        (size, 0_u32..17, prop::bool::weighted(0.05)).prop_map(|(size, alignment_log2, own_heap)| {
            let alignment_log2 = if alignment_log2 > 9 { 0 } else { alignment_log2 };
            Step::Allocate { size, alignment_log2, own_heap }
        });
    let step = prop_oneof![
        60 => allocate,
        19 => any::<prop::sample::Index>().prop_map(Step::Free),
        1 => Just(Step::FreeMost),
    ];
    prop::collection::vec(step, 1..400)
}

fn fits(range: HeapRange, size: u64, alignment: Alignment) -> bool {
    let start = range.start().get().next_multiple_of(alignment.get());
    start + size <= range.end().get()
}

/// Returns whether any heap that the request may use has a free range for it.
fn is_room(driven: &DrivenSet, alone: &BTreeSet<u32>, request: &PlacementRequest) -> bool {
    driven.set.survey().iter().any(|heap| {
        let is_empty = !heap.ranges.iter().any(|range| matches!(range, SurveyedRange::Used { .. }));
        if request.sharing != Sharing::Shared {
            return is_empty && heap.size >= request.size;
        }
        (is_empty || !alone.contains(&heap.heap.0))
            && heap.ranges.iter().any(|range| match range {
                SurveyedRange::Free(free) => fits(*free, request.size.get(), request.alignment),
                SurveyedRange::Used { .. } | SurveyedRange::InSlab(_) | SurveyedRange::Padding(_) => false,
            })
    })
}

/// Returns the free slots of all slabs to the heaps.
fn give_up_free_slots(set: &SharedHeapSet<Heap>) {
    for number in 0..set.lane_limit() {
        let mut lane = set.lock_lane_of(number).expect("a lane that was used");
        for slab in lane.with_free_slots() {
            let _cut = lane.cut_free_slots(slab, &mut set.lock_heaps());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 2 } else { 128 }, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_request_fails_only_if_no_free_range_of_the_heaps_holds_it(
        heaps in prop::collection::vec(1_u64..24, 1..5),
        steps in steps(),
    ) {
        let mut driven = DrivenSet::new(HeapSetDesc { lanes: 2, ..HeapSetDesc::default() });
        let insert = |driven: &mut DrivenSet, size| {
            let heap = driven.make(size);
            driven.set.insert(size, heap).unwrap();
        };
        heaps.into_iter().for_each(|size| insert(&mut driven, ByteSize::from_kib(64 * size)));
        // The heaps in which a request is alone, or was the last.
        let mut alone = BTreeSet::new();
        let free = |driven: &mut DrivenSet, at| {
            (0..driven.free(at)).for_each(|_| insert(driven, ByteSize::from_kib(64)));
        };
        for (number, step) in steps.into_iter().enumerate() {
            match step {
                Step::Allocate { size, alignment_log2, own_heap } => {
                    let alignment = Alignment::from_log2(alignment_log2).unwrap();
                    let sharing = if own_heap { ALONE } else { Sharing::Shared };
                    let request = PlacementRequest { sharing, ..PlacementRequest::new(ByteSize::new(size), alignment) };
                    let before = driven.state();
                    let has_room = driven.set.has_room(&request).unwrap();
                    prop_assert!(driven.state() == before, "a question changes nothing");
                    let placed = driven.set.allocate_anywhere(&request).unwrap();
                    prop_assert!(placed.is_some() || !has_room, "{:?}", request);
                    if let Some(placed) = placed {
                        driven.hold(placed, &request);
                        if own_heap { alone.insert(placed.heap.0) } else { alone.remove(&placed.heap.0) };
                    } else {
                        prop_assert!(!is_room(&driven, &alone, &request), "{:?}", request);
                        // Nor is there room if all slabs return all of their free slots.
                        give_up_free_slots(&driven.set);
                        prop_assert!(!is_room(&driven, &alone, &request), "{:?}", request);
                    }
                }
                Step::Free(_) if driven.live.is_empty() => {}
                Step::Free(index) => {
                    let at = index.index(driven.live.len());
                    free(&mut driven, at);
                }
                Step::FreeMost => (0..driven.live.len() * 3 / 4).for_each(|at| free(&mut driven, at / 3)),
            }
            // The check takes most of the time.
            if number % 8 == 0 {
                driven.check();
            }
        }
        (0..driven.live.len()).for_each(|_| free(&mut driven, 0));
        driven.take_empty(ByteSize::MAX);
        driven.check();
        prop_assert_eq!(driven.set.totals(), Default::default());
    }
}

#[test]
fn an_own_heap_comes_from_the_set_and_goes_back_to_it() {
    let set: SharedHeapSet<u32> = SharedHeapSet::new(&HeapSetDesc::default());
    let request = |kib| {
        let plain = unaligned(ByteSize::from_kib(kib));
        PlacementRequest { sharing: ALONE, ..plain }
    };
    let size = set.new_heap_size(&request(100)).unwrap();
    assert_eq!(size, ByteSize::from_kib(128), "the size rounded up to 64 KiB");
    let first = set.allocate_in_new(size, 1, &request(100)).unwrap();
    let shared = unaligned(ByteSize::from_kib(1));
    assert_eq!(set.allocate_anywhere(&shared).unwrap(), None, "an own heap must not be shared");
    assert_eq!(set.free(first.id).unwrap(), []);
    // Repeated allocations and frees use the same heap.
    for _ in 0..10 {
        let again = set.allocate(&request(90)).unwrap().expect("the heap is kept");
        set.free(again.id).unwrap();
    }
    let placed = set.allocate_anywhere(&shared).unwrap();
    assert!(placed.is_some(), "an empty heap serves all requests");
    set.audit().unwrap();
}
