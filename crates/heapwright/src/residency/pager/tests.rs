//! Races between a pager and queues that come and go.

use std::sync::mpsc;

use heapwright_intercept::{intercept, method};
use heapwright_runtime::{HostProfile, Instance};
use windows_core::Interface as _;

use super::*;

/// A function that is called once, before a fence's value is read.
type Before = Mutex<Option<Box<dyn FnOnce() + Send>>>;

fn queue(device: &ID3D12Device) -> ID3D12CommandQueue {
    // SAFETY: a live COM object, and a result of the interface that is asked for.
    unsafe { device.CreateCommandQueue(&D3D12_COMMAND_QUEUE_DESC::default()) }.expect("a queue")
}

/// The slot of a queue becomes another's while a thread polls. The value that the old queue's fence has reached says
/// nothing about the new queue.
#[test]
fn the_value_of_a_removed_queue_completes_nothing_of_another() {
    let gpu = Instance::open(HostProfile::default_profile()).expect("a fresh instance");
    let desc = ResidencyManagerDesc::default();
    let pager = Pager::new(&gpu.device, Some(&gpu.adapter), &desc).expect("a sound description");
    let slot = {
        let removed = pager.queue(&queue(&gpu.device)).expect("the device's own");
        // SAFETY: a live COM object.
        unsafe { removed.fence.Signal(5000) }.ok().expect("signalled");
        removed.slot
    };

    let (begin, has_begun) = mpsc::channel();
    let (end, has_ended) = mpsc::channel();
    let (other, new) = (Arc::clone(&pager), queue(&gpu.device));
    let submitting = std::thread::spawn(move || {
        has_begun.recv().expect("the poll begins");
        let new = other.queue(&new).expect("the device's own");
        assert_eq!(new.slot, slot, "the slot of the removed queue");
        other.books.lock().planner.begin(new.slot, FenceValue::new(1));
        // Nobody waits any more if it could not go on before.
        let _ = end.send(());
    });
    let before: &'static Before = Box::leak(Box::default());
    let fence: ID3D12Fence1 = pager.paging_fence.cast().expect("the newest interface");
    // SAFETY: this is the newest interface of its chain, and no other thread uses the fence yet.
    unsafe {
        intercept(&fence, before, |methods| {
            methods.of::<ID3D12Fence>().replace(method!(GetCompletedValue), |call, ()| {
                if let Some(before) = call.data.lock().expect("no panic").take() {
                    before();
                }
                (call.original.GetCompletedValue)(call.this)
            });
        });
    }
    *before.lock().expect("no panic") = Some(Box::new(move || {
        begin.send(()).expect("it waits");
        let _ = has_ended.recv_timeout(Duration::from_millis(300));
    }));
    pager.poll(&mut pager.lock()).expect("the device works");
    submitting.join().expect("no panic");
    assert_eq!(pager.books.lock().planner.in_flight(), 1, "the new queue's submission");
}
