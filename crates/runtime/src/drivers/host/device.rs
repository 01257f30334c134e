//! A device of the simulated GPU: the addresses that it reserves.

use std::any::Any;
use std::sync::Arc;

use heapwright_core::GpuVirtualAddress;

use super::address_space::{AddressSpace, CreateAt, ReservedAddresses};
use crate::ddi::{DeviceArgs, DriverDevice, DriverError};

/// What the simulated GPU holds for a device.
pub(super) struct HostDevice {
    reserved: ReservedAddresses,
}

impl HostDevice {
    /// Reserves what `args` names; nothing is left reserved when that fails.
    pub(super) fn create(args: &DeviceArgs<'_>, space: &Arc<AddressSpace>) -> Result<Self, DriverError> {
        Ok(Self { reserved: ReservedAddresses::new(space, args.reserve_ranges)? })
    }

    /// An address that `device` is to have reserved.
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
