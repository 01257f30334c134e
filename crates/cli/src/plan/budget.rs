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
        let expected = || "expected a time such as 500ms or 20s, or a number of steps".to_owned();
        let seconds = |number: &str, unit: f64| {
            let number: f64 = number.parse().map_err(|_| expected())?;
            Duration::try_from_secs_f64(number * unit).map(Self::Time).map_err(|_| expected())
        };
        if let Some(number) = text.strip_suffix("ms") {
            seconds(number, 0.001)
        } else if let Some(number) = text.strip_suffix('s') {
            seconds(number, 1.0)
        } else {
            text.parse().map(Self::Steps).map_err(|_| expected())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_are_times_or_steps() {
        assert_eq!("20s".parse(), Ok(Budget::Time(Duration::from_secs(20))));
        assert_eq!("0.5ms".parse(), Ok(Budget::Time(Duration::from_micros(500))));
        assert_eq!("1000".parse(), Ok(Budget::Steps(1000)));
        for wrong in ["", "s", "-1s", "1e400s", "nans", "12 steps", "-4"] {
            assert!(wrong.parse::<Budget>().is_err(), "{wrong}");
        }
    }
}
