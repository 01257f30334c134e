//! Trim notifications through `ID3D12Device15`.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::Mutex;

use heapwright_core::ByteSize;
use heapwright_d3d12::trim::*;
use heapwright_d3d12::*;
use heapwright_runtime::Instance;
use windows_core::{HRESULT, IUnknown, Interface};

/// The notifications that a callback received: flags and bytes.
#[derive(Default)]
struct Heard {
    notifications: Mutex<Vec<(i32, u64)>>,
    /// The registration that the callback tries to end.
    unregister: Option<(ID3D12Device15, u32)>,
    answer: Mutex<Option<HRESULT>>,
}

impl Heard {
    fn context(&self) -> *mut c_void {
        std::ptr::from_ref(self).cast_mut().cast()
    }

    fn take(&self) -> Vec<(i32, u64)> {
        std::mem::take(&mut *self.notifications.lock().expect("no panic"))
    }
}

unsafe extern "system" fn hear(notification: *const D3D12_TRIM_NOTIFICATION) {
    let notification = unsafe { &*notification };
    let heard = unsafe { &*notification.pContext.cast::<Heard>().cast_const() };
    heard.notifications.lock().expect("no panic").push((notification.Flags, notification.NumBytesToTrim));
    if let Some((device, cookie)) = &heard.unregister {
        *heard.answer.lock().expect("no panic") =
            Some(unsafe { device.UnregisterTrimNotificationCallback(*cookie) });
    }
}

unsafe extern "system" fn hear_too(notification: *const D3D12_TRIM_NOTIFICATION) {
    unsafe { hear(notification) };
    // Gives the function an address other than `hear`, even if the linker merges identical functions.
    std::hint::black_box(1);
}

fn open(profile: &str) -> (Instance, ID3D12Device15) {
    let gpu = crate::gpu::instance(profile);
    let device = gpu.device.cast().expect("the newest device");
    (gpu, device)
}

fn register(
    device: &ID3D12Device15,
    callback: D3D12_PFN_TRIM_NOTIFICATION_CALLBACK,
    heard: &Heard,
) -> (HRESULT, u32) {
    let mut data = D3D12_REGISTER_TRIM_NOTIFICATION {
        pfnCallback: callback,
        pContext: heard.context(),
        CallbackCookie: 77,
    };
    let result = unsafe { device.RegisterTrimNotificationCallback(&raw mut data) };
    (result, data.CallbackCookie)
}

const PERIODIC: i32 = D3D12_TRIM_NOTIFICATION_FLAG_PERIODIC_TRIM;
const RESTART: i32 = D3D12_TRIM_NOTIFICATION_FLAG_RESTART_PERIODIC_TRIM;
const TO_BUDGET: i32 = D3D12_TRIM_NOTIFICATION_FLAG_TRIM_TO_BUDGET;

#[test]
fn callbacks_receive_notifications_until_they_are_unregistered() {
    let (gpu, device) = open("discrete");
    let (one, other) = (Heard::default(), Heard::default());
    let (result, first) = register(&device, Some(hear), &one);
    assert_eq!(result, S_OK);
    let (result, second) = register(&device, Some(hear_too), &other);
    assert_eq!(result, S_OK);
    assert_ne!(first, second);
    assert_eq!(gpu.trim(PERIODIC, ByteSize::ZERO).expect("allowed"), 2);
    assert_eq!(gpu.trim(RESTART, ByteSize::ZERO).expect("allowed"), 2);
    assert_eq!(gpu.trim(TO_BUDGET | PERIODIC, ByteSize::new(4096)).expect("allowed"), 2);
    let all = vec![(PERIODIC, 0), (RESTART, 0), (TO_BUDGET | PERIODIC, 4096)];
    assert_eq!((one.take(), other.take()), (all.clone(), all));
    assert_eq!(unsafe { device.UnregisterTrimNotificationCallback(first) }, S_OK);
    assert_eq!(gpu.trim(PERIODIC, ByteSize::ZERO).expect("allowed"), 1);
    assert_eq!((one.take(), other.take()), (vec![], vec![(PERIODIC, 0)]));
    assert_eq!(unsafe { device.UnregisterTrimNotificationCallback(first) }, DXGI_ERROR_NOT_FOUND);
    assert_eq!(unsafe { device.UnregisterTrimNotificationCallback(second) }, S_OK);
}

#[test]
fn mistakes_are_refused() {
    let (gpu, device) = open("discrete");
    let heard = Heard::default();
    assert_eq!(unsafe { device.RegisterTrimNotificationCallback(null_mut()) }, E_INVALIDARG);
    assert_eq!(register(&device, None, &heard), (E_INVALIDARG, 0));
    assert_eq!(register(&device, Some(hear), &heard).0, S_OK);
    assert_eq!(register(&device, Some(hear), &heard), (DXGI_ERROR_ALREADY_EXISTS, 0));
    // Flags that are mutually exclusive, and an unknown one.
    for flags in [PERIODIC | RESTART, 8] {
        assert_eq!(gpu.trim(flags, ByteSize::ZERO).expect_err("refused").code(), E_INVALIDARG);
    }
    assert!(heard.take().is_empty());
}

#[test]
fn callbacks_cannot_unregister() {
    let (gpu, device) = open("discrete");
    // The first cookie of a device is zero, a valid cookie.
    let heard = Heard { unregister: Some((device.clone(), 0)), ..Heard::default() };
    assert_eq!(register(&device, Some(hear), &heard), (S_OK, 0));
    assert_eq!(gpu.trim(PERIODIC, ByteSize::ZERO).expect("allowed"), 1);
    assert_eq!(*heard.answer.lock().expect("no panic"), Some(E_INVALIDARG), "a callback cannot unregister");
    assert_eq!(gpu.trim(PERIODIC, ByteSize::ZERO).expect("allowed"), 1, "the callback is still registered");
}

#[test]
fn a_device_without_trim_notifications_returns_e_notimpl() {
    let (gpu, device) = open("old-ddi");
    let heard = Heard::default();
    assert_eq!(register(&device, Some(hear), &heard), (E_NOTIMPL, 0));
    assert_eq!(unsafe { device.UnregisterTrimNotificationCallback(0) }, E_NOTIMPL);
    assert_eq!(gpu.trim(PERIODIC, ByteSize::ZERO).expect("allowed"), 0);
    let first = crate::gpu::instance("first-generation").device.cast::<ID3D12Device15>();
    assert_eq!(first.expect_err("ID3D12Device15 is not supported").code(), E_NOINTERFACE);
}

#[test]
fn the_newest_interface_is_the_same_object() {
    let (gpu, device) = open("discrete");
    let identity = |unknown: IUnknown| unknown.as_raw();
    let (one, other) = (device.cast::<IUnknown>(), gpu.device.cast::<IUnknown>());
    assert_eq!(identity(one.expect("an object")), identity(other.expect("an object")));
    // A method of the first interface, and two later ones of which one is not implemented, through the newest table.
    assert_eq!(unsafe { device.GetNodeCount() }, 1);
    let nothing = D3D12_CPU_DESCRIPTOR_HANDLE::default();
    assert_eq!(unsafe { device.TryCreateConstantBufferView(std::ptr::null(), nothing) }, E_INVALIDARG);
    let (pair, at) = (null_mut(), nothing);
    let answer = unsafe { device.TryCreateSamplerFeedbackUnorderedAccessView(pair, pair, at) };
    assert_eq!(answer, E_NOTIMPL);
}
