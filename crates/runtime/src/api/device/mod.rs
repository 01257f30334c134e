//! `ID3D12Device` to `ID3D12Device15`.
//!
//! * `creation`: creation of heaps and resources, and their allocation info.
//! * `existing_heaps`: heaps over memory of the application.
//! * `features`: `CheckFeatureSupport`.
//! * `next_allocation_address`: `ID3D12DeviceTools`.
//! * `layouts`: `GetCopyableFootprints` and `GetResourceTiling`.
//! * `residency`, `paging`: making objects resident and evicting them, and the paging thread.
//! * `queueing`: queues, lists, fences, descriptors and views.
//! * `removal`: device removal.
//! * `first_generation`: a device with the interface of the first D3D12, in front of the full one.
//! * `interfaces`: the methods, as D3D12 declares them. They call the other modules or report that they are not
//!   implemented.

mod creation;
mod existing_heaps;
mod features;
mod first_generation;
mod heap_clock;
mod interfaces;
mod layouts;
mod next_allocation_address;
mod paging;
mod queueing;
pub(super) mod removal;
mod residency;

use std::sync::Arc;

use heapwright_d3d12::aliasing::*;
use heapwright_d3d12::heap_clock::IHeapwrightHeapClock;
#[cfg(feature = "preview")]
use heapwright_d3d12::preview::*;
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
use crate::api::debug::DeviceDebug;
use crate::ddi::{DeviceArgs, DriverError};
use crate::debug::{DebugSettings, MessageLog};
use crate::drivers::driver::{Driver, DriverDevice};
use crate::drivers::removal_sink::RemovalSink;
use crate::rules::{Options, Refusal};
use crate::write_tracking;

/// The COM object of a device.
#[cfg_attr(
    not(feature = "preview"),
    implement(
        ID3D12Device14,
        // Listed separately from ID3D12Device14, because code that inspects method tables knows only the generated
        // interfaces.
        ID3D12Device15,
        ID3D12InfoQueue1,
        IHeapwrightAliasing,
        IHeapwrightHeapClock,
        ID3D12DebugDevice2,
        ID3D12DebugDevice1,
        ID3D12DeviceConfiguration,
        ID3D12DeviceTools,
        ID3DDestructionNotifier
    )
)]
// The same, and the interface of layout GUIDs.
#[cfg_attr(
    feature = "preview",
    implement(
        ID3D12Device14,
        ID3D12Device15,
        ID3D12InfoQueue1,
        IHeapwrightAliasing,
        IHeapwrightHeapClock,
        ID3D12DebugDevice2,
        ID3D12DebugDevice1,
        ID3D12DeviceConfiguration,
        ID3D12DeviceTools,
        ID3DDestructionNotifier,
        ID3D12GuidTextureLayoutDevice
    )
)]
pub(crate) struct Device {
    driver: Arc<Driver>,
    debug: DeviceDebug,
    private_data: PrivateData,
    removal: Arc<Removal>,
    descriptor_heaps: DescriptorHeaps,
    paging: PagingQueue,
    trim_notifications: TrimNotifications,
    aliasing: Arc<AliasingTracker>,
    options: Options,
    next_allocation_address: NextAllocationAddress,
    /// The object that the application has for a first-generation device.
    shown: Shown,
    /// The driver's part of the device. The last field, because it must be dropped after all others.
    driver_device: DriverDevice,
}

impl Drop for Device {
    /// Releases what closed shared handles refer to; this may be the last device.
    fn drop(&mut self) {
        shared_handle::release_closed();
    }
}

impl Device {
    /// Creates a device on `driver`, which creates its part with `args`.
    ///
    /// # Errors
    ///
    /// Returns the driver's error. The driver only refuses address ranges to reserve.
    pub(crate) fn create(
        driver: Arc<Driver>,
        args: &DeviceArgs<'_>,
        debug: DebugSettings,
        options: Options,
    ) -> Result<ComObject<Self>, DriverError> {
        let driver_device = driver.create_device(args)?;
        let debug = DeviceDebug::new(debug);
        let removal = Arc::new(Removal::new(Arc::clone(debug.log())));
        let sink: Arc<dyn RemovalSink> = Arc::<Removal>::clone(&removal);
        driver.report_loss(&sink);
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

    /// Returns the device's object for the application. It is the same object for as long as the application holds a
    /// reference.
    pub(crate) fn shown(this: &ComObject<Self>) -> ID3D12Device {
        if this.driver().caps().is_first_generation {
            return this.shown.of(this);
        }
        this.to_interface::<ID3D12Device14>().into()
    }

    /// Returns the device behind an application's object, or `None` for an object of another runtime.
    pub(crate) fn behind(shown: &ID3D12Device) -> Option<ComObject<Self>> {
        let own = shown.cast_object::<Self>().ok();
        own.or_else(|| Some(shown.cast_object::<FirstGenerationDevice>().ok()?.device().clone()))
    }

    /// Returns the log for calls of the device and its children.
    pub(crate) fn log(&self) -> &Arc<MessageLog> {
        self.debug.log()
    }

    /// Returns the debug state of the device.
    pub(crate) fn debug(&self) -> &DeviceDebug {
        &self.debug
    }

    pub(super) fn driver(&self) -> &Driver {
        &self.driver
    }

    /// Returns the driver's part of the device.
    pub(super) fn driver_device(&self) -> &DriverDevice {
        &self.driver_device
    }

    /// Returns the options that change the rules of this device. Manual write tracking is on while a tool is installed.
    pub(super) fn options(&self) -> Options {
        Options { manual_write_tracking: write_tracking::is_installed(), ..self.options }
    }

    /// Returns the aliasing tracker.
    pub(crate) fn aliasing(&self) -> &Arc<AliasingTracker> {
        &self.aliasing
    }

    /// Returns the state of device removal.
    pub(super) fn removal(&self) -> &Arc<Removal> {
        &self.removal
    }

    /// Returns the descriptor heaps, by handle.
    pub(super) fn descriptor_heaps(&self) -> &DescriptorHeaps {
        &self.descriptor_heaps
    }

    /// Returns the registered trim notifications.
    pub(crate) fn trim_notifications(&self) -> &TrimNotifications {
        &self.trim_notifications
    }

    /// # Safety
    ///
    /// `name` is null or a zero-terminated UTF-16 string.
    unsafe fn set_object_name(&self, name: PCWSTR) -> Result<(), Refusal> {
        // SAFETY: guaranteed by the caller.
        unsafe { self.private_data.set_name(name) }
    }
}

implement_object!(Device_Impl, private_data);

#[cfg(test)]
mod tests;
