//! Objects in a recording, which record their end when they are dropped.

use std::sync::Arc;

use heapwright_trace::session::Action;
use heapwright_trace::stream::Event;

use super::instance::Recording;

/// Returns the event of an object's end.
pub(super) type EndEvent = fn(u64) -> Event;

/// Returns an action of an object, which knows its allocator.
pub(super) fn of_object(action: Action) -> Event {
    Event::Action { allocator: None, action }
}

/// An object in a recording: a heap, an allocation, a pool, a defragmentation, a residency list, a reserved resource.
/// Dropping it records that it is destroyed.
#[derive(Debug)]
pub(crate) struct Recorded {
    recording: Arc<Recording>,
    id: u64,
    /// `None` if its lifetime is not recorded, but only the call that created it.
    end: Option<EndEvent>,
}

impl Recorded {
    pub(super) fn new(recording: &Arc<Recording>, id: u64, end: Option<EndEvent>) -> Self {
        Self { recording: Arc::clone(recording), id, end }
    }

    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    pub(crate) fn recording(&self) -> &Arc<Recording> {
        &self.recording
    }

    /// Returns the id of the object in the file of a recording.
    pub(crate) fn id_in(&self, recording: &Recording) -> Option<u64> {
        self.recording.shares_file_with(recording).then_some(self.id)
    }
}

impl Drop for Recorded {
    fn drop(&mut self) {
        if let Some(end) = self.end {
            self.recording.push(end(self.id));
        }
    }
}

/// An allocation in a recording.
pub(crate) struct RecordedAllocation {
    /// Declared before the heap, so that the allocation is freed first.
    pub(crate) object: Recorded,
    /// The size of the allocation in the file, which does not change when it is moved.
    pub(crate) size: u64,
    /// The implicit heap of a committed resource.
    pub(crate) _own_heap: Option<Recorded>,
}

impl RecordedAllocation {
    /// Returns a new allocation, which is recorded by the caller.
    pub(crate) fn new(recording: &Arc<Recording>, size: u64, own_heap: Option<Recorded>) -> Self {
        let end: EndEvent = |allocation| of_object(Action::Free { allocation });
        Self { object: Recorded::new(recording, recording.next_id(), Some(end)), size, _own_heap: own_heap }
    }
}

/// The call that completes a move.
pub(crate) const COMPLETE_MOVE: &str = "Defragmentation.CompleteMove";

/// A planned move of a defragmentation in a recording.
pub(crate) struct RecordedMove {
    pub(crate) recording: Arc<Recording>,
    pub(crate) run: u64,
    pub(crate) number: u64,
}

impl RecordedMove {
    /// Records that an allocation is moved. Without objects, it has no id.
    pub(crate) fn complete(self, allocation: Option<u64>) {
        let Self { recording, run, number } = self;
        match allocation {
            Some(allocation) => recording.act(Action::CompleteMove { run, number, allocation }),
            None => recording.note(COMPLETE_MOVE, || format!("\"run\":\"{run:#x}\",\"move\":{number}")),
        }
    }

    /// Records that nothing is moved.
    pub(crate) fn abandon(self) {
        let Self { recording, run, number } = self;
        recording.act(Action::AbandonMove { run, number });
    }
}

/// A mapping in a recording: what the call that begins it and the one that ends it have as arguments.
#[derive(Debug)]
pub(crate) struct RecordedMapping {
    pub(crate) recording: Arc<Recording>,
    pub(crate) args: String,
}

/// The call that maps.
pub(crate) const MAP: &str = "ResourceAllocation.Map";
/// The call that unmaps.
pub(crate) const UNMAP: &str = "ResourceAllocation.Unmap";

impl RecordedMapping {
    /// Makes the call that maps or unmaps, which is recorded with its duration.
    pub(crate) fn traced<T>(this: Option<&Self>, name: &'static str, call: impl FnOnce() -> T) -> T {
        let recording = this.map(|this| &*this.recording);
        Recording::traced(recording, name, || this.map(|this| this.args.clone()).unwrap_or_default(), call)
    }
}
