//! The boundary between the runtime and a driver, shaped like the D3D12 DDI that the documents quote.
//!
//! Above this boundary, the runtime implements COM objects and D3D12's rules; below it, a `Driver` manages memory. The
//! runtime validates everything before it calls a driver. A driver reports only errors that the caller could not
//! foresee (out of memory). Names follow the DDI: *caps*, *create device*, *check resource allocation info*, *create
//! heap*.
//!
//! The driver itself, with its heaps, resources and queues, is the same for all GPUs (`drivers`). GPUs differ in a
//! `Backend`.
//!
//! * `existing_pages`: pages of the application for heaps. `umddi`: numbers and structures of the DDI itself.

pub(crate) mod existing_pages;
mod resource;
mod tiles;
pub(crate) mod umddi;

use std::fmt;
use std::marker::PhantomData;
use std::ptr::{null, null_mut};

use heapwright_core::{Alignment, ByteSize, GpuVirtualAddress};

use self::umddi::*;

pub(crate) use self::existing_pages::ExistingPages;
pub(crate) use self::resource::{
    Extent, ResourceArgs, ResourceKind, SubresourceIndex, TextureArgs, TextureDimension, TextureMemoryLayout,
    TextureUsage,
};
pub(crate) use self::tiles::{MAX_MIP_LEVELS, TILE_BYTES};
pub(crate) use self::tiles::{SubresourceTiles, TileGrid};
use crate::residency::PageableKind;

/// The arguments of device creation: the DDI's structure, whose pointer refers to a slice.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DeviceArgs<'a> {
    arg: D3D12DDIARG_CREATEDEVICE_0109,
    ranges: PhantomData<&'a [GpuVirtualAddressRange]>,
}

impl<'a> DeviceArgs<'a> {
    /// Creates the arguments of a device that reserves ranges (Recreate-at-GPUVA specification): GPU virtual addresses
    /// that no object gets during the device's life, unless it is created at one of them.
    ///
    /// The ranges are as the application recorded them: in any order, not aligned, possibly empty, and possibly
    /// overlapping, like the range of a placed buffer and that of its heap. A driver reserves enough around each range
    /// that the original object can be created there again. Ranges beyond the first 2^32 - 1 are not passed on.
    pub(crate) fn new(reserve_ranges: &'a [GpuVirtualAddressRange]) -> Self {
        let arg = D3D12DDIARG_CREATEDEVICE_0109 {
            hRTDevice: null_mut(),
            Interface: 0,
            Version: 0,
            pKTCallbacks: null(),
            hDrvDevice: null_mut(),
            p12UMCallbacks: null(),
            Flags: 0,
            pReserveRanges: reserve_ranges.as_ptr(),
            NumReserveRanges: u32::try_from(reserve_ranges.len()).unwrap_or(u32::MAX),
        };
        Self { arg, ranges: PhantomData }
    }

    /// Returns the ranges to reserve.
    pub(crate) fn reserve_ranges(&self) -> &'a [GpuVirtualAddressRange] {
        let count = usize::try_from(self.arg.NumReserveRanges).unwrap_or(0);
        // SAFETY: `new` took pointer and count from a slice that is borrowed for 'a, with at least as many elements.
        unsafe { std::slice::from_raw_parts(self.arg.pReserveRanges, count) }
    }
}

impl Default for DeviceArgs<'_> {
    fn default() -> Self {
        Self::new(&[])
    }
}

/// A range of GPU virtual addresses (the DDI's `D3D12DDI_GPU_VIRTUAL_ADDRESS_RANGE`).
///
/// The range is as the application specified it: the size may be zero, and the end may exceed 64 bits.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GpuVirtualAddressRange {
    /// The first address.
    pub start: GpuVirtualAddress,
    /// Size of the range, in bytes.
    pub size: ByteSize,
}

impl fmt::Display for GpuVirtualAddressRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of GPU virtual addresses starting at {}", self.size, self.start)
    }
}

/// An error of a driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum DriverError {
    #[error("cannot allocate {requested}: {usage} of the segment group's {capacity} is in use")]
    OutOfMemory { requested: ByteSize, usage: ByteSize, capacity: ByteSize },
    /// A real GPU's driver refused, for reasons of its own.
    #[error("the GPU's driver could not allocate {requested}")]
    #[cfg_attr(
        not(any(feature = "vulkan", test)),
        expect(dead_code, reason = "no simulated GPU fails like this")
    )]
    OutOfDeviceMemory { requested: ByteSize },
    #[error("the GPU is lost: {call} failed")]
    #[cfg_attr(not(feature = "vulkan"), expect(dead_code, reason = "no simulated GPU fails like this"))]
    DeviceLost { call: &'static str },
    #[error("the operating system could not allocate {requested}")]
    HostOutOfMemory { requested: ByteSize },
    #[error("no free range of GPU virtual addresses is large enough for {requested}")]
    OutOfAddressSpace { requested: ByteSize },
    #[error("cannot reserve {range}: the range is outside the GPU's address space")]
    AddressesInvalid { range: GpuVirtualAddressRange },
    /// Some of the addresses belong to a heap, a reserved resource or another device's reservation.
    #[error("cannot reserve {range}: some of the addresses are in use")]
    AddressesInUse { range: GpuVirtualAddressRange },
    #[error("cannot create an object at {range}: {fault}")]
    CannotCreateAt { range: GpuVirtualAddressRange, fault: CreateAtFault },
    #[error("the heap's memory is not CPU-accessible")]
    NotCpuAccessible,
    #[error("Evict was called more often than MakeResident")]
    NotResident,
    #[error("a reservation of {requested} exceeds the {available} available for reservation")]
    ReservationTooLarge { requested: ByteSize, available: ByteSize },
}

/// The reason why an object cannot be created at an address (Recreate-at-GPUVA specification).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CreateAtFault {
    /// The first address that the device did not reserve.
    #[error("the device did not reserve {address} when it was created")]
    NotReserved { address: GpuVirtualAddress },
    /// The first address that another object occupies.
    #[error("another object occupies {address}")]
    InUse { address: GpuVirtualAddress },
    #[error("the address must be a multiple of {alignment}")]
    Misaligned { alignment: Alignment },
    #[error("the range is outside the GPU's address space")]
    OutsideAddressSpace,
    #[error("the heap's address plus HeapOffset is {address}")]
    Elsewhere { address: GpuVirtualAddress },
}

/// DXGI's memory segment groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SegmentGroup {
    /// Video memory, or all memory on UMA.
    Local,
    /// System memory that the GPU accesses over the bus; empty on UMA.
    NonLocal,
}

/// DXGI's four numbers for one segment group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct VideoMemory {
    /// The usage that the operating system asks this process to stay below, in bytes.
    pub(crate) budget: ByteSize,
    /// The usage of this process, in bytes.
    pub(crate) current_usage: ByteSize,
    /// The amount that this process may reserve, in bytes.
    pub(crate) available_for_reservation: ByteSize,
    /// The amount that this process has reserved, in bytes.
    pub(crate) current_reservation: ByteSize,
}

/// The memory architecture of a GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Architecture {
    /// The GPU has its own memory (pool L1) beside system memory (pool L0).
    Discrete,
    /// CPU and GPU share one memory (pool L0); the GPU does not snoop the CPU's caches.
    Uma,
    /// CPU and GPU share one memory (pool L0) that is coherent with the CPU's caches.
    CacheCoherentUma,
}

impl Architecture {
    /// Returns whether CPU and GPU share one memory.
    #[must_use]
    pub fn is_uma(self) -> bool {
        self != Self::Discrete
    }
}

/// The effect of `Evict` on the memory of a heap that the CPU cannot access.
///
/// Memory that the CPU can access (heap types UPLOAD, READBACK and GPU_UPLOAD) stays where it is on a real GPU, as
/// programs have pointers to it: the heap remains charged to its segment group, and its memory gets the lowest
/// priority. On the simulated GPU it is freed like all other memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Eviction {
    /// The bytes move to host memory, and the device memory is freed.
    Frees,
    /// As above, but CPU and GPU share one memory: the heap is no longer charged, and nothing is gained by that.
    Moves,
}

/// What a compute-only device has beyond Direct3D 12's Core 1.0 feature level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ComputeOnly {
    /// `ComputeOnlyCustomHeapSupported`: heaps of type CUSTOM.
    pub custom_heaps: bool,
    /// `ComputeOnlyWriteWatchSupported`: heaps with the flag ALLOW_WRITE_WATCH. `GetWriteWatch`, which reads what it
    /// watches, is Windows' own and not simulated.
    pub write_watch: bool,
}

/// The capabilities of a driver, most of which determine the results of `CheckFeatureSupport`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DriverCaps {
    /// The DDI version of the driver, on which some rules depend.
    pub(crate) ddi_version: u32,
    /// The memory architecture of the GPU.
    pub(crate) architecture: Architecture,
    /// The effect of eviction on memory. D3D12 has no such cap.
    pub(crate) eviction: Eviction,
    /// `D3D12_RESOURCE_HEAP_TIER`: 1 requires separate heaps for buffers and textures, 2 does not.
    pub(crate) resource_heap_tier: u8,
    /// The driver's tier of tight alignment. [`has_tight_alignment`](Self::has_tight_alignment) returns whether the
    /// runtime exposes it.
    pub(crate) tight_alignment: D3D12DDI_TIGHT_ALIGNMENT_TIER_DATA_0111,
    /// Whether the CPU sees all of pool L1, the driver's cap of the GPU upload heaps specification. Always true on UMA.
    /// [`has_gpu_upload_heaps`](Self::has_gpu_upload_heaps) returns whether the runtime exposes these heaps.
    pub(crate) l1_memory_fully_cpu_accessible: bool,
    /// Whether the operating system is in developer mode, which GPU upload heaps and Recreate-at-GPUVA require. On real
    /// systems this is no property of the driver; a simulated GPU also simulates its system.
    pub(crate) developer_mode: bool,
    /// Whether the driver is as old as D3D12 itself. Devices then provide `ID3D12Device` alone, with the features and
    /// flags of the first D3D12.
    pub(crate) is_first_generation: bool,
    /// For a compute-only device (Microsoft's *The Direct3D 12 Core 1.0 Feature Level*): it has buffers alone.
    pub(crate) compute_only: Option<ComputeOnly>,
    /// Whether operating system and driver notify of advisable trims (DirectX-Specs, periodic trim notifications).
    pub(crate) trim_notifications: bool,
    /// `D3D12_TILED_RESOURCES_TIER`, 0 to 4. Tier 0 has no tiles. From tier 2 on, null tiles read as zero; from tier 3
    /// on, volumes are supported; in tier 4, arrays may have packed mips.
    pub(crate) tiled_resources_tier: u8,
    /// `StandardSwizzle64KBSupported`: textures may have the layout 64KB_STANDARD_SWIZZLE.
    pub(crate) standard_swizzle: bool,
    /// `CrossAdapterRowMajorTextureSupported`: textures may have the layout ROW_MAJOR.
    pub(crate) cross_adapter_row_major: bool,
    /// The driver's `D3D12_RECREATE_AT_TIER` (Recreate-at-GPUVA specification), 0 or 1.
    /// [`has_recreate_at`](Self::has_recreate_at) returns whether the runtime exposes it.
    pub(crate) recreate_at_tier: u8,
    /// `D3D12_FEATURE_DATA_EXISTING_HEAPS`: heaps can be opened over pages of the process.
    pub(crate) existing_heaps: bool,
    /// Bits of GPU virtual address of one resource, which limit its size.
    pub(crate) gpu_va_bits_per_resource: u32,
    /// Bits of GPU virtual address of a process.
    pub(crate) gpu_va_bits_per_process: u32,
}

impl DriverCaps {
    /// Returns whether objects may be created at addresses that the application chooses: the driver has the tier and is
    /// of DDI 0111 or newer, and the system is in developer mode.
    ///
    /// According to the Recreate-at-GPUVA specification, the DDI includes the feature since 0109 but gates it behind
    /// 0111.
    pub(crate) fn has_recreate_at(&self) -> bool {
        self.recreate_at_tier > 0 && self.ddi_version >= DDI_RECREATE_AT && self.developer_mode
    }

    /// Returns whether tight alignment is available: the driver has the tier and is of DDI 0111 or newer, which defines
    /// the cap (tight alignment specification).
    pub(crate) fn has_tight_alignment(&self) -> bool {
        let tier = self.tight_alignment_tier(D3D12DDICAPS_TYPE_TIGHT_ALIGNMENT_TIER_0111);
        tier.is_some_and(|data| data.SupportTier != D3D12DDI_TIGHT_ALIGNMENT_TIER_NOT_SUPPORTED)
    }

    /// Answers the DDI's question for a cap, if it is the tier of tight alignment and the driver knows that cap.
    fn tight_alignment_tier(
        &self,
        caps_type: D3D12DDICAPS_TYPE,
    ) -> Option<D3D12DDI_TIGHT_ALIGNMENT_TIER_DATA_0111> {
        let is_known = caps_type == D3D12DDICAPS_TYPE_TIGHT_ALIGNMENT_TIER_0111
            && self.ddi_version >= DDI_TIGHT_ALIGNMENT;
        is_known.then_some(self.tight_alignment)
    }

    /// Returns whether views of buffers by byte offsets are available: all drivers of DDI 0121 or newer have them
    /// (DirectX-Specs, *D3D12 Revised Create Views*).
    pub(crate) fn has_byte_offset_views(&self) -> bool {
        self.ddi_version >= DDI_BYTE_OFFSET_VIEWS
    }

    /// Returns whether drivers report texture layouts by GUID: those of DDI 0118 or newer, of devices with textures
    /// (DirectX-Specs, *D3D12 GUID Texture Layout*).
    #[cfg(feature = "preview")]
    pub(crate) fn has_guid_texture_layouts(&self) -> bool {
        self.ddi_version >= DDI_GUID_TEXTURE_LAYOUTS && self.compute_only.is_none()
    }

    /// Returns whether GPU upload heaps are available: the CPU sees all of video memory, the driver is of DDI 0098 or
    /// newer, which defines the cap, and the system is in developer mode (GPU upload heaps specification).
    pub(crate) fn has_gpu_upload_heaps(&self) -> bool {
        self.l1_memory_fully_cpu_accessible && self.ddi_version >= DDI_OPTIONS_0098 && self.developer_mode
    }
}

/// The first DDI version with `D3D12DDICAPS_TYPE_OPTIONS_0098`, which contains `L1MemoryFullyCpuAccessible` (GPU upload
/// heaps specification).
const DDI_OPTIONS_0098: u32 = 98;

/// The first DDI version in which drivers are queried for tight alignment (tight alignment specification).
pub(crate) const DDI_TIGHT_ALIGNMENT: u32 = 111;

/// The first DDI version that marks the heaps of committed resources (tight alignment specification, addendum).
pub(crate) const DDI_IMPLICIT_HEAP: u32 = 115;

/// The DDI version behind which the Recreate-at-GPUVA specification gates the feature.
const DDI_RECREATE_AT: u32 = 111;

/// The first DDI version with texture layouts by GUID (GUID texture layout specification).
#[cfg(feature = "preview")]
const DDI_GUID_TEXTURE_LAYOUTS: u32 = 118;

/// The first DDI version with views of buffers by byte offsets.
const DDI_BYTE_OFFSET_VIEWS: u32 = 121;

/// The identity of an adapter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AdapterIdentity {
    /// The adapter's name, as shown to users.
    pub(crate) description: String,
    /// PCI vendor id.
    pub(crate) vendor_id: u32,
    /// PCI device id.
    pub(crate) device_id: u32,
    /// Video memory that is not shared with the CPU, in bytes.
    pub(crate) dedicated_video_memory: ByteSize,
    /// System memory that the adapter may use, in bytes.
    pub(crate) shared_system_memory: ByteSize,
    /// Locally unique identifier; differs between adapters of one process.
    pub(crate) luid: u64,
}

/// The result of `CheckResourceAllocationInfo`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ResourceAllocation {
    /// Size of the resource in a heap, in bytes.
    pub(crate) size: ByteSize,
    /// Alignment of the resource's offset.
    pub(crate) alignment: Alignment,
}

/// CPU access to a heap (`D3D12_CPU_PAGE_PROPERTY` without UNKNOWN).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CpuPageProperty {
    /// No CPU access.
    NotAvailable,
    /// Uncached and write-combined.
    WriteCombine,
    /// Cached.
    WriteBack,
}

/// `D3D12_MEMORY_POOL` without UNKNOWN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MemoryPool {
    /// System memory; the only pool on UMA.
    L0,
    /// Video memory of a discrete GPU.
    L1,
}

/// A heap as the driver sees it (the DDI's `D3D12DDIARG_CREATEHEAP`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HeapArgs {
    /// Size in bytes; never zero.
    pub(crate) size: ByteSize,
    /// Alignment of the GPU virtual address.
    pub(crate) alignment: Alignment,
    /// CPU access.
    pub(crate) cpu_page_property: CpuPageProperty,
    /// The memory pool.
    pub(crate) memory_pool: MemoryPool,
    /// [`D3D12DDI_HEAP_FLAG_0115_IMPLICIT`], or no flags.
    pub(crate) flags: D3D12DDI_HEAP_FLAGS,
    /// The pages to open the heap over, instead of new memory. Only for drivers with the cap `existing_heaps`.
    pub(crate) existing: Option<ExistingPages>,
    /// Whether the bytes of the heap are zero at first; otherwise (`D3D12_HEAP_FLAG_CREATE_NOT_ZEROED`), they may have
    /// any values.
    pub(crate) zeroed: bool,
    /// Whether the residency count starts at zero (`D3D12_HEAP_FLAG_CREATE_NOT_RESIDENT`).
    pub(crate) not_resident: bool,
    /// The kind under which the residency ledger records the heap.
    pub(crate) pageable: PageableKind,
    /// `CreateAtVirtualAddress` of DDI 0109: the GPU virtual address of the first byte, among those that the device
    /// reserved. `None` (0 in the DDI) lets the driver choose.
    pub(crate) create_at: Option<GpuVirtualAddress>,
}

impl HeapArgs {
    /// Returns whether the heap was created for a committed resource.
    pub(crate) fn is_implicit(&self) -> bool {
        self.flags & D3D12DDI_HEAP_FLAG_0115_IMPLICIT != 0
    }
}
