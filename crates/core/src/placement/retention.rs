//! Retention of empty heaps.

/// The number of operations, frames and periods for which empty heaps are kept.
///
/// Keeping an empty heap costs memory for as long as it is not needed, and releasing it costs the time to create
/// it again. Without knowledge of the future, a heap is best kept until keeping it has cost as much as creating
/// it would: then the total is at most twice that of the best decision in hindsight. Costs of memory and of time
/// have no common unit, so their ratio is the setting: [`operations`](Self::operations).
///
/// An empty heap is released
///
/// - when the number of [`operations`](Self::operations) passed since its last use, or
/// - when [`frames`](Self::frames) frames passed, if the owner tells of frames
///   ([`HeapSet::pass_frame`](super::HeapSet::pass_frame)), or
/// - when [`periods`](Self::periods) periods passed, if the owner tells of time
///   ([`HeapSet::pass_period`](super::HeapSet::pass_period)).
///
/// Heaps that are released by operations or frames leave during an allocation, a free or a frame. If the owner makes
/// no call, nothing is released.
///
/// With frames, as many operations as the last two frames had do not release a heap: what a frame uses, the next
/// one uses again. This delays the release to at most 40 times `operations`.
///
/// A request that is placed in an empty heap of more than twice the size that a new heap for it would have is not
/// a use of the heap, unless it stays for as many operations as an empty heap is kept. Otherwise small requests
/// would keep the heap of a peak alive.
///
/// # Choice of defaults
///
/// Measured on 2026-11-23 by replaying workloads through a [`SharedHeapSet`](super::SharedHeapSet) on one thread
/// (`cargo lab placement` prints more): modelled time of an operation in microseconds
/// ([`HeapCosts`](super::HeapCosts)), mean held over mean live bytes, and peak held over peak live bytes,
/// geometric means; for the five traces of GPU workloads that heapwright is developed with, for 25 similar ones,
/// and for the generated workloads of the development part.
///
/// | `operations` | traces | similar | generated |
/// |---|---|---|---|
/// | 100 ([`LEAST_MEMORY`](Self::LEAST_MEMORY)) | 4.67 / 1.343 / 1.060 | 4.07 / 1.492 / 1.110 | 3.34 / 1.268 / 1.061 |
/// | 300 | 2.85 / 1.464 / 1.066 | 2.46 / 1.636 / 1.119 | 2.42 / 1.314 / 1.057 |
/// | 500 (default) | 2.44 / 1.532 / 1.067 | 2.08 / 1.718 / 1.125 | 2.05 / 1.352 / 1.060 |
/// | 2,000 | 1.67 / 1.780 / 1.085 | 1.43 / 1.996 / 1.135 | 1.41 / 1.484 / 1.064 |
/// | 5,000 | 1.35 / 1.941 / 1.080 | 1.11 / 2.167 / 1.131 | 1.12 / 1.572 / 1.055 |
/// | 20,000 ([`FEWEST_HITCHES`](Self::FEWEST_HITCHES)) | 1.26 / 2.095 / 1.082 | 0.97 / 2.276 / 1.130 | 0.93 / 1.686 / 1.055 |
///
/// The default was the least time with at most 1.55 of the live memory held on the traces. These figures are from before
/// slots counted as operations; `lab/MEMORY.md` has those of the allocator now, also for the
/// evaluation part, by which nothing was chosen. The sizes
/// ([`HeapSizing`](super::HeapSizing)), with the default retention:
///
/// | change | traces | similar | generated |
/// |---|---|---|---|
/// | `fraction` 4 | 2.35 / 1.625 / 1.166 | 2.08 / 1.757 / 1.163 | 1.99 / 1.410 / 1.106 |
/// | `fraction` 8 | 2.39 / 1.591 / 1.080 | 2.09 / 1.716 / 1.135 | 2.04 / 1.357 / 1.076 |
/// | `fraction` 16 | 2.47 / 1.555 / 1.079 | 2.15 / 1.699 / 1.116 | 2.24 / 1.318 / 1.049 |
/// | `minimum` 1 MiB | 2.55 / 1.546 / 1.089 | 2.16 / 1.716 / 1.126 | 2.08 / 1.345 / 1.055 |
/// | `minimum` 16 MiB | 2.33 / 1.556 / 1.071 | 1.92 / 1.765 / 1.148 | 2.01 / 1.341 / 1.053 |
/// | `maximum` 64 MiB | 2.55 / 1.532 / 1.072 | 2.17 / 1.708 / 1.119 | 2.14 / 1.334 / 1.042 |
/// | `maximum` 512 MiB | 2.35 / 1.563 / 1.087 | 2.09 / 1.749 / 1.132 | 2.10 / 1.364 / 1.069 |
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeapRetention {
    /// An empty heap is released after so many allocations and frees (eight slots of slabs count as one), of this set and of those with which it shares
    /// a [`HeapTally`](super::HeapTally). Default 500. With 0 no empty heap is kept.
    pub operations: u64,
    /// An empty heap is released after so many frames. Default 120: two seconds at 60 frames per second.
    pub frames: u32,
    /// An empty heap is released after so many whole periods. Default 2.
    pub periods: u32,
}

impl Default for HeapRetention {
    fn default() -> Self {
        Self { operations: 500, frames: 120, periods: 2 }
    }
}

impl HeapRetention {
    /// Releases empty heaps early: little memory is held in vain, and heaps are often created again.
    pub const LEAST_MEMORY: Self = Self { operations: 100, frames: 30, periods: 2 };

    /// Releases empty heaps late: heaps are rarely created again, and much memory may be held in vain.
    pub const FEWEST_HITCHES: Self = Self { operations: 20_000, frames: 600, periods: 25 };

    /// The retention that keeps no empty heap.
    pub const NONE: Self = Self { operations: 0, frames: 0, periods: 0 };

    /// The retention that keeps all empty heaps until they are taken.
    pub const FOR_EVER: Self = Self { operations: u64::MAX, frames: u32::MAX, periods: u32::MAX };
}
