//! Measurements of a replay.

use serde::Serialize;

use super::configuration::Configuration;
use super::timing::Percentiles;

/// Measurements for one trace. The JSON form is stable and described by docs/output.schema.json.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct ReplayReport {
    /// Name of the file without `.csv` or `.csv.gz`.
    pub(crate) trace: String,
    /// Configuration of the allocator.
    pub(crate) configuration: Configuration,
    /// Number of allocations and frees.
    pub(crate) events: u64,
    pub(crate) allocations: u64,
    /// Maximum of the live bytes, with the sizes that the trace requests.
    pub(crate) peak_live_bytes: u64,
    /// Maximum of the bytes in the allocator's heaps after an event.
    pub(crate) peak_reserved_bytes: u64,
    /// Peak reserved / peak live, or `None` if peak live is 0 or allocations failed.
    pub(crate) overhead: Option<f64>,
    /// Mean of the live bytes after each event.
    pub(crate) mean_live_bytes: u64,
    /// Mean of the bytes in the allocator's heaps after each event.
    pub(crate) mean_reserved_bytes: u64,
    /// Mean reserved / mean live, or `None` if mean live is 0.
    pub(crate) mean_overhead: Option<f64>,
    /// As `mean_overhead`, but each value counts for the time until the next event of the trace, not once per event.
    pub(crate) mean_overhead_by_time: Option<f64>,
    /// Live bytes after the last event.
    pub(crate) end_live_bytes: u64,
    /// Bytes in the allocator's heaps after the last event.
    pub(crate) held_at_end_bytes: u64,
    /// Bytes in the allocator's heaps after all buffers were dropped.
    pub(crate) idle_reserved_bytes: u64,
    pub(crate) heaps_created: u64,
    pub(crate) alloc_ns: Percentiles,
    pub(crate) free_ns: Percentiles,
    /// Mean time of an allocation or a free.
    pub(crate) mean_op_ns: Option<f64>,
    /// Number of allocations that returned an error.
    pub(crate) failures: u64,
}

/// Returns reserved / live, rounded to six decimals, or `None` if `live_bytes` is 0.
pub(super) fn overhead(reserved_bytes: u64, live_bytes: u64) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "a ratio of six decimals fits in 53 bits")]
    (live_bytes > 0).then(|| round(reserved_bytes as f64 / live_bytes as f64, 1e6))
}

/// Rounds a number to a multiple of 1 / `parts`, which keeps the JSON readable.
pub(super) fn round(number: f64, parts: f64) -> f64 {
    (number * parts).round() / parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overhead_is_a_ratio() {
        assert_eq!(overhead(0, 0), None);
        assert_eq!(overhead(100, 100), Some(1.0));
        assert_eq!(overhead(4, 3), Some(1.333_333));
        assert_eq!(overhead(u64::MAX, 1), Some(18_446_744_073_709_551_615.0));
    }
}
