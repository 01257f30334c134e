//! Events as records of a session.

use std::collections::{HashMap, HashSet};
use std::io::{self, Seek, Write};

use super::{Allocated, Entry, Event, InstanceKind};
use crate::session::{
    Action, Allocation, HeapType, MAX_LIST_LEN, MAX_SET_IDS, Record, SessionWriter, WriteError,
};

/// Number of residency sets after which all are forgotten.
const MAX_SETS: usize = 4096;

/// Number of heaps in residency sets after which all are forgotten. Sets that are written afterwards replace some of
/// those before them only, so that a reader has more than these.
const MAX_IDS: usize = MAX_SET_IDS as usize / 4;

/// A session that is being written.
pub(super) struct SessionEvents<W> {
    writer: SessionWriter<W>,
    time_us: u64,
    /// The allocator of the last records.
    selected: Option<u64>,
    /// Heaps that exist at this point of the file. Other threads destroy heaps while a call pages or submits them, and
    /// its event comes after theirs.
    live_heaps: HashSet<u64>,
    /// Residency sets by their heaps, so that a set is written once.
    sets: HashMap<Vec<u64>, u64>,
    /// Sum of the lengths of `sets`.
    set_ids: usize,
    next_set: u64,
}

impl<W: Write + Seek> SessionEvents<W> {
    pub(super) fn new(output: W) -> io::Result<Self> {
        let writer = SessionWriter::new(output)?;
        Ok(Self {
            writer,
            time_us: 0,
            selected: None,
            live_heaps: HashSet::new(),
            sets: HashMap::new(),
            set_ids: 0,
            next_set: 0,
        })
    }

    pub(super) fn checkpoint(&mut self) -> io::Result<()> {
        self.writer.checkpoint()
    }

    pub(super) fn write(&mut self, entry: Entry) -> io::Result<()> {
        self.time_us = entry.time_ns / 1000;
        match entry.event {
            Event::Begin { instance, kind: InstanceKind::Allocator, parent, settings } => {
                self.select(instance)?;
                if let Some(parent) = parent {
                    self.record(Action::NestAllocator { parent })?;
                }
                for (name, value) in settings.options {
                    self.record(Action::SetOption { name: name.into(), value: value.into() })?;
                }
                Ok(())
            }
            Event::Begin { .. } | Event::Object { .. } | Event::Call { .. } | Event::Timing { .. } => Ok(()),
            Event::Action { allocator, action } => {
                if let Some(allocator) = allocator {
                    self.select(allocator)?;
                }
                match &action {
                    Action::DestroyHeap { heap } => drop(self.live_heaps.remove(heap)),
                    // It cannot be selected any more.
                    Action::DropAllocator => self.selected = None,
                    _ => {}
                }
                self.record(action)
            }
            Event::Allocate(allocated) => self.allocate(*allocated),
            Event::Move { allocation, heap, offset, address } => {
                self.record(Action::Place { allocation, heap, offset })?;
                self.address(allocation, address)
            }
            Event::CreateHeap(new) => {
                self.live_heaps.insert(new.heap.id);
                self.record(Action::CreateHeap(new.heap))
            }
            Event::Submit { queue, fence_value, lists } => self.submit(queue, fence_value, lists),
            Event::MakeResident { heaps } => self.for_live(heaps, |heap| Action::MakeResident { heap }),
            Event::Evict { heaps } => self.for_live(heaps, |heap| Action::Evict { heap }),
            Event::Count { instance, kind, values } => {
                // A manager counts the memory of the process, which needs no allocator.
                if kind == InstanceKind::Allocator {
                    self.select(instance)?;
                }
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
        self.select(instance)?;
        self.record(Action::Allocate(allocation))?;
        if let Some((description, reason)) = allocated.description {
            self.record(Action::Describe(description))?;
            self.record(Action::Reason { allocation: id, reason })?;
        }
        if let Some(request) = allocated.asked {
            self.record(Action::Ask { allocation: id, request })?;
        }
        if let Some(pool) = allocated.pool {
            self.record(Action::UsePool { allocation: id, pool })?;
        }
        if let Some((heap, offset)) = allocated.place {
            self.record(Action::Place { allocation: id, heap, offset })?;
        }
        self.address(id, allocated.address.map(|address| (address, size)))
    }

    /// Records the address of an allocation and the size behind it, if it has one.
    fn address(&mut self, allocation: u64, address: Option<(u64, u64)>) -> io::Result<()> {
        match address {
            Some((address, size)) => self.record(Action::AllocationAddress { allocation, address, size }),
            None => Ok(()),
        }
    }

    /// Records an action of each heap that is live.
    fn for_live(&mut self, heaps: Vec<u64>, action: fn(u64) -> Action) -> io::Result<()> {
        for heap in heaps {
            if self.live_heaps.contains(&heap) {
                self.record(action(heap))?;
            }
        }
        Ok(())
    }

    fn submit(&mut self, queue: u64, fence_value: u64, lists: Vec<Vec<u64>>) -> io::Result<()> {
        if self.sets.len() >= MAX_SETS || self.set_ids >= MAX_IDS {
            self.sets.clear();
            self.set_ids = 0;
            // Ids begin again, so that a reader has no more sets than the writer.
            self.next_set = 0;
        }
        let mut sets = Vec::with_capacity(lists.len());
        for mut heaps in lists {
            heaps.retain(|heap| self.live_heaps.contains(heap));
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
        self.set_ids += heaps.len();
        Ok(set)
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

#[cfg(all(test, feature = "read"))]
mod tests;
