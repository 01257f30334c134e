//! Reports for tests: a sample with every key, and a strategy for valid reports.

use heapwright::report::{
    AllocationKind, AllocationReport, AllocatorReport, DecisionReport, DeviceReport, HeapContents,
    HeapReport, HeapTypeName, PoolReport, ResourceReport, SegmentGroupReport,
};
use heapwright::{ByteSize, HeapOffset, SegmentGroup};
use proptest::prelude::*;

pub(crate) fn to_json(report: &AllocatorReport) -> String {
    serde_json::to_string(report).unwrap()
}

pub(crate) fn to_html(report: &AllocatorReport) -> String {
    let mut page = Vec::new();
    heapwright_report::write_html(report, &mut page).unwrap();
    String::from_utf8(page).unwrap()
}

pub(crate) fn bytes(bytes: u64) -> ByteSize {
    ByteSize::new(bytes)
}

pub(crate) fn allocation(offset: u64, size: u64, kind: AllocationKind) -> AllocationReport {
    AllocationReport { offset: HeapOffset::new(offset), size: bytes(size), kind, ..Default::default() }
}

fn named(name: &str, allocation: AllocationReport) -> AllocationReport {
    AllocationReport { name: Some(name.to_owned()), ..allocation }
}

/// Returns a backing buffer with these allocations in it.
pub(crate) fn within(container: AllocationReport, allocations: Vec<AllocationReport>) -> AllocationReport {
    AllocationReport { within: Some(allocations), ..container }
}

fn pool(name: &str) -> PoolReport {
    PoolReport { name: name.to_owned(), ..Default::default() }
}

/// Returns a report with two heaps in which every key has a value.
pub(crate) fn full() -> AllocatorReport {
    let mut report = AllocatorReport::new(DeviceReport {
        description: "Sample GPU".to_owned(),
        architecture: "discrete".to_owned(),
        resource_heap_tier: Some(2),
        tight_alignment_tier: Some(1),
        gpu_upload_heaps: Some(true),
        interface_version: Some(14),
    });
    let (heap_type, algorithm) = (Some(HeapTypeName::Default), Some("buddy".to_owned()));
    report.pools = vec![pool("default"), PoolReport { heap_type, algorithm, ..pool("meshes") }];
    report.decisions.push(DecisionReport { reason: "committed: flag".to_owned(), count: 3 });
    report.segment_groups.push(SegmentGroupReport {
        current_usage: Some(bytes(40_000)),
        budget: Some(bytes(1 << 20)),
        ..Default::default()
    });

    let buffer = |name, offset, size| named(name, allocation(offset, size, AllocationKind::Buffer));
    let slots = vec![buffer("slot 0", 0, 256), buffer("slot 2", 512, 256)];
    let ring = named("ring", allocation(4096, 8192, AllocationKind::BackingBuffer));
    let user_data = Some("frame 7".to_owned());
    report.heaps.push(HeapReport {
        heap_type: HeapTypeName::Upload,
        segment_group: SegmentGroup::NonLocal,
        kind: HeapContents::Buffers,
        algorithm: "tlsf".to_owned(),
        size: bytes(65_536),
        flags: vec!["ALLOW_ONLY_BUFFERS".to_owned()],
        allocations: vec![
            within(allocation(0, 1024, AllocationKind::BackingBuffer), slots),
            within(ring, vec![buffer("constants", 100, 50)]),
            AllocationReport { user_data, ..buffer("staging", 16_384, 16_384) },
        ],
        ..Default::default()
    });
    report.heaps.push(HeapReport {
        pool: 1,
        kind: HeapContents::Textures,
        algorithm: "buddy".to_owned(),
        size: bytes(1 << 20),
        allocations: vec![
            named("albedo", allocation(0, 65_536, AllocationKind::Texture)),
            allocation(131_072, 65_536, AllocationKind::RenderTarget),
        ],
        ..Default::default()
    });
    report.committed.push(ResourceReport {
        kind: AllocationKind::RenderTarget,
        size: bytes(1 << 16),
        name: Some("back buffer".to_owned()),
        user_data: Some("swap chain".to_owned()),
        ..Default::default()
    });
    report.imported.push(ResourceReport { size: bytes(4096), ..Default::default() });
    report.heaps_created = 5;
    report.recount();
    report
}

fn kind() -> impl Strategy<Value = AllocationKind> {
    prop::sample::select(AllocationKind::ALL.to_vec())
}

fn text() -> impl Strategy<Value = String> {
    let hostile = prop::sample::select(vec![
        "</script><script>alert(1)</script>",
        "\"><img src=x onerror=alert(1)>",
        "<!-- ' & \u{0}\u{1b}[2J\n\t\u{202e}\u{2028}",
        "影 schön",
    ]);
    prop_oneof![3 => "[a-z]{1,8}", 1 => any::<String>(), 1 => hostile.prop_map(str::to_owned)]
}

/// Returns allocations in a range of this size, with or without free ranges between them.
fn allocations(capacity: u64, depth: u32) -> BoxedStrategy<Vec<AllocationReport>> {
    let one = (0_u64..capacity / 8, 1_u64..=capacity / 4, kind(), prop::option::of(text()), any::<u64>());
    let list = prop::collection::vec(one, 0..6).prop_flat_map(move |list| {
        let mut end = 0;
        let mut all: Vec<BoxedStrategy<AllocationReport>> = Vec::new();
        for (gap, size, kind, name, seed) in list {
            if end + gap + size > capacity {
                continue;
            }
            let mut one = allocation(end + gap, size, kind);
            end += gap + size;
            one.name = name;
            if seed % 5 == 0 {
                one.user_data = Some(format!("user {seed}"));
            }
            all.push(if kind == AllocationKind::BackingBuffer && seed % 2 == 0 && depth > 0 && size >= 8 {
                allocations(size, depth - 1).prop_map(move |all| within(one.clone(), all)).boxed()
            } else {
                Just(one).boxed()
            });
        }
        all
    });
    list.boxed()
}

fn heap() -> impl Strategy<Value = HeapReport> {
    let place = (
        prop::sample::select(HeapTypeName::ALL.to_vec()),
        prop::sample::select(vec![SegmentGroup::Local, SegmentGroup::NonLocal]),
        prop::sample::select(HeapContents::ALL.to_vec()),
        prop::sample::select(vec![8_u64, 65_536, 4 << 20, (1 << 40) + 12_345]),
    );
    place.prop_flat_map(|(heap_type, group, contents, size)| {
        (allocations(size, 2), 0_usize..3, text()).prop_map(move |(allocations, pool, algorithm)| {
            HeapReport {
                pool,
                heap_type,
                segment_group: group,
                kind: contents,
                algorithm,
                size: bytes(size),
                allocations,
                ..Default::default()
            }
        })
    })
}

/// Returns a strategy for valid reports.
pub(crate) fn consistent() -> impl Strategy<Value = AllocatorReport> {
    let resource = (kind(), 1_u64..1 << 40, text());
    let resource = resource.prop_map(|(kind, size, name)| ResourceReport {
        heap_type: HeapTypeName::Custom,
        kind,
        size: bytes(size),
        name: Some(name).filter(|name| !name.is_empty()),
        ..Default::default()
    });
    let resource = resource.boxed();
    let parts = (
        prop::collection::vec(heap(), 0..6),
        prop::collection::vec(resource.clone(), 0..3),
        prop::collection::vec(resource, 0..3),
        prop::collection::btree_set(text(), 0..4),
        (text(), text()),
    );
    parts.prop_map(|(heaps, committed, imported, reasons, (description, name))| {
        let mut report = AllocatorReport::new(DeviceReport { description, ..Default::default() });
        report.pools = vec![pool("default"), pool(&name), pool(&name)];
        report.decisions = reasons.into_iter().map(|reason| DecisionReport { reason, count: 7 }).collect();
        report.heaps = heaps;
        report.committed = committed;
        report.imported = imported;
        report.recount();
        report
    })
}
