//! Tests the public behaviour of buddies against a simple interval map that cannot fail in the same way.

mod shadowed;

use heapwright_core::suballoc::{Buddy, RangeUse, SuballocError};
use heapwright_core::{Alignment, ByteSize, HeapOffset};
use proptest::prelude::*;
use shadowed::{IntervalMap, STEPS, Step, alignment, config, sizes, steps};

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

/// Runs the steps like `shadowed::run`, and checks the free blocks after each step.
fn run(capacity: u64, minimum_log2: u32, steps: Vec<Step>) {
    let mut heap = Shadowed::new(buddy(capacity, minimum_log2), may_refuse);
    for step in &steps {
        match step {
            Step::Allocate { size, alignment_log2 } => {
                let _ = heap.allocate(*size, alignment(*alignment_log2));
            }
            Step::Free(at) if !heap.live.is_empty() => heap.free(at.index(heap.live.len())),
            Step::Free(_) | Step::FreeAgain(_) => {}
        }
        check_free_blocks(&heap.heap, &heap.shadow);
    }
    shadowed::run(|| buddy(capacity, minimum_log2), may_refuse, steps);
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn agrees_with_an_interval_map_in_a_crowded_heap(
        capacity in 16_u64..3000,
        minimum_log2 in 0_u32..=4,
        steps in steps(9, 8, 0..STEPS),
    ) {
        run(capacity, minimum_log2, steps);
    }

    #[test]
    fn agrees_with_an_interval_map_in_a_heap_of_64_mib(
        missing in 0_u64..1000,
        minimum_log2 in prop_oneof![Just(0_u32), Just(8), Just(16)],
        steps in steps(25, 22, 0..STEPS),
    ) {
        run((64 << 20) - missing, minimum_log2, steps);
    }

    #[test]
    fn agrees_with_an_interval_map_with_sizes_up_to_a_tebibyte(
        capacity in (40_u32..=63, any::<u64>())
            .prop_map(|(log2, bits)| ((1_u64 << log2) | (bits & ((1 << log2) - 1))).min(1 << 63)),
        minimum_log2 in 0_u32..=12,
        steps in steps(40, 22, 0..STEPS),
    ) {
        run(capacity, minimum_log2, steps);
    }

    #[test]
    fn agrees_with_an_interval_map_at_any_alignment_there_is(
        capacity in sizes(63),
        steps in steps(63, 63, 0..STEPS / 2),
    ) {
        run(capacity.min(1 << 63), 0, steps);
    }

    /// Powers of two lose nothing in any order: all of them fit if their sum is the capacity.
    #[test]
    fn powers_of_two_fill_a_power_of_two(
        log2s in prop::collection::vec(0_u32..6, 1..STEPS / 2),
    ) {
        let sum: u64 = log2s.iter().map(|&log2| 1_u64 << log2).sum();
        let capacity = sum.next_power_of_two();
        let mut heap = shadowed(capacity);
        // In descending order, no split ever divides space that a later one needs.
        let mut descending = log2s;
        descending.sort_unstable_by(|a, b| b.cmp(a));
        for log2 in descending {
            heap.allocate(1 << log2, alignment(log2)).unwrap();
        }
        for _ in sum..capacity {
            heap.allocate(1, Alignment::ONE).unwrap();
        }
        prop_assert_eq!(heap.heap.free_size(), ByteSize::ZERO);
    }

    #[test]
    fn joins_completely_in_any_order_of_freeing(
        capacity in 1_u64..3000,
        order in prop::collection::vec(any::<prop::sample::Index>(), STEPS / 3),
        size in 1_u64..20,
    ) {
        let mut heap = shadowed(capacity);
        while heap.live.len() < order.len() && heap.allocate(size, Alignment::ONE).is_ok() {}
        for at in order {
            if !heap.live.is_empty() {
                heap.free(at.index(heap.live.len()));
                check_free_blocks(&heap.heap, &heap.shadow);
            }
        }
        prop_assert_eq!(heap.heap.free_size(), heap.heap.capacity());
        prop_assert_eq!(heap.heap.free_range_count(), u64::from(capacity.count_ones()));
    }

    #[test]
    fn the_same_calls_get_the_same_offsets(steps in steps(18, 16, 0..STEPS)) {
        let offsets = || {
            let mut heap = buddy(1 << 20, 0);
            let mut live = Vec::new();
            steps.iter().filter_map(|step| match step {
                Step::Allocate { size, alignment_log2 } => {
                    let answer = heap.allocate(ByteSize::new(*size), alignment(*alignment_log2)).ok()?;
                    live.push(answer);
                    Some(answer)
                }
                Step::Free(at) | Step::FreeAgain(at) if !live.is_empty() => {
                    heap.free(live.swap_remove(at.index(live.len())).id).unwrap();
                    None
                }
                Step::Free(_) | Step::FreeAgain(_) => None,
            }).collect::<Vec<_>>()
        };
        prop_assert_eq!(offsets(), offsets());
    }
}

/// More free blocks than the 64 up to which an aligned one is certain to be found.
#[test]
#[cfg_attr(miri, ignore = "minutes in Miri")]
fn a_fragmented_heap_keeps_its_guarantees() {
    let mut heap = shadowed(1 << 20);
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = |below: u64| {
        // Xorshift, G. Marsaglia 2003.
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % below
    };
    let (mut refused, mut most_free_ranges) = (0, 0);
    for _ in 0..1500 {
        let size = 1 + next(2000);
        let log2 = u32::try_from(next(14)).unwrap();
        if heap.allocate(size, alignment(log2)).is_err() || heap.live.len() > 600 {
            refused += 1;
            for _ in 0..3 {
                let at = usize::try_from(next(u64::try_from(heap.live.len()).unwrap())).unwrap();
                heap.free(at);
                check_free_blocks(&heap.heap, &heap.shadow);
            }
        }
        most_free_ranges = most_free_ranges.max(heap.heap.free_range_count());
    }
    assert!(refused > 100 && most_free_ranges > 130, "{refused} {most_free_ranges}");
}

#[test]
fn every_byte_can_be_handed_out_alone() {
    let mut heap = shadowed(61);
    for _ in 0..61 {
        heap.allocate(1, Alignment::ONE).unwrap();
    }
    assert!(heap.allocate(1, Alignment::ONE).unwrap_err().is_out_of_space());
    assert_eq!(heap.heap.largest_free_range(), ByteSize::ZERO);
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
fn a_capacity_of_zero_or_beyond_2_to_the_63_or_below_the_minimum_is_refused() {
    for capacity in [0, (1 << 63) + 1, u64::MAX] {
        let refused = Buddy::new(ByteSize::new(capacity)).unwrap_err();
        assert!(matches!(refused, SuballocError::CapacityOutOfBounds { .. }), "{refused}");
    }
    let refused = Buddy::with_minimum(ByteSize::new(255), alignment(8)).unwrap_err();
    assert_eq!(refused.to_string(), "a capacity of 255 B is less than the minimum block size of 256 B");
    assert!(!refused.is_out_of_space());
    assert_eq!(buddy(256, 8).largest_free_range(), ByteSize::new(256));
}

#[test]
fn requests_that_can_never_succeed_say_so() {
    let mut heap = shadowed(5000);
    assert_eq!(heap.allocate(0, alignment(12)).unwrap_err(), SuballocError::ZeroSize);
    for size in [5001, 1 << 63, u64::MAX] {
        let refused = heap.allocate(size, Alignment::MAX).unwrap_err();
        assert!(matches!(refused, SuballocError::LargerThanCapacity { .. }), "{refused}");
    }
    // More than the largest root, so rounding up exceeds it.
    assert!(heap.allocate(4097, Alignment::ONE).unwrap_err().is_out_of_space());
    assert!(heap.live.is_empty());
}

#[test]
fn an_alignment_beyond_the_capacity_leaves_offset_zero() {
    let mut heap = shadowed(1000);
    assert_eq!(heap.allocate(10, alignment(22)).unwrap().range.start(), HeapOffset::ZERO);
    assert!(heap.allocate(10, alignment(22)).is_err());
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

#[test]
fn a_stale_id_stays_stale_when_its_block_is_in_use_again() {
    let mut heap = shadowed(1024);
    let old = heap.allocate(1000, Alignment::ONE).unwrap();
    heap.free(0);
    let new = heap.allocate(1000, Alignment::ONE).unwrap();
    assert_eq!(new.range, old.range);
    assert_ne!(new.id, old.id);
    heap.free_again(0);
    heap.free(0);
    heap.free_again(0);
    heap.free_again(1);
}

#[test]
fn debug_is_a_summary_whatever_is_live() {
    let mut heap = buddy(1 << 20, 4);
    for _ in 0..1000 {
        heap.allocate(ByteSize::new(16), Alignment::ONE).unwrap();
    }
    let text = format!("{heap:?}");
    assert!(text.contains("allocation_count: 1000") && text.len() < 250, "{text}");
}
