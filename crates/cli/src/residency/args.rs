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

    /// Write an SVG file with a chart of each scenario
    #[arg(long, value_name = "FILE")]
    pub(crate) plot: Option<PathBuf>,

    /// List the built-in scenarios, traces, shapes of generated workloads and policies, and exit
    #[arg(long, conflicts_with_all = ["scenarios", "policy", "budget", "plot"])]
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
Measurements:
  in, out        bytes passed to MakeResident and to Evict
  bound          lower bound of the bytes paged in, for any policy: Belady's algorithm on the
                 sequence of submissions, computed separately for each segment group. Each
                 submission needs all of its heaps resident within its frame's budget. The bound
                 assumes that parts of a heap can be paged and that heaps in flight can be
                 evicted, so a policy may be unable to reach it
  ratio          in / bound; 1 if both are 0, and - if only the bound is 0
  lru            ratio of LRU, for comparison with the default policy
  stalls         number of times that the CPU waited for the GPU before an eviction
  frame p50, p99 simulated time between the ends of consecutive frames: median and 99th
                 percentile (nearest rank)
  of best        in / in of the policy that pages in least in this scenario: geometric mean and
                 maximum over the scenarios, with 64 MiB added to both, so that scenarios that page
                 in next to nothing do not count as much as the others
  of lru         the same / in of LRU: maximum
  longest stall  of all scenarios

Simulated time: the CPU works for cpu-ms per frame and runs at most frames-in-flight frames ahead
of the GPU. Each queue executes its submissions in order. A submission starts after its heaps have
been paged in; the queue waits for that, the CPU does not. A single copy engine pages heaps out and
in, one at a time; each takes latency-us plus its size divided by gb-per-s.

A scenario file is TOML. Keys with a default are optional:
  name, description, frames
  frames-in-flight = 2, cpu-ms = 0
  paging       gb-per-s (1 GB is 10^9 bytes), latency-us (per heap)
  [[budget]]   from-frame, local, non-local (default: unchanged): budgets from this frame on
  [[heaps]]    name, count, size, up-to = size (sizes are distributed between the two, uniformly
               in the logarithm, in multiples of 64 KiB), segment = \"local\" (or \"non-local\"),
               priority = \"normal\" (minimum, low, high, maximum), resident = false (at
               creation), locked = false, lives = [min, max] lifetime in frames, after which a
               new resident heap replaces the heap (default: unlimited), seed = 0
  [[camera]]   name, speed, turn (probability per frame of a new direction), back = 0 (probability
               that the new direction is the opposite one), seed: a path on a unit square whose
               opposite edges are joined
  [[rota]]     name, turns = [min, max] frames, weights (random order) or order (indices from 0,
               repeated), seed = 0: a schedule that selects one item at a time
  [[submission]]  queue = 0, gpu-ms, repeat = 1 (times per frame), use = [ ... ]
A use is one of the following. With frames = [first, end] it is limited to these frames:
  all      { heaps, by-parts = false }  every heap; by-parts divides them among the repetitions
  cyclic   { heaps, count }  the next heaps in order, starting over at the end
  random   { heaps, count, zipf = 0, seed }  random heaps; rank n has weight 1 / n^zipf
  drift    { heaps, count, change, seed }  a set in which some heaps are replaced each time
  window   { heaps, columns, radius, camera }  tiles of a square grid around a camera
  in-turn  { rota, heaps = [ ... ], by-parts = false }  the heaps that the rota selects
Sizes are written as \"64 KiB\" or \"1.5 GiB\". crates/simulation/scenarios has examples.

A session records submissions and the heaps that they use, which are simulated. The GPU works on a
submission until the next. The budget is the recorded local budget if the heaps exceed it at some
time, otherwise 60 % of the peak size of the heaps. A session without residency sets is a trace.

A trace records when blocks are allocated and freed, not when they are used. It is replayed through
the allocator with default settings, and the scenario's heaps are the heaps that the allocator
creates: created resident for their first block, and destroyed after the last use of their last
block. Every 8 events form a submission and a frame, whose GPU time is the time between them in the
trace. A block is used by the submissions in which it is allocated and freed. Blocks that are never
freed are treated as weights of a network: each allocation of another block uses the next weight,
in order of allocation, starting over at the end. The budget is 60 % of the peak size of the heaps.

JSON keys (stable; a key never changes its meaning):
  scenario, policy, default (whether it is the default policy), bytes_in, bytes_out,
  lower_bound_bytes, ratio (null if only the bound is 0), stalls, frame_ms {p50, p99}, stall_ms
  (sum of all stalls), longest_stall_ms, simulated_ms (sum of all frames), cold_bytes (the part of
  the bound due to first uses), belady_bytes (bytes that Belady's algorithm pages in with whole
  heaps), over_budget_frames (frames in which the heaps of one submission exceed the budget),
  frames, submissions, heaps.

Exit codes: 0 success; 1 the device and the planner disagree or usage exceeds the budget
unnecessarily (a bug in heapwright); 2 invalid input, such as an
unknown scenario or policy, an invalid file, or a scenario that is larger than the simulated GPU.";
