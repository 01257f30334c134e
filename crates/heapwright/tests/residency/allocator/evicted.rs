//! Heaps that are created evicted.

use heapwright::residency::ResidencyHeapStatus;
use heapwright::*;

use super::scene::{Scene, is_resident, status};
use crate::gpu::*;

const NOT_RESIDENT: ResourceAllocatorFlags = ResourceAllocatorFlags::CREATE_NOT_RESIDENT;

/// GPGMM's defect 12: a heap that is created evicted fails with ALWAYS_IN_BUDGET. It needs no memory, so it
/// must succeed.
#[test]
fn what_begins_evicted_is_within_every_budget() {
    let scene = Scene::with_flags(2, NOT_RESIDENT | ResourceAllocatorFlags::ALWAYS_IN_BUDGET);
    let locked = scene.alone(2);
    locked.memory().expect("managed").lock().expect("there is room");
    let more: Vec<_> = (0..4).map(|_| scene.alone(1)).collect();
    assert_eq!(scene.used_mib(), 2);
    let committed = scene.try_alone(1, COMMITTED).expect("nothing is needed");
    assert_eq!(status(&committed), ResidencyHeapStatus::Evicted);
    // Memory in use has to fit into the budget.
    refused(more[0].memory().expect("managed").lock(), Error::is_out_of_memory);
    locked.memory().expect("managed").unlock().expect("locked");
    more[0].memory().expect("managed").lock().expect("now there is room");
    more[0].memory().expect("managed").unlock().expect("locked");
    drop((locked, more, committed));
    scene.end();
}

#[test]
fn a_heap_that_begins_evicted_evicts_nothing() {
    let scene = Scene::of_mib(4);
    let resident: Vec<_> = (0..4).map(|_| scene.alone(1)).collect();
    let pool = scene
        .allocator
        .create_pool(PoolDesc {
            extra_heap_flags: d3d12::D3D12_HEAP_FLAG_CREATE_NOT_RESIDENT,
            heap_size: Some(ByteSize::from_mib(2)),
            min_heap_count: 3,
            ..Default::default()
        })
        .expect("nothing is needed for it");
    assert!(resident.iter().all(is_resident));
    assert_eq!(scene.manager.stats().of(SegmentGroup::Local).evicted, ByteSize::from_mib(6));
    drop((pool, resident));
    scene.end();
}
