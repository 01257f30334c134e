//! Input of the commands: files, standard input for the path `-`, and generated workloads.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use heapwright_trace::{Trace, TraceError, UnknownWorkload, Workload};

/// The path that stands for standard input.
pub(crate) const STDIN: &str = "-";

/// The name of standard input in messages.
pub(crate) const STDIN_NAME: &str = "standard input";

/// Returns whether the path stands for standard input. A file with that name is `./-`.
pub(crate) fn is_stdin(path: &Path) -> bool {
    path == OsStr::new(STDIN)
}

/// Returns whether the input can be read only once: standard input, a pipe or a device.
pub(crate) fn is_stream(path: &Path) -> bool {
    // A path that leads nowhere is an error when it is opened, and so is a directory.
    let is_no_file = |metadata: fs::Metadata| !metadata.is_file() && !metadata.is_dir();
    is_stdin(path) || path.metadata().is_ok_and(is_no_file)
}

/// Returns the input's path, or the name of standard input, for messages.
pub(crate) fn name(path: &Path) -> &Path {
    if is_stdin(path) { Path::new(STDIN_NAME) } else { path }
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

/// A trace that cannot be read or generated.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoTrace {
    #[error(transparent)]
    Unreadable(#[from] TraceError),
    #[error(transparent)]
    UnknownWorkload(#[from] UnknownWorkload),
}

/// Generates the workload that the path names, if it names one. A file whose name begins with `workload:` is `./workload:...`.
pub(crate) fn named_workload(path: &Path) -> Result<Option<Trace>, UnknownWorkload> {
    let name = path.to_str().filter(|name| Workload::is_name(name));
    name.map(|name| Ok(name.parse::<Workload>()?.generate())).transpose()
}

/// Returns the CSV file of the workload that the path names, if it names one.
pub(crate) fn generated_csv(path: &Path) -> Result<Option<Vec<u8>>, UnknownWorkload> {
    let trace = named_workload(path)?;
    Ok(trace.map(|trace| {
        let mut csv = Vec::new();
        // Writing to memory cannot fail.
        trace.write(&mut csv).expect("memory takes every byte");
        csv
    }))
}

/// Replaces the names of parts of the generated workloads by the names of their workloads.
pub(crate) fn expand_parts(paths: &[PathBuf]) -> Vec<PathBuf> {
    let expand = |path: &PathBuf| match path.to_str().map(Workload::named) {
        Some(Ok(workloads)) => workloads.iter().map(|workload| workload.to_string().into()).collect(),
        // A file, or an unknown workload, which is reported when the trace is read.
        Some(Err(_)) | None => vec![path.clone()],
    };
    paths.iter().flat_map(expand).collect()
}

/// Number of bytes by which an input is recognized.
const PREFIX_LEN: u64 = 64 << 10;

/// Returns the first bytes of an input, and the rest.
pub(crate) fn prefix<R: Read>(mut input: R) -> io::Result<(Vec<u8>, R)> {
    let mut prefix = Vec::new();
    input.by_ref().take(PREFIX_LEN).read_to_end(&mut prefix)?;
    Ok((prefix, input))
}

/// Returns whether an input with this beginning is a trace, a capture or a session, and neither an allocator's report (JSON) nor a
/// scenario (TOML).
pub(crate) fn is_trace(prefix: &[u8]) -> bool {
    let text = first_text(prefix);
    let is_compressed = prefix.starts_with(b"\x1f\x8b");
    let is_binary = prefix.starts_with(b"\x89HWS");
    let is_capture = match text {
        // In TOML, the name of a table or a second bracket follows.
        [b'[', rest @ ..] => matches!(rest.trim_ascii_start().first(), None | Some(b'{' | b']')),
        // Of the two kinds of objects, only captures have such a list.
        [b'{', ..] => memchr::memmem::find(text, b"\"traceEvents\"").is_some(),
        _ => false,
    };
    is_compressed || is_binary || is_csv(prefix) || is_capture
}

/// Returns whether an input with this beginning is a CSV trace that is not compressed.
pub(crate) fn is_csv(prefix: &[u8]) -> bool {
    first_text(prefix).starts_with(b"time_us")
}

/// Skips a byte order mark and white space.
fn first_text(prefix: &[u8]) -> &[u8] {
    prefix.strip_prefix(b"\xef\xbb\xbf").unwrap_or(prefix).trim_ascii_start()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traces_are_recognized_by_their_beginning() {
        for (prefix, expected) in [
            (&b"time_us,event,id,size_bytes\n"[..], true),
            (b"\xef\xbb\xbftime_us,event", true),
            (b"\x1f\x8b\x08", true),
            (b"\x89HWS\r\n\x1a\n", true),
            (b" \n[", true),
            (b"[\n {\"name\"", true),
            (b"{\"displayTimeUnit\":\"ms\", \"traceEvents\": [", true),
            (b"{\"schema\":\"heapwright.report\"", false),
            (b"[[budget]]\n", false),
            (b"[paging]\n", false),
            (b"name = \"x\"\n", false),
            (b"", false),
            (b"no report", false),
        ] {
            assert_eq!(is_trace(prefix), expected, "{}", prefix.escape_ascii());
        }
    }
}
