//! Every number that an allocator tells, against what was done and what the adapter says.
#![allow(missing_docs, reason = "a test")]

mod faulty_device;
mod gpu;

use faulty_device::{Call, Faults, FaultyDevice};
use gpu::*;
use heapwright::d3d12::*;
use heapwright::{
    ByteSize, Decision, HeapType, Placement, Reason, ResourceAllocationDesc, ResourceAllocationFlags,
    ResourceAllocator, ResourceAllocatorDesc, ResourceAllocatorFlags, SegmentGroup, SuballocationAlgorithm,
};

fn sum(sizes: &[ByteSize]) -> ByteSize {
    ByteSize::new(sizes.iter().map(|size| size.get()).sum())
}

#[test]
fn every_field_of_the_statistics_counts_what_it_says() {
    let gpu = open("discrete");
    let desc =
        ResourceAllocatorDesc { suballocation_algorithm: SuballocationAlgorithm::Slab, ..Default::default() };
    let allocator = allocator(&gpu, desc);
    assert_eq!(allocator.stats(), Default::default(), "nothing yet");
    let flags = |flags| place(HeapType::Upload, flags);
    let shared = local(&allocator, 64 * KIB);
    let own = buffer(&allocator, &flags(ResourceAllocationFlags::NEVER_SUBALLOCATE_HEAP), 100 * KIB);
    let committed = buffer(&allocator, &flags(ResourceAllocationFlags::ALWAYS_COMMITTED), 300 * KIB);
    let part = buffer(&allocator, &flags(ResourceAllocationFlags::ALLOW_SUBALLOCATE_WITHIN_RESOURCE), 1000);
    drop(local(&allocator, 200 * KIB));

    let stats = allocator.stats();
    let used = [shared.size(), own.size(), committed.size(), part.size()];
    assert_eq!(stats.used, sum(&used));
    assert_eq!((stats.allocation_count, stats.used_block_count), (4, 3));
    // 64 KiB, 128 KiB of its own, committed, what the part is of, and 256 KiB that are empty.
    let backing = ByteSize::new(desc_of(&part).Width);
    assert_eq!(stats.reserved, sum(&[ByteSize::from_kib(64 + 128 + 256), committed.size(), backing]));
    assert_eq!(stats.reserved, usage(&gpu));
    assert_eq!(stats.reserved, allocator.reserved());
    assert_eq!((stats.heap_count, stats.used_heap_count, stats.empty_heap_count), (5, 4, 1));
    assert_eq!((stats.committed, stats.committed_count), (committed.size(), 1));
    assert_eq!(stats.free_heap_usage, ByteSize::from_kib(256));
    assert_eq!(stats.used_heap_usage, stats.reserved.saturating_sub(stats.free_heap_usage));
    assert_eq!(stats.heaps_created, 4);
    assert_eq!((stats.size_cache_misses, stats.size_cache_hits), (3, 0));
    assert_eq!((stats.imported_count, stats.deferred_count), (0, 0));

    // By heap type and by segment group.
    let [default, upload] = [HeapType::Default, HeapType::Upload].map(|of| allocator.totals_of(of));
    assert_eq!((default.used, default.allocation_count), (shared.size(), 1));
    assert_eq!(
        (default.reserved, default.heap_count, default.empty_heap_count),
        (ByteSize::from_kib(320), 2, 1)
    );
    assert_eq!((upload.used, upload.allocation_count), (sum(&used[1..]), 3));
    for group in [SegmentGroup::Local, SegmentGroup::NonLocal] {
        assert_eq!(allocator.totals_in(group).reserved, usage_of(&gpu, group), "{group}");
    }
    assert_eq!(allocator.totals_in(SegmentGroup::Local), default);
    assert_eq!(allocator.totals_in(SegmentGroup::NonLocal), upload);
    drop((shared, own, committed, part));
    let stats = allocator.stats();
    assert_eq!((stats.used, stats.allocation_count), (ByteSize::ZERO, 0));
    assert_eq!(stats.free_heap_usage.saturating_sub(stats.reserved), ByteSize::ZERO);
    assert_returns_everything(&allocator, &gpu);
}

#[test]
fn numbers_of_unified_memory_are_counted_once() {
    for profile in ["uma", "cache-coherent-uma"] {
        let gpu = open(profile);
        let allocator = with_flags(&gpu, ResourceAllocatorFlags::ALLOW_UNIFIED_MEMORY);
        let within = ResourceAllocationFlags::ALLOW_SUBALLOCATE_WITHIN_RESOURCE;
        let held: Vec<_> = HeapType::ALL
            .into_iter()
            .flat_map(|of| {
                [buffer(&allocator, &of.into_place(), 1000), buffer(&allocator, &place(of, within), 10)]
            })
            .collect();
        let stats = allocator.stats();
        assert_eq!(stats.allocation_count, 8, "{profile}");
        assert_eq!(stats.used, sum(&held.iter().map(|one| one.size()).collect::<Vec<_>>()), "{profile}");
        assert_eq!(stats.reserved, usage(&gpu), "{profile}");
        assert_eq!(allocator.totals_in(SegmentGroup::Local).reserved, stats.reserved);
        drop(held);
        assert_returns_everything(&allocator, &gpu);
    }
}

#[test]
fn unusual_decisions_are_counted_with_their_reasons() {
    let gpu = open("discrete");
    let faults = Faults::new(Some(Call::CreateHeap), E_OUTOFMEMORY);
    let device = FaultyDevice::wrap(&gpu.device, &faults);
    let desc = ResourceAllocatorDesc {
        suballocation_algorithm: SuballocationAlgorithm::BuddySystem,
        preferred_heap_size: ByteSize::from_mib(1),
        ..Default::default()
    };
    let allocator = ResourceAllocator::new(&device, Some(&gpu.adapter), desc).expect("sound");
    let make = |flags, heap_flags, size| {
        let place = ResourceAllocationDesc {
            extra_required_heap_flags: heap_flags,
            ..place(HeapType::Default, flags)
        };
        buffer(&allocator, &place, size)
    };
    let none = ResourceAllocationFlags::empty();
    let mut made = vec![
        make(none, 0, 100),
        make(none, 0, 3 * MIB),
        make(ResourceAllocationFlags::NEVER_SUBALLOCATE_HEAP, 0, 100),
        make(ResourceAllocationFlags::ALWAYS_COMMITTED, 0, 100),
        make(none, D3D12_HEAP_FLAG_SHARED, 100),
    ];
    faults.fail_all();
    made.push(make(none, 0, 2 * MIB));
    let decision = |placement, reason| Decision { placement, reason };
    let expected = [
        decision(Placement::SharedHeap, Reason::Usual),
        decision(Placement::OwnHeap, Reason::TooLargeToShare),
        decision(Placement::OwnHeap, Reason::AllocationFlag),
        decision(Placement::Committed, Reason::AllocationFlag),
        decision(Placement::Committed, Reason::ExtraHeapFlags),
        decision(Placement::Committed, Reason::OutOfMemory),
    ];
    assert_eq!(made.iter().map(|one| one.decision()).collect::<Vec<_>>(), expected);
    let mut counted = allocator.decisions();
    counted.sort();
    let mut unusual: Vec<_> = expected[1..].iter().map(|&decision| (decision, 1)).collect();
    unusual.sort();
    assert_eq!(counted, unusual, "all but the usual one, which is left out");
}

#[test]
fn heaps_go_back_by_bytes_whole_ones_and_no_more_than_needed() {
    let gpu = any_device();
    let desc = ResourceAllocatorDesc {
        suballocation_algorithm: SuballocationAlgorithm::Dedicated,
        ..Default::default()
    };
    let allocator = allocator(&gpu, desc);
    let fill = || {
        let held = [1, 2, 4, 8].map(|mib| local(&allocator, mib * MIB));
        drop(held);
        drop(buffer(&allocator, &HeapType::Upload.into_place(), MIB));
        assert_eq!(allocator.reserved(), ByteSize::from_mib(16));
    };
    // GPGMM's own arithmetic released 200 of 300, and everything for 100 of 1920.
    for (asked, released) in
        [(0, 0), (1, MIB), (MIB, MIB), (3 * MIB, 4 * MIB), (9 * MIB, 9 * MIB), (u64::MAX, 16 * MIB)]
    {
        fill();
        let before = counted(&gpu);
        let answered = allocator.release_resource_heaps(ByteSize::new(asked));
        assert_eq!(answered, ByteSize::new(released), "{asked} bytes");
        assert_eq!(
            counted(&gpu),
            before.map(|before| before.saturating_sub(answered)),
            "the device has them back"
        );
        allocator.release_empty_heaps();
    }
    // What something is in stays.
    let held = local(&allocator, MIB);
    assert_eq!(allocator.release_empty_heaps(), ByteSize::ZERO);
    drop(held);
    assert_returns_everything(&allocator, &gpu);
}
