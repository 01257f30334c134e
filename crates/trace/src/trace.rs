//! Traces in memory.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use heapwright_core::ByteSize;

use crate::csv::{self, HEADER, ZERO_SIZE};
use crate::error::{Fault, Location, Position, TraceError};
use crate::event::{AllocationIndex, Event, EventKind};
use crate::ids::IdNames;
use crate::records::{Format, RecordReader};
use crate::rules::{Rules, too_many_events};
use crate::session::{self, Record};

/// A complete trace in memory, whose events have been checked.
#[derive(Clone, Debug)]
pub struct Trace {
    name: String,
    path: PathBuf,
    events: Vec<Event>,
    id_names: IdNames,
    allocation_count: usize,
    peak_live: ByteSize,
    format: Format,
    truncated_at: Option<u64>,
}

impl Trace {
    /// Maximum length of a line without its end, in bytes. Three 64-bit numbers and an event need 67; other columns are
    /// skipped.
    pub const MAX_LINE_LEN: usize = csv::MAX_LINE_LEN;

    /// Maximum number of events: 2^22, or 4,194,304, which is 26 times the longest recorded trace.
    ///
    /// The limit bounds the memory for malicious gzip files to less than 300 MB.
    pub const MAX_EVENTS: u32 = session::MAX_EVENTS;

    /// Maximum number of live allocations at any time: 2^20, or 1,048,576. A replay needs a resource for each.
    pub const MAX_LIVE: u32 = session::MAX_LIVE;

    /// Reads and checks a file in any [`Format`], plain or gzip.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read or violates the [format](crate#format).
    pub fn read(path: impl AsRef<Path>) -> Result<Self, TraceError> {
        let path = path.as_ref();
        // Systems report a directory with different errors.
        let opened = if path.is_dir() { Err(io::ErrorKind::IsADirectory.into()) } else { File::open(path) };
        let file = opened.map_err(|error| TraceError::at(path, Position::Byte(0), Fault::Io(error)))?;
        Self::from_reader(path, file)
    }

    /// Reads and checks `input` in any [`Format`], plain or gzip. `path` is used for the name and in error messages.
    ///
    /// # Errors
    ///
    /// Returns an error if `input` cannot be read or violates the [format](crate#format). It is not read beyond the
    /// first violation.
    pub fn from_reader(path: impl AsRef<Path>, input: impl Read) -> Result<Self, TraceError> {
        Self::from_records(RecordReader::new(path, input)?, |_, _| ())
    }

    /// Reads the records that a reader has not returned yet, and calls `note` with each of them and the number of
    /// events before it.
    ///
    /// # Errors
    ///
    /// As [`from_reader`](Self::from_reader).
    pub fn from_records(
        mut reader: RecordReader<impl Read>,
        mut note: impl FnMut(usize, Record),
    ) -> Result<Self, TraceError> {
        let mut events = Vec::new();
        while let Some((record, event)) = reader.next_checked()? {
            note(events.len(), record);
            events.extend(event);
        }
        let (format, truncated_at) = (reader.format(), reader.truncated_at());
        Ok(Self { truncated_at, ..Self::new(&reader.path, events, format, reader.rules) })
    }

    /// Creates a trace from allocations and frees: the time in microseconds, the kind, the id and the size of each.
    ///
    /// # Errors
    ///
    /// Returns an error if they violate the [format](crate#format), with the line that the event would have.
    pub fn from_events(
        path: impl AsRef<Path>,
        events: impl IntoIterator<Item = (u64, EventKind, u64, ByteSize)>,
    ) -> Result<Self, TraceError> {
        let path = path.as_ref();
        let mut rules = Rules::new(Position::Line);
        let mut checked = Vec::new();
        for (line, (time_us, kind, id, size)) in (2..).zip(events) {
            let event = match kind {
                _ if size.is_zero() => Err(ZERO_SIZE.into()),
                _ if line - 2 == Self::MAX_EVENTS => Err(too_many_events()),
                EventKind::Alloc => rules.allocate(line, time_us, id, size.get()),
                EventKind::Free => rules.free(line, time_us, id, Some(size.get())),
            };
            let position = Position::Line(line.into());
            checked.push(event.map_err(|fault| TraceError::at(path, position, fault))?);
        }
        Ok(Self::new(path, checked, Format::Csv, rules))
    }

    fn new(path: &Path, events: Vec<Event>, format: Format, rules: Rules) -> Self {
        Self {
            name: name_of(path),
            path: path.to_owned(),
            events,
            allocation_count: rules.allocation_count(),
            peak_live: rules.peak_live(),
            format,
            truncated_at: None,
            id_names: rules.into_id_names(),
        }
    }

    /// Writes the trace as CSV, in the [format](crate#format) that is read.
    ///
    /// # Errors
    ///
    /// Returns the errors of `output`.
    pub fn write(&self, mut output: impl Write) -> io::Result<()> {
        writeln!(output, "{HEADER}")?;
        for event in &self.events {
            let &Event { time_us, size, allocation, kind } = event;
            let kind = match kind {
                EventKind::Alloc => "alloc",
                EventKind::Free => "free",
            };
            writeln!(output, "{time_us},{kind},{},{}", self.id(allocation), size.get())?;
        }
        output.flush()
    }

    /// Returns the file's name without directories and without `.csv`, `.json`, `.hws`, `.pickle` or `.pkl`, and
    /// without `.gz` after it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the path that the caller passed.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the events in order.
    #[must_use]
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// Returns the number of allocations. Each [`AllocationIndex`] in the events is less.
    #[must_use]
    pub fn allocation_count(&self) -> usize {
        self.allocation_count
    }

    /// Returns the maximum of the live bytes, with the requested sizes.
    #[must_use]
    pub fn peak_live(&self) -> ByteSize {
        self.peak_live
    }

    /// Returns the id of an allocation in the file.
    ///
    /// # Panics
    ///
    /// Panics if `allocation` is out of range.
    #[must_use]
    pub fn id(&self, allocation: AllocationIndex) -> u64 {
        self.id_names.id(allocation)
    }

    /// Returns the format of the file.
    #[must_use]
    pub fn format(&self) -> Format {
        self.format
    }

    /// Returns the offset of the first incomplete block of a session that a crash has truncated. See
    /// [`RecordReader::truncated_at`](crate::RecordReader::truncated_at).
    #[must_use]
    pub fn truncated_at(&self) -> Option<u64> {
        self.truncated_at
    }

    /// Returns the position of an event: its line in a CSV file, its number among the events of other files.
    /// `event_index` is an index into [`events`](Self::events).
    #[must_use]
    pub fn position(&self, event_index: usize) -> Position {
        match self.format {
            // The header is line 1, and every other line is an event.
            Format::Csv => Position::Line(event_index as u64 + 2),
            Format::Capture | Format::Session | Format::Snapshot => Position::Event(event_index as u64 + 1),
        }
    }

    /// Returns the file and position of an event. `event_index` is an index into [`events`](Self::events).
    #[must_use]
    pub fn location(&self, event_index: usize) -> Location<'_> {
        Location { path: &self.path, position: Some(self.position(event_index)) }
    }
}

fn name_of(path: &Path) -> String {
    let file_name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    let stem = file_name.strip_suffix(".gz").unwrap_or(&file_name);
    let extensions = [".csv", ".json", ".hws", ".pickle", ".pkl"];
    let stem = extensions.iter().find_map(|extension| stem.strip_suffix(extension)).unwrap_or(&file_name);
    if stem.is_empty() { file_name.into_owned() } else { stem.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_has_no_directory_and_extension() {
        for (path, name) in [
            ("a/b/vision_serving.csv.gz", "vision_serving"),
            ("x.csv", "x"),
            ("x.json.gz", "x"),
            ("x.hws", "x"),
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
    fn totals_ids_and_lines() {
        let csv = "time_us,event,id,size_bytes\r\n0,alloc,70,100\r\n1,alloc,9,50\r\n2,free,70,100\r\n3,alloc,80,70\r\n";
        let trace = Trace::from_reader("dir/t.csv", csv.as_bytes()).unwrap();
        assert_eq!(trace.name(), "t");
        assert_eq!(trace.path(), Path::new("dir/t.csv"));
        assert_eq!(trace.allocation_count(), 3);
        assert_eq!(trace.peak_live().get(), 150);
        let ids: Vec<u64> = trace.events().iter().map(|event| trace.id(event.allocation)).collect();
        assert_eq!(ids, [70, 9, 70, 80]);
        assert_eq!(trace.position(trace.events().len() - 1), Position::Line(5));
        assert_eq!(trace.location(0).to_string(), "dir/t.csv:2");
    }
}
