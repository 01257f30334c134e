//! Output files that are opened before a command's work and written after it, and the recording of the environment.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::{env, process};

use same_file::Handle;

use crate::exit::Failed;
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

impl OutputFile {
    /// Opens or creates the file at `path`, which must not be one of the `inputs`.
    pub(crate) fn open<'a>(
        what: &'static str,
        path: &Path,
        inputs: impl IntoIterator<Item = &'a Path>,
    ) -> Result<Self, Failed> {
        if input::is_stdin(path) {
            return Err(Failed::bad_input(format_args!(
                "the {what} is written to a file, not to standard output (-); a file of this name is ./-"
            )));
        }
        let shown = path.display();
        if inputs.into_iter().any(|input| is_input(input, path)) {
            return Err(Failed::bad_input(format_args!("{shown}: the {what} would overwrite an input file")));
        }
        // Systems report a directory with different errors, some of them only on writing.
        let is_file = || if path.is_dir() { Err(io::ErrorKind::IsADirectory.into()) } else { Ok(()) };
        let existed = path.exists();
        let opened =
            is_file().and_then(|()| OpenOptions::new().write(true).create(true).truncate(false).open(path));
        let file = opened.map_err(|error| {
            let reason = input::reason(&error, "no such directory");
            Failed::bad_input(format_args!("{shown}: cannot open the {what} for writing: {reason}"))
        })?;
        let created = if existed { None } else { path.canonicalize().ok() };
        Ok(Self { what, path: path.to_owned(), file: Some(file), created })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Replaces the file's content with what `content` writes.
    pub(crate) fn write(
        mut self,
        content: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
    ) -> Result<(), Failed> {
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
        let (path, what) = (self.path.display(), self.what);
        written().map_err(|error| Failed::failure(format_args!("{path}: cannot write the {what}: {error}")))
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

/// Checks that the recording that the environment requests of every program that uses the library can be made, see
/// `heapwright::recording`, and replaces no file that this program reads.
pub(crate) fn check_recording(input: &Path) -> Result<(), Failed> {
    let Some(recorded) = env::var_os("HEAPWRIGHT_RECORD").filter(|path| !path.is_empty()) else {
        return Ok(());
    };
    let recorded = match recorded.to_str() {
        Some(text) => text.replace("%p", &process::id().to_string()).into(),
        None => PathBuf::from(recorded),
    };
    if is_input(input, &recorded) {
        return Err(Failed::bad_input(format_args!(
            "HEAPWRIGHT_RECORD={}: the recording would overwrite an input file",
            recorded.display()
        )));
    }
    heapwright::recording::check_environment().map_err(Failed::bad_input)
}
