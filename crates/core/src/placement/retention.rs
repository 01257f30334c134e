//! Retention of empty heaps.

use super::HeapPrices;
use super::heap_prices::size_of_class;
use crate::ByteSize;

/// The number of operations, frames and periods for which empty heaps are kept.
///
/// Keeping an empty heap costs memory for as long as it is not needed, and releasing it costs the time to create it
/// again. Without knowledge of the future, a heap is best kept until keeping it has cost as much as creating it would:
/// then the total is at most twice that of the best decision in hindsight. What creating and freeing a heap costs is
/// [learned](super::HeapPrices). What keeping costs is the setting: the rent of a MiB ([`Keeping::Rent`]). So cheap and
/// large heaps leave soon, and dear and small ones stay.
///
/// An empty heap is released
///
/// - when its rent is as high as its price, or the number of operations passed ([`keeping`](Self::keeping)), or
/// - when [`frames`](Self::frames) frames passed, if the owner tells of frames
///   ([`SharedHeapSet::pass_frame`](super::SharedHeapSet::pass_frame)), or
/// - when [`periods`](Self::periods) periods passed, if the owner tells of time
///   ([`SharedHeapSet::pass_period`](super::SharedHeapSet::pass_period)).
///
/// Heaps that are released by operations or frames leave during an allocation, a free or a frame. If the owner makes
/// no call, nothing is released.
///
/// With frames, as many operations as the last [two](Self::kept_frames) had do not release a heap: what a frame uses,
/// the next one uses again. This delays the release to at most 40 times the operations.
///
/// A heap of more than half of the bytes that are usually in use is kept for less time, in proportion: a heap twice as
/// large as these bytes for a quarter. Otherwise the heap of a rare peak would be most of what is held.
///
/// However long heaps are kept, before a new heap is created others leave until no more is held than was in use at once
/// ([`SharedHeapSet::make_way`](super::SharedHeapSet::make_way)).
///
/// An empty heap of more than four times the size that a new heap for a request would have is not used for it, unless
/// all heaps are kept. Otherwise small requests would keep the heap of a peak alive.
///
/// If a heap is created after one of about its size left because of periods, the pause between the uses was longer than
/// empty heaps were kept. Then [as many periods](Self::pauses) as the pause had, twice, do not release empty heaps of
/// about this size, until a pause is so long that all of them left.
///
/// # Choice of defaults
///
/// Chosen on 2026-11-29 by replaying the generated workloads of the development part through a
/// [`SharedHeapSet`](super::SharedHeapSet) on one thread, on four simulated devices ([`HeapCosts`](super::HeapCosts)):
/// modelled time of an operation in microseconds, mean held over mean live bytes, and peak held over peak live bytes,
/// geometric means. Sizes are the default's.
///
/// | rent of a MiB, ns | plain memory | dedicated memory | vkd3d-proton | ten times plain |
/// |---|---|---|---|---|
/// | 1, at most 40,000 operations | 2.03 / 1.342 / 1.048 | 0.41 / 1.335 / 1.047 | 1.44 / 1.342 / 1.048 | 19.03 / 1.334 / 1.036 |
/// | 20 | 2.10 / 1.316 / 1.047 | 0.53 / 1.240 / 1.048 | 1.54 / 1.307 / 1.047 | 19.27 / 1.325 / 1.036 |
/// | 90 (default) | 2.53 / 1.273 / 1.049 | 0.69 / 1.192 / 1.047 | 1.92 / 1.255 / 1.047 | 19.41 / 1.319 / 1.036 |
/// | 90, pauses are not learned | 3.10 / 1.208 / 1.039 | 0.72 / 1.177 / 1.044 | 2.23 / 1.202 / 1.041 | 27.84 / 1.190 / 1.029 |
/// | 450, at most 1,000 operations, new heaps of a 32nd | 4.55 / 1.136 / 1.025 | 1.18 / 1.120 / 1.026 | 3.33 / 1.133 / 1.027 | 34.3 / 1.165 / 1.024 |
/// | 5,000, new heaps of a 64th and at most 32 MiB | 7.09 / 1.090 / 1.016 | 2.29 / 1.082 / 1.014 | 5.04 / 1.087 / 1.017 | 55.2 / 1.115 / 1.019 |
/// | 8 operations, the same heaps ([`LEAST_MEMORY`](Self::LEAST_MEMORY)) | 7.15 / 1.090 / 1.017 | 1.82 / 1.090 / 1.017 | 4.87 / 1.090 / 1.017 | 69.8 / 1.090 / 1.017 |
///
/// To hold the least is a promise about memory, so [`LEAST_MEMORY`](Self::LEAST_MEMORY) counts operations and no
/// prices: by prices, it held more where heaps are dear than allocators with small blocks do.
///
/// Fractions of 4 to 16 and maxima of 32 to 96 MiB are equally good with this retention. A minimum that follows from
/// the prices (the largest heap that costs at most twice as much as the smallest) is 4 MiB or more on all devices but
/// vkd3d-proton, where it changed less than a tenth of the time. Keeping heaps of each size by the numbers of
/// operations after which they were needed before changed time and memory by about a twentieth. Keeping heaps for less
/// time that are large beside what is in use at that moment cost more time than it saved memory; beside what is usually
/// in use, it changes nothing but peaks, of which it holds 2.8 instead of 8.1 times the live bytes for 3 times the time
/// with the prices of plain memory. `lab/MEMORY.md` has figures for the
/// evaluation part, by which nothing was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeapRetention {
    /// For how many allocations and frees an empty heap is kept (eight slots of slabs count as one), of this set and of
    /// those with which it shares a [`HeapTally`](super::HeapTally).
    pub keeping: Keeping,
    /// As many operations as so many frames have do not release an empty heap. Default 2.
    pub kept_frames: u32,
    /// An empty heap is released after so many frames. Default 120: two seconds at 60 frames per second.
    pub frames: u32,
    /// An empty heap is released after so many whole periods. Default 2.
    pub periods: u32,
    /// The longest pause, in periods, after which empty heaps are expected to be needed again because they were needed
    /// after an earlier one. Default 150: a minute of periods of 0.4 seconds.
    pub pauses: u32,
}

/// The number of operations for which empty heaps are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keeping {
    /// So many, whatever a heap costs. With 0 no empty heap is kept.
    Operations(u64),
    /// Until the rent is as high as the heap's [price](super::HeapPrices). Before any price is known, 500 operations,
    /// at most.
    Rent {
        /// The rent of a MiB for an operation, in nanoseconds. 0 counts as 1.
        nanos: u64,
        /// The most operations.
        most: u64,
    },
}

/// The operations for which an empty heap is kept before prices are known.
const UNPRICED_OPERATIONS: u64 = 500;

impl Keeping {
    /// Returns the number of operations for which an empty heap of a class is kept, where `usual` bytes are usually in
    /// use, or zero if that is not known.
    pub(super) fn operations(self, class: usize, prices: &HeapPrices, usual: ByteSize) -> u64 {
        match self {
            Self::Operations(operations) => operations,
            Self::Rent { nanos, most } => {
                let rent = nanos.max(1).saturating_mul(size_of_class(class).get() >> 10);
                let kept = match prices.nanos_of(class) {
                    0 => UNPRICED_OPERATIONS,
                    price => price.saturating_mul(1024) / rent,
                };
                let (kept, size) = (kept.min(most), u128::from(size_of_class(class).get()));
                // In proportion, if the heap is larger than half of what is usually in use.
                let half = if usual.is_zero() { size } else { u128::from(usual.get() / 2) };
                u64::try_from(u128::from(kept) * half.min(size) / size).unwrap_or(kept)
            }
        }
    }
}

impl Default for HeapRetention {
    fn default() -> Self {
        Self {
            keeping: Keeping::Rent { nanos: 90, most: 5_000 },
            kept_frames: 2,
            frames: 120,
            periods: 2,
            pauses: 150,
        }
    }
}

impl HeapRetention {
    /// Keeps an empty heap for eight operations, also within a frame, so that a resource that replaces another one
    /// finds it. Little memory is held in vain, and heaps are often created again.
    pub const LEAST_MEMORY: Self =
        Self { keeping: Keeping::Operations(8), kept_frames: 0, frames: 30, periods: 2, pauses: 0 };

    /// The retention that keeps no empty heap.
    pub const NONE: Self =
        Self { keeping: Keeping::Operations(0), kept_frames: 0, frames: 0, periods: 0, pauses: 0 };

    /// Keeps a heap that became empty until the next free, as D3D12MA does. For heaps with a tally of their own, so
    /// that only their own operations count.
    pub const UNTIL_NEXT_FREE: Self =
        Self { keeping: Keeping::Operations(2), kept_frames: 0, frames: 120, periods: u32::MAX, pauses: 0 };

    /// The retention that keeps all empty heaps until they are taken, together with those in use up to twice what was
    /// in use at once.
    pub const FOR_EVER: Self = Self {
        keeping: Keeping::Operations(u64::MAX),
        kept_frames: 0,
        frames: u32::MAX,
        periods: u32::MAX,
        pauses: 0,
    };
}
