//! Parts of a buffer: offsets, addresses, mappings, and which requests qualify.

use crate::gpu::*;

#[test]
fn parts_of_one_resource_share_everything_but_their_bytes() {
    let (gpu, allocator) = with_allocator(any_device());
    let within = place(HeapType::Upload, WITHIN);
    let mut first = buffer(&allocator, &within, 16);
    let mut second = buffer(&allocator, &within, 16);
    assert_eq!((first.resource(), first.heap()), (second.resource(), second.heap()));
    assert_eq!(first.offset(), HeapOffset::ZERO, "that of the resource");
    assert_ne!(first.offset_from_resource(), second.offset_from_resource());
    for part in [&first, &second] {
        let info = part.info();
        assert_eq!((info.size.get(), info.alignment.get()), (16, 16), "GPGMM: its own, byte-aligned");
        assert_eq!(info.decision.placement, Placement::WithinResource);
        // SAFETY: the resource is a live COM object.
        let D3D12_GPU_VIRTUAL_ADDRESS(whole) = unsafe { part.resource().GetGPUVirtualAddress() };
        let address = part.gpu_virtual_address().expect("a buffer has one").get();
        assert_eq!(address, whole + part.offset_from_resource().get());
    }
    // GPGMM's first backing buffer has a size of 64 KiB.
    assert_eq!(desc_of(&first).Width, 64 * KIB);
    // A mapping covers exactly the bytes of the part.
    first.map().expect("mapped").write(0, &[1; 16]).expect("inside");
    second.map().expect("mapped").write(0, &[2; 16]).expect("inside");
    assert!(first.map().expect("mapped").write(16, &[3]).is_err(), "that is the other's");
    let mut bytes = [0; 16];
    first.map().expect("mapped").read(0, &mut bytes).expect("inside");
    assert_eq!(bytes, [1; 16]);
    // The same bytes through D3D12's mapped pointer.
    let mut start = std::ptr::null_mut();
    // SAFETY: the buffer is live, its only subresource is 0, and the pointer is writable.
    unsafe { first.resource().Map(0, None, &mut start) }.ok().expect("mapped");
    let at = usize::try_from(second.offset_from_resource().get()).expect("small");
    // SAFETY: the part lies in the buffer, whose bytes are mapped.
    assert_eq!(unsafe { *start.cast::<u8>().add(at) }, 2);
    // SAFETY: it was mapped above.
    unsafe { first.resource().Unmap(0, None) };
    assert_returned((first, second), &allocator, &gpu);
}

#[test]
fn every_cpu_heap_type_has_parts_and_they_keep_their_bytes() {
    let (gpu, allocator) = with_allocator(any_device());
    for heap_type in gpu.heap_types().into_iter().filter(|of| of.is_cpu_accessible()) {
        let mut parts: Vec<_> =
            (1..=200_u8).map(|i| buffer(&allocator, &place(heap_type, WITHIN), u64::from(i) * 7)).collect();
        for (part, i) in parts.iter_mut().zip(1..) {
            assert_eq!(placement(part), Placement::WithinResource);
            let mut mapping = part.map().expect("mapped");
            assert_eq!(mapping.len(), ByteSize::new(u64::from(i) * 7));
            mapping.write(0, &vec![i; usize::from(i) * 7]).expect("inside");
        }
        // Frees every second part and creates others.
        let mut keep = false;
        parts.retain(|_| {
            keep = !keep;
            !keep
        });
        for size in [1, 50, 5000] {
            let mut other = buffer(&allocator, &place(heap_type, WITHIN), size);
            let zeros = vec![0; usize::try_from(size).expect("small")];
            other.map().expect("mapped").write(0, &zeros).expect("inside");
            parts.push(other);
        }
        for (part, i) in parts.iter_mut().zip((2..=200_u8).step_by(2)) {
            let mut bytes = vec![0; usize::from(i) * 7];
            part.map().expect("mapped").read(0, &mut bytes).expect("inside");
            assert!(bytes.iter().all(|&byte| byte == i), "{heap_type} {i}");
        }
        allocator.audit().expect("consistent");
    }
    assert_returns_everything(&allocator, &gpu);
}

#[test]
fn what_may_be_no_part_is_a_resource_of_its_own() {
    let mut gpu = any_device();
    if gpu.lacks("GPU upload heaps", |caps| caps.gpu_upload_heaps) {
        return;
    }
    let allocator = usual(&gpu);
    let pool = new_pool(&allocator, PoolDesc { heap_type: HeapType::Upload, ..Default::default() });
    let small = buffer_of(100);
    let upload = place(HeapType::Upload, WITHIN);
    let flags = D3D12_RESOURCE_DESC { Flags: D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS, ..small };
    let cases = [
        (upload, small, COMMON, true),
        (upload, small, D3D12_RESOURCE_STATE_GENERIC_READ, true),
        (place(HeapType::Readback, WITHIN), small, D3D12_RESOURCE_STATE_COPY_DEST, true),
        (in_upload(), small, COMMON, false),
        (place(HeapType::Default, WITHIN), small, COMMON, false),
        (place(HeapType::GpuUpload, WITHIN), flags, COMMON, false),
        (place(HeapType::GpuUpload, WITHIN), small, D3D12_RESOURCE_STATE_COPY_SOURCE, false),
        (upload, buffer_desc(kib(64)), COMMON, false),
        (upload, buffer_of(65_535), COMMON, true),
        (place(HeapType::Upload, WITHIN | OWN), small, COMMON, false),
        (place(HeapType::Upload, WITHIN | NEVER_RESIDENT), small, COMMON, false),
        (place(HeapType::Upload, WITHIN | COMMITTED), small, COMMON, false),
        (ResourceAllocationDesc { flags: WITHIN, ..in_pool(&pool) }, small, COMMON, false),
    ];
    for (place, desc, state, is_part) in cases {
        let made = allocator.create_resource(&place, &desc, state, None).expect("one way or the other");
        let found = placement(&made) == Placement::WithinResource;
        assert_eq!(found, is_part, "{place:?} {desc:?} {state:#x}");
        if !found {
            assert_eq!(made.offset_from_resource(), ByteSize::ZERO);
        }
    }
}

#[test]
fn a_part_is_aligned_to_its_size_unless_less_is_asked_for() {
    let (_gpu, allocator) = with_allocator(any_device());
    let upload = place(HeapType::Upload, WITHIN);
    // As GPGMM: the size rounded up to a power of two from 4 to 256; always 256 in state GENERIC_READ. Views that begin
    // at bytes need 16.
    let most = if allocator.caps().byte_offset_views { 16 } else { 256 };
    for (width, expected) in
        [(1, 4), (2, 4), (3, 4), (4, 4), (5, 8), (16, 16), (100, 128), (255, 256), (256, 256), (5000, 256)]
    {
        let expected = expected.min(most);
        let part = buffer(&allocator, &upload, width);
        assert_eq!(part.alignment().get(), expected, "{width} bytes");
        assert!(part.offset_from_resource().get().is_multiple_of(expected));
        assert_eq!(part.size().get(), width.next_multiple_of(expected));
    }
    let small = buffer_of(4);
    let in_state =
        |desc, state| allocator.create_resource(&upload, desc, state, None).expect("there is room");
    assert_eq!(in_state(&small, D3D12_RESOURCE_STATE_GENERIC_READ).alignment().get(), 256);
    assert_eq!(in_state(&D3D12_RESOURCE_DESC { Alignment: 1, ..small }, COMMON).alignment().get(), 1);
}

#[test]
fn an_alignment_that_is_asked_for_is_a_parts_address() {
    let (_gpu, allocator) = with_allocator(open("uma"));
    // Prevents the backing buffer from starting at offset 0 of the heap.
    let _odd = buffer(&allocator, &in_upload(), 24);
    for alignment in [1, 8, 64, 512, 4096, 64 * KIB] {
        let desc = D3D12_RESOURCE_DESC { Alignment: alignment, ..buffer_of(100) };
        let _first = buffer(&allocator, &place(HeapType::Upload, WITHIN), 4);
        let made = create(&allocator, &place(HeapType::Upload, WITHIN), &desc);
        assert_eq!(placement(&made), Placement::WithinResource);
        let address = made.gpu_virtual_address().expect("has one").get();
        assert_eq!(address % alignment, 0, "{alignment}: {address:#x}");
    }
}

#[test]
fn backing_buffers_keep_what_unified_memory_is() {
    let (gpu, allocator) = with_unified_memory();
    let unified = buffer(&allocator, &place(HeapType::Upload, WITHIN), 100);
    let attributed = ResourceAllocationFlags::ALWAYS_ATTRIBUTE_HEAPS;
    let typed = buffer(&allocator, &place(HeapType::Upload, WITHIN | attributed), 100);
    assert_eq!(properties_of(&unified).0.Type, D3D12_HEAP_TYPE_CUSTOM);
    assert_eq!(properties_of(&typed).0.Type, D3D12_HEAP_TYPE_UPLOAD);
    assert_ne!(unified.resource(), typed.resource());
    assert_returned((unified, typed), &allocator, &gpu);
}

#[test]
fn coherence_of_parts_is_known_of_intel_alone() {
    let profile = *HostProfile::default_profile();
    for (vendor_id, coherent) in [(0x8086, true), (profile.vendor_id, false)] {
        let profile = HostProfile { vendor_id, ..profile };
        let gpu = fresh(&profile);
        let with_adapter = usual(&gpu).resource_allocation_support();
        assert_eq!(with_adapter.is_resource_allocation_within_coherent, coherent);
        let without = ResourceAllocator::new(&gpu.device, None, Default::default()).expect("sound");
        assert!(!without.resource_allocation_support().is_resource_allocation_within_coherent);
    }
}

/// Near a limit, where no other memory is left.
#[test]
fn parts_use_slots_of_other_sizes_and_the_smallest_buffers_near_a_limit() {
    let near = |limit| {
        let limits = HeapLimits { upload: Some(limit), ..Default::default() };
        allocator(&open("discrete"), with_limits(limits))
    };
    let upload = place(HeapType::Upload, WITHIN);
    let allocator = near(kib(64));
    let mut parts = as_many_as_fit(&allocator, &upload, 1000);
    keep_every(2, &mut parts);
    parts.extend((0..32).map(|_| buffer(&allocator, &upload, 500)));
    assert_eq!(parts.len(), 64, "of 1 KiB each");
    let allocator = near(kib(1984));
    let parts = as_many_as_fit(&allocator, &upload, 60_000);
    let widths: Vec<_> = parts.iter().map(|part| desc_of(part).Width).collect();
    assert!(parts.iter().all(|part| placement(part) == Placement::WithinResource), "{widths:?}");
    assert!(widths.contains(&(128 * KIB)) && widths.last() == Some(&(64 * KIB)), "{widths:?}");
}

/// Those that do not fit into a heap that resources share have one of their own.
#[test]
fn the_buffers_of_many_parts_are_large_with_every_algorithm() {
    for algorithm in ALGORITHMS {
        let (gpu, allocator) = on(any_device(), with_algorithm(algorithm));
        let parts: Vec<_> =
            (0..40).map(|_| buffer(&allocator, &place(HeapType::Upload, WITHIN), 60_000)).collect();
        let most = parts.iter().map(|part| desc_of(part).Width).max();
        assert!(most >= Some(128 * KIB), "{algorithm:?}: {most:?} bytes");
        assert_returned(parts, &allocator, &gpu);
    }
}

/// An allocator that commits all resources commits the buffers that others are within, too.
#[test]
fn parts_of_an_allocator_that_commits_are_in_committed_buffers() {
    for profile in ["discrete", "cache-coherent-uma", "old-ddi"] {
        let gpu = open(profile);
        let limit = Some(kib(128));
        let limits = HeapLimits { upload: limit, ..Default::default() };
        let allocator = allocator(
            &gpu,
            ResourceAllocatorDesc { flags: ResourceAllocatorFlags::ALWAYS_COMMITTED, ..with_limits(limits) },
        );
        let within = place(HeapType::Upload, WITHIN);
        let probed = allocator.probe(&within, buffer_of(1000)).expect("permitted");
        assert_eq!(probed.decision.placement, Placement::WithinResource);
        let mut parts: Vec<_> = (0..3_u8).map(|_| buffer(&allocator, &within, 1000)).collect();
        let reserved = allocator.reserved();
        assert_eq!(probed.memory, PredictedMemory::NewHeap(reserved));
        assert!(reserved <= kib(64) && reserved == usage(&gpu), "{profile}: {reserved}");
        assert_eq!(allocator.stats().heaps_created, 1, "{profile}");
        for part in &parts {
            assert_eq!((placement(part), part.heap()), (Placement::WithinResource, None), "{profile}");
            assert_eq!(part.resource(), parts[0].resource(), "{profile}");
            let (properties, _) = properties_of(part);
            assert_eq!(properties.Type, D3D12_HEAP_TYPE_UPLOAD, "{profile}");
        }
        for (seed, part) in (0..).zip(&mut parts) {
            part.set_user_data(u64::from(seed) + 1);
            part.map().expect("mapped").write(0, &[seed; 1000]).expect("inside");
        }
        for (seed, part) in (0..).zip(&mut parts) {
            let mut bytes = [0xff; 1000];
            part.map().expect("mapped").read(0, &mut bytes).expect("inside");
            assert_eq!(bytes, [seed; 1000], "{profile}");
        }
        // Statistics and report agree: a heap with a buffer with three parts.
        let (stats, report) = (allocator.stats(), allocator.report());
        let counts = (stats.allocation_count, stats.used_block_count, stats.heap_count);
        assert_eq!(counts, (3, 3, 1), "{profile}");
        assert_eq!((stats.committed_count, stats.used, stats.reserved), (0, parts_sum(&parts), reserved));
        let totals = report.totals;
        let counts = (totals.allocation_count, totals.heap_count, totals.used);
        assert_eq!(counts, (3, 1, stats.used), "{profile}");
        assert_eq!((totals.reserved, totals.committed.count), (reserved, 0), "{profile}");
        let found: Vec<_> = everything_in(&allocator).into_iter().map(|(_, user_data)| user_data).collect();
        assert_eq!(found, ["1", "2", "3"].map(|user_data| Some(user_data.to_owned())), "{profile}");
        // The limit is that of the heap type.
        refused(try_buffer(&allocator, &place(HeapType::Upload, NONE), 100 * KIB), Error::is_over_budget);
        allocator.audit().expect("consistent");
        // Its implicit heap is never reused.
        parts.truncate(1);
        assert_eq!(usage(&gpu), reserved);
        parts.clear();
        assert_eq!((usage(&gpu), allocator.reserved()), (ByteSize::ZERO, ByteSize::ZERO), "{profile}");
        assert_eq!(allocator.stats().empty_heap_count, 0);
    }
}

fn parts_sum(parts: &[ResourceAllocation]) -> ByteSize {
    parts.iter().fold(ByteSize::ZERO, |sum, part| sum.saturating_add(part.size()))
}
