//! Several threads that share one suballocator.

use std::hint::black_box;
use std::sync::Barrier;
use std::time::Instant;

use heapwright_core::{Alignment, ByteSize};

use super::rounded_up;
use super::script::Operation;
use super::{Best, Effort};
use crate::random::Random;
use crate::refusals::Refusals;
use crate::rival::{SharedRival, Terms, Unfit};
use crate::rivals::SharedJob;

/// Number of live allocations of each thread.
const LIVE: u32 = 1000;

/// Numbers of threads, one for each column of the table.
pub const COUNTS: [u32; 3] = [1, 2, 4];

/// Threads that each free and allocate small sizes, like a program that records on several threads.
#[derive(Clone, Debug)]
pub struct Threads {
    terms: Terms,
    /// Warm-up and pairs of each thread.
    threads: Vec<[Vec<Operation>; 2]>,
}

/// The cost of a pair of free and allocation.
#[derive(Clone, Copy, Debug)]
pub struct Throughput {
    /// Nanoseconds from the first thread's start to the last one's end, divided by the number of pairs of all threads.
    pub nanoseconds: f64,
    /// Share of refused allocations of all threads; the maximum of all rounds.
    pub refused: f64,
}

impl Best for Throughput {
    fn keep_best(&mut self, again: Self) {
        self.nanoseconds = self.nanoseconds.min(again.nanoseconds);
        self.refused = self.refused.max(again.refused);
    }
}

impl Refusals for Throughput {
    fn refused(&self) -> Option<f64> {
        Some(self.refused)
    }
}

impl Threads {
    /// Creates the workload: 1 to 2,056 B, rounded up to the alignment of 256 B, 1,000 live in each thread.
    #[must_use]
    pub fn new(count: u32, effort: Effort) -> Self {
        let pairs = effort.pick(200_000, 50_000, 10_000);
        let alignment = Alignment::new(256).expect("a power of two");
        let threads = (0..count).map(|thread| {
            let mut random = Random::new(1000 + u64::from(thread));
            let size = |random: &mut Random| rounded_up(random.size(1, 2056), alignment);
            let warm_up =
                (0..LIVE).map(|slot| Operation::Allocate { slot, size: size(&mut random) }).collect();
            let pairs = (0..pairs).map(|_| {
                let slot = random.below(LIVE);
                [Operation::Free { slot }, Operation::Allocate { slot, size: size(&mut random) }]
            });
            [warm_up, pairs.flatten().collect()]
        });
        Self {
            terms: Terms { capacity: ByteSize::from_mib(16), alignment, most_live: LIVE * count },
            threads: threads.collect(),
        }
    }

    /// Returns the number of pairs of all threads together.
    #[must_use]
    pub fn pairs(&self) -> usize {
        self.threads.iter().map(|[_, pairs]| pairs.len() / 2).sum()
    }
}

impl SharedJob for Threads {
    type Outcome = Throughput;

    fn run<S: SharedRival>(&self) -> Result<Throughput, Unfit> {
        let rival = S::new(&self.terms)?;
        let barrier = Barrier::new(self.threads.len());
        let alignment = self.terms.alignment;
        let run = |[warm_up, pairs]: &[Vec<Operation>; 2]| {
            let mut handles: Vec<Option<S::Handle>> =
                std::iter::repeat_with(|| None).take(LIVE as usize).collect();
            let mut refused = 0_u64;
            let mut play = |operations: &[Operation]| {
                for &operation in operations {
                    match operation {
                        Operation::Allocate { slot, size } => {
                            let allocated = black_box(rival.allocate(size, alignment));
                            refused += u64::from(allocated.is_none());
                            handles[slot as usize] = allocated.map(|(handle, _)| handle);
                        }
                        Operation::Free { slot } => {
                            if let Some(handle) = handles[slot as usize].take() {
                                rival.free(handle);
                            }
                        }
                    }
                }
            };
            play(warm_up);
            barrier.wait();
            let start = Instant::now();
            play(pairs);
            let end = Instant::now();
            (start, end, refused)
        };
        let times: Vec<(Instant, Instant, u64)> = std::thread::scope(|scope| {
            let threads: Vec<_> =
                self.threads.iter().map(|operations| scope.spawn(|| run(operations))).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().expect("it was checked or does not panic"))
                .collect()
        });
        let start = times.iter().map(|&(start, ..)| start).min();
        let end = times.iter().map(|&(_, end, _)| end).max();
        let (Some(start), Some(end)) = (start, end) else { return Err(Unfit("there are no threads")) };
        let asked = self.threads.iter().flatten().flatten();
        let asked = asked.filter(|operation| matches!(operation, Operation::Allocate { .. })).count();
        let refused: u64 = times.iter().map(|&(.., refused)| refused).sum();
        Ok(Throughput {
            nanoseconds: (end - start).as_secs_f64() * 1e9 / self.pairs() as f64,
            refused: refused as f64 / asked as f64,
        })
    }
}
