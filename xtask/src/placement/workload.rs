//! What is allocated and freed, in which order: of a recorded trace, or made.

use heapwright_trace::{EventKind, Trace};

/// One thing that a workload does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Allocates bytes; the number counts the allocations from zero.
    Allocate { number: u32, bytes: u64 },
    /// Frees what was allocated by that number.
    Free { number: u32 },
}

/// The steps of a workload. An allocation is freed once, after it was made, or never.
#[derive(Debug, Clone)]
pub(super) struct Workload {
    pub(super) name: String,
    pub(super) steps: Vec<Step>,
    pub(super) allocation_count: u32,
    pub(super) peak_live: u64,
}

impl Workload {
    pub(super) fn of_trace(trace: &Trace) -> Self {
        let mut recorder = Recorder::default();
        for event in trace.events() {
            let key = event.allocation.as_usize();
            match event.kind {
                EventKind::Alloc => recorder.allocate_as(key, event.size.get()),
                EventKind::Free => recorder.free_as(key),
            }
        }
        recorder.finish(trace.name())
    }
}

/// Writes the steps of a workload down.
#[derive(Debug, Default)]
pub(super) struct Recorder {
    steps: Vec<Step>,
    /// Bytes of each allocation; zero once it is freed.
    sizes: Vec<u64>,
    /// The number of the allocation that the caller has a key of its own for.
    keyed: Vec<Option<u32>>,
    live: u64,
    peak_live: u64,
}

impl Recorder {
    /// Allocates at least one byte, and answers its number.
    pub(super) fn allocate(&mut self, bytes: u64) -> u32 {
        let bytes = bytes.max(1);
        let number = u32::try_from(self.sizes.len()).expect("a workload has fewer than 2^32 allocations");
        self.sizes.push(bytes);
        self.steps.push(Step::Allocate { number, bytes });
        self.live += bytes;
        self.peak_live = self.peak_live.max(self.live);
        number
    }

    /// Frees what is live.
    pub(super) fn free(&mut self, number: u32) {
        let bytes = std::mem::take(&mut self.sizes[number as usize]);
        assert!(bytes > 0, "allocation {number} is freed twice");
        self.live -= bytes;
        self.steps.push(Step::Free { number });
    }

    /// As [`allocate`](Self::allocate), named by the caller.
    pub(super) fn allocate_as(&mut self, key: usize, bytes: u64) {
        let number = self.allocate(bytes);
        if key >= self.keyed.len() {
            self.keyed.resize(key + 1, None);
        }
        self.keyed[key] = Some(number);
    }

    /// Frees what the caller named, if it is live.
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
        }
    }
}
