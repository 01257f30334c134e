//! Reports for tests: a sample with every key, and a strategy for valid reports.

use heapwright::report::{
    AllocationKind, AllocationReport, AllocatorReport, DecisionReport, DeviceReport, HeapContents,
    HeapReport, HeapTypeName, PoolReport, ResourceReport, SegmentGroupReport,
};
use heapwright::{ByteSize, GpuVirtualAddress, HeapOffset, SegmentGroup};
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
    AllocationReport::new(HeapOffset::new(offset), bytes(size), kind)
}

/// Returns a report with two heaps in which every key has a value.
pub(crate) fn full() -> AllocatorReport {
    let mut device = DeviceReport::new("Sample GPU", "discrete");
    device.resource_heap_tier = Some(2);
    device.tight_alignment_tier = Some(1);
    device.gpu_upload_heaps = Some(true);
    device.interface_version = Some(14);
    let mut report = AllocatorReport::new(device);
    let mut pool = PoolReport::new("meshes");
    pool.heap_type = Some(HeapTypeName::Default);
    pool.algorithm = Some("buddy".to_owned());
    report.pools = vec![PoolReport::new("default"), pool];
    report.decisions.push(DecisionReport::new("committed: flag", 3));
    report.segment_groups.push(SegmentGroupReport::new(
        SegmentGroup::Local,
        Some(bytes(40_000)),
        Some(bytes(1 << 20)),
    ));

    let slots = vec![
        allocation(0, 256, AllocationKind::Buffer).with_name("slot 0").with_requested(bytes(200)),
        allocation(512, 256, AllocationKind::Buffer).with_name("slot 2"),
    ];
    let mut heap =
        HeapReport::new(HeapTypeName::Upload, SegmentGroup::NonLocal, HeapContents::Buffers, bytes(65_536))
            .with_flags(heapwright::d3d12::D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS)
            .with_gpu_virtual_address(GpuVirtualAddress::new(0x1_0000_0000));
    heap.allocations = vec![
        allocation(0, 1024, AllocationKind::Slab).with_within(slots),
        allocation(4096, 8192, AllocationKind::BackingBuffer)
            .with_name("ring")
            .with_within(vec![allocation(100, 50, AllocationKind::Buffer).with_name("constants")]),
        allocation(16_384, 16_384, AllocationKind::Buffer).with_name("staging").with_user_data("frame 7"),
    ];
    report.heaps.push(heap);

    let mut heap =
        HeapReport::new(HeapTypeName::Default, SegmentGroup::Local, HeapContents::Textures, bytes(1 << 20))
            .in_pool(1)
            .with_algorithm("buddy");
    heap.allocations = vec![
        allocation(0, 65_536, AllocationKind::Texture).with_name("albedo"),
        allocation(131_072, 65_536, AllocationKind::RenderTarget),
    ];
    report.heaps.push(heap);

    let (default, local) = (HeapTypeName::Default, SegmentGroup::Local);
    let mut committed = ResourceReport::new(default, local, AllocationKind::RenderTarget, bytes(1 << 16))
        .with_name("back buffer");
    committed.pool = Some(0);
    committed.requested = Some(bytes(60_000));
    committed.user_data = Some("swap chain".to_owned());
    committed.gpu_virtual_address = GpuVirtualAddress::new(0x2_0000_0000);
    report.committed.push(committed);
    report.imported.push(ResourceReport::new(default, local, AllocationKind::Unknown, bytes(4096)));
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
            if seed % 3 == 0 {
                one = one.with_requested(bytes(seed / 3 % (size + 1)));
            }
            if seed % 5 == 0 {
                one.user_data = Some(format!("user {seed}"));
            }
            all.push(if kind.is_container() && seed % 2 == 0 && depth > 0 && size >= 8 {
                allocations(size, depth - 1).prop_map(move |within| one.clone().with_within(within)).boxed()
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
        (allocations(size, 2), 0_usize..3, any::<u32>(), text()).prop_map(
            move |(allocations, pool, address, algorithm)| {
                let mut heap = HeapReport::new(heap_type, group, contents, bytes(size))
                    .in_pool(pool)
                    .with_algorithm(algorithm)
                    .with_gpu_virtual_address(GpuVirtualAddress::new(u64::from(address) << 16));
                heap.allocations = allocations;
                heap
            },
        )
    })
}

/// Returns a strategy for valid reports.
pub(crate) fn consistent() -> impl Strategy<Value = AllocatorReport> {
    let resource = (kind(), 1_u64..1 << 40, prop::option::of(0_usize..3), text());
    let resource = resource.prop_map(|(kind, size, pool, name)| {
        let (heap_type, group) = (HeapTypeName::Custom, SegmentGroup::Local);
        let mut resource = ResourceReport::new(heap_type, group, kind, bytes(size)).with_name(name);
        resource.pool = pool;
        resource
    });
    let resource = resource.boxed();
    let parts = (
        prop::collection::vec(heap(), 0..6),
        prop::collection::vec(resource.clone(), 0..3),
        prop::collection::vec(resource, 0..3),
        prop::collection::btree_set(text(), 0..4),
        (text(), text()),
    );
    parts.prop_map(|(heaps, committed, imported, reasons, (description, pool))| {
        let mut report = AllocatorReport::new(DeviceReport::new(description, "UMA"));
        report.pools = vec![PoolReport::new("default"), PoolReport::new(pool.clone()), PoolReport::new(pool)];
        report.decisions = reasons.into_iter().map(|reason| DecisionReport::new(reason, 7)).collect();
        report.heaps = heaps;
        report.committed = committed;
        report.imported = imported;
        report.recount();
        report
    })
}
