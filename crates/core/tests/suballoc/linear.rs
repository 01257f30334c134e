//! Tests the public behaviour of `Linear` and `DoubleStack` against a simple interval map that cannot fail in
//! the same way.

use crate::shadowed::{self, IntervalMap, Shadowed, Step, alignment};
use heapwright_core::suballoc::{DoubleStack, Linear, RangeUse, SuballocError, Suballocator};
use heapwright_core::{Alignment, ByteSize, HeapOffset};
use proptest::prelude::*;

fn linear(capacity: u64) -> Linear {
    Linear::new(ByteSize::new(capacity)).unwrap()
}

fn double(capacity: u64) -> DoubleStack {
    DoubleStack::new(ByteSize::new(capacity)).unwrap()
}

/// Returns whether the request fits between two offsets.
fn fits((start, end): (u64, u64), size: u64, alignment: Alignment) -> bool {
    let mask = u128::from(alignment.get() - 1);
    let aligned = (u128::from(start) + mask) & !mask;
    aligned + u128::from(size) <= u128::from(end)
}

/// Returns the range above the highest used byte.
fn above_all(shadow: &IntervalMap) -> (u64, u64) {
    let top = shadow.used_ranges().last().map_or(0, |(start, size)| start + size);
    (top, shadow.capacity())
}

/// A stack is exact: no request that fits above everything is refused.
fn linear_may_refuse(_: &Linear, shadow: &IntervalMap, size: u64, alignment: Alignment) {
    assert!(!fits(above_all(shadow), size, alignment), "{size} at {alignment} fits on top");
}

fn free_gaps(heap: &impl Suballocator) -> Vec<(u64, u64)> {
    let free = heap.ranges().filter(RangeUse::is_free).map(|free| free.range());
    free.map(|range| (range.start().get(), range.end().get())).collect()
}

/// Checks the free gap, that the largest request succeeds, and that freeing it restores the state.
fn check_gap<A: Suballocator>(heap: &mut Shadowed<A>, expected: (u64, u64)) {
    let expected: Vec<_> = (expected.0 < expected.1).then_some(expected).into_iter().collect();
    assert_eq!(free_gaps(&heap.heap), expected);
    let largest = heap.heap.largest_free_range().get();
    assert_eq!(largest, expected.iter().map(|(start, end)| end - start).sum::<u64>());
    let before = heap.state();
    assert!(heap.allocate(largest + 1, Alignment::ONE).is_err());
    if largest > 0 {
        heap.allocate(largest, Alignment::ONE).unwrap();
        heap.free(heap.live.len() - 1);
    }
    assert_eq!(heap.state(), before);
}

fn run(capacity: u64, _: u64, steps: Vec<Step>) {
    shadowed::run(
        || linear(capacity),
        linear_may_refuse,
        steps,
        |heap| {
            let expected = above_all(&heap.shadow);
            check_gap(heap, expected);
        },
    );
}

fn double_may_refuse(heap: &DoubleStack, _: &IntervalMap, size: u64, alignment: Alignment) {
    for gap in free_gaps(heap) {
        assert!(!fits(gap, size, alignment), "{size} at {alignment} fits");
    }
}

/// Runs steps at both ends; each bit of `ends` is an end.
fn run_double(capacity: u64, ends: u64, steps: Vec<Step>) {
    let mut heap = Shadowed::new(double(capacity), double_may_refuse);
    let mut upper = Vec::new();
    for (number, step) in steps.into_iter().enumerate() {
        let at_upper = ends >> (number % 64) & 1 == 1;
        match step {
            Step::Allocate { size, alignment_log2 } => {
                let (bytes, alignment) = (ByteSize::new(size), alignment(alignment_log2));
                if at_upper {
                    let answer =
                        heap.allocate_by(size, alignment, |heap| heap.allocate_upper(bytes, alignment));
                    upper.extend(answer.ok().map(|suballocation| suballocation.id));
                } else {
                    let _ = heap.allocate_by(size, alignment, |heap| heap.allocate_lower(bytes, alignment));
                }
            }
            Step::Free(at) if !heap.live.is_empty() => heap.free(at.index(heap.live.len())),
            Step::FreeAgain(at) if !heap.freed.is_empty() => heap.free_again(at.index(heap.freed.len())),
            Step::Free(_) | Step::FreeAgain(_) => {}
        }
        let upper = &upper;
        let ranges = |of_upper| {
            heap.live.iter().filter(move |live| upper.contains(&live.id) == of_upper).map(|live| live.range)
        };
        let lower_end = ranges(false).map(|range| range.end().get()).max().unwrap_or(0);
        let upper_start = ranges(true).map(|range| range.start().get()).min().unwrap_or(capacity);
        check_gap(&mut heap, (lower_end, upper_start));
    }
    if heap.live.len() % 4 == 3 {
        heap.clear();
    }
    while !heap.live.is_empty() {
        heap.free(heap.live.len() / 2);
    }
    heap.assert_as_fresh(double(capacity));
}

every_algorithm!(Linear, linear_may_refuse, run);

mod double {
    use super::*;

    every_algorithm!(DoubleStack, double_may_refuse, run_double);
}

#[test]
fn the_largest_ranges_there_are() {
    let mut heap = Shadowed::new(linear(1 << 63), linear_may_refuse);
    heap.allocate(1, Alignment::ONE).unwrap();
    assert!(heap.allocate(1, Alignment::MAX).unwrap_err().is_out_of_space());
    assert_eq!(heap.allocate(1 << 62, alignment(62)).unwrap().range.end(), HeapOffset::new(1 << 63));
    assert!(heap.allocate(1, Alignment::ONE).unwrap_err().is_out_of_space());

    let mut heap = double(1 << 63);
    let (size, at) = (ByteSize::new(1 << 62), alignment(62));
    assert_eq!(heap.allocate_upper(size, at).unwrap().range.start(), HeapOffset::new(1 << 62));
    assert_eq!(heap.allocate_upper(size, Alignment::MAX).unwrap().range.start(), HeapOffset::ZERO);
    assert_eq!(heap.free_size(), ByteSize::ZERO);
}

#[test]
fn requests_that_can_never_succeed_say_so() {
    let mut heap = double(4096);
    for size in [4097, 1 << 63, u64::MAX].map(ByteSize::new) {
        for refused in [heap.allocate_lower(size, Alignment::MAX), heap.allocate_upper(size, Alignment::MAX)]
        {
            assert!(matches!(refused, Err(SuballocError::LargerThanCapacity { .. })), "{refused:?}");
        }
    }
    assert_eq!(heap.allocate_upper(ByteSize::ZERO, Alignment::ONE), Err(SuballocError::ZeroSize));
    assert!(heap.is_empty());
}
