//! What commands read: files, or standard input by the name `-`.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use heapwright_trace::{Trace, TraceError};

/// The path that stands for standard input.
pub(crate) const STDIN: &str = "-";

/// How messages call standard input.
pub(crate) const STDIN_NAME: &str = "standard input";

/// Whether a path stands for standard input. A file of that name is `./-`.
pub(crate) fn is_stdin(path: &Path) -> bool {
    path == OsStr::new(STDIN)
}

/// Opens a file, or standard input.
///
/// # Errors
///
/// Those of the file system; and for a directory, of which systems differ in what they say, and when.
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

/// The most bytes of a scenario or a list that are read, 16 MiB: people write these.
const MAX_LEN: u64 = 16 << 20;

/// Reads a small file, or standard input, to its end.
///
/// # Errors
///
/// As [`open`]; and [`io::ErrorKind::FileTooLarge`] for more than 16 MiB.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    read_rest(Vec::new(), open(path)?)
}

/// As [`read`], when the first bytes were read already.
pub(crate) fn read_rest(mut bytes: Vec<u8>, input: impl Read) -> io::Result<Vec<u8>> {
    let mut rest = input.take(MAX_LEN + 1);
    rest.read_to_end(&mut bytes)?;
    if rest.limit() == 0 { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(bytes) }
}

/// Bytes as text in UTF-8, without the byte order mark that some programs write before it; `None` if they are none.
pub(crate) fn text(bytes: &[u8]) -> Option<&str> {
    let text = str::from_utf8(bytes).ok()?;
    Some(text.strip_prefix('\u{feff}').unwrap_or(text))
}

/// An error of the file system in a few words.
pub(crate) fn reason(error: &io::Error, not_found: &str) -> String {
    match error.kind() {
        // Windows has names that no file can have, as those with a line break.
        io::ErrorKind::NotFound | io::ErrorKind::InvalidFilename => not_found.to_owned(),
        io::ErrorKind::IsADirectory => "is a directory".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::FileTooLarge => format!("is longer than {MAX_LEN} bytes, the most that is read"),
        _ => error.to_string(),
    }
}
