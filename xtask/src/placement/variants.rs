//! Variants of the policy's settings.

use heapwright_core::ByteSize;
use heapwright_core::placement::{HeapRetention, HeapReuse, HeapSizing, SharedHeapSet};

/// A variant of the settings.
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

    fn reused(label: &'static str, reuse: HeapReuse) -> Self {
        Self::sized(label, HeapSizing { reuse, ..HeapSizing::default() })
    }

    fn slots(label: &'static str, kib: u64) -> Self {
        Self { slots_up_to: ByteSize::from_kib(kib), ..Self::sized(label, HeapSizing::default()) }
    }
}

pub(super) fn all() -> Vec<Variant> {
    let sizing = HeapSizing::default();
    let reuse = HeapReuse::default();
    let unlimited = ByteSize::from_gib(1 << 20);
    vec![
        Variant::defaults(),
        Variant::sized("batch 1", HeapSizing { batch: 1, ..sizing }),
        Variant::sized("batch 8", HeapSizing { batch: 8, ..sizing }),
        Variant::sized("batch 32", HeapSizing { batch: 32, ..sizing }),
        Variant::sized("batch_limit 512 KiB", HeapSizing { batch_limit: ByteSize::from_kib(512), ..sizing }),
        Variant::sized("batch_limit 2 MiB", HeapSizing { batch_limit: ByteSize::from_mib(2), ..sizing }),
        Variant::sized("growth_limit 0", HeapSizing { growth_limit: ByteSize::ZERO, ..sizing }),
        Variant::sized("used_fraction_log2 5", HeapSizing { used_fraction_log2: 5, ..sizing }),
        Variant::sized("used_fraction_log2 7", HeapSizing { used_fraction_log2: 7, ..sizing }),
        Variant::sized("growth_limit 16 MiB", HeapSizing { growth_limit: ByteSize::from_mib(16), ..sizing }),
        Variant::sized("growth_limit 32 MiB", HeapSizing { growth_limit: ByteSize::from_mib(32), ..sizing }),
        Variant::sized("small_up_to 0", HeapSizing { small_up_to: ByteSize::ZERO, ..sizing }),
        Variant::sized("small_up_to 256 KiB", HeapSizing { small_up_to: ByteSize::from_kib(256), ..sizing }),
        Variant::sized(
            "own_heap_from 64 MiB",
            HeapSizing { own_heap_from: ByteSize::from_mib(64), ..sizing },
        ),
        Variant::sized("own_heap_from never", HeapSizing { own_heap_from: unlimited, ..sizing }),
        Variant::reused("close_log2 1", HeapReuse { close_log2: 1, ..reuse }),
        Variant::reused("close_log2 3", HeapReuse { close_log2: 3, ..reuse }),
        Variant::reused("close_log2 63", HeapReuse { close_log2: 63, ..reuse }),
        Variant::reused("waste_log2 3", HeapReuse { waste_log2: 3, ..reuse }),
        Variant::reused("waste_log2 5", HeapReuse { waste_log2: 5, ..reuse }),
        Variant::reused("headroom_log2 1", HeapReuse { headroom_log2: 1, ..reuse }),
        Variant::reused("headroom_log2 3", HeapReuse { headroom_log2: 3, ..reuse }),
        Variant::reused("waste anything", HeapReuse { waste_log2: 0, ..reuse }),
        Variant::reused("creation_cost 0", HeapReuse { creation_cost: 0, ..reuse }),
        Variant::reused("creation_cost 16", HeapReuse { creation_cost: 16, ..reuse }),
        Variant::reused("creation_cost 24", HeapReuse { creation_cost: 24, ..reuse }),
        Variant::reused("creation_cost 48", HeapReuse { creation_cost: 48, ..reuse }),
        Variant::reused("creation_cost 64", HeapReuse { creation_cost: 64, ..reuse }),
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
