//! The prices of heaps, and what follows from them.

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;

use super::heap_prices::{CLASSES, class_of, size_of_class};
use super::{HeapCosts, HeapPrices, HeapRetention, HeapSetDesc, Keeping, PlacementRequest, SharedHeapSet};
use crate::{Alignment, ByteSize};

const KEEPING: Keeping = Keeping::Rent { nanos: 90, most: u64::MAX };

fn note(prices: &HeapPrices, size: ByteSize, costs: HeapCosts) {
    prices.note_created(size, costs.of(size).create);
    prices.note_freed(size, costs.of(size).free);
}

/// Everything that is decided by prices.
fn decisions(prices: &HeapPrices) -> Vec<u64> {
    let kept = (0..CLASSES).map(|class| KEEPING.operations(class, prices, ByteSize::ZERO));
    kept.chain([prices.within_frame().unwrap_or_default().get()]).collect()
}

#[test]
fn classes_are_the_nearest_powers_of_two() {
    for (kib, class) in [(1, 0), (64, 0), (90, 0), (91, 1), (128, 1), (181, 1), (182, 2), (1 << 30, 24)] {
        assert_eq!(class_of(ByteSize::from_kib(kib)), class, "{kib} KiB");
    }
    assert_eq!(class_of(ByteSize::new(u64::MAX)), CLASSES - 1);
    assert_eq!(class_of(ByteSize::ZERO), 0);
    assert!((0..CLASSES).all(|class| class_of(size_of_class(class)) == class));
}

#[test]
fn sizes_without_a_call_are_on_the_line() {
    let prices = HeapPrices::default();
    let micros = Duration::from_micros;
    let of = |mib: u64| prices.of(ByteSize::from_mib(mib)).map(|price| price.as_nanos().div_ceil(1000));
    prices.note_created(ByteSize::from_mib(4), micros(100));
    assert_eq!(of(64), Some(200), "freeing costs as much");
    prices.note_freed(ByteSize::from_mib(4), micros(20));
    prices.note_created(ByteSize::from_mib(16), micros(220));
    assert_eq!([1, 8, 32].map(of), [70 + 20, 140 + 20, 380 + 20].map(Some));
    assert_eq!(prices.within_frame(), Some(ByteSize::from_gib(1)), "1.6 GiB");
    // Less time for more memory says nothing.
    prices.note_freed(ByteSize::from_mib(16), micros(10));
    assert_eq!(of(64), Some(700 + 20));
}

#[test]
fn few_stalls_of_50_ms_change_little_and_nothing_32_heaps_later() {
    let stall = Duration::from_millis(50);
    for mib in [4, 64, 512] {
        let (prices, undisturbed) = (HeapPrices::default(), HeapPrices::default());
        let costs = HeapCosts::dedicated();
        let note_many = |count: u64| {
            for heap in 0..count {
                [&prices, &undisturbed]
                    .iter()
                    .for_each(|prices| note(prices, ByteSize::from_mib(4 << (heap % 5)), costs));
            }
        };
        note_many(100);
        for _ in 0..3 {
            prices.note_created(ByteSize::from_mib(mib), stall);
            undisturbed.note_created(ByteSize::from_mib(mib), costs.of(ByteSize::from_mib(mib)).create);
        }
        for mib in [4, 16, 64] {
            let of = |prices: &HeapPrices| prices.of(ByteSize::from_mib(mib)).unwrap().as_secs_f64();
            let change = of(&prices) / of(&undisturbed);
            assert!((0.9..1.1).contains(&change), "{mib} MiB: {change} times the price");
        }
        note_many(32);
        assert_eq!(decisions(&prices), decisions(&undisturbed), "{mib} MiB, 32 heaps later");
    }
}

#[test]
fn changed_prices_are_followed_within_32_heaps() {
    let tables = [HeapCosts::vkd3d_proton(), HeapCosts::device_local().times(10), HeapCosts::dedicated()];
    let prices = HeapPrices::default();
    for costs in tables {
        let fresh = HeapPrices::default();
        for heap in 0..32 {
            [&prices, &fresh]
                .iter()
                .for_each(|prices| note(prices, ByteSize::from_mib(1 << (heap % 9)), costs));
        }
        assert_eq!(decisions(&prices), decisions(&fresh));
    }
}

#[test]
fn an_empty_heap_is_kept_until_its_rent_is_its_price() {
    let kept = |costs: HeapCosts, mib, mib_in_use| {
        let prices = Arc::new(HeapPrices::default());
        let retention = HeapRetention { keeping: KEEPING, ..Default::default() };
        let desc = HeapSetDesc { retention, slots_up_to: ByteSize::ZERO, ..HeapSetDesc::default() };
        let set: SharedHeapSet<u32> = SharedHeapSet::with_shared(&desc, Arc::default(), Arc::clone(&prices));
        let (size, small) = (ByteSize::from_mib(mib), ByteSize::from_kib(100));
        note(&prices, ByteSize::from_mib(4), costs);
        note(&prices, size, costs);
        let request = PlacementRequest::new(small, Alignment::ONE);
        set.allocate_in_new(ByteSize::from_mib(mib_in_use), 0, &request).expect("room");
        let pair = || {
            let placed = set.allocate(&request).expect("a sound size").expect("room");
            set.free(placed.id).expect("it is live")
        };
        // What is in use is known.
        (0..16).for_each(|_| assert_eq!(pair(), []));
        set.insert(size, 1).expect("few heaps");
        2 * (1..).find(|_| pair() == [1]).unwrap_or(0)
    };
    // 2,458 us for 64 MiB at 90 ns for a MiB and operation.
    assert_eq!(kept(HeapCosts::device_local(), 64, 1024), 426);
    assert_eq!(kept(HeapCosts::device_local().times(10), 64, 1024), 4_268);
    assert_eq!(kept(HeapCosts::dedicated(), 64, 1024), 46);
    assert_eq!(kept(HeapCosts::vkd3d_proton(), 1, 1024), 4);
    // One that is twice as large as what is usually in use, for a quarter.
    assert_eq!(kept(HeapCosts::device_local(), 64, 128), 426);
    assert_eq!(kept(HeapCosts::device_local(), 64, 32), 106);
    assert_eq!(kept(HeapCosts::device_local().times(10), 64, 32), 1_066);
}

#[test]
fn new_heaps_take_at_most_a_frame() {
    let size = |costs: HeapCosts| {
        let prices = Arc::new(HeapPrices::default());
        let desc = HeapSetDesc { slots_up_to: ByteSize::ZERO, ..HeapSetDesc::default() };
        let set: SharedHeapSet<u32> = SharedHeapSet::with_shared(&desc, Arc::default(), Arc::clone(&prices));
        set.allocate_in_new(
            ByteSize::from_gib(4),
            0,
            &PlacementRequest::new(ByteSize::from_gib(4), Alignment::ONE),
        )
        .expect("room");
        (0..8).for_each(|log2| note(&prices, ByteSize::from_mib(1 << log2), costs));
        set.new_heap_size(&PlacementRequest::new(ByteSize::new(1), Alignment::ONE)).expect("a sound size")
    };
    assert_eq!(size(HeapCosts::device_local()), ByteSize::from_mib(64));
    assert_eq!(size(HeapCosts::dedicated()), ByteSize::from_mib(64));
    assert_eq!(size(HeapCosts::device_local().times(10)), ByteSize::from_mib(32));
    assert_eq!(size(HeapCosts::host_visible()), ByteSize::from_mib(32));
}

proptest! {
    /// Whatever their order.
    #[test]
    fn calls_on_a_line_have_the_prices_of_the_line(
        (fixed, per_mib) in (1_u64..1 << 30, 0_u64..1 << 20),
        calls in prop::collection::vec(0_u64..12, 2..100),
    ) {
        let prices = HeapPrices::default();
        let time = |log2: u64| Duration::from_nanos(fixed + (per_mib << log2));
        calls.iter().for_each(|&log2| prices.note_created(ByteSize::from_mib(1 << log2), time(log2)));
        let latest = &calls[calls.len().saturating_sub(32)..];
        let is_one_size = latest.iter().all(|log2| log2 == &latest[0]);
        for log2 in 0..12 {
            // Freeing costs as much.
            let expected = 2 * time(if is_one_size { latest[0] } else { log2 });
            let found = prices.of(ByteSize::from_mib(1 << log2)).unwrap();
            // Rounded to whole nanoseconds.
            prop_assert!(found.abs_diff(expected) <= Duration::from_nanos(8), "{found:?}, not {expected:?}");
        }
    }
}
