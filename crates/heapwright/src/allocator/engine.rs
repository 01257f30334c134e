//! What an allocator's description makes of placement's engines.

use heapwright_core::placement::EngineDesc;
use heapwright_core::placement::HeapSizing;
use heapwright_core::placement::{HeapRetention, SharedHeapSet};
use heapwright_core::{Alignment, ByteSize};

use super::desc::{HEAP_GRANULARITY, ResourceAllocatorDesc, ResourceAllocatorFlags, SuballocationAlgorithm};

/// The knobs of an algorithm.
///
/// `heap_alignment` is D3D12's, zero for 64 KiB. `heap_size` and `max_heap_count` are a pool's, and zero where nothing is fixed.
pub(super) fn engine_desc(
    desc: &ResourceAllocatorDesc,
    max_heap_size: ByteSize,
    algorithm: SuballocationAlgorithm,
    heap_alignment: u64,
    heap_size: ByteSize,
    max_heap_count: u64,
) -> EngineDesc {
    let granularity = Alignment::new(heap_alignment).unwrap_or(HEAP_GRANULARITY).max(HEAP_GRANULARITY);
    let preferred = if heap_size.is_zero() { desc.preferred_heap_size } else { heap_size };
    // GPGMM's least heap is one unit of its alignment.
    let minimum = preferred.max(ByteSize::new(granularity.get())).align_up(granularity).unwrap_or(preferred);
    match algorithm {
        SuballocationAlgorithm::Default => {
            let usual = desc.heap_sizing;
            let minimum = if preferred.is_zero() { usual.minimum } else { minimum };
            let sizing = HeapSizing { minimum: minimum.min(max_heap_size), ..usual };
            let on_demand = desc.flags.contains(ResourceAllocatorFlags::ALWAYS_ON_DEMAND);
            let retention = if on_demand { HeapRetention { decay_log2: 0 } } else { desc.heap_retention };
            EngineDesc::Default {
                sizing,
                retention,
                slots_up_to: SharedHeapSet::<()>::SLOTS_UP_TO,
                lanes: SharedHeapSet::<()>::LANES,
            }
        }
        SuballocationAlgorithm::Dedicated => EngineDesc::Dedicated { granularity },
        _ => unreachable!("filled in with the engines {max_heap_count}"),
    }
}
