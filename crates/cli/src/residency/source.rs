//! Where a workload comes from: a scenario, a trace, a session or a generator.

use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};

use heapwright_core::ByteSize;
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

/// A file of records, or a copy of what was read of a stream, since it is read more than once.
#[derive(Debug)]
pub(super) struct Recorded {
    path: PathBuf,
    copy: Option<Vec<u8>>,
}

/// Maximum size of a capture or session from a stream, in bytes.
const MAX_COPY_LEN: usize = 256 << 20;

/// An input that keeps a copy of what is read, at most [`MAX_COPY_LEN`] bytes.
struct Copied<R> {
    input: R,
    copy: Vec<u8>,
}

impl Source {
    /// Generated workloads, a scenario or trace that comes with the program, or else a file.
    pub(super) fn find(path: &Path) -> Result<Vec<Self>, ResidencyError> {
        match path.to_str() {
            Some(name) if Generated::is_name(name) => {
                Ok(Generated::named(name)?.into_iter().map(Self::Generated).collect())
            }
            Some(name) if heapwright_trace::Workload::is_name(name) => {
                let workloads = heapwright_trace::Workload::named(name)?.into_iter();
                Ok(workloads.map(|workload| Self::Trace(workload.generate())).collect())
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
        if path.extension().is_some_and(|extension| extension == "toml") {
            return Self::parse(path, &input::read(path).map_err(|error| cannot_read(path, &error))?);
        }
        if input::is_stream(path) {
            return Self::from_stream(path);
        }
        let file = Recorded { path: path.to_owned(), copy: None };
        let trace = Trace::from_reader(path, file.open()?)?;
        let source = Self::with_trace(trace, file)?;
        if matches!(source, Self::Trace(_)) {
            // Its heaps are those of an allocator.
            environment::check_input(path)?;
        }
        Ok(source)
    }

    /// A scenario, unless it begins like a trace, a capture or a session.
    fn from_stream(path: &Path) -> Result<Self, ResidencyError> {
        let opened = input::open(path).and_then(input::prefix);
        let path = input::name(path);
        let (first, rest) = opened.map_err(|error| cannot_read(path, &error))?;
        if !input::is_trace(&first) {
            let bytes = input::read_rest(first, rest).map_err(|error| cannot_read(path, &error))?;
            return Self::parse(path, &bytes);
        }
        let is_csv = input::is_csv(&first);
        let input = Cursor::new(first).chain(rest);
        if is_csv {
            return Ok(Self::Trace(Trace::from_reader(path, input)?));
        }
        let mut copied = Copied { input, copy: Vec::new() };
        let trace = Trace::from_reader(path, &mut copied)?;
        Self::with_trace(trace, Recorded { path: path.to_owned(), copy: Some(copied.copy) })
    }

    fn parse(path: &Path, bytes: &[u8]) -> Result<Self, ResidencyError> {
        let text = input::text(bytes).ok_or_else(|| ResidencyError::Read {
            path: path.to_owned(),
            reason: "not valid UTF-8".to_owned(),
        })?;
        Ok(Self::Scenario(Scenario::parse(&path.display().to_string(), text)?))
    }

    /// A session, or its trace. A capture or session without submissions is a trace like any other.
    fn with_trace(trace: Trace, file: Recorded) -> Result<Self, ResidencyError> {
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
        match &self.copy {
            Some(bytes) => Ok(Box::new(Cursor::new(bytes))),
            None => input::open(&self.path).map_err(|error| cannot_read(&self.path, &error)),
        }
    }

    fn records(&self) -> Result<RecordReader<Box<dyn Read + '_>>, ResidencyError> {
        Ok(RecordReader::new(&self.path, self.open()?)?)
    }
}

impl<R: Read> Read for Copied<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = self.input.read(buffer)?;
        if len > MAX_COPY_LEN - self.copy.len() {
            let limit = ByteSize::new(MAX_COPY_LEN as u64);
            return Err(io::Error::other(format!(
                "more than {limit}, the limit for a capture or session that is not a file"
            )));
        }
        self.copy.extend_from_slice(&buffer[..len]);
        Ok(len)
    }
}

fn cannot_read(path: &Path, error: &io::Error) -> ResidencyError {
    ResidencyError::Read { path: path.to_owned(), reason: input::reason(error, "no such file") }
}

/// Returns whether a record is a submission's residency set that is not empty.
fn has_heaps(record: &Result<Record, TraceError>) -> bool {
    matches!(record, Ok(Record { action: Action::DefineSet { heaps, .. }, .. }) if !heaps.is_empty())
}
