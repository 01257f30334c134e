//! `ID3D12Device15`: trim notifications, views with results, and queries that the CPU resolves.

use std::ffi::c_void;

use heapwright_d3d12::sdk_619::*;
use heapwright_d3d12::trim::*;
use heapwright_d3d12::*;
use windows_core::{GUID, HRESULT, Interface as _};

use crate::api::call;
use crate::api::device::Device_Impl;
use crate::api::methods::{calls, methods};
use crate::api::object::own;
use crate::api::query_heap::{self, QueryHeap};
use crate::rules::Refusal;

const VIEWS: D3D12_DESCRIPTOR_HEAP_TYPE = D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV;

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
        call::code(call::run(self.log(), "ID3D12Device15::RegisterTrimNotificationCallback", || {
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

    unsafe fn ResolveQueryData(
        &self,
        heap: *mut c_void,
        query_type: D3D12_QUERY_TYPE,
        start: u32,
        count: u32,
        data: *mut c_void,
    ) -> HRESULT {
        call::code(call::run(self.log(), "ID3D12Device15::ResolveQueryData", || {
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

    calls! {
        unsafe ID3D12Device15:
        fn UnregisterTrimNotificationCallback(cookie: u32) = run(|device| {
            device.check_trim_notifications()?;
            device.trim_notifications().unregister(cookie)
        });
        fn CreateQueryHeap1(
            desc: *const D3D12_QUERY_HEAP_DESC, flags: D3D12_QUERY_HEAP_FLAGS, riid: *const GUID,
            ppv: *mut *mut c_void
        ) = create_query_heap(desc, flags, riid, ppv);
        fn TryCreateShaderResourceView(
            resource: *mut c_void, desc: *const D3D12_SHADER_RESOURCE_VIEW_DESC, at: D3D12_CPU_DESCRIPTOR_HANDLE
        ) = write_descriptor(at, VIEWS, |device| {
            device.shader_resource_view(ID3D12Resource::from_raw_borrowed(&resource), desc)
        });
        fn TryCreateUnorderedAccessView(
            resource: *mut c_void, counter: *mut c_void, desc: *const D3D12_UNORDERED_ACCESS_VIEW_DESC,
            at: D3D12_CPU_DESCRIPTOR_HANDLE
        ) = write_descriptor(at, VIEWS, |device| {
            let [resource, counter] = [&resource, &counter].map(|object| ID3D12Resource::from_raw_borrowed(object));
            device.unordered_access_view(resource, counter, desc)
        });
        fn TryCreateConstantBufferView(
            desc: *const D3D12_CONSTANT_BUFFER_VIEW_DESC, at: D3D12_CPU_DESCRIPTOR_HANDLE
        ) = write_descriptor(at, VIEWS, |device| device.constant_buffer_view(desc));
        // Samplers are not stored, because nothing samples.
        fn TryCreateSampler2(_desc: *const D3D12_SAMPLER_DESC2, at: D3D12_CPU_DESCRIPTOR_HANDLE) = run(|device| {
            let heap_type = D3D12_DESCRIPTOR_HEAP_TYPE_SAMPLER;
            device.descriptor_heaps().find_in(at, heap_type, "DestDescriptor").map(drop)
        });
        fn TryCreateRenderTargetView(
            resource: *mut c_void, desc: *const D3D12_RENDER_TARGET_VIEW_DESC, at: D3D12_CPU_DESCRIPTOR_HANDLE
        ) = write_descriptor(at, D3D12_DESCRIPTOR_HEAP_TYPE_RTV, |device| {
            device.render_target_view(ID3D12Resource::from_raw_borrowed(&resource), desc)
        });
        fn TryCreateDepthStencilView(
            resource: *mut c_void, desc: *const D3D12_DEPTH_STENCIL_VIEW_DESC, at: D3D12_CPU_DESCRIPTOR_HANDLE
        ) = write_descriptor(at, D3D12_DESCRIPTOR_HEAP_TYPE_DSV, |device| {
            device.depth_stencil_view(ID3D12Resource::from_raw_borrowed(&resource), desc)
        });
    }

    methods! {
        ID3D12Device15, |device, name| call::code(call::not_implemented(device.log(), name));
        [unsafe] fn TryCreateSamplerFeedbackUnorderedAccessView(
            *mut c_void, *mut c_void, D3D12_CPU_DESCRIPTOR_HANDLE
        ) -> HRESULT;
    }
}
