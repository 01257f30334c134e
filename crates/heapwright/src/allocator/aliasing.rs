//! Resources that share the bytes of memory, as D3D12 defines aliasing: without tight alignment.

use heapwright_core::{Alignment, ByteSize, HeapOffset};
use heapwright_d3d12::*;

use super::memory::{MemoryAllocation, place};
use super::resource_allocator::ResourceAllocator;
use crate::desc::{ClearValue, ResourceDesc};
use crate::request::{Creation, RequirementsOptions, RequirementsQuery, ResourceRequirements};
use crate::{BufferUses, Error, InitialState};

/// The memory that a resource requires where it shares bytes with others.
///
/// [`ResourceAllocator::aliasing_requirements`] returns it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AliasingRequirements(ResourceRequirements);

impl AliasingRequirements {
    /// Returns the size, a multiple of the alignment.
    #[must_use]
    pub fn size(&self) -> ByteSize {
        self.0.size
    }

    /// Returns the alignment of the offset in a heap.
    #[must_use]
    pub fn alignment(&self) -> Alignment {
        self.0.alignment
    }
}

impl ResourceAllocator {
    /// Returns the memory that a resource requires where it shares bytes with others: without tight alignment, as
    /// Microsoft does not define how that changes aliasing.
    ///
    /// Cost: at most two calls of the device; none for most buffers.
    ///
    /// # Errors
    ///
    /// Those of [`create`](Self::create) for a description that is not valid or that the device does not support.
    ///
    /// ```
    /// use heapwright::{ByteSize, HeapOffset, InitialState, ResourceAllocator, ResourceKind, buffer_desc};
    /// # let gpu = heapwright_runtime::Instance::open(heapwright_runtime::HostProfile::default_profile())?;
    /// # let allocator = ResourceAllocator::new(&gpu.device, Some(&gpu.adapter), Default::default())?;
    /// let needs = allocator.aliasing_requirements(&buffer_desc(ByteSize::new(1000)))?;
    /// assert_eq!(needs.size(), ByteSize::from_kib(64));
    /// let (kind, asked) = (ResourceKind::Buffers, Default::default());
    /// let memory = allocator.allocate_memory(&asked, kind, needs.size(), needs.alignment())?;
    /// // Two in the same bytes, of which the program uses one at a time.
    /// let create = || {
    ///     memory.create_aliasing_resource(HeapOffset::ZERO, &needs, InitialState::default(), None)
    /// };
    /// let (first, second) = (create()?, create()?);
    /// # drop((first, second));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn aliasing_requirements(&self, desc: &D3D12_RESOURCE_DESC) -> Result<AliasingRequirements, Error> {
        let inner = self.inner();
        let query = if inner.requirements.is_tight_by_default() {
            inner.aliasing_requirements.get_or_init(|| {
                let options = RequirementsOptions {
                    tight_alignment: false,
                    extra_required_resource_flags: inner.desc().extra_required_resource_flags,
                };
                Box::new(RequirementsQuery::new(self.device(), &inner.heaps.caps, options))
            })
        } else {
            &inner.requirements
        };
        let resource = ResourceDesc::new(desc);
        query.requirements(&resource, BufferUses::empty(), Creation::Placed).map(AliasingRequirements)
    }

    /// Returns the resource heap tier by which heaps are separated: the device's, or the lower one of
    /// [`ResourceAllocatorDesc`](crate::ResourceAllocatorDesc).
    #[must_use]
    pub fn resource_heap_tier(&self) -> u8 {
        self.inner().heaps.caps.resource_heap_tier
    }

    /// Makes a call, which is recorded with its duration; for crates that extend this one.
    #[doc(hidden)]
    pub fn traced<T>(
        &self,
        name: &'static str,
        args: impl FnOnce() -> String,
        call: impl FnOnce() -> T,
    ) -> T {
        self.inner().traced(name, args, call)
    }
}

impl MemoryAllocation {
    /// Creates a resource in the memory, at an offset from its start, as [`create_resource`](Self::create_resource)
    /// does, but without tight alignment. No query of the device.
    ///
    /// # Errors
    ///
    /// As [`create_resource`](Self::create_resource).
    pub fn create_aliasing_resource(
        &self,
        offset: HeapOffset,
        requirements: &AliasingRequirements,
        initial_state: InitialState,
        clear_value: Option<ClearValue>,
    ) -> Result<ID3D12Resource, Error> {
        let asked = &requirements.0;
        let resource = ResourceDesc { initial_state, clear_value, ..ResourceDesc::new(&asked.desc) };
        self.traced(offset, "MemoryAllocation.CreateAliasingResource", |range| {
            place(range.heaps(), range.heap(), range.range(), offset, &resource, Some(*asked))
        })
    }
}
