//! Reads allocation traces and sessions of GPU workloads.
//!
//! A trace records the allocations and frees of an application in order. This crate reads it from four formats, plain
//! or compressed with gzip, and recognizes them by content. A file of another kind is named in the error
//! ([`FileKind`]).
//!
//! - CSV files, whose format is defined below;
//! - captures of GPGMM ([`gpgmm`]);
//! - memory snapshots of PyTorch ([`snapshot`]);
//! - sessions ([`session`]), a binary format for more than a trace: heaps, placements, contents, residency sets,
//!   submissions and GPU addresses. [`session::SessionWriter`] writes them, and [`RecordReader`] reads these records
//!   from captures, too.
//!
//! It does not depend on Direct3D 12. Without the feature `read`, which is on by default, it has only the writers of
//! sessions and Chrome traces, also from one [stream] of events, and depends on little.
//!
//! # Format
//!
//! A CSV file looks like this:
//!
//! ```text
//! time_us,event,id,size_bytes
//! 4,alloc,0,2359296
//! 453,alloc,1,3072
//! 537,free,0,2359296
//! ```
//!
//! - The first line is this header, optionally after a UTF-8 byte order mark. The columns may be in any order, and
//!   there may be others, which are skipped. Every other line is an event. Fields may be in double quotes, in which
//!   `""` stands for one quote, and have spaces around them. There are no empty lines and no comments. Lines end with
//!   LF or CR LF, which the last line may lack.
//! - `time_us`, `id` and `size_bytes` are decimal digits whose value fits in 64 bits.
//! - `time_us` is the time since the start of the recording, in microseconds. It must not decrease.
//! - `event` is `alloc` or `free`.
//! - `id` identifies an allocation. Ids are unique and in any order; an id cannot be reused after its free. Allocations
//!   without a free are live at the end of the recording.
//! - `size_bytes` is the requested size, at least 1. A `free` repeats the size of its `alloc`.
//! - Gzip files are recognized by their first two bytes, not by name, and may have several members (as created by
//!   `cat a.gz b.gz`).
//!
//! # Reading
//!
//! [`Trace::read`] reads and checks a whole file. [`RecordReader`] yields the records of any [`Read`](std::io::Read).
//! Both check all of the rules above and return a [`TraceError`] for violations.
//!
//! Input may be malicious, so memory use is limited, also for compressed files: a line has at most
//! [`Trace::MAX_LINE_LEN`] bytes, and a trace has at most [`Trace::MAX_EVENTS`] events and at most [`Trace::MAX_LIVE`]
//! live allocations at any time. Reading takes 24 bytes per event and 16 bytes per allocation, plus about 40 bytes per
//! allocation if ids are not consecutive.
//!
//! # Examples
//!
//! ```
//! use heapwright_trace::{EventKind, Trace};
//!
//! let csv = "time_us,event,id,size_bytes\n0,alloc,7,4096\n5,alloc,8,256\n9,free,7,4096\n";
//! let trace = Trace::from_reader("example.csv", csv.as_bytes())?;
//! assert_eq!(trace.name(), "example");
//! assert_eq!(trace.allocation_count(), 2);
//! assert_eq!(trace.peak_live().get(), 4352);
//! assert_eq!(trace.events()[2].kind, EventKind::Free);
//! # Ok::<(), heapwright_trace::TraceError>(())
//! ```
//!
//! Errors are displayed on one line:
//!
//! ```
//! use heapwright_trace::Trace;
//!
//! let csv = "time_us,event,id,size_bytes\n0,alloc,7,4096\n5,alloc,7,256\n";
//! let error = Trace::from_reader("twice.csv", csv.as_bytes()).unwrap_err();
//! assert_eq!(
//!     error.to_string(),
//!     "twice.csv:3: id 7 was already allocated on line 2; ids must be unique"
//! );
//! ```

#![forbid(unsafe_code)]

pub mod chrome;
#[cfg(feature = "read")]
mod csv;
#[cfg(feature = "read")]
mod error;
#[cfg(feature = "read")]
mod event;
#[cfg(feature = "read")]
pub mod gpgmm;
#[cfg(feature = "read")]
mod ids;
#[cfg(feature = "read")]
mod input;
#[cfg(feature = "read")]
mod json_keys;
#[cfg(feature = "read")]
mod kind;
#[cfg(feature = "read")]
mod records;
#[cfg(feature = "read")]
mod rules;
pub mod session;
#[cfg(feature = "read")]
pub mod snapshot;
#[cfg(feature = "read")]
mod source;
pub mod stream;
#[cfg(feature = "read")]
mod text;
#[cfg(feature = "read")]
mod trace;
#[cfg(feature = "read")]
mod visible;

#[cfg(feature = "read")]
pub use self::{
    error::{Location, Position, TraceError},
    event::{AllocationIndex, Event, EventKind},
    input::Input,
    kind::{DumpedBy, FileKind, Foreign},
    records::{Format, RecordReader},
    trace::Trace,
    visible::Visible,
};
