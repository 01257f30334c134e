//! Tests the public behaviour of `Ring` against a simple interval map that cannot fail in the same way.

use crate::shadowed::{self, IntervalMap, STEPS, Step, alignment, config};
use heapwright_core::suballoc::{RangeUse, Ring, Suballocation};
use heapwright_core::{Alignment, ByteSize, FenceValue, HeapOffset};
use proptest::prelude::*;

type Shadowed = shadowed::Shadowed<Ring>;

fn ring(capacity: u64) -> Ring {
    Ring::new(ByteSize::new(capacity)).unwrap()
}

fn shadowed(capacity: u64) -> Shadowed {
    Shadowed::new(ring(capacity), may_refuse)
}

fn free_gaps(ring: &Ring) -> Vec<(u64, u64)> {
    let free = ring.ranges().filter(RangeUse::is_free).map(|free| free.range());
    free.map(|range| (range.start().get(), range.end().get())).collect()
}

/// A ring is exact: no request that fits into a reported free range is refused.
fn may_refuse(ring: &Ring, _: &IntervalMap, size: u64, alignment: Alignment) {
    let mask = u128::from(alignment.get() - 1);
    for (start, end) in free_gaps(ring) {
        let aligned = (u128::from(start) + mask) & !mask;
        assert!(aligned + u128::from(size) > u128::from(end), "{size} at {alignment} fits");
    }
}

/// Returns the free gaps, computed from the live suballocations in allocation order alone: from the newest
/// around to the oldest.
fn expected_free(capacity: u64, in_order: &[Suballocation]) -> Vec<(u64, u64)> {
    let (Some(oldest), Some(newest)) = (in_order.first(), in_order.last()) else {
        return vec![(0, capacity)];
    };
    let (from, to) = (newest.range.end().get(), oldest.range.start().get());
    let has_wrapped = in_order.windows(2).any(|pair| pair[1].range.start() < pair[0].range.start());
    let gaps = if has_wrapped { vec![(from, to)] } else { vec![(0, to), (from, capacity)] };
    gaps.into_iter().filter(|(start, end)| start < end).collect()
}

/// Checks the free gaps, that the largest request succeeds, and that freeing it restores the state.
fn check_gaps(heap: &mut Shadowed) {
    let mut in_order = heap.live.clone();
    // Stamps are private but printed. They define the order.
    let stamp = |live: &Suballocation| -> u64 {
        let text = format!("{:?}", live.id);
        text.trim_end_matches(')').rsplit('#').next().unwrap().parse().unwrap()
    };
    in_order.sort_by_key(stamp);
    let gaps = free_gaps(&heap.heap);
    assert_eq!(gaps, expected_free(heap.shadow.capacity(), &in_order));
    let largest = gaps.iter().map(|(start, end)| end - start).max().unwrap_or(0);
    assert_eq!(heap.heap.largest_free_range().get(), largest);
    let before = heap.state();
    assert!(heap.allocate(largest + 1, Alignment::ONE).is_err());
    if largest > 0 {
        heap.allocate(largest, Alignment::ONE).unwrap();
        heap.free(heap.live.len() - 1);
    }
    assert_eq!(heap.state(), before);
}

fn run(capacity: u64, _: u64, steps: Vec<Step>) {
    shadowed::run(|| ring(capacity), may_refuse, steps, check_gaps);
}

every_algorithm!(Ring, may_refuse, run);

/// Frees the oldest, and keeps the order of the others.
fn free_oldest(heap: &mut Shadowed) {
    heap.live.reverse();
    heap.free(heap.live.len() - 1);
    heap.live.reverse();
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
        let mut ring = Ring::new(ByteSize::new((in_flight + 1) * frame + 256)).unwrap();
        for (number, uploads) in (1_u64..).zip(frames) {
            ring.retire(FenceValue::new(number.saturating_sub(in_flight + 1)));
            for size in uploads {
                ring.allocate(ByteSize::new(size), alignment(8)).unwrap();
            }
            ring.submit(FenceValue::new(number)).unwrap();
            ring.audit().unwrap();
        }
    }
}

#[test]
fn the_largest_ring_there_is() {
    let mut heap = shadowed(1 << 63);
    heap.allocate(1 << 62, Alignment::MAX).unwrap();
    assert!(heap.allocate(1, Alignment::MAX).unwrap_err().is_out_of_space());
    heap.allocate(1, alignment(62)).unwrap();
    free_oldest(&mut heap);
    assert_eq!(heap.allocate(1, Alignment::MAX).unwrap().range.start(), HeapOffset::ZERO);
}
