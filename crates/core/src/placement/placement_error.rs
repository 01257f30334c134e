//! Errors of placement.

use std::error::Error;
use std::fmt;

use super::PlacementAlgorithm;
use crate::ByteSize;
use crate::suballoc::SuballocError;

/// An error of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlacementError {
    /// An error of the suballocator: no heap can ever serve the request, the size of a heap cannot be
    /// managed, or an id is not live.
    Suballocation(SuballocError),
    /// The request needs a heap larger than the maximum.
    TooLarge {
        /// The requested size.
        requested: ByteSize,
    },
    /// The request is larger than the algorithm's heaps, and needs a heap created for it alone.
    NeedsOwnHeap {
        /// The requested size.
        requested: ByteSize,
        /// The size of the largest heap that the algorithm requests.
        largest: ByteSize,
    },
    /// The set is limited to one heap, which has no room.
    OneHeapFull {
        /// The requested size.
        requested: ByteSize,
    },
    /// The request asks for the upper end, which the algorithm does not have.
    NoUpperEnd {
        /// The algorithm.
        algorithm: PlacementAlgorithm,
    },
    /// The heap is not in the set.
    UnknownHeap,
    /// The total size of the heaps would be 2^64 bytes or more.
    TooManyBytes,
    /// The limit on the number of heaps is reached.
    TooManyHeaps,
}

impl fmt::Display for PlacementError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Suballocation(error) => error.fmt(f),
            Self::TooLarge { requested } => write!(f, "{requested} exceeds the maximum heap size"),
            Self::NeedsOwnHeap { requested, largest } => {
                write!(f, "{requested} exceeds the maximum size of a shared heap, {largest}")
            }
            Self::OneHeapFull { requested } => {
                write!(f, "{requested} does not fit in the only heap that is allowed")
            }
            Self::NoUpperEnd { algorithm } => {
                write!(
                    f,
                    "{algorithm} does not support the upper end; only linear with at most one heap does"
                )
            }
            Self::UnknownHeap => {
                f.write_str("the heap is not in this set; it was released or belongs to another set")
            }
            Self::TooManyBytes => f.write_str("the total size of the heaps would reach 2^64 bytes"),
            Self::TooManyHeaps => f.write_str("the limit of 2^32 - 1 heaps is reached"),
        }
    }
}

impl Error for PlacementError {}

impl From<SuballocError> for PlacementError {
    fn from(error: SuballocError) -> Self {
        Self::Suballocation(error)
    }
}
