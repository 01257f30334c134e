//! Slabs of shared heap sets: which memory is used before a heap is created.

use super::{
    HeapSetDesc, HeapSizing, Placed, PlacementError, PlacementRequest, PlacementRule, SharedHeapSet,
    lane_of_thread,
};
use crate::placement::tests::take_all_empty;
use crate::{Alignment, ByteSize};

/// Allocates in an existing heap, or in a new one.
fn allocate(set: &SharedHeapSet<ByteSize>, size: ByteSize) -> Placed<ByteSize> {
    if let Some(placed) = set.allocate(&PlacementRequest::new(size, Alignment::ONE)).unwrap() {
        return placed;
    }
    let heap_size = set.new_heap_size(&PlacementRequest::new(size, Alignment::ONE)).unwrap();
    set.allocate_in_new(heap_size, heap_size, &PlacementRequest::new(size, Alignment::ONE)).unwrap()
}

/// Describes a set with slots for requests up to `kib` KiB.
fn desc_of_heaps_of_64_kib(kib: u64, lanes: u32) -> HeapSetDesc {
    let size = ByteSize::from_kib(64);
    let rule = PlacementRule::Default(HeapSizing { minimum: size, maximum: size, ..HeapSizing::default() });
    HeapSetDesc { rule, slots_up_to: ByteSize::from_kib(kib), lanes, ..HeapSetDesc::default() }
}

#[test]
fn whether_the_heaps_are_nearly_full_is_known_without_a_lock() {
    let set: SharedHeapSet<u32> = SharedHeapSet::default();
    let request = |bytes| PlacementRequest::new(ByteSize::new(bytes), Alignment::ONE);
    let is_nearly_full = || {
        let _lane = set.lock_lane_of(lane_of_thread() % HeapSetDesc::LANES);
        let _heaps = set.lock_heaps();
        set.is_nearly_full(ByteSize::new(1000))
    };
    let small = set.allocate_in_new(ByteSize::from_mib(4), 1, &request(1000)).unwrap();
    assert!(!is_nearly_full());
    let large = set.allocate(&request(3 << 20)).unwrap().unwrap();
    assert!(is_nearly_full(), "less than half of 4 MiB is free");
    assert!(set.is_nearly_full(ByteSize::from_mib(64)));
    set.free(large.id).unwrap();
    assert!(!is_nearly_full());
    set.free(small.id).unwrap();
}

/// Free slots of one thread's slabs serve another thread before a heap is created.
#[test]
fn a_slot_of_another_lane_comes_before_a_new_heap() {
    let set: SharedHeapSet<ByteSize> = SharedHeapSet::new(&desc_of_heaps_of_64_kib(64, 16));
    let size = ByteSize::from_kib(16);
    let first = allocate(&set, size);
    // Its slab of four slots is the whole heap.
    let second = std::thread::scope(|threads| {
        threads.spawn(|| set.allocate(&PlacementRequest::new(size, Alignment::ONE)).unwrap()).join().unwrap()
    });
    assert_eq!(second.map(|placed| placed.heap), Some(first.heap));
}

/// An empty slab is kept for its class, and released before a heap is created for another size.
#[test]
fn memory_of_empty_slabs_is_used_before_a_new_heap() {
    for wanted in [ByteSize::from_kib(7), ByteSize::from_kib(8)] {
        // The larger requests get a slot as well, or a range.
        for (up_to, lanes) in [(64, 1), (1, 4)] {
            let set: SharedHeapSet<u32> = SharedHeapSet::new(&desc_of_heaps_of_64_kib(up_to, lanes));
            let small = ByteSize::from_kib(1);
            let first = set
                .allocate_in_new(ByteSize::from_kib(64), 1, &PlacementRequest::new(small, Alignment::ONE))
                .unwrap();
            let mut ids = vec![first.id];
            while let Some(placed) = set.allocate(&PlacementRequest::new(small, Alignment::ONE)).unwrap() {
                ids.push(placed.id);
            }
            assert_eq!(ids.len(), 64);
            // The first slab of eight is empty, and kept because it is no more than a quarter of the others.
            for &id in &ids[..8] {
                set.free(id).unwrap();
            }
            assert!(
                set.allocate(&PlacementRequest::new(wanted, Alignment::ONE)).unwrap().is_some(),
                "{wanted}"
            );
            set.audit().unwrap();
        }
    }
}

#[test]
fn a_request_that_does_not_fit_its_new_heap_is_an_error() {
    let set: SharedHeapSet<u32> = SharedHeapSet::default();
    for size in [ByteSize::from_kib(8), ByteSize::from_mib(1)] {
        let refused =
            set.allocate_in_new(ByteSize::new(100), 1, &PlacementRequest::new(size, Alignment::ONE));
        assert_eq!(refused.err(), Some(PlacementError::TooLarge { requested: size }));
    }
    assert_eq!(take_all_empty(&set), [1, 1]);
}

#[test]
fn an_id_of_another_set_is_refused() {
    let many: SharedHeapSet<ByteSize> = SharedHeapSet::default();
    let desc = HeapSetDesc { slots_up_to: ByteSize::from_kib(64), lanes: 1, ..HeapSetDesc::default() };
    let one: SharedHeapSet<ByteSize> = SharedHeapSet::new(&desc);
    let small = allocate(&many, ByteSize::new(10));
    let large = allocate(&many, ByteSize::from_mib(1));
    assert!(one.free(small.id).is_err());
    assert!(one.free(large.id).is_err());
}

#[test]
fn heaps_in_which_nothing_but_an_empty_slab_lies_are_empty() {
    let set: SharedHeapSet<u32> = SharedHeapSet::default();
    let (slot, other, size) = (ByteSize::new(200), ByteSize::new(3000), ByteSize::from_kib(64));
    // The lane keeps its surplus slab while something else is live in that lane.
    let kept = set.allocate_in_new(size, 1, &PlacementRequest::new(other, Alignment::ONE)).unwrap();
    let gone = set.allocate_in_new(size, 2, &PlacementRequest::new(slot, Alignment::ONE)).unwrap();
    assert_eq!(set.free(gone.id), Ok(Vec::new()));
    assert_eq!(take_all_empty(&set), [2]);
    let mut left = set.free(kept.id).unwrap();
    left.append(&mut take_all_empty(&set));
    assert_eq!((left, set.totals()), (vec![1], Default::default()));
}

#[test]
fn heaps_without_what_is_unused_are_listed() {
    let set: SharedHeapSet<u32> = SharedHeapSet::default();
    let (slot, range, size) = (ByteSize::new(3000), ByteSize::from_kib(20), ByteSize::from_kib(64));
    let request = |size| PlacementRequest::new(size, Alignment::ONE);
    let used = set.allocate_in_new(size, 1, &request(range)).unwrap();
    let unused = set.allocate(&request(range)).unwrap().unwrap();
    let alone = set.allocate_in_new(size, 2, &request(range)).unwrap();
    let listed = |unused: &[Placed<u32>]| {
        let ids: Vec<_> = unused.iter().map(|placed| placed.id).collect();
        let mut heaps = set.vacated(&ids, |&heap| heap);
        heaps.sort_unstable();
        heaps
    };
    assert_eq!(listed(&[]), []);
    assert_eq!(listed(&[unused, alone]), [2], "something else is in the other heap");
    // A slab of eight slots in a heap of its own, which the lane keeps, and another one.
    let kept = set.allocate_in_new(size, 3, &request(slot)).unwrap();
    let slots: Vec<_> = (0..8).map_while(|_| set.allocate(&request(slot)).unwrap()).collect();
    for placed in slots {
        set.free(placed.id).unwrap();
    }
    set.free(kept.id).unwrap();
    let before = set.totals();
    let mut emptied = listed(&[]);
    assert_eq!(set.totals(), before, "nothing changes");
    // What is listed as empty or is empty already can be taken, and nothing else.
    emptied.extend(set.map_empty(|&heap| heap));
    emptied.sort_unstable();
    assert_eq!(take_all_empty(&set), emptied);
    for placed in [used, unused, alone] {
        set.free(placed.id).unwrap();
    }
    set.audit().unwrap();
}
