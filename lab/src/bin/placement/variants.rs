//! Variants of the policy's settings.

use heapwright_core::ByteSize;
use heapwright_core::placement::{HeapRetention, HeapSizing, Keeping, SharedHeapSet};

/// A variant of the settings.
pub(super) struct Variant {
    pub(super) label: String,
    pub(super) sizing: HeapSizing,
    pub(super) retention: HeapRetention,
    pub(super) slots_up_to: ByteSize,
}

impl Variant {
    pub(super) fn defaults() -> Self {
        Self {
            label: "defaults".to_owned(),
            sizing: HeapSizing::default(),
            retention: HeapRetention::default(),
            slots_up_to: SharedHeapSet::<()>::SLOTS_UP_TO,
        }
    }

    fn sized(label: String, sizing: HeapSizing) -> Self {
        Self { label, sizing, ..Self::defaults() }
    }
}

pub(super) fn all() -> Vec<Variant> {
    let sizing = HeapSizing::default();
    let mut all = vec![Variant::defaults()];
    all.extend([100, 300, 600, 2_000, 5_000, 20_000].map(|operations| Variant {
        label: format!("operations {operations}"),
        retention: HeapRetention { keeping: Keeping::Operations(operations), ..HeapRetention::default() },
        ..Variant::defaults()
    }));
    let fraction =
        |fraction| Variant::sized(format!("fraction {fraction}"), HeapSizing { fraction, ..sizing });
    all.extend([4, 8, 16, 32].map(fraction));
    all.extend([1, 2, 8, 16].map(|mib| {
        let minimum = ByteSize::from_mib(mib);
        Variant::sized(format!("minimum {minimum}"), HeapSizing { minimum, ..sizing })
    }));
    all.extend([64, 128, 512, 1024].map(|mib| {
        let maximum = ByteSize::from_mib(mib);
        Variant::sized(format!("maximum {maximum}"), HeapSizing { maximum, ..sizing })
    }));
    // The policies of `EmptyHeapPolicy`, and what their parts do.
    let large = HeapSizing { maximum: ByteSize::from_mib(128), fraction: 8, ..sizing };
    let fewest = HeapRetention::FEWEST_HITCHES;
    let longer = HeapRetention { keeping: Keeping::Rent { nanos: 1, most: 400_000 }, ..fewest };
    let policies = [
        ("least memory", HeapSizing { fraction: 64, ..sizing }, HeapRetention::LEAST_MEMORY),
        ("fewest hitches", large, fewest),
        ("fewest hitches, sizes of the default", sizing, fewest),
        ("fewest hitches, ten times the operations", large, longer),
        ("fewest hitches, 30 s", large, HeapRetention { periods: 75, ..fewest }),
        ("fewest hitches, 60 s", large, HeapRetention { periods: 150, ..fewest }),
        ("fewest hitches, not by time", large, HeapRetention { periods: u32::MAX, ..fewest }),
        ("fewest hitches, for ever", large, HeapRetention::FOR_EVER),
        ("segmented pool", sizing, HeapRetention::FOR_EVER),
    ];
    let policy = |(label, sizing, retention): (&str, _, _)| {
        Variant { label: label.to_owned(), sizing, retention, ..Variant::defaults() }
    };
    all.extend(policies.map(policy));
    all.extend([0, 1, 4, 64].map(|kib| Variant {
        label: format!("slots up to {kib} KiB"),
        slots_up_to: ByteSize::from_kib(kib),
        ..Variant::defaults()
    }));
    all
}
