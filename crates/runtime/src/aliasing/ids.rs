//! The numbers by which the tracker knows resources and heaps.

/// The number of a tracked resource, from 1 on; never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ResourceId(pub(crate) u64);

/// The number of a tracked heap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct HeapId(pub(super) u64);
