//! `ID3D12Device15`: trim notifications. Its other methods are not there.

use std::ffi::c_void;

use heapwright_d3d12::trim::*;
use heapwright_d3d12::*;
use windows_core::{GUID, HRESULT};

use crate::api::call;
use crate::api::device::Device_Impl;
use crate::rules::Refusal;

/// The result of a call as the method table has it.
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

    fn no_device15(&self, name: &'static str) -> HRESULT {
        answer(call::not_implemented(self.log(), name))
    }
}

impl ID3D12Device15_Impl for Device_Impl {
    unsafe fn RegisterTrimNotificationCallback(
        &self,
        data: *mut D3D12_REGISTER_TRIM_NOTIFICATION,
    ) -> HRESULT {
        answer(call::run(self.log(), "ID3D12Device15::RegisterTrimNotificationCallback", || {
            // SAFETY: by the COM contract pData is null or points to a registration.
            let data = unsafe { data.as_mut() }.ok_or_else(|| Refusal::invalid("pData is null"))?;
            // As the specification has it for a registration that fails.
            data.CallbackCookie = 0;
            self.check_trim_notifications()?;
            // SAFETY: the caller's promise.
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

    unsafe fn TryCreateShaderResourceView(
        &self,
        _resource: *mut c_void,
        _desc: *const D3D12_SHADER_RESOURCE_VIEW_DESC,
        _descriptor: D3D12_CPU_DESCRIPTOR_HANDLE,
    ) -> HRESULT {
        self.no_device15("ID3D12Device15::TryCreateShaderResourceView")
    }

    unsafe fn TryCreateUnorderedAccessView(
        &self,
        _resource: *mut c_void,
        _counter: *mut c_void,
        _desc: *const D3D12_UNORDERED_ACCESS_VIEW_DESC,
        _descriptor: D3D12_CPU_DESCRIPTOR_HANDLE,
    ) -> HRESULT {
        self.no_device15("ID3D12Device15::TryCreateUnorderedAccessView")
    }

    unsafe fn TryCreateConstantBufferView(
        &self,
        _desc: *const D3D12_CONSTANT_BUFFER_VIEW_DESC,
        _descriptor: D3D12_CPU_DESCRIPTOR_HANDLE,
    ) -> HRESULT {
        self.no_device15("ID3D12Device15::TryCreateConstantBufferView")
    }

    unsafe fn TryCreateSampler2(
        &self,
        _desc: *const D3D12_SAMPLER_DESC2,
        _descriptor: D3D12_CPU_DESCRIPTOR_HANDLE,
    ) -> HRESULT {
        self.no_device15("ID3D12Device15::TryCreateSampler2")
    }

    unsafe fn TryCreateRenderTargetView(
        &self,
        _resource: *mut c_void,
        _desc: *const D3D12_RENDER_TARGET_VIEW_DESC,
        _descriptor: D3D12_CPU_DESCRIPTOR_HANDLE,
    ) -> HRESULT {
        self.no_device15("ID3D12Device15::TryCreateRenderTargetView")
    }

    unsafe fn TryCreateDepthStencilView(
        &self,
        _resource: *mut c_void,
        _desc: *const D3D12_DEPTH_STENCIL_VIEW_DESC,
        _descriptor: D3D12_CPU_DESCRIPTOR_HANDLE,
    ) -> HRESULT {
        self.no_device15("ID3D12Device15::TryCreateDepthStencilView")
    }

    unsafe fn TryCreateSamplerFeedbackUnorderedAccessView(
        &self,
        _targeted: *mut c_void,
        _feedback: *mut c_void,
        _descriptor: D3D12_CPU_DESCRIPTOR_HANDLE,
    ) -> HRESULT {
        self.no_device15("ID3D12Device15::TryCreateSamplerFeedbackUnorderedAccessView")
    }

    unsafe fn CreateQueryHeap1(
        &self,
        _desc: *const D3D12_QUERY_HEAP_DESC,
        _flags: D3D12_QUERY_HEAP_FLAGS,
        _riid: *const GUID,
        heap: *mut *mut c_void,
    ) -> HRESULT {
        // SAFETY: the COM contract gives null or a pointer to writable space for one pointer.
        unsafe { call::clear(heap) };
        self.no_device15("ID3D12Device15::CreateQueryHeap1")
    }

    unsafe fn ResolveQueryData(
        &self,
        _heap: *mut c_void,
        _query_type: D3D12_QUERY_TYPE,
        _start: u32,
        _count: u32,
        _data: *mut c_void,
    ) -> HRESULT {
        self.no_device15("ID3D12Device15::ResolveQueryData")
    }
}
