//! Tests a run against a thread that allocates or frees, over all orders of locking, in models small enough
//! for loom.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p heapwright-core --release loom`

use loom::sync::Arc;
use loom::thread;

use crate::placement::loom_tests::{LARGE, SMALL, allocate, beside};
use crate::placement::{
    Evacuation, EvacuationBudget, EvacuationState, HeapRetention, HeapSetDesc, Placed, PlacementRequest,
    SharedHeapSet,
};
use crate::{Alignment, ByteSize};

fn set() -> Arc<SharedHeapSet<u32>> {
    let retention = HeapRetention::default();
    Arc::new(SharedHeapSet::new(&HeapSetDesc { retention, lanes: 1, ..HeapSetDesc::default() }))
}

/// Runs to the end, and returns the new place of `first`.
fn evacuate(set: &Arc<SharedHeapSet<u32>>, first: Placed<u32>) -> Placed<u32> {
    let mut run = Evacuation::new(Arc::clone(set));
    let mut place = first;
    for _ in 0..20 {
        let step = run.step(EvacuationBudget::default(), &mut || true);
        if let Some(size) = step.create {
            run.supply(size, Some(1)).unwrap();
        }
        for planned in &step.moves {
            assert_eq!(planned.source, place.id);
            if run.complete(planned).is_moved {
                place = planned.target;
            }
        }
        if step.state == EvacuationState::Finished {
            return place;
        }
        // The other thread may have taken the last slab out of its lane without having returned it to its
        // heap yet.
        thread::yield_now();
    }
    panic!("the run does not terminate");
}

/// A thread frees the moving allocation before, between or after: it frees one of the two places, and none is
/// left.
fn freed_while_it_moves(size: ByteSize) {
    loom::model(move || {
        let set = set();
        let heap_size = ByteSize::from_mib(1);
        let first = set.allocate_in_new(heap_size, 0, &PlacementRequest::new(size, Alignment::ONE)).unwrap();
        let other = beside(&set, move |set| set.free(first.id).is_ok());
        let place = evacuate(&set, first);
        let is_freed = other.join().unwrap();
        set.audit().unwrap();
        // If the move succeeded, free the new place; otherwise the other thread freed it.
        assert_eq!(set.free(place.id).is_ok(), !is_freed);
        assert_eq!(set.totals().allocation_count, 0);
        set.take_empty(ByteSize::MAX);
        assert_eq!(set.totals(), Default::default());
        set.audit().unwrap();
    });
}

#[test]
fn loom_a_slot_is_freed_while_it_moves() {
    freed_while_it_moves(SMALL);
}

#[test]
fn loom_a_range_is_freed_while_it_moves() {
    freed_while_it_moves(LARGE);
}

#[test]
fn loom_a_slot_is_allocated_while_its_slab_is_closed() {
    loom::model(|| {
        let set = set();
        let first = allocate(&set, 1, SMALL);
        let other = beside(&set, move |set| allocate(set, 2, SMALL));
        let mut run = Evacuation::new(Arc::clone(&set));
        let asked = run.step(EvacuationBudget::default(), &mut || true);
        drop(asked);
        drop(run);
        let second = other.join().unwrap();
        assert!(first.heap != second.heap || !first.range.overlaps(second.range));
        set.audit().unwrap();
        assert!(set.survey().iter().all(|heap| !heap.is_closed), "the run ended");
        for placed in [first, second] {
            set.free(placed.id).unwrap();
        }
        set.take_empty(ByteSize::MAX);
        assert_eq!(set.totals(), Default::default());
    });
}
