//! The driver's part of a D3D12 device, which holds reserved addresses.

use std::any::Any;
use std::sync::Arc;

use heapwright_core::GpuVirtualAddress;

use super::heap::VulkanHeap;
use super::logical_device::LogicalDevice;
use crate::ddi::command::RemovalSink;
use crate::ddi::{DeviceArgs, DriverDevice, DriverError};
use crate::drivers::address_space::{AddressSpace, CreateAt, ReservedAddresses};

/// The driver's part of a device.
pub(super) struct VulkanDevice {
    reserved: ReservedAddresses<VulkanHeap>,
    device: Arc<LogicalDevice>,
}

impl VulkanDevice {
    /// Reserves the ranges of `args`. On error, nothing is reserved.
    pub(super) fn create(
        args: &DeviceArgs<'_>,
        space: &Arc<AddressSpace<VulkanHeap>>,
        device: &Arc<LogicalDevice>,
    ) -> Result<Self, DriverError> {
        let reserved = ReservedAddresses::new(space, args.reserve_ranges)?;
        Ok(Self { reserved, device: Arc::clone(device) })
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

impl DriverDevice for VulkanDevice {
    fn report_loss(&self, removal: &Arc<dyn RemovalSink>) {
        self.device.report_loss(removal);
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
