//! Waiting for the GPU.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use heapwright_core::FenceValue;
use heapwright_d3d12::event::{Event, EventReset};
use heapwright_d3d12::*;

use crate::Error;

/// How long a wait goes on before somebody looks whether anything moves at all.
const SLICE: Duration = Duration::from_millis(10);

/// Where there are no events: how long a look at the fence is apart from the next.
const GLANCE: Duration = Duration::from_micros(200);

/// Events that are used again.
#[derive(Debug, Default)]
pub(super) struct Events {
    idle: Mutex<Vec<Event>>,
}

/// How long nothing has moved.
#[derive(Debug)]
pub(super) struct Patience {
    limit: Duration,
    since: Instant,
    progress: u64,
}

impl Patience {
    /// `progress` changes whenever the GPU gets on.
    pub(super) fn new(limit: Duration, progress: u64) -> Self {
        Self { limit, since: Instant::now(), progress }
    }

    /// Whether nothing has moved for too long.
    fn is_at_end(&mut self, progress: u64) -> bool {
        if progress != self.progress {
            self.progress = progress;
            self.since = Instant::now();
        }
        self.since.elapsed() >= self.limit
    }
}

impl Events {
    /// Waits until `fence` has come to `value`; `false` when `patience` ends before. Without one there is no end.
    pub(super) fn wait(
        &self,
        fence: &ID3D12Fence,
        value: FenceValue,
        mut patience: Option<(&mut Patience, &dyn Fn() -> u64)>,
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
                // An event may still be signalled for an earlier wait that was given up: the fence has the last word.
                Some(event) => drop(event.wait(Some(SLICE))),
                None => std::thread::sleep(GLANCE),
            }
            if is_reached() {
                break true;
            }
            if let Some((patience, progress)) = &mut patience {
                if patience.is_at_end(progress()) {
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
