//! Properties that objects of the simulated GPU report.

use heapwright_runtime::{HostProfile, Instance};

use super::*;
use crate::buffer_desc;

const KIB: u64 = 1 << 10;

fn open(profile: &str) -> Instance {
    Instance::open(HostProfile::find(profile).expect("the profile exists")).expect("the instance opens")
}

fn examine(gpu: &Instance, object: &impl Interface, desc: &ResidencyHeapDesc) -> Result<PageableInfo, Error> {
    let caps = DeviceCaps::query(&gpu.device).expect("answered");
    let unifies_memory = caps.architecture != Architecture::Discrete;
    let device = DeviceNames { shown: &gpu.device, behind: None };
    inspect(device, &caps, unifies_memory, &object.cast().expect("a pageable"), desc).map(|(_, info)| info)
}

fn heap(gpu: &Instance, heap_type: D3D12_HEAP_TYPE, flags: D3D12_HEAP_FLAGS) -> ID3D12Heap {
    let desc = D3D12_HEAP_DESC {
        SizeInBytes: 256 * KIB,
        Properties: D3D12_HEAP_PROPERTIES { Type: heap_type, ..Default::default() },
        Flags: flags,
        ..Default::default()
    };
    let mut heap = None;
    // SAFETY: the device is live, the description outlives the call, and the result is of the interface asked for.
    unsafe { gpu.device.CreateHeap(&desc, &mut heap) }.expect("enough memory");
    heap.expect("S_OK implies a heap")
}

fn committed(gpu: &Instance, heap_type: D3D12_HEAP_TYPE, flags: D3D12_HEAP_FLAGS) -> ID3D12Resource {
    let properties = D3D12_HEAP_PROPERTIES { Type: heap_type, ..Default::default() };
    let desc = buffer_desc(ByteSize::from_kib(100));
    let mut made = None;
    // SAFETY: as above.
    unsafe { gpu.device.CreateCommittedResource(&properties, flags, &desc, 0, None, &mut made) }
        .expect("enough memory");
    made.expect("S_OK implies a resource")
}

fn descriptors(gpu: &Instance) -> ID3D12DescriptorHeap {
    let desc = D3D12_DESCRIPTOR_HEAP_DESC {
        Type: D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV,
        NumDescriptors: 1000,
        ..Default::default()
    };
    // SAFETY: as above.
    unsafe { gpu.device.CreateDescriptorHeap(&desc) }.expect("enough memory")
}

fn queries(gpu: &Instance) -> ID3D12QueryHeap {
    let desc =
        D3D12_QUERY_HEAP_DESC { Type: D3D12_QUERY_HEAP_TYPE_TIMESTAMP, Count: 16, ..Default::default() };
    let mut made = None;
    // SAFETY: as above.
    unsafe { gpu.device.CreateQueryHeap(&desc, &mut made) }.expect("enough memory");
    made.expect("S_OK implies a query heap")
}

fn given(segment_group: SegmentGroup, kib: u64) -> ResidencyHeapDesc {
    ResidencyHeapDesc {
        segment_group: Some(segment_group),
        size: ByteSize::from_kib(kib),
        ..Default::default()
    }
}

#[track_caller]
fn assert_refused(answer: Result<PageableInfo, Error>, begins: &str) {
    let error = answer.expect_err("refused");
    assert!(error.is_invalid_argument() && error.to_string().starts_with(begins), "{error}");
}

#[test]
fn heaps_and_committed_resources_report_all_properties() {
    let gpu = open("discrete");
    let nothing = ResidencyHeapDesc::default();
    for (heap_type, segment_group) in [
        (D3D12_HEAP_TYPE_DEFAULT, SegmentGroup::Local),
        (D3D12_HEAP_TYPE_UPLOAD, SegmentGroup::NonLocal),
        (D3D12_HEAP_TYPE_READBACK, SegmentGroup::NonLocal),
        (D3D12_HEAP_TYPE_GPU_UPLOAD, SegmentGroup::Local),
    ] {
        let heap = heap(&gpu, heap_type, D3D12_HEAP_FLAG_NONE);
        let info = examine(&gpu, &heap, &nothing).expect("the object has all properties");
        let expected = PageableInfo {
            kind: PageableKind::Heap,
            size: ByteSize::from_kib(256),
            alignment: Alignment::new(64 * KIB).expect("a power of two"),
            segment_group,
            was_created_resident: Some(true),
        };
        assert_eq!(info, expected, "{heap_type}");
    }
    let evicted = heap(&gpu, D3D12_HEAP_TYPE_DEFAULT, D3D12_HEAP_FLAG_CREATE_NOT_RESIDENT);
    assert_eq!(examine(&gpu, &evicted, &nothing).expect("sound").was_created_resident, Some(false));

    let resource = committed(&gpu, D3D12_HEAP_TYPE_UPLOAD, D3D12_HEAP_FLAG_NONE);
    let info = examine(&gpu, &resource, &nothing).expect("the object has all properties");
    assert_eq!((info.kind, info.segment_group), (PageableKind::CommittedResource, SegmentGroup::NonLocal));
    assert_eq!(info.was_created_resident, Some(true));
    let evicted = committed(&gpu, D3D12_HEAP_TYPE_DEFAULT, D3D12_HEAP_FLAG_CREATE_NOT_RESIDENT);
    assert_eq!(examine(&gpu, &evicted, &nothing).expect("sound").was_created_resident, Some(false));
}

#[test]
fn descriptor_heaps_report_their_size_and_query_heaps_do_not() {
    let gpu = open("discrete");
    let descriptors = descriptors(&gpu);
    assert_refused(
        examine(&gpu, &descriptors, &ResidencyHeapDesc::default()),
        "ResidencyHeapDesc::segment_group: a segment group is required for a descriptor heap",
    );
    let info = examine(&gpu, &descriptors, &given(SegmentGroup::Local, 0)).expect("sound");
    // SAFETY: the device is a live COM object.
    let increment =
        unsafe { gpu.device.GetDescriptorHandleIncrementSize(D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV) };
    assert_eq!(info.size, ByteSize::new(1000 * u64::from(increment)));
    assert_eq!((info.kind, info.was_created_resident), (PageableKind::DescriptorHeap, None));

    let queries = queries(&gpu);
    assert_refused(
        examine(&gpu, &queries, &given(SegmentGroup::NonLocal, 0)),
        "ResidencyHeapDesc::size: a size is required for this query heap",
    );
    let info = examine(&gpu, &queries, &given(SegmentGroup::NonLocal, 64)).expect("sound");
    assert_eq!((info.kind, info.size), (PageableKind::QueryHeap, ByteSize::from_kib(64)));
    assert_eq!((info.segment_group, info.was_created_resident), (SegmentGroup::NonLocal, None));

    // With a single memory, the segment group is known.
    let uma = open("uma");
    let info = examine(&uma, &self::descriptors(&uma), &ResidencyHeapDesc::default()).expect("sound");
    assert_eq!(info.segment_group, SegmentGroup::Local);
}

#[test]
fn reserved_resources_are_rejected() {
    let gpu = open("discrete");
    let nothing = ResidencyHeapDesc::default();
    let desc = buffer_desc(ByteSize::from_kib(64));
    let mut reserved: Option<ID3D12Resource> = None;
    // SAFETY: the device is live, the description outlives the call, and the result is of the interface asked for.
    unsafe { gpu.device.CreateReservedResource(&desc, 0, None, &mut reserved) }
        .expect("tiled resources are supported");
    let reserved = reserved.expect("S_OK implies a resource");
    assert_refused(
        examine(&gpu, &reserved, &nothing),
        "pageable: GetHeapProperties failed with E_INVALIDARG (0x80070057); for a reserved",
    );
}
