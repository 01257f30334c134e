//! A whole trace in memory.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use heapwright_core::ByteSize;

use crate::error::{TraceError, TraceErrorKind};
use crate::event::{AllocationIndex, Event};
use crate::ids::IdNames;
use crate::location::Location;
use crate::reader::TraceReader;

/// The events of a trace, all of them read and checked.
#[derive(Clone, Debug)]
pub struct Trace {
    name: String,
    path: PathBuf,
    events: Vec<Event>,
    id_names: IdNames,
    allocation_count: usize,
    peak_live: ByteSize,
}

impl Trace {
    /// The most bytes that a row may have, its line end not counted. Three 64-bit numbers and an event need 67.
    pub const MAX_LINE_LEN: usize = 256;

    /// The most events that a trace may have: 2^22, or 4,194,304, which is 26 times the longest recorded so far.
    ///
    /// A gzip file of some megabytes can hold any number of rows, so there must be a limit. Reading takes less than 300 MB for this many.
    pub const MAX_EVENTS: u32 = 1 << 22;

    /// The most allocations that may be live at once: 2^20, or 1,048,576. Whoever replays the trace holds a resource for each.
    pub const MAX_LIVE: u32 = 1 << 20;

    /// Reads and checks a file, plain or gzip.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or breaks a rule of the [format](crate#format).
    pub fn read(path: impl AsRef<Path>) -> Result<Self, TraceError> {
        let path = path.as_ref();
        // A directory can be opened on some systems and not on others; the message is the same.
        if path.is_dir() {
            return Err(TraceError::in_file(path, TraceErrorKind::Directory));
        }
        let file = File::open(path).map_err(|error| TraceError::in_file(path, TraceErrorKind::Io(error)))?;
        Self::from_reader(path, file)
    }

    /// Reads and checks `input`, plain or gzip; `path` gives the name and is for messages. `input` is read in pieces, and
    /// only as far as it keeps the rules.
    ///
    /// # Errors
    ///
    /// If `input` cannot be read, or breaks a rule of the [format](crate#format).
    pub fn from_reader(path: impl AsRef<Path>, input: impl Read) -> Result<Self, TraceError> {
        let path = path.as_ref();
        let mut reader = TraceReader::new(path, input)?;
        let events = reader.by_ref().collect::<Result<Vec<Event>, TraceError>>()?;
        Ok(Self {
            name: name_of(path),
            path: path.to_owned(),
            events,
            allocation_count: reader.allocation_count(),
            peak_live: reader.peak_live(),
            id_names: reader.into_id_names(),
        })
    }

    /// The file's name without folders and without `.csv` or `.csv.gz`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The file, as it was named by the caller.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What happened, in order.
    #[must_use]
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// How many allocations there are; each [`AllocationIndex`] in the events is less.
    #[must_use]
    pub fn allocation_count(&self) -> usize {
        self.allocation_count
    }

    /// The most bytes that were live at once, counted as the application asked for them.
    #[must_use]
    pub fn peak_live(&self) -> ByteSize {
        self.peak_live
    }

    /// The id that an allocation has in the file.
    ///
    /// # Panics
    ///
    /// If `allocation` is not of this trace.
    #[must_use]
    pub fn id(&self, allocation: AllocationIndex) -> u64 {
        self.id_names.id(allocation)
    }

    /// The line that an event is on, counted from 1; `event_index` counts [`events`](Self::events) from 0.
    #[must_use]
    pub fn line(&self, event_index: usize) -> u64 {
        // The header is line 1, and every other line is an event.
        event_index as u64 + 2
    }

    /// File and line of an event; `event_index` counts [`events`](Self::events) from 0.
    #[must_use]
    pub fn location(&self, event_index: usize) -> Location<'_> {
        Location { path: &self.path, line: Some(self.line(event_index)) }
    }
}

fn name_of(path: &Path) -> String {
    let file_name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    let stem = file_name.strip_suffix(".gz").unwrap_or(&file_name);
    let stem = stem.strip_suffix(".csv").unwrap_or(&file_name);
    if stem.is_empty() { file_name.into_owned() } else { stem.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_the_file_without_its_ending() {
        for (path, name) in [
            ("a/b/vision_serving.csv.gz", "vision_serving"),
            ("x.csv", "x"),
            ("x.y.csv", "x.y"),
            ("x.gz", "x.gz"),
            ("x", "x"),
            (".csv", ".csv"),
            ("a/..", "a/.."),
        ] {
            assert_eq!(name_of(Path::new(path)), name, "{path}");
        }
    }

    #[test]
    fn a_trace_knows_its_totals_ids_and_lines() {
        let csv = "time_us,event,id,size_bytes\r\n0,alloc,70,100\r\n1,alloc,9,50\r\n2,free,70,100\r\n3,alloc,80,70\r\n";
        let trace = Trace::from_reader("dir/t.csv", csv.as_bytes()).unwrap();
        assert_eq!(trace.name(), "t");
        assert_eq!(trace.path(), Path::new("dir/t.csv"));
        assert_eq!(trace.allocation_count(), 3);
        assert_eq!(trace.peak_live().get(), 150);
        let ids: Vec<u64> = trace.events().iter().map(|event| trace.id(event.allocation)).collect();
        assert_eq!(ids, [70, 9, 70, 80]);
        assert_eq!(trace.line(trace.events().len() - 1), 5);
        assert_eq!(trace.location(0).to_string(), "dir/t.csv:2");
    }
}
