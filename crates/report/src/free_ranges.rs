//! Free ranges and fragmentation of heaps.

use heapwright::report::{AllocationReport, AllocatorReport, HeapReport};
use heapwright::{ByteSize, HeapOffset, HeapRange};

/// Returns an iterator over the free ranges of a heap, in order of offsets.
///
/// Free slots of slabs and free ranges of backing buffers are not included. A full iteration takes O(allocations) time.
#[must_use]
pub fn free_ranges(heap: &HeapReport) -> FreeRanges<'_> {
    FreeRanges {
        rest: heap.allocations.iter(),
        next: HeapOffset::ZERO,
        end: HeapOffset::new(heap.size.get()),
    }
}

/// Returns the size of the largest of a heap's [`free_ranges`]. Takes O(allocations) time.
#[must_use]
pub fn largest_free_range(heap: &HeapReport) -> ByteSize {
    free_and_largest(heap).1
}

/// Returns the external fragmentation of a heap, 0 to 1: `1 - largest / sum` of its [`free_ranges`].
///
/// Takes O(allocations) time.
#[must_use]
pub fn heap_external_fragmentation(heap: &HeapReport) -> f64 {
    let (free, largest) = free_and_largest(heap);
    share(free.saturating_sub(largest), free)
}

/// Returns the external fragmentation of all heaps, 0 to 1.
///
/// It is `1 - (sum of the largest free range of each heap) / (sum of all free ranges)`, for the ranges of
/// [`free_ranges`]: the part of the free bytes that one request cannot have, because they are in several ranges
/// of a heap. Takes O(allocations) time.
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

/// Returns the sum of the free ranges and the size of the largest.
fn free_and_largest(heap: &HeapReport) -> (ByteSize, ByteSize) {
    free_ranges(heap).map(HeapRange::size).fold((ByteSize::ZERO, ByteSize::ZERO), |(sum, largest), size| {
        (sum.saturating_add(size), largest.max(size))
    })
}

/// Returns `size / whole`, or 0 if `whole` is 0.
#[expect(clippy::cast_precision_loss, reason = "15 digits are enough for a ratio")]
pub(crate) fn share(size: ByteSize, whole: ByteSize) -> f64 {
    if whole.is_zero() { 0.0 } else { size.get() as f64 / whole.get() as f64 }
}

/// An iterator over the free ranges of a heap, returned by [`free_ranges`].
#[derive(Clone, Debug)]
pub struct FreeRanges<'a> {
    rest: std::slice::Iter<'a, AllocationReport>,
    /// End of the allocations visited so far.
    next: HeapOffset,
    /// End of the heap.
    end: HeapOffset,
}

impl FreeRanges<'_> {
    /// Returns the range from the last allocation to `end`, or `None` if it is empty.
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
            // The sum may overflow in a report that was not checked.
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
