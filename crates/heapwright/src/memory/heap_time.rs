//! The time that the device takes for heaps, measured with the calls that are made anyway.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use heapwright_core::ByteSize;
use heapwright_core::placement::HeapPrices;
use heapwright_d3d12::heap_clock::IHeapwrightHeapClock;
use heapwright_d3d12::*;
use windows_core::{Interface, Weak};

use super::accounts::Accounts;
use crate::HeapType;

/// The clock by which the device's calls are timed.
#[derive(Clone)]
enum Clock {
    /// The processor's.
    Processor,
    /// That of a simulated GPU: the modelled time, so that the same calls always take the same time.
    Simulated(Weak<ID3D12Device>),
}

/// Times the calls that create and free heaps of a type, and learns from them.
pub(crate) struct HeapTimer {
    clock: Clock,
    accounts: Arc<Accounts>,
    /// What nested allocators learn together.
    prices: Arc<HeapPrices>,
}

impl fmt::Debug for HeapTimer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeapTimer").field("prices", &self.prices).finish_non_exhaustive()
    }
}

/// The beginning of a call.
enum Start {
    Processor(Instant),
    Simulated(u64),
}

impl Clock {
    fn of(device: &ID3D12Device) -> Self {
        let is_simulated = device.cast::<IHeapwrightHeapClock>().is_ok();
        let clock = device.downgrade().ok().filter(|_| is_simulated).map(Self::Simulated);
        clock.filter(|clock| clock.modelled().is_some()).unwrap_or(Self::Processor)
    }

    /// Returns the modelled time in nanoseconds. The interface is asked for each time, because it is not `Send`.
    fn modelled(&self) -> Option<u64> {
        let Self::Simulated(device) = self else { return None };
        let clock: IHeapwrightHeapClock = device.upgrade()?.cast().ok()?;
        let mut nanoseconds = 0;
        // SAFETY: the clock is a live COM object, and the result is written to a variable.
        let got = unsafe { clock.GetHeapTime(&mut nanoseconds) };
        (got == S_OK).then_some(nanoseconds)
    }

    fn start(&self) -> Start {
        self.modelled().map_or_else(|| Start::Processor(Instant::now()), Start::Simulated)
    }

    fn since(&self, start: &Start) -> Duration {
        match start {
            Start::Processor(start) => start.elapsed(),
            Start::Simulated(start) => {
                Duration::from_nanos(self.modelled().unwrap_or(*start).saturating_sub(*start))
            }
        }
    }
}

/// The timers of an allocator, one for each heap type.
#[derive(Debug)]
pub(crate) struct HeapTimers([Arc<HeapTimer>; HeapType::ALL.len()]);

impl HeapTimers {
    /// Creates timers, which learn together with those of a parent.
    pub(super) fn new(device: &ID3D12Device, accounts: &Arc<Accounts>, parent: Option<&Self>) -> Self {
        let clock = Clock::of(device);
        Self(HeapType::ALL.map(|heap_type| {
            let prices = parent.map(|parent| Arc::clone(&parent.of(heap_type).prices)).unwrap_or_default();
            Arc::new(HeapTimer { clock: clock.clone(), accounts: Arc::clone(accounts), prices })
        }))
    }

    pub(crate) fn of(&self, heap_type: HeapType) -> &Arc<HeapTimer> {
        &self.0[heap_type.index()]
    }
}

impl HeapTimer {
    pub(crate) fn prices(&self) -> &Arc<HeapPrices> {
        &self.prices
    }

    /// Creates a heap of `size` bytes by a call of the device, and learns from it if it succeeds.
    pub(crate) fn create<T, E>(&self, size: ByteSize, call: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let (made, time) = self.time(call)?;
        self.prices.note_created(size, time);
        Ok(made)
    }

    /// Has the device do something, and adds its time to the accounts if it succeeds.
    pub(crate) fn time<T, E>(&self, call: impl FnOnce() -> Result<T, E>) -> Result<(T, Duration), E> {
        let start = self.clock.start();
        let made = call()?;
        let time = self.clock.since(&start);
        self.accounts.add_heap_time(time);
        Ok((made, time))
    }

    /// Drops the last reference to a heap of `size` bytes, and notes its time.
    pub(crate) fn free<T>(&self, size: ByteSize, heap: T) {
        let start = self.clock.start();
        drop(heap);
        let time = self.clock.since(&start);
        self.accounts.add_heap_time(time);
        self.prices.note_freed(size, time);
    }
}
