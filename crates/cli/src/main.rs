//! The program `heapwright`: command-line tools on top of the library. A command parses its arguments, calls the
//! library, and prints a report type.
//!
//! - [`args`]: definition of the command line; each command defines its own arguments.
//! - [`device`]: the device that `--device` names.
//! - [`conformance`], [`convert`], [`devices`], [`plan`], [`recreate`], [`replay`], [`report`], [`residency`]: the
//!   commands.
//! - [`input`], [`output_file`]: input and output files.
//! - [`output`], [`logging`], [`format`](mod@format), [`table`]: standard output, standard error, the format of
//!   numbers, and tables.
//! - [`exit`]: exit codes, and why a command has no result.

// `device` and `conformance::worker` allow it, to load a library that the command line names, and `recreate::com` and
// `recreate::copies` for the calls that create objects at addresses and copy their contents.
#![deny(unsafe_code)]

mod args;
mod conformance;
mod convert;
mod device;
mod devices;
mod exit;
mod format;
mod input;
mod logging;
mod numbers;
mod output;
mod output_file;
mod plan;
mod recreate;
mod replay;
mod report;
mod residency;
mod table;

use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::Parser as _;

use crate::args::{Args, Command};
use crate::exit::{Exit, Failed};
use crate::output::Output;

fn main() -> ExitCode {
    let mut output = Output::new();
    let result = match Args::try_parse() {
        Ok(args) => run(&args, &mut output),
        Err(error) => no_args(&error),
    };
    result.unwrap_or_else(|failed| output.failed(&failed)).into()
}

/// Prints the help or the version, or says what is wrong with the arguments.
fn no_args(error: &clap::Error) -> Result<Exit, Failed> {
    let printed = error.print().and_then(|()| io::stdout().flush());
    if error.use_stderr() {
        // If standard error is closed, the error cannot be reported.
        return Ok(Exit::BadInput);
    }
    match printed {
        Err(error) if !output::is_closed_pipe(&error) => Err(output::cannot_write(&error)),
        _ => Ok(Exit::Success),
    }
}

fn run(args: &Args, output: &mut Output) -> Result<Exit, Failed> {
    logging::init(args.verbose, logs_refusals(&args.command))?;
    match &args.command {
        Command::Replay(command) => replay::run(command, args.verbose > 0, output),
        Command::Convert(args) => convert::run(args, output),
        Command::Devices(args) => devices::run(args, output),
        Command::Conformance(command) => conformance::run(command, args.verbose, output),
        Command::Residency(args) => residency::run(args, output),
        Command::Recreate(args) => recreate::run(args, output),
        Command::Report(args) => report::run(args, output),
        Command::Plan(args) => plan::run(args, output),
    }
}

/// Returns whether rejected calls are logged by default. Most conformance checks make invalid calls on purpose.
fn logs_refusals(command: &Command) -> bool {
    !matches!(command, Command::Conformance(_))
}
