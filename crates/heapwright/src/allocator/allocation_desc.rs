//! Where and how a resource is wanted.

use heapwright_core::ByteSize;
use heapwright_core::suballoc::Strategy;
use heapwright_d3d12::*;

use super::pool::Pool;
use crate::desc::ResourceAllocationFlags;
use crate::{BufferUses, Error, HeapTypePreference};

/// Where and how a resource is wanted: `RESOURCE_ALLOCATION_DESC` (document GPGMM) and what D3D12MA adds.
///
/// ```
/// use heapwright::{HeapType, ResourceAllocationDesc, ResourceAllocationFlags};
///
/// let desc = ResourceAllocationDesc {
///     flags: ResourceAllocationFlags::NEVER_SUBALLOCATE_HEAP,
///     ..ResourceAllocationDesc::new(HeapType::Upload)
/// };
/// assert_eq!(desc.heap_type, Some(HeapType::Upload.into()));
/// assert_eq!(ResourceAllocationDesc::default().heap_type, None, "inferred from the initial state");
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct ResourceAllocationDesc<'a> {
    /// How it is made.
    pub flags: ResourceAllocationFlags,
    /// The kind of heap. `None`: UPLOAD for a resource that begins in state GENERIC_READ, READBACK for COPY_DEST, otherwise
    /// DEFAULT. With [unified memory](crate::ResourceAllocatorFlags::ALLOW_UNIFIED_MEMORY) it is that memory in each of these cases.
    /// Of several, the first that the device has and that has memory is granted, and
    /// [`ResourceAllocation::heap_type`](crate::ResourceAllocation::heap_type) says which.
    pub heap_type: Option<HeapTypePreference>,
    /// Heap flags that the heap must have. Those that the allocator's own heaps do not have make the resource committed.
    /// CREATE_NOT_ZEROED is a permission, of which nothing comes on a device without `ID3D12Device8`; CREATE_NOT_RESIDENT is
    /// unsupported there. SHARED heaps keep their type in spite of unified memory, which the CPU reaches.
    pub extra_required_heap_flags: D3D12_HEAP_FLAGS,
    /// Bytes beyond the resource's end that no other resource gets. Not for committed resources, nor within a resource.
    pub extra_required_resource_padding: ByteSize,
    /// A custom pool to place it in. Its heap type is the pool's.
    pub pool: Option<&'a Pool>,
    /// Which free range it gets.
    pub strategy: Strategy,
    /// What a buffer is used for: views need alignments beyond the buffer's own.
    pub uses: BufferUses,
    /// The owner's own number for it; reports and moves of a defragmentation tell it. Zero is none.
    pub user_data: u64,
}

impl ResourceAllocationDesc<'_> {
    /// A resource in heaps of a type, or of several in order of preference, everything else by default.
    #[must_use]
    pub fn new(heap_type: impl Into<HeapTypePreference>) -> Self {
        Self { heap_type: Some(heap_type.into()), ..Default::default() }
    }

    /// The rules between its own fields.
    #[inline]
    pub(crate) fn check(&self) -> Result<(), Error> {
        let flags = self.flags;
        let error = |field, rule: &str| Err(Error::invalid_argument(field, rule));
        if flags.contains(
            ResourceAllocationFlags::NEVER_ALLOCATE_HEAP | ResourceAllocationFlags::ALWAYS_PREFETCH_HEAP,
        ) {
            return error(
                "ResourceAllocationDesc::flags",
                "NEVER_ALLOCATE_HEAP excludes ALWAYS_PREFETCH_HEAP",
            );
        }
        if let Some(unknown) =
            Some(flags.difference(ResourceAllocationFlags::all())).filter(|f| !f.is_empty())
        {
            let rule = format!("{:#x} is no flag", unknown.bits());
            return Err(Error::invalid_argument("ResourceAllocationDesc::flags", rule));
        }
        let commits = flags.intersects(
            ResourceAllocationFlags::ALWAYS_COMMITTED | ResourceAllocationFlags::PREFER_COMMITTED,
        );
        if commits && self.pool.is_some() {
            return error("ResourceAllocationDesc::pool", "a committed resource is in no pool");
        }
        if commits && !self.extra_required_resource_padding.is_zero() {
            return error(
                "ResourceAllocationDesc::extra_required_resource_padding",
                "a committed resource has no padding",
            );
        }
        if commits && flags.contains(ResourceAllocationFlags::NEVER_ALLOCATE_HEAP) {
            return error(
                "ResourceAllocationDesc::flags",
                "a committed resource has a heap of its own, which NEVER_ALLOCATE_HEAP forbids",
            );
        }
        if flags.contains(ResourceAllocationFlags::UPPER_ADDRESS) && self.pool.is_none() {
            return error("ResourceAllocationDesc::flags", "UPPER_ADDRESS is for pools of linear heaps");
        }
        Ok(())
    }
}
