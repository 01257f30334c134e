//! Where the device creates buffers at addresses of the driver's choice.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use heapwright_core::Alignment;

use super::logical_device::LogicalDevice;
use super::memory::{Buffer, DeviceAddress};
use crate::ddi::DriverError;
use crate::drivers::KIB_64;
use crate::drivers::free_addresses::{FreeAddresses, Interval};
use crate::drivers::heap::NORMAL_PRIORITY;

/// Heaps have whole pages of this size on the device. An NVIDIA H200 rounds addresses of buffers of more than 1 MiB
/// down to it, and refuses addresses in a page that has another kind of buffer, after which its driver may crash.
pub(super) const LARGE_PAGE: Alignment = match Alignment::new(2 << 20) {
    Some(alignment) => alignment,
    None => panic!("not a power of two"),
};

/// The distance from addresses that the device chooses by itself. On an H200, it gives its own again to whoever comes
/// first, and those from here on only to who asks for them.
const DISTANCE: u64 = 1 << 38;

/// The first address is a multiple of this, so that it is the same in each process.
const GRANULE: u64 = 1 << 40;

/// The number of addresses that the first device of a process has.
const FIRST: u64 = 1 << 42;

/// The number of addresses that each further one has, behind those of the first.
const FURTHER: u64 = 1 << 39;

/// The parts of the addresses that devices of this process have. They share the addresses, and NVIDIA's driver crashes
/// when two ask for the same ones.
static PARTS: Parts = Parts(AtomicU8::new(0));

/// A bit for each part that is taken.
struct Parts(AtomicU8);

/// A part of the addresses.
struct Part {
    of: &'static Parts,
    number: u32,
}

impl Parts {
    /// Takes the lowest free part, which for the only device of a process is the same in each process.
    fn take(&'static self) -> Option<Part> {
        let lowest = |taken: u8| Some(taken.trailing_ones()).filter(|&part| part < u8::BITS);
        let with_it = |taken: u8| lowest(taken).map(|part| taken | 1 << part);
        let before = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, with_it).ok()?;
        lowest(before).map(|number| Part { of: self, number })
    }
}

impl Part {
    /// Returns the addresses of the part, if the first one of all parts is `first`.
    fn addresses(&self, first: u64) -> Option<Interval> {
        let (distance, count) = match u64::from(self.number).checked_sub(1) {
            None => (0, FIRST),
            Some(before) => (FIRST + before * FURTHER, FURTHER),
        };
        let start = first.checked_add(distance)?;
        Some(Interval { start, end: start.checked_add(count)? })
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        self.of.0.fetch_and(!(1 << self.number), Ordering::Relaxed);
    }
}

/// The addresses that the driver gives to heaps.
pub(super) struct DeviceAddresses {
    start: u64,
    /// Those that a buffer can have on the device and none has, in whole large pages; `None` if buffers cannot have
    /// any.
    free: Option<Mutex<FreeAddresses>>,
    _part: Option<Part>,
}

/// Addresses on the device that are a heap's until dropped, also while it has no buffer.
pub(super) struct Claim {
    addresses: Arc<DeviceAddresses>,
    start: u64,
    pages: Interval,
}

impl DeviceAddresses {
    /// Finds out whether the device creates buffers at addresses of the driver's choice: whether what it calls the
    /// opaque address of memory is that of the buffer, at the beginning and at the end of the range.
    ///
    /// Nine and more devices of a process have no addresses of the driver's choice.
    pub(super) fn find(device: &Arc<LogicalDevice>, memory_type: u32) -> Result<Arc<Self>, DriverError> {
        let none = Arc::new(Self { start: 2 * GRANULE, free: None, _part: None });
        let Some(part) = PARTS.take().filter(|_| device.hardware().has_capture_replay) else {
            return Ok(none);
        };
        let size = KIB_64.get();
        let create = |address| Buffer::create(device, size, memory_type, NORMAL_PRIORITY, address);
        let addresses = create(DeviceAddress::Any)?
            .address()
            .checked_add(DISTANCE)
            .and_then(|start| start.checked_next_multiple_of(GRANULE))
            .and_then(|first| part.addresses(first));
        let Some(Interval { start, end }) = addresses else { return Ok(none) };
        for at in [start, start + size, end - size] {
            match create(DeviceAddress::At(at)) {
                Ok(buffer) if buffer.address() == at => {}
                Err(lost @ DriverError::DeviceLost { .. }) => return Err(lost),
                Ok(_) | Err(_) => return Ok(none),
            }
        }
        let free = FreeAddresses::of(Interval { start, end });
        Ok(Arc::new(Self { start, free: Some(Mutex::new(free)), _part: Some(part) }))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_of_a_process_have_different_addresses() {
        static PARTS: Parts = Parts(AtomicU8::new(0));
        let mut parts: Vec<Part> = std::iter::from_fn(|| PARTS.take()).collect();
        let ends: Vec<Interval> = parts.iter().filter_map(|part| part.addresses(GRANULE)).collect();
        assert_eq!((ends.len(), ends[0].start), (8, GRANULE));
        assert!(ends.windows(2).all(|pair| pair[0].end == pair[1].start));
        drop(parts.swap_remove(3));
        assert_eq!(PARTS.take().map(|part| part.number), Some(3));
    }
}
