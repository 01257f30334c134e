//! GPUs with a Vulkan driver.
//!
//! * `error`: why a device cannot be found or opened.
//! * `instance`, `hardware`, `memory_types`, `logical_device`: the loader, physical devices, their memory types, and the
//!   logical device. `validation`: messages of the validation layer.
//! * `memory`, `commands`, `timeline`: Vulkan's memory, buffers, command buffers and semaphores as values that free themselves.
//! * `image_format`, `image_requirements`, `texture_allocation`: the sizes and alignments of textures.
//! * `device_addresses`: where the device creates buffers at addresses of the driver's choice.
//! * `heap`: heaps. `paging`: where the bytes of a heap are. `paging_engine`: the GPU's copies of them. `host_memory`: memory for
//!   those that are evicted. `kept_memory`: that memory between two uses. `available_memory`: what the process can still have.
//! * `device`: the addresses that a D3D12 device reserves.
//! * `recorder`, `hazards`: queues' access to memory, and its order.
//! * `budget`: budgets of the operating system.
//!
//! A heap is one buffer with memory of its own. Its GPU virtual addresses are the driver's: they are allocated as on the
//! simulated GPU, and the driver's queues, which execute all accesses, look them up in the same
//! [page table](super::address_space). So an evicted heap's buffer and memory are destroyed, and its addresses stay its own until
//! both are created again. Where the device creates buffers at addresses of the driver's choice, the addresses are also those that
//! the buffer has on the device.
//!
//! Texels are arranged as on the simulated GPU ([`layout`](super::layout)), and commands on them are copies between buffers:
//! nothing draws, so no texture needs to be a Vulkan image. A texture takes the memory that the device requires of an image,
//! so that heaps are as large as if it were one. Memory that the CPU has a pointer to stays when its heap is evicted: its priority is
//! lowered, and the heap stays charged.

mod available_memory;
mod budget;
mod commands;
mod device;
mod device_addresses;
mod error;
mod hardware;
mod hazards;
mod heap;
mod host_memory;
mod image_format;
mod image_requirements;
mod instance;
mod kept_memory;
mod logical_device;
mod memory;
mod memory_types;
mod paging;
mod paging_engine;
mod recorder;
mod texture_allocation;
mod timeline;
mod validation;

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use heapwright_core::{Alignment, ByteSize, GpuVirtualAddress};

use self::budget::Budgets;
use self::device::VulkanDevice;
use self::device_addresses::DeviceAddresses;
pub use self::error::VulkanError;
use self::hardware::Hardware;
use self::heap::VulkanHeap;
use self::image_requirements::ImageRequirements;
use self::instance::VulkanInstance;
use self::logical_device::LogicalDevice;
use self::memory::DeviceAddress;
use self::memory_types::{MemoryTypes, heap_of};
use self::paging::MemoryArgs;
use self::paging_engine::PagingEngine;
use self::recorder::Recorder;
pub use self::validation::validation_messages;
use super::address_owners::{AddressOwners, BASE};
use super::address_space::{AddressRange, AddressSpace, Span};
use super::free_addresses::Interval;
use super::gpu_memory::GpuMemory;
use super::host::profile::SegmentProfile;
use super::layout::TextureLayout;
use super::reserved::TiledAddresses;
use super::segment::Segments;
use super::tiles::{NullAccess, ReservedMemory};
use super::{KIB_4, KIB_64};
use crate::ddi::{
    AdapterIdentity, CpuPageProperty, DeviceArgs, Driver, DriverCaps, DriverDevice, DriverError, DriverHeap,
    Eviction, HeapArgs, MemoryPool, ResourceAllocation, ResourceArgs, ResourceKind, SegmentGroup,
    VideoMemory,
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
    addresses: Arc<DeviceAddresses>,
    space: Arc<AddressSpace<VulkanHeap>>,
    segments: Arc<Segments>,
    budgets: Arc<Budgets>,
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
        Self::over(LogicalDevice::open(&instance, hardware.swap_remove(index))?)
    }

    /// Creates the adapter of an open device.
    fn over(device: Arc<LogicalDevice>) -> Result<Self, VulkanError> {
        static NEXT_LUID: AtomicU64 = AtomicU64::new(1 << 32);
        let hardware = device.hardware();
        let is_uma = hardware.is_uma();
        let unsuitable = VulkanError::Unsuitable {
            name: hardware.name.clone(),
            missing: "memory that the CPU can access",
        };
        // Addresses restrict the memory of some devices.
        let kinds = [
            DeviceAddress::None,
            if hardware.has_capture_replay { DeviceAddress::Any } else { DeviceAddress::None },
        ];
        let usable = kinds.map(|kind| kind.requirements(&device, KIB_64.get()).memory_type_bits);
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
        let addresses = DeviceAddresses::find(&device, types.video)
            .map_err(call("looking for the addresses of buffers"))?;
        tracing::debug!(name = hardware.name, ?types, start = addresses.start(), "opened a Vulkan device");
        let whole_space = Interval { start: BASE, end: 1 << ADDRESS_BITS_PER_PROCESS };
        let owners = AddressOwners::starting_at(whole_space, addresses.start());
        let engine =
            PagingEngine::create(&device, types.readback).map_err(call("creating the paging engine"))?;
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
                eviction: if is_uma { Eviction::Moves } else { Eviction::Frees },
                resource_heap_tier: 2,
                tight_alignment_tier: 1,
                l1_memory_fully_cpu_accessible: is_uma || types.video_is_cpu_accessible(&hardware.memory),
                // Vulkan requires no such mode.
                developer_mode: true,
                is_first_generation: false,
                trim_notifications: false,
                tiled_resources_tier: 3,
                standard_swizzle: false,
                cross_adapter_row_major: true,
                recreate_at_tier: 1,
                gpu_va_bits_per_resource: ADDRESS_BITS_PER_RESOURCE,
                gpu_va_bits_per_process: ADDRESS_BITS_PER_PROCESS,
            },
            types,
            buffer_alignment: tight_buffer_alignment(&device),
            images: ImageRequirements::new(&device),
            addresses,
            space: Arc::new(AddressSpace::new(owners, device_addresses::LARGE_PAGE)),
            segments,
            budgets,
            engine,
            residency: Arc::default(),
            device,
        })
    }

    fn create_vulkan_heap(
        &self,
        device: &dyn DriverDevice,
        args: &HeapArgs,
    ) -> Result<Arc<VulkanHeap>, DriverError> {
        let granularity = if args.implicit || args.alignment < KIB_64 { KIB_4 } else { KIB_64 };
        let size = args.size.align_up(granularity);
        let size = size.ok_or(DriverError::OutOfAddressSpace { requested: args.size })?;
        let group = match args.memory_pool {
            MemoryPool::L0 if !self.caps.architecture.is_uma() => SegmentGroup::NonLocal,
            MemoryPool::L0 | MemoryPool::L1 => SegmentGroup::Local,
        };
        let at = VulkanDevice::create_at(device, args.create_at);
        let addresses = AddressRange::new(&self.space, size, args.alignment, at)?;
        let memory = MemoryArgs {
            memory_type: self.types.of_heap(args.memory_pool, args.cpu_page_property),
            size,
            claim: self.addresses.claim(addresses.start().get(), size.get()),
            zeroed: args.zeroed,
            cpu_accessible: args.cpu_page_property != CpuPageProperty::NotAvailable,
        };
        let charged = ByteSize::new(memory.address().requirements(&self.device, size.get()).size);
        let (memory, segment) = ((memory, charged), (&self.segments, group));
        let heap = VulkanHeap::create(args, memory, segment, addresses, &self.residency, &self.engine);
        // Refused memory is when budgets have changed.
        heap.inspect_err(|_| self.budgets.update())
    }
}

/// Returns the alignment that the device requires of buffers, within the bounds of D3D12.
fn tight_buffer_alignment(device: &LogicalDevice) -> Alignment {
    let [least, most] = TIGHT_ALIGNMENTS;
    let requirements = DeviceAddress::None.requirements(device, KIB_64.get());
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
        Ok(Box::new(VulkanDevice::create(args, &self.space, &self.device)?))
    }

    fn has_memory_at(&self, address: GpuVirtualAddress) -> bool {
        match self.space.translate(address.get(), 1) {
            Ok(Span::Memory { heap, .. }) => heap.has_arrived(),
            Ok(Span::Null { .. }) | Err(_) => false,
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
        Ok(self.create_vulkan_heap(device, args)?)
    }

    fn reserve(
        &self,
        device: &dyn DriverDevice,
        allocation: ResourceAllocation,
        create_at: Option<GpuVirtualAddress>,
    ) -> Result<Box<dyn ReservedMemory>, DriverError> {
        let null_access = NullAccess::of_tier(self.caps.tiled_resources_tier);
        let at = VulkanDevice::create_at(device, create_at);
        Ok(Box::new(TiledAddresses::new(allocation, &self.space, null_access, at)?))
    }

    fn gpu_memory(&self) -> Result<Box<dyn GpuMemory + Send>, DriverError> {
        Ok(Box::new(Recorder::create(&self.device, &self.space, &self.engine, self.types.readback)?))
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
#[cfg(test)]
mod random_tests;
