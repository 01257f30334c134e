//! Replacements for device methods that create views and objects other than heaps and resources.

use std::ffi::c_void;

use heapwright_d3d12::*;
use windows_core::{GUID, HRESULT};

use crate::device::{device, one};
use crate::lies::Refused;

pub(crate) fn replace(table: &mut ID3D12Device_Vtbl) {
    table.CreateRootSignature = create_root_signature;
    table.CreateComputePipelineState = create_compute_state;
    table.CreateGraphicsPipelineState = create_graphics_state;
    table.CreateCommandSignature = create_command_signature;
    table.CreateQueryHeap = create_query_heap;
    table.CreateCommandAllocator = create_allocator;
    table.CreateDepthStencilView = create_depth_view;
}

// The methods below are only in the tables of intercepted devices. They pass their arguments on unchanged
// or as a lie changed them, and have the contracts of the original methods.

/// Defines a replacement that refuses calls as the lies require.
macro_rules! refusable {
    ($name:ident, $method:ident, $refused:expr, $($argument:ident: $type:ty),*) => {
        unsafe extern "system" fn $name(
            this: *mut c_void,
            $($argument: $type,)*
            iid: *const GUID,
            out: *mut *mut c_void,
        ) -> HRESULT {
            // SAFETY: the caller upholds the contract of the original method.
            unsafe {
                let (lies, table) = device(this);
                if lies.refuses.is_some_and(|refused| refused == $refused) {
                    return E_INVALIDARG;
                }
                (one(table).$method)(this, $($argument,)* iid, out)
            }
        }
    };
}

refusable!(
    create_root_signature, CreateRootSignature, Refused::RootSignatures,
    node_mask: u32, blob: *const c_void, len: usize
);
refusable!(
    create_compute_state, CreateComputePipelineState, Refused::ComputeStates,
    desc: *const D3D12_COMPUTE_PIPELINE_STATE_DESC
);
refusable!(
    create_graphics_state, CreateGraphicsPipelineState, Refused::GraphicsStates,
    desc: *const D3D12_GRAPHICS_PIPELINE_STATE_DESC
);
refusable!(
    create_command_signature, CreateCommandSignature, Refused::CommandSignatures,
    desc: *const D3D12_COMMAND_SIGNATURE_DESC, signature: *mut c_void
);
refusable!(
    create_query_heap, CreateQueryHeap, Refused::QueryHeaps,
    desc: *const D3D12_QUERY_HEAP_DESC
);

unsafe extern "system" fn create_allocator(
    this: *mut c_void,
    list_type: D3D12_COMMAND_LIST_TYPE,
    iid: *const GUID,
    out: *mut *mut c_void,
) -> HRESULT {
    // SAFETY: the caller upholds the contract of the original method.
    unsafe {
        let (lies, table) = device(this);
        if lies.refuses == Some(Refused::Bundles) && list_type == D3D12_COMMAND_LIST_TYPE_BUNDLE {
            return E_INVALIDARG;
        }
        (one(table).CreateCommandAllocator)(this, list_type, iid, out)
    }
}

unsafe extern "system" fn create_depth_view(
    this: *mut c_void,
    resource: *mut c_void,
    desc: *const D3D12_DEPTH_STENCIL_VIEW_DESC,
    target: D3D12_CPU_DESCRIPTOR_HANDLE,
) {
    // SAFETY: the contract of the original method; desc is null or points to a description.
    unsafe {
        let (lies, table) = device(this);
        let mut changed = desc.as_ref().copied();
        if let (Some(lie), Some(desc)) = (lies.depth_view, changed.as_mut()) {
            lie(desc);
        }
        let desc = changed.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        (one(table).CreateDepthStencilView)(this, resource, desc, target);
    }
}
