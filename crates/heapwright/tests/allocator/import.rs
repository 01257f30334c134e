//! Import of resources that were created outside of the allocator.

use crate::gpu::*;

fn committed(gpu: &impl Opened, heap_type: D3D12_HEAP_TYPE, desc: &D3D12_RESOURCE_DESC) -> ID3D12Resource {
    let properties = D3D12_HEAP_PROPERTIES { Type: heap_type, ..Default::default() };
    committed_with(gpu.device(), &properties, D3D12_HEAP_FLAG_NONE, desc)
}

fn import(
    allocator: &ResourceAllocator,
    desc: &ResourceAllocationDesc<'_>,
    resource: &ID3D12Resource,
) -> Result<ResourceAllocation, Error> {
    // SAFETY: these tests map one allocation of a resource at a time.
    unsafe { allocator.import(desc, resource) }
}

#[test]
fn an_imported_resource_is_counted_and_handled_like_others() {
    let (gpu, allocator) = with_allocator(any_device());
    for heap_type in gpu.heap_types() {
        let resource = committed(&gpu, heap_type.to_d3d12(), &buffer_desc(kib(100)));
        let before = counted(&gpu);
        let mut made = import(&allocator, &place(heap_type, NONE), &resource).expect("sound");
        let again = import(&allocator, &ResourceAllocationDesc::default(), &resource).expect("twice is two");
        assert_eq!(made.heap_type(), heap_type);
        assert_eq!((made.resource(), made.heap()), (&resource, None));
        assert_eq!(made.info().decision, decided(Placement::Imported, PlacementReason::Usual));
        let stats = allocator.stats();
        assert_eq!((stats.imported_count, stats.allocation_count, stats.used_block_count), (2, 2, 0));
        let both = made.size().checked_mul(2).expect("small");
        assert_eq!((again.size(), stats.imported, stats.used), (made.size(), both, both));
        let in_use = (stats.used_heap_count, stats.used_heap_usage);
        assert_eq!(in_use, (2, stats.imported), "as GPGMM counts them");
        assert_eq!(stats.reserved, ByteSize::ZERO, "the allocator did not ask for it");
        assert_eq!(counted(&gpu), before);
        assert_eq!(made.map().is_ok(), heap_type.is_cpu_accessible());
        assert_eq!(allocator.report().imported.len(), 2);
        drop((made, again));
        assert_eq!(allocator.stats().imported_count, 0);
        // The caller's reference is still held.
        // SAFETY: the resource is a live COM object.
        assert_eq!(unsafe { resource.GetDesc() }.Width, 100 * KIB);
        drop(resource);
        assert_usage(&gpu, ByteSize::ZERO);
    }
}

#[test]
fn a_custom_heaps_resource_is_of_the_type_that_it_is_like() {
    let (gpu, allocator) = with_allocator(open("discrete"));
    for (page, pool, expected) in [
        (D3D12_CPU_PAGE_PROPERTY_NOT_AVAILABLE, D3D12_MEMORY_POOL_L1, HeapType::Default),
        (D3D12_CPU_PAGE_PROPERTY_WRITE_COMBINE, D3D12_MEMORY_POOL_L0, HeapType::Upload),
        (D3D12_CPU_PAGE_PROPERTY_WRITE_BACK, D3D12_MEMORY_POOL_L0, HeapType::Readback),
        (D3D12_CPU_PAGE_PROPERTY_WRITE_COMBINE, D3D12_MEMORY_POOL_L1, HeapType::GpuUpload),
    ] {
        let properties = D3D12_HEAP_PROPERTIES {
            Type: D3D12_HEAP_TYPE_CUSTOM,
            CPUPageProperty: page,
            MemoryPoolPreference: pool,
            ..Default::default()
        };
        let resource = committed_with(gpu.device(), &properties, D3D12_HEAP_FLAG_NONE, &buffer_of(1000));
        let made = import(&allocator, &ResourceAllocationDesc::default(), &resource).expect("sound");
        assert_eq!(made.heap_type(), expected);
        assert_eq!(made.needs_copy(), expected != HeapType::GpuUpload);
    }
}

#[test]
fn never_resident_is_the_one_flag_for_imports() {
    let (gpu, allocator) = with_allocator(any_device());
    let resource = committed(&gpu, D3D12_HEAP_TYPE_DEFAULT, &texture(64, 64));
    let never = place(HeapType::Default, NEVER_RESIDENT);
    import(&allocator, &never, &resource).expect("sound");
    for flag in ResourceAllocationFlags::all() - NEVER_RESIDENT {
        let made = import(&allocator, &place(HeapType::Default, flag), &resource);
        invalid(made, "ResourceAllocationDesc::flags");
    }
    let unknown = ResourceAllocationFlags::from_bits_retain(1 << 31);
    assert!(import(&allocator, &place(HeapType::Default, unknown), &resource).is_err());
}

#[test]
fn what_contradicts_the_resource_is_refused_with_its_field() {
    let (gpu, allocator) = with_allocator(any_device());
    let pool = new_pool(&allocator, PoolDesc::default());
    let resource = committed(&gpu, D3D12_HEAP_TYPE_DEFAULT, &buffer_of(1000));
    let cases = [
        (in_upload(), "ResourceAllocationDesc::heap_type"),
        (
            ResourceAllocationDesc { extra_required_heap_flags: D3D12_HEAP_FLAG_SHARED, ..in_default() },
            "ResourceAllocationDesc::extra_required_heap_flags",
        ),
        (
            ResourceAllocationDesc { extra_required_resource_padding: ByteSize::new(1), ..in_default() },
            "ResourceAllocationDesc::extra_required_resource_padding",
        ),
        (ResourceAllocationDesc { pool: Some(&pool), ..in_default() }, "ResourceAllocationDesc::pool"),
    ];
    for (place, field) in cases {
        invalid(import(&allocator, &place, &resource), field);
    }
    assert_eq!(allocator.stats().imported_count, 0);
}

#[test]
fn resources_of_another_device_and_without_a_heap_are_refused() {
    let gpu = open("discrete");
    let other = open("discrete");
    let allocator = usual(&gpu);
    let foreign = committed(&other, D3D12_HEAP_TYPE_DEFAULT, &buffer_of(1000));
    invalid(import(&allocator, &ResourceAllocationDesc::default(), &foreign), "resource: ");
    let mut reserved: Option<ID3D12Resource> = None;
    // SAFETY: the device is live, the description outlives the call, and the result has the requested interface.
    unsafe { gpu.device().CreateReservedResource(&buffer_desc(mib(1)), COMMON, None, &mut reserved) }
        .expect("the device takes it");
    let reserved = reserved.expect("and answers it");
    invalid(import(&allocator, &ResourceAllocationDesc::default(), &reserved), "resource: ");
    assert_eq!(allocator.stats().imported_count, 0);
}

#[test]
fn an_allocation_of_every_kind_knows_its_allocator() {
    let (_gpu, allocator) = with_allocator(any_device());
    let of = |flags| buffer(&allocator, &place(HeapType::Upload, flags), 1000);
    let committed = of(COMMITTED);
    let imported = import(&allocator, &Default::default(), committed.resource()).expect("of this device");
    let within = of(WITHIN);
    let all = [of(NONE), committed, imported, within];
    for allocation in &all {
        let found = allocation.allocator().expect("it is alive");
        assert_eq!(found.stats(), allocator.stats(), "{allocation:?}");
    }
    drop(allocator);
    assert!(all.iter().all(|allocation| allocation.allocator().is_none()));
}
