//! Tests the public behaviour of TLSF against a simple interval map that cannot fail in the same way.

use crate::shadowed::{self, IntervalMap, STEPS, Step, alignment, config, fragment, steps};
use heapwright_core::suballoc::{self, SuballocError, Suballocation, Tlsf};
use heapwright_core::{Alignment, ByteSize, HeapOffset};
use proptest::prelude::*;

type Shadowed = shadowed::Shadowed<Tlsf>;

fn tlsf(capacity: u64) -> Tlsf {
    Tlsf::new(ByteSize::new(capacity)).unwrap()
}

fn shadowed(capacity: u64) -> Shadowed {
    Shadowed::new(tlsf(capacity), may_refuse)
}

/// The documented guarantees of a good fit.
fn may_refuse(tlsf: &Tlsf, shadow: &IntervalMap, size: u64, alignment: Alignment) {
    let free: Vec<(u64, u64)> = shadow.free_ranges().collect();
    assert_eq!(u64::try_from(free.len()).unwrap(), tlsf.free_range_count());
    let fits = |&&(start, length): &&(u64, u64)| {
        let padding = start.wrapping_neg() & (alignment.get() - 1);
        u128::from(padding) + u128::from(size) <= u128::from(length)
    };
    if free.len() <= 64 {
        let fitting = free.iter().find(fits);
        assert_eq!(fitting, None, "{size} at {alignment} fits, among {} ranges", free.len());
    }
    let certain = u128::from(size) + u128::from(alignment.get() - 1);
    let largest = free.iter().map(|&(_, length)| u128::from(length)).max().unwrap_or(0);
    assert!(
        largest * 32 < certain * 33,
        "{size} at {alignment} is refused, {largest} bytes are in one piece"
    );
    let reported = tlsf.largest_free_range().get();
    assert!(size > reported || alignment > Alignment::ONE);
    assert!(largest * 32 < u128::from(reported) * 33 || largest == 0);
}

fn run(capacity: u64, _: u64, steps: Vec<Step>) {
    shadowed::run(|| tlsf(capacity), may_refuse, steps, |_| {});
}

every_algorithm!(Tlsf, may_refuse, run);

proptest! {
    #![proptest_config(config())]

    /// One alignment for all requests, as in a heap of buffers, with sizes that are not multiples of it.
    #[test]
    fn fits_where_all_requests_have_one_alignment(
        log2 in 3_u32..=16,
        sizes in prop::collection::vec(1_u64..5000, 1..STEPS / 2),
    ) {
        let step = 1_u64 << log2;
        let rounded: u64 = sizes.iter().map(|size| size.next_multiple_of(step)).sum();
        let mut heap = shadowed(rounded);
        for &size in &sizes {
            heap.allocate(size, alignment(log2)).unwrap();
        }
        // Every other suballocation is freed, and requested again in another order: each hole is filled by
        // the same size.
        let mut again = Vec::new();
        for at in (0..sizes.len()).rev().step_by(2) {
            again.push(heap.live[at].range.size().get());
            heap.free(at);
        }
        again.sort_unstable();
        for &size in again.iter().rev() {
            heap.allocate(size, alignment(log2)).unwrap();
        }
    }
}

fn allocate_with(
    heap: &mut Shadowed,
    size: u64,
    alignment: Alignment,
    strategy: suballoc::FreeRangeChoice,
) -> Result<Suballocation, SuballocError> {
    heap.allocate_by(size, alignment, |tlsf| tlsf.allocate_with(ByteSize::new(size), alignment, strategy))
}

proptest! {
    #![proptest_config(config())]

    /// Tests all strategies in one heap. The lowest offset is exact.
    #[test]
    fn strategies_agree_with_an_interval_map(
        capacity in 1_u64..20_000,
        mut random in any::<u64>(),
        steps in steps(9, 8, 0..STEPS),
    ) {
        use suballoc::FreeRangeChoice::{MinMemory, MinOffset, MinTime};

        let allocate = |heap: &mut Shadowed, size, alignment: Alignment| {
            random = random.rotate_right(7);
            let strategy = [MinMemory, MinTime, MinOffset][(random % 3) as usize];
            let lowest = heap.shadow.free_ranges().find_map(|(start, length)| {
                let aligned = start.checked_next_multiple_of(alignment.get())?;
                (size > 0 && aligned.checked_add(size)? <= start + length).then_some(aligned)
            });
            let answer = allocate_with(heap, size, alignment, strategy);
            if strategy == MinOffset {
                assert_eq!(answer.ok().map(|made| made.range.start().get()), lowest);
            }
        };
        shadowed::run_with(|| tlsf(capacity), may_refuse, steps, allocate, |_| ());
    }
}

#[test]
#[cfg_attr(miri, ignore = "minutes in Miri")]
fn the_lowest_offset_is_found_among_hundreds_of_free_ranges() {
    let holes: Vec<_> = (0..400).map(|at| (10 + at * 100, 20 + at % 50)).collect();
    let mut heap = with_holes(1 << 20, &holes);
    for size in (20..70).rev() {
        let lowest = heap.shadow.free_ranges().find(|&(_, length)| length >= size).unwrap().0;
        let made =
            allocate_with(&mut heap, size, Alignment::ONE, suballoc::FreeRangeChoice::MinOffset).unwrap();
        assert_eq!(made.range.start().get(), lowest);
    }
}

/// Far more than the 64 free ranges up to which a refusal is exact; only the documented guarantees hold here.
#[test]
#[cfg_attr(miri, ignore = "minutes in Miri")]
fn a_fragmented_heap_keeps_its_guarantees() {
    let mut heap = shadowed(1 << 20);
    let (refused, most_free_ranges) = fragment(&mut heap, 4000, |_| {});
    assert!(refused > 100 && most_free_ranges > 200, "{refused} {most_free_ranges}");
}

#[test]
fn the_largest_heap_there_is() {
    let mut heap = shadowed(1 << 63);
    let whole = heap.allocate(1 << 63, Alignment::MAX).unwrap();
    assert_eq!(whole.range.start(), HeapOffset::ZERO);
    heap.free(0);
    heap.allocate(1, Alignment::ONE).unwrap();
    // The next multiple of 2^62 leaves exactly the upper half.
    let upper = heap.allocate(1 << 62, alignment(62)).unwrap();
    assert_eq!(upper.range.start(), HeapOffset::new(1 << 62));
    assert!(heap.allocate(1, Alignment::MAX).unwrap_err().is_out_of_space());
    heap.free(0);
    heap.free(0);
    assert!(heap.live.is_empty());
    assert_eq!(heap.heap.largest_free_range(), heap.heap.capacity());
}

/// A free range of the right size that starts aligned is taken before a larger one that is certain to fit.
#[test]
fn an_aligned_hole_of_the_right_size_is_filled() {
    let mut heap = shadowed(1 << 20);
    let page = alignment(12);
    heap.allocate(4096, page).unwrap();
    let hole = heap.allocate(8192, page).unwrap();
    heap.allocate(100, Alignment::ONE).unwrap();
    heap.free(1);
    assert_eq!(heap.allocate(8192, page).unwrap().range, hole.range);
}

/// The hole has the size but no aligned start. A range that is certain to fit is taken, and nothing before it
/// is lost.
#[test]
fn a_hole_without_an_aligned_start_is_passed_over() {
    let mut heap = shadowed(1 << 20);
    heap.allocate(1, Alignment::ONE).unwrap();
    heap.allocate(4096, Alignment::ONE).unwrap();
    heap.allocate(1, Alignment::ONE).unwrap();
    heap.free(1);
    let aligned = heap.allocate(4096, alignment(12)).unwrap();
    assert_eq!(aligned.range.start(), HeapOffset::new(8192));
    assert_eq!(heap.allocate(4096, Alignment::ONE).unwrap().range.start(), HeapOffset::new(1));
    assert_eq!(heap.allocate(4094, Alignment::ONE).unwrap().range.start(), HeapOffset::new(4098));
}

/// Creates a heap of holes, (start, size) in ascending order, each between two used ranges.
fn with_holes(capacity: u64, holes: &[(u64, u64)]) -> Shadowed {
    let mut heap = shadowed(capacity);
    let mut end = 0;
    for &(start, size) in holes {
        assert!(start > end, "holes need something between them");
        assert_eq!(heap.allocate(start - end, Alignment::ONE).unwrap().range.start(), HeapOffset::new(end));
        heap.allocate(size, Alignment::ONE).unwrap();
        end = start + size;
    }
    heap.allocate(capacity - end, Alignment::ONE).unwrap();
    for at in (0..holes.len()).rev().map(|hole| 2 * hole + 1) {
        heap.free(at);
    }
    let free: Vec<_> = heap.shadow.free_ranges().collect();
    assert_eq!(free, holes);
    heap
}

/// Creates holes of 200 bytes without a multiple of 4,096 in them, and one of 100 bytes that starts at one.
fn one_hole_among(others: u64) -> Shadowed {
    let mut holes: Vec<_> = (0..others).map(|at| (10_000 + at * 4096, 200)).collect();
    holes.insert(0, (4096, 100));
    with_holes(1 << 20, &holes)
}

#[test]
#[cfg_attr(miri, ignore = "minutes in Miri")]
fn the_one_hole_that_fits_is_found_among_64() {
    let mut heap = one_hole_among(63);
    assert_eq!(heap.allocate(100, alignment(12)).unwrap().range.start(), HeapOffset::new(4096));
}

/// The cost of constant time, and the reason why the free ranges of a heap should not have many alignments.
#[test]
#[cfg_attr(miri, ignore = "minutes in Miri")]
fn the_one_hole_that_fits_may_be_missed_among_more() {
    let mut heap = one_hole_among(64);
    assert!(heap.allocate(100, alignment(12)).unwrap_err().is_out_of_space());
    // At alignment 1 it is the good fit, whatever other ranges there are.
    assert_eq!(heap.allocate(100, Alignment::ONE).unwrap().range.start(), HeapOffset::new(4096));
}

/// A range that is certain to fit is taken before the largest: a request of 6,000 bytes at alignment 4,096
/// skips holes in which less than that remains after the first multiple of 4,096, and takes the smallest
/// range that is certain to fit.
#[test]
#[cfg_attr(miri, ignore = "minutes in Miri")]
fn the_smallest_hole_that_is_certain_to_fit_is_taken() {
    let mut holes: Vec<_> = (0..20).map(|at| (1 + at * 16_384, 8200)).collect();
    holes.extend([(20 * 16_384 + 1, 8600), (21 * 16_384 + 1, 10_240), (22 * 16_384 + 1, 100_000)]);
    let mut heap = with_holes(1 << 20, &holes);
    let range = heap.allocate(6000, alignment(12)).unwrap().range;
    assert_eq!(range.start(), HeapOffset::new(21 * 16_384 + 4096));
}
