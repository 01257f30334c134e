//! `ID3D12Device15`: trim notifications. Its other methods are not implemented.

use std::ffi::c_void;

use heapwright_d3d12::trim::*;
use heapwright_d3d12::*;
use windows_core::{GUID, HRESULT};

use crate::api::call;
use crate::api::device::Device_Impl;
use crate::api::methods::methods;
use crate::rules::Refusal;

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

    methods! {
        ID3D12Device15, |device, name| answer(call::not_implemented(device.log(), name));
        [unsafe] fn TryCreateShaderResourceView(
            *mut c_void, *const D3D12_SHADER_RESOURCE_VIEW_DESC, D3D12_CPU_DESCRIPTOR_HANDLE
        ) -> HRESULT;
        [unsafe] fn TryCreateUnorderedAccessView(
            *mut c_void, *mut c_void, *const D3D12_UNORDERED_ACCESS_VIEW_DESC, D3D12_CPU_DESCRIPTOR_HANDLE
        ) -> HRESULT;
        [unsafe] fn TryCreateConstantBufferView(
            *const D3D12_CONSTANT_BUFFER_VIEW_DESC, D3D12_CPU_DESCRIPTOR_HANDLE
        ) -> HRESULT;
        [unsafe] fn TryCreateSampler2(*const D3D12_SAMPLER_DESC2, D3D12_CPU_DESCRIPTOR_HANDLE) -> HRESULT;
        [unsafe] fn TryCreateRenderTargetView(
            *mut c_void, *const D3D12_RENDER_TARGET_VIEW_DESC, D3D12_CPU_DESCRIPTOR_HANDLE
        ) -> HRESULT;
        [unsafe] fn TryCreateDepthStencilView(
            *mut c_void, *const D3D12_DEPTH_STENCIL_VIEW_DESC, D3D12_CPU_DESCRIPTOR_HANDLE
        ) -> HRESULT;
        [unsafe] fn TryCreateSamplerFeedbackUnorderedAccessView(
            *mut c_void, *mut c_void, D3D12_CPU_DESCRIPTOR_HANDLE
        ) -> HRESULT;
        [unsafe] fn ResolveQueryData(*mut c_void, D3D12_QUERY_TYPE, u32, u32, *mut c_void) -> HRESULT;
    }
}
