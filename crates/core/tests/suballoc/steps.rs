//! Random steps for a suballocator and its interval map.

use crate::shadowed::{Request, Shadowed};
use heapwright_core::suballoc::FreeRangeChoice;
use heapwright_core::{Alignment, ByteSize};
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// The number of cases per property, and the maximum number of steps per case. Miri takes a thousand times as
/// long.
const CASES: u32 = if cfg!(miri) { 4 } else { 192 };
pub(crate) const STEPS: usize = if cfg!(miri) { 25 } else { 120 };

pub(crate) fn config() -> ProptestConfig {
    ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() }
}

pub(crate) fn alignment(log2: u32) -> Alignment {
    Alignment::from_log2(log2).unwrap()
}

/// A call of a suballocator.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Allocate(Request),
    Free(Index),
    /// Frees the one that was allocated first.
    FreeOldest,
    FreeAgain(Index),
    Clear,
    /// Submits this much above or below the last value.
    Submit(i8),
    /// Retires up to this much above or below the last submitted value.
    Retire(i8),
}

/// Generates sizes of all magnitudes up to `largest`, with powers of two and their neighbours more often.
pub(crate) fn sizes(largest_log2: u32) -> impl Strategy<Value = u64> {
    let magnitude = 0..=largest_log2;
    prop_oneof![
        4 => (magnitude.clone(), any::<u64>()).prop_map(|(log2, bits)| (1 << log2) | (bits & ((1 << log2) - 1))),
        2 => (magnitude, 0_u64..3).prop_map(|(log2, off_by)| ((1_u64 << log2) + off_by).saturating_sub(1).max(1)),
        1 => 1_u64..300,
    ]
}

/// Generates requests, including such that can never succeed; at the upper end none, some, or half of them.
fn requests(largest_log2: u32, largest_alignment_log2: u32, upper: f64) -> impl Strategy<Value = Request> {
    let size = prop_oneof![
        12 => (sizes(largest_log2), prop_oneof![Just(0), 0..=largest_alignment_log2]),
        1 => Just((0, 4)),
        1 => Just((u64::MAX, 63)),
    ];
    use FreeRangeChoice::{MinMemory, MinOffset, MinTime};
    (size, select(vec![MinMemory, MinTime, MinOffset]), prop::bool::weighted(upper)).prop_map(
        |((size, log2), strategy, upper)| Request {
            size: ByteSize::new(size),
            alignment: alignment(log2),
            strategy,
            upper,
        },
    )
}

/// Generates calls in any order.
pub(crate) fn steps(largest_log2: u32, largest_alignment_log2: u32) -> impl Strategy<Value = Vec<Step>> {
    select(vec![0.0, 0.1, 0.5]).prop_flat_map(move |upper| {
        let step = prop_oneof![
            56 => requests(largest_log2, largest_alignment_log2, upper).prop_map(Step::Allocate),
            20 => any::<Index>().prop_map(Step::Free),
            10 => Just(Step::FreeOldest),
            4 => any::<Index>().prop_map(Step::FreeAgain),
            1 => Just(Step::Clear),
            8 => (-1_i8..4).prop_map(Step::Submit),
            3 => (-6_i8..2).prop_map(Step::Retire),
        ];
        prop::collection::vec(step, 0..STEPS)
    })
}

impl Shadowed {
    /// Makes a call, and checks everything after it.
    pub(crate) fn perform(&mut self, step: &Step) {
        match *step {
            Step::Allocate(request) => {
                let _ = self.allocate(&request);
                return;
            }
            Step::Free(at) if !self.live.is_empty() => self.free(at.index(self.live.len())),
            Step::FreeOldest if !self.live.is_empty() => self.free(0),
            Step::FreeAgain(at) if !self.stale.is_empty() => self.free_again(at.index(self.stale.len())),
            Step::Free(_) | Step::FreeOldest | Step::FreeAgain(_) => {}
            Step::Clear => self.clear(),
            Step::Submit(ahead) => self.submit(self.fence(ahead)),
            Step::Retire(ahead) => self.retire(self.fence(ahead)),
        }
        self.check();
    }
}
