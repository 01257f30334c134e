//! What the heaps and resources of a report add up to.

use heapwright_core::ByteSize;

use super::allocator_report::{
    AllocatorReport, HeapTypeReport, ResourceReport, SegmentGroupReport, Tally, TotalsReport,
};
use super::error::ReportError;
use super::heap_report::{AllocationReport, HeapReport};
use super::names::{AllocationKind, HeapTypeName};
use crate::SegmentGroup;

/// All sums of a report.
#[derive(Debug)]
pub(super) struct Sums {
    pub(super) totals: TotalsReport,
    /// By place in [`HeapTypeName::ALL`].
    pub(super) heap_types: [TotalsReport; HeapTypeName::ALL.len()],
    /// By place in [`SEGMENT_GROUPS`].
    pub(super) segment_groups: [TotalsReport; SEGMENT_GROUPS.len()],
    pub(super) pools: Vec<TotalsReport>,
    /// `used` of each heap.
    pub(super) heaps_used: Vec<ByteSize>,
}

pub(super) const SEGMENT_GROUPS: [SegmentGroup; 2] = [SegmentGroup::Local, SegmentGroup::NonLocal];

impl Sums {
    /// Adds everything up. O(allocations).
    ///
    /// # Errors
    ///
    /// A pool that there is not, or more than fits in 64 bits.
    pub(super) fn of(report: &AllocatorReport) -> Result<Self, ReportError> {
        let mut sums = Self {
            totals: TotalsReport::default(),
            heap_types: Default::default(),
            segment_groups: Default::default(),
            pools: vec![TotalsReport::default(); report.pools.len()],
            heaps_used: Vec::with_capacity(report.heaps.len()),
        };
        for (place, heap) in report.heaps.iter().enumerate() {
            let path = || format!("heaps[{place}]");
            let totals = of_heap(heap).ok_or_else(|| too_much(path()))?;
            sums.heaps_used.push(totals.used);
            let group = (heap.heap_type, heap.segment_group, Some(heap.pool));
            sums.add(&totals, group, path)?;
        }
        for (list, resources) in [("committed", &report.committed), ("imported", &report.imported)] {
            for (place, resource) in resources.iter().enumerate() {
                let ResourceReport { heap_type, segment_group, pool, size, .. } = *resource;
                let tally = Tally { count: 1, size };
                let totals = match list {
                    "committed" => TotalsReport { committed: tally, ..TotalsReport::default() },
                    _ => TotalsReport { imported: tally, ..TotalsReport::default() },
                };
                sums.add(&totals, (heap_type, segment_group, pool), || format!("{list}[{place}]"))?;
            }
        }
        Ok(sums)
    }

    fn add(
        &mut self,
        totals: &TotalsReport,
        (heap_type, segment_group, pool): (HeapTypeName, SegmentGroup, Option<usize>),
        path: impl Fn() -> String,
    ) -> Result<(), ReportError> {
        let pool_count = self.pools.len();
        let of_pool = match pool {
            None => None,
            Some(place) => Some(self.pools.get_mut(place).ok_or_else(|| {
                ReportError::at(
                    format!("{}.pool", path()),
                    format!("{place}, but there are {pool_count} pools"),
                )
            })?),
        };
        let all = [
            Some(&mut self.totals),
            Some(&mut self.heap_types[place_of_heap_type(heap_type)]),
            Some(&mut self.segment_groups[place_of_segment_group(segment_group)]),
            of_pool,
        ];
        for sum in all.into_iter().flatten() {
            *sum = plus(sum, totals).ok_or_else(|| too_much(path()))?;
        }
        Ok(())
    }
}

fn too_much(path: String) -> ReportError {
    ReportError::at(path, "the bytes up to here do not fit in 64 bits")
}

pub(super) fn place_of_heap_type(heap_type: HeapTypeName) -> usize {
    match heap_type {
        HeapTypeName::Default => 0,
        HeapTypeName::Upload => 1,
        HeapTypeName::Readback => 2,
        HeapTypeName::GpuUpload => 3,
        HeapTypeName::Custom => 4,
    }
}

pub(super) fn place_of_segment_group(group: SegmentGroup) -> usize {
    match group {
        SegmentGroup::Local => 0,
        SegmentGroup::NonLocal => 1,
    }
}

fn of_heap(heap: &HeapReport) -> Option<TotalsReport> {
    let mut all = Tally::default();
    let mut within_resource = Tally::default();
    tally(&heap.allocations, false, &mut all, &mut within_resource)?;
    Some(TotalsReport {
        reserved: heap.size,
        used: all.size,
        // Broken reports have more; what checks them tells where.
        free: heap.size.saturating_sub(all.size),
        heap_count: 1,
        empty_heap_count: u64::from(heap.allocations.is_empty()),
        allocation_count: all.count,
        within_resource,
        ..TotalsReport::default()
    })
}

/// Counts what users hold: what lies in containers, and what is none or does not tell what is in it.
fn tally(
    allocations: &[AllocationReport],
    is_within_resource: bool,
    all: &mut Tally,
    within_resource: &mut Tally,
) -> Option<()> {
    for allocation in allocations {
        if let Some(within) = &allocation.within {
            let is_within_resource = is_within_resource || allocation.kind == AllocationKind::BackingBuffer;
            tally(within, is_within_resource, all, within_resource)?;
            continue;
        }
        let one = Tally { count: 1, size: allocation.size };
        *all = sum(*all, one)?;
        if is_within_resource {
            *within_resource = sum(*within_resource, one)?;
        }
    }
    Some(())
}

fn sum(left: Tally, right: Tally) -> Option<Tally> {
    Some(Tally { count: left.count.checked_add(right.count)?, size: left.size.checked_add(right.size)? })
}

fn plus(left: &TotalsReport, right: &TotalsReport) -> Option<TotalsReport> {
    Some(TotalsReport {
        reserved: left.reserved.checked_add(right.reserved)?,
        used: left.used.checked_add(right.used)?,
        free: left.free.checked_add(right.free)?,
        heap_count: left.heap_count.checked_add(right.heap_count)?,
        empty_heap_count: left.empty_heap_count.checked_add(right.empty_heap_count)?,
        allocation_count: left.allocation_count.checked_add(right.allocation_count)?,
        committed: sum(left.committed, right.committed)?,
        imported: sum(left.imported, right.imported)?,
        within_resource: sum(left.within_resource, right.within_resource)?,
    })
}

impl AllocatorReport {
    /// Brings the report in order: sorts allocations by offset, numbers the heaps, and makes every sum. O(n log n) of
    /// allocations, O(n) where they are sorted.
    ///
    /// Afterwards `heap_types` lists those that something lies in; `segment_groups` lists these and those that were listed
    /// before, which keep their usage and budget; `heaps_created` is at least the number of heaps.
    ///
    /// What makes a report wrong otherwise, as overlapping allocations, is left for [`check`](Self::check).
    ///
    /// # Errors
    ///
    /// A `pool` that is not in `pools`, or sums above 64 bits. The sums are then those from before.
    pub fn recount(&mut self) -> Result<(), ReportError> {
        for (place, heap) in self.heaps.iter_mut().enumerate() {
            heap.index = place;
            sort(&mut heap.allocations);
        }
        let sums = Sums::of(self)?;
        for (heap, used) in self.heaps.iter_mut().zip(&sums.heaps_used) {
            heap.used = *used;
        }
        for (pool, totals) in self.pools.iter_mut().zip(&sums.pools) {
            pool.totals = *totals;
        }
        let nothing = TotalsReport::default();
        self.heap_types = std::iter::zip(HeapTypeName::ALL, sums.heap_types)
            .filter(|(_, totals)| *totals != nothing)
            .map(|(heap_type, totals)| HeapTypeReport::new(heap_type, totals))
            .collect();
        for (group, totals) in std::iter::zip(SEGMENT_GROUPS, sums.segment_groups) {
            match self.segment_groups.iter_mut().find(|listed| listed.segment_group == group) {
                Some(listed) => listed.totals = totals,
                None if totals == nothing => {}
                None => {
                    self.segment_groups
                        .push(SegmentGroupReport { totals, ..SegmentGroupReport::new(group, None, None) });
                }
            }
        }
        self.totals = sums.totals;
        self.heaps_created = self.heaps_created.max(sums.totals.heap_count);
        Ok(())
    }
}

fn sort(allocations: &mut [AllocationReport]) {
    allocations.sort_by_key(|allocation| (allocation.offset, allocation.size));
    for allocation in allocations {
        sort(allocation.within.as_deref_mut().unwrap_or_default());
    }
}
