//! The tools' interfaces: their results, their errors, and when addresses are cleared.

use std::ptr::null;

use heapwright_d3d12::*;
use heapwright_runtime::{HostProfile, Instance};
use windows_core::{HRESULT, Interface};

use super::objects::*;
use crate::gpu::{
    Answer as _, Queue, code, create_heap, default_heap, feature, heap_desc, messages, newer_desc, of_type,
};

/// The lowest address that a simulated GPU uses.
const FIRST: u64 = 1 << 32;
/// The start of the reserved ranges, far from the first address of seed 1.
const PLACE: u64 = FIRST + 0x100_0000;

fn tier(device: &ID3D12Device) -> windows_core::Result<D3D12_RECREATE_AT_TIER> {
    let options = D3D12_FEATURE_DATA_D3D12_OPTIONS20::default();
    let (result, options) = feature(device, D3D12_FEATURE_D3D12_OPTIONS20, options);
    result.ok().map(|()| options.RecreateAtTier)
}

/// Opens a GPU and creates a device that reserves 16 pages from `PLACE` on.
fn open_reserving() -> (Instance, ID3D12Device14) {
    let gpu = open("discrete", 1);
    let device = reserving(&gpu, &[range(PLACE, 16 * PAGE)]).expect("free");
    (gpu, device)
}

/// Checks the HRESULT and the only message of a refused call.
#[track_caller]
fn refused<T>(device: &ID3D12Device14, answer: windows_core::Result<T>, code: HRESULT, parts: &[&str]) {
    assert_eq!(answer.err().expect("refused").code(), code);
    let said = messages(device);
    let [(id, text)] = &said[..] else { panic!("one message: {said:?}") };
    let is_unsupported = code == DXGI_ERROR_UNSUPPORTED;
    assert_eq!(*id == D3D12_MESSAGE_ID_RECREATEAT_INSUFFICIENT_SUPPORT, is_unsupported, "{said:?}");
    assert!(parts.iter().all(|part| text.contains(part)), "{parts:?} in {text:?}");
    assert_eq!(unsafe { device.GetDeviceRemovedReason() }, S_OK);
}

#[test]
fn the_tier_follows_the_drivers_ddi_version() {
    for profile in HostProfile::all() {
        let gpu = Instance::open(profile).expect("a fresh instance");
        let found = tier(&gpu.device);
        if profile.is_first_generation {
            assert_eq!(found.expect_err("the driver is older").code(), E_INVALIDARG);
        } else {
            assert_eq!(found.expect("answered"), i32::from(profile.ddi_version >= 111), "{}", profile.name);
        }
    }
    for (ddi_version, expected) in [(109, 0), (110, 0), (111, 1)] {
        let profile = HostProfile { ddi_version, ..*HostProfile::default_profile() };
        let gpu = Instance::open(&profile).expect("a fresh instance");
        assert_eq!(tier(&gpu.device).expect("answered"), expected, "DDI {ddi_version}");
    }
}

#[test]
fn a_device_without_the_tier_refuses_ranges_and_addresses() {
    let gpu = open("old-ddi", 1);
    let refusal = reserving(&gpu, &[range(PLACE, PAGE)]).expect_err("the driver does not support it");
    assert_eq!(refusal.code(), DXGI_ERROR_UNSUPPORTED);
    let device = reserving(&gpu, &[range(PLACE, 0)]).expect("no addresses to reserve");
    let unsupported = &["RecreateAtTier is NOT_SUPPORTED", "0x101000000"];
    refused(&device, heap_at(&device, PLACE, PAGE), DXGI_ERROR_UNSUPPORTED, unsupported);
    set_next(&device, PLACE);
    refused(&device, committed(&device, &buffer(16)), DXGI_ERROR_UNSUPPORTED, unsupported);
    set_next(&device, 0);
    let heap = heap(&device, PAGE).expect("at an address chosen by the driver");
    assert_eq!(allocation(&heap).1, PAGE, "GetAllocation works on every driver");

    let ranges = [heapwright_runtime::GpuVirtualAddressRange {
        start: heapwright_core::GpuVirtualAddress::new(PLACE).expect("not zero"),
        size: heapwright_core::ByteSize::from_kib(64),
    }];
    let old = HostProfile::find("old-ddi").expect("a profile of that name");
    let opened = Instance::open_reserving(old, heapwright_runtime::DeviceOptions::default(), &ranges);
    assert_eq!(opened.expect_err("the driver does not support it").code(), DXGI_ERROR_UNSUPPORTED);
}

#[test]
fn other_devices_leave_an_address_set() {
    let (_gpu, device) = open_reserving();
    set_next(&device, PLACE + 3 * PAGE);
    let gpu = open("discrete", 1);
    let other: ID3D12Device14 = gpu.device.cast().expect("the newest interface");
    heap(&other, PAGE).expect("a heap of another device does not consume the address");
    assert_eq!(allocation(&heap(&device, PAGE).expect("still set")).0, PLACE + 3 * PAGE);
}

#[test]
fn the_newest_call_uses_the_address_up_and_objects_without_addresses_do_not() {
    let (_gpu, device) = open_reserving();
    let properties = of_type(D3D12_HEAP_TYPE_DEFAULT);
    let desc = newer_desc(&buffer(16));
    set_next(&device, PLACE);
    let (flags, layout) = (D3D12_HEAP_FLAG_NONE, D3D12_BARRIER_LAYOUT_UNDEFINED);
    let mut made: Option<ID3D12Resource> = None;
    unsafe {
        device.CreateCommittedResource3(&properties, flags, &desc, layout, None, None, 0, null(), &mut made)
    }
    .succeeds();
    assert_eq!(address(&made.expect("a buffer of the newest call")), PLACE);
    // Fences, queues and descriptor heaps have no address and do not use up the one that was set.
    set_next(&device, PLACE + PAGE);
    let _queue = Queue::direct(&device);
    let ids = D3D12_DESCRIPTOR_HEAP_TYPE_RTV;
    crate::gpu::descriptor_heap(&device, ids, 1, D3D12_DESCRIPTOR_HEAP_FLAG_NONE).succeeds();
    assert_eq!(allocation(&heap(&device, PAGE).expect("a heap")).0, PLACE + PAGE);
}

#[test]
fn failed_creations_and_checks_do_not_consume_the_address() {
    let (_gpu, device) = open_reserving();
    set_next(&device, PLACE);
    assert_eq!(code(heap(&device, 0)), E_INVALIDARG, "refused by validation");
    assert_eq!(code(heap(&device, 17 * PAGE)), E_INVALIDARG, "refused by the driver");
    assert_eq!(code(committed(&device, &texture())), E_INVALIDARG, "textures have no address");
    assert_eq!(code(reserved(&device, &buffer(0))), E_INVALIDARG, "a reserved buffer of no bytes");
    let created = heap(&device, PAGE).expect("the address is still set");
    assert_eq!(allocation(&created).0, PLACE);
    let next = heap(&device, PAGE).expect("at an address chosen by the driver");
    assert_ne!(allocation(&next).0, PLACE, "cleared after the object was created");
    drop(created);
    messages(&device);

    let check = |desc: &D3D12_HEAP_DESC| unsafe {
        let vtable = &device.cast::<ID3D12Device>().expect("a device");
        (vtable.vtable().CreateHeap)(vtable.as_raw(), desc, &ID3D12Heap::IID, std::ptr::null_mut())
    };
    set_next(&device, PLACE);
    assert_eq!(check(&heap_desc(D3D12_HEAP_TYPE_DEFAULT, PAGE)), S_FALSE);
    assert_eq!(allocation(&heap(&device, PAGE).expect("the address is still set")).0, PLACE);
}

#[test]
fn an_unavailable_address_is_reported_with_its_reason() {
    let (gpu, device) = open_reserving();
    let usage = || gpu.current_usage(heapwright_runtime::SegmentGroup::NonLocal);
    let home = heap_at(&device, PLACE, 4 * PAGE).expect("reserved");
    let (before, ledger) = (usage(), gpu.residency());
    let at = |address, size| heap_at(&device, address, size);
    let invalid = |answer, parts: &[&str]| refused(&device, answer, E_INVALIDARG, parts);
    invalid(at(PLACE, PAGE), &["0x101000000", "another object"]);
    invalid(at(PLACE - PAGE, PAGE), &["0x100ff0000", "did not reserve 0x100ff0000"]);
    invalid(at(PLACE + 15 * PAGE, 2 * PAGE), &["0x1010f0000", "did not reserve 0x101100000"]);
    invalid(at(PLACE + 4096, PAGE), &["0x101001000", "multiple of 64.00 KiB"]);
    invalid(at(PAGE, PAGE), &["0x10000", "address space"]);
    invalid(at(u64::MAX, PAGE), &["0xffffffffffffffff", "multiple of"]);
    invalid(at(u64::MAX - PAGE + 1, 2 * PAGE), &["0xffffffffffff0000", "address space"]);
    let msaa = D3D12_HEAP_DESC {
        SizeInBytes: 4 << 20,
        Alignment: 4 << 20,
        Properties: D3D12_HEAP_PROPERTIES { Type: D3D12_HEAP_TYPE_DEFAULT, ..Default::default() },
        ..Default::default()
    };
    set_next(&device, PLACE + 4 * PAGE);
    let mut none: Option<ID3D12Heap> = None;
    let answer = unsafe { device.CreateHeap(&msaa, &mut none) };
    refused(&device, answer, E_INVALIDARG, &["multiple of 4.00 MiB"]);
    for (address, parts) in [(PLACE, "0x101010000"), (PLACE + PAGE + 8, "0x101010000")] {
        set_next(&device, address);
        let answer = placed(&device, &home, PAGE, &buffer(16));
        refused(&device, answer, E_INVALIDARG, &["HeapOffset", parts]);
    }
    set_next(&device, 0);
    assert_eq!((usage(), gpu.residency()), (before, ledger), "refused objects use no memory");
    heap(&device, PAGE).expect("the device works");
    at(PLACE + 4 * PAGE, 12 * PAGE).expect("only the reserved ranges remain");
}

#[test]
fn textures_and_buffers_in_heaps_without_an_address_are_refused() {
    let (_gpu, device) = open_reserving();
    let refused = |answer: windows_core::Result<ID3D12Resource>| {
        assert_eq!(answer.expect_err("a texture").code(), E_INVALIDARG);
        let said = messages(&device);
        assert_eq!(said[0].0, D3D12_MESSAGE_ID_RECREATEAT_INVALID_TARGET, "{said:?}");
        assert!(said[0].1.contains("only heaps and buffers"), "{said:?}");
    };
    set_next(&device, PLACE);
    refused(committed(&device, &texture()));
    set_next(&device, PLACE);
    let home = default_heap(&device, 4 * PAGE, D3D12_HEAP_FLAG_ALLOW_ONLY_NON_RT_DS_TEXTURES);
    set_next(&device, PLACE);
    refused(placed(&device, &home, 0, &texture()));
    set_next(&device, PLACE + 4 * PAGE);
    let tiled = D3D12_RESOURCE_DESC { Layout: D3D12_TEXTURE_LAYOUT_64KB_UNDEFINED_SWIZZLE, ..texture() };
    refused(reserved(&device, &tiled));
    // A call that only validates reports the error too.
    set_next(&device, PLACE + 4 * PAGE);
    let (properties, flags) = (of_type(D3D12_HEAP_TYPE_DEFAULT), D3D12_HEAP_FLAG_NONE);
    let first = device.cast::<ID3D12Device>().expect("a device");
    let answer = unsafe {
        let create = first.vtable().CreateCommittedResource;
        let (state, iid) = (D3D12_RESOURCE_STATE_COMMON, ID3D12Resource::IID);
        create(first.as_raw(), &properties, flags, &texture(), state, null(), &iid, std::ptr::null_mut())
    };
    assert_eq!(answer, E_INVALIDARG);
    set_next(&device, 0);
    let texture = committed(&device, &texture()).expect("at an address chosen by the driver");
    assert!(!(PLACE..PLACE + 16 * PAGE).contains(&allocation(&texture).0));

    let buffers = heap(&device, PAGE).expect("at an address chosen by the driver");
    placed(&device, &buffers, 0, &buffer(16)).expect("wherever its heap is");
    messages(&device);
    set_next(&device, PLACE);
    assert_eq!(code(placed(&device, &buffers, 0, &buffer(16))), E_INVALIDARG);
    let said = messages(&device);
    assert_eq!(said[0].0, D3D12_MESSAGE_ID_RECREATEAT_INVALID_TARGET, "{said:?}");
    assert!(said[0].1.contains("a placed buffer at 0x101000000"), "{said:?}");
}

#[test]
fn each_factory_has_its_own_ranges() {
    let gpu = open("discrete", 1);
    let factory = gpu.device_factory().expect("the profile is new enough");
    unsafe { tools_of(&factory).ReserveGPUVARangesAtCreate(&[range(PLACE, PAGE)]) }.succeeds();
    let device = device_of(&factory, &gpu).expect("free");
    assert_eq!(code(device_of(&factory, &gpu)), E_INVALIDARG, "another device has them");
    drop(device);
    let other = gpu.device_factory().expect("the profile is new enough");
    let device = device_of(&other, &gpu).expect("each factory has its own list");
    heap_at(&device, PLACE, PAGE).expect_err("not reserved");
    unsafe {
        factory.InitializeFromGlobalState().succeeds();
        factory.ApplyToGlobalState().succeeds();
    }
}

#[test]
fn ranges_that_cannot_be_reserved_are_refused() {
    let gpu = open("discrete", 1);
    let factory = gpu.device_factory().expect("the profile is new enough");
    let tools = tools_of(&factory);
    unsafe {
        let raw = tools.as_raw();
        assert_eq!((tools.vtable().ReserveGPUVARangesAtCreate)(raw, null(), 3), E_INVALIDARG);
        (tools.vtable().ReserveGPUVARangesAtCreate)(raw, null(), 0).succeeds();
    }
    let device = device_of(&factory, &gpu).expect("no ranges to reserve");
    heap_at(&device, PLACE, PAGE).expect_err("not reserved");

    let used = heap(&gpu.device.cast().expect("the newest"), PAGE).expect("a heap");
    let wrong = [
        range(PLACE, u64::MAX),
        range(u64::MAX, 1),
        range(u64::MAX, 2),
        range(PAGE, PAGE),
        range(FIRST - 1, 2),
        range((1 << 44) - 1, 2),
        range(1 << 60, 1),
        range(allocation(&used).0 + PAGE - 1, 1),
    ];
    for one in wrong {
        unsafe { tools.ReserveGPUVARangesAtCreate(&[range(PLACE + PAGE, PAGE), one]) }.succeeds();
        assert_eq!(code(device_of(&factory, &gpu)), E_INVALIDARG, "{one:?}");
        unsafe { tools.ClearReservedGPUVARangesList() };
    }
    let free = reserving(&gpu, &[range(PLACE + PAGE, PAGE)]).expect("refused objects use no memory");
    heap_at(&free, PLACE + PAGE, PAGE).expect("reserved");
}

/// *GPU Upload Heaps* and *Recreate at GPUVA*: both features need developer mode.
#[test]
fn developer_mode_is_a_system_setting() {
    let user =
        HostProfile { developer_mode: false, address_seed: Some(1), ..*HostProfile::default_profile() };
    let gpu = Instance::open(&user).expect("a fresh instance");
    assert_eq!(tier(&gpu.device).expect("answered"), D3D12_RECREATE_AT_TIER_NOT_SUPPORTED);
    let refusal = reserving(&gpu, &[range(PLACE, PAGE)]).expect_err("not in developer mode");
    assert_eq!(refusal.code(), DXGI_ERROR_UNSUPPORTED);
    let device = reserving(&gpu, &[]).expect("no ranges to reserve");
    refused(&device, heap_at(&device, PLACE, PAGE), DXGI_ERROR_UNSUPPORTED, &["developer mode"]);
    set_next(&device, 0);
    let options = D3D12_FEATURE_DATA_D3D12_OPTIONS16::default();
    let (result, options) = feature(&device, D3D12_FEATURE_D3D12_OPTIONS16, options);
    assert_eq!((result, options.GPUUploadHeapSupported.as_bool()), (S_OK, false));
    let refused = create_heap(&device, &heap_desc(D3D12_HEAP_TYPE_GPU_UPLOAD, PAGE));
    assert_eq!(refused.err(), Some(E_INVALIDARG));
}

#[test]
fn shader_instrumentation_is_a_factory_setting() {
    let factory = open("discrete", 1).device_factory().expect("the profile is new enough");
    let (one, other): (ID3D12Tools, ID3D12Tools) =
        (tools_of(&factory).into(), tools_of(&factory).cast().expect("an older interface"));
    unsafe {
        assert!(!one.ShaderInstrumentationEnabled().as_bool());
        one.EnableShaderInstrumentation(true);
        assert!(other.ShaderInstrumentationEnabled().as_bool());
        other.EnableShaderInstrumentation(false);
        assert!(!one.ShaderInstrumentationEnabled().as_bool());
    }
}

/// A shared heap keeps its address after the device that reserved it is gone.
#[cfg(any(windows, target_os = "linux"))]
#[test]
fn a_shared_buffer_keeps_its_address_after_its_device_is_gone() {
    let (gpu, device) = open_reserving();
    let (properties, state) = (of_type(D3D12_HEAP_TYPE_DEFAULT), D3D12_RESOURCE_STATE_COMMON);
    set_next(&device, PLACE);
    let made = crate::gpu::committed(&device, properties, D3D12_HEAP_FLAG_SHARED, &buffer(16), state)
        .expect("reserved");
    let handle =
        unsafe { device.CreateSharedHandle(&made, None, 0x1000_0000, PCWSTR::null()) }.expect("shared");
    let opener: ID3D12Device14 = gpu.device.cast().expect("the newest");
    let mut opened: Option<ID3D12Resource> = None;
    unsafe { opener.OpenSharedHandle(handle, &mut opened) }.expect("opened");
    let opened = opened.expect("S_OK comes with a resource");
    unsafe { event::close(handle) };
    drop((made, device));
    assert_eq!((address(&opened), allocation(&opened).0), (PLACE, PLACE));
    assert_eq!(code(reserving(&gpu, &[range(PLACE, PAGE)])), E_INVALIDARG, "the address is in use");
    drop(opened);
    reserving(&gpu, &[range(PLACE, 16 * PAGE)]).expect("the address was released");
}

/// A heap that another device opens is at the address where it was created.
#[cfg(any(windows, target_os = "linux"))]
#[test]
fn an_opened_shared_heap_has_the_same_address() {
    let (gpu, device) = open_reserving();
    let opener: ID3D12Device14 = gpu.device.cast().expect("the newest");
    for is_chosen in [true, false] {
        set_next(&device, if is_chosen { PLACE } else { 0 });
        let made = default_heap(&device, 4 * PAGE, D3D12_HEAP_FLAG_SHARED);
        let handle =
            unsafe { device.CreateSharedHandle(&made, None, 0x1000_0000, PCWSTR::null()) }.expect("shared");
        let mut opened: Option<ID3D12Heap> = None;
        unsafe { opener.OpenSharedHandle(handle, &mut opened) }.expect("opened");
        unsafe { event::close(handle) };
        let opened = opened.expect("S_OK comes with a heap");
        let at = allocation(&opened).0 + PAGE;
        set_next(&opener, at);
        let answer = placed(&opener, &opened, PAGE, &buffer(16));
        set_next(&opener, 0);
        assert_eq!(answer.is_ok(), is_chosen);
    }
}
