//! The results of a simulation, for people and programs.

use std::time::Duration;

use heapwright_core::ByteSize;
use heapwright_core::residency::policy::PolicyKind;
use heapwright_simulation::{Outcome, Workload};
use serde::Serialize;

/// One policy in one workload; its JSON form is stable and described by docs/output.schema.json.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct ResidencyReport {
    pub(super) workload: String,
    pub(super) policy: &'static str,
    pub(super) default: bool,
    pub(super) bytes_in: u64,
    pub(super) bytes_out: u64,
    pub(super) lower_bound_bytes: u64,
    /// Nothing where the bound is zero and something was paged in.
    pub(super) ratio: Option<f64>,
    pub(super) stalls: u64,
    pub(super) frame_ms: FrameMs,
    pub(super) stall_ms: f64,
    pub(super) longest_stall_ms: f64,
    /// All frames together.
    pub(super) simulated_ms: f64,
    pub(super) over_budget_frames: u64,
    pub(super) frames: u64,
    pub(super) submissions: u64,
    pub(super) heaps: u64,
}

/// Simulated time of a frame: median and 99th percentile, nearest rank.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct FrameMs {
    pub(super) p50: f64,
    pub(super) p99: f64,
}

impl ResidencyReport {
    pub(super) fn new(workload: &Workload, policy: PolicyKind, bound: ByteSize, outcome: &Outcome) -> Self {
        let mut times = outcome.frame_times.clone();
        times.sort_unstable();
        Self {
            workload: workload.name.clone(),
            policy: policy.name(),
            default: policy == PolicyKind::default(),
            bytes_in: outcome.bytes_in.get(),
            bytes_out: outcome.bytes_out.get(),
            lower_bound_bytes: bound.get(),
            ratio: ratio(outcome.bytes_in.get(), bound.get()),
            stalls: outcome.stalls,
            frame_ms: FrameMs { p50: percentile(&times, 50), p99: percentile(&times, 99) },
            stall_ms: milliseconds(outcome.stall_time),
            longest_stall_ms: milliseconds(outcome.longest_stall),
            simulated_ms: milliseconds(times.iter().sum()),
            over_budget_frames: outcome.over_budget_frames,
            frames: workload.frames.len() as u64,
            submissions: workload.submissions.len() as u64,
            heaps: workload.heaps.len() as u64,
        }
    }
}

/// Bytes over the bound, to four decimals: 1 when both are zero.
fn ratio(bytes: u64, bound: u64) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "four decimals need no more than 53 bits")]
    match (bytes, bound) {
        (0, 0) => Some(1.0),
        (_, 0) => None,
        (bytes, bound) => Some(round(bytes as f64 / bound as f64, 1e4)),
    }
}

/// The nearest rank.
fn percentile(sorted: &[Duration], percent: usize) -> f64 {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).map_or(0.0, |&time| milliseconds(time))
}

fn milliseconds(time: Duration) -> f64 {
    round(time.as_secs_f64() * 1e3, 1e4)
}

/// Rounds to whole parts of `parts`, so that the JSON has decimals that people can read.
fn round(number: f64, parts: f64) -> f64 {
    (number * parts).round() / parts
}

/// The policy that the default is compared with.
pub(super) const LRU: &str = "lru";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_over_nothing_is_one_and_something_over_nothing_has_no_ratio() {
        assert_eq!(ratio(0, 0), Some(1.0));
        assert_eq!(ratio(5, 0), None);
        assert_eq!(ratio(5, 4), Some(1.25));
        assert_eq!(ratio(4, 3), Some(1.3333));
    }

    #[test]
    fn percentiles_are_of_the_nearest_rank() {
        let times: Vec<Duration> = (1..=200).map(Duration::from_millis).collect();
        assert_eq!((percentile(&times, 50), percentile(&times, 99)), (100.0, 198.0));
        assert_eq!(percentile(&times[..1], 99), 1.0);
        assert_eq!(percentile(&[], 50), 0.0);
    }
}
