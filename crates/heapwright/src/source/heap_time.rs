//! The time that the device takes for heaps, measured with the calls that are made anyway.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

use heapwright_core::ByteSize;
use heapwright_core::placement::HeapPrices;
use heapwright_d3d12::heap_clock::IHeapwrightHeapClock;
use heapwright_d3d12::*;
use heapwright_trace::session::{Action, HeapType as RecordedHeapType};
use windows_core::Interface;

use super::ledger::Ledger;
use super::owner::Owner;
use crate::HeapType;
use crate::recording::Recording;

/// The clock by which the device's calls are timed.
#[derive(Clone)]
enum Clock {
    /// The processor's, from a beginning on.
    Processor(Instant),
    /// That of a simulated GPU: the modelled time, so that the same calls always take the same time.
    Simulated(windows_core::Weak<ID3D12Device>),
}

/// Times the calls that create and free heaps of a type, and learns from them.
pub(crate) struct HeapTimer {
    clock: Clock,
    heap_type: HeapType,
    ledger: Arc<Ledger>,
    /// What nested allocators learn together.
    prices: Arc<HeapPrices>,
    recording: Option<Arc<Recording>>,
    /// The allocator, as long as it has a handle.
    owner: OnceLock<Weak<dyn Owner>>,
    /// Times of a recording's calls, of creations and of releases, which the same calls of a replay take.
    told: Mutex<[VecDeque<Duration>; 2]>,
}

impl Clock {
    fn of(device: &ID3D12Device) -> Self {
        let is_simulated = device.cast::<IHeapwrightHeapClock>().is_ok();
        let clock = device.downgrade().ok().filter(|_| is_simulated).map(Self::Simulated);
        let clock = clock.filter(|clock| clock.now().is_some());
        clock.unwrap_or_else(|| Self::Processor(Instant::now()))
    }

    /// Returns the time, unless the simulated GPU is gone. Its interface is asked for each time, because it is not
    /// `Send`.
    fn now(&self) -> Option<Duration> {
        let device = match self {
            Self::Processor(beginning) => return Some(beginning.elapsed()),
            Self::Simulated(device) => device.upgrade()?,
        };
        let clock: IHeapwrightHeapClock = device.cast().ok()?;
        let mut nanoseconds = 0;
        // SAFETY: the clock is a live COM object, and the result is written to a variable.
        let got = unsafe { clock.GetHeapTime(&mut nanoseconds) };
        (got == S_OK).then_some(Duration::from_nanos(nanoseconds))
    }
}

/// The timers of an allocator, one for each heap type.
pub(crate) struct HeapTimers([Arc<HeapTimer>; HeapType::ALL.len()]);

impl HeapTimers {
    /// Creates timers, which learn together with those of a parent.
    pub(super) fn new(
        device: &ID3D12Device,
        ledger: &Arc<Ledger>,
        recording: Option<&Arc<Recording>>,
        parent: Option<&Self>,
    ) -> Self {
        let clock = Clock::of(device);
        Self(HeapType::ALL.map(|heap_type| {
            let prices = parent.map(|parent| Arc::clone(&parent.of(heap_type).prices)).unwrap_or_default();
            Arc::new(HeapTimer {
                clock: clock.clone(),
                heap_type,
                ledger: Arc::clone(ledger),
                prices,
                recording: recording.cloned(),
                owner: OnceLock::new(),
                told: Mutex::default(),
            })
        }))
    }

    /// Sets the allocator, which is created after its timers.
    pub(crate) fn set_owner(&self, owner: &Weak<dyn Owner>) {
        for timer in &self.0 {
            let _first = timer.owner.set(Weak::clone(owner));
        }
    }

    pub(crate) fn of(&self, heap_type: HeapType) -> &Arc<HeapTimer> {
        &self.0[heap_type.index()]
    }
}

impl HeapTimer {
    /// Returns the recording of the heaps' allocator.
    pub(super) fn recording(&self) -> Option<&Arc<Recording>> {
        self.recording.as_ref()
    }

    pub(crate) fn prices(&self) -> &Arc<HeapPrices> {
        &self.prices
    }

    /// Has the device do something, and adds its time to the ledger if it succeeds.
    pub(crate) fn time<T, E>(&self, call: impl FnOnce() -> Result<T, E>) -> Result<(T, Duration), E> {
        let start = self.clock.now();
        let made = call()?;
        let time = self.clock.now().zip(start).map(|(end, start)| end.saturating_sub(start));
        let time = time.unwrap_or_default();
        self.ledger.add_heap_time(time);
        Ok((made, time))
    }

    /// Drops the last reference to a heap of `size` bytes, and learns from it.
    pub(crate) fn free<T>(&self, size: ByteSize, heap: T) {
        let release = || {
            drop(heap);
            Ok::<(), Infallible>(())
        };
        let Ok(((), time)) = self.time(release);
        self.note(size, true, time);
    }

    /// Learns that a call for a heap of `size` bytes took so long, or what a replay tells instead. Nothing is learned
    /// after the allocator's end, because a recording has nothing of it either.
    pub(crate) fn note(&self, size: ByteSize, is_free: bool, measured: Duration) {
        let Some(_owner) = self.owner.get().and_then(Weak::upgrade) else { return };
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let time = told[usize::from(is_free)].pop_front().unwrap_or(measured);
        drop(told);
        if is_free {
            self.prices.note_freed(size, time);
        } else {
            self.prices.note_created(size, time);
        }
        if let Some(recording) = &self.recording {
            let heap_type =
                u8::try_from(self.heap_type.to_d3d12()).ok().and_then(RecordedHeapType::from_d3d12);
            let heap_type = heap_type.unwrap_or(RecordedHeapType::Unknown);
            let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
            recording.call(|| Action::HeapTime { heap_type, is_free, nanoseconds });
        }
    }

    /// Tells how long the next call took that has not been told of, and has not been made.
    pub(crate) fn tell(&self, is_free: bool, time: Duration) {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)[usize::from(is_free)].push_back(time);
    }
}
