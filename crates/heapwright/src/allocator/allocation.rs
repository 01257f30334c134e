//! Allocations of resources.
//!
//! * `map`: the CPU's access to their bytes, and recording of them.

use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;

use heapwright_core::{Alignment, ByteSize, GpuVirtualAddress, HeapOffset};
use heapwright_d3d12::*;
use heapwright_trace::session::Action;

use crate::buffers::BufferRange;
use crate::heaps::{OwnResource, PlacedRange};
use crate::recording::{Event, RecordedAllocation, Recording, name_args};
use crate::request::{GrantedHeaps, PlacementDecision};
use crate::residency::ResidencyHeap;
#[cfg(feature = "residency")]
use crate::residency::{OpenResidencyList, ResidencyList};
use crate::source::{
    AllocationId, Charge, Heap, HeapSource, Label, LabelSlot, Listed, MemoryReference, set_debug_name,
};
use crate::{Error, HeapType};

mod map;

/// A resource with its memory: `IResourceAllocation` of GPGMM. Dropping it releases the resource and frees the memory.
/// O(1).
///
/// The resource is an ordinary `ID3D12Resource`. Keep the allocation as long as the GPU may use it, or pass it to
/// [`ResourceAllocator::free_after`](crate::ResourceAllocator::free_after). Dropping it makes the bytes available to
/// other allocations, even if references to the resource remain.
///
/// # Threads
///
/// `Send` and `Sync`. An allocation may outlive its allocator.
pub struct ResourceAllocation {
    memory: Memory,
    heap_type: HeapType,
    decision: PlacementDecision,
    is_cpu_accessible: bool,
    needs_copy: bool,
    /// Width of a buffer, in bytes; zero for textures.
    width: u64,
    name: Option<Arc<str>>,
    /// Where reports and defragmentation find name and user data.
    label: Option<LabelSlot>,
    /// State that only few allocations need.
    extras: Option<Box<Extras>>,
}

/// The resource and its memory.
// Fields are dropped in order: the resource before the range in which it is placed.
pub(crate) enum Memory {
    Placed {
        /// `None` only within a [`MemoryAllocation`](super::MemoryAllocation).
        resource: Option<ID3D12Resource>,
        range: PlacedRange,
    },
    Within(BufferRange),
    // Boxed, so that it does not make each allocation larger.
    Standalone(Box<OwnResource>),
}

#[derive(Default)]
struct Extras {
    listed: Option<Listed>,
    user_data: u64,
    kept_mapped: KeptMapped,
    /// Held for its drop.
    _charge: Option<Charge>,
    recorded: Option<RecordedAllocation>,
}

/// Whether a buffer stays mapped.
#[derive(Default)]
enum KeptMapped {
    #[default]
    No,
    /// Not mapped; the next mapping stays.
    Requested,
    /// Mapped at this address, with its memory locked.
    At(MappedAddress),
}

struct MappedAddress(NonNull<u8>);

// SAFETY: the bytes at the address are only reachable through `&mut ResourceAllocation`.
unsafe impl Send for MappedAddress {}
// SAFETY: as above.
unsafe impl Sync for MappedAddress {}

/// Properties of an allocation: `RESOURCE_ALLOCATION_INFO` of GPGMM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResourceAllocationInfo {
    /// Size in bytes: of the heap if the allocation has one of its own, of its range otherwise.
    pub size: ByteSize,
    /// Alignment of its offset, in bytes.
    pub alignment: Alignment,
    /// The placement of the resource, and the reason for it.
    pub decision: PlacementDecision,
}

impl ResourceAllocation {
    /// `width` is a buffer's width in bytes, or zero for textures.
    #[inline]
    pub(crate) fn new(
        memory: Memory,
        width: u64,
        granted: &GrantedHeaps,
        decision: PlacementDecision,
    ) -> Self {
        let made = Self {
            memory,
            heap_type: granted.heap_type,
            decision,
            is_cpu_accessible: granted.is_cpu_accessible,
            needs_copy: granted.needs_copy,
            width,
            name: None,
            label: None,
            extras: None,
        };
        if let Some(heap) = made.managed_heap() {
            heap.add_user();
        }
        made
    }

    /// Returns the heap that it is in, if a residency manager manages the heaps of its allocator.
    #[inline]
    fn managed_heap(&self) -> Option<&Heap> {
        // Without a manager, the heap is not read.
        let (source, range) = match &self.memory {
            Memory::Placed { range, .. } => (&*range.heaps().source, range),
            // A committed buffer ends with its last part.
            Memory::Within(part) => (part.source(), part.backing().ok()?),
            Memory::Standalone(_) => return None,
        };
        source.residency.is_some().then(|| range.heap())
    }

    /// Returns the range of a heap in which the resource, or the buffer that contains it, is placed; or the resource
    /// that has memory of its own.
    #[inline]
    fn place(&self) -> Result<&PlacedRange, &OwnResource> {
        match &self.memory {
            Memory::Placed { range, .. } => Ok(range),
            Memory::Within(range) => range.backing(),
            Memory::Standalone(own) => Err(own),
        }
    }

    /// Returns the part of a buffer that it is, if it is one.
    #[inline]
    fn part(&self) -> Option<&BufferRange> {
        match &self.memory {
            Memory::Within(range) => Some(range),
            Memory::Placed { .. } | Memory::Standalone(_) => None,
        }
    }

    /// Returns the range of a heap that it is, unless it is a part of a buffer or has memory of its own.
    pub(crate) fn placed_range(&self) -> Option<&PlacedRange> {
        match &self.memory {
            Memory::Placed { range, .. } => Some(range),
            Memory::Within(_) | Memory::Standalone(_) => None,
        }
    }

    /// Returns the source of the heaps of its allocator.
    pub(crate) fn source(&self) -> &HeapSource {
        self.place().map_or_else(|own| &*own.source, |range| &*range.heaps().source)
    }

    fn extras_mut(&mut self) -> &mut Extras {
        self.extras.get_or_insert_default()
    }

    /// Lists it by itself.
    pub(crate) fn list(&mut self, listed: Listed) {
        self.extras_mut().listed = Some(listed);
        self.list_label();
    }

    fn listed(&self) -> Option<Listed> {
        self.extras.as_deref()?.listed
    }

    pub(crate) fn set_charge(&mut self, charge: Charge) {
        self.extras_mut()._charge = Some(charge);
    }

    pub(crate) fn set_recorded(&mut self, recorded: RecordedAllocation) {
        self.extras_mut().recorded = Some(recorded);
    }

    /// Returns the id of the memory's heap in the file of a recording, and the offset in it.
    pub(crate) fn recorded_place(&self, recording: &Recording) -> Option<(u64, u64)> {
        let id = match self.place() {
            Ok(range) => range.heap().id_in(recording)?,
            Err(own) => own.residency.as_ref()?.heap()?.recorded()?.id_in(recording)?,
        };
        Some((id, self.offset().get() + self.offset_from_resource().get()))
    }

    /// Returns the allocation in the arguments of a recorded call.
    pub(crate) fn recorded_args(&self) -> String {
        self.recorded().map_or_else(String::new, |it| format!("\"allocation\":\"{:#x}\",", it.object.id()))
    }

    pub(crate) fn recorded(&self) -> Option<&RecordedAllocation> {
        self.extras.as_deref()?.recorded.as_ref()
    }

    /// Stores name and user data where reports and defragmentation find them.
    fn list_label(&mut self) {
        self.forget_label();
        let (name, user_data, listed) = (self.name.clone(), self.user_data(), self.listed());
        if name.is_some() || user_data != 0 || listed.is_some() {
            let label = Label { name, user_data, backing: None, listed };
            self.label = Some(self.source().labels.add(self.id(), label));
        }
    }

    #[inline]
    fn forget_label(&mut self) {
        if let Some(slot) = self.label.take() {
            self.source().labels.remove(slot);
        }
    }

    /// Takes the resource out of the range in which it is placed, if it is.
    pub(crate) fn take_placed(&mut self) -> Option<ID3D12Resource> {
        if self.extras.is_some() && self.placed_range().is_some() {
            self.unmap_kept();
        }
        let Memory::Placed { resource, .. } = &mut self.memory else { return None };
        let taken = resource.take()?;
        self.width = 0;
        Some(taken)
    }

    /// Replaces the resource and its range when a move completes. Returns the previous ones.
    #[inline]
    pub(crate) fn exchange(
        &mut self,
        new_resource: Option<ID3D12Resource>,
        new_range: PlacedRange,
    ) -> Option<(Option<ID3D12Resource>, PlacedRange)> {
        if !matches!(self.memory, Memory::Placed { .. }) {
            return None;
        }
        self.forget_label();
        self.unmap_kept();
        if let Some(heap) = self.managed_heap() {
            heap.remove_user();
        }
        let Memory::Placed { resource, range } = &mut self.memory else { return None };
        let before = (std::mem::replace(resource, new_resource), std::mem::replace(range, new_range));
        if let Some(heap) = self.managed_heap() {
            heap.add_user();
        }
        self.list_label();
        if let Some(recorded) = self.recorded() {
            if let Some((heap, offset)) = self.recorded_place(recorded.object.recording()) {
                let address = self.gpu_virtual_address().filter(|_| self.width != 0);
                let address = address.map(|address| (address.get(), recorded.size));
                let allocation = recorded.object.id();
                recorded.object.recording().push(Event::Move { allocation, heap, offset, address });
            }
        }
        Some(before)
    }

    /// Returns the id of the allocation within its allocator. A move of a defragmentation changes it.
    #[must_use]
    pub fn id(&self) -> AllocationId {
        match &self.memory {
            Memory::Placed { range, .. } => range.id(),
            Memory::Within(range) => range.id(),
            Memory::Standalone(_) => AllocationId::alone(self.listed().map_or(u64::MAX, |it| it.number)),
        }
    }

    /// Returns the resource. For an allocation [within a resource](crate::Placement::WithinResource), it is the shared
    /// one.
    ///
    /// The bytes still belong to the allocation. Code that maps the resource by `ID3D12Resource::Map`, an `unsafe fn`,
    /// must not access bytes that a [`Mapping`](crate::Mapping) of this or another allocation covers, and must unmap it
    /// as often as it mapped it.
    #[must_use]
    #[inline]
    pub fn resource(&self) -> &ID3D12Resource {
        self.resource_if_any().expect("only a MemoryAllocation has none, and does not call this")
    }

    #[inline]
    fn resource_if_any(&self) -> Option<&ID3D12Resource> {
        match &self.memory {
            Memory::Placed { resource, .. } => resource.as_ref(),
            Memory::Within(range) => Some(range.resource()),
            Memory::Standalone(own) => Some(&own.resource),
        }
    }

    /// Returns the heap in which the resource is placed, which other resources may share. `None` for a committed or
    /// imported resource.
    ///
    /// The allocator hands out the ranges of the heap. Code that places a resource of its own in it, by an `unsafe fn`
    /// of D3D12, must hold an allocation of the range. What is set on the heap by D3D12's own functions (name, private
    /// data, priority) stays when the allocation ends.
    #[must_use]
    pub fn heap(&self) -> Option<&ID3D12Heap> {
        Some(self.place().ok()?.heap().d3d12())
    }

    /// Returns the object by which the residency manager knows the memory: GPGMM's `GetMemory`. It is the heap in which
    /// the resource, or the buffer that contains it, is placed, or the committed or imported resource.
    ///
    /// Add it to the [`ResidencyList`] of every command list that uses the resource.
    /// `None` if the allocator has no manager, and for
    /// [`NEVER_RESIDENT`](crate::ResourceAllocationFlags::NEVER_RESIDENT). O(1).
    #[must_use]
    #[inline]
    pub fn memory(&self) -> Option<&ResidencyHeap> {
        match self.place() {
            Ok(range) => range.heap().residency(),
            Err(own) => own.residency.as_ref()?.heap(),
        }
    }

    /// Returns [`memory`](Self::memory) as a reference that keeps it alive after the allocation was dropped, for owners
    /// that do not borrow. O(1).
    #[must_use]
    #[doc(hidden)]
    #[inline]
    pub fn memory_reference(&self) -> Option<MemoryReference> {
        match self.place() {
            Ok(range) => range.heap().residency_reference(),
            Err(own) => own.residency.as_ref()?.reference(),
        }
    }

    /// Returns the offset of the resource in its [heap](Self::heap); zero without a heap.
    #[must_use]
    pub fn offset(&self) -> HeapOffset {
        self.place().map_or(HeapOffset::ZERO, |range| range.range().start())
    }

    /// Returns the offset of the allocation in its [resource](Self::resource), in bytes: zero, unless it is a part of
    /// one. Add it to the offsets of views, copies and other operations.
    #[must_use]
    pub fn offset_from_resource(&self) -> ByteSize {
        self.part().map_or(ByteSize::ZERO, |range| ByteSize::new(range.range().start().get()))
    }

    /// Returns the number of bytes that belong to this allocation, at least as many as requested.
    #[must_use]
    pub fn size(&self) -> ByteSize {
        match &self.memory {
            Memory::Placed { range, .. } => range.range().size(),
            Memory::Within(range) => range.range().size(),
            Memory::Standalone(own) => own.size,
        }
    }

    /// Returns the alignment of its offset in the heap, or in the resource that it is a part of.
    #[must_use]
    pub fn alignment(&self) -> Alignment {
        match &self.memory {
            Memory::Placed { range, .. } => range.alignment(),
            Memory::Within(range) => range.alignment(),
            Memory::Standalone(own) => own.alignment,
        }
    }

    /// Returns size, alignment and placement of the allocation.
    #[must_use]
    pub fn info(&self) -> ResourceAllocationInfo {
        let size = match &self.memory {
            Memory::Placed { range, .. } if range.has_own_heap() => range.heap().size(),
            Memory::Placed { .. } | Memory::Within(_) | Memory::Standalone(_) => self.size(),
        };
        ResourceAllocationInfo { size, alignment: self.alignment(), decision: self.decision }
    }

    pub(crate) fn decision(&self) -> PlacementDecision {
        self.decision
    }

    /// Returns the heap type. For a [preference](crate::HeapTypePreference), it is the type that was granted.
    #[must_use]
    pub fn heap_type(&self) -> HeapType {
        self.heap_type
    }

    /// Returns `true` if bytes must be copied elsewhere for the GPU to read them at full speed: the CPU cannot write to
    /// this memory, or the memory is on the CPU's side of the bus. With the preference GPU_UPLOAD, then UPLOAD, it
    /// distinguishes the two.
    #[must_use]
    pub fn needs_copy(&self) -> bool {
        self.needs_copy
    }

    /// Returns the GPU virtual address of the first byte; `None` for resources without an address.
    #[must_use]
    pub fn gpu_virtual_address(&self) -> Option<GpuVirtualAddress> {
        if let Some(range) = self.part() {
            return range.gpu_virtual_address();
        }
        // SAFETY: the resource is a live COM object.
        let D3D12_GPU_VIRTUAL_ADDRESS(address) = unsafe { self.resource_if_any()?.GetGPUVirtualAddress() };
        GpuVirtualAddress::new(address)
    }

    /// Sets the name in reports. It is also set on the D3D12 object, for D3D12's own tools, unless the allocation is a
    /// part of a resource.
    ///
    /// # Errors
    ///
    /// Returns the device's error.
    pub fn set_debug_name(&mut self, name: &str) -> Result<(), Error> {
        let recording = self.source().recording.clone();
        let args = || format!("{}{}", self.recorded_args(), name_args(name));
        let args = recording.as_ref().map(|_| args()).unwrap_or_default();
        Recording::traced(
            recording.as_deref(),
            "ResourceAllocation.SetDebugName",
            || args,
            || self.name(name),
        )
    }

    fn name(&mut self, name: &str) -> Result<(), Error> {
        self.set_label(name);
        match self.resource_if_any().filter(|_| self.part().is_none()) {
            Some(resource) => set_debug_name(resource, name),
            None => Ok(()),
        }
    }

    /// Sets the name in reports, and not on the D3D12 object.
    #[doc(hidden)]
    pub fn set_label(&mut self, name: &str) {
        if let Some(RecordedAllocation { object: recorded, .. }) =
            self.recorded().filter(|_| !name.is_empty())
        {
            recorded.recording().act(Action::Name { allocation: recorded.id(), name: name.into() });
        }
        self.name = Some(Arc::from(name));
        self.list_label();
    }

    /// Returns the name that was set.
    #[must_use]
    pub fn debug_name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Returns the application's value for the allocation; zero if none was set.
    #[must_use]
    pub fn user_data(&self) -> u64 {
        self.extras.as_deref().map_or(0, |extras| extras.user_data)
    }

    /// Sets the application's value for the allocation.
    pub fn set_user_data(&mut self, user_data: u64) {
        self.extras_mut().user_data = user_data;
        self.list_label();
    }
}

impl Drop for ResourceAllocation {
    #[inline]
    fn drop(&mut self) {
        self.forget_label();
        if self.extras.is_some() {
            self.unmap_kept();
            // Before the memory becomes available to others.
            self.extras_mut().recorded = None;
        }
        if let Some(heap) = self.managed_heap() {
            heap.remove_user();
        }
    }
}

impl fmt::Debug for ResourceAllocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResourceAllocation")
            .field("heap_type", &self.heap_type)
            .field("offset", &self.offset())
            .field("size", &self.size())
            .field("decision", &self.decision)
            .field("gpu_virtual_address", &self.gpu_virtual_address())
            .finish_non_exhaustive()
    }
}

#[cfg(feature = "residency")]
impl ResidencyList {
    /// Adds the heap of an allocation, or nothing if its allocator has no residency manager. O(1), amortized.
    ///
    /// # Errors
    ///
    /// The errors of [`add`](Self::add).
    pub fn add_allocation(&self, allocation: &ResourceAllocation) -> Result<(), Error> {
        self.open()?.add_allocation(allocation)
    }
}

#[cfg(feature = "residency")]
impl OpenResidencyList<'_> {
    /// Adds the heap of an allocation, like [`ResidencyList::add_allocation`].
    ///
    /// # Errors
    ///
    /// The errors of [`add`](Self::add).
    pub fn add_allocation(&mut self, allocation: &ResourceAllocation) -> Result<(), Error> {
        allocation.memory().map_or(Ok(()), |heap| self.add(heap))
    }
}

#[cfg(test)]
mod tests {
    use heapwright_runtime::{HostProfile, Instance};

    use super::*;
    use crate::{ResourceAllocationDesc, ResourceAllocator, ResourceAllocatorDesc, buffer_desc};

    #[test]
    fn only_live_allocations_with_a_name_or_user_data_are_listed() {
        let gpu = Instance::open(HostProfile::default_profile()).expect("the instance opens");
        let allocator = ResourceAllocator::new(&gpu.device, None, ResourceAllocatorDesc::default());
        let allocator = allocator.expect("the device is valid");
        let create = || {
            let desc = buffer_desc(ByteSize::from_kib(4));
            allocator.create(&ResourceAllocationDesc::default(), desc).expect("there is memory")
        };
        let other = create();
        let count = || other.source().labels.count();
        let mut made = create();
        assert_eq!(count(), 0);
        for (user_data, listed) in [(5, 1), (0, 0), (6, 1)] {
            made.set_user_data(user_data);
            assert_eq!((made.user_data(), count()), (user_data, listed));
        }
        made.set_debug_name("name").expect("the device is valid");
        made.set_user_data(0);
        assert_eq!((made.debug_name(), count()), (Some("name"), 1));
        drop(made);
        assert_eq!(count(), 0);
    }
}
