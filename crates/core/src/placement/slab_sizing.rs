//! Sizes of heaps of equal blocks, by GPGMM's rule.

use crate::{Alignment, ByteSize};

/// The granularity of D3D12 heaps.
pub(super) const KIB_64: Alignment = match Alignment::new(64 * 1024) {
    Some(alignment) => alignment,
    None => panic!("64 KiB is a power of two"),
};

/// The sizes of new heaps for blocks of one size, by GPGMM's rule.
///
/// The *block* of a request is its size rounded up to its alignment. The heap for a block starts from the
/// minimum size, or from the size of the last heap for blocks of this size. It is doubled until the block
/// fits, and until the difference between block and request is no more than a fraction of the heap; then it
/// is rounded up to a power of two. When enough heaps of that size are full, the next heap is larger by a
/// factor.
///
/// The fraction does not include the bytes after the last whole block of a heap: a block of 33 MiB has a heap
/// of 64 MiB to itself.
///
/// Heap bytes divided by requested bytes for n requests of a size, with a minimum of 64 KiB and the other
/// parameters at their defaults (2026-11-21):
///
/// | size, at alignment 64 KiB | 1 | 2 | 3 | 10 | 100 |
/// |---|---|---|---|---|---|
/// | 1 KiB | 512 | 256 | 171 | 102 | 72 |
/// | 64 KiB | 1.00 | 1.00 | 1.33 | 1.00 | 1.26 |
/// | 320 KiB | 1.60 | 1.60 | 2.13 | 1.60 | 1.50 |
/// | 65 MiB | 1.97 | 1.97 | 2.63 | 1.97 | 1.22 |
///
/// ```
/// use heapwright_core::placement::SlabSizing;
/// use heapwright_core::{Alignment, ByteSize};
///
/// let sizing = SlabSizing::default();
/// let placement = Alignment::new(64 << 10).unwrap();
/// let first = |kib| sizing.first_heap_size(ByteSize::from_kib(kib), placement);
/// assert_eq!(first(64), Some(ByteSize::from_kib(64)));
/// assert_eq!(first(320), Some(ByteSize::from_kib(512)));
/// // 63 KiB of its block are unused, which is no more than an eighth of 512 KiB.
/// assert_eq!(first(1), Some(ByteSize::from_kib(512)));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SlabSizing {
    /// Minimum size of a heap: GPGMM's `PreferredResourceHeapSize`. Rounded up to the granularity, also if
    /// zero. Default zero.
    pub minimum: ByteSize,
    /// Maximum size of a heap, rounded down to a power of two: `MaxResourceHeapSize`. Default 2^63 bytes.
    pub maximum: ByteSize,
    /// Unit of heap sizes. Default 64 KiB, the granularity of D3D12 heaps.
    pub granularity: Alignment,
    /// Maximum difference between a block and its request, as a fraction of the heap:
    /// `ResourceHeapFragmentationLimit`. Default an eighth, which is also used for zero, negative values and
    /// NaN.
    pub fragmentation_limit: f64,
    /// Factor between the last size of a heap and the next: `ResourceHeapGrowthFactor`. With 1, heaps do not
    /// grow. Default 1.25, which is also used for zero, negative values and NaN; as sizes are powers of two,
    /// it doubles them. With a factor between zero and one, each request has a heap of exactly its block,
    /// rounded up to the granularity, whatever the minimum.
    pub growth_factor: f64,
}

impl Default for SlabSizing {
    fn default() -> Self {
        Self {
            minimum: ByteSize::ZERO,
            maximum: ByteSize::new(1 << 63),
            granularity: KIB_64,
            fragmentation_limit: DEFAULT_LIMIT,
            growth_factor: DEFAULT_GROWTH,
        }
    }
}

const DEFAULT_LIMIT: f64 = 0.125;
const DEFAULT_GROWTH: f64 = 1.25;

impl SlabSizing {
    /// Returns the size of the first heap for a request, or `None` if it exceeds the maximum. O(log size).
    #[must_use]
    pub fn first_heap_size(&self, size: ByteSize, alignment: Alignment) -> Option<ByteSize> {
        self.next_heap_size(size, alignment, None, |_| 0)
    }

    /// Returns the block size of a request, or `None` on overflow.
    pub(super) fn block_size(size: ByteSize, alignment: Alignment) -> Option<ByteSize> {
        size.align_up(alignment)
    }

    /// Returns whether each request has its own heap.
    pub(super) fn is_one_per_heap(&self) -> bool {
        self.growth_factor > 0.0 && self.growth_factor < 1.0
    }

    /// Returns the size of the next heap for a request, given the size `last` of the last heap for such
    /// blocks, and the number of full heaps of a size. Returns `None` if it exceeds the maximum.
    pub(super) fn next_heap_size(
        &self,
        size: ByteSize,
        alignment: Alignment,
        last: Option<ByteSize>,
        full_of: impl FnOnce(ByteSize) -> u64,
    ) -> Option<ByteSize> {
        let block = Self::block_size(size, alignment)?;
        if self.is_one_per_heap() {
            return block.align_up(self.granularity).filter(|&heap| heap <= self.maximum);
        }
        let heap = self.heap_size(size, block, last.unwrap_or(ByteSize::ZERO))?;
        let larger = last.and_then(|_| self.grown(heap)).filter(|&larger| larger <= self.largest());
        // Both are powers of two.
        Some(larger.filter(|larger| full_of(heap) >= larger.get() / heap.get()).unwrap_or(heap))
    }

    /// Returns the size of the largest heap.
    pub(super) fn largest(&self) -> ByteSize {
        if self.is_one_per_heap() {
            return self.maximum;
        }
        let log2 = self.maximum.get().checked_ilog2();
        ByteSize::new(log2.map_or(0, |log2| 1 << log2))
    }

    /// Returns the size of a heap that is not smaller than `base`.
    fn heap_size(&self, size: ByteSize, block: ByteSize, base: ByteSize) -> Option<ByteSize> {
        let unused = as_f64(block.saturating_sub(size));
        let limit = or_default(self.fragmentation_limit, DEFAULT_LIMIT);
        let granule = ByteSize::new(self.granularity.get());
        let mut heap = self.minimum.max(granule).align_up(self.granularity)?.max(base);
        while heap < block || unused > limit * as_f64(heap) {
            heap = heap.checked_mul(2)?;
        }
        let heap = ByteSize::new(heap.get().checked_next_power_of_two()?);
        (heap <= self.largest()).then_some(heap)
    }

    /// Returns the smallest power-of-two multiple of `heap` that is at least the size times the factor, or
    /// `None` on overflow.
    fn grown(&self, heap: ByteSize) -> Option<ByteSize> {
        let wanted = (as_f64(heap) * or_default(self.growth_factor, DEFAULT_GROWTH)).floor();
        let mut grown = heap;
        while as_f64(grown) < wanted {
            grown = grown.checked_mul(2)?;
        }
        Some(grown)
    }
}

/// Exact enough for comparisons with rounded values. GPGMM also computes in floating point.
fn as_f64(size: ByteSize) -> f64 {
    size.get() as f64
}

fn or_default(value: f64, default: f64) -> f64 {
    if value > 0.0 { value } else { default }
}
