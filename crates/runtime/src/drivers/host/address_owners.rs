//! Who has which GPU virtual addresses: heaps, devices that reserve some, and nobody.

use std::collections::BTreeMap;

use heapwright_core::{Alignment, ByteSize, GpuVirtualAddress};

use super::KIB_64;
use super::free_addresses::{FreeAddresses, Interval};
use crate::ddi::{CreateAtFault, DriverError, GpuVirtualAddressRange};

/// Where the simulated GPU's address space begins: zero and what is near it stay invalid.
const BASE: u64 = 1 << 32;

/// The addresses of an address space.
///
/// Addresses come in whole pages of 64 KiB, so what was recorded of an object, wherever it begins and ends, reserves what the
/// object needs again.
///
/// Those from a place on that a seed decides are given out before those below it: so two runs have the same addresses only by
/// design.
#[derive(Debug)]
pub(super) struct AddressOwners {
    whole: Interval,
    /// Free and reserved by no device, from the seed's place on.
    above: FreeAddresses,
    /// Free and reserved by no device, below it.
    below: FreeAddresses,
    /// The seed's place.
    place: u64,
    reservations: BTreeMap<ReservationId, Reservation>,
    next: u64,
}

/// The addresses that one device reserved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ReservationId(u64);

#[derive(Debug)]
struct Reservation {
    /// What is reserved, from low to high, in ranges that do not touch.
    all: Vec<Interval>,
    /// What of that nothing was created at.
    free: FreeAddresses,
}

impl Reservation {
    /// The lowest address of `range` that is not reserved. O(log n).
    fn first_missing(&self, range: Interval) -> Option<u64> {
        let behind = self.all.partition_point(|reserved| reserved.start <= range.start);
        let around = behind.checked_sub(1).map(|index| self.all[index]);
        let first = around.filter(|around| range.start < around.end).map_or(range.start, |around| around.end);
        (first < range.end).then_some(first)
    }
}

impl AddressOwners {
    /// An address space of `bits` bits, 33 to 62, all of it free.
    pub(super) fn new(bits: u32, seed: u64) -> Self {
        let whole = Interval { start: BASE, end: 1 << bits };
        let place = place(whole, seed);
        Self {
            whole,
            above: FreeAddresses::of(Interval { start: place, ..whole }),
            below: FreeAddresses::of(Interval { end: place, ..whole }),
            place,
            reservations: BTreeMap::new(),
            next: 0,
        }
    }

    /// `size` bytes, not zero, at addresses that no device reserves, in whole pages. O(log n) as a rule.
    pub(super) fn take(&mut self, size: ByteSize, alignment: Alignment) -> Option<Interval> {
        let size = size.align_up(KIB_64)?;
        let alignment = alignment.max(KIB_64);
        self.above.take(size, alignment).or_else(|| self.below.take(size, alignment))
    }

    /// The pages of `size` bytes, not zero, from `start` on, which the device of `reservation` reserved. O(log n).
    pub(super) fn take_at(
        &mut self,
        reservation: Option<ReservationId>,
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
        let Some(reservation) = reservation.and_then(|id| self.reservations.get_mut(&id)) else {
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
        debug_assert!(taken, "all of it is free");
        Ok(wanted)
    }

    /// Takes back what an object had; with `reservation` what it had of a device's, which may be gone by now. O(log n).
    pub(super) fn give_back(&mut self, range: Interval, reservation: Option<ReservationId>) {
        match reservation.and_then(|id| self.reservations.get_mut(&id)) {
            Some(reservation) => reservation.free.give_back(range),
            None => self.free(range),
        }
    }

    /// Reserves the pages of `ranges` for a device: in any order, aligned to nothing, and one may overlap another or be empty.
    /// Nothing is reserved when that fails. O(n log n).
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
            debug_assert!(taken, "each of its parts is free");
            free.give_back(range);
        }
        let id = ReservationId(self.next);
        self.next += 1;
        self.reservations.insert(id, Reservation { all, free });
        Ok(id)
    }

    /// Ends a reservation; what objects still have of it comes back with them. O(n log n).
    pub(super) fn release(&mut self, id: ReservationId) {
        let Some(reservation) = self.reservations.remove(&id) else { return };
        for range in reservation.free.ranges() {
            self.free(range);
        }
    }

    /// Bytes that are free and that no device reserves. O(n).
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

    /// The pages that have bytes of `range`, which is not empty; `None` where some are outside of the space.
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

/// The same addresses from low to high, in ranges that do not touch.
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

/// The page that addresses are given out from: one in the lower half of `whole`, the first one for seed 0.
///
/// Seeds that differ by one are far apart: the product's high bits choose the page.
fn place(whole: Interval, seed: u64) -> u64 {
    /// 2^64 divided by the golden ratio, which spreads consecutive numbers evenly.
    const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
    let page = KIB_64.get();
    let pages = u128::from(whole.len() / 2 / page);
    let number = (u128::from(seed.wrapping_mul(SPREAD)) * pages) >> 64;
    // Below `pages`, which has 64 bits.
    whole.start + u64::try_from(number).unwrap_or(0) * page
}

#[cfg(test)]
mod tests;
