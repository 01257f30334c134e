//! The device: its creation, its reference count and the properties it reports.

use std::ptr::null_mut;

use heapwright_d3d12::*;
use heapwright_runtime::exports::D3D12CreateDevice;
use windows_core::{HRESULT, Interface};

use crate::gpu::*;

fn heap(device: &ID3D12Device14) -> ID3D12Heap {
    let flags = D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS;
    let desc = D3D12_HEAP_DESC { Flags: flags, ..heap_desc(D3D12_HEAP_TYPE_UPLOAD, 1 << 20) };
    create_heap(device, &desc).expect("a heap")
}

/// vkd3d-proton's test_create_device.
#[test]
fn only_feature_levels_of_d3d12_are_accepted() {
    let create = |level| {
        let mut device = null_mut();
        let result = unsafe { D3D12CreateDevice(null_mut(), level, &ID3D12Device::IID, &mut device) };
        if result == S_OK {
            drop(unsafe { ID3D12Device::from_raw(device) });
        } else {
            assert!(device.is_null());
        }
        result
    };
    for level in [0xb000, 0xb100, 0xc000, 0xc100] {
        assert_eq!(create(level), S_OK, "{level:#x}");
    }
    for level in [0, -1, 0x9100, 0x9200, 0x9300, 0xa000, 0xa100] {
        assert_eq!(create(level), E_INVALIDARG, "{level:#x}");
    }
    assert_eq!(create(D3D_FEATURE_LEVEL_12_2), DXGI_ERROR_UNSUPPORTED);
}

#[test]
fn descriptions_are_returned_with_node_mask_one() {
    let device = open();
    let heap = heap(&device);
    let nodes = |of: D3D12_HEAP_PROPERTIES| [of.CreationNodeMask, of.VisibleNodeMask];
    assert_eq!(nodes(unsafe { heap.GetDesc() }.Properties), [1; 2]);
    let committed = commit(&device, D3D12_HEAP_TYPE_UPLOAD, 64);
    let (desc, state) = (buffer_desc(64, D3D12_RESOURCE_FLAG_NONE), D3D12_RESOURCE_STATE_GENERIC_READ);
    for resource in [placed(&device, &heap, 0, &desc, state).expect("placed"), committed] {
        let mut found = D3D12_HEAP_PROPERTIES::default();
        unsafe { resource.GetHeapProperties(Some(&mut found), None) }.succeeds();
        assert_eq!(nodes(found), [1; 2]);
    }
    let none = D3D12_DESCRIPTOR_HEAP_FLAG_NONE;
    let table = descriptor_heap(&device, D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV, 1, none).expect("a heap");
    assert_eq!(unsafe { table.GetDesc() }.NodeMask, 1);
}

#[test]
fn feature_queries_succeed_or_return_e_invalidarg() {
    let device = open();
    let model = |asked| {
        let data = D3D12_FEATURE_DATA_SHADER_MODEL { HighestShaderModel: asked };
        let (result, data) = feature(&device, D3D12_FEATURE_SHADER_MODEL, data);
        (result, data.HighestShaderModel)
    };
    assert_eq!(model(D3D_SHADER_MODEL_5_1), (S_OK, D3D_SHADER_MODEL_5_1));
    assert_eq!(model(D3D_SHADER_MODEL_6_0), (S_OK, D3D_SHADER_MODEL_6_0));
    assert_eq!(model(D3D_HIGHEST_SHADER_MODEL), (S_OK, D3D_SHADER_MODEL_6_6));
    assert_eq!(model(0x7f), (E_INVALIDARG, 0x7f));

    let version = |asked| {
        let data = D3D12_FEATURE_DATA_ROOT_SIGNATURE { HighestVersion: asked };
        let (result, data) = feature(&device, D3D12_FEATURE_ROOT_SIGNATURE, data);
        (result, data.HighestVersion)
    };
    assert_eq!(version(D3D_ROOT_SIGNATURE_VERSION_1_0), (S_OK, D3D_ROOT_SIGNATURE_VERSION_1_0));
    assert_eq!(version(D3D_ROOT_SIGNATURE_VERSION_1_2), (S_OK, D3D_ROOT_SIGNATURE_VERSION_1_1));
    assert_eq!(version(0xdead), (E_INVALIDARG, 0xdead));

    let planes = |format| {
        let data = D3D12_FEATURE_DATA_FORMAT_INFO { Format: format, PlaneCount: 0xff };
        let (result, data) = feature(&device, D3D12_FEATURE_FORMAT_INFO, data);
        (result, data.PlaneCount)
    };
    assert_eq!(planes(DXGI_FORMAT_UNKNOWN), (S_OK, 1));
    assert_eq!(planes(DXGI_FORMAT_R8G8B8A8_UNORM), (S_OK, 1));
    assert_eq!(planes(DXGI_FORMAT_D24_UNORM_S8_UINT), (S_OK, 2));
    assert_eq!(planes(DXGI_FORMAT_NV12), (S_OK, 2));
    assert_eq!(planes(DXGI_FORMAT_R1_UNORM).0, E_INVALIDARG);

    let session = D3D12_FEATURE_DATA_PROTECTED_RESOURCE_SESSION_SUPPORT { NodeIndex: 0, Support: !0 };
    let (result, session) = feature(&device, D3D12_FEATURE_PROTECTED_RESOURCE_SESSION_SUPPORT, session);
    assert_eq!((result, session.Support), (S_OK, 0));
    let (result, _) =
        feature(&device, D3D12_FEATURE_D3D12_OPTIONS1, D3D12_FEATURE_DATA_D3D12_OPTIONS1::default());
    assert_eq!(result, S_OK);
    let priority = |priority: i32| {
        let data = D3D12_FEATURE_DATA_COMMAND_QUEUE_PRIORITY {
            CommandListType: D3D12_COMMAND_LIST_TYPE_COPY,
            Priority: u32::try_from(priority).expect("positive"),
            ..Default::default()
        };
        let (result, data) = feature(&device, D3D12_FEATURE_COMMAND_QUEUE_PRIORITY, data);
        (result, data.PriorityForTypeIsSupported.as_bool())
    };
    assert_eq!(priority(D3D12_COMMAND_QUEUE_PRIORITY_HIGH), (S_OK, true));
    assert_eq!(priority(D3D12_COMMAND_QUEUE_PRIORITY_GLOBAL_REALTIME), (S_OK, false));
    for unknown in [9, 11, 13, 999, -1] {
        assert_eq!(feature(&device, unknown, 0_u32).0, E_INVALIDARG, "{unknown}");
    }
}

fn levels(device: &ID3D12Device14, format: DXGI_FORMAT, samples: u32) -> (HRESULT, u32) {
    let data = D3D12_FEATURE_DATA_MULTISAMPLE_QUALITY_LEVELS {
        Format: format,
        SampleCount: samples,
        NumQualityLevels: 0xdead_beef,
        ..Default::default()
    };
    let (result, data) = feature(device, D3D12_FEATURE_MULTISAMPLE_QUALITY_LEVELS, data);
    (result, data.NumQualityLevels)
}

/// vkd3d-proton's test_multisample_quality_levels and test_format_support.
#[test]
fn unknown_formats_and_sample_counts_fail() {
    let device = open();
    assert_eq!(levels(&device, DXGI_FORMAT_UNKNOWN, 0), (E_FAIL, 0));
    assert_eq!(levels(&device, DXGI_FORMAT_R8G8B8A8_UNORM, 0), (E_FAIL, 0));
    assert_eq!(levels(&device, DXGI_FORMAT_UNKNOWN, 1), (S_OK, 1));
    assert_eq!(levels(&device, DXGI_FORMAT_R8G8B8A8_UNORM, 3), (S_OK, 0));
    assert_eq!(levels(&device, DXGI_FORMAT_R8G8B8A8_UNORM, 4), (S_OK, 1));
    let data = D3D12_FEATURE_DATA_FORMAT_SUPPORT { Format: 9999, Support1: !0, Support2: !0 };
    let (result, data) = feature(&device, D3D12_FEATURE_FORMAT_SUPPORT, data);
    assert_eq!((result, data.Support1, data.Support2), (E_FAIL, 0, 0));
}

/// vkd3d-proton's tests/d3d12_device.c: test_multisample_quality_levels, test_check_feature_support and
/// test_format_support, which query every format from UNKNOWN to B4G4R4A4_UNORM.
#[test]
fn every_format_has_planes_and_one_level_of_one_sample() {
    let device = open();
    for format in (DXGI_FORMAT_UNKNOWN..=DXGI_FORMAT_B4G4R4A4_UNORM).filter(|&it| it != DXGI_FORMAT_R1_UNORM)
    {
        assert_eq!(levels(&device, format, 1), (S_OK, 1), "{format}");
        assert_eq!(levels(&device, format, 3), (S_OK, 0), "{format}");
        let data = D3D12_FEATURE_DATA_FORMAT_INFO { Format: format, PlaneCount: 0xff };
        let (result, data) = feature(&device, D3D12_FEATURE_FORMAT_INFO, data);
        let is_planar = matches!(
            format,
            DXGI_FORMAT_R32G8X24_TYPELESS..=DXGI_FORMAT_X32_TYPELESS_G8X24_UINT
                | DXGI_FORMAT_R24G8_TYPELESS..=DXGI_FORMAT_X24_TYPELESS_G8_UINT
                | DXGI_FORMAT_NV12
                | DXGI_FORMAT_P010
                | DXGI_FORMAT_P016
                | DXGI_FORMAT_NV11
        );
        assert_eq!((result, data.PlaneCount), (S_OK, 1 + u8::from(is_planar)), "{format}");
    }
    let required = (DXGI_FORMAT_UNKNOWN..=DXGI_FORMAT_B4G4R4A4_UNORM).chain(130..=132).chain([189, 190]);
    for format in required {
        let data = D3D12_FEATURE_DATA_FORMAT_SUPPORT { Format: format, ..Default::default() };
        let (result, data) = feature(&device, D3D12_FEATURE_FORMAT_SUPPORT, data);
        // The feature levels leave these open.
        let may_fail = matches!(format, DXGI_FORMAT_R1_UNORM | 189 | 190);
        assert_eq!(result, if may_fail { E_FAIL } else { S_OK }, "{format}");
        assert_eq!(data.Support1 == 0, may_fail, "{format}");
    }
}
