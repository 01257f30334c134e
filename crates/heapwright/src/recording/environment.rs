//! The environment variables that switch recording on.

use std::env;
use std::path::PathBuf;
use std::sync::OnceLock;

use crate::{RecordFlags, RecordOptions, RecordScope};

const FILE: &str = "HEAPWRIGHT_RECORD";
const FLAGS: &str = "HEAPWRIGHT_RECORD_FLAGS";

/// Returns the options of the environment, which are read once.
pub(super) fn options() -> Option<&'static RecordOptions> {
    static OPTIONS: OnceLock<Option<RecordOptions>> = OnceLock::new();
    OPTIONS
        .get_or_init(|| {
            let file = env::var_os(FILE).filter(|file| !file.is_empty() && !is_privileged())?;
            let flags = match env::var(FLAGS) {
                Err(env::VarError::NotPresent) => Ok(RecordFlags::ALL),
                Ok(text) => flags_of(&text),
                Err(env::VarError::NotUnicode(_)) => Err("a value that is not Unicode".to_owned()),
            };
            match flags {
                Ok(flags) => Some(RecordOptions {
                    flags,
                    scope: RecordScope::PerProcess,
                    use_detailed_timing_events: false,
                    trace_file: Some(path_of(file)),
                }),
                Err(unknown) => {
                    tracing::error!(
                        "{FLAGS}: unknown {unknown}; use objects, calls, timings, counters, capture or all, separated by \
                         commas; nothing is recorded"
                    );
                    None
                }
            }
        })
        .as_ref()
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
