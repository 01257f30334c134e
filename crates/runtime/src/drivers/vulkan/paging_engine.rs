//! The paging engine: copies heaps between the device and the host, and binds their memory.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ash::vk;

use super::commands::Commands;
use super::heap_buffer::HeapBuffer;
use super::logical_device::LogicalDevice;
use super::memory::{Memory, StagingBuffer};
use crate::ddi::DriverError;

/// Largest part of a heap's copy in host memory that is allocated at once.
const PART: u64 = 256 << 20;

/// Bytes of host memory without contents that are kept for the next eviction, as its allocation takes longer than the
/// copy.
const MAX_KEPT: u64 = 4 << 30;

/// The paging engine of a device, which one caller uses at a time.
pub(super) struct PagingEngine {
    commands: Mutex<Commands>,
    device: Arc<LogicalDevice>,
    /// The memory type of copies in host memory.
    host_type: u32,
    /// Parts of host memory without contents, all of [`PART`] bytes.
    kept: Mutex<Vec<StagingBuffer>>,
}

/// The bytes of a heap in host memory.
pub(super) struct HostCopy {
    parts: Vec<StagingBuffer>,
    size: u64,
    engine: Arc<PagingEngine>,
}

impl Drop for HostCopy {
    fn drop(&mut self) {
        let mut kept = self.engine.kept();
        for part in self.parts.drain(..).filter(|part| part.size() == PART) {
            if u64::try_from(kept.len()).unwrap_or(u64::MAX) < MAX_KEPT / PART {
                kept.push(part);
            }
        }
    }
}

impl PagingEngine {
    /// Creates the engine. It works on the device's first queue.
    pub(super) fn create(device: &Arc<LogicalDevice>, host_type: u32) -> Result<Self, DriverError> {
        let commands = Mutex::new(Commands::create(device, 0)?);
        Ok(Self { commands, device: Arc::clone(device), host_type, kept: Mutex::default() })
    }

    fn commands(&self) -> MutexGuard<'_, Commands> {
        self.commands.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn kept(&self) -> MutexGuard<'_, Vec<StagingBuffer>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Binds memory to the buffer of a heap, or no memory.
    pub(super) fn bind(&self, buffer: &HeapBuffer, memory: Option<&[Memory]>) -> Result<(), DriverError> {
        buffer.bind(&mut self.commands(), memory)
    }

    /// Fills a range, of a multiple of 4 bytes, with zeros.
    pub(super) fn zero(&self, buffer: vk::Buffer, offset: u64, size: u64) -> Result<(), DriverError> {
        let mut commands = self.commands();
        commands.fill(buffer, offset, size, 0)?;
        commands.execute()
    }

    /// Copies a range of a buffer to host memory.
    pub(super) fn copy_out(
        self: &Arc<Self>,
        source: vk::Buffer,
        offset: u64,
        size: u64,
    ) -> Result<HostCopy, DriverError> {
        let mut copy = HostCopy { parts: Vec::new(), size, engine: Arc::clone(self) };
        let mut left = size;
        while left > 0 {
            let part = if left >= PART { self.part()? } else { self.small_part(left)? };
            left -= part.size().min(left);
            copy.parts.push(part);
        }
        let mut commands = self.commands();
        copy.each(|part, at, len| {
            let region = vk::BufferCopy { src_offset: offset + at, dst_offset: 0, size: len };
            commands.copy(source, part, &[region])
        })?;
        commands.execute()?;
        Ok(copy)
    }

    /// Copies host memory back to a range of a buffer.
    pub(super) fn copy_in(
        &self,
        copy: &HostCopy,
        target: vk::Buffer,
        offset: u64,
    ) -> Result<(), DriverError> {
        let mut commands = self.commands();
        copy.each(|part, at, len| {
            let region = vk::BufferCopy { src_offset: 0, dst_offset: offset + at, size: len };
            commands.copy(part, target, &[region])
        })?;
        commands.execute()
    }

    fn part(&self) -> Result<StagingBuffer, DriverError> {
        let kept = self.kept().pop();
        kept.map_or_else(|| self.small_part(PART), Ok)
    }

    fn small_part(&self, size: u64) -> Result<StagingBuffer, DriverError> {
        StagingBuffer::create(&self.device, size, self.host_type)
    }
}

impl HostCopy {
    /// Calls `each` for every part with its offset in the heap and its number of bytes.
    fn each(
        &self,
        mut each: impl FnMut(vk::Buffer, u64, u64) -> Result<(), DriverError>,
    ) -> Result<(), DriverError> {
        let mut at = 0;
        for part in &self.parts {
            let len = part.size().min(self.size - at);
            each(part.handle(), at, len)?;
            at += len;
        }
        Ok(())
    }
}
