//! Each field of an allocation's and a resource's description changes something that its user or the device sees.

use crate::faulty_device::{Seen, Session, faulty, inject_first};
use crate::gpu::*;

#[test]
fn of_a_preference_the_next_is_granted_when_the_first_is_out_of_memory() {
    let limits = HeapLimits { gpu_upload: Some(mib(1)), ..Default::default() };
    let (_gpu, allocator) = on(open("discrete"), with_limits(limits));
    let preference = ResourceAllocationDesc::new(HeapTypePreference::GPU_UPLOAD_OR_UPLOAD);
    let small = buffer(&allocator, &preference, 64 * KIB);
    let large = buffer(&allocator, &preference, 4 * MIB);
    assert_eq!((small.heap_type(), small.needs_copy()), (HeapType::GpuUpload, false));
    assert_eq!((large.heap_type(), large.needs_copy()), (HeapType::Upload, true));
    let only = in_gpu_upload();
    refused(try_buffer(&allocator, &only, 4 * MIB), Error::is_over_budget);

    // A texture has no second choice, because UPLOAD heaps hold buffers only. The error reports that the
    // first choice is out of memory.
    let made = allocator.create_resource(&preference, &texture(1024, 1024), COMMON, None);
    refused(made, Error::is_out_of_memory);
}

#[test]
fn extra_heap_flags_that_heaps_lack_make_the_resource_committed() {
    let (_gpu, allocator) = with_allocator(any_device());
    let with =
        |extra_required_heap_flags| ResourceAllocationDesc { extra_required_heap_flags, ..in_default() };
    let shared = buffer(&allocator, &with(D3D12_HEAP_FLAG_SHARED), 1000);
    assert_eq!(shared.info().decision, decided(Placement::Committed, PlacementReason::ExtraHeapFlags));
    assert_eq!(properties_of(&shared).1 & D3D12_HEAP_FLAG_SHARED, D3D12_HEAP_FLAG_SHARED);
    // CREATE_NOT_ZEROED is a permission, and flags that heaps have anyway are no extra requirement.
    let permitted = buffer(&allocator, &with(D3D12_HEAP_FLAG_CREATE_NOT_ZEROED), 1000);
    assert_eq!(placement(&permitted), Placement::SharedHeap);
    let own = heap_of(&permitted).Flags;
    assert_eq!(placement(&buffer(&allocator, &with(own), 1000)), Placement::SharedHeap);
    // Flags that no heap may have are refused by the device; the error names the field.
    fails(try_buffer(&allocator, &with(u32::MAX), 1000), "extra_required_heap_flags");
}

/// A SHARED heap cannot be in unified memory, which the CPU can access as well.
#[test]
fn what_is_shared_keeps_its_heap_type_in_spite_of_unified_memory() {
    let (_gpu, allocator) = with_unified_memory();
    let local = in_default();
    let shared = ResourceAllocationDesc { extra_required_heap_flags: D3D12_HEAP_FLAG_SHARED, ..local };
    assert_eq!(properties_of(&buffer(&allocator, &shared, 1000)).0.Type, D3D12_HEAP_TYPE_DEFAULT);
    assert_eq!(properties_of(&buffer(&allocator, &local, 1000)).0.Type, D3D12_HEAP_TYPE_CUSTOM);
}

#[test]
fn padding_is_nobodys() {
    let (_gpu, allocator) = with_allocator(open("discrete"));
    let with = |padding, flags| ResourceAllocationDesc {
        extra_required_resource_padding: ByteSize::new(padding),
        ..place(HeapType::Default, flags)
    };
    let padded = buffer(&allocator, &with(24_576, NONE), 1000);
    let next = local(&allocator, 1000);
    assert_eq!(padded.size(), ByteSize::new(1024 + 24_576));
    assert_eq!(desc_of(&padded).Width, 1000, "the resource itself is not larger");
    if padded.heap() == next.heap() {
        assert!(next.offset().get() >= padded.offset().get() + 25_600);
    }
    let own = buffer(&allocator, &with(100 * KIB, OWN), 1000);
    assert_eq!(heap_of(&own).SizeInBytes, 128 * KIB);
    // Neither a committed resource nor a part of a buffer can be padded.
    let made = try_buffer(&allocator, &with(1, COMMITTED), 1000);
    invalid(made, "ResourceAllocationDesc::extra_required_resource_padding");
    let within = ResourceAllocationDesc { heap_type: Some(HeapType::Upload.into()), ..with(1, WITHIN) };
    assert_eq!(placement(&buffer(&allocator, &within, 1000)), Placement::SharedHeap);
    for padding in [u64::MAX, u64::MAX - 1000, 1 << 63] {
        let error = try_buffer(&allocator, &with(padding, NONE), 1000).expect_err("no heap is that large");
        assert!(error.is_out_of_memory() || error.to_string().contains("padding"), "{error}");
    }
}

#[test]
fn the_strategy_says_which_free_range() {
    let (_gpu, allocator) = with_allocator(any_device());
    let offset = |strategy| {
        let pool = new_pool(&allocator, pool_of(mib(8)));
        let place = ResourceAllocationDesc { strategy, ..in_pool(&pool) };
        // A wide free range at the lower end, followed by one that fits exactly.
        let mut held: Vec<_> = [2 * MIB, 256 * KIB, 512 * KIB, 256 * KIB]
            .map(|size| Some(buffer(&allocator, &place, size)))
            .into();
        (held[0], held[2]) = (None, None);
        buffer(&allocator, &place, 512 * KIB).offset().get()
    };
    assert_eq!(offset(FreeRangeChoice::MinOffset), 0);
    assert_eq!(offset(FreeRangeChoice::default()), 2 * MIB + 256 * KIB);
}

#[test]
fn uses_of_a_buffer_raise_its_alignment() {
    let (_gpu, allocator) = with_allocator(open("uma"));
    let aligned = |uses, flags| {
        let place = ResourceAllocationDesc { uses, ..place(HeapType::Upload, flags) };
        let _odd = buffer(&allocator, &in_upload(), 8);
        let made = buffer(&allocator, &place, 8);
        let address = made.gpu_virtual_address().expect("has one").get();
        assert_eq!(address % made.alignment().get(), 0);
        made.alignment().get()
    };
    assert_eq!(aligned(BufferUses::empty(), NONE), 8);
    assert_eq!(aligned(BufferUses::CONSTANT_BUFFER, NONE), 256);
    assert_eq!(aligned(BufferUses::RAW_VIEW, NONE), 16);
    assert_eq!(aligned(BufferUses::empty(), WITHIN), 8, "its size");
    assert_eq!(aligned(BufferUses::CONSTANT_BUFFER, WITHIN), 256);
}

#[test]
fn user_data_and_names_are_kept_and_told() {
    let (gpu, allocator) = on(any_device(), flagged(ResourceAllocatorFlags::NEVER_LEAK));
    for flags in [NONE, COMMITTED, OWN, WITHIN] {
        let place = ResourceAllocationDesc { user_data: 41, ..place(HeapType::Upload, flags) };
        let mut made = buffer(&allocator, &place, 100);
        assert_eq!((made.user_data(), made.debug_name()), (41, None));
        made.set_debug_name("größe\0x").expect("named");
        made.set_user_data(42);
        assert_eq!((made.user_data(), made.debug_name()), (42, Some("größe\0x")));
        let listed = everything_in(&allocator);
        assert_eq!(listed, [(Some("größe\0x".to_owned()), Some("42".to_owned()))], "{flags:?}");
        let found = name_of(made.resource());
        if found == Err(DXGI_ERROR_NOT_FOUND) && gpu.own().is_none() {
            gpu.say("without reading names back: GetPrivateData does not know what SetName was told");
            continue;
        }
        // D3D12's tools see the name too, unless several allocations share the resource.
        assert_eq!(found.is_ok(), flags != WITHIN);
        assert!(found.is_err() || found.as_deref() == Ok("größex"), "a zero ends D3D12's names: {found:?}");
    }
    assert_eq!(everything_in(&allocator), []);
    assert_eq!(allocator.debug_name(), None);
    allocator.set_debug_name("textures");
    assert_eq!(allocator.clone().debug_name().as_deref(), Some("textures"));
}

#[test]
fn castable_formats_and_layouts_go_through_the_newest_calls() {
    let (gpu, faults) = faulty(None, E_FAIL);
    let allocator = allocator(&gpu, Default::default());
    let formats = [DXGI_FORMAT_R8G8B8A8_UNORM_SRGB, DXGI_FORMAT_R32_UINT];
    let in_layout = |castable_formats| ResourceDesc {
        initial_state: InitialState::Layout(D3D12_BARRIER_LAYOUT_COMMON),
        castable_formats,
        ..ResourceDesc::new(&texture(64, 64))
    };
    for ((flags, placed), formats) in pairs([(NONE, true), (COMMITTED, false)], [&formats[..], &[]]) {
        faults.take_seen();
        allocator.create(&place(HeapType::Default, flags), in_layout(formats)).expect("made");
        let seen = faults.take_seen();
        let calls: Vec<_> = seen
            .iter()
            .filter_map(|seen| match seen {
                Seen::Placed { call, castable, .. } | Seen::Committed { call, castable, .. } => {
                    Some((*call, castable.as_slice()))
                }
                _ => None,
            })
            .collect();
        let call = if placed { "CreatePlacedResource2" } else { "CreateCommittedResource3" };
        assert_eq!(calls, [(call, formats)]);
    }
    // No creation call takes both an initial state and castable formats.
    let with_state = ResourceDesc { castable_formats: &formats, ..ResourceDesc::new(&texture(64, 64)) };
    invalid(allocator.create(&in_default(), with_state), "ResourceDesc::castable_formats");
    // An old device has no call that takes castable formats.
    let old = inject_first(&gpu.device, &faults);
    let old = ResourceAllocator::new(&old, Some(&gpu.adapter), Default::default()).expect("sound");
    for formats in [&formats[..], &[]] {
        refused(old.create(&in_default(), in_layout(formats)), Error::is_unsupported);
        let (size, alignment) = (mib(1), Alignment::new(64 * KIB).unwrap());
        let memory = old.allocate_memory(&in_default(), ResourceKind::Textures, size, alignment);
        let placed = memory.expect("there is room").create_resource(HeapOffset::ZERO, in_layout(formats));
        refused(placed, Error::is_unsupported);
    }
}

#[test]
fn a_session_makes_a_committed_resource_through_its_own_call() {
    let (gpu, faults) = faulty(None, E_FAIL);
    let allocator = allocator(&gpu, Default::default());
    let session = Session::create();
    let resource = ResourceDesc { protected_session: Some(&session), ..ResourceDesc::new(&buffer_of(100)) };
    for place in [in_default(), place(HeapType::Upload, WITHIN)] {
        let made = allocator.create(&place, resource).expect("made");
        assert_eq!(placement(&made), Placement::Committed, "no part of another's resource");
        let seen = faults.take_seen();
        let is_right = |seen: &Seen| {
            matches!(seen, Seen::Committed { call: "CreateCommittedResource1", in_session: true, .. })
        };
        assert!(seen.iter().any(is_right), "{seen:?}");
    }
    let old = inject_first(&gpu.device, &faults);
    let old = ResourceAllocator::new(&old, Some(&gpu.adapter), Default::default()).expect("sound");
    refused(old.create(&in_default(), resource), Error::is_unsupported);
}

#[test]
fn custom_heaps_hold_everything_and_are_like_the_allocators_own() {
    let flags = ResourceAllocatorFlags::CREATE_NOT_ZEROED;
    let min_alignment = Alignment::new(KIB).unwrap();
    let allocator = allocator(&open("discrete"), ResourceAllocatorDesc { min_alignment, ..flagged(flags) });
    let custom_heap = Some((D3D12_CPU_PAGE_PROPERTY_NOT_AVAILABLE, D3D12_MEMORY_POOL_L1));
    let place = ResourceAllocationDesc { custom_heap, ..Default::default() };
    for desc in [buffer_of(100), texture(64, 64), target(64, 64, 1), target(64, 64, 4)] {
        let made = create(&allocator, &place, &desc);
        assert_eq!(properties_of(&made).0.Type, D3D12_HEAP_TYPE_CUSTOM);
        assert_ne!(heap_of(&made).Flags & D3D12_HEAP_FLAG_CREATE_NOT_ZEROED, 0, "{desc:?}");
        assert!(made.alignment() >= min_alignment, "{desc:?}");
    }
}

/// gpu-allocator's CpuToGpu and GpuToCpu.
#[test]
fn an_allocation_may_be_in_custom_heaps() {
    for (profile, page, heap_type) in [
        ("discrete", D3D12_CPU_PAGE_PROPERTY_WRITE_COMBINE, HeapType::Upload),
        ("discrete", D3D12_CPU_PAGE_PROPERTY_WRITE_BACK, HeapType::Readback),
        ("heap-tier-1", D3D12_CPU_PAGE_PROPERTY_WRITE_BACK, HeapType::Readback),
        ("uma", D3D12_CPU_PAGE_PROPERTY_WRITE_COMBINE, HeapType::Upload),
        ("cache-coherent-uma", D3D12_CPU_PAGE_PROPERTY_WRITE_COMBINE, HeapType::Upload),
    ] {
        let gpu = open(profile);
        for flags in [NO_FLAGS, ResourceAllocatorFlags::ALLOW_UNIFIED_MEMORY] {
            let allocator = with_flags(&gpu, flags);
            let custom_heap = Some((page, D3D12_MEMORY_POOL_L0));
            let desc = ResourceAllocationDesc { custom_heap, ..Default::default() };
            let mut writable = buffer_desc(kib(64));
            writable.Flags |= D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS;
            // UPLOAD and READBACK heaps take neither the flag nor the state.
            let state = D3D12_RESOURCE_STATE_UNORDERED_ACCESS;
            let predicted = allocator.probe(&desc, writable).expect("sound");
            assert!(allocator.reserved().is_zero(), "{profile}");
            let mut held: Vec<_> = (0..3)
                .map(|_| allocator.create_resource(&desc, &writable, state, None).expect("a CUSTOM heap"))
                .collect();
            assert_eq!((predicted.heap_type, predicted.size), (heap_type, held[0].size()), "{profile}");
            let properties = properties_of(&held[0]).0;
            let found = (properties.Type, properties.CPUPageProperty, properties.MemoryPoolPreference);
            assert_eq!(found, (D3D12_HEAP_TYPE_CUSTOM, page, D3D12_MEMORY_POOL_L0), "{profile}");
            assert_eq!((held[0].heap_type(), placement(&held[0])), (heap_type, Placement::SharedHeap));
            assert_eq!(held[0].heap(), held[2].heap(), "they share a heap");
            held[1].map().expect("the CPU reaches it").write(0, b"bytes").expect("inside");
            // A heap of its own, and textures in heaps of their own kind on tier 1.
            let alone = ResourceAllocationDesc { flags: OWN, ..desc };
            held.push(allocator.create_resource(&alone, &writable, state, None).expect("a heap of its own"));
            assert_eq!(placement(&held[3]), Placement::OwnHeap);
            assert!(
                allocator.stats().heap_count >= 2
                    && held_in(&allocator, report::HeapTypeName::Custom) > ByteSize::ZERO
            );
            if profile == "uma" {
                let texture = texture(64, 64);
                let made = create(&allocator, &desc, &texture);
                assert_eq!(properties_of(&made).0.Type, D3D12_HEAP_TYPE_CUSTOM);
            }
            allocator.audit().expect("consistent");
            assert_returned(held, &allocator, &gpu);
        }
    }
}

#[test]
fn custom_heaps_of_other_memory_are_others() {
    let (_gpu, allocator) = with_allocator(open("discrete"));
    let in_custom =
        |custom_heap| ResourceAllocationDesc { custom_heap: Some(custom_heap), ..Default::default() };
    let invisible = |pool| (D3D12_CPU_PAGE_PROPERTY_NOT_AVAILABLE, pool);
    let held = [D3D12_MEMORY_POOL_L1, D3D12_MEMORY_POOL_L0, D3D12_MEMORY_POOL_L1].map(|pool| {
        let (size, alignment) = (kib(64), Alignment::new(64 * KIB).unwrap());
        let allocation = in_custom(invisible(pool));
        let memory = allocator.allocate_memory(&allocation, ResourceKind::Buffers, size, alignment);
        let made = (buffer(&allocator, &allocation, 1000), memory.expect("a CUSTOM heap"));
        assert_eq!(properties_of(&made.0).0.MemoryPoolPreference, pool);
        assert_eq!(Some(made.1.heap()), made.0.heap());
        made
    });
    assert_ne!(held[0].0.heap(), held[1].0.heap());
    // What no device has is refused also beside heaps that are like it.
    let write_back = |pool| in_custom((D3D12_CPU_PAGE_PROPERTY_WRITE_BACK, pool));
    let _like_it = buffer(&allocator, &write_back(D3D12_MEMORY_POOL_L0), 1000);
    let nowhere = try_buffer(&allocator, &write_back(D3D12_MEMORY_POOL_L1), 1000);
    invalid(nowhere, "D3D12_HEAP_PROPERTIES::CPUPageProperty");
}

#[test]
fn custom_heaps_are_neither_committed_nor_of_a_pool_nor_imported() {
    let (_gpu, allocator) = with_allocator(open("discrete"));
    let write_combine = (D3D12_CPU_PAGE_PROPERTY_WRITE_COMBINE, D3D12_MEMORY_POOL_L0);
    let custom =
        |custom_heap| ResourceAllocationDesc { custom_heap: Some(custom_heap), ..Default::default() };
    let pool = new_pool(&allocator, PoolDesc::default());
    let field = "ResourceAllocationDesc::custom_heap";
    let desc = ResourceAllocationDesc { pool: Some(&pool), ..custom(write_combine) };
    invalid(try_buffer(&allocator, &desc, 1000), field);
    let desc = ResourceAllocationDesc { flags: COMMITTED, ..custom(write_combine) };
    invalid(try_buffer(&allocator, &desc, 1000), field);
    let committed = buffer(&allocator, &place(HeapType::Default, COMMITTED), 1000);
    // SAFETY: the resource is live, and nothing else uses it.
    let imported = unsafe { allocator.import(&custom(write_combine), committed.resource()) };
    invalid(imported, field);
    let desc = ResourceAllocationDesc { heap_type: Some(HeapType::Readback.into()), ..custom(write_combine) };
    invalid(try_buffer(&allocator, &desc, 1000), "ResourceAllocationDesc::heap_type");
    let unknown = try_buffer(&allocator, &custom((0, D3D12_MEMORY_POOL_L0)), 1000);
    invalid(unknown, "D3D12_HEAP_PROPERTIES::CPUPageProperty");
    let nowhere =
        try_buffer(&allocator, &custom((D3D12_CPU_PAGE_PROPERTY_WRITE_BACK, D3D12_MEMORY_POOL_L1)), 1000);
    invalid(nowhere, "D3D12_HEAP_PROPERTIES::CPUPageProperty");
}
