//! The error of writing a session.

use std::{fmt, io};

use super::MAX_LIST_LEN;

/// Error of writing a session.
#[derive(Debug)]
#[non_exhaustive]
pub enum WriteError {
    /// The output failed.
    Io(io::Error),
    /// The time of a record is before that of the previous record.
    TimeGoesBack {
        /// Time of the previous record.
        previous: u64,
        /// Time of this record.
        found: u64,
    },
    /// The size of an allocation is 0.
    ZeroSize {
        /// Id of the allocation.
        id: u64,
    },
    /// A list has more than [`MAX_LIST_LEN`] ids.
    ListTooLong {
        /// Number of ids.
        len: usize,
    },
    /// The session has as much of something as readers accept.
    TooMany {
        /// The things that are limited.
        what: &'static str,
        /// Maximum number.
        limit: u32,
    },
}

// Written by hand, so that the writer needs no crate for it.
impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(f, "cannot write the session: {error}"),
            Self::TimeGoesBack { previous, found } => {
                write!(f, "time_us decreases from {previous} to {found}; records must be in order of time")
            }
            Self::ZeroSize { id } => write!(f, "the size of allocation {id} is 0, but must be at least 1"),
            Self::ListTooLong { len } => {
                write!(f, "a list has {len} ids, which exceeds the limit of {MAX_LIST_LEN}")
            }
            Self::TooMany { what, limit } => write!(f, "a session has at most {limit} {what}"),
        }
    }
}

impl std::error::Error for WriteError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for WriteError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}
