//! The host driver: a simulated GPU whose properties are data and whose memory is the host's.
//!
//! * [`profile`]: the simulated GPUs that come with the runtime.
//! * [`layout`]: where a texture's blocks are.
//! * `segment`: usage against capacity and budget, one per segment group.
//! * `reservation`: host address space that costs memory only where it is touched.
//!
//! A heap is charged to a segment group, given a range of GPU virtual addresses, and backed by reserved address
//! space of the host, so that a simulated GPU of 16 GiB runs on a laptop.

pub mod layout;
pub mod profile;
mod reservation;
mod segment;

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use heapwright_core::suballoc::{SuballocationId, Tlsf};
use heapwright_core::{Alignment, ByteSize, GpuVirtualAddress};

use self::layout::TextureLayout;
use self::profile::HostProfile;
use self::reservation::Reservation;
use self::segment::Segment;
use crate::ddi::{
    AdapterIdentity, Architecture, CpuPageProperty, Driver, DriverCaps, DriverError, DriverHeap, HeapArgs,
    MemoryPool, ResourceAllocation, ResourceArgs, ResourceKind, SegmentGroup, TextureArgs, VideoMemory,
};

/// Where the simulated GPU's address space begins: zero and what is near it stay invalid.
const GPU_VA_BASE: u64 = 1 << 32;

/// The alignment of buffers without tight alignment, and the granularity of explicit heaps.
const KIB_64: Alignment = alignment(64 * 1024);

/// VidMm's granularity, which committed resources with tight alignment reach.
const KIB_4: Alignment = alignment(4 * 1024);

const fn alignment(bytes: u64) -> Alignment {
    match Alignment::new(bytes) {
        Some(alignment) => alignment,
        None => panic!("not a power of two"),
    }
}

/// A simulated GPU.
#[derive(Debug)]
pub struct HostDriver {
    identity: AdapterIdentity,
    caps: DriverCaps,
    buffer_alignment: Alignment,
    texture_alignment: Option<Alignment>,
    texture_padding_per_mille: u32,
    state: Arc<State>,
}

/// What heaps give back to when they are dropped.
#[derive(Debug)]
struct State {
    local: Segment,
    non_local: Segment,
    address_space: Mutex<Tlsf>,
}

impl HostDriver {
    /// A fresh GPU as `profile` describes it, with nothing in use.
    #[must_use]
    pub fn new(profile: &HostProfile) -> Self {
        static NEXT_LUID: AtomicU64 = AtomicU64::new(1);
        let va_size = ByteSize::new((1 << profile.gpu_va_bits_per_process) - GPU_VA_BASE);
        let address_space = Tlsf::new(va_size).expect("profiles have more than 32 bits of address space");
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
                resource_heap_tier: profile.resource_heap_tier,
                tight_alignment_tier: u8::from(profile.tight_buffer_alignment.is_some()),
                l1_memory_fully_cpu_accessible: profile.l1_memory_fully_cpu_accessible,
                gpu_va_bits_per_resource: profile.gpu_va_bits_per_resource,
                gpu_va_bits_per_process: profile.gpu_va_bits_per_process,
            },
            buffer_alignment: profile.tight_buffer_alignment.unwrap_or(KIB_64),
            texture_alignment: profile.tight_texture_alignment,
            texture_padding_per_mille: profile.texture_padding_per_mille,
            state: Arc::new(State {
                local: Segment::new(profile.local),
                non_local: Segment::new(profile.non_local),
                address_space: Mutex::new(address_space),
            }),
        }
    }

    fn buffer_allocation(&self, width: ByteSize, resource: &ResourceArgs) -> ResourceAllocation {
        if !resource.tight_alignment {
            let alignment = KIB_64.max(resource.alignment_restriction);
            let size = width.align_up(alignment).unwrap_or(width);
            return ResourceAllocation { size, alignment };
        }
        // TIGHT: buffers are sized by their width, not by their alignment.
        let alignment = self.buffer_alignment.max(resource.alignment_restriction);
        ResourceAllocation { size: width, alignment }
    }

    /// The layout's size, with what compression data takes, in whole multiples of the alignment.
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

    /// The segment group that a heap is charged to.
    ///
    /// On UMA everything is local. CPU-visible video memory falls back to system memory when it would exceed
    /// the local budget (document UPLOAD); memory without CPU access does not.
    fn segment_for(&self, args: &HeapArgs) -> SegmentGroup {
        match (self.caps.architecture, args.memory_pool) {
            (Architecture::Discrete, MemoryPool::L0) => SegmentGroup::NonLocal,
            (Architecture::Discrete, MemoryPool::L1)
                if args.cpu_page_property != CpuPageProperty::NotAvailable
                    && !self.state.local.fits_budget(args.size) =>
            {
                SegmentGroup::NonLocal
            }
            _ => SegmentGroup::Local,
        }
    }
}

impl State {
    fn segment(&self, group: SegmentGroup) -> &Segment {
        match group {
            SegmentGroup::Local => &self.local,
            SegmentGroup::NonLocal => &self.non_local,
        }
    }

    fn address_space(&self) -> std::sync::MutexGuard<'_, Tlsf> {
        self.address_space.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Driver for HostDriver {
    fn identity(&self) -> &AdapterIdentity {
        &self.identity
    }

    fn caps(&self) -> &DriverCaps {
        &self.caps
    }

    fn video_memory(&self, group: SegmentGroup) -> VideoMemory {
        self.state.segment(group).report()
    }

    fn reserve_video_memory(&self, group: SegmentGroup, reservation: ByteSize) -> Result<(), DriverError> {
        self.state.segment(group).reserve(reservation)
    }

    fn check_resource_allocation_info(&self, resource: &ResourceArgs) -> ResourceAllocation {
        match &resource.kind {
            ResourceKind::Buffer { width } => self.buffer_allocation(*width, resource),
            ResourceKind::Texture(texture) => self.texture_allocation(texture, resource),
        }
    }

    fn create_heap(&self, args: &HeapArgs) -> Result<Box<dyn DriverHeap>, DriverError> {
        let granularity = if args.implicit { KIB_4 } else { KIB_64 };
        let too_large = DriverError::OutOfAddressSpace { requested: args.size };
        let size = args.size.align_up(granularity).ok_or(too_large)?;
        let group = self.segment_for(args);
        // Each step gives back what it took when a later one fails.
        let charge = Charge::new(&self.state, group, size)?;
        let addresses = AddressRange::new(&self.state, size, args.alignment.max(KIB_64))?;
        let memory = Reservation::new(size).ok_or(DriverError::HostOutOfMemory { requested: size })?;
        Ok(Box::new(HostHeap {
            cpu_accessible: args.cpu_page_property != CpuPageProperty::NotAvailable,
            memory,
            addresses,
            _charge: charge,
        }))
    }
}

/// Memory of the simulated GPU.
#[derive(Debug)]
struct HostHeap {
    cpu_accessible: bool,
    memory: Reservation,
    addresses: AddressRange,
    _charge: Charge,
}

impl DriverHeap for HostHeap {
    fn gpu_virtual_address(&self) -> GpuVirtualAddress {
        self.addresses.start
    }

    fn map(&self, offset: u64, size: u64) -> Result<NonNull<u8>, DriverError> {
        if !self.cpu_accessible {
            return Err(DriverError::NotCpuAccessible);
        }
        self.memory
            .commit(offset, size)
            .ok_or(DriverError::HostOutOfMemory { requested: ByteSize::new(size) })
    }
}

/// Bytes charged to a segment group until dropped.
#[derive(Debug)]
struct Charge {
    state: Arc<State>,
    group: SegmentGroup,
    size: ByteSize,
}

impl Charge {
    fn new(state: &Arc<State>, group: SegmentGroup, size: ByteSize) -> Result<Self, DriverError> {
        state.segment(group).charge(size)?;
        Ok(Self { state: Arc::clone(state), group, size })
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.state.segment(self.group).discharge(self.size);
    }
}

/// GPU virtual addresses taken until dropped.
#[derive(Debug)]
struct AddressRange {
    state: Arc<State>,
    id: SuballocationId,
    start: GpuVirtualAddress,
}

impl AddressRange {
    fn new(state: &Arc<State>, size: ByteSize, alignment: Alignment) -> Result<Self, DriverError> {
        let none = DriverError::OutOfAddressSpace { requested: size };
        let range = state.address_space().allocate(size, alignment).map_err(|_| none)?;
        // The base is a multiple of every heap alignment, so alignment of the offset is alignment of the address.
        let start = GpuVirtualAddress::new(GPU_VA_BASE + range.range.start().get()).ok_or(none)?;
        Ok(Self { state: Arc::clone(state), id: range.id, start })
    }
}

impl Drop for AddressRange {
    fn drop(&mut self) {
        let freed = self.state.address_space().free(self.id);
        debug_assert!(freed.is_ok(), "an address range is freed once: {freed:?}");
    }
}

#[cfg(test)]
mod tests;
