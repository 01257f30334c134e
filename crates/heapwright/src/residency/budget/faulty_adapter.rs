//! An adapter that reports what a test configures.

use std::ffi::c_void;
use std::sync::Mutex;

use heapwright_core::ByteSize;
use heapwright_d3d12::*;
use windows_core::{ComObject, GUID, HRESULT, IUnknown, Ref, Result, implement};

use crate::SegmentGroup;
use crate::adapter::ToDxgi as _;

/// The values that an adapter reports, and the calls that it received.
#[derive(Debug, Clone, Copy)]
pub(super) struct Script {
    /// For both segment groups.
    pub(super) info: [DXGI_QUERY_VIDEO_MEMORY_INFO; 2],
    pub(super) query: HRESULT,
    pub(super) reserve: HRESULT,
    pub(super) queries: u32,
    pub(super) reservations: u32,
    /// The reservations that were last set.
    pub(super) reserved: [u64; 2],
}

/// An adapter that follows a [`Script`]. It sends no notifications.
#[implement(IDXGIAdapter3)]
pub(super) struct FaultyAdapter(Mutex<Script>);

impl FaultyAdapter {
    /// Creates an adapter with these budgets and no usage.
    pub(super) fn new(local: ByteSize, non_local: ByteSize) -> ComObject<Self> {
        let info = |budget: ByteSize| DXGI_QUERY_VIDEO_MEMORY_INFO {
            Budget: budget.get(),
            AvailableForReservation: budget.get() / 2,
            ..Default::default()
        };
        ComObject::new(Self(Mutex::new(Script {
            info: [info(local), info(non_local)],
            query: S_OK,
            reserve: S_OK,
            queries: 0,
            reservations: 0,
            reserved: [0; 2],
        })))
    }

    pub(super) fn script(&self) -> Script {
        *self.0.lock().expect("no panic while it is locked")
    }

    pub(super) fn change(&self, change: impl FnOnce(&mut Script)) {
        change(&mut self.0.lock().expect("no panic while it is locked"));
    }
}

fn index(group: DXGI_MEMORY_SEGMENT_GROUP) -> usize {
    usize::from(group == SegmentGroup::NonLocal.to_dxgi())
}

fn not_implemented<T>() -> Result<T> {
    Err(E_NOTIMPL.into())
}

impl IDXGIObject_Impl for FaultyAdapter_Impl {
    fn SetPrivateData(&self, _: *const GUID, _: u32, _: *const c_void) -> Result<()> {
        not_implemented()
    }
    fn SetPrivateDataInterface(&self, _: *const GUID, _: Ref<'_, IUnknown>) -> Result<()> {
        not_implemented()
    }
    fn GetPrivateData(&self, _: *const GUID, _: *mut u32, _: *mut c_void) -> Result<()> {
        not_implemented()
    }
    fn GetParent(&self, _: *const GUID, _: *mut *mut c_void) -> Result<()> {
        not_implemented()
    }
}

impl IDXGIAdapter_Impl for FaultyAdapter_Impl {
    fn EnumOutputs(&self, _: u32, _: windows_core::OutRef<'_, IDXGIOutput>) -> Result<()> {
        not_implemented()
    }
    fn GetDesc(&self, _: *mut DXGI_ADAPTER_DESC) -> Result<()> {
        not_implemented()
    }
    fn CheckInterfaceSupport(&self, _: *const GUID) -> Result<i64> {
        not_implemented()
    }
}

impl IDXGIAdapter1_Impl for FaultyAdapter_Impl {
    fn GetDesc1(&self, _: *mut DXGI_ADAPTER_DESC1) -> Result<()> {
        not_implemented()
    }
}

impl IDXGIAdapter2_Impl for FaultyAdapter_Impl {
    fn GetDesc2(&self, _: *mut DXGI_ADAPTER_DESC2) -> Result<()> {
        not_implemented()
    }
}

impl IDXGIAdapter3_Impl for FaultyAdapter_Impl {
    fn RegisterHardwareContentProtectionTeardownStatusEvent(&self, _: HANDLE) -> Result<u32> {
        not_implemented()
    }
    fn UnregisterHardwareContentProtectionTeardownStatus(&self, _: u32) {}
    fn QueryVideoMemoryInfo(
        &self,
        _: u32,
        group: DXGI_MEMORY_SEGMENT_GROUP,
        out: *mut DXGI_QUERY_VIDEO_MEMORY_INFO,
    ) -> Result<()> {
        let mut script = self.0.lock().expect("no panic while it is locked");
        script.queries += 1;
        script.query.ok()?;
        // SAFETY: the caller gives a writable structure.
        unsafe { *out = script.info[index(group)] };
        Ok(())
    }
    fn SetVideoMemoryReservation(&self, _: u32, group: DXGI_MEMORY_SEGMENT_GROUP, bytes: u64) -> Result<()> {
        let mut script = self.0.lock().expect("no panic while it is locked");
        script.reservations += 1;
        script.reserve.ok()?;
        script.reserved[index(group)] = bytes;
        Ok(())
    }
    fn RegisterVideoMemoryBudgetChangeNotificationEvent(&self, _: HANDLE) -> Result<u32> {
        not_implemented()
    }
    fn UnregisterVideoMemoryBudgetChangeNotification(&self, _: u32) {
        panic!("a callback is registered");
    }
}
