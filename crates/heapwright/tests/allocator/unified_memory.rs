//! Limits, inferred heap types and missing device capabilities with ALLOW_UNIFIED_MEMORY on cache-coherent
//! UMA.

use heapwright::report::HeapTypeName;
use proptest::prelude::*;

use crate::faulty_device::{Call, Faults, inject_first};
use crate::gpu::*;
use crate::probe::{Step, check, steps};

fn unified(gpu: &Instance, limits: HeapLimits) -> ResourceAllocator {
    let flags = ResourceAllocatorFlags::ALLOW_UNIFIED_MEMORY;
    allocator(gpu, ResourceAllocatorDesc { flags, limits, ..Default::default() })
}

/// Probes and creates a buffer, and compares the results.
fn probed(
    allocator: &ResourceAllocator,
    place: &ResourceAllocationDesc<'_>,
    size: u64,
) -> Result<ResourceAllocation, Error> {
    check(allocator, place, &ResourceDesc::new(&buffer_of(size)))
}

/// Returns the bytes of unified memory: its heaps, and the committed ones of the live allocations.
fn unified_in<'a>(
    allocator: &ResourceAllocator,
    live: impl IntoIterator<Item = &'a ResourceAllocation>,
) -> ByteSize {
    let is_committed = |one: &&ResourceAllocation| {
        placement(one) == Placement::Committed && properties_of(one).0.Type == D3D12_HEAP_TYPE_CUSTOM
    };
    let committed = live.into_iter().filter(is_committed);
    committed.fold(held_in(allocator, HeapTypeName::Custom), |sum, one| sum.saturating_add(one.size()))
}

#[test]
fn the_limit_of_default_is_that_of_all_unified_memory() {
    let gpu = open("cache-coherent-uma");
    for (heap_type, flags) in
        pairs([HeapType::Default, HeapType::Upload, HeapType::GpuUpload], [NONE, COMMITTED, OWN, WITHIN])
    {
        let allocator = unified(&gpu, HeapLimits { default: Some(mib(4)), ..Default::default() });
        let first = probed(&allocator, &place(heap_type, flags), 3 * MIB).expect("within the limit");
        let held = unified_in(&allocator, [&first]);
        assert_eq!((held, allocator.reserved()), (usage(&gpu), usage(&gpu)));
        for other in [NONE, COMMITTED, OWN] {
            let place = place(HeapType::Upload, other);
            let error = probed(&allocator, &place, 2 * MIB).expect_err("beyond the limit");
            assert!(error.is_over_budget(), "{heap_type} {flags:?} {other:?}: {error}");
        }
        // An allocation that keeps its heap type counts against the limit of that type.
        let attributed = place(HeapType::Upload, COMMITTED | ResourceAllocationFlags::ALWAYS_ATTRIBUTE_HEAPS);
        let upload = probed(&allocator, &attributed, 2 * MIB).expect("UPLOAD has no limit");
        let attributed = allocator.reserved().saturating_sub(unified_in(&allocator, [&first, &upload]));
        assert_eq!(attributed, upload.size());
        assert_returned((first, upload), &allocator, &gpu);
    }
}

/// Placed, the buffer would be within the limit.
#[test]
fn a_limit_counts_the_committed_size() {
    let gpu = open("cache-coherent-uma");
    let allocator = unified(&gpu, HeapLimits { upload: Some(ByteSize::new(13_000)), ..Default::default() });
    refused(probed(&allocator, &place(HeapType::Upload, COMMITTED), 12_300), Error::is_over_budget);
    assert_returns_everything(&allocator, &gpu);
    probed(&allocator, &place(HeapType::Upload, NONE), 12_300).expect("within the limit when placed");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// No limit is exceeded by any placement, and the allocator's sums equal the adapter's.
    #[test]
    fn no_limit_is_passed(steps in steps(), limits in proptest::array::uniform4(proptest::option::of(1..12_u64))) {
        let gpu = open("cache-coherent-uma");
        let [default, upload, readback, gpu_upload] = limits.map(|limit| limit.map(mib));
        let allocator = unified(&gpu, HeapLimits { default, upload, readback, gpu_upload, ..Default::default() });
        let mut live: Vec<ResourceAllocation> = Vec::new();
        for step in steps {
            match step {
                Step::Create { size, heap_type, flags, .. } => {
                    match try_buffer(&allocator, &place(heap_type, flags), size % 3_000_000 + 1) {
                        Ok(made) => live.push(made),
                        Err(error) => {
                            let needs_heap = flags.contains(NEVER_ALLOCATE_HEAP);
                            prop_assert!(needs_heap || error.is_over_budget(), "{error}");
                        }
                    }
                }
                Step::Drop(number) if !live.is_empty() => drop(live.swap_remove(number % live.len())),
                Step::Drop(_) => {}
                Step::Release => drop(allocator.release_empty_heaps()),
            }
            prop_assert_eq!(allocator.reserved(), usage(&gpu));
            let unified = unified_in(&allocator, &live);
            prop_assert!(default.is_none_or(|limit| unified <= limit), "{} held", unified);
            for (heap_type, limit) in [(HeapType::Upload, upload), (HeapType::GpuUpload, gpu_upload)] {
                let used: u64 =
                    live.iter().filter(|made| made.heap_type() == heap_type).map(|made| made.size().get()).sum();
                prop_assert!(limit.is_none_or(|limit| used <= limit.get()), "{used} of {heap_type}");
            }
        }
        assert_returned(live, &allocator, &gpu);
    }
}

/// Some implementations do not create such resources in CUSTOM heaps.
#[test]
fn what_a_device_does_not_create_there_gets_the_heap_type_that_was_asked_for() {
    let gpu = open("cache-coherent-uma");
    let depth = depth_buffer(64, 64);
    for (hresult, flags) in pairs([E_NOTIMPL, E_INVALIDARG], [NONE, OWN, COMMITTED]) {
        let faults = Faults::new(Some(Call::CreateFence), hresult);
        inject_first(&gpu.device, &faults);
        let allocator = unified(&gpu, HeapLimits::default());
        faults.refuse_in_custom(D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL);
        let create = |heap_type: Option<HeapType>, desc: &D3D12_RESOURCE_DESC, state| {
            let heap_type = heap_type.map(Into::into);
            let place = ResourceAllocationDesc { flags, heap_type, ..Default::default() };
            allocator.create_resource(&place, desc, state, None)
        };
        let write = D3D12_RESOURCE_STATE_DEPTH_WRITE;
        for heap_type in [Some(HeapType::Default), None] {
            let made = create(heap_type, &depth, write)
                .unwrap_or_else(|error| panic!("{hresult:?} {flags:?}: {error}"));
            assert_eq!(made.heap_type(), HeapType::Default);
            assert_eq!(properties_of(&made).0.Type, D3D12_HEAP_TYPE_DEFAULT);
        }
        assert_eq!(faults.calls(), 1, "the device was asked in vain once");
        let probe = allocator
            .probe(&place(HeapType::Default, flags), ResourceDesc::in_state(&depth, write))
            .expect("as it is created");
        assert_eq!(probe.size, create(Some(HeapType::Default), &depth, write).expect("again").size());
        // Every other resource stays in unified memory.
        for desc in [texture(64, 64), target(64, 64, 1), buffer_of(1000)] {
            let made = create(Some(HeapType::Default), &desc, COMMON).expect("the device has it");
            assert_eq!(properties_of(&made).0.Type, D3D12_HEAP_TYPE_CUSTOM);
        }
        assert_returns_everything(&allocator, &gpu);
    }
    // A resource that no heap type accepts stays an error.
    let allocator = unified(&gpu, HeapLimits::default());
    let state = D3D12_RESOURCE_STATE_DEPTH_WRITE;
    let made = allocator.create_resource(&in_default(), &texture(64, 64), state, None);
    refused(made, Error::is_invalid_argument);
}

/// It may be for any resource, so none of them is to blame.
#[test]
fn memory_that_a_device_refuses_has_no_other_heap_type() {
    let gpu = open("cache-coherent-uma");
    let faults = Faults::new(Some(Call::CreateHeap), E_INVALIDARG);
    inject_first(&gpu.device, &faults);
    let allocator = unified(&gpu, HeapLimits::default());
    let memory = |resources| allocator.allocate_memory(&in_default(), resources, mib(1), Alignment::ONE);
    for resources in [ResourceKind::Buffers, ResourceKind::Any] {
        faults.fail_nth(0);
        fails(memory(resources), "CreateHeap");
        drop(memory(resources).expect("refused once"));
    }
    assert_eq!(held_in(&allocator, HeapTypeName::Custom), allocator.reserved());
}

#[test]
fn what_is_inferred_is_in_unified_memory_whatever_the_state() {
    let gpu = open("cache-coherent-uma");
    let states = [
        COMMON,
        D3D12_RESOURCE_STATE_GENERIC_READ,
        D3D12_RESOURCE_STATE_COPY_DEST,
        D3D12_RESOURCE_STATE_COPY_SOURCE,
    ];
    for flags in [NONE, OWN, COMMITTED, WITHIN] {
        let allocator = unified(&gpu, HeapLimits::default());
        let inferred = ResourceAllocationDesc { flags, ..Default::default() };
        for desc in [buffer_of(1000), texture(64, 64)] {
            let made = states.map(|state| {
                let resource = ResourceDesc::in_state(&desc, state);
                let probe = allocator.probe(&inferred, resource).expect("it can be created");
                let made = allocator.create(&inferred, resource).expect("as it was probed");
                assert_eq!((probe.heap_type, probe.decision), (made.heap_type(), made.info().decision));
                made
            });
            for made in &made {
                assert_eq!(properties_of(made).0.Type, D3D12_HEAP_TYPE_CUSTOM, "{desc:?} {flags:?}");
            }
            if flags == NONE {
                assert!(made.iter().all(|one| one.heap() == made[0].heap()), "one heap holds them all");
            }
            assert_eq!(unified_in(&allocator, &made), usage(&gpu));
        }
        assert_returns_everything(&allocator, &gpu);
    }
    // The CPU reads the copied bytes, in a part of a buffer as well.
    let allocator = unified(&gpu, HeapLimits::default());
    let create = |place: &_| {
        let state = D3D12_RESOURCE_STATE_COPY_DEST;
        allocator.create_resource(place, &buffer_of(100), state, None).expect("there is memory")
    };
    let mut part = create(&ResourceAllocationDesc { flags: WITHIN, ..Default::default() });
    assert_eq!(placement(&part), Placement::WithinResource);
    part.map().expect("the CPU reaches it").write(0, &[7; 100]).expect("inside");
    // A request for READBACK, or for heaps that keep their type, gets that type.
    let attribute = ResourceAllocationFlags::ALWAYS_ATTRIBUTE_HEAPS;
    for place in [in_readback(), ResourceAllocationDesc { flags: attribute, ..Default::default() }] {
        assert_eq!(properties_of(&create(&place)).0.Type, D3D12_HEAP_TYPE_READBACK);
    }
    // As without unified memory, a texture cannot be there.
    let shared = D3D12_HEAP_FLAG_SHARED;
    for place in [
        ResourceAllocationDesc { flags: attribute, ..Default::default() },
        ResourceAllocationDesc { extra_required_heap_flags: shared, ..Default::default() },
    ] {
        let texture = ResourceDesc::in_state(&texture(64, 64), D3D12_RESOURCE_STATE_COPY_DEST);
        fails(allocator.create(&place, texture), "READBACK heaps only support buffers");
    }
}
