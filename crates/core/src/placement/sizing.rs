//! Sizes of new heaps.

use super::HeapCosts;
use crate::{Alignment, ByteSize};

/// The size of a new heap for a request that no existing heap can serve.
///
/// A new heap is a [fraction](Self::fraction) of the most bytes that were held, between
/// [`minimum`](Self::minimum) and [`maximum`](Self::maximum), or as large as the request if that is larger. So
/// few heaps are created, and a heap that is only partly used wastes a part of that fraction.
///
/// # Choice of defaults
///
/// A small heap costs as much time as a larger one, up to the size at which the fixed cost of a heap is half of
/// its cost ([`HeapCosts::break_even`]): 34 MiB in the memory of a discrete GPU, 2.6 MiB in memory that the CPU
/// can map. The minimum is an eighth of that size, and the maximum four times that size, because larger heaps
/// no longer save time. [`HeapRetention`](super::HeapRetention) has the figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeapSizing {
    /// Minimum size of a heap. Default 4 MiB.
    pub minimum: ByteSize,
    /// Maximum size of a heap for more than one request. Default 128 MiB.
    pub maximum: ByteSize,
    /// The number of new heaps that make up the most bytes that were held. Default 10. 0 counts as 1.
    pub fraction: u32,
    /// Unit of heap sizes. Default 64 KiB, the granularity of D3D12 heaps.
    pub granularity: Alignment,
}

impl Default for HeapSizing {
    fn default() -> Self {
        Self {
            minimum: ByteSize::from_mib(4),
            maximum: ByteSize::from_mib(128),
            fraction: 10,
            granularity: KIB_64,
        }
    }
}

const KIB_64: Alignment = match Alignment::new(64 * 1024) {
    Some(alignment) => alignment,
    None => panic!("64 KiB is a power of two"),
};

/// The largest number of requests of one size that a heap holds exactly. More of them waste at most 1/64.
const EXACT_COUNT: u64 = 64;

impl HeapSizing {
    /// Returns the sizing for heaps of certain costs, with the default fraction.
    ///
    /// ```
    /// use heapwright_core::ByteSize;
    /// use heapwright_core::placement::{HeapCosts, HeapSizing};
    ///
    /// assert_eq!(HeapSizing::for_costs(&HeapCosts::device_local()), HeapSizing::default());
    /// let upload = HeapSizing::for_costs(&HeapCosts::host_visible());
    /// assert_eq!((upload.minimum, upload.maximum), (ByteSize::from_kib(256), ByteSize::from_mib(8)));
    /// ```
    #[must_use]
    pub fn for_costs(costs: &HeapCosts) -> Self {
        // A power of two, because nothing depends on the exact size.
        let break_even = 1_u64 << costs.break_even().get().max(1 << 19).ilog2();
        Self {
            minimum: ByteSize::new(break_even / 8),
            maximum: ByteSize::new(break_even.saturating_mul(4)),
            ..Self::default()
        }
    }

    /// Returns the size of a new heap for a request of `size` bytes after `most_held` bytes were held.
    ///
    /// The result is at least `size`. Returns `None` if it overflows. O(1).
    ///
    /// ```
    /// use heapwright_core::ByteSize;
    /// use heapwright_core::placement::HeapSizing;
    ///
    /// let sizing = HeapSizing::default();
    /// let (gib, mib) = (ByteSize::from_gib(1), ByteSize::from_mib);
    /// assert_eq!(sizing.heap_size(ByteSize::new(256), ByteSize::ZERO), Some(mib(4)));
    /// // As many requests as fit in a tenth of a gibibyte.
    /// assert_eq!(sizing.heap_size(mib(30), gib), Some(mib(90)));
    /// assert_eq!(sizing.heap_size(mib(150), gib), Some(mib(150)));
    /// assert_eq!(sizing.heap_size(ByteSize::new(u64::MAX), ByteSize::ZERO), None);
    /// ```
    #[must_use]
    pub fn heap_size(&self, size: ByteSize, most_held: ByteSize) -> Option<ByteSize> {
        let part = ByteSize::new(most_held.get() / u64::from(self.fraction.max(1)));
        let usual = part.min(self.maximum).max(self.minimum);
        // A whole number of requests, so that recurring requests fill the heap to its end.
        let heap = match usual.get() / size.get().max(1) {
            0 => size,
            count @ 1..=EXACT_COUNT => size.checked_mul(count)?,
            _ => usual,
        };
        heap.align_up(self.granularity)
    }
}
