//! The totals of a report.

use heapwright_core::ByteSize;

use super::allocator_report::{
    AllocatorReport, HeapTypeReport, ResourceReport, SegmentGroupReport, Tally, TotalsReport,
};
use super::heap_report::{AllocationReport, HeapReport};
use super::names::{AllocationKind, HeapTypeName};
use crate::SegmentGroup;

impl AllocatorReport {
    /// Sorts allocations by offset, numbers the heaps, and computes all totals. O(n log n) in the number of
    /// allocations, O(n) if they are sorted.
    ///
    /// Afterwards `heap_types` lists the heap types that are not empty. `segment_groups` lists the groups that are not
    /// empty and those that were listed before, which keep their usage and budget. `heaps_created` is at least the
    /// number of heaps.
    ///
    /// Totals saturate at 64 bits, and a heap whose `pool` is not in `pools` counts in no pool. Neither
    /// occurs in the report of an allocator.
    pub fn recount(&mut self) {
        let mut totals = TotalsReport::default();
        let mut heap_types = [TotalsReport::default(); HeapTypeName::ALL.len()];
        let mut segment_groups = [TotalsReport::default(); SegmentGroup::ALL.len()];
        for pool in &mut self.pools {
            pool.totals = TotalsReport::default();
        }
        let mut add = |part: &TotalsReport, heap_type, group| {
            totals.add(part);
            heap_types[heap_type as usize].add(part);
            segment_groups[group as usize].add(part);
        };
        for (place, heap) in self.heaps.iter_mut().enumerate() {
            heap.index = place;
            sort(&mut heap.allocations);
            let sums = of_heap(heap);
            heap.used = sums.used;
            add(&sums, heap.heap_type, heap.segment_group);
            if let Some(pool) = self.pools.get_mut(heap.pool) {
                pool.totals.add(&sums);
            }
        }
        for &ResourceReport { heap_type, segment_group, size, .. } in &self.committed {
            let committed = Tally { count: 1, size };
            add(&TotalsReport { committed, ..TotalsReport::default() }, heap_type, segment_group);
        }
        for &ResourceReport { heap_type, segment_group, size, .. } in &self.imported {
            let imported = Tally { count: 1, size };
            add(&TotalsReport { imported, ..TotalsReport::default() }, heap_type, segment_group);
        }
        let is_used = |totals: &TotalsReport| *totals != TotalsReport::default();
        self.heap_types = std::iter::zip(HeapTypeName::ALL, heap_types)
            .filter(|(_, totals)| is_used(totals))
            .map(|(heap_type, totals)| HeapTypeReport { heap_type, totals })
            .collect();
        for (group, totals) in std::iter::zip(SegmentGroup::ALL, segment_groups) {
            match self.segment_groups.iter_mut().find(|listed| listed.segment_group == group) {
                Some(listed) => listed.totals = totals,
                None if is_used(&totals) => {
                    let segment_group = group;
                    let listed = SegmentGroupReport { segment_group, totals, ..Default::default() };
                    self.segment_groups.push(listed);
                }
                None => {}
            }
        }
        self.totals = totals;
        self.heaps_created = self.heaps_created.max(totals.heap_count);
    }
}

fn of_heap(heap: &HeapReport) -> TotalsReport {
    let mut all = Tally::default();
    let mut within_resource = Tally::default();
    tally(&heap.allocations, false, &mut all, &mut within_resource);
    TotalsReport {
        reserved: heap.size,
        used: all.size,
        // If allocations of a report overlap, more than the heap's size may be used.
        free: heap.size.saturating_sub(all.size),
        heap_count: 1,
        empty_heap_count: u64::from(all.count == 0),
        allocation_count: all.count,
        within_resource,
        ..TotalsReport::default()
    }
}

/// Counts the allocations that users hold: those within containers, and those that are not containers with known
/// contents.
fn tally(
    allocations: &[AllocationReport],
    is_within_resource: bool,
    all: &mut Tally,
    within_resource: &mut Tally,
) {
    for allocation in allocations {
        if let Some(within) = &allocation.within {
            let is_within_resource = is_within_resource || allocation.kind == AllocationKind::BackingBuffer;
            tally(within, is_within_resource, all, within_resource);
            continue;
        }
        let one = Tally { count: 1, size: allocation.size };
        all.add(one);
        if is_within_resource {
            within_resource.add(one);
        }
    }
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.count = self.count.saturating_add(other.count);
        self.size = self.size.saturating_add(other.size);
    }
}

impl TotalsReport {
    fn add(&mut self, other: &Self) {
        let add = |sum: &mut ByteSize, more| *sum = sum.saturating_add(more);
        add(&mut self.reserved, other.reserved);
        add(&mut self.used, other.used);
        add(&mut self.free, other.free);
        self.heap_count = self.heap_count.saturating_add(other.heap_count);
        self.empty_heap_count = self.empty_heap_count.saturating_add(other.empty_heap_count);
        self.allocation_count = self.allocation_count.saturating_add(other.allocation_count);
        self.committed.add(other.committed);
        self.imported.add(other.imported);
        self.within_resource.add(other.within_resource);
    }
}

fn sort(allocations: &mut [AllocationReport]) {
    allocations.sort_by_key(|allocation| (allocation.offset, allocation.size));
    for allocation in allocations {
        sort(allocation.within.as_deref_mut().unwrap_or_default());
    }
}
