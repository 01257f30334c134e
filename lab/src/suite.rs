//! All workloads, with one section of the report each.

use std::path::Path;

use heapwright_trace::TraceError;

use crate::interleave;
use crate::report::Format::{Nanoseconds, Percent, Share};
use crate::report::{Column, Section};
use crate::rivals::{self, Entrant};
use crate::workload::Effort;
use crate::workload::full::Fullness;
use crate::workload::script::{Script, Survey, Time, TimeEach, Timing};
use crate::workload::shapes::{SHAPES, Shape, upload_ring};
use crate::workload::traces;

/// Runs the workloads and creates the sections of the report.
#[derive(Debug)]
pub struct Suite {
    effort: Effort,
    traces: Vec<Script>,
}

/// A column, and its figure of a rival.
type Figure = (Column, fn(&Timing, &Survey) -> f64);

const EARLY_PAIR: Figure = (("early pair, ns", Nanoseconds), |timing, _| timing.nanoseconds(0) * 2.0);
const FIRST_PAIR: Figure = (("pair, ns", Nanoseconds), |timing, _| timing.nanoseconds(0) * 2.0);
const LATER_PAIR: Figure = (("pair, ns", Nanoseconds), |timing, _| timing.nanoseconds(1) * 2.0);
const OPERATION: Figure = (("operation, ns", Nanoseconds), |timing, _| timing.nanoseconds(0));
const P999: Figure = (("p99.9, ns", Nanoseconds), |_, survey| survey.p999());
const WORST: Figure = (("worst, ns", Nanoseconds), |_, survey| survey.worst());
const HIGH_WATER: Figure = (("high-water / peak live", Share), |_, survey| survey.high_water);
const REFUSED: Figure = (("refused", Percent), |timing, _| timing.refused);

/// A column of a heap that is kept full, and its figure of a rival.
type FullFigure = (Column, fn(&Fullness) -> f64);

const FULL: [FullFigure; 3] = [
    (("used at first refusal", Share), |full| full.first),
    (("used at later ones", Share), |full| full.mean),
    (("full, ns", Nanoseconds), Fullness::nanoseconds),
];

impl Suite {
    /// Creates a suite with the traces in the given folder.
    ///
    /// # Errors
    ///
    /// Returns an error if a trace is missing or cannot be read.
    pub fn new(effort: Effort, trace_folder: &Path) -> Result<Self, TraceError> {
        Ok(Self { effort, traces: traces::scripts(trace_folder)? })
    }

    /// Runs all workloads and calls `begin` before each section.
    pub fn run(&self, mut begin: impl FnMut(&str)) -> Vec<Section> {
        let mut sections = Vec::new();
        for shape in &SHAPES {
            begin(shape.name);
            sections.push(self.shape(shape));
        }
        for script in &self.traces {
            begin(&script.name);
            let about = format!(
                "{} operations at alignment 256 in 32 GiB. High-water is the highest end of any allocation.",
                script.passes[0].len()
            );
            let figures = [OPERATION, P999, WORST, HIGH_WATER, REFUSED];
            let title = format!("Trace {}", script.name);
            let (timed, each) = (rivals::any_order(), rivals::any_order());
            sections.push(self.section(title, about, &timed, &each, script, &figures));
        }
        begin("upload ring");
        let about = "256 B to 64 KiB in 256 B units at alignment 256, log-uniform; 2,000 live in 64 MiB, the oldest freed first.";
        let (timed, each) = (rivals::oldest_first(), rivals::oldest_first());
        let figures = [FIRST_PAIR, P999, WORST, REFUSED];
        let script = upload_ring(self.effort);
        let (title, about) = ("Upload ring".to_owned(), about.to_owned());
        sections.push(self.section(title, about, &timed, &each, &script, &figures));
        sections
    }

    fn rounds(&self) -> u32 {
        self.effort.pick(7, 3)
    }

    fn shape(&self, shape: &Shape) -> Section {
        let about = format!(
            "{} \"Pair\" is one free and one allocation of a random slot, \"early\" for the first 7,200 after filling. \"Full\" is one served \
             request where room has to be made, with the refusals and frees that took.",
            shape.about
        );
        let (timed, each) = (rivals::any_order(), rivals::any_order());
        let figures = [EARLY_PAIR, LATER_PAIR, P999, WORST, REFUSED];
        let mut section =
            self.section(shape.name.to_owned(), about, &timed, &each, &shape.churn(self.effort), &figures);
        let full = interleave::run(&rivals::any_order(), &shape.full(self.effort), self.rounds().min(3));
        // Before the last column.
        let place = section.columns.len() - 1;
        section.columns.splice(place..place, FULL.map(|(column, _)| column));
        for ((_, values), full) in section.rows.iter_mut().zip(&full) {
            values.splice(place..place, FULL.map(|(_, figure)| figure(full)));
        }
        section
    }

    /// Measures the time of all operations together and of each one separately.
    fn section<'a>(
        &self,
        title: String,
        about: String,
        timed: &[Entrant<Time<'a>, Timing>],
        each: &[Entrant<TimeEach<'a>, Survey>],
        script: &'a Script,
        figures: &[Figure],
    ) -> Section {
        let timings = interleave::run(timed, &Time(script), self.rounds());
        let surveys = interleave::run(each, &TimeEach(script), self.rounds().min(5));
        let rows = timed.iter().zip(timings.iter().zip(&surveys)).map(|(rival, (timing, survey))| {
            (rival.name, figures.iter().map(|(_, figure)| figure(timing, survey)).collect())
        });
        Section {
            title,
            about,
            columns: figures.iter().map(|(column, _)| *column).collect(),
            rows: rows.collect(),
        }
    }
}
