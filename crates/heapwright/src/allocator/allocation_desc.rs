//! The description of an allocation.

use heapwright_core::ByteSize;
use heapwright_core::suballoc::FreeRangeChoice;
use heapwright_d3d12::*;

use super::pool::Pool;
use crate::desc::ResourceAllocationFlags;
use crate::{BufferUses, Error, HeapTypePreference};

/// The description of an allocation: `RESOURCE_ALLOCATION_DESC` of GPGMM, and fields that D3D12MA adds.
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
    /// Options of the allocation.
    pub flags: ResourceAllocationFlags,
    /// Heap type. `None` infers it from the initial state: UPLOAD for GENERIC_READ, READBACK for COPY_DEST, otherwise
    /// DEFAULT. With [unified memory](crate::ResourceAllocatorFlags::ALLOW_UNIFIED_MEMORY), `None` is unified memory in
    /// each of these cases. Of several types, the first that the device supports and that has memory is granted;
    /// [`ResourceAllocation::heap_type`](crate::ResourceAllocation::heap_type) returns it.
    pub heap_type: Option<HeapTypePreference>,
    /// Heap flags that the heap must have. Flags that the allocator's own heaps do not have make the resource
    /// committed. CREATE_NOT_ZEROED is a hint, ignored on devices without `ID3D12Device8`; CREATE_NOT_RESIDENT is
    /// unsupported there. SHARED heaps keep their type despite unified memory, which the CPU can access.
    pub extra_required_heap_flags: D3D12_HEAP_FLAGS,
    /// Bytes after the resource that no other resource gets. Not for committed resources, nor within a resource.
    pub extra_required_resource_padding: ByteSize,
    /// Places the resource in CUSTOM heaps with these properties, which hold textures, too, and buffers in any state: WRITE_COMBINE in
    /// L0 is UPLOAD's memory on a discrete GPU, and WRITE_BACK in L0 is READBACK's. Not for committed resources, nor with a pool.
    /// `heap_type` is `None` or the closest standard type.
    pub custom_heap: Option<(D3D12_CPU_PAGE_PROPERTY, D3D12_MEMORY_POOL)>,
    /// Custom pool in which the resource is placed. The pool determines the heap type.
    pub pool: Option<&'a Pool>,
    /// The rule that selects the free range.
    pub strategy: FreeRangeChoice,
    /// The intended uses of a buffer, some of which require a larger alignment than the buffer itself.
    pub uses: BufferUses,
    /// The application's value for the allocation, zero for none. Reports and moves of a defragmentation contain it.
    pub user_data: u64,
}

impl ResourceAllocationDesc<'_> {
    /// Creates a description with a heap type, or with several in order of preference, and defaults for everything
    /// else.
    #[must_use]
    pub fn new(heap_type: impl Into<HeapTypePreference>) -> Self {
        Self { heap_type: Some(heap_type.into()), ..Default::default() }
    }

    /// Checks the rules between the fields.
    #[inline]
    pub(crate) fn check(&self) -> Result<(), Error> {
        let flags = self.flags;
        let error = |field, rule: &str| Err(Error::invalid_argument(field, rule));
        if flags.contains(
            ResourceAllocationFlags::NEVER_ALLOCATE_HEAP | ResourceAllocationFlags::ALWAYS_PREFETCH_HEAP,
        ) {
            return error(
                "ResourceAllocationDesc::flags",
                "NEVER_ALLOCATE_HEAP and ALWAYS_PREFETCH_HEAP are mutually exclusive",
            );
        }
        if let Some(unknown) =
            Some(flags.difference(ResourceAllocationFlags::all())).filter(|f| !f.is_empty())
        {
            let rule = format!("the flag bits {:#x} are unknown", unknown.bits());
            return Err(Error::invalid_argument("ResourceAllocationDesc::flags", rule));
        }
        let commits = flags.intersects(
            ResourceAllocationFlags::ALWAYS_COMMITTED | ResourceAllocationFlags::PREFER_COMMITTED,
        );
        if self.custom_heap.is_some() && self.pool.is_some() {
            return error("ResourceAllocationDesc::custom_heap", "must be None with a pool");
        }
        if commits && self.custom_heap.is_some() {
            return error("ResourceAllocationDesc::custom_heap", "must be None for committed resources");
        }
        if commits && self.pool.is_some() {
            return error("ResourceAllocationDesc::pool", "must be None for committed resources");
        }
        if commits && !self.extra_required_resource_padding.is_zero() {
            return error(
                "ResourceAllocationDesc::extra_required_resource_padding",
                "must be zero for committed resources",
            );
        }
        if commits && flags.contains(ResourceAllocationFlags::NEVER_ALLOCATE_HEAP) {
            return error(
                "ResourceAllocationDesc::flags",
                "NEVER_ALLOCATE_HEAP cannot be combined with ALWAYS_COMMITTED or PREFER_COMMITTED",
            );
        }
        if flags.contains(ResourceAllocationFlags::UPPER_ADDRESS) && self.pool.is_none() {
            return error(
                "ResourceAllocationDesc::flags",
                "UPPER_ADDRESS is only supported for pools with the Linear algorithm",
            );
        }
        Ok(())
    }
}
