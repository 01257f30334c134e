//! Locks by many threads, names, and the lifetimes of managers, heaps and queues.

use crate::gpu::*;
use crate::scene::{COPY, Scene, budget};

/// Returns the reference count of an object.
fn references(object: &impl Interface) -> u32 {
    let object: windows_core::IUnknown = object.cast().expect("everything is one");
    let (release, raw) = (object.vtable().Release, object.into_raw());
    unsafe { release(raw) }
}

#[test]
fn a_manager_gives_everything_back() {
    let gpu = open("discrete");
    let before = (references(&gpu.device), references(&gpu.adapter));
    let queue = queue_of(&gpu.device, COPY);
    let with_queue = references(&gpu.device);
    let heap: ID3D12Pageable = raw_heap(&gpu.device, D3D12_HEAP_TYPE_DEFAULT, MIB, D3D12_HEAP_FLAG_NONE)
        .expect("there is room")
        .into();
    let of_heap = references(&heap);
    {
        let manager = manager_on(&gpu, budget(8));
        let managed = manager.manage(&ResidencyHeapDesc::default(), &heap).expect("sound");
        manager.queue_fence(&queue).expect("of this device");
        assert!(references(&queue) > 1);
        // A heap keeps its manager alive.
        drop(manager);
        managed.lock().expect("resident");
        assert_eq!(managed.unlock().expect("locked"), 0);
        assert_eq!(managed.manager().expect("it has one").stats().current_heap_count, 1);
    }
    assert_eq!((references(&queue), references(&heap)), (1, of_heap));
    drop(queue);
    drop(heap);
    assert!(with_queue > before.0);
    assert_eq!((references(&gpu.device), references(&gpu.adapter)), before);
}

/// A queue that its owner has dropped is forgotten when a new queue is used.
#[test]
fn a_queue_that_was_dropped_is_forgotten() {
    let scene = Scene::new(budget(8));
    let things = scene.things(1);
    let work = scene.work(&things);
    let first = scene.queue();
    scene.run(&first, &[&work]);
    let before = references(&scene.instance.device);
    (0..20).for_each(|_| scene.run(&scene.queue(), &[&work]));
    let after = references(&scene.instance.device);
    assert!(after <= before + 4, "{before} references before 20 queues, {after} after");
    scene.run(&first, &[&work]);
    scene.finish(things);
}

/// Locks of many threads add up.
#[test]
fn locks_of_many_threads_add_up() {
    let scene = Scene::new(budget(4));
    let things = scene.things(6);
    std::thread::scope(|scope| {
        for number in 0..4 {
            let (scene, things) = (&scene, &things);
            scope.spawn(move || {
                for round in 0..200 {
                    let thing = &things[(number * 7 + round) % 6];
                    thing.heap.lock().expect("there is room");
                    thing.heap.lock().expect("resident");
                    assert!(thing.is_resident());
                    assert!(thing.heap.unlock().expect("locked") >= 1);
                    scene.manager.evict_at_least(LOCAL, mib(1));
                    assert!(thing.is_resident(), "one lock is left");
                    thing.heap.unlock().expect("locked");
                }
            });
        }
    });
    assert!(things.iter().all(|thing| !thing.info().is_locked));
    assert_eq!(scene.manager.stats().local.locked, ByteSize::ZERO);
    scene.finish(things);
}

#[test]
fn names_are_kept() {
    let scene = Scene::new(budget(8));
    let things = scene.things(1);
    assert_eq!((scene.manager.debug_name(), things[0].heap.debug_name()), (None, None));
    scene.manager.set_debug_name("the manager");
    things[0].heap.set_debug_name("terrain");
    assert_eq!(scene.manager.debug_name().as_deref(), Some("the manager"));
    assert_eq!(scene.manager.clone().debug_name().as_deref(), Some("the manager"));
    assert_eq!(things[0].heap.debug_name().as_deref(), Some("terrain"));
    assert!(format!("{:?}", things[0].heap).contains("terrain"));
    // The object has the name: the residency ledger reports it.
    let object = [Some(things[0].heap.pageable().clone())];
    assert_eq!(unsafe { scene.device.MakeResident(&object) }, S_OK);
    let imbalance = scene.instance.residency().check_balance().expect_err("counted twice");
    assert!(imbalance.to_string().contains("'terrain'"), "{imbalance}");
    assert_eq!(unsafe { scene.device.Evict(&object) }, S_OK);
    scene.end(things);
}
