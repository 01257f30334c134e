//! Where a workload comes from: a file of records, or a generator.

use std::path::{Path, PathBuf};

use heapwright_simulation::{CannotDerive, GeneratedTrace, GeneratedWorkload, Workload, from_records};

use crate::exit::Failed;
use crate::input;
use crate::output_file::check_recording;

/// Where a workload comes from.
#[derive(Debug)]
pub(super) enum Source {
    Generated(GeneratedWorkload),
    /// A trace, capture or session, in a file, on standard input, or generated.
    Records(PathBuf),
}

impl Source {
    /// Returns the workloads that a path names, of which some names have several.
    pub(super) fn find(path: &Path) -> Result<Vec<Self>, Failed> {
        match path.to_str() {
            Some(name) if GeneratedWorkload::is_name(name) => {
                Ok(GeneratedWorkload::named(name)?.into_iter().map(Self::Generated).collect())
            }
            Some(name) if GeneratedTrace::is_name(name) => {
                let generated = GeneratedTrace::named(name)?.into_iter();
                Ok(generated.map(|one| Self::Records(one.to_string().into())).collect())
            }
            _ => Ok(vec![Self::Records(path.to_owned())]),
        }
    }

    pub(super) fn workload(&self) -> Result<Workload, Failed> {
        match self {
            Self::Generated(generated) => Ok(generated.workload()),
            Self::Records(path) => {
                // The heaps of a trace are those of an allocator.
                check_recording(path)?;
                from_records(input::records(path)?).map_err(|error| match error {
                    CannotDerive::Open { .. } => Failed::failure(error),
                    _ => Failed::bad_input(error),
                })
            }
        }
    }
}
