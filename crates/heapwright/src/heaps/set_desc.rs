//! The description of the heaps of one kind, and of the set that divides them.

use std::sync::Arc;

use heapwright_core::placement::{HeapRetention, HeapSetDesc, HeapSizing, PlacementRule, SlabSizing};
use heapwright_core::{Alignment, ByteSize};
use heapwright_d3d12::*;

use crate::desc::{EmptyHeapPolicy, HEAP_GRANULARITY, ResourceAllocatorDesc, SuballocationAlgorithm};
use crate::request::{HeapFamily, ResourceClass};
use crate::source::{Account, HeapSource};
use crate::{HeapType, SegmentGroup};

/// The default size of linear heaps: D3D12MA's usual block.
const LINEAR_HEAP: ByteSize = ByteSize::from_mib(64);

/// For the least memory: a heap that is only partly used wastes less than a 64th of the memory. The minimum is as
/// usual, because a smaller heap costs as much to create.
const LEAST_MEMORY_FRACTION: u32 = 64;
const LEAST_MEMORY_MAXIMUM: ByteSize = ByteSize::from_mib(32);

/// For the fewest hitches: fewer and larger heaps. Above 128 MiB, creating a single heap is a hitch on every device.
const FEWEST_HITCHES_FRACTION: u32 = 3;
const FEWEST_HITCHES_MAXIMUM: ByteSize = ByteSize::from_mib(128);

/// Properties of the heaps of one kind.
pub(crate) struct TypedHeapsDesc {
    /// Unique in the process.
    pub(crate) number: u64,
    /// The number of the kind among the allocator's own; `None` for a pool.
    pub(crate) kind: Option<usize>,
    /// Name of a custom pool.
    pub(crate) pool: Option<Arc<str>>,
    pub(crate) family: HeapFamily,
    /// The type to which they are charged.
    pub(crate) heap_type: HeapType,
    pub(crate) segment_group: SegmentGroup,
    pub(crate) class: ResourceClass,
    /// Everything except the size.
    pub(crate) heap: D3D12_HEAP_DESC,
    pub(crate) protected_session: Option<ID3D12ProtectedResourceSession>,
    pub(crate) residency_priority: Option<D3D12_RESIDENCY_PRIORITY>,
    /// Zero lets requests determine the size.
    pub(crate) heap_size: ByteSize,
    pub(crate) min_heap_count: u64,
    pub(crate) max_heap_count: u64,
    pub(crate) min_alignment: Alignment,
    /// The algorithm that divides the heaps.
    pub(crate) algorithm: SuballocationAlgorithm,
    /// The size of the empty heaps that are kept for ever, while no others are kept at all; zero keeps none. `None`
    /// keeps them by the retention.
    pub(crate) kept_size: Option<ByteSize>,
}

impl TypedHeapsDesc {
    /// Returns the limits that apply to the heaps.
    pub(crate) fn account(&self) -> Account {
        Account { heap_type: self.heap_type, group: self.segment_group }
    }
}

/// Returns the parameters of the algorithm that divides heaps.
pub(super) fn set_desc(source: &HeapSource, heaps: &TypedHeapsDesc) -> HeapSetDesc {
    let (desc, max_heap_size) = (&source.desc, source.max_heap_size);
    // Heaps of the kept size come back.
    let retention = if heaps.kept_size.is_none() { source.retention } else { HeapRetention::NONE };
    let granularity = granularity_of(heaps.heap.Alignment);
    let heap_size = Some(heaps.heap_size).filter(|size| !size.is_zero());
    let preferred = heap_size.or(desc.preferred_heap_size);
    let minimum = least_heap(preferred, granularity);
    let rule = match heaps.algorithm {
        SuballocationAlgorithm::Default => {
            let usual = match heaps.heap_type {
                HeapType::Upload | HeapType::Readback => HeapSizing::HOST_VISIBLE,
                HeapType::Default | HeapType::GpuUpload => HeapSizing::DEVICE_LOCAL,
            };
            let usual = match desc.empty_heap_policy {
                EmptyHeapPolicy::LeastMemory => {
                    HeapSizing { maximum: LEAST_MEMORY_MAXIMUM, fraction: LEAST_MEMORY_FRACTION, ..usual }
                }
                EmptyHeapPolicy::FewestHitches => {
                    HeapSizing { maximum: FEWEST_HITCHES_MAXIMUM, fraction: FEWEST_HITCHES_FRACTION, ..usual }
                }
                _ => usual,
            };
            let minimum = if preferred.is_none() { usual.minimum } else { minimum }.min(max_heap_size);
            let maximum = usual.maximum.min(max_heap_size);
            PlacementRule::Default(HeapSizing { minimum, maximum, ..usual })
        }
        SuballocationAlgorithm::Dedicated => PlacementRule::Dedicated { granularity },
        SuballocationAlgorithm::Slab => {
            let usual = SlabSizing::default();
            let sizing = SlabSizing {
                minimum,
                maximum: max_heap_size,
                granularity,
                fragmentation_limit: desc.heap_fragmentation_limit.unwrap_or(usual.fragmentation_limit),
                growth_factor: desc.heap_growth_factor.unwrap_or(usual.growth_factor),
            };
            PlacementRule::SlabBySize(sizing)
        }
        SuballocationAlgorithm::BuddySystem => {
            PlacementRule::buddy_system(minimum, max_heap_size, granularity)
        }
        SuballocationAlgorithm::Linear => {
            let heap_size = if preferred.is_none() { LINEAR_HEAP } else { minimum };
            let heap_size = heap_size.min(max_heap_size);
            PlacementRule::Linear { heap_size, one_heap: heaps.max_heap_count == 1, granularity }
        }
    };
    HeapSetDesc::new(rule, retention)
}

fn granularity_of(heap_alignment: u64) -> Alignment {
    Alignment::new(heap_alignment).unwrap_or(HEAP_GRANULARITY)
}

/// GPGMM's smallest heap is one unit of its alignment.
fn least_heap(preferred: Option<ByteSize>, granularity: Alignment) -> ByteSize {
    let preferred = preferred.unwrap_or_default();
    preferred.max(ByteSize::new(granularity.get())).align_up(granularity).unwrap_or(preferred)
}

/// Returns the size of the heaps that a fixed pool keeps: the algorithm's heap size for small requests.
pub(crate) fn fixed_heap_size(desc: &ResourceAllocatorDesc, heap_alignment: u64) -> ByteSize {
    let least = least_heap(desc.preferred_heap_size, granularity_of(heap_alignment));
    match desc.suballocation_algorithm {
        SuballocationAlgorithm::Slab | SuballocationAlgorithm::BuddySystem => {
            least.get().checked_next_power_of_two().map_or(least, ByteSize::new)
        }
        SuballocationAlgorithm::Default
        | SuballocationAlgorithm::Dedicated
        | SuballocationAlgorithm::Linear => least,
    }
}
