//! More shared handles than one call checks. They delay when other tests' closed handles are noticed.

use heapwright_d3d12::event::{Event, EventReset, close};
use heapwright_d3d12::*;
use heapwright_runtime::{HostProfile, Instance};

const GENERIC_ALL: u32 = 0x1000_0000;
const COUNT: usize = 150;

#[test]
fn names_of_many_closed_handles_are_free_at_once() {
    let gpu = Instance::open(HostProfile::default_profile()).expect("opens");
    let device = &gpu.device;
    let fence: ID3D12Fence =
        unsafe { device.CreateFence(0, D3D12_FENCE_FLAG_SHARED) }.expect("a shared fence");
    let name = |index: usize| -> Vec<u16> { format!("one of many, {index}\0").encode_utf16().collect() };
    let create =
        |index| unsafe { device.CreateSharedHandle(&fence, None, GENERIC_ALL, PCWSTR(name(index).as_ptr())) };
    let find = |index| unsafe { device.OpenSharedHandleByName(PCWSTR(name(index).as_ptr()), GENERIC_ALL) };
    for _ in 0..2 {
        let handles: Vec<_> = (0..COUNT).map(|index| create(index).expect("a free name")).collect();
        for index in 0..COUNT {
            let taken = create(index).expect_err("a handle with the name is open");
            assert_eq!(taken.code(), DXGI_ERROR_NAME_ALREADY_EXISTS);
        }
        handles.into_iter().for_each(|handle| unsafe { close(handle) });
        assert!(find(COUNT - 1).is_err());
    }
    let event = Event::new(EventReset::Auto).expect("an event");
    unsafe { fence.SetEventOnCompletion(1, event.handle()) }.ok().expect("waits");
    drop(fence);
    for _ in 0..COUNT {
        assert!(find(0).is_err());
    }
    assert!(event.is_set().expect("asked"), "every handle had its turn, so the wait ended with the last one");
}
