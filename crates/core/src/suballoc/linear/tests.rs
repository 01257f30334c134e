//! Tests that need private state. `tests/suballoc` tests the public behaviour.

use proptest::prelude::*;

use super::super::private_state_tests::*;
use super::super::suballocation::Stamp;
use super::super::{NoValue, SuballocationId};
use super::batches::Batch;
use super::suballocator::{Allocated, LOWER};
use super::*;
use crate::{Alignment, ByteSize, FenceValue};

fn linear(capacity: u64) -> Linear {
    Linear::new(ByteSize::new(capacity)).unwrap()
}

proptest! {
    #![proptest_config(config())]

    /// Compares the queues and counters, so that all later calls behave the same.
    #[test]
    fn after_freeing_everything_the_state_is_that_of_a_new_one(
        capacity in 1_u64..5000,
        requests in prop::collection::vec((1_u64..400, 0_u32..8, any::<bool>()), 1..40),
        order in any::<prop::sample::Index>(),
        how in 0..3,
    ) {
        let (mut heap, fresh) = (linear(capacity), linear(capacity));
        let mut live = Vec::new();
        for (size, log2, upper) in requests {
            let (size, alignment) = (ByteSize::new(size), Alignment::from_log2(log2).unwrap());
            live.extend(if upper { heap.allocate_upper(size, alignment) } else { heap.allocate(size, alignment) });
        }
        heap.submit(FenceValue::new(1)).unwrap();
        match how {
            0 => free_all(&mut heap, live, order),
            1 => heap.clear(),
            _ => {
                heap.retire(FenceValue::new(1));
            }
        }
        // Everything but the stamps, which continue.
        prop_assert_eq!((&heap.ends, heap.used, heap.allocation_count), (&fresh.ends, 0, 0));
        prop_assert!(heap.batches.pending.is_empty());
    }
}

#[test]
fn a_refused_request_changes_nothing() {
    check_refusals(&mut linear(1000), |heap| (heap.ends.clone(), heap.next_stamp, heap.batches.clone()));
}

/// The queues have an entry per range that was live at the same time, and per batch, however many suballocations were
/// made.
#[test]
fn metadata_is_proportional_to_live_ranges() {
    let mut heap = linear(10_000);
    let rounds = if cfg!(miri) { 200 } else { 20_000 };
    for number in 0..rounds {
        heap.retire(FenceValue::new(u64::saturating_sub(number, 3)));
        for size in 1..10 {
            put(&mut heap, size * 20);
        }
        heap.submit(FenceValue::new(number)).unwrap();
        assert!(heap.batches.pending.len() <= 4);
    }
    assert!(heap.ends[LOWER].capacity() <= 64);
    assert!(heap.batches.pending.capacity() <= 8);
}

#[test]
fn the_queue_does_not_grow_within_the_reserved_capacity() {
    let mut heap = linear(10_000);
    heap.reserve(400);
    let reserved = heap.ends[LOWER].capacity();
    for _ in 0..400 {
        put(&mut heap, 10);
    }
    assert_eq!(heap.ends[LOWER].capacity(), reserved);
}

#[test]
fn an_id_that_names_no_range_is_stale() {
    let mut one = linear(100);
    let mut two = Linear::new(ByteSize::new(100)).unwrap();
    let beyond = (0..3).map(|_| put(&mut two, 1)).last().unwrap();
    put(&mut one, 1);
    assert!(one.free(beyond.id).is_err(), "the stamp was not issued");
    for slot in 2..5 {
        let id = SuballocationId::new(slot.try_into().unwrap(), Stamp::FIRST);
        assert!(one.free(id).is_err() && one.value(id).is_none(), "the stamp is of the other end");
    }
    one.audit().unwrap();
    two.audit().unwrap();
}

/// Violates one invariant at a time, to test that the audit detects it.
mod audit_finds {
    use super::*;

    /// Wrapped: 20 bytes at 40 and 60, then 30 at zero; one batch of the first, one of the others.
    fn heap() -> Linear {
        let mut heap = linear(100);
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

    fn nth(heap: &mut Linear, position: usize) -> &mut Allocated<NoValue> {
        &mut heap.ends[LOWER][position]
    }

    #[test]
    fn each_violation() {
        let violations: [Violation<Linear>; 14] = [
            ("starts before 0x3c", |heap| nth(heap, 1).start = 59),
            ("starts before 0x29", |heap| nth(heap, 2).start = 11),
            ("exceeds 0x4f", |heap| heap.capacity = 79),
            ("was freed is the oldest", |heap| nth(heap, 0).size = 0),
            ("is not greater", |heap| nth(heap, 1).stamp = Stamp::FIRST),
            ("not issued yet", |heap| heap.next_stamp = Stamp::FIRST.next().next()),
            ("live ranges, recorded", |heap| heap.used += 1),
            ("live ranges, recorded", |heap| heap.allocation_count += 1),
            ("is empty", |heap| heap.batches.pending[0].end = Stamp::FIRST),
            ("is empty", |heap| heap.batches.pending[1].end = heap.batches.pending[0].end),
            ("is empty", |heap| {
                heap.ends[LOWER].clear();
                (heap.used, heap.allocation_count) = (0, 0);
            }),
            ("is not greater", |heap| heap.batches.pending[1].fence = FenceValue::new(1)),
            ("greater than the recorded", |heap| heap.batches.latest = Some(FenceValue::new(1))),
            ("beyond the next stamp", |heap| {
                let beyond = heap.next_stamp.next();
                heap.batches.pending.push_back(Batch { fence: FenceValue::new(3), end: beyond });
            }),
        ];
        check_audit(heap, &violations);
    }

    #[test]
    fn stacks_that_overlap_and_stacks_that_are_not_ascending() {
        let two_ends = || {
            let mut heap = linear(100);
            put(&mut heap, 30);
            put(&mut heap, 10);
            heap.allocate_upper(ByteSize::new(40), Alignment::ONE).unwrap();
            heap
        };
        let violations: [Violation<Linear>; 3] = [
            ("starts before 0x41", |heap| nth(heap, 1).start = 55),
            ("starts before 0x1e", |heap| nth(heap, 1).start = 29),
            ("at the upper end", |heap| {
                nth(heap, 0).start = 20;
                nth(heap, 1).start = 0;
            }),
        ];
        check_audit(two_ends, &violations);
    }
}
