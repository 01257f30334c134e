//! The device of a residency manager, and the calls that the manager makes.

use heapwright_core::FenceValue;
use heapwright_d3d12::*;
use windows_core::{HRESULT, Interface};

use super::desc::ResidencyHeapDesc;
use super::pageable::{
    DeviceNames, PageableInfo, PagedObject, PagedObjects, check_device, device_of, inspect,
};
use crate::{DeviceCaps, Error};

/// The device of a residency manager.
#[derive(Debug)]
pub(super) struct ManagedDevice {
    device: ID3D12Device,
    /// The device that its objects return from `GetDevice`.
    behind: Option<ID3D12Device>,
    device1: Option<ID3D12Device1>,
    device3: Option<ID3D12Device3>,
    caps: DeviceCaps,
    /// Whether all memory counts as local.
    unifies_memory: bool,
}

/// Creates a fence.
pub(super) fn create_fence(device: &ID3D12Device, initial: FenceValue) -> Result<ID3D12Fence, Error> {
    // SAFETY: a live COM object, and a result of the interface that is asked for.
    let fence: Result<ID3D12Fence, _> = unsafe { device.CreateFence(initial.get(), D3D12_FENCE_FLAG_NONE) };
    fence.map_err(|error| Error::device("ID3D12Device::CreateFence", error.code()))
}

/// Returns the value that a fence has reached.
#[inline]
pub(super) fn completed(fence: &ID3D12Fence) -> FenceValue {
    // SAFETY: a live COM object.
    FenceValue::new(unsafe { fence.GetCompletedValue() })
}

/// Returns the value after `last`, unless that is the value of the fences of a removed device.
pub(super) fn next_value(last: FenceValue) -> Option<FenceValue> {
    last.next().filter(|&next| next != FenceValue::DEVICE_REMOVED)
}

impl ManagedDevice {
    /// Wraps a device; `object` is any object that it has created.
    pub(super) fn new(
        device: &ID3D12Device,
        caps: DeviceCaps,
        unifies_memory: bool,
        object: &ID3D12DeviceChild,
    ) -> Self {
        Self {
            device: device.clone(),
            behind: device_of(object),
            device1: device.cast().ok(),
            device3: device.cast().ok(),
            caps,
            unifies_memory,
        }
    }

    pub(super) fn interface(&self) -> &ID3D12Device {
        &self.device
    }

    fn names(&self) -> DeviceNames<'_> {
        DeviceNames { shown: &self.device, behind: self.behind.as_ref() }
    }

    /// Checks that a queue belongs to this device.
    pub(super) fn check_queue(&self, queue: &ID3D12CommandQueue) -> Result<(), Error> {
        let pageable: &ID3D12Pageable = queue.into();
        check_device(self.names(), pageable)
            .map_err(|_| Error::invalid_argument("queue", "the queue belongs to another device"))
    }

    /// Inspects an object, like [`inspect`].
    pub(super) fn inspect(
        &self,
        pageable: &ID3D12Pageable,
        desc: &ResidencyHeapDesc,
    ) -> Result<(PagedObject, PageableInfo), Error> {
        inspect(self.names(), &self.caps, self.unifies_memory, pageable, desc)
    }

    /// Sets an object's priority, if the device supports priorities.
    pub(super) fn set_priority(&self, pageable: &ID3D12Pageable, priority: D3D12_RESIDENCY_PRIORITY) {
        let Some(device) = &self.device1 else { return };
        let object = Some(pageable.clone());
        // SAFETY: one object and one priority, both readable; the object is alive.
        let hresult = unsafe { device.SetResidencyPriority(1, &object, &priority) };
        if hresult.is_err() {
            tracing::warn!("SetResidencyPriority failed: {:#}", hresult::Named(hresult));
        }
    }

    /// Evicts objects that the GPU no longer uses. Each was made resident once more often than evicted.
    pub(super) fn evict(&self, objects: &PagedObjects) -> HRESULT {
        // SAFETY: live COM objects; the caller ensures that the GPU does not use them.
        unsafe { self.device.Evict(objects.as_slice()) }
    }

    /// Makes objects resident asynchronously and then signals `value` on a fence. Returns `None` if the device cannot
    /// do so.
    pub(super) fn enqueue_make_resident(
        &self,
        objects: &PagedObjects,
        denies_over_budget: bool,
        fence: &ID3D12Fence,
        value: FenceValue,
    ) -> Option<HRESULT> {
        let device = self.device3.as_ref()?;
        let flags =
            if denies_over_budget { D3D12_RESIDENCY_FLAG_DENY_OVERBUDGET } else { D3D12_RESIDENCY_FLAG_NONE };
        // SAFETY: live COM objects of the device.
        Some(unsafe { device.EnqueueMakeResident(flags, objects.as_slice(), fence, value.get()) })
    }

    /// Returns the error that states why the device was removed.
    #[cold]
    pub(super) fn removed(&self) -> Error {
        // SAFETY: a live COM object.
        let reason = unsafe { self.device.GetDeviceRemovedReason() };
        let reason = if reason.is_err() { reason } else { DXGI_ERROR_DEVICE_REMOVED };
        Error::device("ID3D12Device::GetDeviceRemovedReason", reason)
    }
}
