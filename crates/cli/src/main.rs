//! The program `heapwright`: thin commands over the library. Each parses, calls and prints; what it prints comes from
//! a report type.
//!
//! - [`args`]: the command line.
//! - [`device`]: which device `--device` names.
//! - [`conformance`], [`devices`], [`replay`], [`report`], [`residency`]: the commands.
//! - [`input`], [`output_file`]: what commands read and write.
//! - [`output`], [`logging`], [`format`](mod@format): standard output and error, and how numbers look there.
//! - [`exit`]: what the exit code says.

// Two places vouch for a library that the command line names: `device::loaded` and `conformance::worker`.
#![deny(unsafe_code)]

mod args;
mod conformance;
mod device;
mod devices;
mod exit;
mod format;
mod input;
mod logging;
mod output;
mod output_file;
mod replay;
mod report;
mod residency;

use std::process::ExitCode;

use clap::Parser as _;

use crate::args::{Args, Command};
use crate::exit::Exit;
use crate::output::{Output, OutputError};

fn main() -> ExitCode {
    let args = Args::parse();
    let mut output = Output::new();
    let exit = match run(&args, &mut output) {
        Ok(exit) => exit,
        // Whoever read the output has seen enough.
        Err(OutputError::Closed) => Exit::Done,
        Err(error @ OutputError::Io(_)) => {
            output.error(&error);
            Exit::No
        }
    };
    exit.into()
}

fn run(args: &Args, output: &mut Output) -> Result<Exit, OutputError> {
    if let Err(error) = logging::init(args.verbose, logs_refusals(&args.command)) {
        output.error(&error);
        return Ok(Exit::BadInput);
    }
    match &args.command {
        Command::Replay(args) => replay::run(args, output),
        Command::Devices(args) => devices::run(args, output),
        Command::Conformance(command) => conformance::run(command, args.verbose, output),
        Command::Residency(args) => residency::run(args, output),
        Command::Report(args) => report::run(args, output),
    }
}

/// Whether a refused call is worth a line of the log. Conformance checks are mostly refused calls.
fn logs_refusals(command: &Command) -> bool {
    !matches!(command, Command::Conformance(_))
}
