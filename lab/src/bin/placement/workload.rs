//! Sequences of allocations and frees, recorded or generated.

use heapwright_trace::{EventKind, Trace};

/// A step of a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Allocates bytes. Allocations are numbered from 0.
    Allocate { number: u32, bytes: u64 },
    /// Frees the allocation with this number.
    Free { number: u32 },
    /// A period of the allocator ends.
    Period,
}

/// After so many microseconds an allocator looks for idle memory.
const PERIOD_US: u64 = 400_000;

/// A workload. Each allocation is freed at most once.
#[derive(Debug, Clone)]
pub(super) struct Workload {
    pub(super) name: String,
    pub(super) steps: Vec<Step>,
    pub(super) allocation_count: u32,
    pub(super) peak_live: u64,
    /// Sum of the live bytes after each step.
    pub(super) live_sum: u128,
}

impl Workload {
    pub(super) fn of_trace(trace: &Trace) -> Self {
        let mut recorder = Recorder::default();
        let mut periods = 0;
        for event in trace.events() {
            while periods < event.time_us / PERIOD_US {
                periods += 1;
                recorder.pass_period();
            }
            let key = event.allocation.as_usize();
            match event.kind {
                EventKind::Alloc => recorder.allocate_as(key, event.size.get()),
                EventKind::Free => recorder.free_as(key),
            }
        }
        recorder.finish(trace.name())
    }
}

/// Builder of a workload.
#[derive(Debug, Default)]
pub(super) struct Recorder {
    steps: Vec<Step>,
    /// Size of each allocation in bytes, or 0 after its free.
    sizes: Vec<u64>,
    /// Allocation number by the caller's key.
    keyed: Vec<Option<u32>>,
    live: u64,
    peak_live: u64,
    live_sum: u128,
}

impl Recorder {
    /// Allocates at least one byte and returns the allocation's number.
    pub(super) fn allocate(&mut self, bytes: u64) -> u32 {
        let bytes = bytes.max(1);
        let number = u32::try_from(self.sizes.len()).expect("a workload has fewer than 2^32 allocations");
        self.sizes.push(bytes);
        self.steps.push(Step::Allocate { number, bytes });
        self.live += bytes;
        self.peak_live = self.peak_live.max(self.live);
        self.live_sum += u128::from(self.live);
        number
    }

    /// Frees a live allocation.
    pub(super) fn free(&mut self, number: u32) {
        let bytes = std::mem::take(&mut self.sizes[number as usize]);
        assert!(bytes > 0, "allocation {number} is freed twice");
        self.live -= bytes;
        self.live_sum += u128::from(self.live);
        self.steps.push(Step::Free { number });
    }

    /// Ends a period.
    pub(super) fn pass_period(&mut self) {
        self.steps.push(Step::Period);
    }

    /// Allocates memory under a key of the caller.
    pub(super) fn allocate_as(&mut self, key: usize, bytes: u64) {
        let number = self.allocate(bytes);
        if key >= self.keyed.len() {
            self.keyed.resize(key + 1, None);
        }
        self.keyed[key] = Some(number);
    }

    /// Frees the allocation under the caller's key, if it is live.
    pub(super) fn free_as(&mut self, key: usize) {
        if let Some(number) = self.keyed.get_mut(key).and_then(Option::take) {
            self.free(number);
        }
    }

    pub(super) fn finish(self, name: impl Into<String>) -> Workload {
        Workload {
            name: name.into(),
            steps: self.steps,
            allocation_count: u32::try_from(self.sizes.len()).expect("allocate checks it"),
            peak_live: self.peak_live,
            live_sum: self.live_sum,
        }
    }
}
