//! The free ranges of a heap.

use heapwright::report::{AllocationReport, AllocatorReport, HeapReport};
use heapwright::{ByteSize, HeapOffset, HeapRange};

/// Returns the ranges before, between and behind the allocations of a heap, from the lowest offset. O(allocations) for all.
///
/// What is free within a slab or a backing buffer is not among them.
#[must_use]
pub fn free_ranges(heap: &HeapReport) -> FreeRanges<'_> {
    FreeRanges {
        rest: heap.allocations.iter(),
        next: HeapOffset::ZERO,
        end: HeapOffset::new(heap.size.get()),
    }
}

/// Returns the size of the largest of a heap's [`free_ranges`]. O(allocations).
#[must_use]
pub fn largest_free_range(heap: &HeapReport) -> ByteSize {
    free_and_largest(heap).1
}

/// Returns the share of the bytes in a heap's free ranges that one request cannot have, 0 to 1: `1 - largest / sum`.
/// O(allocations).
#[must_use]
pub fn heap_external_fragmentation(heap: &HeapReport) -> f64 {
    let (free, largest) = free_and_largest(heap);
    share(free.saturating_sub(largest), free)
}

/// Returns the share of the free bytes in heaps that one request cannot have, 0 to 1. O(allocations).
///
/// `1 - (sum of the largest free range of each heap) / (sum of the free ranges)`, the
/// [formula](heapwright::suballoc::statistics) of the suballocators. Free ranges are those of [`free_ranges`].
#[must_use]
pub fn external_fragmentation(report: &AllocatorReport) -> f64 {
    let mut largest = ByteSize::ZERO;
    let mut free = ByteSize::ZERO;
    for heap in &report.heaps {
        let (of_heap, largest_of_heap) = free_and_largest(heap);
        free = free.saturating_add(of_heap);
        largest = largest.saturating_add(largest_of_heap);
    }
    share(free.saturating_sub(largest), free)
}

/// All bytes of free ranges, and those of the largest.
fn free_and_largest(heap: &HeapReport) -> (ByteSize, ByteSize) {
    free_ranges(heap).map(HeapRange::size).fold((ByteSize::ZERO, ByteSize::ZERO), |(sum, largest), size| {
        (sum.saturating_add(size), largest.max(size))
    })
}

/// The part that `size` is of `whole`, 0 to 1; 0 of nothing is 0.
#[expect(clippy::cast_precision_loss, reason = "15 digits of a ratio are enough")]
pub(crate) fn share(size: ByteSize, whole: ByteSize) -> f64 {
    if whole.is_zero() { 0.0 } else { size.get() as f64 / whole.get() as f64 }
}

/// Iterator over the free ranges of a heap, returned by [`free_ranges`].
#[derive(Clone, Debug)]
pub struct FreeRanges<'a> {
    rest: std::slice::Iter<'a, AllocationReport>,
    /// The end of what was seen.
    next: HeapOffset,
    /// The end of the heap.
    end: HeapOffset,
}

impl FreeRanges<'_> {
    /// From where the last allocation ended up to `end`, unless that is nothing.
    fn up_to(&self, end: HeapOffset) -> Option<HeapRange> {
        let size = end.checked_distance_from(self.next).filter(|size| !size.is_zero())?;
        HeapRange::new(self.next, size)
    }
}

impl Iterator for FreeRanges<'_> {
    type Item = HeapRange;

    fn next(&mut self) -> Option<HeapRange> {
        while let Some(allocation) = self.rest.next() {
            let free = self.up_to(allocation.offset.min(self.end));
            // In a report that was not checked, the end may have more than 64 bits.
            let end = allocation.offset.checked_add(allocation.size);
            self.next = self.next.max(end.unwrap_or(HeapOffset::new(u64::MAX)));
            if free.is_some() {
                return free;
            }
        }
        let last = self.up_to(self.end);
        self.next = self.next.max(self.end);
        last
    }
}
