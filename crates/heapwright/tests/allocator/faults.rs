//! A device fails its Nth call, for every N: the error is reported, nothing is leaked, and the allocator
//! remains usable.

use windows_core::HRESULT;

use crate::faulty_device::{Call, Faults, faulty_first, inject, inject_first};
use crate::gpu::*;

fn allocate(allocator: &ResourceAllocator, size: u64) -> Result<ResourceAllocation, Error> {
    try_buffer(allocator, &in_default(), size)
}

/// The state of a scenario: its live allocations and the errors that it met.
struct Scene<'a> {
    allocator: &'a ResourceAllocator,
    faults: &'a Faults,
    held: Vec<ResourceAllocation>,
    errors: Vec<Error>,
    /// Whether this is the run without failures, in which each call is audited. Before its failure, every
    /// other run is identical.
    is_sound_run: bool,
    /// The number of calls that are still to be audited.
    audits: u32,
}

impl Scene<'_> {
    fn note<T>(&mut self, made: Result<T, Error>) -> Option<T> {
        let is_after_failure = self.faults.has_failed();
        if self.audits > 0 && (self.is_sound_run || is_after_failure) {
            self.audits -= 1;
            self.allocator.audit().expect("consistent after each call");
        }
        match made {
            Ok(made) => Some(made),
            Err(error) => {
                self.errors.push(error);
                None
            }
        }
    }

    fn create(&mut self, place: &ResourceAllocationDesc<'_>, resource: &ResourceDesc<'_>) {
        let made = self.allocator.create(place, resource);
        let made = self.note(made);
        self.held.extend(made);
    }

    fn buffer(&mut self, place: &ResourceAllocationDesc<'_>, size: u64) {
        self.create(place, &ResourceDesc::new(&buffer_of(size)));
    }
}

/// Creates small and large buffers and one in its own heap, and frees some in between.
fn buffers(scene: &mut Scene<'_>, rounds: u64) {
    for round in 0..rounds {
        for size in [1, 256, 70_000, 3 << 20, 40 << 20, 160 << 20, 5_000, 100] {
            scene.buffer(&in_default(), size + round);
        }
        scene.held.retain(|allocation| allocation.size().get() % 3 != round % 3);
    }
}

/// Creates resources by every other placement and call.
fn all_ways(scene: &mut Scene<'_>, fence: &ID3D12Fence) {
    let flags = |flags| place(HeapType::Upload, flags);
    let [within, own, committed] = [WITHIN, OWN, COMMITTED].map(flags);
    for size in [100, 60_000, 60_001, 3000] {
        scene.buffer(&within, size);
    }
    scene.buffer(&own, 100_000);
    scene.buffer(&committed, 100_000);
    scene.buffer(&flags(PREFER_COMMITTED), 5000);
    scene.buffer(&ResourceAllocationDesc::new(HeapTypePreference::GPU_UPLOAD_OR_UPLOAD), 5000);
    scene.buffer(&flags(NEVER_FALLBACK), 5 << 20);
    let padding = kib(24);
    scene.buffer(&ResourceAllocationDesc { extra_required_resource_padding: padding, ..own }, 100);
    let shared = ResourceAllocationDesc { extra_required_heap_flags: D3D12_HEAP_FLAG_SHARED, ..in_default() };
    scene.buffer(&shared, 1000);
    let local = in_default();
    for desc in [texture(64, 64), texture(1024, 1024), target(256, 256, 1), target(256, 256, 4)] {
        scene.create(&local, &ResourceDesc::new(&desc));
    }
    // The newest creation calls, where the device has them.
    if scene.allocator.caps().interface_version >= 12 {
        let formats = [DXGI_FORMAT_R8G8B8A8_UNORM_SRGB];
        let resource = ResourceDesc {
            initial_state: InitialState::Layout(D3D12_BARRIER_LAYOUT_COMMON),
            castable_formats: &formats,
            ..ResourceDesc::new(&texture(64, 64))
        };
        scene.create(&local, &resource);
        scene.create(&place(HeapType::Default, COMMITTED), &resource);
    }
    let pool_desc = PoolDesc {
        min_heap_count: 2,
        max_heap_count: Some(3),
        residency_priority: Some(D3D12_RESIDENCY_PRIORITY_LOW),
        ..pool_of(mib(1))
    };
    for algorithm in POOL_ALGORITHMS {
        let mut desc = PoolDesc { algorithm, ..pool_desc.clone() };
        if algorithm == Dedicated {
            (desc.heap_size, desc.min_heap_count) = (None, 0);
        }
        let pool = scene.allocator.create_pool(desc);
        let Some(pool) = scene.note(pool) else { continue };
        (0..3).for_each(|_| scene.buffer(&in_pool(&pool), 600_000));
    }
    // Frees some allocations by fence value and some at once, then allocates the same sizes again.
    let mut index = 0_u64;
    for allocation in scene.held.extract_if(.., |_| true).collect::<Vec<_>>() {
        index += 1;
        if index.is_multiple_of(3) {
            scene.allocator.free_after(allocation, fence, FenceValue::new(index)).expect("its own");
        } else if index.is_multiple_of(2) {
            scene.held.push(allocation);
        }
    }
    signal(fence, index / 2);
    scene.allocator.collect();
    scene.buffer(&within, 60_000);
    scene.buffer(&local, 2 << 20);
    scene.buffer(&committed, 1000);
    signal(fence, index);
}

fn nested(scene: &mut Scene<'_>) {
    let made = scene.allocator.create_nested(with_algorithm(Slab));
    let Some(nested) = scene.note(made) else { return };
    let first = allocate(&nested, 1 << 20);
    drop(scene.note(first));
    // Uses the heap that the nested allocator has given back.
    scene.buffer(&in_default(), 1 << 20);
    let second = allocate(&nested, 3 << 20);
    let _held = scene.note(second);
    nested.audit().expect("consistent");
}

/// Makes each call of three scenarios fail. The time grows with the square of a scenario's calls, so they are separate.
fn everything_fails(wrap: fn(&ID3D12Device, &std::sync::Arc<Faults>) -> ID3D12Device, hresult: HRESULT) {
    let scenarios: [fn(&mut Scene<'_>, &ID3D12Fence); 3] =
        [|scene, _| buffers(scene, 1), all_ways, |scene, _| nested(scene)];
    let desc = ResourceAllocatorDesc::default();
    let runs = scenarios.map(|scenario| fail_each(wrap, None, hresult, &desc, scenario, tells(hresult)));
    assert!(runs[1] > 60 && runs.iter().all(|&runs| runs > 20), "only {runs:?} calls were made to fail");
}

/// Repeats the scenario, failing one call later in each run, until a run ends before its failure. Returns
/// the number of runs in which a call failed.
fn fail_each(
    wrap: fn(&ID3D12Device, &std::sync::Arc<Faults>) -> ID3D12Device,
    only: Option<Call>,
    hresult: HRESULT,
    desc: &ResourceAllocatorDesc,
    scenario: impl Fn(&mut Scene<'_>, &ID3D12Fence),
    check: impl Fn(&Error),
) -> u64 {
    let gpu: Instance = open("discrete");
    let faults = Faults::new(only, hresult);
    // The first run fails nothing.
    for n in std::iter::once(u64::MAX - 1).chain(0..) {
        let is_sound_run = n == u64::MAX - 1;
        let device = wrap(&gpu.device, &faults);
        let fence = fence_of(&gpu.device);
        faults.fail_nth(n);
        let mut has_failed = true;
        match ResourceAllocator::new(&device, Some(&gpu.adapter), desc.clone()) {
            Err(error) => check(&error),
            Ok(allocator) => {
                let audits = if is_sound_run { u32::MAX } else { 8 };
                let (held, errors) = (Vec::new(), Vec::new());
                let mut scene =
                    Scene { allocator: &allocator, faults: &faults, held, errors, is_sound_run, audits };
                scenario(&mut scene, &fence);
                let Scene { held, mut errors, .. } = scene;
                // A feature whose query failed counts as absent, and what needs it is refused from then on.
                if !is_sound_run && !allocator.caps().relaxed_format_casting {
                    errors.retain(|error| !error.is_unsupported());
                }
                assert!(errors.len() <= 1, "one failing call makes at most one call fail: {errors:?}");
                errors.iter().for_each(&check);
                has_failed = faults.has_failed();
                faults.disarm();
                allocate(&allocator, 1 << 20).expect("the next allocation works");
                drop(held);
                allocator.collect();
                allocator.audit().expect("consistent at the end");
                allocator.release_empty_heaps();
                let stats = allocator.stats();
                assert_eq!((stats.used, stats.reserved), (ByteSize::ZERO, ByteSize::ZERO), "{n}: {stats:?}");
                assert_eq!((stats.allocation_count, stats.deferred_count), (0, 0), "after failure {n}");
                assert_eq!(everything_in(&allocator), [], "after failure {n}");
            }
        }
        assert_eq!(usage(&gpu), ByteSize::ZERO, "memory was leaked by failure {n}");
        if !has_failed && !is_sound_run {
            return n;
        }
    }
    unreachable!("a scenario has an end")
}

fn is_one_line(error: &Error) {
    let text = error.to_string();
    assert!(!text.is_empty() && !text.contains('\n'), "one line: {text}");
}

/// Checks that an error carries the HRESULT of the device, or what follows from it: a failing
/// `GetResourceAllocationInfo` can report only that the description is invalid, and a fallback may be out
/// of memory as well.
fn tells(hresult: HRESULT) -> impl Fn(&Error) {
    move |error| {
        is_one_line(error);
        let told = error.hresult();
        let of_query = error.is_invalid_argument() && error.to_string().contains("GetResourceAllocationInfo");
        // The first query for the capabilities reports no HRESULT either, and concerns no description of
        // the caller.
        let of_caps = told == E_INVALIDARG && error.to_string().contains("GetResourceAllocationInfo");
        // NEVER_FALLBACK returns E_FAIL, as the GPGMM document specifies.
        let of_shortage = hresult == E_OUTOFMEMORY && told == E_FAIL && error.is_out_of_memory();
        assert!(
            told == hresult || of_query || of_caps || of_shortage,
            "{hresult:?} became {told:?}: {error}"
        );
        assert_eq!(error.is_device_removed(), hresult == DXGI_ERROR_DEVICE_REMOVED && told == hresult);
    }
}

const ANSWERS: [HRESULT; 3] = [E_OUTOFMEMORY, E_FAIL, DXGI_ERROR_DEVICE_REMOVED];

#[test]
fn every_call_may_fail_once_with_any_error() {
    for hresult in ANSWERS {
        everything_fails(inject, hresult);
    }
}

#[test]
fn every_call_of_a_device_of_the_first_interface_may_fail() {
    everything_fails(inject_first, E_OUTOFMEMORY);
}

#[test]
fn every_algorithm_and_flag_survives_a_device_without_memory() {
    let flags = [
        ResourceAllocatorFlags::ALWAYS_ON_DEMAND,
        ResourceAllocatorFlags::ALWAYS_COMMITTED | ResourceAllocatorFlags::NEVER_LEAK,
        ResourceAllocatorFlags::NEVER_OVER_ALLOCATE | ResourceAllocatorFlags::NEVER_TIGHT_ALIGNMENT,
        ResourceAllocatorFlags::ALWAYS_IN_BUDGET,
    ];
    let algorithms = [Slab, BuddySystem, Dedicated, SuballocationAlgorithm::Default];
    for (flags, suballocation_algorithm) in flags.into_iter().zip(algorithms) {
        let desc = ResourceAllocatorDesc { flags, suballocation_algorithm, ..Default::default() };
        for call in [Call::CreateHeap, Call::CreatePlacedResource, Call::CreateCommittedResource] {
            let all = |scene: &mut Scene<'_>, fence: &ID3D12Fence| {
                all_ways(scene, fence);
                nested(scene);
            };
            let runs = fail_each(inject_first, Some(call), E_OUTOFMEMORY, &desc, all, tells(E_OUTOFMEMORY));
            assert!(runs >= 3, "{suballocation_algorithm} {flags:?} {call:?}: {runs}");
        }
    }
}

#[test]
fn heaps_made_in_advance_may_fail_as_well() {
    let desc = flagged(ResourceAllocatorFlags::ALLOW_PREFETCH);
    let scenario = |scene: &mut Scene<'_>, _: &ID3D12Fence| {
        for flags in [ALWAYS_PREFETCH_HEAP | OWN, ALWAYS_PREFETCH_HEAP] {
            (0..4).for_each(|_| scene.buffer(&place(HeapType::Default, flags), 3 << 20));
        }
    };
    for hresult in ANSWERS {
        let runs = fail_each(inject_first, Some(Call::CreateHeap), hresult, &desc, scenario, tells(hresult));
        assert!(runs >= 5, "only {runs} heaps were made");
    }
}

#[test]
fn a_heap_refused_once_is_tried_again() {
    let (gpu, faults) = faulty_first(Some(Call::CreateHeap), E_OUTOFMEMORY);
    let allocator = allocator(&gpu, Default::default());
    faults.fail_nth(0);
    let allocation = allocate(&allocator, 1000).expect("a heap as small as the request allows is tried next");
    assert!(faults.has_failed());
    assert_eq!(faults.calls(), 2);
    assert_eq!(allocator.stats().reserved, kib(64));
    drop(allocation);
}

#[test]
fn out_of_memory_says_what_was_asked_and_what_is_in_use() {
    let (_gpu, allocator) = with_allocator(open("discrete-2gib"));
    let held = allocate(&allocator, 1 << 30).expect("half of it");
    let error = allocate(&allocator, 3 << 29).expect_err("more than the other half");
    assert!(error.is_out_of_memory());
    let text = error.to_string();
    for part in ["1.50 GiB", "DEFAULT", "1.00 GiB used", "E_OUTOFMEMORY (0x8007000e)", "budget"] {
        assert!(text.contains(part), "{part:?} is missing: {text}");
    }
    drop(held);
    allocate(&allocator, 3 << 29).expect("the empty heap goes back and makes room");
}
