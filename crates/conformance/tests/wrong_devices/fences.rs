//! Fences with replaced methods, and the queues' calls on them.

use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use heapwright_d3d12::*;
use heapwright_intercept::{Methods, method};
use windows_core::Interface;

use crate::lies::{Liar, Lies};

pub(crate) unsafe fn replace_queue(methods: &Methods<Lies>) {
    // SAFETY: the methods are those of a queue; the replacements pass on what their callers promise.
    unsafe {
        let queue = methods.of::<ID3D12CommandQueue>();
        queue.replace(method!(Signal), |call, (fence, value)| {
            let hresult =
                (call.original.Signal)(call.this, fence, call.data.signal.map_or(value, |lie| lie(value)));
            if call.data.ignores_wait {
                // The queue is idle when the call returns, so that the check sees it however busy the machine is.
                let fence = ID3D12Fence::from_raw_borrowed(&fence);
                let _ = fence.map(|fence| fence.SetEventOnCompletion(value, HANDLE::default()));
            }
            hresult
        });
        queue.replace(method!(Wait), |call, (fence, value)| {
            let lies = call.data;
            if lies.keeps_fences {
                std::mem::forget(windows_core::IUnknown::from_raw_borrowed(&fence).cloned());
            }
            if lies.ignores_wait {
                return S_OK;
            }
            if lies.waits_take_turns
                && let Some(turn) = turn(call.this, fence, value)
            {
                return (call.original.Wait)(call.this, turn.as_raw(), 1);
            }
            (call.original.Wait)(call.this, fence, value)
        });
    }
}

pub(crate) unsafe fn replace(methods: &Methods<Lies>) {
    // SAFETY: the methods are those of a fence; the replacements pass on what their callers promise.
    unsafe {
        let fence = methods.of::<ID3D12Fence>();
        fence.replace(method!(GetCompletedValue), |call, ()| {
            signal_pending();
            let value = (call.original.GetCompletedValue)(call.this);
            if RETURNED_EARLY.take() {
                *WAS_EARLY.0.lock().expect("no panics") = true;
                WAS_EARLY.1.notify_all();
            }
            call.data.completed.map_or(value, |lie| lie(value))
        });
        fence.replace(method!(SetEventOnCompletion), |call, (value, event)| {
            if call.data.ignores_null_event && event == HANDLE::default() {
                RETURNED_EARLY.set(true);
                return S_OK;
            }
            (call.original.SetEventOnCompletion)(call.this, value, event)
        });
        fence.replace(method!(Signal), |call, (value,)| {
            if call.data.ignores_null_event {
                // The value changes after the early return was seen, so that the check sees it however busy the machine
                // is.
                let (was_early, changed) = &WAS_EARLY;
                let guard = was_early.lock().expect("no panics");
                let is_late = |was_early: &mut bool| !*was_early;
                drop(changed.wait_timeout_while(guard, Duration::from_secs(60), is_late).expect("no panics"));
            }
            let fence = Some(call.object()).filter(|_| call.data.coalesces_signals);
            let Some(fence) = fence.cloned() else {
                return (call.original.Signal)(call.this, value);
            };
            let is_of_another =
                PENDING.with_borrow(|pending| pending.as_ref().is_some_and(|(other, _)| *other != fence));
            if is_of_another {
                signal_pending();
            }
            PENDING.set(Some((fence, value)));
            S_OK
        });
    }
}

/// Whether a thread's wait returned early, and the thread has read the fence's value since then.
static WAS_EARLY: (Mutex<bool>, Condvar) = (Mutex::new(false), Condvar::new());

thread_local! {
    /// Whether this thread's last wait returned early.
    static RETURNED_EARLY: Cell<bool> = const { Cell::new(false) };
    /// This thread's last queued wait: the queue, the fence and the value.
    static LAST_WAIT: RefCell<Option<(usize, ID3D12Fence, u64)>> = const { RefCell::new(None) };
    /// This thread's last signal, which has not reached the fence yet.
    static PENDING: RefCell<Option<(ID3D12Fence, u64)>> = const { RefCell::new(None) };
}

/// Returns a fence that becomes 1 when the queue's previous wait is over and `fence` then has the value;
/// `None` for the first wait of a queue.
///
/// # Safety
///
/// `queue` must be a queue and `fence` a fence.
unsafe fn turn(queue: *mut c_void, fence: *mut c_void, value: u64) -> Option<ID3D12Fence> {
    // SAFETY: the caller upholds the contract of this function.
    let (fence, queue) = unsafe {
        (ID3D12Fence::from_raw_borrowed(&fence)?.clone(), ID3D12CommandQueue::from_raw_borrowed(&queue)?)
    };
    let this_one = (queue.as_raw().addr(), fence.clone(), value);
    let (last_queue, last_fence, last_value) = LAST_WAIT.replace(Some(this_one))?;
    if last_queue != queue.as_raw().addr() {
        return None;
    }
    let mut device = None::<ID3D12Device>;
    // SAFETY: the queue is live, and device takes one interface.
    unsafe { queue.GetDevice(&mut device) }.ok()?;
    // SAFETY: the device is live.
    let turn: ID3D12Fence = unsafe { device?.CreateFence(0, D3D12_FENCE_FLAG_NONE) }.ok()?;
    let signalled = turn.clone();
    std::thread::spawn(move || {
        // SAFETY: the fences are live, and a null event blocks.
        unsafe {
            let _ = last_fence.SetEventOnCompletion(last_value, HANDLE::default());
            let _ = fence.SetEventOnCompletion(value, HANDLE::default());
            let _ = signalled.Signal(1);
        }
    });
    Some(turn)
}

/// Signals the pending value.
fn signal_pending() {
    if let Some((fence, value)) = PENDING.take() {
        // SAFETY: the fence is live and was intercepted.
        unsafe {
            let call = Liar::<ID3D12Fence>::new(fence.as_raw());
            // The intercepted methods have no way to report this error.
            let _ = (call.original.Signal)(call.this, value);
        }
    }
}
