//! `heapwright residency`: workloads under eviction policies, in simulated time.
//!
//! The simulator is `heapwright_simulation`. [`args`] has the arguments, [`report`] what is printed, [`table`] how it
//! looks to people.

mod args;
mod report;
mod table;

use std::path::Path;

use heapwright_core::residency::policy::PolicyKind;
use heapwright_simulation::{
    CannotDerive, EVICT_AHEAD, Workload, from_records, offline_bound, simulate as simulate_workload,
};

use self::args::ALL;
pub(crate) use self::args::ResidencyArgs;
use self::report::ResidencyReport;
use crate::convert::truncated;
use crate::exit::{Exit, Failed};
use crate::input;
use crate::output::Output;
use crate::output_file::check_recording;

/// Runs the command. Returns the most severe result of all workloads.
pub(crate) fn run(args: &ResidencyArgs, output: &mut Output) -> Result<Exit, Failed> {
    let policies = policies(&args.policy);
    input::check_stdin(&args.workloads)?;
    let mut exit = Exit::Success;
    let mut reports = Vec::new();
    for path in &args.workloads {
        let mut workload = match workload(path) {
            Ok(workload) => workload,
            Err(failed) => {
                exit = exit.and(output.failed(&failed));
                continue;
            }
        };
        if let Some(offset) = workload.truncated_at {
            output.warning(&truncated(input::name(path), offset));
        }
        let name = workload.name.clone();
        let budgets = args.budget.iter().copied().map(Some);
        for budget in budgets.chain(args.budget.is_empty().then_some(None)) {
            if let Some(percent) = budget {
                workload.set_local_budget(percent);
                workload.name = format!("{name}:{percent}%");
            }
            match simulate(&workload, &policies, !args.json, output) {
                Ok(of_workload) => {
                    if args.json {
                        of_workload.iter().try_for_each(|report| output.json(report))?;
                    }
                    reports.push(of_workload);
                }
                Err(failed) => exit = exit.and(output.failed(&failed)),
            }
        }
    }
    if !args.json && !reports.is_empty() {
        output.result(&table::render(&reports))?;
    }
    Ok(exit)
}

/// Returns the requested policies without duplicates, or all of them, the default first.
fn policies(names: &[String]) -> Vec<PolicyKind> {
    let all = PolicyKind::all();
    if names.is_empty() {
        return all.to_vec();
    }
    let mut policies = Vec::new();
    for name in names {
        for &kind in all.iter().filter(|kind| name == ALL || name == kind.name()) {
            if !policies.contains(&kind) {
                policies.push(kind);
            }
        }
    }
    policies
}

/// Reads the workload of a trace, capture or session, in a file, on standard input, or generated.
fn workload(path: &Path) -> Result<Workload, Failed> {
    // The heaps of a trace are those of an allocator.
    check_recording(path)?;
    from_records(input::records(path)?).map_err(|error| match error {
        CannotDerive::Open { .. } => Failed::failure(error),
        _ => Failed::bad_input(error),
    })
}

/// Simulates one workload under each policy.
fn simulate(
    workload: &Workload,
    policies: &[PolicyKind],
    shows_progress: bool,
    output: &Output,
) -> Result<Vec<ResidencyReport>, Failed> {
    let bound = offline_bound(workload);
    let frames = workload.frames.len() as u64;
    let bar = output.progress(shows_progress, &workload.name, frames * policies.len() as u64);
    let mut reports = Vec::new();
    for (done, &policy) in (0..).zip(policies) {
        let simulated = simulate_workload(workload, &|| policy.create(), EVICT_AHEAD, &mut |frame| {
            bar.set_position(done * frames + frame as u64);
        });
        match simulated {
            Ok(outcome) => reports.push(ResidencyReport::new(workload, policy, bound, &outcome)),
            Err(error) => {
                bar.finish_and_clear();
                let message = format!("{} under {policy}: {error}", workload.name);
                let is_too_large = error.is_too_large();
                return Err(if is_too_large { Failed::bad_input(message) } else { Failed::failure(message) });
            }
        }
    }
    bar.finish_and_clear();
    Ok(reports)
}
