//! The runtime through its COM interfaces.
#![allow(missing_docs, reason = "a test")]
#![allow(clippy::undocumented_unsafe_blocks, reason = "every call here is one of D3D12's, on live objects")]

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use heapwright_d3d12::names::WKPDID_D3DDebugObjectNameW;
use heapwright_d3d12::*;
use heapwright_runtime::exports::{CreateDXGIFactory2, D3D12CreateDevice};
use heapwright_runtime::{DeviceOptions, HostProfile, Instance};
use windows_core::{GUID, HRESULT, IUnknown, Interface};

fn open(profile: &str) -> Instance {
    Instance::open(HostProfile::find(profile).expect("a profile of that name")).expect("a fresh instance")
}

fn buffer(width: u64) -> D3D12_RESOURCE_DESC {
    D3D12_RESOURCE_DESC {
        Dimension: D3D12_RESOURCE_DIMENSION_BUFFER,
        Width: width,
        Height: 1,
        DepthOrArraySize: 1,
        MipLevels: 1,
        SampleDesc: DXGI_SAMPLE_DESC { Count: 1, Quality: 0 },
        Layout: D3D12_TEXTURE_LAYOUT_ROW_MAJOR,
        ..Default::default()
    }
}

fn tight(width: u64) -> D3D12_RESOURCE_DESC {
    D3D12_RESOURCE_DESC { Flags: D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT, ..buffer(width) }
}

fn of_type(heap_type: D3D12_HEAP_TYPE) -> D3D12_HEAP_PROPERTIES {
    D3D12_HEAP_PROPERTIES { Type: heap_type, ..Default::default() }
}

fn heap_desc(heap_type: D3D12_HEAP_TYPE, size: u64) -> D3D12_HEAP_DESC {
    D3D12_HEAP_DESC { SizeInBytes: size, Properties: of_type(heap_type), ..Default::default() }
}

fn create_heap(device: &ID3D12Device, desc: &D3D12_HEAP_DESC) -> Result<ID3D12Heap, HRESULT> {
    let mut heap = None;
    unsafe { device.CreateHeap(desc, &mut heap) }.map_err(|error| error.code())?;
    Ok(heap.expect("S_OK comes with a heap"))
}

fn place(
    device: &ID3D12Device,
    heap: &ID3D12Heap,
    offset: u64,
    desc: &D3D12_RESOURCE_DESC,
) -> Result<ID3D12Resource, HRESULT> {
    let mut resource = None;
    let state = D3D12_RESOURCE_STATE_COMMON;
    unsafe { device.CreatePlacedResource(heap, offset, desc, state, None, &mut resource) }
        .map_err(|error| error.code())?;
    Ok(resource.expect("S_OK comes with a resource"))
}

fn commit(
    device: &ID3D12Device,
    heap_type: D3D12_HEAP_TYPE,
    desc: &D3D12_RESOURCE_DESC,
) -> Result<ID3D12Resource, HRESULT> {
    let (mut resource, properties) = (None, of_type(heap_type));
    let state = D3D12_RESOURCE_STATE_COMMON;
    unsafe {
        device.CreateCommittedResource(&properties, D3D12_HEAP_FLAG_NONE, desc, state, None, &mut resource)
    }
    .map_err(|error| error.code())?;
    Ok(resource.expect("S_OK comes with a resource"))
}

fn usage(adapter: &IDXGIAdapter3, group: DXGI_MEMORY_SEGMENT_GROUP) -> u64 {
    let mut info = DXGI_QUERY_VIDEO_MEMORY_INFO::default();
    unsafe { adapter.QueryVideoMemoryInfo(0, group, &mut info) }.ok().expect("answered");
    info.CurrentUsage
}

#[test]
fn every_device_interface_answers_and_is_one_object() {
    let device = open("discrete").device;
    let identity: IUnknown = device.cast().expect("every object is an IUnknown");
    macro_rules! check {
        ($($interface:ident),*) => {$(
            let queried: $interface = device.cast().expect(stringify!($interface));
            assert_eq!(queried.cast::<IUnknown>().expect("IUnknown").as_raw(), identity.as_raw());
        )*};
    }
    check!(
        ID3D12Object,
        ID3D12Device,
        ID3D12Device1,
        ID3D12Device2,
        ID3D12Device3,
        ID3D12Device4,
        ID3D12Device5,
        ID3D12Device6,
        ID3D12Device7,
        ID3D12Device8,
        ID3D12Device9,
        ID3D12Device10,
        ID3D12Device11,
        ID3D12Device12,
        ID3D12Device13,
        ID3D12Device14
    );
    assert_eq!(device.cast::<ID3D12Resource>().expect_err("not a resource").code(), E_NOINTERFACE);
}

#[test]
fn the_exports_give_a_factory_an_adapter_and_a_device() {
    unsafe {
        let mut factory = null_mut();
        assert_eq!(CreateDXGIFactory2(0, &IDXGIFactory4::IID, &mut factory), S_OK);
        let factory = IDXGIFactory4::from_raw(factory);
        let adapter = factory.EnumAdapters1(0).expect("one adapter");
        assert_eq!(factory.EnumAdapters1(1).expect_err("no second").code(), DXGI_ERROR_NOT_FOUND);
        let mut device = null_mut();
        let level = D3D_FEATURE_LEVEL_11_0;
        assert_eq!(D3D12CreateDevice(adapter.as_raw(), level, &ID3D12Device::IID, &mut device), S_OK);
        let device = ID3D12Device::from_raw(device);
        let mut desc = DXGI_ADAPTER_DESC1::default();
        adapter.GetDesc1(&mut desc).ok().expect("described");
        assert_eq!(device.GetAdapterLuid(), desc.AdapterLuid);
        let by_luid: IDXGIAdapter3 = factory.EnumAdapterByLuid(desc.AdapterLuid).expect("known");
        assert_eq!(usage(&by_luid, DXGI_MEMORY_SEGMENT_GROUP_LOCAL), 0);
        let parent: IDXGIFactory4 = by_luid.GetParent().expect("a factory");
        assert_eq!(parent, factory);

        assert_eq!(D3D12CreateDevice(null_mut(), level, &ID3D12Device::IID, null_mut()), S_FALSE);
        let too_high = D3D_FEATURE_LEVEL_12_2;
        let mut none = null_mut();
        assert_eq!(
            D3D12CreateDevice(null_mut(), too_high, &ID3D12Device::IID, &mut none),
            DXGI_ERROR_UNSUPPORTED
        );
        assert_eq!(D3D12CreateDevice(null_mut(), level, &ID3D12Heap::IID, &mut none), E_NOINTERFACE);
        assert_eq!(D3D12CreateDevice(null_mut(), level, null(), &mut none), E_INVALIDARG);
        assert_eq!(D3D12CreateDevice(device.as_raw(), level, &ID3D12Device::IID, &mut none), E_INVALIDARG);
        assert!(none.is_null());
        assert_eq!(CreateDXGIFactory2(0, &IDXGIFactory4::IID, null_mut()), E_INVALIDARG);
    }
}

#[test]
fn features_are_the_profiles() {
    fn ask<T: Default>(device: &ID3D12Device, feature: D3D12_FEATURE) -> Result<T, HRESULT> {
        let mut data = T::default();
        let size = u32::try_from(size_of::<T>()).expect("small");
        unsafe { device.CheckFeatureSupport(feature, (&raw mut data).cast(), size) }
            .ok()
            .map_err(|error| error.code())?;
        Ok(data)
    }
    // For the first generation, see first_generation.rs.
    for profile in HostProfile::all().iter().filter(|profile| !profile.is_first_generation) {
        let device = Instance::open(profile).expect("a fresh instance").device;
        let options: D3D12_FEATURE_DATA_D3D12_OPTIONS =
            ask(&device, D3D12_FEATURE_D3D12_OPTIONS).expect("known");
        assert_eq!(options.ResourceHeapTier, i32::from(profile.resource_heap_tier));
        assert_eq!(options.MaxGPUVirtualAddressBitsPerResource, profile.gpu_va_bits_per_resource);
        let architecture: D3D12_FEATURE_DATA_ARCHITECTURE1 =
            ask(&device, D3D12_FEATURE_ARCHITECTURE1).expect("known");
        assert_eq!(architecture.UMA.as_bool(), profile.architecture.is_uma());
        let older: D3D12_FEATURE_DATA_ARCHITECTURE = ask(&device, D3D12_FEATURE_ARCHITECTURE).expect("known");
        assert_eq!(older.CacheCoherentUMA, architecture.CacheCoherentUMA);
        let tight: D3D12_FEATURE_DATA_TIGHT_ALIGNMENT =
            ask(&device, D3D12_FEATURE_D3D12_TIGHT_ALIGNMENT).expect("known");
        assert_eq!(tight.SupportTier, i32::from(profile.tight_buffer_alignment.is_some()));
        let upload: D3D12_FEATURE_DATA_D3D12_OPTIONS16 =
            ask(&device, D3D12_FEATURE_D3D12_OPTIONS16).expect("known");
        assert_eq!(upload.GPUUploadHeapSupported.as_bool(), profile.l1_memory_fully_cpu_accessible);
        let addresses: D3D12_FEATURE_DATA_GPU_VIRTUAL_ADDRESS_SUPPORT =
            ask(&device, D3D12_FEATURE_GPU_VIRTUAL_ADDRESS_SUPPORT).expect("known");
        assert_eq!(addresses.MaxGPUVirtualAddressBitsPerProcess, profile.gpu_va_bits_per_process);

        let wrong_size: Result<u64, _> = ask(&device, D3D12_FEATURE_D3D12_TIGHT_ALIGNMENT);
        assert_eq!(wrong_size, Err(E_INVALIDARG));
        let missing: Result<u32, _> = ask(&device, 11);
        assert_eq!(missing, Err(E_INVALIDARG));
        let null_data = unsafe { device.CheckFeatureSupport(D3D12_FEATURE_ARCHITECTURE, null_mut(), 16) };
        assert_eq!(null_data, E_INVALIDARG);
    }
}

#[test]
fn allocation_info_is_the_tables_and_invalid_input_is_uint64_max() {
    let device = open("discrete").device;
    let info = |descs: &[D3D12_RESOURCE_DESC]| {
        let info = unsafe { device.GetResourceAllocationInfo(0, descs) };
        (info.SizeInBytes, info.Alignment)
    };
    assert_eq!(info(&[buffer(1000)]), (65_536, 65_536));
    assert_eq!(info(&[tight(1000)]), (1024, 256));
    assert_eq!(info(&[tight(1), buffer(1), tight(1)]), (3 * 65_536, 65_536));
    assert_eq!(info(&[tight(1), tight(1), buffer(1)]), (2 * 65_536, 65_536));
    assert_eq!(info(&[]), (0, 1));
    assert_eq!(info(&[buffer(0)]).0, u64::MAX);
    assert_eq!(info(&[tight(1), buffer(u64::MAX)]).0, u64::MAX);
    let texture = D3D12_RESOURCE_DESC { Dimension: D3D12_RESOURCE_DIMENSION_TEXTURE2D, ..buffer(1) };
    assert_eq!(info(&[texture]).0, u64::MAX);

    let device: ID3D12Device4 = device.cast().expect("known");
    let descs = [tight(1000), buffer(1), tight(8)];
    let mut infos = [D3D12_RESOURCE_ALLOCATION_INFO1::default(); 3];
    let whole = unsafe { device.GetResourceAllocationInfo1(1, 3, descs.as_ptr(), Some(infos.as_mut_ptr())) };
    assert_eq!(whole.SizeInBytes, 3 * 65_536);
    let found = infos.map(|info| (info.Offset, info.SizeInBytes, info.Alignment));
    assert_eq!(found, [(0, 1024, 256), (65_536, 65_536, 65_536), (2 * 65_536, 256, 256)]);
}

#[test]
fn placed_buffers_have_addresses_and_bytes_of_their_own() {
    let gpu = open("discrete");
    let heap = create_heap(&gpu.device, &heap_desc(D3D12_HEAP_TYPE_UPLOAD, 1 << 20)).expect("created");
    let first = place(&gpu.device, &heap, 0, &tight(1000)).expect("placed");
    let second = place(&gpu.device, &heap, 1024, &tight(1000)).expect("placed");
    unsafe {
        let (D3D12_GPU_VIRTUAL_ADDRESS(a), D3D12_GPU_VIRTUAL_ADDRESS(b)) =
            (first.GetGPUVirtualAddress(), second.GetGPUVirtualAddress());
        assert_eq!(b - a, 1024);
        let (mut pa, mut pb): (*mut c_void, *mut c_void) = (null_mut(), null_mut());
        first.Map(0, None, &mut pa).ok().expect("mapped");
        second.Map(0, None, &mut pb).ok().expect("mapped");
        assert_eq!(pa.cast::<u8>().add(1024), pb.cast());
        pa.cast::<u8>().add(999).write(1);
        pb.cast::<u8>().write(2);
        let mut again = null_mut();
        first.Map(0, None, &mut again).ok().expect("mapping nests");
        assert_eq!(again, pa, "the address is unchanged");
        first.Unmap(0, None);
        first.Unmap(0, None);
        assert_eq!(pa.cast::<u8>().add(999).read(), 1);
        let desc = first.GetDesc();
        assert_eq!((desc.Width, desc.Alignment), (1000, 256), "the effective alignment is filled in");
    }
}

#[test]
fn a_resource_keeps_its_heap_and_a_heap_its_device() {
    let gpu = open("discrete");
    let heap = create_heap(&gpu.device, &heap_desc(D3D12_HEAP_TYPE_UPLOAD, 1 << 20)).expect("created");
    let resource = place(&gpu.device, &heap, 0, &tight(16)).expect("placed");
    let Instance { factory, adapter, device, .. } = gpu;
    drop((device, factory, heap));
    let mut start = null_mut();
    unsafe { resource.Map(0, None, &mut start) }.ok().expect("mapped");
    unsafe { start.cast::<u8>().write_bytes(1, 16) };
    let mut device: Option<ID3D12Device> = None;
    unsafe { resource.GetDevice(&mut device) }.expect("alive");
    assert_eq!(unsafe { device.expect("alive").GetNodeCount() }, 1);
    assert_eq!(usage(&adapter, DXGI_MEMORY_SEGMENT_GROUP_NON_LOCAL), 1 << 20);
    drop(resource);
    assert_eq!(usage(&adapter, DXGI_MEMORY_SEGMENT_GROUP_NON_LOCAL), 0);
}

#[test]
fn refused_placements_answer_e_invalidarg() {
    let gpu = open("discrete");
    let device = &gpu.device;
    let heap = create_heap(device, &heap_desc(D3D12_HEAP_TYPE_DEFAULT, 1 << 20)).expect("created");
    let refused = [
        ("unaligned", place(device, &heap, 128, &tight(8))),
        ("beyond the end", place(device, &heap, (1 << 20) - 256, &tight(257))),
        ("overflowing", place(device, &heap, u64::MAX - 255, &tight(257))),
        ("invalid", place(device, &heap, 0, &tight(0))),
        ("of another device", place(&open("discrete").device, &heap, 0, &tight(8))),
    ];
    for (what, result) in refused {
        assert_eq!(result.err(), Some(E_INVALIDARG), "{what}");
    }
    let textures = D3D12_HEAP_DESC {
        Flags: D3D12_HEAP_FLAG_ALLOW_ONLY_NON_RT_DS_TEXTURES,
        ..heap_desc(D3D12_HEAP_TYPE_DEFAULT, 1 << 20)
    };
    let textures = create_heap(device, &textures).expect("created");
    assert_eq!(place(device, &textures, 0, &tight(8)).err(), Some(E_INVALIDARG));
    let clear = D3D12_CLEAR_VALUE::default();
    let mut resource: Option<ID3D12Resource> = None;
    let (desc, state) = (tight(8), D3D12_RESOURCE_STATE_COMMON);
    let result = unsafe { device.CreatePlacedResource(&heap, 0, &desc, state, Some(&clear), &mut resource) };
    assert_eq!(result.map_err(|error| error.code()), Err(E_INVALIDARG), "a clear value for a buffer");
    assert!(resource.is_none());
}

#[test]
fn null_pointers_are_refused_and_a_null_result_only_checks() {
    let gpu = open("discrete");
    let vtable = gpu.device.vtable();
    let this = gpu.device.as_raw();
    let desc = heap_desc(D3D12_HEAP_TYPE_DEFAULT, 1 << 20);
    let mut out = null_mut();
    unsafe {
        assert_eq!((vtable.CreateHeap)(this, null(), &ID3D12Heap::IID, &mut out), E_INVALIDARG);
        assert_eq!((vtable.CreateHeap)(this, &desc, null(), &mut out), E_INVALIDARG);
        assert_eq!((vtable.CreateHeap)(this, &desc, &ID3D12Heap::IID, null_mut()), S_FALSE);
        assert_eq!((vtable.CreateHeap)(this, null(), &ID3D12Heap::IID, null_mut()), E_INVALIDARG);
        assert_eq!((vtable.CreateHeap)(this, &desc, &ID3D12Device::IID, &mut out), E_NOINTERFACE);
        let (buffer, state) = (buffer(8), D3D12_RESOURCE_STATE_COMMON);
        let iid = &ID3D12Resource::IID;
        let place = vtable.CreatePlacedResource;
        assert_eq!(place(this, null_mut(), 0, &buffer, state, null(), iid, &mut out), E_INVALIDARG);
        let commit = vtable.CreateCommittedResource;
        assert_eq!(commit(this, null(), 0, &buffer, state, null(), iid, &mut out), E_INVALIDARG);
        let properties = of_type(D3D12_HEAP_TYPE_DEFAULT);
        assert_eq!(commit(this, &properties, 0, null(), state, null(), iid, &mut out), E_INVALIDARG);
        assert_eq!(commit(this, &properties, 0, &buffer, state, null(), iid, null_mut()), S_FALSE);
    }
    assert!(out.is_null());
    assert_eq!(usage(&gpu.adapter, DXGI_MEMORY_SEGMENT_GROUP_LOCAL), 0, "a check creates nothing");
}

#[test]
fn committed_buffers_take_what_their_alignment_says() {
    let gpu = open("discrete");
    let local = || usage(&gpu.adapter, DXGI_MEMORY_SEGMENT_GROUP_LOCAL);
    let plain = commit(&gpu.device, D3D12_HEAP_TYPE_DEFAULT, &buffer(10)).expect("created");
    assert_eq!(local(), 64 * 1024);
    drop(plain);
    let small = commit(&gpu.device, D3D12_HEAP_TYPE_DEFAULT, &tight(10)).expect("created");
    assert_eq!(local(), 4 * 1024, "specification of TIGHT: committed buffers are aligned to 4 KiB");
    assert_eq!(unsafe { small.GetDesc() }.Alignment, 4 * 1024);
    drop(small);
    assert_eq!(local(), 0);
}

#[test]
fn the_newer_calls_create_the_same_buffers() {
    let gpu = open("discrete");
    let device: ID3D12Device10 = gpu.device.cast().expect("known");
    let desc = D3D12_RESOURCE_DESC1 {
        Dimension: D3D12_RESOURCE_DIMENSION_BUFFER,
        Width: 100,
        Height: 1,
        DepthOrArraySize: 1,
        MipLevels: 1,
        SampleDesc: DXGI_SAMPLE_DESC { Count: 1, Quality: 0 },
        Layout: D3D12_TEXTURE_LAYOUT_ROW_MAJOR,
        Flags: D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT,
        ..Default::default()
    };
    let heap = create_heap(&gpu.device, &heap_desc(D3D12_HEAP_TYPE_DEFAULT, 1 << 20)).expect("created");
    let (undefined, state) = (D3D12_BARRIER_LAYOUT_UNDEFINED, D3D12_RESOURCE_STATE_COMMON);
    let properties = of_type(D3D12_HEAP_TYPE_DEFAULT);
    let mut made: [Option<ID3D12Resource2>; 4] = Default::default();
    let [one, two, three, four] = &mut made;
    unsafe {
        device.CreatePlacedResource1(&heap, 0, &desc, state, None, one).expect("placed");
        device.CreatePlacedResource2(&heap, 256, &desc, undefined, None, 0, null(), two).expect("placed");
        device
            .CreateCommittedResource2(&properties, D3D12_HEAP_FLAG_NONE, &desc, state, None, None, three)
            .expect("created");
        device
            .CreateCommittedResource3(&properties, 0, &desc, undefined, None, None, 0, null(), four)
            .expect("created");
        for resource in made.iter().flatten() {
            assert_eq!(resource.GetDesc1().Width, 100);
        }
        let mut none: Option<ID3D12Resource> = None;
        let common = D3D12_BARRIER_LAYOUT_COMMON;
        assert!(device.CreatePlacedResource2(&heap, 0, &desc, common, None, 0, null(), &mut none).is_err());
    }
}

#[test]
fn only_what_the_cpu_can_reach_is_mapped() {
    let gpu = open("discrete");
    let mut start = null_mut();
    let default = commit(&gpu.device, D3D12_HEAP_TYPE_DEFAULT, &buffer(10)).expect("created");
    assert_eq!(unsafe { default.Map(0, None, &mut start) }, E_INVALIDARG);
    let upload = commit(&gpu.device, D3D12_HEAP_TYPE_UPLOAD, &buffer(10)).expect("created");
    unsafe {
        assert_eq!(upload.Map(1, None, &mut start), E_INVALIDARG, "a buffer has one subresource");
        let beyond = D3D12_RANGE { Begin: 0, End: 11 };
        assert_eq!(upload.Map(0, Some(&beyond), &mut start), E_INVALIDARG);
        assert!(start.is_null());
        let empty = D3D12_RANGE { Begin: 5, End: 5 };
        assert_eq!(upload.Map(0, Some(&empty), &mut start), S_OK);
        assert!(!start.is_null());
        upload.Unmap(0, None);
        upload.Unmap(0, None);
        assert_eq!(upload.Map(0, None, null_mut()), S_OK, "a mapping without the pointer");
        upload.Unmap(0, None);
    }
}

#[test]
fn out_of_memory_is_an_answer_and_frees_what_was_taken() {
    let gpu = open("discrete-2gib");
    let desc = heap_desc(D3D12_HEAP_TYPE_DEFAULT, 1 << 30);
    let held = [(); 2].map(|()| create_heap(&gpu.device, &desc).expect("there is room"));
    assert_eq!(create_heap(&gpu.device, &desc).err(), Some(E_OUTOFMEMORY));
    assert_eq!(commit(&gpu.device, D3D12_HEAP_TYPE_DEFAULT, &buffer(1)).err(), Some(E_OUTOFMEMORY));
    assert_eq!(usage(&gpu.adapter, DXGI_MEMORY_SEGMENT_GROUP_LOCAL), 2 << 30);
    drop(held);
    assert_eq!(usage(&gpu.adapter, DXGI_MEMORY_SEGMENT_GROUP_LOCAL), 0);
}

#[test]
fn names_and_private_data_are_kept() {
    let gpu = open("discrete");
    let heap = create_heap(&gpu.device, &heap_desc(D3D12_HEAP_TYPE_DEFAULT, 65_536)).expect("created");
    let resource = place(&gpu.device, &heap, 0, &tight(8)).expect("placed");
    let objects: [ID3D12Object; 3] =
        [gpu.device.cast().expect("object"), heap.cast().expect("object"), resource.cast().expect("object")];
    let guid = GUID::from_u128(0x1234);
    for object in &objects {
        unsafe {
            let name: Vec<u16> = "Höhe".encode_utf16().chain([0]).collect();
            object.SetName(PCWSTR(name.as_ptr())).ok().expect("named");
            let mut read = [0_u16; 8];
            let mut size = 16;
            let (key, data) = (&WKPDID_D3DDebugObjectNameW, Some(read.as_mut_ptr().cast::<c_void>()));
            object.GetPrivateData(key, &mut size, data).ok().expect("there");
            assert_eq!((size, &read[..5]), (10, &name[..]));

            let mut size = 4;
            assert_eq!(object.GetPrivateData(&guid, &mut size, None), DXGI_ERROR_NOT_FOUND);
            assert_eq!(size, 0);
            let bytes = [1_u8, 2, 3];
            object.SetPrivateData(&guid, 3, Some(bytes.as_ptr().cast())).ok().expect("set");
            let mut out = [0_u8; 3];
            let mut size = 2;
            let data = Some(out.as_mut_ptr().cast::<c_void>());
            assert_eq!(object.GetPrivateData(&guid, &mut size, data), DXGI_ERROR_MORE_DATA);
            assert_eq!((size, out), (3, [0; 3]), "only the required size is written");
            assert_eq!(object.GetPrivateData(&guid, &mut size, data), S_OK);
            assert_eq!(out, bytes);
            object.SetPrivateData(&guid, 0, None).ok().expect("cleared");
            assert_eq!(object.GetPrivateData(&guid, &mut size, None), DXGI_ERROR_NOT_FOUND);
            assert_eq!(object.SetPrivateData(&guid, 0, None), S_FALSE, "no data was set");
            object.SetPrivateData(&guid, 3, Some(bytes.as_ptr().cast())).ok().expect("set");
            assert_eq!(object.SetPrivateData(&guid, u32::MAX, None), S_OK, "the size is ignored");
            assert_eq!(object.SetPrivateData(&guid, u32::MAX, None), S_FALSE);
            // A null interface pointer counts as data.
            assert_eq!(object.SetPrivateDataInterface(&guid, None), S_OK);
            let mut pointer: *mut c_void = std::ptr::dangling_mut();
            let mut size = 64;
            let data = Some((&raw mut pointer).cast());
            assert_eq!(object.GetPrivateData(&guid, &mut size, data), S_OK);
            assert_eq!((size, pointer), (8, null_mut()));
            assert_eq!(object.SetPrivateData(&guid, 0, None), S_OK);
        }
    }
}

#[test]
fn an_attached_interface_lives_as_long_as_it_is_attached() {
    let gpu = open("discrete");
    let heap = create_heap(&gpu.device, &heap_desc(D3D12_HEAP_TYPE_DEFAULT, 1 << 20)).expect("created");
    let attached = create_heap(&gpu.device, &heap_desc(D3D12_HEAP_TYPE_DEFAULT, 1 << 20)).expect("created");
    let guid = GUID::from_u128(0x5678);
    unsafe { heap.SetPrivateDataInterface(&guid, &attached) }.ok().expect("attached");
    drop(attached);
    assert_eq!(usage(&gpu.adapter, DXGI_MEMORY_SEGMENT_GROUP_LOCAL), 2 << 20);
    let mut raw: *mut c_void = null_mut();
    let mut size = u32::try_from(size_of::<*mut c_void>()).expect("small");
    unsafe {
        heap.GetPrivateData(&guid, &mut size, Some((&raw mut raw).cast())).ok().expect("there");
        let back: ID3D12Heap = IUnknown::from_raw(raw).cast().expect("the heap that was attached");
        assert_eq!(back.GetDesc().SizeInBytes, 1 << 20);
    }
    drop(heap);
    assert_eq!(usage(&gpu.adapter, DXGI_MEMORY_SEGMENT_GROUP_LOCAL), 0, "both were released");
}

#[test]
fn what_is_not_there_says_so() {
    let gpu = open("discrete");
    let device: ID3D12Device14 = gpu.device.cast().expect("known");
    unsafe {
        assert_eq!(device.SetStablePowerState(true), E_NOTIMPL);
        let properties = D3D12_HEAP_PROPERTIES { Type: D3D12_HEAP_TYPE_DEFAULT, ..Default::default() };
        let desc = D3D12_RESOURCE_DESC {
            Dimension: D3D12_RESOURCE_DIMENSION_TEXTURE2D,
            Width: 64,
            Height: 64,
            DepthOrArraySize: 1,
            MipLevels: 1,
            Format: DXGI_FORMAT_R8G8B8A8_UNORM,
            SampleDesc: DXGI_SAMPLE_DESC { Count: 1, Quality: 0 },
            ..Default::default()
        };
        let mut shown: Option<ID3D12Resource> = None;
        let (flags, state) = (D3D12_HEAP_FLAG_ALLOW_DISPLAY, D3D12_RESOURCE_STATE_COMMON);
        let answer = device.CreateCommittedResource(&properties, flags, &desc, state, None, &mut shown);
        assert_eq!(answer.expect_err("ALLOW_DISPLAY is not implemented").code(), E_NOTIMPL);
        assert_eq!(gpu.device.GetDeviceRemovedReason(), S_OK);
    }
}

#[test]
fn custom_heap_properties_are_upload_s_tables() {
    let gpu = open("discrete");
    let properties = unsafe { gpu.device.GetCustomHeapProperties(0, D3D12_HEAP_TYPE_GPU_UPLOAD) };
    assert_eq!(
        (properties.Type, properties.CPUPageProperty, properties.MemoryPoolPreference),
        (D3D12_HEAP_TYPE_CUSTOM, D3D12_CPU_PAGE_PROPERTY_WRITE_COMBINE, D3D12_MEMORY_POOL_L1)
    );
    let equivalent = D3D12_HEAP_DESC {
        Properties: properties,
        Flags: D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS,
        ..heap_desc(0, 1 << 20)
    };
    let heap = create_heap(&gpu.device, &equivalent).expect("equivalent to a GPU upload heap");
    let resource = place(&gpu.device, &heap, 0, &tight(100)).expect("placed");
    let mut start = null_mut();
    assert_eq!(unsafe { resource.Map(0, None, &mut start) }, S_OK);
}

/// Newer headers (SDK 1.619.4) made a non-zero alignment combined with the tight alignment flag a minimum;
/// the runtime can be configured to follow them.
#[test]
fn an_alignment_beside_the_tight_flag_is_refused_or_a_floor() {
    let desc = D3D12_RESOURCE_DESC { Alignment: 256, ..tight(1000) };
    let low = D3D12_RESOURCE_DESC { Alignment: 8, ..tight(1000) };
    let info = |gpu: &Instance, desc: &D3D12_RESOURCE_DESC| {
        let info = unsafe { gpu.device.GetResourceAllocationInfo(0, std::slice::from_ref(desc)) };
        (info.SizeInBytes, info.Alignment)
    };
    let profile = HostProfile::find("uma").expect("a profile with buffers at 8 bytes");
    let strict = Instance::open(profile).expect("a fresh instance");
    assert_eq!(info(&strict, &desc).0, u64::MAX);
    let options = DeviceOptions { alignment_is_floor: true, ..DeviceOptions::default() };
    let later = Instance::open_with(profile, options).expect("a fresh instance");
    assert_eq!(info(&later, &desc), (1024, 256));
    assert_eq!(info(&later, &low), (1000, 8));
    assert_eq!(
        info(&later, &D3D12_RESOURCE_DESC { Alignment: 24, ..desc }).0,
        u64::MAX,
        "not a power of two"
    );
}

/// A description that is valid only for a castable format is accepted, and an invalid castable format is
/// refused.
#[test]
fn allocation_info_follows_the_castable_formats() {
    let gpu = Instance::open(HostProfile::default_profile()).expect("a fresh instance");
    let device: ID3D12Device12 = gpu.device.cast().expect("known");
    let desc = D3D12_RESOURCE_DESC1 {
        Dimension: D3D12_RESOURCE_DIMENSION_TEXTURE2D,
        Width: 64,
        Height: 64,
        DepthOrArraySize: 1,
        MipLevels: 1,
        Format: DXGI_FORMAT_BC1_UNORM_SRGB,
        SampleDesc: DXGI_SAMPLE_DESC { Count: 1, Quality: 0 },
        Flags: D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS,
        ..Default::default()
    };
    let plain = D3D12_RESOURCE_DESC1 { Flags: D3D12_RESOURCE_FLAG_NONE, ..desc };
    let (linear, wide) = ([DXGI_FORMAT_R32G32_UINT], [DXGI_FORMAT_R32_FLOAT]);
    let size = |descs: &[D3D12_RESOURCE_DESC1], counts: Option<&[u32]>, lists: &[*const DXGI_FORMAT]| {
        let (count, first) = (u32::try_from(descs.len()).expect("few"), descs.as_ptr());
        let counts = counts.map_or(null(), <[u32]>::as_ptr);
        let info =
            unsafe { device.GetResourceAllocationInfo3(0, count, first, counts, lists.as_ptr(), None) };
        info.SizeInBytes
    };
    let one = size(&[plain], None, &[]);
    assert_ne!(one, u64::MAX);
    assert_eq!(size(&[desc], None, &[]), u64::MAX, "blocks have no unordered access");
    assert_eq!(size(&[desc], Some(&[1]), &[linear.as_ptr()]), one);
    assert_eq!(size(&[plain], Some(&[1]), &[wide.as_ptr()]), u64::MAX, "a format with another block size");
    assert_eq!(size(&[plain], Some(&[1]), &[null()]), u64::MAX, "a null list with a count of 1");
    assert_eq!(size(&[plain, desc], Some(&[0, 1]), &[null(), linear.as_ptr()]), 2 * one);
    assert_eq!(size(&[desc, plain], Some(&[0, 1]), &[null(), linear.as_ptr()]), u64::MAX);
}
