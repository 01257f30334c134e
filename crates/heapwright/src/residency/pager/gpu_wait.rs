//! Waits for the GPU.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use heapwright_core::FenceValue;
use heapwright_d3d12::event::{Event, EventReset};
use heapwright_d3d12::*;

use super::super::device::completed;
use crate::Error;

/// How long to wait for an event before the progress of the GPU is checked.
const CHECK_INTERVAL: Duration = Duration::from_millis(10);

/// How often a fence is polled if no event can be created.
const POLL_INTERVAL: Duration = Duration::from_micros(200);

/// Events that can be reused.
#[derive(Default)]
pub(super) struct Events {
    idle: Mutex<Vec<Event>>,
}

/// The most that a timer counts from one check to the next. If more time has passed, the whole process or machine stood
/// still (suspended, stopped by a debugger), and the GPU perhaps with it.
const MOST_BETWEEN_CHECKS: Duration = Duration::from_millis(30);

/// Measures how long there was no progress.
pub(super) struct StallTimer {
    limit: Duration,
    /// The time without progress, up to the last check.
    stalled: Duration,
    checked: Instant,
    progress: u64,
}

impl StallTimer {
    /// Starts a timer; `progress` is a number that changes whenever there is progress.
    pub(super) fn new(limit: Duration, progress: u64) -> Self {
        Self { limit, stalled: Duration::ZERO, checked: Instant::now(), progress }
    }

    /// Checks whether there was no progress for as long as the limit.
    pub(super) fn has_expired(&mut self, progress: u64) -> bool {
        let now = Instant::now();
        let elapsed = now.duration_since(std::mem::replace(&mut self.checked, now));
        self.has_expired_after(elapsed, progress)
    }

    /// Like [`has_expired`](Self::has_expired), with the time since the last check.
    fn has_expired_after(&mut self, elapsed: Duration, progress: u64) -> bool {
        self.stalled = match std::mem::replace(&mut self.progress, progress) == progress {
            true => self.stalled.saturating_add(elapsed.min(MOST_BETWEEN_CHECKS)),
            false => Duration::ZERO,
        };
        self.stalled >= self.limit
    }
}

/// Limits the time for which a request waits for the GPU, over all of its waits.
///
/// Work that was planned before its first wait is waited for as long as the GPU makes progress. Later work of other
/// threads could keep the memory in use forever, so that all waits for it together have a limit.
pub(super) struct Patience {
    limit: Duration,
    /// Runs from the first wait for later work on.
    later: Option<StallTimer>,
}

impl Patience {
    pub(super) fn new(limit: Duration) -> Self {
        Self { limit, later: None }
    }

    pub(super) fn limit(&self) -> Duration {
        self.limit
    }
}

impl Events {
    /// Waits until one of the fences has reached its value, which `is_later` work signals or not. Returns `false` if
    /// there was no `progress` for the limit of the patience, or if that is exhausted.
    pub(super) fn wait_patiently(
        &self,
        fences: &[(ID3D12Fence, FenceValue)],
        is_later: bool,
        patience: &mut Patience,
        progress: &dyn Fn() -> u64,
    ) -> Result<bool, Error> {
        if !is_later {
            return self.wait(fences, Some((&mut StallTimer::new(patience.limit, progress()), progress)));
        }
        let later = patience.later.get_or_insert_with(|| StallTimer::new(patience.limit, 0));
        // Whatever progress that work makes, it is not this request's. Checked here, too, as each wait may be short.
        Ok(!later.has_expired(0) && self.wait(fences, Some((later, &|| 0)))?)
    }

    /// Waits until one of the fences has reached its value. Returns `false` if `stall` expires before; without `stall`
    /// the wait is unbounded.
    pub(super) fn wait(
        &self,
        fences: &[(ID3D12Fence, FenceValue)],
        mut stall: Option<(&mut StallTimer, &dyn Fn() -> u64)>,
    ) -> Result<bool, Error> {
        let is_reached = || fences.iter().any(|(fence, value)| completed(fence) >= *value);
        if is_reached() {
            return Ok(true);
        }
        let event = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let event = event.or_else(|| Event::new(EventReset::Auto).ok());
        for (event, (fence, value)) in event.iter().flat_map(|event| std::iter::repeat(event).zip(fences)) {
            // SAFETY: a live COM object; the event is kept as long as the manager, so that its handle is valid when the
            // fence signals it.
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

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn time_in_which_everything_stands_still_is_not_a_stall() {
        let mut timer = StallTimer::new(100 * MS, 0);
        assert!(!timer.has_expired_after(Duration::from_secs(3600), 0), "stopped by a debugger");
        for _ in 0..6 {
            assert!(!timer.has_expired_after(CHECK_INTERVAL, 0));
        }
        assert!(timer.has_expired_after(CHECK_INTERVAL, 0), "30 ms of the hour, and 7 times 10 ms");
    }

    #[test]
    fn progress_starts_the_timer_again() {
        let mut timer = StallTimer::new(20 * MS, 5);
        assert!(!timer.has_expired_after(19 * MS, 5));
        assert!(!timer.has_expired_after(19 * MS, 6));
        assert!(!timer.has_expired_after(19 * MS, 6));
        assert!(timer.has_expired_after(MS, 6));
    }
}
