//! The planner's notes on each heap.

use super::policy::HeapSlot;
use super::{PriorityLevel, SegmentGroup};
use crate::ByteSize;

/// Names a heap of one planner. Never names another one when that heap is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ManagedHeapId {
    slot: HeapSlot,
    generation: u32,
}

impl ManagedHeapId {
    /// Its slot, which is another heap's when this one is gone.
    #[must_use]
    #[inline]
    pub const fn slot(self) -> HeapSlot {
        self.slot
    }
}

/// Where a heap is: `RESIDENCY_HEAP_STATUS` (document GPGMM), and on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Status {
    /// Nobody has asked for it yet, and whether it is resident is not known.
    Unknown,
    /// It is not resident.
    Evicted,
    /// A plan makes it resident, and whether that succeeds is not known.
    Arriving,
    /// It is resident, or will be when the paging fence has come to its value.
    Resident,
}

/// A note on a heap: what every use of it reads and writes. Two share a cache line.
#[derive(Debug)]
pub(super) struct Record {
    generation: u32,
    pub(super) locks: u32,
    /// Number of the submission that used it last.
    pub(super) last_use: u64,
    /// The paging fence's value at which it is resident; zero when that is long ago.
    pub(super) arrives: u64,
    /// The queues that used it since it was idle, a bit each.
    pub(super) queues: u32,
    /// `None`: a vacant slot.
    pub(super) status: Option<Status>,
    pub(super) group: SegmentGroup,
    pub(super) level: PriorityLevel,
}

const _: () = assert!(size_of::<Record>() == 32);

/// The rest of what is noted of a heap: for plans.
#[derive(Debug)]
struct Rest {
    size: ByteSize,
    /// The plan that it is a part of.
    stamp: u64,
    /// The period in which it became resident, or was locked last.
    period: u64,
}

/// The notes, in slots that are used again.
#[derive(Debug, Default)]
pub(super) struct HeapTable {
    records: Vec<Record>,
    rest: Vec<Rest>,
    vacant: Vec<HeapSlot>,
}

impl HeapTable {
    /// Room for a heap; `None` when there are 2^32 of them.
    pub(super) fn insert(
        &mut self,
        size: ByteSize,
        group: SegmentGroup,
        level: PriorityLevel,
        status: Status,
    ) -> Option<ManagedHeapId> {
        let record = |generation| Record {
            generation,
            locks: 0,
            last_use: 0,
            arrives: 0,
            queues: 0,
            status: Some(status),
            group,
            level,
        };
        if let Some(slot) = self.vacant.pop() {
            let old = &mut self.records[slot.index()];
            *old = record(old.generation);
            self.rest[slot.index()] = Rest { size, stamp: 0, period: 0 };
            return Some(ManagedHeapId { slot, generation: old.generation });
        }
        let slot = HeapSlot::new(u32::try_from(self.records.len()).ok()?);
        self.records.push(record(0));
        self.rest.push(Rest { size, stamp: 0, period: 0 });
        // Removing a heap needs no memory then.
        if self.vacant.capacity() < self.records.len() {
            self.vacant.reserve(self.records.capacity() - self.vacant.len());
        }
        Some(ManagedHeapId { slot, generation: 0 })
    }

    /// Gives the slot of a live heap back. After 2^32 heaps in one slot it is not used again.
    pub(super) fn remove(&mut self, id: ManagedHeapId) {
        let record = &mut self.records[id.slot.index()];
        record.status = None;
        if let Some(next) = record.generation.checked_add(1) {
            record.generation = next;
            self.vacant.push(id.slot);
        }
    }

    /// The note on a heap that lives.
    #[inline]
    pub(super) fn get(&self, id: ManagedHeapId) -> Option<&Record> {
        self.records
            .get(id.slot.index())
            .filter(|record| record.generation == id.generation && record.status.is_some())
    }

    /// As [`get`](Self::get).
    #[inline]
    pub(super) fn get_mut(&mut self, id: ManagedHeapId) -> Option<&mut Record> {
        self.records
            .get_mut(id.slot.index())
            .filter(|record| record.generation == id.generation && record.status.is_some())
    }

    /// The note in a slot that a live heap has.
    #[inline]
    pub(super) fn at(&self, slot: HeapSlot) -> &Record {
        &self.records[slot.index()]
    }

    /// The note in any slot, which may be vacant; `None` where there is no such slot.
    pub(super) fn in_slot(&self, slot: HeapSlot) -> Option<&Record> {
        self.records.get(slot.index())
    }

    /// Bytes of the heap in a slot.
    pub(super) fn size(&self, slot: HeapSlot) -> ByteSize {
        self.rest[slot.index()].size
    }

    /// The last plan that the heap in a slot was a part of.
    pub(super) fn stamp(&self, slot: HeapSlot) -> u64 {
        self.rest[slot.index()].stamp
    }

    /// Makes the heap in a slot a part of a plan.
    pub(super) fn set_stamp(&mut self, slot: HeapSlot, stamp: u64) {
        self.rest[slot.index()].stamp = stamp;
    }

    /// The period in which the heap in a slot became resident, or was locked last.
    pub(super) fn period(&self, slot: HeapSlot) -> u64 {
        self.rest[slot.index()].period
    }

    /// Notes that the heap in a slot becomes resident, or is no longer locked.
    pub(super) fn set_period(&mut self, slot: HeapSlot, period: u64) {
        self.rest[slot.index()].period = period;
    }

    /// The id of the heap in a slot.
    pub(super) fn id_at(&self, slot: HeapSlot) -> ManagedHeapId {
        ManagedHeapId { slot, generation: self.records[slot.index()].generation }
    }

    /// All live heaps, by slot.
    pub(super) fn iter(&self) -> impl Iterator<Item = (ManagedHeapId, &Record)> {
        (0..).zip(&self.records).filter(|(_, record)| record.status.is_some()).map(|(number, record)| {
            (ManagedHeapId { slot: HeapSlot::new(number), generation: record.generation }, record)
        })
    }
}

impl Record {
    /// Whether a policy holds it.
    pub(super) fn is_held(&self) -> bool {
        self.status == Some(Status::Resident) && self.locks == 0
    }
}
