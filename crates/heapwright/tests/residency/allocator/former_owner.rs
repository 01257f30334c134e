//! What the owners of memory set on it ends with them: the next owner finds it unlocked, with its usual priority and
//! without a name.

use super::scene::{Scene, Setup, is_locked, is_resident};
use crate::gpu::*;

/// Creates allocations that get the same memory, one after the other.
struct Kind {
    name: &'static str,
    desc: ResourceAllocatorDesc,
    heap_type: HeapType,
    flags: ResourceAllocationFlags,
    bytes: u64,
    pool: Option<PoolDesc>,
    is_nested: bool,
}

fn kinds() -> Vec<Kind> {
    let kind = |name, flags, bytes| Kind {
        name,
        desc: ResourceAllocatorDesc::default(),
        heap_type: HeapType::Default,
        flags,
        bytes,
        pool: None,
        is_nested: false,
    };
    let pool = pool_of(mib(1));
    vec![
        kind("own heap", OWN, MIB),
        kind("shared heap", NONE, MIB / 4),
        kind("slot of a slab", NONE, 1000),
        Kind { heap_type: HeapType::Upload, ..kind("part of a buffer", WITHIN, 1000) },
        Kind { desc: with_algorithm(Slab), ..kind("slab", NONE, 1000) },
        Kind { desc: with_algorithm(Slab), ..kind("own heap beside slabs", OWN, MIB) },
        Kind { desc: with_algorithm(BuddySystem), ..kind("buddy", NONE, 1000) },
        Kind { desc: with_algorithm(Dedicated), ..kind("dedicated", NONE, MIB) },
        Kind { pool: Some(pool.clone()), ..kind("heap of a pool", NONE, MIB / 4) },
        Kind { pool: Some(pool), ..kind("own heap of a pool", OWN, MIB) },
        Kind {
            pool: Some(PoolDesc { algorithm: Linear, ..Default::default() }),
            ..kind("linear heap", NONE, 1000)
        },
        Kind { is_nested: true, ..kind("heap of a relative", NONE, MIB / 4) },
        Kind { is_nested: true, ..kind("own heap of a relative", OWN, MIB) },
    ]
}

fn object_name(allocation: &ResourceAllocation) -> Option<String> {
    let name = name_of(allocation.memory().expect("managed").pageable());
    name.ok().filter(|name| !name.is_empty())
}

/// A manager that evicts what was not used for longest, among heaps of the same priority.
fn by_last_use() -> Setup {
    Setup { policy: PolicyKind::Lru, ..Setup::default() }
}

/// Checks that the memory of an allocation of a scene [`by_last_use`] is as new.
#[track_caller]
fn assert_new(scene: &Scene, allocation: &ResourceAllocation, what: &str) {
    let memory = allocation.memory().expect("managed");
    assert!(!is_locked(allocation), "{what}: it is locked");
    assert_eq!((memory.debug_name(), object_name(allocation)), (None, None), "{what}");
    memory.unlock().expect_err("nothing is locked");
    // Of two heaps, the one that was not used goes first, if both have the usual priority.
    let other = scene.alone(1);
    scene.touch(&[&other]);
    scene.touch(&[allocation]);
    if memory.segment_group() == LOCAL {
        scene.manager.evict_at_least(LOCAL, ByteSize::new(1));
        assert!(is_resident(allocation) && !is_resident(&other), "{what}: its priority is low");
    }
    scene.manager.evict_at_least(memory.segment_group(), ByteSize::MAX);
    assert!(!is_resident(allocation), "{what}: it is kept");
}

#[test]
fn the_next_owner_finds_the_memory_as_new() {
    for kind in kinds() {
        let Kind { name, desc, heap_type, flags, bytes, pool, is_nested } = kind;
        let scene = Scene::simulated(Setup { allocator: desc.clone(), ..by_last_use() });
        let pool = pool.map(|desc| new_pool(&scene.allocator, desc));
        let nested = is_nested.then(|| nested_in(&scene.allocator, desc));
        let make = |allocator: &ResourceAllocator| {
            let place = ResourceAllocationDesc { pool: pool.as_ref(), flags, ..Default::default() };
            let place = match place.pool {
                Some(_) => place,
                None => ResourceAllocationDesc { heap_type: Some(heap_type.into()), ..place },
            };
            buffer(allocator, &place, bytes)
        };
        let first = make(&scene.allocator);
        let memory = first.memory().expect("managed");
        let object = memory.pageable().clone();
        memory.lock().expect("resident");
        memory.lock().expect("again");
        memory.set_residency_priority(D3D12_RESIDENCY_PRIORITY_MINIMUM).expect("a priority");
        memory.set_debug_name("of the first owner");
        // Beside it, another owner of the same heap, who leaves later.
        let beside = (flags != OWN && bytes < MIB).then(|| make(&scene.allocator));
        drop(first);
        if let Some(beside) = beside {
            if beside.memory().expect("managed").pageable() == &object {
                assert!(is_locked(&beside), "{name}: it shares what is set on its heap");
            }
            drop(beside);
        }
        let stats = scene.manager.stats();
        assert_eq!((stats.local.locked_count, stats.non_local.locked_count), (0, 0), "{name}");
        let next = make(nested.as_ref().unwrap_or(&scene.allocator));
        let again = next.memory().expect("managed").pageable();
        assert_eq!(again, &object, "{name}: the test means the same heap");
        assert_new(&scene, &next, name);
        drop((next, object));
        if let Some(nested) = nested {
            nested.release_empty_heaps();
        }
        scene.end(pool);
    }
}

/// A pool's heaps return to the pool's priority.
#[test]
fn the_priority_is_that_of_the_pool_again() {
    let scene = Scene::of_mib(64);
    let desc = PoolDesc { residency_priority: Some(D3D12_RESIDENCY_PRIORITY_LOW), ..Default::default() };
    let pool = new_pool(&scene.allocator, desc);
    let make = || {
        let place = ResourceAllocationDesc { flags: OWN, ..in_pool(&pool) };
        scene.allocator.create(&place, buffer_desc(mib(1))).expect("there is room")
    };
    let first = make();
    first.memory().expect("managed").set_residency_priority(D3D12_RESIDENCY_PRIORITY_MAXIMUM).expect("sound");
    drop(first);
    let again = make();
    let usual = scene.alone(1);
    scene.touch(&[&usual]);
    scene.touch(&[&again]);
    scene.manager.evict_at_least(LOCAL, ByteSize::new(1));
    assert!(is_resident(&usual) && !is_resident(&again));
}

/// Whoever holds a reference to the memory may still unlock it after the allocation ended.
#[test]
fn a_reference_keeps_what_was_set() {
    let scene = Scene::new(Setup { budget_mib: Some(64), ..by_last_use() });
    let first = scene.alone(1);
    let memory = first.memory_reference().expect("managed");
    memory.lock().expect("resident");
    memory.set_debug_name("kept");
    drop(first);
    let again = memory.clone();
    drop(memory);
    assert!(again.info().is_locked && again.debug_name().is_some());
    assert_eq!(again.unlock().expect("locked"), 0);
    again.lock().expect("resident");
    drop(again);
    let next = scene.alone(1);
    assert_new(&scene, &next, "after the last reference");
    scene.end(next);
}

/// The locks of mappings end with the mapping, whatever else was set.
#[test]
fn a_mapping_keeps_its_lock() {
    let scene = Scene::simulated(Setup::default());
    let mut kept = scene.upload(1000, OWN);
    kept.keep_mapped().expect("it can be");
    drop(kept.map().expect("it can be"));
    kept.memory().expect("managed").lock().expect("resident");
    assert!(is_locked(&kept));
    drop(kept);
    let mut next = scene.upload(1000, OWN);
    assert!(!is_locked(&next));
    let mapping = next.map().expect("it can be");
    drop(mapping);
    assert!(!is_locked(&next));
    scene.end(next);
}

/// The target of a move is used by the move, and what its holder set ends with it.
#[test]
fn the_holder_of_a_move_uses_its_target() {
    let scene = Scene::of_mib(64);
    let made = scene.sparse_buffers();
    let mut run = scene.allocator.defragment(DefragmentationDesc::default()).expect("the usual heaps");
    let moves = run.step(without_time_limit()).moves;
    assert!(!moves.is_empty(), "there is something to move");
    for planned in &moves {
        planned.destination_memory().expect("managed").lock().expect("resident");
    }
    drop((moves, run, made));
    assert_eq!(scene.manager.stats().local.locked_count, 0);
    scene.end(());
}
