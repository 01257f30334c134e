//! `IDXGIAdapter4`.

use std::ffi::c_void;
use std::sync::Arc;

use heapwright_core::ByteSize;
use heapwright_d3d12::*;
use windows_core::{ComObject, GUID, IUnknown, OutRef, Ref, Result, implement};

use super::budget_notification::BudgetNotifications;
use super::call;
use super::factory::Factory;
use super::methods::{calls, methods};
use super::object::implement_dxgi_object;
use super::private_data::PrivateData;
use crate::ddi::{AdapterIdentity, SegmentGroup};
use crate::debug::MessageLog;
use crate::drivers::driver::Driver;
use crate::rules::Refusal;

/// An adapter object, as returned by its factory.
#[implement(IDXGIAdapter4)]
pub(crate) struct Adapter {
    driver: Arc<Driver>,
    factory: ComObject<Factory>,
    private_data: PrivateData,
    budget_notifications: BudgetNotifications,
}

impl Adapter {
    pub(crate) fn create(driver: Arc<Driver>, factory: ComObject<Factory>) -> ComObject<Self> {
        ComObject::new(Self {
            driver,
            factory,
            private_data: PrivateData::default(),
            budget_notifications: BudgetNotifications::default(),
        })
    }

    pub(crate) fn driver(&self) -> &Arc<Driver> {
        &self.driver
    }

    /// Returns the newest description. The older ones are subsets of it.
    fn desc3(&self) -> DXGI_ADAPTER_DESC3 {
        let identity = self.driver.identity();
        DXGI_ADAPTER_DESC3 {
            Description: wide_description(&identity.description),
            VendorId: identity.vendor_id,
            DeviceId: identity.device_id,
            DedicatedVideoMemory: bytes(identity.dedicated_video_memory),
            SharedSystemMemory: bytes(identity.shared_system_memory),
            AdapterLuid: luid(identity),
            ..Default::default()
        }
    }
}

/// Returns the adapter's LUID as DXGI's two halves.
pub(crate) fn luid(identity: &AdapterIdentity) -> LUID {
    let [a, b, c, d, high @ ..] = identity.luid.to_le_bytes();
    LUID { LowPart: u32::from_le_bytes([a, b, c, d]), HighPart: i32::from_le_bytes(high) }
}

fn bytes(size: ByteSize) -> usize {
    usize::try_from(size.get()).unwrap_or(usize::MAX)
}

/// Converts to DXGI's fixed-size UTF-16 array. Text that is too long is truncated; the result is always
/// zero-terminated.
fn wide_description(text: &str) -> [u16; 128] {
    let mut wide = [0; 128];
    let (_terminator, room) = wide.split_last_mut().unwrap_or((&mut 0, &mut []));
    for (slot, unit) in room.iter_mut().zip(text.encode_utf16()) {
        *slot = unit;
    }
    wide
}

fn segment_group(node: u32, group: DXGI_MEMORY_SEGMENT_GROUP) -> std::result::Result<SegmentGroup, Refusal> {
    if node != 0 {
        return Err(Refusal::invalid(format!("NodeIndex {node} is out of range; the adapter has one node")));
    }
    match group {
        DXGI_MEMORY_SEGMENT_GROUP_LOCAL => Ok(SegmentGroup::Local),
        DXGI_MEMORY_SEGMENT_GROUP_NON_LOCAL => Ok(SegmentGroup::NonLocal),
        other => Err(Refusal::invalid(format!(
            "MemorySegmentGroup {other} is not a valid DXGI_MEMORY_SEGMENT_GROUP"
        ))),
    }
}

/// Copies the fields that an older description shares with the newest.
macro_rules! older_desc {
    ($older:ident, $newest:expr) => {{
        let desc = $newest;
        $older {
            Description: desc.Description,
            VendorId: desc.VendorId,
            DeviceId: desc.DeviceId,
            DedicatedVideoMemory: desc.DedicatedVideoMemory,
            SharedSystemMemory: desc.SharedSystemMemory,
            AdapterLuid: desc.AdapterLuid,
            ..Default::default()
        }
    }};
}

impl Adapter {
    /// Runs the body of the method `name`.
    fn run<T>(
        &self,
        name: &'static str,
        body: impl FnOnce(&Self) -> std::result::Result<T, Refusal>,
    ) -> Result<T> {
        call::run(MessageLog::unattached(), name, || body(self))
    }

    /// Writes budget and usage of a segment group.
    ///
    /// # Safety
    ///
    /// `info` is null or points to writable space.
    unsafe fn video_memory_info(
        &self,
        node: u32,
        group: DXGI_MEMORY_SEGMENT_GROUP,
        info: *mut DXGI_QUERY_VIDEO_MEMORY_INFO,
    ) -> std::result::Result<(), Refusal> {
        let group = segment_group(node, group)?;
        // SAFETY: guaranteed by the caller.
        let info = unsafe { info.as_mut() }.ok_or_else(|| Refusal::invalid("pVideoMemoryInfo is null"))?;
        let memory = self.driver.video_memory(group);
        *info = DXGI_QUERY_VIDEO_MEMORY_INFO {
            Budget: memory.budget.get(),
            CurrentUsage: memory.current_usage.get(),
            AvailableForReservation: memory.available_for_reservation.get(),
            CurrentReservation: memory.current_reservation.get(),
        };
        Ok(())
    }

    fn reserve_video_memory(
        &self,
        node: u32,
        group: DXGI_MEMORY_SEGMENT_GROUP,
        reservation: u64,
    ) -> std::result::Result<(), Refusal> {
        let group = segment_group(node, group)?;
        Ok(self.driver.reserve_video_memory(group, ByteSize::new(reservation))?)
    }

    /// Writes one of the DXGI adapter descriptions, which `older` makes from the newest.
    ///
    /// # Safety
    ///
    /// `out` is null or points to writable space for a `T`.
    unsafe fn describe<T>(
        &self,
        name: &'static str,
        out: *mut T,
        older: impl FnOnce(DXGI_ADAPTER_DESC3) -> T,
    ) -> Result<()> {
        self.run(name, |adapter| {
            // SAFETY: guaranteed by the caller.
            let out = unsafe { out.as_mut() }.ok_or_else(|| Refusal::invalid("pDesc is null"))?;
            *out = older(adapter.desc3());
            Ok(())
        })
    }
}

implement_dxgi_object! { Adapter_Impl:
    fn GetParent(&self, riid: *const GUID, ppparent: *mut *mut c_void) -> Result<()> {
        call::run(MessageLog::unattached(), "IDXGIObject::GetParent", || {
            // SAFETY: by the COM contract, each pointer is null or points to what the method documents.
            unsafe { call::hand_out(&self.factory, riid, ppparent) }
        })
    }
}

impl IDXGIAdapter_Impl for Adapter_Impl {
    fn EnumOutputs(&self, _output: u32, _ppoutput: OutRef<'_, IDXGIOutput>) -> Result<()> {
        // The adapter has no outputs; DXGI_ERROR_NOT_FOUND ends the enumeration.
        Err(DXGI_ERROR_NOT_FOUND.into())
    }

    calls! {
        IDXGIAdapter:
        fn GetDesc(desc: *mut DXGI_ADAPTER_DESC) -> Result<()>
            = describe(desc, |newest| older_desc!(DXGI_ADAPTER_DESC, newest));
    }

    fn CheckInterfaceSupport(&self, _interfacename: *const GUID) -> Result<i64> {
        // DXGI supports this query for Direct3D 10 interfaces only.
        Err(DXGI_ERROR_UNSUPPORTED.into())
    }
}

impl IDXGIAdapter1_Impl for Adapter_Impl {
    calls! {
        IDXGIAdapter1:
        fn GetDesc1(desc: *mut DXGI_ADAPTER_DESC1) -> Result<()>
            = describe(desc, |newest| older_desc!(DXGI_ADAPTER_DESC1, newest));
    }
}

impl IDXGIAdapter2_Impl for Adapter_Impl {
    calls! {
        IDXGIAdapter2:
        fn GetDesc2(desc: *mut DXGI_ADAPTER_DESC2) -> Result<()>
            = describe(desc, |newest| older_desc!(DXGI_ADAPTER_DESC2, newest));
    }
}

impl IDXGIAdapter3_Impl for Adapter_Impl {
    calls! {
        IDXGIAdapter3:
        fn QueryVideoMemoryInfo(
            node: u32, group: DXGI_MEMORY_SEGMENT_GROUP, info: *mut DXGI_QUERY_VIDEO_MEMORY_INFO
        ) -> Result<()> = run(|adapter| adapter.video_memory_info(node, group, info));
        fn SetVideoMemoryReservation(
            node: u32, group: DXGI_MEMORY_SEGMENT_GROUP, reservation: u64
        ) -> Result<()> = run(|adapter| adapter.reserve_video_memory(node, group, reservation));
        fn RegisterVideoMemoryBudgetChangeNotificationEvent(event: HANDLE) -> Result<u32>
            = run(|adapter| adapter.budget_notifications.register(&adapter.driver, event));
    }

    fn UnregisterVideoMemoryBudgetChangeNotification(&self, dwcookie: u32) {
        let name = "IDXGIAdapter3::UnregisterVideoMemoryBudgetChangeNotification";
        // The method returns nothing; `run` has already logged the error.
        let _ = call::run(MessageLog::unattached(), name, || self.budget_notifications.unregister(dwcookie));
    }

    methods! {
        IDXGIAdapter3, |_, name| call::not_implemented(MessageLog::unattached(), name);
        fn RegisterHardwareContentProtectionTeardownStatusEvent(HANDLE) -> Result<u32>;
    }

    methods! {
        IDXGIAdapter3, |_, name| call::ignored(MessageLog::unattached(), name);
        fn UnregisterHardwareContentProtectionTeardownStatus(u32);
    }
}

impl IDXGIAdapter4_Impl for Adapter_Impl {
    calls! {
        IDXGIAdapter4:
        fn GetDesc3(desc: *mut DXGI_ADAPTER_DESC3) -> Result<()> = describe(desc, |newest| newest);
    }
}
