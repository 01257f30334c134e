//! Objects in a recording, which record their end when they are dropped.

use std::sync::Arc;

use heapwright_trace::session::{Action, Heap, HeapType, ResourceKind};
use heapwright_trace::stream::{Event, NewHeap};

use super::gpgmm_fields::{HeapMemory, heap_call};
use super::instance::Recording;
use crate::RecordFlags;

/// Returns the event of an object's end.
type EndEvent = fn(u64) -> Event;

/// Returns an action of an object, which knows its allocator.
fn of_object(action: Action) -> Event {
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
    fn new(recording: &Arc<Recording>, id: u64, end: Option<EndEvent>) -> Self {
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

/// Names and values of options.
pub(crate) type RecordedOptions = Vec<(Box<str>, Box<str>)>;

impl Recording {
    /// Records a new heap, if objects or calls are recorded.
    pub(crate) fn heap(self: &Arc<Self>, memory: &HeapMemory) -> Option<Recorded> {
        let is_object = self.records(RecordFlags::API_OBJECTS);
        let is_call = !self.is_session() && (is_object || self.records(RecordFlags::API_CALLS));
        if !is_object && !is_call {
            return None;
        }
        let id = self.next_id();
        let &HeapMemory { size, alignment, properties, flags } = memory;
        let heap_type = u8::try_from(properties.Type).ok().and_then(HeapType::from_d3d12);
        let heap_type = heap_type.unwrap_or(HeapType::Unknown);
        let heap = Heap { id, size, alignment, heap_type, flags, name: None };
        let call = is_call.then(|| heap_call(memory));
        self.push(Event::CreateHeap(Box::new(NewHeap { heap, is_object, call })));
        let end: EndEvent = |heap| of_object(Action::DestroyHeap { heap });
        Some(Recorded::new(self, id, is_object.then_some(end)))
    }

    /// Records a new residency list, which only Chrome traces have.
    pub(crate) fn list(self: &Arc<Self>) -> Recorded {
        const fn list(phase: char, id: u64) -> Event {
            Event::Object { name: "ResidencyList", phase, id }
        }
        let id = self.next_id();
        let is_object = self.records(RecordFlags::API_OBJECTS) && !self.is_session();
        if is_object {
            self.push(list('N', id));
        }
        let end: EndEvent = |id| list('D', id);
        Recorded::new(self, id, is_object.then_some(end))
    }

    /// Records a new pool, if calls are recorded.
    pub(crate) fn pool(self: &Arc<Self>, options: RecordedOptions) -> Option<Arc<Recorded>> {
        if !self.records(RecordFlags::API_CALLS) {
            return None;
        }
        let pool = self.next_id();
        self.call(|| Action::CreatePool { pool, options });
        let end: EndEvent = |pool| of_object(Action::DropPool { pool });
        Some(Arc::new(Recorded::new(self, pool, Some(end))))
    }

    /// Records a new reserved resource.
    pub(crate) fn reserved(
        self: &Arc<Self>,
        tiles: u32,
        kind: ResourceKind,
        name: Option<Box<str>>,
    ) -> Recorded {
        let resource = self.next_id();
        self.act(Action::Reserve { resource, tiles, kind, name });
        Recorded::new(self, resource, Some(|resource| of_object(Action::Unreserve { resource })))
    }

    /// Records a new defragmentation, if calls are recorded.
    pub(crate) fn run(self: &Arc<Self>, pool: Option<&Recorded>) -> Option<Recorded> {
        if !self.records(RecordFlags::API_CALLS) {
            return None;
        }
        let run = self.next_id();
        self.call(|| Action::BeginDefragmentation { run, pool: pool.map(Recorded::id) });
        Some(Recorded::new(self, run, Some(|run| of_object(Action::EndDefragmentation { run }))))
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
