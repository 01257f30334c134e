//! Sections: sets of buffers that all live at the same time.
//!
//! Two buffers conflict exactly if they have a section in common. For intervals, a section is an instant at which the
//! set of live buffers is maximal: one for each time at which a buffer ends after another began. For a partial order,
//! sections are cliques of the conflicts that cover every conflict.

use std::cmp::Reverse;

use super::instance::{BitMatrix, Buffer, Interval};

/// The sections of an instance, and which of them each buffer lives in.
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
