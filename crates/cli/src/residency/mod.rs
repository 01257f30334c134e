//! `heapwright residency`: workloads under eviction policies, in simulated time.
//!
//! The simulator is `heapwright_simulation`. [`report`] is what is printed, [`table`] and [`plot`] how it looks to people.

mod plot;
mod report;
mod table;

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use heapwright_core::residency::policy::PolicyKind;
use heapwright_simulation::{
    CannotDerive, EVICT_AHEAD, Generated, NoWorkload, Scenario, ScenarioError, Shape, SimulationFailed,
    TooMuch, UnknownGenerated, Workload, built_in, expand, from_session, from_trace, offline_bound,
    policy_kinds, simulate as simulate_workload,
};
use heapwright_trace::session::{Action, Record};
use heapwright_trace::{Format, RecordReader, Trace, TraceError};

use self::report::ResidencyReport;
use crate::args::ResidencyArgs;
use crate::environment::{self, RecordsOverInput};
use crate::exit::Exit;
use crate::input;
use crate::output::{Output, OutputError};
use crate::output_file::OutputFile;

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
    // What is read and where the plot goes before the first is simulated: who gave a wrong file learns it at once.
    let inputs = args.scenarios.iter().map(Path::new).filter(|path| !input::is_stdin(path));
    let plot_file = args.plot.as_deref().map(|path| OutputFile::open("plot", path, inputs)).transpose();
    let plot_file = match plot_file {
        Ok(file) => file,
        Err(error) => {
            output.error(&error);
            return Ok(error.exit());
        }
    };
    let stdin_count = args.scenarios.iter().filter(|name| *name == input::STDIN).count();
    if stdin_count > 1 {
        output.error(&ResidencyError::ManyStdin(stdin_count));
        return Ok(Exit::BadInput);
    }
    let mut exit = Exit::Success;
    let mut sources = Vec::new();
    let names = args.scenarios.iter().map(String::as_str);
    let all = built_in::names().chain(TRACES.iter().map(|(name, _)| *name));
    let names: Vec<&str> = if args.scenarios.is_empty() { all.collect() } else { names.collect() };
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
    if let Some(file) = plot_file
        && !reports.is_empty()
        && let Err(error) = plot::write(file, &reports)
    {
        output.error(&error);
        exit = exit.and(error.exit());
    }
    Ok(exit)
}

/// The recorded traces of the repository.
const TRACES: [(&str, &[u8]); 2] = [
    ("vision_serving", include_bytes!("../../traces/vision_serving.csv.gz")),
    ("unet_diffusion", include_bytes!("../../traces/unet_diffusion.csv.gz")),
];

/// Where a workload comes from.
#[derive(Debug)]
enum Source {
    Scenario(Scenario),
    Trace(Trace),
    /// A session with submissions.
    Session(PathBuf),
    Generated(Generated),
}

/// Why a scenario has no result.
#[derive(Debug, thiserror::Error)]
enum ResidencyError {
    #[error(
        "unknown scenario or file {name:?}; available: {}, generated workloads (generated:SHAPE:SEED), scenario files (.toml) \
         and traces (.csv, .csv.gz)",
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
    #[error(transparent)]
    Session(#[from] NoWorkload),
    #[error(transparent)]
    Generated(#[from] UnknownGenerated),
    #[error("--policy: unknown eviction policy {name:?}; available: {}", list_of_policies())]
    Policy { name: String },
    #[error("{scenario} under {policy}: {error}")]
    Simulation { scenario: String, policy: PolicyKind, error: SimulationFailed },
    #[error(transparent)]
    RecordsOverInput(#[from] RecordsOverInput),
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
    let kinds = policy_kinds();
    let names: Vec<&str> = kinds.iter().map(PolicyKind::name).chain([ALL]).collect();
    names.join(", ")
}

/// Bytes by which a trace is told from a scenario.
const FIRST_LEN: u64 = 16;

impl Source {
    /// Generated workloads, a scenario or trace that comes with the program, or else a file.
    fn find(name: &str) -> Result<Vec<Self>, ResidencyError> {
        if Generated::is_name(name) {
            return Ok(Generated::named(name)?.into_iter().map(Self::Generated).collect());
        }
        Self::find_one(name).map(|source| vec![source])
    }

    fn find_one(name: &str) -> Result<Self, ResidencyError> {
        if let Some(scenario) = built_in::find(name) {
            return Ok(Self::Scenario(scenario));
        }
        if let Some((name, bytes)) = TRACES.iter().find(|(known, _)| *known == name) {
            return Ok(Self::Trace(Trace::from_reader(format!("{name}.csv.gz"), *bytes)?));
        }
        let path = Path::new(name);
        if input::is_stdin(path) {
            return Self::from_stdin();
        }
        if path.extension().is_some_and(|extension| extension == "toml") {
            let bytes = input::read(path).map_err(|error| ResidencyError::Read {
                path: name.to_owned(),
                reason: input::reason(&error, "no such file"),
            })?;
            return Self::parse(name, &bytes);
        }
        if !path.exists() && !name.contains(['.', '/', '\\']) {
            return Err(ResidencyError::Unknown { name: name.to_owned() });
        }
        let trace = Trace::read(path)?;
        // A capture or session without submissions is a trace like any other.
        if trace.format() != Format::Csv && records(path)?.any(|record| has_heaps(&record)) {
            return Ok(Self::Session(path.to_owned()));
        }
        // Its heaps are those of an allocator.
        environment::check_input(path)?;
        Ok(Self::Trace(trace))
    }

    /// A trace, which begins with its header or is compressed; or else a scenario.
    fn from_stdin() -> Result<Self, ResidencyError> {
        let cannot_read = |error| ResidencyError::Read {
            path: input::STDIN_NAME.to_owned(),
            reason: input::reason(&error, "no such file"),
        };
        let mut first = Vec::new();
        let mut stdin = io::stdin();
        stdin.by_ref().take(FIRST_LEN).read_to_end(&mut first).map_err(cannot_read)?;
        let is_gzip = first.starts_with(&[0x1f, 0x8b]);
        let text = first.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&first);
        if is_gzip || text.starts_with(b"time_us,") {
            let whole = first.as_slice().chain(stdin);
            return Ok(Self::Trace(Trace::from_reader(input::STDIN_NAME, whole)?));
        }
        let bytes = input::read_rest(first, stdin).map_err(cannot_read)?;
        Self::parse(input::STDIN_NAME, &bytes)
    }

    fn parse(path: &str, bytes: &[u8]) -> Result<Self, ResidencyError> {
        let text = input::text(bytes).ok_or_else(|| ResidencyError::Read {
            path: path.to_owned(),
            reason: "not valid UTF-8".to_owned(),
        })?;
        Ok(Self::Scenario(Scenario::parse(path, text)?))
    }

    fn workload(&self) -> Result<Workload, ResidencyError> {
        match self {
            Self::Scenario(scenario) => Ok(expand(scenario)?),
            Self::Trace(trace) => Ok(from_trace(trace)?),
            Self::Session(path) => {
                let name = path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy();
                Ok(from_session(&name, path.clone(), records(path)?)?)
            }
            Self::Generated(generated) => Ok(generated.workload()),
        }
    }
}

fn records(path: &Path) -> Result<RecordReader<Box<dyn Read>>, ResidencyError> {
    let file = input::open(path).map_err(|error| ResidencyError::Read {
        path: path.display().to_string(),
        reason: input::reason(&error, "no such file"),
    })?;
    Ok(RecordReader::new(path, file)?)
}

/// Returns whether a record is a submission's residency set that is not empty.
fn has_heaps(record: &Result<Record, TraceError>) -> bool {
    matches!(record, Ok(Record { action: Action::DefineSet { heaps, .. }, .. }) if !heaps.is_empty())
}

/// The name that stands for all policies.
const ALL: &str = "all";

/// Returns the policies that are asked for, each once; without any, those of the library, the default first.
fn policies(names: &[String]) -> Result<Vec<PolicyKind>, ResidencyError> {
    if names.is_empty() {
        return Ok(PolicyKind::all().to_vec());
    }
    let mut policies: Vec<PolicyKind> = Vec::new();
    for name in names {
        let named: Vec<PolicyKind> =
            policy_kinds().into_iter().filter(|kind| name == ALL || name == kind.name()).collect();
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
    policies: &[PolicyKind],
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
    for (done, policy) in (0..).zip(policies) {
        let simulated = simulate_workload(&workload, policy, EVICT_AHEAD, &mut |frame| {
            bar.set_position(done * frames + frame as u64);
        });
        match simulated {
            Ok(outcome) => reports.push(ResidencyReport::new(&workload, policy, bound, &outcome)),
            Err(error) => {
                bar.finish_and_clear();
                return Err(ResidencyError::Simulation {
                    scenario: workload.name,
                    policy: policy.clone(),
                    error,
                });
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
    for policy in policy_kinds() {
        let description = if policy == PolicyKind::default() { "the default" } else { "" };
        let is_ours = PolicyKind::all().contains(&policy);
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
