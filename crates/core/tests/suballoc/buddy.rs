//! Tests the public behaviour of buddies against a simple interval map that cannot fail in the same way.

use crate::shadowed::{self, IntervalMap, Step, alignment, fragment};
use heapwright_core::suballoc::{Buddy, RangeUse};
use heapwright_core::{Alignment, ByteSize, HeapOffset};
use proptest::prelude::*;

type Shadowed = shadowed::Shadowed<Buddy>;

fn buddy(capacity: u64, minimum_log2: u32) -> Buddy {
    Buddy::with_minimum(ByteSize::new(capacity), alignment(minimum_log2)).unwrap()
}

fn shadowed(capacity: u64) -> Shadowed {
    Shadowed::new(buddy(capacity, 0), may_refuse)
}

/// Returns the free blocks as (start, size), computed from the used ranges alone: the largest aligned powers
/// of two that fit between them.
fn expected_free(heap: &Buddy, shadow: &IntervalMap) -> Vec<(u64, u64)> {
    let minimum = heap.minimum().get();
    let in_blocks = shadow.capacity() / minimum * minimum;
    let ends = shadow
        .used_ranges()
        .map(|(start, size)| (start, start + size.next_power_of_two().max(minimum)))
        .chain([(in_blocks, in_blocks)]);
    let (mut free, mut start) = (Vec::new(), 0);
    for (used_start, used_end) in ends {
        while start < used_start {
            let fits = 1 << (used_start - start).ilog2();
            let aligned = if start == 0 { fits } else { 1 << start.trailing_zeros() };
            free.push((start, fits.min(aligned)));
            start += fits.min(aligned);
        }
        start = used_end;
    }
    free
}

/// Checks that the free blocks are as large as they can be.
fn check_free_blocks(heap: &Buddy, shadow: &IntervalMap) {
    let free = heap.ranges().filter(RangeUse::is_free).map(|free| free.range());
    let free: Vec<_> = free.map(|range| (range.start().get(), range.size().get())).collect();
    assert_eq!(free, expected_free(heap, shadow));
    assert_eq!(heap.free_range_count(), u64::try_from(free.len()).unwrap());
    let largest = free.iter().map(|&(_, size)| size).max().unwrap_or(0);
    assert_eq!(heap.largest_free_range(), ByteSize::new(largest));
}

/// Checks a refusal against the documented guarantees.
fn may_refuse(heap: &Buddy, shadow: &IntervalMap, size: u64, alignment: Alignment) {
    let free = expected_free(heap, shadow);
    let block = size.next_power_of_two().max(heap.minimum().get());
    let certain = block.max(alignment.get());
    assert!(!free.iter().any(|&(_, free)| free >= certain), "{size} at {alignment} has a certain block");
    let candidates = || free.iter().filter(|&&(_, free)| free >= block && free < alignment.get());
    if candidates().count() <= 64 {
        let fitting = candidates().find(|&&(start, _)| HeapOffset::new(start).is_aligned(alignment));
        assert_eq!(fitting, None, "{size} at {alignment} fits");
    }
}

/// Runs the steps with a random minimum, mostly far below the capacity.
fn run(capacity: u64, random: u64, steps: Vec<Step>) {
    let minimum_log2 = u32::try_from(random % u64::from(capacity.ilog2() / 2 + 1)).unwrap();
    shadowed::run(
        || buddy(capacity, minimum_log2),
        may_refuse,
        steps,
        |heap| check_free_blocks(&heap.heap, &heap.shadow),
    );
}

every_algorithm!(Buddy, may_refuse, run);

/// More free blocks than the 64 up to which an aligned one is certain to be found.
#[test]
#[cfg_attr(miri, ignore = "minutes in Miri")]
fn a_fragmented_heap_keeps_its_guarantees() {
    let mut heap = shadowed(1 << 20);
    let (refused, most_free_ranges) =
        fragment(&mut heap, 2000, |heap| check_free_blocks(&heap.heap, &heap.shadow));
    assert!(refused > 100 && most_free_ranges > 130, "{refused} {most_free_ranges}");
}

#[test]
fn more_than_the_largest_root_is_out_of_space() {
    // Rounding up exceeds the largest root.
    assert!(shadowed(5000).allocate(4097, Alignment::ONE).unwrap_err().is_out_of_space());
}

#[test]
fn the_largest_range_there_is() {
    let mut heap = shadowed(1 << 63);
    assert_eq!(heap.allocate(1 << 63, Alignment::MAX).unwrap().range.start(), HeapOffset::ZERO);
    heap.free(0);
    heap.allocate((1 << 62) + 1, Alignment::ONE).unwrap();
    assert_eq!(heap.heap.free_size(), ByteSize::ZERO);
    heap.free(0);
    heap.allocate(1, Alignment::ONE).unwrap();
    let upper = heap.allocate(1 << 62, alignment(62)).unwrap();
    assert_eq!(upper.range.start(), HeapOffset::new(1 << 62));
    assert!(heap.allocate(1, Alignment::MAX).unwrap_err().is_out_of_space());
    heap.free(0);
    heap.free(0);
    assert_eq!(heap.heap.largest_free_range(), heap.heap.capacity());
}

#[test]
fn a_capacity_below_the_minimum_is_refused() {
    let refused = Buddy::with_minimum(ByteSize::new(255), alignment(8)).unwrap_err();
    assert_eq!(refused.to_string(), "a capacity of 255 B is less than the minimum block size of 256 B");
    assert!(!refused.is_out_of_space());
    assert_eq!(buddy(256, 8).largest_free_range(), ByteSize::new(256));
}

/// Each root but the first starts at a multiple of more than its own size.
#[test]
fn a_root_serves_the_alignment_at_which_it_starts() {
    let mut heap = shadowed(5 << 20);
    heap.allocate(4 << 20, Alignment::ONE).unwrap();
    let aligned = heap.allocate(1 << 20, alignment(22)).unwrap();
    assert_eq!(aligned.range.start(), HeapOffset::new(4 << 20));
}

/// If there is no block of the alignment's size, a smaller block with an aligned start is used.
#[test]
fn what_was_halved_for_an_alignment_serves_it_again() {
    let mut heap = shadowed(1 << 16);
    let page = alignment(16);
    let hole = heap.allocate(4096, page).unwrap();
    heap.allocate(4096, Alignment::ONE).unwrap();
    assert!(heap.allocate(4096, page).unwrap_err().is_out_of_space());
    heap.free(0);
    assert_eq!(heap.allocate(4000, page).unwrap().range.start(), hole.range.start());
}

/// Creates `count` free blocks of 1 KiB at odd multiples of 1 KiB, and one more that starts at a multiple of
/// 4 KiB.
fn one_hole_among(count: u64) -> Shadowed {
    let mut heap = shadowed((count + 1) << 12);
    while heap.allocate(1024, Alignment::ONE).is_ok() {}
    let is_hole = |start: u64| start == 0 || start % 4096 == 1024 && start > 4096;
    // The aligned hole is freed first, so it is examined last.
    let mut holes: Vec<_> = heap.live.iter().map(|s| s.range.start().get()).filter(|&s| is_hole(s)).collect();
    holes.sort_unstable();
    for start in holes {
        let at = heap.live.iter().position(|live| live.range.start().get() == start).unwrap();
        heap.free(at);
    }
    assert_eq!(heap.heap.free_range_count(), count + 1);
    heap
}

#[test]
#[cfg_attr(miri, ignore = "minutes in Miri")]
fn the_one_aligned_block_is_found_among_64_and_may_be_missed_among_more() {
    let mut heap = one_hole_among(63);
    assert_eq!(heap.allocate(1000, alignment(12)).unwrap().range.start(), HeapOffset::ZERO);
    let mut heap = one_hole_among(64);
    assert!(heap.allocate(1000, alignment(12)).unwrap_err().is_out_of_space());
}

#[test]
fn the_block_that_became_free_last_is_taken_first() {
    let mut heap = shadowed(64);
    let all: Vec<_> = (0..8).map(|_| heap.allocate(8, Alignment::ONE).unwrap()).collect();
    // No two of them are buddies. Each removal moves the last element to its place, so the lower indices come
    // last.
    for at in [6, 2, 4] {
        let index = heap.live.iter().position(|live| live.id == all[at].id).unwrap();
        heap.free(index);
    }
    for at in [4, 2, 6] {
        assert_eq!(heap.allocate(8, Alignment::ONE).unwrap().range, all[at].range);
    }
}
