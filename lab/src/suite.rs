//! All workloads, with one section of the report each.

use std::path::PathBuf;

use heapwright_trace::TraceError;

use crate::interleave::{self, Result as Best};
use crate::refusals::{self, Difference};
use crate::report::{Format, Section};
use crate::rival::Unfit;
use crate::rivals::{self, BASELINE, Entrant};
use crate::workload::Effort;
use crate::workload::full::Fullness;
use crate::workload::script::{Script, Survey, Time, TimeEach, Timing};
use crate::workload::shapes::{SHAPES, Shape, upload_ring};
use crate::workload::traces::Traces;

/// Runs the workloads and creates the sections of the report.
#[derive(Debug)]
pub struct Suite {
    effort: Effort,
    /// The traces that were found, and the names of the others.
    pub traces: Traces,
}

impl Suite {
    /// Creates a suite with the traces in the given folders.
    ///
    /// # Errors
    ///
    /// A trace exists, but cannot be read.
    pub fn new(effort: Effort, trace_folders: &[PathBuf]) -> Result<Self, TraceError> {
        Ok(Self { effort, traces: Traces::read(trace_folders)? })
    }

    /// Runs all workloads and calls `begin` before each section. Also returns the rivals that refused what others
    /// served, whose figures are not comparable.
    pub fn run(&self, mut begin: impl FnMut(&str)) -> (Vec<Section>, Vec<Difference>) {
        let mut sections = Vec::new();
        let mut differences = Vec::new();
        for shape in &SHAPES {
            begin(shape.name);
            sections.push(self.shape(shape, &mut differences));
        }
        for script in &self.traces.scripts {
            begin(&script.name);
            sections.push(self.trace(script, &mut differences));
        }
        begin("upload ring");
        sections.push(self.upload_ring(&mut differences));
        (sections, differences)
    }

    fn rounds(&self) -> u32 {
        self.effort.pick(7, 3)
    }

    fn shape(&self, shape: &Shape, differences: &mut Vec<Difference>) -> Section {
        let churn = shape.churn(self.effort);
        let (timing, survey) = self.both(rivals::any_order(), rivals::any_order(), &churn, differences);
        let full = interleave::run(&rivals::any_order(), &shape.full(self.effort), self.rounds().min(3));
        differences.extend(refusals::differences_of(&format!("{}, full", shape.name), &full));
        let rows = timing.into_iter().zip(survey).zip(full).map(|((timing, survey), full)| {
            let values = all(timing.outcome, survey.outcome).map(|(timing, survey)| {
                let full = full.outcome.ok();
                vec![
                    Some(timing.nanoseconds(0) * 2.0),
                    Some(timing.nanoseconds(1) * 2.0),
                    Some(survey.p999()),
                    Some(survey.worst()),
                    full.as_ref().map(|full| full.first),
                    full.as_ref().map(|full| full.mean),
                    full.as_ref().map(Fullness::nanoseconds),
                    Some(timing.refused),
                ]
            });
            (timing.name, values)
        });
        let columns = [
            ("early pair, ns", Format::Nanoseconds),
            ("pair, ns", Format::Nanoseconds),
            ("p99.9, ns", Format::Nanoseconds),
            ("worst, ns", Format::Nanoseconds),
            ("used at first refusal", Format::Share),
            ("used at later ones", Format::Share),
            ("full, ns", Format::Nanoseconds),
            ("refused", Format::Percent),
        ];
        let about = format!(
            "{} \"Pair\" is one free and one allocation of a random slot, \"early\" for the first 7,200 after filling. \"Full\" is one served \
             request where room has to be made, with the refusals and frees that took.",
            shape.about
        );
        Section::new(shape.name, about, &columns, rows.collect(), BASELINE)
    }

    fn trace(&self, script: &Script, differences: &mut Vec<Difference>) -> Section {
        let (timing, survey) = self.both(rivals::any_order(), rivals::any_order(), script, differences);
        let columns = [
            ("operation, ns", Format::Nanoseconds),
            ("p99.9, ns", Format::Nanoseconds),
            ("worst, ns", Format::Nanoseconds),
            ("high-water / peak live", Format::Share),
            ("refused", Format::Percent),
        ];
        let rows = timing.into_iter().zip(survey).map(|(timing, survey)| {
            let values = all(timing.outcome, survey.outcome).map(|(timing, survey)| {
                vec![
                    Some(timing.nanoseconds(0)),
                    Some(survey.p999()),
                    Some(survey.worst()),
                    Some(survey.high_water),
                    Some(timing.refused),
                ]
            });
            (timing.name, values)
        });
        let title = format!("Trace {}", script.name);
        let about = format!(
            "{} operations at alignment 256 in 32 GiB. High-water is the highest end of any allocation.",
            script.passes[0].len()
        );
        Section::new(title, about, &columns, rows.collect(), BASELINE)
    }

    fn upload_ring(&self, differences: &mut Vec<Difference>) -> Section {
        let script = upload_ring(self.effort);
        let (timing, survey) =
            self.both(rivals::oldest_first(), rivals::oldest_first(), &script, differences);
        let columns = [
            ("pair, ns", Format::Nanoseconds),
            ("p99.9, ns", Format::Nanoseconds),
            ("worst, ns", Format::Nanoseconds),
            ("refused", Format::Percent),
        ];
        let rows = timing.into_iter().zip(survey).map(|(timing, survey)| {
            let values = all(timing.outcome, survey.outcome).map(|(timing, survey)| {
                vec![
                    Some(timing.nanoseconds(0) * 2.0),
                    Some(survey.p999()),
                    Some(survey.worst()),
                    Some(timing.refused),
                ]
            });
            (timing.name, values)
        });
        let about = "256 B to 64 KiB in 256 B units at alignment 256, log-uniform; 2,000 live in 64 MiB, the oldest freed first.";
        Section::new("Upload ring", about, &columns, rows.collect(), BASELINE)
    }

    /// Measures the time of all operations together and of each one separately.
    fn both<'a>(
        &self,
        time: Vec<Entrant<Time<'a>, Timing>>,
        time_each: Vec<Entrant<TimeEach<'a>, Survey>>,
        script: &'a Script,
        differences: &mut Vec<Difference>,
    ) -> (Vec<Best<Timing>>, Vec<Best<Survey>>) {
        let timing = interleave::run(&time, &Time(script), self.rounds());
        let survey = interleave::run(&time_each, &TimeEach(script), self.rounds().min(5));
        differences.extend(refusals::differences_of(&script.name, &timing));
        // The same operations, so usually the same differences.
        differences
            .extend(refusals::differences_of(&format!("{}, operation by operation", script.name), &survey));
        (timing, survey)
    }
}

fn all<A, B>(a: Result<A, Unfit>, b: Result<B, Unfit>) -> Result<(A, B), &'static str> {
    Ok((a.map_err(|unfit| unfit.0)?, b.map_err(|unfit| unfit.0)?))
}
