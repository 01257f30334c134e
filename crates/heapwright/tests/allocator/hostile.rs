//! Invalid input gives an error that names the field or the call; nothing is leaked and nothing panics.

use crate::gpu::*;
use crate::random_input::assert_is_told;
use heapwright::d3d12::*;
use heapwright::*;
use windows_core::Interface;

#[test]
fn a_null_device_is_refused_and_objects_keep_their_counts() {
    let gpu = open("discrete");
    let (device, adapter) = (gpu.device.as_raw(), gpu.adapter.as_raw());
    // SAFETY: null is refused.
    let error = unsafe { ResourceAllocator::from_raw(std::ptr::null_mut(), adapter, Default::default()) };
    assert!(error.expect_err("there is no device").to_string().starts_with("device: "));
    // SAFETY: the device is alive, and without an adapter there are no budgets.
    let allocator = unsafe { ResourceAllocator::from_raw(device, std::ptr::null_mut(), Default::default()) };
    let allocator = allocator.expect("sound");
    drop(local(&allocator, 1000));
    drop(allocator);
    // The reference counts of the caller are unchanged.
    let again = usual(&gpu);
    drop(local(&again, 1000));
}

#[test]
fn heap_types_that_are_none_are_refused_with_their_field() {
    for heap_type in HeapType::ALL {
        assert_eq!(HeapType::try_from(heap_type.to_d3d12()).expect("it is one"), heap_type);
    }
    for number in [0, D3D12_HEAP_TYPE_CUSTOM, 6, -1, i32::MIN, i32::MAX] {
        let error = HeapType::try_from(number).expect_err("there is no such type");
        assert!(error.to_string().starts_with("D3D12_HEAP_TYPE"), "{number}: {error}");
        assert!(error.hresult().is_err());
    }
}

#[test]
fn flags_that_are_none_are_refused_with_their_field() {
    let gpu = open("discrete");
    for bit in (0..32).map(|bit| 1_u32 << bit) {
        let flags = ResourceAllocatorFlags::from_bits_retain(bit);
        let made = ResourceAllocator::new(
            &gpu.device,
            Some(&gpu.adapter),
            ResourceAllocatorDesc { flags, ..Default::default() },
        );
        assert_eq!(made.is_ok(), ResourceAllocatorFlags::all().contains(flags), "{bit:#x}");
        if let Err(error) = made {
            assert!(error.to_string().starts_with("ResourceAllocatorDesc::flags"), "{error}");
        }
        let allocator = usual(&gpu);
        let flags = ResourceAllocationFlags::from_bits_retain(bit);
        if !ResourceAllocationFlags::all().contains(flags) {
            let error = try_buffer(&allocator, &place(HeapType::Default, flags), 100).expect_err("no flag");
            assert!(error.to_string().starts_with("ResourceAllocationDesc::flags"), "{error}");
        }
    }
}

#[test]
fn numbers_that_make_no_sense_are_refused_with_their_field() {
    let gpu = open("discrete");
    let usual = ResourceAllocatorDesc::default;
    let cases = [
        (
            ResourceAllocatorDesc { preferred_heap_size: Some(ByteSize::ZERO), ..usual() },
            "ResourceAllocatorDesc::preferred_heap_size",
        ),
        (
            ResourceAllocatorDesc { max_heap_size: Some(ByteSize::ZERO), ..usual() },
            "ResourceAllocatorDesc::max_heap_size",
        ),
        (
            ResourceAllocatorDesc { heap_fragmentation_limit: Some(f64::NAN), ..usual() },
            "ResourceAllocatorDesc::heap_fragmentation_limit",
        ),
        (
            ResourceAllocatorDesc { heap_growth_factor: Some(f64::NEG_INFINITY), ..usual() },
            "ResourceAllocatorDesc::heap_growth_factor",
        ),
        (
            ResourceAllocatorDesc { nodes: NodeMasks { creation: 3, visible: 3 }, ..usual() },
            "D3D12_HEAP_PROPERTIES::CreationNodeMask",
        ),
        (
            ResourceAllocatorDesc { nodes: NodeMasks { creation: 1, visible: 6 }, ..usual() },
            "D3D12_HEAP_PROPERTIES::VisibleNodeMask",
        ),
        (
            ResourceAllocatorDesc { resource_heap_tier: Some(200), ..usual() },
            "ResourceAllocatorDesc::resource_heap_tier",
        ),
    ];
    for (desc, field) in cases {
        let error =
            ResourceAllocator::new(&gpu.device, Some(&gpu.adapter), desc.clone()).expect_err("nonsense");
        assert!(error.is_invalid_argument() && error.to_string().starts_with(field), "{desc:?}: {error}");
    }
}

#[test]
fn a_heap_type_and_a_state_that_contradict_are_refused_with_their_field() {
    let gpu = open("discrete");
    let allocator = usual(&gpu);
    let small = buffer_desc(ByteSize::new(100));
    for (heap_type, state) in [
        (HeapType::Upload, D3D12_RESOURCE_STATE_COPY_DEST),
        (HeapType::Upload, D3D12_RESOURCE_STATE_UNORDERED_ACCESS),
        (HeapType::Readback, D3D12_RESOURCE_STATE_GENERIC_READ),
        (HeapType::Readback, u32::MAX),
    ] {
        for flags in [
            ResourceAllocationFlags::empty(),
            ResourceAllocationFlags::ALWAYS_COMMITTED,
            ResourceAllocationFlags::ALLOW_SUBALLOCATE_WITHIN_RESOURCE,
        ] {
            let error = allocator
                .create_resource(&place(heap_type, flags), &small, state, None)
                .expect_err("a contradiction");
            assert!(
                error.to_string().starts_with("initial_state"),
                "{heap_type} {state:#x} {flags:?}: {error}"
            );
        }
    }
    for heap_type in [HeapType::Upload, HeapType::Readback] {
        let error = allocator
            .create_resource(&heap_type.into_place(), &texture(64, 64), COMMON, None)
            .expect_err("buffers only");
        assert!(error.to_string().starts_with("D3D12_RESOURCE_DESC::Dimension"), "{error}");
    }
    // States that no heap type forbids are refused by the device; the error names its call.
    let error = allocator
        .create_resource(&HeapType::Default.into_place(), &small, u32::MAX, None)
        .expect_err("no such state");
    assert!(error.to_string().contains("CreatePlacedResource"), "{error}");
    assert_returns_everything(&allocator, &gpu);
}

#[test]
fn sizes_that_overflow_are_refused_whatever_rounds_them() {
    let gpu = open("discrete");
    for suballocation_algorithm in ALGORITHMS {
        let allocator =
            allocator(&gpu, ResourceAllocatorDesc { suballocation_algorithm, ..Default::default() });
        for width in
            [0, u64::MAX, u64::MAX - 1, u64::MAX - 65_535, u64::MAX / 2, 1 << 63, 1 << 44, (1 << 40) + 1]
        {
            for flags in [
                ResourceAllocationFlags::empty(),
                ResourceAllocationFlags::NEVER_SUBALLOCATE_HEAP,
                ResourceAllocationFlags::ALWAYS_COMMITTED,
                ResourceAllocationFlags::ALLOW_SUBALLOCATE_WITHIN_RESOURCE,
            ] {
                let error =
                    try_buffer(&allocator, &place(HeapType::Upload, flags), width).expect_err("no size");
                let is_told = error.is_out_of_memory() || error.to_string().contains("D3D12_RESOURCE_DESC");
                assert!(is_told, "{suballocation_algorithm} {width:#x} {flags:?}: {error}");
            }
        }
        assert_returns_everything(&allocator, &gpu);
    }
}

/// A multisampled texture whose number of samples overflows, and heaps at a limit of nothing, were mistakes.
#[test]
fn what_was_a_mistake_once_is_refused() {
    let gpu = open("discrete");
    let flags = ResourceAllocatorFlags::NEVER_OVER_ALLOCATE | ResourceAllocatorFlags::NEVER_TIGHT_ALIGNMENT;
    let nothing = Some(ByteSize::ZERO);
    let limits = HeapLimits { default: nothing, upload: nothing, ..Default::default() };
    let allocator = allocator(&gpu, ResourceAllocatorDesc { flags, limits, ..Default::default() });
    try_buffer(&allocator, &HeapType::Default.into_place(), 1).expect_err("the limit");
    let sample_desc = DXGI_SAMPLE_DESC { Count: u32::MAX - 1, Quality: 0 };
    let desc = D3D12_RESOURCE_DESC { SampleDesc: sample_desc, ..texture(64, 64) };
    let made = allocator.create_resource(&HeapType::Default.into_place(), &desc, COMMON, None);
    assert_is_told(&made.expect_err("too many samples"), &desc);
    assert_returns_everything(&allocator, &gpu);
}
