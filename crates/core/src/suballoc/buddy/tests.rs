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
        (left.capacity, left.used, left.free, left.allocation_count),
        (right.capacity, right.used, right.free, right.allocation_count)
    );
}

proptest! {
    #![proptest_config(config())]

    /// Compares the table, rings and bitmap as well as the roots, so that all later calls behave the same.
    #[test]
    fn after_freeing_everything_the_state_is_that_of_a_new_one(
        capacity in 1_u64..5000, requests in requests(), order in any::<prop::sample::Index>(),
    ) {
        let mut heap = buddy(capacity);
        let live = requests.iter().filter_map(|&(size, alignment)| heap.allocate(size, alignment).ok()).collect();
        free_all(&mut heap, live, order);
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
fn the_number_of_blocks_is_limited_and_a_full_table_recovers() {
    let mut heap = Buddy::with_block_limit(ByteSize::new(64), 8).unwrap();
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
        let violations: [Violation<Buddy>; 18] = [
            ("where the previous block ends", |heap| nth(heap, 0).set_free(0, 8)),
            ("where the previous block ends", |heap| nth(heap, 0).set_free(0, 32)),
            ("is not a power of two", |heap| nth(heap, 5).set_free(256, 255)),
            ("has an invalid size", |heap| nth(heap, 5).set_free(256, 0)),
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

/// Compares buddies with a map of the used and free ranges.
mod agree_with_an_interval_map {
    use super::super::super::interval_map::IntervalMap;
    use super::super::super::{RangeUse, Suballocation};
    use super::*;
    use crate::HeapOffset;

    /// Returns the free blocks as (start, size), computed from the used ranges alone: the largest aligned powers
    /// of two that fit between them.
    fn expected_free(shadow: &IntervalMap) -> Vec<(u64, u64)> {
        let ends = shadow
            .used_ranges()
            .map(|(start, size)| (start, start + size.next_power_of_two()))
            .chain([(shadow.capacity(), shadow.capacity())]);
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

    struct Shadowed {
        heap: Buddy,
        shadow: IntervalMap,
        live: Vec<Suballocation>,
    }

    impl Shadowed {
        fn new(capacity: u64) -> Self {
            Self { heap: buddy(capacity), shadow: IntervalMap::new(capacity), live: Vec::new() }
        }

        /// Allocates, and checks a refusal against the documented guarantees.
        fn allocate(&mut self, size: u64, alignment: Alignment) -> Option<Suballocation> {
            match self.heap.allocate(ByteSize::new(size), alignment) {
                Ok(one) => {
                    assert!(one.range.start().is_aligned(alignment) && one.range.size().get() == size);
                    self.shadow.take(one.range.start().get(), size);
                    self.live.push(one);
                    return Some(one);
                }
                Err(SuballocError::ZeroSize) => assert_eq!(size, 0),
                Err(SuballocError::LargerThanCapacity { .. }) => assert!(size > self.shadow.capacity()),
                Err(refused) => {
                    assert!(refused.is_out_of_space());
                    let (free, block) = (expected_free(&self.shadow), size.next_power_of_two());
                    assert!(!free.iter().any(|&(_, free)| free >= block.max(alignment.get())), "{refused}");
                    let candidates =
                        || free.iter().filter(|&&(_, free)| free >= block && free < alignment.get());
                    if candidates().count() <= 64 {
                        let fitting =
                            candidates().find(|&&(start, _)| HeapOffset::new(start).is_aligned(alignment));
                        assert_eq!(fitting, None, "{size} at {alignment} fits");
                    }
                }
            }
            None
        }

        fn free(&mut self, at: usize) {
            let one = self.live.swap_remove(at);
            assert_eq!(self.heap.free(one.id), Ok(one.range));
            assert_eq!(self.heap.free(one.id), Err(SuballocError::StaleId { id: one.id }));
            self.shadow.give_back(one.range.start().get(), one.range.size().get());
        }

        /// Checks the ranges, and that the free blocks are as large as they can be.
        fn check(&self) {
            self.heap.audit().unwrap();
            let (mut end, mut used, mut free) = (0, Vec::new(), Vec::new());
            for range_use in self.heap.ranges() {
                let range = range_use.range();
                let range = (range.start().get(), range.size().get());
                assert_eq!(range.0, end);
                end = range.0 + range.1;
                match range_use {
                    RangeUse::Used(_) => used.push(range),
                    RangeUse::Free(_) => free.push(range),
                    RangeUse::Padding(_) => {}
                }
            }
            assert_eq!(end, self.shadow.capacity());
            assert!(used.iter().copied().eq(self.shadow.used_ranges()));
            assert_eq!(free, expected_free(&self.shadow));
            let sum = |ranges: &[(u64, u64)]| ranges.iter().map(|&(_, size)| size).sum::<u64>();
            assert_eq!((self.heap.used().get(), self.heap.free_size().get()), (sum(&used), sum(&free)));
            let largest = free.iter().map(|&(_, size)| size).max().unwrap_or(0);
            assert_eq!(self.heap.largest_free_range(), ByteSize::new(largest));
        }
    }

    proptest! {
        #![proptest_config(config())]

        #[test]
        fn after_each_step(
            capacity in prop_oneof![1_u64..3000, (63_u64 << 20)..64 << 20, (1_u64 << 62)..=1 << 63],
            steps in prop::collection::vec(
                (0_u32..64, any::<u64>(), prop_oneof![Just(0), 0_u32..12, 0_u32..64], any::<prop::sample::Index>(), 0..5),
                0..if cfg!(miri) { 20 } else { 120 },
            ),
        ) {
            let mut heap = Shadowed::new(capacity);
            for (log2, bits, alignment_log2, at, step) in steps {
                match step {
                    0 => {
                        heap.allocate(bits % 300, Alignment::from_log2(alignment_log2).unwrap());
                    }
                    // All magnitudes up to twice the capacity.
                    1 | 2 => {
                        let power = 1 << (log2 % (capacity.ilog2() + 2)).min(63);
                        heap.allocate(power | (bits & (power - 1)), Alignment::from_log2(alignment_log2).unwrap());
                    }
                    _ if heap.live.is_empty() => {}
                    _ => heap.free(at.index(heap.live.len())),
                }
                heap.check();
            }
            while !heap.live.is_empty() {
                heap.free(heap.live.len() / 2);
            }
            assert_same_state(&heap.heap, &buddy(capacity));
        }
    }

    #[test]
    fn a_capacity_of_zero_or_beyond_2_to_the_63_is_refused() {
        for capacity in [0, (1 << 63) + 1, u64::MAX] {
            let refused = Buddy::new(ByteSize::new(capacity)).unwrap_err();
            assert!(matches!(refused, SuballocError::CapacityOutOfBounds { .. }), "{refused}");
        }
    }

    /// Each root but the first starts at a multiple of more than its own size.
    #[test]
    fn a_root_serves_the_alignment_at_which_it_starts() {
        let mut heap = Shadowed::new(5 << 20);
        heap.allocate(4 << 20, Alignment::ONE).unwrap();
        let aligned = heap.allocate(1 << 20, Alignment::from_log2(22).unwrap()).unwrap();
        assert_eq!(aligned.range.start(), HeapOffset::new(4 << 20));
    }

    /// If there is no block of the alignment's size, a smaller block with an aligned start is used.
    #[test]
    fn what_was_halved_for_an_alignment_serves_it_again() {
        let (mut heap, page) = (Shadowed::new(1 << 16), Alignment::from_log2(16).unwrap());
        let hole = heap.allocate(4096, page).unwrap();
        heap.allocate(4096, Alignment::ONE).unwrap();
        assert_eq!(heap.allocate(4096, page), None);
        heap.free(0);
        assert_eq!(heap.allocate(4000, page).unwrap().range.start(), hole.range.start());
    }

    /// Creates `count` free blocks of 1 KiB at odd multiples of 1 KiB, and one more that starts at a multiple
    /// of 4 KiB.
    fn one_hole_among(count: u64) -> Shadowed {
        let mut heap = Shadowed::new((count + 1) << 12);
        while heap.allocate(1024, Alignment::ONE).is_some() {}
        let is_hole = |start: u64| start == 0 || start % 4096 == 1024 && start > 4096;
        // The aligned hole is freed first, so it is examined last.
        let mut holes: Vec<_> =
            heap.live.iter().map(|s| s.range.start().get()).filter(|&s| is_hole(s)).collect();
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
        let page = Alignment::from_log2(12).unwrap();
        let found = one_hole_among(63).allocate(1000, page).unwrap();
        assert_eq!(found.range.start(), HeapOffset::ZERO);
        assert_eq!(one_hole_among(64).allocate(1000, page), None);
    }

    #[test]
    fn the_block_that_became_free_last_is_taken_first() {
        let mut heap = Shadowed::new(64);
        let all: Vec<_> = (0..8).map(|_| heap.allocate(8, Alignment::ONE).unwrap()).collect();
        // No two of them are buddies.
        for at in [6, 2, 4] {
            let index = heap.live.iter().position(|live| live.id == all[at].id).unwrap();
            heap.free(index);
        }
        for at in [4, 2, 6] {
            assert_eq!(heap.allocate(8, Alignment::ONE).unwrap().range, all[at].range);
        }
    }
}
