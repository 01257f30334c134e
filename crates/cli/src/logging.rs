//! Logging to standard error.

use std::io::{self, IsTerminal as _};

use tracing_subscriber::EnvFilter;

use crate::exit::Failed;

/// Environment variable that holds the log filter.
const VARIABLE: &str = "HEAPWRIGHT_LOG";

/// Sets up logging at the level for `verbosity`, or with the filter in [`VARIABLE`] if it is set.
///
/// If `logs_refusals` is false, the runtime's messages about rejected calls are logged from `-vv` on.
pub(crate) fn init(verbosity: u8, logs_refusals: bool) -> Result<(), Failed> {
    let filter = match std::env::var_os(VARIABLE).filter(|value| !value.is_empty()) {
        None if logs_refusals || verbosity > 1 => EnvFilter::new(level(verbosity)),
        None => EnvFilter::new(format!("{},heapwright_runtime=off", level(verbosity))),
        Some(value) => {
            let value = value.to_string_lossy().into_owned();
            EnvFilter::try_new(&value).map_err(|error| {
                Failed::bad_input(format_args!("{VARIABLE}={value:?}: invalid log filter: {error}"))
            })?
        }
    };
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal())
        // Otherwise a closed standard error is reported on standard error, which panics.
        .log_internal_errors(false)
        .init();
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
