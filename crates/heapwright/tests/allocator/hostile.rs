//! Invalid input gives an error that names the field or the call; nothing is leaked and nothing panics.

use crate::faulty_device::{Faults, inject};
use crate::gpu::*;
use crate::random_input::assert_is_told;

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
fn flags_that_are_none_are_refused_with_their_field() {
    let gpu = open("discrete");
    for bit in (0..32).map(|bit| 1_u32 << bit) {
        let flags = ResourceAllocatorFlags::from_bits_retain(bit);
        let made = ResourceAllocator::new(&gpu.device, Some(&gpu.adapter), flagged(flags));
        assert_eq!(made.is_ok(), ResourceAllocatorFlags::all().contains(flags), "{bit:#x}");
        if let Err(error) = made {
            assert!(error.to_string().starts_with("ResourceAllocatorDesc::flags"), "{error}");
        }
        let allocator = usual(&gpu);
        let flags = ResourceAllocationFlags::from_bits_retain(bit);
        if !ResourceAllocationFlags::all().contains(flags) {
            let made = try_buffer(&allocator, &place(HeapType::Default, flags), 100);
            invalid(made, "ResourceAllocationDesc::flags");
        }
    }
}

#[test]
fn numbers_that_make_no_sense_are_refused_with_their_field() {
    let gpu = open("discrete");
    let (faults, two_nodes) = (Faults::new(None, E_FAIL), open("discrete"));
    faults.set_node_count(2);
    inject(&two_nodes.device, &faults);
    let refuse = |gpu: &Instance, field: &str, desc| {
        invalid(ResourceAllocator::new(&gpu.device, Some(&gpu.adapter), desc), field);
    };
    let usual = ResourceAllocatorDesc::default;
    for (preferred, max, field) in [
        (Some(0), None, "ResourceAllocatorDesc::preferred_heap_size"),
        (Some(5), Some(4), "ResourceAllocatorDesc::preferred_heap_size"),
        (None, Some(0), "ResourceAllocatorDesc::max_heap_size"),
    ] {
        let [preferred_heap_size, max_heap_size] = [preferred, max].map(|size| size.map(ByteSize::from_mib));
        refuse(&gpu, field, ResourceAllocatorDesc { preferred_heap_size, max_heap_size, ..usual() });
    }
    let slab = || with_algorithm(Slab);
    for limit in [-0.1, 0.0, 1.1, f64::NAN, f64::INFINITY] {
        let desc = ResourceAllocatorDesc { heap_fragmentation_limit: Some(limit), ..slab() };
        refuse(&gpu, "ResourceAllocatorDesc::heap_fragmentation_limit", desc);
    }
    for factor in [0.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let desc = ResourceAllocatorDesc { heap_growth_factor: Some(factor), ..slab() };
        refuse(&gpu, "ResourceAllocatorDesc::heap_growth_factor", desc);
    }
    for tier in [0, 3, 200, 255] {
        let desc = ResourceAllocatorDesc { resource_heap_tier: Some(tier), ..usual() };
        refuse(&gpu, "ResourceAllocatorDesc::resource_heap_tier", desc);
    }
    for (gpu, creation, visible, field) in [
        (&gpu, 3, 3, "D3D12_HEAP_PROPERTIES::CreationNodeMask"),
        (&gpu, 1, 6, "D3D12_HEAP_PROPERTIES::VisibleNodeMask"),
        (&two_nodes, 4, 4, "D3D12_HEAP_PROPERTIES::CreationNodeMask"),
    ] {
        let nodes = NodeMasks { creation, visible };
        refuse(gpu, field, ResourceAllocatorDesc { nodes, ..usual() });
    }
    refuse(&gpu, "ResourceAllocatorDesc::suballocation_algorithm", with_algorithm(Linear));
    let blind = ResourceAllocator::new(&gpu.device, None, flagged(ResourceAllocatorFlags::ALWAYS_IN_BUDGET));
    invalid(blind, "ResourceAllocatorDesc::flags");
}

#[test]
fn a_heap_type_and_a_state_that_contradict_are_refused_with_their_field() {
    let (gpu, allocator) = with_allocator(open("discrete"));
    let small = buffer_of(100);
    for (heap_type, state) in [
        (HeapType::Upload, D3D12_RESOURCE_STATE_COPY_DEST),
        (HeapType::Upload, D3D12_RESOURCE_STATE_UNORDERED_ACCESS),
        (HeapType::Readback, D3D12_RESOURCE_STATE_GENERIC_READ),
        (HeapType::Readback, u32::MAX),
    ] {
        for flags in [NONE, COMMITTED, WITHIN] {
            let made = allocator.create_resource(&place(heap_type, flags), &small, state, None);
            invalid(made, "initial_state");
        }
    }
    for heap_type in [HeapType::Upload, HeapType::Readback] {
        let made = allocator.create_resource(&place(heap_type, NONE), &texture(64, 64), COMMON, None);
        invalid(made, "D3D12_RESOURCE_DESC::Dimension");
    }
    // States that no heap type forbids are refused by the device; the error names its call.
    fails(allocator.create_resource(&in_default(), &small, u32::MAX, None), "CreatePlacedResource");
    assert_returns_everything(&allocator, &gpu);
}

/// A multisampled texture whose number of samples overflows, and heaps at a limit of nothing, were mistakes.
#[test]
fn what_was_a_mistake_once_is_refused() {
    let gpu = open("discrete");
    let flags = ResourceAllocatorFlags::NEVER_OVER_ALLOCATE | ResourceAllocatorFlags::NEVER_TIGHT_ALIGNMENT;
    let nothing = Some(ByteSize::ZERO);
    let limits = HeapLimits { default: nothing, upload: nothing, ..Default::default() };
    let allocator = allocator(&gpu, ResourceAllocatorDesc { flags, limits, ..Default::default() });
    try_buffer(&allocator, &in_default(), 1).expect_err("the limit");
    let sample_desc = DXGI_SAMPLE_DESC { Count: u32::MAX - 1, Quality: 0 };
    let desc = D3D12_RESOURCE_DESC { SampleDesc: sample_desc, ..texture(64, 64) };
    let made = allocator.create_resource(&in_default(), &desc, COMMON, None);
    assert_is_told(&made.expect_err("too many samples"), &desc);
    assert_returns_everything(&allocator, &gpu);
}
