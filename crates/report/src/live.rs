//! List of all live allocations of a report.

use std::fmt;

use heapwright::report::{AllocationKind, AllocationReport, AllocatorReport, ResourceReport};
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

/// Returns the `limit` largest live allocations in descending order of size. Allocations of equal size are in the order
/// of [`live_allocations`].
///
/// Takes O(n log n) time for n allocations.
#[must_use]
pub fn largest_allocations(report: &AllocatorReport, limit: usize) -> Vec<ReportedAllocation<'_>> {
    let mut all = live_allocations(report);
    all.sort_by_key(|allocation| std::cmp::Reverse(allocation.size));
    all.truncate(limit);
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
