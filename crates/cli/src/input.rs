//! Input of the commands: files, standard input for the path `-`, and generated traces.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};

use heapwright_simulation::GeneratedTrace;
use heapwright_trace::{FileKind, Input, RecordReader, Trace};

use crate::exit::Failed;

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
pub(crate) fn open(path: &Path) -> Result<Box<dyn Read>, Failed> {
    let opened = match path {
        _ if is_stdin(path) => return Ok(Box::new(io::stdin())),
        // Systems report a directory with different errors.
        _ if path.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        _ => File::open(path),
    };
    match opened {
        Ok(file) => Ok(Box::new(file)),
        Err(error) => Err(cannot_read(path, &error)),
    }
}

pub(crate) fn cannot_read(path: &Path, error: &io::Error) -> Failed {
    Failed::bad_input(reason(error, "no such file")).of(name(path).display())
}

/// Checks that standard input is given once, as it can be read only once.
pub(crate) fn check_stdin(paths: &[PathBuf]) -> Result<(), Failed> {
    match paths.iter().filter(|path| is_stdin(path)).count() {
        0 | 1 => Ok(()),
        count => Err(Failed::bad_input(format_args!(
            "standard input (-) was given {count} times; it can be read only once"
        ))),
    }
}

/// Returns whether a path names generated traces. A file whose name begins with `workload:` is `./workload:...`.
pub(crate) fn is_generated(path: &Path) -> bool {
    path.to_str().is_some_and(GeneratedTrace::is_name)
}

/// Generates the trace that the path names, if it names one.
pub(crate) fn generated(path: &Path) -> Result<Option<Trace>, Failed> {
    let name = path.to_str().filter(|name| GeneratedTrace::is_name(name));
    name.map(|name| Ok(name.parse::<GeneratedTrace>()?.generate())).transpose()
}

/// Opens the records of a file, of standard input or of a generated trace.
pub(crate) fn records(path: &Path) -> Result<RecordReader<Box<dyn Read>>, Failed> {
    let bytes = match generated(path)? {
        Some(trace) => {
            let mut csv = Vec::new();
            // Writing to memory cannot fail.
            trace.write(&mut csv).expect("memory takes every byte");
            Box::new(Cursor::new(csv))
        }
        None => open(path)?,
    };
    Ok(RecordReader::new(name(path), bytes)?)
}

/// Number of bytes by which an input is recognized.
const PREFIX_LEN: u64 = 64 << 10;

/// Returns the first bytes of an input, and the rest.
pub(crate) fn prefix<R: Read>(mut input: R) -> io::Result<(Vec<u8>, R)> {
    let mut prefix = Vec::new();
    input.by_ref().take(PREFIX_LEN).read_to_end(&mut prefix)?;
    Ok((prefix, input))
}

/// Maximum size of a table, a frame or a list, in bytes. These files are written by hand.
const MAX_LEN: u64 = 16 << 20;

/// Reads a small file, or standard input, as text without a leading byte order mark. A file of another kind is named,
/// instead of what is expected.
pub(crate) fn read_text(path: &Path, expected: &str) -> Result<String, Failed> {
    let input = recognized(path)?;
    match input.kind() {
        FileKind::Unknown | FileKind::Frame => {}
        other => return Err(Failed::bad_input(other.instead_of(expected)).of(name(path).display())),
    }
    input.into_text(MAX_LEN).map_err(|error| cannot_read(path, &error))
}

/// Opens a file, or standard input, and recognizes it by its content.
pub(crate) fn recognized(path: &Path) -> Result<Input<Box<dyn Read>>, Failed> {
    Ok(Input::new(name(path), open(path)?)?)
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
