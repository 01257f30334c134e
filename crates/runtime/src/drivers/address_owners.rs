//! Ownership of GPU virtual addresses: by objects, by the reservations of devices, or free.

use std::collections::BTreeMap;

use heapwright_core::{Alignment, ByteSize, GpuVirtualAddress};

use super::free_addresses::{FreeAddresses, Interval};
use crate::ddi::{CreateAtFault, DriverError, GpuVirtualAddressRange};
use crate::drivers::KIB_64;

/// The beginning of an address space. Zero and the addresses near it are invalid.
pub(super) const BASE: u64 = 1 << 32;

/// The addresses of an address space.
///
/// Addresses are allocated in whole pages of 64 KiB. So the recorded range of an object, wherever it begins and ends,
/// reserves all that the object needs when it is created again.
///
/// Addresses from a start address on are allocated before those below it. A seed determines the simulated GPU's, so two
/// runs have the same addresses only by design.
#[derive(Debug)]
pub(super) struct AddressOwners {
    whole: Interval,
    /// Free addresses, reserved by no device, from the start address on.
    above: FreeAddresses,
    /// Free addresses, reserved by no device, below the start address.
    below: FreeAddresses,
    /// The start address.
    place: u64,
    reservations: BTreeMap<ReservationId, Reservation>,
    next: u64,
}

/// Identifies the addresses that one device reserved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ReservationId(u64);

#[derive(Debug)]
struct Reservation {
    /// All reserved ranges, in ascending order; they do not touch.
    all: Vec<Interval>,
    /// The reserved addresses at which no object exists.
    free: FreeAddresses,
}

impl Reservation {
    /// Returns the lowest address of `range` that is not reserved. O(log n).
    fn first_missing(&self, range: Interval) -> Option<u64> {
        let behind = self.all.partition_point(|reserved| reserved.start <= range.start);
        let around = behind.checked_sub(1).map(|index| self.all[index]);
        let first = around.filter(|around| range.start < around.end).map_or(range.start, |around| around.end);
        (first < range.end).then_some(first)
    }
}

impl AddressOwners {
    /// Creates an address space of `bits` bits, 33 to 62, which is entirely free.
    pub(super) fn new(bits: u32, seed: u64) -> Self {
        let whole = Interval { start: BASE, end: 1 << bits };
        Self::starting_at(whole, place(whole, seed))
    }

    /// Creates an address space that is entirely free, and allocates addresses from `place` on before those below it.
    pub(super) fn starting_at(whole: Interval, place: u64) -> Self {
        Self {
            whole,
            above: FreeAddresses::of(Interval { start: place, ..whole }),
            below: FreeAddresses::of(Interval { end: place, ..whole }),
            place,
            reservations: BTreeMap::new(),
            next: 0,
        }
    }

    /// Allocates `size` bytes, not zero, in whole pages, at addresses that no device reserves. O(log n) in most cases.
    pub(super) fn take(&mut self, size: ByteSize, alignment: Alignment) -> Option<Interval> {
        let size = size.align_up(KIB_64)?;
        let alignment = alignment.max(KIB_64);
        self.above.take(size, alignment).or_else(|| self.below.take(size, alignment))
    }

    /// Allocates the pages of `size` bytes, not zero, from `start` on, which the device of `reservation` reserved.
    /// O(log n).
    pub(super) fn take_at(
        &mut self,
        reservation: ReservationId,
        start: GpuVirtualAddress,
        size: ByteSize,
        alignment: Alignment,
    ) -> Result<Interval, CreateAtFault> {
        let alignment = alignment.max(KIB_64);
        if !start.is_aligned(alignment) {
            return Err(CreateAtFault::Misaligned { alignment });
        }
        let end = size.align_up(KIB_64).and_then(|size| start.checked_add(size));
        let wanted = end
            .map(|end| Interval { start: start.get(), end: end.get() })
            .filter(|wanted| self.whole.contains(*wanted))
            .ok_or(CreateAtFault::OutsideAddressSpace)?;
        let Some(reservation) = self.reservations.get_mut(&reservation) else {
            return Err(CreateAtFault::NotReserved { address: start });
        };
        // No address of the space is zero.
        if let Some(address) = reservation.first_missing(wanted).and_then(GpuVirtualAddress::new) {
            return Err(CreateAtFault::NotReserved { address });
        }
        if let Some(address) = reservation.free.first_missing(wanted).and_then(GpuVirtualAddress::new) {
            return Err(CreateAtFault::InUse { address });
        }
        let taken = reservation.free.take_at(wanted);
        debug_assert!(taken, "the whole range is free");
        Ok(wanted)
    }

    /// Frees the addresses of an object. `reservation` is the one that they belong to, which may have ended. O(log n).
    pub(super) fn give_back(&mut self, range: Interval, reservation: Option<ReservationId>) {
        match reservation.and_then(|id| self.reservations.get_mut(&id)) {
            Some(reservation) => reservation.free.give_back(range),
            None => self.free(range),
        }
    }

    /// Reserves the pages of `ranges` for a device. The ranges may be in any order, unaligned, overlapping or empty. On
    /// error, nothing is reserved. O(n log n).
    pub(super) fn reserve(
        &mut self,
        ranges: &[GpuVirtualAddressRange],
    ) -> Result<ReservationId, DriverError> {
        let mut all = Vec::with_capacity(ranges.len());
        for &range in ranges.iter().filter(|range| range.size != ByteSize::ZERO) {
            let pages = self.pages(range).ok_or(DriverError::AddressesInvalid { range })?;
            let parts = [(&self.below, self.below_place(pages)), (&self.above, self.above_place(pages))];
            if parts.into_iter().any(|(free, part)| free.first_missing(part).is_some()) {
                return Err(DriverError::AddressesInUse { range });
            }
            all.push(pages);
        }
        let all = merge(all);
        let mut free = FreeAddresses::default();
        for &range in &all {
            let (below, above) = (self.below_place(range), self.above_place(range));
            let taken = self.below.take_at(below) && self.above.take_at(above);
            debug_assert!(taken, "each part of the range is free");
            free.give_back(range);
        }
        let id = ReservationId(self.next);
        self.next += 1;
        self.reservations.insert(id, Reservation { all, free });
        Ok(id)
    }

    /// Ends a reservation. Addresses that objects still use are freed with the objects. O(n log n).
    pub(super) fn release(&mut self, id: ReservationId) {
        let Some(reservation) = self.reservations.remove(&id) else { return };
        for range in reservation.free.ranges() {
            self.free(range);
        }
    }

    /// Returns the number of bytes that are free and reserved by no device. O(n).
    #[cfg(test)]
    pub(super) fn free_size(&self) -> ByteSize {
        ByteSize::new(self.above.ranges().chain(self.below.ranges()).map(Interval::len).sum())
    }

    fn free(&mut self, range: Interval) {
        self.below.give_back(self.below_place(range));
        self.above.give_back(self.above_place(range));
    }

    fn below_place(&self, range: Interval) -> Interval {
        range.intersection(Interval { end: self.place, ..self.whole })
    }

    fn above_place(&self, range: Interval) -> Interval {
        range.intersection(Interval { start: self.place, ..self.whole })
    }

    /// Returns the pages that contain bytes of `range`, which is not empty, or `None` if some are outside of the space.
    fn pages(&self, range: GpuVirtualAddressRange) -> Option<Interval> {
        let start = range.start.get();
        let bytes = Interval { start, end: start.checked_add(range.size.get())? };
        if !self.whole.contains(bytes) {
            return None;
        }
        let page = KIB_64.get();
        Some(Interval { start: start - start % page, end: bytes.end.checked_next_multiple_of(page)? })
    }
}

/// Returns the same addresses as ascending ranges that do not touch.
fn merge(mut ranges: Vec<Interval>) -> Vec<Interval> {
    ranges.sort_unstable();
    let mut merged: Vec<Interval> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

/// Returns the start address for a seed: a page in the lower half of `whole`, the first one for seed 0.
///
/// The high bits of the product select the page, so consecutive seeds are far apart.
fn place(whole: Interval, seed: u64) -> u64 {
    /// 2^64 divided by the golden ratio, which spreads consecutive numbers evenly.
    const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
    let page = KIB_64.get();
    let pages = u128::from(whole.len() / 2 / page);
    let number = (u128::from(seed.wrapping_mul(SPREAD)) * pages) >> 64;
    // The number is less than `pages`, which fits 64 bits.
    whole.start + u64::try_from(number).unwrap_or(0) * page
}

#[cfg(test)]
mod tests;
