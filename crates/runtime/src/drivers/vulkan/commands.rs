//! A command buffer whose commands are executed and waited for.

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

/// A command buffer, with the fence of its execution, on one queue.
///
/// # Invariants
///
/// The GPU does not execute the commands between calls of the methods.
pub(super) struct Commands {
    device: Arc<LogicalDevice>,
    queue: usize,
    pool: vk::CommandPool,
    buffer: vk::CommandBuffer,
    fence: vk::Fence,
    is_recording: bool,
}

// SAFETY: Vulkan's handles may be used by any thread, one at a time, which `&mut self` ensures for the pool, its buffer
// and the fence; the queue is locked.
unsafe impl Send for Commands {}

impl Commands {
    /// Creates a command buffer for the queue with an index.
    pub(super) fn create(device: &Arc<LogicalDevice>, queue: usize) -> Result<Self, DriverError> {
        let functions = device.functions();
        let (family, _) = device.hardware().queue_family.unwrap_or((0, 1));
        // Complete from the beginning, so that dropping it destroys what was created.
        let mut commands = Self {
            device: Arc::clone(device),
            queue,
            pool: vk::CommandPool::null(),
            buffer: vk::CommandBuffer::null(),
            fence: vk::Fence::null(),
            is_recording: false,
        };
        let info = vk::CommandPoolCreateInfo::default().queue_family_index(family);
        // SAFETY: the family is one that the device was created with.
        commands.pool = unsafe { functions.create_command_pool(&info, None) }
            .map_err(device.creating("vkCreateCommandPool", ByteSize::ZERO))?;
        let info =
            vk::CommandBufferAllocateInfo::default().command_pool(commands.pool).command_buffer_count(1);
        // SAFETY: the pool is the device's.
        let buffers = unsafe { functions.allocate_command_buffers(&info) }
            .map_err(device.creating("vkAllocateCommandBuffers", ByteSize::ZERO))?;
        commands.buffer = buffers.first().copied().unwrap_or_default();
        // SAFETY: a plain call.
        commands.fence = unsafe { functions.create_fence(&vk::FenceCreateInfo::default(), None) }
            .map_err(device.creating("vkCreateFence", ByteSize::ZERO))?;
        Ok(commands)
    }

    /// The command buffer, in the state of recording.
    pub(super) fn recording(&mut self) -> Result<vk::CommandBuffer, DriverError> {
        if !self.is_recording {
            self.device.check_present()?;
            let functions = self.device.functions();
            let flags = vk::CommandBufferUsageFlags::ONE_TIME_SUBMIT;
            let info = vk::CommandBufferBeginInfo::default().flags(flags);
            // SAFETY: the commands are not being executed (type invariant).
            unsafe {
                functions
                    .reset_command_pool(self.pool, vk::CommandPoolResetFlags::empty())
                    .map_err(self.device.creating("vkResetCommandPool", ByteSize::ZERO))?;
                functions
                    .begin_command_buffer(self.buffer, &info)
                    .map_err(self.device.creating("vkBeginCommandBuffer", ByteSize::ZERO))?;
            }
            self.is_recording = true;
            // Those of earlier submissions, on whichever queue they were: their fences, which were waited for, make them
            // available and no more.
            // SAFETY: the command buffer is being recorded.
            unsafe { barrier(functions, self.buffer, Access::AnyWrite, Access::Transfer) };
        }
        Ok(self.buffer)
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

    /// Executes the recorded commands, after the work of another queue up to a value of its timeline, and waits until they
    /// are done and their writes visible to the CPU. Without commands, only notices if the device is lost.
    pub(super) fn execute(&mut self, (other, value): (&Timeline, u64)) -> Result<(), DriverError> {
        self.device.check_present()?;
        if !self.is_recording {
            return Ok(());
        }
        self.is_recording = false;
        let functions = self.device.functions();
        let (semaphores, values) = ([other.handle()], [value]);
        let stages = [vk::PipelineStageFlags::ALL_COMMANDS];
        let mut timelines = vk::TimelineSemaphoreSubmitInfo::default().wait_semaphore_values(&values);
        let buffers = [self.buffer];
        let mut submit = vk::SubmitInfo::default().command_buffers(&buffers);
        if !other.has_seen(value) {
            submit =
                submit.wait_semaphores(&semaphores).wait_dst_stage_mask(&stages).push_next(&mut timelines);
        }
        // SAFETY: the command buffer is being recorded and then complete; the fence is not in use (type invariant); the
        // queue is locked during the submission; the semaphore's value is one that is submitted.
        unsafe {
            barrier(functions, self.buffer, Access::Transfer, Access::Host);
            functions
                .end_command_buffer(self.buffer)
                .map_err(self.device.creating("vkEndCommandBuffer", ByteSize::ZERO))?;
            let submitted = {
                let queue = self.device.queue(self.queue);
                functions.queue_submit(*queue, &[submit], self.fence)
            };
            submitted.map_err(self.device.creating("vkQueueSubmit", ByteSize::ZERO))?;
        }
        self.wait()?;
        other.saw(value);
        Ok(())
    }

    /// Waits for the fence and resets it.
    fn wait(&mut self) -> Result<(), DriverError> {
        let functions = self.device.functions();
        let fences = [self.fence];
        // SAFETY: the fence is the device's, and the only submission that signals it is the one before.
        let wait = || unsafe { functions.wait_for_fences(&fences, true, u64::MAX) };
        self.device.waiting("vkWaitForFences", wait)?;
        // SAFETY: as above; nothing signals the fence any more.
        unsafe { functions.reset_fences(&fences) }.map_err(|result| {
            // A fence that stays signalled cannot be used again.
            self.device.lose("vkResetFences", result);
            DriverError::DeviceLost { call: "vkResetFences" }
        })
    }
}

impl Drop for Commands {
    fn drop(&mut self) {
        // Mesa's queue threads access fences for a moment after they are signalled.
        self.device.wait_queue_idle(self.queue);
        // SAFETY: nothing is being executed (type invariant); null handles are ignored; the pool frees its buffer.
        unsafe {
            self.device.functions().destroy_fence(self.fence, None);
            self.device.functions().destroy_command_pool(self.pool, None);
        }
    }
}
