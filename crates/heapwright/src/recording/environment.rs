//! The environment variables that switch recording on.

use std::fs::File;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::{env, io};

use super::recorder::check_extension;
use crate::{Error, RecordFlags, RecordOptions, RecordScope};

const FILE: &str = "HEAPWRIGHT_RECORD";
const FLAGS: &str = "HEAPWRIGHT_RECORD_FLAGS";

/// Checks that the recording that the environment requests can be made: its file can be written, and its flags are
/// known. A program that must not go on without its recording calls this first; an allocator only logs the error.
///
/// # Errors
///
/// Invalid argument, with the variable and the reason.
#[inline]
pub fn check_environment() -> Result<(), Error> {
    let options = options().as_ref().map_err(|rule| Error::invalid_argument(FLAGS, rule.clone()))?;
    let Some(file) = options.as_ref().and_then(|it| it.trace_file.as_deref()) else { return Ok(()) };
    check_extension(file)?;
    let created = match File::create_new(file) {
        Ok(_) => std::fs::remove_file(file),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            File::options().write(true).open(file).map(drop)
        }
        Err(error) => Err(error),
    };
    created.map_err(|error| {
        Error::invalid_argument(FILE, format!("{} cannot be written: {error}", file.display()))
    })
}

/// Returns the options of the environment, which are read once, or what is wrong with them.
pub(super) fn options() -> &'static Result<Option<RecordOptions>, String> {
    static OPTIONS: OnceLock<Result<Option<RecordOptions>, String>> = OnceLock::new();
    OPTIONS.get_or_init(|| {
        let Some(file) = env::var_os(FILE).filter(|file| !file.is_empty() && !is_privileged()) else {
            return Ok(None);
        };
        let flags = match env::var(FLAGS) {
            Err(env::VarError::NotPresent) => Ok(RecordFlags::ALL),
            Ok(text) => flags_of(&text),
            Err(env::VarError::NotUnicode(_)) => Err("a value that is not Unicode".to_owned()),
        };
        let flags = flags.map_err(|unknown| {
            let known = "objects, calls, timings, counters, capture or all, separated by commas";
            let rule = format!("{unknown} is unknown; use {known}");
            tracing::error!("{FLAGS}: {rule}; nothing is recorded");
            rule
        })?;
        Ok(Some(RecordOptions {
            flags,
            scope: RecordScope::PerProcess,
            use_detailed_timing_events: false,
            trace_file: Some(path_of(file)),
        }))
    })
}

/// Returns whether the program has more rights than its user, who chose the environment.
fn is_privileged() -> bool {
    #[cfg(target_os = "linux")]
    // SAFETY: the call only reads what the system gave to the process.
    return unsafe { libc::getauxval(libc::AT_SECURE) } != 0;
    #[cfg(not(target_os = "linux"))]
    false
}

fn path_of(file: std::ffi::OsString) -> PathBuf {
    match file.to_str() {
        Some(text) => text.replace("%p", &std::process::id().to_string()).into(),
        None => file.into(),
    }
}

/// Returns the flags of a list of names, or the first unknown name.
fn flags_of(text: &str) -> Result<RecordFlags, String> {
    let mut flags = RecordFlags::empty();
    for name in text.split(',').map(str::trim) {
        flags |= match name {
            "objects" => RecordFlags::API_OBJECTS,
            "calls" => RecordFlags::API_CALLS,
            "timings" => RecordFlags::API_TIMINGS,
            "counters" => RecordFlags::COUNTERS,
            "capture" => RecordFlags::CAPTURE,
            "all" => RecordFlags::ALL,
            _ => return Err(format!("{name:?}")),
        };
    }
    Ok(flags)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_names() {
        assert_eq!(flags_of("objects, calls"), Ok(RecordFlags::CAPTURE));
        assert_eq!(flags_of("all"), Ok(RecordFlags::ALL));
        assert_eq!(flags_of("timings,counters"), Ok(RecordFlags::API_TIMINGS | RecordFlags::COUNTERS));
        assert_eq!(flags_of("objects,everything"), Err("\"everything\"".to_owned()));
        assert_eq!(flags_of(""), Err("\"\"".to_owned()));
    }

    #[test]
    fn the_path_names_the_process() {
        assert_eq!(path_of("a-%p.hws".into()), PathBuf::from(format!("a-{}.hws", std::process::id())));
    }
}
