//! Where a workload comes from: a scenario, a trace, a session or a generator.

use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};

use heapwright_core::ByteSize;
use heapwright_simulation::{
    CannotDerive, GeneratedTrace, GeneratedWorkload, Scenario, Workload, built_in, expand, from_session,
    from_trace,
};
use heapwright_trace::session::{Action, Record};
use heapwright_trace::{Format, RecordReader, Trace, TraceError};

use crate::exit::Failed;
use crate::input;
use crate::output_file::check_recording;

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
    Generated(GeneratedWorkload),
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
    pub(super) fn find(path: &Path) -> Result<Vec<Self>, Failed> {
        match path.to_str() {
            Some(name) if GeneratedWorkload::is_name(name) => {
                Ok(GeneratedWorkload::named(name)?.into_iter().map(Self::Generated).collect())
            }
            Some(name) if GeneratedTrace::is_name(name) => {
                let generated = GeneratedTrace::named(name)?.into_iter();
                Ok(generated.map(|one| Self::Trace(one.generate())).collect())
            }
            _ => Self::find_one(path).map(|source| vec![source]),
        }
    }

    fn find_one(path: &Path) -> Result<Self, Failed> {
        if let Some(name) = path.to_str() {
            if let Some(scenario) = built_in::find(name) {
                return Ok(Self::Scenario(scenario));
            }
            if let Some((name, bytes)) = TRACES.iter().find(|(known, _)| *known == name) {
                return Ok(Self::Trace(Trace::from_reader(format!("{name}.csv.gz"), *bytes)?));
            }
            if !path.exists() && !input::is_stdin(path) && !name.contains(['.', '/', '\\']) {
                let names = built_in::names().chain(built_in::controls());
                let names: Vec<&str> = names.chain(TRACES.iter().map(|(name, _)| *name)).collect();
                return Err(Failed::bad_input(format_args!(
                    "unknown scenario or file {name:?}; available: {}, generated workloads (generated:SHAPE:SEED, \
                     workload:SHAPE:SEED), scenario files (.toml), sessions (.hws), captures of GPGMM (.json) and CSV traces, \
                     plain or gzip",
                    names.join(", ")
                )));
            }
        }
        if path.extension().is_some_and(|extension| extension == "toml") {
            return Self::parse(path, &input::read_text(path)?);
        }
        if input::is_stream(path) {
            return Self::from_stream(path);
        }
        let source = Self::with_trace(
            Trace::from_reader(path, input::open(path)?)?,
            Recorded { path: path.to_owned(), copy: None },
        )?;
        if matches!(source, Self::Trace(_)) {
            // Its heaps are those of an allocator.
            check_recording(path)?;
        }
        Ok(source)
    }

    /// A scenario, unless it begins like a trace, a capture or a session.
    fn from_stream(path: &Path) -> Result<Self, Failed> {
        let opened = input::prefix(input::open(path)?);
        let path = input::name(path);
        let (first, rest) = opened.map_err(|error| input::cannot_read(path, &error))?;
        if !input::is_trace(&first) {
            return Self::parse(path, &input::rest_as_text(path, first, rest)?);
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

    fn parse(path: &Path, text: &str) -> Result<Self, Failed> {
        let scenario = Scenario::parse(&path.display().to_string(), text);
        scenario.map(Self::Scenario).map_err(Failed::bad_input)
    }

    /// A session, or its trace. A capture or session without submissions is a trace like any other.
    fn with_trace(trace: Trace, file: Recorded) -> Result<Self, Failed> {
        if trace.format() != Format::Csv && file.records()?.any(|record| has_heaps(&record)) {
            return Ok(Self::Session(file));
        }
        Ok(Self::Trace(trace))
    }

    pub(super) fn workload(&self) -> Result<Workload, Failed> {
        match self {
            Self::Scenario(scenario) => expand(scenario).map_err(Failed::bad_input),
            Self::Trace(trace) => from_trace(trace).map_err(|error| match error {
                CannotDerive::Open { .. } => Failed::failure(error),
                _ => Failed::bad_input(error),
            }),
            Self::Session(file) => {
                let path = &file.path;
                let name = path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy();
                from_session(&name, path.clone(), file.records()?).map_err(Failed::bad_input)
            }
            Self::Generated(generated) => Ok(generated.workload()),
        }
    }
}

impl Recorded {
    fn records(&self) -> Result<RecordReader<Box<dyn Read + '_>>, Failed> {
        let bytes: Box<dyn Read> = match &self.copy {
            Some(bytes) => Box::new(Cursor::new(bytes)),
            None => input::open(&self.path)?,
        };
        Ok(RecordReader::new(&self.path, bytes)?)
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

/// Returns whether a record is a submission's residency set that is not empty.
fn has_heaps(record: &Result<Record, TraceError>) -> bool {
    matches!(record, Ok(Record { action: Action::DefineSet { heaps, .. }, .. }) if !heaps.is_empty())
}
