//! Tests the public behaviour of slabs against a simple interval map.

use crate::shadowed::{self, IntervalMap, STEPS, Step, alignment, config};
use heapwright_core::suballoc::{RangeUse, Slabs};
use heapwright_core::{Alignment, ByteSize};
use proptest::prelude::*;

type Shadowed = shadowed::Shadowed<Slabs>;

fn slabs(capacity: u64) -> Slabs {
    Slabs::new(ByteSize::new(capacity)).unwrap()
}

fn shadowed(capacity: u64) -> Shadowed {
    Shadowed::new(slabs(capacity), may_refuse)
}

fn run(capacity: u64, _: u64, steps: Vec<Step>) {
    shadowed::run(|| slabs(capacity), may_refuse, steps, |_| {});
}

every_algorithm!(Slabs, may_refuse, run);

/// Free ranges outside of slabs serve any size like TLSF, and an empty heap keeps no slabs.
fn may_refuse(slabs: &Slabs, _: &IntervalMap, size: u64, alignment: Alignment) {
    assert!(!slabs.is_empty(), "{size} at {alignment} is refused by a heap in which nothing is live");
    let certain = u128::from(size) + u128::from(alignment.get() - 1);
    for range_use in slabs.ranges().filter(RangeUse::is_free) {
        let range = range_use.range();
        let is_no_slot = range.size() > Slabs::MAX_SLOT_SIZE;
        let is_large = u128::from(range.size().get()) * 32 >= certain * 33;
        assert!(!(is_no_slot && is_large), "{size} at {alignment} fits into {range}");
    }
}

proptest! {
    #![proptest_config(config())]

    /// Few sizes, so that slabs fill, become empty, and are kept.
    #[test]
    fn agree_with_an_interval_map_when_slabs_come_and_go(
        capacity in 2000_u64..20_000,
        steps in prop::collection::vec((0_usize..3, any::<prop::sample::Index>(), any::<bool>()), 0..2 * STEPS),
    ) {
        let mut heap = shadowed(capacity);
        for (size, at, allocates) in steps {
            if allocates {
                let _ = heap.allocate([24, 100, 256][size], alignment(0));
            } else if !heap.live.is_empty() {
                heap.free(at.index(heap.live.len()));
            }
        }
        while !heap.live.is_empty() {
            heap.free(0);
        }
        heap.assert_as_fresh(slabs(capacity));
    }

    /// The padding of a slot is less than an eighth of the requested size rounded up to the alignment.
    #[test]
    fn padding_is_less_than_an_eighth(requests in prop::collection::vec((1_u64..100_000, 0_u32..9), 1..STEPS)) {
        let mut heap = shadowed(64 << 20);
        let mut most = 0;
        for (size, log2) in requests {
            heap.allocate(size, alignment(log2)).unwrap();
            let rounded = size.next_multiple_of(1 << log2);
            most += rounded - size + rounded / 8;
        }
        let used_or_free = heap.heap.used().get() + heap.heap.free_size().get();
        prop_assert!(heap.heap.capacity().get() - used_or_free <= most);
    }
}

#[test]
fn slots_of_one_class_lie_side_by_side() {
    let mut heap = shadowed(1 << 20);
    let first = heap.allocate(640, alignment(8)).unwrap();
    let second = heap.allocate(513, alignment(8)).unwrap();
    assert_eq!(second.range.start().get() - first.range.start().get(), 768);
}

#[test]
fn a_freed_slot_is_the_next_to_be_used() {
    let mut heap = shadowed(1 << 20);
    let all: Vec<_> = (0..100).map(|_| heap.allocate(100, Alignment::ONE).unwrap()).collect();
    heap.free(40);
    assert_eq!(heap.allocate(97, Alignment::ONE).unwrap().range.start(), all[40].range.start());
}

#[test]
fn slabs_without_a_used_slot_make_room_for_others() {
    let mut heap = shadowed(64 << 10);
    // Everything is slabs of one class, and one slab has a used slot.
    while heap.allocate(1024, Alignment::ONE).is_ok() {}
    while heap.live.len() > 1 {
        heap.free(heap.live.len() - 1);
    }
    heap.allocate(32 << 10, Alignment::ONE).unwrap();
}

#[test]
fn the_last_bytes_are_handed_out_without_a_slot() {
    // No slot of 1,024 bytes fits, but the requested size does.
    let mut heap = shadowed(1000);
    heap.allocate(1000, Alignment::ONE).unwrap();
    assert_eq!(heap.heap.free_size(), ByteSize::ZERO);
}

#[test]
fn the_memory_of_a_slab_cannot_be_freed_by_an_id_from_elsewhere() {
    let mut heap = shadowed(1 << 20);
    heap.allocate(10, Alignment::ONE).unwrap();
    // The first suballocation of a TLSF of the same capacity, like the slab.
    let mut other = heapwright_core::suballoc::Tlsf::new(ByteSize::new(1 << 20)).unwrap();
    let foreign = other.allocate(ByteSize::new(20), Alignment::ONE).unwrap();
    assert!(heap.heap.free(foreign.id).is_err());
    assert!(heap.heap.range_of(foreign.id).is_err());
    heap.check();
}
