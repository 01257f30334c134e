//! The output of a plan, as text and as JSON.

use heapwright_core::aliasing::Load;
use serde_json::{Value, json};

use crate::format;

/// A plan in numbers.
#[derive(Debug)]
pub(super) struct PlanReport {
    pub(super) file: String,
    pub(super) seconds: f64,
    /// The part of `seconds` that reduced the number of barriers.
    pub(super) barrier_seconds: f64,
    pub(super) heaps: Vec<HeapReport>,
    pub(super) frame: Option<FrameReport>,
}

/// The part of the report that only frames have.
#[derive(Debug)]
pub(super) struct FrameReport {
    pub(super) json: Value,
    pub(super) text: String,
}

/// A heap of a plan in numbers; sizes are in bytes.
#[derive(Debug)]
pub(super) struct HeapReport {
    pub(super) category: Option<String>,
    pub(super) buffers: usize,
    pub(super) height: u64,
    pub(super) lower_bound: u64,
    pub(super) load: Load,
    pub(super) proved: bool,
    pub(super) total: u64,
    pub(super) barriers: usize,
    pub(super) steps: u64,
}

impl HeapReport {
    fn to_json(&self) -> Value {
        json!({
            "category": self.category,
            "buffers": self.buffers,
            "height": self.height,
            "lower_bound": self.lower_bound,
            "load": self.load.size.get(),
            "load_instant": self.load.instant,
            "proved": self.proved,
            "total": self.total,
            "barriers": self.barriers,
        })
    }
}

/// Returns how much `part` is above or below `whole`, as a fraction of it.
#[expect(clippy::cast_precision_loss, reason = "a ratio for people")]
fn difference(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { (part as f64 - whole as f64) / whole as f64 }
}

impl PlanReport {
    fn sum(&self, value: impl Fn(&HeapReport) -> u64) -> u64 {
        self.heaps.iter().map(value).sum()
    }

    pub(super) fn to_json(&self) -> String {
        let (height, lower_bound) = (self.sum(|heap| heap.height), self.sum(|heap| heap.lower_bound));
        json!({
            "file": self.file,
            "buffers": self.heaps.iter().map(|heap| heap.buffers).sum::<usize>(),
            "total": self.sum(|heap| heap.total),
            "load": self.sum(|heap| heap.load.size.get()),
            "lower_bound": lower_bound,
            "height": height,
            "gap": difference(height, lower_bound),
            "proved": self.heaps.iter().all(|heap| heap.proved),
            "seconds": self.seconds,
            "barrier_seconds": self.barrier_seconds,
            "steps": self.sum(|heap| heap.steps),
            "barriers": self.heaps.iter().map(|heap| heap.barriers).sum::<usize>(),
            "heaps": self.heaps.iter().map(HeapReport::to_json).collect::<Vec<_>>(),
            "frame": self.frame.as_ref().map(|frame| &frame.json),
        })
        .to_string()
    }

    pub(super) fn to_text(&self) -> String {
        let bold = anstyle::Style::new().bold();
        let mut text = format!("{bold}{}{bold:#}", heapwright_report::Visible(&self.file));
        for heap in &self.heaps {
            let name = heap.category.as_deref().map_or(String::new(), |name| format!(", {name}"));
            let count = format::count_of(heap.buffers as u64, "buffer");
            let proof = if heap.proved { "proved optimal" } else { "not proved" };
            // Not the negative zero.
            let saved = 0.0 - 100.0 * difference(heap.height, heap.total);
            let instant =
                heap.load.instant.map_or(String::new(), |instant| format!(", live at time {instant}"));
            let lines = [
                ("heap", format!("{count}{}", heapwright_report::Visible(&name))),
                ("height", format!("{} ({} bytes), {proof}", format::size(heap.height), heap.height)),
                (
                    "bound",
                    format!(
                        "{}, gap {:.2} %; load {}{instant}",
                        format::size(heap.lower_bound),
                        100.0 * difference(heap.height, heap.lower_bound),
                        format::size(heap.load.size.get())
                    ),
                ),
                ("saved", format!("{saved:.1} % of {} without aliasing", format::size(heap.total))),
                ("barriers", format!("{} per frame", heap.barriers)),
            ];
            for (label, line) in lines {
                text.push_str(&format!("\n  {label:<9} {line}"));
            }
        }
        text.push_str(self.frame.as_ref().map_or("", |frame| &frame.text));
        text.push_str(&format!(
            "\n  {:<9} {:.3} ms, {}; {:.3} ms of it to reduce the barriers",
            "time",
            self.seconds * 1e3,
            format::count_of(self.sum(|heap| heap.steps), "step"),
            self.barrier_seconds * 1e3
        ));
        text
    }
}
