//! Arguments of `heapwright conformance`.

use std::path::PathBuf;

use clap::ValueEnum;
use heapwright_conformance::Class;

use crate::numbers::number;

/// Check a device's conformance to Direct3D 12's memory rules
///
/// Runs checks similar to those of the Windows Hardware Lab Kit. Each check has an id, a reference to the
/// specification, and requirements. A check is skipped if its requirements are not met or if the device does not
/// implement a method that it calls. The summary counts skipped checks by reason; -v lists each one.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{DETAILS}"))]
pub(crate) struct ConformanceArgs {
    /// Device to check: a name from `heapwright devices`, or d3d12:PATH for a shared library
    #[arg(long, value_name = "DEVICE", default_value = "host")]
    pub(crate) device: String,

    /// File that lists the checks that are known to fail on the device, which must still fail
    #[arg(long, value_name = "FILE")]
    pub(crate) known_gaps: Option<PathBuf>,

    /// Run only the checks whose id contains this text, such as tight/; commas separate several
    #[arg(long, value_name = "TEXT")]
    pub(crate) filter: Option<String>,

    /// Class of checks whose failure sets exit code 1; the checks of all classes run
    ///
    /// behaviour: what correct programs rely on; validation: invalid calls that a device must refuse. Checks of class
    /// documented state what a document says where implementations differ; they never set it.
    #[arg(long, value_name = "CLASS", default_value = "all")]
    pub(crate) require: RequiredClass,

    /// Time limit of a check in seconds; one that crashes or exceeds it fails, and the others still run
    #[arg(long, value_name = "SECONDS", default_value_t = 120, allow_negative_numbers = true, value_parser = number(1..=u32::MAX))]
    pub(crate) check_timeout: u32,

    /// Memory limit of a process of checks in MiB, by default half of the machine's memory; one that exceeds it fails
    /// as one that crashes. On Windows and Linux
    #[arg(long, value_name = "MIB", allow_negative_numbers = true, value_parser = number(1..=u64::MAX))]
    pub(crate) check_memory: Option<u64>,

    /// Run the checks whose ids are read from standard input. Used internally for check processes.
    #[arg(long, hide = true)]
    pub(crate) worker: bool,

    /// Print the selected checks and their sources, and run none
    #[arg(long, conflicts_with_all = ["json", "baseline", "results", "known_gaps"])]
    pub(crate) list: bool,

    /// Write the result of each check to a file, for --baseline and --table
    #[arg(long, value_name = "FILE")]
    pub(crate) results: Option<PathBuf>,

    /// Print what changed since earlier --results or --json; a check that fails and passed sets exit code 1
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: Option<PathBuf>,

    /// Print a Markdown table of checks by implementation from these files of --results, and run none
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["json", "list", "baseline", "results", "known_gaps"])]
    pub(crate) table: Vec<PathBuf>,

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

const EXAMPLES: &str = "\
Examples:
  heapwright conformance
  heapwright conformance --device host:uma --filter tight/
  heapwright conformance --json --filter heap/,buffer/placed
  heapwright conformance --device host:uma --require behaviour
  heapwright conformance --list --filter tight/";

const DETAILS: &str = "\
docs/formats.md describes the file of known gaps, and docs/output.schema.json the keys of the JSON.

Exit codes, for the classes selected by --require: 0 no check failed except known gaps; 1 a check
failed, a known gap passed, or the device could not be opened; 2 invalid input, such as an unknown
device, a filter without matching checks, or an invalid line in the file of known gaps.";
