//! Objects that a manager is given, whoever managed them before, and what it leaves when their residency heap is
//! dropped.

use crate::faulty_device::{Call, Faults, Seen};
use crate::gpu::*;
use crate::pageables::{descriptor_heap, query_heap};
use crate::scene::{Front, Scene, budget};

/// Keeps an object managed until it is dropped.
trait Managed {
    fn heap(&self) -> &ResidencyHeap;
}

impl Managed for ResidencyHeap {
    fn heap(&self) -> &ResidencyHeap {
        self
    }
}

/// An imported resource, with its allocator.
struct Imported(ResourceAllocation, #[expect(dead_code, reason = "kept alive")] ResourceAllocator);

impl Managed for Imported {
    fn heap(&self) -> &ResidencyHeap {
        self.0.memory().expect("managed")
    }
}

type Way = fn(&Scene, &ResidencyManager, &ID3D12Pageable) -> Result<Box<dyn Managed>, Error>;

fn desc() -> ResidencyHeapDesc {
    ResidencyHeapDesc { segment_group: Some(LOCAL), size: mib(1), ..Default::default() }
}

fn manage(_: &Scene, manager: &ResidencyManager, object: &ID3D12Pageable) -> Result<Box<dyn Managed>, Error> {
    Ok(Box::new(manager.manage(&desc(), object)?))
}

fn create(_: &Scene, manager: &ResidencyManager, object: &ID3D12Pageable) -> Result<Box<dyn Managed>, Error> {
    Ok(Box::new(manager.create_heap(&desc(), || Ok(object.clone()))?))
}

/// The caller has made the room: the object is an existing one.
fn create_unforeseen(
    _: &Scene,
    manager: &ResidencyManager,
    object: &ID3D12Pageable,
) -> Result<Box<dyn Managed>, Error> {
    let desc = ResidencyHeapDesc { size: ByteSize::ZERO, ..desc() };
    let of_queries = object.cast::<ID3D12QueryHeap>().is_ok();
    let desc = if of_queries { self::desc() } else { desc };
    Ok(Box::new(manager.create_heap(&desc, || Ok(object.clone()))?))
}

fn import(
    scene: &Scene,
    manager: &ResidencyManager,
    object: &ID3D12Pageable,
) -> Result<Box<dyn Managed>, Error> {
    let allocator = ResourceAllocator::with_residency(&scene.device, None, Default::default(), manager)?;
    let resource = object.cast::<ID3D12Resource>().expect("a resource");
    let made = unsafe { allocator.import(&Default::default(), &resource) }?;
    Ok(Box::new(Imported(made, allocator)))
}

/// Each way of adoption that an object has.
fn ways(object: &ID3D12Pageable) -> Vec<Way> {
    let mut ways: Vec<Way> = vec![manage, create, create_unforeseen];
    if object.cast::<ID3D12Resource>().is_ok() {
        ways.push(import);
    }
    ways
}

/// Each way to adopt an object, each way to adopt it again, and each manager that does.
fn each_way<'a>(
    object: &ID3D12Pageable,
    managers: [&'a ResidencyManager; 2],
) -> impl Iterator<Item = ((Way, Way), &'a ResidencyManager)> {
    pairs(pairs(ways(object), ways(object)), managers)
}

/// An object of each kind, of at most 1 MiB of local memory.
fn objects(scene: &Scene) -> Vec<ID3D12Pageable> {
    let device = &scene.instance.device;
    vec![
        scene.unmanaged(1),
        committed_buffer(device, D3D12_HEAP_TYPE_DEFAULT, 1 << 20).into(),
        descriptor_heap(device),
        query_heap(device),
    ]
}

fn status(managed: &dyn Managed) -> ResidencyHeapStatus {
    managed.heap().info().status
}

/// Uses an object on a queue of the manager.
fn use_once(scene: &Scene, manager: &ResidencyManager, managed: &dyn Managed) {
    let list = naming([managed.heap()]);
    let queue = scene.queue();
    let work = scene.work(&[]);
    let value = unsafe { manager.execute_command_lists(&queue, &[(&work.commands, &list)]) };
    let fence = manager.queue_fence(&queue).expect("of this device");
    unsafe { fence.SetEventOnCompletion(value.expect("executed").get(), HANDLE::default()) }.ok().expect("");
    scene.assert_alive();
}

/// Whatever way an object is adopted again after a manager evicted it and its handle was dropped, it is made resident
/// as often as it is evicted, and a use finds it resident.
#[test]
fn an_object_may_be_adopted_again() {
    let scene = Scene::new(budget(8));
    let other = scene.another_manager();
    for object in objects(&scene) {
        for ((first, again), manager) in each_way(&object, [&scene.manager, &other]) {
            let managed = first(&scene, &scene.manager, &object).expect("nobody manages it");
            use_once(&scene, &scene.manager, &*managed);
            scene.manager.evict_at_least(LOCAL, mib(8));
            assert_eq!(status(&*managed), ResidencyHeapStatus::Evicted);
            drop(managed);
            assert_eq!(scene.instance.residency().alive_with_zero, 0, "the owner may use it");
            let managed = again(&scene, manager, &object).expect("nobody manages it any more");
            use_once(&scene, manager, &*managed);
            assert_eq!(status(&*managed), ResidencyHeapStatus::Resident);
            assert_eq!(scene.instance.residency().alive_with_zero, 0);
            scene.instance.residency().check_balance().expect("resident once");
            manager.evict_at_least(LOCAL, mib(8));
            assert_eq!(scene.instance.residency().alive_with_zero, 1, "one eviction suffices");
        }
    }
    scene.end(());
}

/// What was created evicted and made resident by a manager is resident for the next one, and one eviction frees its
/// memory.
#[test]
fn what_was_created_evicted_may_be_adopted_again() {
    let scene = Scene::new(budget(8));
    let other = scene.another_manager();
    let flags = D3D12_HEAP_FLAG_CREATE_NOT_RESIDENT;
    let heap: ID3D12Pageable =
        scene.raw_heap(D3D12_HEAP_TYPE_DEFAULT, 1, flags).expect("it takes no memory").into();
    let resource = committed_with_flags(&scene.instance.device, D3D12_HEAP_TYPE_DEFAULT, flags, MIB).into();
    for object in [heap, resource] {
        for ((first, again), manager) in each_way(&object, [&scene.manager, &other]) {
            let managed = first(&scene, &scene.manager, &object).expect("nobody manages it");
            assert_eq!(status(&*managed), ResidencyHeapStatus::Evicted);
            use_once(&scene, &scene.manager, &*managed);
            drop(managed);
            for _ in 0..3 {
                let managed = again(&scene, manager, &object).expect("nobody manages it any more");
                assert_eq!(status(&*managed), ResidencyHeapStatus::Resident);
                use_once(&scene, manager, &*managed);
            }
            scene.instance.residency().check_balance().expect("resident once");
            let managed = again(&scene, manager, &object).expect("nobody manages it any more");
            manager.evict_at_least(LOCAL, mib(8));
            assert_eq!(status(&*managed), ResidencyHeapStatus::Evicted);
            drop(managed);
            let managed = first(&scene, &scene.manager, &object).expect("nobody manages it any more");
            assert_eq!(status(&*managed), ResidencyHeapStatus::Evicted, "as it was created");
        }
    }
    scene.instance.residency().check_balance().expect("balanced");
    scene.end(());
}

/// The owner of an object uses it without a manager once its handle was dropped, however the manager left it.
#[test]
fn a_drop_leaves_the_object_resident() {
    for flags in [ResidencyManagerFlags::empty(), ResidencyManagerFlags::ALWAYS_IN_BUDGET] {
        let desc = ResidencyManagerDesc { flags, ..budget(8) };
        let scene = Scene::new(desc);
        let resource = committed_buffer(&scene.instance.device, D3D12_HEAP_TYPE_DEFAULT, 1 << 20);
        let object: ID3D12Pageable = resource.clone().into();
        for way in ways(&object) {
            let managed = way(&scene, &scene.manager, &object).expect("nobody manages it");
            scene.manager.evict_at_least(LOCAL, mib(8));
            assert_eq!(status(&*managed), ResidencyHeapStatus::Evicted);
            drop(managed);
            scene.fill(&resource, 3);
        }
        // While it is being paged in.
        let managed =
            scene.manager.manage(&ResidencyHeapDesc::default(), &object).expect("nobody manages it");
        scene.manager.evict_at_least(LOCAL, mib(8));
        let list = naming([&managed]);
        scene.manager.prefetch(&list).expect("there is room");
        drop(managed);
        scene.fill(&resource, 4);
        scene.end((resource, object));
    }
}

/// The last reference to an evicted object is released without paging it in.
#[test]
fn what_nobody_else_has_is_not_paged_in() {
    let scene = Scene::new(budget(8));
    for object in objects(&scene) {
        let managed = scene.manager.manage(&desc(), &object).expect("nobody manages it");
        use_once(&scene, &scene.manager, &managed);
        scene.manager.evict_at_least(LOCAL, mib(8));
        let before = scene.instance.residency().paged_in;
        drop(object);
        drop(managed);
        assert_eq!(scene.instance.residency().paged_in, before);
    }
    scene.end(());
}

/// If the memory of an object cannot be made resident again, the object notes it, and the next manager knows.
#[test]
fn what_stays_evicted_is_known_to_be() {
    for front in [Front::Newest, Front::First] {
        let call = if front == Front::First { Call::MakeResident } else { Call::EnqueueMakeResident };
        let faults = Faults::new(Some(call), E_OUTOFMEMORY);
        let scene = Scene::on(open("discrete"), front, faults, budget(8));
        let other = scene.another_manager();
        for object in objects(&scene) {
            for (again, manager) in pairs(ways(&object), [&scene.manager, &other]) {
                let managed = scene.manager.manage(&desc(), &object).expect("nobody manages it");
                use_once(&scene, &scene.manager, &managed);
                scene.manager.evict_at_least(LOCAL, mib(8));
                scene.faults.fail_all();
                drop(managed);
                scene.faults.disarm();
                assert_eq!(scene.instance.residency().alive_with_zero, 1, "it is still evicted");
                let managed = again(&scene, manager, &object).expect("nobody manages it any more");
                assert_eq!(status(&*managed), ResidencyHeapStatus::Evicted);
                use_once(&scene, manager, &*managed);
                scene.instance.residency().check_balance().expect("resident once");
            }
        }
        scene.end(());
    }
}

/// Whatever way an object is managed, nobody else can manage it at the same time.
#[test]
fn an_object_has_one_manager_at_a_time() {
    let scene = Scene::new(budget(8));
    let other = scene.another_manager();
    for object in objects(&scene) {
        for first in ways(&object) {
            let managed = first(&scene, &scene.manager, &object).expect("nobody manages it");
            for (second, manager) in pairs(ways(&object), [&scene.manager, &other]) {
                let error = second(&scene, manager, &object).err().expect("it is managed");
                assert!(error.is_invalid_argument(), "{error}");
                let rule = "pageable: the object is already managed by another residency heap";
                assert_eq!(error.to_string(), rule);
            }
            use_once(&scene, &scene.manager, &*managed);
            scene.manager.audit().expect("sound");
            assert_eq!(other.stats().current_heap_count, 0);
        }
    }
    // The memory of allocations is an allocator's.
    let allocator = managed_by(&scene.manager, &*scene.instance, Default::default());
    for flags in [NONE, COMMITTED] {
        let place = ResourceAllocationDesc { flags, ..in_default() };
        let made = allocator.create(&place, buffer_desc(mib(1))).expect("there is room");
        let object = made.memory().expect("managed").pageable().clone();
        for way in ways(&object) {
            let error = way(&scene, &other, &object).err().expect("it is managed");
            assert!(error.is_invalid_argument(), "{error}");
        }
        drop(made);
        allocator.release_empty_heaps();
    }
    scene.end(allocator);
}

/// Threads that import one resource and drop it do not disturb each other.
#[test]
fn imports_of_one_resource_may_come_and_go() {
    let scene = Scene::new(budget(8));
    let resource = committed_buffer(&scene.instance.device, D3D12_HEAP_TYPE_DEFAULT, 1 << 20);
    let allocator = managed_by(&scene.manager, &*scene.instance, Default::default());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..100 {
                    let imported = unsafe { allocator.import(&Default::default(), &resource) };
                    drop(imported.expect("it is one residency heap, or managed by nobody"));
                    scene.manager.evict_at_least(LOCAL, mib(8));
                }
            });
        }
    });
    assert_eq!(scene.instance.residency().alive_with_zero, 0);
    scene.end((allocator, resource));
}

/// The priority is the manager's, and ends with it.
#[test]
fn a_drop_leaves_the_usual_priority() {
    let scene = Scene::on(open("discrete"), Front::Newest, Faults::new(None, E_FAIL), budget(8));
    for object in objects(&scene) {
        let at_first = ResidencyHeapDesc { priority: Some(D3D12_RESIDENCY_PRIORITY_LOW), ..desc() };
        drop(scene.manager.manage(&at_first, &object).expect("nobody manages it"));
        let later = scene.manager.manage(&desc(), &object).expect("nobody manages it");
        later.set_residency_priority(D3D12_RESIDENCY_PRIORITY_HIGH).expect("a priority");
        drop(later);
        drop(scene.manager.manage(&desc(), &object).expect("nobody manages it"));
        let priority = |seen| if let Seen::Priority(priority) = seen { Some(priority) } else { None };
        let seen: Vec<_> = scene.faults.take_seen().into_iter().filter_map(priority).collect();
        let (low, usual, high) =
            (D3D12_RESIDENCY_PRIORITY_LOW, D3D12_RESIDENCY_PRIORITY_NORMAL, D3D12_RESIDENCY_PRIORITY_HIGH);
        assert_eq!(seen, [low, usual, high, usual]);
    }
    scene.end(());
}

/// A refused adoption leaves nothing behind.
#[test]
fn a_refused_adoption_claims_nothing() {
    let scene = Scene::new(budget(8));
    let object = scene.unmanaged(1);
    let small = ResidencyHeapDesc { size: ByteSize::new(1), ..Default::default() };
    scene.manager.manage(&small, &object).expect_err("it is larger");
    let priority = Some(7);
    scene.manager.manage(&ResidencyHeapDesc { priority, ..desc() }, &object).expect_err("no level");
    let flags = ResidencyHeapFlags::CREATE_IN_BUDGET;
    scene.manager.manage(&ResidencyHeapDesc { flags, ..desc() }, &object).expect_err("it exists");
    drop(scene.manager.manage(&desc(), &object).expect("nobody manages it"));
    drop(ResidencyHeap::unmanaged(&Default::default(), &object).expect("nobody pages it"));
    drop(scene.manager.manage(&desc(), &object).expect("nobody manages it"));
    scene.end(object);
}

/// A placed resource looks like a committed one. The device refuses to evict it, which is reported; others are evicted
/// instead.
#[test]
fn a_placed_resource_stays_and_hinders_nobody() {
    let scene = Scene::new(budget(8));
    let heap = scene.raw_heap(D3D12_HEAP_TYPE_DEFAULT, 1, D3D12_HEAP_FLAG_NONE).expect("there is room");
    let resource = placed(&scene.instance.device, &heap, D3D12_HEAP_TYPE_DEFAULT, 64);
    let object: ID3D12Pageable = resource.into();
    let mut refused = 0;
    for way in ways(&object) {
        let managed = way(&scene, &scene.manager, &object).expect("it cannot be recognized");
        let things = scene.things(3);
        let queue = scene.queue();
        scene.run(&queue, &[&scene.work(&things)]);
        assert_eq!(scene.manager.evict_at_least(LOCAL, mib(2)), mib(2), "others go instead");
        assert_eq!(scene.manager.evict_at_least(LOCAL, mib(8)), mib(1));
        assert_eq!(status(&*managed), ResidencyHeapStatus::Resident);
        assert!(managed.heap().info().is_locked, "it never goes");
        scene.run(&queue, &[&scene.work(&things)]);
        use_once(&scene, &scene.manager, &*managed);
        scene.manager.audit().expect("sound");
        drop(managed);
        drop(things);
        refused += 1;
        let stats = scene.manager.stats();
        assert_eq!((stats.current_heap_count, stats.refused_evictions), (0, refused));
    }
}

#[test]
fn what_needs_the_memory_of_a_placed_resource_gets_that_of_others() {
    let scene = Scene::new(budget(3));
    let heap = scene.raw_heap(D3D12_HEAP_TYPE_DEFAULT, 1, D3D12_HEAP_FLAG_NONE).expect("there is room");
    let resource = placed(&scene.instance.device, &heap, D3D12_HEAP_TYPE_DEFAULT, MIB).into();
    let managed = scene.manager.manage(&Default::default(), &resource).expect("it cannot be recognized");
    let (queue, mut things) = (scene.queue(), scene.things(2));
    things.push(scene.evicted(2, 1));
    scene.run(&queue, &[&scene.work(&things[..2])]);
    scene.run(&queue, &[&scene.write(&things[2]), &scene.work(&things[2..])]);
    let stats = scene.manager.stats();
    assert_eq!((stats.refused_evictions, stats.submissions_over_budget), (1, 0));
    assert_eq!(stats.local.bytes_paged_in, mib(1));
    scene.manager.audit().expect("sound");
    drop(managed);
}
