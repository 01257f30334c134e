//! The heap that would serve a request.

use crate::ByteSize;

/// The heap that a request would be placed in, as returned by [`HeapEngine::probe`](super::HeapEngine::probe).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServingHeap {
    /// An existing heap has room for the request.
    Existing,
    /// The request needs a new heap.
    New {
        /// The size of the new heap.
        size: ByteSize,
    },
}
