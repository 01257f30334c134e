//! Waits for the GPU.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use heapwright_core::FenceValue;
use heapwright_d3d12::event::{Event, EventReset};
use heapwright_d3d12::*;

use crate::Error;

/// How long to wait for an event before the progress of the GPU is checked.
const CHECK_INTERVAL: Duration = Duration::from_millis(10);

/// How often a fence is polled if no event can be created.
const POLL_INTERVAL: Duration = Duration::from_micros(200);

/// Events that can be reused.
#[derive(Debug, Default)]
pub(super) struct Events {
    idle: Mutex<Vec<Event>>,
}

/// Measures how long the GPU has made no progress.
#[derive(Debug)]
pub(super) struct StallTimer {
    limit: Duration,
    since: Instant,
    progress: u64,
}

impl StallTimer {
    /// Starts a timer; `progress` is a number that changes whenever the GPU makes progress.
    pub(super) fn new(limit: Duration, progress: u64) -> Self {
        Self { limit, since: Instant::now(), progress }
    }

    /// Checks whether there was no progress for as long as the limit.
    fn has_expired(&mut self, progress: u64) -> bool {
        if progress != self.progress {
            self.progress = progress;
            self.since = Instant::now();
        }
        self.since.elapsed() >= self.limit
    }
}

impl Events {
    /// Waits until `fence` has reached `value`. Returns `false` if `stall` expires before; without `stall` the wait is
    /// unbounded.
    pub(super) fn wait(
        &self,
        fence: &ID3D12Fence,
        value: FenceValue,
        mut stall: Option<(&mut StallTimer, &dyn Fn() -> u64)>,
    ) -> Result<bool, Error> {
        // SAFETY: a live COM object.
        let is_reached = || FenceValue::new(unsafe { fence.GetCompletedValue() }) >= value;
        if is_reached() {
            return Ok(true);
        }
        let event = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let event = event.or_else(|| Event::new(EventReset::Auto).ok());
        if let Some(event) = &event {
            // SAFETY: a live COM object; the event is kept as long as the manager, so that its handle is valid when the fence signals it.
            let hresult = unsafe { fence.SetEventOnCompletion(value.get(), event.handle()) };
            if hresult.is_err() {
                return Err(Error::device("ID3D12Fence::SetEventOnCompletion", hresult));
            }
        }
        let is_reached = loop {
            match &event {
                // An event may still be signaled for an earlier wait that was given up, so the fence decides.
                Some(event) => drop(event.wait(Some(CHECK_INTERVAL))),
                None => std::thread::sleep(POLL_INTERVAL),
            }
            if is_reached() {
                break true;
            }
            if let Some((stall, progress)) = &mut stall {
                if stall.has_expired(progress()) {
                    break false;
                }
            }
        };
        if let Some(event) = event {
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(event);
        }
        Ok(is_reached)
    }
}
