//! The command line.

use std::path::PathBuf;

use clap::{ArgAction, Parser, Subcommand, ValueEnum};
use heapwright_conformance::Class;

/// The long help of `--device`, which means the same for every command. A macro, as what it is for comes first.
macro_rules! device_help {
    ($what:literal) => {
        concat!(
            $what,
            ":\n\n",
            "host          the simulated GPU host:discrete\n",
            "host:PROFILE  a simulated GPU, as `heapwright devices` lists them\n",
            "d3d12         Windows' Direct3D 12, on the adapter that it takes by default\n",
            "d3d12:N       Windows' Direct3D 12, on adapter N as `heapwright devices` lists them\n",
            "d3d12:PATH    the Direct3D 12 in a shared library, on its default adapter; a file whose\n",
            "              name is a number needs its directory: d3d12:./7\n\n",
            "A shared library is one that exports D3D12CreateDevice, on Windows or elsewhere, such as ",
            "vkd3d-proton's native build or heapwright's own runtime. The libraries that it needs are ",
            "looked for beside it on Windows, and elsewhere where the system looks (LD_LIBRARY_PATH). If it ",
            "exports CreateDXGIFactory2 or CreateDXGIFactory1 as well, it has an adapter; without one, usage ",
            "and budgets are not known.\n\n",
            "Example: --device d3d12:/opt/vkd3d-proton/lib/libvkd3d-proton-d3d12.so",
        )
    };
}

/// GPU memory management for Direct3D 12, on any machine.
///
/// Runs the heapwright library on a Direct3D 12 device. Without Windows or a GPU that is a simulated one, which comes
/// with the program.
#[derive(Debug, Parser)]
#[command(name = "heapwright", version, max_term_width = 100, after_help = PROGRAM_HELP)]
pub(crate) struct Args {
    /// Log more to standard error: -v what happens, -vv how, -vvv everything
    ///
    /// Without it warnings are logged. HEAPWRIGHT_LOG has the last word: a level (error, warn, info, debug, trace) or
    /// a filter such as heapwright_runtime=debug.
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub(crate) verbose: u8,

    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Replay what a GPU program allocated and freed through the allocator, and measure it
    ///
    /// Each trace gets a fresh device and a fresh allocator. Every allocation becomes a buffer of the size that the
    /// trace asks for, and is dropped where the trace frees it. What is live at the end is dropped then, and the
    /// allocator must give back all that it holds.
    ///
    /// All traces are read and checked before the first is replayed. One that is wrong does not keep the others from
    /// being replayed. A trace has at most 4,194,304 events and 1,048,576 allocations that are live at once.
    Replay(ReplayArgs),
    /// List the devices that --device takes
    ///
    /// Every device is opened, and asked what it can do and how much memory it has: the simulated GPUs that come with
    /// the program, and on Windows the adapters of the system. A D3D12 in a shared library is shown on demand, with
    /// --device.
    Devices(DevicesArgs),
    /// Check whether a device keeps Direct3D 12's rules of memory
    ///
    /// Runs checks in the manner of the Hardware Lab Kit: each has an id, the place in the specification that it
    /// follows, and what it needs. A check that does not apply to the device is skipped, with the reason; so is one
    /// that comes to a call which the device does not implement. With -v every skipped check is listed, without it the
    /// reasons are.
    Conformance(ConformanceArgs),
    /// Simulate workloads under eviction policies, beside the offline optimum
    ///
    /// Each scenario says what heaps there are, which of them each submission uses, what the budget is in each frame, and what
    /// paging costs. Under every policy its heaps are created on a simulated GPU, and what the library's residency planner
    /// decides is carried out there with MakeResident and Evict; usage as the adapter reports it must be what the planner
    /// believes, and over the budget only where the heaps of a submission are. Time is simulated: nothing here depends on
    /// the machine.
    Residency(ResidencyArgs),
    /// Make an HTML page out of an allocator's report
    ///
    /// A report is what ResourceAllocator::report of the library returns, as JSON. It is checked: allocations lie
    /// inside their heaps and do not overlap, and all sums are those of what is listed. The page has a map of every
    /// heap, and is one file that needs no network. A summary is printed.
    Report(ReportArgs),
}

/// What `heapwright replay` takes.
#[derive(Debug, clap::Args)]
#[command(after_help = REPLAY_HELP, after_long_help = REPLAY_LONG_HELP)]
pub(crate) struct ReplayArgs {
    /// Files in CSV, plain or gzip: time_us,event,id,size_bytes; or - for standard input
    #[arg(value_name = "TRACE", required = true)]
    pub(crate) traces: Vec<PathBuf>,

    /// Device to replay on, as `heapwright devices` lists them; or d3d12:PATH, a shared library
    #[arg(long, value_name = "DEVICE", default_value = "host", long_help = device_help!("Device to replay on"))]
    pub(crate) device: String,

    /// Heap type of the buffers; auto is default, or with --verify one that the CPU can write to
    #[arg(long, value_name = "TYPE", value_enum, default_value_t = HeapTypeArg::Auto)]
    pub(crate) heap_type: HeapTypeArg,

    /// Check that no two live buffers share an address and that what is written to them stays
    ///
    /// Checks that every buffer is as large as asked and at an aligned GPU address, and that no two live buffers share
    /// a byte of address space. About one buffer in eight, chosen by a hash of its id, gets a pattern that depends on
    /// its id, written through Map to its first, middle and last bytes when it is created and compared before it is
    /// freed. Needs a heap type that the CPU can write to.
    #[arg(long)]
    pub(crate) verify: bool,

    /// Replay each trace also as GPGMM would allocate, and with a heap for each buffer
    ///
    /// GPGMM: slabs by size with its default knobs, every empty heap kept, and no tight alignment.
    #[arg(long)]
    pub(crate) compare: bool,

    /// Write what the allocator holds when most is live, for `heapwright report`
    ///
    /// For one trace. Buffers are named after their ids.
    #[arg(long, value_name = "FILE", conflicts_with = "compare")]
    pub(crate) report: Option<PathBuf>,

    /// Print one JSON object for each trace, one per line; with --compare one for each allocator
    #[arg(long)]
    pub(crate) json: bool,
}

/// What `heapwright devices` takes.
#[derive(Debug, clap::Args)]
#[command(after_help = DEVICES_HELP, after_long_help = DEVICES_LONG_HELP)]
pub(crate) struct DevicesArgs {
    /// Show this one alone; d3d12:PATH is one of a shared library
    #[arg(long, value_name = "DEVICE", long_help = device_help!("Show this device alone"))]
    pub(crate) device: Option<String>,

    /// Print one JSON object for each device, one per line
    #[arg(long)]
    pub(crate) json: bool,
}

/// What `heapwright conformance` takes.
#[derive(Debug, clap::Args)]
#[command(after_help = CONFORMANCE_HELP, after_long_help = CONFORMANCE_LONG_HELP)]
pub(crate) struct ConformanceArgs {
    /// Device to check, as `heapwright devices` lists them; or d3d12:PATH, a shared library
    #[arg(long, value_name = "DEVICE", default_value = "host", long_help = device_help!("Device to check"))]
    pub(crate) device: String,

    /// File of checks that are known to fail on the device: a check's id and the reason, one a line
    ///
    /// After the id come white space and the reason; empty lines and those that begin with # mean nothing. A check that is
    /// listed and fails is counted as known, and does not make the answer no. One that is listed and passes does, so that
    /// the list stays true. One that is listed and skipped is told.
    #[arg(long, value_name = "FILE")]
    pub(crate) known_gaps: Option<PathBuf>,

    /// Run only checks whose id has this in it, as tight/; commas separate several
    #[arg(long, value_name = "TEXT")]
    pub(crate) filter: Option<String>,

    /// Do not run the check of this id; commas separate several
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    pub(crate) skip: Vec<String>,

    /// Checks that the exit code is about; all are run
    ///
    /// behaviour is what correct programs rely on, validation what the device refuses or reports.
    #[arg(long, value_name = "CLASS", default_value = "all")]
    pub(crate) require: RequiredClass,

    /// Seconds that a check may take before it fails
    ///
    /// Checks run in processes of their own: one that ends its process, or takes too long, fails, and the rest goes on.
    #[arg(long, value_name = "SECONDS", default_value_t = 120, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) check_timeout: u32,

    /// Run the checks whose ids come on standard input, for the process that asks for it
    #[arg(long, hide = true)]
    pub(crate) worker: bool,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// The classes of checks that `heapwright conformance --require` takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RequiredClass {
    All,
    Behaviour,
    Validation,
}

impl RequiredClass {
    pub(crate) fn classes(self) -> &'static [Class] {
        match self {
            Self::All => &Class::ALL,
            Self::Behaviour => &[Class::Behaviour],
            Self::Validation => &[Class::Validation],
        }
    }
}

/// What `heapwright residency` takes.
#[derive(Debug, clap::Args)]
#[command(after_help = RESIDENCY_HELP, after_long_help = RESIDENCY_LONG_HELP)]
pub(crate) struct ResidencyArgs {
    /// Scenarios by name, scenario files (.toml) or traces (.csv, .csv.gz), or - for one of these on standard input; by
    /// default all that come with the program, without the controls
    #[arg(value_name = "SCENARIO")]
    pub(crate) scenarios: Vec<String>,

    /// Policy to simulate; several times for several, all by default
    #[arg(long, value_name = "NAME")]
    pub(crate) policy: Vec<String>,

    /// Draw a figure for each scenario, in SVG
    #[arg(long, value_name = "FILE")]
    pub(crate) plot: Option<PathBuf>,

    /// List the scenarios, traces and policies that come with the program, and do nothing else
    #[arg(long, conflicts_with_all = ["scenarios", "policy", "plot"])]
    pub(crate) list: bool,

    /// Print one JSON object for each scenario and policy, one per line
    #[arg(long)]
    pub(crate) json: bool,
}

/// What `heapwright report` takes.
#[derive(Debug, clap::Args)]
#[command(after_help = REPORT_HELP, after_long_help = REPORT_LONG_HELP)]
pub(crate) struct ReportArgs {
    /// Report in JSON, at most 256 MiB; - is standard input
    #[arg(value_name = "REPORT", required_unless_present = "schema")]
    pub(crate) report: Option<PathBuf>,

    /// Where the page goes; without it, beside the report with the ending .html, or to report.html
    #[arg(short, long, value_name = "PAGE")]
    pub(crate) output: Option<PathBuf>,

    /// Print the summary as one JSON object
    #[arg(long)]
    pub(crate) json: bool,

    /// Print the JSON Schema of reports, and do nothing else
    #[arg(long, exclusive = true)]
    pub(crate) schema: bool,
}

/// What `--heap-type` takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum HeapTypeArg {
    /// default; with --verify gpu-upload where the device has it, otherwise upload
    Auto,
    /// Video memory, for the GPU alone
    Default,
    /// Memory that the CPU writes and the GPU reads
    Upload,
    /// Memory that the GPU writes and the CPU reads
    Readback,
    /// Video memory that the CPU can write to
    GpuUpload,
}

const PROGRAM_HELP: &str = "\
Examples:
  heapwright replay traces/vision_serving.csv.gz
  heapwright devices
  heapwright conformance

Exit codes: 0 done; 1 the answer is no: an allocation failed, a check found something; 2 bad input.";

const REPLAY_HELP: &str = "\
Examples:
  heapwright replay traces/vision_serving.csv.gz
  heapwright replay --verify traces/vision_serving.csv.gz traces/unet_diffusion.csv.gz
  heapwright replay --compare traces/vision_serving.csv.gz
  heapwright replay --report vision.json traces/vision_serving.csv.gz
  heapwright replay --device host:uma --heap-type upload --json traces/unet_diffusion.csv.gz";

const REPLAY_LONG_HELP: &str = "\
Examples:
  heapwright replay traces/vision_serving.csv.gz
  heapwright replay --verify traces/vision_serving.csv.gz traces/unet_diffusion.csv.gz
  heapwright replay --compare traces/vision_serving.csv.gz
  heapwright replay --device host:uma --heap-type upload --json traces/unet_diffusion.csv.gz

What is measured:
  peak live      the most bytes that were live at once, counted as the trace asks for them
  peak reserved  the most bytes that the allocator held in heaps after any event
  overhead       peak reserved / peak live; 1 is reserving exactly what is live. It means nothing
                 where allocations failed
  mean live, mean reserved, mean overhead
                 the same over time: live and reserved bytes after each event, the means over all
                 events, and the one over the other
  at end         what is live and what is reserved after the last event
  when idle      what is reserved when everything that was live at the end has been dropped, too
  heaps          heaps that were created
  alloc, free    time for one call that creates or drops a buffer: median, 99th percentile
                 (nearest rank) and worst. Each call is timed by itself, less what reading the
                 clock costs, measured in the same run as the median of some thousand pairs of
                 readings. Allocations that fail, and what is dropped after the last event, are
                 not timed
  mean op        mean time over all of these calls
  failed         allocations that returned an error; the frees of these are left out

JSON, stable; a change of meaning gets a new key:
  trace (file name without .csv or .csv.gz), configuration (default; with --compare also gpgmm and
  dedicated), events, allocations, peak_live_bytes,
  peak_reserved_bytes, overhead (peak reserved / peak live), mean_live_bytes,
  mean_reserved_bytes, mean_overhead (mean reserved / mean live, means over the events),
  end_live_bytes and end_reserved_bytes (after the last event), idle_reserved_bytes (when every
  buffer has been dropped), heaps_created, alloc_ns {p50, p99, max}, free_ns {p50, p99, max},
  mean_op_ns, failures.
  Times are in nanoseconds. A number is null where nothing was measured, as in a trace that
  frees nothing.

Without an adapter, as a shared library may have none, everything is measured as with one. Usage
and budgets are not known: the table says so, a report of --report leaves current_usage and budget
out. That CurrentUsage at the end is what it was before is checked on simulated GPUs alone; an
operating system counts more than the allocator's heaps.

Exit codes: 0 done; 1 an allocation failed, a check found something, or memory was not given
back; 2 bad input.";

const DEVICES_HELP: &str = "\
Examples:
  heapwright devices
  heapwright devices --json
  heapwright devices --device host:uma";

const DEVICES_LONG_HELP: &str = "\
Examples:
  heapwright devices
  heapwright devices --json
  heapwright devices --device host:uma

JSON, stable; a change of meaning gets a new key:
  device (what --device takes), default, description, adapter, architecture, resource_heap_tier,
  tight_alignment_tier, gpu_upload_heaps, gpu_va_bits_per_resource, gpu_va_bits_per_process,
  interface_version, dedicated_video_memory_bytes, shared_system_memory_bytes, and local and
  non_local, each with budget_bytes and current_usage_bytes. Where the device has no adapter,
  adapter, dedicated_video_memory_bytes, shared_system_memory_bytes, local and non_local are null.

Exit codes: 0 done; 1 a device does not open or does not answer; 2 bad input: no such device.";

const CONFORMANCE_HELP: &str = "\
Examples:
  heapwright conformance
  heapwright conformance --device host:uma --filter tight/";

const CONFORMANCE_LONG_HELP: &str = "\
Examples:
  heapwright conformance
  heapwright conformance --device host:uma --filter tight/
  heapwright conformance --json --filter heap/,buffer/placed
  heapwright conformance --device host:uma --require behaviour

JSON, stable; a change of meaning gets a new key:
  device (what --device takes), passed, failed, known, skipped, no_longer_failing [id],
  known_but_skipped [id], classes {behaviour and validation, each with passed, failed, known,
  skipped}, checks [{id, spec, class, result, detail, known_gap}].
  class is behaviour (what correct programs rely on) or validation (what the device refuses).
  result is pass, fail, known or skip. detail is one line: the figures that were found, what was
  expected and found, or why the check does not apply; its words may change. known_gap is the
  reason that --known-gaps gives, or null; the two lists are of those that have one and passed or
  were skipped. known are failures that --known-gaps lists, failed are the others.

Example of the JSON:
  {\"device\":\"host:discrete\",\"passed\":1,\"failed\":0,\"known\":0,\"skipped\":0,
  \"no_longer_failing\":[],\"known_but_skipped\":[],
  \"classes\":{\"behaviour\":{\"passed\":1,\"failed\":0,\"known\":0,\"skipped\":0},
  \"validation\":{\"passed\":0,\"failed\":0,\"known\":0,\"skipped\":0}},\"checks\":[{
  \"id\":\"tight/placed-buffer-alignment-max\",\"spec\":\"TIGHT, Placed Resources\",
  \"class\":\"behaviour\",\"result\":\"pass\",\"detail\":\"18 widths, at most 256\",\"known_gap\":null}]}

Example of a file of known gaps:
  # Wine 8
  heap/size-0-refused  it rounds the size up

Without an adapter, as a shared library may have none, checks of usage and budgets are skipped.

A check that ends its process or takes longer than --check-timeout fails, and the rest goes on.
Failures are printed as they come; the JSON of two runs is the same where the device is.

Exit codes, of the classes that --require names: 0 no check failed, or known gaps alone; 1 a check
failed, a known gap passed, or the device does not open; 2 bad input: no such device, no check that the filter takes or of an id to
skip, or a wrong line in the file of known gaps.";

const RESIDENCY_HELP: &str = "\
Examples:
  heapwright residency level-change
  heapwright residency --policy next-use --policy lru cyclic-scan unet_diffusion
  heapwright residency --json crates/simulation/scenarios/budget-halved.toml
  heapwright residency --list";

const RESIDENCY_LONG_HELP: &str = "\
Examples:
  heapwright residency level-change
  heapwright residency --policy next-use --policy lru cyclic-scan unet_diffusion
  heapwright residency --json crates/simulation/scenarios/budget-halved.toml
  heapwright residency --list

What is measured:
  in, out        bytes that MakeResident and Evict were called for
  bound          bytes that have to be paged in at least, whatever decides what goes: Belady's rule
                 over the submissions in their order, each under its own frame's budget and with its
                 heaps resident at once, for each segment group by itself. Heaps are divisible into
                 bytes there, the future is known, and the GPU is never in the way: what is in
                 flight can be evicted. So it is a bound for every policy, and need not be
                 reachable by any
  ratio          in / bound; 1 when both are 0, and - when only the bound is
  lru            the ratio of LRU, beside that of the default policy
  stalls         times that the CPU waited for the GPU before something could be evicted
  frame p50, p99 simulated time from the end of one frame to that of the next: median and 99th
                 percentile, nearest rank

Simulated time: the CPU works for cpu-ms a frame, and is at most frames-in-flight frames ahead of
the GPU. Each queue does its submissions one after the other; one begins when its pages have come,
which the queue waits for and not the CPU. One engine moves heaps out and in, one after the other,
each in latency-us and its bytes over gb-per-s.

A scenario file is TOML. Keys that have a default may be left out:
  name, description, frames
  frames-in-flight = 2, cpu-ms = 0
  paging       gb-per-s (1 GB is 10^9 bytes), latency-us (of each heap)
  [[budget]]   from-frame, local, non-local = as before: budgets change with the number of the
               frame, so that all policies meet the same
  [[heaps]]    name, count, size, up-to = size (sizes lie between the two, evenly over the
               logarithm, in steps of 64 KiB), segment = \"local\" or \"non-local\", priority =
               \"normal\" (minimum, low, high, maximum), resident = false (as created),
               locked = false, lives = [least, most] frames (then another heap, created resident,
               takes its place; for ever without it), seed = 0
  [[camera]]   name, speed, turn (chance of a new heading in a frame), back = 0 (chance that it is
               straight back), seed: a walk over a world one unit wide and high, whose edges meet
  [[rota]]     name, turns = [least, most] frames, weights (each turn is drawn) or order (numbers
               from 0, again and again), seed = 0: whose turn it is
  [[submission]]  queue = 0, gpu-ms, repeat = 1 (times in a frame), use = [ ... ]
A use is one of these, in each submission or with frames = [first, end] in some frames alone:
  all      { heaps, by-parts = false }  every heap; by parts: a share in each repetition
  cyclic   { heaps, count }  the next ones, around and around
  random   { heaps, count, zipf = 0, seed }  draws; that of rank n has weight 1 / n^zipf
  drift    { heaps, count, change, seed }  a set, of which so many give way to any others
  window   { heaps, columns, radius, camera }  tiles of a square grid around a camera
  in-turn  { rota, heaps = [ ... ], by-parts = false }  the heaps whose turn it is
Sizes are such as \"64 KiB\", \"1.5 GiB\". crates/simulation/scenarios has examples.

A trace says when blocks are allocated and freed, not when they are used. It goes through the
allocator with its defaults, and heaps are those that the allocator makes: created resident when
their first block is born, gone after their last block's last use. 8 events are a submission and a
frame, on which the GPU works as long as they took. A block is used by the submissions of its birth
and of its death. Blocks that are never freed are weights: of these the next in the order of birth
is used with each birth of another block, around and around, as operations of a network
read a weight and write a result. The budget is 60 % of the most bytes that the heaps have at once.

JSON, stable; a change of meaning gets a new key:
  scenario, policy, default (whether it is the default policy), bytes_in, bytes_out,
  lower_bound_bytes, ratio, stalls, frame_ms {p50, p99}, stall_ms (all stalls together),
  simulated_ms (all frames together), cold_bytes (the part of the bound that first uses page in),
  belady_bytes (what Belady's rule pages in when heaps move whole: it can be done, by who knows the
  future), over_budget_frames (where the heaps of one submission are over the budget), frames,
  submissions, heaps.
  ratio is null when the bound alone is 0.

Exit codes: 0 done; 1 the device and the planner disagree, or usage is over the budget without need:
a mistake in heapwright; 2 bad input: no such scenario, file or policy, a file breaks a rule, or a
scenario is larger than the simulated GPU.";

const REPORT_HELP: &str = "\
Examples:
  heapwright report report.json
  heapwright report report.json -o page.html
  heapwright report --schema";

const REPORT_LONG_HELP: &str = "\
Examples:
  heapwright report report.json
  heapwright report report.json -o page.html
  heapwright report --json report.json
  heapwright report --schema

What is printed:
  free           what no allocation uses, in whatever pieces
  largest free   the largest range between the allocations of one heap
  fragmented     the share of the free ranges that is not the largest of its heap
  waste          bytes that allocations have beyond what was asked for, where the report tells

JSON, stable; a change of meaning gets a new key:
  page (the path as text), heap_count, empty_heap_count, heaps_created, reserved_bytes,
  used_bytes, free_bytes, largest_free_range_bytes, external_fragmentation (0 to 1), waste_bytes,
  allocation_count, committed {count, size_bytes}, imported {count, size_bytes}, and largest
  [{name, kind, size_bytes, place}], at most ten. allocation_count is of those in heaps.

Exit codes: 0 done; 1 the page could not be written to its end; 2 bad input: there is no such
report, it breaks a rule, or there can be no page at that path.";

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_definition_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn every_command_has_examples_that_parse() {
        let program = Args::command();
        let mut commands: Vec<clap::Command> = program.get_subcommands().cloned().collect();
        commands.push(program);
        for mut command in commands {
            let name = command.get_name().to_owned();
            for help in [command.render_help().to_string(), command.render_long_help().to_string()] {
                let examples: Vec<&str> =
                    help.lines().filter_map(|line| line.strip_prefix("  heapwright ")).collect();
                assert!(!examples.is_empty(), "{name} has no example");
                let widest = help.lines().map(|line| line.chars().count()).max();
                assert!(widest <= Some(100), "the help of {name} is {widest:?} columns wide");
                for example in examples {
                    let words = std::iter::once("heapwright").chain(example.split_whitespace());
                    Args::try_parse_from(words).unwrap_or_else(|error| panic!("{example}: {error}"));
                }
            }
        }
    }
}
