//! The trait of allocators that take part, and the replay of a trace.

use std::fmt;
use std::time::Duration;

use heapwright_core::ByteSize;
use heapwright_trace::{EventKind, Trace};

use super::meter::{DeviceCall, Figures, Meter, Operation};
use super::prices::Prices;

/// An allocator of buffers in device memory, on a device of its own.
pub trait MemoryAllocator: Sized {
    /// A live buffer.
    type Buffer;

    /// Creates the allocator and its device, on which memory costs `prices`.
    ///
    /// # Errors
    ///
    /// Returns the allocator's error.
    fn new(prices: &Prices) -> Result<Self, Failed>;

    /// Creates a buffer in memory for the GPU.
    ///
    /// # Errors
    ///
    /// Returns the allocator's error.
    fn allocate(&mut self, size: ByteSize) -> Result<Self::Buffer, Failed>;

    /// Destroys a buffer that [`allocate`](Self::allocate) returned.
    ///
    /// # Errors
    ///
    /// Returns the allocator's error.
    fn free(&mut self, buffer: Self::Buffer) -> Result<(), Failed>;

    /// Tells the allocator the time of the trace, before each operation and in pauses. VMA and gpu-allocator have no
    /// use for it.
    fn pass_time(&mut self, _time: Duration) {}

    /// Replaces `calls` by the calls that create and free memory since the last time.
    fn take_calls(&mut self, calls: &mut Vec<DeviceCall>);
}

/// An allocator that cannot replay a trace.
#[derive(Debug)]
pub struct Failed(String);

impl Failed {
    /// Wraps an allocator's error.
    pub fn new(error: impl fmt::Display) -> Self {
        Self(error.to_string())
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Failed {}

/// The time between two looks of an allocator's thread in a pause, at most: a part of its period.
const TICK_US: u64 = 100_000;

/// So many ticks of a pause are simulated; after that, nothing is left that the thread would release.
const MOST_TICKS: u64 = 1_400;

/// Frames at 60 Hz that pass after everything was freed, before the held bytes are counted.
const IDLE_FRAMES: u64 = 300;
const FRAME_US: u64 = 16_667;

/// Replays a trace on a new allocator.
///
/// # Errors
///
/// Returns the first error of the allocator.
pub fn replay<A: MemoryAllocator>(trace: &Trace) -> Result<Figures, Failed> {
    let prices = Prices::on_h200();
    Ok(replay_in(A::new(&prices)?, trace, &[prices])?[0])
}

/// Replays a trace on an allocator, and returns the figures for several prices of the same calls.
///
/// # Errors
///
/// Returns the first error of the allocator.
pub fn replay_in<A: MemoryAllocator>(
    allocator: A,
    trace: &Trace,
    prices: &[Prices],
) -> Result<Vec<Figures>, Failed> {
    replay_observed(allocator, trace, prices, |_, _| {})
}

/// Replays a trace on an allocator as [`replay_in`], and calls `observe` after each event with its time in microseconds
/// and the first of the meters.
///
/// # Errors
///
/// Returns the first error of the allocator.
pub fn replay_observed<A: MemoryAllocator>(
    mut allocator: A,
    trace: &Trace,
    prices: &[Prices],
    mut observe: impl FnMut(u64, &Meter),
) -> Result<Vec<Figures>, Failed> {
    let mut meters: Vec<Meter> = prices.iter().map(|_| Meter::default()).collect();
    let mut calls = Vec::new();
    let mut buffers: Vec<Option<A::Buffer>> = vec![];
    buffers.resize_with(trace.allocation_count(), || None);
    let mut now_us = 0;
    for event in trace.events() {
        // What the allocator's thread does by itself happens in the pause, and not in the next operation.
        let ticks = (event.time_us.saturating_sub(now_us) / TICK_US).min(MOST_TICKS);
        for time_us in (1..=ticks).map(|tick| now_us + tick * TICK_US).chain([event.time_us]) {
            allocator.pass_time(Duration::from_micros(time_us));
            allocator.take_calls(&mut calls);
            if !calls.is_empty() {
                for (meter, prices) in meters.iter_mut().zip(prices) {
                    meter.record_between(time_us, &calls, prices);
                }
            }
        }
        now_us = event.time_us;
        let slot = &mut buffers[event.allocation.as_usize()];
        let operation = match event.kind {
            EventKind::Alloc => {
                *slot = Some(allocator.allocate(event.size)?);
                Operation::Allocate(event.size.get())
            }
            EventKind::Free => {
                if let Some(buffer) = slot.take() {
                    allocator.free(buffer)?;
                }
                Operation::Free(event.size.get())
            }
        };
        allocator.take_calls(&mut calls);
        for (meter, prices) in meters.iter_mut().zip(prices) {
            meter.record(event.time_us, operation, &calls, prices);
        }
        meters.first().into_iter().for_each(|meter| observe(event.time_us, meter));
    }
    for buffer in buffers.into_iter().flatten() {
        allocator.free(buffer)?;
    }
    let end_us = trace.events().last().map_or(0, |event| event.time_us);
    for frame in 1..=IDLE_FRAMES {
        allocator.pass_time(Duration::from_micros(end_us + frame * FRAME_US));
    }
    allocator.take_calls(&mut calls);
    for (meter, prices) in meters.iter_mut().zip(prices) {
        meter.record_end(&calls, prices);
    }
    Ok(meters.iter().map(Meter::figures).collect())
}
