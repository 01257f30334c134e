//! `heapwright residency`: workloads under eviction policies, in simulated time.
//!
//! The simulator is `heapwright_simulation`. [`args`] has the arguments, [`source`] is where workloads come from, [`report`] what is printed, [`table`] how it looks to people.

mod args;
mod report;
mod source;
mod table;

use std::path::{Path, PathBuf};

use heapwright_core::residency::policy::PolicyKind;
use heapwright_simulation::{
    CannotDerive, EVICT_AHEAD, NoWorkload, Policy, ScenarioError, Shape, SimulationFailed, TooMuch,
    UnknownGenerated, built_in, offline_bound, simulate as simulate_workload,
};
use heapwright_trace::{TraceError, UnknownWorkload};

pub(crate) use self::args::ResidencyArgs;
use self::report::ResidencyReport;
use self::source::{Source, TRACES};
use crate::environment::RecordingError;
use crate::exit::Exit;
use crate::input;
use crate::output::{Output, OutputError};

/// Runs the command. Returns the most severe result of all scenarios.
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
    let stdin_count = args.scenarios.iter().filter(|path| input::is_stdin(path)).count();
    if stdin_count > 1 {
        output.error(&ResidencyError::ManyStdin(stdin_count));
        return Ok(Exit::BadInput);
    }
    let mut exit = Exit::Success;
    let mut sources = Vec::new();
    let named = args.scenarios.iter().map(PathBuf::as_path);
    let all = built_in::names().chain(TRACES.iter().map(|(name, _)| *name)).map(Path::new);
    let names: Vec<&Path> = if args.scenarios.is_empty() { all.collect() } else { named.collect() };
    for name in names {
        match Source::find(name) {
            Ok(found) => sources.extend(found),
            Err(error) => {
                output.error(&error);
                exit = exit.and(error.exit());
            }
        }
    }
    let mut reports = Vec::new();
    let budgets: Vec<Option<u32>> = args.budget.iter().copied().map(Some).collect();
    let budgets = if budgets.is_empty() { vec![None] } else { budgets };
    let runs = sources.iter().flat_map(|source| budgets.iter().map(move |&budget| (source, budget)));
    for (source, budget) in runs {
        match simulate(source, budget, &policies, !args.json, output) {
            Ok(of_scenario) => {
                if args.json {
                    for report in &of_scenario {
                        output.result(&report.to_json())?;
                    }
                }
                reports.push(of_scenario);
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
    Ok(exit)
}

/// Why a scenario has no result.
#[derive(Debug, thiserror::Error)]
enum ResidencyError {
    #[error(
        "unknown scenario or file {name:?}; available: {}, generated workloads (generated:SHAPE:SEED, workload:SHAPE:SEED), \
         scenario files (.toml), sessions (.hws), captures of GPGMM (.json) and CSV traces, plain or gzip",
        list_of_names()
    )]
    Unknown { name: String },
    #[error("{path}: {reason}", path = .path.display())]
    Read { path: PathBuf, reason: String },
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    #[error(transparent)]
    Trace(#[from] TraceError),
    #[error(transparent)]
    Expand(#[from] TooMuch),
    #[error(transparent)]
    Derive(#[from] CannotDerive),
    #[error(transparent)]
    Session(#[from] NoWorkload),
    #[error(transparent)]
    Generated(#[from] UnknownGenerated),
    #[error(transparent)]
    GeneratedTrace(#[from] UnknownWorkload),
    #[error("--policy: unknown eviction policy {name:?}; available: {}", list_of_policies())]
    Policy { name: String },
    #[error("{scenario} under {policy}: {error}")]
    Simulation { scenario: String, policy: Policy, error: SimulationFailed },
    #[error(transparent)]
    Recording(#[from] RecordingError),
    #[error("standard input (-) was given {0} times; it can be read only once")]
    ManyStdin(usize),
}

impl ResidencyError {
    fn exit(&self) -> Exit {
        match self {
            Self::Simulation { error, .. } if error.is_too_large() => Exit::BadInput,
            Self::Simulation { .. } | Self::Derive(CannotDerive::Open { .. }) => Exit::Failure,
            _ => Exit::BadInput,
        }
    }
}

fn list_of_names() -> String {
    let names: Vec<&str> =
        built_in::names().chain(built_in::controls()).chain(TRACES.iter().map(|(name, _)| *name)).collect();
    names.join(", ")
}

fn list_of_policies() -> String {
    let kinds = Policy::all();
    let names: Vec<&str> = kinds.iter().map(|policy| policy.name()).chain([ALL]).collect();
    names.join(", ")
}

/// The name that stands for all policies.
const ALL: &str = "all";

/// Returns the policies that are asked for, each once; without any, those of the library, the default first.
fn policies(names: &[String]) -> Result<Vec<Policy>, ResidencyError> {
    if names.is_empty() {
        return Ok(PolicyKind::all().iter().copied().map(Policy::Library).collect());
    }
    let mut policies: Vec<Policy> = Vec::new();
    for name in names {
        let named: Vec<Policy> =
            Policy::all().into_iter().filter(|kind| name == ALL || name == kind.name()).collect();
        if named.is_empty() {
            return Err(ResidencyError::Policy { name: name.clone() });
        }
        for kind in named {
            if policies.iter().all(|known| known.name() != kind.name()) {
                policies.push(kind);
            }
        }
    }
    Ok(policies)
}

/// Simulates one scenario under each policy, with the budget in percent of its peak if one is given.
fn simulate(
    source: &Source,
    budget: Option<u32>,
    policies: &[Policy],
    shows_progress: bool,
    output: &Output,
) -> Result<Vec<ResidencyReport>, ResidencyError> {
    let mut workload = source.workload()?;
    if let Some(percent) = budget {
        workload.set_local_budget(percent);
        workload.name = format!("{}:{percent}%", workload.name);
    }
    let bound = offline_bound(&workload);
    let frames = workload.frames.len() as u64;
    let bar = output.progress(shows_progress, &workload.name, frames * policies.len() as u64);
    let mut reports = Vec::new();
    for (done, &policy) in (0..).zip(policies) {
        let simulated = simulate_workload(&workload, policy, EVICT_AHEAD, &mut |frame| {
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
    for shape in Shape::ALL {
        let name = format!("generated:{}:SEED", shape.name());
        print_listed("generated", &name, shape.description(), json, output)?;
    }
    for policy in Policy::all() {
        let description = if policy == PolicyKind::default().into() { "the default" } else { "" };
        let is_ours = matches!(policy, Policy::Library(_));
        print_listed(if is_ours { "policy" } else { "published" }, policy.name(), description, json, output)?;
    }
    Ok(Exit::Success)
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
        output.result(&format!("{kind:<9} {name:<27} {description}").trim_end())
    }
}
