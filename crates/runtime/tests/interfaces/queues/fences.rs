//! Queues and fences: order, events, and waiting.

use std::ffi::c_void;
use std::ptr::null;

use heapwright_d3d12::*;
use windows_core::Interface as _;

use crate::gpu::*;

#[test]
#[cfg(any(windows, target_os = "linux"))]
fn fences_signal_events_and_wait_for_several() {
    use heapwright_d3d12::event::{Event, EventReset};
    use std::time::Duration;

    let device = open();
    let (a, b) = (create_fence(&device, 0), create_fence(&device, 3));
    let event = Event::new(EventReset::Auto).expect("an event");
    unsafe {
        a.SetEventOnCompletion(1, event.handle()).succeeds();
        assert!(!event.is_set().expect("asked"));
        a.Signal(1).succeeds();
        assert!(event.wait(Some(Duration::from_secs(10))).expect("asked"));
        b.SetEventOnCompletion(2, event.handle()).succeeds();
        assert!(event.is_set().expect("asked"));

        let fences = [Some(a.clone()), Some(b.clone())];
        let wait = |values: [u64; 2], flags, handle| {
            device.SetEventOnMultipleFenceCompletion(fences.as_ptr(), values.as_ptr(), 2, flags, handle)
        };
        wait([2, 4], D3D12_MULTIPLE_FENCE_WAIT_FLAG_ALL, event.handle()).succeeds();
        a.Signal(2).succeeds();
        assert!(!event.is_set().expect("asked"), "only one of them");
        b.Signal(4).succeeds();
        assert!(event.is_set().expect("asked"));
        wait([3, 4], D3D12_MULTIPLE_FENCE_WAIT_FLAG_ANY, HANDLE::default()).succeeds();
        wait([2, 4], D3D12_MULTIPLE_FENCE_WAIT_FLAG_ALL, HANDLE::default()).succeeds();
        let bad = |fences: *const Option<ID3D12Fence>, values: *const u64, count, flags| {
            code(device.SetEventOnMultipleFenceCompletion(fences, values, count, flags, event.handle()))
        };
        let (values, none) = ([0, 0], [None, None]);
        assert_eq!(bad(null(), values.as_ptr(), 2, D3D12_MULTIPLE_FENCE_WAIT_FLAG_ALL), E_INVALIDARG);
        assert_eq!(bad(fences.as_ptr(), null(), 2, D3D12_MULTIPLE_FENCE_WAIT_FLAG_ALL), E_INVALIDARG);
        for (count, flags) in [(0, D3D12_MULTIPLE_FENCE_WAIT_FLAG_ALL), (2, 8)] {
            assert_eq!(bad(fences.as_ptr(), values.as_ptr(), count, flags), E_INVALIDARG);
        }
        assert_eq!(bad(none.as_ptr(), values.as_ptr(), 2, D3D12_MULTIPLE_FENCE_WAIT_FLAG_ALL), E_INVALIDARG);
        assert!(!event.is_set().expect("asked"));
        let never = create_fence(&device, 0);
        never.SetEventOnCompletion(9, event.handle()).succeeds();
        assert_eq!(code(never.SetEventOnCompletion(9, HANDLE(usize::MAX as *mut c_void))), E_INVALIDARG);
    }
}

/// Returns the number of handles that the process has open.
#[cfg(target_os = "linux")]
fn open_handles() -> usize {
    std::fs::read_dir("/proc/self/fd").expect("a file system of processes").count()
}

#[test]
#[cfg(target_os = "linux")]
fn waits_for_any_fence_leave_no_handles() {
    use heapwright_d3d12::event::{Event, EventReset};

    let device = open();
    let [soon, never] = [0, 0].map(|value| Some(create_fence(&device, value)));
    let fences = [never, soon.clone()];
    let soon = soon.expect("a fence");
    let event = Event::new(EventReset::Auto).expect("an event");
    let before = open_handles();
    for value in 1..=100_000 {
        let flags = D3D12_MULTIPLE_FENCE_WAIT_FLAG_ANY;
        let values = [1, value];
        unsafe {
            device
                .SetEventOnMultipleFenceCompletion(fences.as_ptr(), values.as_ptr(), 2, flags, event.handle())
                .succeeds();
            soon.Signal(value).succeeds();
        }
        assert!(event.is_set().expect("asked"), "{value}");
    }
    // Other tests of the process have handles, too.
    let open = open_handles().saturating_sub(before);
    assert!(open < 1000, "{open} handles are still open");
}

#[test]
fn queues_are_checked_and_described() {
    let device = open();
    let create =
        |desc: D3D12_COMMAND_QUEUE_DESC| unsafe { device.CreateCommandQueue::<ID3D12CommandQueue>(&desc) };
    let normal = D3D12_COMMAND_QUEUE_DESC { Type: D3D12_COMMAND_LIST_TYPE_COPY, ..Default::default() };
    let queue = create(normal).expect("a queue");
    assert_eq!(unsafe { queue.GetDesc() }.Type, D3D12_COMMAND_LIST_TYPE_COPY);
    assert_ne!(unsafe { queue.GetTimestampFrequency() }.expect("a frequency"), 0);
    let (mut gpu, mut cpu) = (0, 0);
    unsafe { queue.GetClockCalibration(&mut gpu, &mut cpu) }.succeeds();
    assert_ne!(gpu, 0);
    for refused in [
        D3D12_COMMAND_QUEUE_DESC { Type: D3D12_COMMAND_LIST_TYPE_BUNDLE, ..normal },
        D3D12_COMMAND_QUEUE_DESC { Priority: 5, ..normal },
        D3D12_COMMAND_QUEUE_DESC { Flags: 64, ..normal },
        D3D12_COMMAND_QUEUE_DESC { NodeMask: 2, ..normal },
    ] {
        assert_eq!(code(create(refused)), E_INVALIDARG, "{refused:?}");
    }
    let foreign = create_fence(&open(), 0);
    assert_eq!(code(unsafe { queue.Signal(&foreign, 1) }), E_INVALIDARG);
    assert_eq!(code(unsafe { queue.Wait(None, 1) }), E_INVALIDARG);
}

#[test]
fn queues_of_several_threads_are_independent() {
    let device = open();
    std::thread::scope(|scope| {
        for seed in 1..=6_u8 {
            let device = &device;
            scope.spawn(move || {
                let queue = Queue::new(device, D3D12_COMMAND_LIST_TYPE_COPY);
                let upload = commit(device, D3D12_HEAP_TYPE_UPLOAD, 4096);
                let local = commit(device, D3D12_HEAP_TYPE_DEFAULT, 4096);
                let readback = commit(device, D3D12_HEAP_TYPE_READBACK, 4096);
                for round in 0..50 {
                    bytes(&upload).fill(seed.wrapping_mul(round));
                    unsafe {
                        queue.list.CopyResource(&local, &upload);
                        queue.list.CopyResource(&readback, &local);
                    }
                    queue.run();
                    assert!(bytes(&readback).iter().all(|byte| *byte == seed.wrapping_mul(round)));
                }
            });
        }
    });
}

#[test]
fn a_released_queue_completes_its_work() {
    let device = open();
    let upload = commit(&device, D3D12_HEAP_TYPE_UPLOAD, 4 << 20);
    let readback = commit(&device, D3D12_HEAP_TYPE_READBACK, 4 << 20);
    for round in 1..=20 {
        bytes(&upload).fill(round);
        let Queue { queue, list, allocator, fence } = Queue::direct(&device);
        unsafe {
            list.CopyResource(&readback, &upload);
            list.Close().succeeds();
            queue.ExecuteCommandLists(&[Some(list.cast().expect("a list"))]);
            queue.Signal(&fence, 1).succeeds();
            drop(queue);
            fence.SetEventOnCompletion(1, HANDLE::default()).succeeds();
            assert_eq!(fence.GetCompletedValue(), 1);
            assert_eq!(code(allocator.Reset()), S_OK);
        }
        assert!(bytes(&readback).iter().all(|byte| *byte == round));
    }
}

#[test]
fn a_queue_that_waits_forever_can_be_released() {
    let (device, queue) = open_direct();
    let never = create_fence(&device, 0);
    unsafe {
        queue.list.Close().succeeds();
        queue.queue.Wait(&never, 1).succeeds();
        queue.execute(&[&queue.list]);
    }
    let Queue { queue, allocator, .. } = queue;
    assert_eq!(code(unsafe { allocator.Reset() }), E_FAIL, "the list is pending");
    drop(queue);
    assert_eq!(code(unsafe { allocator.Reset() }), S_OK, "the list was dropped with the queue");
}
