//! Summary of a page.

use std::fmt;

use heapwright_report::Visible;
use heapwright_report::session::{BudgetSummary, PlacementSource, SessionHistory, SessionSummary};
use serde::Serialize;

use crate::format;

/// Summary of a session, or of an allocator's report, which is a session of one moment. The JSON form is stable and
/// described by docs/output.schema.json; the `Display` form is for people.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Summary {
    page: String,
    session: String,
    placements: &'static str,
    #[serde(flatten)]
    sums: SessionSummary,
    /// Of each segment group whose budget is known.
    budgets: Vec<BudgetSummary>,
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
        Self {
            page,
            session,
            placements: match placements {
                PlacementSource::Recorded => "recorded",
                PlacementSource::Replayed { .. } => "replayed",
                PlacementSource::Report { .. } => "reported",
            },
            sums: history.summary(),
            budgets: history.budgets(),
            unknown_references: history.unknown_references,
            failures: 0,
        }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sums, .. } = self;
        let bold = anstyle::Style::new().bold();
        writeln!(f, "{bold}{}{bold:#}", Visible(&self.session))?;
        #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
        let duration = format::duration(sums.duration_us as f64 * 1e3);
        let lines = [
            ("events", format!("{} in {duration}", format::count(sums.events))),
            (
                "used",
                format!(
                    "at most {}, at event {}; {} at the end",
                    format::size(sums.peak_used_bytes),
                    format::count(sums.peak_event),
                    format::size(sums.end_used_bytes)
                ),
            ),
            (
                "heaps",
                format!(
                    "{} ({}), at most {} reserved; {} at the end, {} of it free in fragments",
                    format::count(sums.heaps),
                    self.placements,
                    format::size(sums.peak_reserved_bytes),
                    format::size(sums.end_reserved_bytes),
                    format::size(sums.end_scattered_bytes)
                ),
            ),
            ("allocations", format::count(sums.allocations)),
        ];
        let tiles = (sums.reserved_resources > 0).then(|| {
            let line = format!(
                "of {} reserved resources: at most {} mapped; {} at the end",
                format::count(sums.reserved_resources),
                format::size(sums.peak_mapped_bytes),
                format::size(sums.end_mapped_bytes)
            );
            ("tiles", line)
        });
        for (label, line) in lines.into_iter().chain(tiles) {
            writeln!(f, "  {label:<11} {line}")?;
        }
        for budget in &self.budgets {
            let verdict = match budget.first_exceeded_event {
                None => format!("kept, at least {} left", format::size(budget.least_left_bytes)),
                Some(event) => format!(
                    "exceeded by up to {}, first at event {}",
                    format::size(budget.exceeded_bytes),
                    format::count(event)
                ),
            };
            writeln!(f, "  {:<11} {}: {verdict}", "budget", budget.segment_group)?;
        }
        write!(f, "\npage: {}", Visible(&self.page))
    }
}
