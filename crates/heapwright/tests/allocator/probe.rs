//! A probe predicts what the next allocation does.

use crate::gpu::any_device;
use heapwright::d3d12::*;
use heapwright::*;
use heapwright_runtime::{HostProfile, Instance};
use proptest::prelude::*;
use proptest::strategy::Strategy;

#[derive(Debug, Clone)]
enum Step {
    Create { size: u64, heap_type: HeapType, flags: ResourceAllocationFlags, texture: bool },
    Drop(usize),
    Release,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let sizes = prop_oneof![1..20_000_u64, 20_000..3_000_000_u64, 3_000_000..200_000_000_u64];
    let types = prop_oneof![Just(HeapType::Default), Just(HeapType::Upload)];
    let flags = prop_oneof![
        4 => Just(ResourceAllocationFlags::empty()),
        2 => Just(ResourceAllocationFlags::ALLOW_SUBALLOCATE_WITHIN_RESOURCE),
        1 => Just(ResourceAllocationFlags::NEVER_SUBALLOCATE_HEAP),
        1 => Just(ResourceAllocationFlags::NEVER_ALLOCATE_HEAP),
        1 => Just(ResourceAllocationFlags::ALWAYS_COMMITTED),
        1 => Just(ResourceAllocationFlags::WITHIN_BUDGET),
    ];
    let create = (sizes, types, flags, any::<bool>())
        .prop_map(|(size, heap_type, flags, texture)| Step::Create { size, heap_type, flags, texture });
    let step = prop_oneof![5 => create, 4 => any::<usize>().prop_map(Step::Drop), 1 => Just(Step::Release)];
    proptest::collection::vec(step, 1..60)
}

fn texture(width: u64) -> D3D12_RESOURCE_DESC {
    D3D12_RESOURCE_DESC {
        Dimension: D3D12_RESOURCE_DIMENSION_TEXTURE2D,
        Width: width,
        Height: 64,
        Format: DXGI_FORMAT_R8G8B8A8_UNORM,
        Layout: D3D12_TEXTURE_LAYOUT_UNKNOWN,
        ..buffer_desc(ByteSize::ZERO)
    }
}

/// Probes, creates, and compares the results.
fn check(
    allocator: &ResourceAllocator,
    place: &ResourceAllocationDesc<'_>,
    resource: &ResourceDesc<'_>,
) -> Option<ResourceAllocation> {
    let (before, held) = (allocator.stats(), allocator.reserved());
    let probe = allocator.probe(place, resource);
    assert_eq!(allocator.probe(place, resource).ok(), probe.as_ref().ok().copied(), "asked twice");
    assert_eq!(allocator.stats(), before, "a probe changes nothing");
    let made = allocator.create(place, resource);
    allocator.audit().expect("consistent");
    match (probe, made) {
        (Ok(probe), Ok(made)) => {
            assert_eq!(probe.decision, made.info().decision);
            assert_eq!((probe.heap_type, probe.size), (made.heap_type(), made.size()), "{probe:?}");
            assert_eq!(probe.alignment, made.alignment());
            let created = allocator.stats().heaps_created - before.heaps_created;
            match (probe.memory, made.info().decision.placement) {
                (ProbedMemory::Held, _) => assert_eq!(created, 0, "{probe:?}"),
                (ProbedMemory::NewHeap(size), Placement::Committed) => {
                    assert_eq!(allocator.reserved().get() - held.get(), size.get(), "{probe:?}");
                }
                // A backing buffer may have been freed for the new one, and its range reused.
                (ProbedMemory::NewHeap(_), Placement::WithinResource) => assert!(created <= 1, "{probe:?}"),
                (ProbedMemory::NewHeap(size), _) => {
                    assert_eq!(created, 1, "{probe:?}");
                    // SAFETY: the heap is a live COM object.
                    let heap = unsafe { made.heap().expect("placed").GetDesc() };
                    assert_eq!(heap.SizeInBytes, size.get(), "{probe:?}");
                }
            }
            Some(made)
        }
        (Err(probed), Err(refused)) => {
            assert_eq!(probed.hresult(), refused.hresult(), "{probed} / {refused}");
            None
        }
        (probe, made) => panic!("probed {probe:?}, and it was {made:?}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn a_probe_is_what_happens(
        steps in steps(),
        profile in prop_oneof![Just("discrete"), Just("cache-coherent-uma"), Just("old-ddi")],
        algorithm in prop_oneof![
            3 => Just(SuballocationAlgorithm::Default),
            1 => Just(SuballocationAlgorithm::Slab),
            1 => Just(SuballocationAlgorithm::BuddySystem),
            1 => Just(SuballocationAlgorithm::Dedicated),
        ],
        pooled in any::<bool>(),
    ) {
        let gpu = Instance::open(HostProfile::find(profile).expect("exists")).expect("a fresh instance");
        let desc = ResourceAllocatorDesc { suballocation_algorithm: algorithm, ..Default::default() };
        let allocator = ResourceAllocator::new(&gpu.device, Some(&gpu.adapter), desc).expect("sound");
        let pool = allocator
            .create_pool(PoolDesc::default())
            .expect("sound");
        let mut live = Vec::new();
        for step in steps {
            match step {
                Step::Create { size, heap_type, flags, texture: is_texture } => {
                    let in_pool = pooled && heap_type == HeapType::Default && !is_texture
                        && !flags.contains(ResourceAllocationFlags::ALWAYS_COMMITTED);
                    let place = ResourceAllocationDesc {
                        flags,
                        pool: in_pool.then_some(&pool),
                        ..ResourceAllocationDesc::new(heap_type)
                    };
                    let desc = if is_texture && heap_type == HeapType::Default {
                        texture(1 + size % 4096)
                    } else {
                        buffer_desc(ByteSize::new(size))
                    };
                    live.extend(check(&allocator, &place, &ResourceDesc::new(&desc)));
                }
                Step::Drop(number) if !live.is_empty() => {
                    let number = number % live.len();
                    drop(live.swap_remove(number));
                }
                Step::Drop(_) => {}
                Step::Release => {
                    allocator.release_empty_heaps();
                }
            }
        }
    }
}

#[test]
fn empty_heaps_count_as_given_back() {
    let gpu = any_device();
    let allocator =
        ResourceAllocator::new(&gpu.device, gpu.adapter.as_ref(), Default::default()).expect("sound");
    let pool =
        allocator.create_pool(PoolDesc { max_heap_count: Some(1), ..Default::default() }).expect("sound");
    let place = ResourceAllocationDesc { pool: Some(&pool), ..Default::default() };
    let of = |size| ResourceDesc::new(&buffer_desc(ByteSize::from_mib(size)));
    let held = check(&allocator, &place, &of(1)).expect("the first heap");
    assert!(check(&allocator, &place, &of(9)).is_none(), "there may be one heap, and it is in use");
    drop(held);
    assert!(check(&allocator, &place, &of(9)).is_some(), "it makes way");
}
