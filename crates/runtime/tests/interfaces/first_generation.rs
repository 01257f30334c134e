//! The profile whose device has only what the first D3D12 had.

use std::ptr::null_mut;

use heapwright_d3d12::generations::NUMBERED_DEVICES;
use heapwright_d3d12::*;
use heapwright_runtime::exports::D3D12CreateDevice;
use heapwright_runtime::{Instance, break_count};
use windows_core::{GUID, HRESULT, IUnknown, Interface};

use crate::gpu::{buffer_desc, committed, create_heap, feature, heap_desc, of_type};

fn open() -> Instance {
    crate::gpu::instance("first-generation")
}

/// Returns whether an object has an interface.
fn answers(object: &IUnknown, iid: &GUID) -> bool {
    let mut interface = null_mut();
    let result = unsafe { object.query(iid, &mut interface) };
    assert_eq!(result.is_ok(), !interface.is_null(), "{iid:?}");
    if result.is_err() {
        assert_eq!(result, E_NOINTERFACE);
        return false;
    }
    drop(unsafe { IUnknown::from_raw(interface) });
    true
}

fn heap(device: &ID3D12Device, flags: D3D12_HEAP_FLAGS) -> Result<ID3D12Heap, HRESULT> {
    let flags = flags | D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS;
    create_heap(device, &D3D12_HEAP_DESC { Flags: flags, ..heap_desc(D3D12_HEAP_TYPE_DEFAULT, 65_536) })
}

/// Returns the device of a device child.
fn owner(child: &ID3D12DeviceChild) -> ID3D12Device {
    let mut device: Option<ID3D12Device> = None;
    unsafe { child.GetDevice(&mut device) }.expect("it has one");
    device.expect("S_OK comes with a device")
}

#[test]
fn only_the_first_interface_is_supported() {
    let gpu = open();
    let device: IUnknown = gpu.device.cast().expect("every object is one");
    for iid in [IUnknown::IID, ID3D12Object::IID, ID3D12Device::IID] {
        assert!(answers(&device, &iid), "{iid:?}");
    }
    let others = [
        ID3D12InfoQueue::IID,
        ID3D12InfoQueue1::IID,
        ID3D12DebugDevice::IID,
        ID3D12DebugDevice1::IID,
        ID3D12DebugDevice2::IID,
        ID3D12DeviceConfiguration::IID,
        ID3D12Pageable::IID,
    ];
    for iid in NUMBERED_DEVICES.into_iter().chain(others) {
        assert!(!answers(&device, &iid), "{iid:?}");
    }
}

#[test]
fn only_the_first_features_are_known() {
    let gpu = open();
    let options = D3D12_FEATURE_DATA_D3D12_OPTIONS::default();
    let (result, options) = feature(&gpu.device, D3D12_FEATURE_D3D12_OPTIONS, options);
    assert_eq!((result, options.ResourceHeapTier), (S_OK, D3D12_RESOURCE_HEAP_TIER_1));
    let architecture = D3D12_FEATURE_DATA_ARCHITECTURE::default();
    assert_eq!(feature(&gpu.device, D3D12_FEATURE_ARCHITECTURE, architecture).0, S_OK);
    let addresses = D3D12_FEATURE_DATA_GPU_VIRTUAL_ADDRESS_SUPPORT::default();
    assert_eq!(feature(&gpu.device, D3D12_FEATURE_GPU_VIRTUAL_ADDRESS_SUPPORT, addresses).0, S_OK);

    let first = [0, 1, 2, 3, 4, 5, 6];
    for feature in (0..80).filter(|feature| !first.contains(feature)) {
        // If the feature were known, one of these structure sizes would fit.
        for size in (4..=64_u32).step_by(4) {
            let mut data = [0_u64; 8];
            let found = unsafe { gpu.device.CheckFeatureSupport(feature, data.as_mut_ptr().cast(), size) };
            assert_eq!(found, E_INVALIDARG, "feature {feature}, {size} bytes");
        }
    }
}

#[test]
fn children_lead_to_the_same_object() {
    let gpu = open();
    let child: ID3D12DeviceChild = heap(&gpu.device, 0).expect("there is room").cast().expect("a child");
    let identity = |device: &ID3D12Device| device.cast::<IUnknown>().expect("every object is one");
    assert_eq!(identity(&owner(&child)), identity(&gpu.device));
    assert!(!answers(&identity(&owner(&child)), &ID3D12Device1::IID));
    // A child keeps its device alive after the application has released it.
    drop(gpu);
    let again = owner(&child);
    assert!(!answers(&identity(&again), &ID3D12Device1::IID));
    assert_eq!(identity(&owner(&child)), identity(&again));
    heap(&again, 0).expect("it works");
}

#[test]
fn the_last_reference_destroys_the_device() {
    let gpu = open();
    let child = heap(&gpu.device, 0).expect("there is room");
    drop(owner(&child.cast().expect("a child")));
    drop(child);
    let raw = gpu.device.clone().into_raw();
    drop(gpu);
    // Released by hand, to check that this is the last reference.
    let left = unsafe { (IUnknown::from_raw_borrowed(&raw).expect("not null").vtable().Release)(raw) };
    assert_eq!(left, 0);
}

#[test]
fn later_flags_are_errors() {
    let gpu = open();
    heap(&gpu.device, 0).expect("there is room");
    assert!(gpu.messages().is_empty());
    for flags in [
        D3D12_HEAP_FLAG_HARDWARE_PROTECTED,
        D3D12_HEAP_FLAG_ALLOW_WRITE_WATCH,
        D3D12_HEAP_FLAG_ALLOW_SHADER_ATOMICS,
        D3D12_HEAP_FLAG_CREATE_NOT_RESIDENT,
        D3D12_HEAP_FLAG_CREATE_NOT_ZEROED,
    ] {
        assert_eq!(heap(&gpu.device, flags).err(), Some(E_INVALIDARG), "{flags:#x}");
        let messages = gpu.messages();
        let (severity, text) = messages.last().expect("the refusal is logged");
        assert_eq!(*severity, D3D12_MESSAGE_SEVERITY_ERROR);
        assert!(text.contains("first version of D3D12"), "{text}");
    }
    for (flags, is_known) in [
        (D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS, true),
        (
            D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS
                | D3D12_RESOURCE_FLAG_RAYTRACING_ACCELERATION_STRUCTURE,
            false,
        ),
        (D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT, false),
    ] {
        let desc = buffer_desc(65_536, flags);
        let info = unsafe { gpu.device.GetResourceAllocationInfo(0, &[desc]) };
        assert_eq!(info.SizeInBytes != u64::MAX, is_known, "{flags:#x}");
    }
    let breaks = break_count(&gpu.device);
    assert_eq!(breaks, Some(0), "the device belongs to this runtime");
}

#[test]
fn cpu_accessible_resources_have_one_state() {
    let gpu = open();
    let desc = buffer_desc(1000, D3D12_RESOURCE_FLAG_NONE);
    for (heap_type, state, is_taken) in [
        (D3D12_HEAP_TYPE_DEFAULT, D3D12_RESOURCE_STATE_COMMON, true),
        (D3D12_HEAP_TYPE_UPLOAD, D3D12_RESOURCE_STATE_COMMON, false),
        (D3D12_HEAP_TYPE_UPLOAD, D3D12_RESOURCE_STATE_GENERIC_READ, true),
        (D3D12_HEAP_TYPE_READBACK, D3D12_RESOURCE_STATE_COMMON, false),
        (D3D12_HEAP_TYPE_READBACK, D3D12_RESOURCE_STATE_COPY_DEST, true),
    ] {
        let made = committed(&gpu.device, of_type(heap_type), D3D12_HEAP_FLAG_NONE, &desc, state);
        assert_eq!(made.is_ok(), is_taken, "heap type {heap_type}, state {state:#x}");
    }
}

#[test]
fn another_device_on_the_adapter_is_also_first_generation() {
    let gpu = open();
    let mut device = null_mut();
    let (adapter, level) = (gpu.adapter.as_raw(), D3D_FEATURE_LEVEL_11_1);
    let mut create = |level, iid: &GUID| unsafe { D3D12CreateDevice(adapter, level, iid, &mut device) };
    assert_eq!(create(level, &ID3D12Device1::IID), E_NOINTERFACE);
    let tiled = D3D_FEATURE_LEVEL_12_0;
    assert_eq!(create(tiled, &ID3D12Device::IID), DXGI_ERROR_UNSUPPORTED, "it has tiled resources tier 1");
    assert_eq!(create(level, &ID3D12Device::IID), S_OK);
    let second = unsafe { ID3D12Device::from_raw(device) };
    assert!(!answers(&second.cast().expect("every object is one"), &ID3D12Device1::IID));
    heap(&second, 0).expect("it works");
}
