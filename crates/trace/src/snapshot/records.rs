//! Records of a snapshot.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::io::Read;

use super::history::{Block, Entry, EntryAction, History, Segment};
use super::{json, pickle};
use crate::error::Fault;
use crate::session::{Action, Allocation, Heap, HeapType, Record, ResourceKind};
use crate::source::Source;

/// The records of a snapshot.
#[derive(Debug)]
pub(crate) struct Snapshot {
    devices: Vec<Device>,
    names: Vec<Box<str>>,
    has_heaps: bool,
    first_us: u64,
    /// Time since the first entry.
    time_us: u64,
    records: VecDeque<Record>,
    allocation_count: u64,
    heap_count: u64,
}

/// The memory of a GPU.
#[derive(Debug, Default)]
struct Device {
    entries: std::vec::IntoIter<Entry>,
    /// The action that frees.
    frees: Option<EntryAction>,
    /// Numbers of the live allocations, by address.
    live: HashMap<u64, u64>,
    /// Numbers and sizes of the live heaps, by address.
    heaps: BTreeMap<u64, (u64, u64)>,
}

/// Maximum length of a snapshot, in bytes: 1 GiB.
const MAX_LEN: u64 = 1 << 30;

impl Snapshot {
    pub(crate) fn read(mut source: Source<impl Read>) -> Result<Self, Fault> {
        let is_pickle = source.read_so_far().first() == Some(&0x80);
        let read = if is_pickle {
            pickle::read(&mut source, MAX_LEN).map_err(|(offset, fault)| match fault {
                Fault::Invalid(rule) => Fault::File(format!("byte {offset}: {rule}")),
                fault => fault,
            })
        } else {
            json::read(&mut source, MAX_LEN)
        };
        let (values, root) = read.map_err(of_file)?;
        // The values are freed before the records are built.
        let history = History::of(&values, root).map_err(of_file)?;
        drop(values);
        Ok(Self::of(history))
    }

    fn of(history: History) -> Self {
        let History { devices, segments, names } = history;
        let changes = devices.iter().flatten().any(|entry| entry.action == EntryAction::SegmentChange);
        let first_us = devices.iter().filter_map(|entries| entries.first()).map(|entry| entry.time_us).min();
        let mut snapshot = Self {
            devices: Vec::new(),
            names,
            has_heaps: !changes && !segments.iter().any(|segment| segment.is_expandable),
            first_us: first_us.unwrap_or(0),
            time_us: 0,
            records: VecDeque::new(),
            allocation_count: 0,
            heap_count: 0,
        };
        let mut segments_of: HashMap<u64, Vec<Segment>> = HashMap::new();
        for segment in segments {
            segments_of.entry(segment.device).or_default().push(segment);
        }
        let of_segments = segments_of.keys().max().map_or(0, |&device| device.saturating_add(1));
        // A list of GPUs without entries is not longer for a device with a large number.
        let count = devices.len().max(usize::try_from(of_segments).unwrap_or(usize::MAX).min(MAX_DEVICES));
        let mut devices = devices.into_iter();
        for number in 0..count {
            let entries = devices.next().unwrap_or_default();
            let segments = segments_of.remove(&(number as u64)).unwrap_or_default();
            snapshot.add_device(number, entries, &segments);
        }
        snapshot
    }

    /// Adds a GPU, and what was in its memory before its history began.
    fn add_device(&mut self, number: usize, entries: Vec<Entry>, segments: &[Segment]) {
        let completes = entries.iter().any(|entry| entry.action == EntryAction::FreeCompleted);
        let frees = if completes { EntryAction::FreeCompleted } else { EntryAction::FreeRequested };
        let (heaps, blocks) = before(&entries, segments, frees);
        self.devices.push(Device { entries: entries.into_iter(), frees: Some(frees), ..Device::default() });
        if self.has_heaps {
            heaps.into_iter().for_each(|(address, size)| self.create_heap(number, address, size));
        }
        for block in blocks {
            self.allocate(number, block);
        }
    }

    /// Returns the next record.
    pub(crate) fn next_record(&mut self) -> Option<Record> {
        loop {
            if let Some(record) = self.records.pop_front() {
                return Some(record);
            }
            let next = |device: &Device| device.entries.as_slice().first().map(|entry| entry.time_us);
            let times =
                self.devices.iter().enumerate().filter_map(|(number, device)| Some((next(device)?, number)));
            let (_, number) = times.min()?;
            let entry = self.devices[number].entries.next()?;
            self.entry(number, entry);
        }
    }

    fn entry(&mut self, number: usize, entry: Entry) {
        let Entry { action, address, size, time_us, name } = entry;
        self.time_us = self.time_us.max(time_us.saturating_sub(self.first_us));
        match action {
            EntryAction::Alloc => {
                // Its free is not in the history.
                self.free(number, address);
                self.allocate(number, Block { address, size, name });
            }
            action if Some(action) == self.devices[number].frees => self.free(number, address),
            EntryAction::SegmentAlloc if self.has_heaps => self.create_heap(number, address, size),
            EntryAction::SegmentFree if self.has_heaps => self.destroy_heap(number, address),
            _ => {}
        }
    }

    fn allocate(&mut self, number: usize, Block { address, size, name }: Block) {
        if size == 0 {
            return;
        }
        let id = self.allocation_count;
        self.allocation_count += 1;
        let device = &mut self.devices[number];
        device.live.insert(address, id);
        let place = device.heaps.range(..=address).next_back().and_then(|(&start, &(heap, heap_size))| {
            let offset = address - start;
            (offset < heap_size && size <= heap_size - offset).then_some((heap, offset))
        });
        let name = usize::try_from(name).ok().and_then(|name| self.names.get(name.checked_sub(1)?)).cloned();
        let (kind, heap_type) = (ResourceKind::Buffer, HeapType::Default);
        self.record(Action::Allocate(Allocation { id, size, kind, heap_type, flags: 0, name }));
        if let Some((heap, offset)) = place {
            self.record(Action::Place { allocation: id, heap, offset });
        }
    }

    fn free(&mut self, number: usize, address: u64) {
        if let Some(allocation) = self.devices[number].live.remove(&address) {
            self.record(Action::Free { allocation });
        }
    }

    fn create_heap(&mut self, number: usize, address: u64, size: u64) {
        self.destroy_heap(number, address);
        let id = self.heap_count;
        self.heap_count += 1;
        self.devices[number].heaps.insert(address, (id, size));
        let heap_type = HeapType::Default;
        self.record(Action::CreateHeap(Heap { id, size, alignment: 0, heap_type, flags: 0, name: None }));
    }

    fn destroy_heap(&mut self, number: usize, address: u64) {
        if let Some((heap, _)) = self.devices[number].heaps.remove(&address) {
            self.record(Action::DestroyHeap { heap });
        }
    }

    fn record(&mut self, action: Action) {
        self.records.push_back(Record { time_us: self.time_us, action });
    }
}

/// A snapshot is read as a whole, so that its faults have no position in it.
fn of_file(fault: Fault) -> Fault {
    match fault {
        Fault::Invalid(rule) => Fault::File(rule),
        fault => fault,
    }
}

/// Maximum number of GPUs.
const MAX_DEVICES: usize = 1024;

/// Returns the segments, by address, and the allocations that existed before the first entry: what is freed without
/// having been allocated, and what exists at the end.
fn before(entries: &[Entry], segments: &[Segment], frees: EntryAction) -> (BTreeMap<u64, u64>, Vec<Block>) {
    let (mut allocated, mut live, mut created) = (HashSet::new(), HashSet::new(), HashSet::new());
    let (mut heaps, mut blocks) = (BTreeMap::new(), Vec::new());
    for &Entry { action, address, size, .. } in entries {
        match action {
            EntryAction::Alloc => {
                allocated.insert(address);
                live.insert(address);
            }
            // A second free of an address without an allocation between tells nothing.
            action if action == frees => {
                let is_older = !live.remove(&address) && allocated.insert(address);
                blocks.extend(is_older.then_some(Block { address, size, name: 0 }));
            }
            EntryAction::SegmentAlloc => {
                created.insert(address);
            }
            EntryAction::SegmentFree => heaps.extend(created.insert(address).then_some((address, size))),
            _ => {}
        }
    }
    for Segment { address, size, blocks: in_use, .. } in segments {
        if !created.contains(address) {
            heaps.insert(*address, *size);
        }
        blocks.extend(in_use.iter().filter(|block| !allocated.contains(&block.address)));
    }
    blocks.sort_by_key(|block| block.address);
    (heaps, blocks)
}
