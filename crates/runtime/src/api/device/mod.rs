//! `ID3D12Device` to `ID3D12Device14`.
//!
//! * `creation`: heaps, resources and what they take.
//! * `features`: `CheckFeatureSupport`.
//! * `interfaces`: the methods as D3D12 declares them, which call the two above or say that they are not there.

mod creation;
mod features;
mod interfaces;

use std::sync::Arc;

use heapwright_d3d12::*;
use windows_core::{ComObject, implement};

use super::object::implement_object;
use super::private_data::PrivateData;
use crate::ddi::Driver;
use crate::debug::{DebugSettings, DeviceDebug, MessageLog};

/// A device on an adapter.
#[implement(
    ID3D12Device14,
    ID3D12InfoQueue1,
    ID3D12DebugDevice2,
    ID3D12DebugDevice1,
    ID3D12DeviceConfiguration
)]
pub(crate) struct Device {
    driver: Arc<dyn Driver>,
    debug: DeviceDebug,
    private_data: PrivateData,
}

impl Device {
    pub(crate) fn create(driver: Arc<dyn Driver>, debug: DebugSettings) -> ComObject<Self> {
        let debug = DeviceDebug::new(debug);
        ComObject::new(Self { driver, debug, private_data: PrivateData::default() })
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
}

implement_object!(Device_Impl, private_data);
