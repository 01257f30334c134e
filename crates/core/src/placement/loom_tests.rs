//! Tests a shared set with two threads over all orders of locking, in models small enough for loom.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p heapwright-core --release loom`

use loom::sync::Arc;
use loom::thread;

use super::{HeapRetention, HeapSetDesc, Placed, PlacementRequest, PlacementRule, SharedHeapSet, SlabSizing};
use crate::{Alignment, ByteSize};

pub(super) const SMALL: ByteSize = ByteSize::new(256);
pub(super) const LARGE: ByteSize = ByteSize::from_kib(128);

fn set(lanes: u32) -> Arc<SharedHeapSet<u32>> {
    let retention = HeapRetention::NONE;
    Arc::new(SharedHeapSet::new(&HeapSetDesc { retention, lanes, ..HeapSetDesc::default() }))
}

/// Allocates like the resource allocator: in an existing heap, otherwise in one created outside of all locks.
pub(super) fn allocate(set: &SharedHeapSet<u32>, lane: u32, size: ByteSize) -> Placed<u32> {
    let request = PlacementRequest::new(size, Alignment::ONE);
    set.allocate_on(lane, &request).unwrap().unwrap_or_else(|| {
        let heap_size = set.new_heap_size(&request).unwrap();
        set.allocate_in_new(heap_size, lane, &request).unwrap()
    })
}

/// Works in another thread.
pub(super) fn beside<T: 'static>(
    set: &Arc<SharedHeapSet<u32>>,
    work: impl FnOnce(&SharedHeapSet<u32>) -> T + 'static,
) -> thread::JoinHandle<T> {
    let set = Arc::clone(set);
    thread::spawn(move || work(&set))
}

/// Checks that the allocations of the two threads do not overlap, and that nothing remains after freeing
/// them.
fn check(set: &SharedHeapSet<u32>, held: &[Placed<u32>]) {
    set.audit().unwrap();
    assert_eq!(set.totals().allocation_count, u64::try_from(held.len()).unwrap());
    for placed in held {
        set.free(placed.id).unwrap();
    }
    set.take_empty(ByteSize::MAX);
    assert_eq!(set.totals(), Default::default());
    set.audit().unwrap();
}

#[test]
fn loom_two_threads_on_lanes_of_their_own() {
    loom::model(|| {
        let set = set(2);
        let other = beside(&set, move |set| allocate(set, 1, SMALL));
        let mine = allocate(&set, 0, SMALL);
        let theirs = other.join().unwrap();
        assert!(mine.heap != theirs.heap || !mine.range.overlaps(theirs.range));
        check(&set, &[mine, theirs]);
    });
}

#[test]
fn loom_two_threads_on_one_lane() {
    loom::model(|| {
        let set = set(1);
        let other = beside(&set, move |set| {
            let first = allocate(set, 0, SMALL);
            set.free(first.id).unwrap();
            assert!(set.free(first.id).is_err());
        });
        let mine = allocate(&set, 0, SMALL);
        other.join().unwrap();
        check(&set, &[mine]);
    });
}

#[test]
fn loom_one_thread_frees_what_the_other_allocates_beside() {
    loom::model(|| {
        let set = set(2);
        let first = allocate(&set, 0, SMALL);
        let other = beside(&set, move |set| set.free(first.id).unwrap());
        let mine = allocate(&set, 0, SMALL);
        other.join().unwrap();
        check(&set, &[mine]);
    });
}

#[test]
fn loom_a_slab_and_a_large_range_want_the_same_heap() {
    loom::model(|| {
        let set = set(2);
        let other = beside(&set, move |set| allocate(set, 1, LARGE));
        let mine = allocate(&set, 0, SMALL);
        let theirs = other.join().unwrap();
        check(&set, &[mine, theirs]);
    });
}

#[test]
fn loom_empty_heaps_are_taken_while_a_slab_is_wanted() {
    loom::model(|| {
        let set = set(1);
        let first = allocate(&set, 0, SMALL);
        set.free(first.id).unwrap();
        let other = beside(&set, move |set| {
            set.take_empty(ByteSize::MAX);
        });
        let mine = allocate(&set, 0, SMALL);
        other.join().unwrap();
        check(&set, &[mine]);
    });
}

#[test]
fn loom_some_empty_heaps_are_taken_while_a_slab_is_wanted() {
    loom::model(|| {
        let set = set(1);
        let first = allocate(&set, 0, SMALL);
        set.insert(ByteSize::from_mib(1), 7).unwrap();
        set.free(first.id).unwrap();
        let other = beside(&set, move |set| set.take_empty(ByteSize::from_mib(1)));
        // Lane numbers wrap, so this is the same lane; a heap created for it has another name.
        let mine = allocate(&set, 2, SMALL);
        let taken = other.join().unwrap();
        assert!(taken.iter().all(|(_, heap)| *heap != mine.heap));
        check(&set, &[mine]);
    });
}

#[test]
fn loom_two_threads_make_heaps_of_blocks() {
    loom::model(|| {
        let rule = PlacementRule::SlabBySize(SlabSizing::default());
        let desc = HeapSetDesc::new(rule, HeapRetention::NONE);
        let heaps: Arc<SharedHeapSet<u32>> = Arc::new(SharedHeapSet::new(&desc));
        let other = beside(&heaps, move |heaps| {
            let first = allocate(heaps, 1, SMALL);
            let gone = heaps.free(first.id).unwrap();
            assert!(gone.len() <= 1 && heaps.free(first.id).is_err());
            gone
        });
        let mine = allocate(&heaps, 0, SMALL);
        let gone = other.join().unwrap();
        assert!(!gone.contains(&mine.heap), "the heap is in use");
        heaps.audit().unwrap();
        assert_eq!(heaps.totals().allocation_count, 1);
        assert_eq!(heaps.free(mine.id).unwrap(), [mine.heap]);
        assert_eq!(heaps.totals(), Default::default());
    });
}
