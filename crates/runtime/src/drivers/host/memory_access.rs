//! Memory accesses of the simulated GPU: through the page table, one contiguous span at a time.

use std::ptr::NonNull;
use std::sync::Arc;

use crate::drivers::address_space::{AddressSpace, Span};
use crate::drivers::driver::GpuMemory;
use crate::drivers::page_fault::{FaultCause, PageFault};

/// The GPU's access to memory.
///
/// All accesses go through [`span`](Self::span), which checks that memory is mapped and resident, and last no
/// longer than a span keeps the heap alive. Applications that order accesses of CPU and GPU by fences see whole values;
/// others have the same data race as on a real GPU.
#[derive(Clone)]
pub(in crate::drivers) struct HostMemory {
    space: Arc<AddressSpace>,
}

impl HostMemory {
    pub(in crate::drivers) fn new(space: Arc<AddressSpace>) -> Self {
        Self { space }
    }

    /// Finds the memory at `address`: at most `size` bytes, mapped and resident.
    fn span(&self, address: u64, size: u64) -> Result<Span, PageFault> {
        let span = self.space.translate(address, size)?;
        match &span {
            Span::Memory { heap, .. } if !heap.has_arrived() => Err(heap.evicted(address)),
            _ => Ok(span),
        }
    }
}

impl GpuMemory for HostMemory {
    fn copy(&mut self, target: u64, source: u64, size: u64) -> Result<(), PageFault> {
        let mut done = 0;
        while done < size {
            let from = self.span(source + done, size - done)?;
            let to = self.span(target + done, size - done)?;
            let step = from.size().min(to.size());
            let (from, to) = (pointer(&from, source + done)?, pointer(&to, target + done)?);
            let len = len(step, target + done)?;
            match (from, to) {
                // SAFETY: both spans are translated ranges of at least `step` bytes of live heaps, committed by
                // `pointer`.
                (Some(from), Some(to)) => unsafe { std::ptr::copy(from.as_ptr(), to.as_ptr(), len) },
                // SAFETY: as above; a null tile reads as zero.
                (None, Some(to)) => unsafe { to.write_bytes(0, len) },
                // Writes to a null tile are discarded.
                (_, None) => {}
            }
            done += step;
        }
        Ok(())
    }

    fn write(&mut self, target: u64, bytes: &[u8]) -> Result<(), PageFault> {
        let mut rest = bytes;
        let mut address = target;
        while !rest.is_empty() {
            let span = self.span(address, rest.len() as u64)?;
            let (now, later) = rest.split_at(len(span.size(), address)?.min(rest.len()));
            if let Some(to) = pointer(&span, address)? {
                // SAFETY: the span has at least as many bytes, of a live heap, committed by `pointer`; the slice is not
                // in GPU memory, to which no references exist.
                unsafe { std::ptr::copy_nonoverlapping(now.as_ptr(), to.as_ptr(), now.len()) };
            }
            address += now.len() as u64;
            rest = later;
        }
        Ok(())
    }

    fn read(&mut self, source: u64, bytes: &mut [u8]) -> Result<(), PageFault> {
        let mut rest = bytes;
        let mut address = source;
        while !rest.is_empty() {
            let span = self.span(address, rest.len() as u64)?;
            let step = len(span.size(), address)?.min(rest.len());
            let (now, later) = rest.split_at_mut(step);
            match pointer(&span, address)? {
                // SAFETY: the span has at least as many bytes, of a live heap, committed by `pointer`; the slice is not
                // in GPU memory, to which no references exist.
                Some(from) => unsafe {
                    std::ptr::copy_nonoverlapping(from.as_ptr(), now.as_mut_ptr(), now.len());
                },
                None => now.fill(0),
            }
            address += step as u64;
            rest = later;
        }
        Ok(())
    }

    fn fill(&mut self, target: u64, size: u64, pattern: &[u8]) -> Result<(), PageFault> {
        if pattern.is_empty() {
            return Ok(());
        }
        // Repeat the pattern, so that fewer spans are looked up.
        let repeats = (4096 / pattern.len()).max(1);
        let run = pattern.repeat(repeats);
        let mut done = 0;
        while done < size {
            let step = (run.len() as u64).min(size - done);
            self.write(target + done, &run[..len(step, target + done)?])?;
            done += step;
        }
        Ok(())
    }
}

/// Returns the address of a span in this process, or `None` for a null tile.
fn pointer(span: &Span, address: u64) -> Result<Option<NonNull<u8>>, PageFault> {
    match span {
        Span::Null { .. } => Ok(None),
        Span::Memory { heap, offset, size } => heap
            .memory()
            .map(*offset, *size)
            .map(Some)
            .map_err(|_| PageFault::new(address, FaultCause::HostOutOfMemory)),
    }
}

fn len(size: u64, address: u64) -> Result<usize, PageFault> {
    usize::try_from(size).map_err(|_| PageFault::new(address, FaultCause::HostOutOfMemory))
}
