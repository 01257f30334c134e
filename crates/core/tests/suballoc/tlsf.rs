//! Tests of TLSF.

use crate::shadowed::{Algorithm, Request, Shadowed};
use crate::steps::{STEPS, alignment, config};
use heapwright_core::suballoc::FreeRangeChoice;
use heapwright_core::{Alignment, ByteSize, HeapOffset};
use proptest::prelude::*;

fn shadowed(capacity: u64) -> Shadowed {
    Shadowed::new(Algorithm::Tlsf, capacity).unwrap()
}

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
            heap.put(size, alignment(log2)).unwrap();
        }
        // Every other suballocation is freed, and requested again in another order: each hole is filled by
        // the same size.
        let mut again = Vec::new();
        for at in (0..sizes.len()).rev().step_by(2) {
            again.push(heap.live[at].made.range.size().get());
            heap.free(at);
        }
        again.sort_unstable();
        for &size in again.iter().rev() {
            heap.put(size, alignment(log2)).unwrap();
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "minutes in Miri")]
fn the_lowest_offset_is_found_among_hundreds_of_free_ranges() {
    let holes: Vec<_> = (0..400).map(|at| (10 + at * 100, 20 + at % 50)).collect();
    let mut heap = with_holes(1 << 20, &holes);
    for size in (20..70).rev().map(ByteSize::new) {
        // It is compared with the map.
        let (alignment, strategy) = (Alignment::ONE, FreeRangeChoice::MinOffset);
        heap.allocate(&Request { size, alignment, strategy, upper: false }).unwrap();
    }
}

/// Far more than the 64 free ranges up to which a refusal is exact; only the documented guarantees hold here.
#[test]
#[cfg_attr(miri, ignore = "minutes in Miri")]
fn a_fragmented_heap_keeps_its_guarantees() {
    let mut heap = shadowed(1 << 20);
    let mut random = fastrand::Rng::with_seed(1);
    let (mut refused, mut most_free_ranges) = (0, 0);
    for _ in 0..1500 {
        let is_refused = heap.put(random.u64(1..=4000), alignment(random.u32(..14))).is_err();
        if is_refused || heap.live.len() > 600 {
            refused += 1;
            (0..3).for_each(|_| heap.free(random.usize(..heap.live.len())));
        }
        most_free_ranges = most_free_ranges.max(heap.free_ranges().count());
    }
    assert!(refused > 100 && most_free_ranges > 200, "{refused} {most_free_ranges}");
}

#[test]
fn the_largest_heap_there_is() {
    let mut heap = shadowed(1 << 63);
    let whole = heap.put(1 << 63, Alignment::MAX).unwrap();
    assert_eq!(whole.range.start(), HeapOffset::ZERO);
    heap.free(0);
    heap.put(1, Alignment::ONE).unwrap();
    // The next multiple of 2^62 leaves exactly the upper half.
    let upper = heap.put(1 << 62, alignment(62)).unwrap();
    assert_eq!(upper.range.start(), HeapOffset::new(1 << 62));
    assert!(heap.put(1, Alignment::MAX).unwrap_err().is_out_of_space());
    heap.free(0);
    heap.free(0);
    heap.put(1 << 63, Alignment::ONE).unwrap();
}

/// A free range of the right size that starts aligned is taken before a larger one that is certain to fit.
#[test]
fn an_aligned_hole_of_the_right_size_is_filled() {
    let mut heap = shadowed(1 << 20);
    let page = alignment(12);
    heap.put(4096, page).unwrap();
    let hole = heap.put(8192, page).unwrap();
    heap.put(100, Alignment::ONE).unwrap();
    heap.free(1);
    assert_eq!(heap.put(8192, page).unwrap().range, hole.range);
}

/// The hole has the size but no aligned start. A range that is certain to fit is taken, and nothing before it
/// is lost.
#[test]
fn a_hole_without_an_aligned_start_is_passed_over() {
    let mut heap = shadowed(1 << 20);
    heap.put(1, Alignment::ONE).unwrap();
    heap.put(4096, Alignment::ONE).unwrap();
    heap.put(1, Alignment::ONE).unwrap();
    heap.free(1);
    let aligned = heap.put(4096, alignment(12)).unwrap();
    assert_eq!(aligned.range.start(), HeapOffset::new(8192));
    assert_eq!(heap.put(4096, Alignment::ONE).unwrap().range.start(), HeapOffset::new(1));
    assert_eq!(heap.put(4094, Alignment::ONE).unwrap().range.start(), HeapOffset::new(4098));
}

/// Creates a heap of holes, (start, size) in ascending order, each between two used ranges.
fn with_holes(capacity: u64, holes: &[(u64, u64)]) -> Shadowed {
    let mut heap = shadowed(capacity);
    let mut end = 0;
    for &(start, size) in holes {
        assert!(start > end, "holes need something between them");
        assert_eq!(heap.put(start - end, Alignment::ONE).unwrap().range.start(), HeapOffset::new(end));
        heap.put(size, Alignment::ONE).unwrap();
        end = start + size;
    }
    heap.put(capacity - end, Alignment::ONE).unwrap();
    for at in (0..holes.len()).rev().map(|hole| 2 * hole + 1) {
        heap.free(at);
    }
    assert!(heap.free_ranges().eq(holes.iter().map(|&(start, size)| (start, start + size))));
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
    assert_eq!(heap.put(100, alignment(12)).unwrap().range.start(), HeapOffset::new(4096));
}

/// The cost of constant time, and the reason why the free ranges of a heap should not have many alignments.
#[test]
#[cfg_attr(miri, ignore = "minutes in Miri")]
fn the_one_hole_that_fits_may_be_missed_among_more() {
    let mut heap = one_hole_among(64);
    assert!(heap.put(100, alignment(12)).unwrap_err().is_out_of_space());
    // At alignment 1 it is the good fit, whatever other ranges there are.
    assert_eq!(heap.put(100, Alignment::ONE).unwrap().range.start(), HeapOffset::new(4096));
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
    let range = heap.put(6000, alignment(12)).unwrap().range;
    assert_eq!(range.start(), HeapOffset::new(21 * 16_384 + 4096));
}
