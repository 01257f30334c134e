//! Residency and budgets through the COM interfaces.

use std::time::{Duration, Instant};

use crate::gpu::{buffer_desc, committed, create_heap, heap_desc, instance, memory_info, of_type, placed};
use heapwright_core::ByteSize;
use heapwright_d3d12::event::{Event, EventReset};
use heapwright_d3d12::*;
use heapwright_runtime::{Instance, SegmentGroup};
use windows_core::{HRESULT, Interface};

const MIB: u64 = 1 << 20;

fn info(gpu: &Instance) -> DXGI_QUERY_VIDEO_MEMORY_INFO {
    memory_info(&gpu.adapter, DXGI_MEMORY_SEGMENT_GROUP_LOCAL)
}

fn heap(gpu: &Instance, size: u64, flags: D3D12_HEAP_FLAGS) -> Result<ID3D12Heap, HRESULT> {
    create_heap(&gpu.device, &D3D12_HEAP_DESC { Flags: flags, ..heap_desc(D3D12_HEAP_TYPE_DEFAULT, size) })
}

fn pageable(object: &impl Interface) -> Option<ID3D12Pageable> {
    Some(object.cast().expect("a pageable"))
}

fn enqueue_with(
    device: &ID3D12Device3,
    flags: D3D12_RESIDENCY_FLAGS,
    objects: &[Option<ID3D12Pageable>],
    fence: &ID3D12Fence,
    value: u64,
) -> HRESULT {
    let (count, first) = (u32::try_from(objects.len()).expect("few"), objects.as_ptr().cast());
    let enqueue = device.vtable().EnqueueMakeResident;
    unsafe { enqueue(device.as_raw(), flags, count, first, fence.as_raw(), value) }
}

/// Calls `EnqueueMakeResident` without flags.
fn enqueue(
    device: &ID3D12Device3,
    objects: &[Option<ID3D12Pageable>],
    fence: &ID3D12Fence,
    value: u64,
) -> HRESULT {
    enqueue_with(device, D3D12_RESIDENCY_FLAG_NONE, objects, fence, value)
}

#[test]
fn what_cannot_be_paged_is_refused() {
    let gpu = instance("discrete");
    let heap = heap(&gpu, MIB, D3D12_HEAP_FLAG_NONE).expect("created");
    let desc = buffer_desc(256, D3D12_RESOURCE_FLAG_NONE);
    let (properties, state) = (of_type(D3D12_HEAP_TYPE_DEFAULT), D3D12_RESOURCE_STATE_COMMON);
    let placed = placed(&gpu.device, &heap, 0, &desc, state).expect("placed");
    let committed = committed(&gpu.device, properties, D3D12_HEAP_FLAG_NONE, &desc, state).expect("created");
    unsafe {
        assert_eq!(gpu.device.Evict(&[pageable(&placed)]), E_INVALIDARG, "its heap is what is resident");
        assert_eq!(gpu.device.Evict(&[None]), E_INVALIDARG);
        assert_eq!(gpu.device.Evict(&[]), S_OK);
        let before = info(&gpu).CurrentUsage;
        assert_eq!(gpu.device.Evict(&[pageable(&committed)]), S_OK, "it is memory of its own");
        assert!(info(&gpu).CurrentUsage < before);
        let other = instance("discrete");
        assert_eq!(other.device.Evict(&[pageable(&heap)]), E_INVALIDARG, "of another device");
        let (newer, fence) = (gpu.device.cast().expect("known"), fence(&gpu.device));
        let unknown = enqueue_with(&newer, 8, &[pageable(&heap)], &fence, 1);
        assert_eq!(unknown, E_INVALIDARG, "an unknown flag");
        let this = gpu.device.vtable();
        assert_eq!((this.MakeResident)(gpu.device.as_raw(), 1, std::ptr::null()), E_INVALIDARG);
    }
}

#[test]
fn priorities_are_levels() {
    let gpu = instance("discrete");
    let heap = heap(&gpu, MIB, D3D12_HEAP_FLAG_NONE).expect("created");
    let device: ID3D12Device1 = gpu.device.cast().expect("known");
    let set = |priority: D3D12_RESIDENCY_PRIORITY| unsafe {
        let objects = [pageable(&heap)];
        (device.vtable().SetResidencyPriority)(device.as_raw(), 1, objects.as_ptr().cast(), &priority)
    };
    assert_eq!(set(D3D12_RESIDENCY_PRIORITY_HIGH), S_OK);
    assert_eq!(set(D3D12_RESIDENCY_PRIORITY_LOW + 7), S_OK, "the lower half ranks within a level");
    assert_eq!(set(1), E_INVALIDARG);
}

#[test]
fn paging_takes_the_time_that_the_profile_says() {
    let gpu = instance("slow-paging");
    let heap = heap(&gpu, 320 * MIB, D3D12_HEAP_FLAG_NONE).expect("created");
    let objects = [pageable(&heap)];
    assert_eq!(unsafe { gpu.device.Evict(&objects) }, S_OK);
    let begun = Instant::now();
    assert_eq!(unsafe { gpu.device.MakeResident(&objects) }, S_OK);
    assert!(begun.elapsed() >= Duration::from_millis(20), "320 MiB at a millisecond for 16 MiB");
}

#[test]
fn a_budget_change_is_signalled_to_whoever_registered() {
    let gpu = instance("discrete");
    let event = Event::new(EventReset::Auto).expect("an event");
    let mut cookie = 0;
    unsafe { gpu.adapter.RegisterVideoMemoryBudgetChangeNotificationEvent(event.handle()) }
        .map(|made| cookie = made)
        .expect("registered");
    assert!(!event.wait(Some(Duration::ZERO)).expect("waits"));
    gpu.set_budget(SegmentGroup::Local, ByteSize::from_gib(3));
    assert!(event.wait(Some(Duration::from_secs(60))).expect("waits"));
    assert_eq!(info(&gpu).Budget, 3 << 30);
    assert_eq!(info(&gpu).AvailableForReservation, 3 << 29);
    unsafe { gpu.adapter.UnregisterVideoMemoryBudgetChangeNotification(cookie) };
    gpu.set_budget(SegmentGroup::Local, ByteSize::from_gib(4));
    assert!(!event.wait(Some(Duration::ZERO)).expect("waits"), "no more after the end of the registration");
    let null = unsafe { gpu.adapter.RegisterVideoMemoryBudgetChangeNotificationEvent(HANDLE::default()) };
    assert_eq!(null.expect_err("no event").code(), E_INVALIDARG);
}

fn fence(device: &ID3D12Device) -> ID3D12Fence {
    unsafe { device.CreateFence(0, D3D12_FENCE_FLAG_NONE) }.expect("created")
}

/// Blocks until a fence has reached `value`.
fn wait(fence: &ID3D12Fence, value: u64) {
    assert_eq!(unsafe { fence.SetEventOnCompletion(value, HANDLE::default()) }, S_OK, "a null event blocks");
}

fn queue(device: &ID3D12Device) -> ID3D12CommandQueue {
    let desc = D3D12_COMMAND_QUEUE_DESC { Type: D3D12_COMMAND_LIST_TYPE_COPY, ..Default::default() };
    unsafe { device.CreateCommandQueue(&desc) }.expect("created")
}

#[test]
fn enqueued_calls_are_done_in_their_order() {
    let gpu = instance("slow-paging");
    let device: ID3D12Device3 = gpu.device.cast().expect("known");
    let large = heap(&gpu, 320 * MIB, D3D12_HEAP_FLAG_NONE).expect("created");
    let small = heap(&gpu, MIB, D3D12_HEAP_FLAG_NONE).expect("created");
    let (large, small) = ([pageable(&large)], [pageable(&small)]);
    let (first, second, third) = (fence(&device), fence(&device), fence(&device));
    assert_eq!(unsafe { device.Evict(&large) }, S_OK);
    assert_eq!(unsafe { device.Evict(&small) }, S_OK);
    assert_eq!(enqueue(&device, &large, &first, 1), S_OK);
    assert_eq!(enqueue(&device, &small, &second, 1), S_OK);
    assert_eq!(enqueue(&device, &[], &third, 1), S_OK, "no objects: when all before it is done");
    wait(&third, 1);
    let values = [&first, &second].map(|fence| unsafe { fence.GetCompletedValue() });
    assert_eq!(values, [1, 1], "the small one came after the large one, and the empty call last");
}

#[test]
fn an_object_may_be_evicted_or_released_before_it_arrives() {
    let gpu = instance("slow-paging");
    let device: ID3D12Device3 = gpu.device.cast().expect("known");
    let evicted = heap(&gpu, 160 * MIB, D3D12_HEAP_FLAG_NONE).expect("created");
    let released = heap(&gpu, 160 * MIB, D3D12_HEAP_FLAG_NONE).expect("created");
    let mut objects = vec![pageable(&evicted), pageable(&released), pageable(&evicted)];
    assert_eq!(unsafe { device.Evict(&objects[..2]) }, S_OK);
    let fence = fence(&device);
    assert_eq!(enqueue(&device, &objects, &fence, 1), S_OK, "one of them twice");
    assert_eq!(info(&gpu).CurrentUsage, 320 * MIB);
    assert_eq!(unsafe { device.Evict(&[objects[0].clone(), objects[2].clone()]) }, S_OK);
    assert_eq!(info(&gpu).CurrentUsage, 160 * MIB, "not there yet, and charged no more");
    objects.clear();
    drop(released);
    wait(&fence, 1);
    assert_eq!(info(&gpu).CurrentUsage, 0);
    let residency = gpu.residency();
    assert_eq!([residency.paged_in.objects, residency.paged_out.objects], [2, 3]);
    assert_eq!(residency.released_resident.objects, 1);
    residency.check_balance().expect("each Evict had its MakeResident");
}

#[test]
fn a_removed_device_lets_nobody_wait_for_paging() {
    let gpu = instance("slow-paging");
    let device: ID3D12Device3 = gpu.device.cast().expect("known");
    let heap = heap(&gpu, 3 << 30, D3D12_HEAP_FLAG_NONE).expect("created");
    let objects = [pageable(&heap)];
    assert_eq!(unsafe { device.Evict(&objects) }, S_OK);
    let (paged, done, queue) = (fence(&device), fence(&device), queue(&device));
    assert_eq!(enqueue(&device, &objects, &paged, 1), S_OK);
    unsafe {
        assert_eq!(queue.Wait(&paged, 1), S_OK);
        assert_eq!(queue.Signal(&done, 1), S_OK);
        device.cast::<ID3D12Device5>().expect("known").RemoveDevice();
        assert_eq!(device.GetDeviceRemovedReason(), DXGI_ERROR_DEVICE_REMOVED);
        assert_eq!(paged.GetCompletedValue(), u64::MAX);
        wait(&done, 1);
        assert_eq!(enqueue(&device, &objects, &paged, 2), DXGI_ERROR_DEVICE_REMOVED);
        assert_eq!(device.MakeResident(&objects), DXGI_ERROR_DEVICE_REMOVED);
        assert_eq!(device.Evict(&objects), S_OK, "giving memory up needs no GPU");
        assert_eq!(info(&gpu).CurrentUsage, 0, "the refused calls counted nothing");
        assert_eq!(paged.GetCompletedValue(), u64::MAX, "and stays there");
    }
    let residency = gpu.residency();
    assert_eq!((residency.make_resident.refused, residency.enqueue_make_resident.refused), (1, 1));
}

#[test]
fn a_refused_evict_leaves_what_it_names_where_it_is() {
    let gpu = instance("slow-paging");
    let heaps: Vec<_> =
        (0..2).map(|_| heap(&gpu, 2 << 30, D3D12_HEAP_FLAG_NONE).expect("room for two")).collect();
    let objects: Vec<_> = heaps.iter().map(pageable).collect();
    assert_eq!(unsafe { gpu.device.Evict(&objects[1..]) }, S_OK);
    let usage = info(&gpu).CurrentUsage;
    for _ in 0..100 {
        assert_eq!(unsafe { gpu.device.Evict(&objects) }, E_INVALIDARG, "the second is not resident");
        let twice = [objects[0].clone(), objects[0].clone()];
        assert_eq!(unsafe { gpu.device.Evict(&twice) }, E_INVALIDARG, "resident once");
    }
    assert_eq!(info(&gpu).CurrentUsage, usage);
    assert_eq!(gpu.residency().paged_out.objects, 1, "by the first Evict");
}

#[test]
fn of_two_calls_that_fit_alone_and_not_together_one_has_success() {
    let gpu = instance("discrete");
    let device: ID3D12Device3 = gpu.device.cast().expect("known");
    let heaps: Vec<_> = (0..8).map(|_| heap(&gpu, MIB, D3D12_HEAP_FLAG_NONE).expect("room")).collect();
    let objects: Vec<_> = heaps.iter().map(pageable).collect();
    assert_eq!(unsafe { device.Evict(&objects) }, S_OK);
    gpu.set_budget(SegmentGroup::Local, ByteSize::from_mib(4));
    let call = |heaps: &[ID3D12Heap]| {
        let objects: Vec<_> = heaps.iter().map(pageable).collect();
        let fence = fence(&device);
        let made = enqueue_with(&device, D3D12_RESIDENCY_FLAG_DENY_OVERBUDGET, &objects, &fence, 1);
        if made.is_ok() {
            wait(&fence, 1);
        }
        made
    };
    for round in 0..200 {
        let barrier = std::sync::Barrier::new(2);
        let results = std::thread::scope(|scope| {
            let threads: Vec<_> = heaps
                .chunks(4)
                .map(|half| {
                    scope.spawn(|| {
                        barrier.wait();
                        call(half)
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect::<Vec<_>>()
        });
        // If the check of the budget and the charge were not one atomic step, both calls could find the
        // budget exceeded.
        let made: Vec<usize> = (0..2).filter(|&index| results[index] == S_OK).collect();
        assert_eq!(made.len(), 1, "round {round}: {results:?}");
        assert_eq!(results[1 - made[0]], E_OUTOFMEMORY);
        assert_eq!(unsafe { device.Evict(&objects[made[0] * 4..][..4]) }, S_OK);
    }
    assert_eq!(info(&gpu).CurrentUsage, 0);
    gpu.residency().check_balance().expect("as often evicted as made resident");
}
