//! Replacements for methods of the tools' interfaces.

use std::cell::Cell;
use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};

use heapwright_d3d12::*;
use windows_core::{GUID, HRESULT, Interface};

use crate::device;
use crate::intercept::{behind, intercept};
use crate::lies::{Lies, Recreate};

thread_local! {
    /// The address that this thread set last; zero after an object was created.
    static LAST: Cell<u64> = const { Cell::new(0) };
}

/// The address that any thread set last, for the device that ignores threads.
static OF_ANY_THREAD: AtomicU64 = AtomicU64::new(0);

/// Makes a factory and the devices that it creates tell lies.
pub(crate) fn intercept_factory(factory: &ID3D12DeviceFactory, lies: &'static Lies) {
    intercept(factory, lies, |table| {
        table.CreateDevice = create_device;
        table.GetConfigurationInterface = configuration_interface;
    });
}

/// Makes a device's `ID3D12DeviceTools` tell lies.
pub(crate) fn intercept_tools(device: &ID3D12Device, lies: &'static Lies) {
    let tools: ID3D12DeviceTools = device.cast().expect("the runtime's devices have tools");
    intercept(&tools, lies, |table| table.SetNextAllocationAddress = set_next_address);
}

/// Makes the `ID3D12PageableTools` of a heap or a resource tell lies.
pub(crate) fn intercept_allocation(object: &impl Interface, lies: &'static Lies, is_heap: bool) {
    let tools: ID3D12PageableTools = object.cast().expect("the runtime's heaps and resources have tools");
    intercept(&tools, lies, |table| {
        table.GetAllocation = if is_heap { heap_allocation } else { resource_allocation };
    });
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
        let raw = tools.as_raw();
        let (_, original) = behind::<ID3D12DeviceTools_Vtbl>(raw);
        (original.SetNextAllocationAddress)(raw, D3D12_GPU_VIRTUAL_ADDRESS(address));
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

// The methods below are only in the tables of intercepted objects. They pass their arguments on unchanged
// or as a lie changed them, and have the contracts of the original methods.

unsafe extern "system" fn set_next_address(this: *mut c_void, address: D3D12_GPU_VIRTUAL_ADDRESS) {
    // SAFETY: the caller upholds the contract of the original method.
    unsafe {
        let (lies, original) = behind::<ID3D12DeviceTools_Vtbl>(this);
        let address = match lies.recreate {
            Some(Recreate::NextAddress(lie)) => lie(address.0),
            _ => address.0,
        };
        LAST.set(address);
        OF_ANY_THREAD.store(address, Ordering::Relaxed);
        (original.SetNextAllocationAddress)(this, D3D12_GPU_VIRTUAL_ADDRESS(address));
    }
}

unsafe extern "system" fn heap_allocation(
    this: *mut c_void,
    out: *mut D3D12_GPU_VIRTUAL_ADDRESS_RANGE,
) -> HRESULT {
    // SAFETY: the caller upholds the contract of the original method.
    unsafe {
        let (lies, original) = behind::<ID3D12PageableTools_Vtbl>(this);
        let hresult = (original.GetAllocation)(this, out);
        if let (S_OK, Some(Recreate::HeapAllocation(lie))) = (hresult, lies.recreate) {
            lie(&mut *out);
        }
        hresult
    }
}

unsafe extern "system" fn resource_allocation(
    this: *mut c_void,
    out: *mut D3D12_GPU_VIRTUAL_ADDRESS_RANGE,
) -> HRESULT {
    // SAFETY: the caller upholds the contract of the original method.
    unsafe {
        let (lies, original) = behind::<ID3D12PageableTools_Vtbl>(this);
        let hresult = (original.GetAllocation)(this, out);
        if let (S_OK, Some(Recreate::ResourceAllocation(lie))) = (hresult, lies.recreate) {
            lie(&mut *out);
        }
        hresult
    }
}

unsafe extern "system" fn create_device(
    this: *mut c_void,
    adapter: *mut c_void,
    level: D3D_FEATURE_LEVEL,
    iid: *const GUID,
    out: *mut *mut c_void,
) -> HRESULT {
    // SAFETY: the contract of the original method; after success, out is null or points to a device.
    unsafe {
        let (lies, original) = behind::<ID3D12DeviceFactory_Vtbl>(this);
        let hresult = (original.CreateDevice)(this, adapter, level, iid, out);
        if hresult == S_OK
            && let Some(device) = out.as_ref().and_then(|raw| ID3D12Device::from_raw_borrowed(raw))
        {
            device::intercept_device(device, lies);
        }
        let factory = ID3D12DeviceFactory::from_raw_borrowed(&this);
        if let (Some(Recreate::UsesUp), Some(factory)) = (lies.recreate, factory) {
            let tools = factory.GetConfigurationInterface::<ID3D12Tools1>(&CLSID_D3D12Tools);
            tools.expect("the runtime's factories have tools").ClearReservedGPUVARangesList();
        }
        hresult
    }
}

unsafe extern "system" fn configuration_interface(
    this: *mut c_void,
    class: *const GUID,
    iid: *const GUID,
    out: *mut *mut c_void,
) -> HRESULT {
    // SAFETY: the contract of the original method; after success, out points to an interface.
    unsafe {
        let (lies, original) = behind::<ID3D12DeviceFactory_Vtbl>(this);
        let hresult = (original.GetConfigurationInterface)(this, class, iid, out);
        if hresult == S_OK
            && let Some(made) = windows_core::IUnknown::from_raw_borrowed(&*out)
            && let Ok(tools) = made.cast::<ID3D12Tools1>()
        {
            intercept(&tools, lies, |table| {
                table.ReserveGPUVARangesAtCreate = reserve_ranges;
                table.ClearReservedGPUVARangesList = clear_ranges;
            });
        }
        hresult
    }
}

unsafe extern "system" fn reserve_ranges(
    this: *mut c_void,
    ranges: *const D3D12_GPU_VIRTUAL_ADDRESS_RANGE,
    count: u32,
) -> HRESULT {
    // SAFETY: the contract of the original method; the suite passes an array of `count` ranges.
    unsafe {
        let (lies, original) = behind::<ID3D12Tools1_Vtbl>(this);
        match lies.recreate {
            Some(Recreate::Ranges(lie)) if count > 0 => {
                let len = usize::try_from(count).unwrap_or(0);
                let mut changed = std::slice::from_raw_parts(ranges, len).to_vec();
                lie(&mut changed);
                let count = u32::try_from(changed.len()).expect("few");
                (original.ReserveGPUVARangesAtCreate)(this, changed.as_ptr(), count)
            }
            Some(Recreate::Replaces) => {
                (original.ClearReservedGPUVARangesList)(this);
                (original.ReserveGPUVARangesAtCreate)(this, ranges, count)
            }
            _ => (original.ReserveGPUVARangesAtCreate)(this, ranges, count),
        }
    }
}

unsafe extern "system" fn clear_ranges(this: *mut c_void) {
    // SAFETY: the caller upholds the contract of the original method.
    unsafe {
        let (lies, original) = behind::<ID3D12Tools1_Vtbl>(this);
        if !matches!(lies.recreate, Some(Recreate::KeepsList)) {
            (original.ClearReservedGPUVARangesList)(this);
        }
    }
}
