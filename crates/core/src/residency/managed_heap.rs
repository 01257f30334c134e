//! What the planner is told of a heap, what it answers, and why it refuses.

use std::error::Error;
use std::fmt;

use super::{PriorityLevel, SegmentGroup, Status};
use crate::{ByteSize, FenceValue};

/// A heap that the planner is to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewManagedHeap {
    /// Where its bytes are when it is resident.
    pub group: SegmentGroup,
    /// How many bytes that are.
    pub size: ByteSize,
    /// When it goes, compared with others.
    pub level: PriorityLevel,
    /// Where it is now.
    pub status: Status,
}

/// What the planner knows of a heap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeapState {
    /// Where it is.
    pub status: Status,
    /// How many locks keep it resident.
    pub locks: u32,
    /// Its size.
    pub size: ByteSize,
    /// Its segment group.
    pub group: SegmentGroup,
    /// Its priority.
    pub level: PriorityLevel,
    /// Whether the GPU may still use it.
    pub is_in_use: bool,
}

/// What came of [`ResidencyPlanner::lock`](super::ResidencyPlanner::lock).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockOutcome {
    /// It is not resident: a plan has to make it so.
    pub is_missing: bool,
    /// What the paging fence must have come to before it is used; zero: nothing to wait for.
    pub arrives: FenceValue,
}

/// An id whose heap is gone, or that another planner gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownHeap {
    /// Where in what was given.
    pub position: usize,
}

impl fmt::Display for UnknownHeap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no heap has the id at position {}", self.position)
    }
}

impl Error for UnknownHeap {}

/// Why the books cannot be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanError {
    /// The heap is gone.
    Unknown,
    /// There is nothing to unlock.
    NotLocked,
    /// A locked heap stays resident.
    Locked,
    /// 2^32 locks.
    TooManyLocks,
    /// Sizes add up to 2^64 or more, or there are 2^32 heaps.
    TooMuch,
    /// The GPU may still use it.
    InUse,
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unknown => "the heap is gone",
            Self::NotLocked => "the heap is not locked",
            Self::Locked => "the heap is locked",
            Self::TooManyLocks => "the heap has 2^32 - 1 locks",
            Self::TooMuch => "there are too many heaps, or too large ones",
            Self::InUse => "the GPU may still use the heap",
        })
    }
}

impl Error for PlanError {}
