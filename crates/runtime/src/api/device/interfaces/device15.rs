//! `ID3D12Device15`: trim notifications, views with results, and queries that the CPU resolves.

use std::ffi::c_void;

use heapwright_d3d12::sdk_619::*;
use heapwright_d3d12::trim::*;
use heapwright_d3d12::*;
use windows_core::{GUID, HRESULT, Interface as _};

use crate::api::call;
use crate::api::device::Device_Impl;
use crate::api::methods::methods;
use crate::rules::Refusal;

const VIEWS: D3D12_DESCRIPTOR_HEAP_TYPE = D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV;

/// Converts a result to an HRESULT, as this method table requires.
fn answer(result: windows_core::Result<()>) -> HRESULT {
    result.map_or_else(|error| error.code(), |()| S_OK)
}

impl Device_Impl {
    fn check_trim_notifications(&self) -> Result<(), Refusal> {
        if self.driver().caps().trim_notifications {
            return Ok(());
        }
        Err(Refusal::not_implemented("trim notifications on this adapter"))
    }
}

impl ID3D12Device15_Impl for Device_Impl {
    unsafe fn RegisterTrimNotificationCallback(
        &self,
        data: *mut D3D12_REGISTER_TRIM_NOTIFICATION,
    ) -> HRESULT {
        answer(call::run(self.log(), "ID3D12Device15::RegisterTrimNotificationCallback", || {
            // SAFETY: by the COM contract, pData is null or points to a registration.
            let data = unsafe { data.as_mut() }.ok_or_else(|| Refusal::invalid("pData is null"))?;
            // Required by the specification for a failed registration.
            data.CallbackCookie = 0;
            self.check_trim_notifications()?;
            // SAFETY: guaranteed by the caller.
            data.CallbackCookie = unsafe { self.trim_notifications().register(data) }?;
            Ok(())
        }))
    }

    unsafe fn UnregisterTrimNotificationCallback(&self, cookie: u32) -> HRESULT {
        answer(call::run(self.log(), "ID3D12Device15::UnregisterTrimNotificationCallback", || {
            self.check_trim_notifications()?;
            self.trim_notifications().unregister(cookie)
        }))
    }

    unsafe fn CreateQueryHeap1(
        &self,
        _desc: *const D3D12_QUERY_HEAP_DESC,
        _flags: D3D12_QUERY_HEAP_FLAGS,
        _riid: *const GUID,
        heap: *mut *mut c_void,
    ) -> HRESULT {
        // SAFETY: by the COM contract, the pointer is null or points to writable space for one pointer.
        unsafe { call::clear(heap) };
        answer(call::not_implemented(self.log(), "ID3D12Device15::CreateQueryHeap1"))
    }

    unsafe fn TryCreateShaderResourceView(
        &self,
        resource: *mut c_void,
        desc: *const D3D12_SHADER_RESOURCE_VIEW_DESC,
        descriptor: D3D12_CPU_DESCRIPTOR_HANDLE,
    ) -> HRESULT {
        let name = "ID3D12Device15::TryCreateShaderResourceView";
        // SAFETY: by the COM contract, pResource is null or a live COM object, and pDesc null or a description.
        answer(self.write_descriptor(name, descriptor, VIEWS, || unsafe {
            self.shader_resource_view(ID3D12Resource::from_raw_borrowed(&resource), desc)
        }))
    }

    unsafe fn TryCreateUnorderedAccessView(
        &self,
        resource: *mut c_void,
        counter: *mut c_void,
        desc: *const D3D12_UNORDERED_ACCESS_VIEW_DESC,
        descriptor: D3D12_CPU_DESCRIPTOR_HANDLE,
    ) -> HRESULT {
        let name = "ID3D12Device15::TryCreateUnorderedAccessView";
        // SAFETY: by the COM contract, each pointer is null or a live COM object, or null or a description.
        answer(self.write_descriptor(name, descriptor, VIEWS, || unsafe {
            let counter = ID3D12Resource::from_raw_borrowed(&counter);
            self.unordered_access_view(ID3D12Resource::from_raw_borrowed(&resource), counter, desc)
        }))
    }

    unsafe fn TryCreateConstantBufferView(
        &self,
        desc: *const D3D12_CONSTANT_BUFFER_VIEW_DESC,
        descriptor: D3D12_CPU_DESCRIPTOR_HANDLE,
    ) -> HRESULT {
        let name = "ID3D12Device15::TryCreateConstantBufferView";
        // SAFETY: by the COM contract, pDesc is null or points to a description.
        answer(self.write_descriptor(name, descriptor, VIEWS, || unsafe { self.constant_buffer_view(desc) }))
    }

    /// Samplers are not stored, because nothing samples.
    unsafe fn TryCreateSampler2(
        &self,
        _desc: *const D3D12_SAMPLER_DESC2,
        descriptor: D3D12_CPU_DESCRIPTOR_HANDLE,
    ) -> HRESULT {
        answer(call::run(self.log(), "ID3D12Device15::TryCreateSampler2", || {
            let heap_type = D3D12_DESCRIPTOR_HEAP_TYPE_SAMPLER;
            self.descriptor_heaps().find_in(descriptor, heap_type, "DestDescriptor").map(|_| ())
        }))
    }

    unsafe fn TryCreateRenderTargetView(
        &self,
        resource: *mut c_void,
        desc: *const D3D12_RENDER_TARGET_VIEW_DESC,
        descriptor: D3D12_CPU_DESCRIPTOR_HANDLE,
    ) -> HRESULT {
        let (name, heap_type) = ("ID3D12Device15::TryCreateRenderTargetView", D3D12_DESCRIPTOR_HEAP_TYPE_RTV);
        // SAFETY: by the COM contract, pResource is null or a live COM object, and pDesc null or a description.
        answer(self.write_descriptor(name, descriptor, heap_type, || unsafe {
            self.render_target_view(ID3D12Resource::from_raw_borrowed(&resource), desc)
        }))
    }

    unsafe fn TryCreateDepthStencilView(
        &self,
        resource: *mut c_void,
        desc: *const D3D12_DEPTH_STENCIL_VIEW_DESC,
        descriptor: D3D12_CPU_DESCRIPTOR_HANDLE,
    ) -> HRESULT {
        let (name, heap_type) = ("ID3D12Device15::TryCreateDepthStencilView", D3D12_DESCRIPTOR_HEAP_TYPE_DSV);
        // SAFETY: by the COM contract, pResource is null or a live COM object, and pDesc null or a description.
        answer(self.write_descriptor(name, descriptor, heap_type, || unsafe {
            self.depth_stencil_view(ID3D12Resource::from_raw_borrowed(&resource), desc)
        }))
    }

    methods! {
        ID3D12Device15, |device, name| answer(call::not_implemented(device.log(), name));
        [unsafe] fn TryCreateSamplerFeedbackUnorderedAccessView(
            *mut c_void, *mut c_void, D3D12_CPU_DESCRIPTOR_HANDLE
        ) -> HRESULT;
        [unsafe] fn ResolveQueryData(*mut c_void, D3D12_QUERY_TYPE, u32, u32, *mut c_void) -> HRESULT;
    }
}
