//! A file that a command writes at its end, and that is opened before its work.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use crate::exit::Exit;

/// A file that is open for writing. What is in it stays until [`write`](Self::write).
#[derive(Debug)]
pub(crate) struct OutputFile {
    what: &'static str,
    path: PathBuf,
    file: Option<File>,
    /// Whether it was there before.
    existed: bool,
}

/// Why an output file cannot be written. `what` is the page, the report or the plot.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OutputFileError {
    #[error("{path}: the {what} would take the place of what is read", path = .path.display())]
    IsInput { what: &'static str, path: PathBuf },
    #[error("{path}: the {what} cannot be written: {reason}", path = .path.display())]
    Open { what: &'static str, path: PathBuf, reason: String },
    #[error("{path}: the {what} could not be written: {error}", path = .path.display())]
    Write { what: &'static str, path: PathBuf, error: io::Error },
}

impl OutputFileError {
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::IsInput { .. } | Self::Open { .. } => Exit::BadInput,
            Self::Write { .. } => Exit::No,
        }
    }
}

impl OutputFile {
    /// Opens the file at `path`, which may be there already, and is none of the `inputs`.
    pub(crate) fn open<'a>(
        what: &'static str,
        path: &Path,
        inputs: impl IntoIterator<Item = &'a Path>,
    ) -> Result<Self, OutputFileError> {
        if inputs.into_iter().any(|input| is_same_file(input, path)) {
            return Err(OutputFileError::IsInput { what, path: path.to_owned() });
        }
        // Systems differ in what they say of a directory, and when.
        let is_file = || if path.is_dir() { Err(io::ErrorKind::IsADirectory.into()) } else { Ok(()) };
        let existed = path.exists();
        let opened =
            is_file().and_then(|()| OpenOptions::new().write(true).create(true).truncate(false).open(path));
        let file = opened.map_err(|error| OutputFileError::Open {
            what,
            path: path.to_owned(),
            reason: crate::input::reason(&error, "no such folder"),
        })?;
        Ok(Self { what, path: path.to_owned(), file: Some(file), existed })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Replaces what is in the file by what `content` writes.
    pub(crate) fn write(
        mut self,
        content: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
    ) -> Result<(), OutputFileError> {
        let Some(file) = self.file.take() else { return Ok(()) };
        let written = || {
            // A pipe or a device has no length.
            if file.metadata()?.is_file() {
                file.set_len(0)?;
            }
            let mut writer = BufWriter::new(file);
            content(&mut writer)?;
            writer.flush()
        };
        written().map_err(|error| OutputFileError::Write { what: self.what, path: self.path.clone(), error })
    }
}

/// A file that was made and is not written, as there was nothing to write, goes again.
impl Drop for OutputFile {
    fn drop(&mut self) {
        if self.file.take().is_some() && !self.existed {
            // If it stays, it is empty.
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn is_same_file(left: &Path, right: &Path) -> bool {
    left == right
        || matches!((left.canonicalize(), right.canonicalize()), (Ok(left), Ok(right)) if left == right)
}
