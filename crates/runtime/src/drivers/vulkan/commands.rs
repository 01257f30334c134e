//! A command buffer whose commands are executed and waited for.

use std::sync::Arc;
use std::time::Duration;

use ash::vk;
use heapwright_core::ByteSize;

use super::logical_device::LogicalDevice;
use super::memory::Buffer;
use crate::ddi::DriverError;

/// How often a wait that runs out of memory is repeated, a millisecond apart, before the device counts as lost.
const RETRIES: u32 = 1000;

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
            self.check_present()?;
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
            self.see_earlier_writes();
        }
        Ok(self.buffer)
    }

    /// Makes the writes of all earlier submissions visible, on whichever queue they were: their fences, which were waited
    /// for, make them available and no more.
    fn see_earlier_writes(&self) {
        use vk::{AccessFlags as Access, PipelineStageFlags as Stage};
        let barriers = [vk::MemoryBarrier::default()
            .src_access_mask(Access::MEMORY_WRITE)
            .dst_access_mask(Access::TRANSFER_READ | Access::TRANSFER_WRITE)];
        let (from, to) = (Stage::ALL_COMMANDS, Stage::TRANSFER);
        let flags = vk::DependencyFlags::empty();
        // SAFETY: the command buffer is being recorded.
        unsafe {
            self.device.functions().cmd_pipeline_barrier(self.buffer, from, to, flags, &barriers, &[], &[]);
        }
    }

    /// Refuses work for a device that is lost.
    fn check_present(&self) -> Result<(), DriverError> {
        match self.device.lost() {
            None => Ok(()),
            Some(_) => Err(DriverError::DeviceLost { call: "an earlier call" }),
        }
    }

    /// Makes all writes of the commands so far visible to the ones after, and orders reads before writes.
    pub(super) fn barrier(&mut self) -> Result<(), DriverError> {
        use vk::{AccessFlags as Access, PipelineStageFlags as Stage};
        let buffer = self.recording()?;
        let barriers = [vk::MemoryBarrier::default()
            .src_access_mask(Access::TRANSFER_WRITE)
            .dst_access_mask(Access::TRANSFER_READ | Access::TRANSFER_WRITE)];
        // SAFETY: the command buffer is being recorded.
        unsafe {
            self.device.functions().cmd_pipeline_barrier(
                buffer,
                Stage::TRANSFER,
                Stage::TRANSFER,
                vk::DependencyFlags::empty(),
                &barriers,
                &[],
                &[],
            );
        }
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

    /// Executes the recorded commands and waits until they are done and their writes visible to the CPU. Without
    /// commands, only notices if the device is lost.
    pub(super) fn execute(&mut self) -> Result<(), DriverError> {
        use vk::{AccessFlags as Access, PipelineStageFlags as Stage};
        self.check_present()?;
        if !self.is_recording {
            return Ok(());
        }
        self.is_recording = false;
        let functions = self.device.functions();
        let barriers = [vk::MemoryBarrier::default()
            .src_access_mask(Access::TRANSFER_WRITE)
            .dst_access_mask(Access::HOST_READ | Access::HOST_WRITE)];
        let buffers = [self.buffer];
        let submits = [vk::SubmitInfo::default().command_buffers(&buffers)];
        // SAFETY: the command buffer is being recorded and then complete; the fence is not in use (type invariant); the
        // queue is locked during the submission.
        unsafe {
            functions.cmd_pipeline_barrier(
                self.buffer,
                Stage::TRANSFER,
                Stage::HOST,
                vk::DependencyFlags::empty(),
                &barriers,
                &[],
                &[],
            );
            functions
                .end_command_buffer(self.buffer)
                .map_err(self.device.creating("vkEndCommandBuffer", ByteSize::ZERO))?;
            let submitted = {
                let queue = self.device.queue(self.queue);
                functions.queue_submit(*queue, &submits, self.fence)
            };
            submitted.map_err(self.device.creating("vkQueueSubmit", ByteSize::ZERO))?;
        }
        self.wait()
    }

    /// Changes the memory of a range of a sparse buffer, and waits until that is done.
    pub(super) fn bind(
        &mut self,
        buffer: &Buffer,
        binds: &[vk::SparseMemoryBind],
    ) -> Result<(), DriverError> {
        self.check_present()?;
        let functions = self.device.functions();
        let buffers = [vk::SparseBufferMemoryBindInfo::default().buffer(buffer.handle()).binds(binds)];
        let infos = [vk::BindSparseInfo::default().buffer_binds(&buffers)];
        let submitted = {
            let queue = self.device.queue(self.queue);
            // SAFETY: the buffer is sparse and the ranges are aligned and within it and the memory, which the caller of
            // the method keeps alive while it is bound; the fence is not in use (type invariant).
            unsafe { functions.queue_bind_sparse(*queue, &infos, self.fence) }
        };
        submitted.map_err(self.device.creating("vkQueueBindSparse", ByteSize::new(buffer.size())))?;
        self.wait()
    }

    /// Waits for the fence and resets it.
    fn wait(&mut self) -> Result<(), DriverError> {
        let functions = self.device.functions();
        let fences = [self.fence];
        // SAFETY: the fence is the device's, and the only submission that signals it is the one before.
        unsafe {
            let mut waited = functions.wait_for_fences(&fences, true, u64::MAX);
            // Nothing that the commands use may be freed before they are done, so running out of memory is no reason to
            // give up at once.
            for _ in 0..RETRIES {
                if !matches!(
                    waited,
                    Err(vk::Result::ERROR_OUT_OF_HOST_MEMORY | vk::Result::ERROR_OUT_OF_DEVICE_MEMORY)
                ) {
                    break;
                }
                std::thread::sleep(Duration::from_millis(1));
                waited = functions.wait_for_fences(&fences, true, u64::MAX);
            }
            waited.map_err(|result| {
                self.device.lose("vkWaitForFences", result);
                DriverError::DeviceLost { call: "vkWaitForFences" }
            })?;
            // A fence that stays signalled cannot be used again.
            functions.reset_fences(&fences).map_err(|result| {
                self.device.lose("vkResetFences", result);
                DriverError::DeviceLost { call: "vkResetFences" }
            })
        }
    }
}

impl Drop for Commands {
    fn drop(&mut self) {
        // SAFETY: nothing is being executed (type invariant); null handles are ignored; the pool frees its buffer.
        unsafe {
            self.device.functions().destroy_fence(self.fence, None);
            self.device.functions().destroy_command_pool(self.pool, None);
        }
    }
}
