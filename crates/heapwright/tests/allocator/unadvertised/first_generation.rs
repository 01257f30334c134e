//! The runtime's profile with `ID3D12Device` alone, E_NOTIMPL for later features, and no adapter.

use super::everyday_use::use_everything;
use crate::gpu::*;
use crate::log_lines::warnings;

fn first() -> Instance {
    open("first-generation")
}

/// The device, and an allocator that knows no adapter.
fn without_adapter() -> (Instance, ResourceAllocator) {
    let gpu = first();
    let allocator = ResourceAllocator::new(&gpu.device, None, Default::default());
    (gpu, allocator.expect("the first interface is enough"))
}

/// Returns the errors of the debug layer.
pub(super) fn mistakes(gpu: &Instance) -> Vec<String> {
    let is_wrong = |severity| severity <= D3D12_MESSAGE_SEVERITY_ERROR;
    gpu.messages().into_iter().filter(|&(severity, _)| is_wrong(severity)).map(|(_, text)| text).collect()
}

#[test]
fn everything_works_on_the_device_that_is_named() {
    let gpu = any_device();
    let made = use_everything(&gpu.device, gpu.adapter.as_ref());
    assert!(made > 2000, "{made}");
    assert_usage(&gpu, ByteSize::ZERO);
}

/// `watched` has the newer devices without an adapter.
#[test]
fn no_device_is_asked_for_what_is_an_error_there() {
    let profiles = HostProfile::all().iter().map(|profile| (profile, true));
    for (profile, has_adapter) in
        profiles.chain(HostProfile::find("first-generation").map(|first| (first, false)))
    {
        let gpu = fresh(profile);
        let made = use_everything(&gpu.device, has_adapter.then_some(&gpu.adapter));
        assert!(made > 2000, "{}: {made}", profile.name);
        assert_eq!(mistakes(&gpu), Vec::<String>::new(), "{}", profile.name);
        assert_eq!(usage(&gpu), ByteSize::ZERO, "{}", profile.name);
    }
}

#[track_caller]
fn unsupported(result: Result<impl std::fmt::Debug, Error>, named: &str) {
    assert!(fails(result, named).is_unsupported());
}

#[test]
fn what_needs_more_is_refused_with_what_it_needs() {
    let (gpu, allocator) = without_adapter();
    let local = in_default();
    let (small, image) = (buffer_of(1000), ResourceDesc::new(&texture(64, 64)));
    let within = place(HeapType::Default, WITHIN_BUDGET);
    assert!(fails(try_buffer(&allocator, &within, 100), "adapter").is_invalid_argument());

    unsupported(try_buffer(&allocator, &in_gpu_upload(), 100), "GPU_UPLOAD");
    let pool = PoolDesc { heap_type: HeapType::GpuUpload, ..Default::default() };
    unsupported(allocator.create_pool(pool), "GPU_UPLOAD");

    let layout = InitialState::Layout(D3D12_BARRIER_LAYOUT_COMMON);
    let in_layout = ResourceDesc { initial_state: layout, ..image };
    unsupported(allocator.create(&local, in_layout), "ID3D12Device10");
    let formats = [DXGI_FORMAT_R8G8B8A8_UNORM_SRGB];
    let castable = ResourceDesc { castable_formats: &formats, ..in_layout };
    unsupported(allocator.create(&local, castable), "ID3D12Device12");

    let tight = D3D12_RESOURCE_DESC { Flags: D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT, ..small };
    unsupported(allocator.create_resource(&local, &tight, COMMON, None), "TIGHT_ALIGNMENT");

    let extra_heap_flags = D3D12_HEAP_FLAG_CREATE_NOT_RESIDENT;
    let pool = PoolDesc { extra_heap_flags, ..Default::default() };
    unsupported(allocator.create_pool(pool), "PoolDesc::extra_heap_flags");
    let place = ResourceAllocationDesc { extra_required_heap_flags: extra_heap_flags, ..local };
    unsupported(try_buffer(&allocator, &place, 100), "ResourceAllocationDesc::extra_required_heap_flags");

    assert_eq!(allocator.stats().used, ByteSize::ZERO);
    assert_eq!(mistakes(&gpu), Vec::<String>::new(), "it was not asked in vain");
}

#[test]
fn flags_that_the_device_does_not_know_are_left_out_with_a_warning() {
    let gpu = first();
    for flag in [ResourceAllocatorFlags::CREATE_NOT_ZEROED, ResourceAllocatorFlags::CREATE_NOT_RESIDENT] {
        let make = || ResourceAllocator::new(&gpu.device, None, flagged(flag)).expect("sound");
        let (allocator, logged) = warnings(make);
        let (name, _) = flag.iter_names().next().expect("it has a name");
        assert!(logged.iter().any(|line| line.contains(name)), "{logged:?}");
        assert_eq!(heap_of(&local(&allocator, 1000)).Flags, D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS);
    }
    // CREATE_NOT_ZEROED is a permission, which may be ignored.
    let (_gpu, allocator) = without_adapter();
    let extra_heap_flags = D3D12_HEAP_FLAG_CREATE_NOT_ZEROED;
    let pool = new_pool(&allocator, PoolDesc { extra_heap_flags, ..Default::default() });
    assert_eq!(heap_of(&buffer(&allocator, &in_pool(&pool), 1000)).Flags, D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS);
}

#[test]
fn without_an_adapter_numbers_are_those_of_the_allocator() {
    let (gpu, allocator) = without_adapter();
    let held = [local(&allocator, 3 * MIB), buffer(&allocator, &in_upload(), 2 * MIB)];
    let stats = allocator.stats();
    assert_eq!(stats.reserved, usage(&gpu), "though it cannot ask");
    assert_eq!(held_in(&allocator, HeapType::Default), usage_of(&gpu, LOCAL));
    assert!(!allocator.resource_allocation_support().is_resource_allocation_within_coherent);
    assert_eq!(allocator.report().device.description, "unknown adapter");
    // An out-of-memory error omits numbers that are unknown.
    refused(try_buffer(&allocator, &in_default(), 5 << 30), Error::is_out_of_memory);
    assert_returned(held, &allocator, &gpu);
}
