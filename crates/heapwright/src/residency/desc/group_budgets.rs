//! A budget for each segment group.

use heapwright_core::ByteSize;

use crate::SegmentGroup;

/// A budget for each segment group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupBudgets {
    /// Budget of the local group, in bytes; on UMA, of all memory.
    pub local: ByteSize,
    /// Budget of the non-local group, in bytes.
    pub non_local: ByteSize,
}

impl GroupBudgets {
    /// Returns the budget of a group.
    #[must_use]
    pub const fn of(&self, group: SegmentGroup) -> ByteSize {
        match group {
            SegmentGroup::Local => self.local,
            SegmentGroup::NonLocal => self.non_local,
        }
    }
}
