//! What can be wrong with a trace, and where.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::location::Location;
use crate::row::HEADER;
use crate::text::Snippet;
use crate::trace::Trace;

/// Why a trace could not be read: the file, the line where there is one, and the rule that it breaks.
///
/// Prints as one line, `path:LINE: what was wrong`, or `path: what was wrong` when no line is to blame.
// Boxed, so that the `Result` of every row stays small.
#[derive(Debug)]
pub struct TraceError(Box<Located>);

/// The parts of a [`TraceError`].
#[derive(Debug)]
struct Located {
    path: PathBuf,
    line: Option<u64>,
    kind: TraceErrorKind,
}

impl TraceError {
    pub(crate) fn in_file(path: &Path, kind: TraceErrorKind) -> Self {
        Self(Box::new(Located { path: path.to_owned(), line: None, kind }))
    }

    pub(crate) fn on_line(path: &Path, line: u64, kind: TraceErrorKind) -> Self {
        Self(Box::new(Located { path: path.to_owned(), line: Some(line), kind }))
    }

    /// The file, as it was named by the caller.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// The line to blame, counted from 1; `None` when the file could not be read at all.
    #[must_use]
    pub fn line(&self) -> Option<u64> {
        self.0.line
    }

    /// File and line.
    #[must_use]
    pub fn location(&self) -> Location<'_> {
        Location { path: &self.0.path, line: self.0.line }
    }

    /// The rule that is broken.
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
        // The kind's text is part of this error's own.
        self.0.kind.source()
    }
}

/// The rule that a trace breaks.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceErrorKind {
    /// The file could not be opened or read.
    #[error("{}", describe_io(.0))]
    Io(#[source] io::Error),
    /// The path names a directory.
    #[error("is a directory, not a trace file")]
    Directory,
    /// The file has no bytes at all, or is a gzip file of none.
    #[error("the file is empty, but a trace starts with the line \"{HEADER}\"")]
    Empty,
    /// The compressed data stop before their end.
    #[error("the gzip data end in the middle (is the file truncated?)")]
    GzipTruncated,
    /// The compressed data are damaged; the text says how the decoder put it.
    #[error("the gzip data are corrupt: {0}")]
    GzipCorrupt(String),
    /// The first line is not the header.
    #[error("wrong header {found}, the first line must be exactly \"{HEADER}\"")]
    WrongHeader {
        /// The first line.
        found: Snippet,
    },
    /// A line is longer than any row can be.
    #[error("the line is longer than {} bytes, the most that a row may have", Trace::MAX_LINE_LEN)]
    LineTooLong,
    /// A line is not text.
    #[error("the line is not UTF-8 text: {line}")]
    NotUtf8 {
        /// The line.
        line: Snippet,
    },
    /// A line does not have four fields.
    #[error("expected 4 fields ({HEADER}), found {found}: {line}")]
    FieldCount {
        /// How many fields it has.
        found: usize,
        /// The line.
        line: Snippet,
    },
    /// A field that holds a number holds something else.
    #[error("{column} must be decimal digits, found {found}")]
    NotANumber {
        /// Which field.
        column: Column,
        /// What it holds.
        found: Snippet,
    },
    /// A number is too large.
    #[error("{column} does not fit in 64 bits: {found}")]
    NumberTooLarge {
        /// Which field.
        column: Column,
        /// What it holds.
        found: Snippet,
    },
    /// An event is neither of the two that exist.
    #[error("event must be \"alloc\" or \"free\", found {found}")]
    UnknownEvent {
        /// What the field holds.
        found: Snippet,
    },
    /// A size is 0.
    #[error("size_bytes is 0, but an allocation has at least 1 byte")]
    ZeroSize,
    /// An event lies before the one on the line above.
    #[error("time_us goes back from {previous} to {found}, but events are in order of time")]
    TimeGoesBack {
        /// The time on the line above.
        previous: u64,
        /// The time on this line.
        found: u64,
    },
    /// An id is allocated for the second time.
    #[error("id {id} is allocated again, but an id is used once (first allocated on line {first_line})")]
    AllocatedTwice {
        /// The id.
        id: u64,
        /// Where it was allocated first.
        first_line: u64,
    },
    /// An id is freed that was never allocated.
    #[error("free of id {id}, which is not live: it was never allocated")]
    NeverAllocated {
        /// The id.
        id: u64,
    },
    /// An id is freed for the second time.
    #[error("free of id {id}, which is not live: it was already freed on line {freed_line}")]
    AlreadyFreed {
        /// The id.
        id: u64,
        /// Where it was freed first.
        freed_line: u64,
    },
    /// A free gives another size than the allocation had.
    #[error("free of id {id} gives size_bytes {found}, but {allocated} were allocated on line {alloc_line}")]
    FreeSizeMismatch {
        /// The id.
        id: u64,
        /// Bytes that the free names.
        found: u64,
        /// Bytes that were allocated.
        allocated: u64,
        /// Where they were allocated.
        alloc_line: u64,
    },
    /// More bytes are live at once than 64 bits can count.
    #[error("more bytes are live at once than fit in 64 bits")]
    LiveBytesOverflow,
    /// The trace is longer than a replay takes.
    #[error("the trace has more than {} events, the most that is read", Trace::MAX_EVENTS)]
    TooManyEvents,
    /// More allocations are live at once than a replay takes.
    #[error("more than {} allocations are live at once, the most that is read", Trace::MAX_LIVE)]
    TooManyLive,
}

/// A column of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// When.
    TimeUs,
    /// What.
    Event,
    /// To which allocation.
    Id,
    /// Of how many bytes.
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

/// The everyday failures in plain words, the same on every system; the rest as the system words them.
fn describe_io(error: &io::Error) -> String {
    match error.kind() {
        // Windows has names that no file can have, as those with a line break.
        io::ErrorKind::NotFound | io::ErrorKind::InvalidFilename => "no such file".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => format!("cannot be read: {error}"),
    }
}
