//! The allocator, as its heaps see it.

use std::any::Any;
use std::time::Duration;

use heapwright_core::placement::PlacementId;

use crate::error::HoldsMemory;

/// The allocator, as its heaps see it: the only way by which they call what is above them.
pub(crate) trait Owner: Any + HoldsMemory + Send + Sync {
    /// Returns the memory of the unused backing buffers in the heaps of certain numbers to these heaps. `keeps_heaps`
    /// says whether heaps that are empty then stay even if they are not worth keeping. Returns whether there was any.
    fn release_unused_buffers(&self, is_in: &dyn Fn(u64) -> bool, keeps_heaps: bool) -> bool;

    /// Counts a frame of the allocator that this one is nested in.
    fn pass_frame_of_parent(&self);

    /// Sets the time that was told to the allocator that this one is nested in, and releases idle memory.
    fn tell_time_of_parent(&self, time: Duration);

    /// Reads the clock, and releases some of the memory that was not used for too long. Returns whether there was any.
    fn release_idle(&self) -> bool;
}

/// The range of a backing buffer without live parts.
pub(crate) struct UnusedBuffer {
    /// The number of the heaps that it is in.
    pub(crate) heaps: u64,
    pub(crate) id: PlacementId,
}
