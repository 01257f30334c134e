//! One rival after another, in rounds.

use std::time::{Duration, Instant};

use crate::rival::Unfit;
use crate::rivals::Entrant;
use crate::workload::Best;

/// A rival that takes longer than this for its first round is not run again: its figures are far from the others' then, and a worst
/// case of a single round may be the machine's.
const PATIENCE: Duration = Duration::from_secs(2);

/// One rival's best.
#[derive(Debug)]
pub struct Result<O> {
    /// The rival's name.
    pub name: &'static str,
    /// Its best outcome, or why it has none.
    pub outcome: std::result::Result<O, Unfit>,
}

/// Runs the job with each rival once, then with each again, `rounds` times, and keeps the best of each.
///
/// So a busy machine slows all of them down, and not one.
pub fn run<J, O: Best>(entrants: &[Entrant<J, O>], job: &J, rounds: u32) -> Vec<Result<O>> {
    let first = entrants.iter().map(|entrant| {
        let start = Instant::now();
        let outcome = (entrant.run)(job);
        (Result { name: entrant.name, outcome }, start.elapsed() < PATIENCE)
    });
    let mut results: Vec<_> = first.collect();
    for _ in 1..rounds {
        for ((result, is_quick), entrant) in results.iter_mut().zip(entrants) {
            if let (Ok(best), true) = (&mut result.outcome, *is_quick)
                && let Ok(again) = (entrant.run)(job)
            {
                best.keep_best(again);
            }
        }
    }
    results.into_iter().map(|(result, _)| result).collect()
}
