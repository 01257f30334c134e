//! The prices of heaps, and what follows from them.

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;

use super::heap_prices::{CLASSES, class_of, size_of_class};
use super::tests::unaligned;
use super::{HeapCosts, HeapPrices, HeapRetention, HeapSetDesc, Keeping, SharedHeapSet};
use crate::ByteSize;

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
    prices.note_freed(ByteSize::from_mib(4), micros(10));
    assert_eq!(prices.of(ByteSize::from_mib(4)), Some(micros(20)), "creating costs as much");
    let prices = HeapPrices::default();
    prices.note_created(ByteSize::from_mib(4), micros(100));
    assert_eq!(prices.of(ByteSize::from_mib(64)), Some(micros(200)), "freeing costs as much");
    prices.note_freed(ByteSize::from_mib(4), micros(20));
    prices.note_created(ByteSize::from_mib(16), micros(220));
    assert_eq!(prices.of(ByteSize::from_mib(8)), Some(micros(140 + 20)));
    assert_eq!(prices.of(ByteSize::from_mib(32)), Some(micros(380 + 20)), "the line goes on");
    assert_eq!(prices.of(ByteSize::from_kib(64)), Some(micros(120)), "but not downwards");
}

#[test]
fn one_stall_of_50_ms_changes_nothing_for_longer_than_64_heaps() {
    let stall = Duration::from_millis(50);
    for (mib, is_known) in [(4, true), (64, true), (512, false)] {
        let (prices, undisturbed) = (HeapPrices::default(), HeapPrices::default());
        let costs = HeapCosts::dedicated();
        for heap in 0..100 {
            [&prices, &undisturbed]
                .iter()
                .for_each(|prices| note(prices, ByteSize::from_mib(4 << (heap % 5)), costs));
        }
        prices.note_created(ByteSize::from_mib(mib), stall);
        undisturbed.note_created(ByteSize::from_mib(mib), costs.of(ByteSize::from_mib(mib)).create);
        if is_known {
            assert_eq!(decisions(&prices), decisions(&undisturbed), "{mib} MiB");
        }
        for heap in 0..64 {
            [&prices, &undisturbed]
                .iter()
                .for_each(|prices| note(prices, ByteSize::from_mib(4 << (heap % 5)), costs));
        }
        assert_eq!(decisions(&prices), decisions(&undisturbed), "{mib} MiB, 64 heaps later");
    }
}

#[test]
fn changed_prices_are_followed_within_64_heaps() {
    let tables = [HeapCosts::vkd3d_proton(), HeapCosts::device_local().times(10), HeapCosts::dedicated()];
    let prices = HeapPrices::default();
    for costs in tables {
        let fresh = HeapPrices::default();
        for heap in 0..64 {
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
        let request = unaligned(small);
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
        set.allocate_in_new(ByteSize::from_gib(4), 0, &unaligned(ByteSize::from_gib(4))).expect("room");
        (0..8).for_each(|log2| note(&prices, ByteSize::from_mib(1 << log2), costs));
        set.new_heap_size(&unaligned(ByteSize::new(1))).expect("a sound size")
    };
    assert_eq!(size(HeapCosts::device_local()), ByteSize::from_mib(64));
    assert_eq!(size(HeapCosts::dedicated()), ByteSize::from_mib(64));
    assert_eq!(size(HeapCosts::device_local().times(10)), ByteSize::from_mib(32));
    assert_eq!(size(HeapCosts::host_visible()), ByteSize::from_mib(32));
}

/// The same, computed from a list of all calls.
fn model(created: &[(usize, u64)], freed: &[(usize, u64)]) -> Vec<f64> {
    let times = |calls: &[(usize, u64)]| -> Option<Vec<f64>> {
        let latest = &calls[calls.len().saturating_sub(64)..];
        let medians: Vec<(f64, f64)> = (0..CLASSES)
            .filter_map(|class| {
                let of_class = latest.iter().rev().filter(|call| call.0 == class).take(5);
                let mut few: Vec<u64> = of_class.map(|call| call.1).collect();
                few.sort_unstable();
                let median = *few.get(few.len().checked_sub(1)? / 2)?;
                Some(((1_u64 << class) as f64, median as f64))
            })
            .collect();
        let (first, last) = (*medians.first()?, *medians.last()?);
        let at = |class: usize| {
            let size = (1_u64 << class) as f64;
            if size <= first.0 {
                return first.1;
            }
            if size >= last.0 {
                let slope = if last.0 > first.0 { (last.1 - first.1) / (last.0 - first.0) } else { 0.0 };
                return last.1 + if size > last.0 { slope.max(0.0) * (size - last.0) } else { 0.0 };
            }
            let above = medians.partition_point(|point| point.0 < size);
            let (low, high) = (medians[above - 1], medians[above]);
            low.1 + (high.1 - low.1) / (high.0 - low.0) * (size - low.0)
        };
        Some((0..CLASSES).map(at).collect())
    };
    let (created, freed) = (times(created), times(freed));
    let (Some(created), Some(freed)) = (created.clone().or(freed.clone()), freed.or(created)) else {
        return vec![0.0; CLASSES];
    };
    created.iter().zip(freed).map(|(created, freed)| created + freed).collect()
}

proptest! {
    #[test]
    fn prices_are_those_of_the_model(
        calls in prop::collection::vec((any::<bool>(), 0..CLASSES, 1_u64..1 << 40), 0..200),
    ) {
        let prices = HeapPrices::default();
        let (mut created, mut freed) = (Vec::new(), Vec::new());
        for (is_creation, class, nanos) in calls {
            let (size, time) = (size_of_class(class), Duration::from_nanos(nanos));
            if is_creation {
                prices.note_created(size, time);
                created.push((class, nanos));
            } else {
                prices.note_freed(size, time);
                freed.push((class, nanos));
            }
        }
        for (class, expected) in model(&created, &freed).into_iter().enumerate() {
            let (found, expected) = (prices.nanos_of(class) as f64, expected.min(u64::MAX as f64));
            // Rounded to whole nanoseconds in another order.
            let tolerance = 2.0 + expected * 1e-12;
            prop_assert!((found - expected).abs() <= tolerance, "{class}: {found}, not {expected}");
        }
    }
}
