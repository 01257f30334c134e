//! Events as records of a session.

use std::collections::HashMap;
use std::io::{self, Seek, Write};

use heapwright_trace::session::{
    Action, Allocation, HeapType, MAX_LIST_LEN, Record, SessionWriter, WriteError,
};

use super::event::{Allocated, Entry, Event, InstanceKind};

/// Number of residency sets after which all are forgotten.
const MAX_SETS: usize = 4096;

/// A session that is being written.
pub(super) struct Session<W> {
    writer: SessionWriter<W>,
    time_us: u64,
    /// The allocator of the last records.
    selected: Option<u64>,
    /// Residency sets by their heaps, so that a set is written once.
    sets: HashMap<Vec<u64>, u64>,
    next_set: u64,
}

impl<W: Write + Seek> Session<W> {
    pub(super) fn new(output: W) -> io::Result<Self> {
        let writer = SessionWriter::new(output)?;
        Ok(Self { writer, time_us: 0, selected: None, sets: HashMap::new(), next_set: 0 })
    }

    pub(super) fn checkpoint(&mut self) -> io::Result<()> {
        self.writer.checkpoint()
    }

    pub(super) fn write(&mut self, entry: Entry) -> io::Result<()> {
        self.time_us = entry.time_ns / 1000;
        match entry.event {
            Event::Begin { instance, kind: InstanceKind::Allocator, options } => {
                self.select(instance)?;
                for (name, value) in options {
                    self.record(Action::SetOption { name: name.into(), value: value.into() })?;
                }
                Ok(())
            }
            Event::Begin { .. } | Event::End { .. } | Event::Timing { .. } => Ok(()),
            Event::Allocate(allocated) => self.allocate(*allocated),
            Event::Free { allocation } => self.record(Action::Free { allocation }),
            Event::Move { allocation, heap, offset } => {
                self.record(Action::Place { allocation, heap, offset })
            }
            Event::Name { allocation, name } => {
                self.record(Action::Name { allocation, name: (*name).into() })
            }
            Event::Contents { allocation, bytes } => {
                self.record(Action::Contents { allocation, offset: 0, bytes })
            }
            Event::CreateHeap(heap) => self.record(Action::CreateHeap(*heap)),
            Event::DestroyHeap { heap } => self.record(Action::DestroyHeap { heap }),
            Event::Frame { instance } => self.of_allocator(instance, Action::Frame),
            Event::IdlePeriod { instance } => self.of_allocator(instance, Action::IdlePeriod),
            Event::ReleaseHeaps { instance, bytes } => {
                self.of_allocator(instance, Action::ReleaseHeaps { bytes })
            }
            Event::Submit { queue, fence_value, lists } => self.submit(queue, fence_value, lists),
            Event::MakeResident { heaps } => {
                heaps.into_iter().try_for_each(|heap| self.record(Action::MakeResident { heap }))
            }
            Event::Evict { heaps } => {
                heaps.into_iter().try_for_each(|heap| self.record(Action::Evict { heap }))
            }
            Event::Count { instance, values } => {
                self.select(instance)?;
                values
                    .into_iter()
                    .try_for_each(|(counter, value)| self.record(Action::Count { counter, value }))
            }
        }
    }

    fn allocate(&mut self, allocated: Allocated) -> io::Result<()> {
        let Allocated { instance, id, size, kind, heap_type, resource_flags, .. } = allocated;
        let heap_type = HeapType::from_d3d12(heap_type).unwrap_or(HeapType::Unknown);
        // A size of 0 is not possible in D3D12.
        let size = size.max(1);
        let allocation = Allocation { id, size, kind, heap_type, flags: resource_flags, name: None };
        self.of_allocator(instance, Action::Allocate(allocation))?;
        if let Some(description) = allocated.description {
            self.record(Action::Describe(description))?;
        }
        if let Some((heap, offset)) = allocated.place {
            self.record(Action::Place { allocation: id, heap, offset })?;
        }
        match allocated.address {
            Some(address) => self.record(Action::AllocationAddress { allocation: id, address, size }),
            None => Ok(()),
        }
    }

    fn submit(&mut self, queue: u64, fence_value: u64, lists: Vec<Vec<u64>>) -> io::Result<()> {
        if self.sets.len() >= MAX_SETS {
            self.sets.clear();
            // Ids begin again, so that a reader has no more sets than the writer.
            self.next_set = 0;
        }
        let mut sets = Vec::with_capacity(lists.len());
        for heaps in lists {
            // A set has a maximum length; a list with more heaps becomes several.
            for part in heaps.chunks(MAX_LIST_LEN) {
                sets.push(self.set_of(part)?);
            }
        }
        for part in sets.chunks(MAX_LIST_LEN) {
            self.record(Action::Submit { queue, fence_value, sets: part.to_vec() })?;
        }
        if sets.is_empty() {
            self.record(Action::Submit { queue, fence_value, sets })?;
        }
        Ok(())
    }

    /// Returns the set of these heaps, which is written when it is used for the first time.
    fn set_of(&mut self, heaps: &[u64]) -> io::Result<u64> {
        if let Some(&set) = self.sets.get(heaps) {
            return Ok(set);
        }
        let set = self.next_set;
        self.next_set += 1;
        self.record(Action::DefineSet { set, heaps: heaps.to_vec() })?;
        self.sets.insert(heaps.to_vec(), set);
        Ok(set)
    }

    fn of_allocator(&mut self, instance: u64, action: Action) -> io::Result<()> {
        self.select(instance)?;
        self.record(action)
    }

    fn select(&mut self, allocator: u64) -> io::Result<()> {
        if self.selected == Some(allocator) {
            return Ok(());
        }
        self.selected = Some(allocator);
        self.record(Action::SelectAllocator { allocator })
    }

    fn record(&mut self, action: Action) -> io::Result<()> {
        self.writer.write(&Record { time_us: self.time_us, action }).map_err(|error| match error {
            WriteError::Io(error) => error,
            error => io::Error::other(error),
        })
    }
}
