//! Arguments of `heapwright recreate`.

use std::path::PathBuf;

/// Create the heaps and buffers of a session again, at their GPU addresses
///
/// Reads the whole session, and reserves the addresses of the heaps that exist when most bytes are live while a device
/// is created. Then it creates these heaps and their buffers at their addresses, uploads the recorded contents, and
/// compares the bytes and the addresses. Each object that cannot be recreated is reported with the reason. Textures
/// have no addresses and are skipped.
///
/// On a device that cannot create objects at addresses (D3D12_RECREATE_AT_TIER), the objects are created elsewhere,
/// with a warning.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{DETAILS}"))]
pub(crate) struct RecreateArgs {
    /// Session (.hws), plain or gzip
    #[arg(value_name = "SESSION")]
    pub(crate) session: PathBuf,

    /// Device to recreate on: a name from `heapwright devices`, or d3d12:PATH for a shared library
    #[arg(long, value_name = "DEVICE", default_value = "host")]
    pub(crate) device: String,

    /// Print the result as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

const EXAMPLES: &str = "\
Examples:
  heapwright recreate session.hws
  heapwright recreate --json session.hws";

const DETAILS: &str = "\
docs/output.schema.json describes the keys of the JSON.

The environment variable HEAPWRIGHT_RECORD=session.hws records a session in any program that uses
heapwright. ResourceAllocation::record_contents adds the contents of a buffer that the CPU can
access, and record_bytes those of others, which a copy queue uploads and reads back.

Exit codes: 0 success; 1 an object could not be recreated, or the addresses could not be reserved;
2 invalid input, such as a corrupted, truncated or newer session. Nothing is created then.";
