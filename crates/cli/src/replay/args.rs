//! Arguments of `heapwright replay`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::ValueEnum;

/// Replay allocation traces through the allocator and measure memory and time
///
/// Each trace is replayed on a new device with a new allocator, which must finally release all memory.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{DETAILS}"))]
pub(crate) struct ReplayArgs {
    /// CSV files, captures of GPGMM (.json) or sessions (.hws), plain or gzip; - for standard input; or generated workloads
    ///
    /// The format is recognized by content. docs/formats.md lists the workloads, such as workload:streaming:7.
    #[arg(value_name = "TRACE", required = true)]
    pub(crate) traces: Vec<PathBuf>,

    /// Device to replay on: a name from `heapwright devices`, or d3d12:PATH for a shared library
    #[arg(long, value_name = "DEVICE", default_value = "host")]
    pub(crate) device: String,

    /// Heap type of the buffers; auto is default, and with --verify gpu-upload if the device supports it, otherwise upload
    #[arg(long, value_name = "TYPE", value_enum, default_value_t = HeapTypeArg::Auto)]
    pub(crate) heap_type: HeapTypeArg,

    /// Check that live buffers do not overlap and keep their contents, in heaps that the CPU can write to
    #[arg(long)]
    pub(crate) verify: bool,

    /// Also replay each trace with GPGMM's strategy and with one heap per buffer
    #[arg(long)]
    pub(crate) compare: bool,

    /// Settings of the allocator
    #[arg(long, value_name = "PROFILE", value_enum, default_value_t = Profile::Default, conflicts_with = "compare")]
    pub(crate) profile: Profile,

    /// Set a field of ResourceAllocatorDesc, after --profile; may be repeated; an error lists the fields and their values
    #[arg(long, value_name = "OPTION=VALUE", conflicts_with = "compare")]
    pub(crate) set: Vec<Setting>,

    /// Write the report at peak live memory of a single trace with one allocator, as input for `heapwright report`
    #[arg(long, value_name = "FILE", conflicts_with = "compare")]
    pub(crate) report: Option<PathBuf>,

    /// Print one JSON object per line for each trace; with --compare, one for each allocator
    #[arg(long)]
    pub(crate) json: bool,
}

/// Values of `heapwright replay --heap-type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum HeapTypeArg {
    Auto,
    Default,
    Upload,
    Readback,
    GpuUpload,
}

/// Values of `heapwright replay --profile`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Profile {
    /// heapwright's defaults
    Default,
    /// The settings of the recording; a session of heapwright on the same device is replayed exactly
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
  heapwright replay --verify traces/unet_diffusion.csv.gz
  heapwright replay --compare traces/vision_serving.csv.gz
  heapwright replay workload:streaming:7
  heapwright replay --device host:uma --heap-type upload --json traces/unet_diffusion.csv.gz
  heapwright replay --profile captured session.hws
  heapwright replay --profile low-memory --set max_heap_size=64MiB session.hws capture.json
  heapwright replay --report vision.json traces/vision_serving.csv.gz";

const DETAILS: &str = "\
docs/formats.md describes the measurements, and docs/output.schema.json the keys of the JSON.

Exit codes: 0 success; 1 an allocation or a check failed, or memory was not released; 2 invalid
input.";
