//! What lives in the heaps of a report, and what is free.

use std::fmt;

use heapwright::report::{AllocationKind, AllocationReport, AllocatorReport, HeapReport, ResourceReport};
use heapwright::{ByteSize, HeapOffset};

/// A live allocation in a report: a suballocation, a committed resource or an imported resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReportedAllocation<'a> {
    /// Location of the allocation.
    pub location: AllocationLocation,
    /// Kind of the allocation.
    pub kind: AllocationKind,
    /// Size of the allocation, in bytes.
    pub size: ByteSize,
    /// Bytes beyond the requested size, or 0 if that size is unknown.
    pub waste: ByteSize,
    /// Name of the allocation, or an empty string.
    pub name: &'a str,
    /// User data of the allocation, or an empty string.
    pub user_data: &'a str,
}

/// Location of a live allocation.
///
/// The `Display` form is `heap 3 at 0x10000`, `committed 2` or `imported 0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AllocationLocation {
    /// A suballocation in a heap.
    Heap {
        /// Index of the heap in [`AllocatorReport::heaps`].
        index: usize,
        /// Offset from the start of the heap, also for allocations in a slab or a backing buffer.
        offset: HeapOffset,
    },
    /// A committed resource, with its index in [`AllocatorReport::committed`].
    Committed(usize),
    /// An imported resource, with its index in [`AllocatorReport::imported`].
    Imported(usize),
}

impl fmt::Display for AllocationLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Heap { index, offset } => write!(f, "heap {index} at {:#x}", offset.get()),
            Self::Committed(index) => write!(f, "committed {index}"),
            Self::Imported(index) => write!(f, "imported {index}"),
        }
    }
}

/// Returns all live allocations: those in heaps, by heap and offset, followed by committed and imported resources.
///
/// Takes O(allocations) time.
#[must_use]
pub fn live_allocations(report: &AllocatorReport) -> Vec<ReportedAllocation<'_>> {
    let mut all = Vec::new();
    for (index, heap) in report.heaps.iter().enumerate() {
        collect(&heap.allocations, HeapOffset::ZERO, index, &mut all);
    }
    all.extend(resources(&report.committed, AllocationLocation::Committed));
    all.extend(resources(&report.imported, AllocationLocation::Imported));
    all
}

fn collect<'a>(
    allocations: &'a [AllocationReport],
    start: HeapOffset,
    index: usize,
    all: &mut Vec<ReportedAllocation<'a>>,
) {
    for allocation in allocations {
        let AllocationReport { offset, size, kind, requested, name, user_data, within, .. } = allocation;
        // The sum may overflow in a report that was not checked.
        let offset = start.checked_add(ByteSize::new(offset.get())).unwrap_or(HeapOffset::new(u64::MAX));
        match within {
            Some(within) => collect(within, offset, index, all),
            None => all.push(ReportedAllocation {
                location: AllocationLocation::Heap { index, offset },
                kind: *kind,
                size: *size,
                waste: requested.map_or(ByteSize::ZERO, |requested| size.saturating_sub(requested)),
                name: name.as_deref().unwrap_or_default(),
                user_data: user_data.as_deref().unwrap_or_default(),
            }),
        }
    }
}

fn resources(
    resources: &[ResourceReport],
    location: fn(usize) -> AllocationLocation,
) -> impl Iterator<Item = ReportedAllocation<'_>> {
    resources.iter().enumerate().map(move |(index, resource)| ReportedAllocation {
        location: location(index),
        kind: resource.kind,
        size: resource.size,
        waste: resource.requested.map_or(ByteSize::ZERO, |requested| resource.size.saturating_sub(requested)),
        name: resource.name.as_deref().unwrap_or_default(),
        user_data: resource.user_data.as_deref().unwrap_or_default(),
    })
}

/// Returns the external fragmentation of all heaps, 0 to 1.
///
/// It is `1 - (sum of the largest free range of each heap) / (sum of all free ranges)`: the part of the free bytes that one request
/// cannot have, because they are in several ranges of a heap. Takes O(allocations) time.
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
