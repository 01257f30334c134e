//! Deferred frees: memory becomes reusable once the GPU has reached a fence value.

use std::sync::atomic::{AtomicU64, Ordering};

use heapwright_intercept::{intercept, method};

use crate::faulty_device::{Call, faulty_first};
use crate::gpu::*;
use crate::log_lines::warnings;

/// Defers the free of an allocation until the returned fence has the value 1.
fn free_later(allocator: &ResourceAllocator, allocation: ResourceAllocation) -> ID3D12Fence {
    let fence = fence_of(allocator.device());
    allocator.free_after(allocation, &fence, FenceValue::new(1)).expect("its own");
    fence
}

#[test]
fn memory_near_the_limit_of_a_type_takes_what_a_reached_fence_frees() {
    let gpu = open("cache-coherent-uma");
    let flags = ResourceAllocatorFlags::ALLOW_UNIFIED_MEMORY;
    let limits = HeapLimits { upload: Some(mib(2)), ..Default::default() };
    let allocator = allocator(&gpu, ResourceAllocatorDesc { flags, limits, ..Default::default() });
    let (upload, size) = (in_upload(), mib(2));
    let take = || allocator.allocate_memory(&upload, ResourceKind::Buffers, size, Alignment::ONE);
    let resource = ResourceDesc::in_state(&buffer_desc(size), D3D12_RESOURCE_STATE_GENERIC_READ);
    let fence = free_later(&allocator, allocator.create(&upload, resource).expect("within the limit"));
    refused(take(), Error::is_over_budget);
    signal(&fence, 1);
    take().expect("the fence is reached");
}

#[test]
fn an_allocation_is_freed_once_its_fence_is_reached_and_no_sooner() {
    let (gpu, allocator) = with_allocator(any_device());
    let [graphics, copies] = [fence_of(gpu.device()), fence_of(gpu.device())];
    let all = [(&graphics, 1), (&graphics, 3), (&graphics, 2), (&copies, 1), (&graphics, 3)];
    for (fence, value) in all {
        allocator.free_after(local(&allocator, 1000), fence, FenceValue::new(value)).expect("its own");
    }
    let waiting = || {
        let stats = allocator.stats();
        assert_eq!(stats.deferred_count, stats.allocation_count, "they are among the live ones");
        stats.deferred_count
    };
    assert_eq!((allocator.collect(), waiting()), (0, 5));
    signal(&graphics, 2);
    assert_eq!(waiting(), 5, "nothing happens by itself");
    assert_eq!((allocator.collect(), waiting()), (2, 3));
    signal(&copies, 100);
    assert_eq!((allocator.collect(), waiting()), (1, 2));
    signal(&graphics, 3);
    assert_eq!((allocator.collect(), waiting()), (2, 0));
    // A fence value that has already been reached.
    allocator.free_after(local(&allocator, 1000), &graphics, FenceValue::new(1)).expect("its own");
    assert_eq!((allocator.collect(), allocator.collect()), (1, 0));
    assert_returns_everything(&allocator, &gpu);
}

#[test]
fn what_is_reached_is_freed_before_memory_is_said_to_be_short() {
    let (_gpu, allocator) = with_allocator(open("discrete-2gib"));
    let done = free_later(&allocator, local(&allocator, 1024 * MIB));
    let large = in_default();
    refused(try_buffer(&allocator, &large, 1536 * MIB), Error::is_out_of_memory);
    signal(&done, 1);
    drop(buffer(&allocator, &large, 1536 * MIB));
    assert_eq!(allocator.stats().deferred_count, 0);
}

/// Allocates `first`, defers its free, and checks that `again` is served once the fence is reached, in the same way.
#[track_caller]
fn assert_serves_again(
    allocator: &ResourceAllocator,
    first: &ResourceAllocationDesc<'_>,
    again: &ResourceAllocationDesc<'_>,
) {
    let made = buffer(allocator, first, 16 * MIB);
    let usual = placement(&made);
    let done = free_later(allocator, made);
    refused(try_buffer(allocator, again, 16 * MIB), Error::is_out_of_memory);
    signal(&done, 1);
    let made = buffer(allocator, again, 16 * MIB);
    assert_eq!((placement(&made), allocator.stats().deferred_count), (usual, 0));
    drop(made);
    allocator.audit().expect("consistent");
}

#[test]
fn a_small_buffer_takes_the_rest_of_a_heap_before_what_is_reached_is_freed_and_the_heap_leaves() {
    let gpu = open("uma");
    let allocator = allocator(&gpu, of_policy(FixedPool));
    let upload = in_upload();
    let first = buffer(&allocator, &upload, (4 << 20) + 10_000);
    let rest = allocator.stats().reserved.get() - first.size().get();
    let _over_budget = local(&allocator, MIB);
    signal(&free_later(&allocator, first), 1);
    set_local_budget(&gpu, mib(1));
    // A buffer that it could be a part of does not fit into the rest.
    let flags = WITHIN_BUDGET | WITHIN;
    let within = ResourceAllocationDesc { flags, ..upload };
    drop(buffer(&allocator, &within, rest));
}

#[test]
fn what_is_reached_is_freed_before_a_pool_is_full() {
    let (_gpu, allocator) = with_allocator(open("discrete"));
    let pool = new_pool(&allocator, PoolDesc { max_heap_count: Some(1), ..pool_of(mib(16)) });
    assert_serves_again(&allocator, &in_pool(&pool), &in_pool(&pool));
}

#[test]
fn what_is_reached_is_freed_before_a_limit_refuses() {
    let limits = HeapLimits { default: Some(mib(20)), upload: Some(mib(20)), ..Default::default() };
    let never = ResourceAllocatorDesc { limits, ..flagged(ResourceAllocatorFlags::NEVER_OVER_ALLOCATE) };
    for (desc, flags) in [(with_limits(limits), NONE), (with_limits(limits), COMMITTED), (never, NONE)] {
        let (_gpu, allocator) = on(open("discrete"), desc);
        let place = place(HeapType::Default, flags);
        assert_serves_again(&allocator, &place, &place);
    }
    // In unified memory, the limit of the requested type applies as well.
    let gpu = open("cache-coherent-uma");
    let desc = ResourceAllocatorDesc {
        limits: HeapLimits { default: None, ..limits },
        ..flagged(ResourceAllocatorFlags::ALLOW_UNIFIED_MEMORY)
    };
    let place = in_upload();
    assert_serves_again(&allocator(&gpu, desc), &place, &place);
}

#[test]
fn what_is_reached_is_freed_before_the_budget_refuses() {
    let (always, within) = (ResourceAllocatorFlags::ALWAYS_IN_BUDGET, WITHIN_BUDGET);
    for flags in [always, NO_FLAGS] {
        let gpu = with_budget(mib(20));
        let allocator = with_flags(&gpu, flags);
        let place = place(HeapType::Default, within | NEVER_FALLBACK);
        assert_serves_again(&allocator, &place, &place);
    }
}

#[test]
fn what_is_reached_is_freed_before_held_heaps_do_not_suffice() {
    let (_gpu, allocator) = with_allocator(open("discrete"));
    let held = place(HeapType::Default, NEVER_ALLOCATE_HEAP);
    assert_serves_again(&allocator, &in_default(), &held);
}

#[test]
fn what_is_reached_is_freed_before_a_resource_is_committed() {
    let (gpu, faults) = faulty_first(Some(Call::CreateHeap), E_OUTOFMEMORY);
    let allocator = allocator(&gpu, Default::default());
    let done = free_later(&allocator, local(&allocator, 16 * MIB));
    faults.fail_all();
    assert_eq!(placement(&local(&allocator, 16 * MIB)), Placement::Committed);
    signal(&done, 1);
    assert_eq!(placement(&local(&allocator, 16 * MIB)), Placement::SharedHeap);
}

#[test]
fn what_is_reached_is_freed_before_a_new_pools_heaps_are_refused() {
    let (_gpu, allocator) = on(open("discrete"), limited_to(mib(16)));
    let done = free_later(&allocator, local(&allocator, 16 * MIB));
    let desc = || PoolDesc { min_heap_count: 1, ..pool_of(mib(16)) };
    refused(allocator.create_pool(desc()), Error::is_out_of_memory);
    signal(&done, 1);
    assert_eq!(new_pool(&allocator, desc()).totals().heap_count, 1);
    // The device is full.
    let (gpu, allocator) = with_allocator(open("discrete-2gib"));
    let done = fence_of(gpu.device());
    for held in as_many_as_fit(&allocator, &place(HeapType::Default, COMMITTED), 256 * MIB) {
        allocator.free_after(held, &done, FenceValue::new(1)).expect("its own");
    }
    let desc = || PoolDesc { min_heap_count: 1, ..pool_of(mib(256)) };
    refused(allocator.create_pool(desc()), Error::is_out_of_memory);
    signal(&done, 1);
    assert_eq!(new_pool(&allocator, desc()).totals().heap_count, 1);
}

#[test]
fn a_removed_devices_fences_are_all_reached() {
    let (gpu, allocator) = with_allocator(open("discrete"));
    let never = fence_of(gpu.device());
    allocator.free_after(local(&allocator, 1000), &never, FenceValue::new(u64::MAX)).expect("its own");
    assert_eq!(allocator.collect(), 0);
    let device: ID3D12Device5 = gpu.device.cast().expect("it has that interface");
    // SAFETY: the device is a live COM object.
    unsafe { device.RemoveDevice() };
    assert_eq!(allocator.collect(), 1);
    let error = try_buffer(&allocator, &in_upload(), 1000).expect_err("the device is gone");
    assert!(error.is_device_removed() && !error.is_out_of_memory(), "{error}");
    allocator.audit().expect("consistent");
}

#[test]
fn what_the_gpu_may_still_use_is_never_pulled_from_under_it() {
    let gpu = open("discrete");
    let allocator = usual(&gpu);
    let _never = free_later(&allocator, local(&allocator, 1000));
    signal(&free_later(&allocator, local(&allocator, 8 * MIB)), 1);
    let ((), logged) = warnings(|| drop(allocator));
    assert!(logged.iter().any(|line| line.contains("count=1")), "{logged:?}");
    assert!(usage(&gpu) > ByteSize::ZERO, "one is lost on purpose");

    let gpu = open("discrete");
    let allocator = usual(&gpu);
    signal(&free_later(&allocator, local(&allocator, 1000)), 1);
    let ((), logged) = warnings(|| drop(allocator));
    assert_eq!((logged, usage(&gpu)), (Vec::<String>::new(), ByteSize::ZERO));
}

/// Counts the calls of the fence's `GetCompletedValue`.
fn count_queries(fence: &ID3D12Fence, queries: &'static AtomicU64) {
    // SAFETY: the original method gets the arguments of the call, and the fence is an `ID3D12Fence`.
    unsafe {
        intercept(fence, queries, |methods| {
            methods.of::<ID3D12Fence>().replace(method!(GetCompletedValue), |fence, ()| {
                fence.data.fetch_add(1, Ordering::Relaxed);
                (fence.original.GetCompletedValue)(fence.this)
            });
        });
    }
}

/// Neither an allocation nor a deferred free asks a fence, however many fences and values wait; `collect` asks each
/// once.
#[test]
fn only_collect_queries_the_fences_and_each_of_them_once() {
    let (gpu, allocator) = with_allocator(open("discrete"));
    let within = place(HeapType::Upload, WITHIN);
    let count = 2000;
    let queries: &AtomicU64 = Box::leak(Box::default());
    let fences: Vec<_> = (0..=count).map(|_| fence_of(gpu.device())).collect();
    fences.iter().for_each(|fence| count_queries(fence, queries));
    let one = &fences[count];
    for (number, each) in fences[..count].iter().enumerate() {
        allocator.free_after(buffer(&allocator, &within, 64), each, FenceValue::new(1)).expect("its own");
        let value = 1 + (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) % 1_000_003;
        allocator.free_after(buffer(&allocator, &within, 64), one, FenceValue::new(value)).expect("its own");
    }
    assert_eq!(allocator.stats().deferred_count, 2 * count as u64);
    assert_eq!(queries.swap(0, Ordering::Relaxed), 0);
    fences[..count].iter().step_by(2).for_each(|fence| signal(fence, 1));
    assert_eq!((allocator.collect(), queries.swap(0, Ordering::Relaxed)), (count / 2, count as u64 + 1));
    fences[..count].iter().for_each(|fence| signal(fence, 1));
    signal(one, u64::MAX - 1);
    assert_eq!((allocator.collect(), allocator.stats().deferred_count), (count / 2 + count, 0));
    assert_eq!(queries.swap(0, Ordering::Relaxed), count as u64 / 2 + 1);
    assert_returns_everything(&allocator, &gpu);
}

#[test]
fn an_adapter_of_another_device_is_refused() {
    let [one, other] = [open("discrete"), open("discrete")];
    let made = ResourceAllocator::new(&one.device, Some(&other.adapter), Default::default());
    invalid(made, "adapter");
    let made = ResidencyManager::new(&one.device, Some(&other.adapter), Default::default());
    invalid(made, "adapter");
}

#[test]
fn an_allocation_of_another_allocator_is_refused_and_returned() {
    let (gpu, one) = with_allocator(any_device());
    let (other, nested) = (usual(&gpu), nested_in(&one, Default::default()));
    let done = fence_of(gpu.device());
    for owner in [&other, &nested] {
        let refused = one.free_after(local(owner, 1000), &done, FenceValue::new(1));
        let error = refused.unwrap_err();
        assert_eq!(error.to_string(), "allocation: it must belong to the allocator that frees it");
        assert_eq!((one.stats().deferred_count, owner.stats().allocation_count), (0, 1));
        owner.free_after(error.into_allocation(), &done, FenceValue::new(0)).expect("its own");
        assert_eq!(owner.collect(), 1);
    }
}

/// A committed resource that is only preferred, and that the budget refuses, frees no deferred allocation: the heap in
/// which the resource itself fits could leave with it.
#[test]
fn a_preference_that_is_refused_leaves_what_serves_the_request() {
    let gpu = open("discrete");
    let allocator = allocator(&gpu, of_policy(FixedPool));
    let _exceeds_the_budget = local(&allocator, MIB);
    signal(&free_later(&allocator, create(&allocator, &in_default(), &texture(1, 1))), 1);
    set_local_budget(&gpu, kib(64));
    let flags = PREFER_COMMITTED | WITHIN_BUDGET;
    let (place, desc) = (place(HeapType::Default, flags), texture(1, 1));
    let probed = allocator.probe(&place, desc).expect("a heap has room");
    let made = allocator.create_resource(&place, &desc, COMMON, None).expect("as predicted");
    assert_eq!((made.info().decision, placement(&made)), (probed.decision, Placement::SharedHeap));
}
