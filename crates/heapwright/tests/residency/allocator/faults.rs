//! Failing calls of the device.

use windows_core::HRESULT;

use crate::faulty_device::{Call, Faults, inject};
use crate::gpu::*;

struct Scene {
    allocator: ResourceAllocator,
    manager: ResidencyManager,
    faults: std::sync::Arc<Faults>,
    gpu: Instance,
}

fn scene(call: Call, hresult: HRESULT, flags: ResourceAllocatorFlags) -> Scene {
    let gpu = open("discrete");
    let faults = Faults::new(Some(call), hresult);
    inject(&gpu.device, &faults);
    let budget_override = Some(GroupBudgets { local: mib(8), non_local: mib(8) });
    let desc = ResidencyManagerDesc { budget_override, ..Default::default() };
    let (allocator, manager) = managed(&gpu, flagged(flags), desc);
    Scene { allocator, manager, faults, gpu }
}

impl Scene {
    fn make(&self, flags: ResourceAllocationFlags) -> Result<ResourceAllocation, Error> {
        try_buffer(&self.allocator, &place(HeapType::Default, flags), MIB)
    }

    fn end<T>(self, held: T) {
        drop(held);
        self.manager.audit().expect("consistent");
        self.allocator.release_empty_heaps();
        let stats = self.manager.stats();
        assert_eq!((stats.local.resident_count, stats.local.evicted_count), (0, 0), "{stats:?}");
        assert_eq!(usage(&self.gpu), ByteSize::ZERO);
        self.gpu.residency().check_balance().expect("balanced");
    }
}

#[test]
fn a_refused_creation_leaves_nothing_in_the_books() {
    for ((call, flags), hresult) in pairs(
        [(Call::CreateHeap, OWN), (Call::CreateCommittedResource, COMMITTED)],
        [E_OUTOFMEMORY, E_INVALIDARG, DXGI_ERROR_DEVICE_REMOVED],
    ) {
        let scene = scene(call, hresult, NO_FLAGS);
        scene.faults.fail_all();
        let flags = flags | NEVER_FALLBACK;
        let error = scene.make(flags).expect_err("the device refuses");
        assert_eq!(error.is_out_of_memory(), hresult == E_OUTOFMEMORY, "{error}");
        assert_eq!(error.is_device_removed(), hresult == DXGI_ERROR_DEVICE_REMOVED, "{error}");
        assert!(scene.faults.calls() > 0, "the device was asked");
        scene.faults.disarm();
        // The budget reserved for the failed request is available again, in full.
        let made: Vec<_> = (0..8).map(|_| scene.make(flags).expect("there is room")).collect();
        assert_eq!(scene.manager.stats().local.resident, mib(8));
        scene.end(made);
    }
}

#[test]
fn a_resource_that_was_not_placed_leaves_its_heap_managed() {
    let scene = scene(Call::CreatePlacedResource, E_OUTOFMEMORY, NO_FLAGS);
    scene.faults.fail_all();
    let error = scene.make(OWN | NEVER_FALLBACK).expect_err("the device refuses");
    assert_eq!(error.hresult(), E_FAIL, "as NEVER_FALLBACK has it: {error}");
    scene.faults.disarm();
    let made = scene.make(OWN).expect("there is room");
    assert!(made.memory().is_some());
    scene.end(made);
}

/// Some devices place no resource in an evicted heap.
#[test]
fn what_is_not_placed_in_an_evicted_heap_is_placed_once_it_is_resident() {
    let scene = scene(Call::CreatePlacedResource, E_INVALIDARG, ResourceAllocatorFlags::CREATE_NOT_RESIDENT);
    scene.faults.fail_nth(0);
    let made = scene.make(OWN).expect("the second time");
    assert!(scene.faults.has_failed());
    let memory = made.memory().expect("managed").info();
    assert_eq!((memory.status, memory.is_locked), (ResidencyHeapStatus::Resident, false));
    // An error in the resource itself is returned by the second attempt as well.
    scene.faults.fail_all();
    refused(scene.make(OWN), Error::is_invalid_argument);
    scene.faults.disarm();
    scene.end(made);
}
