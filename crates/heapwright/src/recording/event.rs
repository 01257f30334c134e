//! Events on their way to the writer.

use heapwright_d3d12::*;
use heapwright_trace::session::{Action, Asked, Counter, Description, Heap, PlacementReason, ResourceKind};

use crate::ClearValue;

/// An event, with its time and thread.
pub(super) struct Entry {
    /// Time since the start of the recording.
    pub(super) time_ns: u64,
    pub(super) thread: u32,
    pub(super) event: Event,
}

/// Something that happened.
pub(crate) enum Event {
    Begin {
        instance: u64,
        kind: InstanceKind,
        /// The allocator in which it is nested, if that is recorded in the same file.
        parent: Option<u64>,
        settings: Settings,
    },
    End {
        instance: u64,
        kind: InstanceKind,
    },
    /// What a session has a record of: an action of an allocator, or of an object that knows its allocator.
    Action {
        allocator: Option<u64>,
        action: Action,
    },
    Allocate(Box<Allocated>),
    Move {
        allocation: u64,
        heap: u64,
        offset: u64,
        /// GPU virtual address and recorded size of a buffer.
        address: Option<(u64, u64)>,
    },
    /// The contents of a buffer are recorded. In a session, their bytes follow.
    RecordContents {
        allocation: u64,
        size: u64,
    },
    CreateHeap(Box<NewHeap>),
    /// An object that only Chrome traces have is created (`N`) or destroyed (`D`).
    Object {
        name: &'static str,
        phase: char,
        id: u64,
    },
    /// The heaps of each list.
    Submit {
        queue: u64,
        fence_value: u64,
        lists: Vec<Vec<u64>>,
    },
    MakeResident {
        heaps: Vec<u64>,
    },
    Evict {
        heaps: Vec<u64>,
    },
    Count {
        instance: u64,
        kind: InstanceKind,
        values: Vec<(Counter, u64)>,
    },
    /// A call with its arguments. Chrome traces only.
    Call {
        name: &'static str,
        args: String,
    },
    Timing {
        call: &'static str,
        duration_ns: u64,
    },
}

impl Event {
    /// Returns the bytes of the contents or ids that the event holds, in proportion to which it takes memory.
    pub(super) fn held_bytes(&self) -> usize {
        let of_ids = |ids: &[u64]| size_of_val(ids);
        match self {
            Self::Action { action: Action::Contents { bytes, .. }, .. } => bytes.len(),
            Self::Submit { lists, .. } => lists.iter().map(|heaps| of_ids(heaps)).sum(),
            Self::MakeResident { heaps } | Self::Evict { heaps } => of_ids(heaps),
            _ => 0,
        }
    }
}

/// The description of an instance.
#[derive(Default)]
pub(crate) struct Settings {
    /// As names and texts.
    pub(crate) options: Vec<(&'static str, String)>,
    /// As fields of GPGMM's snapshot, in JSON.
    pub(crate) fields: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InstanceKind {
    Allocator,
    ResidencyManager,
}

/// A new heap.
pub(crate) struct NewHeap {
    pub(crate) heap: Heap,
    /// Whether objects are recorded, and not only calls.
    pub(crate) is_object: bool,
    /// The arguments of `CreateResidencyHeap`, in a Chrome trace.
    pub(crate) call: Option<String>,
}

/// A new allocation.
pub(crate) struct Allocated {
    pub(crate) instance: u64,
    pub(crate) id: u64,
    /// Requested size of a buffer, and size of a texture, in bytes.
    pub(crate) size: u64,
    /// Number of bytes that belong to it.
    pub(crate) taken: u64,
    pub(crate) kind: ResourceKind,
    pub(crate) heap_type: u8,
    pub(crate) resource_flags: u32,
    /// Heap and offset.
    pub(crate) place: Option<(u64, u64)>,
    pub(crate) address: Option<u64>,
    /// The description and the reason for the placement; `None` if calls are not recorded.
    pub(crate) description: Option<(Box<Description>, PlacementReason)>,
    /// What was asked beyond that, if it was anything.
    pub(crate) asked: Option<Asked>,
    pub(crate) clear_value: Option<ClearValue>,
    /// The pool from which it was requested.
    pub(crate) pool: Option<u64>,
}

/// The record of a heap.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeapMemory {
    pub(crate) size: u64,
    pub(crate) alignment: u64,
    pub(crate) properties: D3D12_HEAP_PROPERTIES,
    pub(crate) flags: D3D12_HEAP_FLAGS,
}
