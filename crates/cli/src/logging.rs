//! The log, on standard error.

use std::io::{self, IsTerminal as _};

use tracing_subscriber::EnvFilter;

/// The environment variable that sets what is logged.
const VARIABLE: &str = "HEAPWRIGHT_LOG";

/// Why the log could not be set up.
#[derive(Debug, thiserror::Error)]
#[error("{VARIABLE}={value:?} is not a log filter: {reason}")]
pub(crate) struct BadFilter {
    value: String,
    reason: String,
}

/// Logs warnings, and more with each step of `verbosity`; the environment has the last word.
///
/// Where refused calls are what the command is about, the runtime's log of them begins with -vv.
pub(crate) fn init(verbosity: u8, logs_refusals: bool) -> Result<(), BadFilter> {
    let filter = match std::env::var_os(VARIABLE).filter(|value| !value.is_empty()) {
        None if logs_refusals || verbosity > 1 => EnvFilter::new(level(verbosity)),
        None => EnvFilter::new(format!("{},heapwright_runtime=off", level(verbosity))),
        Some(value) => {
            let value = value.to_string_lossy().into_owned();
            EnvFilter::try_new(&value).map_err(|error| BadFilter { value, reason: error.to_string() })?
        }
    };
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal())
        // A closed standard error would otherwise be reported on standard error, which panics.
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
