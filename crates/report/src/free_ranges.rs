//! Free ranges and fragmentation of heaps.

use heapwright::ByteSize;
use heapwright::report::{AllocatorReport, HeapReport};

/// Returns the size of the largest free range of a heap. Takes O(allocations) time.
#[must_use]
pub fn largest_free_range(heap: &HeapReport) -> ByteSize {
    free_and_largest(heap).1
}

/// Returns the external fragmentation of all heaps, 0 to 1.
///
/// It is `1 - (sum of the largest free range of each heap) / (sum of all free ranges)`, of
/// their heaps: the part of the free bytes that one request cannot have, because they are in several ranges
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
    #[expect(clippy::cast_precision_loss, reason = "15 digits are enough for a ratio")]
    let share = free.saturating_sub(largest).get() as f64 / free.get().max(1) as f64;
    share
}

/// Returns the sum of the free ranges of a heap, and the size of the largest. Free slots of slabs and free ranges of backing buffers are
/// not free ranges.
fn free_and_largest(heap: &HeapReport) -> (ByteSize, ByteSize) {
    let (mut sum, mut largest, mut next) = (ByteSize::ZERO, ByteSize::ZERO, 0);
    let end = heap.size.get();
    // The sum may overflow in a report that was not checked.
    let used = heap.allocations.iter().map(|used| {
        let start = used.offset.get();
        (start, start.saturating_add(used.size.get()))
    });
    for (start, after) in used.chain([(end, end)]) {
        let free = ByteSize::new(start.min(end).saturating_sub(next));
        sum = sum.saturating_add(free);
        largest = largest.max(free);
        next = next.max(after);
    }
    (sum, largest)
}
