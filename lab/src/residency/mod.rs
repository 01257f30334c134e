//! The library's eviction policies and D3DX12Residency's rules on the same workloads, beside the offline bound.

mod aged_lru;

use std::error::Error;
use std::path::Path;

use heapwright_core::residency::policy::{EvictionPolicy, PolicyKind};
use heapwright_simulation::{EVICT_AHEAD, GeneratedTrace, from_records, offline_bound, simulate};
use heapwright_trace::{RecordReader, Trace};

pub use self::aged_lru::AgedLru;
use crate::workload::Part;
use crate::workload::traces::NAMES;

/// Budgets, in percent of the peak.
const BUDGETS: [u32; 6] = [40, 50, 60, 70, 80, 90];

/// A constant number of bytes that is added to both terms of a ratio, so that runs that page in next to nothing count
/// less.
const LITTLE: f64 = (64 << 20) as f64;

/// The bytes that each policy pages in, and the bound.
struct Run {
    bound: f64,
    next_use: f64,
    lru: f64,
    d3dx12: f64,
}

impl Run {
    fn all(trace: &Trace) -> Result<Vec<Self>, Box<dyn Error>> {
        let mut csv = Vec::new();
        trace.write(&mut csv)?;
        let mut workload = from_records(RecordReader::new(trace.name(), &csv[..])?)?;
        let mut runs = Vec::new();
        for budget in BUDGETS {
            workload.set_local_budget(budget);
            let bytes = |policy: &dyn Fn() -> Box<dyn EvictionPolicy>| {
                simulate(&workload, policy, EVICT_AHEAD, &mut |_| {})
                    .map(|outcome| outcome.bytes_in.get() as f64)
            };
            runs.push(Self {
                bound: offline_bound(&workload).get() as f64,
                next_use: bytes(&|| PolicyKind::NextUse.create())?,
                lru: bytes(&|| PolicyKind::Lru.create())?,
                d3dx12: bytes(&|| Box::<AgedLru>::default())?,
            });
        }
        Ok(runs)
    }
}

/// Returns the rows of the table in docs/performance.md.
///
/// # Errors
///
/// Returns an error if a recorded trace cannot be read, or if the planner and the device disagree.
pub fn table(folder: &Path) -> Result<String, Box<dyn Error>> {
    let generated = |part: Part| part.traces().map(GeneratedTrace::generate).collect::<Vec<_>>();
    let recorded = NAMES.iter().map(|name| Trace::read(folder.join(format!("{name}.csv.gz"))));
    let recorded = recorded.collect::<Result<Vec<_>, _>>()?;
    let mut text = String::new();
    for (traces, of) in [
        (generated(Part::Development), "of the development part"),
        (generated(Part::Evaluation), "of the evaluation part"),
        (recorded, "of the traces"),
    ] {
        let runs = traces.iter().map(Run::all).collect::<Result<Vec<_>, _>>()?;
        let runs: Vec<Run> = runs.into_iter().flatten().collect();
        let mean = |ratio: &dyn Fn(&Run) -> f64| {
            let ratios = runs.iter().map(ratio).filter(|ratio| ratio.is_finite() && *ratio > 0.0);
            let (sum, count) = ratios.fold((0.0, 0.0), |(sum, count), ratio| (sum + ratio.ln(), count + 1.0));
            f64::exp(sum / count)
        };
        let beside = |run: &Run, other: f64| (run.next_use + LITTLE) / (other + LITTLE);
        let beside_lru: Vec<_> = runs.iter().map(|run| beside(run, run.lru)).collect();
        let gibibytes = |bytes: fn(&Run) -> f64| runs.iter().map(bytes).sum::<f64>() / f64::from(1 << 30);
        text.push_str(&format!(
            "| {} {of} | {:.2} | {:.2} | {:.2} | {:.0} / {:.0} / {:.0} | {:.2} | {:.2} | {} |\n",
            runs.len(),
            mean(&|run| run.next_use / run.bound),
            mean(&|run| run.lru / run.bound),
            mean(&|run| run.d3dx12 / run.bound),
            gibibytes(|run| run.next_use),
            gibibytes(|run| run.lru),
            gibibytes(|run| run.d3dx12),
            mean(&|run| beside(run, run.next_use.min(run.lru))),
            beside_lru.iter().copied().fold(0.0, f64::max),
            beside_lru.iter().filter(|&&ratio| ratio > 1.10).count(),
        ));
    }
    Ok(text)
}
