//! Handovers: which buffer had a range of memory before another one gets it. Each pair owes a barrier, and moves of
//! buffers make the pairs fewer.

use std::collections::{BTreeMap, BTreeSet};

use super::instance::{BitMatrix, Buffer, Instance, Lifetimes};
use super::search::Random;
use super::solve::Packing;
use heapwright_core::{Alignment, ByteSize, HeapOffset, HeapRange};

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

/// Returns the buffers of an instance in the order in which they use memory that they share: once, or once for each
/// interval of the lifetime.
fn turns(instance: &Instance) -> Vec<usize> {
    let count = instance.buffers.len();
    let mut turns: Vec<(i64, usize)> = match &instance.lifetimes {
        Lifetimes::Intervals(lives) => (lives.iter().enumerate())
            .flat_map(|(buffer, lives)| lives.iter().map(move |life| (life.lower, buffer)))
            .collect(),
        // Any order in which a buffer comes after those that are before it: by how many these are.
        Lifetimes::Order(order) => (0..count)
            .map(|buffer| {
                let before = (0..count).filter(|&other| order.get(other, buffer)).count();
                (i64::try_from(before).unwrap_or(i64::MAX), buffer)
            })
            .collect(),
    };
    turns.sort_unstable();
    turns.into_iter().map(|(_, buffer)| buffer).collect()
}

/// Returns the granules that a range touches.
fn expand((start, end): (u64, u64), granule: Alignment) -> (u64, u64) {
    let mask = granule.get() - 1;
    (start & !mask, end.saturating_add(mask) & !mask)
}

fn ranges(instance: &Instance, offsets: &[HeapOffset]) -> Vec<(u64, u64)> {
    (instance.buffers.iter().zip(offsets))
        .map(|(desc, offset)| (offset.get(), offset.get() + desc.size.get()))
        .collect()
}

/// Returns whether there is an offset for each buffer, and every end has 64 bits.
fn has_ranges(instance: &Instance, Packing { offsets, .. }: &Packing) -> bool {
    let ends = |(desc, offset): (&Buffer, &HeapOffset)| offset.get().checked_add(desc.size.get()).is_some();
    offsets.len() == instance.buffers.len() && instance.buffers.iter().zip(offsets).all(ends)
}

/// Returns the handovers of a packing in each repetition of the lifetimes but the first, by buffer. There are none if a
/// buffer has no offset, an offset no buffer, or an end more than 64 bits; [`check`](super::check()) says which.
#[must_use]
pub fn handovers(instance: &Instance, packing: &Packing) -> Vec<Handover> {
    if !has_ranges(instance, packing) {
        return Vec::new();
    }
    handovers_in_granules(instance, packing, |_| Alignment::ONE)
}

/// Like [`handovers`], for buffers that own whole granules next to others of a smaller granularity: two buffers share
/// the memory of a granule, of the larger granularity of the two, even if they use different bytes of it.
pub(super) fn handovers_in_granules(
    instance: &Instance,
    packing: &Packing,
    granularity: impl Fn(usize) -> Alignment,
) -> Vec<Handover> {
    let ranges = ranges(instance, &packing.offsets);
    let largest = (0..ranges.len()).map(&granularity).max().unwrap_or(Alignment::ONE);
    let turns = turns(instance);
    // Disjoint ranges by their starts, each with its end, its last user and the frame of that use.
    let mut users: BTreeMap<u64, (u64, usize, u32)> = BTreeMap::new();
    let (mut all, mut taken) = (Vec::new(), Vec::new());
    for (frame, &buffer) in (0..2).flat_map(|frame| turns.iter().map(move |buffer| (frame, buffer))) {
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
                all.push(Handover {
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
    all.sort_unstable_by_key(|handover| (handover.to, handover.start, handover.from));
    // A range that was split by users in between is one again.
    all.dedup_by(|next, last| {
        let continues = (last.from, last.to, last.previous_frame, last.end)
            == (next.from, next.to, next.previous_frame, next.start);
        if continues {
            last.end = next.end;
        }
        continues
    });
    all
}

/// Returns the number of pairs of buffers of which one takes over memory from the other: the aliasing barriers of a
/// frame. Zero where [`handovers`] returns none.
#[must_use]
pub fn aliasing_pairs(instance: &Instance, packing: &Packing) -> usize {
    let pairs: BTreeSet<(usize, usize)> =
        handovers(instance, packing).iter().map(|handover| (handover.from, handover.to)).collect();
    pairs.len()
}

/// Moves buffers of a packing, without making it higher, so that fewer pairs of buffers hand over memory. Tries at most
/// `tries` moves, always the same ones. Buffers at their hints stay there. Returns the number of pairs. Does nothing
/// where [`handovers`] returns none for the offsets.
///
/// `stop` is called often and ends the work early when it returns true. O(buffers) for each try, and O(buffers²) once.
pub fn reduce_aliasing_pairs(
    instance: &Instance,
    packing: &mut Packing,
    tries: u64,
    stop: &mut dyn FnMut() -> bool,
) -> usize {
    if !has_ranges(instance, packing) {
        return 0;
    }
    let mut pairs = Pairs::new(instance, packing);
    let movable: Vec<usize> = (0..instance.buffers.len())
        .filter(|&buffer| {
            let desc = instance.buffers[buffer];
            desc.fixed_offset.is_none() && desc.hint != Some(packing.offsets[buffer])
        })
        .collect();
    if tries == 0 || movable.is_empty() {
        return pairs.count;
    }
    let conflicts = conflicts(instance);
    let mut random = Random::new(7);
    let mut pick = |bound: usize| usize::try_from(random.next_below(bound as u64)).unwrap_or(0);
    let mut best = (pairs.count, pairs.ranges.clone());
    for tried in 0..tries {
        if tried % POLL == 0 && stop() {
            break;
        }
        let buffer = movable[pick(movable.len())];
        let other = pick(pairs.ranges.len());
        let (size, mask) =
            (instance.buffers[buffer].size.get(), instance.buffers[buffer].alignment.get() - 1);
        let (bottom, top) = pairs.ranges[other];
        // On top of another buffer, or below it; or in its memory, at its bottom or its top.
        let start = match if conflicts.get(buffer, other) { pick(2) } else { pick(4) } {
            0 => (top + mask) & !mask,
            1 => bottom.saturating_sub(size) & !mask,
            2 => bottom,
            _ => top.saturating_sub(size) & !mask,
        };
        let end = start + size;
        let old = pairs.ranges[buffer];
        if start & mask != 0 || start == old.0 || end > packing.height.get() {
            continue;
        }
        let is_free = (pairs.ranges.iter().enumerate())
            .all(|(other, range)| range.1 <= start || end <= range.0 || !conflicts.get(buffer, other));
        if !is_free {
            continue;
        }
        let before = pairs.count;
        pairs.place(buffer, (start, end));
        // A little worse is permitted now and then, to leave packings that no single move improves.
        if pairs.count > before + usize::from(tried % 16 == 0) {
            pairs.take_back();
        }
        if pairs.count < best.0 {
            best = (pairs.count, pairs.ranges.clone());
        }
    }
    packing.offsets = best.1.iter().map(|&(start, _)| HeapOffset::new(start)).collect();
    best.0
}

/// Number of tries between two questions whether to stop.
const POLL: u64 = 16;

/// Returns which buffers live at the same time.
fn conflicts(instance: &Instance) -> BitMatrix {
    let count = instance.buffers.len();
    let mut conflicts = BitMatrix::new(count);
    for first in 0..count {
        for second in 0..first {
            if instance.conflict(first, second) {
                conflicts.set(first, second);
                conflicts.set(second, first);
            }
        }
    }
    conflicts
}

/// The numbers of buffers from which each buffer takes over memory. A move changes only those of buffers that overlap
/// the old or the new place.
struct Pairs {
    /// The buffers in the order of their turns, and the turns of each buffer.
    turns: Vec<usize>,
    turns_of: Vec<Vec<usize>>,
    ranges: Vec<(u64, u64)>,
    predecessors: Vec<usize>,
    /// The sum of `predecessors`.
    count: usize,
    /// The last move: the buffer, its place before, and the numbers that changed.
    moved: (usize, (u64, u64)),
    changed: Vec<(usize, usize)>,
    open: Vec<(u64, u64)>,
    found: Vec<usize>,
}

impl Pairs {
    fn new(instance: &Instance, packing: &Packing) -> Self {
        let turns = turns(instance);
        let buffers = instance.buffers.len();
        let mut turns_of = vec![Vec::new(); buffers];
        for (turn, &buffer) in turns.iter().enumerate() {
            turns_of[buffer].push(turn);
        }
        let mut pairs = Self {
            turns,
            turns_of,
            ranges: ranges(instance, &packing.offsets),
            predecessors: vec![0; buffers],
            count: 0,
            moved: (0, (0, 0)),
            changed: Vec::new(),
            open: Vec::new(),
            found: Vec::new(),
        };
        for buffer in 0..buffers {
            pairs.predecessors[buffer] = pairs.count_predecessors(buffer);
        }
        pairs.count = pairs.predecessors.iter().sum();
        pairs
    }

    /// Moves a buffer and counts again.
    fn place(&mut self, buffer: usize, new: (u64, u64)) {
        let old = std::mem::replace(&mut self.ranges[buffer], new);
        self.moved = (buffer, old);
        self.changed.clear();
        for other in 0..self.ranges.len() {
            let (start, end) = self.ranges[other];
            if (start < old.1 && old.0 < end) || (start < new.1 && new.0 < end) {
                let before = self.predecessors[other];
                let now = self.count_predecessors(other);
                if now != before {
                    self.changed.push((other, before));
                    self.predecessors[other] = now;
                    self.count = self.count + now - before;
                }
            }
        }
    }

    /// Undoes the last [`place`](Self::place).
    fn take_back(&mut self) {
        self.ranges[self.moved.0] = self.moved.1;
        for (buffer, before) in self.changed.drain(..) {
            self.count = self.count + before - self.predecessors[buffer];
            self.predecessors[buffer] = before;
        }
    }

    /// Returns the number of buffers from which a buffer takes over memory: the last users of each byte, going back
    /// from each of its turns and through the repetition before.
    fn count_predecessors(&mut self, buffer: usize) -> usize {
        self.found.clear();
        for &turn in &self.turns_of[buffer] {
            self.open.clear();
            self.open.push(self.ranges[buffer]);
            let earlier = self.turns[..turn].iter().rev().chain(self.turns[turn + 1..].iter().rev());
            for &other in earlier {
                // A turn of the buffer itself had all of the memory.
                if other == buffer || self.open.is_empty() {
                    break;
                }
                let (start, end) = self.ranges[other];
                let mut overlaps = false;
                let mut piece = 0;
                while let Some(&(from, to)) = self.open.get(piece) {
                    if end <= from || to <= start {
                        piece += 1;
                        continue;
                    }
                    overlaps = true;
                    self.open.swap_remove(piece);
                    if from < start {
                        self.open.push((from, start));
                    }
                    if end < to {
                        self.open.push((end, to));
                    }
                }
                if overlaps && !self.found.contains(&other) {
                    self.found.push(other);
                }
            }
        }
        self.found.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Interval, SolveOptions, aliasing_pairs, check, solve};
    use heapwright_core::ByteSize;

    #[test]
    fn offsets_that_do_not_fit_the_buffers_hand_over_nothing() {
        let lives = [0, 2].map(|lower| Interval { lower, upper: lower + 1 });
        let buffers = vec![Buffer::new(ByteSize::new(4)); 2];
        let instance = Instance::with_intervals(buffers, lives.map(|life| vec![life]).into()).unwrap();
        let solved = solve(&instance, &SolveOptions::default(), &mut || false);
        assert_eq!(aliasing_pairs(&instance, &solved), 2);
        for offsets in [vec![], vec![0], vec![0; 3], vec![0, u64::MAX]] {
            let offsets: Vec<_> = offsets.into_iter().map(HeapOffset::new).collect();
            assert!(check(&instance, &offsets).is_err());
            let mut packing = Packing { offsets, ..solved.clone() };
            assert_eq!(handovers(&instance, &packing), []);
            assert_eq!(aliasing_pairs(&instance, &packing), 0);
            assert_eq!(reduce_aliasing_pairs(&instance, &mut packing, 9, &mut || false), 0);
        }
    }

    /// After each of many moves, the count is that of all handovers.
    #[test]
    fn the_count_is_kept_up_to_date() {
        let mut random = Random::new(3);
        let mut below = |bound: u64| random.next_below(bound);
        for _ in 0..60 {
            let count = 2 + below(14);
            let buffers = (0..count).map(|_| Buffer::new(ByteSize::new(1 + below(6)))).collect();
            let lives = (0..count)
                .map(|_| {
                    let lower = i64::try_from(below(12)).unwrap();
                    let upper = lower + 1 + i64::try_from(below(5)).unwrap();
                    let first = Interval { lower, upper };
                    match below(4) {
                        0 => vec![first, Interval { lower: upper + 2, upper: upper + 4 }],
                        _ => vec![first],
                    }
                })
                .collect();
            let instance = Instance::with_intervals(buffers, lives).unwrap();
            let mut packing = solve(&instance, &SolveOptions::default(), &mut || false);
            let mut pairs = Pairs::new(&instance, &packing);
            assert_eq!(pairs.count, aliasing_pairs(&instance, &packing));
            for _ in 0..20 {
                let buffer = usize::try_from(below(count)).unwrap();
                let start = below(20);
                let size = instance.buffers[buffer].size.get();
                let before = (pairs.count, pairs.ranges.clone(), pairs.predecessors.clone());
                pairs.place(buffer, (start, start + size));
                let moved = Packing {
                    offsets: pairs.ranges.iter().map(|&(start, _)| HeapOffset::new(start)).collect(),
                    ..packing.clone()
                };
                // Handovers are defined for packings alone.
                if check(&instance, &moved.offsets).is_ok() {
                    assert_eq!(pairs.count, aliasing_pairs(&instance, &moved));
                } else {
                    pairs.take_back();
                    assert_eq!((pairs.count, pairs.ranges.clone(), pairs.predecessors.clone()), before);
                }
            }
            let counted = reduce_aliasing_pairs(&instance, &mut packing, 300, &mut || false);
            assert_eq!(counted, aliasing_pairs(&instance, &packing));
            assert_eq!(check(&instance, &packing.offsets), Ok(packing.height));
        }
    }
}
