//! The progress of the GPU's work, as a timeline semaphore.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ash::vk;
use heapwright_core::ByteSize;

use super::logical_device::LogicalDevice;
use crate::ddi::DriverError;

/// A timeline semaphore. It is signalled with ascending values, each of which stands for the work up to it: by commands
/// of one queue, whose signals are in the order of submission, or by work that waits for the value before.
pub(super) struct Timeline {
    device: Arc<LogicalDevice>,
    semaphore: vk::Semaphore,
    /// The largest value that is known to be signalled.
    seen: AtomicU64,
}

impl Timeline {
    pub(super) fn create(device: &Arc<LogicalDevice>) -> Result<Self, DriverError> {
        let mut kind = vk::SemaphoreTypeCreateInfo::default().semaphore_type(vk::SemaphoreType::TIMELINE);
        let info = vk::SemaphoreCreateInfo::default().push_next(&mut kind);
        // SAFETY: the feature is enabled, and the structures outlive the call.
        let semaphore = unsafe { device.functions().create_semaphore(&info, None) }
            .map_err(device.creating("vkCreateSemaphore", ByteSize::ZERO))?;
        Ok(Self { device: Arc::clone(device), semaphore, seen: AtomicU64::new(0) })
    }

    pub(super) fn handle(&self) -> vk::Semaphore {
        self.semaphore
    }

    /// Returns whether the work up to `value` is known to be done. No call.
    pub(super) fn has_seen(&self, value: u64) -> bool {
        self.seen.load(Ordering::Acquire) >= value
    }

    /// Notes that the work up to `value` is done.
    pub(super) fn saw(&self, value: u64) {
        self.seen.fetch_max(value, Ordering::Release);
    }

    /// Blocks until the work up to `value`, which is submitted, is done.
    pub(super) fn wait(&self, value: u64) -> Result<(), DriverError> {
        if self.has_seen(value) {
            return Ok(());
        }
        let (semaphores, values) = ([self.semaphore], [value]);
        let info = vk::SemaphoreWaitInfo::default().semaphores(&semaphores).values(&values);
        // SAFETY: the semaphore is the device's timeline semaphore, and the structures outlive the call.
        let wait = || unsafe { self.device.functions().wait_semaphores(&info, u64::MAX) };
        self.device.waiting("vkWaitSemaphores", wait)?;
        self.saw(value);
        Ok(())
    }
}

impl Drop for Timeline {
    fn drop(&mut self) {
        // SAFETY: the owner has waited for all work that signals the semaphore or waits for it.
        unsafe { self.device.functions().destroy_semaphore(self.semaphore, None) };
    }
}
