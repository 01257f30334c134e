//! Tests of the faulty device, queue and adapter themselves: each call is passed on, and fails where
//! requested.
#![allow(
    clippy::undocumented_unsafe_blocks,
    reason = "every call here is one of D3D12's or DXGI's, on live objects"
)]

use std::sync::Arc;

use crate::faulty_device::{Call, Faults, inject, inject_adapter, inject_first, uncounted};
use heapwright::d3d12::event::{Event, EventReset};
use heapwright::d3d12::*;
use heapwright_runtime::Instance;
use windows_core::{HRESULT, Interface};

const RESIDENCY_CALLS: [Call; 12] = [
    Call::MakeResident,
    Call::EnqueueMakeResident,
    Call::Evict,
    Call::CreateFence,
    Call::CreateDescriptorHeap,
    Call::CreateQueryHeap,
    Call::CreateCommandQueue,
    Call::QueueSignal,
    Call::QueueWait,
    Call::QueryVideoMemoryInfo,
    Call::SetVideoMemoryReservation,
    Call::RegisterVideoMemoryBudgetChangeNotificationEvent,
];

/// Returns the result of every call that a residency manager makes, in the order of `RESIDENCY_CALLS`.
fn answers(device: &ID3D12Device, adapter: &IDXGIAdapter3) -> [HRESULT; 12] {
    fn code<T>(result: windows_core::Result<T>) -> HRESULT {
        result.map_or_else(|error| error.code(), |_| S_OK)
    }
    let descriptors = D3D12_DESCRIPTOR_HEAP_DESC { NumDescriptors: 8, ..Default::default() };
    let queries = D3D12_QUERY_HEAP_DESC { Type: D3D12_QUERY_HEAP_TYPE_TIMESTAMP, Count: 8, NodeMask: 0 };
    let queue_desc = D3D12_COMMAND_QUEUE_DESC { Type: D3D12_COMMAND_LIST_TYPE_COPY, ..Default::default() };
    let event = Event::new(EventReset::Auto).expect("an event");
    let local = DXGI_MEMORY_SEGMENT_GROUP_LOCAL;
    unsafe {
        let heap: ID3D12DescriptorHeap =
            uncounted(|| device.CreateDescriptorHeap(&descriptors)).expect("created");
        // One fence for each signaller, as the paging thread may be later than the queue.
        let [fence, paged] = [0; 2].map(|value| -> ID3D12Fence {
            uncounted(|| device.CreateFence(value, D3D12_FENCE_FLAG_NONE)).expect("created")
        });
        let objects = [Some(heap.cast::<ID3D12Pageable>().expect("a pageable"))];
        let made_resident = device.MakeResident(&objects);
        let enqueued = match device.cast::<ID3D12Device3>() {
            Ok(device) => (device.vtable().EnqueueMakeResident)(
                device.as_raw(),
                D3D12_RESIDENCY_FLAG_NONE,
                1,
                objects.as_ptr().cast(),
                paged.as_raw(),
                1,
            ),
            Err(_) => E_NOINTERFACE,
        };
        let evicted = device.Evict(&objects);
        let created_fence = code(device.CreateFence::<ID3D12Fence>(0, D3D12_FENCE_FLAG_NONE));
        let created_heap = code(device.CreateDescriptorHeap::<ID3D12DescriptorHeap>(&descriptors));
        let mut query_heap: Option<ID3D12QueryHeap> = None;
        let created_queries = code(device.CreateQueryHeap(&queries, &mut query_heap));
        let queue = device.CreateCommandQueue::<ID3D12CommandQueue>(&queue_desc);
        let created_queue = queue.as_ref().map_or_else(|error| error.code(), |_| S_OK);
        let (mut signalled, mut waited) = (S_OK, S_OK);
        if let Ok(queue) = &queue {
            waited = queue.Wait(&fence, 0);
            signalled = queue.Signal(&fence, 2);
            if signalled.is_ok() {
                assert_eq!(fence.SetEventOnCompletion(2, HANDLE::default()), S_OK, "a null event blocks");
            }
            let mut of: Option<ID3D12Device> = None;
            queue.GetDevice(&mut of).expect("a child of a device");
            assert_eq!(of.as_ref(), Some(device), "the queue is the device's");
        }
        let mut info = DXGI_QUERY_VIDEO_MEMORY_INFO::default();
        let queried = adapter.QueryVideoMemoryInfo(0, local, &mut info);
        let reserved = adapter.SetVideoMemoryReservation(0, local, 1 << 20);
        let registered = adapter.RegisterVideoMemoryBudgetChangeNotificationEvent(event.handle());
        if let Ok(cookie) = registered {
            adapter.UnregisterVideoMemoryBudgetChangeNotification(cookie);
        }
        [
            made_resident,
            enqueued,
            evicted,
            created_fence,
            created_heap,
            created_queries,
            created_queue,
            signalled,
            waited,
            queried,
            reserved,
            code(registered),
        ]
    }
}

type Wrap = fn(&ID3D12Device, &Arc<Faults>) -> ID3D12Device;

/// Returns the results on a fresh GPU with faults of `call`, armed by `arm`, and the number of those calls.
fn with_faults(wrap: Wrap, call: Option<Call>, arm: impl Fn(&Faults)) -> ([HRESULT; 12], u64, Instance) {
    let gpu = crate::gpu::open("discrete");
    let faults = Faults::new(call, DXGI_ERROR_DEVICE_HUNG);
    arm(&faults);
    let device = wrap(&gpu.device, &faults);
    let answers = answers(&device, &inject_adapter(&gpu.adapter, &faults));
    (answers, faults.calls(), gpu)
}

#[test]
fn without_a_fault_every_call_has_success() {
    let (answers, calls, gpu) = with_faults(inject, None, |_| {});
    assert_eq!((answers, calls), ([S_OK; 12], 12));
    let residency = gpu.residency();
    assert_eq!(
        [residency.make_resident.calls, residency.enqueue_make_resident.calls, residency.evict.calls],
        [1; 3],
        "they came to the device behind"
    );
}

#[test]
fn the_call_that_is_chosen_fails_and_no_other() {
    for (index, call) in RESIDENCY_CALLS.into_iter().enumerate() {
        for fails_always in [false, true] {
            let arm = |faults: &Faults| if fails_always { faults.fail_all() } else { faults.fail_nth(0) };
            let (answers, calls, _gpu) = with_faults(inject, Some(call), arm);
            let mut expected = [S_OK; 12];
            expected[index] = DXGI_ERROR_DEVICE_HUNG;
            assert_eq!(answers, expected, "{call:?}");
            assert_eq!(calls, 1, "{call:?}");
        }
    }
}

#[test]
fn a_call_that_fails_does_not_come_to_the_device() {
    let (answers, _, gpu) = with_faults(inject, Some(Call::Evict), Faults::fail_all);
    assert_eq!(answers[2], DXGI_ERROR_DEVICE_HUNG);
    assert_eq!(gpu.residency().evict.calls, 0);
}

#[test]
fn the_first_interface_has_all_but_enqueueing() {
    let (answers, calls, _gpu) = with_faults(inject_first, None, |_| {});
    let mut expected = [S_OK; 12];
    expected[1] = E_NOINTERFACE;
    assert_eq!((answers, calls), (expected, 11));
    for (index, call) in RESIDENCY_CALLS.into_iter().enumerate().filter(|(index, _)| *index != 1) {
        let (answers, ..) = with_faults(inject_first, Some(call), |faults| faults.fail_nth(0));
        assert_eq!(answers[index], DXGI_ERROR_DEVICE_HUNG, "{call:?}");
    }
}
