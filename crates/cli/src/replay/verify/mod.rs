//! The checks of `--verify`: addresses and contents of live buffers.
//!
//! When a buffer is created, its size and the alignment of its GPU address are checked, and that it does not overlap
//! another live buffer in GPU address space ([`AddressMap`]). A [`pattern`] is written to about one buffer in
//! [`pattern::SAMPLING`], and compared before the buffer is freed. It covers only the first, middle and last bytes, so
//! that a simulated device does not need memory for the rest.

mod address_map;
mod fault;
mod pattern;
#[cfg(test)]
mod tests;

use heapwright::{Alignment, ByteSize, GpuVirtualAddress};
use heapwright_trace::{AllocationIndex, Trace};

use self::address_map::AddressMap;
pub(super) use self::fault::Fault;
use self::fault::Seen;

/// A buffer to be checked.
pub(super) trait Buffer {
    /// Returns the buffer's size.
    fn size(&self) -> ByteSize;

    /// Returns the buffer's GPU address.
    fn gpu_virtual_address(&self) -> Option<GpuVirtualAddress>;

    /// Writes through Map.
    fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), String>;

    /// Reads through Map.
    fn read(&mut self, offset: u64, bytes: &mut [u8]) -> Result<(), String>;
}

/// Checks the buffers of a replay.
pub(super) struct Verifier<'a> {
    trace: &'a Trace,
    /// Required alignment of GPU addresses.
    alignment: Alignment,
    live: AddressMap,
    /// Index of the event that created each allocation.
    alloc_events: Vec<usize>,
    found: Found,
}

/// Errors found so far.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// The first errors, each with the index of the event that created the buffer.
    pub(super) faults: Vec<(usize, Fault)>,
    /// Number of further errors.
    pub(super) unlisted: u64,
}

impl Found {
    /// Maximum number of listed errors. A single bug tends to affect many buffers.
    const MAX_LISTED: usize = 10;

    fn push(&mut self, event_index: usize, fault: Fault) {
        if self.faults.len() < Self::MAX_LISTED {
            self.faults.push((event_index, fault));
        } else {
            self.unlisted += 1;
        }
    }
}

impl<'a> Verifier<'a> {
    pub(super) fn new(trace: &'a Trace, alignment: Alignment) -> Self {
        Self {
            trace,
            alignment,
            live: AddressMap::default(),
            alloc_events: vec![0; trace.allocation_count()],
            found: Found::default(),
        }
    }

    /// Checks a buffer that the event has just created, and writes to it if it is in the sample.
    pub(super) fn after_create(&mut self, event_index: usize, buffer: &mut impl Buffer) {
        let event = self.trace.events()[event_index];
        self.alloc_events[event.allocation.as_usize()] = event_index;
        if let Err(fault) = self.check_place(event.allocation, event.size, buffer) {
            self.found.push(event_index, fault);
        }
        let id = self.trace.id(event.allocation);
        if pattern::is_sampled(id) {
            let written = pattern::write(id, event.size, |offset, bytes| buffer.write(offset, bytes));
            if let Err(reason) = written {
                self.found.push(event_index, Fault::Unwritable { id, reason });
            }
        }
    }

    /// Checks a buffer that the event is about to free.
    pub(super) fn before_free(&mut self, event_index: usize, buffer: &mut impl Buffer) {
        let allocation = self.trace.events()[event_index].allocation;
        self.retire(allocation, Seen::BeforeFree { position: self.trace.position(event_index) }, buffer);
    }

    /// Checks a buffer that is live when the trace ends.
    pub(super) fn at_end(&mut self, allocation: AllocationIndex, buffer: &mut impl Buffer) {
        self.retire(allocation, Seen::AtEnd, buffer);
    }

    pub(super) fn into_found(self) -> Found {
        self.found
    }

    fn check_place(
        &mut self,
        allocation: AllocationIndex,
        requested: ByteSize,
        buffer: &impl Buffer,
    ) -> Result<(), Fault> {
        let id = self.trace.id(allocation);
        let granted = buffer.size();
        if granted < requested {
            return Err(Fault::TooSmall { id, requested, granted });
        }
        let address = buffer.gpu_virtual_address().ok_or(Fault::NoAddress { id })?;
        if !address.get().is_multiple_of(self.alignment.get()) {
            return Err(Fault::Misaligned { id, address, alignment: self.alignment });
        }
        // A buffer that overlaps another is not inserted, so the ranges in the map never overlap.
        self.live.insert(allocation, address, granted).map_err(|other| {
            let other_event = self.alloc_events[other.allocation.as_usize()];
            Fault::Overlap {
                id,
                address,
                size: granted,
                other_id: self.trace.id(other.allocation),
                other_position: self.trace.position(other_event),
                other_address: other.address,
                other_size: other.size,
            }
        })
    }

    fn retire(&mut self, allocation: AllocationIndex, seen: Seen, buffer: &mut impl Buffer) {
        if let Some(address) = buffer.gpu_virtual_address() {
            self.live.remove(allocation, address);
        }
        let id = self.trace.id(allocation);
        if !pattern::is_sampled(id) {
            return;
        }
        let event_index = self.alloc_events[allocation.as_usize()];
        let size = self.trace.events()[event_index].size;
        match pattern::check(id, size, |offset, bytes| buffer.read(offset, bytes)) {
            Ok(None) => {}
            Ok(Some(damage)) => self.found.push(event_index, Fault::Damaged { id, damage, seen }),
            Err(reason) => self.found.push(event_index, Fault::Unreadable { id, reason, seen }),
        }
    }
}
