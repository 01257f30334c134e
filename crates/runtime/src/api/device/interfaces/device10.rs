//! `ID3D12Device10` to `ID3D12Device14`.

use std::ffi::c_void;

use heapwright_d3d12::*;
use windows_core::{GUID, Ref, Result};

use crate::api::call;
use crate::api::device::Device_Impl;
use crate::api::device::creation::{
    CastableFormats, castable_to, in_layout, in_session, read_desc, read_desc1, read_descs,
};
use crate::api::methods::{calls, methods};
use crate::rules::resource::alone;

impl ID3D12Device10_Impl for Device_Impl {
    calls! {
        ID3D12Device10:
        fn CreateCommittedResource3(
            properties: *const D3D12_HEAP_PROPERTIES, heap_flags: D3D12_HEAP_FLAGS,
            desc: *const D3D12_RESOURCE_DESC1, layout: D3D12_BARRIER_LAYOUT,
            clear_value: *const D3D12_CLEAR_VALUE, session: Ref<'_, ID3D12ProtectedResourceSession>,
            format_count: u32, formats: *const DXGI_FORMAT, riid: *const GUID, ppv: *mut *mut c_void
        ) -> Result<()> = create_committed(
            properties, heap_flags,
            castable_to(
                in_session(in_layout(read_desc1(desc), layout, clear_value), session.as_ref()), format_count, formats
            ),
            (riid, ppv)
        );
        fn CreatePlacedResource2(
            heap: Ref<'_, ID3D12Heap>, offset: u64, desc: *const D3D12_RESOURCE_DESC1,
            layout: D3D12_BARRIER_LAYOUT, clear_value: *const D3D12_CLEAR_VALUE,
            format_count: u32, formats: *const DXGI_FORMAT, riid: *const GUID, ppv: *mut *mut c_void
        ) -> Result<()> = create_placed(
            heap.as_ref(), offset,
            castable_to(in_layout(read_desc1(desc), layout, clear_value), format_count, formats), (riid, ppv)
        );
        fn CreateReservedResource2(
            desc: *const D3D12_RESOURCE_DESC, layout: D3D12_BARRIER_LAYOUT,
            clear_value: *const D3D12_CLEAR_VALUE, session: Ref<'_, ID3D12ProtectedResourceSession>,
            format_count: u32, formats: *const DXGI_FORMAT, riid: *const GUID, ppv: *mut *mut c_void
        ) -> Result<()> = create_reserved(
            castable_to(
                in_session(in_layout(read_desc(desc), layout, clear_value), session.as_ref()), format_count, formats
            ),
            (riid, ppv)
        );
    }
}

impl ID3D12Device11_Impl for Device_Impl {
    fn CreateSampler2(
        &self,
        _pdesc: *const D3D12_SAMPLER_DESC2,
        _destdescriptor: &D3D12_CPU_DESCRIPTOR_HANDLE,
    ) {
        // Samplers are not stored, because nothing samples.
    }
}

impl ID3D12Device12_Impl for Device_Impl {
    calls! {
        ID3D12Device12:
        fn GetResourceAllocationInfo3(
            visible_mask: u32, count: u32, descs: *const D3D12_RESOURCE_DESC1, counts: *const u32,
            lists: *const *const DXGI_FORMAT, infos: *mut D3D12_RESOURCE_ALLOCATION_INFO1
        ) -> D3D12_RESOURCE_ALLOCATION_INFO = allocation_info(
            visible_mask, read_descs(count, descs, |desc| alone(*desc)), CastableFormats { counts, lists }, infos
        );
    }
}

impl ID3D12Device13_Impl for Device_Impl {
    calls! {
        ID3D12Device13:
        fn OpenExistingHeapFromAddress1(
            address: *const c_void, size: usize, riid: *const GUID, ppv: *mut *mut c_void
        ) -> Result<()> = open_existing_heap(address, Some(size), riid, ppv);
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
