//! Arguments of `heapwright replay`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::ValueEnum;

use crate::device;

/// Replay allocation traces through the allocator and measure memory and time
///
/// Each trace is replayed on a new device with a new allocator. Every allocation of the trace creates a buffer of
/// the recorded size, and every free drops it. Buffers that are still live at the end are dropped, and the
/// allocator must then release all of its memory.
///
/// All traces are read and checked before the first is replayed. An invalid trace is reported, and the others are
/// replayed. A trace has at most 4,194,304 events, and at most 1,048,576 live allocations at any time.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{DETAILS}"))]
pub(crate) struct ReplayArgs {
    /// CSV files, captures of GPGMM (.json) or sessions (.hws), plain or gzip; - for standard input; or generated workloads
    ///
    /// The format is recognized by content, not by extension. CSV files have the columns time_us,event,id,size_bytes.
    ///
    /// workload:SHAPE:SEED is a workload that `heapwright convert --help` describes, and workload:development or
    /// workload:evaluation are all of a part.
    #[arg(value_name = "TRACE", required = true)]
    pub(crate) traces: Vec<PathBuf>,

    /// Device to replay on: a name from `heapwright devices`, or d3d12:PATH for a shared library
    #[arg(long, value_name = "DEVICE", default_value = "host", long_help = device::option_help("Device to replay on"))]
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

/// Values of `heapwright replay --heap-type`.
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

const EXAMPLES: &str = "\
Examples:
  heapwright replay traces/vision_serving.csv.gz
  heapwright replay --verify traces/vision_serving.csv.gz traces/unet_diffusion.csv.gz
  heapwright replay --compare traces/vision_serving.csv.gz
  heapwright replay workload:streaming:7
  heapwright replay --device host:uma --heap-type upload --json traces/unet_diffusion.csv.gz
  heapwright replay --profile captured session.hws
  heapwright replay --profile low-memory --set max_heap_size=64MiB session.hws capture.json
  heapwright replay --report vision.json traces/vision_serving.csv.gz";

const DETAILS: &str = "\
Measurements:
  peak live      maximum of the live bytes, with the sizes that the trace requests
  peak reserved  maximum of the bytes in the allocator's heaps after an event
  overhead       peak reserved / peak live; 1 means no overhead; - if allocations failed
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
  trace (file name without .csv, .json, .hws and .gz, or the name of a workload), configuration
  (the profile; with --compare default, gpgmm and dedicated), events, allocations, peak_live_bytes,
  peak_reserved_bytes, overhead, mean_live_bytes, mean_reserved_bytes, mean_overhead,
  mean_overhead_by_time, modelled_ms, hitches, end_live_bytes, held_at_end_bytes,
  idle_reserved_bytes, heaps_created, alloc_ns {p50, p99, max}, free_ns {p50, p99, max},
  mean_op_ns, failures.
  Times are in nanoseconds, but modelled_ms is in milliseconds. A value is null if nothing was
  measured, such as free_ns of a trace without frees, and overhead if allocations failed.

The measurements do not need an adapter. Without one, as with some shared libraries, usage and
budgets are unknown: the table says so, and a file written by --report has no current_usage and no
budget. On simulated GPUs, CurrentUsage after the replay must equal CurrentUsage before it. Other
devices are exempt, because an operating system counts more than the allocator's heaps.

Exit codes: 0 success; 1 an allocation or a check failed, or memory was not released; 2 invalid
input.";
