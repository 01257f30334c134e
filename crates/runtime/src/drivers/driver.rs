//! An adapter's driver: heaps, addresses and segment groups, over a backend's memory.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use heapwright_core::{Alignment, ByteSize, GpuVirtualAddress};

use super::address_space::{AddressRange, AddressSpace, CreateAt, ReservedAddresses, Span};
use super::heap::{DriverHeap, NewMemory};
use super::noise::NoisyMemory;
use super::page_fault::PageFault;
use super::reserved::ReservedMemory;
use super::segment::{Listener, Segments};
use super::tiles::NullAccess;
use crate::ddi::umddi::D3D12DDIARG_CREATERESOURCE_0109;
use crate::ddi::{
    AdapterIdentity, DeviceArgs, DriverCaps, DriverError, GpuVirtualAddressRange, HeapArgs,
    ResourceAllocation, ResourceArgs, SegmentGroup, VideoMemory,
};
use crate::drivers::removal_sink::RemovalSink;
use crate::residency::ResidencyLedger;

/// What drivers differ in: the memory of a GPU, and how its queues access it.
pub(super) trait Backend: Send + Sync {
    /// The adapter's identity, for DXGI's descriptions.
    fn identity(&self) -> &AdapterIdentity;

    /// The capabilities of the GPU. They never change.
    fn caps(&self) -> &DriverCaps;

    /// The usage and limits of the segment groups, to which the memory of heaps is charged.
    fn segments(&self) -> &Arc<Segments>;

    /// Returns the size and alignment of a valid resource (the DDI's `CheckResourceAllocationInfo`).
    ///
    /// Pure: the same arguments give the same result for the life of the adapter.
    fn check_resource_allocation_info(&self, resource: &ResourceArgs) -> ResourceAllocation;

    /// Returns the granularity of the size of such a heap.
    fn heap_granularity(&self, args: &HeapArgs) -> Alignment;

    /// Creates the memory of a heap at a range of GPU virtual addresses.
    ///
    /// # Errors
    ///
    /// Returns [`DriverError::OutOfMemory`], [`DriverError::OutOfDeviceMemory`], [`DriverError::HostOutOfMemory`] or
    /// [`DriverError::DeviceLost`]. Nothing is allocated or charged then.
    fn create_memory(&self, args: &HeapArgs, range: GpuVirtualAddressRange)
    -> Result<NewMemory, DriverError>;

    /// Returns a new queue's access to the memory in an address space.
    ///
    /// # Errors
    ///
    /// Returns [`DriverError::OutOfDeviceMemory`] or [`DriverError::HostOutOfMemory`].
    fn gpu_memory(&self, space: &Arc<AddressSpace>) -> Result<Box<dyn GpuMemory + Send>, DriverError>;

    /// Updates the budgets of the segment groups, if the operating system changes them and they may be old.
    fn update_budgets(&self) {}

    /// Has changes of budgets noticed from now on, although nobody queries them.
    fn watch_budgets(&self) {}

    /// Sets the budget of the process, as demand from other programs would. On a real GPU, it is a limit of the
    /// operating system's budget.
    fn set_budget(&self, group: SegmentGroup, budget: ByteSize);

    /// Returns the time that creating and freeing heaps has taken, if it is modelled: on a simulated GPU.
    fn modelled_heap_time(&self) -> Option<Duration> {
        None
    }

    /// Has the loss of the GPU reported to `removal` for as long as that lives, whichever call notices it. A simulated
    /// GPU is never lost.
    fn report_loss(&self, _removal: &Arc<dyn RemovalSink>) {}
}

/// A GPU's access to memory. All accesses go through the driver's page table, which checks that memory is mapped and
/// resident.
///
/// Accesses take effect in order. A driver may defer copies and writes until the [queue](super::queue) asks it to
/// finish them.
pub(crate) trait GpuMemory {
    /// Copies `size` bytes. Within contiguous memory, overlapping ranges are copied as if through a temporary buffer.
    fn copy(&mut self, target: u64, source: u64, size: u64) -> Result<(), PageFault>;

    /// Copies bytes from this process to GPU memory.
    fn write(&mut self, target: u64, bytes: &[u8]) -> Result<(), PageFault>;

    /// Copies bytes from GPU memory to this process, after all accesses before.
    fn read(&mut self, source: u64, bytes: &mut [u8]) -> Result<(), PageFault>;

    /// Fills `size` bytes, a multiple of the pattern's length, with the pattern. An empty pattern fills nothing.
    fn fill(&mut self, target: u64, size: u64, pattern: &[u8]) -> Result<(), PageFault>;

    /// Finishes all accesses before. Their effects are then visible to the CPU and to other queues.
    fn finish(&mut self) -> Result<(), PageFault> {
        Ok(())
    }

    /// Overwrites `size` bytes with pseudorandom data from a seed and their addresses. Bytes that the GPU cannot access
    /// stay unchanged.
    fn scramble(&mut self, target: u64, size: u64, seed: u64) {
        const PAGE: u64 = 4096;
        let mut done = 0;
        while done < size {
            let address = target + done;
            let step = (PAGE - address % PAGE).min(size - done);
            let skipped = address % 8;
            let words = (address / 8..(address + step).div_ceil(8)).map(|index| {
                // SplitMix64, by Steele, Lea and Flood.
                let state = seed.wrapping_add(index.wrapping_mul(0x9e37_79b9_7f4a_7c15));
                let mut mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
                (mixed ^ (mixed >> 31)).to_le_bytes()
            });
            // Whole words, since unoptimized builds spend most of their time here.
            let words: Vec<[u8; 8]> = words.collect();
            let range = usize::try_from(skipped).unwrap_or(0)..usize::try_from(skipped + step).unwrap_or(0);
            // The application has not caused a fault here.
            let _ = self.write(address, words.as_flattened().get(range).unwrap_or_default());
            done += step;
        }
    }
}

/// An adapter and its driver, shared by the devices created on the adapter.
pub(crate) struct Driver {
    backend: Arc<dyn Backend>,
    space: Arc<AddressSpace>,
    residency: Arc<ResidencyLedger>,
}

/// The driver's part of one device, which reserves addresses until it is dropped (the DDI's `DestroyDevice`). All
/// objects of the device are dropped before.
pub(crate) struct DriverDevice {
    reserved: ReservedAddresses,
}

impl DriverDevice {
    /// Combines an address that the application chose with the device's reservation.
    fn create_at(&self, address: Option<GpuVirtualAddress>) -> Option<CreateAt> {
        address.map(|address| CreateAt { address, reservation: self.reserved.id() })
    }
}

impl Driver {
    /// Creates the driver of an adapter over its memory, without any in use.
    pub(super) fn new(backend: Arc<dyn Backend>, space: AddressSpace) -> Self {
        Self { backend, space: Arc::new(space), residency: Arc::default() }
    }

    /// The adapter's identity, for DXGI's descriptions.
    pub(crate) fn identity(&self) -> &AdapterIdentity {
        self.backend.identity()
    }

    /// The driver's capabilities. They never change.
    pub(crate) fn caps(&self) -> &DriverCaps {
        self.backend.caps()
    }

    /// Creates a device (the DDI's `CreateDevice`) and reserves the given ranges of GPU virtual addresses until the
    /// returned value is dropped.
    ///
    /// # Errors
    ///
    /// Returns [`DriverError::AddressesInvalid`] or [`DriverError::AddressesInUse`]. Nothing is reserved then.
    pub(crate) fn create_device(&self, args: &DeviceArgs<'_>) -> Result<DriverDevice, DriverError> {
        Ok(DriverDevice { reserved: ReservedAddresses::new(&self.space, args.reserve_ranges())? })
    }

    /// Has the loss of the GPU reported to `removal` for as long as that lives.
    pub(crate) fn report_loss(&self, removal: &Arc<dyn RemovalSink>) {
        self.backend.report_loss(removal);
    }

    /// Returns whether memory that is resident is mapped to a GPU virtual address. O(log objects).
    pub(crate) fn has_memory_at(&self, address: GpuVirtualAddress) -> bool {
        match self.space.translate(address.get(), 1) {
            Ok(Span::Memory { heap, .. }) => heap.has_arrived(),
            Ok(Span::Null { .. }) | Err(_) => false,
        }
    }

    /// Returns DXGI's four numbers for a segment group. The usage is that of this moment.
    pub(crate) fn video_memory(&self, group: SegmentGroup) -> VideoMemory {
        self.backend.update_budgets();
        self.backend.segments().get(group).report()
    }

    /// Reserves memory of a segment group for this process.
    ///
    /// # Errors
    ///
    /// Returns [`DriverError::ReservationTooLarge`] if `reservation` exceeds the amount available for reservation.
    pub(crate) fn reserve_video_memory(
        &self,
        group: SegmentGroup,
        reservation: ByteSize,
    ) -> Result<(), DriverError> {
        self.backend.segments().get(group).reserve(reservation)
    }

    /// The ledger of the memory resident on the adapter. The runtime records `MakeResident` and `Evict`; the driver
    /// records what it creates.
    pub(crate) fn residency(&self) -> &Arc<ResidencyLedger> {
        &self.residency
    }

    /// Returns the time that creating and freeing heaps has taken, if it is modelled.
    pub(crate) fn modelled_heap_time(&self) -> Option<Duration> {
        self.backend.modelled_heap_time()
    }

    /// Returns the size and alignment of a valid resource (the DDI's `CheckResourceAllocationInfo`).
    pub(crate) fn check_resource_allocation_info(&self, resource: &ResourceArgs) -> ResourceAllocation {
        let found = self.backend.check_resource_allocation_info(resource);
        tracing::trace!(arg = ?D3D12DDIARG_CREATERESOURCE_0109::from(resource), ?found, "asked for an allocation");
        found
    }

    /// Creates memory for a device (the heap part of the DDI's `CreateHeapAndResource`).
    ///
    /// # Errors
    ///
    /// Returns [`DriverError::OutOfAddressSpace`], [`DriverError::CannotCreateAt`] if an address was given, and the
    /// errors of [`Backend::create_memory`]. Nothing is allocated then.
    pub(crate) fn create_heap(
        &self,
        device: &DriverDevice,
        args: &HeapArgs,
    ) -> Result<Arc<DriverHeap>, DriverError> {
        let size = args.size.align_up(self.backend.heap_granularity(args));
        let size = size.ok_or(DriverError::OutOfAddressSpace { requested: args.size })?;
        let at = device.create_at(args.create_at);
        let addresses = AddressRange::new(&self.space, size, args.alignment, at)?;
        let new = self.backend.create_memory(args, addresses.range())?;
        Ok(DriverHeap::create(args, addresses, new, &self.residency))
    }

    /// Reserves addresses for a reserved resource of a device: the given ones, or any.
    ///
    /// # Errors
    ///
    /// Returns [`DriverError::OutOfAddressSpace`], or [`DriverError::CannotCreateAt`] for an address. Nothing is
    /// reserved then.
    pub(crate) fn reserve(
        &self,
        device: &DriverDevice,
        allocation: ResourceAllocation,
        create_at: Option<GpuVirtualAddress>,
    ) -> Result<ReservedMemory, DriverError> {
        let null_access = NullAccess::of_tier(self.caps().tiled_resources_tier);
        ReservedMemory::new(allocation, &self.space, null_access, device.create_at(create_at))
    }

    /// Returns a new queue's access to memory.
    ///
    /// # Errors
    ///
    /// Returns [`DriverError::OutOfDeviceMemory`] or [`DriverError::HostOutOfMemory`].
    pub(crate) fn gpu_memory(&self) -> Result<Box<dyn GpuMemory + Send>, DriverError> {
        let memory = self.backend.gpu_memory(&self.space)?;
        Ok(Box::new(NoisyMemory::new(memory, Arc::clone(&self.space))))
    }

    /// Sets the budget of the process, as demand from other programs would.
    pub(crate) fn set_budget(&self, group: SegmentGroup, budget: ByteSize) {
        self.backend.set_budget(group, budget);
    }

    /// Registers `listener` to be called after each change of a budget, until the returned value is dropped.
    pub(crate) fn on_budget_change(
        &self,
        listener: Box<dyn Fn() + Send + Sync>,
    ) -> Box<dyn Any + Send + Sync> {
        let listener: Arc<Listener> = Arc::from(listener);
        self.backend.segments().listen(&listener);
        self.backend.watch_budgets();
        Box::new(listener)
    }

    /// The driver's address space, for tests.
    #[cfg(test)]
    pub(super) fn space(&self) -> &Arc<AddressSpace> {
        &self.space
    }
}
