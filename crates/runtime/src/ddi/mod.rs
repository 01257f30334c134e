//! The boundary between the runtime and a driver, shaped like the D3D12 DDI that the documents quote.
//!
//! Above this line the runtime knows COM objects and D3D12's rules; below it a `Driver` knows memory. The
//! runtime validates everything before it calls: a driver reports only what the caller could not have
//! foreseen (out of memory). Names follow the DDI: *caps*, *create device*, *check resource allocation info*,
//! *create heap*.
//!
//! * `driver_resource`: resources as a driver holds them, and texels in CPU memory.
//! * `command`: what queues are given to do.

pub(crate) mod command;
mod device;
pub(crate) mod driver_resource;
mod resource;
mod tiles;

use std::any::Any;
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::{Duration, Instant};

use heapwright_core::{Alignment, ByteSize, GpuVirtualAddress};

use self::command::{DriverQueue, RemovalSink};
pub use self::device::GpuVirtualAddressRange;
pub(crate) use self::device::{DeviceArgs, DriverDevice};
use self::driver_resource::{DriverResource, ResourcePlacement};
pub(crate) use self::resource::{
    Extent, ResourceArgs, ResourceKind, SubresourceIndex, TextureArgs, TextureDimension, TextureMemoryLayout,
    TextureUsage,
};
pub(crate) use self::tiles::{MAX_MIP_LEVELS, TILE_BYTES};
pub(crate) use self::tiles::{SubresourceTiles, TileGrid};
use crate::residency::{PageableKind, PageableRecord, ResidencyLedger};

/// One adapter with its driver; devices created on the adapter share it.
pub(crate) trait Driver: Send + Sync {
    /// Who the adapter is, for DXGI's descriptions.
    fn identity(&self) -> &AdapterIdentity;

    /// What the driver supports. Never changes.
    fn caps(&self) -> &DriverCaps;

    /// Creates a device, the DDI's `CreateDevice`: reserves the ranges of GPU virtual addresses that it names until what is
    /// returned is dropped.
    ///
    /// # Errors
    ///
    /// [`DriverError::AddressesInvalid`] or [`DriverError::AddressesInUse`]; nothing is held then.
    fn create_device(&self, args: &DeviceArgs<'_>) -> Result<Box<dyn DriverDevice>, DriverError>;

    /// DXGI's four numbers for one segment group, as of now. Cost: O(1), atomic loads.
    fn video_memory(&self, group: SegmentGroup) -> VideoMemory;

    /// Reserves memory of a segment group for this process.
    ///
    /// # Errors
    ///
    /// [`DriverError::ReservationTooLarge`] above what is available for reservation.
    fn reserve_video_memory(&self, group: SegmentGroup, reservation: ByteSize) -> Result<(), DriverError>;

    /// The ledger of what is resident on the adapter. The runtime writes what `MakeResident` and `Evict` do; the driver enters
    /// what it creates.
    fn residency(&self) -> &Arc<ResidencyLedger>;

    /// Size and alignment of a valid resource, the DDI's `CheckResourceAllocationInfo`.
    ///
    /// Pure: the same arguments give the same answer for the life of the adapter.
    fn check_resource_allocation_info(&self, resource: &ResourceArgs) -> ResourceAllocation;

    /// Creates resident memory for a device, the heap half of the DDI's `CreateHeapAndResource`.
    ///
    /// # Errors
    ///
    /// [`DriverError::OutOfMemory`] or [`DriverError::OutOfAddressSpace`]; [`DriverError::CannotCreateAt`] with an address.
    /// Nothing is held then.
    fn create_heap(
        &self,
        device: &dyn DriverDevice,
        args: &HeapArgs,
    ) -> Result<Arc<dyn DriverHeap>, DriverError>;

    /// Creates a resource for a device, the other half of the DDI's `CreateHeapAndResource`. Heap and offset are the
    /// runtime's responsibility; a heap of this driver is the only kind that comes, and only buffers come with an address.
    ///
    /// # Errors
    ///
    /// [`DriverError::OutOfAddressSpace`] for a reserved resource; [`DriverError::CannotCreateAt`] with an address, which for
    /// one in a heap is any but the heap's with the offset added. Nothing is held then.
    fn create_resource(
        &self,
        device: &dyn DriverDevice,
        args: &ResourceArgs,
        placement: ResourcePlacement,
    ) -> Result<Arc<dyn DriverResource>, DriverError>;

    /// Creates a queue that works asynchronously.
    ///
    /// # Errors
    ///
    /// [`DriverError::HostOutOfMemory`] when the system gives no thread.
    fn create_queue(&self, removal: Arc<dyn RemovalSink>) -> Result<Box<dyn DriverQueue>, DriverError>;

    /// Calls `listener` after each change of a budget, until what is returned is dropped.
    fn on_budget_change(&self, listener: Box<dyn Fn() + Send + Sync>) -> Box<dyn Any + Send + Sync>;
}

/// What pages memory in: how long that takes, and what happens then.
pub(crate) struct PagingWork {
    time: Duration,
    arrive: Box<dyn FnOnce() + Send>,
}

impl PagingWork {
    /// Work that takes `time`, after which `arrive` runs.
    pub(crate) fn new(time: Duration, arrive: impl FnOnce() + Send + 'static) -> Self {
        Self { time, arrive: Box::new(arrive) }
    }

    /// Pages in one after the other, as an engine that began at `start` does, and answers when it was done.
    ///
    /// The times are added up before any is waited for: a thread that sleeps too long once is not late for what comes after.
    pub(crate) fn run_all(works: impl IntoIterator<Item = Self>, start: Instant) -> Instant {
        let mut end = start;
        for work in works {
            end += work.time;
            std::thread::sleep(end.saturating_duration_since(Instant::now()));
            (work.arrive)();
        }
        end
    }
}

/// Memory that a driver made; the last reference gives the memory back.
///
/// Residency is a count, as in D3D12: a heap begins at one, or at zero if created not resident.
pub(crate) trait DriverHeap: Send + Sync {
    /// Where the GPU sees the first byte.
    fn gpu_virtual_address(&self) -> GpuVirtualAddress;

    /// How many bytes it takes, the DDI's `CheckExistingResourceAllocation` of a heap: at least what was asked for.
    fn size(&self) -> ByteSize;

    /// Makes `size` bytes from `offset` accessible to the CPU and returns where the first of them is.
    ///
    /// The range lies within the heap (the runtime has checked it). The pointer stays valid until the heap is
    /// dropped, and the same byte always has the same address.
    ///
    /// # Errors
    ///
    /// [`DriverError::NotCpuAccessible`] for a heap without CPU access, [`DriverError::OutOfMemory`] when the
    /// operating system has no memory to put behind the range.
    fn map(&self, offset: u64, size: u64) -> Result<NonNull<u8>, DriverError>;

    /// The heap in the [ledger](Driver::residency).
    fn record(&self) -> &PageableRecord;

    /// The segment group that the heap is charged to, or was charged to when it was last resident. It may be another one each
    /// time that the heap becomes resident: memory that the CPU sees falls back to system memory (document UPLOAD).
    fn segment_group(&self) -> SegmentGroup;

    /// Counts one more reason to be resident. With the first the heap joins a segment group, and what is returned pages
    /// it in: until that has run the GPU faults on it. With a later one, nothing is returned if the heap is paged in already,
    /// and else what waits until it is, or is evicted again.
    ///
    /// # Errors
    ///
    /// [`DriverError::OutOfMemory`] when no segment group that the heap may be in has room; the count is what it was.
    fn make_resident(&self) -> Result<Option<PagingWork>, DriverError>;

    /// Counts one reason less; without any the heap leaves its segment group, and the GPU faults on it.
    ///
    /// # Errors
    ///
    /// [`DriverError::NotResident`] when there is no reason to take away.
    fn evict(&self) -> Result<(), DriverError>;

    /// Names the heap in messages about page faults.
    fn set_name(&self, name: &str);

    /// The driver's own type; a driver is handed back only what it made.
    fn as_any(&self) -> &dyn Any;
}

/// Why a driver could not do what it was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum DriverError {
    #[error("no room for {requested}: {usage} of the segment group's {capacity} are in use")]
    OutOfMemory { requested: ByteSize, usage: ByteSize, capacity: ByteSize },
    #[error("the operating system gave no memory for {requested}")]
    HostOutOfMemory { requested: ByteSize },
    #[error("no free range of GPU virtual addresses holds {requested}")]
    OutOfAddressSpace { requested: ByteSize },
    #[error("cannot reserve {range}: not within the GPU's address space")]
    AddressesInvalid { range: GpuVirtualAddressRange },
    /// Some belong to a heap, to a reserved resource, or to another device's reservation.
    #[error("cannot reserve {range}: some are in use")]
    AddressesInUse { range: GpuVirtualAddressRange },
    #[error("cannot create an object at {range}: {fault}")]
    CannotCreateAt { range: GpuVirtualAddressRange, fault: CreateAtFault },
    #[error("the heap's memory is not CPU-accessible")]
    NotCpuAccessible,
    #[error("evicted more often than made resident")]
    NotResident,
    #[error("a reservation of {requested} is above the {available} available for reservation")]
    ReservationTooLarge { requested: ByteSize, available: ByteSize },
}

/// Why an object cannot be created at an address (document RECREATE).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CreateAtFault {
    /// With the first address that the device did not reserve.
    #[error("the device did not reserve {address} when it was created")]
    NotReserved { address: GpuVirtualAddress },
    /// With the first address that another object has.
    #[error("another object is at {address}")]
    InUse { address: GpuVirtualAddress },
    #[error("its address must be a multiple of {alignment}")]
    Misaligned { alignment: Alignment },
    #[error("that is not within the GPU's address space")]
    OutsideAddressSpace,
    #[error("it is placed in a heap, whose address and the offset make {address}")]
    Elsewhere { address: GpuVirtualAddress },
}

/// DXGI's memory segment groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SegmentGroup {
    /// Video memory, or all memory on UMA.
    Local,
    /// System memory that the GPU reaches over the bus; empty on UMA.
    NonLocal,
}

/// DXGI's four numbers for one segment group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct VideoMemory {
    /// What the operating system wants this process to stay under.
    pub(crate) budget: ByteSize,
    /// What this process uses.
    pub(crate) current_usage: ByteSize,
    /// What may be reserved.
    pub(crate) available_for_reservation: ByteSize,
    /// What is reserved.
    pub(crate) current_reservation: ByteSize,
}

/// How the GPU's memory relates to the CPU's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Architecture {
    /// Memory of its own (pool L1) beside system memory (pool L0).
    Discrete,
    /// One memory (pool L0); the GPU does not snoop the CPU's caches.
    Uma,
    /// One memory (pool L0), coherent with the CPU's caches.
    CacheCoherentUma,
}

impl Architecture {
    /// Whether CPU and GPU share one memory.
    #[must_use]
    pub fn is_uma(self) -> bool {
        self != Self::Discrete
    }
}

/// What a driver supports; the facts behind `CheckFeatureSupport`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DriverCaps {
    /// The DDI version that the driver was written to; some rules begin with one.
    pub(crate) ddi_version: u32,
    /// How the GPU's memory relates to the CPU's.
    pub(crate) architecture: Architecture,
    /// `D3D12_RESOURCE_HEAP_TIER`: 1 keeps buffers and textures in separate heaps, 2 does not.
    pub(crate) resource_heap_tier: u8,
    /// `D3D12_TIGHT_ALIGNMENT_TIER` (document TIGHT), 0 or 1, as the driver has it:
    /// [`has_tight_alignment`](Self::has_tight_alignment) says whether the runtime lets it.
    pub(crate) tight_alignment_tier: u8,
    /// Document UPLOAD's UMD cap: the CPU sees all of pool L1. Always true on UMA.
    /// [`has_gpu_upload_heaps`](Self::has_gpu_upload_heaps) says whether the runtime lets it.
    pub(crate) l1_memory_fully_cpu_accessible: bool,
    /// The operating system is in developer mode, which GPU upload heaps (document UPLOAD) and addresses of the application's
    /// choice (document RECREATE) need. Not the driver's to decide: a simulated GPU stands for its system, too.
    pub(crate) developer_mode: bool,
    /// The driver is as old as D3D12 itself: the device is shown as the first D3D12 had it, which is `ID3D12Device` alone with
    /// the features and flags of that time.
    pub(crate) is_first_generation: bool,
    /// The operating system and the driver tell when trimming is advisable (DirectX-Specs, periodic trim notifications).
    pub(crate) trim_notifications: bool,
    /// `D3D12_TILED_RESOURCES_TIER`, 0 to 4: 0 has no tiles; from 2 on null tiles read as zero; from 3 on there are volumes; with
    /// 4 arrays may have packed mips.
    pub(crate) tiled_resources_tier: u8,
    /// `StandardSwizzle64KBSupported`: textures may have the layout 64KB_STANDARD_SWIZZLE.
    pub(crate) standard_swizzle: bool,
    /// `CrossAdapterRowMajorTextureSupported`: textures may have the layout ROW_MAJOR.
    pub(crate) cross_adapter_row_major: bool,
    /// `D3D12_RECREATE_AT_TIER` (document RECREATE), 0 or 1, as the driver has it: [`has_recreate_at`](Self::has_recreate_at)
    /// says whether the runtime lets it.
    pub(crate) recreate_at_tier: u8,
    /// Largest resource, in bits of GPU virtual address.
    pub(crate) gpu_va_bits_per_resource: u32,
    /// GPU virtual address space of a process, in bits.
    pub(crate) gpu_va_bits_per_process: u32,
}

impl DriverCaps {
    /// Whether objects may be created at addresses of the application's choice: the driver can, and is of DDI 0111 or newer,
    /// and the system is in developer mode.
    ///
    /// Document RECREATE: the DDI has it from 0109 on, and it is gated behind 0111.
    pub(crate) fn has_recreate_at(&self) -> bool {
        self.recreate_at_tier > 0 && self.ddi_version >= DDI_RECREATE_AT && self.developer_mode
    }

    /// Whether there is tight alignment: the driver can, and is of DDI 0111 or newer, which has the cap (document TIGHT).
    pub(crate) fn has_tight_alignment(&self) -> bool {
        self.tight_alignment_tier > 0 && self.ddi_version >= DDI_TIGHT_ALIGNMENT
    }

    /// Whether there are GPU upload heaps: the CPU sees all of video memory, the driver is of DDI 0098 or newer, which has the
    /// cap, and the system is in developer mode (document UPLOAD).
    pub(crate) fn has_gpu_upload_heaps(&self) -> bool {
        self.l1_memory_fully_cpu_accessible && self.ddi_version >= DDI_OPTIONS_0098 && self.developer_mode
    }
}

/// The DDI version that has `D3D12DDICAPS_TYPE_OPTIONS_0098`, where `L1MemoryFullyCpuAccessible` is (document UPLOAD).
const DDI_OPTIONS_0098: u32 = 98;

/// The DDI version from which drivers are asked for tight alignment (document TIGHT).
pub(crate) const DDI_TIGHT_ALIGNMENT: u32 = 111;

/// The DDI version from which heaps of committed resources are marked (document TIGHT, addendum).
pub(crate) const DDI_IMPLICIT_HEAP: u32 = 115;

/// The DDI version that document RECREATE gates addresses of one's choice behind.
const DDI_RECREATE_AT: u32 = 111;

/// Who an adapter is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AdapterIdentity {
    /// The name that people see.
    pub(crate) description: String,
    /// PCI vendor.
    pub(crate) vendor_id: u32,
    /// PCI device.
    pub(crate) device_id: u32,
    /// Video memory that the CPU does not share, in bytes.
    pub(crate) dedicated_video_memory: ByteSize,
    /// System memory that the adapter may use, in bytes.
    pub(crate) shared_system_memory: ByteSize,
    /// Locally unique identifier; differs between adapters of one process.
    pub(crate) luid: u64,
}

/// What the driver answers to `CheckResourceAllocationInfo`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ResourceAllocation {
    /// Bytes of heap that the resource takes.
    pub(crate) size: ByteSize,
    /// What its offset must be a multiple of.
    pub(crate) alignment: Alignment,
}

/// CPU access to a heap (`D3D12_CPU_PAGE_PROPERTY` without UNKNOWN).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CpuPageProperty {
    /// No CPU access.
    NotAvailable,
    /// Uncached, writes are combined.
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
    /// Bytes, not zero.
    pub(crate) size: ByteSize,
    /// What the GPU virtual address must be a multiple of.
    pub(crate) alignment: Alignment,
    /// CPU access.
    pub(crate) cpu_page_property: CpuPageProperty,
    /// Where the memory is wanted.
    pub(crate) memory_pool: MemoryPool,
    /// `D3D12DDI_HEAP_FLAG_0115_IMPLICIT`: made for a committed resource. Set from DDI 0115 on.
    pub(crate) implicit: bool,
    /// Begins without a reason to be resident (`D3D12_HEAP_FLAG_CREATE_NOT_RESIDENT`).
    pub(crate) not_resident: bool,
    /// What the ledger of residency is to call it.
    pub(crate) pageable: PageableKind,
    /// `CreateAtVirtualAddress` of DDI 0109: where the GPU is to see the first byte, among the addresses that the device
    /// reserved; `None`, the DDI's 0, where the driver chooses.
    pub(crate) create_at: Option<GpuVirtualAddress>,
}
