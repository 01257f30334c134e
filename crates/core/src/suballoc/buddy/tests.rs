//! Tests that need private state. `tests/suballoc` tests the public behaviour.

use proptest::prelude::*;

use super::super::SuballocError;
use super::super::private_state_tests::*;
use super::blocks::{Block, EDGE};
use super::order::Order;
use super::*;
use crate::{Alignment, ByteSize};

fn buddy(capacity: u64) -> Buddy {
    Buddy::new(ByteSize::new(capacity)).unwrap()
}

/// Compares everything but the stamps, which continue.
fn assert_same_state(left: &Buddy, right: &Buddy) {
    assert_eq!(left.blocks, right.blocks);
    assert_eq!(
        (left.capacity, left.minimum, left.used, left.free, left.allocation_count),
        (right.capacity, right.minimum, right.used, right.free, right.allocation_count)
    );
}

proptest! {
    #![proptest_config(config())]

    /// Compares the table, rings and bitmap as well as the roots, so that all later calls behave the same.
    #[test]
    fn after_freeing_everything_the_state_is_that_of_a_new_one(
        capacity in 1_u64..5000, requests in requests(), order in any::<prop::sample::Index>(), clear in any::<bool>(),
    ) {
        let mut heap = buddy(capacity);
        let live = requests.iter().filter_map(|&(size, alignment)| heap.allocate(size, alignment).ok()).collect();
        if clear {
            heap.clear();
        } else {
            free_all(&mut heap, live, order);
        }
        assert_same_state(&heap, &buddy(capacity));
    }
}

#[test]
fn a_refused_request_changes_nothing() {
    check_refusals(&mut buddy(1000), |heap| (heap.blocks.clone(), heap.next_stamp));
}

/// The table of a range of 1 TiB with blocks of one byte holds only live blocks and the blocks they were
/// split from.
#[test]
fn the_table_is_proportional_to_live_blocks() {
    let mut heap = buddy(1 << 40);
    assert_eq!(heap.blocks.slots.count(), 1);
    put(&mut heap, 1);
    assert_eq!(heap.blocks.slots.count(), 41);
    let mut live: Vec<_> = (1..200).map(|size| put(&mut heap, size)).collect();
    let slot_count = heap.blocks.slots.slot_count() + live.len();
    churn(&mut heap, &mut live);
    assert!(heap.blocks.slots.slot_count() <= slot_count);
}

#[test]
fn the_table_does_not_move_within_the_reserved_capacity() {
    let mut heap = buddy(1 << 20);
    heap.reserve(400);
    let table = heap.blocks.slots.address();
    for _ in 0..200 {
        put(&mut heap, 300);
    }
    assert_eq!(heap.blocks.slots.address(), table);
}

#[test]
fn the_number_of_blocks_is_limited_and_a_full_table_recovers() {
    let mut heap = Buddy::with_block_limit(ByteSize::new(64), Alignment::ONE, 8).unwrap();
    let small = put(&mut heap, 1);
    assert_eq!(heap.blocks.slots.count(), 7);
    let halved = put(&mut heap, 20);
    put(&mut heap, 1);
    // The smallest free block has 2 bytes: one more block. The next has 4: two more.
    put(&mut heap, 1);
    put(&mut heap, 1);
    let refused = heap.allocate(ByteSize::new(1), Alignment::ONE).unwrap_err();
    assert_eq!(refused, SuballocError::TooManyRanges { limit: 8 });
    assert!(refused.is_out_of_space());
    heap.audit().unwrap();
    // A request that needs no halving still succeeds.
    put(&mut heap, 4);
    heap.free(small.id).unwrap();
    heap.free(halved.id).unwrap();
    put(&mut heap, 1);
    heap.audit().unwrap();
}

#[test]
fn an_id_that_names_no_block_is_stale() {
    // Ids of another suballocator, whose slots are free blocks here or lie beyond the table.
    let (mut small, mut large) = (buddy(3), buddy(1 << 63));
    let in_the_second_root = (0..3).map(|_| put(&mut small, 1)).last().unwrap();
    assert!(large.free(in_the_second_root.id).is_err());
    for _ in 0..3 {
        put(&mut large, 1);
    }
    let beyond = large.allocate(ByteSize::new(1 << 61), Alignment::ONE).unwrap();
    assert!(small.free(beyond.id).is_err());
    small.audit().unwrap();
    large.audit().unwrap();
}

/// Violates one invariant at a time, to test that the audit detects it.
mod audit_finds {
    use super::super::super::slots::SlotIndex;
    use super::super::super::suballocation::Stamp;
    use super::*;

    /// Free 16, used 16, free 32, used 64 (of which 24 bytes are padding), free 128 and 256.
    fn heap() -> Buddy {
        let mut heap = buddy(512);
        let [first, _, _] = [16, 16, 40].map(|size| put(&mut heap, size));
        heap.free(first.id).unwrap();
        heap.audit().unwrap();
        heap
    }

    fn nth_index(heap: &Buddy, position: usize) -> SlotIndex {
        (0..position).fold(heap.blocks.slots[EDGE].above, |index, _| heap.blocks.slots[index].above)
    }

    fn nth(heap: &mut Buddy, position: usize) -> &mut Block {
        let index = nth_index(heap, position);
        &mut heap.blocks.slots[index]
    }

    #[test]
    fn each_violation() {
        let violations: [Violation<Buddy>; 19] = [
            ("where the previous block ends", |heap| nth(heap, 0).set_free(0, 8)),
            ("where the previous block ends", |heap| nth(heap, 0).set_free(0, 32)),
            ("is not a power of two or is below the minimum", |heap| nth(heap, 5).set_free(256, 255)),
            ("has an invalid size", |heap| nth(heap, 5).set_free(256, 0)),
            ("is not a power of two or is below the minimum", |heap| heap.minimum = Order::new(5)),
            ("instead of 0x201", |heap| heap.capacity = 513),
            ("does not start at a multiple", |heap| {
                nth(heap, 1).set_free(16, 32);
                nth(heap, 2).set_free(48, 16);
            }),
            ("are free buddies", |heap| nth(heap, 1).set_free(16, 16)),
            ("does not link back", |heap| nth(heap, 1).below = EDGE),
            ("free blocks in the free lists", |heap| {
                let index = nth_index(heap, 2);
                heap.blocks.unlink_free(index, Order::new(5));
            }),
            ("wrong size for the free list of Order(6)", |heap| {
                let index = nth_index(heap, 2);
                heap.blocks.unlink_free(index, Order::new(5));
                heap.blocks.link_free(index, Order::new(6));
            }),
            ("wrong for Order(0)", |heap| heap.blocks.free_orders |= 1),
            ("wrong for Order(5)", |heap| heap.blocks.free_orders &= !32),
            ("used bytes", |heap| heap.used += 1),
            ("free bytes", |heap| heap.free -= 1),
            ("used blocks", |heap| heap.allocation_count += 1),
            ("not issued yet", |heap| heap.next_stamp = Stamp::FIRST),
            ("the same stamp", |heap| {
                let stamp = nth(heap, 1).stamp().unwrap();
                nth(heap, 3).set_used(40, stamp);
            }),
            ("linked blocks", |heap| {
                heap.blocks.slots.insert(Block::EDGE);
            }),
        ];
        check_audit(heap, &violations);
    }
}
