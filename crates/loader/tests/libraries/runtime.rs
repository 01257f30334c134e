//! The runtime's library, which has Direct3D 12 and DXGI.

use heapwright::d3d12::DXGI_ADAPTER_DESC1;
use heapwright::{AdapterDesc, SegmentGroup, VideoMemoryInfo};

use crate::support::{luid, open, place_a_buffer, runtime};

#[test]
fn a_device_on_the_default_adapter_has_that_adapter() {
    let d3d12 = open(runtime()).unwrap();
    assert_eq!(d3d12.library(), runtime());
    let gpu = d3d12.create_device(None).unwrap();
    let adapter = gpu.adapter.as_ref().expect("the library exports CreateDXGIFactory2");
    let mut desc = DXGI_ADAPTER_DESC1::default();
    // SAFETY: the adapter is a live COM object, and the description is writable.
    unsafe { adapter.GetDesc1(&mut desc) }.ok().unwrap();
    assert_eq!(desc.AdapterLuid, luid(&gpu.device));
    assert!(VideoMemoryInfo::query(adapter, SegmentGroup::Local).unwrap().budget.get() > 0);
    place_a_buffer(&gpu);
}

#[test]
fn devices_are_created_on_its_adapters() {
    let d3d12 = open(runtime()).unwrap();
    let adapters = d3d12.adapters().unwrap();
    assert_eq!(adapters.len(), 1, "the default profile has one adapter");
    let description = AdapterDesc::query(&adapters[0]).unwrap().description;
    assert!(description.contains("heapwright"), "{description}");
    let gpu = d3d12.create_device(Some(&adapters[0])).unwrap();
    assert_eq!(gpu.adapter.as_ref(), Some(&adapters[0]));
    place_a_buffer(&gpu);
}

/// Devices may outlive the `D3d12` that created them, because the library stays loaded.
#[test]
fn devices_outlive_the_handle() {
    let gpu = {
        let d3d12 = open(runtime()).unwrap();
        d3d12.clone().create_device(None).unwrap()
    };
    place_a_buffer(&gpu);
}

#[test]
fn handles_may_be_used_from_any_thread() {
    let d3d12 = open(runtime()).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| place_a_buffer(&d3d12.create_device(None).unwrap()));
        }
    });
}
