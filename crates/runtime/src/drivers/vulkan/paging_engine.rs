//! The paging engine: copies heaps between the device and the host, and binds their memory.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use ash::vk;

use super::commands::Commands;
use super::heap_buffer::HeapBuffer;
use super::logical_device::LogicalDevice;
use super::memory::{Memory, StagingBuffer};
use crate::ddi::DriverError;

/// Sizes of the parts of a heap's copy in host memory: powers of two from the first to the second. Parts are reused, and a
/// small number of sizes lets those of one heap serve another.
const PARTS: (u64, u64) = (1 << 20, 64 << 20);

/// Bytes of host memory without contents that are kept for the next eviction, as its allocation takes longer than the
/// copy.
const MAX_KEPT: u64 = 4 << 30;

/// How long host memory without contents is kept.
const KEPT_FOR: Duration = Duration::from_secs(1);

/// The paging engine of a device, which one caller uses at a time.
pub(super) struct PagingEngine {
    commands: Mutex<Commands>,
    device: Arc<LogicalDevice>,
    /// The memory type of copies in host memory.
    host_type: u32,
    kept: Mutex<Kept>,
    this: Weak<Self>,
}

/// Parts of host memory without contents.
#[derive(Default)]
struct Kept {
    /// The parts of each size, with the time from which on they have been kept, ascending.
    parts: BTreeMap<u64, VecDeque<(Instant, StagingBuffer)>>,
    bytes: u64,
    /// Whether a thread frees what is not used.
    is_swept: bool,
}

/// The bytes of a heap in host memory.
pub(super) struct HostCopy {
    parts: Vec<StagingBuffer>,
    size: u64,
    engine: Arc<PagingEngine>,
}

impl Drop for HostCopy {
    fn drop(&mut self) {
        self.engine.keep(std::mem::take(&mut self.parts));
    }
}

impl PagingEngine {
    /// Creates the engine. It works on the device's first queue.
    pub(super) fn create(device: &Arc<LogicalDevice>, host_type: u32) -> Result<Arc<Self>, DriverError> {
        let commands = Mutex::new(Commands::create(device, 0)?);
        Ok(Arc::new_cyclic(|this| Self {
            commands,
            device: Arc::clone(device),
            host_type,
            kept: Mutex::default(),
            this: Weak::clone(this),
        }))
    }

    fn commands(&self) -> MutexGuard<'_, Commands> {
        self.commands.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
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
            let part = self.part(part_size(left))?;
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

    fn part(&self, size: u64) -> Result<StagingBuffer, DriverError> {
        let kept = self.kept().take(size);
        kept.map_or_else(|| StagingBuffer::create(&self.device, size, self.host_type), Ok)
    }

    /// Keeps host memory for the next eviction, or frees it.
    fn keep(&self, parts: Vec<StagingBuffer>) {
        let now = Instant::now();
        let mut kept = self.kept();
        let mut freed: Vec<_> = parts.into_iter().filter_map(|part| kept.add(part, now)).collect();
        if kept.bytes > 0 && !kept.is_swept {
            kept.is_swept = self.start_sweep();
            if !kept.is_swept {
                freed.extend(kept.take_older(now));
            }
        }
        // Freed without the lock.
        drop(kept);
        drop(freed);
    }

    /// Starts a thread that frees what is not used, and ends when nothing is kept. Returns false if there is no thread.
    fn start_sweep(&self) -> bool {
        let engine = Weak::clone(&self.this);
        let sweep = move || {
            let mut is_swept = true;
            while is_swept {
                std::thread::sleep(KEPT_FOR);
                let Some(engine) = engine.upgrade() else { return };
                let mut kept = engine.kept();
                let before = Instant::now().checked_sub(KEPT_FOR);
                let freed = before.map(|before| kept.take_older(before));
                is_swept = kept.bytes > 0;
                kept.is_swept = is_swept;
                drop(kept);
                drop(freed);
            }
        };
        let started = std::thread::Builder::new().name("heapwright host memory".to_owned()).spawn(sweep);
        if let Err(error) = &started {
            tracing::warn!(%error, "failed to spawn a thread; host memory is not kept");
        }
        started.is_ok()
    }
}

impl Kept {
    /// Adds a part, or returns it if too much is kept.
    fn add(&mut self, part: StagingBuffer, now: Instant) -> Option<StagingBuffer> {
        let bytes = self.bytes + part.size();
        if bytes > MAX_KEPT {
            return Some(part);
        }
        self.bytes = bytes;
        self.parts.entry(part.size()).or_default().push_back((now, part));
        None
    }

    /// Takes the part of a size that was added last, so that those that are not needed grow old.
    fn take(&mut self, size: u64) -> Option<StagingBuffer> {
        let (_, part) = self.parts.get_mut(&size)?.pop_back()?;
        self.bytes -= size;
        Some(part)
    }

    /// Takes the parts that have been kept since `before` or longer.
    fn take_older(&mut self, before: Instant) -> Vec<StagingBuffer> {
        let mut taken = Vec::new();
        for parts in self.parts.values_mut() {
            let old = parts.partition_point(|(since, _)| *since <= before);
            taken.extend(parts.drain(..old).map(|(_, part)| part));
        }
        self.bytes -= taken.iter().map(StagingBuffer::size).sum::<u64>();
        taken
    }
}

/// Returns the size of the next part of a copy of which `left` bytes are left.
fn part_size(left: u64) -> u64 {
    let (least, most) = PARTS;
    left.checked_next_power_of_two().unwrap_or(most).clamp(least, most)
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

#[cfg(test)]
mod tests;
