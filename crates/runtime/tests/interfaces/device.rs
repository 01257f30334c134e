//! The runtime through its COM interfaces.

use std::ptr::{null, null_mut};

use crate::gpu::{
    buffer_desc, committed, create_heap, feature, heap_desc, instance, memory_info, newer_desc, of_type,
    placed, texture_desc,
};
use heapwright_d3d12::*;
use heapwright_runtime::exports::{CreateDXGIFactory2, D3D12CreateDevice};
use heapwright_runtime::{ComputeOnly, DeviceOptions, HostProfile, Instance};
use windows_core::{HRESULT, Interface};

fn buffer(width: u64) -> D3D12_RESOURCE_DESC {
    buffer_desc(width, D3D12_RESOURCE_FLAG_NONE)
}

fn tight(width: u64) -> D3D12_RESOURCE_DESC {
    buffer_desc(width, D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT)
}

fn place(
    device: &ID3D12Device,
    heap: &ID3D12Heap,
    desc: &D3D12_RESOURCE_DESC,
) -> Result<ID3D12Resource, HRESULT> {
    placed(device, heap, 0, desc, D3D12_RESOURCE_STATE_COMMON).map_err(|error| error.code())
}

fn commit(device: &ID3D12Device, heap_type: D3D12_HEAP_TYPE, width: u64) -> Result<ID3D12Resource, HRESULT> {
    let (desc, state) = (buffer(width), D3D12_RESOURCE_STATE_COMMON);
    committed(device, of_type(heap_type), D3D12_HEAP_FLAG_NONE, &desc, state).map_err(|error| error.code())
}

fn usage(adapter: &IDXGIAdapter3, group: DXGI_MEMORY_SEGMENT_GROUP) -> u64 {
    memory_info(adapter, group).CurrentUsage
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
        let refused = D3D12CreateDevice(null_mut(), too_high, &ID3D12Device::IID, &mut none);
        assert_eq!(refused, DXGI_ERROR_UNSUPPORTED);
        assert_eq!(D3D12CreateDevice(null_mut(), level, &ID3D12Heap::IID, &mut none), E_NOINTERFACE);
        assert_eq!(D3D12CreateDevice(null_mut(), level, null(), &mut none), E_INVALIDARG);
        assert_eq!(D3D12CreateDevice(device.as_raw(), level, &ID3D12Device::IID, &mut none), E_INVALIDARG);
        assert!(none.is_null());
        assert_eq!(CreateDXGIFactory2(0, &IDXGIFactory4::IID, null_mut()), E_INVALIDARG);
    }
}

#[test]
fn features_are_the_profiles() {
    fn ask<T: Default>(device: &ID3D12Device, asked: D3D12_FEATURE) -> T {
        let (result, data) = feature(device, asked, T::default());
        assert_eq!(result, S_OK);
        data
    }
    // For the first generation, see first_generation.rs.
    for profile in HostProfile::all().iter().filter(|profile| !profile.is_first_generation) {
        let device = Instance::open(profile).expect("a fresh instance").device;
        let options: D3D12_FEATURE_DATA_D3D12_OPTIONS = ask(&device, D3D12_FEATURE_D3D12_OPTIONS);
        assert_eq!(options.ResourceHeapTier, i32::from(profile.resource_heap_tier));
        assert_eq!(options.MaxGPUVirtualAddressBitsPerResource, profile.gpu_va_bits_per_resource);
        let architecture: D3D12_FEATURE_DATA_ARCHITECTURE1 = ask(&device, D3D12_FEATURE_ARCHITECTURE1);
        assert_eq!(architecture.UMA.as_bool(), profile.architecture.is_uma());
        let older: D3D12_FEATURE_DATA_ARCHITECTURE = ask(&device, D3D12_FEATURE_ARCHITECTURE);
        assert_eq!(older.CacheCoherentUMA, architecture.CacheCoherentUMA);
        let tight: D3D12_FEATURE_DATA_TIGHT_ALIGNMENT = ask(&device, D3D12_FEATURE_D3D12_TIGHT_ALIGNMENT);
        assert_eq!(tight.SupportTier, i32::from(profile.tight_buffer_alignment.is_some()));
        let upload: D3D12_FEATURE_DATA_D3D12_OPTIONS16 = ask(&device, D3D12_FEATURE_D3D12_OPTIONS16);
        assert_eq!(upload.GPUUploadHeapSupported.as_bool(), profile.l1_memory_fully_cpu_accessible);
        let addresses: D3D12_FEATURE_DATA_GPU_VIRTUAL_ADDRESS_SUPPORT =
            ask(&device, D3D12_FEATURE_GPU_VIRTUAL_ADDRESS_SUPPORT);
        assert_eq!(addresses.MaxGPUVirtualAddressBitsPerProcess, profile.gpu_va_bits_per_process);
    }
}

#[test]
fn a_resource_keeps_its_heap_and_a_heap_its_device() {
    let gpu = instance("discrete");
    let heap = create_heap(&gpu.device, &heap_desc(D3D12_HEAP_TYPE_UPLOAD, 1 << 20)).expect("created");
    let resource = place(&gpu.device, &heap, &tight(16)).expect("placed");
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
fn invalid_arguments_are_refused() {
    let gpu = instance("discrete");
    let device = &gpu.device;
    let heap = create_heap(device, &heap_desc(D3D12_HEAP_TYPE_DEFAULT, 1 << 20)).expect("created");
    let foreign = place(&instance("discrete").device, &heap, &tight(8));
    assert_eq!(foreign.err(), Some(E_INVALIDARG), "a heap of another device");
    let (desc, mut out) = (heap_desc(D3D12_HEAP_TYPE_DEFAULT, 1 << 20), null_mut());
    let create = device.vtable().CreateHeap;
    assert_eq!(unsafe { create(device.as_raw(), &desc, null(), &mut out) }, E_INVALIDARG, "no interface ID");
    let upload = commit(device, D3D12_HEAP_TYPE_UPLOAD, 10).expect("created");
    let beyond = D3D12_RANGE { Begin: 0, End: 11 };
    assert_eq!(unsafe { upload.Map(0, Some(&beyond), &mut out) }, E_INVALIDARG, "a range beyond the buffer");
    assert!(out.is_null());
}

#[test]
fn what_is_not_there_says_so() {
    let gpu = instance("discrete");
    let device: ID3D12Device14 = gpu.device.cast().expect("known");
    unsafe {
        assert_eq!(device.SetStablePowerState(true), E_NOTIMPL);
        let desc = texture_desc(DXGI_FORMAT_R8G8B8A8_UNORM, [64, 64]);
        let (flags, state) = (D3D12_HEAP_FLAG_ALLOW_DISPLAY, D3D12_RESOURCE_STATE_COMMON);
        let shown = committed(&gpu.device, of_type(D3D12_HEAP_TYPE_DEFAULT), flags, &desc, state);
        assert_eq!(shown.expect_err("ALLOW_DISPLAY is not implemented").code(), E_NOTIMPL);
        assert_eq!(gpu.device.GetDeviceRemovedReason(), S_OK);
    }
}

/// Up to SDK 1.619.3 a non-zero alignment beside the tight alignment flag is invalid. Later ones take it as a floor,
/// which Windows and the runtime check and then ignore. GetDesc is a valid description again.
#[test]
fn an_alignment_beside_the_tight_flag_is_refused_or_ignored() {
    let desc = D3D12_RESOURCE_DESC { Alignment: 256, ..tight(1000) };
    let info = |gpu: &Instance, desc: &D3D12_RESOURCE_DESC| {
        let info = unsafe { gpu.device.GetResourceAllocationInfo(0, std::slice::from_ref(desc)) };
        (info.SizeInBytes, info.Alignment)
    };
    let profile = HostProfile::find("uma").expect("a profile with buffers at 8 bytes");
    let (home, state) = (of_type(D3D12_HEAP_TYPE_DEFAULT), D3D12_RESOURCE_STATE_COMMON);
    for version in ["618", "619.3"] {
        let sdk = version.parse().expect("a version");
        let options = DeviceOptions { sdk, ..DeviceOptions::default() };
        let earlier = Instance::open_with(profile, options).expect("a fresh instance");
        assert_eq!(info(&earlier, &desc).0, u64::MAX, "{version}");
        let refused = committed(&earlier.device, home, D3D12_HEAP_FLAG_NONE, &desc, state);
        assert_eq!(refused.expect_err("refused").code(), E_INVALIDARG, "{version}");
    }
    let gpu = Instance::open(profile).expect("a fresh instance");
    assert_eq!(info(&gpu, &desc), (1000, 8));
    for alignment in [1, 2, 4, 24, 512] {
        assert_eq!(
            info(&gpu, &D3D12_RESOURCE_DESC { Alignment: alignment, ..desc }).0,
            u64::MAX,
            "{alignment}"
        );
    }
    let resource = committed(&gpu.device, home, D3D12_HEAP_FLAG_NONE, &desc, state).expect("a floor");
    let described = unsafe { resource.GetDesc() };
    assert_eq!((described.Alignment, described.Flags), (8, desc.Flags));
    assert_eq!(info(&gpu, &described), (1000, 8), "GetDesc is a description");
    // Games pass it with textures, and to GetCopyableFootprints.
    let texture = texture_desc(DXGI_FORMAT_R8G8B8A8_UNORM, [64, 64]);
    let texture = D3D12_RESOURCE_DESC { Alignment: 0x100, Flags: tight(1).Flags, ..texture };
    let mut total = 0;
    unsafe { gpu.device.GetCopyableFootprints(&texture, 0, 1, 0, None, None, None, Some(&raw mut total)) };
    assert_eq!(total, 64 * 256);
}

/// As on Windows, a reserved buffer may have the tight alignment flag. Its tiles are as without it.
#[test]
fn reserved_buffers_take_the_tight_flag() {
    let gpu = Instance::open(HostProfile::default_profile()).expect("a fresh instance");
    let reserved = |desc: &D3D12_RESOURCE_DESC| {
        let mut made: Option<ID3D12Resource> = None;
        let state = D3D12_RESOURCE_STATE_COMMON;
        unsafe { gpu.device.CreateReservedResource(desc, state, None, &mut made) }?;
        Ok::<_, windows_core::Error>(made.expect("created"))
    };
    let buffer = reserved(&tight(3 << 16)).expect("the flag is taken");
    assert!(unsafe { buffer.GetGPUVirtualAddress() }.0.is_multiple_of(1 << 16));
    let described = unsafe { buffer.GetDesc() };
    assert_eq!((described.Flags, described.Width), (tight(1).Flags, 3 << 16));
    let mut tiles = 0;
    unsafe { gpu.device.GetResourceTiling(&buffer, Some(&mut tiles), None, None, None, 0, null_mut()) };
    assert_eq!(tiles, 3);
    let texture = texture_desc(DXGI_FORMAT_R8G8B8A8_UNORM, [256, 256]);
    let texture = D3D12_RESOURCE_DESC {
        Layout: D3D12_TEXTURE_LAYOUT_64KB_UNDEFINED_SWIZZLE,
        Flags: tight(1).Flags,
        ..texture
    };
    assert_eq!(reserved(&texture).expect_err("the layout excludes the flag").code(), E_INVALIDARG);
}

/// A description that is valid only for a castable format is accepted, and an invalid castable format is
/// refused.
#[test]
fn allocation_info_follows_the_castable_formats() {
    let gpu = Instance::open(HostProfile::default_profile()).expect("a fresh instance");
    let device: ID3D12Device12 = gpu.device.cast().expect("known");
    let plain = newer_desc(&texture_desc(DXGI_FORMAT_BC1_UNORM_SRGB, [64, 64]));
    let desc = D3D12_RESOURCE_DESC1 { Flags: D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS, ..plain };
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

#[test]
fn there_are_no_meta_commands() {
    let device: ID3D12Device5 =
        Instance::open(HostProfile::default_profile()).expect("fresh").device.cast().expect("new");
    let mut count = 7;
    assert_eq!(unsafe { device.EnumerateMetaCommands(&mut count, None) }, S_OK);
    assert_eq!(count, 0);
    let refused = unsafe { device.EnumerateMetaCommands(null_mut(), None) };
    assert_eq!(refused, E_INVALIDARG);
}

#[test]
fn profiles_are_validated() {
    let default = *HostProfile::default_profile();
    HostProfile::all().iter().for_each(|profile| profile.validate().expect("one of the runtime's"));
    let four_kib = heapwright_core::Alignment::new(4096);
    let capacity = default.local.capacity;
    let too_much = heapwright_runtime::SegmentProfile {
        capacity,
        budget: heapwright_core::ByteSize::new(capacity.get() + 1),
    };
    for (wrong, expected) in [
        (
            HostProfile { gpu_va_bits_per_process: 64, ..default },
            "HostProfile::gpu_va_bits_per_process is 64; 33 to 62 is allowed",
        ),
        (
            HostProfile { gpu_va_bits_per_resource: 45, ..default },
            "HostProfile::gpu_va_bits_per_resource is 45; 1 to 44 is allowed",
        ),
        (
            HostProfile { tight_buffer_alignment: four_kib, ..default },
            "HostProfile::tight_buffer_alignment is 4096; 8 to 256 is allowed",
        ),
        (
            HostProfile { resource_heap_tier: 3, ..default },
            "HostProfile::resource_heap_tier is 3; 1 to 2 is allowed",
        ),
        (
            HostProfile { local: too_much, ..default },
            "HostProfile::local.budget is 17179869185; 0 to 17179869184 is allowed",
        ),
    ] {
        assert_eq!(wrong.validate().expect_err("wrong").to_string(), expected);
        let opened = Instance::open(&wrong).map(|_| ()).map_err(|error| error.code());
        assert_eq!(opened, Err(E_INVALIDARG));
    }
}

unsafe extern "system" fn count_call(count: *mut std::ffi::c_void) {
    unsafe { *count.cast::<u32>() += 1 };
}

#[test]
fn objects_report_their_destruction() {
    let device = Instance::open(HostProfile::default_profile()).expect("a fresh instance").device;
    let objects: [ID3D12Object; 3] = [
        commit(&device, D3D12_HEAP_TYPE_DEFAULT, 256).expect("256 bytes").cast().expect("an object"),
        unsafe { device.CreateFence::<ID3D12Fence>(0, D3D12_FENCE_FLAG_NONE) }
            .expect("a fence")
            .cast()
            .expect("an object"),
        device.cast().expect("an object"),
    ];
    drop(device);
    for object in objects {
        let mut counts = [0_u32; 2];
        let notifier: ID3DDestructionNotifier = object.cast().expect("every object has it");
        let [kept, removed] = counts.each_mut().map(|count| unsafe {
            let count = std::ptr::from_mut(count).cast();
            notifier.RegisterDestructionCallback(Some(count_call), count).expect("a callback")
        });
        let unregister = |id| unsafe { notifier.UnregisterDestructionCallback(id) };
        assert_ne!(kept, removed);
        assert_eq!(unregister(removed), S_OK);
        assert_eq!([0, removed].map(unregister), [DXGI_ERROR_NOT_FOUND; 2]);
        let null = unsafe { notifier.RegisterDestructionCallback(None, null()) };
        assert_eq!(null.map_err(|error| error.code()), Err(DXGI_ERROR_INVALID_CALL));
        drop(object);
        assert_eq!(counts, [0, 0]);
        drop(notifier);
        assert_eq!(counts, [1, 0]);
    }
}

/// Microsoft's page on the Core 1.0 feature level: buffers alone, and no CUSTOM heaps or write watch unless the device
/// says so.
#[test]
fn a_compute_only_device_has_buffers_alone() {
    let base = HostProfile::find("compute-only").expect("a profile of that name");
    assert!(HostProfile::all().iter().all(|profile| profile.compute_only.is_none()), "programs ask for GPUs");
    for (custom_heaps, write_watch) in [(true, true), (false, false)] {
        let compute_only = Some(ComputeOnly { custom_heaps, write_watch });
        let device = Instance::open(&HostProfile { compute_only, ..*base }).expect("a fresh instance").device;
        let (result, options) =
            feature(&device, D3D12_FEATURE_D3D12_OPTIONS19, D3D12_FEATURE_DATA_D3D12_OPTIONS19::default());
        assert_eq!((result, options.ComputeOnlyCustomHeapSupported.as_bool()), (S_OK, custom_heaps));
        let (result, options) =
            feature(&device, D3D12_FEATURE_D3D12_OPTIONS20, D3D12_FEATURE_DATA_D3D12_OPTIONS20::default());
        assert_eq!((result, options.ComputeOnlyWriteWatchSupported.as_bool()), (S_OK, write_watch));

        let levels = [D3D_FEATURE_LEVEL_1_0_CORE, D3D_FEATURE_LEVEL_11_0];
        let asked = D3D12_FEATURE_DATA_FEATURE_LEVELS {
            NumFeatureLevels: 2,
            pFeatureLevelsRequested: levels.as_ptr(),
            MaxSupportedFeatureLevel: 0,
        };
        let (_, answer) = feature(&device, D3D12_FEATURE_FEATURE_LEVELS, asked);
        assert_eq!(answer.MaxSupportedFeatureLevel, D3D_FEATURE_LEVEL_1_0_CORE);

        let expected = |is_valid: bool| if is_valid { S_OK } else { E_INVALIDARG };
        let heap = |properties, flags| {
            let desc = D3D12_HEAP_DESC {
                Properties: properties,
                Flags: flags,
                ..heap_desc(D3D12_HEAP_TYPE_DEFAULT, 1 << 16)
            };
            create_heap(&device, &desc).err().unwrap_or(S_OK)
        };
        let custom = D3D12_HEAP_PROPERTIES {
            CPUPageProperty: D3D12_CPU_PAGE_PROPERTY_WRITE_BACK,
            MemoryPoolPreference: D3D12_MEMORY_POOL_L0,
            ..of_type(D3D12_HEAP_TYPE_CUSTOM)
        };
        assert_eq!(heap(custom, D3D12_HEAP_FLAG_NONE), expected(custom_heaps));
        let default = of_type(D3D12_HEAP_TYPE_DEFAULT);
        assert_eq!(heap(default, D3D12_HEAP_FLAG_NONE), S_OK);
        assert_eq!(heap(default, D3D12_HEAP_FLAG_ALLOW_WRITE_WATCH), expected(write_watch));
        assert_eq!(heap(default, D3D12_HEAP_FLAG_ALLOW_SHADER_ATOMICS), E_INVALIDARG);

        let made = |desc: &D3D12_RESOURCE_DESC| {
            let state = D3D12_RESOURCE_STATE_COMMON;
            committed(&device, default, D3D12_HEAP_FLAG_NONE, desc, state).err().map_or(S_OK, |e| e.code())
        };
        assert_eq!(made(&buffer_desc(1000, D3D12_RESOURCE_FLAG_NONE)), S_OK);
        assert_eq!(made(&texture_desc(DXGI_FORMAT_R8G8B8A8_UNORM, [64, 64])), E_INVALIDARG);
        let support =
            D3D12_FEATURE_DATA_FORMAT_SUPPORT { Format: DXGI_FORMAT_R8G8B8A8_UNORM, ..Default::default() };
        assert_eq!(feature(&device, D3D12_FEATURE_FORMAT_SUPPORT, support).1.Support1, 0);
    }
    let gpu = Instance::open(HostProfile::default_profile()).expect("a fresh instance").device;
    let (_, options) =
        feature(&gpu, D3D12_FEATURE_D3D12_OPTIONS19, D3D12_FEATURE_DATA_D3D12_OPTIONS19::default());
    assert!(!options.ComputeOnlyCustomHeapSupported.as_bool(), "a GPU is not compute-only");
}
