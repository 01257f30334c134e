//! First fit: buffers are placed one after the other, each at its lowest free offset.

use std::cmp::Reverse;

use super::instance::Instance;
use super::sections::index;

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
    /// In the order of time.
    Time,
}

impl Order {
    pub(super) const ALL: [Self; 6] =
        [Self::Size, Self::Area, Self::Length, Self::Load, Self::SizeLength, Self::Time];

    /// Sorts buffers into this order, those with a fixed offset first.
    pub(super) fn sort(self, instance: &Instance, buffers: &mut [u32]) {
        let sections = &instance.sections;
        buffers.sort_by_cached_key(|&buffer| {
            let number = buffer as usize;
            let desc = instance.buffers[number];
            let size = u128::from(desc.size.get());
            let length = sections.count_of(number) as u128;
            let first = sections.of(number).next().unwrap_or(0);
            let key: (u128, u128) = match self {
                Self::Size => (size, 0),
                Self::Area => (size * length, 0),
                Self::Length => (length, size),
                Self::Load => {
                    let load = sections.of(number).map(|section| sections.loads[section]).max();
                    (u128::from(load.unwrap_or(0)), size * length)
                }
                Self::SizeLength => (size, length),
                Self::Time => (0, 0),
            };
            (desc.fixed_offset.is_none(), Reverse(key), first, buffer)
        });
    }
}

/// Places buffers in a given order. Holds memory that is used again for each order.
#[derive(Debug)]
pub(super) struct FirstFit<'a> {
    instance: &'a Instance,
    /// Sections per bucket.
    width: usize,
    /// The buffers placed so far, by the buckets of sections that they live in.
    buckets: Vec<Vec<Entry>>,
    /// Memory that the next buffer cannot use.
    used: Vec<(u64, u64)>,
}

/// A placed buffer in a range of sections.
#[derive(Debug, Clone, Copy)]
struct Entry {
    first: u32,
    end: u32,
    bottom: u64,
    top: u64,
}

impl<'a> FirstFit<'a> {
    pub(super) fn new(instance: &'a Instance) -> Self {
        // Enough buckets that few entries of a bucket live apart from the buffer that is placed, and few enough that
        // long lives are cheap.
        let sections = instance.sections.len();
        let width = (sections / 128).max(1);
        let buckets = vec![Vec::new(); sections.div_ceil(width)];
        Self { instance, width, buckets, used: Vec::new() }
    }

    /// Places the buffers in this order at `offsets` and returns the height. Stops early and returns `None` if the
    /// height would reach `limit`.
    pub(super) fn place(&mut self, order: &[u32], limit: u64, offsets: &mut [u64]) -> Option<u64> {
        self.buckets.iter_mut().for_each(Vec::clear);
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
                    let mut bottom = 0;
                    for &(start, end) in &self.used {
                        if start >= bottom + size {
                            break;
                        }
                        bottom = bottom.max((end + mask) & !mask);
                    }
                    bottom
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

    /// Collects the memory of the placed buffers that conflict with this one.
    fn collect(&mut self, buffer: usize) {
        self.used.clear();
        for &(first, end) in self.instance.sections.ranges(buffer) {
            let first_bucket = first as usize / self.width;
            for bucket in first_bucket..(end as usize).div_ceil(self.width) {
                for entry in &self.buckets[bucket] {
                    // Each entry counts in the first bucket that it has in common with the buffer.
                    let counts = bucket == first_bucket || entry.first as usize / self.width == bucket;
                    if counts && entry.first < end && first < entry.end {
                        self.used.push((entry.bottom, entry.top));
                    }
                }
            }
        }
    }

    fn insert(&mut self, buffer: usize, bottom: u64, top: u64) {
        for &(first, end) in self.instance.sections.ranges(buffer) {
            for bucket in first as usize / self.width..(end as usize).div_ceil(self.width) {
                self.buckets[bucket].push(Entry { first, end, bottom, top });
            }
        }
    }
}

/// Moves the buffers that reach above `target` forward in an order, so that the next packing places them earlier.
pub(super) fn promote(instance: &Instance, order: &mut Vec<u32>, offsets: &[u64], target: u64) {
    let mut positions: Vec<(usize, u32)> = (order.iter().enumerate())
        .map(|(position, &buffer)| {
            let number = buffer as usize;
            let desc = instance.buffers[number];
            let above = desc.fixed_offset.is_none() && offsets[number] + desc.size.get() > target;
            (if above { position / 2 } else { position }, buffer)
        })
        .collect();
    positions.sort_by_key(|&(position, _)| position);
    order.clear();
    order.extend(positions.into_iter().map(|(_, buffer)| buffer));
    order.sort_by_key(|&buffer| instance.buffers[buffer as usize].fixed_offset.is_none());
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
