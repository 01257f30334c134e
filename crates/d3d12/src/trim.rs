//! `ID3D12Device15` and its trim notifications, which the metadata of the generated bindings lacks.
//!
//! Written by hand after the header d3d12.h of DirectX-Headers v1.619 (D3D12_SDK_VERSION 619): names, identifier, the order of
//! the methods and the layout of the structures are that header's. DirectX-Specs, *D3D12 Periodic Trim Notifications*, says what
//! the calls do. It goes once the metadata has the interface.
#![expect(
    missing_docs,
    non_camel_case_types,
    non_snake_case,
    reason = "the names are D3D12's, and what windows-interface expands to is its own"
)]

use std::ffi::c_void;

use windows_core::{GUID, HRESULT, interface};

use crate::*;

/// What a trim notification asks for; bits.
pub type D3D12_TRIM_NOTIFICATION_FLAGS = i32;
/// Nothing.
pub const D3D12_TRIM_NOTIFICATION_FLAG_NONE: D3D12_TRIM_NOTIFICATION_FLAGS = 0;
/// Trim what was not used since the last periodic trim.
pub const D3D12_TRIM_NOTIFICATION_FLAG_PERIODIC_TRIM: D3D12_TRIM_NOTIFICATION_FLAGS = 1;
/// Begin a period anew without trimming; never together with `PERIODIC_TRIM`.
pub const D3D12_TRIM_NOTIFICATION_FLAG_RESTART_PERIODIC_TRIM: D3D12_TRIM_NOTIFICATION_FLAGS = 2;
/// Trim `NumBytesToTrim` bytes, by which usage is above the budget.
pub const D3D12_TRIM_NOTIFICATION_FLAG_TRIM_TO_BUDGET: D3D12_TRIM_NOTIFICATION_FLAGS = 4;

/// `D3D12_QUERY_HEAP_FLAGS` of `CreateQueryHeap1`; bits.
pub type D3D12_QUERY_HEAP_FLAGS = i32;

/// What a callback is told.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct D3D12_TRIM_NOTIFICATION {
    /// The context of the registration.
    pub pContext: *mut c_void,
    /// What is asked for.
    pub Flags: D3D12_TRIM_NOTIFICATION_FLAGS,
    /// Bytes, with `TRIM_TO_BUDGET`.
    pub NumBytesToTrim: u64,
}

/// A function of the application that is told when trimming is advisable, on any thread.
pub type D3D12_PFN_TRIM_NOTIFICATION_CALLBACK =
    Option<unsafe extern "system" fn(notification: *const D3D12_TRIM_NOTIFICATION)>;

/// A registration.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct D3D12_REGISTER_TRIM_NOTIFICATION {
    /// Who is told.
    pub pfnCallback: D3D12_PFN_TRIM_NOTIFICATION_CALLBACK,
    /// Handed to the callback.
    pub pContext: *mut c_void,
    /// Written by the call: names the registration. Zero is a cookie as any other.
    pub CallbackCookie: u32,
}

/// The device of Agility SDK 1.619.
///
/// The `TryCreate` methods, `CreateQueryHeap1` and `ResolveQueryData` are there for their places in the method table.
#[interface("76cff76f-1e9b-4450-8cdc-34f1af788e5b")]
pub unsafe trait ID3D12Device15: ID3D12Device14 {
    /// Registers a callback for trim notifications.
    pub fn RegisterTrimNotificationCallback(&self, data: *mut D3D12_REGISTER_TRIM_NOTIFICATION) -> HRESULT;
    /// Ends a registration.
    pub fn UnregisterTrimNotificationCallback(&self, cookie: u32) -> HRESULT;
    /// `CreateShaderResourceView` with a result. Interfaces here and below are raw: null or live COM objects.
    pub fn TryCreateShaderResourceView(
        &self,
        resource: *mut c_void,
        desc: *const D3D12_SHADER_RESOURCE_VIEW_DESC,
        descriptor: D3D12_CPU_DESCRIPTOR_HANDLE,
    ) -> HRESULT;
    /// `CreateUnorderedAccessView` with a result.
    pub fn TryCreateUnorderedAccessView(
        &self,
        resource: *mut c_void,
        counter: *mut c_void,
        desc: *const D3D12_UNORDERED_ACCESS_VIEW_DESC,
        descriptor: D3D12_CPU_DESCRIPTOR_HANDLE,
    ) -> HRESULT;
    /// `CreateConstantBufferView` with a result.
    pub fn TryCreateConstantBufferView(
        &self,
        desc: *const D3D12_CONSTANT_BUFFER_VIEW_DESC,
        descriptor: D3D12_CPU_DESCRIPTOR_HANDLE,
    ) -> HRESULT;
    /// `CreateSampler2` with a result.
    pub fn TryCreateSampler2(
        &self,
        desc: *const D3D12_SAMPLER_DESC2,
        descriptor: D3D12_CPU_DESCRIPTOR_HANDLE,
    ) -> HRESULT;
    /// `CreateRenderTargetView` with a result.
    pub fn TryCreateRenderTargetView(
        &self,
        resource: *mut c_void,
        desc: *const D3D12_RENDER_TARGET_VIEW_DESC,
        descriptor: D3D12_CPU_DESCRIPTOR_HANDLE,
    ) -> HRESULT;
    /// `CreateDepthStencilView` with a result.
    pub fn TryCreateDepthStencilView(
        &self,
        resource: *mut c_void,
        desc: *const D3D12_DEPTH_STENCIL_VIEW_DESC,
        descriptor: D3D12_CPU_DESCRIPTOR_HANDLE,
    ) -> HRESULT;
    /// `CreateSamplerFeedbackUnorderedAccessView` with a result.
    pub fn TryCreateSamplerFeedbackUnorderedAccessView(
        &self,
        targeted: *mut c_void,
        feedback: *mut c_void,
        descriptor: D3D12_CPU_DESCRIPTOR_HANDLE,
    ) -> HRESULT;
    /// A query heap with flags.
    pub fn CreateQueryHeap1(
        &self,
        desc: *const D3D12_QUERY_HEAP_DESC,
        flags: D3D12_QUERY_HEAP_FLAGS,
        riid: *const GUID,
        heap: *mut *mut c_void,
    ) -> HRESULT;
    /// Resolves queries on the CPU.
    pub fn ResolveQueryData(
        &self,
        heap: *mut c_void,
        query_type: D3D12_QUERY_TYPE,
        start: u32,
        count: u32,
        data: *mut c_void,
    ) -> HRESULT;
}

// SAFETY: devices are free-threaded (`threading`).
unsafe impl Send for ID3D12Device15 {}
// SAFETY: as above.
unsafe impl Sync for ID3D12Device15 {}

#[cfg(test)]
mod tests {
    use std::mem::{offset_of, size_of};

    use windows_core::Interface;

    use super::*;

    #[test]
    fn the_layout_is_the_headers() {
        assert_eq!(ID3D12Device15::IID, GUID::from_u128(0x76cff76f_1e9b_4450_8cdc_34f1af788e5b));
        let word = size_of::<usize>();
        assert_eq!(size_of::<ID3D12Device15_Vtbl>(), size_of::<ID3D12Device14_Vtbl>() + 11 * word);
        let first = size_of::<ID3D12Device14_Vtbl>();
        assert_eq!(offset_of!(ID3D12Device15_Vtbl, RegisterTrimNotificationCallback), first);
        assert_eq!(offset_of!(ID3D12Device15_Vtbl, UnregisterTrimNotificationCallback), first + word);
        assert_eq!(offset_of!(ID3D12Device15_Vtbl, ResolveQueryData), first + 10 * word);
        if word == 8 {
            assert_eq!(offset_of!(D3D12_TRIM_NOTIFICATION, Flags), 8);
            assert_eq!(offset_of!(D3D12_TRIM_NOTIFICATION, NumBytesToTrim), 16);
            assert_eq!(size_of::<D3D12_TRIM_NOTIFICATION>(), 24);
            assert_eq!(offset_of!(D3D12_REGISTER_TRIM_NOTIFICATION, CallbackCookie), 16);
            assert_eq!(size_of::<D3D12_REGISTER_TRIM_NOTIFICATION>(), 24);
        }
    }
}
