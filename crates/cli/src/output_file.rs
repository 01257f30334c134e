//! An output file that is opened before a command's work and written after it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use same_file::Handle;

use crate::exit::Exit;
use crate::input;

/// A file that is open for writing. Its content is unchanged until [`write`](Self::write).
#[derive(Debug)]
pub(crate) struct OutputFile {
    what: &'static str,
    path: PathBuf,
    file: Option<File>,
    /// The file that opening has created, without links on its path.
    created: Option<PathBuf>,
}

/// Error of opening or writing an output file. `what` is its kind, such as "page" or "trace".
#[derive(Debug, thiserror::Error)]
pub(crate) enum OutputFileError {
    #[error("{path}: the {what} would overwrite an input file", path = .path.display())]
    IsInput { what: &'static str, path: PathBuf },
    #[error("{path}: the {what} would overwrite the {other}", path = .path.display())]
    IsOutput { what: &'static str, path: PathBuf, other: &'static str },
    #[error("the {what} is written to a file, not to standard output (-); a file of this name is ./-")]
    Stdout { what: &'static str },
    #[error("{path}: cannot open the {what} for writing: {reason}", path = .path.display())]
    Open { what: &'static str, path: PathBuf, reason: String },
    #[error("{path}: cannot write the {what}: {error}", path = .path.display())]
    Write { what: &'static str, path: PathBuf, error: io::Error },
}

impl OutputFileError {
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::IsInput { .. } | Self::IsOutput { .. } | Self::Stdout { .. } | Self::Open { .. } => {
                Exit::BadInput
            }
            Self::Write { .. } => Exit::Failure,
        }
    }
}

impl OutputFile {
    /// Opens or creates the file at `path`, which must not be one of the `inputs`.
    pub(crate) fn open<'a>(
        what: &'static str,
        path: &Path,
        inputs: impl IntoIterator<Item = &'a Path>,
    ) -> Result<Self, OutputFileError> {
        if input::is_stdin(path) {
            return Err(OutputFileError::Stdout { what });
        }
        if inputs.into_iter().any(|input| is_input(input, path)) {
            return Err(OutputFileError::IsInput { what, path: path.to_owned() });
        }
        // Systems report a directory with different errors, some of them only on writing.
        let is_file = || if path.is_dir() { Err(io::ErrorKind::IsADirectory.into()) } else { Ok(()) };
        let existed = path.exists();
        let opened =
            is_file().and_then(|()| OpenOptions::new().write(true).create(true).truncate(false).open(path));
        let file = opened.map_err(|error| OutputFileError::Open {
            what,
            path: path.to_owned(),
            reason: input::reason(&error, "no such directory"),
        })?;
        let created = if existed { None } else { path.canonicalize().ok() };
        Ok(Self { what, path: path.to_owned(), file: Some(file), created })
    }

    /// Opens the files of a command, as [`open`](Self::open) does. They must differ from each other, unless they are devices.
    pub(crate) fn open_all<const COUNT: usize>(
        files: [(&'static str, Option<&Path>); COUNT],
        input: Option<&Path>,
    ) -> Result<[Option<Self>; COUNT], OutputFileError> {
        let mut opened = [const { None }; COUNT];
        for (number, (what, path)) in files.into_iter().enumerate() {
            let Some(path) = path else { continue };
            let file = Self::open(what, path, input)?;
            let mut others = opened.iter().flatten();
            if let Some(Self { what: other, .. }) =
                others.find(|other: &&Self| path.is_file() && is_same_file(&other.path, path))
            {
                return Err(OutputFileError::IsOutput { what, path: path.to_owned(), other });
            }
            opened[number] = Some(file);
        }
        Ok(opened)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Replaces the file's content with what `content` writes.
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

/// Removes the file if it was created and never written.
impl Drop for OutputFile {
    fn drop(&mut self) {
        if self.file.take().is_some()
            && let Some(created) = &self.created
        {
            // If the removal fails, an empty file remains.
            let _ = fs::remove_file(created);
        }
    }
}

/// Returns whether a path leads to an input, which may be a file on standard input.
pub(crate) fn is_input(input: &Path, path: &Path) -> bool {
    if !input::is_stdin(input) {
        return is_same_file(input, path);
    }
    let handles = || Ok::<_, io::Error>([Handle::stdin()?, Handle::from_path(path)?]);
    path.is_file() && handles().is_ok_and(|[stdin, file]| stdin == file)
}

/// Returns whether two paths lead to the same file, also through links.
fn is_same_file(left: &Path, right: &Path) -> bool {
    let is_same_path =
        || matches!((left.canonicalize(), right.canonicalize()), (Ok(left), Ok(right)) if left == right);
    // Hard links have different paths. Finding them opens both files, which a pipe's writer would notice.
    let is_hard_link = || {
        left.is_file() && right.is_file() && same_file::is_same_file(left, right).is_ok_and(|is_same| is_same)
    };
    left == right || is_same_path() || is_hard_link()
}
