//! Simulated time: a CPU, GPU queues, and an engine that moves pages.
//!
//! - The CPU continues until it has to wait.
//! - A queue executes its submissions in order. Each begins when the earlier ones are done and its pages have
//!   arrived: the queue waits for pages, the CPU does not.
//! - The engine moves heaps one after the other, in the order of the requests, out and in at the same speed.
//!   Each heap takes the latency plus its bytes divided by the bandwidth.

use std::time::Duration;

use heapwright::{ByteSize, FenceValue};

/// The cost of moving bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct PagingCost {
    /// The bandwidth in either direction.
    bytes_per_second: f64,
    /// The latency per heap.
    latency: Duration,
}

impl PagingCost {
    /// A PCI Express 4.0 bus with sixteen lanes.
    pub(super) const PCI_EXPRESS_4: Self =
        Self { bytes_per_second: 24e9, latency: Duration::from_micros(20) };
}

#[derive(Debug)]
pub(super) struct Clock {
    /// The current time of the CPU.
    now: Duration,
    /// The end of each submission of each queue.
    queues: Vec<Timeline>,
    paging: Timeline,
    /// The time at which the engine has completed all requests.
    engine_free: Duration,
    cost: PagingCost,
}

/// The times at which a fence reaches each value from 1 on, in ascending order.
#[derive(Debug, Default)]
struct Timeline(Vec<Duration>);

impl Timeline {
    fn push(&mut self, time: Duration) -> FenceValue {
        self.0.push(time);
        FenceValue::new(self.0.len() as u64)
    }

    /// Returns the value that the fence has reached.
    fn completed(&self, now: Duration) -> FenceValue {
        FenceValue::new(self.0.partition_point(|&time| time <= now) as u64)
    }

    /// Returns the time at which the fence reaches a value; the start for zero.
    fn time_of(&self, value: FenceValue) -> Duration {
        let place = value.get().checked_sub(1).and_then(|place| usize::try_from(place).ok());
        place.and_then(|place| self.0.get(place)).copied().unwrap_or_default()
    }

    fn last(&self) -> Duration {
        self.0.last().copied().unwrap_or_default()
    }
}

/// The heaps moved in one direction.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Moved {
    pub(super) heaps: usize,
    pub(super) bytes: ByteSize,
}

impl Clock {
    pub(super) fn new(queue_count: usize, cost: PagingCost) -> Self {
        Self {
            now: Duration::ZERO,
            queues: std::iter::repeat_with(Timeline::default).take(queue_count).collect(),
            paging: Timeline::default(),
            engine_free: Duration::ZERO,
            cost,
        }
    }

    pub(super) fn now(&self) -> Duration {
        self.now
    }

    /// Lets the CPU wait, and returns for how long.
    pub(super) fn wait_until(&mut self, time: Duration) -> Duration {
        let waited = time.saturating_sub(self.now);
        self.now = self.now.max(time);
        waited
    }

    /// Moves heaps out, then others in. Returns the value that the paging fence reaches afterwards.
    pub(super) fn page(&mut self, out: Moved, into: Moved) -> FenceValue {
        let time = self.time_to_move(out).saturating_add(self.time_to_move(into));
        self.engine_free = self.engine_free.max(self.now).saturating_add(time);
        self.paging.push(self.engine_free)
    }

    fn time_to_move(&self, moved: Moved) -> Duration {
        #[expect(clippy::cast_precision_loss, reason = "53 bits are sufficient for milliseconds")]
        let seconds = moved.bytes.get() as f64 / self.cost.bytes_per_second;
        let latency = self.cost.latency.saturating_mul(u32::try_from(moved.heaps).unwrap_or(u32::MAX));
        Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX).saturating_add(latency)
    }

    /// Submits work to a queue that begins when the paging fence has reached `arrives`. Returns the time at
    /// which it ends.
    pub(super) fn submit(&mut self, queue: usize, gpu: Duration, arrives: FenceValue) -> Duration {
        let arrival = self.paging.time_of(arrives);
        let queue = &mut self.queues[queue];
        let end = queue.last().max(self.now).max(arrival).saturating_add(gpu);
        queue.push(end);
        end
    }

    /// Returns the value of a queue's fence for the next submission.
    pub(super) fn next_value(&self, queue: usize) -> FenceValue {
        FenceValue::new(self.queues[queue].0.len() as u64 + 1)
    }

    /// Returns the value that the fence of a queue has reached.
    pub(super) fn completed(&self, queue: usize) -> FenceValue {
        self.queues[queue].completed(self.now)
    }

    /// Returns the value that the paging fence has reached.
    pub(super) fn paging_completed(&self) -> FenceValue {
        self.paging.completed(self.now)
    }

    /// Returns the time at which the fence of a queue reaches a value.
    pub(super) fn end_of(&self, queue: usize, value: FenceValue) -> Duration {
        self.queues[queue].time_of(value)
    }

    /// Returns the time at which the paging fence reaches a value.
    pub(super) fn arrival_of(&self, value: FenceValue) -> Duration {
        self.paging.time_of(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn clock() -> Clock {
        Clock::new(2, PagingCost { bytes_per_second: 1e9, latency: MS })
    }

    fn moved(heaps: usize, megabytes: u64) -> Moved {
        Moved { heaps, bytes: ByteSize::new(megabytes * 1_000_000) }
    }

    #[test]
    fn only_the_queue_that_needs_pages_waits() {
        let mut clock = clock();
        let arrives = clock.page(moved(1, 3), moved(2, 10));
        assert_eq!(clock.arrival_of(arrives), 16 * MS, "13 MB at 1 GB/s, and 1 ms for each of 3 heaps");
        assert_eq!(clock.submit(0, 5 * MS, arrives), 21 * MS);
        assert_eq!(clock.submit(1, 5 * MS, FenceValue::ZERO), 5 * MS);
        assert_eq!(
            clock.submit(0, 5 * MS, FenceValue::ZERO),
            26 * MS,
            "after the previous submission of the queue"
        );
        assert_eq!(clock.now(), Duration::ZERO, "the CPU did not wait");
    }

    #[test]
    fn the_copy_engine_processes_transfers_in_order() {
        let mut clock = clock();
        let first = clock.page(Moved::default(), moved(1, 9));
        clock.wait_until(4 * MS);
        let second = clock.page(Moved::default(), moved(1, 9));
        assert_eq!([first, second].map(|value| clock.arrival_of(value)), [10 * MS, 20 * MS]);
        assert_eq!(clock.wait_until(10 * MS), 6 * MS);
        assert_eq!(clock.paging_completed(), first);
        assert_eq!(clock.wait_until(3 * MS), Duration::ZERO, "the clock is monotonic");
        clock.wait_until(25 * MS);
        let late = clock.page(Moved::default(), Moved::default());
        assert_eq!(clock.arrival_of(late), 25 * MS);
    }

    #[test]
    fn fences_reach_their_values_at_the_simulated_time() {
        let mut clock = clock();
        assert_eq!(clock.next_value(0), FenceValue::new(1));
        clock.submit(0, 5 * MS, FenceValue::ZERO);
        assert_eq!(clock.completed(0), FenceValue::ZERO);
        assert_eq!(clock.end_of(0, FenceValue::new(1)), 5 * MS);
        clock.wait_until(5 * MS);
        assert_eq!((clock.completed(0), clock.completed(1)), (FenceValue::new(1), FenceValue::ZERO));
    }
}
