//! Heaps: descriptions, priorities, states and errors, and the planner's records of them.

use std::error::Error;
use std::fmt;

use super::policy::HeapSlot;
use crate::{ByteSize, FenceValue, SegmentGroup};

/// Uses of a heap at a regular interval, the last one at its last use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Run {
    /// The number of submissions from one use to the next; 0 for fewer than two uses.
    pub(super) interval: u16,
    pub(super) count: u16,
}

impl Run {
    pub(super) const NONE: Self = Self { interval: 0, count: 0 };
    pub(super) const ONE: Self = Self { interval: 0, count: 1 };
}

/// Identifies a heap of one planner. An id is never reused for another heap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ManagedHeapId {
    pub(super) slot: HeapSlot,
    generation: u32,
}

impl ManagedHeapId {
    /// Returns the slot of the heap. After the heap is removed, another heap may use the slot.
    #[must_use]
    #[inline]
    pub const fn slot(self) -> HeapSlot {
        self.slot
    }
}

/// The residency status of a heap: `RESIDENCY_HEAP_STATUS` of the GPGMM document, and one status for heaps in
/// transit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Status {
    /// Whether the heap is resident is not known, and it was not used yet.
    Unknown,
    /// The heap is not resident.
    Evicted,
    /// A plan makes the heap resident, and has not been completed yet.
    Arriving,
    /// The heap is resident, or will be when the paging fence reaches its value.
    Resident,
}

/// The data of a heap that every use reads and writes. Two records share a cache line, and none is in two.
#[derive(Clone, Copy)]
#[repr(align(32))]
pub(super) struct Record {
    generation: u32,
    /// A bitmap of the queues that used the heap since it was idle.
    pub(super) queues: u32,
    /// The number of the last submission that used the heap.
    pub(super) last_use: u64,
    /// The value of the paging fence at which the heap is resident; zero if it was reached long ago.
    pub(super) arrives: u64,
    /// The last uses, which the policy does not know of yet.
    pub(super) unlearned: Run,
    /// The status; `None` for a vacant slot.
    pub(super) status: Option<Status>,
    pub(super) group: SegmentGroup,
    pub(super) level: PriorityLevel,
    pub(super) is_locked: bool,
}

const _: () = assert!(size_of::<Record>() == 32);

/// The data of a heap that only plans use.
pub(super) struct Planned {
    pub(super) size: ByteSize,
    pub(super) locks: u32,
    /// The last plan that includes the heap.
    pub(super) stamp: u64,
    /// The period in which the heap became resident or was last locked.
    pub(super) period: u64,
}

/// The records, in slots that are reused.
#[derive(Default)]
pub(super) struct HeapTable {
    records: Vec<Record>,
    planned: Vec<Planned>,
    vacant: Vec<HeapSlot>,
}

impl HeapTable {
    /// Adds a heap. Returns `None` if there are 2^32 heaps.
    pub(super) fn insert(
        &mut self,
        size: ByteSize,
        group: SegmentGroup,
        level: PriorityLevel,
        status: Status,
        period: u64,
    ) -> Option<ManagedHeapId> {
        let record = |generation| Record {
            generation,
            queues: 0,
            last_use: 0,
            arrives: 0,
            unlearned: Run::NONE,
            status: Some(status),
            group,
            level,
            is_locked: false,
        };
        let planned = Planned { size, locks: 0, stamp: 0, period };
        if let Some(slot) = self.vacant.pop() {
            let old = &mut self.records[slot.index()];
            *old = record(old.generation);
            self.planned[slot.index()] = planned;
            return Some(ManagedHeapId { slot, generation: old.generation });
        }
        let slot = HeapSlot(u32::try_from(self.records.len()).ok()?);
        self.records.push(record(0));
        self.planned.push(planned);
        // Removing a heap must not allocate.
        if self.vacant.capacity() < self.records.len() {
            self.vacant.reserve(self.records.capacity() - self.vacant.len());
        }
        Some(ManagedHeapId { slot, generation: 0 })
    }

    /// Removes a live heap. After 2^32 heaps in a slot, the slot is not reused.
    pub(super) fn remove(&mut self, id: ManagedHeapId) {
        let record = &mut self.records[id.slot.index()];
        record.status = None;
        if let Some(next) = record.generation.checked_add(1) {
            record.generation = next;
            self.vacant.push(id.slot);
        }
    }

    /// Returns the record of a live heap.
    #[inline]
    pub(super) fn get(&self, id: ManagedHeapId) -> Option<&Record> {
        self.records
            .get(id.slot.index())
            .filter(|record| record.generation == id.generation && record.status.is_some())
    }

    /// Returns the record of a live heap mutably.
    #[inline]
    pub(super) fn get_mut(&mut self, id: ManagedHeapId) -> Option<&mut Record> {
        self.records
            .get_mut(id.slot.index())
            .filter(|record| record.generation == id.generation && record.status.is_some())
    }

    /// Returns the record of a resident heap mutably.
    #[inline]
    pub(super) fn resident_mut(&mut self, id: ManagedHeapId) -> Option<&mut Record> {
        self.records
            .get_mut(id.slot.index())
            .filter(|record| record.generation == id.generation && record.status == Some(Status::Resident))
    }

    /// Returns what plans use of a heap, which may be removed.
    pub(super) fn planned(&self, id: ManagedHeapId) -> &Planned {
        &self.planned[id.slot.index()]
    }

    /// Returns the data in a slot mutably, which may be vacant, or `None` if there is no such slot.
    pub(super) fn at_mut(&mut self, slot: HeapSlot) -> Option<(&mut Record, &mut Planned)> {
        Some((self.records.get_mut(slot.index())?, self.planned.get_mut(slot.index())?))
    }

    /// Iterates over all live heaps, by slot.
    pub(super) fn iter(&self) -> impl Iterator<Item = (ManagedHeapId, &Record)> {
        (0..)
            .zip(&self.records)
            .filter(|(_, record)| record.status.is_some())
            .map(|(number, record)| (record.id(HeapSlot(number)), record))
    }
}

impl Record {
    /// Returns the id of the heap, whose slot this is.
    pub(super) fn id(&self, slot: HeapSlot) -> ManagedHeapId {
        ManagedHeapId { slot, generation: self.generation }
    }

    /// Returns whether a policy holds the heap.
    pub(super) fn is_held(&self) -> bool {
        self.status == Some(Status::Resident) && !self.is_locked
    }
}

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
        self as usize
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
