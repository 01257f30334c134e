//! An empty heap that is much too large for a request is better than none.

use crate::gpu::*;
use heapwright::*;

fn create(allocator: &ResourceAllocator, flags: ResourceAllocationFlags, size: u64) -> ResourceAllocation {
    buffer(allocator, &place(HeapType::Default, flags), size)
}

/// Creates an allocator with an empty heap of 100 MiB and, close to the high-water mark, a full one, so
/// that a small request would exchange the empty heap for a smaller one.
fn with_large_empty_heap(desc: ResourceAllocatorDesc) -> (Gpu, ResourceAllocator, ResourceAllocation) {
    let gpu = any_device();
    let allocator = allocator(&gpu, desc);
    let full = create(&allocator, ResourceAllocationFlags::empty(), 100 * MIB);
    drop(create(&allocator, ResourceAllocationFlags::empty(), 100 * MIB));
    assert_eq!(allocator.reserved(), ByteSize::from_mib(200));
    (gpu, allocator, full)
}

fn probe(allocator: &ResourceAllocator, flags: ResourceAllocationFlags, size: u64) -> Probe {
    let place = place(HeapType::Default, flags);
    allocator.probe(&place, &ResourceDesc::new(&buffer_desc(ByteSize::new(size)))).expect("there is room")
}

#[test]
fn it_is_exchanged_for_one_that_fits_as_a_rule() {
    let (_gpu, allocator, _full) = with_large_empty_heap(ResourceAllocatorDesc::default());
    let usual = ResourceAllocationFlags::empty();
    assert_eq!(probe(&allocator, usual, 3 * MIB).memory, ProbedMemory::NewHeap(ByteSize::from_mib(3)));
    let small = create(&allocator, ResourceAllocationFlags::empty(), 3 * MIB);
    assert_eq!(allocator.reserved(), ByteSize::from_mib(103));
    drop(small);
}

#[test]
fn it_is_used_where_a_new_one_would_be_refused() {
    let limits = HeapLimits { default: Some(ByteSize::from_mib(200)), ..Default::default() };
    let never = ResourceAllocatorFlags::NEVER_OVER_ALLOCATE;
    let usual = ResourceAllocationFlags::empty();
    let cases = [
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
