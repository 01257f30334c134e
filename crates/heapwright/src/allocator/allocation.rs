//! Allocations of resources.

use std::fmt;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;

use heapwright_core::{Alignment, ByteSize, GpuVirtualAddress, HeapOffset};
use heapwright_d3d12::*;

use super::live_list::LiveEntry;
use super::mapping::{Mapping, map_subresource, map_whole, unmap_subresource};
use super::texture_mapping::TextureMapping;
use crate::buffers::BufferRange;
use crate::heap_family::GrantedHeaps;
use crate::memory::{
    AllocationId, Charge, HeapSource, KeptResident, Label, MemoryReference, OwnResource, PlacedRange,
    set_debug_name,
};
use crate::plan::{Decision, Placement, Reason};
use crate::recording::{Event, RecordedAllocation, Recording};
use crate::residency::ResidencyHeap;
use crate::{Error, HeapType, RecordFlags};

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
    decision: Decision,
    is_cpu_accessible: bool,
    needs_copy: bool,
    /// Width of a buffer, in bytes; zero for textures.
    width: u64,
    /// State that only few allocations need.
    extras: Option<Box<Extras>>,
}

// Fields are dropped in order: the resource before the range in which it is placed.
enum Memory {
    Placed { resource: ID3D12Resource, range: PlacedRange },
    Within(BufferRange),
    Standalone(OwnResource),
}

#[derive(Default)]
struct Extras {
    live_entry: Option<LiveEntry>,
    label: Label,
    kept_mapped: KeptMapped,
    /// Held for its drop.
    _charge: Option<Charge>,
    recorded: Option<RecordedAllocation>,
    never_resident: bool,
}

/// Whether a buffer stays mapped.
#[derive(Default)]
enum KeptMapped {
    #[default]
    No,
    /// Not mapped; the next mapping stays.
    ResourceRequest,
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
    pub decision: Decision,
}

impl ResourceAllocation {
    /// `width` is a buffer's width in bytes, or zero for textures.
    #[inline]
    fn new(memory: Memory, width: u64, granted: &GrantedHeaps, decision: Decision) -> Self {
        Self {
            memory,
            heap_type: granted.heap_type,
            decision,
            is_cpu_accessible: granted.is_cpu_accessible,
            needs_copy: granted.needs_copy,
            width,
            extras: None,
        }
    }

    #[inline]
    pub(crate) fn placed(
        resource: ID3D12Resource,
        range: PlacedRange,
        width: u64,
        granted: &GrantedHeaps,
        decision: Decision,
    ) -> Self {
        Self::new(Memory::Placed { resource, range }, width, granted, decision)
    }

    #[inline]
    pub(crate) fn within(range: BufferRange, width: u64, granted: &GrantedHeaps) -> Self {
        let decision = Decision::new(Placement::WithinResource, Reason::Usual);
        Self::new(Memory::Within(range), width, granted, decision)
    }

    pub(crate) fn standalone(
        made: OwnResource,
        width: u64,
        granted: &GrantedHeaps,
        decision: Decision,
    ) -> Self {
        Self::new(Memory::Standalone(made), width, granted, decision)
    }

    /// Returns the source of the heaps of its allocator.
    pub(crate) fn source(&self) -> &HeapSource {
        match &self.memory {
            Memory::Placed { range, .. } => &range.heaps().source,
            Memory::Within(range) => &range.backing().heaps().source,
            Memory::Standalone(made) => &made.source,
        }
    }

    fn extras_mut(&mut self) -> &mut Extras {
        self.extras.get_or_insert_default()
    }

    pub(crate) fn set_live_entry(&mut self, live_entry: LiveEntry) {
        self.extras_mut().live_entry = Some(live_entry);
    }

    pub(crate) fn set_charge(&mut self, charge: Charge) {
        self.extras_mut()._charge = Some(charge);
    }

    pub(crate) fn set_never_resident(&mut self) {
        self.extras_mut().never_resident = true;
    }

    pub(crate) fn set_recorded(&mut self, recorded: RecordedAllocation) {
        self.extras_mut().recorded = Some(recorded);
    }

    /// Returns the id of the memory's heap in the file of a recording, and the offset in it.
    pub(crate) fn recorded_place(&self, recording: &Recording) -> Option<(u64, u64)> {
        match &self.memory {
            Memory::Placed { range, .. } => {
                Some((range.heap().id_in(recording)?, range.range().start().get()))
            }
            Memory::Within(range) => {
                let backing = range.backing();
                let offset = backing.range().start().get() + range.range().start().get();
                Some((backing.heap().id_in(recording)?, offset))
            }
            Memory::Standalone(made) => {
                Some((made.residency.as_ref()?.heap()?.recorded()?.id_in(recording)?, 0))
            }
        }
    }

    /// Records the contents of a buffer that the CPU can access, for `heapwright recreate`. Does nothing if calls are not
    /// [recorded](crate::recording).
    ///
    /// # Errors
    ///
    /// The errors of [`map`](Self::map).
    pub fn record_contents(&mut self) -> Result<(), Error> {
        let Some((recording, allocation, recorded_size)) = self.recorded_contents() else { return Ok(()) };
        let mapping = self.map()?;
        // A move may end with a larger buffer. The file has the size of the first one.
        let size = mapping.len().get().min(recorded_size);
        recording.contents(allocation, 0, size, |offset, len| {
            let mut bytes = vec![0; len];
            mapping.read(offset, &mut bytes)?;
            Ok(bytes)
        })
    }

    /// Records these bytes as the contents of a buffer from `offset` on, for memory that the CPU cannot access: what was uploaded,
    /// or what has been read back. `heapwright recreate` uploads them with a copy by the GPU. Does nothing if calls are not
    /// [recorded](crate::recording).
    ///
    /// ```
    /// use heapwright::d3d12::D3D12_RESOURCE_STATE_COMMON;
    /// use heapwright::{ByteSize, HeapType, ResourceAllocationDesc, ResourceAllocator, buffer_desc};
    /// # let gpu = heapwright_runtime::Instance::open(heapwright_runtime::HostProfile::default_profile())?;
    /// # let allocator = ResourceAllocator::new(&gpu.device, Some(&gpu.adapter), Default::default())?;
    /// let (local, desc) = (ResourceAllocationDesc::new(HeapType::Default), buffer_desc(ByteSize::from_kib(4)));
    /// let buffer = allocator.create_resource(&local, &desc, D3D12_RESOURCE_STATE_COMMON, None)?;
    /// // After the copy from an upload buffer:
    /// buffer.record_bytes(0, b"vertices")?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Invalid argument if the bytes exceed the buffer, or for a texture.
    pub fn record_bytes(&self, offset: u64, bytes: &[u8]) -> Result<(), Error> {
        let size = ByteSize::from_usize(bytes.len()).get();
        let Some(end) = offset.checked_add(size).filter(|&end| end <= self.width) else {
            let rule = match self.width {
                0 => "only buffers have recorded contents".to_owned(),
                width => format!("{size} bytes from {offset} on exceed the buffer of {width} bytes"),
            };
            return Err(Error::invalid_argument("record_bytes", rule));
        };
        let Some((recording, allocation, recorded_size)) = self.recorded_contents() else { return Ok(()) };
        let size = end.min(recorded_size).saturating_sub(offset);
        recording.contents(allocation, offset, size, |at, len| {
            // The range is in the slice.
            let start = usize::try_from(at - offset).unwrap_or(usize::MAX);
            Ok(bytes[start..start + len].to_vec())
        })
    }

    /// Returns the recording of contents, and the id and the size of this allocation there.
    fn recorded_contents(&self) -> Option<(Arc<Recording>, u64, u64)> {
        let recorded = self.recorded().filter(|it| it.recording().records(RecordFlags::CAPTURE))?;
        Some((Arc::clone(recorded.recording()), recorded.id(), recorded.size()))
    }

    fn recorded(&self) -> Option<&RecordedAllocation> {
        self.extras.as_deref()?.recorded.as_ref()
    }

    /// Stores a label where reports and defragmentation find it.
    pub(crate) fn set_label(&mut self, label: Label) {
        let id = self.id();
        match &self.memory {
            Memory::Placed { range, .. } => range.heaps().labels.set(id, label.clone()),
            Memory::Within(range) => range.buffers().labels.set(id, label.clone()),
            Memory::Standalone(_) => {}
        }
        let extras = self.extras_mut();
        extras.label = label;
        if let Some(live_entry) = &extras.live_entry {
            let Label { name, user_data, .. } = extras.label.clone();
            live_entry.update(|entry| (entry.name, entry.user_data) = (name, user_data));
        }
    }

    fn label(&self) -> Option<&Label> {
        self.extras.as_deref().map(|extras| &extras.label)
    }

    fn forget_label(&self) {
        if self.label().is_none_or(|label| *label == Label::default()) {
            return;
        }
        match &self.memory {
            Memory::Placed { range, .. } => range.heaps().labels.remove(self.id()),
            Memory::Within(range) => range.buffers().labels.remove(self.id()),
            Memory::Standalone(_) => {}
        }
    }

    /// Replaces the resource and its range when a move completes. Returns the previous ones.
    pub(crate) fn exchange(
        &mut self,
        new_resource: ID3D12Resource,
        new_range: PlacedRange,
    ) -> Option<(ID3D12Resource, PlacedRange)> {
        if !matches!(self.memory, Memory::Placed { .. }) {
            return None;
        }
        let label = self.label().cloned().unwrap_or_default();
        self.forget_label();
        self.unmap_kept();
        let Memory::Placed { resource, range } = &mut self.memory else { return None };
        // SAFETY: the resource is a live COM object.
        let desc = unsafe { new_resource.GetDesc() };
        // A move may end with a smaller buffer. No more than its width may be mapped.
        self.width = if desc.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER { desc.Width } else { 0 };
        let before = (std::mem::replace(resource, new_resource), std::mem::replace(range, new_range));
        if label != Label::default() {
            self.set_label(label);
        }
        if let Some(recorded) = self.recorded() {
            if let Some((heap, offset)) = self.recorded_place(recorded.recording()) {
                let is_buffer = desc.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER;
                let address = self.gpu_virtual_address().filter(|_| is_buffer);
                let address = address.map(|address| (address.get(), recorded.size()));
                let allocation = recorded.id();
                recorded.recording().push(Event::Move { allocation, heap, offset, address });
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
            Memory::Standalone(_) => {
                let live_entry = self.extras.as_deref().and_then(|extras| extras.live_entry.as_ref());
                AllocationId::listed(live_entry.map_or(u64::MAX, LiveEntry::number))
            }
        }
    }

    /// Returns the resource. For an allocation [within a resource](Placement::WithinResource), it is the shared one.
    ///
    /// The bytes still belong to the allocation. Code that maps the resource by `ID3D12Resource::Map`, an `unsafe fn`,
    /// must not access bytes that a [`Mapping`] of this or another allocation covers, and must unmap it as often as it
    /// mapped it.
    #[must_use]
    pub fn resource(&self) -> &ID3D12Resource {
        match &self.memory {
            Memory::Placed { resource, .. } | Memory::Standalone(OwnResource { resource, .. }) => resource,
            Memory::Within(range) => range.resource(),
        }
    }

    /// Returns the heap in which the resource is placed, which other resources may share. `None` for a committed or
    /// imported resource.
    ///
    /// The allocator hands out the ranges of the heap. Code that places a resource of its own in it, by an `unsafe fn`
    /// of D3D12, must hold an allocation of the range.
    #[must_use]
    pub fn heap(&self) -> Option<&ID3D12Heap> {
        match &self.memory {
            Memory::Placed { range, .. } => Some(range.heap().d3d12()),
            Memory::Within(range) => Some(range.backing().heap().d3d12()),
            Memory::Standalone(_) => None,
        }
    }

    /// Returns the object by which the residency manager knows the memory: GPGMM's `GetMemory`. It is the heap in which
    /// the resource, or the buffer that contains it, is placed, or the committed or imported resource.
    ///
    /// Add it to the [`ResidencyList`](crate::residency::ResidencyList) of every command list that uses the resource.
    /// `None` if the allocator has no manager, and for
    /// [`NEVER_RESIDENT`](crate::ResourceAllocationFlags::NEVER_RESIDENT). O(1).
    #[must_use]
    #[inline]
    pub fn memory(&self) -> Option<&ResidencyHeap> {
        match &self.memory {
            Memory::Placed { range, .. } => range.heap().residency(),
            Memory::Within(range) => range.backing().heap().residency(),
            Memory::Standalone(made) => made.residency.as_ref()?.heap(),
        }
    }

    /// Returns [`memory`](Self::memory) as a reference that keeps it alive after the allocation was dropped, for owners that do not
    /// borrow. O(1).
    #[must_use]
    pub fn memory_reference(&self) -> Option<MemoryReference> {
        match &self.memory {
            Memory::Placed { range, .. } => range.heap().residency_reference(),
            Memory::Within(range) => range.backing().heap().residency_reference(),
            Memory::Standalone(made) => made.residency.as_ref()?.reference(),
        }
    }

    /// Returns the offset of the resource in its [heap](Self::heap); zero without a heap.
    #[must_use]
    pub fn offset(&self) -> HeapOffset {
        match &self.memory {
            Memory::Placed { range, .. } => range.range().start(),
            Memory::Within(range) => range.backing().range().start(),
            Memory::Standalone(_) => HeapOffset::ZERO,
        }
    }

    /// Returns the offset of the allocation in its [resource](Self::resource), in bytes: zero, unless it is a part of
    /// one. Add it to the offsets of views, copies and other operations.
    #[must_use]
    pub fn offset_from_resource(&self) -> ByteSize {
        match &self.memory {
            Memory::Within(range) => ByteSize::new(range.range().start().get()),
            Memory::Placed { .. } | Memory::Standalone(_) => ByteSize::ZERO,
        }
    }

    /// Returns the number of bytes that belong to this allocation, at least as many as requested.
    #[must_use]
    pub fn size(&self) -> ByteSize {
        match &self.memory {
            Memory::Placed { range, .. } => range.range().size(),
            Memory::Within(range) => range.range().size(),
            Memory::Standalone(OwnResource { size, .. }) => *size,
        }
    }

    /// Returns the alignment of its offset in the heap, or in the resource that it is a part of.
    #[must_use]
    pub fn alignment(&self) -> Alignment {
        match &self.memory {
            Memory::Placed { range, .. } => range.alignment(),
            Memory::Within(range) => range.alignment(),
            Memory::Standalone(OwnResource { alignment, .. }) => *alignment,
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

    /// Returns `true` if the residency manager ignores the allocation
    /// ([`NEVER_RESIDENT`](crate::ResourceAllocationFlags::NEVER_RESIDENT)).
    #[must_use]
    pub fn is_never_resident(&self) -> bool {
        self.extras.as_deref().is_some_and(|extras| extras.never_resident)
    }

    /// Returns the GPU virtual address of the first byte; `None` for resources without an address.
    #[must_use]
    pub fn gpu_virtual_address(&self) -> Option<GpuVirtualAddress> {
        match &self.memory {
            Memory::Within(range) => range.gpu_virtual_address(),
            Memory::Placed { resource, .. } | Memory::Standalone(OwnResource { resource, .. }) => {
                // SAFETY: the resource is a live COM object.
                let D3D12_GPU_VIRTUAL_ADDRESS(address) = unsafe { resource.GetGPUVirtualAddress() };
                GpuVirtualAddress::new(address)
            }
        }
    }

    /// Sets the name in reports. It is also set on the D3D12 object, for D3D12's own tools, unless the allocation is a
    /// part of a resource.
    ///
    /// # Errors
    ///
    /// Returns the device's error.
    pub fn set_debug_name(&mut self, name: &str) -> Result<(), Error> {
        let user_data = self.user_data();
        let name_in_reports: Arc<str> = Arc::from(name);
        if let Some(recorded) = self.recorded().filter(|_| !name.is_empty()) {
            let (allocation, name) = (recorded.id(), Arc::clone(&name_in_reports));
            recorded.recording().push(Event::Name { allocation, name });
        }
        self.set_label(Label { name: Some(name_in_reports), user_data, backing: None });
        match &self.memory {
            Memory::Within(_) => Ok(()),
            Memory::Placed { resource, .. } | Memory::Standalone(OwnResource { resource, .. }) => {
                set_debug_name(resource, name)
            }
        }
    }

    /// Returns the name that was set.
    #[must_use]
    pub fn debug_name(&self) -> Option<&str> {
        self.label()?.name.as_deref()
    }

    /// Returns the application's value for the allocation; zero if none was set.
    #[must_use]
    pub fn user_data(&self) -> u64 {
        self.label().map_or(0, |label| label.user_data)
    }

    /// Sets the application's value for the allocation.
    pub fn set_user_data(&mut self, user_data: u64) {
        let name = self.label().and_then(|label| label.name.clone());
        self.set_label(Label { name, user_data, backing: None });
    }

    /// Maps the buffer for the CPU until the mapping is dropped. For a part of a resource, the mapping begins at the
    /// part's first byte.
    ///
    /// With a residency manager, the memory is resident until then; the call waits for it if necessary.
    ///
    /// # Errors
    ///
    /// Invalid argument for a texture, and for a heap type without CPU access; out of memory if the memory cannot be
    /// made resident; otherwise the device's error.
    pub fn map(&mut self) -> Result<Mapping<'_>, Error> {
        self.map_bytes(None)
    }

    /// Maps the buffer, and tells the device which bytes the CPU may read (`pReadRange`). All bytes may be written.
    ///
    /// An empty range means that nothing is read, which is faster where the CPU's caches are not coherent. The range is
    /// relative to the allocation's first byte.
    ///
    /// # Errors
    ///
    /// The errors of [`map`](Self::map); invalid argument for a range that exceeds the buffer.
    ///
    /// ```
    /// use heapwright::{ByteSize, HeapType, ResourceAllocationDesc, ResourceAllocator, buffer_desc};
    /// # use heapwright::d3d12::D3D12_RESOURCE_STATE_COPY_DEST;
    /// # let gpu = heapwright_runtime::Instance::open(heapwright_runtime::HostProfile::default_profile())?;
    /// # let allocator = ResourceAllocator::new(&gpu.device, Some(&gpu.adapter), Default::default())?;
    /// let readback = ResourceAllocationDesc::new(HeapType::Readback);
    /// let desc = buffer_desc(ByteSize::from_kib(64));
    /// let mut buffer = allocator.create_resource(&readback, &desc, D3D12_RESOURCE_STATE_COPY_DEST, None)?;
    /// let mapping = buffer.map_range(0..256)?;
    /// let mut bytes = [0; 256];
    /// mapping.read(0, &mut bytes)?;
    /// assert!(mapping.read(1, &mut bytes).is_err(), "byte 256 was not to be read");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn map_range(&mut self, read_range: Range<u64>) -> Result<Mapping<'_>, Error> {
        if read_range.end > self.width && read_range.start < read_range.end && self.width != 0 {
            let rule = format!("{read_range:#x?} exceeds the buffer's size of {:#x} bytes", self.width);
            return Err(Error::invalid_argument("read_range", rule));
        }
        // A range that ends before it begins is empty, as in D3D12.
        let is_empty = read_range.start >= read_range.end;
        self.map_bytes(Some(if is_empty { 0..0 } else { read_range }))
    }

    /// Keeps the buffer mapped: [`map`](Self::map) then calls neither the device nor the residency manager. Use it for
    /// buffers that the CPU writes or reads in each frame. A second call has no effect.
    ///
    /// The buffer is unmapped when the allocation is dropped. It is also unmapped when a move of a defragmentation
    /// completes; the next `map` then keeps it mapped at its new place. With a residency manager, the memory stays
    /// resident and counts against the budget.
    ///
    /// # Errors
    ///
    /// The errors of `map`.
    ///
    /// ```
    /// use heapwright::{ByteSize, HeapType, ResourceAllocation, ResourceAllocationDesc, ResourceAllocator, buffer_desc};
    /// # use heapwright::d3d12::D3D12_RESOURCE_STATE_GENERIC_READ;
    /// # let gpu = heapwright_runtime::Instance::open(heapwright_runtime::HostProfile::default_profile())?;
    /// # let allocator = ResourceAllocator::new(&gpu.device, Some(&gpu.adapter), Default::default())?;
    /// struct Camera {
    ///     constants: ResourceAllocation,
    /// }
    /// let upload = ResourceAllocationDesc::new(HeapType::Upload);
    /// let desc = buffer_desc(ByteSize::new(256));
    /// let constants = allocator.create_resource(&upload, &desc, D3D12_RESOURCE_STATE_GENERIC_READ, None)?;
    /// let mut camera = Camera { constants };
    /// camera.constants.keep_mapped()?;
    /// for frame in 0..3_u32 {
    ///     camera.constants.map()?.write(0, &frame.to_ne_bytes())?; // no call of the device
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn keep_mapped(&mut self) -> Result<(), Error> {
        if self.is_kept_mapped() {
            return Ok(());
        }
        let start = match &self.memory {
            _ if self.width == 0 => {
                return Err(Error::invalid_argument("resource", "is a texture; use map_texture"));
            }
            Memory::Within(range) => {
                // The lock is kept until `unmap_kept`.
                std::mem::forget(self.keep_mappable()?);
                range.mapped()
            }
            Memory::Placed { resource, .. } | Memory::Standalone(OwnResource { resource, .. }) => {
                let kept = self.keep_mappable()?;
                let start = map_whole(resource)?;
                std::mem::forget(kept);
                start
            }
        };
        self.extras_mut().kept_mapped = KeptMapped::At(MappedAddress(start));
        Ok(())
    }

    fn is_kept_mapped(&self) -> bool {
        self.extras.as_deref().is_some_and(|extras| matches!(extras.kept_mapped, KeptMapped::At(_)))
    }

    /// Undoes [`keep_mapped`](Self::keep_mapped) until the next mapping.
    fn unmap_kept(&mut self) {
        let Some(extras) = self.extras.as_deref_mut() else { return };
        let KeptMapped::At(_) = extras.kept_mapped else { return };
        extras.kept_mapped = KeptMapped::ResourceRequest;
        if !matches!(self.memory, Memory::Within(_)) {
            // SAFETY: the resource is a live COM object, which `keep_mapped` mapped once. All of it may have been written.
            unsafe { self.resource().Unmap(0, None) };
        }
        drop(self.memory().map(KeptResident::of_locked));
    }

    fn map_bytes(&mut self, readable: Option<Range<u64>>) -> Result<Mapping<'_>, Error> {
        if self.width == 0 {
            return Err(Error::invalid_argument("resource", "is a texture; use map_texture"));
        }
        let width = ByteSize::new(self.width);
        if self
            .extras
            .as_deref()
            .is_some_and(|extras| matches!(extras.kept_mapped, KeptMapped::ResourceRequest))
        {
            self.keep_mapped()?;
        }
        if let Some(KeptMapped::At(start)) = self.extras.as_deref().map(|extras| &extras.kept_mapped) {
            // SAFETY: `keep_mapped` mapped the whole buffer, which stays mapped while this is borrowed.
            return Ok(unsafe { Mapping::of_mapped(start.0, width, readable, None) });
        }
        let kept = self.keep_mappable()?;
        match &self.memory {
            Memory::Within(range) => {
                let len = width.min(range.range().size());
                // SAFETY: the bytes of a part are mapped as long as it lives.
                Ok(unsafe { Mapping::of_mapped(range.mapped(), len, readable, kept) })
            }
            Memory::Placed { resource, .. } | Memory::Standalone(OwnResource { resource, .. }) => {
                Mapping::new(resource, width, readable, kept)
            }
        }
    }

    /// Maps a subresource of a texture for the CPU until the mapping is dropped.
    ///
    /// The CPU can access textures in GPU_UPLOAD heaps, in CUSTOM heaps of pools, and in unified memory. Their layout
    /// is usually opaque, so the device copies texels in and out.
    ///
    /// # Errors
    ///
    /// Invalid argument for a buffer, for a subresource that the texture does not have, and for a heap type without CPU
    /// access; out of memory if the memory cannot be made resident; otherwise the device's error.
    pub fn map_texture(&mut self, subresource: u32) -> Result<TextureMapping<'_>, Error> {
        if self.width != 0 {
            return Err(Error::invalid_argument("resource", "is a buffer; use map"));
        }
        let kept = self.keep_mappable()?;
        TextureMapping::new(self.resource(), subresource, kept)
    }

    /// Maps a subresource as `ID3D12Resource::Map` does, and returns the address of its first byte. [`map`](Self::map) and
    /// [`map_texture`](Self::map_texture) check and unmap by themselves; this is for callers that cannot borrow the allocation.
    ///
    /// `read_range` is relative to the allocation's first byte, `None` is everything. The address is `None` if `wants_address` is
    /// `false`, which a texture of opaque layout requires. With a residency manager, the memory is resident until it is unmapped
    /// as often as it was mapped.
    ///
    /// # Errors
    ///
    /// Invalid argument for a heap type without CPU access, and for a part of a resource with a subresource other than zero; out
    /// of memory if the memory cannot be made resident; otherwise the device's error.
    ///
    /// # Safety
    ///
    /// Accesses through the address are the caller's: within the subresource, ordered with the GPU and with each [`Mapping`], and
    /// before the matching [`unmap_subresource`](Self::unmap_subresource). The allocation is neither moved by a defragmentation nor
    /// dropped before that.
    pub unsafe fn map_subresource(
        &self,
        subresource: u32,
        read_range: Option<D3D12_RANGE>,
        wants_address: bool,
    ) -> Result<Option<NonNull<u8>>, Error> {
        let kept = self.keep_mappable()?;
        let address = match &self.memory {
            Memory::Within(_) if subresource != 0 => {
                let rule = format!("{subresource} is out of range; a buffer has one subresource");
                return Err(Error::invalid_argument("subresource", rule));
            }
            // Backing buffers stay mapped.
            Memory::Within(range) => Some(range.mapped()),
            Memory::Placed { resource, .. } | Memory::Standalone(OwnResource { resource, .. }) => {
                map_subresource(resource, subresource, read_range.as_ref(), wants_address)?
            }
        };
        // Unlocked by `unmap_subresource`.
        std::mem::forget(kept);
        Ok(address.filter(|_| wants_address))
    }

    /// Undoes one [`map_subresource`](Self::map_subresource). `written_range` is relative to the allocation's first byte; `None` is
    /// everything.
    ///
    /// # Safety
    ///
    /// This subresource was mapped by `map_subresource`, once for each call.
    pub unsafe fn unmap_subresource(&self, subresource: u32, written_range: Option<D3D12_RANGE>) {
        if let Memory::Placed { resource, .. } | Memory::Standalone(OwnResource { resource, .. }) =
            &self.memory
        {
            // SAFETY: the caller's promise.
            unsafe { unmap_subresource(resource, subresource, written_range.as_ref()) };
        }
        drop(self.memory().map(KeptResident::of_locked));
    }

    /// Keeps memory resident that the CPU can access.
    fn keep_mappable(&self) -> Result<Option<KeptResident<'_>>, Error> {
        if !self.is_cpu_accessible {
            return Err(Error::invalid_argument(
                "heap_type",
                format!("resources in {} heaps cannot be mapped", self.heap_type),
            ));
        }
        self.memory().map(KeptResident::new).transpose()
    }
}

impl Drop for ResourceAllocation {
    #[inline]
    fn drop(&mut self) {
        if self.extras.is_some() {
            self.unmap_kept();
            self.forget_label();
            // Before the memory becomes available to others.
            self.extras_mut().recorded = None;
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
