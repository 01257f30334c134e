//! The input of the planner: buffers, and which of them live at the same time.

use std::cmp::Reverse;
use std::error::Error;
use std::fmt;

use heapwright_core::{Alignment, ByteSize, HeapOffset};

/// A range of memory to be placed in a heap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Buffer {
    /// Size, in bytes; not zero.
    pub size: ByteSize,
    /// Alignment of the offset.
    pub alignment: Alignment,
    /// Offset that the buffer must have, if it is not free to move.
    pub fixed_offset: Option<HeapOffset>,
    /// Offset of an earlier plan, kept if that makes the plan no worse.
    pub hint: Option<HeapOffset>,
}

impl Buffer {
    /// Creates a buffer of `size` bytes that may be placed at any offset.
    #[must_use]
    pub const fn new(size: ByteSize) -> Self {
        Self { size, alignment: Alignment::ONE, fixed_offset: None, hint: None }
    }

    /// Returns the buffer with this alignment.
    #[must_use]
    pub const fn with_alignment(self, alignment: Alignment) -> Self {
        Self { alignment, ..self }
    }
}

/// A half-open interval of time, `[lower, upper)`, in any unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Interval {
    /// First instant.
    pub lower: i64,
    /// Instant after the last one.
    pub upper: i64,
}

/// When buffers live, which decides which of them may share memory.
#[derive(Debug, Clone)]
pub(super) enum Lifetimes {
    /// Each buffer's intervals, ascending and disjoint.
    Intervals(Vec<Vec<Interval>>),
    /// For each buffer, the buffers that all its uses happen before: one bit each, row by row.
    Order(BitMatrix),
}

/// Buffers and their lifetimes, checked.
///
/// ```
/// use heapwright_core::ByteSize;
/// use heapwright_aliasing::{Buffer, Instance, Interval, SolveOptions, solve};
///
/// let buffers = vec![Buffer::new(ByteSize::new(4)); 3];
/// let lives = [(0, 3), (3, 9), (0, 9)].map(|(lower, upper)| vec![Interval { lower, upper }]);
/// let instance = Instance::with_intervals(buffers, lives.into())?;
/// let packing = solve(&instance, &SolveOptions::default(), &mut || false);
/// // The first two are never live at the same time.
/// assert_eq!((packing.height, packing.proved), (ByteSize::new(8), true));
/// # Ok::<(), heapwright_aliasing::InstanceError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Instance {
    pub(super) buffers: Vec<Buffer>,
    pub(super) lifetimes: Lifetimes,
    pub(super) sections: Sections,
}

impl Instance {
    /// Creates an instance of buffers that live in intervals of time. A buffer may live in several: between them
    /// its memory is free for others.
    ///
    /// # Errors
    ///
    /// Returns an error if a buffer has no size or no lifetime, if its intervals are empty or not ascending, if its
    /// fixed offset is impossible, or if the sizes have more than 62 bits in all.
    pub fn with_intervals(buffers: Vec<Buffer>, lives: Vec<Vec<Interval>>) -> Result<Self, InstanceError> {
        check_buffers(&buffers)?;
        if lives.len() != buffers.len() {
            let (buffers, lifetimes) = (buffers.len(), lives.len());
            return Err(InstanceError { buffer: None, rule: Violated::LifetimeCount { buffers, lifetimes } });
        }
        for (index, intervals) in lives.iter().enumerate() {
            let wrong = |rule| InstanceError { buffer: Some(index), rule };
            if intervals.is_empty() {
                return Err(wrong(Violated::NoLifetime));
            }
            for (position, interval) in intervals.iter().enumerate() {
                if interval.lower >= interval.upper {
                    return Err(wrong(Violated::EmptyInterval(*interval)));
                }
                if position > 0 && intervals[position - 1].upper > interval.lower {
                    return Err(wrong(Violated::IntervalOrder(*interval)));
                }
            }
        }
        Self::new(buffers, Lifetimes::Intervals(lives)).with_checked_offsets()
    }

    /// Creates an instance of buffers whose uses are only partially ordered. `before(a, b)` returns whether every use
    /// of `a` happens before every use of `b`; two buffers may share memory only if it is true of them in one
    /// direction. It must be transitive.
    ///
    /// # Errors
    ///
    /// Returns an error if a buffer has no size or an impossible fixed offset, if two buffers are before each other,
    /// or if the sizes have more than 62 bits in all.
    pub fn with_order(
        buffers: Vec<Buffer>,
        mut before: impl FnMut(usize, usize) -> bool,
    ) -> Result<Self, InstanceError> {
        check_buffers(&buffers)?;
        let mut order = BitMatrix::new(buffers.len());
        for first in 0..buffers.len() {
            for second in 0..buffers.len() {
                if before(first, second) {
                    if first == second || order.get(second, first) {
                        let rule = Violated::CyclicOrder { other: second };
                        return Err(InstanceError { buffer: Some(first), rule });
                    }
                    order.set(first, second);
                }
            }
        }
        Self::new(buffers, Lifetimes::Order(order)).with_checked_offsets()
    }

    fn new(buffers: Vec<Buffer>, lifetimes: Lifetimes) -> Self {
        let sections = match &lifetimes {
            Lifetimes::Intervals(lives) => Sections::of_intervals(&buffers, lives),
            Lifetimes::Order(order) => Sections::of_order(&buffers, order),
        };
        Self { buffers, lifetimes, sections }
    }

    /// Returns the buffers, in the order in which they were given.
    #[must_use]
    pub fn buffers(&self) -> &[Buffer] {
        &self.buffers
    }

    /// Returns the sum of all sizes: the memory that the buffers would take without aliasing.
    #[must_use]
    pub fn total_size(&self) -> ByteSize {
        ByteSize::new(self.buffers.iter().map(|buffer| buffer.size.get()).sum())
    }

    /// Returns whether two different buffers live at the same time, so that they cannot share memory.
    #[must_use]
    pub fn conflict(&self, first: usize, second: usize) -> bool {
        first != second
            && match &self.lifetimes {
                Lifetimes::Intervals(lives) => intersect(&lives[first], &lives[second]),
                Lifetimes::Order(order) => !order.get(first, second) && !order.get(second, first),
            }
    }

    /// Returns some of the buffers as an instance of their own.
    pub(super) fn subset(&self, buffers: &[u32]) -> Self {
        let lifetimes = match &self.lifetimes {
            Lifetimes::Intervals(lives) => {
                Lifetimes::Intervals(buffers.iter().map(|&buffer| lives[buffer as usize].clone()).collect())
            }
            Lifetimes::Order(order) => {
                let mut of_subset = BitMatrix::new(buffers.len());
                for (first, &one) in buffers.iter().enumerate() {
                    for (second, &other) in buffers.iter().enumerate() {
                        if order.get(one as usize, other as usize) {
                            of_subset.set(first, second);
                        }
                    }
                }
                Lifetimes::Order(of_subset)
            }
        };
        Self::new(buffers.iter().map(|&buffer| self.buffers[buffer as usize]).collect(), lifetimes)
    }

    /// Checks that buffers with fixed offsets that live at the same time do not overlap.
    fn with_checked_offsets(self) -> Result<Self, InstanceError> {
        let fixed: Vec<(usize, u64)> = (self.buffers.iter().enumerate())
            .filter_map(|(index, buffer)| buffer.fixed_offset.map(|offset| (index, offset.get())))
            .collect();
        for (position, &(first, start)) in fixed.iter().enumerate() {
            for &(second, other) in &fixed[..position] {
                let (end, other_end) =
                    (start + self.buffers[first].size.get(), other + self.buffers[second].size.get());
                if start < other_end && other < end && self.conflict(first, second) {
                    let rule = Violated::FixedOverlap { other: second };
                    return Err(InstanceError { buffer: Some(first), rule });
                }
            }
        }
        Ok(self)
    }
}

/// Returns whether two ascending lists of intervals have an instant in common.
fn intersect(first: &[Interval], second: &[Interval]) -> bool {
    let (mut i, mut j) = (0, 0);
    while let (Some(a), Some(b)) = (first.get(i), second.get(j)) {
        if a.lower < b.upper && b.lower < a.upper {
            return true;
        }
        if a.upper <= b.upper { i += 1 } else { j += 1 }
    }
    false
}

/// Sums of sizes stay below this, so that no sum of an offset, a size and an alignment overflows.
pub(super) const LIMIT: u64 = 1 << 62;

fn check_buffers(buffers: &[Buffer]) -> Result<(), InstanceError> {
    let mut total = 0_u64;
    for (index, buffer) in buffers.iter().enumerate() {
        let wrong = |rule| InstanceError { buffer: Some(index), rule };
        if buffer.size.is_zero() {
            return Err(wrong(Violated::NoSize));
        }
        // An aligned buffer can waste nearly its alignment.
        let largest = buffer.size.get().checked_add(buffer.alignment.get() - 1);
        total = (largest.and_then(|largest| total.checked_add(largest)))
            .filter(|&total| total < LIMIT)
            .ok_or(wrong(Violated::TooLarge))?;
        if let Some(offset) = buffer.fixed_offset {
            if !offset.is_aligned(buffer.alignment) {
                return Err(wrong(Violated::FixedUnaligned { offset, alignment: buffer.alignment }));
            }
            let end = offset.get().checked_add(buffer.size.get());
            if end.is_none_or(|end| end >= LIMIT) {
                return Err(wrong(Violated::TooLarge));
            }
        }
    }
    Ok(())
}

/// Why buffers cannot be planned: a buffer, and the rule that it violates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InstanceError {
    /// Index of the buffer, if one is to blame.
    pub buffer: Option<usize>,
    /// The rule that is violated.
    pub rule: Violated,
}

/// A rule that the input of a plan violates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Violated {
    /// The size is zero.
    NoSize,
    /// The sizes, with their alignments, have more than 62 bits in all.
    TooLarge,
    /// The buffer has no interval.
    NoLifetime,
    /// The interval does not end after it begins.
    EmptyInterval(Interval),
    /// The interval begins before the one in front of it ends.
    IntervalOrder(Interval),
    /// There are more or fewer lifetimes than buffers.
    LifetimeCount {
        /// Number of buffers.
        buffers: usize,
        /// Number of lifetimes.
        lifetimes: usize,
    },
    /// The fixed offset is not a multiple of the alignment.
    FixedUnaligned {
        /// The fixed offset.
        offset: HeapOffset,
        /// The alignment.
        alignment: Alignment,
    },
    /// Two buffers that live at the same time overlap at their fixed offsets.
    FixedOverlap {
        /// Index of the other buffer.
        other: usize,
    },
    /// Two buffers are before each other, or a buffer is before itself.
    CyclicOrder {
        /// Index of the other buffer.
        other: usize,
    },
}

impl fmt::Display for Violated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSize => f.write_str("the size is zero"),
            Self::TooLarge => f.write_str("the sizes and alignments have more than 62 bits in all"),
            Self::NoLifetime => f.write_str("the buffer has no lifetime"),
            Self::EmptyInterval(interval) => {
                write!(
                    f,
                    "the lifetime [{}, {}) is empty: it must end after it begins",
                    interval.lower, interval.upper
                )
            }
            Self::IntervalOrder(interval) => write!(
                f,
                "the lifetime [{}, {}) begins before the one in front of it ends",
                interval.lower, interval.upper
            ),
            Self::LifetimeCount { buffers, lifetimes } => {
                write!(f, "there are {buffers} buffers and {lifetimes} lifetimes")
            }
            Self::FixedUnaligned { offset, alignment } => {
                write!(
                    f,
                    "the fixed offset {} is not a multiple of the alignment {}",
                    offset.get(),
                    alignment.get()
                )
            }
            Self::FixedOverlap { other } => {
                write!(
                    f,
                    "at its fixed offset the buffer overlaps buffer {other}, which lives at the same time"
                )
            }
            Self::CyclicOrder { other } => write!(f, "the buffer is before buffer {other} and after it"),
        }
    }
}

impl fmt::Display for InstanceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.buffer {
            Some(buffer) => write!(f, "buffer {buffer}: {}", self.rule),
            None => self.rule.fmt(f),
        }
    }
}

impl Error for InstanceError {}

/// A square matrix of bits.
#[derive(Debug, Clone)]
pub(super) struct BitMatrix {
    words_per_row: usize,
    words: Vec<u64>,
}

impl BitMatrix {
    pub(super) fn new(rows: usize) -> Self {
        let words_per_row = rows.div_ceil(64);
        Self { words_per_row, words: vec![0; words_per_row * rows] }
    }

    pub(super) fn get(&self, row: usize, column: usize) -> bool {
        self.words[row * self.words_per_row + column / 64] >> (column % 64) & 1 != 0
    }

    pub(super) fn set(&mut self, row: usize, column: usize) {
        self.words[row * self.words_per_row + column / 64] |= 1 << (column % 64);
    }

    /// Sets all bits of `row` that are set in `other`.
    pub(super) fn include_row(&mut self, row: usize, other: usize) {
        for word in 0..self.words_per_row {
            self.words[row * self.words_per_row + word] |= self.words[other * self.words_per_row + word];
        }
    }
}

/// The sections of an instance, and which of them each buffer lives in.
///
/// Two buffers conflict exactly if they have a section in common. For intervals, a section is an instant at which the
/// set of live buffers is maximal: one for each time at which a buffer ends after another began. For a partial order,
/// sections are cliques of the conflicts that cover every conflict.
#[derive(Debug, Clone)]
pub(super) struct Sections {
    /// Sum of the sizes of each section's buffers.
    pub(super) loads: Vec<u64>,
    /// An instant of each section; empty for partial orders.
    pub(super) instants: Vec<i64>,
    /// Ranges of sections in which each buffer lives: of buffer `b`, those from `starts[b]` to `starts[b + 1]`.
    ranges: Vec<(u32, u32)>,
    starts: Vec<u32>,
}

impl Sections {
    pub(super) fn of_intervals(buffers: &[Buffer], lives: &[Vec<Interval>]) -> Self {
        // Ends sort before beginnings at the same instant, because intervals are half open.
        let mut events: Vec<(i64, bool, u32, u32)> = Vec::with_capacity(2 * lives.len());
        let mut starts = vec![0];
        let mut piece = 0;
        for (buffer, intervals) in lives.iter().enumerate() {
            for interval in intervals {
                events.push((interval.lower, true, index(buffer), piece));
                events.push((interval.upper, false, index(buffer), piece));
                piece += 1;
            }
            starts.push(piece);
        }
        events.sort_unstable();
        let mut sections =
            Self { loads: Vec::new(), instants: Vec::new(), ranges: vec![(0, 0); piece as usize], starts };
        let (mut load, mut began, mut last) = (0_u64, false, 0);
        for (time, begins, buffer, piece) in events {
            let size = buffers[buffer as usize].size.get();
            let range = &mut sections.ranges[piece as usize];
            if begins {
                range.0 = index(sections.loads.len());
                (load, began, last) = (load + size, true, time);
            } else {
                if began {
                    sections.loads.push(load);
                    sections.instants.push(last);
                    began = false;
                }
                range.1 = index(sections.loads.len());
                load -= size;
            }
        }
        sections
    }

    pub(super) fn of_order(buffers: &[Buffer], order: &BitMatrix) -> Self {
        let count = buffers.len();
        let conflict = |a: usize, b: usize| a != b && !order.get(a, b) && !order.get(b, a);
        let mut by_size: Vec<usize> = (0..count).collect();
        by_size.sort_unstable_by_key(|&buffer| (Reverse(buffers[buffer].size), buffer));
        let mut covered = BitMatrix::new(count);
        let mut cliques: Vec<Vec<usize>> = Vec::new();
        let mut add = |seed: &[usize], covered: &mut BitMatrix| {
            let mut clique = seed.to_vec();
            for &buffer in &by_size {
                if clique.iter().all(|&member| conflict(member, buffer)) {
                    clique.push(buffer);
                }
            }
            for &a in &clique {
                for &b in &clique {
                    covered.set(a, b);
                }
            }
            clique.sort_unstable();
            cliques.push(clique);
        };
        // The heaviest cliques first, each around one buffer; then one for each conflict that none covers.
        for &buffer in &by_size {
            if !covered.get(buffer, buffer) {
                add(&[buffer], &mut covered);
            }
        }
        for &a in &by_size {
            for &b in &by_size {
                if conflict(a, b) && !covered.get(a, b) {
                    add(&[a, b], &mut covered);
                }
            }
        }
        cliques.sort_unstable();
        cliques.dedup();
        let mut sections =
            Self { loads: Vec::new(), instants: Vec::new(), ranges: Vec::new(), starts: vec![0] };
        for clique in &cliques {
            sections.loads.push(clique.iter().map(|&member| buffers[member].size.get()).sum());
        }
        for buffer in 0..count {
            for (section, clique) in cliques.iter().enumerate() {
                if clique.binary_search(&buffer).is_ok() {
                    sections.ranges.push((index(section), index(section) + 1));
                }
            }
            sections.starts.push(index(sections.ranges.len()));
        }
        sections
    }

    /// Returns the number of sections.
    pub(super) fn len(&self) -> usize {
        self.loads.len()
    }

    /// Returns the ranges of sections in which a buffer lives.
    pub(super) fn ranges(&self, buffer: usize) -> &[(u32, u32)] {
        &self.ranges[self.starts[buffer] as usize..self.starts[buffer + 1] as usize]
    }

    /// Returns the sections in which a buffer lives.
    pub(super) fn of(&self, buffer: usize) -> impl Iterator<Item = usize> + '_ {
        self.ranges(buffer).iter().flat_map(|&(first, end)| first as usize..end as usize)
    }

    /// Returns the number of sections in which a buffer lives.
    pub(super) fn count_of(&self, buffer: usize) -> usize {
        self.ranges(buffer).iter().map(|&(first, end)| (end - first) as usize).sum()
    }

    /// Returns the section with the largest sum of sizes, the first of them if there are several.
    pub(super) fn heaviest(&self) -> Option<usize> {
        (0..self.len()).max_by_key(|&section| (self.loads[section], Reverse(section)))
    }
}

/// Returns a number of buffers or sections as an index. Instances are in memory, so they have fewer than 2^32.
pub(super) fn index(number: usize) -> u32 {
    u32::try_from(number).expect("an instance has fewer than 2^32 buffers")
}
