//! A device's `IHeapwrightAliasing` with replaced methods.

use std::ffi::c_void;

use heapwright_d3d12::aliasing::*;
use heapwright_d3d12::{ID3D12Device, S_OK};
use windows_core::{HRESULT, Interface};

use crate::intercept::{behind, intercept};
use crate::lies::Lies;

/// Makes a device tell lies about aliasing, if it has a tracker.
pub(crate) fn intercept_device(device: &ID3D12Device, lies: &'static Lies) {
    let Ok(tracker) = device.cast::<IHeapwrightAliasing>() else { return };
    intercept(&tracker, lies, |table| {
        table.SetTracking = set_tracking;
        table.GetViolationCount = violation_count;
        table.GetViolation = violation;
        table.GetContents = contents;
    });
}

// The methods below are only in the tables of intercepted devices. They pass their arguments on unchanged
// or as a lie changed them, and have the contracts of the original methods.

unsafe extern "system" fn set_tracking(
    this: *mut c_void,
    tracking: *const HEAPWRIGHT_ALIASING_TRACKING,
) -> HRESULT {
    // SAFETY: the contract of the original method; tracking is null or points to the structure.
    unsafe {
        let (lies, table) = behind::<IHeapwrightAliasing_Vtbl>(this);
        let mut changed = tracking.as_ref().copied();
        if let (Some(lie), Some(tracking)) = (lies.tracking, changed.as_mut()) {
            lie(tracking);
        }
        let pointer = changed.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        (table.SetTracking)(this, pointer)
    }
}

unsafe extern "system" fn violation_count(this: *mut c_void) -> u64 {
    // SAFETY: the caller upholds the contract of the original method.
    unsafe {
        let (lies, table) = behind::<IHeapwrightAliasing_Vtbl>(this);
        if lies.hides_violations { 0 } else { (table.GetViolationCount)(this) }
    }
}

unsafe extern "system" fn violation(
    this: *mut c_void,
    index: u64,
    out: *mut HEAPWRIGHT_ALIASING_VIOLATION,
) -> HRESULT {
    // SAFETY: the contract of the original method; after success, the structure is written.
    unsafe {
        let (lies, table) = behind::<IHeapwrightAliasing_Vtbl>(this);
        let hresult = (table.GetViolation)(this, index, out);
        if let (Some(lie), Some(found)) = (lies.violation.filter(|_| hresult == S_OK), out.as_mut()) {
            lie(found);
        }
        hresult
    }
}

unsafe extern "system" fn contents(
    this: *mut c_void,
    resource: *mut c_void,
    unit: u32,
    out: *mut HEAPWRIGHT_ALIASING_CONTENTS,
) -> HRESULT {
    // SAFETY: the contract of the original method; after success, the number is written.
    unsafe {
        let (lies, table) = behind::<IHeapwrightAliasing_Vtbl>(this);
        let hresult = (table.GetContents)(this, resource, unit, out);
        if let (Some(lie), Some(found)) = (lies.contents.filter(|_| hresult == S_OK), out.as_mut()) {
            *found = lie;
        }
        hresult
    }
}
