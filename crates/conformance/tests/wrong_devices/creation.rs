//! Replacements for device methods that create views and objects other than heaps and resources.

use heapwright_d3d12::*;
use heapwright_intercept::{Methods, method};

use crate::lies::{Lies, Refused};

/// Makes a creation call fail if the lies refuse it.
macro_rules! refuse {
    ($device:ident.$method:ident($($argument:ident),*), $refused:ident) => {
        $device.replace(method!($method), |call, ($($argument,)* iid, out)| {
            if call.data.refuses == Some(Refused::$refused) {
                return E_INVALIDARG;
            }
            (call.original.$method)(call.this, $($argument,)* iid, out)
        })
    };
}

pub(crate) unsafe fn replace(methods: &Methods<Lies>) {
    // SAFETY: the methods are those of a device; the replacements pass on what their callers promise.
    unsafe {
        let device = methods.of::<ID3D12Device>();
        refuse!(device.CreateRootSignature(node_mask, blob, len), RootSignatures);
        refuse!(device.CreateComputePipelineState(desc), ComputeStates);
        refuse!(device.CreateGraphicsPipelineState(desc), GraphicsStates);
        refuse!(device.CreateCommandSignature(desc, signature), CommandSignatures);
        refuse!(device.CreateQueryHeap(desc), QueryHeaps);
        device.replace(method!(CreateCommandAllocator), |call, (list_type, iid, out)| {
            if call.data.refuses == Some(Refused::Bundles) && list_type == D3D12_COMMAND_LIST_TYPE_BUNDLE {
                return E_INVALIDARG;
            }
            (call.original.CreateCommandAllocator)(call.this, list_type, iid, out)
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
