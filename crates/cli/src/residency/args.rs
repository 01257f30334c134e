//! Arguments of `heapwright residency`.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use heapwright_core::residency::policy::PolicyKind;

use crate::numbers::number;

/// Simulate workloads under eviction policies and compare them with the offline optimum
///
/// A workload is a sequence of submissions, each with the heaps that it uses. For each policy, its heaps are created on
/// a simulated GPU, and the decisions of the library's residency planner are carried out with MakeResident and Evict.
/// The run fails if the adapter's CurrentUsage differs from the planner's, or exceeds the budget although the heaps of
/// a single submission fit. Time is simulated, so results do not depend on the machine.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{DETAILS}"))]
pub(crate) struct ResidencyArgs {
    /// Sessions (.hws), captures of GPGMM (.json), CSV traces or memory snapshots of PyTorch (.pickle, .json), plain or
    /// gzip, or - for standard input; or generated workloads
    ///
    /// workload:SHAPE:SEED is a generated trace, see `heapwright convert --help`.
    #[arg(value_name = "WORKLOAD", required = true)]
    pub(crate) workloads: Vec<PathBuf>,

    /// Policy to simulate; may be repeated [default: all]
    #[arg(long, value_name = "NAME", value_parser = policy_names())]
    pub(crate) policy: Vec<String>,

    /// Budget in percent of the peak size of live heaps in local memory, in place of the workload's; may be repeated
    #[arg(long, value_name = "PERCENT", allow_negative_numbers = true, value_parser = number(1..=1000_u32))]
    pub(crate) budget: Vec<u32>,

    /// Print one JSON object per line for each workload and policy
    #[arg(long)]
    pub(crate) json: bool,
}

/// The name that stands for all policies.
pub(super) const ALL: &str = "all";

fn policy_names() -> PossibleValuesParser {
    PolicyKind::all().iter().map(|kind| kind.name()).chain([ALL]).into()
}

const EXAMPLES: &str = "\
Examples:
  heapwright residency workload:levels:7
  heapwright residency --json --policy next-use --policy lru traces/unet_diffusion.csv.gz
  heapwright residency --policy all workload:editor:7 workload:serving:7
  heapwright residency --policy all --budget 40 --budget 90 traces/unet_diffusion.csv.gz
  heapwright residency --policy lru --policy next-use session.hws";

const DETAILS: &str = "\
docs/formats.md describes the measurements, and how sessions and traces become workloads;
docs/output.schema.json describes the keys of the JSON.

Exit codes: 0 success; 1 the device and the planner disagree or usage exceeds the budget
unnecessarily (a bug in heapwright); 2 invalid input, such as an unknown policy, an invalid file,
or a workload that is larger than the simulated GPU.";
