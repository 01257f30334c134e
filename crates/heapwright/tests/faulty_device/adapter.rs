//! An adapter that fails a chosen call.

use std::ffi::c_void;
use std::sync::Arc;

use heapwright::d3d12::*;
use windows_core::{GUID, IUnknown, OutRef, Ref, Result, implement};

use super::{Call, Faults, missing};

/// An adapter that forwards to another. Its memory calls can be made to fail.
#[implement(IDXGIAdapter3)]
pub(crate) struct FaultyAdapter {
    adapter: IDXGIAdapter3,
    faults: Arc<Faults>,
}

impl FaultyAdapter {
    pub(crate) fn wrap(adapter: &IDXGIAdapter3, faults: &Arc<Faults>) -> IDXGIAdapter3 {
        Self { adapter: adapter.clone(), faults: Arc::clone(faults) }.into()
    }
}

impl IDXGIObject_Impl for FaultyAdapter_Impl {
    fn SetPrivateData(&self, _name: *const GUID, _size: u32, _data: *const c_void) -> Result<()> {
        missing()
    }

    fn SetPrivateDataInterface(&self, _name: *const GUID, _data: Ref<'_, IUnknown>) -> Result<()> {
        missing()
    }

    fn GetPrivateData(&self, _name: *const GUID, _size: *mut u32, _data: *mut c_void) -> Result<()> {
        missing()
    }

    fn GetParent(&self, _riid: *const GUID, _parent: *mut *mut c_void) -> Result<()> {
        missing()
    }
}

impl IDXGIAdapter_Impl for FaultyAdapter_Impl {
    fn EnumOutputs(&self, _output: u32, _found: OutRef<'_, IDXGIOutput>) -> Result<()> {
        missing()
    }

    fn GetDesc(&self, desc: *mut DXGI_ADAPTER_DESC) -> Result<()> {
        // SAFETY: the argument is passed on unchanged.
        unsafe { self.adapter.GetDesc(desc) }.ok()
    }

    fn CheckInterfaceSupport(&self, _name: *const GUID) -> Result<i64> {
        missing()
    }
}

impl IDXGIAdapter1_Impl for FaultyAdapter_Impl {
    fn GetDesc1(&self, desc: *mut DXGI_ADAPTER_DESC1) -> Result<()> {
        // SAFETY: the argument is passed on unchanged.
        unsafe { self.adapter.GetDesc1(desc) }.ok()
    }
}

impl IDXGIAdapter2_Impl for FaultyAdapter_Impl {
    fn GetDesc2(&self, desc: *mut DXGI_ADAPTER_DESC2) -> Result<()> {
        // SAFETY: the argument is passed on unchanged.
        unsafe { self.adapter.GetDesc2(desc) }.ok()
    }
}

impl IDXGIAdapter3_Impl for FaultyAdapter_Impl {
    fn RegisterHardwareContentProtectionTeardownStatusEvent(&self, _event: HANDLE) -> Result<u32> {
        missing()
    }

    fn UnregisterHardwareContentProtectionTeardownStatus(&self, _cookie: u32) {}

    fn QueryVideoMemoryInfo(
        &self,
        node: u32,
        group: DXGI_MEMORY_SEGMENT_GROUP,
        info: *mut DXGI_QUERY_VIDEO_MEMORY_INFO,
    ) -> Result<()> {
        self.faults.count(Call::QueryVideoMemoryInfo)?;
        // SAFETY: the arguments are passed on unchanged.
        unsafe { self.adapter.QueryVideoMemoryInfo(node, group, info) }.ok()
    }

    fn SetVideoMemoryReservation(
        &self,
        node: u32,
        group: DXGI_MEMORY_SEGMENT_GROUP,
        reservation: u64,
    ) -> Result<()> {
        self.faults.count(Call::SetVideoMemoryReservation)?;
        // SAFETY: a live COM object.
        unsafe { self.adapter.SetVideoMemoryReservation(node, group, reservation) }.ok()
    }

    fn RegisterVideoMemoryBudgetChangeNotificationEvent(&self, event: HANDLE) -> Result<u32> {
        self.faults.count(Call::RegisterVideoMemoryBudgetChangeNotificationEvent)?;
        // SAFETY: the handle is passed on unchanged.
        unsafe { self.adapter.RegisterVideoMemoryBudgetChangeNotificationEvent(event) }
    }

    fn UnregisterVideoMemoryBudgetChangeNotification(&self, cookie: u32) {
        // SAFETY: the cookie is passed on unchanged.
        unsafe { self.adapter.UnregisterVideoMemoryBudgetChangeNotification(cookie) };
    }
}
