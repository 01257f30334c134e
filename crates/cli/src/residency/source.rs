//! Where a workload comes from: a scenario, a trace, a session or a generator.

use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};

use heapwright_simulation::{Generated, Scenario, Workload, built_in, expand, from_session, from_trace};
use heapwright_trace::session::{Action, Record};
use heapwright_trace::{Format, RecordReader, Trace, TraceError};

use super::ResidencyError;
use crate::{environment, input};

/// The recorded traces of the repository.
pub(super) const TRACES: [(&str, &[u8]); 2] = [
    ("vision_serving", include_bytes!("../../traces/vision_serving.csv.gz")),
    ("unet_diffusion", include_bytes!("../../traces/unet_diffusion.csv.gz")),
];

/// Where a workload comes from.
#[derive(Debug)]
pub(super) enum Source {
    Scenario(Scenario),
    Trace(Trace),
    /// A session with submissions.
    Session(Recorded),
    Generated(Generated),
}

/// A file of records, or standard input, which has been read to its end since it is read more than once.
#[derive(Debug)]
pub(super) struct Recorded {
    path: PathBuf,
    stdin: Option<Vec<u8>>,
}

impl Source {
    /// Generated workloads, a scenario or trace that comes with the program, or else a file.
    pub(super) fn find(path: &Path) -> Result<Vec<Self>, ResidencyError> {
        match path.to_str() {
            Some(name) if Generated::is_name(name) => {
                Ok(Generated::named(name)?.into_iter().map(Self::Generated).collect())
            }
            _ => Self::find_one(path).map(|source| vec![source]),
        }
    }

    fn find_one(path: &Path) -> Result<Self, ResidencyError> {
        if let Some(name) = path.to_str() {
            if let Some(scenario) = built_in::find(name) {
                return Ok(Self::Scenario(scenario));
            }
            if let Some((name, bytes)) = TRACES.iter().find(|(known, _)| *known == name) {
                return Ok(Self::Trace(Trace::from_reader(format!("{name}.csv.gz"), *bytes)?));
            }
            if !path.exists() && !input::is_stdin(path) && !name.contains(['.', '/', '\\']) {
                return Err(ResidencyError::Unknown { name: name.to_owned() });
            }
        }
        if input::is_stdin(path) {
            return Self::from_stdin();
        }
        if path.extension().is_some_and(|extension| extension == "toml") {
            return Self::parse(path, &input::read(path).map_err(|error| cannot_read(path, &error))?);
        }
        let source = Self::recorded(Recorded { path: path.to_owned(), stdin: None })?;
        if matches!(source, Self::Trace(_)) {
            // Its heaps are those of an allocator.
            environment::check_input(path)?;
        }
        Ok(source)
    }

    /// A scenario, unless it begins like a trace, a capture or a session.
    fn from_stdin() -> Result<Self, ResidencyError> {
        let path = Path::new(input::STDIN_NAME);
        let (first, mut rest) = input::prefix(std::io::stdin()).map_err(|error| cannot_read(path, &error))?;
        if !input::is_trace(&first) {
            let bytes = input::read_rest(first, rest).map_err(|error| cannot_read(path, &error))?;
            return Self::parse(path, &bytes);
        }
        let mut bytes = first;
        rest.read_to_end(&mut bytes).map_err(|error| cannot_read(path, &error))?;
        Self::recorded(Recorded { path: path.to_owned(), stdin: Some(bytes) })
    }

    fn parse(path: &Path, bytes: &[u8]) -> Result<Self, ResidencyError> {
        let text = input::text(bytes).ok_or_else(|| ResidencyError::Read {
            path: path.to_owned(),
            reason: "not valid UTF-8".to_owned(),
        })?;
        Ok(Self::Scenario(Scenario::parse(&path.display().to_string(), text)?))
    }

    /// A session, or a trace. A capture or session without submissions is a trace like any other.
    fn recorded(file: Recorded) -> Result<Self, ResidencyError> {
        let trace = Trace::from_reader(&file.path, file.open()?)?;
        if trace.format() != Format::Csv && file.records()?.any(|record| has_heaps(&record)) {
            return Ok(Self::Session(file));
        }
        Ok(Self::Trace(trace))
    }

    pub(super) fn workload(&self) -> Result<Workload, ResidencyError> {
        match self {
            Self::Scenario(scenario) => Ok(expand(scenario)?),
            Self::Trace(trace) => Ok(from_trace(trace)?),
            Self::Session(file) => {
                let path = &file.path;
                let name = path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy();
                Ok(from_session(&name, path.clone(), file.records()?)?)
            }
            Self::Generated(generated) => Ok(generated.workload()),
        }
    }
}

impl Recorded {
    fn open(&self) -> Result<Box<dyn Read + '_>, ResidencyError> {
        match &self.stdin {
            Some(bytes) => Ok(Box::new(Cursor::new(bytes))),
            None => input::open(&self.path).map_err(|error| cannot_read(&self.path, &error)),
        }
    }

    fn records(&self) -> Result<RecordReader<Box<dyn Read + '_>>, ResidencyError> {
        Ok(RecordReader::new(&self.path, self.open()?)?)
    }
}

fn cannot_read(path: &Path, error: &std::io::Error) -> ResidencyError {
    ResidencyError::Read { path: path.to_owned(), reason: input::reason(error, "no such file") }
}

/// Returns whether a record is a submission's residency set that is not empty.
fn has_heaps(record: &Result<Record, TraceError>) -> bool {
    matches!(record, Ok(Record { action: Action::DefineSet { heaps, .. }, .. }) if !heaps.is_empty())
}
