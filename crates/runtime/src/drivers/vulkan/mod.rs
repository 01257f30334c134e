//! GPUs with a Vulkan driver.
//!
//! * `error`: why a device cannot be found or opened.
//! * `instance`, `hardware`, `memory_types`, `logical_device`: the loader, physical devices, their memory types, and the
//!   logical device. `validation`: messages of the validation layer.
//! * `memory`, `commands`, `timeline`: Vulkan's memory, buffers, command buffers and semaphores as values that free themselves.
//! * `image_format`, `image_requirements`, `texture_allocation`: the sizes and alignments of textures.
//! * `heap_buffer`, `heap_contents`, `heap`: heaps. `paging_engine`: the GPU's work on their memory. `host_memory`: where
//!   evicted bytes are. `kept_memory`: memory between two uses. `available_memory`: what the process can still have.
//! * `address_map`, `reserved_addresses`, `reserved`: GPU virtual addresses, those that devices reserve, and those of
//!   reserved resources.
//! * `recorder`, `hazards`: queues' access to memory, and its order.
//! * `budget`: budgets of the operating system.
//!
//! A heap is memory with one buffer across it, so the address of a placed resource is the heap's plus the offset. Texels
//! are arranged as on the simulated GPU ([`layout`](super::layout)), and commands on them are copies between buffers:
//! nothing draws, so no texture needs to be a Vulkan image. A texture takes the memory that the device requires of an image,
//! so that heaps are as large as if it were one. Heaps without CPU access have their memory bound by sparse
//! binding: eviction copies it to the host, unbinds and frees it, and the address stays. Where sparse binding is missing,
//! or the CPU has a pointer to the memory, eviction lowers the memory's priority, and the heap stays charged.

mod address_map;
mod available_memory;
mod budget;
mod commands;
mod error;
mod hardware;
mod hazards;
mod heap;
mod heap_buffer;
mod heap_contents;
mod host_memory;
mod image_format;
mod image_requirements;
mod instance;
mod kept_memory;
mod logical_device;
mod memory;
mod memory_types;
mod paging_engine;
mod recorder;
mod reserved;
mod reserved_addresses;
mod texture_allocation;
mod timeline;
mod validation;

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ash::vk;
use heapwright_core::{Alignment, ByteSize, GpuVirtualAddress};

use self::address_map::{AddressMap, Located};
use self::budget::Budgets;
pub use self::error::VulkanError;
use self::hardware::Hardware;
use self::heap::VulkanHeap;
use self::heap_buffer::HeapBuffer;
use self::heap_contents::HeapContents;
use self::image_requirements::ImageRequirements;
use self::instance::VulkanInstance;
use self::logical_device::LogicalDevice;
use self::memory::{BUFFER_USAGE, SPARSE};
use self::memory_types::{MemoryTypes, heap_of};
use self::paging_engine::PagingEngine;
use self::recorder::Recorder;
use self::reserved::VulkanReserved;
use self::reserved_addresses::{ReservedAddresses, ReservedPlace};
pub use self::validation::validation_messages;
use super::host::profile::SegmentProfile;
use super::layout::TextureLayout;
use super::queue::ThreadQueue;
use super::resource::MemoryResource;
use super::segment::Segments;
use super::tiles::NullAccess;
use super::{KIB_4, KIB_64};
use crate::ddi::command::{DriverQueue, RemovalSink};
use crate::ddi::driver_resource::{DriverResource, ResourcePlacement};
use crate::ddi::{
    AdapterIdentity, CpuPageProperty, CreateAtFault, DeviceArgs, Driver, DriverCaps, DriverDevice,
    DriverError, DriverHeap, Eviction, GpuVirtualAddressRange, HeapArgs, MemoryPool, ResourceAllocation,
    ResourceArgs, ResourceKind, SegmentGroup, VideoMemory,
};
use crate::residency::ResidencyLedger;

/// A Vulkan device that [`Instance::open_vulkan`](crate::Instance::open_vulkan) can open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VulkanGpu {
    /// The index of the device, in the loader's order.
    pub index: usize,
    /// The device's name.
    pub name: String,
    /// The version of Vulkan that the device supports, like 1.3.
    pub vulkan_version: String,
    /// The reason why the device cannot be used, if it cannot.
    pub unsuitable: Option<String>,
}

impl VulkanGpu {
    /// Returns the devices that the system's Vulkan loader finds.
    ///
    /// # Errors
    ///
    /// [`VulkanError::NoLoader`] on a system without Vulkan, [`VulkanError::NoDevice`] without a driver, and
    /// [`VulkanError::Call`] if a call fails.
    pub fn all() -> Result<Vec<Self>, VulkanError> {
        let hardware = VulkanInstance::load()?.hardware()?;
        let describe = |(index, hardware): (usize, Hardware)| Self {
            index,
            name: hardware.name.clone(),
            vulkan_version: hardware.version(),
            unsuitable: hardware.check().err().map(|error| error.to_string()),
        };
        Ok(hardware.into_iter().enumerate().map(describe).collect())
    }

    /// Returns the index in a device's name: `vulkan` for the first device, or `vulkan:INDEX`. Returns `None` for other
    /// names.
    #[must_use]
    pub fn parse_name(name: &str) -> Option<usize> {
        match name.split_once(':') {
            None => (name == "vulkan").then_some(0),
            Some(("vulkan", index)) => {
                index.parse().ok().filter(|index: &usize| index.to_string() == name[7..])
            }
            Some(_) => None,
        }
    }
}

/// The virtual addresses that D3D12 resources have on current GPUs: 40 bits.
const ADDRESS_BITS_PER_RESOURCE: u32 = 40;

/// Addresses of a process on current GPUs. No Vulkan property has their number.
const ADDRESS_BITS_PER_PROCESS: u32 = 48;

/// The alignments that buffers can have with tight alignment (tight alignment specification).
const TIGHT_ALIGNMENTS: [u64; 2] = [8, 256];

/// An adapter: a device of the system's Vulkan.
pub(crate) struct VulkanDriver {
    identity: AdapterIdentity,
    caps: DriverCaps,
    types: MemoryTypes,
    /// Alignment of buffers with tight alignment.
    buffer_alignment: Alignment,
    images: ImageRequirements,
    /// Whether memory of each type, by index, can be bound to sparse buffers.
    sparse_types: u32,
    segments: Arc<Segments>,
    budgets: Arc<Budgets>,
    map: Arc<AddressMap>,
    engine: Arc<PagingEngine>,
    residency: Arc<ResidencyLedger>,
    device: Arc<LogicalDevice>,
}

impl VulkanDriver {
    /// Opens the device with an index in the loader's order.
    pub(crate) fn open(index: usize) -> Result<Self, VulkanError> {
        let instance = VulkanInstance::load()?;
        let mut hardware = instance.hardware()?;
        let count = hardware.len();
        if count == 0 {
            return Err(VulkanError::NoDevice);
        }
        if index >= count {
            return Err(VulkanError::NoSuchDevice { index, count });
        }
        Self::over(LogicalDevice::open(&instance, hardware.swap_remove(index))?, paging_engine::PART)
    }

    /// Creates the adapter of an open device. The memory of its heaps is divided into parts of `part` bytes.
    fn over(device: Arc<LogicalDevice>, part: u64) -> Result<Self, VulkanError> {
        static NEXT_LUID: AtomicU64 = AtomicU64::new(1 << 32);
        let hardware = device.hardware();
        let is_uma = hardware.is_uma();
        let unsuitable = VulkanError::Unsuitable {
            name: hardware.name.clone(),
            missing: "memory that the CPU can access",
        };
        // Recorded addresses restrict the memory of some devices.
        let kinds = [vk::BufferCreateFlags::empty(), replay_flag(&device)];
        let usable = kinds.map(|flags| buffer_requirements(&device, flags).memory_type_bits);
        let types = MemoryTypes::of(&hardware.memory, is_uma, usable[0] & usable[1]).ok_or(unsuitable)?;
        let segment = |memory_type| {
            let heap = heap_of(&hardware.memory, memory_type);
            (heap, hardware::heap_size(&hardware.memory, heap))
        };
        let (local_heap, local) = segment(types.video);
        let (system_heap, system) = segment(types.upload);
        let non_local = if is_uma { ByteSize::ZERO } else { system };
        let whole = |capacity| SegmentProfile { capacity, budget: capacity };
        let segments = Arc::new(Segments::new(whole(local), whole(non_local)));
        let call = |call: &'static str| {
            move |error: DriverError| VulkanError::Call { call, result: error.to_string() }
        };
        let sparse_types = if hardware.has_sparse_binding {
            let flags = SPARSE | replay_flag(&device);
            let requirements = buffer_requirements(&device, flags);
            // The parts that are paged are whole granules.
            if requirements.alignment <= paging_engine::PART { requirements.memory_type_bits } else { 0 }
        } else {
            0
        };
        tracing::debug!(
            name = hardware.name,
            ?types,
            sparse_types,
            max_allocation = hardware.max_allocation,
            max_buffer = hardware.max_buffer,
            "opened a Vulkan device"
        );
        let sparse_video = sparse_types & (1 << types.video) != 0;
        let engine = PagingEngine::create(&device, local, part, types.readback);
        let engine = engine.map_err(call("creating the paging engine"))?;
        let can_recreate = sparse_video
            && reserved_addresses::can_recreate(&device, types.video)
                .map_err(call("comparing the addresses of buffers"))?;
        let budgets = Budgets::new(&device, [local_heap, system_heap], &segments);
        Ok(Self {
            identity: AdapterIdentity {
                description: hardware.name.clone(),
                vendor_id: hardware.vendor_id,
                device_id: hardware.device_id,
                dedicated_video_memory: if is_uma { ByteSize::ZERO } else { local },
                shared_system_memory: if is_uma { local } else { system },
                luid: NEXT_LUID.fetch_add(1, Ordering::Relaxed),
            },
            caps: DriverCaps {
                ddi_version: 115,
                architecture: types.architecture,
                eviction: match (sparse_video, is_uma) {
                    (true, false) => Eviction::Frees,
                    (true, true) => Eviction::Moves,
                    (false, _) => Eviction::Keeps,
                },
                resource_heap_tier: 2,
                tight_alignment_tier: 1,
                l1_memory_fully_cpu_accessible: is_uma || types.video_is_cpu_accessible(&hardware.memory),
                // Vulkan requires no such mode.
                developer_mode: true,
                is_first_generation: false,
                trim_notifications: false,
                // The addresses of reserved resources are those of sparse buffers.
                tiled_resources_tier: if hardware.has_sparse_binding { 3 } else { 0 },
                standard_swizzle: false,
                cross_adapter_row_major: true,
                recreate_at_tier: u8::from(can_recreate),
                gpu_va_bits_per_resource: ADDRESS_BITS_PER_RESOURCE,
                gpu_va_bits_per_process: ADDRESS_BITS_PER_PROCESS,
            },
            types,
            buffer_alignment: tight_buffer_alignment(&device),
            images: ImageRequirements::new(&device),
            sparse_types,
            segments,
            budgets,
            map: Arc::default(),
            engine,
            residency: Arc::default(),
            device,
        })
    }

    /// Creates the buffer and the memory of a heap.
    fn create_contents(
        &self,
        device: &dyn DriverDevice,
        args: &HeapArgs,
        size: ByteSize,
    ) -> Result<HeapContents, DriverError> {
        let memory_type = self.types.of_heap(args.memory_pool, args.cpu_page_property);
        let kind = (memory_type, size, args.zeroed);
        let (own, alignment) = (&self.device, args.alignment);
        let is_sparse = self.sparse_types.checked_shr(memory_type).unwrap_or(0) & 1 != 0;
        if is_sparse && args.cpu_page_property == CpuPageProperty::NotAvailable {
            let make = || HeapBuffer::sparse(own, size, alignment, args.create_at);
            match at_reserved(device, args.create_at, size, alignment, make) {
                Ok((buffer, place)) => {
                    return Ok(HeapContents::pageable(buffer, kind, &self.engine).at(place));
                }
                // The number of bytes of sparse buffers is limited; without one, the heap cannot be paged out.
                Err(DriverError::OutOfAddressSpace { .. }) if args.create_at.is_none() => {}
                Err(error) => return Err(error),
            }
        }
        let make = || {
            let whole = || HeapBuffer::whole(own, size, alignment, memory_type, args.create_at);
            self.engine.with_kept_freed(memory_type, whole)
        };
        let (whole, place) = at_reserved(device, args.create_at, size, alignment, make)?;
        Ok(HeapContents::fixed(whole, kind, &self.engine)?.at(place))
    }
}

/// Creates what has addresses by `make`, which creates it at the address `at`, reserved by the device, if there is one.
fn at_reserved<T>(
    device: &dyn DriverDevice,
    at: Option<GpuVirtualAddress>,
    size: ByteSize,
    alignment: Alignment,
    make: impl FnOnce() -> Result<T, DriverError>,
) -> Result<(T, Option<ReservedPlace>), DriverError> {
    let Some(start) = at else { return Ok((make()?, None)) };
    let range = GpuVirtualAddressRange { start, size };
    let none = DriverError::CannotCreateAt { range, fault: CreateAtFault::NotReserved { address: start } };
    let reserved = device.as_any().downcast_ref::<ReservedAddresses>().ok_or(none)?;
    let (made, place) = reserved.create_at(start, size, alignment, make)?;
    Ok((made, Some(place)))
}

/// Returns the flag of buffers whose address can be requested again, if the device supports that.
fn replay_flag(device: &LogicalDevice) -> vk::BufferCreateFlags {
    if device.hardware().has_capture_replay {
        vk::BufferCreateFlags::DEVICE_ADDRESS_CAPTURE_REPLAY
    } else {
        vk::BufferCreateFlags::empty()
    }
}

/// Returns what the device requires of the memory of buffers. The types and the alignment do not depend on the size.
fn buffer_requirements(device: &LogicalDevice, flags: vk::BufferCreateFlags) -> vk::MemoryRequirements {
    let info = vk::BufferCreateInfo::default().size(KIB_64.get()).usage(BUFFER_USAGE).flags(flags);
    let request = vk::DeviceBufferMemoryRequirements::default().create_info(&info);
    let mut requirements = vk::MemoryRequirements2::default();
    // SAFETY: the device is of version 1.3; the structures outlive the call.
    unsafe { device.functions().get_device_buffer_memory_requirements(&request, &mut requirements) };
    requirements.memory_requirements
}

/// Returns the alignment that the device requires of buffers, within the bounds of D3D12.
fn tight_buffer_alignment(device: &LogicalDevice) -> Alignment {
    let [least, most] = TIGHT_ALIGNMENTS;
    let requirements = buffer_requirements(device, vk::BufferCreateFlags::empty());
    hardware::alignment(requirements.alignment.clamp(least, most))
}

impl Driver for VulkanDriver {
    fn identity(&self) -> &AdapterIdentity {
        &self.identity
    }

    fn caps(&self) -> &DriverCaps {
        &self.caps
    }

    fn create_device(&self, args: &DeviceArgs<'_>) -> Result<Box<dyn DriverDevice>, DriverError> {
        Ok(Box::new(ReservedAddresses::create(&self.device, &self.map, args.reserve_ranges)?))
    }

    fn has_memory_at(&self, address: GpuVirtualAddress) -> bool {
        match self.map.locate(address.get()) {
            Ok(Located::Heap(heap)) => heap.has_arrived(),
            Ok(Located::Tiles { tiles, offset, .. }) => {
                let place = tiles.locate(address.get(), offset).ok().flatten();
                let heap = place.as_ref().and_then(|(heap, _)| heap.as_any().downcast_ref::<VulkanHeap>());
                heap.is_some_and(VulkanHeap::has_arrived)
            }
            Err(_) => false,
        }
    }

    fn video_memory(&self, group: SegmentGroup) -> VideoMemory {
        self.budgets.video_memory(group)
    }

    fn reserve_video_memory(&self, group: SegmentGroup, reservation: ByteSize) -> Result<(), DriverError> {
        self.segments.get(group).reserve(reservation)
    }

    fn residency(&self) -> &Arc<ResidencyLedger> {
        &self.residency
    }

    fn check_resource_allocation_info(&self, resource: &ResourceArgs) -> ResourceAllocation {
        let restriction = resource.alignment_restriction;
        let width = match &resource.kind {
            ResourceKind::Buffer { width } => *width,
            ResourceKind::Texture(texture) => {
                let texels = TextureLayout::of_texture(*texture).total_size();
                let image = self.images.of_texture(texture, texels);
                return texture_allocation::of_texture(texture, resource, texels, image);
            }
        };
        if resource.tight_alignment {
            // Tight alignment specification: the size of a buffer is its width, not rounded up to its alignment.
            let alignment = self.buffer_alignment.max(restriction);
            return ResourceAllocation { size: width, alignment };
        }
        let alignment = KIB_64.max(restriction);
        let size = width.align_up(alignment).unwrap_or(width);
        ResourceAllocation { size, alignment }
    }

    fn create_heap(
        &self,
        device: &dyn DriverDevice,
        args: &HeapArgs,
    ) -> Result<Arc<dyn DriverHeap>, DriverError> {
        let granularity = if args.implicit || args.alignment < KIB_64 { KIB_4 } else { KIB_64 };
        let size = args.size.align_up(granularity);
        let size = size.ok_or(DriverError::OutOfAddressSpace { requested: args.size })?;
        let group = match args.memory_pool {
            MemoryPool::L0 if !self.caps.architecture.is_uma() => SegmentGroup::NonLocal,
            MemoryPool::L0 | MemoryPool::L1 => SegmentGroup::Local,
        };
        let make = || self.create_contents(device, args, size);
        let heap = VulkanHeap::create(args, size, (&self.segments, group), &self.map, &self.residency, make);
        // Refused memory is when budgets have changed.
        Ok(heap.inspect_err(|_| self.budgets.update())?)
    }

    fn create_resource(
        &self,
        device: &dyn DriverDevice,
        args: &ResourceArgs,
        allocation: ResourceAllocation,
        placement: ResourcePlacement,
    ) -> Result<Arc<dyn DriverResource>, DriverError> {
        Ok(Arc::new(match placement {
            ResourcePlacement::Heap { heap, offset } => {
                MemoryResource::placed(args, allocation, heap, offset)?
            }
            ResourcePlacement::Reserved => {
                let none = DriverError::OutOfAddressSpace { requested: allocation.size };
                let size = allocation.size.align_up(KIB_64).ok_or(none)?;
                let alignment = allocation.alignment.max(KIB_64);
                let make = || HeapBuffer::sparse(&self.device, size, alignment, args.create_at);
                let buffer = at_reserved(device, args.create_at, size, alignment, make)?;
                let null_access = NullAccess::of_tier(self.caps.tiled_resources_tier);
                let memory = VulkanReserved::new(buffer, size, null_access, &self.map)?;
                MemoryResource::reserved(args, allocation, Box::new(memory))
            }
        }))
    }

    fn create_queue(&self, removal: Arc<dyn RemovalSink>) -> Result<Box<dyn DriverQueue>, DriverError> {
        let recorder = Recorder::create(&self.device, &self.map, &self.engine, self.types.readback)?;
        Ok(Box::new(ThreadQueue::start(Box::new(recorder), removal)?))
    }

    fn set_budget(&self, group: SegmentGroup, budget: ByteSize) {
        self.budgets.limit(group, budget);
    }

    fn on_budget_change(&self, listener: Box<dyn Fn() + Send + Sync>) -> Box<dyn Any + Send + Sync> {
        self.budgets.listen(listener)
    }
}

#[cfg(test)]
mod fault_tests;
