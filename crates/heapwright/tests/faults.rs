//! A device that fails its Nth call, for every N: the error is told, nothing is leaked, and the allocator goes on.
#![allow(missing_docs, reason = "a test")]

mod faulty_device;

use faulty_device::{Call, Faults, FaultyDevice};
use heapwright::d3d12::*;
use heapwright::{
    ByteSize, HeapType, ResourceAllocation, ResourceAllocationDesc, ResourceAllocator, SegmentGroup,
    VideoMemoryInfo, buffer_desc,
};
use heapwright_runtime::{HostProfile, Instance};
use windows_core::HRESULT;

fn open() -> Instance {
    Instance::open(HostProfile::default_profile()).expect("a fresh instance")
}

fn usage(gpu: &Instance) -> ByteSize {
    let of = |group| VideoMemoryInfo::query(&gpu.adapter, group).expect("answered").current_usage;
    of(SegmentGroup::Local).checked_add(of(SegmentGroup::NonLocal)).expect("far from overflow")
}

fn allocate(allocator: &ResourceAllocator, size: u64) -> Result<ResourceAllocation, heapwright::Error> {
    let desc = buffer_desc(ByteSize::new(size));
    let place = ResourceAllocationDesc::new(HeapType::Default);
    allocator.create_resource(&place, &desc, D3D12_RESOURCE_STATE_COMMON, None)
}

/// Small ones, large ones, one of its own, some freed in between: every path of an allocator that has buffers only.
fn scenario(allocator: &ResourceAllocator, mut failed: impl FnMut(heapwright::Error)) {
    let mut live = Vec::new();
    for round in 0..3_u64 {
        for size in [1, 256, 70_000, 3 << 20, 40 << 20, 160 << 20, 5_000, 100] {
            match allocate(allocator, size + round) {
                Ok(allocation) => live.push(allocation),
                Err(error) => failed(error),
            }
            allocator.audit().expect("consistent after each call");
        }
        live.retain(|allocation| allocation.size().get() % 3 != round % 3);
    }
}

fn run_with_failure(only: Option<Call>, hresult: HRESULT, check: impl Fn(&heapwright::Error)) -> u64 {
    let gpu = open();
    let faults = Faults::new(only, hresult);
    let mut runs = 0;
    for n in 0.. {
        let device = FaultyDevice::wrap(&gpu.device, &faults);
        faults.fail_nth(n);
        let mut has_failed = true;
        match ResourceAllocator::new(&device, Some(&gpu.adapter), Default::default()) {
            Err(error) => check(&error),
            Ok(allocator) => {
                let mut errors = 0;
                scenario(&allocator, |error| {
                    check(&error);
                    errors += 1;
                });
                assert!(errors <= 1, "one failing call makes at most one allocation fail");
                has_failed = faults.has_failed();
                faults.disarm();
                allocate(&allocator, 1 << 20).expect("the next allocation works");
                allocator.release_empty_heaps();
                assert_eq!(allocator.stats().used, ByteSize::ZERO, "after failure {n}");
                assert_eq!(allocator.stats().reserved, ByteSize::ZERO, "after failure {n}");
            }
        }
        assert_eq!(usage(&gpu), ByteSize::ZERO, "memory was leaked by failure {n}");
        runs = n;
        if !has_failed {
            break;
        }
    }
    runs
}

#[test]
fn every_call_may_fail_once_with_any_error() {
    for hresult in [E_OUTOFMEMORY, E_FAIL, DXGI_ERROR_DEVICE_REMOVED] {
        let runs = run_with_failure(None, hresult, |error| {
            assert!(!error.to_string().is_empty());
            assert!(!error.to_string().contains('\n'), "one line: {error}");
        });
        assert!(runs > 50, "only {runs} calls were made to fail");
    }
}

#[test]
fn a_heap_refused_once_is_tried_again() {
    let gpu = open();
    let faults = Faults::new(Some(Call::CreateHeap), E_OUTOFMEMORY);
    let device = FaultyDevice::wrap(&gpu.device, &faults);
    let allocator = ResourceAllocator::new(&device, Some(&gpu.adapter), Default::default()).expect("sound");
    faults.fail_nth(0);
    let allocation = allocate(&allocator, 1000).expect("a heap as small as the request allows is tried next");
    assert!(faults.has_failed());
    assert_eq!(faults.calls(), 2);
    assert_eq!(allocator.stats().reserved, ByteSize::from_kib(64));
    drop(allocation);
}

#[test]
fn a_device_without_memory_is_told_from_a_device_that_is_gone() {
    let removed = run_with_failure(Some(Call::CreateHeap), DXGI_ERROR_DEVICE_REMOVED, |error| {
        assert!(error.is_device_removed(), "{error}");
        assert!(!error.is_out_of_memory());
        assert_eq!(error.hresult(), DXGI_ERROR_DEVICE_REMOVED);
    });
    assert!(removed >= 5);
    let refused = run_with_failure(Some(Call::CreatePlacedResource), E_OUTOFMEMORY, |error| {
        assert!(error.is_out_of_memory(), "{error}");
    });
    assert!(refused >= 24);
}

#[test]
fn out_of_memory_says_what_was_asked_and_what_is_in_use() {
    let gpu = Instance::open(HostProfile::find("discrete-2gib").expect("exists")).expect("a fresh instance");
    let allocator =
        ResourceAllocator::new(&gpu.device, Some(&gpu.adapter), Default::default()).expect("sound");
    let held = allocate(&allocator, 1 << 30).expect("half of it");
    let error = allocate(&allocator, 3 << 29).expect_err("more than the other half");
    assert!(error.is_out_of_memory());
    let text = error.to_string();
    for part in ["1.50 GiB", "DEFAULT", "1.00 GiB used", "0x8007000e", "budget"] {
        assert!(text.contains(part), "{part:?} is missing: {text}");
    }
    drop(held);
    allocate(&allocator, 3 << 29).expect("the empty heap goes back and makes room");
}

#[test]
fn a_device_of_the_first_interface_alone_is_enough() {
    let gpu = open();
    let device = FaultyDevice::wrap(&gpu.device, &Faults::new(None, E_FAIL));
    let allocator = ResourceAllocator::new(&device, None, Default::default()).expect("no adapter is needed");
    assert_eq!(allocator.caps().interface_version, 0);
    allocate(&allocator, 4096).expect("placed");
}
