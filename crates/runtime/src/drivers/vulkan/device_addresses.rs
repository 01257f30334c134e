//! Where the device creates buffers at addresses of the driver's choice.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use heapwright_core::Alignment;

use super::logical_device::LogicalDevice;
use super::memory::{Buffer, DeviceAddress};
use crate::ddi::DriverError;
use crate::drivers::KIB_64;
use crate::drivers::free_addresses::{FreeAddresses, Interval};
use crate::drivers::heap::NORMAL_PRIORITY;

/// Heaps have whole pages of this size on the device. An NVIDIA H200 rounds addresses of buffers of more than 1 MiB down to it, and refuses
/// addresses in a page that has another kind of buffer, after which its driver may crash.
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
pub(super) struct DeviceAddresses {
    start: u64,
    /// Those that a buffer can have on the device and none has, in whole large pages; `None` if buffers cannot have any.
    free: Option<Mutex<FreeAddresses>>,
}

/// Addresses on the device that are a heap's until dropped, also while it has no buffer.
pub(super) struct Claim {
    addresses: Arc<DeviceAddresses>,
    start: u64,
    pages: Interval,
}

impl DeviceAddresses {
    /// Finds out whether the device creates buffers at addresses of the driver's choice: whether what it calls the opaque address of
    /// memory is that of the buffer, at the beginning and at the end of the range.
    pub(super) fn find(device: &Arc<LogicalDevice>, memory_type: u32) -> Result<Arc<Self>, DriverError> {
        let none = Arc::new(Self { start: 2 * GRANULE, free: None });
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
        let free = FreeAddresses::of(Interval { start, end: start + COUNT });
        Ok(Arc::new(Self { start, free: Some(Mutex::new(free)) }))
    }

    /// The first of the addresses.
    pub(super) fn start(&self) -> u64 {
        self.start
    }

    /// Claims the addresses of a heap on the device, if all of their pages are free there. O(log n).
    pub(super) fn claim(self: &Arc<Self>, start: u64, size: u64) -> Option<Claim> {
        let page = LARGE_PAGE.get();
        let end = start.checked_add(size)?.checked_next_multiple_of(page)?;
        let pages = Interval { start: start - start % page, end };
        self.free()?.take_at(pages).then(|| Claim { addresses: Arc::clone(self), start, pages })
    }

    fn free(&self) -> Option<MutexGuard<'_, FreeAddresses>> {
        Some(self.free.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Claim {
    /// The first address of the heap.
    pub(super) fn address(&self) -> DeviceAddress {
        DeviceAddress::At(self.start)
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if let Some(mut free) = self.addresses.free() {
            free.give_back(self.pages);
        }
    }
}
