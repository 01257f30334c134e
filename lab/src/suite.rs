//! All workloads, with one section of the report each.

use std::path::PathBuf;

use heapwright_trace::TraceError;

use crate::interleave::{self, Result as Best};
use crate::refusals::{self, Difference, Refusals};
use crate::report::{Format, Section};
use crate::rival::Unfit;
use crate::rivals::{self, BASELINE, Entrant};
use crate::workload::full::Fullness;
use crate::workload::script::{Script, Survey, Time, TimeEach, Timing};
use crate::workload::shapes::{SHAPES, Shape};
use crate::workload::threads::Threads;
use crate::workload::traces::Traces;
use crate::workload::{Effort, flatness, in_order, threads};

/// Sizes of the flatness workload whose preparation is expected to take longer are skipped.
const PATIENCE_NANOSECONDS: f64 = 40e9;

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

    /// Returns the number of calls that [`run`](Self::run) will make to `begin`.
    #[must_use]
    pub fn len(&self) -> usize {
        SHAPES.len() + self.traces.scripts.len() + 3
    }

    /// Returns false: some workloads need no traces.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
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
        begin("threads");
        sections.push(self.threads(&mut differences));
        begin("flatness");
        sections.extend(self.flatness(&mut differences));
        (sections, differences)
    }

    fn rounds(&self) -> u32 {
        self.effort.pick(7, 3, 1)
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
        let script = in_order::upload_ring(self.effort);
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

    fn threads(&self, differences: &mut Vec<Difference>) -> Section {
        let measured = threads::COUNTS.map(|count| {
            let results =
                interleave::run(&rivals::threads(), &Threads::new(count, self.effort), self.rounds());
            differences.extend(refusals::differences_of(&format!("{count} threads"), &results));
            results
        });
        let columns = [
            ("1 thread, ns", Format::Nanoseconds),
            ("2 threads, ns", Format::Nanoseconds),
            ("4 threads, ns", Format::Nanoseconds),
            ("4 threads' speed / 1's", Format::Factor),
            ("refused", Format::Percent),
        ];
        let rows = (0..measured[0].len()).map(|place| {
            let [one, two, four] = [0, 1, 2].map(|count: usize| {
                measured[count][place].outcome.as_ref().ok().map(|throughput| throughput.nanoseconds)
            });
            let outcomes = measured.iter().filter_map(|results| results[place].outcome.as_ref().ok());
            let refused = outcomes.map(|throughput| throughput.refused).max_by(f64::total_cmp);
            let speed = one.zip(four).map(|(one, four)| one / four);
            (measured[0][place].name, Ok(vec![one, two, four, speed, refused]))
        });
        let about = "1 to 2,056 B, rounded up to units of 256 B, at alignment 256, 1,000 live in each thread, one suballocator for all. Nanoseconds are the time of all \
                     threads together over the pairs of all threads. Those that are not made for threads are behind one mutex.";
        Section::new("Threads", about, &columns, rows.collect(), BASELINE)
    }

    fn flatness(&self, differences: &mut Vec<Difference>) -> [Section; 2] {
        let counts = flatness::live_counts(self.effort);
        let names = rivals::any_order::<Time<'_>>().into_iter().map(|entrant| entrant.name);
        // By rival and live count: the time of a pair anywhere and of a pair nearby.
        let mut measured: Vec<(&str, Vec<Option<[f64; 2]>>)> = names.map(|name| (name, Vec::new())).collect();
        for &count in counts {
            let script = flatness::churn_of(count, self.effort);
            let mut timings = Vec::new();
            for ((name, pairs), entrant) in measured.iter_mut().zip(rivals::any_order()) {
                // As many pairs as live allocations, and half a pair to fill each slot.
                let is_worth_it = expected_pair(pairs) * 1.5 * f64::from(count) < PATIENCE_NANOSECONDS;
                let timing = is_worth_it.then(|| (entrant.run)(&Time(&script)));
                let pair = timing.as_ref().and_then(|timing| timing.as_ref().ok());
                pairs.push(pair.map(|timing| [timing.nanoseconds(0) * 2.0, timing.nanoseconds(1) * 2.0]));
                timings.extend(timing.map(|timing| (*name, timing)));
            }
            let outcomes = timings.iter().map(|(name, timing)| (*name, timing.as_ref()));
            differences.extend(refusals::differences(&script.name, outcomes));
        }
        let mut headings: Vec<(String, Format)> = counts
            .iter()
            .map(|&count| (format!("{} live, ns", thousands(count)), Format::Nanoseconds))
            .collect();
        headings.push(("last / first".to_owned(), Format::Factor));
        let columns: Vec<(&str, Format)> =
            headings.iter().map(|(heading, format)| (heading.as_str(), *format)).collect();
        let section = |title: &str, about: &str, pass: usize| {
            let rows = measured.iter().map(|&(name, ref pairs)| {
                let mut values: Vec<Option<f64>> =
                    pairs.iter().map(|pair| pair.map(|pair| pair[pass])).collect();
                let growth = values.last().copied().flatten().zip(values.first().copied().flatten());
                values.push(growth.map(|(last, first)| last / first));
                (name, Ok(values))
            });
            Section::new(title, about, &columns, rows.collect(), BASELINE)
        };
        [
            section(
                "Flatness, any of the live ones",
                "A pair with more and more live; 1 to 2,056 B at alignment 16, half of the capacity live. Growth here is that of the \
                 algorithm and of cache misses; the last row has the harness's own misses. \"-\": would have taken too long.",
                0,
            ),
            section(
                "Flatness, one of 1,000",
                "As above, but only 1,000 of the live ones are ever replaced, so that caches hold what is touched. Growth here is that \
                 of the algorithm.",
                1,
            ),
        ]
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

    /// Runs every workload with each result checked, calls `begin` before each, and panics at the first wrong result.
    /// Returns the rivals that refused what others served.
    pub fn check(&self, mut begin: impl FnMut(&str)) -> Vec<Difference> {
        let mut found = Vec::new();
        let mut check = Check { begin: &mut begin, found: &mut found };
        for shape in &SHAPES {
            check.run(&rivals::any_order(), &Time(&shape.churn(self.effort)), shape.name);
            check.run(&rivals::any_order(), &shape.full(self.effort), &format!("{}, full", shape.name));
        }
        for script in &self.traces.scripts {
            check.run(&rivals::any_order(), &Time(script), &script.name);
        }
        let ring = in_order::upload_ring(self.effort);
        check.run(&rivals::oldest_first(), &Time(&ring), &ring.name);
        for count in threads::COUNTS {
            let job = Threads::new(count, self.effort);
            check.run(&rivals::threads(), &job, &format!("{count} threads"));
        }
        for &count in flatness::live_counts(self.effort) {
            let script = flatness::churn_of(count, self.effort);
            check.run(&rivals::any_order(), &Time(&script), &script.name);
        }
        found
    }
}

/// Runs workloads and checks each allocation.
struct Check<'a> {
    begin: &'a mut dyn FnMut(&str),
    found: &'a mut Vec<Difference>,
}

impl Check<'_> {
    fn run<J, O: Refusals>(&mut self, entrants: &[Entrant<J, O>], job: &J, workload: &str) {
        let mut outcomes = Vec::new();
        for entrant in entrants {
            if let Some(check) = entrant.check {
                (self.begin)(&format!("{workload}: {}", entrant.name));
                outcomes.push((entrant.name, check(job)));
            }
        }
        let outcomes = outcomes.iter().map(|(name, outcome)| (*name, outcome.as_ref()));
        self.found.extend(refusals::differences(workload, outcomes));
    }
}

fn all<A, B>(a: Result<A, Unfit>, b: Result<B, Unfit>) -> Result<(A, B), &'static str> {
    Ok((a.map_err(|unfit| unfit.0)?, b.map_err(|unfit| unfit.0)?))
}

/// Extrapolates the time of a pair to ten times as many live allocations; infinite if the last count was skipped.
fn expected_pair(pairs: &[Option<[f64; 2]>]) -> f64 {
    let pair = |pair: &Option<[f64; 2]>| pair.map_or(f64::INFINITY, |[anywhere, _]| anywhere);
    match pairs {
        [.., before, last] => pair(last) * (pair(last) / pair(before)).max(1.0),
        [last] => pair(last),
        [] => 0.0,
    }
}

fn thousands(count: u32) -> String {
    match count {
        1_000_000.. => format!("{} M", count / 1_000_000),
        _ => format!("{} k", count / 1000),
    }
}
