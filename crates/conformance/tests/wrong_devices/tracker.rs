//! A device's `IHeapwrightAliasing` with replaced methods.

use heapwright_d3d12::aliasing::*;
use heapwright_d3d12::{ID3D12Device, S_OK};
use heapwright_intercept::{intercept, method};
use windows_core::Interface;

use crate::lies::Lies;

/// Makes a device tell lies about aliasing, if it has a tracker.
pub(crate) fn intercept_device(device: &ID3D12Device, lies: &'static Lies) {
    let Ok(tracker) = device.cast::<IHeapwrightAliasing>() else { return };
    // SAFETY: this is the newest interface of its chain, and nobody else uses a fresh device. The replacements
    // pass on what their callers promise.
    unsafe {
        intercept(&tracker, lies, |methods| {
            let tracker = methods.of::<IHeapwrightAliasing>();
            tracker.replace(method!(SetTracking), |call, (tracking,)| {
                let mut changed = tracking.as_ref().copied();
                if let (Some(lie), Some(tracking)) = (call.data.tracking, changed.as_mut()) {
                    lie(tracking);
                }
                let pointer = changed.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
                (call.original.SetTracking)(call.this, pointer)
            });
            tracker.replace(method!(GetViolationCount), |call, ()| {
                if call.data.hides_violations { 0 } else { (call.original.GetViolationCount)(call.this) }
            });
            tracker.replace(method!(GetViolation), |call, (index, out)| {
                let hresult = (call.original.GetViolation)(call.this, index, out);
                if let (Some(lie), Some(found)) =
                    (call.data.violation.filter(|_| hresult == S_OK), out.as_mut())
                {
                    lie(found);
                }
                hresult
            });
            tracker.replace(method!(GetContents), |call, (resource, unit, out)| {
                let hresult = (call.original.GetContents)(call.this, resource, unit, out);
                if let (Some(lie), Some(found)) =
                    (call.data.contents.filter(|_| hresult == S_OK), out.as_mut())
                {
                    *found = lie;
                }
                hresult
            });
        });
    }
}
