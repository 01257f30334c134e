//! Rules of heap sets. `model_tests` compares them with a model.

pub(super) mod driven_set;

use driven_set::DrivenSet;
use proptest::prelude::*;

use super::idle_times::IdleTimes;
use super::*;
use crate::suballoc::SuballocError;
use crate::{Alignment, ByteSize};

/// Takes all empty heaps.
pub(crate) fn take_all_empty<H: Clone>(set: &SharedHeapSet<H>) -> Vec<H> {
    set.take_empty(ByteSize::MAX).into_iter().map(|(_, heap)| heap).collect()
}

/// A request at any offset.
pub(crate) fn unaligned(size: ByteSize) -> PlacementRequest {
    PlacementRequest::new(size, Alignment::ONE)
}

/// The default algorithm without slabs.
fn driven(retention: HeapRetention) -> DrivenSet {
    DrivenSet::new(HeapSetDesc { retention, slots_up_to: ByteSize::ZERO, ..HeapSetDesc::default() })
}

/// Places a request, and returns the name of its heap.
fn allocate(driven: &mut DrivenSet, size: ByteSize) -> u32 {
    driven.allocate(&unaligned(size)).unwrap().0.0
}

fn free_all(driven: &mut DrivenSet) {
    while !driven.live.is_empty() {
        driven.free(0);
    }
}

fn free_last(driven: &mut DrivenSet) {
    driven.free(driven.live.len() - 1);
}

fn pass_frame(driven: &mut DrivenSet) -> usize {
    let released = driven.set.pass_frame();
    driven.gone(released.iter().copied());
    released.len()
}

proptest! {
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

fn heap_set<H>() -> HeapSet<H> {
    HeapSet::new(PlacementRule::Default(HeapSizing::default()), IdleTimes::default())
}

/// Places a request in a particular heap.
fn allocate_in<H>(set: &mut HeapSet<H>, heap: HeapId, size: ByteSize) -> PlacementId {
    set.allocate_slab(Some(heap), size, Alignment::ONE).expect("room").id
}

#[test]
fn an_id_of_a_released_heap_is_recognised() {
    let mut set = heap_set();
    let heap = set.insert(ByteSize::from_mib(1), 'a').expect("valid size");
    let id = allocate_in(&mut set, heap, ByteSize::new(16));
    set.free(id).expect("live");
    assert_eq!(set.take_empty(ByteSize::MAX).pop().map(|(_, heap)| heap), Some('a'));
    let other = set.insert(ByteSize::from_mib(1), 'b').expect("valid size");
    allocate_in(&mut set, other, ByteSize::new(16));
    assert!(matches!(set.free(id), Err(PlacementError::Suballocation(SuballocError::StaleId { .. }))));
    assert_eq!(set.allocate_slab(Some(heap), ByteSize::new(16), Alignment::ONE), None);
}

/// Creates empty heaps of 64, 16 and 8 MiB.
fn with_empty_heaps() -> (DrivenSet, [u32; 3]) {
    let mut driven = driven(HeapRetention::default());
    let heaps = [64, 16, 8].map(|mib| allocate(&mut driven, ByteSize::from_mib(mib)));
    free_all(&mut driven);
    assert_eq!(driven.set.totals().empty_heap_count, 3);
    (driven, heaps)
}

#[test]
fn the_smallest_sufficient_empty_heap_is_reused() {
    let (mut driven, [large, medium, small]) = with_empty_heaps();
    for (mib, heap) in [(1, small), (10, medium), (20, large)] {
        assert_eq!(allocate(&mut driven, ByteSize::from_mib(mib)), heap);
    }
    assert_eq!(driven.made, 3);
}

#[test]
fn an_empty_heap_that_is_too_small_makes_way() {
    let (mut driven, heaps) = with_empty_heaps();
    let before = driven.set.totals().reserved;
    let heap = allocate(&mut driven, ByteSize::from_mib(65));
    assert!(!heaps.contains(&heap) && !driven.heaps.contains_key(&heaps[0]));
    assert!(driven.set.totals().reserved <= before, "what is held does not grow");
    driven.check();
}

#[test]
fn of_heaps_with_room_the_one_in_use_for_longest_is_used() {
    let mut set = heap_set();
    let (one, small) = (ByteSize::from_mib(1), ByteSize::from_kib(100));
    // The first has the most room, so that a best fit would use another one.
    let mut first = None;
    for mib in [4, 3, 2] {
        let heap = set.insert(ByteSize::from_mib(mib), mib).expect("a sound size");
        first.get_or_insert(allocate_in(&mut set, heap, one));
    }
    for _ in 0..4 {
        let placed = set.allocate(small, Alignment::ONE).expect("room");
        let (id, heap) = (placed.id, *placed.heap);
        assert_eq!(heap, 4);
        set.free(id).expect("it is live");
    }
    // A heap that becomes empty and is used again begins anew.
    set.free(first.expect("there are three")).expect("it is live");
    let placed = set.allocate(small, Alignment::ONE).expect("room");
    assert_eq!(*placed.heap, 3);
    set.audit().expect("consistent");
}

#[test]
fn with_frames_operations_alone_do_not_release_what_the_next_frame_needs() {
    let mut driven =
        driven(HeapRetention { keeping: Keeping::Operations(20), frames: 30, ..HeapRetention::default() });
    allocate(&mut driven, ByteSize::from_mib(1));
    for _ in 0..100 {
        allocate(&mut driven, ByteSize::from_mib(100));
        free_last(&mut driven);
        for _ in 0..50 {
            allocate(&mut driven, ByteSize::from_kib(100));
            free_last(&mut driven);
        }
        pass_frame(&mut driven);
    }
    assert_eq!(driven.made, 3, "the first frame does not know that there are frames");
}

#[test]
fn after_a_quiet_frame_empty_heaps_leave_earlier() {
    let keeping = Keeping::Operations(20);
    let mut driven =
        driven(HeapRetention { keeping, kept_frames: 2, frames: 1000, ..HeapRetention::default() });
    let pairs = |driven: &mut DrivenSet, count| {
        for _ in 0..count {
            allocate(driven, ByteSize::from_kib(100));
            free_last(driven);
        }
        driven.heaps.len()
    };
    allocate(&mut driven, ByteSize::from_mib(1));
    pass_frame(&mut driven);
    pairs(&mut driven, 100);
    pass_frame(&mut driven);
    burst(&mut driven);
    assert_eq!(pairs(&mut driven, 15), 2, "frames have 200 operations");
    pass_frame(&mut driven);
    assert_eq!((pairs(&mut driven, 10), pairs(&mut driven, 20)), (2, 1), "the last one had 32");
}

#[test]
fn of_many_empty_heaps_a_16th_leaves_with_each_frame() {
    let retention = HeapRetention { frames: 1, ..HeapRetention::default() };
    let set = SharedHeapSet::new(&HeapSetDesc { retention, ..HeapSetDesc::default() });
    (0..33).for_each(|heap| set.insert(ByteSize::from_mib(1), heap).expect("a sound size"));
    assert_eq!(set.pass_frame(), [0, 1, 2]);
    assert_eq!(set.pass_frame(), [3, 4]);
}

#[test]
fn new_heaps_are_as_large_as_what_was_in_use_and_smaller_long_after() {
    type Pass = fn(&SharedHeapSet<u32>);
    let passes: [Pass; 3] = [
        |set| drop(set.pass_frame()),
        |set| set.count_period(),
        |set| {
            for _ in 0..2000 {
                let one = unaligned(ByteSize::from_kib(20));
                let placed = set.allocate(&one).expect("a sound size").expect("room");
                set.free(placed.id).expect("it is live");
            }
        },
    ];
    for pass in passes {
        let set = SharedHeapSet::default();
        set.insert(ByteSize::from_mib(396), 1).expect("a sound size");
        set.insert(ByteSize::from_mib(4), 2).expect("a sound size");
        assert_eq!(set.take_empty(ByteSize::from_mib(396)).len(), 1);
        let size = || set.new_heap_size(&unaligned(ByteSize::from_kib(20)));
        assert_eq!(size(), Ok(ByteSize::from_mib(40)), "a tenth");
        pass(&set);
        assert!(size().is_ok_and(|size| size < ByteSize::from_mib(40)));
    }
}

#[test]
fn heaps_that_the_owner_added_stay_except_by_the_default_rule() {
    let buddy = PlacementRule::buddy_system(ByteSize::from_mib(1), ByteSize::MAX, slab_sizing::KIB_64);
    for (rule, is_kept) in [(PlacementRule::Default(HeapSizing::default()), false), (buddy, true)] {
        let set = SharedHeapSet::new(&HeapSetDesc::new(rule, HeapRetention::NONE));
        let (one, request) = (ByteSize::from_mib(1), unaligned(ByteSize::from_kib(20)));
        set.insert(ByteSize::from_mib(64), 1).expect("a sound size");
        assert_eq!(set.make_way(one).is_empty(), is_kept);
        set.allocate_in_new(one, 2, &request).expect("room");
        set.insert(ByteSize::from_mib(64), 3).expect("a sound size");
        let other = set.allocate(&request).expect("a sound size").expect("room");
        assert_eq!(set.free(other.id).expect("it is live").is_empty(), is_kept);
        set.audit().expect("consistent");
    }
}

#[test]
fn only_a_request_that_was_alone_for_good_takes_along_a_heap_that_is_kept() {
    for (sharing, released) in [
        (Sharing::Shared, vec![]),
        (Sharing::Alone { reusable: true }, vec![]),
        (Sharing::Alone { reusable: false }, vec![1]),
    ] {
        let set = SharedHeapSet::<u32>::default();
        let one = ByteSize::from_mib(1);
        let request = PlacementRequest { sharing, ..unaligned(one) };
        let placed = set.allocate_in_new(one, 1, &request).expect("room");
        assert_eq!(set.free_and_keep(placed.id), Ok(released));
        set.audit().expect("consistent");
    }
}

/// The heap with room is of the same size class as the others, and the search begins with the ones in use for longest.
#[test]
fn a_heap_with_room_is_found_behind_many_without() {
    for (older, last) in [(1, 1100), (9, 1300)] {
        let mut set = heap_set();
        for kib in std::iter::repeat_n(1024, older).chain([last]) {
            let heap = set.insert(ByteSize::from_kib(kib + 64), kib).expect("a sound size");
            allocate_in(&mut set, heap, ByteSize::from_kib(64));
        }
        let placed = set.allocate(ByteSize::from_kib(1080), Alignment::ONE).expect("room");
        assert_eq!(*placed.heap, last);
        // The same of empty ones.
        let set = SharedHeapSet::<u64>::default();
        for kib in std::iter::repeat_n(1024, older).chain([last]) {
            set.insert(ByteSize::from_kib(kib), kib).expect("a sound size");
        }
        let request = unaligned(ByteSize::from_kib(1080));
        assert_eq!(set.allocate(&request).map(|placed| placed.map(|placed| placed.heap)), Ok(Some(last)));
    }
}

#[test]
fn heaps_of_more_bytes_than_can_be_counted_are_refused() {
    let mut heaps: HeapSet<u32> = heap_set();
    let half = ByteSize::new(1 << 63);
    let first = heaps.insert(half, 1).expect("half of all bytes");
    allocate_in(&mut heaps, first, half);
    assert_eq!(heaps.insert(half, 2), Err(PlacementError::TooManyBytes));
    assert_eq!(heaps.totals().heap_count, 1);
    heaps.audit().expect("consistent");
}

#[test]
fn small_requests_do_not_keep_the_heap_of_a_peak() {
    for (retention, is_used) in [(HeapRetention::default(), false), (HeapRetention::FOR_EVER, true)] {
        let mut driven = driven(retention);
        allocate(&mut driven, ByteSize::from_mib(4));
        let peak = allocate(&mut driven, ByteSize::from_mib(60));
        free_last(&mut driven);
        // The first heap is full.
        assert_eq!(allocate(&mut driven, ByteSize::from_kib(100)) == peak, is_used, "{retention:?}");
        driven.check();
    }
}

/// Lets periods pass, and returns how many heaps left.
fn pause(driven: &mut DrivenSet, periods: u32) -> usize {
    let mut left = 0;
    for _ in 0..periods {
        let released = driven.set.pass_period();
        driven.gone(released.iter().copied());
        left += released.len();
    }
    left
}

/// A burst, after which nothing is in use.
fn burst(driven: &mut DrivenSet) {
    allocate(driven, ByteSize::from_mib(40));
    free_last(driven);
}

#[test]
fn a_heap_that_is_needed_after_a_pause_is_kept_in_the_next_one() {
    let mut driven = driven(HeapRetention::default());
    burst(&mut driven);
    assert_eq!(pause(&mut driven, 10), 1);
    burst(&mut driven);
    // Up to twice the pause.
    for periods in [10, 3, 19] {
        assert_eq!(pause(&mut driven, periods), 0, "{periods}");
        burst(&mut driven);
    }
    assert_eq!(driven.made, 2);
    assert_eq!(pause(&mut driven, 20), 1);
    burst(&mut driven);
    assert_eq!(pause(&mut driven, 39), 0, "a longer pause is learned, too");
    driven.check();
}

#[test]
fn with_the_last_empty_heap_of_a_size_its_pause_is_over() {
    let mut driven = driven(HeapRetention::default());
    allocate(&mut driven, ByteSize::from_mib(40));
    burst(&mut driven);
    assert_eq!(pause(&mut driven, 10), 1);
    burst(&mut driven);
    assert_eq!((pause(&mut driven, 19), pause(&mut driven, 1)), (0, 1));
    free_last(&mut driven);
    assert_eq!(pause(&mut driven, 2), 1);
}

#[test]
fn overdue_heaps_leave_by_their_price_and_are_usable_until_then() {
    let prices = std::sync::Arc::new(HeapPrices::default());
    for mib in [16, 64] {
        prices.note_created(ByteSize::from_mib(mib), std::time::Duration::from_micros(25 * mib));
    }
    let desc = HeapSetDesc { slots_up_to: ByteSize::ZERO, ..HeapSetDesc::default() };
    let with_heaps = || {
        let heaps = SharedHeapSet::with_shared(&desc, std::sync::Arc::default(), prices.clone());
        for (number, mib) in [64, 64, 16, 16, 16, 16, 16].into_iter().enumerate() {
            heaps.insert(ByteSize::from_mib(mib), number).expect("a sound size");
        }
        heaps
    };
    let heaps = with_heaps();
    assert_eq!((heaps.pass_period().len(), heaps.pass_period().len()), (0, 7));
    let heaps = with_heaps();
    heaps.count_period();
    assert_eq!(heaps.take_overdue(), []);
    heaps.count_period();
    // The smaller ones cost 0.8 ms, the larger ones 3.2 ms.
    assert_eq!(heaps.take_overdue(), [2, 3, 4]);
    let request = unaligned(ByteSize::from_mib(10));
    assert_eq!(heaps.allocate(&request).expect("a sound size").expect("room").heap, 6);
    assert_eq!(heaps.take_overdue(), [5, 0]);
    assert_eq!(heaps.take_overdue(), [1]);
    assert_eq!(heaps.take_overdue(), []);
    heaps.audit().expect("consistent");
}

#[test]
fn pauses_are_expected_again_by_size_and_up_to_a_limit() {
    let retention = HeapRetention { pauses: 20, ..HeapRetention::default() };
    for (periods, mib, is_kept) in [(15, 40, true), (15, 8, false), (20, 40, true), (21, 40, false)] {
        let mut driven = driven(retention);
        burst(&mut driven);
        assert_eq!(pause(&mut driven, periods), 1);
        allocate(&mut driven, ByteSize::from_mib(mib));
        free_last(&mut driven);
        assert_eq!(pause(&mut driven, 15) == 0, is_kept, "{periods}, {mib}");
        assert_eq!(driven.live.len() + driven.heaps.len(), usize::from(is_kept));
        assert_eq!(pause(&mut driven, 20), usize::from(is_kept), "never longer");
    }
    let mut driven = driven(HeapRetention::LEAST_MEMORY);
    (0..3).for_each(|_| {
        burst(&mut driven);
        assert_eq!(pause(&mut driven, 2), 1, "the least memory expects no pause");
    });
}
