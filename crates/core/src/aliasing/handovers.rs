//! Handovers: which buffer had a range of memory before another one gets it. Each pair owes a barrier.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use super::instance::{Instance, Lifetimes};
use super::search::Random;
use super::solve::Packing;
use crate::{ByteSize, HeapOffset, HeapRange};

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
struct Turns {
    /// Each turn of a buffer: one, or one for each interval of its lifetime. In the order of time for intervals.
    turns: Vec<(i64, usize)>,
}

impl Turns {
    fn new(instance: &Instance) -> Self {
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

    /// Calls `found` with each range that a buffer takes over, in the frame after the first.
    fn handovers(&self, ranges: &[(u64, u64)], mut found: impl FnMut(Handover)) {
        // Disjoint ranges by their starts, each with its end, its last user and the frame of that use.
        let mut users: BTreeMap<u64, (u64, usize, u32)> = BTreeMap::new();
        let mut taken = Vec::new();
        for frame in 0..2 {
            for &(_, buffer) in &self.turns {
                let (start, end) = ranges[buffer];
                let first = users.range(..=start).next_back().map_or(start, |(&from, _)| from);
                taken.clear();
                taken.extend(users.range(first..end).map(|(&from, &user)| (from, user)));
                for &(from, (to, user, used)) in &taken {
                    if to <= start {
                        continue;
                    }
                    users.remove(&from);
                    if from < start {
                        users.insert(from, (start, user, used));
                    }
                    if end < to {
                        users.insert(end, (to, user, used));
                    }
                    if frame == 1 && user != buffer {
                        found(Handover {
                            from: user,
                            to: buffer,
                            start: HeapOffset::new(from.max(start)),
                            end: HeapOffset::new(to.min(end)),
                            previous_frame: used == 0,
                        });
                    }
                }
                users.insert(start, (end, buffer, frame));
            }
        }
    }

    fn count(&self, ranges: &[(u64, u64)], pairs: &mut Vec<(usize, usize)>) -> usize {
        pairs.clear();
        self.handovers(ranges, |handover| pairs.push((handover.from, handover.to)));
        pairs.sort_unstable();
        pairs.dedup();
        pairs.len()
    }
}

fn ranges(instance: &Instance, offsets: &[HeapOffset]) -> Vec<(u64, u64)> {
    (instance.buffers.iter().zip(offsets))
        .map(|(desc, offset)| (offset.get(), offset.get() + desc.size.get()))
        .collect()
}

/// Returns the handovers of a packing in each repetition of the lifetimes but the first, by buffer.
#[must_use]
pub fn handovers(instance: &Instance, packing: &Packing) -> Vec<Handover> {
    let mut all = Vec::new();
    Turns::new(instance).handovers(&ranges(instance, &packing.offsets), |handover| all.push(handover));
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

/// Moves buffers of a packing, without making it higher, so that fewer pairs of buffers hand over memory. Tries at most
/// `tries` moves, always the same ones. Buffers at their hints stay there. Returns the number of pairs.
///
/// `stop` is called for each try and ends the work early when it returns true.
pub fn reduce_aliasing_pairs(
    instance: &Instance,
    packing: &mut Packing,
    tries: u64,
    stop: &mut dyn FnMut() -> bool,
) -> usize {
    let turns = Turns::new(instance);
    let mut places = ranges(instance, &packing.offsets);
    let mut pairs = Vec::new();
    let mut count = turns.count(&places, &mut pairs);
    let movable: Vec<usize> = (0..places.len())
        .filter(|&buffer| {
            let desc = instance.buffers[buffer];
            desc.fixed_offset.is_none() && desc.hint != Some(packing.offsets[buffer])
        })
        .collect();
    if movable.is_empty() || places.len() < 2 {
        return count;
    }
    let mut random = Random::new(7);
    let mut pick = |bound: usize| usize::try_from(random.next_below(bound as u64)).unwrap_or(0);
    let mut best = (count, places.clone());
    for tried in 0..tries {
        if stop() {
            break;
        }
        let buffer = movable[pick(movable.len())];
        let other = pick(places.len());
        let (size, mask) =
            (instance.buffers[buffer].size.get(), instance.buffers[buffer].alignment.get() - 1);
        let (bottom, top) = places[other];
        // In the memory of another buffer, at its bottom or its top; on top of it; or below it.
        let start = match pick(4) {
            0 => bottom,
            1 => top.saturating_sub(size) & !mask,
            2 => (top + mask) & !mask,
            _ => bottom.saturating_sub(size) & !mask,
        };
        let end = start + size;
        let old = places[buffer];
        if start & mask != 0 || start == old.0 || end > packing.height.get() {
            continue;
        }
        let free = (0..places.len()).all(|other| {
            places[other].1 <= start || end <= places[other].0 || !instance.conflict(buffer, other)
        });
        if !free {
            continue;
        }
        places[buffer] = (start, end);
        let moved = turns.count(&places, &mut pairs);
        // A little worse is permitted now and then, to leave packings that no single move improves.
        let limit = count + usize::from(tried % 16 == 0);
        match moved.cmp(&limit) {
            Ordering::Greater => places[buffer] = old,
            _ => count = moved,
        }
        if count < best.0 {
            best = (count, places.clone());
        }
    }
    packing.offsets = best.1.iter().map(|&(start, _)| HeapOffset::new(start)).collect();
    best.0
}
