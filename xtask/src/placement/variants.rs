//! The settings that are compared.

use heapwright_core::ByteSize;
use heapwright_core::placement::{HeapRetention, HeapSizing, SharedHeapSet};

/// One setting of the policy.
pub(super) struct Variant {
    pub(super) label: &'static str,
    pub(super) sizing: HeapSizing,
    pub(super) retention: HeapRetention,
    pub(super) slots_up_to: ByteSize,
}

impl Variant {
    pub(super) fn defaults() -> Self {
        Self::sized("defaults", HeapSizing::default())
    }

    fn sized(label: &'static str, sizing: HeapSizing) -> Self {
        let slots_up_to = SharedHeapSet::<()>::SLOTS_UP_TO;
        Self { label, sizing, retention: HeapRetention::default(), slots_up_to }
    }

    fn kept(label: &'static str, decay_log2: u32) -> Self {
        Self { retention: HeapRetention { decay_log2 }, ..Self::sized(label, HeapSizing::default()) }
    }

    fn slots(label: &'static str, kib: u64) -> Self {
        Self { slots_up_to: ByteSize::from_kib(kib), ..Self::sized(label, HeapSizing::default()) }
    }
}

pub(super) fn all() -> Vec<Variant> {
    let sizing = HeapSizing::default();
    let unlimited = ByteSize::from_gib(1 << 20);
    vec![
        Variant::defaults(),
        Variant::sized("batch 1", HeapSizing { batch: 1, ..sizing }),
        Variant::sized("growth_limit 0", HeapSizing { growth_limit: ByteSize::ZERO, ..sizing }),
        Variant::sized(
            "used_fraction 1/64 unlimited",
            HeapSizing { used_fraction_log2: 6, growth_limit: unlimited, ..sizing },
        ),
        Variant::sized("subdivisions_log2 2", HeapSizing { subdivisions_log2: 2, ..sizing }),
        Variant::sized("subdivisions_log2 4", HeapSizing { subdivisions_log2: 4, ..sizing }),
        Variant::sized("multiples of 64 KiB", HeapSizing { subdivisions_log2: 63, ..sizing }),
        Variant::sized("small_up_to 0", HeapSizing { small_up_to: ByteSize::ZERO, ..sizing }),
        Variant::sized("small_up_to 256 KiB", HeapSizing { small_up_to: ByteSize::from_kib(256), ..sizing }),
        Variant::sized(
            "own_heap_from 64 MiB",
            HeapSizing { own_heap_from: ByteSize::from_mib(64), ..sizing },
        ),
        Variant::sized("own_heap_from never", HeapSizing { own_heap_from: unlimited, ..sizing }),
        Variant::kept("decay_log2 10", 10),
        Variant::kept("decay_log2 14", 14),
        Variant::kept("decay_log2 16", 16),
        Variant::kept("never sinking", 63),
        Variant::slots("slots up to 0", 0),
        Variant::slots("slots up to 1 KiB", 1),
        Variant::slots("slots up to 4 KiB", 4),
        Variant::slots("slots up to 64 KiB", 64),
    ]
}
