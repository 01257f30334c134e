//! Devices of the simulated GPU, which hold reserved addresses.

use std::any::Any;
use std::sync::Arc;

use heapwright_core::GpuVirtualAddress;

use super::heap::HostHeap;
use crate::ddi::{DeviceArgs, DriverDevice, DriverError};
use crate::drivers::address_space::{AddressSpace, CreateAt, ReservedAddresses};

/// The simulated GPU's part of a device.
pub(super) struct HostDevice {
    reserved: ReservedAddresses<HostHeap>,
}

impl HostDevice {
    /// Reserves the ranges of `args`. On error, nothing is reserved.
    pub(super) fn create(
        args: &DeviceArgs<'_>,
        space: &Arc<AddressSpace<HostHeap>>,
    ) -> Result<Self, DriverError> {
        Ok(Self { reserved: ReservedAddresses::new(space, args.reserve_ranges)? })
    }

    /// Combines an address with the reservation of `device`.
    pub(super) fn create_at(
        device: &dyn DriverDevice,
        address: Option<GpuVirtualAddress>,
    ) -> Option<CreateAt> {
        let own = device.as_any().downcast_ref::<Self>();
        address.map(|address| CreateAt { address, reservation: own.map(|own| own.reserved.id()) })
    }
}

impl DriverDevice for HostDevice {
    fn as_any(&self) -> &dyn Any {
        self
    }
}
