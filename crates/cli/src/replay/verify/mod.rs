//! The checks of `--verify`: addresses and contents of live buffers.
//!
//! When a buffer is created, its size and the alignment of its GPU address are checked, and that it does not overlap
//! another live buffer in GPU address space. A [`pattern`] is written to about one buffer in
//! [`pattern::SAMPLING`], and compared before the buffer is freed. It covers only the first, middle and last bytes, so
//! that a simulated device does not need memory for the rest.

mod pattern;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use heapwright::{Alignment, ByteSize, GpuVirtualAddress};
use heapwright_trace::{AllocationIndex, Trace};

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
    /// The live buffers by GPU address, each with its size. None overlaps another.
    live: BTreeMap<GpuVirtualAddress, (AllocationIndex, u64)>,
    /// Index of the event that created each allocation.
    alloc_events: Vec<usize>,
    found: Found,
}

/// Errors found so far.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// The first errors, each with the index of the event that created the buffer.
    pub(super) faults: Vec<(usize, String)>,
    /// Number of further errors.
    pub(super) unlisted: u64,
}

impl Found {
    /// Maximum number of listed errors. A single bug tends to affect many buffers.
    const MAX_LISTED: usize = 10;

    fn push(&mut self, event_index: usize, fault: String) {
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
            live: BTreeMap::new(),
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
                self.found.push(event_index, format!("id {id} cannot be written through Map: {reason}"));
            }
        }
    }

    /// Checks a buffer that the event is about to free.
    pub(super) fn before_free(&mut self, event_index: usize, buffer: &mut impl Buffer) {
        let allocation = self.trace.events()[event_index].allocation;
        let seen = format!("before its free on {}", self.trace.position(event_index));
        self.retire(allocation, &seen, buffer);
    }

    /// Checks a buffer that is live when the trace ends.
    pub(super) fn at_end(&mut self, allocation: AllocationIndex, buffer: &mut impl Buffer) {
        self.retire(allocation, "at the end of the trace", buffer);
    }

    pub(super) fn into_found(self) -> Found {
        self.found
    }

    fn check_place(
        &mut self,
        allocation: AllocationIndex,
        requested: ByteSize,
        buffer: &impl Buffer,
    ) -> Result<(), String> {
        let id = self.trace.id(allocation);
        let granted = buffer.size();
        let size = granted.get();
        if granted < requested {
            return Err(format!("id {id} has {size} bytes, but {} were requested", requested.get()));
        }
        let address = buffer.gpu_virtual_address().ok_or_else(|| format!("id {id} has no GPU address"))?;
        let alignment = self.alignment.get();
        if !address.get().is_multiple_of(alignment) {
            return Err(format!(
                "id {id} is at GPU address {address}, which is not a multiple of {alignment}"
            ));
        }
        // Last bytes are compared, because the end of a buffer at the end of the address space overflows.
        let last = |start: GpuVirtualAddress, size: u64| start.get().saturating_add(size - 1);
        // The live buffers do not overlap, so the last one that starts at or before the last byte has the highest end.
        let end = GpuVirtualAddress::new(last(address, size)).unwrap_or(address);
        let before = self.live.range(..=end).next_back();
        if let Some((&other_address, &(other, other_size))) = before
            && last(other_address, other_size) >= address.get()
        {
            let other_id = self.trace.id(other);
            let position = self.trace.position(self.alloc_events[other.as_usize()]);
            return Err(format!(
                "id {id} ({size} bytes at {address}) overlaps id {other_id} of {position} ({other_size} bytes at {other_address})"
            ));
        }
        self.live.insert(address, (allocation, size));
        Ok(())
    }

    fn retire(&mut self, allocation: AllocationIndex, seen: &str, buffer: &mut impl Buffer) {
        if let Some(address) = buffer.gpu_virtual_address()
            && self.live.get(&address).is_some_and(|&(live, _)| live == allocation)
        {
            self.live.remove(&address);
        }
        let id = self.trace.id(allocation);
        if !pattern::is_sampled(id) {
            return;
        }
        let event_index = self.alloc_events[allocation.as_usize()];
        let size = self.trace.events()[event_index].size;
        match pattern::check(id, size, |offset, bytes| buffer.read(offset, bytes)) {
            Ok(None) => {}
            Ok(Some(damage)) => {
                let fault = format!("the content of id {id} changed: {damage}, detected {seen}");
                self.found.push(event_index, fault);
            }
            Err(reason) => {
                let fault = format!("id {id} cannot be read through Map {seen}: {reason}");
                self.found.push(event_index, fault);
            }
        }
    }
}
