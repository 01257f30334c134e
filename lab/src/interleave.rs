//! Runs rivals alternately, in rounds.

use std::time::{Duration, Instant};

use crate::rivals::Entrant;
use crate::workload::Best;

/// Rivals whose first round takes longer are not repeated. Their figures are far from the others', and the worst case
/// of a single round may be due to the machine.
const PATIENCE: Duration = Duration::from_secs(2);

/// Runs the job with each rival in turn, `rounds` times, and returns the best outcome of each. Slow rivals run only
/// once.
///
/// Because rivals alternate, other load of the machine affects all of them equally.
pub fn run<J, O: Best>(entrants: &[Entrant<J, O>], job: &J, rounds: u32) -> Vec<O> {
    let first = entrants.iter().map(|entrant| {
        let start = Instant::now();
        ((entrant.run)(job), start.elapsed() < PATIENCE)
    });
    let mut results: Vec<_> = first.collect();
    for _ in 1..rounds {
        for ((best, is_quick), entrant) in results.iter_mut().zip(entrants) {
            if *is_quick {
                best.keep_best((entrant.run)(job));
            }
        }
    }
    results.into_iter().map(|(best, _)| best).collect()
}
