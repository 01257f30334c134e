//! Mapped allocations are resident.

use super::scene::{Scene, Setup, is_locked, is_resident, status};
use crate::gpu::*;

#[test]
fn mapping_makes_resident_what_is_evicted() {
    let gpu = open("discrete");
    let budgets = GroupBudgets { local: gib(1), non_local: mib(4) };
    let desc = ResidencyManagerDesc { budget_override: Some(budgets), ..Default::default() };
    let (allocator, manager) = managed(&gpu, Default::default(), desc);
    let make = || buffer(&allocator, &place(HeapType::Upload, OWN), MIB);
    let mut made: Vec<_> = (0..8).map(|_| make()).collect();
    assert_eq!(manager.stats().non_local.evicted_count, 4);
    for (number, allocation) in (0_u8..).zip(&mut made) {
        allocation.map().expect("made resident").write(5, &[number]).expect("inside");
        assert!(is_resident(allocation) && !is_locked(allocation));
        assert!(manager.stats().non_local.resident <= mib(4));
    }
    for (number, allocation) in (0_u8..).zip(&mut made) {
        let mut byte = [0];
        allocation.map().expect("made resident").read(5, &mut byte).expect("inside");
        assert_eq!(byte, [number]);
    }
    // Mapped allocations stay resident, so only four fit at a time.
    let (first, rest) = made.split_at_mut(4);
    let kept: Vec<_> = first.iter_mut().map(|allocation| allocation.map().expect("resident")).collect();
    assert_eq!(manager.stats().non_local.locked_count, 4);
    let _evicts = rest[0].map();
    assert_eq!(manager.stats().non_local.locked_count, 4 + u64::from(_evicts.is_ok()));
    drop((kept, _evicts));
    assert_eq!(manager.stats().non_local.locked_count, 0);
    manager.audit().expect("consistent");
    drop(made);
    gpu.residency().check_balance().expect("balanced");
}

/// GPGMM's defect 19: mapping twice locks twice and unlocks once.
#[test]
fn each_mapping_has_its_own_lock() {
    let scene = Scene::of_mib(64);
    let small = || scene.upload(100, WITHIN);
    let (mut first, mut second, mut third) = (small(), small(), scene.upload(1000, NONE));
    assert!(!is_locked(&first), "what stays mapped is not locked by that");
    assert!(std::ptr::eq(first.memory().expect("managed"), second.memory().expect("managed")), "one heap");
    for _ in 0..3 {
        let one = first.map().expect("it can be");
        let two = second.map().expect("it can be");
        let three = third.map().expect("it can be");
        drop(one);
        drop(three);
        drop(two);
    }
    for allocation in [&first, &second, &third] {
        assert!(!is_locked(allocation));
    }
    let one = first.map().expect("it can be");
    assert!(is_locked(&second), "one heap");
    drop(second);
    drop(one);
    assert!(!is_locked(&first));
    scene.end((first, third));
}

/// GPGMM's defect 20: destroying an allocation unlocks the heap that another allocation has mapped.
#[test]
fn what_is_destroyed_takes_no_lock_of_others_along() {
    let scene = Scene::simulated(Setup { budget_mib: Some(64), ..Setup::default() });
    let mut mapped = scene.upload(1000, NONE);
    let beside = scene.upload(1000, NONE);
    assert_eq!(mapped.heap(), beside.heap());
    let heap = beside.heap().expect("placed").clone();
    let mut mapping = mapped.map().expect("it can be");
    drop(beside);
    assert_eq!(scene.manager.stats().non_local.locked_count, 1, "the mapping's");
    scene.manager.evict_at_least(NON_LOCAL, gib(1));
    mapping.write(0, &[1, 2, 3]).expect("inside");
    drop(mapping);
    assert_eq!(scene.manager.stats().non_local.locked_count, 0);
    scene.end((mapped, heap));
}

/// Any owner of an allocation in the heap can unlock it. This ends the residency, but the bytes stay
/// mapped.
#[test]
fn a_heap_that_is_unlocked_under_a_mapping_is_no_panic() {
    let scene = Scene::of_mib(64);
    let mut mapped = scene.upload(1000, NONE);
    let beside = scene.upload(1000, NONE);
    let mut mapping = mapped.map().expect("it can be");
    let left = beside.memory().expect("managed").unlock().expect("it is locked");
    assert_eq!(left, 0, "it was the lock of the mapping");
    scene.manager.evict_at_least(NON_LOCAL, gib(1));
    mapping.write(0, &[1, 2, 3]).expect("inside");
    let mut bytes = [0; 3];
    mapping.read(0, &mut bytes).expect("inside");
    assert_eq!(bytes, [1, 2, 3]);
    drop(mapping);
    scene.manager.audit().expect("consistent");
    scene.end((mapped, beside));
}

#[test]
fn a_mapping_of_what_began_evicted_is_resident() {
    let scene = Scene::with_flags(64, ResourceAllocatorFlags::CREATE_NOT_RESIDENT);
    let mut placed = scene.upload(1000, OWN);
    let mut committed = scene.upload(1000, COMMITTED);
    for allocation in [&mut placed, &mut committed] {
        assert_eq!(status(allocation), ResidencyHeapStatus::Evicted);
        allocation.map().expect("made resident").write(0, &[1, 2, 3]).expect("inside");
        assert_eq!(status(allocation), ResidencyHeapStatus::Resident);
    }
    // A backing buffer is mapped when it is created.
    let mut within = scene.upload(100, WITHIN);
    assert_eq!(status(&within), ResidencyHeapStatus::Resident);
    within.map().expect("resident").write(0, &[4]).expect("inside");
    scene.end((placed, committed, within));
}

#[test]
fn what_is_kept_mapped_is_locked_until_it_is_dropped() {
    let scene = Scene::of_mib(64);
    let (mut part, mut whole) = (scene.upload(100, WITHIN), scene.upload(1000, NONE));
    let other = scene.upload(100, WITHIN);
    for allocation in [&mut part, &mut whole] {
        allocation.keep_mapped().expect("it can be");
        allocation.keep_mapped().expect("it is");
        drop(allocation.map().expect("it is"));
        assert!(is_locked(allocation));
    }
    let backing = scene.upload(1000, NONE);
    drop((part, whole));
    assert!(!is_locked(&other) && !is_locked(&backing), "each was locked once");
    scene.end((other, backing));
}

#[test]
fn a_mapped_subresource_is_locked_until_it_is_unmapped_as_often() {
    let scene = Scene::of_mib(64);
    for (made, is_part) in [(scene.upload(1000, NONE), false), (scene.upload(100, WITHIN), true)] {
        let nothing = D3D12_RANGE::default();
        // SAFETY: nothing else maps the allocation, which is unmapped as often as it was mapped. The bytes are inside.
        unsafe {
            let first = made.map_subresource(0, Some(nothing), true).expect("mappable").expect("an address");
            first.write(7);
            assert_eq!(made.map_subresource(0, None, true).expect("mappable"), Some(first));
            assert_eq!(made.map_subresource(0, None, false).expect("mappable"), None);
            for _ in 0..2 {
                made.unmap_subresource(0, None);
                assert!(is_locked(&made));
            }
            made.unmap_subresource(0, Some(nothing));
            let error = made.map_subresource(1, None, true).expect_err("a buffer has one subresource");
            assert_eq!(error.is_invalid_argument(), is_part, "{error}");
        }
        assert!(!is_locked(&made));
    }
    scene.end(());
}
