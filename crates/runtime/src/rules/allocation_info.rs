//! Size and alignment of resources, as `GetResourceAllocationInfo` returns them (tight alignment specification).

use heapwright_core::{Alignment, ByteSize, GpuVirtualAddress};
use heapwright_d3d12::*;

use super::Refusal;
use super::resource::{AlignmentRequest, Resource};
use crate::ddi::umddi::{D3D12DDI_RESOURCE_FLAG_0003_NONE, D3D12DDI_RESOURCE_FLAG_0111_USE_TIGHT_ALIGNMENT};
use crate::ddi::{ResourceAllocation, ResourceArgs};
use crate::drivers::driver::Driver;

/// The smallest tight alignments: 8 B keeps 64-bit atomics safe in a shared heap, 4 KiB is VidMm's granularity.
pub(crate) const PLACED_MINIMUM: Alignment = minimum(8);
pub(crate) const COMMITTED_MINIMUM: Alignment = minimum(4 * 1024);

const KIB_64: Alignment = minimum(64 * 1024);

const fn minimum(bytes: u64) -> Alignment {
    match Alignment::new(bytes) {
        Some(alignment) => alignment,
        None => panic!("not a power of two"),
    }
}

/// Returns the driver's size and alignment of a resource that is placed in a heap.
pub(crate) fn of_placed(resource: &Resource, driver: &Driver) -> ResourceAllocation {
    driver.check_resource_allocation_info(&args(resource, PLACED_MINIMUM, None))
}

/// Describes a resource to the driver. `tight_minimum` becomes the specification's `AlignmentRestriction` unless the
/// description fixes the alignment.
pub(crate) fn args(
    resource: &Resource,
    tight_minimum: Alignment,
    create_at: Option<GpuVirtualAddress>,
) -> ResourceArgs {
    let (flags, alignment_restriction) = match resource.alignment() {
        AlignmentRequest::Tight => (D3D12DDI_RESOURCE_FLAG_0111_USE_TIGHT_ALIGNMENT, tight_minimum),
        AlignmentRequest::Fixed(alignment) => (D3D12DDI_RESOURCE_FLAG_0003_NONE, alignment),
    };
    ResourceArgs { kind: resource.kind(), flags, alignment_restriction, create_at }
}

/// Describes a reserved resource to the driver. Its tiles have 64 KiB, whatever a flag says.
pub(crate) fn args_of_reserved(resource: &Resource, create_at: Option<GpuVirtualAddress>) -> ResourceArgs {
    let alignment_restriction = match resource.alignment() {
        AlignmentRequest::Tight => KIB_64,
        AlignmentRequest::Fixed(alignment) => alignment,
    };
    ResourceArgs {
        kind: resource.kind(),
        flags: D3D12DDI_RESOURCE_FLAG_0003_NONE,
        alignment_restriction,
        create_at,
    }
}

/// Layout of consecutive resources, as of the members of a C++ structure (tight alignment specification, *Validation*).
///
/// The alignment of the whole is the largest alignment of a member. The size depends on the members' order and is
/// rounded up to that alignment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StructureLayout {
    end: u64,
    alignment: Alignment,
}

impl StructureLayout {
    pub(crate) fn new() -> Self {
        Self { end: 0, alignment: Alignment::ONE }
    }

    /// Appends a member and returns its offset, or `None` if the sum overflows.
    ///
    /// As in C++, a member's size is rounded up to its alignment.
    pub(crate) fn append(&mut self, member: ResourceAllocation) -> Option<u64> {
        let offset = ByteSize::new(self.end).align_up(member.alignment)?;
        self.end = offset.checked_add(member.size.align_up(member.alignment)?)?.get();
        self.alignment = self.alignment.max(member.alignment);
        Some(offset.get())
    }

    /// Returns the size and alignment of all members together, or `None` if the size overflows.
    pub(crate) fn finish(self) -> Option<ResourceAllocation> {
        let size = ByteSize::new(self.end).align_up(self.alignment)?;
        Some(ResourceAllocation { size, alignment: self.alignment })
    }
}

/// Returns the size and alignment of several resources together (`GetResourceAllocationInfo`).
///
/// Calls `each` with the index, offset, alignment and size of each resource. The size is a multiple of the alignment.
///
/// # Errors
///
/// Returns the refusal of the first invalid description, or one for a size that overflows. The API returns [`INVALID`]
/// in both cases.
pub(crate) fn of_several(
    resources: impl Iterator<Item = Result<Resource, Refusal>>,
    driver: &Driver,
    mut each: impl FnMut(usize, D3D12_RESOURCE_ALLOCATION_INFO1),
) -> Result<D3D12_RESOURCE_ALLOCATION_INFO, Refusal> {
    let overflow = || Refusal::invalid("the total size overflows 64 bits");
    let mut layout = StructureLayout::new();
    for (index, resource) in resources.enumerate() {
        let member = of_placed(&resource?, driver);
        let offset = layout.append(member).ok_or_else(overflow)?;
        let size = member.size.align_up(member.alignment).ok_or_else(overflow)?;
        each(
            index,
            D3D12_RESOURCE_ALLOCATION_INFO1 {
                Offset: offset,
                Alignment: member.alignment.get(),
                SizeInBytes: size.get(),
            },
        );
    }
    let whole = layout.finish().ok_or_else(overflow)?;
    Ok(D3D12_RESOURCE_ALLOCATION_INFO { SizeInBytes: whole.size.get(), Alignment: whole.alignment.get() })
}

/// The value that `GetResourceAllocationInfo` returns for invalid input.
pub(crate) const INVALID: D3D12_RESOURCE_ALLOCATION_INFO = D3D12_RESOURCE_ALLOCATION_INFO {
    SizeInBytes: u64::MAX,
    Alignment: D3D12_DEFAULT_RESOURCE_PLACEMENT_ALIGNMENT.cast_unsigned() as u64,
};
