//! `ID3D12Fence1`.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use heapwright_d3d12::event::EventSignal;
use heapwright_d3d12::*;
use windows_core::{ComObject, implement};

use super::call;
use super::device::Device;
use super::object::{Child, implement_pageable};
use super::shared_handle::SharedObjectRelease;
use crate::aliasing::AliasingTracker;
use crate::debug::ObjectKind;
use crate::fence::{Fence as FenceValue, Waiter};
use crate::rules::Refusal;

/// The COM object of a fence.
#[implement(ID3D12Fence1, ID3DDestructionNotifier)]
pub(super) struct Fence {
    child: Child,
    flags: D3D12_FENCE_FLAGS,
    value: Arc<FenceValue>,
    /// The device's aliasing tracker.
    aliasing: Arc<AliasingTracker>,
    _shared: Option<SharedObjectRelease>,
}

/// Checks `Flags` of `CreateFence`.
pub(super) fn check_flags(flags: D3D12_FENCE_FLAGS) -> Result<(), Refusal> {
    let known =
        D3D12_FENCE_FLAG_SHARED | D3D12_FENCE_FLAG_SHARED_CROSS_ADAPTER | D3D12_FENCE_FLAG_NON_MONITORED;
    if flags & !known != 0 {
        return Err(Refusal::invalid(format!("Flags {flags:#x} has bits that are not D3D12_FENCE_FLAGS"))
            .with_id(D3D12_MESSAGE_ID_CREATE_FENCE_INVALID_FLAGS));
    }
    if flags & D3D12_FENCE_FLAG_SHARED_CROSS_ADAPTER != 0 {
        return Err(Refusal::not_implemented("fences shared across adapters"));
    }
    if flags & D3D12_FENCE_FLAG_NON_MONITORED != 0 {
        return Err(Refusal::not_implemented("non-monitored fences"));
    }
    Ok(())
}

impl Fence {
    pub(super) fn new(device: ComObject<Device>, value: u64, flags: D3D12_FENCE_FLAGS) -> Self {
        let value = device.removal().create_fence(value);
        Self::of(device, value, flags)
    }

    /// Creates a fence of `device` that shares its value with another fence. The value is lost when either fence's
    /// device is removed.
    pub(super) fn opened(
        device: ComObject<Device>,
        value: Arc<FenceValue>,
        flags: D3D12_FENCE_FLAGS,
    ) -> Self {
        device.removal().watch_fence(&value);
        Self::of(device, value, flags)
    }

    fn of(device: ComObject<Device>, value: Arc<FenceValue>, flags: D3D12_FENCE_FLAGS) -> Self {
        value.add_object();
        let aliasing = Arc::clone(device.aliasing());
        let shared = flags & D3D12_FENCE_FLAG_SHARED != 0;
        Self {
            child: Child::new(device).counted(ObjectKind::Fence),
            flags,
            value,
            aliasing,
            _shared: SharedObjectRelease::of(shared),
        }
    }

    pub(super) fn flags(&self) -> D3D12_FENCE_FLAGS {
        self.flags
    }

    /// Returns the value that queues signal and wait for.
    pub(super) fn value(&self) -> &Arc<FenceValue> {
        &self.value
    }
}

impl Drop for Fence {
    /// Releases waiting threads and queues with the last object, as on Windows (vkd3d-proton's
    /// test_fence_wait_robustness). An open shared handle counts as an object.
    fn drop(&mut self) {
        self.value.remove_object();
    }
}

/// Returns the event behind an application's HANDLE, which must not be null.
///
/// # Safety
///
/// `event` refers to an event, or is not an open handle.
unsafe fn event_signal(event: HANDLE) -> Result<EventSignal, Refusal> {
    // SAFETY: by the COM contract, the handle refers to an event. One that is not open is refused.
    unsafe { EventSignal::new(event) }.map_err(|error| {
        Refusal::invalid(format!("hEvent {:p} is not a valid event handle: {error}", event.0))
    })
}

/// Signals `event` when the fence reaches `value`. Blocks until then if the event is null.
///
/// # Safety
///
/// `event` is null, refers to an event, or is not an open handle.
unsafe fn complete(fence: &FenceValue, value: u64, event: HANDLE) -> Result<(), Refusal> {
    if event.0.is_null() {
        fence.wait(value);
        return Ok(());
    }
    // SAFETY: guaranteed by the caller.
    let signal = unsafe { event_signal(event) }?;
    // An error is ignored: the application may have closed its event because it is no longer interested.
    fence.on_reached(value, Box::new(move |_: &FenceValue| drop(signal.set())));
    Ok(())
}

/// Implements `SetEventOnMultipleFenceCompletion`: signals `event` when all fences have reached their values, or any
/// fence if `any` is set. Blocks until then if the event is null.
///
/// # Safety
///
/// `event` is null, refers to an event, or is not an open handle.
pub(super) unsafe fn complete_several(
    fences: &[(Arc<FenceValue>, u64)],
    any: bool,
    event: HANDLE,
) -> Result<(), Refusal> {
    // SAFETY: guaranteed by the caller.
    let signal = if event.0.is_null() { None } else { Some(unsafe { event_signal(event) }?) };
    let missing = if any { 1 } else { fences.len() };
    let completion = Arc::new(Completion {
        missing: AtomicUsize::new(missing),
        signal: Mutex::new(signal),
        done: FenceValue::new(0),
    });
    for (fence, value) in fences {
        fence.on_reached(*value, Box::new(CompletionPart(Arc::clone(&completion))));
    }
    if event.0.is_null() {
        completion.done.wait(1);
    }
    Ok(())
}

/// The end of a wait for several fences.
struct Completion {
    /// Number of fences that have to reach their values.
    missing: AtomicUsize,
    /// The event to signal. Taken at the end, so that a fence that never reaches its value holds no handle.
    signal: Mutex<Option<EventSignal>>,
    /// Reaches 1 at the end.
    done: FenceValue,
}

/// The wait for one of the fences of a [`Completion`].
struct CompletionPart(Arc<Completion>);

impl Waiter for CompletionPart {
    fn is_wanted(&self) -> bool {
        self.0.missing.load(Ordering::Acquire) != 0
    }

    fn release(self: Box<Self>, _: &FenceValue) {
        let Completion { missing, signal, done } = &*self.0;
        // Only the call that decrements the count to zero continues. With `any`, later calls find zero.
        let before = missing.fetch_update(Ordering::AcqRel, Ordering::Acquire, |n| n.checked_sub(1));
        if before == Ok(1) {
            if let Some(signal) = signal.lock().unwrap_or_else(PoisonError::into_inner).take() {
                // Same as in `complete`: the event may be closed.
                let _ = signal.set();
            }
            done.set(1);
        }
    }
}

implement_pageable!(Fence_Impl);

impl ID3D12Fence_Impl for Fence_Impl {
    fn GetCompletedValue(&self) -> u64 {
        let value = self.value.value();
        self.aliasing.cpu_saw(&self.value, value);
        value
    }

    fn SetEventOnCompletion(&self, value: u64, hevent: HANDLE) -> windows_core::Result<()> {
        call::run(self.log(), "ID3D12Fence::SetEventOnCompletion", || {
            let wait = self.aliasing.cpu_wait(&self.value, value);
            // SAFETY: by the COM contract, the handle is null or refers to an event.
            unsafe { complete(&self.value, value, hevent)? };
            self.aliasing.cpu_awaits(wait);
            Ok(())
        })
    }

    fn Signal(&self, value: u64) -> windows_core::Result<()> {
        call::run(self.log(), "ID3D12Fence::Signal", || {
            self.child.device.removal().check_present()?;
            self.aliasing.cpu_signals(&self.value, value);
            self.value.set(value);
            Ok(())
        })
    }
}

impl ID3D12Fence1_Impl for Fence_Impl {
    fn GetCreationFlags(&self) -> D3D12_FENCE_FLAGS {
        self.flags
    }
}
