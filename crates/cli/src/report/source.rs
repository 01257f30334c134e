//! The input of `heapwright report`, recognized by its content.

use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};

use heapwright_trace::Workload;

use crate::input;

/// A file, standard input, or a generated workload.
#[derive(Debug)]
pub(super) struct Source {
    path: PathBuf,
}

/// The kind of data in an input.
pub(super) enum Content {
    /// An allocator's report, or something unknown, whose errors name what a report is.
    AllocatorReport(Box<dyn Read>),
    /// A trace, a capture or a session.
    Session(Box<dyn Read>),
    /// The name of a generated workload.
    Workload,
}

/// Number of bytes by which an input is recognized.
const PREFIX_LEN: u64 = 64 << 10;

impl Source {
    pub(super) fn new(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    /// Returns the path, or "standard input".
    pub(super) fn name(&self) -> String {
        if input::is_stdin(&self.path) {
            input::STDIN_NAME.to_owned()
        } else {
            self.path.display().to_string()
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the name of the generated workload, if the input is one.
    pub(super) fn workload(&self) -> Option<&str> {
        self.path.to_str().filter(|name| Workload::is_name(name))
    }

    /// Returns the file's path, if the input is a file.
    pub(super) fn file(&self) -> Option<&Path> {
        (!input::is_stdin(&self.path) && self.workload().is_none()).then_some(&*self.path)
    }

    /// Returns the default path of the page: beside the file, with the extension `.html`.
    pub(super) fn page_path(&self) -> PathBuf {
        if let Some(name) = self.workload() {
            // Windows has no file names with colons.
            return PathBuf::from(name.replace(':', "-") + ".html");
        }
        match self.file() {
            None => PathBuf::from("report.html"),
            Some(path) if path.extension().is_some_and(|extension| extension == "gz") => {
                path.with_extension("").with_extension("html")
            }
            Some(path) => path.with_extension("html"),
        }
    }

    /// Opens the input and recognizes what it contains.
    pub(super) fn open(&self) -> io::Result<Content> {
        if self.workload().is_some() {
            return Ok(Content::Workload);
        }
        let mut bytes = input::open(&self.path)?;
        let mut prefix = Vec::new();
        bytes.by_ref().take(PREFIX_LEN).read_to_end(&mut prefix)?;
        let is_session = is_session(&prefix);
        let bytes = Box::new(Cursor::new(prefix).chain(bytes));
        Ok(if is_session { Content::Session(bytes) } else { Content::AllocatorReport(bytes) })
    }
}

/// Returns whether a file with this beginning is a trace, a capture or a session.
fn is_session(prefix: &[u8]) -> bool {
    let text = prefix.strip_prefix(b"\xef\xbb\xbf").unwrap_or(prefix).trim_ascii_start();
    let is_compressed = prefix.starts_with(b"\x1f\x8b");
    let is_binary = prefix.starts_with(b"\x89HWS");
    let is_csv = text.starts_with(b"time_us");
    let is_capture = match text {
        [b'[', ..] => true,
        // Of the two kinds of objects, only captures have such a list.
        [b'{', ..] => memchr::memmem::find(text, b"\"traceEvents\"").is_some(),
        _ => false,
    };
    is_compressed || is_binary || is_csv || is_capture
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_recognized_by_their_beginning() {
        for (prefix, expected) in [
            (&b"time_us,event,id,size_bytes\n"[..], true),
            (b"\xef\xbb\xbftime_us,event", true),
            (b"\x1f\x8b\x08", true),
            (b"\x89HWS\r\n\x1a\n", true),
            (b" \n[", true),
            (b"{\"displayTimeUnit\":\"ms\", \"traceEvents\": [", true),
            (b"{\"schema\":\"heapwright.report\"", false),
            (b"", false),
            (b"no report", false),
        ] {
            assert_eq!(is_session(prefix), expected, "{}", prefix.escape_ascii());
        }
    }

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
            assert_eq!(Source::new(Path::new(path)).page_path(), Path::new(page), "{path}");
        }
    }
}
