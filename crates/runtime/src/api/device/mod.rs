//! `ID3D12Device` to `ID3D12Device15`.
//!
//! * `creation`: heaps, resources and what they take.
//! * `features`: `CheckFeatureSupport`.
//! * `next_allocation_address`: `ID3D12DeviceTools`.
//! * `layouts`: `GetCopyableFootprints` and `GetResourceTiling`.
//! * `residency`, `paging`: what is resident and what is evicted; the thread that pages in.
//! * `queueing`: queues, lists, fences, heaps of descriptors and queries.
//! * `removal`: losing the device.
//! * `first_generation`: the device as the first D3D12 had it, in front of the other.
//! * `interfaces`: the methods as D3D12 declares them, which call the others or say that they are not there.

mod creation;
mod features;
mod first_generation;
mod interfaces;
mod layouts;
mod next_allocation_address;
mod paging;
mod queueing;
pub(super) mod removal;
mod residency;

use std::sync::Arc;

use heapwright_d3d12::aliasing::*;
use heapwright_d3d12::trim::*;
use heapwright_d3d12::*;
use windows_core::{ComObject, Interface as _, implement};

use self::first_generation::{FirstGenerationDevice, Shown};
use self::next_allocation_address::NextAllocationAddress;
use self::paging::PagingQueue;
use self::removal::Removal;
use super::descriptor_heap::DescriptorHeaps;
use super::object::implement_object;
use super::private_data::PrivateData;
use super::shared_handle;
use super::trim_notification::TrimNotifications;
use crate::aliasing::{AliasingTracker, AliasingTracking};
use crate::ddi::{DeviceArgs, Driver, DriverDevice, DriverError};
use crate::debug::{DebugSettings, DeviceDebug, MessageLog};
use crate::rules::{Options, Refusal};
use crate::write_tracking;

/// A device on an adapter.
#[implement(
    ID3D12Device14,
    // Beside the other: what looks into method tables knows the generated interfaces.
    ID3D12Device15,
    ID3D12InfoQueue1,
    IHeapwrightAliasing,
    ID3D12DebugDevice2,
    ID3D12DebugDevice1,
    ID3D12DeviceConfiguration,
    ID3D12DeviceTools
)]
pub(crate) struct Device {
    driver: Arc<dyn Driver>,
    debug: DeviceDebug,
    private_data: PrivateData,
    removal: Arc<Removal>,
    descriptor_heaps: DescriptorHeaps,
    paging: PagingQueue,
    trim_notifications: TrimNotifications,
    aliasing: Arc<AliasingTracker>,
    options: Options,
    next_allocation_address: NextAllocationAddress,
    /// What the application has for a device that is shown as the first D3D12 had it.
    shown: Shown,
    /// The driver's half. The last field, as it goes after all else.
    driver_device: Box<dyn DriverDevice>,
}

impl Drop for Device {
    /// The last device may leave shared objects behind it that are gone as well.
    fn drop(&mut self) {
        shared_handle::forget_what_is_gone();
    }
}

impl Device {
    /// A device of `driver`, which is asked to create its half with `args`.
    ///
    /// # Errors
    ///
    /// What the driver says against `args`: against nothing but ranges of addresses to reserve.
    pub(crate) fn create(
        driver: Arc<dyn Driver>,
        args: &DeviceArgs<'_>,
        debug: DebugSettings,
        options: Options,
    ) -> Result<ComObject<Self>, DriverError> {
        let driver_device = driver.create_device(args)?;
        let debug = DeviceDebug::new(debug);
        let removal = Arc::new(Removal::new(Arc::clone(debug.log())));
        let aliasing = Arc::new(AliasingTracker::new(debug.log(), driver.caps().standard_swizzle));
        if debug.validates_on_gpu() {
            aliasing.set(Some(AliasingTracking::ADVANCED));
        }
        let (private_data, descriptor_heaps, paging, trim_notifications, shown) = Default::default();
        Ok(ComObject::new(Self {
            driver,
            debug,
            private_data,
            removal,
            descriptor_heaps,
            paging,
            trim_notifications,
            aliasing,
            options,
            next_allocation_address: NextAllocationAddress::default(),
            shown,
            driver_device,
        }))
    }

    /// The device as the application knows it: its one object of that kind, as long as anybody holds that.
    pub(crate) fn shown(this: &ComObject<Self>) -> ID3D12Device {
        if this.driver().caps().is_first_generation {
            return this.shown.of(this);
        }
        this.to_interface::<ID3D12Device14>().into()
    }

    /// The device behind what an application has; `None` for another runtime's.
    pub(crate) fn behind(shown: &ID3D12Device) -> Option<ComObject<Self>> {
        let own = shown.cast_object::<Self>().ok();
        own.or_else(|| Some(shown.cast_object::<FirstGenerationDevice>().ok()?.device().clone()))
    }

    /// Where the calls of the device and its children report to.
    pub(crate) fn log(&self) -> &Arc<MessageLog> {
        self.debug.log()
    }

    /// What the device keeps for debugging.
    pub(crate) fn debug(&self) -> &DeviceDebug {
        &self.debug
    }

    pub(super) fn driver(&self) -> &dyn Driver {
        &*self.driver
    }

    /// The driver's half of the device.
    pub(super) fn driver_device(&self) -> &dyn DriverDevice {
        &*self.driver_device
    }

    /// What changes the rules of this device.
    pub(super) fn options(&self) -> Options {
        Options { manual_write_tracking: write_tracking::is_installed(), ..self.options }
    }

    /// Who tracks which contents are valid.
    pub(crate) fn aliasing(&self) -> &Arc<AliasingTracker> {
        &self.aliasing
    }

    /// Whether the device is lost.
    pub(super) fn removal(&self) -> &Arc<Removal> {
        &self.removal
    }

    /// The descriptor heaps, by their handles.
    pub(super) fn descriptor_heaps(&self) -> &DescriptorHeaps {
        &self.descriptor_heaps
    }

    /// Who is told when trimming is advisable.
    pub(crate) fn trim_notifications(&self) -> &TrimNotifications {
        &self.trim_notifications
    }

    /// # Safety
    ///
    /// `name` is null or a zero-terminated UTF-16 string.
    unsafe fn set_object_name(&self, name: PCWSTR) -> Result<(), Refusal> {
        // SAFETY: the caller's promise.
        unsafe { self.private_data.set_name(name) }
    }
}

implement_object!(Device_Impl, private_data);

#[cfg(test)]
mod tests;
