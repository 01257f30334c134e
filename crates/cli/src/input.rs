//! Input of the commands: files, or standard input for the path `-`.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use heapwright_trace::{Trace, TraceError};

/// The path that stands for standard input.
pub(crate) const STDIN: &str = "-";

/// The name of standard input in messages.
pub(crate) const STDIN_NAME: &str = "standard input";

/// Returns whether the path stands for standard input. A file with that name is `./-`.
pub(crate) fn is_stdin(path: &Path) -> bool {
    path == OsStr::new(STDIN)
}

/// Opens a file, or standard input.
///
/// # Errors
///
/// Returns the error of the file system. A directory is [`io::ErrorKind::IsADirectory`] on every system.
pub(crate) fn open(path: &Path) -> io::Result<Box<dyn Read>> {
    if is_stdin(path) {
        return Ok(Box::new(io::stdin()));
    }
    if path.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    Ok(Box::new(File::open(path)?))
}

/// Reads a trace from a file, or from standard input.
pub(crate) fn read_trace(path: &Path) -> Result<Trace, TraceError> {
    if is_stdin(path) { Trace::from_reader(STDIN_NAME, io::stdin()) } else { Trace::read(path) }
}

/// Maximum size of a scenario or a list, in bytes. These files are written by hand.
const MAX_LEN: u64 = 16 << 20;

/// Reads a small file, or standard input, to its end.
///
/// # Errors
///
/// Returns the errors of [`open`], and [`io::ErrorKind::FileTooLarge`] for more than [`MAX_LEN`] bytes.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    read_rest(Vec::new(), open(path)?)
}

/// Reads the rest of a small file whose first `bytes` have been read, as [`read`] does.
pub(crate) fn read_rest(mut bytes: Vec<u8>, input: impl Read) -> io::Result<Vec<u8>> {
    let mut rest = input.take(MAX_LEN + 1);
    rest.read_to_end(&mut bytes)?;
    if rest.limit() == 0 { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(bytes) }
}

/// Returns the bytes as a string without a leading byte order mark, or `None` if they are not UTF-8.
pub(crate) fn text(bytes: &[u8]) -> Option<&str> {
    let text = str::from_utf8(bytes).ok()?;
    Some(text.strip_prefix('\u{feff}').unwrap_or(text))
}

/// Returns a short description of an error of the file system.
pub(crate) fn reason(error: &io::Error, not_found: &str) -> String {
    match error.kind() {
        // On Windows some names are invalid, such as those with a line break.
        io::ErrorKind::NotFound | io::ErrorKind::InvalidFilename => not_found.to_owned(),
        io::ErrorKind::IsADirectory => "is a directory".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::FileTooLarge => format!("file is larger than the limit of {MAX_LEN} bytes"),
        _ => error.to_string(),
    }
}
