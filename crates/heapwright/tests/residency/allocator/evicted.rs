//! Heaps that are created evicted.

use super::scene::{Scene, Setup, is_locked, is_resident, status};
use crate::gpu::*;

const NOT_RESIDENT: ResourceAllocatorFlags = ResourceAllocatorFlags::CREATE_NOT_RESIDENT;

/// GPGMM's defect 11: such heaps are never made resident, and its counts wrap.
#[test]
fn what_begins_evicted_is_paged_in_by_its_first_use() {
    let scene = Scene::simulated(Setup {
        budget_mib: Some(64),
        allocator: flagged(NOT_RESIDENT),
        ..Setup::default()
    });
    let made: Vec<_> = (0..4).map(|_| scene.alone(1)).collect();
    assert!(made.iter().all(|made| status(made) == ResidencyHeapStatus::Evicted));
    assert_eq!(scene.used_mib(), 0);
    let stats = scene.manager.stats();
    assert_eq!((stats.current_heap_usage, stats.local.evicted_count), (ByteSize::ZERO, 4));
    for (seed, allocation) in (1..).zip(&made) {
        scene.fill(allocation, seed);
        assert!(is_resident(allocation));
    }
    assert_eq!(scene.used_mib(), 4);
    scene.assert_all_filled(&made);
    // Each unlock reverts the count of its lock.
    let fresh = scene.alone(1);
    let memory = fresh.memory().expect("managed");
    memory.lock().expect("made resident");
    assert!(is_locked(&fresh) && is_resident(&fresh));
    assert_eq!(memory.unlock().expect("locked"), 0);
    assert_eq!(scene.manager.stats().local.resident, mib(5));
    refused(memory.unlock(), Error::is_invalid_argument);
    scene.end((made, fresh));
}

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
    scene.end((locked, more, committed));
}

#[test]
fn a_heap_that_begins_evicted_evicts_nothing() {
    let scene = Scene::of_mib(4);
    let resident: Vec<_> = (0..4).map(|_| scene.alone(1)).collect();
    let pool = scene
        .allocator
        .create_pool(PoolDesc {
            extra_heap_flags: D3D12_HEAP_FLAG_CREATE_NOT_RESIDENT,
            min_heap_count: 3,
            ..pool_of(mib(2))
        })
        .expect("nothing is needed for it");
    assert!(resident.iter().all(is_resident));
    assert_eq!(scene.manager.stats().of(LOCAL).evicted, mib(6));
    scene.end((pool, resident));
}
