//! Compares all policies in generated workloads, and in traces at budgets of 40 to 90 %.
//!
//! `cargo run --release -p heapwright-policies --bin evaluate -- SEEDS [TRACE]...`: prints the bytes paged in
//! by each policy, divided by the lower bound, for `SEEDS` seeds of each shape in the part for development
//! and in the part that is only evaluated. 64 MiB are added to both, so that workloads that page in next to
//! nothing do not count as much as the others. Then come, for each shape and in total: the geometric mean of
//! these ratios, the geometric mean and the maximum divided by the best policy of each workload, and the
//! maximum divided by LRU.
#![allow(clippy::print_stdout, clippy::cast_precision_loss, reason = "it prints ratios")]

use std::error::Error;

use heapwright_core::ByteSize;
use heapwright_core::residency::policy::PolicyKind;
use heapwright_policies::kinds;
use heapwright_policies::workloads::{FIRST_EVALUATION_SEED, Shape, generate, geometric_mean};
use heapwright_simulation::{EVICT_AHEAD, Workload, from_trace, offline_bound, simulate};
use heapwright_trace::Trace;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let seeds: u64 = args.next().ok_or("usage: evaluate SEEDS [TRACE]...")?.parse()?;
    let mut table = Table { kinds: kinds(), rows: Vec::new() };
    for (part, first) in [("development", 0), ("evaluation", FIRST_EVALUATION_SEED)] {
        table.begin(part);
        for shape in Shape::ALL {
            for seed in first..first + seeds {
                table.measure(&format!("{shape:?}"), &generate(shape, seed))?;
            }
        }
        table.summarize();
    }
    let traces: Vec<String> = args.collect();
    if traces.is_empty() {
        return Ok(());
    }
    table.begin("traces, with their budgets in percent");
    for path in traces {
        let mut workload = from_trace(&Trace::read(&path)?)?;
        let name = workload.name.clone();
        let at_60 = workload.frames.first().map_or(0, |frame| frame.budget[0].get());
        for percent in [40, 50, 60, 70, 80, 90] {
            for frame in &mut workload.frames {
                frame.budget[0] = ByteSize::new(at_60 / 60 * percent);
            }
            workload.name = format!("{name} {percent}");
            table.measure(&name, &workload)?;
        }
    }
    table.summarize();
    Ok(())
}

struct Table {
    kinds: Vec<PolicyKind>,
    /// The group and the ratios of each workload.
    rows: Vec<(String, Vec<f64>)>,
}

impl Table {
    fn begin(&mut self, part: &str) {
        self.rows.clear();
        print!("\n{part:40} bound MiB");
        for kind in &self.kinds {
            print!(" {:>16}", kind.name());
        }
        println!();
    }

    fn measure(&mut self, group: &str, workload: &Workload) -> Result<(), Box<dyn Error>> {
        const LITTLE: u64 = 64 << 20;
        let bound = offline_bound(workload).bytes_in.get();
        print!("{:40} {:>9}", workload.name, bound >> 20);
        let mut ratios = Vec::new();
        for kind in &self.kinds {
            let paged = simulate(workload, kind, EVICT_AHEAD, &mut |_| {})?.bytes_in.get();
            ratios.push((paged + LITTLE) as f64 / (bound + LITTLE) as f64);
        }
        print_row(ratios.iter().copied());
        self.rows.push((group.into(), ratios));
        Ok(())
    }

    fn summarize(&self) {
        let mut groups: Vec<&str> = self.rows.iter().map(|(group, _)| group.as_str()).collect();
        groups.dedup();
        for group in groups.into_iter().map(Some).chain([None]) {
            let rows = self.rows.iter().filter(|(other, _)| group.is_none_or(|group| group == other));
            self.summarize_group(
                group.unwrap_or("all"),
                &rows.map(|(_, ratios)| &**ratios).collect::<Vec<_>>(),
            );
        }
    }

    fn summarize_group(&self, group: &str, rows: &[&[f64]]) {
        let lru = self.kinds.iter().position(|kind| *kind == PolicyKind::Lru).unwrap_or(0);
        let best = |ratios: &[f64]| ratios.iter().copied().fold(f64::MAX, f64::min);
        let columns = || 0..self.kinds.len();
        let of = |policy: usize, to: &dyn Fn(&[f64]) -> f64| -> Vec<f64> {
            rows.iter().map(|ratios| ratios[policy] / to(ratios)).collect()
        };
        let most = |ratios: Vec<f64>| ratios.into_iter().fold(0.0, f64::max);
        let mean = |ratios: Vec<f64>| geometric_mean(&ratios);
        print!("{group:24} {:>25}", "mean of bound");
        print_row(columns().map(|policy| mean(of(policy, &|_| 1.0))));
        print!("{group:24} {:>25}", "mean of best");
        print_row(columns().map(|policy| mean(of(policy, &best))));
        print!("{group:24} {:>25}", "most of best");
        print_row(columns().map(|policy| most(of(policy, &best))));
        print!("{group:24} {:>25}", "most of LRU");
        print_row(columns().map(|policy| most(of(policy, &|ratios| ratios[lru]))));
    }
}

fn print_row(ratios: impl Iterator<Item = f64>) {
    for ratio in ratios {
        print!(" {ratio:>16.3}");
    }
    println!();
}
