//! Tests that need private state. `tests/suballoc` tests the public behaviour.

use proptest::prelude::*;

use super::super::private_state_tests::*;
use super::super::{NoValue, SuballocError};
use super::nodes::{Link, Node};
use super::*;
use crate::{Alignment, ByteSize};

fn tlsf(capacity: u64) -> Tlsf {
    Tlsf::new(ByteSize::new(capacity)).unwrap()
}

/// Compares everything but the stamps, which continue.
fn assert_same_state(left: &Tlsf, right: &Tlsf) {
    assert_eq!(left.nodes, right.nodes);
    assert_eq!(left.bins, right.bins);
    assert_eq!(
        (left.capacity, left.used, left.allocation_count, left.highest_bin),
        (right.capacity, right.used, right.allocation_count, right.highest_bin)
    );
}

proptest! {
    #![proptest_config(config())]

    /// A resized heap equals a new one of that capacity, except for additional bins.
    #[test]
    fn a_resized_heap_equals_a_new_one(
        capacity in 1_u64..5000,
        other in 1_u64..5000,
        before in prop::collection::vec(1_u64..400, 0..20),
        after in prop::collection::vec((1_u64..400, 0_u32..8), 0..20),
    ) {
        let mut heap = tlsf(capacity);
        let live: Vec<_> =
            before.iter().filter_map(|&size| heap.allocate(ByteSize::new(size), Alignment::ONE).ok()).collect();
        if !live.is_empty() {
            prop_assert!(!heap.try_resize(ByteSize::new(other)), "the list is not empty");
        }
        for suballocation in live {
            heap.free(suballocation.id).unwrap();
        }
        let mut fresh = tlsf(other);
        prop_assert!(!heap.try_resize(ByteSize::ZERO));
        let has_bins = heap.highest_size_class() >= fresh.highest_size_class();
        prop_assert_eq!(heap.try_resize(ByteSize::new(other)), has_bins);
        if has_bins {
            for (size, log2) in after {
                let (size, alignment) = (ByteSize::new(size), Alignment::from_log2(log2).unwrap());
                let place = |heap: &mut Tlsf| heap.allocate(size, alignment).ok().map(|placed| placed.range);
                prop_assert_eq!(place(&mut heap), place(&mut fresh));
                heap.audit().unwrap();
            }
        }
    }

    /// Compares the table, rings and bitmaps as well as the free range, so that all later calls behave the
    /// same.
    #[test]
    fn after_freeing_everything_the_state_is_that_of_a_new_one(
        capacity in 1_u64..5000, requests in requests(), order in any::<prop::sample::Index>(),
    ) {
        let mut heap = tlsf(capacity);
        let live = requests.iter().filter_map(|&(size, alignment)| heap.allocate(size, alignment).ok()).collect();
        free_all(&mut heap, live, order);
        assert_same_state(&heap, &tlsf(capacity));
    }
}

#[test]
fn a_refused_request_changes_nothing() {
    check_refusals(&mut tlsf(1000), |heap| (heap.nodes.clone(), heap.bins.clone(), heap.next_stamp));
}

#[test]
fn the_table_is_proportional_to_live_ranges() {
    let mut heap = tlsf(1 << 20);
    let mut live: Vec<_> = (1..200).map(|size| put(&mut heap, size)).collect();
    let slot_count = heap.nodes.slots().len() + 2 * live.len();
    churn(&mut heap, &mut live);
    assert!(heap.nodes.slots().len() <= slot_count);
}

#[test]
fn the_bins_cost_what_the_documentation_says() {
    let bytes = |capacity| (tlsf(capacity).highest_bin.number() as usize + 1) * size_of::<[Link; 2]>();
    assert_eq!((bytes(64 << 20) / 512, bytes(1 << 63) / 1024), (11, 14));
}

#[test]
fn the_table_does_not_move_within_the_reserved_capacity() {
    let mut heap = tlsf(1 << 20);
    heap.reserve(400);
    let table = heap.nodes.slots().as_ptr();
    put(&mut heap, 1);
    for size in 1..400 {
        // Each has padding before it: two more ranges per suballocation.
        heap.allocate(ByteSize::new(size), Alignment::new(512).unwrap()).unwrap();
    }
    assert_eq!(heap.nodes.slots().as_ptr(), table);
}

#[test]
fn the_number_of_ranges_is_limited_and_a_full_table_recovers() {
    let mut heap = Tlsf::<NoValue>::with_range_limit(ByteSize::new(100), 4).unwrap();
    let mut live = Vec::new();
    let refused = loop {
        match heap.allocate(ByteSize::new(1), Alignment::ONE) {
            Ok(suballocation) => live.push(suballocation),
            Err(refused) => break refused,
        }
        heap.audit().unwrap();
    };
    assert_eq!(refused, SuballocError::TooManyRanges { limit: 4 });
    assert!(refused.is_out_of_space());
    assert_eq!(live.len(), 2);
    heap.audit().unwrap();
    heap.free(live[0].id).unwrap();
    heap.free(live[1].id).unwrap();
    heap.audit().unwrap();
    put(&mut heap, 100);
}

#[test]
fn an_id_that_names_no_range_is_stale() {
    // Ids of another suballocator, whose slots are free here, or lie beyond the table.
    let (mut small, mut large) = (tlsf(1), tlsf(1000));
    let from_large: Vec<_> = (0..90).map(|_| put(&mut large, 1)).collect();
    for of_large in &from_large {
        assert!(small.free(of_large.id).is_err(), "{of_large:?}");
    }
    small.audit().unwrap();
    large.audit().unwrap();
}

#[test]
fn a_large_free_range_keeps_its_node_while_it_is_carved_up() {
    let mut heap = tlsf(1 << 30);
    let whole = heap.first_in(heap.highest_bin);
    put(&mut heap, 1);
    let bin = heap.bins.highest().unwrap();
    for _ in 0..1000 {
        put(&mut heap, 256);
    }
    assert_eq!(heap.bins.highest(), Some(bin));
    assert_eq!(heap.first_in(bin), whole);
}

/// A value that panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("as intended");
    }
}

#[test]
fn a_value_whose_drop_panics_leaves_a_sound_heap() {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    let mut heap = Tlsf::with_values(ByteSize::new(100)).unwrap();
    let all = [1, 2, 3].map(|size| heap.allocate(ByteSize::new(size), Alignment::ONE).unwrap().id);
    for id in [all[0], all[2]] {
        assert!(heap.set_value(id, Some(Bomb)).unwrap().is_none());
    }
    catch_unwind(AssertUnwindSafe(|| heap.free(all[0]))).unwrap_err();
    heap.audit().unwrap();
    assert_eq!(heap.allocation_count(), 2);
    catch_unwind(AssertUnwindSafe(|| heap.clear())).unwrap_err();
    heap.audit().unwrap();
    heap.clear();
    assert!(heap.is_empty());
}

/// Violates one invariant at a time, to test that the audit detects it.
mod audit_finds {
    use super::super::bins::Bin;
    use super::super::nodes::NodeIndex;
    use super::*;

    /// Free, used, free, used, free.
    fn heap() -> Tlsf {
        let mut heap = tlsf(1000);
        let all: Vec<_> = (0..4).map(|_| put(&mut heap, 100)).collect();
        heap.free(all[0].id).unwrap();
        heap.free(all[2].id).unwrap();
        heap.audit().unwrap();
        heap
    }

    fn first(heap: &mut Tlsf) -> &mut Node {
        let index = heap.nodes.slots()[NodeIndex::EDGE].above;
        &mut heap.nodes.parts_mut().0[index]
    }

    /// Returns a free range of other bytes with the same neighbours.
    fn resized(node: Node, start: u64, size: u64) -> Node {
        Node::free(start, size, node.below, node.above)
    }

    #[test]
    fn each_violation() {
        let violations: [Violation<Tlsf>; 11] = [
            ("where the previous range ends", |heap| *first(heap) = resized(*first(heap), 0, 99)),
            ("where the previous range ends", |heap| *first(heap) = resized(*first(heap), 0, 101)),
            ("the heap ends at 0x3e9", |heap| heap.capacity = 1001),
            ("are both free", |heap| {
                let index = first(heap).above;
                let node = &mut heap.nodes.parts_mut().0[index];
                *node = resized(*node, 100, 100);
            }),
            ("does not link back", |heap| {
                let index = first(heap).above;
                heap.nodes.parts_mut().0[index].below = NodeIndex::EDGE;
            }),
            ("free ranges in the bins", |heap| {
                let index = heap.nodes.slots()[NodeIndex::EDGE].above;
                heap.bins.remove(heap.nodes.parts_mut().2, index);
            }),
            ("not in the bin of its size", |heap| {
                let index = heap.nodes.slots()[NodeIndex::EDGE].above;
                let rings = heap.nodes.parts_mut().2;
                heap.bins.remove(rings, index);
                heap.bins.insert(rings, index, Bin::of(5));
            }),
            ("used bytes", |heap| heap.used += 1),
            ("used ranges", |heap| heap.allocation_count += 1),
            ("not issued yet", |heap| heap.next_stamp = super::super::super::suballocation::Stamp::FIRST),
            ("linked ranges", |heap| {
                assert!(heap.nodes.prepare_two());
                let (slots, vacant, _) = heap.nodes.parts_mut();
                vacant.take(slots);
            }),
        ];
        check_audit(heap, &violations);
    }
}
