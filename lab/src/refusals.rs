//! Checks that rivals did the same work. A rival that refuses what others serve is fast for the wrong reason.

use std::cmp::Ordering;
use std::fmt;

use crate::interleave::Result as Best;
use crate::rival::Unfit;
use crate::rivals::HARNESS;

/// Maximum share of allocations that a rival may refuse beyond the median. Buddies round sizes up to powers of two and,
/// with two thirds of the capacity live, refuse 1.5 % of what others serve.
const MOST_REFUSED: f64 = 0.02;

/// Minimum use of a heap at refusals, relative to the median. Buddies reach three quarters of what others do.
const LEAST_FULL: f64 = 0.7;

/// The refusals of a rival in a workload.
pub trait Refusals {
    /// Returns the share of allocations that were refused; `None` for workloads that continue until a refusal.
    fn refused(&self) -> Option<f64>;

    /// Returns the used share of the capacity at refusals, for such workloads.
    fn used_at_refusals(&self) -> Option<f64> {
        None
    }
}

/// A rival that did not do the same work as the others.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    workload: String,
    rival: &'static str,
    what: What,
}

#[derive(Clone, Debug, PartialEq)]
enum What {
    Refuses {
        share: f64,
        median: f64,
    },
    IsFull {
        used: f64,
        median: f64,
    },
    /// Heapwright's suballocators must take part in all workloads.
    Unfit(Unfit),
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} ", self.workload, self.rival)?;
        match &self.what {
            What::Refuses { share, median } => write!(
                f,
                "refuses {:.1} % of the allocations, and the median of all rivals is {:.1} %",
                share * 100.0,
                median * 100.0
            ),
            What::IsFull { used, median } => write!(
                f,
                "refuses when {:.1} % of the capacity are used, and the median of all rivals is {:.1} %",
                used * 100.0,
                median * 100.0
            ),
            What::Unfit(reason) => write!(f, "does not take part: {reason}"),
        }
    }
}

/// Compares the rivals' refusals in a workload.
pub fn differences<'a, O: Refusals + 'a>(
    workload: &str,
    outcomes: impl IntoIterator<Item = (&'static str, Result<&'a O, &'a Unfit>)>,
) -> Vec<Difference> {
    let mut found = Vec::new();
    let mut add = |rival, what| found.push(Difference { workload: workload.to_owned(), rival, what });
    let (mut refused, mut used) = (Vec::new(), Vec::new());
    for (rival, outcome) in outcomes.into_iter().filter(|(rival, _)| *rival != HARNESS) {
        match outcome {
            Ok(outcome) => {
                refused.extend(outcome.refused().map(|share| (rival, share)));
                used.extend(outcome.used_at_refusals().map(|share| (rival, share)));
            }
            Err(unfit) if rival.starts_with("heapwright") => add(rival, What::Unfit(unfit.clone())),
            Err(_) => {}
        }
    }
    let of_all = median(&refused);
    // NaN means that nothing was requested, which is a difference as well.
    let refuses = |share: f64| (share - of_all).partial_cmp(&MOST_REFUSED).is_none_or(Ordering::is_gt);
    for &(rival, share) in refused.iter().filter(|(_, share)| refuses(*share)) {
        add(rival, What::Refuses { share, median: of_all });
    }
    let of_all = median(&used);
    let is_full = |share: f64| share.partial_cmp(&(of_all * LEAST_FULL)).is_none_or(Ordering::is_lt);
    for &(rival, share) in used.iter().filter(|(_, share)| is_full(*share)) {
        add(rival, What::IsFull { used: share, median: of_all });
    }
    found
}

/// Like [`differences`], for the best of several rounds.
pub fn differences_of<O: Refusals>(workload: &str, results: &[Best<O>]) -> Vec<Difference> {
    differences(workload, results.iter().map(|result| (result.name, result.outcome.as_ref())))
}

/// Returns the median; of an even number of values, the lower middle one.
fn median(shares: &[(&str, f64)]) -> f64 {
    let mut shares: Vec<f64> = shares.iter().map(|(_, share)| *share).collect();
    shares.sort_unstable_by(f64::total_cmp);
    shares.len().checked_sub(1).map_or(0.0, |last| shares[last / 2])
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Outcome(Option<f64>, Option<f64>);

    impl Refusals for Outcome {
        fn refused(&self) -> Option<f64> {
            self.0
        }

        fn used_at_refusals(&self) -> Option<f64> {
            self.1
        }
    }

    fn found(outcomes: &[(&'static str, Result<Outcome, Unfit>)]) -> Vec<String> {
        let outcomes = outcomes.iter().map(|(name, outcome)| (*name, outcome.as_ref()));
        differences("w", outcomes).iter().map(Difference::to_string).collect()
    }

    #[test]
    fn who_refuses_what_others_serve_is_named() {
        let refuses = |share| Ok(Outcome(Some(share), None));
        let alike = [("heapwright a", refuses(0.0)), ("b", refuses(0.0)), ("buddy", refuses(0.015))];
        assert_eq!(found(&alike), [""; 0]);
        let one = [("heapwright a", refuses(1.0)), ("b", refuses(0.0)), ("c", refuses(0.001))];
        let expected =
            "w: heapwright a refuses 100.0 % of the allocations, and the median of all rivals is 0.1 %";
        assert_eq!(found(&one), [expected]);
        // Refusals of the harness alone do not count.
        assert_eq!(found(&[("a", refuses(0.0)), (HARNESS, refuses(1.0))]), [""; 0]);
        assert_eq!(found(&[("a", refuses(0.0)), ("b", refuses(0.0)), ("c", refuses(f64::NAN))]).len(), 1);
    }

    #[test]
    fn who_is_full_long_before_others_is_named() {
        let is_full = |used| Ok(Outcome(None, Some(used)));
        assert_eq!(found(&[("a", is_full(0.98)), ("b", is_full(0.97)), ("buddy", is_full(0.74))]), [""; 0]);
        let expected =
            "w: a refuses when 0.0 % of the capacity are used, and the median of all rivals is 97.0 %";
        assert_eq!(found(&[("a", is_full(0.0)), ("b", is_full(0.97)), ("c", is_full(0.98))]), [expected]);
    }

    #[test]
    fn only_ours_must_take_part() {
        let outcomes =
            [("heapwright a", Err(Unfit("refuses the capacity"))), ("b", Err(Unfit("offsets have 32 bits")))];
        assert_eq!(found(&outcomes), ["w: heapwright a does not take part: refuses the capacity"]);
    }
}
