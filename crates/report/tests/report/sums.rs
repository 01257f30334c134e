//! Sums of `recount`, free ranges and lists of allocations.

use crate::sample::{allocation, bytes, full};
use heapwright::ByteSize;
use heapwright::report::{
    AllocationKind, AllocatorReport, DeviceReport, HeapReport, HeapTypeName, PoolReport, Tally,
};
use heapwright_report::session::history_of;

#[test]
fn containers_count_as_their_nested_allocations() {
    let report = full();
    let heap = &report.heaps[0];
    assert_eq!(heap.used, bytes(256 + 256 + 50 + 16_384));
    let totals = &report.heap_types[1].totals;
    assert_eq!(report.heap_types[1].heap_type, HeapTypeName::Upload);
    assert_eq!((totals.reserved, totals.used, totals.allocation_count), (bytes(65_536), heap.used, 4));
    assert_eq!(totals.free, bytes(65_536 - 16_946));
    assert_eq!(totals.within_resource, Tally { count: 3, size: bytes(256 + 256 + 50) });
}

#[test]
fn a_container_without_nested_list_counts_as_a_whole() {
    let mut report = full();
    report.heaps[0].allocations[0].within = None;
    report.heaps[0].allocations[1].within = Some(Vec::new());
    report.recount();
    assert_eq!(report.heaps[0].used, bytes(1024 + 16_384));
    assert_eq!(report.heap_types[1].totals.allocation_count, 2);
    assert_eq!(report.totals.within_resource, Tally::default());
    assert_eq!(report.totals.empty_heap_count, 0);
}

#[test]
fn resources_outside_heaps_are_counted_separately() {
    let report = full();
    let totals = &report.totals;
    assert_eq!((totals.heap_count, totals.allocation_count), (2, 6));
    assert_eq!(totals.reserved, bytes(65_536 + (1 << 20)));
    assert_eq!(totals.committed, Tally { count: 1, size: bytes(65_536) });
    assert_eq!(totals.imported, Tally { count: 1, size: bytes(4096) });
    // The committed resource belongs to the first pool, the imported one to no pool.
    assert_eq!(report.totals.committed.count, 1);
    assert_eq!(report.pools[1].totals.reserved, bytes(1 << 20));
}

#[test]
fn recount_keeps_other_values_and_sorts_groups() {
    let mut report = full();
    let expected = report.clone();
    report.heaps[1].allocations.reverse();
    report.heaps[0].allocations[0].within.as_mut().unwrap().reverse();
    report.heaps[1].index = 9;
    report.heap_types.clear();
    report.segment_groups.pop();
    report.totals = Default::default();
    report.recount();
    assert_eq!(report, expected);
    assert_eq!(report.segment_groups[0].budget, Some(bytes(1 << 20)));
    assert_eq!(report.heaps_created, 5);
}

#[test]
fn an_empty_heap_is_one_free_range() {
    let mut report = AllocatorReport::new(DeviceReport::default());
    report.pools.push(PoolReport::default());
    report.heaps.push(HeapReport { size: ByteSize::from_mib(1), ..Default::default() });
    report.recount();
    assert_eq!((report.totals.empty_heap_count, report.heaps_created), (1, 1));
    assert_eq!(history_of(&report).scattered, [0]);
}

#[test]
fn free_ranges_are_before_between_and_after_allocations() {
    let free = |list: &[(u64, u64)]| {
        let allocations = list.iter().map(|&(offset, size)| allocation(offset, size, AllocationKind::Buffer));
        let mut report = AllocatorReport::new(DeviceReport::default());
        let allocations = allocations.collect();
        report.heaps.push(HeapReport { size: bytes(100), allocations, ..Default::default() });
        history_of(&report).scattered[0]
    };
    assert_eq!(free(&[(0, 100)]), 0);
    // 10, 5 and 10.
    assert_eq!(free(&[(10, 20), (30, 5), (40, 50)]), 15);
    assert_eq!(free(&[(10, 60)]), 10);
    // An invalid report does not cause a panic.
    assert_eq!(free(&[(50, 10), (0, 200), (u64::MAX, u64::MAX)]), 0);
}

#[test]
fn live_allocations_include_nested_ones() {
    let report = full();
    let blocks = history_of(&report).blocks;
    let totals = &report.totals;
    let count = totals.allocation_count + totals.committed.count + totals.imported.count;
    assert_eq!(blocks.len() as u64, count);
    assert_eq!((&*blocks[2].name, blocks[2].heap, blocks[2].offset), ("constants", Some(0), 4196));
    assert!(blocks.iter().map(|block| block.id).eq(0..count), "each has its number");
}
