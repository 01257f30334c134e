//! Every suballocator, with values, compared with an interval map.
//!
//! After each step, checks the audit, every range and counter against the map, the values against their
//! suballocations, and the number of instances of each value. A refused step must change nothing. Once
//! everything is freed, the suballocator must look and behave like a new one.
#![no_main]

#[allow(dead_code, reason = "the tests of the crate use the rest")]
#[path = "../../crates/core/tests/suballoc/interval_map.rs"]
mod interval_map;
#[allow(dead_code, reason = "the tests of the crate use the rest")]
#[path = "../../crates/core/tests/suballoc/shadowed.rs"]
mod shadowed;

use arbitrary::Arbitrary;
use heapwright_core::suballoc::FreeRangeChoice;
use heapwright_core::{Alignment, ByteSize};
use libfuzzer_sys::fuzz_target;
use shadowed::{Algorithm, Request, Shadowed};

/// A size with a bias towards interesting values: all magnitudes up to a tebibyte, and neighbours of powers of
/// two.
#[derive(Clone, Copy, Debug, Arbitrary)]
enum Size {
    Small(u8),
    Medium(u16),
    Power {
        log2: u8,
        off_by: i8,
    },
    Magnitude {
        log2: u8,
        bits: u64,
    },
    /// A multiple of an eighth of the capacity.
    Eighths(u8),
    Zero,
    Any(u64),
}

impl Size {
    const LARGEST_LOG2: u8 = 40;

    fn get(self, capacity: u64) -> u64 {
        match self {
            Self::Small(size) => u64::from(size) + 1,
            Self::Medium(size) => u64::from(size) + 1,
            Self::Power { log2, off_by } => {
                (1_u64 << (log2 % (Self::LARGEST_LOG2 + 1))).saturating_add_signed((off_by % 4).into())
            }
            Self::Magnitude { log2, bits } => {
                let power = 1_u64 << (log2 % (Self::LARGEST_LOG2 + 1));
                power | (bits & (power - 1))
            }
            Self::Eighths(count) => capacity / 8 * u64::from(count % 9),
            Self::Zero => 0,
            Self::Any(size) => size,
        }
    }
}

#[derive(Clone, Copy, Debug, Arbitrary)]
struct Input {
    size: Size,
    alignment_log2: u8,
    /// Selects the strategy and the end.
    extra: u8,
}

impl Input {
    fn get(self, capacity: u64) -> Request {
        // Mostly 1 B to 4 MiB; sometimes any alignment, and often none.
        let log2 = match self.alignment_log2 {
            log2 @ 0..=191 => log2 % 23,
            log2 @ 192..=199 => 23 + (log2 - 192) * 5,
            _ => 0,
        };
        let alignment = Alignment::from_log2(log2.into()).expect("63 at most");
        let strategy = match self.extra % 8 {
            1 => FreeRangeChoice::MinTime,
            2 => FreeRangeChoice::MinOffset,
            _ => FreeRangeChoice::MinMemory,
        };
        let upper = (3..=5).contains(&(self.extra % 8));
        Request { size: ByteSize::new(self.size.get(capacity)), alignment, strategy, upper }
    }
}

#[derive(Clone, Copy, Debug, Arbitrary)]
enum Order {
    LowestFirst,
    HighestFirst,
    OldestFirst,
    NewestFirst,
    /// Every second one, then the rest.
    EverySecond,
    /// By a stride through the remaining ones.
    Stride(u8),
}

#[derive(Clone, Copy, Debug, Arbitrary)]
enum Step {
    Allocate(Input),
    /// The same request until it is refused, or this many times.
    Fill(Input, u8),
    Free {
        index: u16,
    },
    FreeAgain {
        index: u16,
    },
    FreeMany(Order, u8),
    Clear,
    /// Submits with the last submitted value plus this.
    Submit(i8),
    /// Retires at the last submitted value plus this.
    Retire(i8),
}

fn free_many(shadowed: &mut Shadowed, order: Order, count: usize) {
    for _ in 0..count.min(shadowed.live.len()) {
        let start = |at: &usize| shadowed.live[*at].made.range.start();
        let length = shadowed.live.len();
        let at = match order {
            Order::LowestFirst => (0..length).min_by_key(start),
            Order::HighestFirst => (0..length).max_by_key(start),
            Order::OldestFirst => Some(0),
            Order::NewestFirst => length.checked_sub(1),
            Order::EverySecond => (0..length).rev().find(|&at| shadowed.live[at].number % 2 == 1).or(Some(0)),
            Order::Stride(stride) => Some(usize::from(stride) % length),
        };
        shadowed.free(at.expect("there are some"));
    }
}

fuzz_target!(|input: (bool, Size, Vec<Step>, Order)| {
    let (is_linear, capacity, steps, last_order) = input;
    let algorithm = if is_linear { Algorithm::Linear } else { Algorithm::Tlsf };
    let capacity = capacity.get(1 << 41);
    let Some(mut shadowed) = Shadowed::new(algorithm, capacity) else { return };
    let mut requests = Vec::new();
    shadowed.check();
    for step in steps.into_iter().take(150) {
        match step {
            Step::Allocate(request) => {
                requests.push(request.get(capacity));
                let _ = shadowed.allocate(&request.get(capacity));
            }
            Step::Fill(request, count) => {
                let request = request.get(capacity);
                requests.push(request);
                for _ in 0..count {
                    // More would only take longer.
                    if shadowed.live.len() >= 400 || shadowed.allocate(&request).is_err() {
                        break;
                    }
                }
            }
            Step::Free { index } if !shadowed.live.is_empty() => {
                shadowed.free(usize::from(index) % shadowed.live.len());
            }
            Step::FreeAgain { index } if !shadowed.stale.is_empty() => {
                shadowed.free_again(usize::from(index) % shadowed.stale.len());
            }
            Step::FreeMany(order, count) => free_many(&mut shadowed, order, count.into()),
            Step::Clear => shadowed.clear(),
            Step::Submit(ahead) => shadowed.submit(shadowed.fence(ahead)),
            Step::Retire(ahead) => shadowed.retire(shadowed.fence(ahead)),
            Step::Free { .. } | Step::FreeAgain { .. } => {}
        }
        shadowed.check();
    }
    free_many(&mut shadowed, last_order, usize::MAX);
    shadowed.check();
    shadowed.compare_with_fresh(&requests);
});
