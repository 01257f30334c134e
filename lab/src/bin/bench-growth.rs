//! `bench-growth`: measures how the time of an allocator grows with the number of live buffers. `cargo lab
//! bench-growth` runs it.
#![forbid(unsafe_code)]

use std::error::Error;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{fs, iter};

use clap::Parser;
use heapwright_lab::growth::{Point, defragmentation, replacement};
use heapwright_lab::memory::allocators::Failed;

/// Measures replacements, beside VMA and gpu-allocator, and the longest step of a defragmentation, with 100 to 100,000
/// live buffers, on this machine.
#[derive(Parser)]
#[command(name = "bench-growth")]
struct Args {
    /// Measure with at most so many live buffers.
    #[arg(long, value_name = "COUNT", default_value_t = 100_000)]
    most: usize,
    /// The CSV file to write [default: lab/plots/growth.csv].
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// A measurement with its name in the file.
type Measurement = (&'static str, fn(usize) -> Result<Vec<Point>, Failed>);

const MEASUREMENTS: [Measurement; 2] =
    [("replacement", replacement::measure), ("defragmentation", defragmentation::measure)];

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // If standard error is closed, the error cannot be reported anywhere.
            let _ = writeln!(anstream::stderr(), "error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> Result<(), Box<dyn Error>> {
    let mut text = "measurement,allocator,live,us\n".to_owned();
    let counts =
        iter::successors(Some(100), |count| Some(count * 10)).take_while(|&count| count <= args.most);
    for live in counts {
        for (name, measure) in MEASUREMENTS {
            for Point { allocator, live, microseconds } in measure(live)? {
                writeln!(text, "{name},{allocator},{live},{microseconds:.3}")?;
            }
        }
    }
    let default = || Path::new(env!("CARGO_MANIFEST_DIR")).join("plots/growth.csv");
    let file = args.output.clone().unwrap_or_else(default);
    fs::write(&file, &text).map_err(|error| format!("{}: {error}", file.display()))?;
    anstream::stdout().write_all(text.as_bytes())?;
    Ok(())
}
