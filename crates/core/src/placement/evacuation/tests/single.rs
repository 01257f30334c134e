//! Tests of individual rules.

use crate::ByteSize;
use crate::placement::tests::{take_all_empty, unaligned};
use crate::placement::{
    Evacuation, EvacuationBudget, EvacuationState, HeapSetDesc, HeapSizing, Placed, PlacementId,
    PlacementRule, SharedHeapSet, SurveyedRange,
};

const MIB: ByteSize = ByteSize::from_mib(1);

/// Creates a set with one heap of a mebibyte per count, holding that many ranges of 100 KiB.
fn set_of(counts: &[usize]) -> (SharedHeapSet<usize>, Vec<Vec<Placed<usize>>>) {
    let set = SharedHeapSet::default();
    let size = ByteSize::from_kib(100);
    let mut all = Vec::new();
    for (heap, &count) in counts.iter().enumerate() {
        // Each heap is filled first, so that no range is placed in another heap.
        let mut placed = vec![set.allocate_in_new(MIB, heap, &unaligned(size)).unwrap()];
        while let Some(one) = set.allocate(&unaligned(size)).unwrap() {
            placed.push(one);
        }
        all.push((count, placed));
    }
    let keep = |(count, mut placed): (usize, Vec<Placed<usize>>)| {
        for one in placed.drain(count..) {
            assert!(set.free(one.id).unwrap().is_empty());
        }
        placed
    };
    let kept = all.into_iter().map(keep).collect();
    (set, kept)
}

fn heap_of(set: &SharedHeapSet<usize>, id: PlacementId) -> usize {
    let is_in = |range: &SurveyedRange| matches!(range, SurveyedRange::Used { id: used, .. } if *used == id);
    let heap = set.survey().into_iter().find(|heap| heap.ranges.iter().any(is_in));
    heap.expect("the id is live").heap
}

fn step(
    run: &mut Evacuation<&SharedHeapSet<usize>, usize>,
    moves: u32,
) -> crate::placement::EvacuationStep<usize> {
    run.step(EvacuationBudget { moves, ..EvacuationBudget::default() }, &mut || true)
}

#[test]
fn the_thinnest_heap_goes_first_and_a_full_one_stays() {
    let (set, _) = set_of(&[9, 3, 2, 10]);
    let mut run = Evacuation::new(&set);
    let budget =
        EvacuationBudget { bytes: ByteSize::from_kib(99), or_one_larger: false, ..Default::default() };
    assert!(run.step(budget, &mut || true).moves.is_empty());
    let planned = step(&mut run, 2);
    assert_eq!(planned.moves.iter().map(|one| heap_of(&set, one.source)).collect::<Vec<_>>(), [2, 2]);
    assert!(planned.moves.iter().all(|one| one.target.heap < 2), "{planned:?}");
    for one in &planned.moves {
        assert!(run.complete(one).is_moved);
    }
    let next = step(&mut run, 1);
    assert_ne!(next.state, EvacuationState::Finished);
    assert_eq!((run.progress().moves, run.progress().heaps_freed), (2, 1));
    assert!(!set.survey().iter().any(|heap| heap.heap == 2));
}

#[test]
fn a_heap_that_is_abandoned_in_a_later_round_is_not_chosen_again() {
    let (set, mut kept) = set_of(&[8, 8, 2, 2]);
    let mut run = Evacuation::new(&set);
    let first = step(&mut run, 2).moves;
    let second = step(&mut run, 2).moves;
    assert_eq!((first.len(), second.len()), (2, 2));
    // Free most of the heap into which the second heap moved, so that there is another round while the first
    // is still closed.
    let thinned = second[0].target.heap;
    assert_ne!(thinned, first[0].target.heap);
    for one in kept[thinned].drain(1..) {
        assert!(set.free(one.id).unwrap().is_empty());
    }
    assert_eq!(step(&mut run, 64).state, EvacuationState::AwaitingMoves);
    second.iter().for_each(|one| assert!(run.complete(one).is_moved));
    assert!(run.abandon(&first[0]).is_empty());
    let mut has_closed = false;
    for _ in 0..10 {
        let next = step(&mut run, 64);
        has_closed |= next.create.is_some();
        for one in &next.moves {
            assert_ne!(heap_of(&set, one.source), heap_of(&set, first[0].source), "{one:?}");
            assert!(run.complete(one).is_moved);
        }
        if let Some(size) = next.create {
            run.supply(size, None).unwrap();
        }
    }
    assert!(has_closed, "no second round");
    assert!(run.complete(&first[1]).is_moved);
    assert_eq!(step(&mut run, 64).state, EvacuationState::Finished);
    set.audit().unwrap();
}

#[test]
fn a_heap_that_is_empty_when_a_move_out_of_it_is_abandoned_is_released() {
    let set: SharedHeapSet<usize> = SharedHeapSet::default();
    let size = ByteSize::from_kib(4);
    let thin = set.allocate_in_new(MIB, 0, &unaligned(size)).unwrap();
    set.allocate_in_new(MIB, 1, &unaligned(ByteSize::from_kib(15))).unwrap();
    let mut run = Evacuation::new(&set);
    let planned = step(&mut run, 1).moves;
    assert_eq!(planned[0].source, thin.id);
    assert!(set.free(thin.id).unwrap().is_empty(), "the slab remains");
    // A request that finds no room takes the memory of empty slabs, including those of closed heaps.
    while set.allocate(&unaligned(size)).unwrap().is_some() {}
    assert_eq!(run.abandon(&planned[0]), [0]);
    assert_eq!(step(&mut run, 64).state, EvacuationState::Finished);
    assert_eq!(run.progress().heaps_freed, 1);
}

#[test]
fn sparse_heaps_are_merged_into_one_of_exact_size() {
    // Each heap is a third full, which is too much for the free ranges of the others.
    let sizing = HeapSizing { minimum: MIB, maximum: ByteSize::from_mib(4), ..HeapSizing::default() };
    let rule = PlacementRule::Default(sizing);
    let set: SharedHeapSet<u32> = SharedHeapSet::new(&HeapSetDesc { rule, ..HeapSetDesc::default() });
    let size = ByteSize::from_kib(640);
    for heap in 0..3 {
        set.allocate_in_new(MIB, heap, &unaligned(size)).unwrap();
    }
    let mut run = Evacuation::new(&set);
    let asked = run.step(EvacuationBudget::default(), &mut || true);
    assert_eq!(asked.create, Some(ByteSize::from_kib(3 * 640)));
    assert!(asked.moves.is_empty());
    assert_eq!(run.step(EvacuationBudget::default(), &mut || true).create, None, "requested only once");
    run.supply(ByteSize::from_kib(3 * 640), Some(3)).unwrap();
    let planned = run.step(EvacuationBudget::default(), &mut || true);
    assert_eq!(planned.moves.len(), 3);
    for one in &planned.moves {
        assert_eq!(one.target.heap, 3);
        assert!(run.complete(one).is_moved);
    }
    assert_eq!(run.step(EvacuationBudget::default(), &mut || true).state, EvacuationState::Finished);
    assert_eq!((set.totals().heap_count, set.totals().reserved), (1, ByteSize::from_kib(3 * 640)));
    assert_eq!(run.progress().bytes_created, ByteSize::from_kib(3 * 640));
}

#[test]
fn as_many_sparse_heaps_are_merged_as_fill_half_of_the_largest_and_may_go() {
    let sizing = HeapSizing { minimum: MIB, maximum: ByteSize::from_mib(4), ..HeapSizing::default() };
    let rule = PlacementRule::Default(sizing);
    for (heaps, least, merged) in [(3, 0, 3), (5, 0, 4), (3, 2, 1)] {
        let set: SharedHeapSet<u32> = SharedHeapSet::new(&HeapSetDesc { rule, ..HeapSetDesc::default() });
        for heap in 0..heaps {
            set.allocate_in_new(MIB, heap, &unaligned(ByteSize::from_kib(640))).unwrap();
        }
        let mut run = Evacuation::new(&set).keep_heaps(least);
        let asked = run.step(EvacuationBudget::default(), &mut || true);
        assert_eq!(asked.create, Some(ByteSize::from_kib(merged * 640)));
    }
}

#[test]
fn a_run_leaves_the_heaps_that_are_to_be_kept() {
    let (set, _) = set_of(&[1, 1, 1, 1]);
    set.insert(MIB, 4).unwrap();
    set.insert(MIB, 5).unwrap();
    for (least, released) in [(5, 1), (3, 1)] {
        let mut run = Evacuation::new(&set).keep_heaps(least);
        let first = step(&mut run, 64);
        assert_eq!(first.release.len(), released);
        for one in &first.moves {
            assert!(run.complete(one).is_moved);
        }
        let _last = step(&mut run, 64);
        assert_eq!(set.totals().heap_count, least);
    }
}

#[test]
fn a_heap_that_one_run_gave_up_is_left_to_another() {
    for goes_on in [true, false] {
        let (set, _) = set_of(&[4, 3]);
        let mut one = Evacuation::new(&set);
        let planned = step(&mut one, 2).moves;
        assert!(one.abandon(&planned[0]).is_empty());
        let mut other = Evacuation::new(&set);
        assert_eq!(step(&mut other, 1).moves.len(), 1);
        if goes_on {
            assert!(step(&mut one, 64).moves.is_empty());
        }
        let is_closed = || set.survey().iter().any(|heap| heap.is_closed);
        assert!(one.abandon(&planned[1]).is_empty() && is_closed());
        drop(one);
        assert!(is_closed());
    }
}

/// Less than an eighth of what would have to move.
#[test]
fn a_heap_is_not_replaced_for_little() {
    let set: SharedHeapSet<u32> = SharedHeapSet::default();
    set.allocate_in_new(ByteSize::from_kib(1216), 1, &unaligned(ByteSize::from_kib(1064))).unwrap();
    let refused = Evacuation::new(&set).step(EvacuationBudget::default(), &mut || true);
    assert_eq!((refused.create, refused.state), (None, EvacuationState::Finished));
}

#[test]
fn a_refused_heap_leaves_everything_as_it_was() {
    let set: SharedHeapSet<u32> = SharedHeapSet::default();
    set.allocate_in_new(MIB, 1, &unaligned(ByteSize::from_kib(100))).unwrap();
    let mut run = Evacuation::new(&set);
    let asked = run.step(EvacuationBudget::default(), &mut || true).create.expect("a smaller heap suffices");
    run.supply(asked, None).unwrap();
    assert_eq!(run.step(EvacuationBudget::default(), &mut || true).state, EvacuationState::Finished);
    set.audit().unwrap();
    assert_eq!(set.allocate(&unaligned(ByteSize::from_kib(100))).unwrap().map(|placed| placed.heap), Some(1));
    // Supplying a heap that was not requested is not an error, but an invalid heap is.
    run.supply(MIB, Some(2)).unwrap();
    assert!(set.survey().iter().all(|heap| !heap.is_closed));
    assert!(run.supply(ByteSize::ZERO, Some(3)).is_err());
    assert_eq!(take_all_empty(&set), [2]);
}

#[test]
fn slabs_of_a_heap_that_is_reopened_serve_again() {
    for is_cancelled in [true, false] {
        let (set, _) = set_of(&[5]);
        let slot = unaligned(ByteSize::from_kib(1));
        let [_, second] = [(); 2].map(|()| set.allocate(&slot).unwrap().unwrap());
        set.allocate_in_new(MIB, 1, &unaligned(ByteSize::from_kib(1000))).unwrap();
        let mut run = Evacuation::new(&set);
        let _asked = step(&mut run, 64);
        assert_eq!(set.free(second.id).unwrap(), []);
        if is_cancelled {
            run.cancel()
        } else {
            assert!(set.reopen_closed())
        }
        assert_eq!(set.allocate(&slot).unwrap().unwrap().range, second.range);
    }
}
