//! A GPU, and short functions to request memory from its allocator.
//!
//! Tests that hold on every D3D12 run on [`any_device`], the device that the environment names. Tests of a
//! particular simulated GPU [`open`] it by its name.
#![allow(dead_code, unused_imports, reason = "each test that includes it uses a part")]

mod commands;
mod named_device;

use std::fmt::Debug;

use heapwright::report::{AllocationKind, AllocationReport, HeapTypeName};

// What nearly every test uses.
pub(crate) use std::time::Duration;

pub(crate) use heapwright::EmptyHeapPolicy::{FewestHitches, FixedPool, LeastMemory, SegmentedPool};
pub(crate) use heapwright::SuballocationAlgorithm::{BuddySystem, Dedicated, Linear, Slab};
pub(crate) use heapwright::d3d12::*;
pub(crate) use heapwright::defragmentation::*;
pub(crate) use heapwright::residency::*;
pub(crate) use heapwright::*;
pub(crate) use heapwright_runtime::{DeviceOptions, HostProfile, Instance};
pub(crate) use windows_core::Interface;

pub(crate) use self::commands::*;
pub(crate) use self::named_device::{Gpu, Opened, OwnGpu, any_device};

pub(crate) const COMMON: D3D12_RESOURCE_STATES = D3D12_RESOURCE_STATE_COMMON;
pub(crate) const KIB: u64 = 1 << 10;
pub(crate) const MIB: u64 = 1 << 20;

pub(crate) const NO_FLAGS: ResourceAllocatorFlags = ResourceAllocatorFlags::empty();
pub(crate) const LOCAL: SegmentGroup = SegmentGroup::Local;
pub(crate) const NON_LOCAL: SegmentGroup = SegmentGroup::NonLocal;

// Flags of an allocation, the placements by shorter names.
pub(crate) const NONE: ResourceAllocationFlags = ResourceAllocationFlags::empty();
pub(crate) const COMMITTED: ResourceAllocationFlags = ResourceAllocationFlags::ALWAYS_COMMITTED;
pub(crate) const OWN: ResourceAllocationFlags = ResourceAllocationFlags::NEVER_SUBALLOCATE_HEAP;
pub(crate) const WITHIN: ResourceAllocationFlags = ResourceAllocationFlags::ALLOW_SUBALLOCATE_WITHIN_RESOURCE;
pub(crate) const ALWAYS_PREFETCH_HEAP: ResourceAllocationFlags =
    ResourceAllocationFlags::ALWAYS_PREFETCH_HEAP;
pub(crate) const NEVER_ALLOCATE_HEAP: ResourceAllocationFlags = ResourceAllocationFlags::NEVER_ALLOCATE_HEAP;
pub(crate) const NEVER_FALLBACK: ResourceAllocationFlags = ResourceAllocationFlags::NEVER_FALLBACK;
pub(crate) const NEVER_RESIDENT: ResourceAllocationFlags = ResourceAllocationFlags::NEVER_RESIDENT;
pub(crate) const PREFER_COMMITTED: ResourceAllocationFlags = ResourceAllocationFlags::PREFER_COMMITTED;
pub(crate) const WITHIN_BUDGET: ResourceAllocationFlags = ResourceAllocationFlags::WITHIN_BUDGET;

/// The algorithms of an allocator.
pub(crate) const ALGORITHMS: [SuballocationAlgorithm; 4] =
    [SuballocationAlgorithm::Default, Slab, BuddySystem, Dedicated];
/// The algorithms of a pool.
pub(crate) const POOL_ALGORITHMS: [SuballocationAlgorithm; 5] =
    [SuballocationAlgorithm::Default, Slab, BuddySystem, Linear, Dedicated];

pub(crate) const fn kib(kib: u64) -> ByteSize {
    ByteSize::from_kib(kib)
}

pub(crate) const fn mib(mib: u64) -> ByteSize {
    ByteSize::from_mib(mib)
}

pub(crate) const fn gib(gib: u64) -> ByteSize {
    ByteSize::from_gib(gib)
}

/// Returns the description of a buffer.
pub(crate) fn buffer_of(bytes: u64) -> D3D12_RESOURCE_DESC {
    buffer_desc(ByteSize::new(bytes))
}

pub(crate) fn open(profile: &str) -> Instance {
    fresh(HostProfile::find(profile).expect("a profile of that name"))
}

pub(crate) fn fresh(profile: &HostProfile) -> Instance {
    Instance::open(profile).expect("a fresh instance")
}

/// Creates an allocator whose time stands still, so that nothing depends on how fast a test runs.
pub(crate) fn allocator(gpu: &impl Opened, desc: ResourceAllocatorDesc) -> ResourceAllocator {
    let allocator =
        ResourceAllocator::new(gpu.device(), gpu.adapter(), desc).expect("a sound device and description");
    allocator.on_time(Duration::ZERO);
    allocator
}

/// Keeps empty heaps for long, however cheap the device's heaps are. By default a heap is kept by its price, which on
/// other devices than the simulated GPU is a matter of time.
pub(crate) fn keeping_empty_heaps(desc: ResourceAllocatorDesc) -> ResourceAllocatorDesc {
    ResourceAllocatorDesc { empty_heap_policy: FewestHitches, ..desc }
}

pub(crate) fn flagged(flags: ResourceAllocatorFlags) -> ResourceAllocatorDesc {
    ResourceAllocatorDesc { flags, ..Default::default() }
}

pub(crate) fn with_algorithm(suballocation_algorithm: SuballocationAlgorithm) -> ResourceAllocatorDesc {
    ResourceAllocatorDesc { suballocation_algorithm, ..Default::default() }
}

pub(crate) fn with_limits(limits: HeapLimits) -> ResourceAllocatorDesc {
    ResourceAllocatorDesc { limits, ..Default::default() }
}

/// Limits DEFAULT heaps.
pub(crate) fn limited_to(limit: ByteSize) -> ResourceAllocatorDesc {
    with_limits(HeapLimits { default: Some(limit), ..Default::default() })
}

pub(crate) fn of_policy(empty_heap_policy: EmptyHeapPolicy) -> ResourceAllocatorDesc {
    ResourceAllocatorDesc { empty_heap_policy, ..Default::default() }
}

pub(crate) fn with_flags(gpu: &impl Opened, flags: ResourceAllocatorFlags) -> ResourceAllocator {
    allocator(gpu, flagged(flags))
}

/// Returns a device with an allocator in unified memory.
pub(crate) fn with_unified_memory() -> (Instance, ResourceAllocator) {
    on(open("cache-coherent-uma"), flagged(ResourceAllocatorFlags::ALLOW_UNIFIED_MEMORY))
}

/// Creates an allocator without flags.
pub(crate) fn usual(gpu: &impl Opened) -> ResourceAllocator {
    with_flags(gpu, NO_FLAGS)
}

/// Returns the device with an allocator.
pub(crate) fn on<G: Opened>(gpu: G, desc: ResourceAllocatorDesc) -> (G, ResourceAllocator) {
    let allocator = allocator(&gpu, desc);
    (gpu, allocator)
}

/// Returns the device with an allocator without flags.
pub(crate) fn with_allocator<G: Opened>(gpu: G) -> (G, ResourceAllocator) {
    on(gpu, Default::default())
}

pub(crate) fn manager_on(gpu: &impl Opened, desc: ResidencyManagerDesc) -> ResidencyManager {
    ResidencyManager::new(gpu.device(), gpu.adapter(), desc).expect("a sound device and description")
}

/// Creates an allocator with a manager of its memory.
pub(crate) fn managed(
    gpu: &impl Opened,
    desc: ResourceAllocatorDesc,
    manager: ResidencyManagerDesc,
) -> (ResourceAllocator, ResidencyManager) {
    ResourceAllocator::with_new_residency(gpu.device(), gpu.adapter(), desc, manager)
        .expect("a sound device and descriptions")
}

/// Creates an allocator whose memory a manager of the same device manages.
pub(crate) fn managed_by(
    manager: &ResidencyManager,
    gpu: &impl Opened,
    desc: ResourceAllocatorDesc,
) -> ResourceAllocator {
    ResourceAllocator::with_residency(gpu.device(), gpu.adapter(), desc, manager)
        .expect("a sound device and description")
}

/// Returns a simulated GPU with that budget of local memory.
pub(crate) fn with_budget(local: ByteSize) -> Instance {
    let gpu = open("discrete");
    set_local_budget(&gpu, local);
    gpu
}

/// Sets what the operating system lets the process use of local memory.
pub(crate) fn set_local_budget(gpu: &Instance, budget: ByteSize) {
    gpu.set_budget(heapwright_runtime::SegmentGroup::Local, budget);
}

/// Returns the usual budget of a step, of which the time never runs out.
pub(crate) fn without_time_limit() -> DefragmentationBudget {
    DefragmentationBudget { time: Duration::from_secs(3600), ..Default::default() }
}

/// Returns each element of the first with each of the second.
pub(crate) fn pairs<A: Clone, B: Clone>(
    first: impl IntoIterator<Item = A>,
    second: impl IntoIterator<Item = B>,
) -> impl Iterator<Item = (A, B)> {
    let second: Vec<B> = second.into_iter().collect();
    first.into_iter().flat_map(move |one| second.clone().into_iter().map(move |other| (one.clone(), other)))
}

/// Drops all but every `n`th element, beginning with the first.
pub(crate) fn keep_every<T>(n: usize, elements: &mut Vec<T>) {
    let mut number = 0;
    elements.retain(|_| {
        number += 1;
        number % n == 1
    });
}

pub(crate) fn new_pool(allocator: &ResourceAllocator, desc: PoolDesc) -> Pool {
    allocator.create_pool(desc).expect("a sound description")
}

/// Describes a pool whose heaps have one size.
pub(crate) fn pool_of(heap_size: ByteSize) -> PoolDesc {
    PoolDesc { heap_size: Some(heap_size), ..Default::default() }
}

/// Creates an allocator that is nested in another one.
pub(crate) fn nested_in(parent: &ResourceAllocator, desc: ResourceAllocatorDesc) -> ResourceAllocator {
    parent.create_nested(desc).expect("a sound description")
}

pub(crate) fn in_pool(pool: &Pool) -> ResourceAllocationDesc<'_> {
    ResourceAllocationDesc { pool: Some(pool), ..Default::default() }
}

/// Checks that a call fails with an error of a kind, such as `Error::is_over_budget`, and returns the error.
#[track_caller]
pub(crate) fn refused<T: Debug>(result: Result<T, Error>, is_of_kind: fn(&Error) -> bool) -> Error {
    let error = result.expect_err("it must be refused");
    assert!(is_of_kind(&error), "{error}");
    error
}

/// Checks that a call fails with an error that says `text`, and returns the error.
#[track_caller]
pub(crate) fn fails<T: Debug>(result: Result<T, Error>, text: &str) -> Error {
    let error = result.expect_err("it must fail");
    assert!(error.to_string().contains(text), "{error}");
    error
}

/// Checks that a call fails because of the argument or field `field`, and returns the error.
#[track_caller]
pub(crate) fn invalid<T: Debug>(result: Result<T, Error>, field: &str) -> Error {
    let error = refused(result, Error::is_invalid_argument);
    assert!(error.to_string().starts_with(field), "{error}");
    error
}

/// Returns the adapter's usage of this process in both segment groups.
pub(crate) fn usage(gpu: &Instance) -> ByteSize {
    let of = |group| VideoMemoryInfo::query(&gpu.adapter, group).expect("answered").current_usage;
    of(LOCAL).checked_add(of(NON_LOCAL)).expect("far from overflow")
}

/// Returns the usage if the device is our runtime's, where nothing else is counted.
pub(crate) fn counted(gpu: &impl Opened) -> Option<ByteSize> {
    gpu.own().map(usage)
}

/// Checks the GPU's memory usage if the device is our runtime's.
#[track_caller]
pub(crate) fn assert_usage(gpu: &impl Opened, expected: ByteSize) {
    if let Some(instance) = gpu.own() {
        assert_eq!(usage(instance), expected, "what the adapter counts");
    }
}

pub(crate) fn usage_of(gpu: &Instance, group: SegmentGroup) -> ByteSize {
    VideoMemoryInfo::query(&gpu.adapter, group).expect("answered").current_usage
}

pub(crate) fn in_default() -> ResourceAllocationDesc<'static> {
    place(HeapType::Default, NONE)
}

pub(crate) fn in_upload() -> ResourceAllocationDesc<'static> {
    place(HeapType::Upload, NONE)
}

pub(crate) fn in_readback() -> ResourceAllocationDesc<'static> {
    place(HeapType::Readback, NONE)
}

pub(crate) fn in_gpu_upload() -> ResourceAllocationDesc<'static> {
    place(HeapType::GpuUpload, NONE)
}

pub(crate) fn place(heap_type: HeapType, flags: ResourceAllocationFlags) -> ResourceAllocationDesc<'static> {
    ResourceAllocationDesc { flags, ..ResourceAllocationDesc::new(heap_type) }
}

/// Creates a buffer in state COMMON.
pub(crate) fn try_buffer(
    allocator: &ResourceAllocator,
    place: &ResourceAllocationDesc<'_>,
    size: u64,
) -> Result<ResourceAllocation, Error> {
    allocator.create_resource(place, &buffer_of(size), COMMON, None)
}

pub(crate) fn buffer(
    allocator: &ResourceAllocator,
    place: &ResourceAllocationDesc<'_>,
    size: u64,
) -> ResourceAllocation {
    try_buffer(allocator, place, size).expect("there is room")
}

/// Creates buffers until one is refused.
pub(crate) fn as_many_as_fit(
    allocator: &ResourceAllocator,
    place: &ResourceAllocationDesc<'_>,
    size: u64,
) -> Vec<ResourceAllocation> {
    std::iter::from_fn(|| try_buffer(allocator, place, size).ok()).collect()
}

/// Creates a resource in state COMMON.
pub(crate) fn create(
    allocator: &ResourceAllocator,
    place: &ResourceAllocationDesc<'_>,
    desc: &D3D12_RESOURCE_DESC,
) -> ResourceAllocation {
    let made = allocator.create_resource(place, desc, COMMON, None);
    made.unwrap_or_else(|error| panic!("{desc:?}: {error}"))
}

pub(crate) fn decided(placement: Placement, reason: PlacementReason) -> PlacementDecision {
    PlacementDecision { placement, reason }
}

pub(crate) fn placement(allocation: &ResourceAllocation) -> Placement {
    allocation.info().decision.placement
}

/// Creates a buffer in a DEFAULT heap.
pub(crate) fn local(allocator: &ResourceAllocator, size: u64) -> ResourceAllocation {
    buffer(allocator, &in_default(), size)
}

/// Returns the bytes of the heaps and committed resources of a heap type, which is CUSTOM for unified memory.
pub(crate) fn held_in(allocator: &ResourceAllocator, heap_type: impl Into<HeapTypeName>) -> ByteSize {
    let (report, heap_type) = (allocator.report(), heap_type.into());
    let totals = report.heap_types.iter().find(|of| of.heap_type == heap_type).map(|of| of.totals);
    totals.map_or(ByteSize::ZERO, |totals| totals.reserved.saturating_add(totals.committed.size))
}

/// Returns the names and user data of all allocations that the report lists.
pub(crate) fn everything_in(allocator: &ResourceAllocator) -> Vec<(Option<String>, Option<String>)> {
    fn leaves<'a>(one: &'a AllocationReport, found: &mut Vec<&'a AllocationReport>) {
        if one.kind != AllocationKind::BackingBuffer {
            found.push(one);
        }
        one.within.iter().flatten().for_each(|part| leaves(part, found));
    }
    let report = allocator.report();
    let mut placed = Vec::new();
    let of_heaps = report.heaps.iter().flat_map(|heap| &heap.allocations);
    of_heaps.for_each(|one| leaves(one, &mut placed));
    let placed = placed.into_iter().map(|one| (one.name.clone(), one.user_data.clone()));
    let own = report.committed.iter().chain(&report.imported);
    placed.chain(own.map(|one| (one.name.clone(), one.user_data.clone()))).collect()
}

pub(crate) fn heap_of(allocation: &ResourceAllocation) -> D3D12_HEAP_DESC {
    // SAFETY: the heap is a live COM object.
    unsafe { allocation.heap().expect("it is placed").GetDesc() }
}

pub(crate) fn properties_of(allocation: &ResourceAllocation) -> (D3D12_HEAP_PROPERTIES, D3D12_HEAP_FLAGS) {
    let (mut properties, mut flags) = Default::default();
    // SAFETY: the resource is live and both structures are writable.
    unsafe { allocation.resource().GetHeapProperties(Some(&mut properties), Some(&mut flags)) }
        .ok()
        .expect("the resource has a heap");
    (properties, flags)
}

pub(crate) fn desc_of(allocation: &ResourceAllocation) -> D3D12_RESOURCE_DESC {
    // SAFETY: the resource is a live COM object.
    unsafe { allocation.resource().GetDesc() }
}

pub(crate) fn texture(width: u64, height: u32) -> D3D12_RESOURCE_DESC {
    D3D12_RESOURCE_DESC {
        Dimension: D3D12_RESOURCE_DIMENSION_TEXTURE2D,
        Width: width,
        Height: height,
        DepthOrArraySize: 1,
        MipLevels: 1,
        Format: DXGI_FORMAT_R8G8B8A8_UNORM,
        SampleDesc: DXGI_SAMPLE_DESC { Count: 1, Quality: 0 },
        Layout: D3D12_TEXTURE_LAYOUT_UNKNOWN,
        ..Default::default()
    }
}

/// Returns the description of a depth buffer.
pub(crate) fn depth_buffer(width: u64, height: u32) -> D3D12_RESOURCE_DESC {
    D3D12_RESOURCE_DESC {
        Format: DXGI_FORMAT_D32_FLOAT,
        Flags: D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL,
        ..texture(width, height)
    }
}

/// Returns D3D12's name of an object, as far as a zero.
pub(crate) fn name_of(object: &ID3D12Object) -> Result<String, windows_core::HRESULT> {
    let (mut name, mut size) = ([0_u16; 64], 128);
    let (kind, data) = (names::WKPDID_D3DDebugObjectNameW, Some(name.as_mut_ptr().cast()));
    // SAFETY: a live object, and a buffer that has as many bytes as are said.
    let found = unsafe { object.GetPrivateData(&kind, &mut size, data) };
    let text = String::from_utf16_lossy(&name[..size as usize / 2]);
    found.is_ok().then(|| text.trim_end_matches('\0').to_owned()).ok_or(found)
}

/// Returns the description of a render target with `samples` samples.
pub(crate) fn target(width: u64, height: u32, samples: u32) -> D3D12_RESOURCE_DESC {
    D3D12_RESOURCE_DESC {
        SampleDesc: DXGI_SAMPLE_DESC { Count: samples, Quality: 0 },
        Flags: D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET,
        ..texture(width, height)
    }
}

/// Waits until `has_happened` returns true on behalf of another thread. Panics after 30 seconds.
pub(crate) fn wait_until(has_happened: impl Fn() -> bool) {
    let deadline = std::time::Instant::now() + Duration::from_secs(30);
    while !has_happened() {
        assert!(std::time::Instant::now() < deadline, "nothing happened on the other thread");
        std::thread::yield_now();
    }
}

/// Waits for the prefetch thread to finish, and checks that it has created an empty heap.
pub(crate) fn wait_for_empty_heap(allocator: &ResourceAllocator) {
    allocator.audit().expect("consistent");
    assert!(allocator.stats().empty_heap_count > 0, "no heap is made in advance");
}

/// Drops what a test holds, and checks that the allocator gives all memory back.
#[track_caller]
pub(crate) fn assert_returned<T>(held: T, allocator: &ResourceAllocator, gpu: &impl Opened) {
    drop(held);
    assert_returns_everything(allocator, gpu);
}

#[track_caller]
pub(crate) fn assert_returns_everything(allocator: &ResourceAllocator, gpu: &impl Opened) {
    allocator.audit().expect("consistent");
    allocator.release_empty_heaps();
    let stats = allocator.stats();
    assert_eq!((stats.used, stats.reserved), (ByteSize::ZERO, ByteSize::ZERO), "{stats:?}");
    assert_usage(gpu, ByteSize::ZERO);
}
