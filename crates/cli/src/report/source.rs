//! The input of `heapwright report`, recognized by its content.

use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};

use heapwright_trace::Workload;

use crate::exit::Exit;
use crate::input;
use crate::output_file::{OutputFile, OutputFileError};

/// The element by which a page is recognized.
const GENERATOR: &[u8] = b"<meta name=\"generator\" content=\"heapwright\">";

/// A file, standard input, or a generated workload.
#[derive(Debug)]
pub(super) struct Source {
    path: PathBuf,
}

/// The kind of data in an input.
pub(super) enum Content {
    /// An allocator's report, or something unknown.
    AllocatorReport(Box<dyn Read>),
    /// A trace, a capture or a session.
    Session(Box<dyn Read>),
    /// The name of a generated workload.
    Workload,
}

impl Source {
    pub(super) fn new(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    /// Returns the path, or "standard input".
    pub(super) fn name(&self) -> String {
        input::name(&self.path).display().to_string()
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the name of the generated workload, if the input is one.
    pub(super) fn workload(&self) -> Option<&str> {
        self.path.to_str().filter(|name| Workload::is_name(name))
    }

    /// Returns the path of the file or standard input, which is not to be overwritten.
    pub(super) fn input(&self) -> Option<&Path> {
        self.workload().is_none().then_some(&*self.path)
    }

    /// Returns the default path of the page: beside the file, with the extension `.html`.
    pub(super) fn page_path(&self) -> PathBuf {
        if let Some(name) = self.workload() {
            // Windows has no file names with colons.
            return PathBuf::from(name.replace(':', "-") + ".html");
        }
        match &self.path {
            path if input::is_stream(path) => PathBuf::from("report.html"),
            path if path.extension().is_some_and(|extension| extension == "gz") => {
                path.with_extension("").with_extension("html")
            }
            path => path.with_extension("html"),
        }
    }

    /// Opens the page at a path, or at the default one, where only a page is replaced.
    pub(super) fn open_page(&self, path: Option<&Path>) -> Result<OutputFile, CannotOpenPage> {
        let is_default = path.is_none();
        let path = path.map_or_else(|| self.page_path(), Path::to_owned);
        let page = OutputFile::open("page", &path, self.input()).map_err(|error| match error {
            OutputFileError::IsInput { .. } => CannotOpenPage::IsInput(error),
            _ => CannotOpenPage::Open(error),
        })?;
        // A file that cannot be read is not a page.
        if is_default && path.is_file() && !is_page(&path).unwrap_or(false) {
            return Err(CannotOpenPage::IsOther { path });
        }
        Ok(page)
    }

    /// Opens the input and recognizes what it contains.
    pub(super) fn open(&self) -> io::Result<Content> {
        if self.workload().is_some() {
            return Ok(Content::Workload);
        }
        let (prefix, rest) = input::prefix(input::open(&self.path)?)?;
        let is_trace = input::is_trace(&prefix);
        let bytes = Box::new(Cursor::new(prefix).chain(rest));
        Ok(if is_trace { Content::Session(bytes) } else { Content::AllocatorReport(bytes) })
    }
}

/// Returns whether a file is a page of heapwright, or empty.
fn is_page(path: &Path) -> io::Result<bool> {
    let (beginning, _) = input::prefix(input::open(path)?)?;
    Ok(beginning.is_empty() || memchr::memmem::find(&beginning, GENERATOR).is_some())
}

/// Error that prevents the page from being opened.
#[derive(Debug, thiserror::Error)]
pub(super) enum CannotOpenPage {
    #[error("{path}: is not a page of heapwright and is not replaced; choose a path with -o", path = .path.display())]
    IsOther { path: PathBuf },
    #[error("{0}; choose another path with -o")]
    IsInput(OutputFileError),
    #[error(transparent)]
    Open(OutputFileError),
}

impl CannotOpenPage {
    pub(super) fn exit(&self) -> Exit {
        match self {
            Self::IsOther { .. } => Exit::BadInput,
            Self::IsInput(error) | Self::Open(error) => error.exit(),
        }
    }
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
            assert_eq!(Source::new(Path::new(path)).page_path(), Path::new(page), "{path}");
        }
    }
}
