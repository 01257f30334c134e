//! A partial packing, what follows from it, and how to take steps back.
//!
//! Buffers are placed from the bottom up. `head` is the lowest offset that an unplaced buffer can still have, and
//! `floor` of a section the lowest head of its unplaced buffers. A packing in which no buffer can be moved down exists
//! whenever any packing does, so the search looks for those alone:
//!
//! * A buffer lies on another one that conflicts with it, on zero, or at its fixed offset (after alignment).
//! * No unplaced buffer fits entirely into memory that was left free below the floors.
//!
//! A state is infeasible if some section's buffers do not fit between the floor and the capacity even if they could be
//! stacked in the order of their heads without any other conflict.

use super::Problem;
use crate::instance::index;

/// No buffer.
const NONE: u32 = u32::MAX;

/// Change of the state that can be taken back, with the value from before.
#[derive(Debug, Clone, Copy)]
enum Change {
    Floor(u32, u64),
    Top(u32, u64),
    Head(u32, u64),
    Left(u32, u64),
    Topmost(u32, u32),
    Placed(u32),
}

/// Whether a buffer may be placed at its head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Judgement {
    /// There is still free memory below it.
    Early,
    /// It would hang in the air.
    Unsupported,
    Supported,
}

pub(super) struct State<'a> {
    pub(super) problem: &'a Problem,
    pub(super) capacity: u64,
    /// Words of a bit set of buffers.
    pub(super) words: usize,
    /// The unplaced buffers of each section, one bit each.
    unplaced: Vec<u64>,
    pub(super) placed: Vec<bool>,
    pub(super) offsets: Vec<u64>,
    heads: Vec<u64>,
    pub(super) floors: Vec<u64>,
    /// The end of the topmost placed buffer of each section.
    tops: Vec<u64>,
    topmost: Vec<u32>,
    /// Sum of the sizes of the unplaced buffers of each section.
    pub(super) left: Vec<u64>,
    changes: Vec<Change>,
    dirty: Vec<bool>,
    dirty_list: Vec<u32>,
    /// Members of each section, about in the order of their heads: a hint, so it is not taken back.
    by_head: Vec<Vec<u32>>,
    /// For each buffer, a number of the question for which it was judged, and the result.
    judged: Vec<(u64, Judgement)>,
    question: u64,
    sorted: Vec<(u64, u32)>,
    placed_members: Vec<u32>,
}

impl<'a> State<'a> {
    /// Creates the state in which nothing is placed. Returns `None` if that is infeasible already.
    pub(super) fn new(problem: &'a Problem, capacity: u64) -> Option<Self> {
        let (count, sections) = (problem.len(), problem.loads.len());
        let words = count.div_ceil(64);
        let mut unplaced = vec![0; words * sections];
        for buffer in 0..count {
            for &section in problem.cover.get(buffer) {
                unplaced[section as usize * words + buffer / 64] |= 1 << (buffer % 64);
            }
        }
        let mut state = Self {
            problem,
            capacity,
            words,
            unplaced,
            placed: vec![false; count],
            offsets: vec![0; count],
            heads: problem.fixed.iter().map(|fixed| fixed.unwrap_or(0)).collect(),
            floors: vec![0; sections],
            tops: vec![0; sections],
            topmost: vec![NONE; sections],
            left: problem.loads.clone(),
            changes: Vec::new(),
            dirty: vec![false; sections],
            dirty_list: Vec::new(),
            by_head: (0..sections).map(|section| problem.members.get(section).to_vec()).collect(),
            judged: vec![(0, Judgement::Supported); count],
            question: 0,
            sorted: Vec::new(),
            placed_members: Vec::new(),
        };
        for buffer in 0..count {
            state.mark_sections(buffer);
        }
        state.propagate().then_some(state)
    }

    /// Returns a point to which [`undo_to`](Self::undo_to) returns.
    pub(super) fn mark(&self) -> usize {
        self.changes.len()
    }

    pub(super) fn undo_to(&mut self, mark: usize) {
        while self.changes.len() > mark {
            match self.changes.pop() {
                Some(Change::Floor(section, floor)) => self.floors[section as usize] = floor,
                Some(Change::Top(section, top)) => self.tops[section as usize] = top,
                Some(Change::Head(buffer, head)) => self.heads[buffer as usize] = head,
                Some(Change::Left(section, left)) => self.left[section as usize] = left,
                Some(Change::Topmost(section, buffer)) => self.topmost[section as usize] = buffer,
                Some(Change::Placed(buffer)) => {
                    let buffer = buffer as usize;
                    self.placed[buffer] = false;
                    for &section in self.problem.cover.get(buffer) {
                        self.unplaced[section as usize * self.words + buffer / 64] |= 1 << (buffer % 64);
                    }
                }
                None => return,
            }
        }
    }

    /// Places a buffer at its head. Returns false if the state is infeasible then.
    pub(super) fn place(&mut self, number: u32) -> bool {
        let problem = self.problem;
        let buffer = number as usize;
        let offset = self.heads[buffer];
        let end = offset + problem.sizes[buffer];
        self.offsets[buffer] = offset;
        self.placed[buffer] = true;
        self.changes.push(Change::Placed(number));
        for &section in problem.cover.get(buffer) {
            let s = section as usize;
            self.unplaced[s * self.words + buffer / 64] &= !(1 << (buffer % 64));
            self.changes.push(Change::Floor(section, self.floors[s]));
            self.changes.push(Change::Top(section, self.tops[s]));
            self.changes.push(Change::Left(section, self.left[s]));
            self.changes.push(Change::Topmost(section, self.topmost[s]));
            self.floors[s] = end;
            self.tops[s] = end;
            self.left[s] -= problem.sizes[buffer];
            self.topmost[s] = number;
        }
        self.mark_sections(buffer);
        for &other in problem.neighbours.get(buffer) {
            if !self.placed[other as usize] {
                self.raise_head(other, end);
            }
        }
        self.propagate()
    }

    /// Leaves the memory at the floor of a section free in this section. Returns false if the state is infeasible then.
    pub(super) fn leave_free(&mut self, section: usize) -> bool {
        let problem = self.problem;
        let floor = self.floors[section];
        let mut raised = Vec::new();
        for &number in problem.members.get(section) {
            let buffer = number as usize;
            if self.placed[buffer] || self.heads[buffer] != floor {
                continue;
            }
            if problem.fixed[buffer].is_some() {
                return false;
            }
            // It will lie on a buffer that is not placed yet: nothing placed is above the floor here.
            let support = (problem.neighbours.get(buffer).iter().map(|&other| other as usize))
                .filter(|&other| !self.placed[other])
                .map(|other| self.heads[other] + problem.sizes[other])
                .min();
            match support {
                Some(head) => raised.push((number, head)),
                None => return false,
            }
        }
        for (number, head) in raised {
            self.raise_head(number, head);
        }
        self.propagate()
    }

    fn raise_head(&mut self, number: u32, head: u64) {
        let buffer = number as usize;
        let head = self.problem.align_up(buffer, head);
        if head > self.heads[buffer] {
            self.changes.push(Change::Head(number, self.heads[buffer]));
            self.heads[buffer] = head;
            self.mark_sections(buffer);
        }
    }

    fn mark_sections(&mut self, buffer: usize) {
        for &section in self.problem.cover.get(buffer) {
            if !std::mem::replace(&mut self.dirty[section as usize], true) {
                self.dirty_list.push(section);
            }
        }
    }

    /// Computes what follows from changed heads. Returns false if the state is infeasible.
    fn propagate(&mut self) -> bool {
        let mut list = std::mem::take(&mut self.dirty_list);
        let mut feasible = true;
        for &section in &list {
            self.dirty[section as usize] = false;
            feasible = feasible && (self.left[section as usize] == 0 || self.check_section(section));
        }
        list.clear();
        self.dirty_list = list;
        feasible
    }

    fn check_section(&mut self, number: u32) -> bool {
        let problem = self.problem;
        let section = number as usize;
        self.sorted.clear();
        self.placed_members.clear();
        let members = &mut self.by_head[section];
        for &buffer in members.iter() {
            if self.placed[buffer as usize] {
                self.placed_members.push(buffer);
                continue;
            }
            let head = self.heads[buffer as usize];
            if problem.fixed[buffer as usize].is_some_and(|fixed| fixed != head) {
                return false;
            }
            // The members are nearly sorted already.
            let mut at = self.sorted.len();
            self.sorted.push((head, buffer));
            while at > 0 && self.sorted[at - 1].0 > head {
                self.sorted.swap(at - 1, at);
                at -= 1;
            }
        }
        let floor = self.sorted[0].0;
        let mut end = 0;
        for &(head, buffer) in &self.sorted {
            end = head.max(end) + problem.sizes[buffer as usize];
        }
        for (slot, buffer) in members
            .iter_mut()
            .zip(self.sorted.iter().map(|&(_, buffer)| buffer).chain(self.placed_members.iter().copied()))
        {
            *slot = buffer;
        }
        if end > self.capacity {
            return false;
        }
        if floor > self.floors[section] {
            self.changes.push(Change::Floor(number, self.floors[section]));
            self.floors[section] = floor;
            let gap = floor - self.tops[section];
            for &(_, number) in &self.sorted {
                let buffer = number as usize;
                if problem.sizes[buffer] <= gap
                    && problem.fixed[buffer].is_none()
                    && self.fits_below_floors(buffer)
                {
                    return false;
                }
            }
        }
        true
    }

    /// Returns whether an unplaced buffer fits into the memory that was left free, so that some packing is at least as
    /// good in which it was placed there.
    fn fits_below_floors(&self, buffer: usize) -> bool {
        let cover = self.problem.cover.get(buffer);
        let top = cover.iter().map(|&section| self.tops[section as usize]).max().unwrap_or(0);
        let floor = cover.iter().map(|&section| self.floors[section as usize]).min().unwrap_or(0);
        self.problem.align_up(buffer, top) + self.problem.sizes[buffer] <= floor
    }

    /// Begins a question: what is known of buffers may have changed.
    pub(super) fn begin_question(&mut self) {
        self.question += 1;
    }

    /// Returns whether an unplaced buffer may be placed at its head.
    fn judge(&mut self, buffer: usize) -> Judgement {
        if self.judged[buffer].0 == self.question {
            return self.judged[buffer].1;
        }
        let head = self.heads[buffer];
        let (mut top, mut floor) = (0, u64::MAX);
        for &section in self.problem.cover.get(buffer) {
            top = top.max(self.tops[section as usize]);
            floor = floor.min(self.floors[section as usize]);
        }
        let judgement = if floor < head {
            Judgement::Early
        } else if self.problem.fixed[buffer].is_some() || self.problem.align_up(buffer, top) == head {
            Judgement::Supported
        } else {
            Judgement::Unsupported
        };
        self.judged[buffer] = (self.question, judgement);
        judgement
    }

    /// Collects the buffers that may begin at the floor of a section. Returns false if others could still move below
    /// one of them, so that the section cannot be decided yet.
    pub(super) fn candidates(&mut self, section: usize, ranks: &[u64], found: &mut Vec<u32>) -> bool {
        let floor = self.floors[section];
        found.clear();
        for word in 0..self.words {
            let mut bits = self.unplaced[section * self.words + word];
            while bits != 0 {
                let buffer = word * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                if self.heads[buffer] != floor {
                    continue;
                }
                match self.judge(buffer) {
                    Judgement::Early => return false,
                    Judgement::Unsupported => {}
                    Judgement::Supported if self.problem.fixed[buffer].is_some() => {
                        // Nothing else can be there.
                        found.clear();
                        found.push(index(buffer));
                        return true;
                    }
                    Judgement::Supported => {
                        if !self.is_mirrored(buffer, floor, ranks, found) {
                            found.push(index(buffer));
                        }
                    }
                }
            }
        }
        true
    }

    /// Returns the unplaced buffer with the highest rank of those that live in all sections of a part whose floors are
    /// equal. Some packing has it at the floor if any does: it separates what is below it from what is above it, so it
    /// can be moved to the bottom.
    pub(super) fn everlasting(&self, part: &[u32], ranks: &[u64]) -> Option<u32> {
        let problem = self.problem;
        let floor = self.floors[part[0] as usize];
        if problem.any_fixed || part.iter().any(|&section| self.floors[section as usize] != floor) {
            return None;
        }
        let mut best: Option<usize> = None;
        for word in 0..self.words {
            let mut bits = part
                .iter()
                .fold(u64::MAX, |bits, &section| bits & self.unplaced[section as usize * self.words + word]);
            while bits != 0 {
                let buffer = word * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                if problem.sizes[buffer] & problem.largest_mask != 0 || self.heads[buffer] != floor {
                    // What is moved up by this size would not be aligned.
                    return None;
                }
                if best.is_none_or(|best| ranks[buffer] > ranks[best]) {
                    best = Some(buffer);
                }
            }
        }
        best.map(index)
    }

    /// Returns whether a packing with this buffer at `floor` is another one with two buffers exchanged: equal buffers,
    /// or buffers of the same sections on top of each other.
    fn is_mirrored(&self, buffer: usize, floor: u64, ranks: &[u64], found: &[u32]) -> bool {
        let problem = self.problem;
        let cover = problem.cover.get(buffer);
        let (size, mask) = (problem.sizes[buffer], problem.masks[buffer]);
        let same = |other: usize| problem.masks[other] == mask && problem.cover.get(other) == cover;
        if found.iter().any(|&other| problem.sizes[other as usize] == size && same(other as usize)) {
            return true;
        }
        let below = self.topmost[cover[0] as usize];
        if below == NONE || size & mask != 0 {
            return false;
        }
        let below = below as usize;
        problem.fixed[below].is_none()
            && problem.sizes[below] != size
            && problem.sizes[below] & mask == 0
            && self.offsets[below] + problem.sizes[below] == floor
            && same(below)
            && (ranks[below], below) < (ranks[buffer], buffer)
    }

    /// Returns whether two sets of a section's unplaced buffers intersect, and adds those of `section` to `set` if so.
    pub(super) fn join(&self, section: usize, set: &mut [u64]) -> bool {
        let row = &self.unplaced[section * self.words..][..self.words];
        let joins = row.iter().zip(set.iter()).any(|(a, b)| a & b != 0);
        if joins {
            self.collect(section, set);
        }
        joins
    }

    /// Adds the unplaced buffers of a section to `set`.
    pub(super) fn collect(&self, section: usize, set: &mut [u64]) {
        for (word, bits) in set.iter_mut().zip(&self.unplaced[section * self.words..][..self.words]) {
            *word |= bits;
        }
    }
}
