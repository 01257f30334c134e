//! `cargo lab placement`: replays workloads through the placement policy with variations of its settings.
//!
//! The documentation of `HeapSizing` and `HeapRetention` quotes the figures to justify the defaults. In addition to the
//! recorded traces, they are replayed with other sizes and in other combinations ([`transform`]), and so are the
//! generated workloads of the development part. The evaluation part is replayed with `--evaluation` only: a setting that
//! was chosen by it would prove nothing.

#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program that prints tables")]

mod replay;
mod transform;
mod variants;
mod workload;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use heapwright_simulation::{GeneratedTrace, Part};
use heapwright_trace::Trace;
use replay::Outcome;
use variants::Variant;
use workload::Workload;

/// Replays traces and similar workloads through the placement policy with variations of its settings.
#[derive(Parser)]
#[command(name = "placement")]
struct Args {
    /// Trace files, as for `heapwright replay`.
    #[arg(required = true)]
    traces: Vec<PathBuf>,
    /// Print only the default settings, with a row for each workload.
    #[arg(long)]
    each: bool,
    /// Replay the generated workloads of the evaluation part, too.
    #[arg(long)]
    evaluation: bool,
    /// Print the time of an operation on each trace, as the minimum of this number of replays, without and with the time for
    /// new heaps.
    #[arg(long)]
    time: Option<u32>,
}

/// Workloads that form a column of the table.
struct Group {
    label: &'static str,
    workloads: Vec<Workload>,
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

/// Prints a row for each variant.
fn run(args: &Args) -> Result<(), String> {
    let traces = args.traces.iter().map(Trace::read).collect::<Result<Vec<_>, _>>();
    let traces = traces.map_err(|error| error.to_string())?;
    let recorded: Vec<Workload> = traces.iter().map(Workload::of_trace).collect();
    if let Some(repetitions) = args.time {
        return print_times(&recorded, repetitions);
    }
    let groups = family(recorded, args.evaluation);
    if args.each { print_each(&groups) } else { print_variants(&groups) }
}

/// Returns the recorded workloads, similar ones, and generated ones.
fn family(recorded: Vec<Workload>, evaluation: bool) -> Vec<Group> {
    use transform::{interleaved, jittered, scaled, second_half, shifted};
    let of_each = |make: &dyn Fn(&Workload) -> Workload| recorded.iter().map(make).collect::<Vec<_>>();
    let mut similar = of_each(&|workload| scaled(workload, 3, 8));
    similar.append(&mut of_each(&|workload| jittered(workload, 1)));
    similar.append(&mut of_each(&second_half));
    similar.append(&mut of_each(&shifted));
    let next = recorded.iter().cycle().skip(1);
    similar.extend(recorded.iter().zip(next).map(|(first, second)| interleaved(first, second, 400)));
    let generated = |part| GeneratedTrace::of_part(part).map(|one| Workload::of_trace(&one.generate())).collect();
    let mut groups = vec![
        Group { label: "recorded", workloads: recorded },
        Group { label: "similar", workloads: similar },
        Group { label: "development", workloads: generated(Part::Development) },
    ];
    if evaluation {
        groups.push(Group { label: "evaluation", workloads: generated(Part::Evaluation) });
    }
    groups
}

fn print_variants(groups: &[Group]) -> Result<(), String> {
    let labels: Vec<_> = groups.iter().map(|group| format!("{:>25}", group.label)).collect();
    println!(
        "modelled us per operation / mean held over mean live / peak held over peak live, geometric means"
    );
    println!("{:<28} {}", "change", labels.join(" "));
    for variant in variants::all() {
        let mut columns = Vec::new();
        for group in groups {
            let outcomes = group.workloads.iter().map(|workload| replay::replay(workload, &variant));
            columns.push(summary(&outcomes.collect::<Result<Vec<_>, _>>()?));
        }
        println!("{:<28} {}", variant.label, columns.join(" "));
    }
    Ok(())
}

fn summary(outcomes: &[Outcome]) -> String {
    let mean = |of: fn(&Outcome) -> f64| {
        let logarithms: f64 = outcomes.iter().map(|outcome| of(outcome).ln()).sum();
        (logarithms / outcomes.len() as f64).exp()
    };
    let (time, held, peak) = (
        mean(|outcome| outcome.micros),
        mean(|outcome| outcome.mean_ratio),
        mean(|outcome| outcome.peak_ratio),
    );
    format!("{time:>9.2} / {held:>5.3} / {peak:>5.3}")
}

fn print_each(groups: &[Group]) -> Result<(), String> {
    for group in groups {
        let mut outcomes = Vec::new();
        for workload in &group.workloads {
            let outcome = replay::replay(workload, &Variant::defaults())?;
            println!("{:<12} {:<36} {outcome}", group.label, workload.name);
            outcomes.push(outcome);
        }
        println!("{:<12} {:<36} {}", group.label, "geometric mean", summary(&outcomes));
    }
    Ok(())
}

fn print_times(workloads: &[Workload], repetitions: u32) -> Result<(), String> {
    for workload in workloads {
        let mut least = (f64::INFINITY, f64::INFINITY);
        for _ in 0..repetitions.max(1) {
            let (without, with) = replay::time(workload, &Variant::defaults())?;
            least = (least.0.min(without), least.1.min(with));
        }
        let of_one = |seconds: f64| seconds * 1e9 / workload.steps.len() as f64;
        let (without, with) = (of_one(least.0), of_one(least.1));
        println!("{:<20} {without:6.1} ns, {with:6.1} ns with new heaps", workload.name);
    }
    Ok(())
}
