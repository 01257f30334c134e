//! Arguments of `heapwright report`.

use std::path::PathBuf;

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
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{DETAILS}"))]
pub(crate) struct ReportArgs {
    /// Session (.hws), capture of GPGMM (.json) or CSV trace, plain or gzip; a generated workload (workload:SHAPE:SEED); or
    /// an allocator's JSON report of at most 256 MiB; - for standard input
    #[arg(value_name = "FILE", required_unless_present = "schema")]
    pub(crate) report: Option<PathBuf>,

    /// Path of the HTML page [default: the file's path with the extension .html, or report.html for standard input or a pipe]
    ///
    /// Without this option, a file that exists is replaced only if it is a page of heapwright.
    #[arg(short, long, value_name = "PAGE")]
    pub(crate) output: Option<PathBuf>,

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
  heapwright report --json report.json
  heapwright report --schema";

const DETAILS: &str = "\
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
  page (path), session (file name), placements (recorded or replayed), events,
  duration_us, allocations, heaps, submissions, peak_used_bytes, peak_event (counted from 1),
  peak_reserved_bytes, end_used_bytes, end_reserved_bytes, unknown_references (references to
  objects that do not exist, which are ignored), failures (allocations that failed in the replay
  and are shown outside of heaps).

Exit codes: 0 success; 1 an error occurred while writing, or the replay failed; 2 invalid input,
such as a missing or invalid file, or a path that cannot be written.";
