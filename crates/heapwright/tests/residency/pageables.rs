//! Descriptor heaps, query heaps and committed resources.

use crate::gpu::*;
use crate::scene::{Scene, budget};

pub(crate) fn descriptor_heap(device: &ID3D12Device) -> ID3D12Pageable {
    let desc = D3D12_DESCRIPTOR_HEAP_DESC {
        Type: D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV,
        NumDescriptors: 1000,
        ..Default::default()
    };
    let heap: ID3D12DescriptorHeap = unsafe { device.CreateDescriptorHeap(&desc) }.expect("there is room");
    heap.into()
}

pub(crate) fn query_heap(device: &ID3D12Device) -> ID3D12Pageable {
    let desc = D3D12_QUERY_HEAP_DESC { Type: D3D12_QUERY_HEAP_TYPE_TIMESTAMP, Count: 16, NodeMask: 0 };
    let mut made: Option<ID3D12QueryHeap> = None;
    unsafe { device.CreateQueryHeap(&desc, &mut made) }.expect("there is room");
    made.expect("S_OK comes with a query heap").into()
}

fn local(size: ByteSize, flags: ResidencyHeapFlags) -> ResidencyHeapDesc {
    ResidencyHeapDesc { segment_group: Some(LOCAL), size, flags, ..Default::default() }
}

/// What D3D12 reports of an object need not be described, and what it does not report must be.
#[test]
fn what_d3d12_does_not_report_must_be_described() {
    let scene = Scene::simulated(budget(1000));
    let device = &scene.instance.device;
    let none = ResidencyHeapDesc::default();
    let manage = |desc: &ResidencyHeapDesc, object: &ID3D12Pageable| scene.manager.manage(desc, object);
    let starts = |desc: &ResidencyHeapDesc, object: &ID3D12Pageable, message: &str| {
        let error = manage(desc, object).expect_err("refused");
        assert!(error.is_invalid_argument() && error.to_string().starts_with(message), "{error}");
    };
    for (heap_type, group) in [
        (D3D12_HEAP_TYPE_DEFAULT, LOCAL),
        (D3D12_HEAP_TYPE_UPLOAD, NON_LOCAL),
        (D3D12_HEAP_TYPE_READBACK, NON_LOCAL),
        (D3D12_HEAP_TYPE_GPU_UPLOAD, LOCAL),
    ] {
        let heap = scene.raw_heap(heap_type, 1, D3D12_HEAP_FLAG_NONE).expect("there is room");
        let heap = manage(&none, &heap.into()).expect("it reports everything");
        assert_eq!((heap.segment_group(), heap.size()), (group, mib(1)), "{heap_type}");
        assert_eq!((heap.info().alignment.get(), heap.info().status as u32), (65_536, 2), "{heap_type}");
        let resource = committed_buffer(device, heap_type, 100 << 10);
        let resource = manage(&none, &resource.into()).expect("it reports everything");
        assert_eq!((resource.segment_group(), resource.size()), (group, kib(128)));
    }
    let descriptors = descriptor_heap(device);
    let group = "ResidencyHeapDesc::segment_group: a segment group is required for a descriptor heap";
    starts(&none, &descriptors, group);
    let heap = manage(&local(ByteSize::ZERO, ResidencyHeapFlags::empty()), &descriptors).expect("sound");
    let increment =
        unsafe { device.GetDescriptorHandleIncrementSize(D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV) };
    assert_eq!(heap.size(), ByteSize::new(1000 * u64::from(increment)));
    let size = "ResidencyHeapDesc::size: a size is required for this query heap";
    starts(&local(ByteSize::ZERO, ResidencyHeapFlags::empty()), &query_heap(device), size);
    let mut reserved: Option<ID3D12Resource> = None;
    let desc = buffer_desc(kib(64));
    unsafe { device.CreateReservedResource(&desc, 0, None, &mut reserved) }.expect("it is supported");
    let reserved = reserved.expect("S_OK comes with a resource").into();
    let message = "pageable: GetHeapProperties failed with E_INVALIDARG (0x80070057); for a reserved";
    starts(&none, &reserved, message);
    // With a single memory, the segment group is known.
    let uma = Scene::of_profile("uma", budget(8));
    let descriptors = descriptor_heap(&uma.instance.device);
    assert_eq!(uma.manager.manage(&none, &descriptors).expect("sound").segment_group(), LOCAL);
}

/// Each kind is evicted, and paged in again when it is used.
#[test]
fn every_kind_of_object_is_paged() {
    let scene = Scene::new(budget(8));
    let queue = scene.queue();
    let device = &scene.instance.device;
    let none = ResidencyHeapFlags::empty();
    let committed = committed_buffer(device, D3D12_HEAP_TYPE_DEFAULT, 65_536);
    let heaps = [
        (local(ByteSize::ZERO, none), descriptor_heap(device)),
        (local(mib(1), none), query_heap(device)),
        (Default::default(), committed.into()),
    ]
    .map(|(desc, object)| scene.manager.manage(&desc, &object).expect("sound"));
    assert_eq!(heaps.each_ref().map(|heap| heap.info().status as u32), [0, 0, 2]);
    let work = scene.work(&[]);
    heaps.iter().for_each(|heap| work.list.add(heap).expect("closed"));
    scene.run(&queue, &[&work]);
    for _ in 0..3 {
        assert!(heaps.iter().all(|heap| heap.info().status == ResidencyHeapStatus::Resident));
        let before = scene.instance.residency();
        scene.manager.evict_at_least(LOCAL, mib(8));
        assert!(heaps.iter().all(|heap| heap.info().status == ResidencyHeapStatus::Evicted));
        let evicted = scene.instance.residency();
        assert_eq!(evicted.paged_out.objects - before.paged_out.objects, 3);
        scene.run(&queue, &[&work]);
        let back = scene.instance.residency();
        assert_eq!(back.paged_in.objects - evicted.paged_in.objects, 3);
        back.check_balance().expect("balanced");
    }
    scene.end(heaps);
}

/// A status that D3D12 does not report is known from CREATE_RESIDENT or from a lock on.
#[test]
fn what_is_not_known_becomes_known() {
    let scene = Scene::new(budget(8));
    let device = &scene.instance.device;
    let resident = ResidencyHeapFlags::CREATE_RESIDENT;
    let first = scene.manager.manage(&local(mib(1), resident), &query_heap(device)).expect("sound");
    assert_eq!(first.info().status, ResidencyHeapStatus::Resident);
    let second = scene
        .manager
        .create_heap(&local(mib(1), ResidencyHeapFlags::CREATE_LOCKED), || Ok(query_heap(device)))
        .expect("sound");
    assert!(second.info().is_locked && second.info().status == ResidencyHeapStatus::Resident);
    assert_eq!(scene.manager.evict_at_least(LOCAL, mib(8)), mib(1));
    assert_eq!(second.unlock().expect("locked"), 0);
    assert_eq!(scene.manager.evict_at_least(LOCAL, mib(8)), mib(1));
    first.lock().expect("there is room");
    assert_eq!(first.info().status, ResidencyHeapStatus::Resident);
    assert_eq!(first.unlock().expect("locked"), 0);
    scene.manager.audit().expect("sound");
    scene.instance.residency().check_balance().expect("balanced");
    scene.end((first, second));
}

/// Memory that was counted as that of others is not counted twice once its heap is known.
#[test]
fn what_becomes_known_is_not_counted_twice() {
    for is_locked in [false, true] {
        let scene = Scene::simulated(budget(6));
        let queue = scene.queue();
        let others = scene.unmanaged(3);
        let none = ResidencyHeapFlags::empty();
        let queries = scene.manager.manage(&local(mib(3), none), &query_heap(&scene.device)).expect("sound");
        // As on a GPU that counts query heaps: 3 MiB are used, and the query heap has them.
        scene.manager.trim();
        let work = scene.work(&[]);
        work.list.add(&queries).expect("closed");
        // It becomes known by a submission or a lock, with a query afterwards or without.
        if is_locked {
            queries.lock().expect("it is there");
            assert_eq!(queries.unlock().expect("locked"), 0);
        } else {
            (0..4).for_each(|_| scene.run(&queue, &[&work]));
        }
        let in_budget =
            ResidencyHeapDesc { flags: ResidencyHeapFlags::CREATE_IN_BUDGET, ..Default::default() };
        let thing = scene.try_thing(1, 3, D3D12_HEAP_TYPE_DEFAULT, &in_budget).expect("3 and 3 of 6");
        assert_eq!(queries.info().status, ResidencyHeapStatus::Resident, "nothing had to go");
        scene.manager.audit().expect("sound");
        drop((others, queries));
        scene.end(vec![thing]);
    }
}

/// An object of others that the manager is given is counted twice until the next submission at most.
#[test]
fn what_is_adopted_is_not_counted_twice() {
    let scene = Scene::new(ResidencyManagerDesc { refresh_interval: 1000, ..budget(6) });
    let queue = scene.queue();
    let heap = scene.unmanaged(3);
    scene.manager.trim();
    let adopted = scene.manager.manage(&ResidencyHeapDesc::default(), &heap).expect("sound");
    let before = scene.manager.stats().budget_refreshes;
    scene.run(&queue, &[&scene.work(&[])]);
    assert_eq!(scene.manager.stats().budget_refreshes, before + 1, "the operating system was asked");
    scene.end(adopted);
}
