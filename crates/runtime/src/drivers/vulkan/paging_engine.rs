//! The paging engine: binds the memory of heaps, and copies their bytes between the device and the host.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ash::vk;
use heapwright_core::ByteSize;

use super::commands::{Access, barrier};
use super::host_memory::{self, HostMemory, HostPart};
use super::kept_memory::{Kept, KeptMemory};
use super::logical_device::LogicalDevice;
use super::memory::{Buffer, Memory};
use super::memory_types::heap_of;
use super::timeline::Timeline;
use crate::ddi::DriverError;

/// The usual size of the parts into which the memory of a heap is divided. One is bound or freed while the next is copied. On an H200,
/// smaller parts take longer to bind and free in all, and larger ones leave more to do after the last copy.
pub(super) const PART: u64 = host_memory::SIZES.1;

/// Device memory of evicted heaps that is kept for the next heap that becomes resident: the fraction of all device memory,
/// and for how long. Memory is usually evicted to make room for other heaps, and its release and allocation take as long as
/// two copies. The time is short: the memory is no longer charged after the eviction, but other processes cannot have it.
const DEVICE_KEPT: (u64, Duration) = (32, Duration::from_millis(100));

/// Number of command buffers: of parts that are copied at once.
const COMMAND_BUFFERS: usize = 16;

/// The paging engine of a device.
///
/// Work is submitted without waiting for it, unless all command buffers are in use. Copies are on one queue, and each submission signals the next value of the
/// timeline `copied`. Memory is bound and unbound on the same queue, or, while copies go on, on a queue of another family;
/// each such submission waits for the one before, and signals the next value of the timeline `bound`.
pub(super) struct PagingEngine {
    device: Arc<LogicalDevice>,
    copied: Timeline,
    bound: Timeline,
    queue: Mutex<Queue>,
    host: HostMemory,
    spare: Arc<KeptMemory<Memory>>,
    /// The size of the parts into which memory is divided.
    part: u64,
}

/// What submissions need, one at a time.
struct Queue {
    pool: vk::CommandPool,
    /// The command buffers, with the value of `copied` at which each can be used again.
    buffers: Vec<(vk::CommandBuffer, u64)>,
    next: usize,
    /// The last value that a submission signals, of each timeline.
    copied: u64,
    bound: u64,
}

/// Work that was submitted to the paging engine: the values at which it is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Submitted {
    copied: u64,
    bound: u64,
}

impl Submitted {
    /// Both this work and that.
    pub(super) fn and(self, other: Self) -> Self {
        Self { copied: self.copied.max(other.copied), bound: self.bound.max(other.bound) }
    }
}

impl Kept for Memory {
    fn size(&self) -> u64 {
        self.size()
    }
}

impl PagingEngine {
    /// Creates the engine of a device with `video` bytes of memory, which is divided into parts of `part` bytes, at most
    /// [`PART`]. Copies in host memory are of the memory type `host_type`.
    pub(super) fn create(
        device: &Arc<LogicalDevice>,
        video: ByteSize,
        part: u64,
        host_type: u32,
    ) -> Result<Arc<Self>, DriverError> {
        let functions = device.functions();
        let (copied, bound) = (Timeline::create(device)?, Timeline::create(device)?);
        // Complete from the beginning, so that dropping it destroys what was created.
        let mut engine = Self {
            device: Arc::clone(device),
            copied,
            bound,
            queue: Mutex::new(Queue {
                pool: vk::CommandPool::null(),
                buffers: Vec::new(),
                next: 0,
                copied: 0,
                bound: 0,
            }),
            host: HostMemory::new(device, host_type),
            spare: KeptMemory::new(video.get() / DEVICE_KEPT.0, DEVICE_KEPT.1),
            part: part.min(PART),
        };
        let queue = engine.queue.get_mut().unwrap_or_else(PoisonError::into_inner);
        let (family, _) = device.hardware().queue_family.unwrap_or((0, 1));
        let info = vk::CommandPoolCreateInfo::default()
            .queue_family_index(family)
            .flags(vk::CommandPoolCreateFlags::RESET_COMMAND_BUFFER);
        // SAFETY: the family is one that the device was created with.
        queue.pool = unsafe { functions.create_command_pool(&info, None) }
            .map_err(device.creating("vkCreateCommandPool", ByteSize::ZERO))?;
        let count = u32::try_from(COMMAND_BUFFERS).unwrap_or(1);
        let info =
            vk::CommandBufferAllocateInfo::default().command_pool(queue.pool).command_buffer_count(count);
        // SAFETY: the pool is the device's.
        let buffers = unsafe { functions.allocate_command_buffers(&info) }
            .map_err(device.creating("vkAllocateCommandBuffers", ByteSize::ZERO))?;
        queue.buffers = buffers.into_iter().map(|buffer| (buffer, 0)).collect();
        Ok(Arc::new(engine))
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Refuses work for a device that is lost.
    pub(super) fn check_present(&self) -> Result<(), DriverError> {
        self.device.check_present()
    }

    /// The size of the parts into which the memory of a heap is divided.
    pub(super) fn part(&self) -> u64 {
        self.part
    }

    /// Returns the timeline and its value at which new memory is bound, and filled with zeros if it is to be. That is for
    /// other queues to wait for.
    pub(super) fn copies_until(&self, new: Submitted) -> (&Timeline, u64) {
        (&self.copied, new.copied)
    }

    /// Takes device memory that is kept, of the type of all heaps that can be paged out.
    pub(super) fn take_spare(&self, size: u64, priority: f32) -> Option<Memory> {
        let memory = self.spare.take(size)?;
        memory.set_priority(priority);
        Some(memory)
    }

    /// Allocates device memory.
    pub(super) fn allocate(&self, size: u64, memory_type: u32, priority: f32) -> Result<Memory, DriverError> {
        self.with_kept_freed(memory_type, || Memory::allocate(&self.device, size, memory_type, priority))
    }

    /// Allocates memory of a type by `allocate`. If there is too little, frees the memory that is kept and repeats that.
    pub(super) fn with_kept_freed<T>(
        &self,
        memory_type: u32,
        allocate: impl Fn() -> Result<T, DriverError>,
    ) -> Result<T, DriverError> {
        let failed = match allocate() {
            Err(failed) => failed,
            done => return done,
        };
        let heap = |memory_type| heap_of(&self.device.hardware().memory, memory_type);
        let is_of_host = heap(memory_type) == heap(self.host.memory_type());
        // Repeated even if nothing was kept, as other threads may have freed memory meanwhile. Host memory is kept as long as
        // possible: without it, further evictions take ten times as long.
        match failed {
            DriverError::OutOfDeviceMemory { .. } if !is_of_host => self.spare.free(),
            DriverError::OutOfDeviceMemory { .. } | DriverError::HostOutOfMemory { .. } => {
                self.free_kept();
            }
            _ => return Err(failed),
        }
        allocate()
    }

    /// Takes back the memory of a heap that can be paged out. It is bound to nothing.
    pub(super) fn give_back(&self, memory: Memory) {
        self.spare.give_back(memory);
    }

    /// Provides host memory for parts of several sizes, each with a number. See [`HostMemory::provide`].
    pub(super) fn host_parts(
        &self,
        sizes: impl IntoIterator<Item = (usize, u64)>,
        each: impl FnMut(usize, HostPart) -> Result<(), DriverError>,
    ) -> Result<(), DriverError> {
        let make_room = || self.free_kept();
        self.host.provide(sizes, &make_room, each)
    }

    /// Frees the memory that is kept.
    fn free_kept(&self) {
        self.spare.free();
        self.host.free_kept();
    }

    /// Submits changes of the memory of a sparse buffer, after other work. While copies go on, `beside` has them done on
    /// another queue; without, they are done before the next copies.
    pub(super) fn bind(
        &self,
        buffer: &Buffer,
        binds: &[vk::SparseMemoryBind],
        after: Submitted,
        beside: bool,
    ) -> Result<Submitted, DriverError> {
        self.device.check_present()?;
        let mut queue = self.queue();
        let buffers = [vk::SparseBufferMemoryBindInfo::default().buffer(buffer.handle()).binds(binds)];
        let value = queue.bound + 1;
        // Also after the binding before: neither two queues nor the binds of one queue end in the order of submission, and a
        // timeline must not be set to a value below its own.
        let waits = self.pending(after.and(Submitted { copied: 0, bound: queue.bound }));
        let (semaphores, values): (Vec<_>, Vec<_>) = waits.into_iter().flatten().unzip();
        let (signalled, signal_values) = ([self.bound.handle()], [value]);
        let mut timelines = vk::TimelineSemaphoreSubmitInfo::default()
            .wait_semaphore_values(&values)
            .signal_semaphore_values(&signal_values);
        let infos = [vk::BindSparseInfo::default()
            .buffer_binds(&buffers)
            .wait_semaphores(&semaphores)
            .signal_semaphores(&signalled)
            .push_next(&mut timelines)];
        let submitted = {
            let own = if beside { self.device.binding_queue() } else { self.device.queue(0) };
            // SAFETY: the buffer is sparse and the ranges are aligned and within it and the memory, which the caller of the
            // method keeps alive until the work is done; the semaphores are timelines, and the submission that signals the
            // value before is done first.
            unsafe { self.device.functions().queue_bind_sparse(*own, &infos, vk::Fence::null()) }
        };
        submitted.map_err(self.device.creating("vkQueueBindSparse", ByteSize::new(buffer.size())))?;
        queue.bound = value;
        Ok(Submitted { copied: 0, bound: value })
    }

    /// Submits commands that `record` records, after other work, and after all commands before.
    ///
    /// What the commands use must stay alive until they are done.
    pub(super) fn submit(
        &self,
        after: Submitted,
        record: impl FnOnce(&ash::Device, vk::CommandBuffer),
    ) -> Result<Submitted, DriverError> {
        self.device.check_present()?;
        let mut queue = self.queue();
        let index = queue.next;
        let (buffer, free_at) = queue.buffers[index];
        self.copied.wait(free_at)?;
        let (functions, value) = (self.device.functions(), queue.copied + 1);
        let waits = self.pending(Submitted { copied: 0, ..after });
        let (semaphores, values): (Vec<_>, Vec<_>) = waits.into_iter().flatten().unzip();
        let stages = vec![vk::PipelineStageFlags::ALL_COMMANDS; semaphores.len()];
        let (signalled, signal_values, buffers) = ([self.copied.handle()], [value], [buffer]);
        let mut timelines = vk::TimelineSemaphoreSubmitInfo::default()
            .wait_semaphore_values(&values)
            .signal_semaphore_values(&signal_values);
        let submits = [vk::SubmitInfo::default()
            .command_buffers(&buffers)
            .wait_semaphores(&semaphores)
            .wait_dst_stage_mask(&stages)
            .signal_semaphores(&signalled)
            .push_next(&mut timelines)];
        let flags = vk::CommandBufferUsageFlags::ONE_TIME_SUBMIT;
        let info = vk::CommandBufferBeginInfo::default().flags(flags);
        let creating = |call| self.device.creating(call, ByteSize::ZERO);
        // SAFETY: the command buffer is not in use, as its value was waited for, and beginning resets it; what the commands
        // use stays alive (condition of the method); the semaphores are timelines, which this lock orders.
        unsafe {
            functions.begin_command_buffer(buffer, &info).map_err(creating("vkBeginCommandBuffer"))?;
            barrier(functions, buffer, Access::AnyWrite, Access::Transfer);
            record(functions, buffer);
            barrier(functions, buffer, Access::Transfer, Access::Host);
            functions.end_command_buffer(buffer).map_err(creating("vkEndCommandBuffer"))?;
            let own = self.device.queue(0);
            functions.queue_submit(*own, &submits, vk::Fence::null())
        }
        .map_err(creating("vkQueueSubmit"))?;
        queue.copied = value;
        queue.buffers[index].1 = value;
        queue.next = (index + 1) % queue.buffers.len();
        Ok(Submitted { copied: value, bound: 0 })
    }

    /// The semaphores and values that a submission after other work waits for. Later submissions to the same queue are
    /// ordered by barriers alone.
    fn pending(&self, after: Submitted) -> [Option<(vk::Semaphore, u64)>; 2] {
        let wait =
            |timeline: &Timeline, value| (!timeline.has_seen(value)).then_some((timeline.handle(), value));
        [wait(&self.copied, after.copied), wait(&self.bound, after.bound)]
    }

    /// Blocks until work is done.
    pub(super) fn wait(&self, work: Submitted) -> Result<(), DriverError> {
        // For both, even if one wait fails: what the GPU works on must not be freed.
        let bound = self.bound.wait(work.bound);
        self.copied.wait(work.copied).and(bound)
    }
}

impl Drop for PagingEngine {
    fn drop(&mut self) {
        let queue = self.queue.get_mut().unwrap_or_else(PoisonError::into_inner);
        let all = Submitted { copied: queue.copied, bound: queue.bound };
        let pool = queue.pool;
        // If the device is lost, nothing is in execution.
        let _ = self.wait(all);
        // Mesa's queue threads access semaphores for a moment after the work that waited for them is done.
        self.device.wait_idle();
        // SAFETY: nothing is in execution; a null handle is ignored; the pool frees its buffers.
        unsafe { self.device.functions().destroy_command_pool(pool, None) };
    }
}

#[cfg(test)]
mod tests;
