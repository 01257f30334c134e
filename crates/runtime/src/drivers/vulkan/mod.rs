//! GPUs with a Vulkan driver.
//!
//! * `error`: why a device cannot be found or opened.
//! * `instance`, `hardware`, `memory_types`, `logical_device`: the loader, physical devices, their memory types, and
//!   the logical device.
//! * `memory`, `commands`, `timeline`: Vulkan's memory, buffers, command buffers and semaphores as values that free
//!   themselves.
//! * `image_requirements`, `texture_allocation`: the sizes and alignments of textures.
//! * `device_addresses`: where the device creates buffers at addresses of the driver's choice.
//! * `paging`: where the bytes of a heap are. `blocks`: small heaps in system memory. `paging_engine`: the GPU's copies
//!   of them. `host_memory`: memory for those that are evicted. `kept_memory`: that memory between two uses.
//!   `available_memory`: what the process can still have.
//! * `recorder`, `hazards`: queues' access to memory, and its order.
//! * `budget`: budgets of the operating system.
//!
//! A heap is one buffer with memory of its own. Its GPU virtual addresses are the driver's: they are allocated as on
//! the simulated GPU, and the driver's queues, which execute all accesses, look them up in the same [page
//! table](super::address_space). So an evicted heap's buffer and memory are destroyed, and its addresses stay its own
//! until both are created again. Where the device creates buffers at addresses of the driver's choice, the addresses
//! are also those that the buffer has on the device.
//!
//! Texels are arranged as on the simulated GPU ([`layout`](super::layout)), and commands on them are copies between
//! buffers: nothing draws, so no texture needs to be a Vulkan image. A texture takes the memory that the device
//! requires of an image, so that heaps are as large as if it were one. Memory that the CPU has a pointer to stays when
//! its heap is evicted: its priority is lowered, and the heap stays charged.

mod available_memory;
mod blocks;
mod budget;
mod commands;
mod device_addresses;
mod error;
mod hardware;
mod hazards;
mod host_memory;
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

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use heapwright_core::{Alignment, ByteSize};

use self::blocks::Blocks;
use self::budget::Budgets;
use self::device_addresses::DeviceAddresses;
pub use self::error::VulkanError;
use self::hardware::Hardware;
use self::image_requirements::ImageRequirements;
use self::instance::VulkanInstance;
pub use self::instance::validation_messages;
use self::logical_device::LogicalDevice;
use self::memory::DeviceAddress;
use self::memory_types::{MemoryTypes, heap_of};
use self::paging::{MemoryArgs, VulkanMemory};
use self::paging_engine::PagingEngine;
use self::recorder::Recorder;
use super::address_owners::{AddressOwners, BASE};
use super::address_space::AddressSpace;
use super::driver::GpuMemory;
use super::driver::{Backend, Driver};
use super::free_addresses::Interval;
use super::heap::{HeapMemory, NewMemory};
use super::host::profile::SegmentProfile;
use super::layout::TextureLayout;
use super::segment::{Account, Residence, Segments};
use super::{KIB_4, KIB_64};
use crate::ddi::umddi::{D3D12DDI_TIGHT_ALIGNMENT_TIER_1, D3D12DDI_TIGHT_ALIGNMENT_TIER_DATA_0111};
use crate::ddi::{
    AdapterIdentity, CpuPageProperty, DriverCaps, DriverError, Eviction, GpuVirtualAddressRange, HeapArgs,
    MemoryPool, ResourceAllocation, ResourceArgs, ResourceKind, SegmentGroup,
};
use crate::drivers::removal_sink::RemovalSink;

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

/// Opens the device with an index in the loader's order, and creates the driver of its adapter.
pub(crate) fn driver(index: usize) -> Result<Driver, VulkanError> {
    Ok(VulkanBackend::open(index)?.driver())
}

/// A device of the system's Vulkan.
struct VulkanBackend {
    identity: AdapterIdentity,
    caps: DriverCaps,
    types: MemoryTypes,
    /// Alignment of buffers with tight alignment.
    buffer_alignment: Alignment,
    images: ImageRequirements,
    addresses: Arc<DeviceAddresses>,
    segments: Arc<Segments>,
    budgets: Arc<Budgets>,
    engine: Arc<PagingEngine>,
    /// The memory of small UPLOAD and READBACK heaps.
    blocks: [Arc<Blocks>; 2],
    device: Arc<LogicalDevice>,
}

impl VulkanBackend {
    fn open(index: usize) -> Result<Arc<Self>, VulkanError> {
        Self::over(LogicalDevice::of_process(index)?)
    }

    /// Prepares the memory of an open device.
    fn over(device: Arc<LogicalDevice>) -> Result<Arc<Self>, VulkanError> {
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
        let engine =
            PagingEngine::create(&device, types.readback).map_err(call("creating the paging engine"))?;
        let budgets = Budgets::new(&device, [local_heap, system_heap], &segments);
        Ok(Arc::new(Self {
            identity: AdapterIdentity {
                description: hardware.name.clone(),
                vendor_id: hardware.vendor_id,
                device_id: hardware.device_id,
                dedicated_video_memory: if is_uma { ByteSize::ZERO } else { local },
                shared_system_memory: if is_uma { local } else { system },
                luid: NEXT_LUID.fetch_add(1, Ordering::Relaxed),
            },
            caps: DriverCaps {
                ddi_version: 121,
                architecture: types.architecture,
                eviction: if is_uma { Eviction::Moves } else { Eviction::Frees },
                resource_heap_tier: 2,
                tight_alignment: D3D12DDI_TIGHT_ALIGNMENT_TIER_DATA_0111 {
                    SupportTier: D3D12DDI_TIGHT_ALIGNMENT_TIER_1,
                },
                l1_memory_fully_cpu_accessible: is_uma || types.video_is_cpu_accessible(&hardware.memory),
                // Vulkan requires no such mode.
                developer_mode: true,
                is_first_generation: false,
                compute_only: None,
                trim_notifications: false,
                tiled_resources_tier: 3,
                standard_swizzle: false,
                cross_adapter_row_major: true,
                recreate_at_tier: 1,
                // Vulkan has it as VK_EXT_external_memory_host, which is not used.
                existing_heaps: false,
                gpu_va_bits_per_resource: ADDRESS_BITS_PER_RESOURCE,
                gpu_va_bits_per_process: ADDRESS_BITS_PER_PROCESS,
            },
            types,
            buffer_alignment: tight_buffer_alignment(&device),
            images: ImageRequirements::new(&device),
            blocks: [types.upload, types.readback].map(|memory_type| Blocks::new(memory_type, &engine)),
            addresses,
            segments,
            budgets,
            engine,
            device,
        }))
    }

    /// Returns the blocks of a memory type, if there are any.
    fn blocks_of(&self, memory_type: u32) -> Option<&Arc<Blocks>> {
        self.blocks.iter().find(|blocks| blocks.memory_type() == memory_type)
    }

    /// Creates a driver over the memory.
    fn driver(self: Arc<Self>) -> Driver {
        let whole = Interval { start: BASE, end: 1 << ADDRESS_BITS_PER_PROCESS };
        let owners = AddressOwners::starting_at(whole, self.addresses.start());
        Driver::new(self, AddressSpace::new(owners, device_addresses::LARGE_PAGE))
    }
}

/// Returns the alignment that the device requires of buffers, within the bounds of D3D12.
fn tight_buffer_alignment(device: &LogicalDevice) -> Alignment {
    let [least, most] = TIGHT_ALIGNMENTS;
    let requirements = DeviceAddress::None.requirements(device, KIB_64.get());
    hardware::alignment(requirements.alignment.clamp(least, most))
}

impl Backend for VulkanBackend {
    fn identity(&self) -> &AdapterIdentity {
        &self.identity
    }

    fn caps(&self) -> &DriverCaps {
        &self.caps
    }

    fn segments(&self) -> &Arc<Segments> {
        &self.segments
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
        if resource.is_tight() {
            // Tight alignment specification: the size of a buffer is its width, not rounded up to its alignment.
            let alignment = self.buffer_alignment.max(restriction);
            return ResourceAllocation { size: width, alignment };
        }
        let alignment = KIB_64.max(restriction);
        let size = width.align_up(alignment).unwrap_or(width);
        ResourceAllocation { size, alignment }
    }

    fn heap_granularity(&self, args: &HeapArgs) -> Alignment {
        if args.is_implicit() || args.alignment < KIB_64 { KIB_4 } else { KIB_64 }
    }

    fn create_memory(
        &self,
        args: &HeapArgs,
        range: GpuVirtualAddressRange,
    ) -> Result<NewMemory, DriverError> {
        let group = match args.memory_pool {
            MemoryPool::L0 if !self.caps.architecture.is_uma() => SegmentGroup::NonLocal,
            MemoryPool::L0 | MemoryPool::L1 => SegmentGroup::Local,
        };
        let is_resident = !args.not_resident;
        let cpu_accessible = args.cpu_page_property != CpuPageProperty::NotAvailable;
        let memory_type = self.types.of_heap(args.memory_pool, args.cpu_page_property);
        let in_block =
            cpu_accessible && args.memory_pool == MemoryPool::L0 && range.size.get() <= blocks::SIZES.0;
        let blocks = self.blocks_of(memory_type).filter(|_| in_block);
        let claim = || self.addresses.claim(range.start.get(), range.size.get());
        let memory = MemoryArgs {
            memory_type,
            size: range.size,
            claim: if in_block { None } else { claim() },
            zeroed: args.zeroed,
            cpu_accessible,
        };
        let account = Account {
            segments: Arc::clone(&self.segments),
            residence: Residence::In(group),
            // The memory may be a little larger than the heap.
            size: ByteSize::new(memory.address().requirements(&self.device, range.size.get()).size),
        };
        let create = || {
            let has_memory = is_resident || memory.cpu_accessible;
            let charge = has_memory.then(|| account.charge()).transpose()?;
            match blocks.map(|blocks| blocks.allocate(range.size, args.zeroed)) {
                Some(Ok(range)) => return Ok((charge, Box::new(range) as Box<dyn HeapMemory>)),
                Some(Err(lost @ DriverError::DeviceLost { .. })) => return Err(lost),
                // There may be enough for the heap alone.
                Some(Err(_)) | None => {}
            }
            Ok((charge, Box::new(VulkanMemory::create(memory, is_resident, &self.engine)?)))
        };
        // Refused memory is when budgets have changed.
        let (charge, memory) = create().inspect_err(|_: &DriverError| self.budgets.update())?;
        Ok(NewMemory { memory, account, charge, paging_time: Duration::ZERO })
    }

    fn gpu_memory(&self, space: &Arc<AddressSpace>) -> Result<Box<dyn GpuMemory + Send>, DriverError> {
        Ok(Box::new(Recorder::create(&self.device, space, &self.engine, self.types.readback)?))
    }

    fn update_budgets(&self) {
        self.budgets.update_if_old();
    }

    fn watch_budgets(&self) {
        self.budgets.watch();
    }

    fn set_budget(&self, group: SegmentGroup, budget: ByteSize) {
        self.budgets.limit(group, budget);
    }

    fn report_loss(&self, removal: &Arc<dyn RemovalSink>) {
        self.device.report_loss(removal);
    }
}

#[cfg(test)]
pub(super) mod fault_tests;
#[cfg(test)]
mod random_tests;
