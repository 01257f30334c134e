//! `bench-gpu`: measures the Vulkan driver of the runtime on a GPU and prints one table.
#![forbid(unsafe_code)]

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use heapwright_lab::gpu::table::{Row, Table};
use heapwright_lab::gpu::{GIB, Result, bandwidth, cost, plain::Plain, residency, traces};

/// The names of the measurements.
const MEASUREMENTS: [&str; 8] =
    ["device", "placed-buffers", "allocations", "copies", "writes", "eviction", "traces", "residency"];

/// Measures heapwright's runtime on a Vulkan device, beside plain Vulkan and VMA on the same device, and prints a
/// table.
#[derive(Parser)]
#[command(name = "bench-gpu")]
struct Args {
    /// Index of the Vulkan device, in the loader's order.
    #[arg(long, default_value_t = 0)]
    index: usize,
    /// Size of one buffer of the bandwidth measurements, in MiB. Heaps from a sixteenth of it to four times as much are
    /// evicted.
    #[arg(long, default_value_t = 1024)]
    size_mib: u64,
    /// Working set of the residency measurement, in GiB.
    #[arg(long, default_value_t = 40)]
    working_set_gib: u64,
    /// Only this measurement; may be repeated.
    #[arg(long, value_name = "NAME", value_parser = MEASUREMENTS)]
    only: Vec<String>,
    /// Traces to replay.
    #[arg(value_name = "TRACE")]
    traces: Vec<PathBuf>,
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            // If standard error is closed, the error cannot be reported anywhere.
            let _ = writeln!(anstream::stderr(), "error: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(args: &Args) -> Result<bool> {
    let (index, size) = (args.index, args.size_mib << 20);
    let mut table = Table::of(&args.only);
    table.add("device", || Plain::open(index).map(|plain| vec![Row::plain("device", plain.name.clone())]));
    table.add("placed-buffers", || cost::placed_buffers(index));
    table.add("allocations", || cost::allocations(index));
    table.add("copies", || bandwidth::copies(index, size));
    table.add("writes", || bandwidth::writes(index, size.min(GIB)));
    table.add("eviction", || {
        bandwidth::eviction(index, &[(16, size / 16), (1, size / 4), (1, size), (1, size * 4), (8, size)])
    });
    table.add("traces", || traces::beside_vma(index, &args.traces));
    table.add("residency", || residency::quarter(index, args.working_set_gib * GIB));
    write!(anstream::stdout(), "{table}")?;
    Ok(table.all_held())
}
