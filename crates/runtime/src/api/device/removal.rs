//! Device removal: its reason and its effect on fences.

use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use heapwright_d3d12::{
    D3D12_MESSAGE_ID_DEVICE_REMOVAL_PROCESS_AT_FAULT, D3D12_MESSAGE_ID_DEVICE_REMOVAL_PROCESS_NOT_AT_FAULT,
    DXGI_ERROR_DEVICE_REMOVED,
};
use windows_core::HRESULT;

use crate::debug::MessageLog;
use crate::drivers::removal_sink::RemovalSink;
use crate::fence::Fence;
use crate::rules::Refusal;

/// The removal state of a device, shared by the device and its driver's queues.
pub(crate) struct Removal {
    log: Arc<MessageLog>,
    /// The reason for the removal. Set while `state` is locked; only the first one is kept.
    reason: OnceLock<HRESULT>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The device's fences, including the queues' progress fences.
    fences: Vec<Weak<Fence>>,
    /// Length of `fences` at which released fences are removed from it.
    sweep_at: usize,
}

impl Removal {
    /// Creates the state of a device that is not removed.
    pub(super) fn new(log: Arc<MessageLog>) -> Self {
        Self { log, reason: OnceLock::new(), state: Mutex::default() }
    }

    /// Returns the reason for the removal, or `None` if the device is not removed. Takes no lock.
    pub(in crate::api) fn reason(&self) -> Option<HRESULT> {
        self.reason.get().copied()
    }

    /// Refuses a call that requires a device that is not removed.
    ///
    /// # Errors
    ///
    /// Returns DXGI_ERROR_DEVICE_REMOVED if the device is removed.
    pub(in crate::api) fn check_present(&self) -> Result<(), Refusal> {
        match self.reason() {
            None => Ok(()),
            Some(_) => Err(Refusal::new(DXGI_ERROR_DEVICE_REMOVED, "the device is removed")),
        }
    }

    /// Creates a fence that is set to `u64::MAX` when the device is removed. Cost: O(1), amortized.
    pub(in crate::api) fn create_fence(&self, value: u64) -> Arc<Fence> {
        let fence = Arc::new(Fence::new(value));
        self.watch_fence(&fence);
        fence
    }

    /// Adds `fence` to the device's fences: it is set to `u64::MAX` when the device is removed. Cost: O(1), amortized.
    pub(in crate::api) fn watch_fence(&self, fence: &Arc<Fence>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if self.reason.get().is_some() {
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

    /// Removes the device for `ID3D12Device5::RemoveDevice`.
    pub(super) fn remove_on_request(&self) {
        let message = "the application called RemoveDevice".to_owned();
        let id = D3D12_MESSAGE_ID_DEVICE_REMOVAL_PROCESS_NOT_AT_FAULT;
        self.lose(Refusal::new(DXGI_ERROR_DEVICE_REMOVED, message).with_id(id));
    }

    /// Removes the device because of a call for which D3D12 does so.
    pub(in crate::api) fn remove_for(&self, refusal: &Refusal) {
        self.lose(at_fault(refusal.hresult(), refusal.to_string()));
    }

    fn lose(&self, why: Refusal) {
        if let Some(fences) = self.begin(&why) {
            self.announce(&why, fences);
        }
    }

    /// Removes the device. Returns the fences to be set, or `None` if it is removed already.
    fn begin(&self, why: &Refusal) -> Option<Vec<Weak<Fence>>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        self.reason.set(why.hresult()).is_ok().then(|| std::mem::take(&mut state.fences))
    }

    /// Reports the removal and sets the fences.
    fn announce(&self, why: &Refusal, fences: Vec<Weak<Fence>>) {
        // Logged before the fences are set, so that a thread woken by a fence finds the message.
        self.log.refused("device removal", why);
        for fence in fences {
            if let Some(fence) = fence.upgrade() {
                fence.lose();
            }
        }
    }
}

/// Returns a removal that is the fault of this process.
fn at_fault(reason: HRESULT, message: String) -> Refusal {
    Refusal::new(reason, message).with_id(D3D12_MESSAGE_ID_DEVICE_REMOVAL_PROCESS_AT_FAULT)
}

impl RemovalSink for Removal {
    fn remove(&self, reason: HRESULT, message: String) {
        self.lose(at_fault(reason, message));
    }

    fn remove_elsewhere(self: Arc<Self>, reason: HRESULT, message: String) {
        let why = at_fault(reason, message);
        let Some(fences) = self.begin(&why) else { return };
        let left = fences.clone();
        let removal = Arc::clone(&self);
        let announce = move || removal.announce(&why, fences);
        let thread = std::thread::Builder::new().name("heapwright removal".to_owned());
        if let Err(error) = thread.spawn(announce) {
            tracing::error!(%error, "failed to spawn a thread; the removal of the device is not reported");
            left.iter().filter_map(Weak::upgrade).for_each(|fence| fence.lose());
        }
    }
}
