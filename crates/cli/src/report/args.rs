//! Arguments of `heapwright report`.

use std::path::PathBuf;

/// Convert a session, a trace, or the report or dump of an allocator to an HTML page
///
/// The page shows memory over time, what changed between two moments, and the heaps and allocations at a moment. A file
/// without heaps and placements, such as a CSV trace, is replayed through the allocator with default settings on the
/// simulated GPU, whose heaps the page shows. A report that ResourceAllocator::report returned is a session of one
/// moment, and so is a dump by BuildStatsString of D3D12 Memory Allocator or vmaBuildStatsString of Vulkan Memory
/// Allocator.
///
/// The kind of the input is recognized by its content. A page is a single file and needs no network.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{DETAILS}"))]
pub(crate) struct ReportArgs {
    /// Session (.hws), capture of GPGMM (.json), CSV trace, memory snapshot of PyTorch (.pickle, .json), allocator's
    /// report (JSON), or dump of D3D12MA or VMA (JSON), plain or gzip; a generated workload (workload:SHAPE:SEED); or -
    /// for standard input
    #[arg(value_name = "FILE", required_unless_present = "schema")]
    pub(crate) report: Option<PathBuf>,

    /// Path of the HTML page [default: the file's path with the extension .html, or report.html for standard input or a
    /// pipe]
    ///
    /// Without this option, a file that exists is replaced only if it is a page of heapwright.
    #[arg(short, long, value_name = "PAGE")]
    pub(crate) output: Option<PathBuf>,

    /// Serve the page of a session that is still recorded, on this machine alone; the page follows the file, until
    /// Ctrl-C
    ///
    /// Prints the address, which nobody else can guess. Nothing but the page is served.
    #[arg(long, conflicts_with_all = ["output", "json"])]
    pub(crate) follow: bool,

    /// Print the summary as one JSON object
    #[arg(long)]
    pub(crate) json: bool,

    /// Print the JSON Schema of reports and exit
    #[arg(long, exclusive = true)]
    pub(crate) schema: bool,
}

const EXAMPLES: &str = "\
Examples:
  heapwright report session.hws
  heapwright report traces/vision_serving.csv.gz -o vision.html
  heapwright report report.json
  heapwright report vma_dump.json
  heapwright report snapshot.pickle
  heapwright report --json report.json
  heapwright report --schema";

const DETAILS: &str = "\
docs/formats.md describes the page and the summary, and docs/output.schema.json the keys of the
JSON.

Exit codes: 0 success; 1 an error occurred while writing, or the replay failed; 2 invalid input,
such as a missing or invalid file, or a path that cannot be written.";
