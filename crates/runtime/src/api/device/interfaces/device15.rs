//! `ID3D12Device15`: trim notifications, views with results, and queries that the CPU resolves.

use std::ffi::c_void;

use heapwright_d3d12::sdk_619::*;
use heapwright_d3d12::trim::*;
use heapwright_d3d12::*;
use windows_core::{GUID, HRESULT, Interface as _};

use crate::api::call;
use crate::api::device::Device_Impl;
use crate::api::methods::methods;
use crate::api::object::own;
use crate::api::query_heap::{self, QueryHeap};
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
        desc: *const D3D12_QUERY_HEAP_DESC,
        flags: D3D12_QUERY_HEAP_FLAGS,
        riid: *const GUID,
        heap: *mut *mut c_void,
    ) -> HRESULT {
        let name = "ID3D12Device15::CreateQueryHeap1";
        // SAFETY: by the COM contract, pDesc is null or points to a description.
        let desc = unsafe { call::read(desc, "pDesc") };
        let check = || {
            query_heap::check_flags(flags)?;
            desc.and_then(query_heap::check_desc)
        };
        let make = |device, desc: &_| QueryHeap::new(device, desc, flags);
        // SAFETY: by the COM contract, each pointer is null or points to what the method documents.
        answer(unsafe { self.create_child(name, riid, heap, check, make) })
    }

    unsafe fn ResolveQueryData(
        &self,
        heap: *mut c_void,
        query_type: D3D12_QUERY_TYPE,
        start: u32,
        count: u32,
        data: *mut c_void,
    ) -> HRESULT {
        answer(call::run(self.log(), "ID3D12Device15::ResolveQueryData", || {
            // SAFETY: by the COM contract, pQueryHeap is null or a live query heap.
            let heap = unsafe { ID3D12QueryHeap::from_raw_borrowed(&heap) };
            let heap = own::<QueryHeap>(self, heap, "pQueryHeap")?;
            heap.check_resolver(true)?;
            heap.check_resolved(query_type, start, count)?;
            if data.is_null() && count > 0 {
                return Err(Refusal::invalid("pResolvedQueryData is null"));
            }
            let len = u64::from(count) * query_heap::result_size(query_type);
            let len =
                usize::try_from(len).map_err(|_| Refusal::invalid("NumQueries exceeds the address space"))?;
            if len == 0 {
                return Ok(());
            }
            // Queries that were not issued and those that measure nothing have the result 0.
            // SAFETY: by the COM contract, pResolvedQueryData has space for the results of NumQueries queries.
            let results = unsafe {
                data.cast::<u8>().write_bytes(0, len);
                std::slice::from_raw_parts_mut(data.cast::<u8>(), len)
            };
            if query_type == D3D12_QUERY_TYPE_TIMESTAMP {
                for (index, result) in (start..).zip(results.chunks_exact_mut(size_of::<u64>())) {
                    result.copy_from_slice(&heap.timestamps().result(index).to_ne_bytes());
                }
            }
            Ok(())
        }))
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
    }
}
