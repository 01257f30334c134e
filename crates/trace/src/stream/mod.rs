//! The events of a recording, as one stream for files of both formats.
//!
//! A session has what a replay needs, and a Chrome trace the calls and durations that a reader wants to see.

mod chrome;
mod session;

use std::fmt;
use std::io::{self, Seek, Write};

use self::chrome::ChromeEvents;
use self::session::SessionEvents;
use crate::chrome::{ALLOCATOR, MANAGER};
use crate::session::{Action, Asked, Counter, Description, Heap, PlacementReason, ResourceKind};

/// A file of either format that is being written.
pub struct EventWriter<W: Write>(Format<W>);

enum Format<W: Write> {
    Session(Box<SessionEvents<W>>),
    Chrome(ChromeEvents<W>),
}

impl<W: Write> fmt::Debug for EventWriter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventWriter").finish_non_exhaustive()
    }
}

impl<W: Write + Seek> EventWriter<W> {
    /// Begins a session.
    ///
    /// # Errors
    ///
    /// Returns the error of `output`.
    pub fn session(output: W) -> io::Result<Self> {
        SessionEvents::new(output).map(|session| Self(Format::Session(Box::new(session))))
    }

    /// Begins the Chrome trace of a process with this number and name, and with the names of threads by their numbers.
    ///
    /// # Errors
    ///
    /// Returns the error of `output`.
    pub fn chrome(
        output: W,
        process: u32,
        name: &str,
        thread_name: fn(u32) -> Option<String>,
    ) -> io::Result<Self> {
        ChromeEvents::new(output, process, name, thread_name).map(|trace| Self(Format::Chrome(trace)))
    }

    /// Writes an event.
    ///
    /// # Errors
    ///
    /// Returns the error of the output, or a [`WriteError`](crate::session::WriteError) in it for an event beyond a
    /// limit of a session.
    pub fn write(&mut self, entry: Entry) -> io::Result<()> {
        match &mut self.0 {
            Format::Session(session) => session.write(entry),
            Format::Chrome(trace) => trace.write(entry),
        }
    }

    /// Completes the file. The next event replaces the end.
    ///
    /// # Errors
    ///
    /// Returns the error of the output.
    pub fn checkpoint(&mut self) -> io::Result<()> {
        match &mut self.0 {
            Format::Session(session) => session.checkpoint(),
            Format::Chrome(trace) => trace.checkpoint(),
        }
    }
}

/// An event, with its time and thread.
#[derive(Debug)]
pub struct Entry {
    /// Time since the start of the recording, in nanoseconds.
    pub time_ns: u64,
    /// Number of the thread.
    pub thread: u32,
    /// The event.
    pub event: Event,
}

/// An event of a recording.
#[derive(Debug)]
pub enum Event {
    /// An instance begins.
    Begin {
        /// Its id.
        instance: u64,
        /// Its kind.
        kind: InstanceKind,
        /// The allocator in which it is nested, if that is recorded in the same file.
        parent: Option<u64>,
        /// Its description.
        settings: Settings,
    },
    /// An action that sessions record, of an allocator or of an object that knows its allocator.
    Action {
        /// Id of the allocator.
        allocator: Option<u64>,
        /// The record.
        action: Action,
    },
    /// A new allocation.
    Allocate(Box<Allocated>),
    /// An allocation has moved.
    Move {
        /// Its id.
        allocation: u64,
        /// Id of the new heap.
        heap: u64,
        /// Offset in the new heap.
        offset: u64,
        /// GPU virtual address and recorded size of a buffer.
        address: Option<(u64, u64)>,
    },
    /// A new heap.
    CreateHeap(Box<NewHeap>),
    /// An object that only Chrome traces have is created (`N`) or destroyed (`D`).
    Object {
        /// Name of its type.
        name: &'static str,
        /// `N` or `D`.
        phase: char,
        /// Its id.
        id: u64,
    },
    /// Command lists are submitted.
    Submit {
        /// Number of the queue.
        queue: u64,
        /// The value that the queue's fence reaches afterwards.
        fence_value: u64,
        /// Ids of the heaps of each list.
        lists: Vec<Vec<u64>>,
    },
    /// Heaps are made resident.
    MakeResident {
        /// Their ids.
        heaps: Vec<u64>,
    },
    /// Heaps are evicted.
    Evict {
        /// Their ids.
        heaps: Vec<u64>,
    },
    /// Values of counters of an instance.
    Count {
        /// Id of the instance.
        instance: u64,
        /// Kind of the instance.
        kind: InstanceKind,
        /// The values.
        values: Vec<(Counter, u64)>,
    },
    /// A call with its arguments. Chrome traces only.
    Call {
        /// Name of the call.
        name: &'static str,
        /// Its arguments, as fields in JSON.
        args: String,
    },
    /// The duration of a call that ends now. Chrome traces only.
    Timing {
        /// Name of the call.
        call: &'static str,
        /// The duration, in nanoseconds.
        duration_ns: u64,
    },
}

impl Event {
    /// Returns the bytes of the contents or ids that the event holds, in proportion to which it takes memory.
    #[must_use]
    pub fn held_bytes(&self) -> usize {
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
#[derive(Debug, Default)]
pub struct Settings {
    /// As names and texts.
    pub options: Vec<(&'static str, String)>,
    /// As fields of GPGMM's snapshot, in JSON.
    pub fields: String,
}

/// What an instance is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstanceKind {
    /// An allocator.
    Allocator,
    /// A residency manager.
    ResidencyManager,
}

impl InstanceKind {
    /// Returns the name of its objects in Chrome traces.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Allocator => ALLOCATOR,
            Self::ResidencyManager => MANAGER,
        }
    }
}

/// A new heap.
#[derive(Debug)]
pub struct NewHeap {
    /// The heap.
    pub heap: Heap,
    /// Whether objects are recorded, and not only calls.
    pub is_object: bool,
    /// The arguments of `CreateResidencyHeap`, in a Chrome trace.
    pub call: Option<String>,
}

/// A new allocation.
#[derive(Debug)]
pub struct Allocated {
    /// Id of the allocator.
    pub instance: u64,
    /// Its id.
    pub id: u64,
    /// Requested size of a buffer, and size of a texture, in bytes.
    pub size: u64,
    /// Number of bytes that belong to it.
    pub taken: u64,
    /// Kind of the resource.
    pub kind: ResourceKind,
    /// The number of the heap type in D3D12.
    pub heap_type: u8,
    /// Flags of the resource.
    pub resource_flags: u32,
    /// Heap and offset.
    pub place: Option<(u64, u64)>,
    /// GPU virtual address of a buffer.
    pub address: Option<u64>,
    /// The description and the reason for the placement; `None` if calls are not recorded.
    pub description: Option<(Box<Description>, PlacementReason)>,
    /// What was asked beyond that, if it was anything.
    pub asked: Option<Asked>,
    /// The fields of the clear value in JSON; empty without one.
    pub clear_value: String,
    /// The pool from which it was requested.
    pub pool: Option<u64>,
}
