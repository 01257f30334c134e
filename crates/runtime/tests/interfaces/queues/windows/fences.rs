//! Fences that are rewound, and fences that are released while a wait is pending.

use std::sync::mpsc;
use std::time::Duration;

use heapwright_d3d12::*;

use crate::gpu::*;

const SOON: Duration = Duration::from_secs(20);

/// Fails a test that would hang.
fn within(limit: Duration, body: impl FnOnce() + Send + 'static) {
    let (done, ended) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        body();
        let _ = done.send(());
    });
    match ended.recv_timeout(limit) {
        Ok(()) | Err(mpsc::RecvTimeoutError::Disconnected) => {
            thread.join().expect("the test thread panicked")
        }
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("the test timed out"),
    }
}

fn wait(queue: &ID3D12CommandQueue, fence: &ID3D12Fence, value: u64) {
    unsafe { queue.Wait(fence, value) }.succeeds();
}

fn signal(queue: &ID3D12CommandQueue, fence: &ID3D12Fence, value: u64) {
    unsafe { queue.Signal(fence, value) }.succeeds();
}

fn block(fence: &ID3D12Fence, value: u64) {
    unsafe { fence.SetEventOnCompletion(value, HANDLE::default()) }.succeeds();
}

fn value(fence: &ID3D12Fence) -> u64 {
    unsafe { fence.GetCompletedValue() }
}

/// A wait that begins after the fence was rewound waits for the next signal.
#[test]
fn a_new_wait_ignores_earlier_values_of_the_fence() {
    let (device, queue) = open_direct();
    let (fence, progress) = (create_fence(&device, 9), create_fence(&device, 0));
    unsafe { fence.Signal(0) }.succeeds();
    wait(&queue.queue, &fence, 9);
    signal(&queue.queue, &progress, 1);
    std::thread::sleep(Duration::from_millis(30));
    assert_eq!(value(&progress), 0);
    unsafe { fence.Signal(10) }.succeeds();
    within(SOON, move || block(&progress, 1));
}

/// Two queues hand over to each other while the CPU rewinds the fence.
#[test]
fn ping_pong_continues_after_the_fence_value_is_decreased() {
    within(Duration::from_secs(60), || {
        let device = open();
        let (ping, pong) = (Queue::direct(&device), Queue::new(&device, D3D12_COMMAND_LIST_TYPE_COMPUTE));
        let [fence, progress] = [0; 2].map(|value| create_fence(&device, value));
        for turn in 0..1000 {
            wait(&ping.queue, &fence, 2 * turn + 1);
            signal(&ping.queue, &fence, 2 * turn + 2);
        }
        for turn in 0..1000 {
            wait(&pong.queue, &fence, 2 * turn);
            signal(&pong.queue, &progress, 2 * turn + 1);
            signal(&pong.queue, &fence, 2 * turn + 1);
        }
        while value(&progress) < 1999 {
            unsafe { fence.Signal(0) }.succeeds();
            std::thread::yield_now();
        }
    });
}

/// vkd3d-proton's test_fence_wait_robustness: waits hold no reference, and the last release ends all waits.
#[test]
#[cfg(any(windows, target_os = "linux"))]
fn releasing_a_fence_releases_who_waits_for_it() {
    use heapwright_d3d12::event::{Event, EventReset};
    within(SOON, || {
        let device = open();
        let (queue, other) = (Queue::direct(&device), Queue::direct(&device));
        let [never, again, drained] = [0; 3].map(|value| create_fence(&device, value));
        let event = Event::new(EventReset::Auto).expect("an event");
        wait(&queue.queue, &never, u64::MAX);
        signal(&queue.queue, &again, 1);
        wait(&other.queue, &again, 1);
        signal(&other.queue, &drained, 1);
        unsafe { never.SetEventOnCompletion(u64::MAX, event.handle()) }.succeeds();
        assert!(!event.is_set().expect("asked"));
        assert_eq!(value(&drained), 0);
        drop(again);
        drop(never);
        assert!(event.wait(Some(SOON)).expect("asked"));
        block(&drained, 1);
        queue.drain();
        assert_eq!(code(unsafe { device.GetDeviceRemovedReason() }), S_OK);
    });
}

/// A fence that was opened twice is released when both objects are.
#[test]
#[cfg(any(windows, target_os = "linux"))]
fn a_shared_fence_is_released_with_its_last_object() {
    use heapwright_d3d12::event::{Event, EventReset};
    let device = open();
    let event = Event::new(EventReset::Auto).expect("an event");
    let fence: ID3D12Fence = unsafe { device.CreateFence(0, D3D12_FENCE_FLAG_SHARED) }.expect("a fence");
    let handle = unsafe { device.CreateSharedHandle(&fence, None, 0x1000_0000, None) }.expect("a handle");
    let mut opened: Option<ID3D12Fence> = None;
    unsafe { device.OpenSharedHandle(handle, &mut opened) }.expect("an open handle");
    unsafe { event::close(handle) };
    unsafe { fence.SetEventOnCompletion(1, event.handle()) }.succeeds();
    drop(fence);
    assert!(!event.is_set().expect("asked"), "the other object keeps the fence alive");
    drop(opened);
    assert!(event.is_set().expect("asked"));
}
