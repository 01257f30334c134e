//! Sizes of new heaps.

use crate::{Alignment, ByteSize};

/// The size of a new heap for a request that no existing heap can serve.
///
/// The usual size of a new heap is a [fraction](Self::fraction) of the most bytes that were held, between
/// [`minimum`](Self::minimum) and [`maximum`](Self::maximum). The heap is as large as the request if that is larger,
/// and if at most 64 requests of this size fit in the usual size, as large as those that fit: with a usual size of 4
/// MiB, 3 MiB for a request of 3 MiB. So few heaps are created, and a heap that is only partly used wastes a part of
/// that fraction.
///
/// # Choice of defaults
///
/// Where most of a heap's price is for its bytes, a larger heap saves no time; where most of it is not, empty heaps are
/// released [sooner](super::HeapRetention), and a larger heap holds more in vain. So on all devices that were modelled,
/// the same fraction and maximum are among the best. [`HeapRetention`](super::HeapRetention) has the figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeapSizing {
    /// Minimum of the usual size of a heap. Default 4 MiB.
    pub minimum: ByteSize,
    /// Maximum of the usual size of a heap. Default 64 MiB. It is less where a heap of this size would take longer than
    /// a frame at 60 Hz, by its [price](super::HeapPrices).
    pub maximum: ByteSize,
    /// The number of new heaps that make up the most bytes that were held. Default 10. 0 counts as 1.
    pub fraction: u32,
    /// Unit of heap sizes. Default 64 KiB, the granularity of D3D12 heaps.
    pub granularity: Alignment,
}

impl Default for HeapSizing {
    fn default() -> Self {
        Self::DEVICE_LOCAL
    }
}

const KIB_64: Alignment = match Alignment::new(64 * 1024) {
    Some(alignment) => alignment,
    None => panic!("64 KiB is a power of two"),
};

/// The largest number of requests of one size that a heap holds exactly. More of them waste at most 1/64.
const EXACT_COUNT: u64 = 64;

impl HeapSizing {
    /// The sizes of heaps in the GPU's own memory: the default.
    pub const DEVICE_LOCAL: Self = Self {
        minimum: ByteSize::from_mib(4),
        maximum: ByteSize::from_mib(64),
        fraction: 10,
        granularity: KIB_64,
    };

    /// The sizes of heaps that the CPU can map (`D3D12_HEAP_TYPE_UPLOAD` and `D3D12_HEAP_TYPE_READBACK`).
    pub const HOST_VISIBLE: Self = Self { minimum: ByteSize::from_kib(256), ..Self::DEVICE_LOCAL };

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
    /// // As many requests as fit in 64 MiB, which is less than a tenth of a gibibyte.
    /// assert_eq!(sizing.heap_size(mib(30), gib), Some(mib(60)));
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
