//! Where the device creates buffers at addresses of the driver's choice.

use std::sync::Arc;

use heapwright_core::Alignment;

use super::logical_device::LogicalDevice;
use super::memory::{Buffer, DeviceAddress, NORMAL_PRIORITY};
use crate::ddi::DriverError;
use crate::drivers::KIB_64;

/// Addresses of buffers that are larger than half of this are multiples of it. An NVIDIA H200 rounds those of larger ones down.
pub(super) const LARGE_PAGE: Alignment = match Alignment::new(2 << 20) {
    Some(alignment) => alignment,
    None => panic!("not a power of two"),
};

/// The distance from addresses that the device chooses by itself. On an H200, it gives its own again to whoever comes first, and those
/// from here on only to who asks for them.
const DISTANCE: u64 = 1 << 38;

/// The first address is a multiple of this, so that it is the same in each process.
const GRANULE: u64 = 1 << 40;

/// The number of addresses that are tried to be the device's.
const COUNT: u64 = 1 << 43;

/// The addresses that the driver gives to heaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DeviceAddresses {
    start: u64,
    /// Whether buffers can have them on the device.
    are_device: bool,
}

impl DeviceAddresses {
    /// Finds out whether the device creates buffers at addresses of the driver's choice: whether what it calls the opaque address of
    /// memory is that of the buffer, at the beginning and at the end of the range.
    pub(super) fn find(device: &Arc<LogicalDevice>, memory_type: u32) -> Result<Self, DriverError> {
        let none = Self { start: 2 * GRANULE, are_device: false };
        if !device.hardware().has_capture_replay {
            return Ok(none);
        }
        let size = KIB_64.get();
        let create = |address| Buffer::create(device, size, memory_type, NORMAL_PRIORITY, address);
        let start = create(DeviceAddress::Any)?
            .address()
            .checked_add(DISTANCE)
            .and_then(|start| start.checked_next_multiple_of(GRANULE));
        let Some(start) = start.filter(|start| start.checked_add(COUNT).is_some()) else { return Ok(none) };
        for at in [start, start + size, start + COUNT - size] {
            match create(DeviceAddress::At(at)) {
                Ok(buffer) if buffer.address() == at => {}
                Err(lost @ DriverError::DeviceLost { .. }) => return Err(lost),
                Ok(_) | Err(_) => return Ok(none),
            }
        }
        Ok(Self { start, are_device: true })
    }

    /// The first of the addresses.
    pub(super) fn start(self) -> u64 {
        self.start
    }

    /// Returns the address on the device of a buffer for a heap at `address`.
    pub(super) fn at(self, address: u64) -> DeviceAddress {
        if self.are_device { DeviceAddress::At(address) } else { DeviceAddress::None }
    }
}
