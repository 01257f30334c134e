//! Measures the growth of an operation's cost with the number of live allocations.

use heapwright_core::{Alignment, ByteSize};

use super::Effort;
use super::script::{Operation, Script};
use crate::random::Random;
use crate::rival::Terms;

/// Number of slots that the second pass uses.
const NEAR: u32 = 1000;

/// Returns the numbers of live allocations, one for each column of the table.
#[must_use]
pub fn live_counts(effort: Effort) -> &'static [u32] {
    const ALL: &[u32] = &[1000, 10_000, 100_000, 1_000_000, 10_000_000];
    effort.pick(ALL, &ALL[..3], &ALL[..2])
}

/// Creates the script: 1 to 2,056 B at alignment 16 (which allows the fastest of VMA's paths), half of the capacity
/// live.
///
/// The first pass replaces any live allocation. The more are live, the more of what it touches is not in the
/// processor's caches, so part of the growth is due to memory. The second pass replaces only some of 1,000, which stay
/// in the caches: its growth is due to the algorithm.
#[must_use]
pub fn churn_of(live: u32, effort: Effort) -> Script {
    let pairs = effort.pick(50_000, 10_000, 10_000);
    let mut random = Random::new(5);
    let mut warm_up: Vec<_> =
        (0..live).map(|slot| Operation::Allocate { slot, size: random.size(1, 2056) }).collect();
    // Creates holes everywhere, as after a long run, instead of one free range at the end.
    for _ in 0..live {
        let slot = random.below(live);
        warm_up.extend([Operation::Free { slot }, Operation::Allocate { slot, size: random.size(1, 2056) }]);
    }
    let passes = [live, NEAR].map(|slots| {
        let pairs = (0..pairs).map(|_| {
            let slot = random.below(slots);
            [Operation::Free { slot }, Operation::Allocate { slot, size: random.size(1, 2056) }]
        });
        pairs.flatten().collect()
    });
    Script {
        name: format!("{live} live"),
        terms: Terms {
            capacity: ByteSize::new(u64::from(live.next_power_of_two()) * 2048),
            alignment: Alignment::new(16).expect("a power of two"),
            most_live: live,
        },
        slots: live as usize,
        warm_up,
        passes: passes.into(),
        repeats: 3,
    }
}
