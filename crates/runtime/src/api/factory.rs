//! `IDXGIFactory6`.

use std::ffi::c_void;
use std::sync::Arc;

use heapwright_d3d12::*;
use windows_core::{BOOL, ComObject, GUID, IUnknown, IUnknownImpl, Ref, Result, implement};

use super::adapter::{Adapter, luid};
use super::call;
use super::methods::methods;
use super::object::implement_dxgi_object;
use super::private_data::PrivateData;
use crate::debug::MessageLog;
use crate::drivers::driver::Driver;
use crate::rules::Refusal;

/// A DXGI factory that enumerates a fixed list of adapters.
#[implement(IDXGIFactory6)]
pub(crate) struct Factory {
    drivers: Vec<Arc<Driver>>,
    flags: u32,
    private_data: PrivateData,
}

impl Factory {
    pub(crate) fn create(drivers: Vec<Arc<Driver>>, flags: u32) -> ComObject<Self> {
        ComObject::new(Self { drivers, flags, private_data: PrivateData::default() })
    }
}

impl Factory_Impl {
    /// Creates an object for the adapter at `index`. Returns `None` past the last adapter.
    pub(crate) fn adapter(&self, index: usize) -> Option<ComObject<Adapter>> {
        let driver = self.drivers.get(index)?;
        Some(Adapter::create(Arc::clone(driver), self.to_object()))
    }

    fn enumerate(&self, index: u32) -> std::result::Result<ComObject<Adapter>, windows_core::Error> {
        let index = usize::try_from(index).unwrap_or(usize::MAX);
        // The normal end of an enumeration, so it is not logged.
        self.adapter(index).ok_or_else(|| DXGI_ERROR_NOT_FOUND.into())
    }
}

implement_dxgi_object! { Factory_Impl:
    fn GetParent(&self, _riid: *const GUID, _ppparent: *mut *mut c_void) -> Result<()> {
        // A factory has no parent.
        Err(E_NOINTERFACE.into())
    }
}

impl IDXGIFactory_Impl for Factory_Impl {
    fn EnumAdapters(&self, adapter: u32) -> Result<IDXGIAdapter> {
        self.enumerate(adapter)?.cast()
    }

    methods! {
        IDXGIFactory, |_, name| call::not_implemented(MessageLog::unattached(), name);
        fn MakeWindowAssociation(HWND, u32) -> Result<()>;
        fn GetWindowAssociation() -> Result<HWND>;
        fn CreateSwapChain(Ref<'_, IUnknown>, *const DXGI_SWAP_CHAIN_DESC) -> Result<IDXGISwapChain>;
        fn CreateSoftwareAdapter(HMODULE) -> Result<IDXGIAdapter>;
    }
}

impl IDXGIFactory1_Impl for Factory_Impl {
    fn EnumAdapters1(&self, adapter: u32) -> Result<IDXGIAdapter1> {
        self.enumerate(adapter)?.cast()
    }

    fn IsCurrent(&self) -> BOOL {
        // The set of adapters never changes.
        true.into()
    }
}

impl IDXGIFactory2_Impl for Factory_Impl {
    fn IsWindowedStereoEnabled(&self) -> BOOL {
        false.into()
    }

    methods! {
        IDXGIFactory2, |_, name| call::not_implemented(MessageLog::unattached(), name);
        fn CreateSwapChainForHwnd(
            Ref<'_, IUnknown>, HWND, *const DXGI_SWAP_CHAIN_DESC1, *const DXGI_SWAP_CHAIN_FULLSCREEN_DESC,
            Ref<'_, IDXGIOutput>
        ) -> Result<IDXGISwapChain1>;
        fn CreateSwapChainForCoreWindow(
            Ref<'_, IUnknown>, Ref<'_, IUnknown>, *const DXGI_SWAP_CHAIN_DESC1, Ref<'_, IDXGIOutput>
        ) -> Result<IDXGISwapChain1>;
        fn GetSharedResourceAdapterLuid(HANDLE) -> Result<LUID>;
        fn RegisterStereoStatusWindow(HWND, u32) -> Result<u32>;
        fn RegisterStereoStatusEvent(HANDLE) -> Result<u32>;
        fn RegisterOcclusionStatusWindow(HWND, u32) -> Result<u32>;
        fn RegisterOcclusionStatusEvent(HANDLE) -> Result<u32>;
        fn CreateSwapChainForComposition(
            Ref<'_, IUnknown>, *const DXGI_SWAP_CHAIN_DESC1, Ref<'_, IDXGIOutput>
        ) -> Result<IDXGISwapChain1>;
    }

    methods! {
        IDXGIFactory2, |_, name| call::ignored(MessageLog::unattached(), name);
        fn UnregisterStereoStatus(u32);
        fn UnregisterOcclusionStatus(u32);
    }
}

impl IDXGIFactory3_Impl for Factory_Impl {
    fn GetCreationFlags(&self) -> u32 {
        self.flags
    }
}

impl IDXGIFactory4_Impl for Factory_Impl {
    fn EnumAdapterByLuid(
        &self,
        adapterluid: &LUID,
        riid: *const GUID,
        ppvadapter: *mut *mut c_void,
    ) -> Result<()> {
        call::run(MessageLog::unattached(), "IDXGIFactory4::EnumAdapterByLuid", || {
            let index = self.drivers.iter().position(|driver| luid(driver.identity()) == *adapterluid);
            let adapter = index
                .and_then(|index| self.adapter(index))
                .ok_or_else(|| Refusal::new(DXGI_ERROR_NOT_FOUND, "no adapter has the given LUID"))?;
            // SAFETY: by the COM contract, each pointer is null or points to what the method documents.
            unsafe { call::hand_out(&adapter, riid, ppvadapter) }
        })
    }

    methods! {
        IDXGIFactory4, |_, name| call::not_implemented(MessageLog::unattached(), name);
        fn EnumWarpAdapter(*const GUID, *mut *mut c_void) -> Result<()>;
    }
}

impl IDXGIFactory5_Impl for Factory_Impl {
    methods! {
        IDXGIFactory5, |_, name| call::not_implemented(MessageLog::unattached(), name);
        fn CheckFeatureSupport(DXGI_FEATURE, *mut c_void, u32) -> Result<()>;
    }
}

impl IDXGIFactory6_Impl for Factory_Impl {
    fn EnumAdapterByGpuPreference(
        &self,
        adapter: u32,
        _gpupreference: DXGI_GPU_PREFERENCE,
        riid: *const GUID,
        ppvadapter: *mut *mut c_void,
    ) -> Result<()> {
        // The order is the same for every preference: the simulated GPUs of a factory differ in kind, not in
        // performance.
        let adapter = self.enumerate(adapter)?;
        call::run(MessageLog::unattached(), "IDXGIFactory6::EnumAdapterByGpuPreference", || {
            // SAFETY: by the COM contract, each pointer is null or points to what the method documents.
            unsafe { call::hand_out(&adapter, riid, ppvadapter) }
        })
    }
}
