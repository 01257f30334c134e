//! `ID3D12Device15` and its trim notifications, which the metadata lacks.
//!
//! The declarations follow d3d12.h of DirectX-Headers v1.619 (D3D12_SDK_VERSION 619). The methods are documented in
//! DirectX-Specs, *D3D12 Periodic Trim Notifications*. Remove this module when the metadata includes the interface.
#![expect(
    missing_docs,
    non_camel_case_types,
    non_snake_case,
    reason = "the names are D3D12's, and what windows-interface expands to is its own"
)]

use std::ffi::c_void;

use windows_core::{GUID, HRESULT, interface};

use crate::sdk_619::D3D12_QUERY_HEAP_FLAGS;
use crate::*;

/// Flags of a trim notification.
pub type D3D12_TRIM_NOTIFICATION_FLAGS = i32;
/// No flags.
pub const D3D12_TRIM_NOTIFICATION_FLAG_NONE: D3D12_TRIM_NOTIFICATION_FLAGS = 0;
/// Trim objects that have not been used since the last periodic trim.
pub const D3D12_TRIM_NOTIFICATION_FLAG_PERIODIC_TRIM: D3D12_TRIM_NOTIFICATION_FLAGS = 1;
/// Restart the period without trimming. Never combined with `PERIODIC_TRIM`.
pub const D3D12_TRIM_NOTIFICATION_FLAG_RESTART_PERIODIC_TRIM: D3D12_TRIM_NOTIFICATION_FLAGS = 2;
/// Trim `NumBytesToTrim` bytes, by which usage exceeds the budget.
pub const D3D12_TRIM_NOTIFICATION_FLAG_TRIM_TO_BUDGET: D3D12_TRIM_NOTIFICATION_FLAGS = 4;

/// Arguments of a trim notification callback.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct D3D12_TRIM_NOTIFICATION {
    /// Context of the registration.
    pub pContext: *mut c_void,
    /// Flags of the notification.
    pub Flags: D3D12_TRIM_NOTIFICATION_FLAGS,
    /// Number of bytes to trim, for `TRIM_TO_BUDGET`.
    pub NumBytesToTrim: u64,
}

/// Callback for trim notifications, which may be called on any thread.
pub type D3D12_PFN_TRIM_NOTIFICATION_CALLBACK =
    Option<unsafe extern "system" fn(notification: *const D3D12_TRIM_NOTIFICATION)>;

/// Registration of a callback for trim notifications.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct D3D12_REGISTER_TRIM_NOTIFICATION {
    /// The callback.
    pub pfnCallback: D3D12_PFN_TRIM_NOTIFICATION_CALLBACK,
    /// Context that is passed to the callback.
    pub pContext: *mut c_void,
    /// Identifier of the registration, set by the call. Zero is a valid value.
    pub CallbackCookie: u32,
}

/// The device interface of Agility SDK 1.619.
///
/// What the methods do beyond trim notifications is in [`sdk_619`].
#[interface("76cff76f-1e9b-4450-8cdc-34f1af788e5b")]
pub unsafe trait ID3D12Device15: ID3D12Device14 {
    /// Registers a callback for trim notifications.
    pub fn RegisterTrimNotificationCallback(&self, data: *mut D3D12_REGISTER_TRIM_NOTIFICATION) -> HRESULT;
    /// Unregisters a callback.
    pub fn UnregisterTrimNotificationCallback(&self, cookie: u32) -> HRESULT;
    /// `CreateShaderResourceView` with a result. Pointers to interfaces are null or live COM objects, here and below.
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
    /// Creates a query heap with flags.
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
    fn the_layout_matches_the_header() {
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
