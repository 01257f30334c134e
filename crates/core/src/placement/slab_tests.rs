//! Slabs of shared heap sets: which memory is used before a heap is created.

use std::sync::Arc;

use super::{
    HeapRetention, HeapSetDesc, HeapSizing, HeapTally, Keeping, Placed, PlacementError, PlacementRequest,
    PlacementRule, SharedHeapSet, lane_of_thread,
};
use crate::ByteSize;
use crate::placement::tests::{take_all_empty, unaligned};

fn request(bytes: u64) -> PlacementRequest {
    unaligned(ByteSize::new(bytes))
}

/// Allocates in an existing heap, or in a new one.
fn allocate(set: &SharedHeapSet<ByteSize>, size: ByteSize) -> Placed<ByteSize> {
    let request = unaligned(size);
    set.allocate(&request).unwrap().unwrap_or_else(|| {
        let heap_size = set.new_heap_size(&request).unwrap();
        set.allocate_in_new(heap_size, heap_size, &request).unwrap()
    })
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
    let is_nearly_full = || {
        let _lane = set.lock_lane_of(lane_of_thread() % HeapSetDesc::LANES);
        let _heaps = set.lock_heaps();
        set.is_nearly_full(ByteSize::new(1000))
    };
    let small = set.allocate_in_new(ByteSize::from_mib(4), 1, &request(1000)).unwrap();
    assert!(!is_nearly_full());
    assert!(set.is_nearly_full(ByteSize::from_mib(64)));
    let large = set.allocate(&request(3 << 20)).unwrap().unwrap();
    assert!(is_nearly_full(), "less than half of 4 MiB is free");
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
        threads.spawn(|| set.allocate(&unaligned(size)).unwrap()).join().unwrap()
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
            let first = set.allocate_in_new(ByteSize::from_kib(64), 1, &unaligned(small)).unwrap();
            let mut ids = vec![first.id];
            while let Some(placed) = set.allocate(&unaligned(small)).unwrap() {
                ids.push(placed.id);
            }
            assert_eq!(ids.len(), 64);
            // The first slab of eight is empty, and kept because it is no more than a quarter of the others.
            for &id in &ids[..8] {
                set.free(id).unwrap();
            }
            assert!(set.allocate(&unaligned(wanted)).unwrap().is_some(), "{wanted}");
            set.audit().unwrap();
        }
    }
}

#[test]
fn a_request_that_does_not_fit_its_new_heap_is_an_error() {
    let set: SharedHeapSet<u32> = SharedHeapSet::default();
    for size in [ByteSize::from_kib(8), ByteSize::from_mib(1)] {
        let refused = set.allocate_in_new(ByteSize::new(100), 1, &unaligned(size));
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
    let kept = set.allocate_in_new(size, 1, &unaligned(other)).unwrap();
    let gone = set.allocate_in_new(size, 2, &unaligned(slot)).unwrap();
    assert_eq!(set.free(gone.id), Ok(Vec::new()));
    assert_eq!(take_all_empty(&set), [2]);
    let mut left = set.free(kept.id).unwrap();
    left.append(&mut take_all_empty(&set));
    assert_eq!((left, set.totals()), (vec![1], Default::default()));
}

/// A set whose lane keeps an empty slab, which is the only one in a heap of 4 MiB.
fn with_an_unused_slab(retention: HeapRetention) -> (SharedHeapSet<u32>, Vec<u32>) {
    let set = SharedHeapSet::new(&HeapSetDesc { retention, ..HeapSetDesc::default() });
    set.allocate_in_new(ByteSize::from_kib(64), 1, &request(3000)).unwrap();
    let gone = set.allocate_in_new(ByteSize::from_mib(4), 2, &request(200)).unwrap();
    let released = set.free(gone.id).unwrap();
    (set, released)
}

#[test]
fn unused_slabs_are_kept_as_long_as_empty_heaps() {
    type Pass = fn(&SharedHeapSet<u32>) -> Vec<u32>;
    let retention =
        HeapRetention { keeping: Keeping::Operations(0), frames: 1, periods: 1, ..Default::default() };
    let frames = |set: &SharedHeapSet<u32>| [set.pass_frame(), set.pass_frame()].concat();
    let passes: [Pass; 3] =
        [|set| set.pass_operations(), frames, |set| [set.pass_period(), set.pass_period()].concat()];
    for pass in passes {
        let (set, released) = with_an_unused_slab(retention);
        assert_eq!((released, pass(&set)), (vec![], vec![2]));
    }
    assert_eq!(with_an_unused_slab(HeapRetention::NONE).1, [2]);
}

/// Each thread has a lane of its own.
#[test]
fn unused_slabs_of_other_lanes_are_the_last_resort() {
    let (set, _) = with_an_unused_slab(HeapRetention::default());
    let request = unaligned(ByteSize::from_mib(4));
    let placed = std::thread::scope(|threads| {
        let allocate = || (set.allocate(&request).unwrap(), set.allocate_anywhere(&request).unwrap());
        threads.spawn(allocate).join().unwrap()
    });
    assert!(matches!(placed, (None, Some(Placed { heap: 2, .. }))), "{placed:?}");
}

#[test]
fn the_last_slot_of_a_lane_takes_all_its_slabs_along() {
    let set = SharedHeapSet::<u32>::default();
    let put = |size| set.allocate(&request(size)).unwrap().unwrap().id;
    set.insert(ByteSize::from_mib(4), 1).unwrap();
    let many: Vec<_> = (0..64).map(|_| put(1000)).collect();
    let few = [100, 200, 300].map(put);
    few.into_iter().chain(many).for_each(|id| assert_eq!(set.free(id), Ok(vec![])));
    assert_eq!(set.totals().empty_heap_count, 1);
}

#[test]
fn slots_count_as_operations_after_which_an_empty_heap_leaves() {
    let retention = HeapRetention { keeping: Keeping::Operations(40), ..Default::default() };
    let tally = Arc::<HeapTally>::default();
    let desc = HeapSetDesc { retention, ..HeapSetDesc::default() };
    let set: SharedHeapSet<u32> = SharedHeapSet::with_shared(&desc, Arc::clone(&tally), Arc::default());
    set.allocate_in_new(ByteSize::from_mib(4), 1, &request(1000)).unwrap();
    let pair = || set.free(set.allocate(&request(1000)).unwrap().unwrap().id).unwrap();
    (0..64).for_each(|_| assert_eq!(pair(), []));
    assert_eq!(tally.operations(), 17, "eight slots are one operation");
    let large = set.allocate_in_new(ByteSize::from_mib(16), 2, &request(16 << 20)).unwrap();
    assert_eq!(set.free(large.id).unwrap(), []);
    let pairs = (1..1000).find(|_| pair() == [2]);
    assert_eq!(pairs, Some(160));
}

#[test]
fn heaps_without_what_is_unused_are_listed() {
    let set: SharedHeapSet<u32> = SharedHeapSet::default();
    let (slot, range, size) = (ByteSize::new(3000), ByteSize::from_kib(20), ByteSize::from_kib(64));
    let used = set.allocate_in_new(size, 1, &unaligned(range)).unwrap();
    let unused = set.allocate(&unaligned(range)).unwrap().unwrap();
    let alone = set.allocate_in_new(size, 2, &unaligned(range)).unwrap();
    let listed = |unused: &[Placed<u32>]| {
        let ids: Vec<_> = unused.iter().map(|placed| placed.id).collect();
        let mut heaps = set.vacated(&ids, |&heap| heap);
        heaps.sort_unstable();
        heaps
    };
    assert_eq!(listed(&[]), []);
    assert_eq!(listed(&[unused, alone]), [2], "something else is in the other heap");
    let gone = set.allocate(&unaligned(range)).unwrap().unwrap();
    set.free(gone.id).unwrap();
    assert_eq!(listed(&[unused, gone]), [], "one of them was freed");
    // A slab of eight slots in a heap of its own, which the lane keeps, and another one.
    let kept = set.allocate_in_new(size, 3, &unaligned(slot)).unwrap();
    let slots: Vec<_> = (0..8).map_while(|_| set.allocate(&unaligned(slot)).unwrap()).collect();
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
