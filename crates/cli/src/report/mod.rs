//! `heapwright report`: converts an allocator's report, a trace or a session to an HTML page.
//!
//! - [`args`]: the arguments.
//! - [`source`]: the input, and what it contains.
//! - [`allocator`]: the page of an allocator's report.
//! - [`summary`], [`table`]: its summary, as JSON and as text.
//! - [`session`]: the page of a trace or a session, and its summary.
//! - [`placements`]: heaps and placements for files without them.

mod allocator;
mod args;
mod placements;
mod session;
mod source;
mod summary;
mod table;

use heapwright_report::JSON_SCHEMA;

pub(crate) use self::args::ReportArgs;
use self::source::{Content, Source};
use crate::exit::Exit;
use crate::input;
use crate::output::{Output, OutputError};

/// Runs the command.
pub(crate) fn run(args: &ReportArgs, output: &mut Output) -> Result<Exit, OutputError> {
    let Some(path) = &args.report else {
        output.result(&JSON_SCHEMA.trim_end())?;
        return Ok(Exit::Success);
    };
    let source = Source::new(path);
    match source.open() {
        Ok(Content::AllocatorReport(bytes)) => allocator::run(&source, bytes, args, output),
        Ok(Content::Session(bytes)) => session::run(&source, Some(bytes), args, output),
        Ok(Content::Workload) => session::run(&source, None, args, output),
        Err(error) => {
            output.error(&format_args!("{}: {}", source.name(), input::reason(&error, "no such file")));
            Ok(Exit::BadInput)
        }
    }
}
