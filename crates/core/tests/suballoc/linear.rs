//! Tests the public behaviour of `Linear` against a simple interval map that cannot fail in the same way.

use std::cell::RefCell;

use crate::shadowed::{self, IntervalMap, STEPS, Shadowed, Step, alignment, config};
use heapwright_core::suballoc::{Linear, RangeUse, SuballocError, Suballocation, SuballocationId};
use heapwright_core::{Alignment, ByteSize, FenceValue, HeapOffset};
use proptest::prelude::*;

fn linear(capacity: u64) -> Linear {
    Linear::new(ByteSize::new(capacity)).unwrap()
}

/// Returns whether the request fits between two offsets.
fn fits((start, end): (u64, u64), size: u64, alignment: Alignment) -> bool {
    let mask = u128::from(alignment.get() - 1);
    let aligned = (u128::from(start) + mask) & !mask;
    aligned + u128::from(size) <= u128::from(end)
}

fn free_gaps(heap: &Linear) -> Vec<(u64, u64)> {
    let free = heap.ranges().filter(RangeUse::is_free).map(|free| free.range());
    free.map(|range| (range.start().get(), range.end().get())).collect()
}

/// The lower end is exact: no request that fits into a reported free range is refused.
fn may_refuse(heap: &Linear, _: &IntervalMap, size: u64, alignment: Alignment) {
    for gap in free_gaps(heap) {
        assert!(!fits(gap, size, alignment), "{size} at {alignment} fits");
    }
}

/// Returns the live suballocations of one end in allocation order.
fn in_order(heap: &Shadowed<Linear>, upper: &[SuballocationId], of_upper: bool) -> Vec<Suballocation> {
    heap.live.iter().filter(|live| upper.contains(&live.id) == of_upper).copied().collect()
}

/// Returns the free gaps, computed from the live suballocations in allocation order alone, and whether the
/// ring has wrapped.
fn expected_free(capacity: u64, lower: &[Suballocation], upper: &[Suballocation]) -> (Vec<(u64, u64)>, bool) {
    let to = upper.iter().map(|live| live.range.start().get()).min().unwrap_or(capacity);
    let (oldest, newest) = match (lower.first(), lower.last()) {
        (Some(oldest), Some(newest)) => (oldest.range.start().get(), newest.range.end().get()),
        _ => (0, 0),
    };
    let has_wrapped = lower.windows(2).any(|pair| pair[1].range.start() < pair[0].range.start());
    let gaps = match (has_wrapped, upper.is_empty()) {
        (true, _) => vec![(newest, oldest)],
        (false, true) => vec![(0, oldest), (newest, to)],
        (false, false) => vec![(newest, to)],
    };
    (gaps.into_iter().filter(|(start, end)| start < end).collect(), has_wrapped)
}

/// Checks the free gaps, that the largest request succeeds, and that freeing it restores the state.
fn check_gaps(heap: &mut Shadowed<Linear>, upper: &[SuballocationId]) {
    let [lower_live, upper_live] = [false, true].map(|of_upper| in_order(heap, upper, of_upper));
    let (expected, has_wrapped) = expected_free(heap.shadow.capacity(), &lower_live, &upper_live);
    let gaps = free_gaps(&heap.heap);
    assert_eq!(gaps, expected);
    let largest = gaps.iter().map(|(start, end)| end - start).max().unwrap_or(0);
    assert_eq!(heap.heap.largest_free_range().get(), largest);
    let before = heap.state();
    assert!(heap.allocate(largest + 1, Alignment::ONE).is_err());
    let one = ByteSize::new(1);
    if has_wrapped {
        let refused = heap.heap.allocate_upper(one, Alignment::ONE).unwrap_err();
        assert!(refused.is_out_of_space());
    }
    if largest > 0 {
        heap.allocate(largest, Alignment::ONE).unwrap();
        heap.free(heap.live.len() - 1);
    }
    assert_eq!(heap.state(), before);
}

fn run(capacity: u64, _: u64, steps: Vec<Step>) {
    shadowed::run(|| linear(capacity), may_refuse, steps, |heap| check_gaps(heap, &[]));
}

/// Runs steps at both ends; each bit of `ends` is an end.
fn run_both(capacity: u64, ends: u64, steps: Vec<Step>) {
    let (mut number, upper) = (0, RefCell::new(Vec::new()));
    let allocate = |heap: &mut Shadowed<Linear>, size, alignment| {
        number += 1;
        if ends >> (number % 64) & 1 == 1 {
            let allocate = |heap: &mut Linear| heap.allocate_upper(ByteSize::new(size), alignment);
            let answer = heap.allocate_by(size, alignment, allocate);
            upper.borrow_mut().extend(answer.ok().map(|suballocation| suballocation.id));
        } else {
            let largest = heap.heap.largest_free_range().get();
            let is_possible = 0 < size && size <= largest && alignment == Alignment::ONE;
            assert!(heap.allocate(size, alignment).is_ok() || !is_possible, "{size}, and {largest} are free");
        }
    };
    let make = || linear(capacity);
    shadowed::run_with(make, |_, _, _, _| (), steps, allocate, |heap| check_gaps(heap, &upper.borrow()));
}

every_algorithm!(Linear, may_refuse, run);

mod both_ends {
    use super::*;

    every_algorithm!(Linear, may_refuse, run_both);
}

proptest! {
    #![proptest_config(config())]

    /// A renderer with a number of frames in flight, and a maximum number of bytes per frame.
    #[test]
    fn a_ring_for_the_frames_in_flight_never_refuses(
        frames in prop::collection::vec(prop::collection::vec(1_u64..=256, 0..16), 1..STEPS / 4),
        in_flight in 1_u64..4,
    ) {
        // One frame is recorded while the others are in flight, and the end of the ring may be skipped.
        let frame = 16 * 256;
        let mut ring = linear((in_flight + 1) * frame + 256);
        for (number, uploads) in (1_u64..).zip(frames) {
            ring.retire(FenceValue::new(number.saturating_sub(in_flight + 1)));
            for size in uploads {
                ring.allocate(ByteSize::new(size), alignment(8)).unwrap();
            }
            ring.submit(FenceValue::new(number)).unwrap();
            ring.audit().unwrap();
        }
    }

    /// At the upper end, a request fits exactly if it fits between the two ends and the ring has not wrapped.
    #[test]
    fn the_upper_end_is_exact(
        lower in prop::collection::vec(1_u64..300, 0..6),
        freed in 0_usize..4,
        requests in prop::collection::vec((1_u64..400, 0_u32..9), 1..8),
    ) {
        let mut heap = linear(1000);
        let mut live: Vec<_> =
            lower.into_iter().filter_map(|size| heap.allocate(ByteSize::new(size), Alignment::ONE).ok()).collect();
        for one in live.drain(..freed.min(live.len())) {
            heap.free(one.id).unwrap();
        }
        live.extend(heap.allocate(ByteSize::new(200), Alignment::ONE));
        let start = live.last().map_or(0, |newest| newest.range.end().get());
        let has_wrapped = live.windows(2).any(|pair| pair[1].range.start() < pair[0].range.start());
        let mut end = 1000;
        for (size, log2) in requests {
            let latest = u64::checked_sub(end, size).map(|latest| latest & !((1 << log2) - 1));
            let expected = latest.filter(|&latest| latest >= start && !has_wrapped);
            let answer = heap.allocate_upper(ByteSize::new(size), alignment(log2));
            prop_assert_eq!(answer.ok().map(|made| made.range.start().get()), expected);
            end = expected.unwrap_or(end);
            heap.audit().unwrap();
        }
    }
}

#[test]
fn the_largest_ranges_there_are() {
    let mut heap = Shadowed::new(linear(1 << 63), may_refuse);
    heap.allocate(1 << 62, Alignment::MAX).unwrap();
    assert!(heap.allocate(1, Alignment::MAX).unwrap_err().is_out_of_space());
    assert_eq!(heap.allocate(1 << 62, alignment(62)).unwrap().range.end(), HeapOffset::new(1 << 63));
    assert!(heap.allocate(1, Alignment::ONE).unwrap_err().is_out_of_space());
    heap.free(0);
    assert_eq!(heap.allocate(1, Alignment::MAX).unwrap().range.start(), HeapOffset::ZERO);

    let mut heap = linear(1 << 63);
    let (size, at) = (ByteSize::new(1 << 62), alignment(62));
    assert_eq!(heap.allocate_upper(size, at).unwrap().range.start(), HeapOffset::new(1 << 62));
    assert_eq!(heap.allocate_upper(size, Alignment::MAX).unwrap().range.start(), HeapOffset::ZERO);
    assert_eq!(heap.free_size(), ByteSize::ZERO);
}

#[test]
fn requests_at_the_upper_end_that_can_never_succeed_say_so() {
    let mut heap = linear(4096);
    for size in [4097, 1 << 63, u64::MAX].map(ByteSize::new) {
        let refused = heap.allocate_upper(size, Alignment::MAX);
        assert!(matches!(refused, Err(SuballocError::LargerThanCapacity { .. })), "{refused:?}");
    }
    assert_eq!(heap.allocate_upper(ByteSize::ZERO, Alignment::ONE), Err(SuballocError::ZeroSize));
    assert!(heap.is_empty());
}
