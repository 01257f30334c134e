//! Tests of device creation and removal.

use std::ffi::c_void;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use heapwright_core::{ByteSize, GpuVirtualAddress};

use super::*;
use crate::api::call;
use crate::ddi::GpuVirtualAddressRange;
use crate::drivers::host;
use crate::drivers::host::profile::HostProfile;

fn create(driver: &Arc<Driver>, range: GpuVirtualAddressRange) -> windows_core::Result<ComObject<Device>> {
    let ranges = [range];
    let args = DeviceArgs::new(&ranges);
    call::run(MessageLog::unattached(), "CreateDevice", || {
        Ok(Device::create(Arc::clone(driver), &args, DebugSettings::ON, Options::default())?)
    })
}

/// What a message callback waits for, and whether it was called.
#[derive(Default)]
struct Gate {
    lock: Mutex<()>,
    is_called: AtomicBool,
}

unsafe extern "system" fn pass(
    _category: D3D12_MESSAGE_CATEGORY,
    _severity: D3D12_MESSAGE_SEVERITY,
    _id: D3D12_MESSAGE_ID,
    _text: PCSTR,
    gate: *mut c_void,
) {
    // SAFETY: the test registered the callback with a gate that outlives the device.
    let gate = unsafe { &*gate.cast::<Gate>() };
    let _lock = gate.lock.lock().expect("no panics");
    gate.is_called.store(true, Ordering::SeqCst);
}

/// A driver reports the loss of its device while it holds locks, for which message callbacks may wait. The device is
/// removed before they return, and its fences are set after that.
#[test]
fn a_driver_that_reports_a_loss_does_not_wait_for_callbacks() {
    // Before the device, which it is to outlive.
    let gate = Gate::default();
    let driver: Arc<Driver> = Arc::new(host::driver(HostProfile::default_profile()));
    let nowhere = GpuVirtualAddress::new(1 << 16).expect("not null");
    let device = create(&driver, GpuVirtualAddressRange { start: nowhere, size: ByteSize::ZERO });
    let device = device.expect("a device");
    let queue: ID3D12InfoQueue1 = Device::shown(&device).cast().expect("the debug layer is on");
    let (context, mut cookie) = ((&raw const gate).cast_mut().cast(), 0);
    let flags = D3D12_MESSAGE_CALLBACK_IGNORE_FILTERS;
    // SAFETY: a live queue; the gate outlives the device.
    unsafe { queue.RegisterMessageCallback(Some(pass), flags, context, &mut cookie) }
        .ok()
        .expect("registered");
    let fence = device.removal().create_fence(0);
    let lock = gate.lock.lock().expect("no panics");
    let removal = Arc::clone(device.removal());
    removal.remove_elsewhere(DXGI_ERROR_DEVICE_REMOVED, "lost".to_owned());
    assert_eq!(device.removal().reason(), Some(DXGI_ERROR_DEVICE_REMOVED));
    assert!(!gate.is_called.load(Ordering::SeqCst) && fence.value() == 0);
    drop(lock);
    fence.wait(u64::MAX);
    assert!(gate.is_called.load(Ordering::SeqCst));
}
