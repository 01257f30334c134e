//! Dumps of D3D12 Memory Allocator and Vulkan Memory Allocator.

use heapwright::report::{AllocationKind, AllocatorReport, HeapTypeName};
use heapwright::{ByteSize, SegmentGroup};
use heapwright_report::from_dump;
use heapwright_trace::DumpedBy;

const D3D12MA: &str = include_str!("../dumps/d3d12ma_3.json");
const D3D12MA_2: &str = include_str!("../dumps/d3d12ma_2.json");
const VMA: &str = include_str!("../dumps/vma_3.json");
const VMA_2: &str = include_str!("../dumps/vma_2.json");

/// Pool, heap type, size and used bytes of each heap.
fn heaps(report: &AllocatorReport) -> Vec<(&str, HeapTypeName, u64, u64)> {
    let heaps = report.heaps.iter();
    heaps
        .map(|heap| (&*report.pools[heap.pool].name, heap.heap_type, heap.size.get(), heap.used.get()))
        .collect()
}

fn budgets(report: &AllocatorReport) -> Vec<(SegmentGroup, Option<u64>, Option<u64>)> {
    let get = |size: Option<ByteSize>| size.map(ByteSize::get);
    let groups = report.segment_groups.iter();
    groups.map(|group| (group.segment_group, get(group.current_usage), get(group.budget))).collect()
}

fn committed(report: &AllocatorReport) -> Vec<(&str, HeapTypeName, AllocationKind, u64)> {
    let resources = report.committed.iter();
    resources
        .map(|resource| {
            (resource.name.as_deref().unwrap_or(""), resource.heap_type, resource.kind, resource.size.get())
        })
        .collect()
}

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

#[test]
fn a_dump_of_d3d12ma_is_a_report() {
    let report = from_dump(D3D12MA, DumpedBy::D3d12ma).unwrap();
    assert_eq!(report.device.description, "Test GPU");
    assert_eq!(
        heaps(&report),
        [
            ("default DEFAULT - Buffers", HeapTypeName::Default, 64 * MIB, MIB + (64 << 10)),
            ("default UPLOAD - Buffers", HeapTypeName::Upload, 4 * MIB, 64 << 10),
            ("0 - streaming", HeapTypeName::Default, 2 * MIB, 2 * MIB),
            ("0 - streaming", HeapTypeName::Default, 2 * MIB, 0),
        ]
    );
    let found: Vec<_> =
        report.heaps[0].allocations.iter().map(|found| (found.offset.get(), found.name.as_deref())).collect();
    assert_eq!(found, [(0, Some("vertices")), (128 << 10, Some("0x00007ff6a0001000"))]);
    let kinds: Vec<_> = report.heaps[2].allocations.iter().map(|found| found.kind).collect();
    assert_eq!(kinds, [AllocationKind::Texture, AllocationKind::RenderTarget]);
    // Three pools list the back buffer.
    assert_eq!(
        committed(&report),
        [
            ("back buffer", HeapTypeName::Default, AllocationKind::RenderTarget, 8 * MIB),
            ("own", HeapTypeName::Default, AllocationKind::Buffer, 3 * MIB),
        ]
    );
    assert_eq!(
        budgets(&report),
        [
            (SegmentGroup::Local, Some(100 * MIB), Some(7 * GIB)),
            (SegmentGroup::NonLocal, Some(20 * MIB), Some(16 * GIB)),
        ]
    );
}

#[test]
fn a_dump_of_vma_is_a_report() {
    let report = from_dump(VMA, DumpedBy::Vma).unwrap();
    assert_eq!(
        heaps(&report),
        [
            ("default Type 0", HeapTypeName::Default, 4 * MIB, MIB),
            ("0 - ring", HeapTypeName::Upload, 4 * MIB, 256),
        ]
    );
    assert_eq!(report.heaps[0].allocations[0].kind, AllocationKind::RenderTarget);
    assert_eq!(
        committed(&report),
        [("000001D85B8B1A80", HeapTypeName::Default, AllocationKind::Buffer, MIB)]
    );
    assert_eq!(
        budgets(&report),
        [
            (SegmentGroup::Local, Some(10 * MIB), Some(7 * GIB)),
            (SegmentGroup::NonLocal, Some(5 * MIB), Some(12 * GIB)),
        ]
    );
}

#[test]
fn dumps_of_version_2_are_reports() {
    let report = from_dump(D3D12MA_2, DumpedBy::D3d12ma).unwrap();
    assert_eq!(heaps(&report), [("default DEFAULT", HeapTypeName::Default, 2 * MIB, MIB)]);
    assert_eq!(committed(&report), [("", HeapTypeName::Default, AllocationKind::Buffer, MIB)]);
    assert_eq!(budgets(&report)[0], (SegmentGroup::Local, Some(3 * MIB), Some(7 * GIB)));
    let report = from_dump(VMA_2, DumpedBy::Vma).unwrap();
    assert_eq!(
        heaps(&report),
        [("default Type 0", HeapTypeName::Default, 2 * MIB, MIB), ("7", HeapTypeName::Readback, MIB, MIB),]
    );
    assert_eq!(report.heaps[1].allocations[0].name.as_deref(), Some("mine"));
    assert_eq!(committed(&report), [("", HeapTypeName::Readback, AllocationKind::Buffer, MIB)]);
    assert_eq!(budgets(&report)[0], (SegmentGroup::Local, Some(3 * MIB), Some(7 * GIB)));
}

#[test]
fn a_virtual_block_is_a_heap() {
    let json = r#"{"TotalBytes": 100, "UnusedBytes": 70, "Allocations": 1, "UnusedRanges": 2, "Suballocations": [
        {"Offset": 0, "Type": "FREE", "Size": 10}, {"Offset": 10, "Size": 30, "CustomData": 5}, {"Offset": 40, "Type": "FREE", "Size": 60}]}"#;
    let report = from_dump(json, DumpedBy::VirtualBlock).unwrap();
    assert_eq!(heaps(&report), [("virtual block", HeapTypeName::Custom, 100, 30)]);
    assert_eq!(report.heaps[0].allocations[0].name.as_deref(), Some("0x5"));
}

#[test]
fn a_dump_that_cannot_be_shown_is_an_error() {
    let error = |json: &str| from_dump(json, DumpedBy::D3d12ma).unwrap_err().to_string();
    assert_eq!(
        error(r#"{"General": {"API": "Direct3D 12"}, "MemoryInfo": {}}"#),
        "DefaultPools: is missing: the dump has no map of its blocks; create it with the argument for the detailed map"
    );
    let overlap = r#"{"DefaultPools": {"DEFAULT": {"Blocks": {"0": {"TotalBytes": 9, "Suballocations": [
        {"Offset": 0, "Size": 5, "Type": "BUFFER"}, {"Offset": 4, "Size": 5, "Type": "BUFFER"}]}}}}}"#;
    assert_eq!(error(overlap), "heaps[0].allocations[1].offset: is 4, but the previous allocation ends at 5");
    assert!(error("{").starts_with("line 1, column 1: "), "{}", error("{"));
}
