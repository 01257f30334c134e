//! Logging to standard error.

use std::io::{self, IsTerminal as _};

use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt;
use tracing_subscriber::prelude::*;

use crate::exit::Failed;

/// Environment variable that holds the log filter.
const VARIABLE: &str = "HEAPWRIGHT_LOG";

/// Sets up logging at the level for `verbosity`, or with the filter in [`VARIABLE`] if it is set.
///
/// If `logs_refusals` is false, the runtime's messages about rejected calls are logged from `-vv` on.
pub(crate) fn init(verbosity: u8, logs_refusals: bool) -> Result<(), Failed> {
    let level = level(verbosity);
    let (text, name) = match std::env::var_os(VARIABLE).filter(|value| !value.is_empty()) {
        Some(value) => (value.to_string_lossy().into_owned(), VARIABLE),
        None if logs_refusals || verbosity > 1 => (level.to_owned(), "-v"),
        None => (format!("{level},heapwright_runtime=off"), "-v"),
    };
    let filter: Targets = text
        .parse()
        .map_err(|error| Failed::bad_input(format_args!("{name}={text:?}: invalid log filter: {error}")))?;
    let writer = fmt::layer()
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal())
        // Otherwise a closed standard error is reported on standard error, which panics.
        .log_internal_errors(false);
    tracing_subscriber::registry().with(writer.with_filter(filter)).init();
    Ok(())
}

fn level(verbosity: u8) -> &'static str {
    match verbosity {
        0 => "warn",
        1 => "info",
        2 => "debug",
        _ => "trace",
    }
}
