//! GPU virtual addresses that a device reserves for objects of an earlier process (Recreate-at-GPUVA specification).

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use heapwright_core::{Alignment, ByteSize, GpuVirtualAddress};

use super::address_map::AddressMap;
use super::logical_device::LogicalDevice;
use super::memory::{Binding, Buffer, NORMAL_PRIORITY};
use crate::ddi::command::RemovalSink;
use crate::ddi::{CreateAtFault, DriverDevice, DriverError, GpuVirtualAddressRange};
use crate::drivers::KIB_64;

/// Returns whether objects can be created at addresses of an earlier process. D3D12 records addresses, while Vulkan wants what
/// it calls the opaque address, so the two have to be the same: for sparse buffers, and for memory.
pub(super) fn can_recreate(device: &Arc<LogicalDevice>, memory_type: u32) -> Result<bool, DriverError> {
    let hardware = device.hardware();
    if !hardware.has_capture_replay || !hardware.has_sparse_binding {
        return Ok(false);
    }
    let size = KIB_64.get();
    let sparse = Buffer::create(device, size, Binding::Sparse { at: None })?;
    let buffer = Buffer::create(device, size, Binding::Replayable { at: None })?;
    let memory = buffer.allocate(memory_type, NORMAL_PRIORITY)?;
    let is_same = sparse.opaque_address() == sparse.address() && memory.opaque_address() == buffer.address();
    drop(buffer);
    Ok(is_same)
}

/// A device with its reserved addresses.
pub(super) struct ReservedAddresses(Arc<Reservation>);

/// Reserved addresses. Sparse buffers without memory occupy those at which no object exists.
struct Reservation {
    device: Arc<LogicalDevice>,
    map: Arc<AddressMap>,
    /// All reserved ranges in whole pages, as first address and end; ascending, and they do not touch.
    all: Vec<(u64, u64)>,
    /// The buffers that occupy addresses, by their first address.
    placeholders: Mutex<BTreeMap<u64, Buffer>>,
}

impl ReservedAddresses {
    /// Reserves the pages of `ranges`, which may be in any order, unaligned, overlapping or empty. On error, nothing is
    /// reserved.
    pub(super) fn create(
        device: &Arc<LogicalDevice>,
        map: &Arc<AddressMap>,
        ranges: &[GpuVirtualAddressRange],
    ) -> Result<Self, DriverError> {
        let mut pages = Vec::with_capacity(ranges.len());
        for &range in ranges.iter().filter(|range| !range.size.is_zero()) {
            let page = KIB_64.get();
            let start = range.start.get();
            let end = start.checked_add(range.size.get()).and_then(|end| end.checked_next_multiple_of(page));
            pages.push((start - start % page, end.ok_or(DriverError::AddressesInvalid { range })?, range));
        }
        pages.sort_unstable_by_key(|&(start, end, _)| (start, end));
        let mut merged: Vec<(u64, u64, GpuVirtualAddressRange)> = Vec::with_capacity(pages.len());
        for (start, end, range) in pages {
            match merged.last_mut() {
                Some(last) if start <= last.1 => last.1 = last.1.max(end),
                _ => merged.push((start, end, range)),
            }
        }
        let mut placeholders = BTreeMap::new();
        for &(start, end, range) in &merged {
            let buffer = occupy(device, start, end).ok_or(DriverError::AddressesInUse { range })?;
            placeholders.insert(start, buffer);
        }
        Ok(Self(Arc::new(Reservation {
            device: Arc::clone(device),
            map: Arc::clone(map),
            all: merged.into_iter().map(|(start, end, _)| (start, end)).collect(),
            placeholders: Mutex::new(placeholders),
        })))
    }

    /// Creates what occupies reserved addresses, by `make`. The addresses are reserved again when the returned place is
    /// dropped, which must be after that.
    pub(super) fn create_at<T>(
        &self,
        start: GpuVirtualAddress,
        size: ByteSize,
        alignment: Alignment,
        make: impl FnOnce() -> Result<T, DriverError>,
    ) -> Result<(T, ReservedPlace), DriverError> {
        let created = self.0.create_at(start, size, alignment, make)?;
        let end = start.get().saturating_add(size.get()).checked_next_multiple_of(KIB_64.get());
        let place = ReservedPlace {
            reservation: Arc::downgrade(&self.0),
            start: start.get(),
            end: end.unwrap_or(start.get()),
        };
        Ok((created, place))
    }
}

/// Reserved addresses at which an object exists, until dropped.
pub(super) struct ReservedPlace {
    reservation: Weak<Reservation>,
    start: u64,
    end: u64,
}

impl Drop for ReservedPlace {
    fn drop(&mut self) {
        let Some(reservation) = self.reservation.upgrade() else { return };
        let mut placeholders = reservation.placeholders.lock().unwrap_or_else(PoisonError::into_inner);
        // If another object of the process took the addresses in this moment, creation there fails later.
        if let Some(buffer) = occupy(&reservation.device, self.start, self.end) {
            placeholders.insert(self.start, buffer);
        }
    }
}

impl Reservation {
    fn create_at<T>(
        &self,
        start: GpuVirtualAddress,
        size: ByteSize,
        alignment: Alignment,
        make: impl FnOnce() -> Result<T, DriverError>,
    ) -> Result<T, DriverError> {
        let range = GpuVirtualAddressRange { start, size };
        let refuse = |fault| DriverError::CannotCreateAt { range, fault };
        let alignment = alignment.max(KIB_64);
        if !start.is_aligned(alignment) {
            return Err(refuse(CreateAtFault::Misaligned { alignment }));
        }
        let end = size.align_up(KIB_64).and_then(|size| start.get().checked_add(size.get()));
        let (start_byte, end) = (start.get(), end.ok_or(refuse(CreateAtFault::OutsideAddressSpace))?);
        if let Some(address) = self.first_missing(start_byte, end).and_then(GpuVirtualAddress::new) {
            return Err(refuse(CreateAtFault::NotReserved { address }));
        }
        // Also orders two threads that want the same addresses.
        let mut placeholders = self.placeholders.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(address) = self.map.first_used(start_byte, end).and_then(GpuVirtualAddress::new) {
            return Err(refuse(CreateAtFault::InUse { address }));
        }
        let overlapping = |(&at, buffer): (&u64, &Buffer)| {
            let last = at + buffer.size();
            (at < end && start_byte < last).then_some((at, last))
        };
        let freed: Vec<(u64, u64)> = placeholders.iter().filter_map(overlapping).collect();
        for (at, _) in &freed {
            placeholders.remove(at);
        }
        let created = make();
        for (at, last) in freed {
            let kept = match &created {
                Ok(_) => [(at, start_byte), (end, last)],
                Err(_) => [(at, last), (last, last)],
            };
            for (at, last) in kept.into_iter().filter(|(at, last)| at < last) {
                // If another object of the process took the addresses in this moment, creation there fails later.
                if let Some(buffer) = occupy(&self.device, at, last) {
                    placeholders.insert(at, buffer);
                }
            }
        }
        created
    }

    /// Returns the first address of a range that is not reserved.
    fn first_missing(&self, start: u64, end: u64) -> Option<u64> {
        let behind = self.all.partition_point(|&(reserved, _)| reserved <= start);
        let around = behind.checked_sub(1).map(|index| self.all[index].1);
        let first = around.filter(|&around| start < around).unwrap_or(start);
        (first < end).then_some(first)
    }
}

/// Creates a buffer without memory at the given addresses.
fn occupy(device: &Arc<LogicalDevice>, start: u64, end: u64) -> Option<Buffer> {
    let buffer = Buffer::create(device, end - start, Binding::Sparse { at: Some(start) }).ok()?;
    (buffer.address() == start).then_some(buffer)
}

impl DriverDevice for ReservedAddresses {
    fn report_loss(&self, removal: &Arc<dyn RemovalSink>) {
        self.0.device.report_loss(removal);
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
