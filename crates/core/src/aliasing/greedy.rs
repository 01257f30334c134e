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
    #[inline]
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
/// The sections are the leaves of a binary tree. A node knows the memory that is used in all of its sections, and the
/// memory that is used in any of them, as ranges that do not touch. First fit leaves few gaps, so these are few.
pub(super) struct Greedy<'a> {
    instance: &'a Instance,
    /// Number of leaves, a power of two. Node 1 is the root, and node `n` has the children `2n` and `2n + 1`.
    leaves: usize,
    in_all: Vec<Ranges>,
    in_any: Vec<Ranges>,
    /// Memory that the next buffer cannot use.
    used: Vec<(u64, u64)>,
}

impl<'a> Greedy<'a> {
    #[inline]
    pub(super) fn new(instance: &'a Instance) -> Self {
        let leaves = instance.sections.len().next_power_of_two();
        let ranges = vec![Ranges::default(); 2 * leaves];
        Self { instance, leaves, in_all: ranges.clone(), in_any: ranges, used: Vec::new() }
    }

    /// Places the buffers in this order at `offsets` and returns the height. Stops early and returns `None` if the
    /// height would reach `limit`.
    #[inline]
    pub(super) fn place(&mut self, order: &[u32], fit: Fit, limit: u64, offsets: &mut [u64]) -> Option<u64> {
        self.clear();
        self.place_others(order, fit, limit, offsets)
    }

    /// Forgets the placed buffers.
    #[inline]
    pub(super) fn clear(&mut self) {
        self.in_all.iter_mut().chain(&mut self.in_any).for_each(|ranges| ranges.0.clear());
    }

    /// Places buffers around those that are placed already, as [`place`](Self::place) does.
    #[inline]
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
            let (size, mask) = (desc.size.get(), desc.alignment.get() - 1);
            let bottom = match desc.fixed_offset {
                Some(offset) => offset.get(),
                None => {
                    self.collect(number);
                    self.used.sort_unstable();
                    let (mut bottom, mut best) = (0, None);
                    for &(start, end) in &self.used {
                        if start >= bottom + size {
                            let gap = (start - bottom, bottom);
                            best = best.filter(|&best| best <= gap).or(Some(gap));
                            if fit == Fit::First {
                                break;
                            }
                        }
                        bottom = bottom.max((end + mask) & !mask);
                    }
                    best.map_or(bottom, |(_, bottom)| bottom)
                }
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
    #[inline]
    pub(super) fn place_at(&mut self, buffer: u32, bottom: u64, top: u64) -> bool {
        self.collect(buffer as usize);
        let free = self.used.iter().all(|&(start, end)| top <= start || end <= bottom);
        if free {
            self.insert(buffer as usize, bottom, top);
        }
        free
    }

    /// Collects the memory of the placed buffers that conflict with this one.
    #[inline]
    fn collect(&mut self, buffer: usize) {
        self.used.clear();
        for &(first, end) in self.instance.sections.ranges(buffer) {
            for node in nodes_of(self.leaves, first, end) {
                self.used.extend(&self.in_any[node].0);
            }
            for node in above(self.leaves, first).chain(above(self.leaves, end - 1)) {
                self.used.extend(&self.in_all[node].0);
            }
        }
    }

    #[inline]
    fn insert(&mut self, buffer: usize, bottom: u64, top: u64) {
        for &(first, end) in self.instance.sections.ranges(buffer) {
            for node in nodes_of(self.leaves, first, end) {
                self.in_all[node].insert(bottom, top);
                self.in_any[node].insert(bottom, top);
            }
            for node in above(self.leaves, first).chain(above(self.leaves, end - 1)) {
                self.in_any[node].insert(bottom, top);
            }
        }
    }
}

/// Returns the fewest nodes whose sections are exactly those from `first` to `end`.
#[inline]
fn nodes_of(leaves: usize, first: u32, end: u32) -> impl Iterator<Item = usize> {
    let (mut low, mut high) = (first as usize + leaves, end as usize + leaves);
    let mut upper = None;
    std::iter::from_fn(move || {
        if let Some(node) = upper.take() {
            return Some(node);
        }
        while low < high {
            let left = (low & 1 == 1).then_some(low);
            low = low.div_ceil(2);
            if high & 1 == 1 {
                upper = Some(high - 1);
            }
            high /= 2;
            if let Some(node) = left.or_else(|| upper.take()) {
                return Some(node);
            }
        }
        None
    })
}

/// Returns the leaf of a section and all nodes above it.
#[inline]
fn above(leaves: usize, section: u32) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(section as usize + leaves), |&node| (node > 1).then_some(node / 2))
}

/// Disjoint ranges in ascending order that do not touch.
#[derive(Clone, Default)]
struct Ranges(Vec<(u64, u64)>);

impl Ranges {
    #[inline]
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

/// Moves the buffers that reach above `target` forward in an order, so that the next packing places them earlier.
#[inline]
pub(super) fn promote(instance: &Instance, order: &mut Vec<u32>, offsets: &[u64], target: u64) {
    let mut positions: Vec<(usize, usize, u32)> = (order.iter().enumerate())
        .map(|(position, &buffer)| {
            let number = buffer as usize;
            let desc = instance.buffers[number];
            let above = desc.fixed_offset.is_none() && offsets[number] + desc.size.get() > target;
            (if above { position / 2 } else { position }, position, buffer)
        })
        .collect();
    positions.sort_unstable();
    order.clear();
    order.extend(positions.into_iter().map(|(.., buffer)| buffer));
    fixed_first(instance, order);
}

/// Moves the buffers with a fixed offset to the front, without another change of the order.
#[inline]
pub(super) fn fixed_first(instance: &Instance, order: &mut Vec<u32>) {
    let is_fixed = |buffer: &u32| instance.buffers[*buffer as usize].fixed_offset.is_some();
    let (mut first, others): (Vec<u32>, Vec<u32>) = order.iter().partition(|&buffer| is_fixed(buffer));
    first.extend(others);
    *order = first;
}

/// Splits buffers into parts between which there is no conflict.
#[inline]
pub(super) fn connected_parts(instance: &Instance) -> Vec<Vec<u32>> {
    let sections = &instance.sections;
    // The first section of each connected run: ranges of intervals connect neighbouring sections.
    let mut parent: Vec<u32> = (0..index(sections.len())).collect();
    #[inline]
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
