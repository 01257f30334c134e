//! The recording that the environment requests of every program that uses the library, see `heapwright::recording`.

use std::path::{Path, PathBuf};
use std::{env, process};

use crate::output_file::is_input;

/// The requested recording cannot be made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RecordingError {
    #[error("HEAPWRIGHT_RECORD={path}: the recording would overwrite an input file", path = .0.display())]
    OverInput(PathBuf),
    #[error(transparent)]
    Refused(#[from] heapwright::Error),
}

/// Checks that the recording of the program's own allocators can be made, and replaces no file that the program reads.
pub(crate) fn check_input(input: &Path) -> Result<(), RecordingError> {
    let Some(recorded) = env::var_os("HEAPWRIGHT_RECORD").filter(|path| !path.is_empty()) else {
        return Ok(());
    };
    let recorded = match recorded.to_str() {
        Some(text) => text.replace("%p", &process::id().to_string()).into(),
        None => PathBuf::from(recorded),
    };
    if is_input(input, &recorded) {
        return Err(RecordingError::OverInput(recorded));
    }
    Ok(heapwright::recording::check_environment()?)
}
