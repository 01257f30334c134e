//! The results of a simulation, for people and programs.

use std::time::Duration;

use heapwright_core::ByteSize;
use heapwright_core::residency::policy::PolicyKind;
use heapwright_simulation::Policy;
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
    pub(super) fn new(workload: &Workload, policy: Policy, bound: ByteSize, outcome: &Outcome) -> Self {
        let mut times = outcome.frame_times.clone();
        times.sort_unstable();
        Self {
            workload: workload.name.clone(),
            policy: policy.name(),
            default: policy == PolicyKind::default().into(),
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

/// Geometric mean and maximum.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct MeanAndMax {
    pub(super) mean: f64,
    pub(super) max: f64,
}

impl MeanAndMax {
    /// Returns nothing for no ratio.
    fn of(ratios: impl Iterator<Item = f64>) -> Option<Self> {
        let (mut logarithms, mut max, mut count) = (0.0, 0.0_f64, 0_u32);
        for ratio in ratios {
            logarithms += ratio.ln();
            max = max.max(ratio);
            count += 1;
        }
        (count > 0).then(|| Self { mean: (logarithms / f64::from(count)).exp(), max })
    }
}

/// A policy over all workloads.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Summary {
    pub(super) policy: &'static str,
    pub(super) default: bool,
    /// Over the lower bound.
    pub(super) of_bound: Option<MeanAndMax>,
    /// The number of workloads without a ratio, which are not in `of_bound`.
    pub(super) without: usize,
    pub(super) of_best: Option<MeanAndMax>,
    pub(super) of_lru: Option<MeanAndMax>,
    pub(super) bytes_in: u64,
    pub(super) longest_stall_ms: f64,
}

/// The policy that the others are compared with.
pub(super) const LRU: &str = "lru";

/// The bytes that are added to those of two policies before they are compared.
const LITTLE: u64 = 64 << 20;

/// Summarizes the reports of each policy over all workloads, in the order of the policies' first reports.
pub(super) fn summarize(workloads: &[Vec<ResidencyReport>]) -> Vec<Summary> {
    let mut policies: Vec<&'static str> = Vec::new();
    for report in workloads.iter().flatten() {
        if !policies.contains(&report.policy) {
            policies.push(report.policy);
        }
    }
    policies.into_iter().map(|policy| summarize_policy(policy, workloads)).collect()
}

fn summarize_policy(policy: &'static str, workloads: &[Vec<ResidencyReport>]) -> Summary {
    let reports = workloads.iter().flatten();
    let of_policy: Vec<&ResidencyReport> = reports.filter(|report| report.policy == policy).collect();
    let (mut of_best, mut of_lru) = (Vec::new(), Vec::new());
    for workload in workloads {
        let Some(own) = workload.iter().find(|report| report.policy == policy) else { continue };
        let best = workload.iter().map(|report| report.bytes_in).min().unwrap_or(0);
        of_best.push(compared(own.bytes_in, best));
        let lru = workload.iter().find(|report| report.policy == LRU);
        of_lru.extend(lru.map(|lru| compared(own.bytes_in, lru.bytes_in)));
    }
    Summary {
        policy,
        default: of_policy.iter().any(|report| report.default),
        of_bound: MeanAndMax::of(of_policy.iter().filter_map(|report| report.ratio)),
        without: of_policy.iter().filter(|report| report.ratio.is_none()).count(),
        of_best: MeanAndMax::of(of_best.into_iter()),
        of_lru: MeanAndMax::of(of_lru.into_iter()),
        bytes_in: of_policy.iter().fold(0, |sum, report| sum.saturating_add(report.bytes_in)),
        longest_stall_ms: of_policy.iter().map(|report| report.longest_stall_ms).fold(0.0, f64::max),
    }
}

#[expect(clippy::cast_precision_loss, reason = "three decimals need no more than 53 bits")]
fn compared(bytes: u64, with: u64) -> f64 {
    bytes.saturating_add(LITTLE) as f64 / with.saturating_add(LITTLE) as f64
}

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

    #[test]
    fn a_policy_is_summarized_over_all_workloads() {
        let of = |workload: &str, policy, mib: u64, ratio| ResidencyReport {
            workload: workload.to_owned(),
            policy,
            bytes_in: mib << 20,
            ..report(ratio)
        };
        // Two sessions may have the same name.
        let reports = [
            vec![of("a", "next-use", 192, Some(1.0)), of("a", "lru", 64, Some(1.0))],
            vec![of("a", "next-use", 0, Some(4.0)), of("a", "lru", 192, None)],
        ];
        let [next_use, lru] = &summarize(&reports)[..] else { panic!() };
        let near = |found: Option<MeanAndMax>, mean: f64, max: f64| {
            let found = found.unwrap();
            assert!((found.mean - mean).abs() < 1e-12 && (found.max - max).abs() < 1e-12, "{found:?}");
        };
        assert_eq!((next_use.policy, next_use.bytes_in, next_use.without), ("next-use", 192 << 20, 0));
        near(next_use.of_bound, 2.0, 4.0);
        near(next_use.of_best, 2.0_f64.sqrt(), 2.0);
        near(next_use.of_lru, 0.5_f64.sqrt(), 2.0);
        assert_eq!((lru.policy, lru.without), ("lru", 1));
        near(lru.of_best, 2.0, 4.0);
        near(lru.of_lru, 1.0, 1.0);
        assert!(summarize(&[]).is_empty());
        let huge = ResidencyReport { bytes_in: u64::MAX, ..report(None) };
        let [summary] = &summarize(&[vec![huge.clone()], vec![huge]])[..] else { panic!() };
        assert_eq!(summary.bytes_in, u64::MAX);
        near(summary.of_lru, 1.0, 1.0);
    }

    fn report(ratio: Option<f64>) -> ResidencyReport {
        ResidencyReport {
            workload: "s".to_owned(),
            policy: "lru",
            default: false,
            bytes_in: 5,
            bytes_out: 3,
            lower_bound_bytes: 4,
            ratio,
            stalls: 2,
            frame_ms: FrameMs { p50: 16.5, p99: 33.0 },
            stall_ms: 1.5,
            longest_stall_ms: 1.0,
            simulated_ms: 170.0,
            over_budget_frames: 0,
            frames: 10,
            submissions: 20,
            heaps: 7,
        }
    }
}
