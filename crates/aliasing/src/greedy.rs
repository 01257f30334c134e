//! First fit and best fit: buffers are placed one after the other, each in a free range.

use std::cmp::Reverse;

use super::instance::{Instance, index};

/// Order in which buffers are placed. Orders that are good for one instance are bad for another, so several are tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// Largest size first, then the one that lives first.
    Size,
    /// Largest product of size and lifetime first.
    Area,
    /// Longest lifetime first, then the largest size.
    Length,
    /// Buffers of the heaviest section first, then the largest product of size and lifetime.
    Load,
    /// Largest size first, then the longest lifetime.
    SizeLength,
    /// Buffers of the heaviest section first, then the longest lifetime.
    LoadLength,
    /// In the order of time.
    Time,
}

impl Order {
    pub(super) const ALL: [Self; 7] =
        [Self::Size, Self::Area, Self::Length, Self::Load, Self::SizeLength, Self::LoadLength, Self::Time];

    /// Sorts buffers into this order, those with a fixed offset first.
    pub(super) fn sort(self, instance: &Instance, buffers: &mut [u32]) {
        let sections = &instance.sections;
        let key = |&buffer: &u32| {
            let number = buffer as usize;
            let desc = instance.buffers[number];
            let size = u128::from(desc.size.get());
            let length = sections.count_of(number) as u128;
            let first = sections.of(number).next().unwrap_or(0);
            let load = || {
                let load = sections.of(number).map(|section| sections.loads[section]).max();
                u128::from(load.unwrap_or(0))
            };
            let key: (u128, u128) = match self {
                Self::Size => (size, 0),
                Self::Area => (size * length, 0),
                Self::Length => (length, size),
                Self::Load => (load(), size * length),
                Self::LoadLength => (load(), length),
                Self::SizeLength => (size, length),
                Self::Time => (0, 0),
            };
            (desc.fixed_offset.is_none(), Reverse(key), first, buffer)
        };
        let mut keys: Vec<_> = buffers.iter().map(key).collect();
        keys.sort_unstable();
        for (place, (.., buffer)) in buffers.iter_mut().zip(keys) {
            *place = buffer;
        }
    }
}

/// Which free range a buffer is placed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fit {
    /// The lowest one that is large enough.
    First,
    /// The smallest one that is large enough, the lowest of them if there are several.
    Best,
}

/// Places buffers in a given order. Holds memory that is used again for each order.
///
/// The sections are divided into groups of equal size. A group knows the memory that is used in all of its sections, as
/// ranges that do not touch, and each range that is used in some of them.
pub(super) struct Greedy<'a> {
    instance: &'a Instance,
    /// Number of sections of a group.
    width: u32,
    groups: Vec<Group>,
    /// How far the groups of the next buffer were read.
    cursors: Vec<Cursor>,
}

/// Number of groups. With more, a buffer is in more of them; with fewer, more buffers are compared.
const GROUPS: usize = 32;

#[derive(Clone, Default)]
struct Group {
    in_all: Ranges,
    /// In the order of their starts.
    in_some: Vec<Used>,
}

/// Memory that is used from section `first` to `last`, which is not included.
#[derive(Clone, Copy)]
struct Used {
    start: u64,
    end: u64,
    first: u32,
    last: u32,
}

/// The place in a group up to which its memory was compared with that of a buffer.
struct Cursor {
    group: u32,
    in_all: u32,
    in_some: u32,
    first: u32,
    last: u32,
}

impl<'a> Greedy<'a> {
    pub(super) fn new(instance: &'a Instance) -> Self {
        let sections = instance.sections.len();
        let width = index(sections.div_ceil(GROUPS).max(1));
        let groups = vec![Group::default(); sections.div_ceil(width as usize)];
        Self { instance, width, groups, cursors: Vec::new() }
    }

    /// Places the buffers in this order at `offsets` and returns the height. Stops early and returns `None` if the
    /// height would reach `limit`.
    pub(super) fn place(&mut self, order: &[u32], fit: Fit, limit: u64, offsets: &mut [u64]) -> Option<u64> {
        self.clear();
        self.place_others(order, fit, limit, offsets)
    }

    /// Forgets the placed buffers.
    pub(super) fn clear(&mut self) {
        for group in &mut self.groups {
            group.in_all.0.clear();
            group.in_some.clear();
        }
    }

    /// Places buffers around those that are placed already, as [`place`](Self::place) does.
    pub(super) fn place_others(
        &mut self,
        order: &[u32],
        fit: Fit,
        limit: u64,
        offsets: &mut [u64],
    ) -> Option<u64> {
        let mut height = 0;
        for &buffer in order {
            let number = buffer as usize;
            let desc = self.instance.buffers[number];
            let size = desc.size.get();
            let bottom = match desc.fixed_offset {
                Some(offset) => offset.get(),
                None => self.free_range(number, size, desc.alignment.get() - 1, fit),
            };
            let top = bottom + size;
            height = height.max(top);
            if height >= limit {
                return None;
            }
            offsets[number] = bottom;
            self.insert(number, bottom, top);
        }
        Some(height)
    }

    /// Places a buffer from `bottom` to `top` if the memory is free, and returns whether it is.
    pub(super) fn place_at(&mut self, buffer: u32, bottom: u64, top: u64) -> bool {
        self.open(buffer as usize);
        let free = self.next_above(bottom, top - bottom, 0) == bottom;
        if free {
            self.insert(buffer as usize, bottom, top);
        }
        free
    }

    /// Returns the offset of the free range in which a buffer is placed.
    fn free_range(&mut self, buffer: usize, size: u64, mask: u64, fit: Fit) -> u64 {
        self.open(buffer);
        let mut bottom = self.next_above(0, size, mask);
        if fit == Fit::First {
            return bottom;
        }
        let mut best = None;
        while let Some((start, end)) = self.next_used() {
            let gap = (start - bottom, bottom);
            best = best.filter(|&best| best <= gap).or(Some(gap));
            bottom = self.next_above((end + mask) & !mask, size, mask);
        }
        best.map_or(bottom, |(_, bottom)| bottom)
    }

    /// Begins with the memory that a buffer cannot use.
    fn open(&mut self, buffer: usize) {
        self.cursors.clear();
        for &(first, last) in self.instance.sections.ranges(buffer) {
            let groups = first / self.width..=(last - 1) / self.width;
            self.cursors.extend(groups.map(|group| Cursor { group, in_all: 0, in_some: 0, first, last }));
        }
    }

    /// Returns the lowest offset of at least `bottom` at which `size` bytes are free. Used ranges that begin below its
    /// end are not read again.
    fn next_above(&mut self, mut bottom: u64, size: u64, mask: u64) -> u64 {
        loop {
            let before = bottom;
            for cursor in &mut self.cursors {
                let group = &self.groups[cursor.group as usize];
                for &(start, end) in &group.in_all.0[cursor.in_all as usize..] {
                    if start >= bottom + size {
                        break;
                    }
                    cursor.in_all += 1;
                    if end > bottom {
                        bottom = (end + mask) & !mask;
                    }
                }
                for used in &group.in_some[cursor.in_some as usize..] {
                    if used.start >= bottom + size {
                        break;
                    }
                    cursor.in_some += 1;
                    if used.end > bottom && used.first < cursor.last && cursor.first < used.last {
                        bottom = (used.end + mask) & !mask;
                    }
                }
            }
            if bottom == before {
                return bottom;
            }
        }
    }

    /// Returns the used range that begins first of those that were not read.
    fn next_used(&mut self) -> Option<(u64, u64)> {
        let mut next: Option<(u64, u64)> = None;
        for cursor in &mut self.cursors {
            let group = &self.groups[cursor.group as usize];
            let in_all = group.in_all.0.get(cursor.in_all as usize).copied();
            let rest = &group.in_some[cursor.in_some as usize..];
            let apart = rest.iter().take_while(|used| used.last <= cursor.first || cursor.last <= used.first);
            cursor.in_some += index(apart.count());
            let in_some = group.in_some.get(cursor.in_some as usize).map(|used| (used.start, used.end));
            next = next.into_iter().chain(in_all).chain(in_some).min();
        }
        next
    }

    fn insert(&mut self, buffer: usize, start: u64, end: u64) {
        for &(first, last) in self.instance.sections.ranges(buffer) {
            for number in first / self.width..=(last - 1) / self.width {
                let group = &mut self.groups[number as usize];
                let begin = number * self.width;
                if first <= begin && begin.saturating_add(self.width) <= last {
                    group.in_all.insert(start, end);
                } else {
                    let place = group.in_some.partition_point(|used| used.start < start);
                    group.in_some.insert(place, Used { start, end, first, last });
                }
            }
        }
    }
}

/// Disjoint ranges in ascending order that do not touch.
#[derive(Clone, Default)]
struct Ranges(Vec<(u64, u64)>);

impl Ranges {
    fn insert(&mut self, start: u64, end: u64) {
        let from = self.0.partition_point(|range| range.1 < start);
        let to = from + self.0[from..].partition_point(|range| range.0 <= end);
        if from == to {
            self.0.insert(from, (start, end));
            return;
        }
        self.0[from] = (start.min(self.0[from].0), end.max(self.0[to - 1].1));
        self.0.drain(from + 1..to);
    }
}

/// Moves the buffers with a fixed offset to the front, without another change of the order.
pub(super) fn fixed_first(instance: &Instance, order: &mut Vec<u32>) {
    let is_fixed = |buffer: &u32| instance.buffers[*buffer as usize].fixed_offset.is_some();
    let (mut first, others): (Vec<u32>, Vec<u32>) = order.iter().partition(|&buffer| is_fixed(buffer));
    first.extend(others);
    *order = first;
}

/// Splits buffers into parts between which there is no conflict.
pub(super) fn connected_parts(instance: &Instance) -> Vec<Vec<u32>> {
    let sections = &instance.sections;
    // The first section of each connected run: ranges of intervals connect neighbouring sections.
    let mut parent: Vec<u32> = (0..index(sections.len())).collect();
    fn find(parent: &mut [u32], section: u32) -> u32 {
        let mut root = section;
        while parent[root as usize] != root {
            parent[root as usize] = parent[parent[root as usize] as usize];
            root = parent[root as usize];
        }
        root
    }
    let mut reach = vec![0_u32; sections.len()];
    for buffer in 0..instance.buffers.len() {
        for &(first, end) in sections.ranges(buffer) {
            reach[first as usize] = reach[first as usize].max(end);
        }
    }
    let mut connected_to = 0;
    for section in 0..index(sections.len()) {
        if section < connected_to {
            let root = find(&mut parent, section - 1);
            parent[section as usize] = root;
        }
        connected_to = connected_to.max(reach[section as usize]);
    }
    for buffer in 0..instance.buffers.len() {
        let ranges = sections.ranges(buffer);
        for range in ranges.iter().skip(1) {
            let (a, b) = (find(&mut parent, ranges[0].0), find(&mut parent, range.0));
            parent[a.max(b) as usize] = a.min(b);
        }
    }
    let mut parts: Vec<Vec<u32>> = Vec::new();
    let mut numbers = vec![u32::MAX; sections.len()];
    for buffer in 0..instance.buffers.len() {
        let root = find(&mut parent, sections.ranges(buffer)[0].0) as usize;
        if numbers[root] == u32::MAX {
            numbers[root] = index(parts.len());
            parts.push(Vec::new());
        }
        parts[numbers[root] as usize].push(index(buffer));
    }
    parts
}
