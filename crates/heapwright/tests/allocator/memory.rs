//! Memory in which the program places resources itself.

use crate::gpu::*;

const ALIGNED: Alignment = Alignment::new(64 * KIB).unwrap();
const ALIGNED_FOR_SAMPLES: Alignment = Alignment::new(4 * MIB).unwrap();

fn memory(allocator: &ResourceAllocator, resources: ResourceKind, size: u64) -> MemoryAllocation {
    let made = allocator.allocate_memory(&Default::default(), resources, ByteSize::new(size), ALIGNED);
    made.expect("there is room")
}

fn heap_desc(memory: &MemoryAllocation) -> D3D12_HEAP_DESC {
    // SAFETY: the heap is a live COM object.
    unsafe { memory.heap().GetDesc() }
}

#[test]
fn resources_of_the_kind_are_placed_where_they_fit() {
    for profile in ["discrete", "uma", "heap-tier-1"] {
        let (gpu, allocator) = with_allocator(open(profile));
        for (resources, desc) in [
            (ResourceKind::Buffers, buffer_desc(kib(64))),
            (ResourceKind::Textures, texture(128, 128)),
            (ResourceKind::RenderTargets, target(128, 128, 1)),
        ] {
            let memory = memory(&allocator, resources, 256 * KIB);
            assert_eq!((memory.size(), memory.alignment()), (kib(256), ALIGNED));
            assert_eq!(memory.heap_type(), HeapType::Default);
            assert!(memory.offset().is_aligned(ALIGNED));
            let place = |offset| memory.create_resource(HeapOffset::new(offset), desc);
            let all = [0, 64 * KIB, 192 * KIB, 0].map(|offset| place(offset).expect("it fits"));
            invalid(place(256 * KIB), "offset");
            invalid(place(u64::MAX - 64 * KIB + 1), "offset");
            invalid(place(1), "offset");
            let too_large = D3D12_RESOURCE_DESC { Width: desc.Width * 8, Height: desc.Height * 8, ..desc };
            let too_large = if desc.Height == 1 { buffer_desc(mib(1)) } else { too_large };
            invalid(memory.create_resource(HeapOffset::ZERO, too_large), "offset");
            drop(all);
        }
        assert_returns_everything(&allocator, &gpu);
    }
}

#[test]
fn heaps_for_all_kinds_require_tier_2() {
    let allocator = usual(&open("heap-tier-1"));
    let size = mib(1);
    let asked = allocator.allocate_memory(&Default::default(), ResourceKind::Any, size, ALIGNED);
    refused(asked, Error::is_unsupported);
    let pool = new_pool(&allocator, PoolDesc::default());
    let in_pool = allocator.allocate_memory(&in_pool(&pool), ResourceKind::Any, size, ALIGNED);
    drop(in_pool.expect("whatever the pool accepts"));
    let (gpu, allocator) = with_allocator(open("discrete"));
    let [first, second] = [0, 1].map(|_| memory(&allocator, ResourceKind::Any, MIB));
    assert_eq!(first.heap(), second.heap(), "they share heaps");
    for desc in [buffer_desc(size), texture(256, 256), target(256, 256, 1)] {
        drop(first.create_resource(HeapOffset::ZERO, desc).expect("the heap accepts all"));
    }
    for resources in [ResourceKind::RenderTargets, ResourceKind::Any] {
        let size = mib(4);
        let memory = allocator.allocate_memory(&Default::default(), resources, size, ALIGNED_FOR_SAMPLES);
        let memory = memory.expect("there is room");
        drop(memory.create_resource(HeapOffset::ZERO, target(256, 256, 4)).expect("the heap is aligned"));
    }
    assert_returned((first, second), &allocator, &gpu);
}

#[test]
fn an_allocator_that_commits_places_memory_too() {
    let (gpu, allocator) = on(open("discrete"), flagged(ResourceAllocatorFlags::ALWAYS_COMMITTED));
    for resources in [ResourceKind::Buffers, ResourceKind::Any] {
        let memory = memory(&allocator, resources, MIB);
        drop(memory.create_resource(HeapOffset::ZERO, buffer_desc(mib(1))).expect("it fits"));
    }
    assert_eq!(allocator.report().pools.len(), 1, "memory needs no pool");
    assert_returns_everything(&allocator, &gpu);
}

#[test]
fn heaps_have_the_flags_and_properties_that_are_asked_for() {
    let (gpu, allocator) = with_allocator(open("discrete"));
    let allocate = |desc: &ResourceAllocationDesc<'_>, resources| {
        allocator.allocate_memory(desc, resources, mib(1), ALIGNED).expect("there is room")
    };
    let shared = ResourceAllocationDesc { extra_required_heap_flags: D3D12_HEAP_FLAG_SHARED, ..in_default() };
    let [one, other] = [0, 1].map(|_| allocate(&shared, ResourceKind::Textures));
    assert_ne!(one.heap(), other.heap(), "each has a heap of its own");
    assert_eq!((one.offset(), heap_desc(&one).SizeInBytes), (HeapOffset::ZERO, MIB));
    assert_eq!(heap_desc(&one).Flags & D3D12_HEAP_FLAG_SHARED, D3D12_HEAP_FLAG_SHARED);
    let aligned = ResourceAllocationDesc { heap_type: None, ..shared };
    let aligned = allocator.allocate_memory(&aligned, ResourceKind::Buffers, mib(4), ALIGNED_FOR_SAMPLES);
    assert_eq!(aligned.expect("there is room").heap_type(), HeapType::Default);
    let pool = PoolDesc { extra_heap_flags: D3D12_HEAP_FLAG_SHARED, ..Default::default() };
    let pool = new_pool(&allocator, pool);
    let pooled = allocate(&ResourceAllocationDesc { pool: Some(&pool), ..shared }, ResourceKind::Buffers);
    assert_eq!(pool.totals().allocation_count, 1);
    let custom_heap = Some((D3D12_CPU_PAGE_PROPERTY_WRITE_BACK, D3D12_MEMORY_POOL_L0));
    let custom = ResourceAllocationDesc { custom_heap, ..Default::default() };
    let custom = allocate(&custom, ResourceKind::Buffers);
    assert_eq!(heap_desc(&custom).Properties.Type, D3D12_HEAP_TYPE_CUSTOM);
    let upload = allocate(&in_upload(), ResourceKind::Buffers);
    assert_eq!(heap_desc(&upload).Properties.Type, D3D12_HEAP_TYPE_UPLOAD);
    let in_usual_state = upload.create_resource(HeapOffset::ZERO, buffer_desc(mib(1)));
    assert!(in_usual_state.is_ok(), "{in_usual_state:?}");
    let own = ResourceAllocationDesc { flags: OWN, ..Default::default() };
    assert_eq!(heap_desc(&allocate(&own, ResourceKind::Buffers)).SizeInBytes, MIB);
    assert_returned((one, other, pooled, pool, custom, upload, in_usual_state), &allocator, &gpu);
}

#[test]
fn memory_of_a_pool_obeys_its_limits() {
    let (gpu, allocator) = with_allocator(open("discrete"));
    let heap_size = Some(mib(1));
    let pool = new_pool(&allocator, PoolDesc { heap_size, max_heap_count: Some(1), ..Default::default() });
    let allocate = |size| {
        allocator.allocate_memory(&in_pool(&pool), ResourceKind::Buffers, ByteSize::new(size), ALIGNED)
    };
    let half = allocate(512 * KIB).expect("there is room");
    refused(allocate(MIB), Error::is_out_of_memory);
    let rest = allocate(512 * KIB).expect("there is room");
    assert_eq!((half.heap(), pool.totals().allocation_count), (rest.heap(), 2));
    assert_returned((half, rest, pool), &allocator, &gpu);
}

#[test]
fn wrong_requests_are_refused() {
    let (_gpu, allocator) = with_allocator(open("discrete"));
    let allocate = |flags, size| {
        let desc = ResourceAllocationDesc { flags, ..Default::default() };
        allocator.allocate_memory(&desc, ResourceKind::Buffers, ByteSize::new(size), ALIGNED)
    };
    invalid(allocate(NONE, 0), "size");
    invalid(allocate(COMMITTED, MIB), "ResourceAllocationDesc::flags");
    invalid(allocate(PREFER_COMMITTED, MIB), "ResourceAllocationDesc::flags");
    refused(allocate(NEVER_ALLOCATE_HEAP, MIB), Error::is_out_of_memory);
    refused(allocate(NONE, u64::MAX), Error::is_out_of_memory);
    let memory = allocate(NONE, MIB).expect("there is room");
    let upload = allocator.allocate_memory(&in_upload(), ResourceKind::Buffers, mib(1), ALIGNED);
    let upload = upload.expect("there is room");
    let in_state = upload.create_resource(
        HeapOffset::ZERO,
        ResourceDesc::in_state(&buffer_of(1), D3D12_RESOURCE_STATE_COPY_DEST),
    );
    invalid(in_state, "initial_state: 0x");
    drop(allocator);
    invalid(memory.create_resource(HeapOffset::ZERO, buffer_desc(mib(1))), "allocator");
}

#[test]
fn names_and_values_are_reported_until_it_is_freed() {
    let (_gpu, allocator) = with_allocator(open("discrete"));
    let mut made = memory(&allocator, ResourceKind::Buffers, MIB);
    made.set_debug_name("arena");
    made.set_user_data(7);
    assert_eq!((made.debug_name(), made.user_data()), (Some("arena"), 7));
    assert_eq!(everything_in(&allocator), [(Some("arena".into()), Some("7".into()))]);
    drop(made);
    assert_eq!(everything_in(&allocator), []);
}

#[test]
fn a_placed_resource_can_be_taken_out_of_its_memory() {
    let (gpu, allocator) = with_allocator(open("discrete"));
    let upload = in_upload();
    let mut placed = buffer(&allocator, &upload, 100 * KIB);
    placed.keep_mapped().expect("the CPU can access it");
    let (offset, size, id) = (placed.offset(), placed.size(), placed.id());
    placed.set_debug_name("first").expect("the device is valid");
    let (memory, resource) = placed.into_memory().expect("it is placed");
    assert_eq!((memory.offset(), memory.size(), memory.id()), (offset, size, id));
    assert_eq!(memory.debug_name(), Some("first"));
    drop(resource);
    let second = memory.create_resource(HeapOffset::ZERO, buffer_desc(kib(100)));
    drop(second.expect("it fits as the first did"));
    drop(memory);
    for flags in [COMMITTED, WITHIN] {
        let other = buffer(&allocator, &place(HeapType::Upload, flags), KIB);
        let kept = other.into_memory().expect_err("it has no range of its own");
        assert_eq!(placement(&kept) == Placement::Committed, flags == COMMITTED);
    }
    assert_returns_everything(&allocator, &gpu);
}

#[test]
fn held_heaps_are_those_that_the_device_created() {
    let (gpu, allocator) = with_allocator(open("discrete"));
    let custom_heap = Some((D3D12_CPU_PAGE_PROPERTY_WRITE_BACK, D3D12_MEMORY_POOL_L0));
    let pool = new_pool(
        &allocator,
        PoolDesc { heap_type: HeapType::Readback, custom_heap, min_heap_count: 2, ..pool_of(mib(1)) },
    );
    let made = [local(&allocator, MIB), buffer(&allocator, &place(HeapType::Upload, OWN), 3 * MIB)];
    let committed = buffer(&allocator, &place(HeapType::Default, COMMITTED), 2 * MIB);
    let heaps = allocator.heaps();
    let of_pool: Vec<_> = heaps.iter().filter(|heap| heap.pool == Some(pool.number())).collect();
    assert_eq!(of_pool.len(), 2);
    for heap in of_pool {
        assert_eq!((heap.size, heap.properties.Type), (mib(1), D3D12_HEAP_TYPE_CUSTOM));
        assert_eq!(heap.segment_group, NON_LOCAL);
    }
    for made in &made {
        let heap = heaps.iter().find(|heap| Some(&heap.heap) == made.heap()).expect("it is listed");
        assert_eq!((heap.pool, heap.properties.Type), (None, made.heap_type().to_d3d12()));
        // SAFETY: the heap is a live COM object.
        assert_eq!(unsafe { heap.heap.GetDesc() }.SizeInBytes, heap.size.get());
    }
    for group in SegmentGroup::ALL {
        let of_group = heaps.iter().filter(|heap| heap.segment_group == group);
        let (mut count, mut size) = of_group.fold((0, 0), |sum, heap| (sum.0 + 1, sum.1 + heap.size.get()));
        if group == LOCAL {
            (count, size) = (count + 1, size + committed.size().get());
        }
        let held = allocator.held_in(group);
        assert_eq!((held.count, held.size.get()), (count, size), "{group}");
    }
    assert_returned((heaps, made, committed, pool), &allocator, &gpu);
    assert_eq!(allocator.held_in(LOCAL).count, 0);
}
