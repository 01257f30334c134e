//! An empty heap serves any smaller request.
#![allow(missing_docs, reason = "a test")]

mod gpu;

use gpu::{Gpu, Opened as _, any_device};
use heapwright::d3d12::D3D12_RESOURCE_STATE_COMMON;
use heapwright::{
    ByteSize, HeapLimits, HeapType, Probe, ProbedMemory, ResourceAllocation, ResourceAllocationDesc,
    ResourceAllocationFlags, ResourceAllocator, ResourceAllocatorDesc, ResourceAllocatorFlags, ResourceDesc,
    buffer_desc,
};

const MIB: u64 = 1 << 20;

fn create(allocator: &ResourceAllocator, flags: ResourceAllocationFlags, size: u64) -> ResourceAllocation {
    let place = ResourceAllocationDesc { flags, ..ResourceAllocationDesc::new(HeapType::Default) };
    let desc = buffer_desc(ByteSize::new(size));
    allocator.create_resource(&place, &desc, D3D12_RESOURCE_STATE_COMMON, None).expect("there is room")
}

/// Creates an allocator with an empty heap of 100 MiB and a full one.
fn with_large_empty_heap(desc: ResourceAllocatorDesc) -> (Gpu, ResourceAllocator, ResourceAllocation) {
    let gpu = any_device();
    let allocator = ResourceAllocator::new(gpu.device(), gpu.adapter(), desc).expect("sound");
    let full = create(&allocator, ResourceAllocationFlags::empty(), 100 * MIB);
    drop(create(&allocator, ResourceAllocationFlags::empty(), 100 * MIB));
    assert_eq!(allocator.reserved(), ByteSize::from_mib(200));
    (gpu, allocator, full)
}

fn probe(allocator: &ResourceAllocator, flags: ResourceAllocationFlags, size: u64) -> Probe {
    let place = ResourceAllocationDesc { flags, ..ResourceAllocationDesc::new(HeapType::Default) };
    allocator.probe(&place, &ResourceDesc::new(&buffer_desc(ByteSize::new(size)))).expect("there is room")
}

#[test]
fn it_is_used_whether_a_new_one_would_be_refused_or_not() {
    let limits = HeapLimits { default: Some(ByteSize::from_mib(200)), ..Default::default() };
    let never = ResourceAllocatorFlags::NEVER_OVER_ALLOCATE;
    let usual = ResourceAllocationFlags::empty();
    let cases = [
        (ResourceAllocatorDesc::default(), usual),
        (ResourceAllocatorDesc { limits, ..Default::default() }, usual),
        (ResourceAllocatorDesc { flags: never, limits, ..Default::default() }, usual),
        (ResourceAllocatorDesc::default(), ResourceAllocationFlags::NEVER_ALLOCATE_HEAP),
    ];
    for (desc, flags) in cases {
        let (_gpu, allocator, _full) = with_large_empty_heap(desc.clone());
        assert_eq!(probe(&allocator, flags, 3 * MIB).memory, ProbedMemory::Held);
        let small = create(&allocator, flags, 3 * MIB);
        assert_eq!(allocator.reserved(), ByteSize::from_mib(200), "{desc:?} {flags:?}");
        assert_eq!(allocator.stats().heaps_created, 2);
        drop(small);
        allocator.audit().expect("consistent");
    }
}
