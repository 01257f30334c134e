//! A runtime without the feature `preview` has nothing of previews, not even for a program that opens a device of one.

use std::ffi::c_void;
use std::ptr::null_mut;

use heapwright_d3d12::*;
use heapwright_runtime::{DeviceOptions, HostProfile, Instance};
use windows_core::{GUID, Interface};

use crate::gpu::{committed, create_heap, feature, heap_desc, of_type, texture_desc};

/// `D3D12_FEATURE_GUID_TEXTURE_LAYOUT`, `_FENCE_BARRIERS`, `_ASYNC_COMMANDS` and `_OPTIONS_PREVIEW`.
const FEATURES: [D3D12_FEATURE; 4] = [55, 59, 63, 72];

/// `ID3D12GuidTextureLayoutDevice`, `ID3D12CommandListFenceBarriers`, `ID3D12CommandListAsyncCommands`,
/// `ID3D12DevicePreview` and `ID3D12DeviceTools2`.
const INTERFACES: [u128; 5] = [
    0x24499bcb_4364_4c06_9007_a334f1748f18,
    0x012b2bce_a66e_419a_a020_e645dc79f119,
    0xd7afd225_8c06_41c8_b8a2_6efbe1439ed9,
    0x8f0856ad_e37c_4d75_be18_fbb3d8c04ced,
    0x0edb4324_20a7_45ed_8016_c317a073be33,
];

fn has(object: &windows_core::IUnknown, iid: u128) -> bool {
    let mut found: *mut c_void = null_mut();
    let result = unsafe { object.query(&GUID::from_u128(iid), &mut found) };
    assert_eq!(result.is_ok(), !found.is_null());
    result.is_ok()
}

#[test]
fn nothing_of_previews_reaches_a_program() {
    let sdk = "721.1".parse().expect("a version");
    let profile = HostProfile::find("discrete").expect("a profile of that name");
    let gpu = Instance::open_with(profile, DeviceOptions { sdk, ..DeviceOptions::default() }).expect("opens");
    for iid in INTERFACES {
        assert!(!has(&gpu.device.cast().expect("a COM object"), iid), "{iid:#x}");
    }
    for number in FEATURES {
        let data = [0_u8; 24];
        assert_eq!(feature(&gpu.device, number, data).0, E_INVALIDARG, "feature {number}");
    }
    let tracked = D3D12_HEAP_DESC { Flags: 0x4000, ..heap_desc(D3D12_HEAP_TYPE_DEFAULT, 65536) };
    assert_eq!(create_heap(&gpu.device, &tracked), Err(E_INVALIDARG), "TOOLS_ENABLE_MEMORY_TRACKING");
    let plain = texture_desc(DXGI_FORMAT_R8G8B8A8_UNORM, [64, 64]);
    let commit = |desc: &D3D12_RESOURCE_DESC| {
        let properties = of_type(D3D12_HEAP_TYPE_DEFAULT);
        committed(&gpu.device, properties, D3D12_HEAP_FLAG_NONE, desc, D3D12_RESOURCE_STATE_COMMON)
    };
    let texture = commit(&plain).expect("a texture");
    let newest = 0x4f9b2e01_3883_4973_80ca_59d2f45f25b5;
    assert!(!has(&texture.cast().expect("a COM object"), newest), "ID3D12GuidTextureLayoutResource");
    commit(&D3D12_RESOURCE_DESC { Layout: 4, ..plain }).expect_err("D3D12_TEXTURE_LAYOUT_GUID");
}
