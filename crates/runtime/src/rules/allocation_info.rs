//! Size and alignment of resources: what `GetResourceAllocationInfo` answers (document TIGHT).

use heapwright_core::{Alignment, ByteSize};

use super::resource::Buffer;
use crate::ddi::{Driver, ResourceAllocation, ResourceArgs};

/// TIGHT's smallest alignments: 8 B keeps 64-bit atomics safe in a shared heap, 4 KiB is VidMm's granularity.
const PLACED_MINIMUM: Alignment = minimum(8);
const COMMITTED_MINIMUM: Alignment = minimum(4 * 1024);
/// Without tight alignment every buffer is at 64 KiB, placed or committed.
const DEFAULT_MINIMUM: Alignment = minimum(64 * 1024);

const fn minimum(bytes: u64) -> Alignment {
    match Alignment::new(bytes) {
        Some(alignment) => alignment,
        None => panic!("not a power of two"),
    }
}

/// What the driver says of a buffer that is placed in a heap.
pub(crate) fn of_placed(buffer: &Buffer, driver: &dyn Driver) -> ResourceAllocation {
    driver.check_resource_allocation_info(&placed_args(buffer))
}

/// What the driver says of a buffer with a heap of its own.
pub(crate) fn of_committed(buffer: &Buffer, driver: &dyn Driver) -> ResourceAllocation {
    driver.check_resource_allocation_info(&committed_args(buffer))
}

/// A buffer that is placed in a heap, as the driver is told of it.
pub(crate) fn placed_args(buffer: &Buffer) -> ResourceArgs {
    args(buffer, PLACED_MINIMUM)
}

/// A buffer with a heap of its own, as the driver is told of it.
pub(crate) fn committed_args(buffer: &Buffer) -> ResourceArgs {
    args(buffer, COMMITTED_MINIMUM)
}

fn args(buffer: &Buffer, tight_minimum: Alignment) -> ResourceArgs {
    ResourceArgs {
        width: buffer.width,
        tight_alignment: buffer.tight_alignment,
        alignment_restriction: if buffer.tight_alignment { tight_minimum } else { DEFAULT_MINIMUM },
    }
}

/// Lays resources out one after the other like the members of a C structure.
///
/// The alignment of the whole is the largest of its members', its size depends on their order and is rounded up to
/// that alignment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StructureLayout {
    end: u64,
    alignment: Alignment,
}

impl StructureLayout {
    pub(crate) fn new() -> Self {
        Self { end: 0, alignment: Alignment::ONE }
    }

    /// Appends a member and returns its offset; `None` when the sum overflows.
    pub(crate) fn append(&mut self, member: ResourceAllocation) -> Option<u64> {
        let offset = ByteSize::new(self.end).align_up(member.alignment)?;
        self.end = offset.checked_add(member.size)?.get();
        self.alignment = self.alignment.max(member.alignment);
        Some(offset.get())
    }

    /// Size and alignment of what was appended; `None` when the size overflows.
    pub(crate) fn finish(self) -> Option<ResourceAllocation> {
        let size = ByteSize::new(self.end).align_up(self.alignment)?;
        Some(ResourceAllocation { size, alignment: self.alignment })
    }
}
