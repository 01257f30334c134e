//! Log lines on the standard error stream, and on Windows in the debugger.

use std::io::{self, Write};
use std::sync::OnceLock;

use heapwright::d3d12::*;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::{fmt, registry, reload};

use crate::failure::Failure;

/// Sets the level of the log.
type SetLevel = Box<dyn Fn(LevelFilter) + Send + Sync>;

/// Sets the least severe level that is logged, `MinLogLevel`, for the whole process, as in GPGMM: the last description
/// counts.
///
/// The library's errors are ERROR, its warnings WARNING. CORRUPTION, the default, is only logged for bugs in the
/// library.
pub(crate) fn set_level(severity: D3D12_MESSAGE_SEVERITY) -> Result<(), Failure> {
    static SET_LEVEL: OnceLock<Option<SetLevel>> = OnceLock::new();
    let level = match severity {
        D3D12_MESSAGE_SEVERITY_CORRUPTION => LevelFilter::OFF,
        D3D12_MESSAGE_SEVERITY_ERROR => LevelFilter::ERROR,
        D3D12_MESSAGE_SEVERITY_WARNING => LevelFilter::WARN,
        D3D12_MESSAGE_SEVERITY_INFO => LevelFilter::INFO,
        D3D12_MESSAGE_SEVERITY_MESSAGE => LevelFilter::TRACE,
        other => {
            let rule = format!("MinLogLevel: {other} is not a D3D12_MESSAGE_SEVERITY value");
            return Err(Failure::invalid_argument(rule));
        }
    };
    if let Some(set_level) = SET_LEVEL.get_or_init(install) {
        set_level(level);
    }
    Ok(())
}

/// Installs the log. Returns `None` if the process has another one, as a Rust program may that links the static
/// library.
fn install() -> Option<SetLevel> {
    let (filter, handle) = reload::Layer::new(LevelFilter::OFF);
    let lines = fmt::layer().with_writer(|| Lines).with_ansi(false).without_time();
    tracing::subscriber::set_global_default(registry().with(filter).with(lines)).ok()?;
    Some(Box::new(move |level| {
        // Fails only if the log is gone, which it never is.
        let _ = handle.modify(|current| *current = level);
    }))
}

/// Logs a bug in the library, at every level.
pub(crate) fn corruption(line: &str) {
    // Nothing is left to report a failure to.
    let _ = writeln!(Lines, "CORRUPTION {line}");
}

/// The destination of log lines.
struct Lines;

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        #[cfg(windows)]
        debugger::write(bytes);
        io::stderr().write_all(bytes).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

#[cfg(windows)]
mod debugger {
    use std::ffi::{CString, c_char};

    #[link(name = "kernel32")]
    unsafe extern "system" {
        fn OutputDebugStringA(text: *const c_char);
    }

    pub(super) fn write(bytes: &[u8]) {
        if let Ok(text) = CString::new(bytes) {
            // SAFETY: a zero-terminated string.
            unsafe { OutputDebugStringA(text.as_ptr()) };
        }
    }
}
