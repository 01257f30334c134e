//! Errors of reading a trace.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::gpgmm::CaptureFault;
use crate::location::{Location, Position};
use crate::row::HEADER;
use crate::session::{MAX_OTHER_RECORDS, SessionFault};
use crate::text::Snippet;
use crate::trace::Trace;

/// An error of reading a trace, with the file and, if known, the position.
///
/// The `Display` form is one line: the [`Location`], a colon and the message.
// Boxed to keep the `Result` of each row small.
#[derive(Debug)]
pub struct TraceError(Box<Located>);

#[derive(Debug)]
struct Located {
    path: PathBuf,
    position: Option<Position>,
    kind: TraceErrorKind,
}

impl TraceError {
    pub(crate) fn in_file(path: &Path, kind: TraceErrorKind) -> Self {
        Self(Box::new(Located { path: path.to_owned(), position: None, kind }))
    }

    /// Creates an error at a position, or without one if the input failed.
    pub(crate) fn at(path: &Path, position: Position, kind: TraceErrorKind) -> Self {
        let is_of_input = matches!(kind, TraceErrorKind::Io(_) | TraceErrorKind::Directory);
        let position = (!is_of_input).then_some(position);
        Self(Box::new(Located { path: path.to_owned(), position, kind }))
    }

    /// Returns the path that the caller passed.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Returns the position of the error, or `None` if the file could not be read.
    #[must_use]
    pub fn position(&self) -> Option<Position> {
        self.0.position
    }

    /// Returns the file and position of the error.
    #[must_use]
    pub fn location(&self) -> Location<'_> {
        Location { path: &self.0.path, position: self.0.position }
    }

    /// Returns the kind of the error.
    #[must_use]
    pub fn kind(&self) -> &TraceErrorKind {
        &self.0.kind
    }
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.location(), self.0.kind)
    }
}

impl Error for TraceError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        // The kind's message is part of this error's message.
        self.0.kind.source()
    }
}

/// The kind of a [`TraceError`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceErrorKind {
    /// The file could not be opened or read.
    #[error("{}", describe_io(.0))]
    Io(#[source] io::Error),
    /// The path names a directory.
    #[error("is a directory, not a trace file")]
    Directory,
    /// The file is empty after decompression.
    #[error("the file is empty; expected the header \"{HEADER}\"")]
    Empty,
    /// The compressed data are incomplete.
    #[error("unexpected end of the gzip data; the file may be truncated")]
    GzipTruncated,
    /// The compressed data are invalid. The string is the decoder's message.
    #[error("invalid gzip data: {0}")]
    GzipCorrupt(String),
    /// The first line is not the header.
    #[error("invalid header {found}; expected \"{HEADER}\"")]
    WrongHeader {
        /// The first line.
        found: Snippet,
    },
    /// A line is longer than [`Trace::MAX_LINE_LEN`].
    #[error("the line exceeds the limit of {} bytes", Trace::MAX_LINE_LEN)]
    LineTooLong,
    /// A line is not valid UTF-8.
    #[error("the line is not valid UTF-8: {line}")]
    NotUtf8 {
        /// The line.
        line: Snippet,
    },
    /// A line does not have four fields.
    #[error("expected 4 fields ({HEADER}), found {found}: {line}")]
    FieldCount {
        /// Number of fields in the line.
        found: usize,
        /// The line.
        line: Snippet,
    },
    /// A field that must hold a number is not a sequence of decimal digits.
    #[error("{column} must be decimal digits, found {found}")]
    NotANumber {
        /// The column of the field.
        column: Column,
        /// Content of the field.
        found: Snippet,
    },
    /// A number exceeds 64 bits.
    #[error("{column} does not fit in 64 bits: {found}")]
    NumberTooLarge {
        /// The column of the field.
        column: Column,
        /// Content of the field.
        found: Snippet,
    },
    /// An event is neither `alloc` nor `free`.
    #[error("event must be \"alloc\" or \"free\", found {found}")]
    UnknownEvent {
        /// Content of the field.
        found: Snippet,
    },
    /// A size is 0.
    #[error("size_bytes is 0, but must be at least 1")]
    ZeroSize,
    /// The time of an event is before that of the previous event.
    #[error("time_us decreases from {previous} to {found}; events must be in order of time")]
    TimeGoesBack {
        /// Time of the previous event.
        previous: u64,
        /// Time of this event.
        found: u64,
    },
    /// An id is allocated for the second time.
    #[error("id {id} was already allocated on {first}; ids must be unique")]
    AllocatedTwice {
        /// The id.
        id: u64,
        /// Position of the first allocation.
        first: Position,
    },
    /// An id is freed that was never allocated.
    #[error("free of id {id}, which was never allocated")]
    NeverAllocated {
        /// The id.
        id: u64,
    },
    /// An id is freed for the second time.
    #[error("free of id {id}, which was already freed on {freed}")]
    AlreadyFreed {
        /// The id.
        id: u64,
        /// Position of the first free.
        freed: Position,
    },
    /// The size of a free differs from that of the allocation.
    #[error("free of id {id} has size_bytes {found}, but {allocated} bytes were allocated on {allocated_on}")]
    FreeSizeMismatch {
        /// The id.
        id: u64,
        /// Size of the free, in bytes.
        found: u64,
        /// Size of the allocation, in bytes.
        allocated: u64,
        /// Position of the allocation.
        allocated_on: Position,
    },
    /// The sum of the live allocations exceeds 64 bits.
    #[error("the sum of the sizes of all live allocations exceeds 64 bits")]
    LiveBytesOverflow,
    /// The file is not a valid [session](crate::session).
    #[error(transparent)]
    Session(#[from] SessionFault),
    /// The file is not a valid [capture](crate::gpgmm).
    #[error(transparent)]
    Capture(#[from] CaptureFault),
    /// The trace has more than [`Trace::MAX_EVENTS`] events.
    #[error("the trace exceeds the limit of {} events", Trace::MAX_EVENTS)]
    TooManyEvents,
    /// More than [`Trace::MAX_LIVE`] allocations are live at the same time.
    #[error("the trace exceeds the limit of {} live allocations", Trace::MAX_LIVE)]
    TooManyLive,
    /// There are more than [`MAX_OTHER_RECORDS`] records other than allocations and frees.
    #[error("the file exceeds the limit of {} records other than allocations and frees", MAX_OTHER_RECORDS)]
    TooManyOtherRecords,
}

/// A column of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// `time_us`: time of the event.
    TimeUs,
    /// `event`: kind of the event.
    Event,
    /// `id`: id of the allocation.
    Id,
    /// `size_bytes`: size of the allocation.
    SizeBytes,
}

impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TimeUs => "time_us",
            Self::Event => "event",
            Self::Id => "id",
            Self::SizeBytes => "size_bytes",
        })
    }
}

/// Describes an I/O error, with the same message on every system for the most common kinds.
fn describe_io(error: &io::Error) -> String {
    match error.kind() {
        // On Windows some names are invalid, such as those with a line break.
        io::ErrorKind::NotFound | io::ErrorKind::InvalidFilename => "no such file".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => format!("cannot be read: {error}"),
    }
}
