//! Adds up the calls of the device and computes the figures of a replay.

use std::time::Duration;

use heapwright_core::ByteSize;
use heapwright_core::placement::HeapCosts;

use super::prices::Prices;

/// A call of the device that creates or frees memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceCall {
    /// CreateHeap or vkAllocateMemory.
    Create(Block),
    /// The last Release of a heap, or vkFreeMemory.
    Free(Block),
}

/// A block of device memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Its size.
    pub size: ByteSize,
    /// Whether the driver was told that it is for one buffer only (`VkMemoryDedicatedAllocateInfo`).
    pub is_dedicated: bool,
}

impl Block {
    /// Returns a block for any number of buffers.
    #[must_use]
    pub const fn shared(size: ByteSize) -> Self {
        Self { size, is_dedicated: false }
    }
}

/// An operation that takes longer is a hitch: a 60th of a frame of 16 ms.
pub const HITCH: Duration = Duration::from_micros(250);

/// The figures of a replay.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures {
    /// Number of allocations and frees.
    pub operations: u64,
    /// Modelled time of all operations: the device's calls, also those between operations, and
    /// `HeapCosts::PLACED_RESOURCE` for each allocation.
    pub time: Duration,
    /// Number of blocks of memory that were created.
    pub created: u64,
    /// Number of operations that take longer than [`HITCH`].
    pub hitches: u64,
    /// Time of the longest operation.
    pub longest: Duration,
    /// The longest time that the allocator's thread was busy in one go, between operations.
    pub longest_between: Duration,
    /// Maximum of the held bytes over the maximum of the live bytes.
    pub peak: f64,
    /// Mean of the held bytes after each event over that of the live bytes.
    pub mean: f64,
    /// Mean of the held bytes over that of the live bytes, weighted by the time between the events.
    pub mean_by_time: f64,
    /// Bytes held 300 frames after everything was freed.
    pub held_when_empty: u64,
}

impl Figures {
    /// Returns the modelled time of an operation, in microseconds.
    #[must_use]
    pub fn microseconds(&self) -> f64 {
        self.time.as_secs_f64() * 1e6 / self.operations.max(1) as f64
    }
}

/// Adds up the figures during a replay.
#[derive(Debug, Default)]
pub struct Meter {
    figures: Figures,
    live: u64,
    held: u64,
    peak_live: u64,
    peak_held: u64,
    /// Sums over the events.
    sums: [u128; 2],
    /// Integrals over the time.
    integrals: [u128; 2],
    last_us: u64,
}

/// An event of a trace.
#[derive(Clone, Copy, Debug)]
pub enum Operation {
    /// An allocation of the given bytes.
    Allocate(u64),
    /// A free of the given bytes.
    Free(u64),
}

impl Meter {
    /// Counts an operation and the calls that the allocator made in it.
    pub fn record(&mut self, time_us: u64, operation: Operation, calls: &[DeviceCall], prices: &Prices) {
        self.pass_until(time_us);
        let placed = match operation {
            Operation::Allocate(bytes) => {
                self.live += bytes;
                HeapCosts::PLACED_RESOURCE
            }
            Operation::Free(bytes) => {
                self.live -= bytes;
                Duration::ZERO
            }
        };
        let heaps: Duration = calls.iter().map(|&call| self.hold(call, prices)).sum();
        let time = placed + heaps;
        let figures = &mut self.figures;
        figures.operations += 1;
        figures.time += time;
        figures.hitches += u64::from(time > HITCH);
        figures.longest = figures.longest.max(time);

        self.peak_live = self.peak_live.max(self.live);
        // Within an operation the old and the new block may exist together, but the peak is that between operations, as
        // for the measured figures.
        self.peak_held = self.peak_held.max(self.held);
        self.sums[0] += u128::from(self.live);
        self.sums[1] += u128::from(self.held);
    }

    /// Counts the calls that the allocator made by itself at a time between two operations. They take time, but no
    /// operation's.
    pub fn record_between(&mut self, time_us: u64, calls: &[DeviceCall], prices: &Prices) {
        self.pass_until(time_us);
        let time: Duration = calls.iter().map(|&call| self.hold(call, prices)).sum();
        self.figures.time += time;
        self.figures.longest_between = self.figures.longest_between.max(time);
    }

    fn pass_until(&mut self, time_us: u64) {
        let passed = u128::from(time_us.saturating_sub(self.last_us));
        self.last_us = time_us;
        self.integrals[0] += passed * u128::from(self.live);
        self.integrals[1] += passed * u128::from(self.held);
    }

    /// Counts calls after the last event, when everything is freed. They take no time.
    pub fn record_end(&mut self, calls: &[DeviceCall], prices: &Prices) {
        for &call in calls {
            self.hold(call, prices);
        }
        self.figures.held_when_empty = self.held;
    }

    /// Returns the live bytes and the held bytes.
    #[must_use]
    pub fn live_and_held(&self) -> (u64, u64) {
        (self.live, self.held)
    }

    /// Returns the figures.
    #[must_use]
    pub fn figures(&self) -> Figures {
        let ratio = |[live, held]: [u128; 2]| held as f64 / live as f64;
        Figures {
            peak: self.peak_held as f64 / self.peak_live as f64,
            mean: ratio(self.sums),
            mean_by_time: ratio(self.integrals),
            ..self.figures
        }
    }

    /// Changes the held bytes and returns the time of the call.
    fn hold(&mut self, call: DeviceCall, prices: &Prices) -> Duration {
        match call {
            DeviceCall::Create(block) => {
                self.held += block.size.get();
                self.figures.created += 1;
                prices.of(block).create
            }
            DeviceCall::Free(block) => {
                self.held -= block.size.get();
                prices.of(block).free
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn the_figures_of_a_short_trace() {
        let prices = Prices::on_h200();
        let mut meter = Meter::default();
        let block = Block::shared(ByteSize::from_mib(64));
        let (create, free) = (DeviceCall::Create(block), DeviceCall::Free(block));
        meter.record(0, Operation::Allocate(16 * MIB), &[create], &prices);
        meter.record(10, Operation::Allocate(16 * MIB), &[], &prices);
        meter.record(20, Operation::Free(16 * MIB), &[], &prices);
        meter.record(100, Operation::Free(16 * MIB), &[free, create], &prices);
        meter.record_end(&[free], &prices);
        let figures = meter.figures();
        assert_eq!((figures.operations, figures.created, figures.hitches), (4, 2, 2));
        // Two allocations, and two heaps created and one freed during the operations.
        assert_eq!(figures.time, Duration::from_nanos(400) + Duration::from_micros(2 * 1_371 + 1_087));
        assert_eq!(figures.longest, Duration::from_micros(1_371 + 1_087));
        assert_eq!((figures.peak, figures.mean), (2.0, 4.0));
        // 10 us with 16 MiB, 10 us with 32 MiB and 80 us with 16 MiB.
        assert!((figures.mean_by_time - 64.0 * 100.0 / (16.0 * 90.0 + 32.0 * 10.0)).abs() < 1e-9);
        assert_eq!(figures.held_when_empty, 0);
    }

    /// The time of heaps that are released in a pause does not count for the next operation, and their memory is held
    /// only until they are released.
    #[test]
    fn calls_between_operations_are_counted_when_they_are_made() {
        let prices = Prices::on_h200();
        let mut meter = Meter::default();
        let [large, small] = [64, 16].map(|mib| Block::shared(ByteSize::from_mib(mib)));
        let creates = [DeviceCall::Create(large), DeviceCall::Create(small)];
        meter.record(0, Operation::Allocate(16 * MIB), &creates, &prices);
        meter.record_between(100, &[DeviceCall::Free(large)], &prices);
        meter.record_between(200, &[], &prices);
        let before = meter.figures();
        meter.record(400, Operation::Free(16 * MIB), &[], &prices);
        let figures = meter.figures();
        assert_eq!((figures.operations, figures.hitches, figures.longest), (2, 1, before.longest));
        let freed = prices.of(large).free;
        assert_eq!((figures.longest_between, figures.time - before.longest), (freed, freed));
        // 100 us with 80 MiB, and 300 us with 16 MiB.
        assert!((figures.mean_by_time - (80.0 * 100.0 + 16.0 * 300.0) / (16.0 * 400.0)).abs() < 1e-9);
    }
}
