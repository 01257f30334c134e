//! Hints: offsets of an earlier plan, which buffers keep if the packing is low enough.

use super::instance::{Buffer, LIMIT};
use super::solve::{Part, Planner, SolveOptions, solve};
use crate::ByteSize;

/// Steps of a search for places around buffers that keep their hints; at most an eighth of those that are left.
const STEPS: u64 = 20_000;

impl Planner<'_, '_> {
    /// Keeps the buffers of a part at their hints if there is a packing that fits into the capacity or, without one, is at
    /// most [`SolveOptions::hint_slack_permille`] above `bound`, which the heap has anyway: at first all of them, then all but
    /// those that conflict with a buffer that has to move. Otherwise keeps them if the packing is no higher than that of
    /// first fit.
    pub(super) fn keep_hints(&mut self, part: &mut Part, bound: u64) {
        let instance = self.instance;
        if part.buffers.iter().all(|&buffer| instance.buffers[buffer as usize].hint.is_none()) {
            return;
        }
        let slack = u128::from(bound) * u128::from(self.options.hint_slack_permille) / 1000;
        let enough = match self.options.capacity {
            Some(capacity) => capacity.get().max(bound),
            None => bound.saturating_add(u64::try_from(slack).unwrap_or(u64::MAX)),
        };
        // Hints are not checked. A buffer is not kept at one where sums of offsets and sizes can overflow.
        let enough = enough.min(LIMIT - 1);
        let (mut kept, others, is_placed) = self.place_at_hints(part, enough.max(part.height).min(LIMIT - 1));
        if is_placed && part.height <= enough {
            part.enough = enough;
            return;
        }
        // In a large part, a step takes too long for a search.
        if others.is_empty() || self.is_large(part) {
            return;
        }
        let mut is_found = self.search_around(part, &kept, enough);
        if !is_found {
            let moves = |buffer: &u32| {
                others.iter().any(|&other| instance.conflict(*buffer as usize, other as usize))
            };
            kept.retain(|buffer| !moves(buffer));
            is_found = self.search_around(part, &kept, enough);
        }
        if is_found {
            part.enough = enough;
        }
    }

    /// Places buffers at their hints, and the others around them by first fit. Keeps the packing if it is at most `limit`
    /// high. Returns the buffers that are at their hints, the others, and whether the packing is kept.
    fn place_at_hints(&mut self, part: &mut Part, limit: u64) -> (Vec<u32>, Vec<u32>, bool) {
        let instance = self.instance;
        let mut placed = self.offsets.clone();
        let (mut height, mut kept, mut others) = (0, Vec::new(), Vec::new());
        self.greedy.clear();
        // Buffers with a fixed offset are the first of the order.
        for &buffer in &part.order {
            let Buffer { size, alignment, fixed_offset, hint } = instance.buffers[buffer as usize];
            let end = |offset: u64| offset.saturating_add(size.get());
            let wanted = fixed_offset.or(hint).filter(|offset| offset.is_aligned(alignment));
            match wanted.map(crate::HeapOffset::get).filter(|&offset| end(offset) <= limit) {
                Some(offset) if self.greedy.place_at(buffer, offset, end(offset)) => {
                    placed[buffer as usize] = offset;
                    height = height.max(end(offset));
                    kept.push(buffer);
                }
                _ => others.push(buffer),
            }
        }
        let top = self.greedy.place_others(&others, part.fit, limit.saturating_add(1), &mut placed);
        if let Some(top) = top {
            self.offsets = placed;
            part.height = height.max(top);
        }
        (kept, others, top.is_some())
    }

    /// Searches for a packing of at most this height in which some buffers have the offsets of their hints. Returns whether
    /// there is one.
    fn search_around(&mut self, part: &mut Part, kept: &[u32], limit: u64) -> bool {
        let mut instance = self.instance.subset(&part.buffers);
        let mut is_kept = vec![false; self.instance.buffers.len()];
        kept.iter().for_each(|&buffer| is_kept[buffer as usize] = true);
        for (&number, buffer) in part.buffers.iter().zip(&mut instance.buffers) {
            let hint = buffer.hint.take().filter(|_| is_kept[number as usize]);
            buffer.fixed_offset = buffer.fixed_offset.or(hint);
            if hint.is_some_and(|offset| offset.get().saturating_add(buffer.size.get()) > limit) {
                return false;
            }
        }
        let options = SolveOptions {
            capacity: Some(ByteSize::new(limit)),
            steps: STEPS.min(self.work.left / 8),
            hint_slack_permille: 0,
            ..self.options
        };
        let packing = solve(&instance, &options, &mut || self.work.poll());
        self.work.take(packing.steps);
        let height = packing.height.get();
        if height > limit {
            return false;
        }
        for (&buffer, offset) in part.buffers.iter().zip(&packing.offsets) {
            self.offsets[buffer as usize] = offset.get();
        }
        part.height = height;
        true
    }
}
