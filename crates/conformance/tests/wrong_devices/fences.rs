//! Fences with replaced methods, and the queues' calls on them.

use std::cell::RefCell;
use std::ffi::c_void;

use heapwright_d3d12::*;
use windows_core::{HRESULT, Interface};

use crate::intercept::behind;

pub(crate) fn replace_queue(table: &mut ID3D12CommandQueue_Vtbl) {
    table.Signal = queue_signal;
    table.Wait = queue_wait;
}

pub(crate) fn replace(table: &mut ID3D12Fence1_Vtbl) {
    table.base__.GetCompletedValue = completed_value;
    table.base__.SetEventOnCompletion = set_event_on_completion;
    table.base__.Signal = signal;
}

thread_local! {
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
            let (_, table) = behind::<ID3D12Fence1_Vtbl>(fence.as_raw());
            // The intercepted methods have no way to report this error.
            let _ = (table.base__.Signal)(fence.as_raw(), value);
        }
    }
}

// The methods below are only in the tables of intercepted objects. They pass their arguments on unchanged
// or as a lie changed them, and have the contracts of the original methods.

unsafe extern "system" fn queue_signal(this: *mut c_void, fence: *mut c_void, value: u64) -> HRESULT {
    // SAFETY: the caller upholds the contract of the original method.
    unsafe {
        let (lies, table) = behind::<ID3D12CommandQueue_Vtbl>(this);
        (table.Signal)(this, fence, lies.signal.map_or(value, |lie| lie(value)))
    }
}

unsafe extern "system" fn queue_wait(this: *mut c_void, fence: *mut c_void, value: u64) -> HRESULT {
    // SAFETY: the caller upholds the contract of the original method.
    unsafe {
        let (lies, table) = behind::<ID3D12CommandQueue_Vtbl>(this);
        if lies.keeps_fences {
            std::mem::forget(windows_core::IUnknown::from_raw_borrowed(&fence).cloned());
        }
        if lies.ignores_wait {
            return S_OK;
        }
        if lies.waits_take_turns
            && let Some(turn) = turn(this, fence, value)
        {
            return (table.Wait)(this, turn.as_raw(), 1);
        }
        (table.Wait)(this, fence, value)
    }
}

unsafe extern "system" fn completed_value(this: *mut c_void) -> u64 {
    // SAFETY: the caller upholds the contract of the original method.
    unsafe {
        let (lies, table) = behind::<ID3D12Fence1_Vtbl>(this);
        signal_pending();
        let value = (table.base__.GetCompletedValue)(this);
        lies.completed.map_or(value, |lie| lie(value))
    }
}

unsafe extern "system" fn set_event_on_completion(this: *mut c_void, value: u64, event: HANDLE) -> HRESULT {
    // SAFETY: the caller upholds the contract of the original method.
    unsafe {
        let (lies, table) = behind::<ID3D12Fence1_Vtbl>(this);
        if lies.ignores_null_event && event == HANDLE::default() {
            return S_OK;
        }
        (table.base__.SetEventOnCompletion)(this, value, event)
    }
}

unsafe extern "system" fn signal(this: *mut c_void, value: u64) -> HRESULT {
    // SAFETY: the caller upholds the contract of the original method.
    unsafe {
        let (lies, table) = behind::<ID3D12Fence1_Vtbl>(this);
        let fence = ID3D12Fence::from_raw_borrowed(&this).cloned();
        let Some(fence) = fence.filter(|_| lies.coalesces_signals) else {
            return (table.base__.Signal)(this, value);
        };
        let is_of_another =
            PENDING.with_borrow(|pending| pending.as_ref().is_some_and(|(other, _)| *other != fence));
        if is_of_another {
            signal_pending();
        }
        PENDING.set(Some((fence, value)));
        S_OK
    }
}
