//! `ID3D12Device10` to `ID3D12Device14`.

use std::ffi::c_void;

use heapwright_d3d12::*;
use windows_core::{GUID, Ref, Result};

use crate::api::call;
use crate::api::device::Device_Impl;
use crate::api::device::creation::{
    CastableFormats, Initial, ResourceRequest, read_desc, read_desc1, read_descs, read_formats,
};
use crate::api::methods::methods;

impl ID3D12Device10_Impl for Device_Impl {
    fn CreateCommittedResource3(
        &self,
        pheapproperties: *const D3D12_HEAP_PROPERTIES,
        heapflags: D3D12_HEAP_FLAGS,
        pdesc: *const D3D12_RESOURCE_DESC1,
        initiallayout: D3D12_BARRIER_LAYOUT,
        poptimizedclearvalue: *const D3D12_CLEAR_VALUE,
        pprotectedsession: Ref<'_, ID3D12ProtectedResourceSession>,
        numcastableformats: u32,
        pcastableformats: *const DXGI_FORMAT,
        riidresource: *const GUID,
        ppvresource: *mut *mut c_void,
    ) -> Result<()> {
        // SAFETY: by the COM contract pDesc is null or points to a description, and the formats are as many as counted.
        let (desc, formats) =
            unsafe { (read_desc1(pdesc), read_formats(numcastableformats, pcastableformats)) };
        let desc = formats.clone().and(desc);
        let initial = Initial::Layout(initiallayout);
        let request = ResourceRequest {
            protected_session: pprotectedsession.as_ref(),
            castable_formats: formats.unwrap_or_default(),
            ..ResourceRequest::new(desc, initial, poptimizedclearvalue, riidresource, ppvresource)
        };
        let name = "ID3D12Device10::CreateCommittedResource3";
        // SAFETY: by the COM contract the pointers are null or point to what the method says.
        unsafe { self.create_committed_resource(name, pheapproperties, heapflags, &request) }
    }

    fn CreatePlacedResource2(
        &self,
        pheap: Ref<'_, ID3D12Heap>,
        heapoffset: u64,
        pdesc: *const D3D12_RESOURCE_DESC1,
        initiallayout: D3D12_BARRIER_LAYOUT,
        poptimizedclearvalue: *const D3D12_CLEAR_VALUE,
        numcastableformats: u32,
        pcastableformats: *const DXGI_FORMAT,
        riid: *const GUID,
        ppvresource: *mut *mut c_void,
    ) -> Result<()> {
        // SAFETY: by the COM contract pDesc is null or points to a description, and the formats are as many as counted.
        let (desc, formats) =
            unsafe { (read_desc1(pdesc), read_formats(numcastableformats, pcastableformats)) };
        let desc = formats.clone().and(desc);
        let initial = Initial::Layout(initiallayout);
        let request = ResourceRequest {
            castable_formats: formats.unwrap_or_default(),
            ..ResourceRequest::new(desc, initial, poptimizedclearvalue, riid, ppvresource)
        };
        // SAFETY: by the COM contract the pointers are null or point to what the method says.
        unsafe {
            self.create_placed_resource("ID3D12Device10::CreatePlacedResource2", pheap, heapoffset, &request)
        }
    }

    fn CreateReservedResource2(
        &self,
        pdesc: *const D3D12_RESOURCE_DESC,
        initiallayout: D3D12_BARRIER_LAYOUT,
        poptimizedclearvalue: *const D3D12_CLEAR_VALUE,
        pprotectedsession: Ref<'_, ID3D12ProtectedResourceSession>,
        numcastableformats: u32,
        pcastableformats: *const DXGI_FORMAT,
        riid: *const GUID,
        ppvresource: *mut *mut c_void,
    ) -> Result<()> {
        // SAFETY: by the COM contract pDesc is null or points to a description, and the formats are as many as counted.
        let (desc, formats) =
            unsafe { (read_desc(pdesc), read_formats(numcastableformats, pcastableformats)) };
        let desc = formats.clone().and(desc);
        let initial = Initial::Layout(initiallayout);
        let request = ResourceRequest {
            protected_session: pprotectedsession.as_ref(),
            castable_formats: formats.unwrap_or_default(),
            ..ResourceRequest::new(desc, initial, poptimizedclearvalue, riid, ppvresource)
        };
        // SAFETY: by the COM contract the pointers are null or point to what the method says.
        unsafe { self.create_reserved_resource("ID3D12Device10::CreateReservedResource2", &request) }
    }
}

impl ID3D12Device11_Impl for Device_Impl {
    fn CreateSampler2(
        &self,
        _pdesc: *const D3D12_SAMPLER_DESC2,
        _destdescriptor: &D3D12_CPU_DESCRIPTOR_HANDLE,
    ) {
        // Nothing samples.
    }
}

impl ID3D12Device12_Impl for Device_Impl {
    fn GetResourceAllocationInfo3(
        &self,
        visiblemask: u32,
        numresourcedescs: u32,
        presourcedescs: *const D3D12_RESOURCE_DESC1,
        pnumcastableformats: *const u32,
        ppcastableformats: *const *const DXGI_FORMAT,
        presourceallocationinfo1: *mut D3D12_RESOURCE_ALLOCATION_INFO1,
    ) -> D3D12_RESOURCE_ALLOCATION_INFO {
        let castable = CastableFormats { counts: pnumcastableformats, lists: ppcastableformats };
        // SAFETY: by the COM contract the arrays have that many elements, all but the first may be null.
        unsafe {
            let descs = read_descs(numresourcedescs, presourcedescs, |desc| *desc);
            let name = "ID3D12Device12::GetResourceAllocationInfo3";
            self.allocation_info(name, visiblemask, descs, castable, presourceallocationinfo1)
        }
    }
}

impl ID3D12Device13_Impl for Device_Impl {
    methods! {
        ID3D12Device13, |device, name| call::not_implemented(device.log(), name);
        fn OpenExistingHeapFromAddress1(*const c_void, usize, *const GUID, *mut *mut c_void) -> Result<()>;
    }
}

impl ID3D12Device14_Impl for Device_Impl {
    methods! {
        ID3D12Device14, |device, name| call::not_implemented(device.log(), name);
        fn CreateRootSignatureFromSubobjectInLibrary(
            u32, *const c_void, usize, &PCWSTR, *const GUID, *mut *mut c_void
        ) -> Result<()>;
    }
}
