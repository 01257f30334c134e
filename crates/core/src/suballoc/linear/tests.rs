//! Tests that need private state. `tests/suballoc` tests the public behaviour.

use proptest::prelude::*;

use super::super::private_state_tests::*;
use super::super::slots::SlotIndex;
use super::super::suballocation::Stamp;
use super::super::{SuballocError, Suballocator};
use super::batches::{Batch, Batches};
use super::live_ranges::{Chain, LiveRange, LiveRanges};
use super::*;
use crate::{Alignment, ByteSize, FenceValue};

const HEAD: SlotIndex = Chain::FIRST.head();

fn ring(capacity: u64) -> Ring {
    Ring::new(ByteSize::new(capacity)).unwrap()
}

/// Compares everything but the stamps, which continue.
fn assert_same_ranges(left: &LiveRanges, right: &LiveRanges) {
    assert_eq!((&left.slots, left.chains, left.used), (&right.slots, right.chains, right.used));
}

proptest! {
    #![proptest_config(config())]

    /// Compares the table and links as well as the free sizes, so that all later calls behave the same.
    #[test]
    fn after_freeing_everything_the_state_is_that_of_a_new_one(
        capacity in 1_u64..5000,
        requests in prop::collection::vec((1_u64..400, 0_u32..8, any::<bool>()), 1..40),
        order in any::<prop::sample::Index>(),
        how in 0..3,
    ) {
        let capacity = ByteSize::new(capacity);
        let fresh = (Linear::new(capacity).unwrap(), DoubleStack::new(capacity).unwrap(), Ring::new(capacity).unwrap());
        let mut heaps = (Linear::new(capacity).unwrap(), DoubleStack::new(capacity).unwrap(), Ring::new(capacity).unwrap());
        let mut live = (Vec::new(), Vec::new(), Vec::new());
        for (size, log2, upper) in requests {
            let (size, alignment) = (ByteSize::new(size), Alignment::from_log2(log2).unwrap());
            live.0.extend(heaps.0.allocate(size, alignment));
            live.1.extend(if upper { heaps.1.allocate_upper(size, alignment) } else { heaps.1.allocate(size, alignment) });
            live.2.extend(heaps.2.allocate(size, alignment));
        }
        if how == 1 {
            heaps.0.clear();
            heaps.1.clear();
            heaps.2.clear();
        } else {
            let fence = FenceValue::new(1);
            heaps.0.submit(fence).unwrap();
            heaps.2.submit(fence).unwrap();
            free_all(&mut heaps.1, live.1, order);
            if how == 2 {
                heaps.0.retire(fence);
                heaps.2.retire(fence);
            } else {
                free_all(&mut heaps.0, live.0, order);
                free_all(&mut heaps.2, live.2, order);
            }
        }
        assert_same_ranges(&heaps.0.live, &fresh.0.live);
        assert_same_ranges(&heaps.1.live, &fresh.1.live);
        assert_same_ranges(&heaps.2.live, &fresh.2.live);
        prop_assert!(heaps.0.batches.pending.is_empty() && heaps.2.batches.pending.is_empty());
    }
}

#[test]
fn a_refused_request_changes_nothing() {
    check_refusals(&mut ring(1000), |heap| {
        (heap.live.slots.clone(), heap.live.next_stamp, heap.batches.clone())
    });
}

/// The table has a slot per range that was live at the same time, and the queue an entry per batch, however
/// many suballocations were made.
#[test]
fn metadata_is_proportional_to_live_ranges() {
    let mut heap = ring(10_000);
    let rounds = if cfg!(miri) { 200 } else { 20_000 };
    for number in 0..rounds {
        heap.retire(FenceValue::new(u64::saturating_sub(number, 3)));
        for size in 1..10 {
            put(&mut heap, size * 20);
        }
        heap.submit(FenceValue::new(number)).unwrap();
        assert!(heap.batches.pending.len() <= 4);
    }
    assert!(heap.live.slots.slot_count() <= 1 + 4 * 9);
    assert!(heap.batches.pending.capacity() <= 8);
}

#[test]
fn empty_submissions_cost_nothing() {
    let mut heap = ring(100);
    for number in 0..100 {
        heap.submit(FenceValue::new(number)).unwrap();
    }
    assert_eq!(heap.batches.pending.len(), 0);
    put(&mut heap, 1);
    for number in 100..200 {
        heap.submit(FenceValue::new(number)).unwrap();
    }
    assert_eq!(heap.batches.pending.len(), 1);
}

#[test]
fn the_table_does_not_move_within_the_reserved_capacity() {
    let mut heap = ring(10_000);
    heap.reserve(400);
    let table = heap.live.slots.address();
    for _ in 0..400 {
        put(&mut heap, 10);
    }
    assert_eq!(heap.live.slots.address(), table);
}

#[test]
fn the_number_of_ranges_is_limited_and_a_full_table_recovers() {
    let capacity = ByteSize::new(100);
    let mut heaps: [Box<dyn Suballocator>; 3] = [
        Box::new(Linear::with_range_limit(capacity, 2).unwrap()),
        Box::new(DoubleStack::with_range_limit(capacity, 2).unwrap()),
        Box::new(Ring::with_range_limit(capacity, 2).unwrap()),
    ];
    for heap in &mut heaps {
        let mut one = || heap.allocate(ByteSize::new(1), Alignment::ONE);
        let first = one().unwrap();
        one().unwrap();
        assert_eq!(one(), Err(SuballocError::TooManyRanges { limit: 2 }));
        heap.audit().unwrap();
        heap.free(first.id).unwrap();
        heap.allocate(ByteSize::new(1), Alignment::ONE).unwrap();
        heap.audit().unwrap();
    }
}

#[test]
fn an_id_that_names_no_range_is_stale() {
    let (mut one, mut two) = (ring(100), DoubleStack::new(ByteSize::new(100)).unwrap());
    let first = put(&mut one, 1);
    assert!(two.free(first.id).is_err(), "the slot is the head of a chain");
    let beyond = (0..3).map(|_| put(&mut two, 1)).last().unwrap();
    assert!(one.free(beyond.id).is_err(), "the slot does not exist");
    one.audit().unwrap();
    two.audit().unwrap();
}

/// Violates one invariant at a time, to test that the audit detects it.
mod audit_finds {
    use super::*;

    /// Wrapped: 20 bytes at 40 and 60, then 30 at zero; one batch of the first, one of the others.
    fn heap() -> Ring {
        let mut heap = ring(100);
        let first = put(&mut heap, 40);
        put(&mut heap, 20);
        heap.submit(FenceValue::new(1)).unwrap();
        put(&mut heap, 20);
        heap.free(first.id).unwrap();
        put(&mut heap, 30);
        heap.submit(FenceValue::new(2)).unwrap();
        heap.audit().unwrap();
        heap
    }

    fn nth_index(live: &LiveRanges, position: usize) -> SlotIndex {
        (0..position).fold(live.slots[HEAD].newer, |index, _| live.slots[index].newer)
    }

    fn nth(live: &mut LiveRanges, position: usize) -> &mut LiveRange {
        let index = nth_index(live, position);
        &mut live.slots[index]
    }

    #[test]
    fn each_violation() {
        let violations: [Violation<Ring>; 17] = [
            ("starts before 0x3c", |heap| nth(&mut heap.live, 1).start = 59),
            ("exceeds 0x28", |heap| nth(&mut heap.live, 2).start = 11),
            ("exceeds 0x4f", |heap| heap.capacity = 79),
            ("has an invalid size", |heap| nth(&mut heap.live, 1).size = 0),
            ("does not link back", |heap| nth(&mut heap.live, 1).older = HEAD),
            ("the newest range", |heap| {
                let oldest = nth_index(&heap.live, 0);
                heap.live.slots[HEAD].older = oldest;
            }),
            ("is not greater", |heap| nth(&mut heap.live, 1).stamp = Some(Stamp::FIRST)),
            ("is not greater", |heap| nth(&mut heap.live, 1).stamp = None),
            ("not issued yet", |heap| heap.live.next_stamp = Stamp::FIRST.next().next()),
            ("used bytes", |heap| heap.live.used += 1),
            ("linked ranges", |heap| {
                let copy = *nth(&mut heap.live, 0);
                heap.live.slots.insert(copy);
                heap.live.slots.insert(copy);
            }),
            ("is empty", |heap| heap.batches.pending[0].end = Stamp::FIRST),
            ("is empty", |heap| heap.batches.pending[1].end = heap.batches.pending[0].end),
            ("is empty", |heap| {
                heap.live.clear();
            }),
            ("is not greater", |heap| heap.batches.pending[1].fence = FenceValue::new(1)),
            ("greater than the recorded", |heap| heap.batches.latest = Some(FenceValue::new(1))),
            ("beyond the next stamp", |heap| {
                let beyond = heap.live.next_stamp.next();
                heap.batches.pending.push_back(Batch { fence: FenceValue::new(3), end: beyond });
            }),
        ];
        check_audit(heap, &violations);
    }

    #[test]
    fn stacks_that_overlap_and_stacks_that_are_not_ascending() {
        let two_ends = || {
            let mut heap = DoubleStack::new(ByteSize::new(100)).unwrap();
            put(&mut heap, 40);
            heap.allocate_upper(ByteSize::new(40), Alignment::ONE).unwrap();
            heap
        };
        check_audit(two_ends, &[("starts before 0x46", |heap| nth(&mut heap.live, 0).start = 30)]);
        let one_end = || {
            let mut heap = Linear::new(ByteSize::new(100)).unwrap();
            put(&mut heap, 40);
            put(&mut heap, 40);
            heap
        };
        check_audit(one_end, &[("starts before 0x28", |heap| nth(&mut heap.live, 1).start = 39)]);
    }
}

#[test]
fn nothing_is_noted_in_fresh_batches() {
    assert_eq!(Batches::default(), ring(1).batches);
}
