//! The result of a placement query.

use crate::ByteSize;

/// Where a request would be placed, as returned by [`HeapEngine::room_for`](super::HeapEngine::room_for).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Room {
    /// An existing heap has room for the request.
    Held,
    /// The request needs a new heap.
    NewHeap {
        /// The size of the new heap.
        size: ByteSize,
    },
}
