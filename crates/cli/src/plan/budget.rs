//! The value of `--budget`: an amount of work.

use std::str::FromStr;
use std::time::{Duration, Instant};

/// The limits of a search, in time or in steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Budget {
    /// A time.
    Time(Duration),
    /// A number of steps, with which results are the same on every machine.
    Steps(u64),
}

impl Budget {
    /// Returns what is left of the budget until the end of one of `count` equal parts; of steps, the part itself.
    pub(super) fn part(self, number: usize, count: usize) -> Self {
        let (number, count) =
            (u32::try_from(number).unwrap_or(u32::MAX), u32::try_from(count).unwrap_or(u32::MAX));
        match self {
            Self::Time(time) => Self::Time(time / count.max(1) * number.saturating_add(1)),
            Self::Steps(steps) => Self::Steps(steps / u64::from(count.max(1))),
        }
    }

    /// Returns the number of steps, unless the budget is a time.
    pub(super) fn steps(self) -> Option<u64> {
        match self {
            Self::Time(_) => None,
            Self::Steps(steps) => Some(steps),
        }
    }

    /// Returns whether the time is over. Steps are counted by the planner.
    pub(super) fn is_over(self, start: Instant) -> bool {
        match self {
            Self::Time(time) => start.elapsed() >= time,
            Self::Steps(_) => false,
        }
    }
}

impl FromStr for Budget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = "expected a time such as 500ms or 20s, or a number of steps such as \"20000 steps\"";
        let steps = text.strip_suffix("steps").or(text.strip_suffix("step"));
        let budget = match steps {
            Some(number) => number.trim_end().parse().ok().map(Self::Steps),
            None => humantime::parse_duration(text).ok().map(Self::Time),
        };
        budget.ok_or_else(|| expected.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_are_times_or_steps() {
        assert_eq!("20s".parse(), Ok(Budget::Time(Duration::from_secs(20))));
        assert_eq!("1s 500us".parse(), Ok(Budget::Time(Duration::from_micros(1_000_500))));
        assert_eq!("1000 steps".parse(), Ok(Budget::Steps(1000)));
        assert_eq!("1step".parse(), Ok(Budget::Steps(1)));
        for wrong in ["", "s", "-1s", "1e400s", "nans", "steps", "-4 steps", "60"] {
            assert!(wrong.parse::<Budget>().is_err(), "{wrong}");
        }
    }
}
