//! Allocation traces of GPU workloads: what an application allocated and freed, in which order.
//!
//! A trace is a CSV file, plain or compressed with gzip, that a replay turns back into calls. This crate holds the
//! format and its reader; it knows nothing of D3D12 and of what a replay does with the events.
//!
//! # Format
//!
//! ```text
//! time_us,event,id,size_bytes
//! 4,alloc,0,2359296
//! 453,alloc,1,3072
//! 537,free,0,2359296
//! ```
//!
//! - The first line is exactly that header; a UTF-8 byte order mark may stand before it. Lines end in LF or CR LF; the last line may lack its end. Every other line is
//!   one event; there are no empty lines, no quotes, no spaces and no comments.
//! - `time_us`, `id` and `size_bytes` are decimal digits that fit in 64 bits.
//! - `time_us` counts microseconds since the recording began and never decreases. Equal times are common. Time never
//!   goes back in any trace recorded so far, and an event out of place would turn a replay into nonsense, so a step
//!   back is an error.
//! - `event` is `alloc` or `free`.
//! - `id` names one allocation. It is used once: it may not be allocated again, not even after its free. Ids may come
//!   in any order. What is never freed was live when the recording ended.
//! - `size_bytes` is what the application asked for, at least 1. A `free` repeats the size of its `alloc`, which the
//!   reader checks: in the recorded traces the two always agree.
//! - A gzip file is told by its first two bytes, not by its name, and may have several members (as `cat a.gz b.gz`
//!   makes them).
//!
//! # Reading
//!
//! [`Trace::read`] reads and checks a whole file. [`TraceReader`] yields one event at a time from any
//! [`Read`](std::io::Read). Both hold every rule above; an error is a [`TraceError`] and prints as one line,
//! `path:LINE: what was wrong`.
//!
//! The input may be hostile. A row is never longer than [`Trace::MAX_LINE_LEN`] bytes, so a file without line ends
//! is refused after that many, and a trace has at most [`Trace::MAX_EVENTS`] events, and at most [`Trace::MAX_LIVE`]
//! allocations that are live at once: no file, however well it is compressed, makes a reader take more memory than that.
//! Reading takes 24 bytes for an event and 16 for an allocation; where ids do not count up one by one, about 40 more for
//! each allocation, since those ids go through a map.
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
//! What is wrong with a file is said in one line:
//!
//! ```
//! use heapwright_trace::Trace;
//!
//! let csv = "time_us,event,id,size_bytes\n0,alloc,7,4096\n5,alloc,7,256\n";
//! let error = Trace::from_reader("twice.csv", csv.as_bytes()).unwrap_err();
//! assert_eq!(
//!     error.to_string(),
//!     "twice.csv:3: id 7 is allocated again, but an id is used once (first allocated on line 2)"
//! );
//! ```

#![forbid(unsafe_code)]

mod error;
mod event;
mod ids;
mod lines;
mod location;
mod reader;
mod row;
mod source;
mod text;
mod trace;

pub use error::{Column, TraceError, TraceErrorKind};
pub use event::{AllocationIndex, Event, EventKind};
pub use location::Location;
pub use reader::TraceReader;
pub use text::Snippet;
pub use trace::Trace;
