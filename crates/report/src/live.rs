//! What users hold, in one list.

use std::fmt;

use heapwright::report::{AllocationKind, AllocationReport, AllocatorReport, ResourceReport};
use heapwright::{ByteSize, HeapOffset};

/// One allocation that a user holds, wherever it lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LiveAllocation<'a> {
    /// Where it lies.
    pub place: Place,
    /// What it is.
    pub kind: AllocationKind,
    /// Bytes.
    pub size: ByteSize,
    /// Bytes of them that nobody asked for, as far as that is known.
    pub waste: ByteSize,
    /// Its name, or nothing.
    pub name: &'a str,
    /// The user's own, or nothing.
    pub user_data: &'a str,
}

/// Where a live allocation lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// In a heap.
    Heap {
        /// The heap's place in [`AllocatorReport::heaps`].
        index: usize,
        /// From the start of the heap, also of what lies within something else there.
        offset: HeapOffset,
    },
    /// In memory of its own, at this place of [`AllocatorReport::committed`].
    Committed(usize),
    /// In memory of its own, at this place of [`AllocatorReport::imported`].
    Imported(usize),
}

impl fmt::Display for Place {
    /// `heap 3 at 0x10000`, `committed 2` or `imported 0`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Heap { index, offset } => write!(f, "heap {index} at {:#x}", offset.get()),
            Self::Committed(place) => write!(f, "committed {place}"),
            Self::Imported(place) => write!(f, "imported {place}"),
        }
    }
}

/// Returns every allocation that a user holds: heap by heap in the order of offsets, then committed and imported resources.
/// O(allocations).
#[must_use]
pub fn live_allocations(report: &AllocatorReport) -> Vec<LiveAllocation<'_>> {
    let mut all = Vec::new();
    for (index, heap) in report.heaps.iter().enumerate() {
        collect(&heap.allocations, HeapOffset::ZERO, index, &mut all);
    }
    all.extend(resources(&report.committed, Place::Committed));
    all.extend(resources(&report.imported, Place::Imported));
    all
}

/// Returns the largest allocations that users hold, at most `limit`, from the largest; of equal ones, those listed first.
/// O(n log n) in the number of allocations.
#[must_use]
pub fn largest_allocations(report: &AllocatorReport, limit: usize) -> Vec<LiveAllocation<'_>> {
    let mut all = live_allocations(report);
    all.sort_by_key(|allocation| std::cmp::Reverse(allocation.size));
    all.truncate(limit);
    all
}

fn collect<'a>(
    allocations: &'a [AllocationReport],
    start: HeapOffset,
    index: usize,
    all: &mut Vec<LiveAllocation<'a>>,
) {
    for allocation in allocations {
        let AllocationReport { offset, size, kind, requested, name, user_data, within, .. } = allocation;
        // A report that was not checked may have more than 64 bits.
        let offset = start.checked_add(ByteSize::new(offset.get())).unwrap_or(HeapOffset::new(u64::MAX));
        match within {
            Some(within) => collect(within, offset, index, all),
            None => all.push(LiveAllocation {
                place: Place::Heap { index, offset },
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
    place: fn(usize) -> Place,
) -> impl Iterator<Item = LiveAllocation<'_>> {
    resources.iter().enumerate().map(move |(index, resource)| LiveAllocation {
        place: place(index),
        kind: resource.kind,
        size: resource.size,
        waste: resource.requested.map_or(ByteSize::ZERO, |requested| resource.size.saturating_sub(requested)),
        name: resource.name.as_deref().unwrap_or_default(),
        user_data: resource.user_data.as_deref().unwrap_or_default(),
    })
}
