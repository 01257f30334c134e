//! The output of a plan, as text and as JSON.

use std::fmt;
use std::time::Duration;

use heapwright_report::Visible;
use serde::Serialize;
use serde_json::Value;

use crate::format;

/// A plan in numbers; sizes are in bytes. The JSON form is stable and described by docs/output.schema.json; the
/// `Display` form is for people.
#[derive(Debug, Serialize)]
pub(super) struct PlanReport {
    pub(super) file: String,
    buffers: usize,
    total: u64,
    load: u64,
    lower_bound: u64,
    height: u64,
    gap: f64,
    proved: bool,
    seconds: f64,
    /// The part of `seconds` that reduced the number of barriers.
    barrier_seconds: f64,
    steps: u64,
    barriers: usize,
    pub(super) heaps: Vec<HeapReport>,
    frame: Option<Value>,
    /// Lines about a frame.
    #[serde(skip)]
    frame_text: String,
}

/// A heap of a plan.
#[derive(Debug, Serialize)]
pub(super) struct HeapReport {
    pub(super) category: Option<String>,
    pub(super) buffers: usize,
    pub(super) height: u64,
    pub(super) lower_bound: u64,
    pub(super) load: u64,
    pub(super) load_instant: Option<i64>,
    pub(super) proved: bool,
    pub(super) total: u64,
    pub(super) barriers: usize,
    #[serde(skip)]
    pub(super) steps: u64,
}

/// Returns how much `part` is above or below `whole`, as a fraction of it.
#[expect(clippy::cast_precision_loss, reason = "a ratio for people")]
fn difference(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { (part as f64 - whole as f64) / whole as f64 }
}

impl PlanReport {
    /// Sums the heaps of a plan, which took some time, a part of it to reduce the number of barriers.
    pub(super) fn new(file: String, [time, barrier_time]: [Duration; 2], heaps: Vec<HeapReport>) -> Self {
        let sum = |value: fn(&HeapReport) -> u64| heaps.iter().map(value).sum();
        let (height, lower_bound) = (sum(|heap| heap.height), sum(|heap| heap.lower_bound));
        Self {
            file,
            buffers: heaps.iter().map(|heap| heap.buffers).sum(),
            total: sum(|heap| heap.total),
            load: sum(|heap| heap.load),
            lower_bound,
            height,
            gap: difference(height, lower_bound),
            proved: heaps.iter().all(|heap| heap.proved),
            seconds: time.as_secs_f64(),
            barrier_seconds: barrier_time.as_secs_f64(),
            steps: sum(|heap| heap.steps),
            barriers: heaps.iter().map(|heap| heap.barriers).sum(),
            heaps,
            frame: None,
            frame_text: String::new(),
        }
    }

    /// Adds what only frames have.
    pub(super) fn with_frame(self, json: Value, text: String) -> Self {
        Self { frame: Some(json), frame_text: text, ..self }
    }
}

impl fmt::Display for PlanReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bold = anstyle::Style::new().bold();
        write!(f, "{bold}{}{bold:#}", Visible(&self.file))?;
        for heap in &self.heaps {
            let name = heap.category.as_deref().map_or(String::new(), |name| format!(", {name}"));
            let count = format::count_of(heap.buffers as u64, "buffer");
            let proof = if heap.proved { "proved optimal" } else { "not proved" };
            // Not the negative zero.
            let saved = 0.0 - 100.0 * difference(heap.height, heap.total);
            let instant =
                heap.load_instant.map_or(String::new(), |instant| format!(", live at time {instant}"));
            let lines = [
                ("heap", format!("{count}{}", Visible(&name))),
                ("height", format!("{} ({} bytes), {proof}", format::size(heap.height), heap.height)),
                (
                    "bound",
                    format!(
                        "{}, gap {:.2} %; load {}{instant}",
                        format::size(heap.lower_bound),
                        100.0 * difference(heap.height, heap.lower_bound),
                        format::size(heap.load)
                    ),
                ),
                ("saved", format!("{saved:.1} % of {} without aliasing", format::size(heap.total))),
                ("barriers", format!("{} per frame", heap.barriers)),
            ];
            for (label, line) in lines {
                write!(f, "\n  {label:<9} {line}")?;
            }
        }
        write!(
            f,
            "{}\n  {:<9} {:.3} ms, {}; {:.3} ms of it to reduce the barriers",
            self.frame_text,
            "time",
            self.seconds * 1e3,
            format::count_of(self.steps, "step"),
            self.barrier_seconds * 1e3
        )
    }
}
