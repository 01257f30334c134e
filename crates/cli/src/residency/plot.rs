//! Figures as SVG.

use std::path::{Path, PathBuf};

use super::report::ResidencyReport;
use crate::exit::Exit;

#[derive(Debug, thiserror::Error)]
#[error("{path}: {reason}", path = .path.display())]
pub(super) struct CannotPlot {
    path: PathBuf,
    reason: String,
}

impl CannotPlot {
    pub(super) fn exit(&self) -> Exit {
        Exit::BadInput
    }
}

pub(super) fn write(_path: &Path, _reports: &[ResidencyReport]) -> Result<(), CannotPlot> {
    Ok(())
}
