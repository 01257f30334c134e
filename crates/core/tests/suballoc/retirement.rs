//! Retirement by fence values in `Ring`. `virtual_block` compares it with a list of live suballocations, for each algorithm.

use crate::shadowed::{STEPS, alignment, config};
use heapwright_core::suballoc::{RangeUse, Retired, Ring, Suballocation};
use heapwright_core::{Alignment, ByteSize, FenceValue};
use proptest::prelude::*;

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

fn ring() -> Ring {
    Ring::new(ByteSize::from_kib(1)).unwrap()
}

fn put(ring: &mut Ring, size: u64) -> Suballocation {
    ring.allocate(ByteSize::new(size), Alignment::ONE).unwrap()
}

#[test]
fn what_was_not_submitted_stays() {
    let mut ring = ring();
    put(&mut ring, 100);
    ring.submit(FenceValue::new(1)).unwrap();
    let kept = put(&mut ring, 50);
    let retired = ring.retire(FenceValue::DEVICE_REMOVED);
    assert_eq!(retired, Retired { suballocations: 1, bytes: ByteSize::new(100) });
    assert_eq!(ring.range_of(kept.id), Ok(kept.range));
    assert_eq!(ring.oldest_fence(), None);
}

#[test]
fn a_batch_goes_on_without_what_was_freed() {
    let mut ring = ring();
    let freed = put(&mut ring, 100);
    put(&mut ring, 50);
    ring.submit(FenceValue::new(1)).unwrap();
    ring.free(freed.id).unwrap();
    assert_eq!(ring.oldest_fence(), Some(FenceValue::new(1)));
    assert_eq!(ring.retire(FenceValue::new(1)), Retired { suballocations: 1, bytes: ByteSize::new(50) });
}

#[test]
fn a_batch_of_which_all_was_freed_is_waited_for_by_nobody() {
    let mut ring = ring();
    let all: Vec<_> = (0..3).map(|_| put(&mut ring, 10)).collect();
    for (number, _) in (1..).zip(&all) {
        put(&mut ring, 10);
        ring.submit(FenceValue::new(number)).unwrap();
    }
    for suballocation in &all {
        ring.free(suballocation.id).unwrap();
    }
    assert_eq!(ring.oldest_fence(), Some(FenceValue::new(1)));
    let last_of_first = ring.ranges().find_map(|range| match range {
        RangeUse::Used(suballocation) => Some(suballocation),
        _ => None,
    });
    ring.free(last_of_first.unwrap().id).unwrap();
    assert_eq!(ring.oldest_fence(), Some(FenceValue::new(2)));
}

#[test]
fn fence_values_do_not_go_backwards_until_it_is_cleared() {
    let mut ring = ring();
    ring.submit(FenceValue::new(5)).unwrap();
    ring.submit(FenceValue::new(5)).unwrap();
    put(&mut ring, 10);
    let refused = ring.submit(FenceValue::new(4)).unwrap_err();
    assert_eq!((refused.fence, refused.latest), (FenceValue::new(4), FenceValue::new(5)));
    // The submission was refused, so it is still in no batch.
    assert_eq!(ring.retire(FenceValue::new(5)), Retired::default());
    ring.submit(FenceValue::new(5)).unwrap();
    assert_eq!(ring.retire(FenceValue::new(5)).suballocations, 1);
    // It is refused even if nothing is live.
    ring.submit(FenceValue::new(4)).unwrap_err();
    ring.clear();
    ring.submit(FenceValue::new(1)).unwrap();
}

#[test]
fn two_submissions_under_one_value_are_one_batch() {
    let mut ring = ring();
    for _ in 0..2 {
        put(&mut ring, 10);
        ring.submit(FenceValue::new(3)).unwrap();
    }
    assert_eq!(ring.retire(FenceValue::new(2)), Retired::default());
    assert_eq!(ring.retire(FenceValue::new(3)).suballocations, 2);
}

#[test]
fn clear_takes_back_what_is_in_flight() {
    let mut ring = ring();
    put(&mut ring, 10);
    ring.submit(FenceValue::new(3)).unwrap();
    ring.clear();
    assert_eq!(ring.retire(FenceValue::new(3)), Retired::default());
    assert!(ring.is_empty());
}

#[test]
fn a_lower_value_than_before_takes_nothing_back() {
    let mut ring = ring();
    for number in 1..4 {
        put(&mut ring, 10);
        ring.submit(FenceValue::new(number)).unwrap();
    }
    assert_eq!(ring.retire(FenceValue::new(2)).suballocations, 2);
    assert_eq!(ring.retire(FenceValue::new(1)), Retired::default());
    assert_eq!(ring.allocation_count(), 1);
}
