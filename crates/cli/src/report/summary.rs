//! Summary of a page.

use std::fmt;

use heapwright_report::Visible;
use heapwright_report::session::{PlacementSource, SessionHistory};
use serde::Serialize;

use crate::format;

/// Summary of a session, or of an allocator's report, which is a session of one moment. The JSON form is stable and described by
/// docs/output.schema.json; the `Display` form is for people.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Summary {
    page: String,
    session: String,
    placements: &'static str,
    events: u64,
    duration_us: u64,
    allocations: u64,
    heaps: u64,
    submissions: u64,
    peak_used_bytes: u64,
    peak_event: u64,
    peak_reserved_bytes: u64,
    end_used_bytes: u64,
    end_reserved_bytes: u64,
    end_fragmentation: f64,
    unknown_references: u64,
    pub(super) failures: u64,
}

impl Summary {
    pub(super) fn new(
        page: String,
        session: String,
        placements: &PlacementSource,
        history: &SessionHistory,
    ) -> Self {
        let sums = history.summary();
        Self {
            page,
            session,
            placements: match placements {
                PlacementSource::Recorded => "recorded",
                PlacementSource::Replayed { .. } => "replayed",
                PlacementSource::Report { .. } => "reported",
            },
            events: sums.moment_count,
            duration_us: sums.duration_us,
            allocations: sums.allocation_count,
            heaps: sums.heap_count,
            submissions: sums.submission_count,
            peak_used_bytes: sums.peak_used,
            peak_event: if sums.moment_count == 0 { 0 } else { sums.peak_moment + 1 },
            peak_reserved_bytes: sums.peak_reserved,
            end_used_bytes: sums.end_used,
            end_reserved_bytes: sums.end_reserved,
            end_fragmentation: f64::from(history.fragmentation.last().copied().unwrap_or(0)) / 1e4,
            unknown_references: history.unknown_references,
            failures: 0,
        }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bold = anstyle::Style::new().bold();
        writeln!(f, "{bold}{}{bold:#}", Visible(&self.session))?;
        #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
        let duration = format::duration(self.duration_us as f64 * 1e3);
        let lines = [
            ("events", format!("{} in {duration}", format::count(self.events))),
            (
                "used",
                format!(
                    "at most {}, at event {}; {} at the end",
                    format::size(self.peak_used_bytes),
                    format::count(self.peak_event),
                    format::size(self.end_used_bytes)
                ),
            ),
            (
                "heaps",
                format!(
                    "{} ({}), at most {} reserved; {} at the end, {:.1} % fragmented",
                    format::count(self.heaps),
                    self.placements,
                    format::size(self.peak_reserved_bytes),
                    format::size(self.end_reserved_bytes),
                    100.0 * self.end_fragmentation
                ),
            ),
            ("allocations", format::count(self.allocations)),
        ];
        for (label, line) in lines {
            writeln!(f, "  {label:<11} {line}")?;
        }
        write!(f, "\npage: {}", Visible(&self.page))
    }
}
