//! The host driver: a simulated GPU whose properties are data and whose memory is the host's.
//!
//! * [`profile`]: the simulated GPUs that come with the runtime.
//! * `budget_schedule`: changes of the budget over time.
//! * `device`: the addresses that a device reserves.
//! * `memory_access`: accesses, all of which go through the page table.
//! * `heap`: heaps.
//!
//! A heap is charged to a segment group, has a range of GPU virtual addresses, and is backed by reserved address
//! space of the host, so that a simulated GPU of 16 GiB runs on a laptop. Queues access memory only through the page
//! table: access to an evicted or released heap is a page fault, and the device is lost.

mod budget_schedule;
mod device;
mod heap;
mod heap_time;
pub(super) mod memory_access;
pub(crate) mod profile;

use std::any::Any;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use heapwright_core::{Alignment, ByteSize, GpuVirtualAddress};

use self::device::HostDevice;
use self::heap::HostHeap;
use self::heap_time::HeapTime;
use self::memory_access::HostMemory;
use self::profile::HostProfile;
use super::address_owners::AddressOwners;
use super::address_space::{AddressRange, AddressSpace, CreateAt};
use super::gpu_memory::GpuMemory;
use super::layout::TextureLayout;
use super::reserved::TiledAddresses;
use super::segment::{Listener, Residence, Segments};
use super::tiles::{NullAccess, ReservedMemory};
use super::{KIB_4, KIB_64};
use crate::ddi::{
    AdapterIdentity, Architecture, CpuPageProperty, DDI_IMPLICIT_HEAP, DDI_TIGHT_ALIGNMENT, DeviceArgs,
    Driver, DriverCaps, DriverDevice, DriverError, DriverHeap, Eviction, HeapArgs, MemoryPool,
    ResourceAllocation, ResourceArgs, ResourceKind, SegmentGroup, TextureArgs, VideoMemory,
};
use crate::residency::ResidencyLedger;

/// The first DDI version in which applications can choose addresses (Recreate-at-GPUVA specification).
const DDI_CREATE_AT: u32 = 109;

/// A simulated GPU.
pub(crate) struct HostDriver {
    identity: AdapterIdentity,
    caps: DriverCaps,
    buffer_alignment: Alignment,
    texture_alignment: Option<Alignment>,
    texture_padding_per_mille: u32,
    segments: Arc<Segments>,
    paging_nanos_per_mib: u64,
    heap_time: Arc<HeapTime>,
    space: Arc<AddressSpace<HostHeap>>,
    residency: Arc<ResidencyLedger>,
}

impl HostDriver {
    /// Creates a GPU as described by `profile`, without any memory in use.
    pub(crate) fn new(profile: &HostProfile) -> Self {
        static NEXT_LUID: AtomicU64 = AtomicU64::new(1);
        let segments = Arc::new(Segments::new(profile.local, profile.non_local));
        budget_schedule::follow(&segments, profile.budget_schedule);
        let on_uma = profile.architecture.is_uma();
        Self {
            identity: AdapterIdentity {
                description: format!("heapwright host GPU ({})", profile.name),
                vendor_id: profile.vendor_id,
                device_id: profile.device_id,
                dedicated_video_memory: if on_uma { ByteSize::ZERO } else { profile.local.capacity },
                shared_system_memory: if on_uma {
                    profile.local.capacity
                } else {
                    profile.non_local.capacity
                },
                luid: NEXT_LUID.fetch_add(1, Ordering::Relaxed),
            },
            caps: DriverCaps {
                ddi_version: profile.ddi_version,
                architecture: profile.architecture,
                eviction: Eviction::Frees,
                resource_heap_tier: profile.resource_heap_tier,
                tight_alignment_tier: u8::from(profile.tight_buffer_alignment.is_some()),
                l1_memory_fully_cpu_accessible: on_uma || profile.l1_memory_fully_cpu_accessible,
                developer_mode: profile.developer_mode,
                is_first_generation: profile.is_first_generation,
                trim_notifications: profile.has_trim_notifications,
                tiled_resources_tier: profile.tiled_resources_tier,
                standard_swizzle: profile.has_standard_swizzle,
                cross_adapter_row_major: profile.has_cross_adapter_row_major,
                recreate_at_tier: u8::from(profile.ddi_version >= DDI_CREATE_AT),
                gpu_va_bits_per_resource: profile.gpu_va_bits_per_resource,
                gpu_va_bits_per_process: profile.gpu_va_bits_per_process,
            },
            buffer_alignment: profile.tight_buffer_alignment.unwrap_or(KIB_64),
            texture_alignment: profile.tight_texture_alignment,
            texture_padding_per_mille: profile.texture_padding_per_mille,
            segments,
            paging_nanos_per_mib: profile.paging_nanos_per_mib,
            heap_time: Arc::new(HeapTime::new(profile)),
            space: Arc::new(AddressSpace::new(
                AddressOwners::new(
                    profile.gpu_va_bits_per_process,
                    profile.address_seed.unwrap_or_else(seed_of_its_own),
                ),
                KIB_64,
            )),
            residency: Arc::default(),
        }
    }

    fn buffer_allocation(&self, width: ByteSize, resource: &ResourceArgs) -> ResourceAllocation {
        if !resource.tight_alignment {
            let alignment = KIB_64.max(resource.alignment_restriction);
            let size = width.align_up(alignment).unwrap_or(width);
            return ResourceAllocation { size, alignment };
        }
        // Tight alignment specification: the size of a buffer is its width, not rounded up to its alignment.
        let alignment = self.buffer_alignment.max(resource.alignment_restriction);
        ResourceAllocation { size: width, alignment }
    }

    /// Returns the size of the layout plus compression data, rounded up to the alignment.
    fn texture_allocation(&self, texture: &TextureArgs, resource: &ResourceArgs) -> ResourceAllocation {
        let alignment = if resource.tight_alignment {
            let largest = texture.largest_tight_alignment();
            self.texture_alignment.map_or(largest, |own| own.min(largest)).max(resource.alignment_restriction)
        } else {
            resource.alignment_restriction
        };
        let size = TextureLayout::of_texture(*texture).total_size();
        let padding = if texture.usage.is_render_target_or_depth_stencil() {
            size.checked_mul(self.texture_padding_per_mille.into())
                .map_or(ByteSize::MAX, |product| ByteSize::new(product.get().div_ceil(1000)))
        } else {
            ByteSize::ZERO
        };
        let padded = size.saturating_add(padding);
        ResourceAllocation { size: padded.align_up(alignment).unwrap_or(padded), alignment }
    }

    /// Returns the segment groups that a resident heap may be in.
    ///
    /// On UMA, all memory is local. CPU-visible video memory may fall back to system memory whenever it becomes
    /// resident; video memory without CPU access may not.
    fn residence(&self, args: &HeapArgs) -> Residence {
        match (self.caps.architecture, args.memory_pool) {
            (Architecture::Discrete, MemoryPool::L0) => Residence::In(SegmentGroup::NonLocal),
            (Architecture::Discrete, MemoryPool::L1)
                if args.cpu_page_property != CpuPageProperty::NotAvailable =>
            {
                Residence::LocalOrSystem
            }
            _ => Residence::In(SegmentGroup::Local),
        }
    }

    /// Returns the granularity of a heap's size.
    ///
    /// It is 64 KiB, or VidMm's 4 KiB for the heap of a committed resource if the driver can recognize it: since DDI
    /// 0111 by an alignment below 64 KiB (tight alignment specification, *Committed Resources*), since 0115 by its
    /// flag.
    fn heap_granularity(&self, args: &HeapArgs) -> Alignment {
        let version = self.caps.ddi_version;
        let is_small = version >= DDI_TIGHT_ALIGNMENT && args.alignment < KIB_64;
        let is_implicit = version >= DDI_IMPLICIT_HEAP && args.implicit;
        if is_small || is_implicit { KIB_4 } else { KIB_64 }
    }
}

impl Driver for HostDriver {
    fn identity(&self) -> &AdapterIdentity {
        &self.identity
    }

    fn caps(&self) -> &DriverCaps {
        &self.caps
    }

    fn create_device(&self, args: &DeviceArgs<'_>) -> Result<Box<dyn DriverDevice>, DriverError> {
        Ok(Box::new(HostDevice::create(args, &self.space)?))
    }

    fn has_memory_at(&self, address: GpuVirtualAddress) -> bool {
        self.memory().span(address.get(), 1).is_ok()
    }

    fn video_memory(&self, group: SegmentGroup) -> VideoMemory {
        self.segments.get(group).report()
    }

    fn reserve_video_memory(&self, group: SegmentGroup, reservation: ByteSize) -> Result<(), DriverError> {
        self.segments.get(group).reserve(reservation)
    }

    fn residency(&self) -> &Arc<ResidencyLedger> {
        &self.residency
    }

    fn check_resource_allocation_info(&self, resource: &ResourceArgs) -> ResourceAllocation {
        match &resource.kind {
            ResourceKind::Buffer { width } => self.buffer_allocation(*width, resource),
            ResourceKind::Texture(texture) => self.texture_allocation(texture, resource),
        }
    }

    fn create_heap(
        &self,
        device: &dyn DriverDevice,
        args: &HeapArgs,
    ) -> Result<Arc<dyn DriverHeap>, DriverError> {
        Ok(self.create_host_heap(args, HostDevice::create_at(device, args.create_at))?)
    }

    fn reserve(
        &self,
        device: &dyn DriverDevice,
        allocation: ResourceAllocation,
        create_at: Option<GpuVirtualAddress>,
    ) -> Result<Box<dyn ReservedMemory>, DriverError> {
        let null_access = NullAccess::of_tier(self.caps.tiled_resources_tier);
        let at = HostDevice::create_at(device, create_at);
        Ok(Box::new(TiledAddresses::new(allocation, &self.space, null_access, at)?))
    }

    fn modelled_heap_time(&self) -> Option<Duration> {
        Some(self.heap_time.passed())
    }

    fn gpu_memory(&self) -> Result<Box<dyn GpuMemory + Send>, DriverError> {
        Ok(Box::new(self.memory()))
    }

    fn set_budget(&self, group: SegmentGroup, budget: ByteSize) {
        self.segments.set_budget(group, budget);
    }

    fn on_budget_change(&self, listener: Box<dyn Fn() + Send + Sync>) -> Box<dyn Any + Send + Sync> {
        let listener: Arc<Listener> = Arc::from(listener);
        self.segments.listen(&listener);
        Box::new(listener)
    }
}

impl HostDriver {
    /// Returns the GPU's access to memory.
    pub(super) fn memory(&self) -> HostMemory {
        HostMemory::new(Arc::clone(&self.space))
    }

    fn create_host_heap(&self, args: &HeapArgs, at: Option<CreateAt>) -> Result<Arc<HostHeap>, DriverError> {
        let granularity = self.heap_granularity(args);
        let too_large = DriverError::OutOfAddressSpace { requested: args.size };
        let size = args.size.align_up(granularity).ok_or(too_large)?;
        let addresses = AddressRange::new(&self.space, size, args.alignment, at)?;
        HostHeap::create(
            args,
            size,
            &self.segments,
            (self.residence(args), self.paging_nanos_per_mib),
            addresses,
            &self.residency,
            &self.heap_time,
        )
    }
}

/// Returns a random seed, from the standard library's keys for hashing, which differ for each process and each call.
fn seed_of_its_own() -> u64 {
    RandomState::new().build_hasher().finish()
}

#[cfg(test)]
mod create_at_tests;
#[cfg(test)]
pub(in crate::drivers) mod tests;
