//! How large a new heap is.

use super::HeapReuse;
use crate::{Alignment, ByteSize};

/// The size of a new heap, given the request that no existing heap could serve.
///
/// The fields bound one rule: a new heap holds the request, or several of its size while they are small, or small beside what
/// is in use already, and nothing else.
///
/// # Why these defaults
///
/// Memory is lost in two ways: a heap that is larger than what ends up in it, and a large heap that cannot be given back
/// because something small lives in it. Creating a heap costs a real driver hundreds of microseconds. Measured on
/// 2026-11-21 by replaying workloads through a [`SharedHeapSet`](super::SharedHeapSet) on one thread, with every other field at
/// its default (`cargo xtask placement` prints more): peak bytes of heaps over peak bytes in use, geometric mean, and heaps
/// created per allocation, worst; of the five traces of GPU workloads that heapwright is developed with, and of 59 workloads:
/// those, the same with other sizes, in parts and two at a time, and 24 made ones of the same kinds and of games.
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
    /// No heap is smaller. Default 256 KiB.
    pub minimum: ByteSize,
    /// A heap holds this many of the request at most. Default 16.
    pub batch: u64,
    /// It holds more than one of them within this size, or the one below. Default 1 MiB.
    pub batch_limit: ByteSize,
    /// What is in use shifted right by this, within [`growth_limit`](Self::growth_limit), so that the number of heaps stays
    /// small when much is allocated. Default 6: a 64th.
    pub used_fraction_log2: u32,
    /// Bound of what [`used_fraction_log2`](Self::used_fraction_log2) asks for. Default 24 MiB.
    pub growth_limit: ByteSize,
    /// What every size is a multiple of. Default 64 KiB, the granularity of D3D12 heaps.
    pub granularity: Alignment,
    /// Requests from this size on get a heap of their own, exactly as large as they need. Default 128 MiB.
    pub own_heap_from: ByteSize,
    /// Requests up to this size share heaps with their like only, so that few large heaps are held by something small. Where there can
    /// be no new heap, sizes share: see [`HeapSet::allocate_anywhere`](super::HeapSet::allocate_anywhere).
    /// Default 64 KiB.
    pub small_up_to: ByteSize,
    /// When a new heap is made although an empty one is large enough.
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
    /// The size of a new heap for a request of `size` bytes while `used` bytes are in use.
    ///
    /// At least `size`. `None` when rounding up overflows. O(1).
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
        // Whole ones: what recurs fills the heap to its end.
        let count = (limit.get() / size.get().max(1)).clamp(1, self.batch.max(1));
        size.checked_mul(count)?.max(self.minimum).align_up(self.granularity)
    }

    /// Whether a request of `size` bytes is placed in a heap that holds nothing else.
    #[must_use]
    pub fn wants_own_heap(&self, size: ByteSize) -> bool {
        size >= self.own_heap_from
    }
}
