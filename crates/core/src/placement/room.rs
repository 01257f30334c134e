//! Where a request would go.

use crate::ByteSize;

/// Where a request would go, as [`HeapEngine::room_for`](super::HeapEngine::room_for) tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Room {
    /// A heap that is held has room for it.
    Held,
    /// It needs a new heap.
    NewHeap {
        /// How large the new heap should be.
        size: ByteSize,
    },
}
