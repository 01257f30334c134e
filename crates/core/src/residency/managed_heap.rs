//! Descriptions, priorities, states and errors of managed heaps.

use std::error::Error;
use std::fmt;

use super::Status;
use crate::{ByteSize, FenceValue, SegmentGroup};

/// D3D12's five levels of residency priority. Heaps of a lower level are evicted before all heaps of a higher
/// level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum PriorityLevel {
    /// `D3D12_RESIDENCY_PRIORITY_MINIMUM`: evicted first.
    Minimum,
    /// `D3D12_RESIDENCY_PRIORITY_LOW`.
    Low,
    /// `D3D12_RESIDENCY_PRIORITY_NORMAL`: D3D12's default.
    #[default]
    Normal,
    /// `D3D12_RESIDENCY_PRIORITY_HIGH`.
    High,
    /// `D3D12_RESIDENCY_PRIORITY_MAXIMUM`: evicted last.
    Maximum,
}

impl PriorityLevel {
    /// All levels, in the order of eviction.
    pub const ALL: [Self; 5] = [Self::Minimum, Self::Low, Self::Normal, Self::High, Self::Maximum];

    pub(super) const fn index(self) -> usize {
        match self {
            Self::Minimum => 0,
            Self::Low => 1,
            Self::Normal => 2,
            Self::High => 3,
            Self::Maximum => 4,
        }
    }
}

/// Describes a heap to be added to a planner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewManagedHeap {
    /// The segment group of the heap when it is resident.
    pub group: SegmentGroup,
    /// The size of the heap.
    pub size: ByteSize,
    /// The residency priority, which determines when it is evicted relative to others.
    pub level: PriorityLevel,
    /// The initial status.
    pub status: Status,
}

/// The state of a heap in a planner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeapState {
    /// The status.
    pub status: Status,
    /// The number of locks that keep it resident.
    pub locks: u32,
    /// The size.
    pub size: ByteSize,
    /// The segment group.
    pub group: SegmentGroup,
    /// The residency priority.
    pub level: PriorityLevel,
    /// Whether the GPU may still use it.
    pub is_in_use: bool,
}

/// The result of [`ResidencyPlanner::lock`](super::ResidencyPlanner::lock).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockOutcome {
    /// Whether the heap is not resident, so that a plan must make it resident.
    pub is_missing: bool,
    /// The value that the paging fence must reach before the heap is used; zero if there is nothing to wait
    /// for.
    pub arrives: FenceValue,
}

/// The error for an id whose heap was removed, or that belongs to another planner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownHeap {
    /// The index of the id in the argument.
    pub position: usize,
}

impl fmt::Display for UnknownHeap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the heap at position {} was removed, or belongs to another planner", self.position)
    }
}

impl Error for UnknownHeap {}

/// An error of a change to a planner's heaps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanError {
    /// The heap was removed.
    Unknown,
    /// The heap has no lock to remove.
    NotLocked,
    /// The heap is locked, so it must stay resident.
    Locked,
    /// The heap has 2^32 - 1 locks.
    TooManyLocks,
    /// The sizes would add up to 2^64 or more, or there are 2^32 heaps.
    TooMuch,
    /// The GPU may still use the heap.
    InUse,
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unknown => "the heap has been destroyed",
            Self::NotLocked => "the heap is not locked; each unlock must match a lock",
            Self::Locked => "the heap is locked and must stay resident",
            Self::TooManyLocks => "the heap has reached the maximum of 2^32 - 1 locks",
            Self::TooMuch => "the heap would bring the total size to 2^64 bytes, or the number to 2^32 heaps",
            Self::InUse => "the heap may still be in use by the GPU",
        })
    }
}

impl Error for PlanError {}
