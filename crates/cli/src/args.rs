//! The command line.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{ArgAction, Parser, Subcommand, ValueEnum};
use heapwright_conformance::Class;

use crate::plan::budget::Budget;

/// Returns the long help of `--device`, which takes the same values in every command. A macro, because `concat!` needs
/// a literal.
macro_rules! device_help {
    ($purpose:literal) => {
        concat!(
            $purpose,
            ":\n\n",
            "host          the simulated GPU host:discrete\n",
            "host:PROFILE  a simulated GPU; `heapwright devices` lists the profiles\n",
            "vulkan        the first device of the system's Vulkan (1.3 or newer)\n",
            "vulkan:INDEX  another device of the system's Vulkan, by its number from 0\n",
            "d3d12         the system's Direct3D 12 on its default adapter (Windows only)\n",
            "d3d12:N       the system's Direct3D 12 on adapter N (Windows only)\n",
            "d3d12:PATH    the Direct3D 12 in a shared library, on its default adapter; write d3d12:./7\n",
            "              for a file whose name is a number\n\n",
            "The shared library must export D3D12CreateDevice; examples are vkd3d-proton's native build and ",
            "heapwright's own runtime. Its dependencies are searched for in its directory on Windows, and by ",
            "the dynamic linker's rules (LD_LIBRARY_PATH) elsewhere. It has an adapter if it also exports ",
            "CreateDXGIFactory2 or CreateDXGIFactory1; without an adapter, usage and budgets are unknown.\n\n",
            "On a Vulkan device, heapwright's own Direct3D 12 manages real video memory. It loads the system's Vulkan ",
            "loader. The environment variable HEAPWRIGHT_VULKAN_VALIDATION=1 turns the validation layer on, whose ",
            "messages are logged as errors.\n\n",
            "Example: --device d3d12:/opt/vkd3d-proton/lib/libvkd3d-proton-d3d12.so",
        )
    };
}

/// GPU memory management for Direct3D 12, on any machine.
///
/// Runs the heapwright library on a Direct3D 12 device: a real one, or a simulated GPU that is built into the program
/// and needs neither Windows nor graphics hardware.
#[derive(Debug, Parser)]
#[command(name = "heapwright", version, max_term_width = 100, after_help = PROGRAM_HELP)]
pub(crate) struct Args {
    /// Increase the log level on standard error: -v for info, -vv for debug, -vvv for trace
    ///
    /// The default level is warn. The environment variable HEAPWRIGHT_LOG overrides this option; it holds a level (error,
    /// warn, info, debug, trace) or a filter such as heapwright_runtime=debug.
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub(crate) verbose: u8,

    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Replay allocation traces through the allocator and measure memory and time
    ///
    /// Each trace is replayed on a new device with a new allocator. Every allocation of the trace creates a buffer of
    /// the recorded size, and every free drops it. Buffers that are still live at the end are dropped, and the
    /// allocator must then release all of its memory.
    ///
    /// All traces are read and checked before the first is replayed. An invalid trace is reported, and the others are
    /// replayed. A trace has at most 4,194,304 events, and at most 1,048,576 live allocations at any time.
    Replay(ReplayArgs),
    /// Generate the allocation trace of a typical program and write it as CSV
    ///
    /// A workload is named workload:SHAPE:SEED. The shapes are streaming (an open world around a camera, with teleports),
    /// levels (a game with levels), frame-graph (a renderer whose targets are resized), serving (an inference server with
    /// several models), training (of a network), editor (documents are opened, edited and closed), and sequence (several of
    /// these one after the other). The same name is the same trace on every machine.
    ///
    /// Seeds below 1000 are the development part, for choosing and tuning policies. The others are the evaluation part,
    /// which also has other ranges of parameters, such as more documents or larger textures. Both parts have three
    /// workloads of each shape by which figures are measured: seeds 1 to 3 and 1000 to 1002.
    Workload(WorkloadArgs),
    /// Convert traces and sessions between formats
    ///
    /// Reads CSV files, captures of GPGMM (Chrome trace events as JSON) and sessions, plain or gzip, recognized by their
    /// content. Writes CSV files, which hold allocations and frees, and sessions, which also hold heaps, placements, contents,
    /// residency sets, submissions and GPU addresses. The input is checked before the output is changed, unless it is standard
    /// input.
    ///
    /// Captures are not written: they record calls and objects of GPGMM's interface.
    Convert(ConvertArgs),
    /// List the available devices with their capabilities and memory
    ///
    /// Opens every device and queries its capabilities and memory: the built-in simulated GPUs and, on Windows, the
    /// adapters of the system. A device of a shared library is shown only if --device names it.
    Devices(DevicesArgs),
    /// Check a device's conformance to Direct3D 12's memory rules
    ///
    /// Runs checks similar to those of the Windows Hardware Lab Kit. Each check has an id, a reference to the
    /// specification, and requirements. A check is skipped if its requirements are not met or if the device does not
    /// implement a method that it calls. The summary counts skipped checks by reason; -v lists each one.
    Conformance(ConformanceArgs),
    /// Simulate workloads under eviction policies and compare them with the offline optimum
    ///
    /// A scenario defines heaps, the heaps that each submission uses, the budget in each frame, and the cost of paging.
    /// For each policy, the scenario's heaps are created on a simulated GPU, and the decisions of the library's residency
    /// planner are carried out with MakeResident and Evict. The run fails if the adapter's CurrentUsage differs from the
    /// planner's, or exceeds the budget although the heaps of a single submission fit. Time is simulated, so results do
    /// not depend on the machine.
    Residency(ResidencyArgs),
    /// Create the heaps and buffers of a session again, at their GPU addresses
    ///
    /// Reads the whole session, and reserves the addresses of the heaps that exist at a moment while a device is created. Then it
    /// creates these heaps and their buffers at their addresses, uploads the recorded contents, and compares the bytes and the
    /// addresses. Each object that cannot be recreated is reported with the reason. Textures have no addresses and are skipped.
    ///
    /// On a device that cannot create objects at addresses (D3D12_RECREATE_AT_TIER), the objects are created elsewhere, with a
    /// warning.
    Recreate(RecreateArgs),
    /// Convert a session, a trace or an allocator's report to an HTML page
    ///
    /// The page of a session, a capture of GPGMM or a trace shows memory over time, and the heaps and allocations at a moment
    /// that is chosen on the chart. A file without heaps and placements, such as a CSV trace, is replayed through the
    /// allocator with default settings on the simulated GPU, whose heaps the page shows.
    ///
    /// The page of a report that the library's ResourceAllocator::report returned shows a map of every heap. The report is
    /// checked: allocations must lie inside their heaps without overlap, and all totals must match the listed items.
    ///
    /// The kind of the input is recognized by its content. A page is a single file and needs no network.
    Report(ReportArgs),
    /// Plan aliased memory: pack resources that do not live at the same time into the smallest heap
    ///
    /// Reads a table of buffers with sizes, alignments and lifetimes, and finds an offset for each so that buffers that
    /// live at the same time do not overlap. The height of the plan is compared with a lower bound, and the plan is
    /// proved optimal if they are equal. Among plans of equal height, one with few aliasing barriers is preferred.
    Plan(PlanArgs),
}

/// Arguments of `heapwright replay`.
#[derive(Debug, clap::Args)]
#[command(after_help = REPLAY_HELP, after_long_help = REPLAY_LONG_HELP)]
pub(crate) struct ReplayArgs {
    /// CSV files, captures of GPGMM (.json) or sessions (.hws), plain or gzip; - for standard input; or generated workloads
    ///
    /// The format is recognized by content, not by extension. CSV files have the columns time_us,event,id,size_bytes.
    ///
    /// workload:SHAPE:SEED is a workload that `heapwright workload` describes, and workload:development or
    /// workload:evaluation are all of a part.
    #[arg(value_name = "TRACE", required = true)]
    pub(crate) traces: Vec<PathBuf>,

    /// Device to replay on: a name from `heapwright devices`, or d3d12:PATH for a shared library
    #[arg(long, value_name = "DEVICE", default_value = "host", long_help = device_help!("Device to replay on"))]
    pub(crate) device: String,

    /// Heap type of the buffers
    #[arg(long, value_name = "TYPE", value_enum, default_value_t = HeapTypeArg::Auto)]
    pub(crate) heap_type: HeapTypeArg,

    /// Check that live buffers do not overlap and keep their contents
    ///
    /// Checks the size and the GPU address alignment of every buffer, and that no two live buffers overlap in GPU
    /// address space. In about one of eight buffers, selected by a hash of the id, a pattern derived from the id is
    /// written to the first, middle and last bytes through Map after creation, and compared before the free. Requires a
    /// heap type that the CPU can write to.
    #[arg(long)]
    pub(crate) verify: bool,

    /// Also replay each trace with GPGMM's strategy and with one heap per buffer
    ///
    /// GPGMM's strategy: slab allocation by size class with GPGMM's default settings, all empty heaps kept, and no tight
    /// alignment.
    #[arg(long)]
    pub(crate) compare: bool,

    /// Settings of the allocator
    ///
    /// A session has the settings of the allocators that it records, and a capture of GPGMM those of its first one; `captured` uses
    /// these. If a session records the descriptions of resources, they are created as described, in the recorded heap types
    /// (unless --heap-type or --verify is given), and otherwise as buffers. With `captured`, a session of heapwright on the same
    /// device is replayed exactly: every size, offset and heap is that of the recording.
    #[arg(long, value_name = "PROFILE", value_enum, default_value_t = Profile::Default, conflicts_with = "compare")]
    pub(crate) profile: Profile,

    /// Set an option of the allocator, after --profile; may be repeated
    ///
    /// The options are the fields of ResourceAllocatorDesc: flags, resource_heap_tier, suballocation_algorithm, empty_heap_policy,
    /// preferred_heap_size, max_heap_size, heap_fragmentation_limit, heap_growth_factor, release_size, and limit_default,
    /// limit_upload, limit_readback and limit_gpu_upload. An error lists the values that an option can have.
    #[arg(long, value_name = "OPTION=VALUE", conflicts_with = "compare")]
    pub(crate) set: Vec<Setting>,

    /// Write the allocator's report at peak live memory, as input for `heapwright report`
    ///
    /// Requires a single trace, of one allocator. Buffers are named after their ids.
    #[arg(long, value_name = "FILE", conflicts_with = "compare")]
    pub(crate) report: Option<PathBuf>,

    /// Print one JSON object per line for each trace; with --compare, one for each allocator
    #[arg(long)]
    pub(crate) json: bool,
}

/// Values of `heapwright replay --profile`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Profile {
    /// heapwright's defaults
    Default,
    /// The settings of the recording
    Captured,
    /// Fewest creations of heaps; empty heaps are kept for longer
    MaxPerformance,
    /// Least memory: smaller heaps, and empty ones are released sooner
    LowMemory,
}

/// A value of `heapwright replay --set`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Setting {
    pub(crate) name: String,
    pub(crate) value: String,
}

impl FromStr for Setting {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, value) = text.split_once('=').ok_or("must be OPTION=VALUE")?;
        Ok(Self { name: name.to_owned(), value: value.to_owned() })
    }
}

/// Arguments of `heapwright workload`.
#[derive(Debug, clap::Args)]
#[command(after_help = WORKLOAD_HELP)]
pub(crate) struct WorkloadArgs {
    /// Name of the workload: workload:SHAPE:SEED
    #[arg(value_name = "NAME", required_unless_present = "list")]
    pub(crate) name: Option<String>,

    /// Path of the CSV file [default: standard output]
    #[arg(short, long, value_name = "FILE", conflicts_with = "list")]
    pub(crate) output: Option<PathBuf>,

    /// List the workloads by which figures are measured, and exit
    #[arg(long, conflicts_with = "name")]
    pub(crate) list: bool,
}

/// Arguments of `heapwright convert`.
#[derive(Debug, clap::Args)]
#[command(after_help = CONVERT_HELP)]
pub(crate) struct ConvertArgs {
    /// CSV file, capture of GPGMM (.json) or session (.hws), plain or gzip; - for standard input
    #[arg(value_name = "IN")]
    pub(crate) input: PathBuf,

    /// Path of the CSV file (.csv) or session (.hws)
    #[arg(value_name = "OUT")]
    pub(crate) output: PathBuf,

    /// Format of the output [default: by the extension of OUT]
    #[arg(long, value_name = "FORMAT", value_enum)]
    pub(crate) to: Option<ConvertTo>,
}

/// Values of `heapwright convert --to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ConvertTo {
    /// Allocations and frees, with the columns time_us,event,id,size_bytes
    Csv,
    /// Binary session
    Session,
}

/// Arguments of `heapwright devices`.
#[derive(Debug, clap::Args)]
#[command(after_help = DEVICES_HELP, after_long_help = DEVICES_LONG_HELP)]
pub(crate) struct DevicesArgs {
    /// Show only this device; d3d12:PATH names one in a shared library
    #[arg(long, value_name = "DEVICE", long_help = device_help!("Show only this device"))]
    pub(crate) device: Option<String>,

    /// Print one JSON object per line for each device
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `heapwright conformance`.
#[derive(Debug, clap::Args)]
#[command(after_help = CONFORMANCE_HELP, after_long_help = CONFORMANCE_LONG_HELP)]
pub(crate) struct ConformanceArgs {
    /// Device to check: a name from `heapwright devices`, or d3d12:PATH for a shared library
    #[arg(long, value_name = "DEVICE", default_value = "host", long_help = device_help!("Device to check"))]
    pub(crate) device: String,

    /// File that lists the checks that are known to fail on the device
    ///
    /// Each line holds a check's id, white space, and the reason. Empty lines and lines that begin with # are ignored. A
    /// listed check that fails counts as a known failure and does not affect the exit code. A listed check that passes
    /// sets exit code 1, so that the list is kept up to date. Listed checks that are skipped are reported.
    #[arg(long, value_name = "FILE")]
    pub(crate) known_gaps: Option<PathBuf>,

    /// Run only the checks whose id contains this text, such as tight/; commas separate several
    #[arg(long, value_name = "TEXT")]
    pub(crate) filter: Option<String>,

    /// Skip the check with this id; commas separate several
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    pub(crate) skip: Vec<String>,

    /// Class of checks whose failure sets exit code 1; the checks of all classes run
    ///
    /// behaviour checks cover what correct programs rely on; validation checks cover invalid calls that a device must
    /// reject or report.
    #[arg(long, value_name = "CLASS", default_value = "all")]
    pub(crate) require: RequiredClass,

    /// Time limit of a check in seconds
    ///
    /// Checks run in separate processes. A check that crashes its process or exceeds the limit fails, and the remaining
    /// checks still run.
    #[arg(long, value_name = "SECONDS", default_value_t = 120, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) check_timeout: u32,

    /// Run the checks whose ids are read from standard input. Used internally for check processes.
    #[arg(long, hide = true)]
    pub(crate) worker: bool,

    /// Print the result as one JSON object
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

/// Arguments of `heapwright residency`.
#[derive(Debug, clap::Args)]
#[command(after_help = RESIDENCY_HELP, after_long_help = RESIDENCY_LONG_HELP)]
pub(crate) struct ResidencyArgs {
    /// Names of built-in scenarios, scenario files (.toml), sessions (.hws), traces (.csv, .csv.gz), or - for standard input;
    /// or generated workloads [default: all built-in scenarios and traces]
    ///
    /// generated:SHAPE:SEED is a generated workload (--list has the shapes). generated:development and generated:evaluation are
    /// the 20 workloads of each shape with which policies are developed (seeds from 0), and only evaluated (seeds from 1000).
    #[arg(value_name = "SCENARIO")]
    pub(crate) scenarios: Vec<String>,

    /// Policy to simulate, or `all`; may be repeated [default: the policies of the library]
    #[arg(long, value_name = "NAME")]
    pub(crate) policy: Vec<String>,

    /// Budget in percent of the peak size of live heaps in local memory, in place of the scenario's; may be repeated
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u32).range(1..=1000))]
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

/// Arguments of `heapwright recreate`.
#[derive(Debug, clap::Args)]
#[command(after_help = RECREATE_HELP, after_long_help = RECREATE_LONG_HELP)]
pub(crate) struct RecreateArgs {
    /// Session (.hws), plain or gzip
    #[arg(value_name = "SESSION")]
    pub(crate) session: PathBuf,

    /// Moment whose objects are recreated, in microseconds [default: when most bytes are live]
    #[arg(long, value_name = "TIME")]
    pub(crate) at_us: Option<u64>,

    /// Device to recreate on: a name from `heapwright devices`, or d3d12:PATH for a shared library
    #[arg(long, value_name = "DEVICE", default_value = "host", long_help = device_help!("Device to recreate on"))]
    pub(crate) device: String,

    /// Print the result as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `heapwright report`.
#[derive(Debug, clap::Args)]
#[command(after_help = REPORT_HELP, after_long_help = REPORT_LONG_HELP)]
pub(crate) struct ReportArgs {
    /// Session (.hws), capture of GPGMM (.json) or CSV trace, plain or gzip; a generated workload (workload:SHAPE:SEED); or
    /// an allocator's JSON report of at most 256 MiB; - for standard input
    #[arg(value_name = "FILE", required_unless_present = "schema")]
    pub(crate) report: Option<PathBuf>,

    /// Path of the HTML page [default: the file's path with the extension .html, or report.html for standard input; no
    /// page with --svg or --png alone]
    #[arg(short, long, value_name = "PAGE")]
    pub(crate) output: Option<PathBuf>,

    /// Write a chart of a session as SVG
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,

    /// Write a chart of a session as PNG
    #[arg(long, value_name = "FILE")]
    pub(crate) png: Option<PathBuf>,

    /// Chart for --svg and --png
    #[arg(long, value_name = "CHART", value_enum, default_value_t = ChartArg::Memory)]
    pub(crate) chart: ChartArg,

    /// Print the summary as one JSON object
    #[arg(long)]
    pub(crate) json: bool,

    /// Print the JSON Schema of reports and exit
    #[arg(long, exclusive = true)]
    pub(crate) schema: bool,
}

/// Values of `heapwright report --chart`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ChartArg {
    /// Used bytes and bytes in heaps over the events
    Memory,
    /// External fragmentation of the heaps over the events
    Fragmentation,
}

/// Arguments of `heapwright plan`.
#[derive(Debug, clap::Args)]
#[command(after_help = PLAN_HELP, after_long_help = PLAN_LONG_HELP)]
pub(crate) struct PlanArgs {
    /// CSV file with the columns id,lower,upper,size, or JSON file with a frame; - for standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// Size of the heap in bytes: stop as soon as a plan fits, and fail if none does (with --tier 2)
    #[arg(long, value_name = "BYTES")]
    pub(crate) capacity: Option<u64>,

    /// Time to search for a better plan, such as 500ms or 20s, or a number of steps
    ///
    /// The first plan takes a moment and is made in any case. With a number of steps, the plan is the same on every
    /// machine.
    #[arg(long, value_name = "BUDGET", default_value = "1s", conflicts_with = "check")]
    pub(crate) budget: Budget,

    /// Number of threads that search; with a number of steps, the plan depends on it
    #[arg(long, value_name = "COUNT", default_value_t = 1, conflicts_with = "check",
          value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) threads: u16,

    /// How far above the bound a plan may be that keeps the hints, in thousandths
    ///
    /// Buffers are moved from their hints only if there is no such plan.
    #[arg(long, value_name = "NUMBER", default_value_t = 0, conflicts_with = "check")]
    pub(crate) hint_slack_permille: u32,

    /// Resource heap tier: 1 makes a heap for each value of the column category
    #[arg(long, value_name = "TIER", default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=2))]
    pub(crate) tier: u8,

    /// Barriers of a frame's activations
    #[arg(long, value_name = "MODEL", value_enum, default_value_t = BarriersArg::Legacy, conflicts_with = "check")]
    pub(crate) barriers: BarriersArg,

    /// Write an SVG file that shows the memory over time
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,

    /// Write the table with the column offset, or the frame with an offset for each resource
    #[arg(long, value_name = "FILE", conflicts_with = "check")]
    pub(crate) out: Option<PathBuf>,

    /// Check the plan in the file's offsets instead of making one
    #[arg(long)]
    pub(crate) check: bool,

    /// Print the result as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Values of `heapwright plan --barriers`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum BarriersArg {
    /// Aliasing barriers, which every device supports
    Legacy,
    /// Enhanced barriers
    Enhanced,
}

/// Values of `--heap-type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum HeapTypeArg {
    /// `default`; with --verify, `gpu-upload` if the device supports it, otherwise `upload`
    Auto,
    /// Video memory that only the GPU can access
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

Exit codes: 0 success; 1 failure, such as a failed allocation or check; 2 invalid input.";

const WORKLOAD_HELP: &str = "\
Examples:
  heapwright workload workload:streaming:7 -o streaming.csv
  heapwright workload --list
  heapwright replay workload:streaming:7 workload:editor:1000
  heapwright replay --json workload:development

Exit codes: 0 success; 1 an error occurred while writing; 2 invalid input, such as an unknown
workload, or a path that cannot be written.";

const CONVERT_HELP: &str = "\
Examples:
  heapwright convert traces/vision_serving.csv.gz vision.hws
  heapwright convert capture.json capture.hws
  heapwright convert --to csv session.hws allocations

Exit codes: 0 success; 1 an error occurred while writing; 2 invalid input, such as a corrupted
session, or a path that cannot be written. A session without an end, as after a crash, is converted
up to its last complete block, with a warning.";

const REPLAY_HELP: &str = "\
Examples:
  heapwright replay traces/vision_serving.csv.gz
  heapwright replay --verify traces/vision_serving.csv.gz traces/unet_diffusion.csv.gz
  heapwright replay --compare traces/vision_serving.csv.gz
  heapwright replay workload:streaming:7
  heapwright replay --profile captured session.hws
  heapwright replay --profile low-memory --set max_heap_size=64MiB session.hws capture.json
  heapwright replay --report vision.json traces/vision_serving.csv.gz
  heapwright replay --device host:uma --heap-type upload --json traces/unet_diffusion.csv.gz";

const REPLAY_LONG_HELP: &str = "\
Examples:
  heapwright replay traces/vision_serving.csv.gz
  heapwright replay --verify traces/vision_serving.csv.gz traces/unet_diffusion.csv.gz
  heapwright replay --compare traces/vision_serving.csv.gz
  heapwright replay workload:streaming:7
  heapwright replay --device host:uma --heap-type upload --json traces/unet_diffusion.csv.gz

Measurements:
  peak live      maximum of the live bytes, with the sizes that the trace requests
  peak reserved  maximum of the bytes in the allocator's heaps after an event
  overhead       peak reserved / peak live; 1 means no overhead. Not meaningful if allocations
                 failed
  mean live, mean reserved
                 means of the live and reserved bytes after each event
  mean overhead  mean reserved / mean live
  by time        the same, with means over the time of the trace instead of over its events
  at end         live and reserved bytes after the last event
  when idle      reserved bytes after the buffers that were live at the end have been dropped
  modelled time  time that the events would take on a GPU: for each heap the time to create and to
                 free it, measured on an NVIDIA H200 by size, and 0.2 us for each buffer. Does not
                 depend on this machine
  hitches        number of events whose modelled time for heaps is above 0.25 ms
  heaps          number of heaps created
  alloc, free    time of a call that creates or drops a buffer: median, 99th percentile (nearest
                 rank) and maximum. Each call is timed separately. The cost of reading the clock,
                 measured in the same run as the median of some thousand pairs of readings, is
                 subtracted. Failed allocations and the drops after the last event are not timed
  mean op        mean time of all of these calls
  failed         number of allocations that returned an error; their frees are skipped

JSON keys (stable; a key never changes its meaning):
  trace (file name without .csv, .json, .hws and .gz, or the name of a workload), configuration (the
  profile; with --compare default, gpgmm and dedicated), events, allocations, peak_live_bytes, peak_reserved_bytes, overhead,
  mean_live_bytes, mean_reserved_bytes, mean_overhead, mean_overhead_by_time, modelled_ms,
  hitches, end_live_bytes, held_at_end_bytes, idle_reserved_bytes, heaps_created,
  alloc_ns {p50, p99, max}, free_ns {p50, p99, max}, mean_op_ns, failures.
  Times are in nanoseconds, but modelled_ms is in milliseconds. A value is null if nothing was measured, such as free_ns of a trace
  without frees.

The measurements do not need an adapter. Without one, as with some shared libraries, usage and
budgets are unknown: the table says so, and a file written by --report has no current_usage and no
budget. On simulated GPUs, CurrentUsage after the replay must equal CurrentUsage before it. Other
devices are exempt, because an operating system counts more than the allocator's heaps.

Exit codes: 0 success; 1 an allocation or a check failed, or memory was not released; 2 invalid
input.";

const DEVICES_HELP: &str = "\
Examples:
  heapwright devices
  heapwright devices --json
  heapwright devices --device vulkan:0";

const DEVICES_LONG_HELP: &str = "\
Examples:
  heapwright devices
  heapwright devices --json
  heapwright devices --device vulkan:0

JSON keys (stable; a key never changes its meaning):
  device (the value for --device), default, description, adapter, architecture,
  resource_heap_tier, tight_alignment_tier, gpu_upload_heaps, gpu_va_bits_per_resource,
  gpu_va_bits_per_process, interface_version, dedicated_video_memory_bytes,
  shared_system_memory_bytes, and local and non_local, each with budget_bytes and
  current_usage_bytes. If the device has no adapter, adapter, dedicated_video_memory_bytes,
  shared_system_memory_bytes, local and non_local are null.

Exit codes: 0 success; 1 a device could not be opened or queried; 2 invalid input, such as an
unknown device.";

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

JSON keys (stable; a key never changes its meaning):
  device (the value for --device), passed, failed, known, skipped, no_longer_failing [id],
  known_but_skipped [id], classes {behaviour and validation, each with passed, failed, known,
  skipped}, checks [{id, spec, class, result, detail, known_gap}].
  class is behaviour (what correct programs rely on) or validation (invalid calls).
  result is pass, fail, known or skip; known is a failure that --known-gaps lists. detail is one
  line: measured values, expected and actual results, or the reason for skipping; its wording may
  change. known_gap is the reason from --known-gaps, or null. no_longer_failing and
  known_but_skipped are the listed checks that passed or were skipped.

Example JSON:
  {\"device\":\"host:discrete\",\"passed\":1,\"failed\":0,\"known\":0,\"skipped\":0,
  \"no_longer_failing\":[],\"known_but_skipped\":[],
  \"classes\":{\"behaviour\":{\"passed\":1,\"failed\":0,\"known\":0,\"skipped\":0},
  \"validation\":{\"passed\":0,\"failed\":0,\"known\":0,\"skipped\":0}},\"checks\":[{
  \"id\":\"tight/placed-buffer-alignment-max\",\"spec\":\"TIGHT, Placed Resources\",
  \"class\":\"behaviour\",\"result\":\"pass\",\"detail\":\"18 widths, at most 256\",\"known_gap\":null}]}

Example file for --known-gaps:
  # Wine 8
  heap/size-0-refused  the size is rounded up

Checks of usage and budgets are skipped if the device has no adapter, as with some shared
libraries.

Failures are printed as they occur. The JSON output of two runs on the same device is identical.

Exit codes, for the classes selected by --require: 0 no check failed except known gaps; 1 a check
failed, a known gap passed, or the device could not be opened; 2 invalid input, such as an unknown
device, a filter without matching checks, or an invalid line in the file of known gaps.";

const RESIDENCY_HELP: &str = "\
Examples:
  heapwright residency level-change
  heapwright residency --policy adaptive --policy lru cyclic-scan unet_diffusion
  heapwright residency --json crates/simulation/scenarios/budget-halved.toml
  heapwright residency --policy lru --policy next-use session.hws
  heapwright residency --policy all generated:documents:7 generated:serving:7
  heapwright residency --policy all --budget 40 --budget 90 traces/unet_diffusion.csv.gz
  heapwright residency --list";

const RESIDENCY_LONG_HELP: &str = "\
Examples:
  heapwright residency level-change
  heapwright residency --policy adaptive --policy lru cyclic-scan unet_diffusion
  heapwright residency --json crates/simulation/scenarios/budget-halved.toml
  heapwright residency --policy all generated:documents:7 generated:serving:7
  heapwright residency --policy all --budget 40 --budget 90 traces/unet_diffusion.csv.gz
  heapwright residency --list

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
  the bound due to first uses), belady_bytes (bytes that Belady's algorithm pages in with whole heaps),
  over_budget_frames (frames in which the heaps of one submission exceed the budget), frames,
  submissions, heaps.

Exit codes: 0 success; 1 the device and the planner disagree, or usage exceeds the budget
unnecessarily (a bug in heapwright); 2 invalid input, such as an unknown scenario or policy, an
invalid file, or a scenario that is larger than the simulated GPU.";

const RECREATE_HELP: &str = "\
Examples:
  heapwright recreate session.hws
  heapwright recreate --at-us 2500000 --json session.hws";

const RECREATE_LONG_HELP: &str = "\
Examples:
  heapwright recreate session.hws
  heapwright recreate --at-us 2500000 --json session.hws

The environment variable HEAPWRIGHT_RECORD=session.hws records a session in any program that uses
heapwright. ResourceAllocation::record_contents adds the contents of a buffer that the CPU can
access, and record_bytes those of others, which a copy queue uploads and reads back.

JSON keys (stable; a key never changes its meaning):
  device, at_addresses (whether the device can create objects at addresses), time_us (the moment),
  heaps, buffers, same_addresses (buffers at their recorded addresses), verified_bytes (bytes of
  buffers that were uploaded and then found there), skipped (textures, and buffers without a
  recorded heap), and failures [{kind, id, address, reason}].

Exit codes: 0 success; 1 an object could not be recreated, or the addresses could not be reserved;
2 invalid input, such as a corrupted, truncated or newer session. Nothing is created then.";

const REPORT_HELP: &str = "\
Examples:
  heapwright report session.hws
  heapwright report traces/vision_serving.csv.gz -o vision.html
  heapwright report --svg memory.svg session.hws
  heapwright report report.json
  heapwright report --schema";

const REPORT_LONG_HELP: &str = "\
Examples:
  heapwright report session.hws
  heapwright report traces/vision_serving.csv.gz -o vision.html
  heapwright report --svg memory.svg session.hws
  heapwright report --png fragmentation.png --chart fragmentation session.hws
  heapwright report report.json
  heapwright report --json report.json
  heapwright report --schema

Summary of an allocator's report:
  free           bytes in heaps that no allocation uses
  largest free   size of the largest free range in a heap
  fragmented     fraction of the free bytes outside the largest free range of each heap
  waste          allocated bytes beyond the requested sizes, if the report contains these

JSON keys (stable; a key never changes its meaning):
  page (path), heap_count, empty_heap_count, heaps_created, reserved_bytes, used_bytes,
  free_bytes, largest_free_range_bytes, external_fragmentation (0 to 1), waste_bytes,
  allocation_count (allocations in heaps), committed {count, size_bytes}, imported {count,
  size_bytes}, and largest [{name, kind, size_bytes, place}], at most ten.

JSON keys of a session (stable as well):
  page (path, or null), session (file name), placements (recorded or replayed), events,
  duration_us, allocations, heaps, submissions, peak_used_bytes, peak_event (counted from 1),
  peak_reserved_bytes, end_used_bytes, end_reserved_bytes, unknown_references (references to
  objects that do not exist, which are ignored), failures (allocations that failed in the replay
  and are shown outside of heaps).

Exit codes: 0 success; 1 an error occurred while writing, or the replay failed; 2 invalid input,
such as a missing or invalid file, or a path that cannot be written.";

const PLAN_HELP: &str = "\
Examples:
  heapwright plan crates/core/examples/o3de_lowend_1080p.csv
  heapwright plan --budget 20000 --tier 1 --json crates/core/examples/o3de_lowend_1080p.csv";

const PLAN_LONG_HELP: &str = "\
Examples:
  heapwright plan crates/core/examples/o3de_lowend_1080p.csv
  heapwright plan --budget 20000 --tier 1 --json crates/core/examples/o3de_lowend_1080p.csv
  heapwright plan --capacity 268435456 crates/core/examples/o3de_lowend_1080p.csv
  heapwright plan --out plan.csv crates/core/examples/o3de_lowend_1080p.csv
  heapwright plan --check --capacity 268435456 plan.csv
  heapwright plan --barriers enhanced --json crates/cli/examples/frame.json

Columns of a table (CSV), in any order; others are kept by --out:
  id             name of the buffer (also: buffer, buffer_id)
  lower, upper   lifetime, from lower to the instant before upper (also: start or begin; end is the
                 last instant)
  size           bytes
  alignment      power of two (default: 1)
  hint           offset of an earlier plan, which is kept if the plan is no worse, or within
                 --hint-slack-permille
  gaps           parts of the lifetime in which the buffer needs no memory, such as 7-9 12-14, from 7
                 to the instant before 9 (with the column end: to 9)
  offset         offset that the buffer must have; with --check, the plan
  name           name in the drawing
  category       heap for --tier 1, and colour in the drawing: rt_ds, non_rt_ds or buffer
  uses           for --check: numbers of the passes that use the resource, such as 2 3 7
  flags          for --check: RT, DS and UAV, joined by |
  first_load     for --check: Clear if the first pass clears the resource

With --check, a table with uses, flags and category is also replayed as a frame: the rules of the
runtime's aliasing tracker judge the barriers and initialisations that follow from the plan.

A frame (JSON) is an object with these keys. It has at most 64 queues, 10000 passes and 10000 resources,
on several queues at most 1000 resources.
  queues         [{name, kind}], kind is direct, compute or copy (default: one direct queue)
  resources      [{name, kind, size, alignment, granularity, retention, hint, offset}]
                 kind: buffer, texture, unordered_access_texture, render_target,
                 unordered_access_render_target or depth_stencil; size in bytes; alignment (default:
                 65536); granularity: blocks that the resource shares with no other at the same time
                 (default: the alignment, for buffers at least 65536); retention: transient (the
                 default), persistent or history, which the next frame reads; hint, offset: as above
  passes         [{name, queue, after, may_be_skipped, uses}], in the order in which they are submitted
                 queue may be left out if there is one; after: names of earlier passes on other queues
                 that this pass waits for, by a fence; may_be_skipped: true if some frames leave it out
                 uses: [{resource, use}], use is read, render, clear (all of it, first), copy_all,
                 write_unordered, or update (a part, or what was there before matters)

Two resources share memory if the queues and fences let every use of one happen before every use of
the other. A frame that reads what no pass wrote is malformed. With --check, the tracker judges three
frames, of which the second leaves out the passes that may be skipped.

Measurements:
  height         size that the heap must have
  bound          no plan is lower: the load, or more if the search has proved it
  load           largest sum of the sizes of buffers that live at the same time
  saved          memory saved compared with a separate place for each buffer
  barriers       pairs of buffers of which one takes over memory from the other, if the lifetimes
                 repeat each frame
  unshared       why a resource of a frame shares no memory

JSON keys (stable; a key never changes its meaning):
  file, buffers, total, load, lower_bound, height, gap (height / lower_bound - 1), proved, seconds,
  barrier_seconds (the part of seconds that reduced the barriers), steps, barriers, heaps [{category,
  buffers, height, lower_bound, load, load_instant (of a frame: the number of a pass), proved, total,
  barriers}], and frame (null for a table). Sizes are in bytes; with --tier 1 they are sums.
  frame has resources [{name, heap, offset}], activations [{resource, pass, queue, predecessors
  [{resource, start, end, previous_frame}], legacy_barriers_from, enhanced {deactivate, discard} or
  null, initialisation (none, discard, clear or copy), resting_state (the state in which the last pass
  leaves the resource: render_target, depth_write, unordered_access, copy_dest or any)}], not_aliased
  [{resource, reason}], and submissions [{queue, passes, after (earlier submissions that the queue
  waits for, counted from 0), after_previous_frame (queues)}].

Exit codes: 0 success; 1 no plan was found for the capacity, or the plan that was checked is wrong
or larger; 2 invalid input, such as a malformed table.";

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
