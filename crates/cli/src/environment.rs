//! The recording that the environment requests of every program that uses the library, see `heapwright::recording`.

use std::path::{Path, PathBuf};
use std::{env, process};

use crate::output_file::is_input;

/// The recording would replace an input of the command.
#[derive(Debug, thiserror::Error)]
#[error("HEAPWRIGHT_RECORD={path}: the recording would overwrite an input file", path = .0.display())]
pub(crate) struct RecordsOverInput(PathBuf);

/// Checks that the program's own allocators do not record to a file that it reads. Their creation replaces the file.
pub(crate) fn check_input(input: &Path) -> Result<(), RecordsOverInput> {
    let Some(recorded) = env::var_os("HEAPWRIGHT_RECORD").filter(|path| !path.is_empty()) else {
        return Ok(());
    };
    let recorded = match recorded.to_str() {
        Some(text) => text.replace("%p", &process::id().to_string()).into(),
        None => PathBuf::from(recorded),
    };
    if is_input(input, &recorded) { Err(RecordsOverInput(recorded)) } else { Ok(()) }
}
