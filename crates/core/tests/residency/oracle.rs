//! A policy that knows the future.

use std::collections::BTreeSet;

use heapwright_core::ByteSize;
use heapwright_core::residency::policy::{Admission, EvictionPolicy, HeapSlot, Moment, Withdrawal};

use crate::simulation::Scenario;

/// Lets go the heap whose next use is farthest away: what a policy could do at best, more or less, as it has to leave alone what the
/// GPU still uses.
#[derive(Debug)]
pub(crate) struct Oracle {
    /// The submissions that use each heap, the last first.
    uses: Vec<Vec<u64>>,
    held: BTreeSet<(u64, HeapSlot)>,
}

impl Oracle {
    pub(crate) fn new(scenario: &Scenario) -> Self {
        let mut uses = vec![Vec::new(); scenario.heaps.len()];
        for (number, submission) in scenario.submissions.iter().enumerate().rev() {
            for &heap in &submission.heaps {
                uses[heap].push(number as u64 + 1);
            }
        }
        Self { uses, held: BTreeSet::new() }
    }

    fn next(&self, heap: HeapSlot) -> u64 {
        self.uses[heap.index()].last().copied().unwrap_or(u64::MAX)
    }

    fn remove(&mut self, heap: HeapSlot) {
        self.held.remove(&(self.next(heap), heap));
    }
}

impl EvictionPolicy for Oracle {
    fn admit(&mut self, heap: HeapSlot, _size: ByteSize, _cause: Admission, now: Moment) {
        self.touch(heap, now);
    }

    fn touch(&mut self, heap: HeapSlot, now: Moment) {
        self.remove(heap);
        while self.next(heap) <= now.submission {
            self.uses[heap.index()].pop();
        }
        self.held.insert((self.next(heap), heap));
    }

    fn withdraw(&mut self, heap: HeapSlot, _cause: Withdrawal, _now: Moment) {
        self.remove(heap);
    }

    fn forget(&mut self, heap: HeapSlot) {
        self.remove(heap);
    }

    fn choose(&mut self, need: ByteSize, _now: Moment, evict: &mut dyn FnMut(HeapSlot) -> Option<ByteSize>) {
        let mut chosen = ByteSize::ZERO;
        for &(_, heap) in self.held.iter().rev() {
            if chosen >= need {
                break;
            }
            if let Some(size) = evict(heap) {
                chosen = chosen.saturating_add(size);
            }
        }
    }
}
