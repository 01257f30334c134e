//! Retention of empty heaps.

/// How long an empty heap is kept: rent or buy.
///
/// Keeping an empty heap costs memory for as long as it is not needed, and releasing it costs the time to create
/// it again. Without knowledge of the future, a heap is best kept until keeping it has cost as much as creating
/// it would: then the total is at most twice that of the best decision in hindsight. Costs of memory and of time
/// have no common unit, so their ratio is the setting: [`operations`](Self::operations).
///
/// An empty heap is released
///
/// - when this number of operations passed since its last use, or
/// - when [`frames`](Self::frames) frames passed, if the owner tells of frames
///   ([`HeapSet::pass_frame`](super::HeapSet::pass_frame)), or
/// - when the owner says that time passed ([`HeapSet::release_idle`](super::HeapSet::release_idle)).
///
/// With frames, operations alone do not release a heap that was used in the last
/// [`FRAMES_IN_FLIGHT`](Self::FRAMES_IN_FLIGHT) frames: what a frame uses, the next one uses again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeapRetention {
    /// An empty heap is released after so many allocations and frees. Default 500. With 0 no empty heap is
    /// kept.
    pub operations: u64,
    /// An empty heap is released after so many frames. Default 120: two seconds at 60 frames per second.
    pub frames: u32,
}

impl Default for HeapRetention {
    fn default() -> Self {
        Self { operations: 500, frames: 120 }
    }
}

impl HeapRetention {
    /// The number of frames during which operations do not release a heap, if the owner tells of frames.
    pub const FRAMES_IN_FLIGHT: u32 = 8;

    /// Releases empty heaps early: little memory is held in vain, and heaps are often created again.
    pub const LEAST_MEMORY: Self = Self { operations: 100, frames: 30 };

    /// Releases empty heaps late: heaps are rarely created again, and much memory may be held in vain.
    pub const FEWEST_HITCHES: Self = Self { operations: 20_000, frames: 600 };

    /// The retention that keeps no empty heap.
    pub const NONE: Self = Self { operations: 0, frames: 0 };
}
