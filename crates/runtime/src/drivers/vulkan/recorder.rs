//! A queue's access to memory: commands are recorded, and executed when the queue finishes them.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use ash::vk::{self, Handle as _};

use super::commands::Commands;
use super::hazards::Hazards;
use super::logical_device::LogicalDevice;
use super::memory::{Buffer, DeviceAddress};
use super::paging_engine::PagingEngine;
use crate::ddi::DriverError;
use crate::drivers::address_space::{self, AddressSpace};
use crate::drivers::driver::GpuMemory;
use crate::drivers::heap::{DriverHeap, NORMAL_PRIORITY, Usable};
use crate::drivers::page_fault::{FaultCause, PageFault};

/// Size of the staging buffer through which bytes go between this process and the GPU.
const STAGING: u64 = 1 << 20;

/// Number of regions of one Vulkan copy at most.
const MAX_REGIONS: usize = 512;

/// Bytes of a pattern that are staged for a fill.
const PATTERN_RUN: usize = 4096;

/// Records the accesses of one queue.
pub(super) struct Recorder {
    device: Arc<LogicalDevice>,
    space: Arc<AddressSpace>,
    commands: Commands,
    engine: Arc<PagingEngine>,
    /// The value of the paging engine's timeline from which on the bytes of all these heaps are there.
    from: u64,
    /// The heaps that recorded commands use, by their first address.
    heaps: BTreeMap<u64, (Arc<DriverHeap>, Usable)>,
    /// Regions that are not recorded yet, from one buffer to another.
    regions: Vec<vk::BufferCopy>,
    buffers: (vk::Buffer, vk::Buffer),
    hazards: Hazards,
    staging: Buffer,
    /// Bytes of the staging buffer that recorded commands use.
    staged: u64,
}

/// Contiguous memory behind an address.
enum Span {
    Buffer {
        buffer: vk::Buffer,
        offset: u64,
        size: u64,
    },
    /// A tile without memory: reads return zero, and writes are discarded.
    Null {
        size: u64,
    },
}

impl Span {
    fn size(&self) -> u64 {
        match self {
            Self::Buffer { size, .. } | Self::Null { size } => *size,
        }
    }
}

impl Recorder {
    pub(super) fn create(
        device: &Arc<LogicalDevice>,
        space: &Arc<AddressSpace>,
        engine: &Arc<PagingEngine>,
        host_type: u32,
    ) -> Result<Self, DriverError> {
        Ok(Self {
            device: Arc::clone(device),
            space: Arc::clone(space),
            commands: Commands::create(device, device.choose_queue(), 1)?,
            engine: Arc::clone(engine),
            from: 0,
            heaps: BTreeMap::new(),
            regions: Vec::new(),
            buffers: (vk::Buffer::null(), vk::Buffer::null()),
            hazards: Hazards::default(),
            staging: Buffer::create(device, STAGING, host_type, NORMAL_PRIORITY, DeviceAddress::None)?,
            staged: 0,
        })
    }

    /// Converts a failure of Vulkan, after which the commands of the queue are lost.
    fn failed(&self, error: DriverError) -> PageFault {
        let what = self.device.lost().unwrap_or_else(|| error.to_string());
        PageFault::new(0, FaultCause::DeviceLost(what))
    }

    /// Finds the memory behind an address: at most `size` bytes.
    fn span(&mut self, address: u64, size: u64) -> Result<Span, PageFault> {
        if let Some((&start, (heap, usable))) = self.heaps.range(..=address).next_back() {
            let (offset, heap_size) = (address - start, heap.size().get());
            if offset < heap_size {
                return Ok(Span::Buffer {
                    buffer: buffer_of(*usable),
                    offset: usable.offset + offset,
                    size: size.min(heap_size - offset),
                });
            }
        }
        Ok(match self.space.translate(address, size)? {
            address_space::Span::Null { size } => Span::Null { size },
            address_space::Span::Memory { heap, offset, size } => {
                let usable = self.use_heap(heap, address)?;
                Span::Buffer { buffer: buffer_of(usable), offset: usable.offset + offset, size }
            }
        })
    }

    /// Begins to use a heap, unless it is in use.
    fn use_heap(&mut self, heap: Arc<DriverHeap>, address: u64) -> Result<Usable, PageFault> {
        match self.heaps.entry(heap.gpu_virtual_address().get()) {
            Entry::Occupied(used) => Ok(used.get().1),
            Entry::Vacant(unused) => {
                let usable = heap.begin_use(address)?;
                self.from = self.from.max(usable.from);
                unused.insert((heap, usable));
                Ok(usable)
            }
        }
    }

    /// Records the regions that are not recorded yet.
    fn record_regions(&mut self) -> Result<(), PageFault> {
        if self.regions.is_empty() {
            return Ok(());
        }
        let (source, target) = self.buffers;
        let recorded = self.commands.copy(source, target, &self.regions);
        self.regions.clear();
        recorded.map_err(|error| self.failed(error))
    }

    /// Orders the next access after those before, if it depends on them.
    fn order(
        &mut self,
        read: Option<(vk::Buffer, u64, u64)>,
        write: (vk::Buffer, u64, u64),
    ) -> Result<(), PageFault> {
        if self.hazards.conflict(read, write) {
            self.record_regions()?;
            self.commands.barrier().map_err(|error| self.failed(error))?;
            self.hazards.clear();
        }
        self.hazards.add(read, write);
        Ok(())
    }

    /// Copies between buffers; the ranges do not overlap.
    fn copy_buffer(
        &mut self,
        (source, src_offset): (vk::Buffer, u64),
        (target, dst_offset): (vk::Buffer, u64),
        size: u64,
    ) -> Result<(), PageFault> {
        self.order(Some((source, src_offset, size)), (target, dst_offset, size))?;
        if self.buffers != (source, target) || self.regions.len() >= MAX_REGIONS {
            self.record_regions()?;
            self.buffers = (source, target);
        }
        if let Some(last) = self.regions.last_mut() {
            let continues =
                last.src_offset + last.size == src_offset && last.dst_offset + last.size == dst_offset;
            if continues {
                last.size += size;
                return Ok(());
            }
        }
        self.regions.push(vk::BufferCopy { src_offset, dst_offset, size });
        Ok(())
    }

    /// Fills a range with a 32-bit value; offset and size are multiples of 4.
    fn fill_words(
        &mut self,
        target: vk::Buffer,
        offset: u64,
        size: u64,
        value: u32,
    ) -> Result<(), PageFault> {
        self.order(None, (target, offset, size))?;
        self.record_regions()?;
        self.commands.fill(target, offset, size, value).map_err(|error| self.failed(error))
    }

    /// Reserves bytes of the staging buffer, after the commands before are done if it is full. Returns their offset.
    fn stage(&mut self, size: u64) -> Result<u64, PageFault> {
        // Aligned like the largest block of a texture.
        let start = self.staged.next_multiple_of(16);
        if start + size <= self.staging.size() {
            self.staged = start + size;
            return Ok(start);
        }
        self.execute()?;
        self.staged = size;
        Ok(0)
    }

    /// Executes what is recorded, waits, and ends the uses of heaps.
    fn execute(&mut self) -> Result<(), PageFault> {
        let recorded = self.record_regions();
        let executed = self.commands.submit(Some((self.engine.timeline(), self.from)));
        let executed = executed.and_then(|value| self.commands.timeline().wait(value));
        if executed.is_ok() {
            self.engine.timeline().saw(self.from);
        }
        let executed = executed.map_err(|error| self.failed(error));
        self.hazards.clear();
        self.staged = 0;
        self.end_uses();
        recorded.and(executed)
    }

    fn end_uses(&mut self) {
        // All uses end before a heap is released: releasing takes the residency ledger's lock, whose owner may wait for
        // the use of another heap.
        self.heaps.values().for_each(|(heap, _)| heap.end_use());
        self.heaps.clear();
    }

    /// Fills memory from an address on, at most the given number of bytes, with the part of a pattern's repetition that
    /// begins at `done`. Returns the number of bytes.
    fn fill_staged(
        &mut self,
        (target, size): (u64, u64),
        pattern: &[u8],
        done: u64,
    ) -> Result<u64, PageFault> {
        let pattern_len = pattern.len();
        let phase = len(done % pattern_len as u64, target)?;
        let repeats = (PATTERN_RUN / pattern_len).max(1);
        let run: Vec<u8> =
            pattern.iter().cycle().skip(phase).take(pattern.len() * repeats).copied().collect();
        let run_len = run.len() as u64;
        // Before the memory is found: waiting for room ends the uses of heaps.
        let staged = self.stage(run_len)?;
        self.staging.write(staged, &run).map_err(|error| self.failed(error))?;
        let span = self.span(target, size)?;
        if let Span::Buffer { buffer, offset, size } = span {
            let mut at = 0;
            while at < size {
                let part = run_len.min(size - at);
                self.copy_buffer((self.staging.handle(), staged), (buffer, offset + at), part)?;
                at += part;
            }
        }
        Ok(span.size())
    }

    /// Copies within one buffer from a range to one that overlaps it.
    fn copy_overlapping(&mut self, target: u64, source: u64, size: u64) -> Result<(), PageFault> {
        let mut bytes = vec![0; len(size, source)?];
        self.read(source, &mut bytes)?;
        self.write(target, &bytes)
    }
}

impl GpuMemory for Recorder {
    fn copy(&mut self, target: u64, source: u64, size: u64) -> Result<(), PageFault> {
        if source < target.saturating_add(size) && target < source.saturating_add(size) {
            return self.copy_overlapping(target, source, size);
        }
        let mut done = 0;
        while done < size {
            let from = self.span(source + done, size - done)?;
            let to = self.span(target + done, size - done)?;
            let step = from.size().min(to.size());
            match (from, to) {
                (Span::Buffer { buffer, offset, .. }, Span::Buffer { buffer: to, offset: at, .. }) => {
                    if buffer == to && offset < at + step && at < offset + step {
                        // Two tiles of reserved resources in the same memory.
                        self.copy_overlapping(target + done, source + done, step)?;
                    } else {
                        self.copy_buffer((buffer, offset), (to, at), step)?;
                    }
                }
                (Span::Null { .. }, Span::Buffer { .. }) => self.fill(target + done, step, &[0])?,
                // Writes to a null tile are discarded.
                (_, Span::Null { .. }) => {}
            }
            done += step;
        }
        Ok(())
    }

    fn write(&mut self, target: u64, bytes: &[u8]) -> Result<(), PageFault> {
        let mut address = target;
        for part in bytes.chunks(len(STAGING, target)?) {
            let mut rest = part;
            let mut staged = self.stage(rest.len() as u64)?;
            self.staging.write(staged, rest).map_err(|error| self.failed(error))?;
            while !rest.is_empty() {
                let span = self.span(address, rest.len() as u64)?;
                let step = span.size();
                if let Span::Buffer { buffer, offset, .. } = span {
                    self.copy_buffer((self.staging.handle(), staged), (buffer, offset), step)?;
                }
                rest = &rest[len(step, address)?..];
                (address, staged) = (address + step, staged + step);
            }
        }
        Ok(())
    }

    fn read(&mut self, source: u64, bytes: &mut [u8]) -> Result<(), PageFault> {
        let mut address = source;
        for part in bytes.chunks_mut(len(STAGING, source)?) {
            let size = part.len() as u64;
            let staged = self.stage(size)?;
            let mut done = 0;
            // Bytes of null tiles read as zero.
            part.fill(0);
            let mut spans = Vec::new();
            while done < size {
                let span = self.span(address + done, size - done)?;
                let step = span.size();
                if let Span::Buffer { buffer, offset, .. } = span {
                    self.copy_buffer((buffer, offset), (self.staging.handle(), staged + done), step)?;
                    spans.push((done, step));
                }
                done += step;
            }
            self.execute()?;
            for (at, step) in spans {
                let range = len(at, address)?..len(at + step, address)?;
                self.staging.read(staged + at, &mut part[range]).map_err(|error| self.failed(error))?;
            }
            address += size;
        }
        Ok(())
    }

    fn fill(&mut self, target: u64, size: u64, pattern: &[u8]) -> Result<(), PageFault> {
        if pattern.is_empty() {
            return Ok(());
        }
        let mut done = 0;
        let word = word_of(pattern);
        while done < size {
            let span = self.span(target + done, size - done)?;
            let step = span.size();
            match (span, word) {
                (Span::Null { .. }, _) => {}
                (Span::Buffer { buffer, offset, .. }, Some(word))
                    if [offset, step, done].iter().all(|bytes| bytes % 4 == 0) =>
                {
                    self.fill_words(buffer, offset, step, word)?;
                }
                _ => {
                    done += self.fill_staged((target + done, step), pattern, done)?;
                    continue;
                }
            }
            done += step;
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), PageFault> {
        self.execute()
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.end_uses();
    }
}

/// Returns the buffer of memory that can be used.
pub(super) fn buffer_of(usable: Usable) -> vk::Buffer {
    vk::Buffer::from_raw(usable.handle)
}

/// Returns the 32-bit value of which a pattern is a repetition, if there is one.
fn word_of(pattern: &[u8]) -> Option<u32> {
    if pattern.is_empty() {
        return None;
    }
    let repeated: Vec<u8> = pattern.iter().cycle().take(4).copied().collect();
    let word = <[u8; 4]>::try_from(repeated.as_slice()).ok()?;
    // A pattern of three bytes is no repetition of four.
    let is_repetition = 4 % pattern.len() == 0 || pattern.chunks(4).all(|chunk| chunk == word);
    is_repetition.then(|| u32::from_le_bytes(word))
}

fn len(size: u64, address: u64) -> Result<usize, PageFault> {
    usize::try_from(size).map_err(|_| PageFault::new(address, FaultCause::HostOutOfMemory))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_of_four_bytes_are_words() {
        assert_eq!(word_of(&[7]), Some(0x0707_0707));
        assert_eq!(word_of(&[1, 2]), Some(0x0201_0201));
        assert_eq!(word_of(&[1, 2, 3, 4]), Some(0x0403_0201));
        assert_eq!(word_of(&[1, 2, 3, 4, 1, 2, 3, 4]), Some(0x0403_0201));
        assert_eq!(word_of(&[5; 12]), Some(0x0505_0505));
        assert_eq!(word_of(&[]), None);
        assert_eq!(word_of(&[1, 2, 3]), None);
        assert_eq!(word_of(&[1, 2, 3, 4, 1, 2, 3, 5]), None);
        assert_eq!(word_of(&[1, 2, 3, 4, 1, 2]), None);
    }
}
