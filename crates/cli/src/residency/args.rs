//! Arguments of `heapwright residency`.

use std::path::PathBuf;

use crate::args::number;

/// Simulate workloads under eviction policies and compare them with the offline optimum
///
/// A scenario defines heaps, the heaps that each submission uses, the budget in each frame, and the cost of paging.
/// For each policy, the scenario's heaps are created on a simulated GPU, and the decisions of the library's residency
/// planner are carried out with MakeResident and Evict. The run fails if the adapter's CurrentUsage differs from the
/// planner's, or exceeds the budget although the heaps of a single submission fit. Time is simulated, so results do
/// not depend on the machine.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{DETAILS}"))]
pub(crate) struct ResidencyArgs {
    /// Names of built-in scenarios, scenario files (.toml), sessions (.hws), captures of GPGMM (.json), CSV traces, or - for
    /// standard input; or generated workloads [default: all built-in scenarios and traces]
    ///
    /// The kind of standard input, or of a pipe, is recognized by its content. A capture or session on it may have at most 256 MiB.
    ///
    /// generated:SHAPE:SEED is a generated workload (--list has the shapes). generated:development and generated:evaluation are
    /// the 20 workloads of each shape with which policies are developed (seeds from 0), and only evaluated (seeds from 1000).
    /// workload:SHAPE:SEED is a generated trace, see `heapwright convert --help`.
    #[arg(value_name = "SCENARIO")]
    pub(crate) scenarios: Vec<PathBuf>,

    /// Policy to simulate, or `all`; may be repeated [default: the policies of the library]
    #[arg(long, value_name = "NAME")]
    pub(crate) policy: Vec<String>,

    /// Budget in percent of the peak size of live heaps in local memory, in place of the scenario's; may be repeated
    #[arg(long, value_name = "PERCENT", allow_negative_numbers = true, value_parser = number(1..=1000_u32))]
    pub(crate) budget: Vec<u32>,

    /// List the built-in scenarios, traces, shapes of generated workloads and policies, and exit
    #[arg(long, conflicts_with_all = ["scenarios", "policy", "budget"])]
    pub(crate) list: bool,

    /// Print one JSON object per line for each scenario and policy
    #[arg(long)]
    pub(crate) json: bool,
}

const EXAMPLES: &str = "\
Examples:
  heapwright residency level-change
  heapwright residency --policy adaptive --policy lru cyclic-scan unet_diffusion
  heapwright residency --json crates/simulation/scenarios/budget-halved.toml
  heapwright residency --policy all generated:documents:7 generated:serving:7
  heapwright residency --policy all --budget 40 --budget 90 traces/unet_diffusion.csv.gz
  heapwright residency --policy lru --policy next-use session.hws
  heapwright residency --list";

const DETAILS: &str = "\
docs/formats.md describes the measurements, the format of scenario files, and how sessions and
traces become scenarios; docs/output.schema.json describes the keys of the JSON.

Exit codes: 0 success; 1 the device and the planner disagree or usage exceeds the budget
unnecessarily (a bug in heapwright); 2 invalid input, such as an
unknown scenario or policy, an invalid file, or a scenario that is larger than the simulated GPU.";
