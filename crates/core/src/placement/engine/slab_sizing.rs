//! How large a slab of blocks of one size is: GPGMM's rule.

use crate::{Alignment, ByteSize};

/// The size of a new heap for blocks of one size, as GPGMM has it.
///
/// A request is rounded up to its alignment: that is its *block*. The heap for a block is the least that there may be, or as
/// large as the last one for blocks of this size, doubled until the block fits and what the block is larger than its request
/// is no more than a part of the heap; then rounded up to a power of two. When enough heaps of that size are full, the next
/// one is larger by a factor.
///
/// What the limit does not count are the bytes of a heap behind its last whole block: a block of 33 MiB has a heap of 64 MiB
/// to itself.
///
/// Heap bytes over requested bytes for n requests of a size, with a least size of 64 KiB and the other knobs at their
/// defaults (2026-11-21):
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
    /// No heap is smaller: GPGMM's `PreferredResourceHeapSize`. Rounded up to the granularity, and that if zero. Default zero.
    pub minimum: ByteSize,
    /// No heap is larger, rounded down to a power of two: `MaxResourceHeapSize`. Default 2^63 bytes.
    pub maximum: ByteSize,
    /// What every size is a multiple of. Default 64 KiB, the granularity of D3D12 heaps.
    pub granularity: Alignment,
    /// What a block may be larger than its request, as a part of the heap: `ResourceHeapFragmentationLimit`. Default an eighth,
    /// which zero, what is below, and what is no number stand for, too.
    pub fragmentation_limit: f64,
    /// What the next size of a heap is more than the last: `ResourceHeapGrowthFactor`. At 1 heaps do not grow. Default 1.25,
    /// which zero, what is below, and what is no number stand for, too; as sizes are powers of two, it doubles them. Between
    /// zero and one, each request has a heap of exactly its block, rounded up to the granularity, whatever the minimum.
    pub growth_factor: f64,
}

impl Default for SlabSizing {
    fn default() -> Self {
        Self {
            minimum: ByteSize::ZERO,
            maximum: ByteSize::new(1 << 63),
            granularity: super::desc::KIB_64,
            fragmentation_limit: DEFAULT_LIMIT,
            growth_factor: DEFAULT_GROWTH,
        }
    }
}

const DEFAULT_LIMIT: f64 = 0.125;
const DEFAULT_GROWTH: f64 = 1.25;

impl SlabSizing {
    /// The size of the first heap for a request; `None` when it is larger than a heap may be. O(log size).
    #[must_use]
    pub fn first_heap_size(&self, size: ByteSize, alignment: Alignment) -> Option<ByteSize> {
        self.next_heap_size(size, alignment, None, |_| 0)
    }

    /// The block of a request. `None` when rounding up overflows.
    pub(super) fn block_size(size: ByteSize, alignment: Alignment) -> Option<ByteSize> {
        size.align_up(alignment)
    }

    /// Whether every request has a heap to itself.
    pub(super) fn is_one_per_heap(&self) -> bool {
        self.growth_factor > 0.0 && self.growth_factor < 1.0
    }

    /// The size of the next heap for a request, after the one of size `last` for such blocks, and given how many heaps of a size are
    /// full. `None` when it is larger than a heap may be.
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

    /// The size of the largest heap.
    pub(super) fn largest(&self) -> ByteSize {
        if self.is_one_per_heap() {
            return self.maximum;
        }
        let log2 = self.maximum.get().checked_ilog2();
        ByteSize::new(log2.map_or(0, |log2| 1 << log2))
    }

    /// The size of a heap that is no smaller than `base`.
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

    /// The power of two that is at least the size times the factor; `None` when it has no 64 bits.
    fn grown(&self, heap: ByteSize) -> Option<ByteSize> {
        let wanted = (as_f64(heap) * or_default(self.growth_factor, DEFAULT_GROWTH)).floor();
        let mut grown = heap;
        while as_f64(grown) < wanted {
            grown = grown.checked_mul(2)?;
        }
        Some(grown)
    }
}

/// Only compared with what is rounded, too: GPGMM computes in such numbers.
fn as_f64(size: ByteSize) -> f64 {
    size.get() as f64
}

fn or_default(value: f64, default: f64) -> f64 {
    if value > 0.0 { value } else { default }
}
