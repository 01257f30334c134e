//! The input of `heapwright report`, recognized by its content, and the path of its page.

use std::io::Read;
use std::path::{Path, PathBuf};

use heapwright_trace::{DumpedBy, FileKind, Input, RecordReader};

use crate::exit::Failed;
use crate::input;
use crate::output_file::{OutputFile, is_input};

/// The element by which a page is recognized.
const GENERATOR: &[u8] = b"<meta name=\"generator\" content=\"heapwright\">";

/// An input.
pub(super) enum Content {
    /// An allocator's report, or something unknown.
    AllocatorReport(Input<Box<dyn Read>>),
    /// A dump of another allocator.
    Dump(DumpedBy, Input<Box<dyn Read>>),
    /// A trace, a capture, a session, a snapshot or a generated trace.
    Session(Box<RecordReader<Box<dyn Read>>>),
}

/// What the command reads.
pub(super) const EXPECTED: &str = "a session, a capture of GPGMM, a CSV trace, a memory snapshot of PyTorch, an allocator's report, \
    or a dump of D3D12MA or VMA";

/// Opens the input and recognizes what it contains.
pub(super) fn open(path: &Path) -> Result<Content, Failed> {
    if input::is_generated(path) {
        return Ok(Content::Session(Box::new(input::records(path)?)));
    }
    let input = input::recognized(path)?;
    Ok(match input.kind() {
        FileKind::Csv | FileKind::Capture | FileKind::Session | FileKind::Snapshot => {
            Content::Session(Box::new(RecordReader::from_input(input)?))
        }
        FileKind::Dump(library) => Content::Dump(library, input),
        FileKind::Report | FileKind::Unknown => Content::AllocatorReport(input),
        other => return Err(Failed::bad_input(other.instead_of(EXPECTED)).of(input::name(path).display())),
    })
}

/// Returns the default path of the page: beside the file, with the extension `.html`.
fn page_path(path: &Path) -> PathBuf {
    match path {
        // Windows has no file names with colons.
        path if input::is_generated(path) => (path.display().to_string().replace(':', "-") + ".html").into(),
        path if input::is_stream(path) => PathBuf::from("report.html"),
        path if path.extension().is_some_and(|extension| extension == "gz") => {
            path.with_extension("").with_extension("html")
        }
        path => path.with_extension("html"),
    }
}

/// Opens the page at a path, or at the default one, where only a page is replaced.
pub(super) fn open_page(input: &Path, page: Option<&Path>) -> Result<OutputFile, Failed> {
    let path = page.map_or_else(|| page_path(input), Path::to_owned);
    if is_input(input, &path) {
        return Err(Failed::bad_input(format_args!(
            "{}: the page would overwrite an input file; choose another path with -o",
            path.display()
        )));
    }
    let opened = OutputFile::open("page", &path, [])?;
    // A file that cannot be read is not a page.
    if page.is_none() && path.is_file() && !is_page(&path) {
        return Err(Failed::bad_input(format_args!(
            "{}: is not a page of heapwright and is not replaced; choose a path with -o",
            path.display()
        )));
    }
    Ok(opened)
}

/// Returns whether a file is a page of heapwright, or empty.
fn is_page(path: &Path) -> bool {
    let Ok(Ok((beginning, _))) = input::open(path).map(input::prefix) else { return false };
    beginning.is_empty() || memchr::memmem::find(&beginning, GENERATOR).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_beside_the_file() {
        for (path, page) in [
            ("a/b.csv", "a/b.html"),
            ("a/b.csv.gz", "a/b.html"),
            ("b.hws", "b.html"),
            ("b", "b.html"),
            ("-", "report.html"),
            ("workload:streaming:7", "workload-streaming-7.html"),
        ] {
            assert_eq!(page_path(Path::new(path)), Path::new(page), "{path}");
        }
    }
}
