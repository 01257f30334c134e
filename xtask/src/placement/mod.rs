//! `cargo xtask placement`: replays workloads through the placement policy with variations of its settings.
//!
//! The documentation of `HeapSizing` and `HeapRetention` quotes the figures to justify the defaults. In addition to the
//! recorded traces, similar workloads are generated ([`transform`], [`synthetic`]). A setting that is only better on the
//! traces is overfitted.

mod replay;
mod synthetic;
mod transform;
mod variants;
mod workload;

use std::path::PathBuf;

use heapwright_trace::Trace;
use replay::Outcome;
use variants::Variant;
use workload::Workload;

/// Arguments of `cargo xtask placement`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Trace files, as for `heapwright replay`.
    #[arg(required = true)]
    traces: Vec<PathBuf>,
    /// Print only the default settings, with a row for each workload.
    #[arg(long)]
    each: bool,
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

/// Prints a row for each variant.
pub(crate) fn run(args: &Args) -> Result<(), String> {
    let traces = args.traces.iter().map(Trace::read).collect::<Result<Vec<_>, _>>();
    let traces = traces.map_err(|error| error.to_string())?;
    let recorded: Vec<Workload> = traces.iter().map(Workload::of_trace).collect();
    if let Some(repetitions) = args.time {
        return print_times(&recorded, repetitions);
    }
    let groups = family(recorded);
    if args.each { print_each(&groups) } else { print_variants(&groups) }
}

/// Returns the recorded workloads and similar ones.
fn family(recorded: Vec<Workload>) -> Vec<Group> {
    use transform::{interleaved, jittered, scaled, second_half, shifted};
    let of_each = |make: &dyn Fn(&Workload) -> Workload| recorded.iter().map(make).collect::<Vec<_>>();
    let mut sized = of_each(&|workload| scaled(workload, 3, 8));
    sized.append(&mut of_each(&|workload| scaled(workload, 27, 16)));
    sized.append(&mut of_each(&|workload| jittered(workload, 1)));
    sized.append(&mut of_each(&|workload| jittered(workload, 2)));
    let mut parts = of_each(&second_half);
    parts.append(&mut of_each(&shifted));
    let next = recorded.iter().cycle().skip(1);
    let pairs = recorded.iter().zip(next).map(|(first, second)| interleaved(first, second, 400)).collect();
    let made = (1..=4).flat_map(synthetic::all).collect();
    vec![
        Group { label: "recorded", workloads: recorded },
        Group { label: "sizes", workloads: sized },
        Group { label: "parts", workloads: parts },
        Group { label: "pairs", workloads: pairs },
        Group { label: "synthetic", workloads: made },
    ]
}

fn print_variants(groups: &[Group]) -> Result<(), String> {
    let labels: Vec<_> = groups.iter().map(|group| format!("{:>14}", group.label)).collect();
    println!("peak bytes of heaps over peak live bytes, geometric mean; heaps created per allocation, worst");
    println!("{:<28} {} {:>14}  recorded", "change", labels.join(" "), "all");
    for variant in variants::all() {
        let outcomes = groups
            .iter()
            .map(|group| group.workloads.iter().map(|workload| replay::replay(workload, &variant)).collect())
            .collect::<Result<Vec<Vec<Outcome>>, _>>()?;
        let all: Vec<Outcome> = outcomes.iter().flatten().copied().collect();
        let columns: Vec<_> = outcomes.iter().chain([&all]).map(|of| summary(of)).collect();
        let recorded: Vec<_> = outcomes.first().into_iter().flatten().map(Outcome::to_string).collect();
        println!("{:<28} {}  {}", variant.label, columns.join(" "), recorded.join(" | "));
    }
    Ok(())
}

fn summary(outcomes: &[Outcome]) -> String {
    let logarithms: f64 = outcomes.iter().map(|outcome| outcome.peak_ratio.ln()).sum();
    let mean = (logarithms / outcomes.len() as f64).exp();
    let worst = outcomes.iter().map(|outcome| outcome.creations).fold(0.0, f64::max);
    format!("{mean:>8.4} {:>4.1}%", worst * 100.0)
}

fn print_each(groups: &[Group]) -> Result<(), String> {
    for group in groups {
        for workload in &group.workloads {
            let outcome = replay::replay(workload, &Variant::defaults())?;
            println!("{:<10} {:<36} {outcome}", group.label, workload.name);
        }
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
