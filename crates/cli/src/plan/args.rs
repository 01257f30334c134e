//! Arguments of `heapwright plan`.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use heapwright_core::ByteSize;
use heapwright_core::units::ParseByteSizeError;

use crate::numbers::number;

/// Plan aliased memory: pack resources that do not live at the same time into the smallest heap
///
/// Reads buffers with sizes, alignments and lifetimes, and finds offsets so that buffers that live at the same time do
/// not overlap. A plan is proved optimal if its height equals a lower bound; one with few barriers is preferred.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{DETAILS}"))]
pub(crate) struct PlanArgs {
    /// CSV file with the columns lower,upper,size, or JSON file with a frame; - for standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// Size of the heap, such as 268435456 or 256MiB: stop as soon as a plan fits, and fail if none does (with --tier
    /// 2)
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true, value_parser = bytes)]
    pub(crate) capacity: Option<u64>,

    /// Time to search for a better plan, such as 500ms or 20s, or a number of steps, such as "20000 steps"
    ///
    /// With a number of steps, the plan is the same on every machine.
    #[arg(
        long,
        value_name = "BUDGET",
        default_value = "1s",
        conflicts_with = "check",
        allow_negative_numbers = true
    )]
    pub(crate) budget: Budget,

    /// Number of threads that search; with a number of steps, the plan depends on it
    #[arg(long, value_name = "COUNT", allow_negative_numbers = true, default_value_t = 1, conflicts_with = "check",
          value_parser = number(1..=256_u16))]
    pub(crate) threads: u16,

    /// How far above the bound a plan may be that keeps the hints, in thousandths
    #[arg(
        long,
        value_name = "NUMBER",
        allow_negative_numbers = true,
        default_value_t = 0,
        value_parser = number(0..=u32::MAX),
        conflicts_with = "check"
    )]
    pub(crate) hint_slack_permille: u32,

    /// Resource heap tier: 1 makes a heap for each value of the column category
    #[arg(long, value_name = "TIER", allow_negative_numbers = true, default_value_t = 2, value_parser = number(1..=2_u8))]
    pub(crate) tier: u8,

    /// Barriers of a frame's activations [default: legacy]
    #[arg(long, value_name = "MODEL", value_enum, conflicts_with = "check")]
    pub(crate) barriers: Option<BarriersArg>,

    /// Write the table with the column offset, or the frame with an offset for each resource
    #[arg(long, value_name = "FILE", conflicts_with = "check")]
    pub(crate) out: Option<PathBuf>,

    /// Check the plan in the file's offsets instead of making one
    #[arg(long)]
    pub(crate) check: bool,

    /// Print the result as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Values of `heapwright plan --barriers`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum BarriersArg {
    Legacy,
    Enhanced,
}

fn bytes(text: &str) -> Result<u64, ParseByteSizeError> {
    text.parse().map(ByteSize::get)
}

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

const EXAMPLES: &str = "\
Examples:
  heapwright plan crates/aliasing/examples/o3de_lowend_1080p.csv
  heapwright plan --budget 20000steps --tier 1 --json crates/aliasing/examples/o3de_lowend_1080p.csv
  heapwright plan --capacity 256MiB crates/aliasing/examples/o3de_lowend_1080p.csv
  heapwright plan --out plan.csv crates/aliasing/examples/o3de_lowend_1080p.csv
  heapwright plan --check plan.csv
  heapwright plan --barriers enhanced --json crates/cli/examples/frame.json";

const DETAILS: &str = "\
docs/formats.md describes the columns of tables, the keys of frames and the measurements, and
docs/output.schema.json the keys of the JSON.

Exit codes: 0 success; 1 no plan was found for the capacity, the plan that was checked is wrong or
larger, or an error occurred while writing; 2 invalid input, such as a malformed table.";

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
