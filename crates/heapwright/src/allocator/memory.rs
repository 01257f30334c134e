//! Memory without a resource: ranges of heaps in which the program places resources itself.

use std::fmt;

use heapwright_core::{Alignment, ByteSize, HeapOffset, HeapRange};
use heapwright_d3d12::*;

use super::allocation::ResourceAllocation;
use super::inner::Inner;
use super::pool::Pool;
use super::request::{BareMemory, ResourceAllocationDesc, ResourceRequest, foreign_heap_flags};
use super::resource_allocator::ResourceAllocator;
use crate::desc::{PoolDesc, ResourceAllocationFlags, ResourceDesc, ResourceKind, buffer_desc};
use crate::heaps::{PlacedRange, TypedHeaps};
use crate::recording::Recording;
use crate::request::{
    Creation, ResourceRequirements, check_initial_state, infer_heap_type, is_for_multisampled,
};
use crate::residency::ResidencyHeap;
use crate::source::{AllocationId, Heap, MemoryReference, Refused, create_placed};
use crate::{BufferUses, Error, HeapType};

/// A range of a heap without a resource: D3D12MA's `AllocateMemory`. Dropping it frees the range. O(1).
///
/// The program places resources in it, which may overlap if only one of them is in use at a time. Release them before
/// the memory is dropped, because its bytes then belong to other allocations.
pub struct MemoryAllocation(ResourceAllocation);

impl fmt::Debug for MemoryAllocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryAllocation")
            .field("heap_type", &self.heap_type())
            .field("offset", &self.offset())
            .field("size", &self.size())
            .finish_non_exhaustive()
    }
}

impl ResourceAllocator {
    /// Allocates memory for resources that the program places itself: `resources` are the ones that the heap must
    /// accept. With a pool, the pool's heaps are used, whatever they accept.
    ///
    /// The memory is never committed. Flags that the allocator's own heaps do not have, such as SHARED, give it a heap
    /// of its own with these flags. [`ResourceKind::Any`] requires resource heap tier 2. For multisampled textures, the
    /// alignment is 4 MiB.
    ///
    /// # Errors
    ///
    /// As [`create`](Self::create); invalid argument: a size of zero, ALWAYS_COMMITTED or PREFER_COMMITTED.
    ///
    /// ```
    /// use heapwright::{
    ///     Alignment, ByteSize, HeapOffset, ResourceAllocationDesc, ResourceAllocator, ResourceKind, buffer_desc,
    /// };
    /// # let gpu = heapwright_runtime::Instance::open(heapwright_runtime::HostProfile::default_profile())?;
    /// # let allocator = ResourceAllocator::new(&gpu.device, Some(&gpu.adapter), Default::default())?;
    /// let (size, alignment) = (ByteSize::from_mib(1), Alignment::new(65_536).unwrap());
    /// let memory = allocator.allocate_memory(&Default::default(), ResourceKind::Buffers, size, alignment)?;
    /// // Two buffers in the same bytes; the program uses one at a time.
    /// let first = memory.create_resource(HeapOffset::ZERO, buffer_desc(ByteSize::from_kib(512)))?;
    /// let second = memory.create_resource(HeapOffset::ZERO, buffer_desc(size))?;
    /// let too_far = memory.create_resource(HeapOffset::new(65_536), buffer_desc(size));
    /// assert!(too_far.unwrap_err().is_invalid_argument());
    /// # drop((first, second));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn allocate_memory(
        &self,
        allocation: &ResourceAllocationDesc<'_>,
        resources: ResourceKind,
        size: ByteSize,
        alignment: Alignment,
    ) -> Result<MemoryAllocation, Error> {
        self.inner().allocate_memory(allocation, size, (resources, alignment)).map(MemoryAllocation)
    }
}

impl Inner {
    fn allocate_memory(
        &self,
        allocation: &ResourceAllocationDesc<'_>,
        size: ByteSize,
        memory: BareMemory,
    ) -> Result<ResourceAllocation, Error> {
        let desc = buffer_desc(size);
        let resource = ResourceDesc::new(&desc);
        // A recording has memory as that of its pool.
        let mut in_pool = *allocation;
        let pool = check_memory(allocation, size)
            .and_then(|()| self.pool_for_memory(&mut in_pool, memory))
            .inspect_err(|error| self.note_failure(allocation, &resource, error))?;
        let allocation = &ResourceAllocationDesc { pool: pool.as_ref().or(in_pool.pool), ..in_pool };
        self.create(allocation, &resource, Some(&memory))
    }

    /// Returns the pool for memory that the allocator's own heaps cannot have, if it is such memory. Then the pool has
    /// the flags and properties that `allocation` asks for.
    fn pool_for_memory(
        &self,
        allocation: &mut ResourceAllocationDesc<'_>,
        (resources, alignment): BareMemory,
    ) -> Result<Option<Pool>, Error> {
        let foreign =
            foreign_heap_flags(allocation.extra_required_heap_flags, self.heaps.source.extra_heap_flags);
        if allocation.pool.is_some() {
            return Ok(None);
        }
        let multisampled = resources != ResourceKind::Buffers && is_for_multisampled(alignment);
        if foreign == 0 {
            let custom = allocation.custom_heap.take();
            return custom.map(|memory| self.custom_pool(memory, resources, multisampled)).transpose();
        }
        let heap_type = match (allocation.heap_type, allocation.custom_heap) {
            (Some(asked), _) => asked.heap_types().first().copied().unwrap_or(HeapType::Default),
            (None, Some(memory)) => super::create_pool::custom_family(memory)?.nearest_heap_type(),
            (None, None) => infer_heap_type(Default::default()),
        };
        let desc = PoolDesc {
            name: format!("memory for {resources:?}"),
            heap_type,
            custom_heap: allocation.custom_heap.take(),
            resources,
            multisampled,
            extra_heap_flags: allocation.extra_required_heap_flags,
            ..Default::default()
        };
        // The heap belongs to this memory alone, which keeps it alive.
        allocation.flags |= ResourceAllocationFlags::NEVER_SUBALLOCATE_HEAP;
        self.create_pool(self.like_own(desc)).map(Some)
    }

    /// Returns what memory requires of a heap.
    #[cold]
    pub(super) fn requirements_of_memory(
        &self,
        &(resources, alignment): &BareMemory,
        &ResourceRequest { allocation, resource, .. }: &ResourceRequest<'_>,
    ) -> Result<ResourceRequirements, Error> {
        let is_any = resources == ResourceKind::Any && allocation.pool.is_none();
        if is_any && self.heaps.caps.resource_heap_tier < 2 {
            return Err(Error::unsupported("ResourceKind::Any (requires resource heap tier 2)"));
        }
        let desc = resource.desc;
        Ok(ResourceRequirements { desc, size: ByteSize::new(desc.Width), alignment })
    }
}

/// Checks what differs between a request for memory and one for a resource.
fn check_memory(allocation: &ResourceAllocationDesc<'_>, size: ByteSize) -> Result<(), Error> {
    allocation.check()?;
    let committing = ResourceAllocationFlags::ALWAYS_COMMITTED | ResourceAllocationFlags::PREFER_COMMITTED;
    if allocation.flags.intersects(committing) {
        let rule = "ALWAYS_COMMITTED and PREFER_COMMITTED are for resources, not for memory";
        return Err(Error::invalid_argument("ResourceAllocationDesc::flags", rule));
    }
    if size.is_zero() {
        return Err(Error::invalid_argument("size", "must not be zero"));
    }
    Ok(())
}

impl ResourceAllocation {
    /// Takes the resource out of the memory in which it is placed. Others may then be placed there, or it may be
    /// replaced.
    ///
    /// # Errors
    ///
    /// Returns the allocation if it is not placed: committed or imported, or a part of a buffer.
    #[inline]
    pub fn into_memory(mut self) -> Result<(MemoryAllocation, ID3D12Resource), Box<Self>> {
        match self.take_placed() {
            Some(resource) => Ok((MemoryAllocation(self), resource)),
            None => Err(Box::new(self)),
        }
    }
}

impl MemoryAllocation {
    pub(crate) fn as_placed(&self) -> &ResourceAllocation {
        &self.0
    }

    pub(crate) fn as_placed_mut(&mut self) -> &mut ResourceAllocation {
        &mut self.0
    }

    pub(crate) fn range(&self) -> &PlacedRange {
        self.0.placed_range().expect("memory is a range of a heap")
    }

    /// Returns the heap.
    #[must_use]
    #[inline]
    pub fn heap(&self) -> &ID3D12Heap {
        self.range().heap().d3d12()
    }

    /// Returns the offset in the [heap](Self::heap).
    #[must_use]
    #[inline]
    pub fn offset(&self) -> HeapOffset {
        self.0.offset()
    }

    /// Returns the number of bytes, at least as many as requested.
    #[must_use]
    #[inline]
    pub fn size(&self) -> ByteSize {
        self.0.size()
    }

    /// Returns the alignment of the offset.
    #[must_use]
    #[inline]
    pub fn alignment(&self) -> Alignment {
        self.0.alignment()
    }

    /// Returns the heap type.
    #[must_use]
    #[inline]
    pub fn heap_type(&self) -> HeapType {
        self.0.heap_type()
    }

    /// Returns the id, as [`ResourceAllocation::id`].
    #[must_use]
    #[inline]
    pub fn id(&self) -> AllocationId {
        self.0.id()
    }

    /// Returns the object by which the residency manager knows the heap, as [`ResourceAllocation::memory`].
    #[must_use]
    #[inline]
    pub fn memory(&self) -> Option<&ResidencyHeap> {
        self.0.memory()
    }

    /// Returns [`memory`](Self::memory) as a reference that keeps it alive.
    #[must_use]
    #[doc(hidden)]
    #[inline]
    pub fn memory_reference(&self) -> Option<MemoryReference> {
        self.0.memory_reference()
    }

    /// Sets the name in reports.
    #[inline]
    pub fn set_debug_name(&mut self, name: &str) {
        self.0.set_label(name);
    }

    /// Returns the name that was set.
    #[must_use]
    #[inline]
    pub fn debug_name(&self) -> Option<&str> {
        self.0.debug_name()
    }

    /// Returns the application's value; zero if none was set.
    #[must_use]
    #[inline]
    pub fn user_data(&self) -> u64 {
        self.0.user_data()
    }

    /// Sets the application's value.
    #[inline]
    pub fn set_user_data(&mut self, user_data: u64) {
        self.0.set_user_data(user_data);
    }

    /// Creates a resource in the memory, at an offset from its start: D3D12MA's `CreateAliasingResource`.
    ///
    /// Its contents are undefined, and those of others in the same bytes are lost when the program uses it: aliasing
    /// barriers and initialization are the program's, as in D3D12.
    ///
    /// # Errors
    ///
    /// Invalid argument: the resource exceeds the memory, or its offset in the heap is no multiple of its alignment;
    /// all handles of the allocator were dropped. Otherwise as [`ResourceAllocator::create`].
    #[inline]
    pub fn create_resource<'a>(
        &self,
        offset: HeapOffset,
        resource: impl Into<ResourceDesc<'a>>,
    ) -> Result<ID3D12Resource, Error> {
        let resource = resource.into();
        self.traced(offset, "MemoryAllocation.CreateResource", |range| {
            place(range.heaps(), range.heap(), range.range(), offset, &resource, None)
        })
    }

    /// Makes a call that creates a resource, which is recorded with its duration.
    pub(super) fn traced<T>(
        &self,
        offset: HeapOffset,
        name: &'static str,
        call: impl FnOnce(&PlacedRange) -> T,
    ) -> T {
        let range = self.range();
        let recording = range.heaps().source.recording.as_deref();
        Recording::traced(recording, name, || format!("\"Offset\":{}", offset.get()), || call(range))
    }
}

/// Creates a resource in a range of a heap, at an offset from the range's start. What it requires is queried unless it
/// is known.
pub(crate) fn place(
    heaps: &TypedHeaps,
    heap: &Heap,
    range: HeapRange,
    offset: HeapOffset,
    resource: &ResourceDesc<'_>,
    known: Option<ResourceRequirements>,
) -> Result<ID3D12Resource, Error> {
    let source = &heaps.source;
    let Some(allocator) = Inner::of(source) else {
        return Err(Error::invalid_argument("allocator", "all handles of the allocator were dropped"));
    };
    source.devices.check(&allocator.caps, resource, (D3D12_HEAP_FLAG_NONE, ""))?;
    check_initial_state(heaps.desc.family, resource.desc.Dimension, resource.initial_state)?;
    let queried = || allocator.requirements.requirements(resource, BufferUses::empty(), Creation::Placed);
    let asked = known.map_or_else(queried, Ok)?;
    let end = ByteSize::new(offset.get()).checked_add(asked.size);
    if end.is_none_or(|end| end > range.size()) {
        let rule = format!("{} at {} exceed the memory, {}", asked.size, offset, range.size());
        return Err(Error::invalid_argument("offset", rule));
    }
    let in_heap = HeapOffset::new(range.start().get() + offset.get());
    if !in_heap.is_aligned(asked.alignment) {
        let rule = format!("{in_heap} in the heap is no multiple of {}", asked.alignment);
        return Err(Error::invalid_argument("offset", rule));
    }
    let heap_type = heaps.desc.heap.Properties.Type;
    let made = create_placed(&source.devices, heap_type, heap, in_heap, resource, &asked.desc);
    made.map_err(Refused::into_error)
}
