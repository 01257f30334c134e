//! The operating system's Direct3D 12.

use heapwright_loader::D3d12;

#[cfg(not(windows))]
#[test]
fn only_windows_has_one() {
    let name = heapwright_loader::DeviceName::System;
    // SAFETY: no library is loaded.
    let error = unsafe { name.open() }.unwrap_err();
    assert_eq!(error, heapwright_loader::LoadError::NotWindows);
    let error = D3d12::system().unwrap_err();
    assert_eq!(error, heapwright_loader::LoadError::NotWindows);
    assert!(error.is_about_name());
    assert!(error.to_string().contains("d3d12:PATH"), "{error}");
}

/// The device of each adapter has that adapter's LUID.
#[cfg(windows)]
#[test]
fn its_adapters_are_those_of_their_devices() {
    use heapwright::d3d12::DXGI_ADAPTER_DESC1;

    use crate::support::{luid, place_a_buffer};

    let luid_of = |adapter: &heapwright::d3d12::IDXGIAdapter3| {
        let mut desc = DXGI_ADAPTER_DESC1::default();
        // SAFETY: the adapter is a live COM object, and the description is writable.
        unsafe { adapter.GetDesc1(&mut desc) }.ok().unwrap();
        desc.AdapterLuid
    };
    let d3d12 = D3d12::system().unwrap();
    for adapter in d3d12.adapters().unwrap() {
        let Ok(gpu) = d3d12.create_device(Some(&adapter)) else { continue };
        assert_eq!(luid(&gpu.device), luid_of(&adapter));
        place_a_buffer(&gpu);
    }
    if let Ok(gpu) = d3d12.create_device(None) {
        let adapter = gpu.adapter.as_ref().expect("DXGI knows the adapter of a device");
        assert_eq!(luid(&gpu.device), luid_of(adapter));
        place_a_buffer(&gpu);
    }
}
