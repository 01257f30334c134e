//! The managed memory of an allocation.

use super::scene::{Scene, Setup, is_locked, is_resident};
use crate::gpu::*;

#[test]
fn every_way_to_memory_is_a_heap_of_the_manager() {
    let scene = Scene::simulated(Setup::default());
    let of = |heap_type, flags, bytes| buffer(&scene.allocator, &place(heap_type, flags), bytes);
    let shared = of(HeapType::Default, NONE, 1000);
    let own = of(HeapType::Default, OWN, MIB);
    let committed = of(HeapType::Default, COMMITTED, MIB);
    let within = of(HeapType::Upload, WITHIN, 100);
    for (made, group) in [(&shared, LOCAL), (&own, LOCAL), (&committed, LOCAL), (&within, NON_LOCAL)] {
        let memory = made.memory().expect("it is managed");
        assert_eq!(memory.segment_group(), group);
        assert_eq!(memory.info().status, ResidencyHeapStatus::Resident);
        match made.heap() {
            Some(heap) => {
                assert_eq!(memory.size().get(), unsafe { heap.GetDesc() }.SizeInBytes);
                assert_eq!(memory.pageable(), &heap.clone().into());
            }
            None => {
                assert_eq!(memory.size(), made.size());
                assert_eq!(memory.pageable(), &made.resource().clone().into());
            }
        }
    }
    let beside = of(HeapType::Default, NONE, 1000);
    assert_eq!(beside.heap(), shared.heap());
    assert!(std::ptr::eq(beside.memory().expect("managed"), shared.memory().expect("managed")), "one heap");

    let stats = scene.manager.stats();
    assert_eq!((stats.local.resident_count, stats.non_local.resident_count), (3, 1));
    assert_eq!(stats.local.resident, usage_of(&scene.gpu, LOCAL));
    assert_eq!(stats.non_local.resident, usage_of(&scene.gpu, NON_LOCAL));
    scene.end((shared, own, committed, within, beside));
}

#[test]
fn a_manager_of_another_device_is_refused() {
    let [gpu, other] = [open("discrete"), open("discrete")];
    let manager = manager_on(&other, Default::default());
    let error =
        ResourceAllocator::with_residency(&gpu.device, Some(&gpu.adapter), Default::default(), &manager)
            .expect_err("whose heaps would it page?");
    assert_eq!(error.to_string(), "residency manager: the manager belongs to another device");
}

#[test]
fn an_allocator_in_budget_makes_its_manager_so() {
    let scene = Scene::with_flags(2, ResourceAllocatorFlags::ALWAYS_IN_BUDGET);
    let _locked = scene.alone(2);
    _locked.memory().expect("managed").lock().expect("resident");
    // The manager by itself refuses the heap.
    let desc = ResidencyHeapDesc { segment_group: Some(LOCAL), ..Default::default() };
    let desc = ResidencyHeapDesc { size: mib(1), ..desc };
    let error = refused(scene.manager.create_heap(&desc, || panic!("no room")), Error::is_over_budget);
    assert!(error.is_out_of_memory());
}

#[test]
fn never_resident_is_nothing_to_the_manager() {
    let scene = Scene::of_mib(4);
    let hidden = scene.try_alone(1, NEVER_RESIDENT).expect("there is room");
    let committed = scene.try_alone(1, NEVER_RESIDENT | COMMITTED).expect("there is room");
    assert!(hidden.memory().is_none() && committed.memory().is_none());
    assert_eq!(scene.manager.stats().local.resident_count, 0);
    scene.fill(&hidden, 3);
    // Evictions do not affect these allocations.
    let others: Vec<_> = (0..8).map(|_| scene.alone(1)).collect();
    scene.assert_filled(&hidden, 3);
    // A heap that is not managed is not reused for other allocations.
    let heap = hidden.heap().expect("placed").clone();
    drop(others);
    scene.allocator.release_empty_heaps();
    drop(hidden);
    for next in [local(&scene.allocator, MIB), local(&scene.allocator, 1000), scene.alone(1)] {
        assert!(next.memory().is_some());
        assert_ne!(next.heap(), Some(&heap));
    }
    // Nor does such an allocation get a managed heap, even an empty one.
    let again = scene.try_alone(1, NEVER_RESIDENT).expect("there is room");
    assert!(again.memory().is_none());
    let held = scene.try_alone(1, NEVER_RESIDENT | NEVER_ALLOCATE_HEAP);
    refused(held, Error::is_out_of_memory);
    scene.end((committed, again, heap));
}

#[test]
fn a_heap_that_is_not_managed_is_none_of_those_that_are_kept() {
    let (heap_size, min_heap_count) = (Some(mib(1)), 1);
    let allocator = ResourceAllocatorDesc {
        empty_heap_policy: FixedPool,
        preferred_heap_size: heap_size,
        ..Default::default()
    };
    let scene = Scene::new(Setup { allocator, ..Setup::default() });
    drop(scene.try_alone(1, NEVER_RESIDENT).expect("there is room"));
    assert!(scene.alone(1).memory().is_some());
    let pool = PoolDesc { heap_size, min_heap_count, ..Default::default() };
    let pool = scene.allocator.create_pool(pool).expect("sound");
    let place = ResourceAllocationDesc { flags: NEVER_RESIDENT, ..in_pool(&pool) };
    let hidden = buffer(&scene.allocator, &place, MIB);
    pool.release_empty_heaps();
    drop(hidden);
    assert_eq!(pool.totals().heap_count, 1);
    let used = buffer(&scene.allocator, &in_pool(&pool), 1000);
    assert!(used.memory().is_some());
    scene.end((used, pool));
}

#[test]
fn a_resource_that_is_imported_twice_is_one_heap() {
    let scene = Scene::of_mib(4);
    let committed = scene.try_alone(1, COMMITTED).expect("there is room");
    let resource = committed.resource().clone();
    let import = |allocator: &ResourceAllocator, flags| {
        let desc = ResourceAllocationDesc { flags, ..Default::default() };
        unsafe { allocator.import(&desc, &resource) }.expect("it is committed")
    };
    let nested = nested_in(&scene.allocator, Default::default());
    let (first, second) = (import(&scene.allocator, NONE), import(&nested, NONE));
    let memory = committed.memory().expect("managed");
    for other in [&first, &second] {
        assert!(std::ptr::eq(other.memory().expect("managed"), memory));
    }
    assert!(import(&scene.allocator, NEVER_RESIDENT).memory().is_none());
    assert_eq!(scene.manager.stats().local.resident_count, 1);
    drop((committed, first));
    assert_eq!(scene.manager.stats().local.resident_count, 1);
    // It is paged like a managed heap.
    scene.fill(&second, 9);
    let others: Vec<_> = (0..4).map(|_| scene.alone(1)).collect();
    assert_eq!(second.memory().expect("managed").info().status, ResidencyHeapStatus::Evicted);
    scene.assert_filled(&second, 9);
    scene.end((second, others, resource));
}

/// GPGMM's defect 5: the buffer is in its own segment group.
#[test]
fn an_imported_upload_buffer_is_non_local() {
    let scene = Scene::simulated(Setup { budget_mib: Some(4), ..Setup::default() });
    let resource = committed_buffer(&scene.gpu.device, D3D12_HEAP_TYPE_UPLOAD, 100 * KIB);
    let imported = unsafe { scene.allocator.import(&Default::default(), &resource) }.expect("sound");
    assert_eq!(imported.memory().expect("managed").segment_group(), NON_LOCAL);
    scene.end((imported, resource));
}

#[test]
fn nested_allocators_share_the_manager_and_the_heaps() {
    let scene = Scene::of_mib(64);
    let nested = nested_in(&scene.allocator, Default::default());
    let name = nested.residency_manager().map(ResidencyManager::debug_name);
    assert_eq!(name, Some(scene.manager.debug_name()));
    let first = buffer(&scene.allocator, &in_default(), 1000);
    let heap = first.heap().expect("placed").clone();
    drop(first);
    let second = buffer(&nested, &in_default(), 1000);
    assert_eq!(second.heap(), Some(&heap), "the empty heap");
    assert!(second.memory().is_some());
    assert_eq!(scene.manager.stats().local.resident_count, 1);
    drop((second, heap));
    nested.release_empty_heaps();
    scene.end(nested);
}

#[test]
fn heaps_of_a_pool_go_by_its_priority() {
    let scene = Scene::of_mib(4);
    let [low, usual] = [Some(D3D12_RESIDENCY_PRIORITY_LOW), None].map(|residency_priority| {
        new_pool(&scene.allocator, PoolDesc { residency_priority, ..Default::default() })
    });
    let own = |pool| ResourceAllocationDesc { flags: OWN, ..in_pool(pool) };
    let make = |pool| buffer(&scene.allocator, &own(pool), MIB);
    let kept = [make(&usual), make(&usual)];
    let goes = [make(&low), make(&low)];
    // Despite being used last, they are evicted first.
    scene.touch(&kept.iter().collect::<Vec<_>>());
    scene.touch(&goes.iter().collect::<Vec<_>>());
    let _more = [scene.alone(1), scene.alone(1)];
    assert!(kept.iter().all(is_resident), "{kept:?}");
    assert!(!goes.iter().any(is_resident), "{goes:?}");
}

#[test]
fn a_move_says_what_memory_it_goes_to() {
    let scene = Scene::of_mib(64);
    let mut made = scene.sparse_buffers();
    scene.fill_all(&made);
    let mut run = scene.allocator.defragment(DefragmentationDesc::default()).expect("the usual heaps");
    let mut moved = 0;
    for _ in 0..100 {
        let step = run.step(without_time_limit());
        for mut planned in step.moves {
            let id = planned.allocation();
            let allocation = made.iter_mut().find(|allocation| allocation.id() == id).expect("it is live");
            let target = planned
                .create_resource(allocation, InitialState::State(COMMON), None, &[])
                .expect("placed")
                .clone();
            let memory = planned.destination_memory().expect("it is managed");
            assert_eq!(memory.pageable(), &planned.destination().expect("planned").0.clone().into());
            // The target may be evicted meanwhile, like any heap.
            memory.lock().expect("resident");
            memory.unlock().expect("locked");
            scene.execute(&[allocation], |list| unsafe {
                list.CopyResource(&target, allocation.resource());
            });
            planned.complete(allocation).expect("it was created");
            moved += 1;
        }
        if step.state == DefragmentationState::Finished {
            break;
        }
    }
    assert!(moved > 0, "there was something to move");
    scene.assert_all_filled(&made);
    scene.end((run, made));
}

/// GPGMM's defects 20 and 22: a destroyed allocation releases its own locks and no others.
#[test]
fn a_heap_that_goes_locked_leaves_nothing_behind() {
    let scene = Scene::of_mib(4);
    let locked = scene.alone(1);
    let memory = locked.memory().expect("managed");
    memory.lock().expect("resident");
    memory.lock().expect("again");
    assert!(is_locked(&locked));
    assert_eq!(scene.manager.stats().local.locked, mib(1));
    drop(locked);
    scene.allocator.release_empty_heaps();
    let stats = scene.manager.stats();
    assert_eq!((stats.current_heap_usage, stats.local.locked), (ByteSize::ZERO, ByteSize::ZERO));
    scene.end(());
}

#[test]
fn unified_memory_is_one_group() {
    for flags in [ResidencyManagerFlags::empty(), ResidencyManagerFlags::NEVER_USE_UNIFIED_MEMORY] {
        let allocator = flagged(ResourceAllocatorFlags::ALLOW_UNIFIED_MEMORY);
        let profile = Some("cache-coherent-uma");
        let scene =
            Scene::new(Setup { profile, manager: flags, allocator, budget_mib: Some(8), ..Setup::default() });
        let made: Vec<_> = (0..12).map(|_| scene.alone(1)).collect();
        scene.fill_all(&made);
        scene.assert_all_filled(&made);
        assert!(made.iter().all(|made| made.memory().expect("managed").segment_group() == LOCAL));
        scene.end(made);
    }
}

/// With NEVER_USE_UNIFIED_MEMORY, UPLOAD and READBACK have the budget of the non-local group on UMA, too.
#[test]
fn heaps_of_an_allocator_have_two_budgets_where_memory_is_not_unified() {
    let budgets = GroupBudgets { local: mib(4), non_local: mib(2) };
    let never = ResidencyManagerFlags::NEVER_USE_UNIFIED_MEMORY;
    for (profile, is_apart) in
        [("uma", true), ("cache-coherent-uma", true), ("discrete", true), ("uma", false)]
    {
        let flags = if is_apart { never } else { ResidencyManagerFlags::empty() };
        let flags = flags | ResidencyManagerFlags::ALWAYS_IN_BUDGET;
        let gpu = open(profile);
        let manager = ResidencyManagerDesc { flags, budget_override: Some(budgets), ..Default::default() };
        let (allocator, manager) = managed(&gpu, Default::default(), manager);
        for placement in [OWN, COMMITTED] {
            let mut held = Vec::new();
            for (heap_type, expected) in [
                (HeapType::Default, LOCAL),
                (HeapType::GpuUpload, LOCAL),
                (HeapType::Upload, NON_LOCAL),
                (HeapType::Readback, NON_LOCAL),
            ] {
                let group = if is_apart { expected } else { LOCAL };
                let made = buffer(&allocator, &place(heap_type, placement), MIB);
                let what = format!("{profile}, {is_apart}, {heap_type}, {placement:?}");
                let memory = made.memory().expect("managed");
                assert_eq!(memory.segment_group(), group, "{what}");
                memory.lock().expect("within the budget");
                let stats = manager.stats();
                let all = [stats.local.resident, stats.non_local.resident].map(ByteSize::get);
                assert_eq!(all.iter().sum::<u64>(), (held.len() as u64 + 1) * MIB, "{what}");
                let in_group = if group == NON_LOCAL { all[1] } else { all[0] };
                let info = manager.query_video_memory_info(group);
                assert_eq!(info.current_usage.get(), in_group, "{what}: what is the manager's, once");
                held.push(made);
            }
            // The budget of one group is no other's.
            if is_apart {
                let made = try_buffer(&allocator, &place(HeapType::Upload, placement), MIB);
                refused(made, Error::is_over_budget);
                for _ in 0..2 {
                    let made = buffer(&allocator, &place(HeapType::Default, placement), MIB);
                    made.memory().expect("managed").lock().expect("within the budget");
                    held.push(made);
                }
            }
            refused(try_buffer(&allocator, &place(HeapType::Default, placement), MIB), Error::is_over_budget);
            let report = allocator.report();
            let of = |group| {
                let group = report.segment_groups.iter().find(|of| of.segment_group == group);
                group.map_or(ByteSize::ZERO, |of| of.totals.reserved.saturating_add(of.totals.committed.size))
            };
            let expected = if is_apart { [4, 2] } else { [4, 0] };
            assert_eq!([of(LOCAL), of(NON_LOCAL)], expected.map(ByteSize::from_mib), "{profile}");
            drop(held);
            allocator.release_empty_heaps();
            manager.audit().expect("sound");
        }
        let info = manager.query_video_memory_info(NON_LOCAL);
        let budget = if is_apart { budgets.non_local } else { ByteSize::ZERO };
        assert_eq!((info.budget, info.current_usage), (budget, ByteSize::ZERO));
    }
}

#[test]
fn a_reference_keeps_the_memory() {
    let scene = Scene::new(Setup::default());
    for flags in [NONE, COMMITTED] {
        let made = buffer(&scene.allocator, &place(HeapType::Default, flags), MIB);
        let memory = made.memory_reference().expect("managed");
        assert!(std::ptr::eq(&*memory, made.memory().expect("managed")));
        let again = memory.clone();
        drop(made);
        scene.allocator.release_empty_heaps();
        drop(memory);
        assert_eq!(scene.manager.stats().current_heap_count, 1);
        again.lock().expect("still managed");
        assert_eq!(again.unlock().expect("locked"), 0);
        drop(again);
        assert_eq!(scene.manager.stats().current_heap_count, 0);
    }
    scene.end(());
}
