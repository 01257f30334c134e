//! The part of an instance that one search places, with flat tables in place of the instance's lists.

use std::collections::BTreeMap;

use crate::aliasing::instance::Instance;
use crate::aliasing::sections::index;

/// Lists of numbers, one after the other.
#[derive(Debug, Clone, Default)]
pub(in crate::aliasing) struct Lists {
    starts: Vec<u32>,
    items: Vec<u32>,
}

impl Lists {
    fn new() -> Self {
        Self { starts: vec![0], items: Vec::new() }
    }

    fn end_list(&mut self) {
        self.starts.push(index(self.items.len()));
    }

    pub(in crate::aliasing) fn get(&self, list: usize) -> &[u32] {
        &self.items[self.starts[list] as usize..self.starts[list + 1] as usize]
    }
}

/// Buffers that conflicts connect, numbered from zero, and the sections in which they live.
#[derive(Debug, Clone)]
pub(in crate::aliasing) struct Problem {
    /// The instance's index of each buffer.
    pub(in crate::aliasing) buffers: Vec<u32>,
    pub(super) sizes: Vec<u64>,
    /// Alignments minus one.
    pub(super) masks: Vec<u64>,
    /// The largest alignment minus one.
    pub(super) largest_mask: u64,
    pub(super) fixed: Vec<Option<u64>>,
    /// Whether any offset is fixed.
    pub(super) any_fixed: bool,
    /// Sections of each buffer, ascending.
    pub(super) cover: Lists,
    /// Buffers of each section.
    pub(super) members: Lists,
    /// Buffers that conflict with each buffer.
    pub(super) neighbours: Lists,
    /// For each buffer, the first one of the same size, alignment and sections.
    pub(super) twins: Vec<u32>,
    /// Sum of the sizes in each section.
    pub(super) loads: Vec<u64>,
    /// Every height of a packing without needless gaps is a multiple of this.
    pub(in crate::aliasing) unit: u64,
}

/// Problems with larger tables are not searched.
const MAX_TABLE: usize = 6_000_000;

/// Maximum product of the numbers of buffers and sections of a problem that is searched. A step takes time in proportion to it,
/// and a packing has a step for each buffer: with ten times as many, 10,000 random buffers had no packing after ten seconds.
const MAX_CELLS: usize = 4_000_000;

impl Problem {
    /// Returns whether so many buffers in so many sections are surely too many to be searched.
    pub(in crate::aliasing) fn is_too_large(buffers: usize, sections: usize) -> bool {
        sections.saturating_mul(buffers) > MAX_CELLS
    }

    /// Creates the problem of these buffers of an instance, or `None` if it is too large to be searched.
    pub(in crate::aliasing) fn new(instance: &Instance, buffers: Vec<u32>) -> Option<Self> {
        let sections = &instance.sections;
        let size: usize = buffers.iter().map(|&buffer| sections.count_of(buffer as usize)).sum();
        if size > MAX_TABLE {
            return None;
        }
        // The part's own numbers for its sections.
        let mut used: Vec<usize> = buffers.iter().flat_map(|&buffer| sections.of(buffer as usize)).collect();
        used.sort_unstable();
        used.dedup();
        if Self::is_too_large(buffers.len(), used.len()) {
            return None;
        }
        let mut numbers = vec![0; used.last().map_or(0, |&last| last + 1)];
        for (number, &section) in used.iter().enumerate() {
            numbers[section] = index(number);
        }
        let mut cover = Lists::new();
        let mut of_section = vec![Vec::new(); used.len()];
        for (number, &buffer) in buffers.iter().enumerate() {
            for section in sections.of(buffer as usize) {
                cover.items.push(numbers[section]);
                of_section[numbers[section] as usize].push(index(number));
            }
            cover.end_list();
        }
        let mut members = Lists::new();
        for list in &of_section {
            members.items.extend(list);
            members.end_list();
        }
        let mut neighbours = Lists::new();
        let mut seen = vec![usize::MAX; buffers.len()];
        for buffer in 0..buffers.len() {
            seen[buffer] = buffer;
            for &section in cover.get(buffer) {
                for &other in &of_section[section as usize] {
                    if std::mem::replace(&mut seen[other as usize], buffer) != buffer {
                        neighbours.items.push(other);
                    }
                }
            }
            if neighbours.items.len() > MAX_TABLE {
                return None;
            }
            neighbours.end_list();
        }
        let of = |buffer: &u32| instance.buffers()[*buffer as usize];
        let sizes: Vec<u64> = buffers.iter().map(|buffer| of(buffer).size.get()).collect();
        let masks: Vec<u64> = buffers.iter().map(|buffer| of(buffer).alignment.get() - 1).collect();
        let fixed: Vec<Option<u64>> =
            buffers.iter().map(|buffer| of(buffer).fixed_offset.map(|offset| offset.get())).collect();
        // Offsets are sums of sizes, rounded up to alignments.
        let unit = (sizes.iter().copied().chain(fixed.iter().flatten().copied()))
            .chain(masks.iter().filter(|&&mask| mask > 0).map(|&mask| mask + 1))
            .fold(0, greatest_common_divisor);
        let loads = used.iter().map(|&section| sections.loads[section]).collect();
        let mut first_of = BTreeMap::new();
        let twins = (0..buffers.len())
            .map(|buffer| {
                let key = (sizes[buffer], masks[buffer], fixed[buffer], cover.get(buffer));
                *first_of.entry(key).or_insert(index(buffer))
            })
            .collect();
        let largest_mask = masks.iter().copied().max().unwrap_or(0);
        let any_fixed = fixed.iter().any(Option::is_some);
        Some(Self {
            any_fixed,
            twins,
            largest_mask,
            buffers,
            sizes,
            masks,
            fixed,
            cover,
            members,
            neighbours,
            loads,
            unit,
        })
    }

    pub(in crate::aliasing) fn len(&self) -> usize {
        self.sizes.len()
    }

    pub(in crate::aliasing) fn size(&self, buffer: usize) -> u64 {
        self.sizes[buffer]
    }

    pub(super) fn align_up(&self, buffer: usize, offset: u64) -> u64 {
        (offset + self.masks[buffer]) & !self.masks[buffer]
    }
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
