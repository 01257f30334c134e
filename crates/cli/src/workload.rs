//! `heapwright workload`: writes generated traces as CSV.

use heapwright_trace::{Part, Workload};

use crate::args::WorkloadArgs;
use crate::exit::Exit;
use crate::format;
use crate::output::{Output, OutputError};
use crate::output_file::OutputFile;

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
            output.error(&error);
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
    output.result(&format_args!("{}: {} events, peak live {peak}", path.display(), trace.events().len()))?;
    Ok(Exit::Success)
}
