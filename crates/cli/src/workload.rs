//! `heapwright workload`: writes generated traces as CSV.

use std::path::PathBuf;

use heapwright_report::Visible;
use heapwright_trace::{Part, Workload};

use crate::exit::Exit;
use crate::format;
use crate::output::{Output, OutputError};
use crate::output_file::OutputFile;

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
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
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

const HELP: &str = "\
Examples:
  heapwright workload workload:streaming:7 -o streaming.csv
  heapwright workload --list
  heapwright replay workload:streaming:7 workload:editor:1000
  heapwright replay --json workload:development

Exit codes: 0 success; 1 an error occurred while writing; 2 invalid input, such as an unknown
workload, or a path that cannot be written.";

/// Runs the command.
pub(crate) fn run(args: &WorkloadArgs, output: &mut Output) -> Result<Exit, OutputError> {
    let Some(name) = args.name.as_deref().filter(|_| !args.list) else {
        for part in [Part::Development, Part::Evaluation] {
            for workload in Workload::of_part(part) {
                output.result(&workload)?;
            }
        }
        return Ok(Exit::Success);
    };
    let workload = match name.parse::<Workload>() {
        Ok(workload) => workload,
        Err(error) => {
            match Workload::named(name) {
                Ok(part) => output.error(&format_args!(
                    "{name} is a part with {} workloads; `heapwright workload --list` has their names",
                    part.len()
                )),
                Err(_) => output.error(&error),
            }
            return Ok(Exit::BadInput);
        }
    };
    let Some(path) = &args.output else {
        let mut csv = Vec::new();
        workload.generate().write(&mut csv)?;
        // The last line feed is that of `result`.
        let csv = String::from_utf8_lossy(&csv);
        output.result(&csv.trim_end())?;
        return Ok(Exit::Success);
    };
    let file = match OutputFile::open("trace", path, []) {
        Ok(file) => file,
        Err(error) => {
            output.error(&error);
            return Ok(error.exit());
        }
    };
    let trace = workload.generate();
    if let Err(error) = file.write(|writer| trace.write(writer)) {
        output.error(&error);
        return Ok(error.exit());
    }
    let peak = format::size(trace.peak_live().get());
    let path = path.display().to_string();
    output.result(&format_args!("{}: {} events, peak live {peak}", Visible(&path), trace.events().len()))?;
    Ok(Exit::Success)
}
