//! Runs rivals alternately, in rounds.

use std::time::{Duration, Instant};

use crate::rival::Unfit;
use crate::rivals::Entrant;
use crate::workload::Best;

/// Rivals whose first round takes longer are not repeated. Their figures are far from the others', and the worst case
/// of a single round may be due to the machine.
const PATIENCE: Duration = Duration::from_secs(2);

/// The best outcome of one rival.
#[derive(Debug)]
pub struct Result<O> {
    /// Name of the rival.
    pub name: &'static str,
    /// Its best outcome, or the reason why it has none.
    pub outcome: std::result::Result<O, Unfit>,
}

/// Runs the job with each rival in turn, `rounds` times, and returns the best outcome of each. Slow rivals run only
/// once.
///
/// Because rivals alternate, other load of the machine affects all of them equally.
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
