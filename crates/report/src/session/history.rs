//! The history of a session: what was in memory, from when to when.

use std::fmt;

use heapwright::report::AllocationKind;
use heapwright_trace::session::{HeapType, Placement, PlacementReason};
use serde::Serialize;

/// Heaps and allocations of a session with their lifetimes. [`HistoryBuilder`](super::HistoryBuilder) creates it.
///
/// A *moment* is the state after an event: an allocation, a free, a move, a submission, or a change of residency.
/// Moments are numbered from 0. Lifetimes are half-open ranges of moments, and what lives at the end has the number of
/// moments as its end.
#[derive(Clone, Debug, Default)]
pub struct SessionHistory {
    /// Time of each moment since the start of the recording, in microseconds.
    pub times_us: Vec<u64>,
    /// Free bytes of the heaps that are outside of the largest free range of each, at each moment.
    pub scattered: Vec<u64>,
    /// External fragmentation at the end: those bytes as a fraction of all free bytes.
    pub end_fragmentation: f64,
    /// Allocations, in order of `start`. An allocation that was moved has a block for each of its places.
    pub blocks: Vec<Block>,
    /// Heaps, in order of creation.
    pub heaps: Vec<HeapLife>,
    /// Names of the pools, in order of creation.
    pub pools: Vec<Box<str>>,
    /// Submissions, in order.
    pub submissions: Vec<Submission>,
    /// Heaps that were evicted or made resident, in order. Heaps are resident when created.
    pub paging: Vec<PagingEvent>,
    /// Memory of the local and of the non-local segment group, as far as it was recorded.
    pub groups: [GroupHistory; 2],
    /// Whether both groups have the same memory, which is that of the first one.
    pub has_unified_memory: bool,
    /// Number of allocations.
    pub allocation_count: u64,
    /// Number of reserved resources. Their mapped tiles are blocks, in place of the allocations that have the memory.
    pub reserved_resource_count: u64,
    /// Maximum of the bytes of mapped tiles.
    pub peak_mapped: u64,
    /// Bytes of mapped tiles at the end.
    pub end_mapped: u64,
    /// Number of records about heaps, allocations or residency sets that do not exist, which were ignored.
    pub unknown_references: u64,
    /// Whether any allocation was placed in a heap.
    pub has_placements: bool,
}

/// An allocation at one place, or tiles of a reserved resource that are mapped to consecutive tiles of a heap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Id of the allocation or reserved resource in the session.
    pub id: u64,
    /// Requested size, in bytes.
    pub requested: u64,
    /// Size of its range of the heap, in bytes. If it is unknown, the requested size.
    pub size: u64,
    /// Index of the heap, unless the allocation is outside of the recorded heaps.
    pub heap: Option<u32>,
    /// Offset in the heap, in bytes.
    pub offset: u64,
    /// First moment.
    pub start: u32,
    /// Moment of the free or the move.
    pub end: u32,
    /// Kind of the resource.
    pub kind: AllocationKind,
    /// Requested heap type.
    pub heap_type: HeapType,
    /// 0 for no pool, otherwise the index in [`SessionHistory::pools`] and 1.
    pub pool: u32,
    /// The placement of the allocation, if it was recorded.
    pub placement: Option<Placement>,
    /// The reason for the placement, if it was recorded.
    pub reason: Option<PlacementReason>,
    /// Debug name, or an empty string.
    pub name: Box<str>,
}

/// A heap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeapLife {
    /// Id of the heap in the session.
    pub id: u64,
    /// Size, in bytes.
    pub size: u64,
    /// First moment.
    pub start: u32,
    /// First moment without the heap.
    pub end: u32,
    /// Heap type.
    pub heap_type: HeapType,
    /// Debug name, or an empty string.
    pub name: Box<str>,
    /// What else is known of it, or an empty string.
    pub detail: Box<str>,
}

/// Recorded memory of a segment group: lists of moments, and of the bytes from each of them on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupHistory {
    /// Budget of the process.
    pub budget: Vec<(u32, u64)>,
    /// Usage of the process, also by what is not the allocator's.
    pub usage: Vec<(u32, u64)>,
    /// Bytes of the recorded heaps that were resident when the usage was queried.
    pub own: Vec<(u32, u64)>,
    /// Whether the budget was kept, if it was recorded.
    pub verdict: Option<BudgetVerdict>,
}

impl GroupHistory {
    /// Returns the largest part of the usage that is not of the recorded heaps, in bytes.
    pub(super) fn most_of_others(&self) -> u64 {
        let mut own = self.own.iter().peekable();
        let mut own_bytes = 0;
        let others = self.usage.iter().enumerate().map(|(index, &(moment, usage))| {
            let until = self.usage.get(index + 1).map_or(u32::MAX, |&(next, _)| next);
            while let Some(&(_, bytes)) = own.next_if(|&&(changed, _)| changed <= moment) {
                own_bytes = bytes;
            }
            let mut least = own_bytes;
            // Own heaps may shrink while others take as much.
            while let Some(&(_, bytes)) = own.next_if(|&&(changed, _)| changed < until) {
                own_bytes = bytes;
                least = least.min(bytes);
            }
            usage.saturating_sub(least)
        });
        others.max().unwrap_or(0)
    }
}

/// A comparison of usage and budget over a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BudgetVerdict {
    /// First moment at which the usage exceeds the budget.
    pub first_excess: Option<u32>,
    /// Largest number of bytes by which the usage exceeds the budget.
    pub most_over: u64,
    /// Least number of bytes between usage and budget. `None` if nothing was compared.
    pub least_left: Option<u64>,
}

impl BudgetVerdict {
    pub(super) fn compare(&mut self, moment: u32, usage: u64, budget: u64) {
        if usage > budget {
            self.first_excess.get_or_insert(moment);
        }
        self.most_over = self.most_over.max(usage.saturating_sub(budget));
        let left = budget.saturating_sub(usage);
        self.least_left = Some(self.least_left.map_or(left, |least| least.min(left)));
    }
}

/// Name of a segment group, or of the one memory of a device with unified memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GroupName {
    /// DXGI_MEMORY_SEGMENT_GROUP_LOCAL.
    Local,
    /// DXGI_MEMORY_SEGMENT_GROUP_NON_LOCAL.
    NonLocal,
    /// Both.
    Unified,
}

impl fmt::Display for GroupName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Local => "local memory",
            Self::NonLocal => "non-local memory",
            Self::Unified => "unified memory",
        })
    }
}

/// Whether a segment group's budget was kept. Its JSON form is part of what `heapwright report --json` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct BudgetSummary {
    /// The segment group.
    pub segment_group: GroupName,
    /// Whether the usage never exceeded the budget.
    pub is_kept: bool,
    /// Largest number of bytes by which the usage exceeded the budget.
    pub exceeded_bytes: u64,
    /// Number, from 1, of the event after which the budget was exceeded first.
    pub first_exceeded_event: Option<u64>,
    /// Least number of bytes between usage and budget.
    pub least_left_bytes: u64,
    /// Largest part of the usage that is not of the recorded heaps, in bytes.
    pub most_others_bytes: u64,
}

/// A submission of command lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Submission {
    /// Its moment.
    pub moment: u32,
    /// Number of its queue.
    pub queue: u64,
    /// Sum of the sizes of the heaps in its residency sets, in bytes.
    pub bytes: u64,
}

/// A change of a heap's residency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PagingEvent {
    /// Its moment.
    pub moment: u32,
    /// Index of the heap.
    pub heap: u32,
    /// The change.
    pub paging: Paging,
}

/// Direction of a [`PagingEvent`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paging {
    /// The heap is evicted.
    Evict,
    /// The heap is made resident.
    MakeResident,
}

/// Origin of the heaps and placements of a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlacementSource {
    /// The file contains them.
    Recorded,
    /// The file contains none. They are those of a replay through the allocator on this device.
    Replayed {
        /// Name of the device.
        device: String,
    },
    /// They are those of an allocator's report.
    Report {
        /// What is known of the device and of the allocator's decisions.
        device: String,
    },
}

/// Sums over a history. Its JSON form is part of what `heapwright report --json` prints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct SessionSummary {
    /// Number of moments, each of which is the state after an event.
    pub events: u64,
    /// Time from the first to the last moment, in microseconds.
    pub duration_us: u64,
    /// Number of allocations.
    pub allocations: u64,
    /// Number of heaps.
    pub heaps: u64,
    /// Number of submissions.
    pub submissions: u64,
    /// Number of reserved resources.
    pub reserved_resources: u64,
    /// Maximum of the bytes of their mapped tiles.
    pub peak_mapped_bytes: u64,
    /// Bytes of their mapped tiles after the last event.
    pub end_mapped_bytes: u64,
    /// Maximum of the used bytes, with the sizes of the ranges in heaps.
    pub peak_used_bytes: u64,
    /// Number, from 1, of the first event after which the used bytes are at their maximum; 0 without events.
    pub peak_event: u64,
    /// Maximum of the bytes in heaps.
    pub peak_reserved_bytes: u64,
    /// Used bytes after the last event.
    pub end_used_bytes: u64,
    /// Bytes in heaps after the last event.
    pub end_reserved_bytes: u64,
    /// Free bytes outside of the largest free range of each heap, after the last event.
    pub end_scattered_bytes: u64,
    /// External fragmentation after the last event, as a fraction of the free bytes.
    pub end_fragmentation: f64,
}

impl SessionHistory {
    /// Returns the bytes of the live allocations at each moment.
    #[must_use]
    pub fn used(&self) -> Vec<u64> {
        self.sums(self.blocks.iter().map(|block| (block.start, block.end, block.size.into())))
    }

    /// Returns the bytes of the live heaps at each moment.
    #[must_use]
    pub fn reserved(&self) -> Vec<u64> {
        self.sums(self.heaps.iter().map(|heap| (heap.start, heap.end, heap.size.into())))
    }

    /// Returns the sums at each moment of sizes with lifetimes. Sums beyond 64 bits are the largest integer.
    pub(super) fn sums(&self, lives: impl Iterator<Item = (u32, u32, i128)>) -> Vec<u64> {
        let mut changes = vec![0_i128; self.times_us.len() + 1];
        for (start, end, size) in lives {
            for (moment, change) in [(start, size), (end, -size)] {
                if let Some(sum) = changes.get_mut(moment as usize) {
                    *sum += change;
                }
            }
        }
        changes.pop();
        let mut sum = 0;
        let sums = changes.into_iter().map(|change| {
            sum += change;
            u64::try_from(sum.max(0)).unwrap_or(u64::MAX)
        });
        sums.collect()
    }

    /// Returns whether the budgets were kept, of those that are known.
    #[must_use]
    pub fn budgets(&self) -> Vec<BudgetSummary> {
        self.judged_groups().map(|(summary, _)| summary).collect()
    }

    /// Returns the segment groups whose budget is known.
    pub(super) fn judged_groups(&self) -> impl Iterator<Item = (BudgetSummary, &GroupHistory)> {
        let [local, non_local] = &self.groups;
        let named = if self.has_unified_memory {
            [Some((GroupName::Unified, local)), None]
        } else {
            [Some((GroupName::Local, local)), Some((GroupName::NonLocal, non_local))]
        };
        let is_used = |changes: &[(u32, u64)]| changes.iter().any(|&(_, value)| value > 0);
        // A group that the device does not have has the budget 0.
        let known = named.into_iter().flatten();
        let known = known.filter(move |(_, group)| is_used(&group.budget) || is_used(&group.usage));
        known.filter_map(|(segment_group, group)| {
            let verdict = group.verdict?;
            let summary = BudgetSummary {
                segment_group,
                is_kept: verdict.first_excess.is_none(),
                exceeded_bytes: verdict.most_over,
                first_exceeded_event: verdict.first_excess.map(|moment| u64::from(moment) + 1),
                least_left_bytes: verdict.least_left?,
                most_others_bytes: group.most_of_others(),
            };
            Some((summary, group))
        })
    }

    /// Returns the sums over the history. O(moments + allocations).
    #[must_use]
    pub fn summary(&self) -> SessionSummary {
        let (used, reserved) = (self.used(), self.reserved());
        let last = |sums: &[u64]| sums.last().copied().unwrap_or_default();
        let peak_used_bytes = used.iter().copied().max().unwrap_or_default();
        let peak = used.iter().position(|&bytes| bytes == peak_used_bytes);
        let first_us = self.times_us.first().copied().unwrap_or_default();
        SessionSummary {
            events: self.times_us.len() as u64,
            duration_us: last(&self.times_us).saturating_sub(first_us),
            allocations: self.allocation_count,
            heaps: self.heaps.len() as u64,
            submissions: self.submissions.len() as u64,
            reserved_resources: self.reserved_resource_count,
            peak_mapped_bytes: self.peak_mapped,
            end_mapped_bytes: self.end_mapped,
            peak_used_bytes,
            peak_event: peak.map_or(0, |moment| moment as u64 + 1),
            peak_reserved_bytes: reserved.iter().copied().max().unwrap_or_default(),
            end_used_bytes: last(&used),
            end_reserved_bytes: last(&reserved),
            end_scattered_bytes: last(&self.scattered),
            end_fragmentation: self.end_fragmentation,
        }
    }
}
