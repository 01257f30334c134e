//! The checks of `--verify`: addresses and contents of live buffers.
//!
//! Every buffer is checked when it is created: its size, the alignment of its GPU address, and that it shares no byte
//! of address space with another live buffer ([`AddressMap`]). About one in [`pattern::SAMPLING`] also gets a
//! [`pattern`], which is compared before the buffer is freed. Only the first, middle and last bytes hold the pattern,
//! so a simulated device need not back the rest with memory.

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

/// A buffer as the checks see it.
pub(super) trait Buffer {
    /// What it says its size is.
    fn size(&self) -> ByteSize;

    /// Where it says that it is.
    fn gpu_virtual_address(&self) -> Option<GpuVirtualAddress>;

    /// Writes through Map.
    fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), String>;

    /// Reads through Map.
    fn read(&mut self, offset: u64, bytes: &mut [u8]) -> Result<(), String>;
}

/// Holds every buffer of one replay to the rules.
pub(super) struct Verifier<'a> {
    trace: &'a Trace,
    /// What every GPU address is a multiple of.
    alignment: Alignment,
    live: AddressMap,
    /// Events by allocation; set when it is created.
    alloc_events: Vec<usize>,
    found: Found,
}

/// The faults so far.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// The first ones, each with the event to blame.
    pub(super) faults: Vec<(usize, Fault)>,
    /// How many more there were.
    pub(super) unlisted: u64,
}

impl Found {
    /// One broken rule tends to be broken by many.
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
        self.retire(allocation, Seen::BeforeFree { line: self.trace.line(event_index) }, buffer);
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
        asked: ByteSize,
        buffer: &impl Buffer,
    ) -> Result<(), Fault> {
        let id = self.trace.id(allocation);
        let granted = buffer.size();
        if granted < asked {
            return Err(Fault::TooSmall { id, asked, granted });
        }
        let address = buffer.gpu_virtual_address().ok_or(Fault::NoAddress { id })?;
        if !address.get().is_multiple_of(self.alignment.get()) {
            return Err(Fault::Misaligned { id, address, alignment: self.alignment });
        }
        // A buffer that shares addresses is not entered, so that what is entered never overlaps.
        self.live.insert(allocation, address, granted).map_err(|other| {
            let other_event = self.alloc_events[other.allocation.as_usize()];
            Fault::Overlap {
                id,
                address,
                size: granted,
                other_id: self.trace.id(other.allocation),
                other_line: self.trace.line(other_event),
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
