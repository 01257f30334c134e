//! Command buffers of a queue.

use std::sync::Arc;

use ash::vk;
use heapwright_core::ByteSize;

use super::logical_device::LogicalDevice;
use super::timeline::Timeline;
use crate::ddi::DriverError;

/// Accesses to memory before or after a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// Writes of all kinds, of whichever queue.
    AnyWrite,
    /// Copies and fills.
    Transfer,
    /// The CPU's.
    Host,
}

impl Access {
    fn before(self) -> (vk::PipelineStageFlags, vk::AccessFlags) {
        use vk::{AccessFlags as Flags, PipelineStageFlags as Stage};
        match self {
            Self::AnyWrite => (Stage::ALL_COMMANDS, Flags::MEMORY_WRITE),
            // Reads before writes need only be ordered.
            Self::Transfer => (Stage::TRANSFER, Flags::TRANSFER_WRITE),
            Self::Host => (Stage::HOST, Flags::HOST_WRITE),
        }
    }

    fn after(self) -> (vk::PipelineStageFlags, vk::AccessFlags) {
        use vk::{AccessFlags as Flags, PipelineStageFlags as Stage};
        match self {
            Self::AnyWrite => (Stage::ALL_COMMANDS, Flags::MEMORY_READ | Flags::MEMORY_WRITE),
            Self::Transfer => (Stage::TRANSFER, Flags::TRANSFER_READ | Flags::TRANSFER_WRITE),
            Self::Host => (Stage::HOST, Flags::HOST_READ | Flags::HOST_WRITE),
        }
    }
}

/// Makes the writes of all accesses before visible to the ones after, and orders reads before writes.
///
/// # Safety
///
/// The command buffer is the device's and being recorded.
pub(super) unsafe fn barrier(
    functions: &ash::Device,
    buffer: vk::CommandBuffer,
    before: Access,
    after: Access,
) {
    let ((from, written), (to, accessed)) = (before.before(), after.after());
    let barriers = [vk::MemoryBarrier::default().src_access_mask(written).dst_access_mask(accessed)];
    let flags = vk::DependencyFlags::empty();
    // SAFETY: guaranteed by the caller; the structures outlive the call.
    unsafe { functions.cmd_pipeline_barrier(buffer, from, to, flags, &barriers, &[], &[]) };
}

/// Command buffers that are executed on one queue, one after the other. The last commands of each signal the next value
/// of a timeline.
///
/// What commands use must stay alive until the timeline has their value.
pub(super) struct Commands {
    device: Arc<LogicalDevice>,
    queue: usize,
    pool: vk::CommandPool,
    /// The command buffers, with the value at which each can be used again.
    buffers: Vec<(vk::CommandBuffer, u64)>,
    /// The index of the next one to be used, or of the one that is being recorded.
    next: usize,
    is_recording: bool,
    /// The last value that a submission signals.
    submitted: u64,
    timeline: Arc<Timeline>,
}

impl Commands {
    /// Creates `count` command buffers for the queue with an index.
    pub(super) fn create(device: &Arc<LogicalDevice>, queue: usize, count: u32) -> Result<Self, DriverError> {
        let functions = device.functions();
        let timeline = Arc::new(Timeline::create(device)?);
        // Complete from the beginning, so that dropping it destroys what was created.
        let mut commands = Self {
            device: Arc::clone(device),
            queue,
            pool: vk::CommandPool::null(),
            buffers: Vec::new(),
            next: 0,
            is_recording: false,
            submitted: 0,
            timeline,
        };
        let (family, _) = device.hardware().queue_family.unwrap_or((0, 1));
        let info = vk::CommandPoolCreateInfo::default()
            .queue_family_index(family)
            .flags(vk::CommandPoolCreateFlags::RESET_COMMAND_BUFFER);
        // SAFETY: the family is one that the device was created with.
        commands.pool = unsafe { functions.create_command_pool(&info, None) }
            .map_err(device.creating("vkCreateCommandPool", ByteSize::ZERO))?;
        let info =
            vk::CommandBufferAllocateInfo::default().command_pool(commands.pool).command_buffer_count(count);
        // SAFETY: the pool is the device's.
        let buffers = unsafe { functions.allocate_command_buffers(&info) }
            .map_err(device.creating("vkAllocateCommandBuffers", ByteSize::ZERO))?;
        commands.buffers = buffers.into_iter().map(|buffer| (buffer, 0)).collect();
        Ok(commands)
    }

    /// The timeline of the commands.
    pub(super) fn timeline(&self) -> &Arc<Timeline> {
        &self.timeline
    }

    /// The next command buffer, in the state of recording. If all are in use, blocks until one is not.
    pub(super) fn recording(&mut self) -> Result<vk::CommandBuffer, DriverError> {
        let (buffer, free_at) = self.buffers[self.next];
        if !self.is_recording {
            self.device.check_present()?;
            self.timeline.wait(free_at)?;
            let functions = self.device.functions();
            let flags = vk::CommandBufferUsageFlags::ONE_TIME_SUBMIT;
            let info = vk::CommandBufferBeginInfo::default().flags(flags);
            // SAFETY: the command buffer is not in use, as its value was waited for, and beginning resets it.
            unsafe { functions.begin_command_buffer(buffer, &info) }
                .map_err(self.device.creating("vkBeginCommandBuffer", ByteSize::ZERO))?;
            self.is_recording = true;
            // Writes of earlier submissions, on whichever queue they were: waiting for them makes them available and no
            // more. SAFETY: the command buffer is being recorded.
            unsafe { barrier(functions, buffer, Access::AnyWrite, Access::Transfer) };
        }
        Ok(buffer)
    }

    /// Makes all writes of the commands so far visible to the ones after, and orders reads before writes.
    pub(super) fn barrier(&mut self) -> Result<(), DriverError> {
        let buffer = self.recording()?;
        // SAFETY: the command buffer is being recorded.
        unsafe { barrier(self.device.functions(), buffer, Access::Transfer, Access::Transfer) };
        Ok(())
    }

    /// Records copies between buffers. The ranges exist, and those read do not overlap those written.
    pub(super) fn copy(
        &mut self,
        source: vk::Buffer,
        target: vk::Buffer,
        regions: &[vk::BufferCopy],
    ) -> Result<(), DriverError> {
        let buffer = self.recording()?;
        // SAFETY: the command buffer is being recorded; the caller of the method keeps buffers and memory alive until
        // the commands are executed.
        unsafe { self.device.functions().cmd_copy_buffer(buffer, source, target, regions) };
        Ok(())
    }

    /// Records filling a range, whose offset and size are multiples of 4, with a value.
    pub(super) fn fill(
        &mut self,
        target: vk::Buffer,
        offset: u64,
        size: u64,
        value: u32,
    ) -> Result<(), DriverError> {
        let buffer = self.recording()?;
        // SAFETY: as for copies.
        unsafe { self.device.functions().cmd_fill_buffer(buffer, target, offset, size, value) };
        Ok(())
    }

    /// Submits the recorded commands, if there are any, after the work of another queue up to a value of its timeline.
    /// Their writes will be visible to the CPU. Returns the value of this timeline at which all commands so far are
    /// done.
    pub(super) fn submit(&mut self, other: Option<(&Timeline, u64)>) -> Result<u64, DriverError> {
        self.device.check_present()?;
        if !self.is_recording {
            return Ok(self.submitted);
        }
        self.is_recording = false;
        let other = other.filter(|(timeline, value)| !timeline.has_seen(*value));
        let (semaphores, values): (Vec<_>, Vec<_>) =
            other.map(|(timeline, value)| (timeline.handle(), value)).into_iter().unzip();
        let stages = [vk::PipelineStageFlags::ALL_COMMANDS];
        let value = self.submitted + 1;
        let (buffer, free_at) = &mut self.buffers[self.next];
        let (signalled, signal_values, buffers) = ([self.timeline.handle()], [value], [*buffer]);
        let mut timelines = vk::TimelineSemaphoreSubmitInfo::default()
            .wait_semaphore_values(&values)
            .signal_semaphore_values(&signal_values);
        let submit = vk::SubmitInfo::default()
            .command_buffers(&buffers)
            .wait_semaphores(&semaphores)
            .wait_dst_stage_mask(&stages[..semaphores.len()])
            .signal_semaphores(&signalled)
            .push_next(&mut timelines);
        let functions = self.device.functions();
        // SAFETY: the command buffer is being recorded and then complete; the values of the timelines are the next one,
        // and one that is submitted; the queue is locked during the submission.
        unsafe {
            barrier(functions, *buffer, Access::Transfer, Access::Host);
            functions
                .end_command_buffer(*buffer)
                .map_err(self.device.creating("vkEndCommandBuffer", ByteSize::ZERO))?;
            let submitted = {
                let queue = self.device.queue(self.queue);
                functions.queue_submit(*queue, &[submit], vk::Fence::null())
            };
            submitted.map_err(self.device.creating("vkQueueSubmit", ByteSize::ZERO))?;
        }
        (self.submitted, *free_at) = (value, value);
        self.next = (self.next + 1) % self.buffers.len();
        Ok(value)
    }
}

impl Drop for Commands {
    fn drop(&mut self) {
        // If the device is lost, nothing is in execution.
        let _ = self.timeline.wait(self.submitted);
        // Mesa's queue threads access semaphores for a moment after the work that signals them, or waited for them, is
        // done.
        self.device.wait_queue_idle(self.queue);
        // SAFETY: nothing is being executed; a null handle is ignored; the pool frees its buffers.
        unsafe { self.device.functions().destroy_command_pool(self.pool, None) };
    }
}
