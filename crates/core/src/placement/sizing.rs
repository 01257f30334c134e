//! Sizes of new heaps.

use super::HeapReuse;
use crate::{Alignment, ByteSize};

/// The size of a new heap for a request that no existing heap can serve.
///
/// The fields are the bounds of one rule: a new heap holds the request, or several of its size if they are
/// small, or small relative to the used bytes.
///
/// # Choice of defaults
///
/// Memory is wasted in two ways: by a heap that is larger than its content ever becomes, and by a large heap
/// that cannot be released because of a small allocation in it. On the other hand, creating a heap takes a
/// real driver hundreds of microseconds. Measured on 2026-11-21 by replaying workloads through a
/// [`SharedHeapSet`](super::SharedHeapSet) on one thread, with every other field at its default (`cargo xtask
/// placement` prints more): peak bytes of heaps over peak bytes in use, geometric mean, and heaps created per
/// allocation, worst; for the five traces of GPU workloads that heapwright is developed with, and for 59
/// workloads: those, the same with other sizes, in parts and two at a time, and 24 generated ones of the same
/// kinds and of games.
///
/// | change | traces | | all | |
/// |---|---|---|---|---|
/// | defaults | 1.028 | 3.3 % | 1.058 | 4.5 % |
/// | `batch` 1 / 8 / 32 | 1.029 / 1.028 / 1.030 | 4.9 / 3.3 / 3.3 % | 1.052 / 1.056 / 1.060 | 12.5 / 4.6 / 4.5 % |
/// | `batch_limit` 512 KiB / 2 MiB | 1.034 / 1.034 | 3.3 / 3.3 % | 1.056 / 1.058 | 4.5 / 4.6 % |
/// | `used_fraction_log2` 5 / 7 | 1.027 / 1.027 | 3.0 / 4.0 % | 1.068 / 1.055 | 4.3 / 5.2 % |
/// | `growth_limit` 0 / 16 / 32 MiB | 1.027 / 1.028 / 1.030 | 4.8 / 3.9 / 3.1 % | 1.052 / 1.057 / 1.058 | 7.9 / 5.0 / 4.6 % |
/// | `small_up_to` 0 / 256 KiB | 1.025 / 1.032 | 3.5 / 3.4 % | 1.053 / 1.052 | 4.5 / 4.7 % |
/// | `own_heap_from` 64 MiB / never | 1.028 / 1.028 | 3.5 / 3.3 % | 1.058 / 1.058 | 5.2 / 4.5 % |
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeapSizing {
    /// Minimum size of a heap. Default 256 KiB.
    pub minimum: ByteSize,
    /// Maximum number of requests of the same size for which a heap is created. Default 16.
    pub batch: u64,
    /// Maximum size of a heap for more than one request, unless
    /// [`used_fraction_log2`](Self::used_fraction_log2) allows more. Default 1 MiB.
    pub batch_limit: ByteSize,
    /// Raises the batch limit to the used bytes shifted right by this value, up to
    /// [`growth_limit`](Self::growth_limit), so that the number of heaps stays small if much is allocated.
    /// Default 6: a 64th.
    pub used_fraction_log2: u32,
    /// Upper bound of the batch limit given by [`used_fraction_log2`](Self::used_fraction_log2). Default 24
    /// MiB.
    pub growth_limit: ByteSize,
    /// Unit of heap sizes. Default 64 KiB, the granularity of D3D12 heaps.
    pub granularity: Alignment,
    /// Size from which on requests get a heap of their own, of exactly the size they need. Default 128 MiB.
    pub own_heap_from: ByteSize,
    /// Size up to which requests share heaps only with each other, so that few large heaps are held by a
    /// small allocation. If no heap can be created, all sizes share heaps: see
    /// [`HeapSet::allocate_anywhere`](super::HeapSet::allocate_anywhere). Default 64 KiB.
    pub small_up_to: ByteSize,
    /// When a new heap is created although an empty one is large enough.
    pub reuse: HeapReuse,
}

impl Default for HeapSizing {
    fn default() -> Self {
        Self {
            minimum: ByteSize::from_kib(256),
            batch: 16,
            batch_limit: ByteSize::from_mib(1),
            used_fraction_log2: 6,
            growth_limit: ByteSize::from_mib(24),
            granularity: KIB_64,
            own_heap_from: ByteSize::from_mib(128),
            small_up_to: ByteSize::from_kib(64),
            reuse: HeapReuse::default(),
        }
    }
}

const KIB_64: Alignment = match Alignment::new(64 * 1024) {
    Some(alignment) => alignment,
    None => panic!("64 KiB is a power of two"),
};

impl HeapSizing {
    /// Returns the size of a new heap for a request of `size` bytes while `used` bytes are in use.
    ///
    /// The result is at least `size`. Returns `None` if it overflows. O(1).
    ///
    /// ```
    /// use heapwright_core::ByteSize;
    /// use heapwright_core::placement::HeapSizing;
    ///
    /// let sizing = HeapSizing::default();
    /// assert_eq!(sizing.heap_size(ByteSize::new(256), ByteSize::ZERO), Some(ByteSize::from_kib(256)));
    /// assert_eq!(sizing.heap_size(ByteSize::from_mib(9), ByteSize::ZERO), Some(ByteSize::from_mib(9)));
    /// assert_eq!(sizing.heap_size(ByteSize::new(u64::MAX), ByteSize::ZERO), None);
    /// ```
    #[must_use]
    pub fn heap_size(&self, size: ByteSize, used: ByteSize) -> Option<ByteSize> {
        if self.wants_own_heap(size) {
            return size.align_up(self.granularity);
        }
        let used_part = used.get().checked_shr(self.used_fraction_log2).unwrap_or(0);
        let growth = ByteSize::new(used_part).min(self.growth_limit);
        let limit = self.batch_limit.max(growth);
        // A whole number of requests, so that recurring requests fill the heap to its end.
        let count = (limit.get() / size.get().max(1)).clamp(1, self.batch.max(1));
        size.checked_mul(count)?.max(self.minimum).align_up(self.granularity)
    }

    /// Returns whether a request of `size` bytes is placed in a heap of its own.
    #[must_use]
    pub fn wants_own_heap(&self, size: ByteSize) -> bool {
        size >= self.own_heap_from
    }
}
