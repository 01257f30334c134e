//! Packings of instances that are too large to be searched: the heaviest sections first.
//!
//! Only the sections whose load is near the largest one leave little room, and in a large instance these are few. The
//! buffers that live in them are packed on their own, by a search if possible, and first fit places the others around
//! them.

use super::greedy::fixed_first;
use super::instance::{Buffer, Instance};
use super::solve::{Part, Planner, SolveOptions, solve};
use crate::ByteSize;

/// The loads from which sections are packed first, in thousandths of the part's load.
const THRESHOLDS: [u64; 10] = [990, 980, 960, 930, 900, 850, 800, 700, 600, 500];

/// Steps of the first search of a core, for each of its buffers.
const STEPS_PER_BUFFER: u64 = 8;

impl Planner<'_, '_> {
    /// Packs the buffers of the heaviest sections first, with each threshold. `round` doubles the steps of each search.
    pub(super) fn pack_heaviest_first(&mut self, part: &mut Part, aim: u64, round: u32) {
        let mut last = 0;
        for threshold in THRESHOLDS {
            let target = part.bound.max(aim);
            if part.height <= target || self.work.done() {
                return;
            }
            let core = self.heaviest(part, threshold);
            if core.len() == last {
                continue;
            }
            last = core.len();
            if core.len() == part.buffers.len() {
                return;
            }
            let mut instance = self.instance.subset(&core);
            instance.forget_hints();
            let steps = (STEPS_PER_BUFFER * core.len() as u64) << round.min(20);
            let options = SolveOptions {
                capacity: Some(ByteSize::new(target)),
                steps: steps.min(self.work.left),
                ..SolveOptions::default()
            };
            let packing = solve(&instance, &options, &mut || self.work.poll());
            self.work.take(packing.steps);
            if packing.height.get() < part.height {
                self.place_around(part, &core, &packing.offsets);
            }
        }
    }

    /// Returns the buffers of a part that live in sections with at least this load, in thousandths of the largest, and those
    /// with fixed offsets, which none of them may overlap.
    fn heaviest(&self, part: &Part, threshold: u64) -> Vec<u32> {
        let sections = &self.instance.sections;
        let load = |&section: &usize| u128::from(sections.loads[section]);
        let largest =
            |buffer: u32| sections.of(buffer as usize).map(|section| load(&section)).max().unwrap_or(0);
        let limit =
            part.buffers.iter().map(|&buffer| largest(buffer)).max().unwrap_or(0) * u128::from(threshold);
        let is_fixed = |buffer: u32| self.instance.buffers[buffer as usize].fixed_offset.is_some();
        (part.buffers.iter().copied())
            .filter(|&buffer| is_fixed(buffer) || largest(buffer) * 1000 >= limit)
            .collect()
    }

    /// Places the buffers of a core at their offsets and the others around them. Keeps the packing if it is lower.
    fn place_around(&mut self, part: &mut Part, core: &[u32], offsets: &[crate::HeapOffset]) {
        let desc = |buffer: u32| self.instance.buffers[buffer as usize];
        let mut placed = self.offsets.clone();
        let mut is_core = vec![false; self.instance.buffers.len()];
        let mut height = 0;
        self.greedy.clear();
        for (&buffer, &offset) in core.iter().zip(offsets) {
            let end = offset.get() + desc(buffer).size.get();
            if !self.greedy.place_at(buffer, offset.get(), end) {
                return;
            }
            placed[buffer as usize] = offset.get();
            is_core[buffer as usize] = true;
            height = height.max(end);
        }
        let others: Vec<u32> =
            part.order.iter().copied().filter(|&buffer| !is_core[buffer as usize]).collect();
        if !self.work.step() {
            return;
        }
        if let Some(top) = self.greedy.place_others(&others, part.fit, part.height, &mut placed) {
            part.height = height.max(top);
            self.offsets = placed;
            part.order = core.iter().copied().chain(others).collect();
            // First fit has to know what is fixed.
            fixed_first(self.instance, &mut part.order);
        }
    }
}

impl Instance {
    fn forget_hints(&mut self) {
        self.buffers.iter_mut().for_each(|buffer| *buffer = Buffer { hint: None, ..*buffer });
    }
}
