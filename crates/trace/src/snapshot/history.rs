//! Entries and segments of a snapshot.

use std::collections::HashMap;

use super::values::{Ref, Values};
use crate::error::Fault;

/// What a snapshot tells.
#[derive(Debug, Default)]
pub(super) struct History {
    /// Entries of each GPU, in order.
    pub(super) devices: Vec<Vec<Entry>>,
    /// Segments at the end.
    pub(super) segments: Vec<Segment>,
    /// Names of allocations.
    pub(super) names: Vec<Box<str>>,
}

/// An entry of a history.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) action: EntryAction,
    pub(super) address: u64,
    pub(super) size: u64,
    pub(super) time_us: u64,
    /// Index of the name and 1, or 0.
    pub(super) name: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryAction {
    Alloc,
    FreeRequested,
    FreeCompleted,
    SegmentAlloc,
    SegmentFree,
    /// A part of an expandable segment is mapped or unmapped.
    SegmentChange,
}

/// A segment at the end of the history.
#[derive(Debug)]
pub(super) struct Segment {
    pub(super) device: u64,
    pub(super) address: u64,
    pub(super) size: u64,
    pub(super) is_expandable: bool,
    /// Blocks that are in use.
    pub(super) blocks: Vec<Block>,
}

/// A block in use.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    pub(super) address: u64,
    pub(super) size: u64,
    pub(super) name: u32,
}

/// Maximum number of bytes of all names.
const MAX_NAME_BYTES: usize = 32 << 20;

/// Maximum number of characters of a function and of its file.
const MAX_NAME_CHARS: usize = 100;

/// Returns whether a frame tells where an allocation is from: a function of Python, and not one that is built in.
pub(super) fn is_shown(filename: &str) -> bool {
    filename.ends_with(".py")
}

impl History {
    /// Reads the history in a snapshot, or in a list of segments, which has none.
    pub(super) fn of(values: &Values, root: Ref) -> Result<Self, Fault> {
        let mut reader = Reader { values, history: Self::default(), names: HashMap::new(), name_bytes: 0 };
        let (segments, traces) = if values.is_dict(root) {
            (values.get(root, "segments"), values.get(root, "device_traces"))
        } else {
            (Some(root), None)
        };
        let segments = segments.and_then(|segments| values.as_list(segments));
        let traces = traces.and_then(|traces| values.as_list(traces));
        let is_segment = |segment: &Ref| values.get(*segment, "total_size").is_some();
        if traces.is_none()
            && !segments.is_some_and(|segments| segments.iter().all(is_segment) && !segments.is_empty())
        {
            return Err(Fault::File(NO_SNAPSHOT.to_owned()));
        }
        for (number, &segment) in segments.unwrap_or_default().iter().enumerate() {
            reader.segment(segment).map_err(|rule| format!("segments[{number}]: {rule}"))?;
        }
        for (device, &trace) in traces.unwrap_or_default().iter().enumerate() {
            let list = format!("device_traces[{device}]");
            let entries = values.as_list(trace).ok_or_else(|| format!("{list} is no list"))?;
            let mut read = Vec::new();
            for (number, &entry) in entries.iter().enumerate() {
                let entry =
                    reader.entry(entry, number as u64).map_err(|rule| format!("{list}[{number}]: {rule}"))?;
                read.extend(entry);
            }
            reader.history.devices.push(read);
        }
        Ok(reader.history)
    }
}

const NO_SNAPSHOT: &str =
    "is no memory snapshot of PyTorch, which has the keys \"segments\" and \"device_traces\"";

struct Reader<'a> {
    values: &'a Values,
    history: History,
    /// Indexes of the names and 1.
    names: HashMap<Box<str>, u32>,
    name_bytes: usize,
}

impl Reader<'_> {
    fn segment(&mut self, segment: Ref) -> Result<(), String> {
        let size = self.number(segment, "total_size")?;
        let address = self.number(segment, "address")?;
        let int = |of: Ref, key: &str| self.values.get(of, key).and_then(|value| self.values.as_int(value));
        let device = int(segment, "device").unwrap_or(0);
        let is_expandable =
            self.values.get(segment, "is_expandable").is_some_and(|value| self.values.is_true(value));
        let mut blocks = Vec::new();
        let list = self.values.get(segment, "blocks").and_then(|blocks| self.values.as_list(blocks));
        let mut end = address;
        for &block in list.unwrap_or_default() {
            let size = self.number(block, "size").map_err(|rule| format!("blocks: {rule}"))?;
            // Earlier versions have no addresses of blocks, which follow each other.
            let start = int(block, "address").unwrap_or(end);
            end = start.saturating_add(size);
            let state = self.values.get(block, "state").and_then(|state| self.values.as_text(state));
            if state.is_some_and(|state| state.starts_with("active")) {
                let size = int(block, "requested_size").unwrap_or(size);
                blocks.push((block, Block { address: start, size, name: 0 }));
            }
        }
        let blocks =
            blocks.into_iter().map(|(value, block)| Block { name: self.name(value), ..block }).collect();
        self.history.segments.push(Segment { device, address, size, is_expandable, blocks });
        Ok(())
    }

    /// Returns an entry, unless it does not concern memory. Without times, its number is its time.
    fn entry(&mut self, entry: Ref, number: u64) -> Result<Option<Entry>, String> {
        let action = self.values.get(entry, "action").and_then(|action| self.values.as_text(action));
        let action = match action.ok_or("there is no action")? {
            "alloc" => EntryAction::Alloc,
            "free_requested" => EntryAction::FreeRequested,
            "free_completed" | "free" => EntryAction::FreeCompleted,
            "segment_alloc" => EntryAction::SegmentAlloc,
            "segment_free" => EntryAction::SegmentFree,
            "segment_map" | "segment_unmap" => EntryAction::SegmentChange,
            _ => return Ok(None),
        };
        let address = if self.values.get(entry, "addr").is_some() { "addr" } else { "address" };
        let time = self.values.get(entry, "time_us").and_then(|time| self.values.as_int(time));
        Ok(Some(Entry {
            action,
            address: self.number(entry, address)?,
            size: self.number(entry, "size")?,
            time_us: time.unwrap_or(number),
            name: if action == EntryAction::Alloc { self.name(entry) } else { 0 },
        }))
    }

    fn number(&self, dict: Ref, key: &str) -> Result<u64, String> {
        let value = self.values.get(dict, key).ok_or_else(|| format!("there is no {key}"))?;
        self.values.as_int(value).ok_or_else(|| format!("{key} is no number from 0 to 2^64 - 1"))
    }

    /// Returns the index of the name of the first frame that is shown, and 1.
    fn name(&mut self, of: Ref) -> u32 {
        let Some(name) = self.frame(of) else { return 0 };
        if let Some(&known) = self.names.get(&*name) {
            return known;
        }
        self.name_bytes += name.len();
        if self.name_bytes > MAX_NAME_BYTES {
            return 0;
        }
        self.history.names.push(name.clone());
        let index = u32::try_from(self.history.names.len()).unwrap_or(0);
        self.names.insert(name, index);
        index
    }

    fn frame(&self, of: Ref) -> Option<Box<str>> {
        let frames = self.values.as_list(self.values.get(of, "frames")?)?;
        let text = |frame: Ref, key: &str| self.values.as_text(self.values.get(frame, key)?);
        frames.iter().find_map(|&frame| {
            let file = text(frame, "filename").filter(|file| is_shown(file))?;
            let line = self.values.as_int(self.values.get(frame, "line")?)?;
            let file = file.rsplit(['/', '\\']).next().unwrap_or(file);
            let name: String = text(frame, "name")?.chars().take(MAX_NAME_CHARS).collect();
            let file: String = file.chars().take(MAX_NAME_CHARS).collect();
            Some(format!("{name} ({file}:{line})").into())
        })
    }
}
