//! The paging engine: the GPU's copies between heaps and host memory.

use std::sync::{Arc, Mutex, PoisonError};

use ash::vk;

use super::commands::Commands;
use super::host_memory::{HostMemory, HostPart};
use super::logical_device::LogicalDevice;
use super::memory::{Buffer, DeviceAddress};
use super::memory_types::heap_of;
use super::timeline::Timeline;
use crate::ddi::DriverError;

/// Number of command buffers: of heaps that are copied at once.
const COMMAND_BUFFERS: u32 = 16;

/// The paging engine of a device. Work is done in the order of its submission, on the first queue. What it uses must
/// stay alive until it is done.
pub(super) struct PagingEngine {
    device: Arc<LogicalDevice>,
    commands: Mutex<Commands>,
    /// The progress of the work.
    timeline: Arc<Timeline>,
    host: HostMemory,
}

/// The direction of a copy between a heap and host memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    ToHost,
    ToDevice,
}

impl PagingEngine {
    /// Creates the engine of a device, whose copies in host memory are of the memory type `host_type`.
    pub(super) fn create(device: &Arc<LogicalDevice>, host_type: u32) -> Result<Arc<Self>, DriverError> {
        let commands = Commands::create(device, 0, COMMAND_BUFFERS)?;
        Ok(Arc::new(Self {
            device: Arc::clone(device),
            timeline: Arc::clone(commands.timeline()),
            commands: Mutex::new(commands),
            host: HostMemory::new(device, host_type),
        }))
    }

    /// The timeline of the engine's work.
    pub(super) fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    /// Refuses work for a device that is lost.
    pub(super) fn check_present(&self) -> Result<(), DriverError> {
        self.device.check_present()
    }

    /// Blocks until the work up to a value of the timeline is done.
    pub(super) fn wait(&self, value: u64) -> Result<(), DriverError> {
        self.timeline.wait(value)
    }

    /// Creates the memory of a heap, without an address if the device refuses it. If there is too little memory, frees
    /// what is kept of it.
    pub(super) fn create_memory(
        &self,
        size: u64,
        memory_type: u32,
        priority: f32,
        address: DeviceAddress,
    ) -> Result<Buffer, DriverError> {
        let create = |address| Buffer::create(&self.device, size, memory_type, priority, address);
        let failed = match create(address) {
            Err(failed) => failed,
            done => return done,
        };
        let heap = |memory_type| heap_of(&self.device.hardware().memory, memory_type);
        match failed {
            DriverError::DeviceLost { .. } => Err(failed),
            DriverError::OutOfAddressSpace { .. } => create(DeviceAddress::None),
            // Host memory is kept as long as possible: without it, further evictions take several times as long.
            DriverError::OutOfDeviceMemory { .. } if heap(memory_type) != heap(self.host.memory_type()) => {
                Err(failed)
            }
            _ => {
                self.host.free_kept();
                create(address)
            }
        }
    }

    /// Provides host memory for `size` bytes.
    pub(super) fn host_memory(&self, size: u64) -> Result<Vec<HostPart>, DriverError> {
        self.host.provide(size)
    }

    /// Has the GPU copy the first `size` bytes of a heap from or to host memory.
    pub(super) fn copy(
        &self,
        heap: &Buffer,
        host: &[HostPart],
        size: u64,
        direction: Direction,
    ) -> Result<u64, DriverError> {
        self.submit(|commands| {
            let mut offset = 0;
            for part in host {
                let bytes = part.size().min(size - offset);
                let region = vk_region(offset, bytes, direction);
                match direction {
                    Direction::ToHost => commands.copy(heap.handle(), part.handle(), &[region])?,
                    Direction::ToDevice => commands.copy(part.handle(), heap.handle(), &[region])?,
                }
                offset += bytes;
            }
            Ok(())
        })
    }

    /// Has the GPU fill `size` bytes of a buffer, a multiple of 4 from a multiple of 4 on, with zeros.
    pub(super) fn zero(&self, buffer: vk::Buffer, offset: u64, size: u64) -> Result<u64, DriverError> {
        self.submit(|commands| commands.fill(buffer, offset, size, 0))
    }

    fn submit(
        &self,
        record: impl FnOnce(&mut Commands) -> Result<(), DriverError>,
    ) -> Result<u64, DriverError> {
        let mut commands = self.commands.lock().unwrap_or_else(PoisonError::into_inner);
        record(&mut commands)?;
        commands.submit(None)
    }
}

/// The region of a copy between bytes of a heap, from an offset on, and the beginning of host memory.
fn vk_region(offset: u64, size: u64, direction: Direction) -> vk::BufferCopy {
    let region = vk::BufferCopy::default().size(size);
    match direction {
        Direction::ToHost => region.src_offset(offset),
        Direction::ToDevice => region.dst_offset(offset),
    }
}
