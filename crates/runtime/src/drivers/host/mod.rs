//! The host driver: a simulated GPU whose properties are data and whose memory is the host's.
//!
//! * [`profile`]: the simulated GPUs that come with the runtime.
//! * `budget_schedule`: changes of the budget over time.
//! * `memory_access`: accesses, all of which go through the page table.
//! * `memory`: the memory of heaps. `heap_time`: what they cost.
//!
//! A heap is charged to a segment group, has a range of GPU virtual addresses, and is backed by reserved address
//! space of the host, so that a simulated GPU of 16 GiB runs on a laptop. Queues access memory only through the page
//! table: access to an evicted or released heap is a page fault, and the device is lost.

mod budget_schedule;
mod heap_time;
mod memory;
pub(super) mod memory_access;
pub(crate) mod profile;

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use heapwright_core::{Alignment, ByteSize};

use self::heap_time::HeapTime;
use self::memory::{Bytes, Place, SimulatedMemory};
use self::memory_access::HostMemory;
use self::profile::HostProfile;
use super::address_owners::AddressOwners;
use super::address_space::AddressSpace;
use super::driver::GpuMemory;
use super::driver::{Backend, Driver};
use super::heap::NewMemory;
use super::layout::TextureLayout;
use super::reservation::{Pages, Reservation};
use super::segment::{Account, Residence, Segments};
use super::{KIB_4, KIB_64};
use crate::ddi::existing_pages;
use crate::ddi::umddi::{
    D3D12DDI_TIGHT_ALIGNMENT_TIER_1, D3D12DDI_TIGHT_ALIGNMENT_TIER_DATA_0111,
    D3D12DDI_TIGHT_ALIGNMENT_TIER_NOT_SUPPORTED,
};
use crate::ddi::{
    AdapterIdentity, Architecture, CpuPageProperty, DDI_IMPLICIT_HEAP, DDI_TIGHT_ALIGNMENT, DriverCaps,
    DriverError, Eviction, GpuVirtualAddressRange, HeapArgs, MemoryPool, ResourceAllocation, ResourceArgs,
    ResourceKind, SegmentGroup, TextureArgs,
};

/// The first DDI version in which applications can choose addresses (Recreate-at-GPUVA specification).
const DDI_CREATE_AT: u32 = 109;

/// Creates the driver of a simulated GPU as described by `profile`.
pub(crate) fn driver(profile: &HostProfile) -> Driver {
    let seed = profile.address_seed.unwrap_or_else(seed_of_its_own);
    let owners = AddressOwners::new(profile.gpu_va_bits_per_process, seed);
    Driver::new(Arc::new(HostBackend::new(profile)), AddressSpace::new(owners, KIB_64))
}

/// A simulated GPU.
struct HostBackend {
    identity: AdapterIdentity,
    caps: DriverCaps,
    buffer_alignment: Alignment,
    texture_alignment: Option<Alignment>,
    texture_padding_per_mille: u32,
    segments: Arc<Segments>,
    paging_nanos_per_mib: u64,
    heap_time: Arc<HeapTime>,
}

impl HostBackend {
    fn new(profile: &HostProfile) -> Self {
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
                tight_alignment: D3D12DDI_TIGHT_ALIGNMENT_TIER_DATA_0111 {
                    SupportTier: match profile.tight_buffer_alignment {
                        Some(_) => D3D12DDI_TIGHT_ALIGNMENT_TIER_1,
                        None => D3D12DDI_TIGHT_ALIGNMENT_TIER_NOT_SUPPORTED,
                    },
                },
                l1_memory_fully_cpu_accessible: on_uma || profile.l1_memory_fully_cpu_accessible,
                developer_mode: profile.developer_mode,
                is_first_generation: profile.is_first_generation,
                compute_only: profile.compute_only,
                trim_notifications: profile.has_trim_notifications,
                tiled_resources_tier: profile.tiled_resources_tier,
                standard_swizzle: profile.has_standard_swizzle,
                cross_adapter_row_major: profile.has_cross_adapter_row_major,
                recreate_at_tier: u8::from(profile.ddi_version >= DDI_CREATE_AT),
                existing_heaps: existing_pages::SUPPORTED,
                gpu_va_bits_per_resource: profile.gpu_va_bits_per_resource,
                gpu_va_bits_per_process: profile.gpu_va_bits_per_process,
            },
            buffer_alignment: profile.tight_buffer_alignment.unwrap_or(KIB_64),
            texture_alignment: profile.tight_texture_alignment,
            texture_padding_per_mille: profile.texture_padding_per_mille,
            segments,
            paging_nanos_per_mib: profile.paging_nanos_per_mib,
            heap_time: Arc::new(HeapTime::new(profile)),
        }
    }

    fn buffer_allocation(&self, width: ByteSize, resource: &ResourceArgs) -> ResourceAllocation {
        if !resource.is_tight() {
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
        let alignment = if resource.is_tight() {
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
}

impl Backend for HostBackend {
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
        match &resource.kind {
            ResourceKind::Buffer { width } => self.buffer_allocation(*width, resource),
            ResourceKind::Texture(texture) => self.texture_allocation(texture, resource),
        }
    }

    /// It is 64 KiB, or VidMm's 4 KiB for the heap of a committed resource if the driver can recognize it: since DDI
    /// 0111 by an alignment below 64 KiB (tight alignment specification, *Committed Resources*), since 0115 by its
    /// flag. A heap over existing pages has no others.
    fn heap_granularity(&self, args: &HeapArgs) -> Alignment {
        let version = self.caps.ddi_version;
        let is_small = version >= DDI_TIGHT_ALIGNMENT && args.alignment < KIB_64;
        let is_implicit = version >= DDI_IMPLICIT_HEAP && args.is_implicit();
        if is_small || is_implicit || args.existing.is_some() { KIB_4 } else { KIB_64 }
    }

    fn create_memory(
        &self,
        args: &HeapArgs,
        range: GpuVirtualAddressRange,
    ) -> Result<NewMemory, DriverError> {
        let size = range.size;
        let account = Account { segments: Arc::clone(&self.segments), residence: self.residence(args), size };
        let charge = (!args.not_resident).then(|| account.charge()).transpose()?;
        let bytes = match args.existing {
            Some(pages) => Bytes::Existing(pages),
            None => Bytes::Own(
                Reservation::new(size, Pages::Small)
                    .ok_or(DriverError::HostOutOfMemory { requested: size })?,
            ),
        };
        let place = if args.not_resident { Place::Away } else { Place::Here };
        let memory = SimulatedMemory { bytes, place, _cost: self.heap_time.pay(args, size) };
        let nanos = (u128::from(size.get()) * u128::from(self.paging_nanos_per_mib)) >> 20;
        let paging_time = Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
        Ok(NewMemory { memory: Box::new(memory), account, charge, paging_time })
    }

    fn gpu_memory(&self, space: &Arc<AddressSpace>) -> Result<Box<dyn GpuMemory + Send>, DriverError> {
        Ok(Box::new(HostMemory::new(Arc::clone(space))))
    }

    fn set_budget(&self, group: SegmentGroup, budget: ByteSize) {
        self.segments.set_budget(group, budget);
    }

    fn modelled_heap_time(&self) -> Option<Duration> {
        Some(self.heap_time.passed())
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
