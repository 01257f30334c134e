//! `heapwright residency`: workloads under eviction policies, in simulated time.
//!
//! - [`scenario`] reads scenarios, [`workload`] makes them, and traces, what a program does with its heaps.
//! - [`simulation`] carries out what core's planner decides, on a device of the host driver.
//! - [`report`] is what is printed, [`table`] and [`plot`] how it looks to people.

mod plot;
mod report;
mod scenario;
mod simulation;
mod table;
mod workload;

use std::fs;
use std::io;
use std::path::Path;

use heapwright_core::residency::policy::{PolicyKind, UnknownPolicy};
use heapwright_trace::{Trace, TraceError};

use self::plot::CannotPlot;
use self::report::ResidencyReport;
use self::scenario::{Scenario, ScenarioError, built_in};
use self::simulation::SimulationFailed;
use self::workload::bound::offline_bound;
use self::workload::{CannotDerive, TooMuch, Workload, expand, from_trace};
use crate::args::ResidencyArgs;
use crate::exit::Exit;
use crate::output::{Output, OutputError};

/// Runs the command; the worst that happened to any scenario is how it ends.
pub(crate) fn run(args: &ResidencyArgs, output: &mut Output) -> Result<Exit, OutputError> {
    if args.list {
        return list(args.json, output);
    }
    let policies = match policies(&args.policy) {
        Ok(policies) => policies,
        Err(error) => {
            output.error(&error);
            return Ok(Exit::BadInput);
        }
    };
    // All of them before the first is simulated: who gave a wrong file learns it at once.
    let mut exit = Exit::Done;
    let mut sources = Vec::new();
    let names = args.scenarios.iter().map(String::as_str);
    let all = built_in::names().chain(TRACES.iter().map(|(name, _)| *name));
    let names: Vec<&str> = if args.scenarios.is_empty() { all.collect() } else { names.collect() };
    for name in names {
        match Source::find(name) {
            Ok(source) => sources.push(source),
            Err(error) => {
                output.error(&error);
                exit = exit.and(error.exit());
            }
        }
    }
    let mut reports = Vec::new();
    for source in &sources {
        match simulate(source, &policies, !args.json, output) {
            Ok(of_scenario) => {
                if args.json {
                    for report in &of_scenario {
                        output.result(&report.to_json())?;
                    }
                }
                reports.extend(of_scenario);
            }
            Err(error) => {
                output.error(&error);
                exit = exit.and(error.exit());
            }
        }
    }
    if !args.json && !reports.is_empty() {
        output.result(&table::render(&reports))?;
    }
    if let Some(path) = &args.plot
        && !reports.is_empty()
        && let Err(error) = plot::write(path, &reports)
    {
        output.error(&error);
        exit = exit.and(error.exit());
    }
    Ok(exit)
}

/// The recorded traces of the repository.
const TRACES: [(&str, &[u8]); 2] = [
    ("vision_serving", include_bytes!("../../../../traces/vision_serving.csv.gz")),
    ("unet_diffusion", include_bytes!("../../../../traces/unet_diffusion.csv.gz")),
];

/// Where a workload comes from.
#[derive(Debug)]
enum Source {
    Scenario(Scenario),
    Trace(Trace),
}

/// Why a scenario has no result.
#[derive(Debug, thiserror::Error)]
enum ResidencyError {
    #[error(
        "no scenario and no file is named {name:?}; there are {}, scenario files (.toml) and traces (.csv, .csv.gz)",
        list_of_names()
    )]
    Unknown { name: String },
    #[error("{path}: {reason}")]
    Read { path: String, reason: String },
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    #[error(transparent)]
    Trace(#[from] TraceError),
    #[error(transparent)]
    Expand(#[from] TooMuch),
    #[error(transparent)]
    Derive(#[from] CannotDerive),
    #[error("--policy: {0}")]
    Policy(#[from] UnknownPolicy),
    #[error("{scenario} under {policy}: {error}")]
    Simulation { scenario: String, policy: PolicyKind, error: SimulationFailed },
    #[error(transparent)]
    Plot(#[from] CannotPlot),
}

impl ResidencyError {
    fn exit(&self) -> Exit {
        match self {
            Self::Simulation { .. } | Self::Derive(CannotDerive::Open { .. }) => Exit::No,
            Self::Plot(error) => error.exit(),
            _ => Exit::BadInput,
        }
    }
}

fn list_of_names() -> String {
    let names: Vec<&str> =
        built_in::names().chain(built_in::controls()).chain(TRACES.iter().map(|(name, _)| *name)).collect();
    names.join(", ")
}

impl Source {
    /// A scenario or trace that comes with the program, or else a file.
    fn find(name: &str) -> Result<Self, ResidencyError> {
        if let Some(scenario) = built_in::find(name) {
            return Ok(Self::Scenario(scenario));
        }
        if let Some((name, bytes)) = TRACES.iter().find(|(known, _)| *known == name) {
            return Ok(Self::Trace(Trace::from_reader(format!("{name}.csv.gz"), *bytes)?));
        }
        let path = Path::new(name);
        if path.extension().is_some_and(|extension| extension == "toml") {
            let cannot_read =
                |error: &io::Error| ResidencyError::Read { path: name.to_owned(), reason: reason(error) };
            if path.is_dir() {
                return Err(cannot_read(&io::ErrorKind::IsADirectory.into()));
            }
            let text = fs::read_to_string(path).map_err(|error| cannot_read(&error))?;
            return Ok(Self::Scenario(Scenario::parse(name, &text)?));
        }
        if !path.exists() && !name.contains(['.', '/', '\\']) {
            return Err(ResidencyError::Unknown { name: name.to_owned() });
        }
        Ok(Self::Trace(Trace::read(path)?))
    }

    fn workload(&self) -> Result<Workload, ResidencyError> {
        match self {
            Self::Scenario(scenario) => Ok(expand(scenario)?),
            Self::Trace(trace) => Ok(from_trace(trace)?),
        }
    }
}

/// An error of the file system in a few words.
fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::InvalidFilename => "no such file".to_owned(),
        io::ErrorKind::IsADirectory => "is a directory".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::InvalidData => "is not text in UTF-8".to_owned(),
        _ => error.to_string(),
    }
}

/// The policies that are asked for, each once; all of them, the default first, where none is.
fn policies(names: &[String]) -> Result<Vec<PolicyKind>, ResidencyError> {
    if names.is_empty() {
        return Ok(PolicyKind::all().to_vec());
    }
    let mut policies = Vec::new();
    for name in names {
        let policy: PolicyKind = name.parse()?;
        if !policies.contains(&policy) {
            policies.push(policy);
        }
    }
    Ok(policies)
}

/// Simulates one scenario under each policy.
fn simulate(
    source: &Source,
    policies: &[PolicyKind],
    shows_progress: bool,
    output: &Output,
) -> Result<Vec<ResidencyReport>, ResidencyError> {
    let workload = source.workload()?;
    let bound = offline_bound(&workload);
    let frames = workload.frames.len() as u64;
    let bar = output.progress(shows_progress, &workload.name, frames * policies.len() as u64);
    let mut reports = Vec::new();
    for (done, &policy) in (0..).zip(policies) {
        let simulated = simulation::simulate(&workload, policy, &mut |frame| {
            bar.set_position(done * frames + frame as u64);
        });
        match simulated {
            Ok(outcome) => reports.push(ResidencyReport::new(&workload, policy, bound, &outcome)),
            Err(error) => {
                bar.finish_and_clear();
                return Err(ResidencyError::Simulation { scenario: workload.name, policy, error });
            }
        }
    }
    bar.finish_and_clear();
    Ok(reports)
}

/// Prints what there is.
fn list(json: bool, output: &mut Output) -> Result<Exit, OutputError> {
    let scenarios = built_in::names().map(|name| ("scenario", name));
    for (kind, name) in scenarios.chain(built_in::controls().map(|name| ("control", name))) {
        if let Some(scenario) = built_in::find(name) {
            print_listed(kind, &scenario.name, &scenario.description, json, output)?;
        }
    }
    for (name, _) in TRACES {
        print_listed("trace", name, "a recorded trace, use derived from lifetime", json, output)?;
    }
    for policy in PolicyKind::all() {
        let description = if *policy == PolicyKind::default() { "the default" } else { "" };
        print_listed("policy", policy.name(), description, json, output)?;
    }
    Ok(Exit::Done)
}

fn print_listed(
    kind: &str,
    name: &str,
    description: &str,
    json: bool,
    output: &mut Output,
) -> Result<(), OutputError> {
    if json {
        output.result(&serde_json::json!({ "kind": kind, "name": name, "description": description }))
    } else {
        output.result(&format!("{kind:<9} {name:<17} {description}").trim_end())
    }
}
