//! Handovers: which buffer had a range of memory before another one gets it. Each pair owes a barrier.

use std::collections::{BTreeMap, BTreeSet};

use super::instance::{Instance, Lifetimes};
use super::solve::Packing;
use crate::{Alignment, ByteSize, HeapOffset, HeapRange};

/// A range of memory that one buffer takes over from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Handover {
    /// Index of the buffer that used the range before.
    pub from: usize,
    /// Index of the buffer that uses it next.
    pub to: usize,
    /// First byte of the range.
    pub start: HeapOffset,
    /// End of the range.
    pub end: HeapOffset,
    /// Whether `from` used the range at the end of the repetition before: lifetimes repeat each frame.
    pub previous_frame: bool,
}

impl Handover {
    /// Returns the range of memory.
    #[must_use]
    pub fn range(&self) -> HeapRange {
        let size = self.end.checked_distance_from(self.start).unwrap_or(ByteSize::ZERO);
        HeapRange::new(self.start, size).unwrap_or(HeapRange::whole(ByteSize::ZERO))
    }
}

/// The buffers of an instance in the order in which they use memory that they share.
pub(super) struct Turns {
    /// Each turn of a buffer: one, or one for each interval of its lifetime. In the order of time for intervals.
    pub(super) turns: Vec<(i64, usize)>,
}

impl Turns {
    pub(super) fn new(instance: &Instance) -> Self {
        let mut turns: Vec<(i64, usize)> = match &instance.lifetimes {
            Lifetimes::Intervals(lives) => (lives.iter().enumerate())
                .flat_map(|(buffer, lives)| lives.iter().map(move |life| (life.lower, buffer)))
                .collect(),
            // Any order in which a buffer comes after those that are before it: by how many these are.
            Lifetimes::Order(order) => (0..instance.buffers.len())
                .map(|buffer| {
                    let before =
                        (0..instance.buffers.len()).filter(|&other| order.get(other, buffer)).count();
                    (i64::try_from(before).unwrap_or(i64::MAX), buffer)
                })
                .collect(),
        };
        turns.sort_unstable();
        Self { turns }
    }

    /// Calls `found` with each range that a buffer takes over, in the frame after the first. Two buffers share the memory
    /// of a granule, of the larger granularity of the two, even if they use different bytes of it.
    fn handovers(
        &self,
        ranges: &[(u64, u64)],
        granularity: impl Fn(usize) -> Alignment,
        mut found: impl FnMut(Handover),
    ) {
        let largest = (0..ranges.len()).map(&granularity).max().unwrap_or(Alignment::ONE);
        // Disjoint ranges by their starts, each with its end, its last user and the frame of that use.
        let mut users: BTreeMap<u64, (u64, usize, u32)> = BTreeMap::new();
        let mut taken = Vec::new();
        for frame in 0..2 {
            for &(_, buffer) in &self.turns {
                let (start, end) = ranges[buffer];
                let (low, high) = expand((start, end), largest);
                let first = users.range(..=low).next_back().map_or(low, |(&from, _)| from);
                taken.clear();
                taken.extend(users.range(first..high).map(|(&from, &user)| (from, user)));
                for &(from, (to, user, used)) in &taken {
                    let granule = granularity(user).max(granularity(buffer));
                    let (shared_from, shared_to) = expand((start, end), granule);
                    let (used_from, used_to) = expand((from, to), granule);
                    if frame == 1 && user != buffer && used_from < shared_to && shared_from < used_to {
                        // Bytes that one of the two uses.
                        let (from, to) = if from < end && start < to {
                            (from.max(start), to.min(end))
                        } else {
                            (from.max(shared_from), to.min(shared_to))
                        };
                        found(Handover {
                            from: user,
                            to: buffer,
                            start: HeapOffset::new(from),
                            end: HeapOffset::new(to),
                            previous_frame: used == 0,
                        });
                    }
                    if to <= start || end <= from {
                        continue;
                    }
                    users.remove(&from);
                    if from < start {
                        users.insert(from, (start, user, used));
                    }
                    if end < to {
                        users.insert(end, (to, user, used));
                    }
                }
                users.insert(start, (end, buffer, frame));
            }
        }
    }
}

/// Returns the granules that a range touches.
fn expand((start, end): (u64, u64), granule: Alignment) -> (u64, u64) {
    let mask = granule.get() - 1;
    (start & !mask, end.saturating_add(mask) & !mask)
}

pub(super) fn ranges(instance: &Instance, offsets: &[HeapOffset]) -> Vec<(u64, u64)> {
    (instance.buffers.iter().zip(offsets))
        .map(|(desc, offset)| (offset.get(), offset.get() + desc.size.get()))
        .collect()
}

/// Returns the handovers of a packing in each repetition of the lifetimes but the first, by buffer.
#[must_use]
pub fn handovers(instance: &Instance, packing: &Packing) -> Vec<Handover> {
    handovers_in_granules(instance, packing, |_| Alignment::ONE)
}

/// Like [`handovers`], for buffers that own whole granules next to others of a smaller granularity.
pub(super) fn handovers_in_granules(
    instance: &Instance,
    packing: &Packing,
    granularity: impl Fn(usize) -> Alignment,
) -> Vec<Handover> {
    let mut all = Vec::new();
    let ranges = ranges(instance, &packing.offsets);
    Turns::new(instance).handovers(&ranges, granularity, |handover| all.push(handover));
    all.sort_unstable_by_key(|handover| (handover.to, handover.start, handover.from));
    // A range that was split by users in between is one again.
    let mut joined: Vec<Handover> = Vec::new();
    for handover in all {
        match joined.last_mut() {
            Some(last)
                if (last.from, last.to, last.previous_frame)
                    == (handover.from, handover.to, handover.previous_frame)
                    && last.end == handover.start =>
            {
                last.end = handover.end;
            }
            _ => joined.push(handover),
        }
    }
    joined
}

/// Returns the number of pairs of buffers of which one takes over memory from the other: the aliasing barriers of a frame.
#[must_use]
pub fn aliasing_pairs(instance: &Instance, packing: &Packing) -> usize {
    let pairs: BTreeSet<(usize, usize)> =
        handovers(instance, packing).iter().map(|handover| (handover.from, handover.to)).collect();
    pairs.len()
}
