//! Losing a device: why, and what happens to its fences.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use heapwright_d3d12::{
    D3D12_MESSAGE_ID_DEVICE_REMOVAL_PROCESS_AT_FAULT, D3D12_MESSAGE_ID_DEVICE_REMOVAL_PROCESS_NOT_AT_FAULT,
    DXGI_ERROR_DEVICE_REMOVED,
};
use windows_core::HRESULT;

use crate::ddi::command::RemovalSink;
use crate::debug::MessageLog;
use crate::fence::Fence;
use crate::rules::Refusal;

/// Whether a device is lost, shared by the device and the queues of its driver.
pub(crate) struct Removal {
    log: Arc<MessageLog>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Why the device is lost; the first reason counts.
    reason: Option<HRESULT>,
    /// The fences of the device, the queues' own among them.
    fences: Vec<Weak<Fence>>,
    /// Length of `fences` from which those that are gone are swept out.
    sweep_at: usize,
}

impl Removal {
    /// A device that is there.
    pub(super) fn new(log: Arc<MessageLog>) -> Self {
        Self { log, state: Mutex::default() }
    }

    /// Why the device is lost, if it is.
    pub(in crate::api) fn reason(&self) -> Option<HRESULT> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).reason
    }

    /// Refuses a call that needs a device which is not lost.
    ///
    /// # Errors
    ///
    /// DXGI_ERROR_DEVICE_REMOVED.
    pub(in crate::api) fn check_present(&self) -> Result<(), Refusal> {
        match self.reason() {
            None => Ok(()),
            Some(_) => Err(Refusal::new(DXGI_ERROR_DEVICE_REMOVED, "the device is lost")),
        }
    }

    /// A fence that goes to `u64::MAX` when the device is lost. Cost: O(1), amortized.
    pub(in crate::api) fn create_fence(&self, value: u64) -> Arc<Fence> {
        let fence = Arc::new(Fence::new(value));
        self.watch_fence(&fence);
        fence
    }

    /// Makes `fence` one of the device's: it goes to `u64::MAX` when the device is lost. Cost: O(1), amortized.
    pub(in crate::api) fn watch_fence(&self, fence: &Arc<Fence>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.reason.is_some() {
            drop(state);
            fence.lose();
            return;
        }
        if state.fences.len() >= state.sweep_at {
            state.fences.retain(|fence| fence.strong_count() != 0);
            state.sweep_at = (state.fences.len() * 2).max(16);
        }
        state.fences.push(Arc::downgrade(fence));
    }

    /// `ID3D12Device5::RemoveDevice`.
    pub(super) fn remove_on_request(&self) {
        let message = "the application removed the device".to_owned();
        let id = D3D12_MESSAGE_ID_DEVICE_REMOVAL_PROCESS_NOT_AT_FAULT;
        self.lose(Refusal::new(DXGI_ERROR_DEVICE_REMOVED, message).with_id(id));
    }

    /// The device is lost for a call that D3D12 does not forgive.
    pub(in crate::api) fn remove_for(&self, refusal: &Refusal) {
        let id = D3D12_MESSAGE_ID_DEVICE_REMOVAL_PROCESS_AT_FAULT;
        self.lose(Refusal::new(refusal.hresult(), refusal.to_string()).with_id(id));
    }

    fn lose(&self, why: Refusal) {
        let fences = {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            if state.reason.is_some() {
                return;
            }
            state.reason = Some(why.hresult());
            std::mem::take(&mut state.fences)
        };
        // Before the fences: whoever waits for one and wakes finds the message.
        self.log.refused("device removal", &why);
        for fence in fences {
            if let Some(fence) = fence.upgrade() {
                fence.lose();
            }
        }
    }
}

impl RemovalSink for Removal {
    fn remove(&self, reason: HRESULT, message: String) {
        let id = D3D12_MESSAGE_ID_DEVICE_REMOVAL_PROCESS_AT_FAULT;
        self.lose(Refusal::new(reason, message).with_id(id));
    }
}
