//! What a replay measured.

use serde::Serialize;

use super::configuration::Configuration;
use super::timing::Percentiles;

/// The result for one trace; its JSON form is stable and documented in the help of `heapwright replay`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct ReplayReport {
    /// The file's name without `.csv` or `.csv.gz`.
    pub(crate) trace: String,
    /// How the allocator was set up.
    pub(crate) configuration: Configuration,
    /// Allocations and frees.
    pub(crate) events: u64,
    pub(crate) allocations: u64,
    /// The most bytes that were live at once, as the trace asks for them.
    pub(crate) peak_live_bytes: u64,
    /// The most bytes that the allocator held in heaps after any event.
    pub(crate) peak_reserved_bytes: u64,
    /// Peak reserved / peak live; nothing where nothing was ever live.
    pub(crate) overhead: Option<f64>,
    /// The bytes that were live after an event, as the trace asks for them: the mean over the events.
    pub(crate) mean_live_bytes: u64,
    /// The bytes that the allocator held in heaps after an event: the mean over the events.
    pub(crate) mean_reserved_bytes: u64,
    /// Mean reserved / mean live; nothing where nothing was ever live.
    pub(crate) mean_overhead: Option<f64>,
    /// The bytes that were live after the last event.
    pub(crate) end_live_bytes: u64,
    /// The bytes that the allocator held in heaps after the last event.
    pub(crate) end_reserved_bytes: u64,
    /// The bytes that the allocator held in heaps when every buffer had been dropped.
    pub(crate) idle_reserved_bytes: u64,
    pub(crate) heaps_created: u64,
    pub(crate) alloc_ns: Percentiles,
    pub(crate) free_ns: Percentiles,
    /// Over allocations and frees.
    pub(crate) mean_op_ns: Option<f64>,
    /// Allocations that returned an error.
    pub(crate) failures: u64,
}

impl ReplayReport {
    /// One line.
    pub(crate) fn to_json(&self) -> String {
        // It has no map whose keys could fail, and no float that is not finite.
        serde_json::to_string(self).expect("a report is plain numbers and a name")
    }
}

/// Reserved / live, to six decimals.
pub(super) fn overhead(reserved_bytes: u64, live_bytes: u64) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "a ratio of six decimals needs no more than 53 bits")]
    (live_bytes > 0).then(|| round(reserved_bytes as f64 / live_bytes as f64, 1e6))
}

/// To whole parts of `parts`; a decimal that people can read in the JSON.
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

    #[test]
    fn the_json_has_exactly_the_documented_keys_in_their_order() {
        let none = Percentiles { p50: None, p99: None, max: None };
        let report = ReplayReport {
            trace: "a \"name\"".to_owned(),
            configuration: Configuration::Gpgmm,
            events: 3,
            allocations: 2,
            peak_live_bytes: 96,
            peak_reserved_bytes: 100,
            overhead: overhead(100, 96),
            mean_live_bytes: 48,
            mean_reserved_bytes: 72,
            mean_overhead: overhead(72, 48),
            end_live_bytes: 32,
            end_reserved_bytes: 64,
            idle_reserved_bytes: 50,
            heaps_created: 1,
            alloc_ns: Percentiles { p50: Some(10), p99: Some(20), max: Some(30) },
            free_ns: none,
            mean_op_ns: Some(12.5),
            failures: 0,
        };
        assert_eq!(
            report.to_json(),
            "{\"trace\":\"a \\\"name\\\"\",\"configuration\":\"gpgmm\",\"events\":3,\"allocations\":2,\"peak_live_bytes\":96,\
             \"peak_reserved_bytes\":100,\"overhead\":1.041667,\"mean_live_bytes\":48,\"mean_reserved_bytes\":72,\
             \"mean_overhead\":1.5,\"end_live_bytes\":32,\"end_reserved_bytes\":64,\"idle_reserved_bytes\":50,\"heaps_created\":1,\
             \"alloc_ns\":{\"p50\":10,\"p99\":20,\"max\":30},\"free_ns\":{\"p50\":null,\"p99\":null,\"max\":null},\
             \"mean_op_ns\":12.5,\"failures\":0}"
        );
    }
}
