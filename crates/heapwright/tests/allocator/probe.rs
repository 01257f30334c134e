//! A probe predicts what the next allocation does.

use proptest::prelude::*;
use proptest::strategy::Strategy;

use crate::gpu::*;

#[derive(Debug, Clone)]
pub(crate) enum Step {
    Create { size: u64, heap_type: HeapType, flags: ResourceAllocationFlags, texture: bool },
    Drop(usize),
    Release,
}

pub(crate) fn steps() -> impl Strategy<Value = Vec<Step>> {
    let sizes = prop_oneof![1..20_000_u64, 20_000..3_000_000_u64, 3_000_000..200_000_000_u64];
    let types = proptest::sample::select(&HeapType::ALL[..]);
    let flags = prop_oneof![
        4 => Just(NONE),
        2 => Just(WITHIN),
        1 => Just(OWN),
        1 => Just(NEVER_ALLOCATE_HEAP),
        1 => Just(COMMITTED),
        1 => Just(WITHIN_BUDGET),
        1 => Just(PREFER_COMMITTED),
        1 => Just(ResourceAllocationFlags::ALWAYS_ATTRIBUTE_HEAPS),
    ];
    let create = (sizes, types, flags, any::<bool>())
        .prop_map(|(size, heap_type, flags, texture)| Step::Create { size, heap_type, flags, texture });
    let step = prop_oneof![5 => create, 4 => any::<usize>().prop_map(Step::Drop), 1 => Just(Step::Release)];
    proptest::collection::vec(step, 1..60)
}

/// Probes, creates, and compares the results.
pub(crate) fn check(
    allocator: &ResourceAllocator,
    place: &ResourceAllocationDesc<'_>,
    resource: &ResourceDesc<'_>,
) -> Result<ResourceAllocation, Error> {
    let (before, held) = (allocator.stats(), allocator.reserved());
    let report = allocator.report();
    let probe = allocator.probe(place, resource);
    assert_eq!(allocator.probe(place, resource).ok(), probe.as_ref().ok().copied(), "asked twice");
    assert_eq!(allocator.stats(), before, "a probe changes nothing");
    assert_eq!(allocator.report(), report, "a probe changes nothing");
    let made = allocator.create(place, resource);
    allocator.audit().expect("consistent");
    match (probe, made) {
        (Ok(probe), Ok(made)) => {
            assert_eq!(probe.decision, made.info().decision);
            assert_eq!((probe.heap_type, probe.size), (made.heap_type(), made.size()), "{probe:?}");
            assert_eq!(probe.alignment, made.alignment());
            let after = allocator.stats();
            let created = after.heaps_created - before.heaps_created;
            match (probe.memory, placement(&made)) {
                (PredictedMemory::Held, _) => assert_eq!(created, 0, "{probe:?}"),
                (PredictedMemory::NewHeap(size), Placement::Committed) => {
                    // Empty heaps may have made way.
                    assert!(allocator.reserved() <= held.saturating_add(size), "{probe:?}");
                    assert_eq!(after.committed, before.committed.saturating_add(size), "{probe:?}");
                }
                // A backing buffer may have been freed for the new one, and its range reused.
                (PredictedMemory::NewHeap(_), Placement::WithinResource) => {
                    assert!(created <= 1, "{probe:?}")
                }
                // The memory of unused slabs may have sufficed.
                (PredictedMemory::NewHeap(size), _) => {
                    assert!(created <= 1, "{probe:?}");
                    assert!(created == 0 || heap_of(&made).SizeInBytes == size.get(), "{probe:?}");
                }
            }
            Ok(made)
        }
        (Err(probed), Err(refused)) => {
            assert_eq!(probed.hresult(), refused.hresult(), "{probed} / {refused}");
            Err(refused)
        }
        // As above, with `NEVER_ALLOCATE_HEAP`.
        (Err(_), Ok(made)) if place.flags.contains(NEVER_ALLOCATE_HEAP) => Ok(made),
        (probe, made) => panic!("probed {probe:?}, and it was {made:?}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn a_probe_is_what_happens(
        steps in steps(),
        profile in prop_oneof![Just("discrete"), Just("cache-coherent-uma"), Just("old-ddi")],
        algorithm in proptest::sample::select(&ALGORITHMS[..]),
        pooled in any::<bool>(),
    ) {
        let (_gpu, allocator) = on(open(profile), with_algorithm(algorithm));
        let pool = new_pool(&allocator, PoolDesc::default());
        let mut live = Vec::new();
        for step in steps {
            match step {
                Step::Create { size, heap_type, flags, texture: is_texture } => {
                    let in_pool = pooled && heap_type == HeapType::Default && !is_texture
                        && !flags.contains(COMMITTED);
                    let place = ResourceAllocationDesc {
                        flags,
                        pool: in_pool.then_some(&pool),
                        ..ResourceAllocationDesc::new(heap_type)
                    };
                    let desc = if is_texture && heap_type == HeapType::Default {
                        texture(1 + size % 4096, 64)
                    } else {
                        buffer_of(size)
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

/// The memory of an unused slab and of an unused backing buffer, which only the allocation itself may return to the
/// heaps, is not counted.
#[test]
fn a_probe_counts_no_unused_memory() {
    for (heap_type, flags, limit) in [(HeapType::Default, NONE, mib(4)), (HeapType::Upload, WITHIN, kib(256))]
    {
        for refused in [NONE, OWN, COMMITTED] {
            let gpu = any_device();
            let limits = HeapLimits { default: Some(limit), upload: Some(limit), ..Default::default() };
            let allocator = allocator(&gpu, with_limits(limits));
            let create = |flags, size| {
                check(&allocator, &place(heap_type, flags), &ResourceDesc::new(&buffer_desc(size)))
            };
            drop(create(flags, ByteSize::new(1000)).expect("the limit permits a heap"));
            let beyond = limit.saturating_add(ByteSize::new(1));
            self::refused(create(refused, beyond), Error::is_over_budget);
            drop(create(flags, ByteSize::new(1000)).expect("the memory is held"));
            let before = allocator.report();
            let (place, desc) = (place(heap_type, refused), buffer_desc(limit));
            let _ = allocator.probe(&place, ResourceDesc::new(&desc));
            assert_eq!(allocator.report(), before, "a probe changes nothing");
            try_buffer(&allocator, &place, limit.get()).expect("what is unused makes way");
        }
    }
}

#[test]
fn a_probe_knows_that_a_committed_resource_is_new_memory() {
    let allocator = with_flags(&any_device(), ResourceAllocatorFlags::ALWAYS_COMMITTED);
    for flags in [NONE, WITHIN] {
        let place = place(HeapType::Upload, flags | NEVER_ALLOCATE_HEAP);
        let resource = buffer_of(1000);
        let error = check(&allocator, &place, &ResourceDesc::new(&resource)).expect_err("nothing is held");
        assert!(error.is_out_of_memory(), "{error}");
        refused(allocator.probe(&place, resource), Error::is_out_of_memory);
    }
}

#[test]
fn a_probe_does_not_count_the_empty_heaps_that_a_pool_keeps() {
    let (_gpu, allocator) = on(any_device(), limited_to(mib(4)));
    let heap_size = Some(mib(3));
    let _pool = new_pool(&allocator, PoolDesc { heap_size, min_heap_count: 1, ..Default::default() });
    let create = |size| {
        let desc = buffer_desc(mib(size));
        check(&allocator, &in_default(), &ResourceDesc::new(&desc))
    };
    create(2).expect_err("the pool keeps its minimum");
    create(1).expect("it is what the limit leaves");
}
