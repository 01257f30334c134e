//! Checks that a replay is that of the recording: every placement, heap and offset, every failure, and the bytes that
//! are held.

use std::collections::HashMap;
use std::fmt::Display;

use heapwright::d3d12::windows_core::Interface as _;
use heapwright::{MemoryAllocation, Placement, ResourceAllocation};

use super::objects::heap_size;
use super::recorded::{RecordedPlace, RecordedTrace};

/// The end of each finding: when a replay is exact.
const REASONS: &str = "a replay is exact on the same device, of a program that allocates with one thread, without a residency manager, \
                       deferred frees and refusals of the device (docs/formats.md)";

/// Compares a replay with the recording, up to the first difference.
#[derive(Debug)]
pub(super) struct Exactness<'a> {
    recorded: &'a RecordedTrace,
    /// The heap of the replay, by the index of the recorded one.
    heaps: Vec<Option<usize>>,
    /// The recorded heap of each heap of the replay. One that has ended leaves its address to others.
    recorded_heaps: HashMap<usize, u32>,
    difference: Option<String>,
}

impl<'a> Exactness<'a> {
    pub(super) fn new(recorded: &'a RecordedTrace) -> Self {
        let heaps = vec![None; recorded.calls.heaps.len()];
        Self { recorded, heaps, recorded_heaps: HashMap::new(), difference: None }
    }

    pub(super) fn has_difference(&self) -> bool {
        self.difference.is_some()
    }

    /// Returns the first difference.
    pub(super) fn into_difference(self) -> Option<String> {
        self.difference
    }

    /// Notes that the replay does something else than the recorded program from here on.
    pub(super) fn differs(&mut self, events: usize, how: impl Display) {
        let events_location = |events: usize| match events.checked_sub(1) {
            Some(last) => self.recorded.trace.location(last).to_string(),
            None => self.recorded.trace.path().display().to_string(),
        };
        if self.difference.is_none() {
            let location = events_location(events);
            self.difference =
                Some(format!("{location}: the replay differs from the recording: {how}; {REASONS}"));
        }
    }

    /// Compares a resource with the recorded allocation of an index. `events` is the number of events up to this one.
    pub(super) fn check_resource(&mut self, events: usize, index: usize, made: &ResourceAllocation) {
        let found = made.info().decision.placement;
        let Some(recorded) = self.recorded.calls.allocations.get(index).filter(|_| self.difference.is_none())
        else {
            return;
        };
        if let Some(placement) = self.recorded.placement_of(index).filter(|&placement| placement != found) {
            return self.differs(events, format_args!("a resource is {found}, in the recording {placement}"));
        }
        if let Some(heap_type) = recorded.heap_type.filter(|&heap_type| heap_type != made.heap_type()) {
            let found = made.heap_type();
            let how = format_args!("a resource is in a heap of type {found}, in the recording {heap_type}");
            return self.differs(events, how);
        }
        if found != Placement::Imported {
            self.check_place(events, recorded.place, place_of(made));
        }
    }

    /// Compares the new place of a resource.
    pub(super) fn check_move(
        &mut self,
        events: usize,
        recorded: Option<RecordedPlace>,
        moved: &ResourceAllocation,
    ) {
        self.check_place(events, recorded, place_of(moved));
    }

    /// Compares memory without a resource.
    pub(super) fn check_memory(&mut self, events: usize, index: usize, made: &MemoryAllocation) {
        let recorded = self.recorded.calls.allocations.get(index).and_then(|recorded| recorded.place);
        self.check_place(events, recorded, place_of_memory(made));
    }

    /// Compares the new place of memory without a resource.
    pub(super) fn check_memory_move(
        &mut self,
        events: usize,
        recorded: Option<RecordedPlace>,
        moved: &MemoryAllocation,
    ) {
        self.check_place(events, recorded, place_of_memory(moved));
    }

    fn check_place(
        &mut self,
        events: usize,
        recorded: Option<RecordedPlace>,
        (found, offset, size): (usize, u64, u64),
    ) {
        let Some(recorded) = recorded.filter(|_| self.difference.is_none()) else { return };
        let heap = self.recorded.calls.heaps[recorded.heap as usize];
        if offset != recorded.offset {
            let recorded = recorded.offset;
            return self.differs(events, format_args!("an offset is {offset}, in the recording {recorded}"));
        }
        if size != heap.size {
            let recorded = heap.size;
            return self
                .differs(events, format_args!("a heap has {size} bytes, in the recording {recorded}"));
        }
        let known = self.heaps[recorded.heap as usize];
        let of_found = self.recorded_heaps.get(&found).copied();
        let is_other = match (known, of_found) {
            (None, None) => false,
            (None, Some(other)) => self.recorded.calls.heaps[other as usize].end as usize > events,
            (Some(known), _) => known != found || of_found != Some(recorded.heap),
        };
        if is_other {
            return self.differs(events, "a resource is in another heap");
        }
        self.heaps[recorded.heap as usize] = Some(found);
        self.recorded_heaps.insert(found, recorded.heap);
    }
}

/// Returns the address of the heap of memory, its offset in it, and the heap's size.
fn place_of_memory(made: &MemoryAllocation) -> (usize, u64, u64) {
    (made.heap().as_raw().addr(), made.offset().get(), heap_size(made.heap()))
}

/// Returns the address and the size of the heap of an allocation, and its offset in it. A committed resource is its own
/// heap.
fn place_of(made: &ResourceAllocation) -> (usize, u64, u64) {
    match made.heap() {
        Some(heap) => {
            let offset = made.offset().get() + made.offset_from_resource().get();
            (heap.as_raw().addr(), offset, heap_size(heap))
        }
        None => (made.resource().as_raw().addr(), 0, made.size().get()),
    }
}
