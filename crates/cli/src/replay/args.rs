//! Arguments of `heapwright replay`.

use std::path::PathBuf;

use clap::ValueEnum;
use heapwright::HeapType;

use super::configuration::Configuration;
use crate::exit::Failed;

/// Replay allocation traces through the allocator and measure memory and time
///
/// Each trace is replayed on a new device with a new allocator, which must finally release all memory.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{DETAILS}"))]
pub(crate) struct ReplayArgs {
    /// CSV files, captures of GPGMM (.json), sessions (.hws) or memory snapshots of PyTorch (.pickle, .json), plain or
    /// gzip; - for standard input; or generated workloads
    ///
    /// The format is recognized by content. docs/formats.md lists the workloads, such as workload:streaming:7.
    #[arg(value_name = "TRACE", required = true)]
    pub(crate) traces: Vec<PathBuf>,

    /// Device to replay on: a name from `heapwright devices`, or d3d12:PATH for a shared library
    #[arg(long, value_name = "DEVICE", default_value = "host")]
    pub(crate) device: String,

    /// Heap type of the buffers; auto is default, and with --verify gpu-upload if the device supports it, otherwise
    /// upload
    #[arg(long, value_name = "TYPE", value_enum, default_value_t = HeapTypeArg::Auto)]
    pub(crate) heap_type: HeapTypeArg,

    /// Check that live buffers do not overlap and keep their contents, in heaps that the CPU can write to
    #[arg(long)]
    pub(crate) verify: bool,

    /// Also replay each trace with GPGMM's strategy and with one heap per buffer
    #[arg(long)]
    pub(crate) compare: bool,

    /// Settings of the allocator
    #[arg(long, value_name = "PROFILE", value_enum, default_value_t = Configuration::Default, conflicts_with = "compare")]
    pub(crate) profile: Configuration,

    /// Set a field of ResourceAllocatorDesc, after --profile; may be repeated; an error lists the fields and their
    /// values
    #[arg(long, value_name = "OPTION=VALUE", conflicts_with = "compare", value_parser = setting)]
    pub(crate) set: Vec<(String, String)>,

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

impl HeapTypeArg {
    /// Returns the heap type of the buffers.
    pub(super) fn choose(self, verify: bool, has_gpu_upload_heaps: bool) -> Result<HeapType, Failed> {
        match self {
            Self::Auto if !verify => Ok(HeapType::Default),
            Self::Auto | Self::GpuUpload if has_gpu_upload_heaps => Ok(HeapType::GpuUpload),
            Self::Auto | Self::Upload => Ok(HeapType::Upload),
            Self::Default if verify => Err(Failed::bad_input(
                "--verify requires a heap type that can be mapped, but --heap-type is default; use auto, upload, readback or \
                 gpu-upload",
            )),
            Self::Default => Ok(HeapType::Default),
            Self::Readback => Ok(HeapType::Readback),
            Self::GpuUpload => {
                Err(Failed::bad_input("--heap-type gpu-upload: the device does not support GPU upload heaps"))
            }
        }
    }
}

/// Parses a value of `heapwright replay --set`.
fn setting(text: &str) -> Result<(String, String), &'static str> {
    let (name, value) = text.split_once('=').ok_or("must be OPTION=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

const EXAMPLES: &str = "\
Examples:
  heapwright replay traces/vision_serving.csv.gz
  heapwright replay --verify traces/unet_diffusion.csv.gz
  heapwright replay --compare traces/vision_serving.csv.gz
  heapwright replay workload:streaming:7
  heapwright replay --device host:uma --heap-type upload --json traces/unet_diffusion.csv.gz
  heapwright replay --profile captured session.hws
  heapwright replay --profile low-memory --set max_heap_size=64MiB session.hws capture.json";

const DETAILS: &str = "\
With -v, three tables have all measurements. docs/formats.md describes them, and
docs/output.schema.json the keys of the JSON.

Exit codes: 0 success; 1 an allocation or a check failed, or memory was not released; 2 invalid
input.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_heap_type_can_be_mapped_if_buffers_are_verified() {
        use HeapTypeArg::{Auto, Default, GpuUpload, Readback, Upload};
        for (arg, verify, has_gpu_upload, expected) in [
            (Auto, false, true, Some(HeapType::Default)),
            (Auto, true, true, Some(HeapType::GpuUpload)),
            (Auto, true, false, Some(HeapType::Upload)),
            (Default, false, false, Some(HeapType::Default)),
            (Default, true, true, None),
            (Upload, true, false, Some(HeapType::Upload)),
            (Readback, false, false, Some(HeapType::Readback)),
            (GpuUpload, false, true, Some(HeapType::GpuUpload)),
            (GpuUpload, false, false, None),
        ] {
            assert_eq!(
                arg.choose(verify, has_gpu_upload).ok(),
                expected,
                "{arg:?} {verify} {has_gpu_upload}"
            );
        }
    }
}
