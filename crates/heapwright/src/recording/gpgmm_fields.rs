//! Descriptions and arguments as GPGMM's events have them, in JSON.

use heapwright_core::ByteSize;
use heapwright_d3d12::*;
use heapwright_trace::chrome::{self, Text};
use heapwright_trace::session::Description;

use crate::desc::HEAP_GRANULARITY;
use crate::{ClearValue, EmptyHeapPolicy, Error, ResourceAllocatorDesc, SuballocationAlgorithm};

/// The memory of a heap.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeapMemory {
    pub(crate) size: u64,
    pub(crate) alignment: u64,
    pub(crate) properties: D3D12_HEAP_PROPERTIES,
    pub(crate) flags: D3D12_HEAP_FLAGS,
}

/// Returns the arguments of `CreateResource`.
pub(crate) fn resource_call(
    description: &Description,
    heap_type: u8,
    resource_flags: u32,
    clear_value: Option<&ClearValue>,
) -> String {
    chrome::resource_args(description, heap_type, resource_flags, &clear_value_fields(clear_value))
}

/// Returns the fields of a clear value.
pub(crate) fn clear_value_fields(clear_value: Option<&ClearValue>) -> String {
    match clear_value {
        None => String::new(),
        Some(&ClearValue::Color { format, color: [red, green, blue, alpha] }) => {
            format!("\"Format\":{format},\"Color\":{{\"R\":{red},\"G\":{green},\"B\":{blue},\"A\":{alpha}}}")
        }
        Some(&ClearValue::DepthStencil { format, depth, stencil }) => {
            format!("\"Format\":{format},\"DepthStencil\":{{\"Depth\":{depth},\"Stencil\":{stencil}}}")
        }
    }
}

/// GPGMM's flags of allocators. A replay must not see others.
const ALLOCATOR_FLAGS: u32 = 0xff;

/// Returns a name in the arguments of a call.
pub(crate) fn name_args(name: &str) -> String {
    format!("\"Name\":{}", Text(name))
}

/// Returns what is appended to the arguments of a call that failed: GPGMM's replay takes it for a message and does not
/// repeat it.
pub(crate) fn failure_args(error: Option<&Error>) -> String {
    error.map_or_else(String::new, |error| format!(",\"Description\":{},\"ID\":0", Text(&error.to_string())))
}

/// Returns the fields of GPGMM's snapshot of an allocator. Zero is a default.
pub(crate) fn allocator_fields(desc: &ResourceAllocatorDesc, resource_heap_tier: u8) -> String {
    let size = |size: Option<ByteSize>| size.map_or(0, ByteSize::get);
    let dividing = match desc.suballocation_algorithm {
        SuballocationAlgorithm::Default | SuballocationAlgorithm::Linear => 0,
        SuballocationAlgorithm::Slab => 1,
        SuballocationAlgorithm::BuddySystem => 2,
        SuballocationAlgorithm::Dedicated => 5,
    };
    let keeping = match desc.empty_heap_policy {
        EmptyHeapPolicy::FixedPool => 3,
        EmptyHeapPolicy::SegmentedPool => 4,
        _ => 0,
    };
    format!(
        "\"Flags\":{},\"RecordOptions\":{{\"Flags\":{}}},\"ResourceHeapTier\":{resource_heap_tier},\
         \"SubAllocationAlgorithm\":{dividing},\"PoolAlgorithm\":{keeping},\"PreferredResourceHeapSize\":{},\
         \"MaxResourceHeapSize\":{},\"ResourceHeapFragmentationLimit\":{},\"ResourceHeapGrowthFactor\":{}",
        desc.flags.bits() & ALLOCATOR_FLAGS,
        desc.record_options.flags.bits(),
        size(desc.preferred_heap_size),
        size(desc.max_heap_size),
        desc.heap_fragmentation_limit.unwrap_or(0.0),
        desc.heap_growth_factor.unwrap_or(0.0),
    )
}

/// Returns the arguments of `CreateResidencyHeap`, by which a heap like it can be created.
pub(super) fn heap_call(memory: &HeapMemory) -> String {
    let &HeapMemory { size, alignment, properties, flags } = memory;
    if properties.Type == 0 {
        // As in GPGMM: neither a heap nor a resource.
        return "\"Heap\":{}".to_owned();
    }
    // Those of a small committed resource are not possible for a heap.
    let alignment = alignment.max(HEAP_GRANULARITY.get());
    let size = size.checked_next_multiple_of(alignment).unwrap_or(size);
    let D3D12_HEAP_PROPERTIES {
        Type,
        CPUPageProperty,
        MemoryPoolPreference,
        CreationNodeMask,
        VisibleNodeMask,
    } = properties;
    format!(
        "\"Heap\":{{\"SizeInBytes\":{size},\"Properties\":{{\"Type\":{Type},\"CPUPageProperty\":{CPUPageProperty},\
         \"MemoryPoolPreference\":{MemoryPoolPreference},\"CreationNodeMask\":{CreationNodeMask},\
         \"VisibleNodeMask\":{VisibleNodeMask}}},\"Alignment\":{alignment},\"Flags\":{flags}}}"
    )
}
