//! Replacements for methods of the tools' interfaces.

use std::cell::Cell;
use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};

use heapwright_d3d12::*;
use heapwright_intercept::{Methods, intercept, method};
use windows_core::{HRESULT, Interface};

use crate::device;
use crate::lies::{Liar, Lies, Recreate};

thread_local! {
    /// The address that this thread set last; zero after an object was created.
    static LAST: Cell<u64> = const { Cell::new(0) };
}

/// The address that any thread set last, for the device that ignores threads.
static OF_ANY_THREAD: AtomicU64 = AtomicU64::new(0);

/// Makes a factory and the devices that it creates tell lies.
pub(crate) fn intercept_factory(factory: &ID3D12DeviceFactory, lies: &'static Lies) {
    // SAFETY: this is the newest interface of its chain, and nobody else uses a fresh factory. The replacements
    // pass on what their callers promise.
    unsafe {
        intercept(factory, lies, |methods| {
            let factory = methods.of::<ID3D12DeviceFactory>();
            factory.replace(method!(CreateDevice), |call, (adapter, level, iid, out)| {
                let hresult = (call.original.CreateDevice)(call.this, adapter, level, iid, out);
                if hresult == S_OK
                    && let Some(device) = out.as_ref().and_then(|raw| ID3D12Device::from_raw_borrowed(raw))
                {
                    device::intercept_device(device, call.data);
                }
                if let Some(Recreate::UsesUp) = call.data.recreate {
                    let tools = call.object().GetConfigurationInterface::<ID3D12Tools1>(&CLSID_D3D12Tools);
                    tools.expect("the runtime's factories have tools").ClearReservedGPUVARangesList();
                }
                hresult
            });
            factory.replace(method!(GetConfigurationInterface), |call, (class, iid, out)| {
                let hresult = (call.original.GetConfigurationInterface)(call.this, class, iid, out);
                if hresult == S_OK
                    && let Some(made) = windows_core::IUnknown::from_raw_borrowed(&*out)
                    && let Ok(tools) = made.cast::<ID3D12Tools1>()
                {
                    intercept(&tools, call.data, |methods| replace_tools(methods));
                }
                hresult
            });
        });
    }
}

unsafe fn replace_tools(methods: &Methods<Lies>) {
    // SAFETY: the methods are those of the tools; the replacements pass on what their callers promise.
    unsafe {
        let tools = methods.of::<ID3D12Tools1>();
        tools.replace(method!(ReserveGPUVARangesAtCreate), |call, (ranges, count)| {
            let reserve = call.original.ReserveGPUVARangesAtCreate;
            match call.data.recreate {
                Some(Recreate::Ranges(lie)) if count > 0 => {
                    let len = usize::try_from(count).unwrap_or(0);
                    let mut changed = std::slice::from_raw_parts(ranges, len).to_vec();
                    lie(&mut changed);
                    let count = u32::try_from(changed.len()).expect("few");
                    reserve(call.this, changed.as_ptr(), count)
                }
                Some(Recreate::Replaces) => {
                    (call.original.ClearReservedGPUVARangesList)(call.this);
                    reserve(call.this, ranges, count)
                }
                _ => reserve(call.this, ranges, count),
            }
        });
        tools.replace(method!(ClearReservedGPUVARangesList), |call, ()| {
            if !matches!(call.data.recreate, Some(Recreate::KeepsList)) {
                (call.original.ClearReservedGPUVARangesList)(call.this);
            }
        });
    }
}

/// Makes a device's `ID3D12DeviceTools` tell lies.
pub(crate) fn intercept_tools(device: &ID3D12Device, lies: &'static Lies) {
    let tools: ID3D12DeviceTools = device.cast().expect("the runtime's devices have tools");
    // SAFETY: as for a factory.
    unsafe {
        intercept(&tools, lies, |methods| {
            let tools = methods.of::<ID3D12DeviceTools>();
            tools.replace(method!(SetNextAllocationAddress), |call, (address,)| {
                let address = match call.data.recreate {
                    Some(Recreate::NextAddress(lie)) => lie(address.0),
                    _ => address.0,
                };
                LAST.set(address);
                OF_ANY_THREAD.store(address, Ordering::Relaxed);
                (call.original.SetNextAllocationAddress)(call.this, D3D12_GPU_VIRTUAL_ADDRESS(address));
            });
        });
    }
}

/// Makes the `ID3D12PageableTools` of a heap or a resource tell lies.
pub(crate) fn intercept_allocation(object: &impl Interface, lies: &'static Lies, is_heap: bool) {
    let tools: ID3D12PageableTools = object.cast().expect("the runtime's heaps and resources have tools");
    // SAFETY: as for a factory.
    unsafe {
        intercept(&tools, lies, |methods| {
            let tools = methods.of::<ID3D12PageableTools>();
            if is_heap {
                tools.replace(method!(GetAllocation), |call, (out,)| {
                    let hresult = (call.original.GetAllocation)(call.this, out);
                    if let (S_OK, Some(Recreate::HeapAllocation(lie))) = (hresult, call.data.recreate) {
                        lie(&mut *out);
                    }
                    hresult
                });
            } else {
                tools.replace(method!(GetAllocation), |call, (out,)| {
                    let hresult = (call.original.GetAllocation)(call.this, out);
                    if let (S_OK, Some(Recreate::ResourceAllocation(lie))) = (hresult, call.data.recreate) {
                        lie(&mut *out);
                    }
                    hresult
                });
            }
        });
    }
}

/// Applies the lies that precede the creation of a heap or a resource.
///
/// # Safety
///
/// `this` must be an intercepted device.
pub(crate) unsafe fn before_creation(this: *mut c_void, lies: &Lies, is_texture: bool, is_placed: bool) {
    let address = match lies.recreate {
        Some(Recreate::Stays) => LAST.get(),
        Some(Recreate::AnyThread) => OF_ANY_THREAD.swap(0, Ordering::Relaxed),
        Some(Recreate::Forgets { textures, placed }) if textures && is_texture || placed && is_placed => 0,
        _ => return,
    };
    // SAFETY: the caller upholds the contract of this function.
    unsafe { set_address(this, address) };
}

/// Sets the address of this thread's next object on the honest device.
///
/// # Safety
///
/// `this` must be an intercepted device.
unsafe fn set_address(this: *mut c_void, address: u64) {
    // SAFETY: the caller upholds the contract of this function.
    unsafe {
        let Some(device) = ID3D12Device::from_raw_borrowed(&this) else { return };
        let Ok(tools) = device.cast::<ID3D12DeviceTools>() else { return };
        let tools = Liar::<ID3D12DeviceTools>::new(tools.as_raw());
        (tools.original.SetNextAllocationAddress)(tools.this, D3D12_GPU_VIRTUAL_ADDRESS(address));
    }
}

/// Applies the lies that follow `CreateHeap`, which returned `hresult`, and returns the final HRESULT.
///
/// # Safety
///
/// `this` must be an intercepted device.
pub(crate) unsafe fn created(
    this: *mut c_void,
    lies: &Lies,
    hresult: HRESULT,
    again: impl FnOnce() -> HRESULT,
) -> HRESULT {
    let address = LAST.get();
    if !matches!(lies.recreate, Some(Recreate::Stays)) {
        LAST.set(0);
    }
    if hresult.is_ok() || address == 0 {
        return hresult;
    }
    match lies.recreate {
        Some(Recreate::HeapElsewhere) => {
            // SAFETY: the caller upholds the contract of this function.
            unsafe { set_address(this, 0) };
            again()
        }
        Some(Recreate::UsedUpByRefusals) => {
            // SAFETY: the caller upholds the contract of this function.
            unsafe { set_address(this, 0) };
            hresult
        }
        Some(Recreate::Removes) => {
            // SAFETY: the caller upholds the contract of this function.
            let device = unsafe { ID3D12Device::from_raw_borrowed(&this) };
            if let Some(device) = device.and_then(|device| device.cast::<ID3D12Device5>().ok()) {
                // SAFETY: the device is live.
                unsafe { device.RemoveDevice() };
            }
            hresult
        }
        _ => hresult,
    }
}
