//! Runs a scenario with a policy, and counts what is paged.

use heapwright_core::ByteSize;
use heapwright_core::residency::offline::{Beginning, Sequence};
use heapwright_core::residency::policy::{
    Admission, EvictionPolicy, HeapSlot, Moment, Withdrawal, spare_unneeded,
};

/// Submissions and what they use, heaps by their place in `heaps`.
#[derive(Debug, Clone)]
pub(crate) struct Scenario {
    pub(crate) name: String,
    pub(crate) heaps: Vec<Heap>,
    pub(crate) submissions: Vec<Submission>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Heap {
    pub(crate) size: u64,
    pub(crate) beginning: Beginning,
    /// It is destroyed after its last use.
    pub(crate) transient: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Submission {
    pub(crate) budget: u64,
    pub(crate) heaps: Vec<usize>,
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Outcome {
    pub(crate) bytes_in: u64,
    /// Given up ahead of need.
    pub(crate) bytes_ahead: u64,
    /// Submissions that had to wait for the GPU, as what it was still using had to go.
    pub(crate) stalls: u64,
}

/// The GPU may still be in the submission that is so many before the current one.
const IN_FLIGHT: u64 = 2;

impl Scenario {
    pub(crate) fn sequence(&self) -> Sequence {
        let mut sequence = Sequence::new();
        let heaps: Vec<_> =
            self.heaps.iter().map(|heap| sequence.heap(ByteSize::new(heap.size), heap.beginning)).collect();
        for submission in &self.submissions {
            sequence
                .submission(
                    ByteSize::new(submission.budget),
                    submission.heaps.iter().map(|&heap| heaps[heap]),
                )
                .expect("every heap is of this sequence");
        }
        sequence
    }

    /// Pages as a residency manager would: each submission's heaps are resident together, what the GPU uses stays, and where
    /// that is too much it is waited for.
    ///
    /// Ahead of need up to that share of the budget goes after each submission, where it is not 0.
    pub(crate) fn run(&self, policy: &mut dyn EvictionPolicy, ahead: f64) -> Outcome {
        let mut outcome = Outcome::default();
        let mut last_use = vec![0; self.heaps.len()];
        for (number, submission) in self.submissions.iter().enumerate() {
            for &heap in &submission.heaps {
                last_use[heap] = number;
            }
        }
        let mut resident = vec![false; self.heaps.len()];
        let mut used = vec![None; self.heaps.len()];
        let mut usage = 0;
        let slot = |heap: usize| HeapSlot::new(u32::try_from(heap).expect("few heaps"));
        let size_of = |heap: HeapSlot| ByteSize::new(self.heaps[heap.index()].size);
        let at = |submission: u64| Moment {
            submission,
            // 60 submissions a second.
            time: std::time::Duration::from_micros(submission * 16_667),
        };
        for (heap, row) in self.heaps.iter().enumerate() {
            if row.beginning == Beginning::Resident {
                resident[heap] = true;
                usage += row.size;
                policy.admit(slot(heap), ByteSize::new(row.size), Admission::Created, at(0));
            }
        }
        let mut missing = Vec::new();
        let mut victims = Vec::new();
        for (number, submission) in self.submissions.iter().enumerate() {
            let number_64 = number as u64 + 1;
            let now = at(number_64);
            missing.clear();
            let mut coming = 0;
            for &heap in &submission.heaps {
                let began = used[heap].replace(number_64).is_some();
                if resident[heap] {
                    policy.touch(slot(heap), now);
                } else {
                    coming += self.heaps[heap].size;
                    missing.push((heap, began));
                }
            }
            for waited in [false, true] {
                let need = (usage + coming).saturating_sub(submission.budget);
                if need == 0 {
                    break;
                }
                victims.clear();
                policy.choose(ByteSize::new(need), now, &mut |heap| {
                    let last = used[heap.index()].unwrap_or(0);
                    let in_use = last == number_64 || (!waited && last != 0 && last + IN_FLIGHT >= number_64);
                    assert!(resident[heap.index()], "{} is not held", heap.get());
                    (!in_use).then(|| {
                        victims.push(heap);
                        size_of(heap)
                    })
                });
                spare_unneeded(&mut victims, ByteSize::new(need), size_of);
                outcome.stalls += u64::from(waited && !victims.is_empty());
                for &victim in &victims {
                    assert!(std::mem::take(&mut resident[victim.index()]), "chosen twice");
                    usage -= self.heaps[victim.index()].size;
                    policy.withdraw(victim, Withdrawal::Evicted, now);
                }
            }
            if ahead > 0.0 && submission.budget > 0 {
                victims.clear();
                let limit = ByteSize::new((submission.budget as f64 * ahead) as u64);
                let fullness = (usage + coming) as f64 / submission.budget as f64;
                let mut idle = |heap: HeapSlot| {
                    let last = used[heap.index()].unwrap_or(0);
                    (last == 0 || last + IN_FLIGHT < number_64).then(|| {
                        victims.push(heap);
                        size_of(heap)
                    })
                };
                policy.choose_ahead(limit, fullness, now, &mut idle);
                for &victim in &victims {
                    assert!(std::mem::take(&mut resident[victim.index()]), "chosen twice");
                    usage -= self.heaps[victim.index()].size;
                    outcome.bytes_ahead += self.heaps[victim.index()].size;
                    policy.withdraw(victim, Withdrawal::Evicted, now);
                }
            }
            for &(heap, began) in &missing {
                resident[heap] = true;
                let row = &self.heaps[heap];
                usage += row.size;
                let created = !began && row.beginning == Beginning::Created;
                if !created {
                    outcome.bytes_in += row.size;
                }
                let cause = if created { Admission::Created } else { Admission::PagedIn };
                policy.admit(slot(heap), ByteSize::new(row.size), cause, now);
            }
            for &heap in &submission.heaps {
                if last_use[heap] == number
                    && self.heaps[heap].transient
                    && std::mem::take(&mut resident[heap])
                {
                    usage -= self.heaps[heap].size;
                    policy.forget(slot(heap));
                }
            }
        }
        outcome
    }
}
