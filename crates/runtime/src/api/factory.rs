//! `IDXGIFactory6`.

use std::ffi::c_void;
use std::sync::Arc;

use heapwright_d3d12::*;
use windows_core::{BOOL, ComObject, GUID, IUnknown, IUnknownImpl, Ref, Result, implement};

use super::adapter::{Adapter, luid};
use super::call;
use super::private_data::PrivateData;
use crate::ddi::Driver;
use crate::debug::MessageLog;
use crate::rules::Refusal;

/// Enumerates the adapters that it was made with.
#[implement(IDXGIFactory6)]
pub(crate) struct Factory {
    drivers: Vec<Arc<dyn Driver>>,
    flags: u32,
    private_data: PrivateData,
}

impl Factory {
    pub(crate) fn create(drivers: Vec<Arc<dyn Driver>>, flags: u32) -> ComObject<Self> {
        ComObject::new(Self { drivers, flags, private_data: PrivateData::default() })
    }
}

impl Factory_Impl {
    /// A new object for the adapter at `index`; `None` past the last.
    pub(crate) fn adapter(&self, index: usize) -> Option<ComObject<Adapter>> {
        let driver = self.drivers.get(index)?;
        Some(Adapter::create(Arc::clone(driver), self.to_object()))
    }

    fn enumerate(&self, index: u32) -> std::result::Result<ComObject<Adapter>, windows_core::Error> {
        let index = usize::try_from(index).unwrap_or(usize::MAX);
        // The usual end of an enumeration; nothing to log.
        self.adapter(index).ok_or_else(|| DXGI_ERROR_NOT_FOUND.into())
    }
}

impl IDXGIObject_Impl for Factory_Impl {
    fn SetPrivateData(&self, name: *const GUID, datasize: u32, pdata: *const c_void) -> Result<()> {
        // SAFETY: by the COM contract the pointers are null or point to what the method says.
        unsafe { self.private_data.set(MessageLog::unattached(), name, datasize, pdata) }
    }

    fn SetPrivateDataInterface(&self, name: *const GUID, punknown: Ref<'_, IUnknown>) -> Result<()> {
        call::run(MessageLog::unattached(), "SetPrivateDataInterface", || {
            // SAFETY: by the COM contract the pointers are null or point to what the method says.
            unsafe { self.private_data.set_interface(name, punknown) }
        })
    }

    fn GetPrivateData(&self, name: *const GUID, pdatasize: *mut u32, pdata: *mut c_void) -> Result<()> {
        call::run(MessageLog::unattached(), "GetPrivateData", || {
            // SAFETY: by the COM contract the pointers are null or point to what the method says.
            unsafe { self.private_data.get(name, pdatasize, pdata) }
        })
    }

    fn GetParent(&self, _riid: *const GUID, _ppparent: *mut *mut c_void) -> Result<()> {
        // A factory has no parent.
        Err(E_NOINTERFACE.into())
    }
}

impl IDXGIFactory_Impl for Factory_Impl {
    fn EnumAdapters(&self, adapter: u32) -> Result<IDXGIAdapter> {
        self.enumerate(adapter)?.cast()
    }

    fn MakeWindowAssociation(&self, _windowhandle: HWND, _flags: u32) -> Result<()> {
        call::not_implemented(MessageLog::unattached(), "IDXGIFactory::MakeWindowAssociation")
    }

    fn GetWindowAssociation(&self) -> Result<HWND> {
        call::not_implemented(MessageLog::unattached(), "IDXGIFactory::GetWindowAssociation")
    }

    fn CreateSwapChain(
        &self,
        _pdevice: Ref<'_, IUnknown>,
        _pdesc: *const DXGI_SWAP_CHAIN_DESC,
    ) -> Result<IDXGISwapChain> {
        call::not_implemented(MessageLog::unattached(), "IDXGIFactory::CreateSwapChain")
    }

    fn CreateSoftwareAdapter(&self, _module: HMODULE) -> Result<IDXGIAdapter> {
        call::not_implemented(MessageLog::unattached(), "IDXGIFactory::CreateSoftwareAdapter")
    }
}

impl IDXGIFactory1_Impl for Factory_Impl {
    fn EnumAdapters1(&self, adapter: u32) -> Result<IDXGIAdapter1> {
        self.enumerate(adapter)?.cast()
    }

    fn IsCurrent(&self) -> BOOL {
        // Adapters neither come nor go.
        true.into()
    }
}

impl IDXGIFactory2_Impl for Factory_Impl {
    fn IsWindowedStereoEnabled(&self) -> BOOL {
        false.into()
    }

    fn CreateSwapChainForHwnd(
        &self,
        _pdevice: Ref<'_, IUnknown>,
        _hwnd: HWND,
        _pdesc: *const DXGI_SWAP_CHAIN_DESC1,
        _pfullscreendesc: *const DXGI_SWAP_CHAIN_FULLSCREEN_DESC,
        _prestricttooutput: Ref<'_, IDXGIOutput>,
    ) -> Result<IDXGISwapChain1> {
        call::not_implemented(MessageLog::unattached(), "IDXGIFactory2::CreateSwapChainForHwnd")
    }

    fn CreateSwapChainForCoreWindow(
        &self,
        _pdevice: Ref<'_, IUnknown>,
        _pwindow: Ref<'_, IUnknown>,
        _pdesc: *const DXGI_SWAP_CHAIN_DESC1,
        _prestricttooutput: Ref<'_, IDXGIOutput>,
    ) -> Result<IDXGISwapChain1> {
        call::not_implemented(MessageLog::unattached(), "IDXGIFactory2::CreateSwapChainForCoreWindow")
    }

    fn GetSharedResourceAdapterLuid(&self, _hresource: HANDLE) -> Result<LUID> {
        call::not_implemented(MessageLog::unattached(), "IDXGIFactory2::GetSharedResourceAdapterLuid")
    }

    fn RegisterStereoStatusWindow(&self, _windowhandle: HWND, _wmsg: u32) -> Result<u32> {
        call::not_implemented(MessageLog::unattached(), "IDXGIFactory2::RegisterStereoStatusWindow")
    }

    fn RegisterStereoStatusEvent(&self, _hevent: HANDLE) -> Result<u32> {
        call::not_implemented(MessageLog::unattached(), "IDXGIFactory2::RegisterStereoStatusEvent")
    }

    fn UnregisterStereoStatus(&self, _dwcookie: u32) {
        call::ignored(MessageLog::unattached(), "IDXGIFactory2::UnregisterStereoStatus");
    }

    fn RegisterOcclusionStatusWindow(&self, _windowhandle: HWND, _wmsg: u32) -> Result<u32> {
        call::not_implemented(MessageLog::unattached(), "IDXGIFactory2::RegisterOcclusionStatusWindow")
    }

    fn RegisterOcclusionStatusEvent(&self, _hevent: HANDLE) -> Result<u32> {
        call::not_implemented(MessageLog::unattached(), "IDXGIFactory2::RegisterOcclusionStatusEvent")
    }

    fn UnregisterOcclusionStatus(&self, _dwcookie: u32) {
        call::ignored(MessageLog::unattached(), "IDXGIFactory2::UnregisterOcclusionStatus");
    }

    fn CreateSwapChainForComposition(
        &self,
        _pdevice: Ref<'_, IUnknown>,
        _pdesc: *const DXGI_SWAP_CHAIN_DESC1,
        _prestricttooutput: Ref<'_, IDXGIOutput>,
    ) -> Result<IDXGISwapChain1> {
        call::not_implemented(MessageLog::unattached(), "IDXGIFactory2::CreateSwapChainForComposition")
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
                .ok_or_else(|| Refusal::new(DXGI_ERROR_NOT_FOUND, "no adapter has that LUID"))?;
            // SAFETY: by the COM contract the pointers are null or point to what the method says.
            unsafe { call::hand_out(&adapter, riid, ppvadapter) }
        })
    }

    fn EnumWarpAdapter(&self, _riid: *const GUID, _ppvadapter: *mut *mut c_void) -> Result<()> {
        call::not_implemented(MessageLog::unattached(), "IDXGIFactory4::EnumWarpAdapter")
    }
}

impl IDXGIFactory5_Impl for Factory_Impl {
    fn CheckFeatureSupport(
        &self,
        _feature: DXGI_FEATURE,
        _pfeaturesupportdata: *mut c_void,
        _featuresupportdatasize: u32,
    ) -> Result<()> {
        call::not_implemented(MessageLog::unattached(), "IDXGIFactory5::CheckFeatureSupport")
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
        // The order is the same for every preference: a factory's simulated GPUs differ in kind, not in power.
        let adapter = self.enumerate(adapter)?;
        call::run(MessageLog::unattached(), "IDXGIFactory6::EnumAdapterByGpuPreference", || {
            // SAFETY: by the COM contract the pointers are null or point to what the method says.
            unsafe { call::hand_out(&adapter, riid, ppvadapter) }
        })
    }
}
