//! Replacements for device methods that create views and objects other than heaps and resources.

use heapwright_d3d12::*;
use heapwright_intercept::{Methods, method};

use crate::lies::{Lies, Refused};

pub(crate) unsafe fn replace(methods: &Methods<Lies>) {
    // SAFETY: the methods are those of a device; the replacements pass on what their callers promise.
    unsafe {
        let device = methods.of::<ID3D12Device>();
        device.replace(method!(CreateQueryHeap), |call, (desc, iid, out)| {
            if call.data.refuses == Some(Refused::QueryHeaps) {
                return E_INVALIDARG;
            }
            (call.original.CreateQueryHeap)(call.this, desc, iid, out)
        });
        device.replace(method!(CreateDepthStencilView), |call, (resource, desc, target)| {
            let mut changed = desc.as_ref().copied();
            if let (Some(lie), Some(desc)) = (call.data.depth_view, changed.as_mut()) {
                lie(desc);
            }
            let desc = changed.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
            (call.original.CreateDepthStencilView)(call.this, resource, desc, target);
        });
    }
}
