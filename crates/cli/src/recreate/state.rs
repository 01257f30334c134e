//! The objects that exist at a moment of a session.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use heapwright_trace::session::{Action, Allocation, Description, Heap, Placement, Record, ResourceKind};
use heapwright_trace::{Format, RecordReader};

use crate::exit::Failed;
use crate::input;

/// The objects that exist at a moment.
#[derive(Debug, Default)]
pub(super) struct State {
    /// Number of records up to the moment.
    pub(super) record_count: usize,
    /// Time of the last record.
    pub(super) time_us: u64,
    pub(super) heaps: BTreeMap<u64, RecordedHeap>,
    pub(super) buffers: BTreeMap<u64, RecordedBuffer>,
    /// Number of textures, which have no recorded address, of buffers without a place, and of memory without a
    /// resource.
    pub(super) skipped: u64,
}

#[derive(Debug)]
pub(super) struct RecordedHeap {
    pub(super) heap: Heap,
    pub(super) address: Option<u64>,
}

#[derive(Debug)]
pub(super) struct RecordedBuffer {
    pub(super) allocation: Allocation,
    pub(super) description: Option<Box<Description>>,
    pub(super) heap: u64,
    pub(super) offset: u64,
    pub(super) address: Option<u64>,
}

impl RecordedBuffer {
    /// Returns how the buffer was placed.
    pub(super) fn placement(&self) -> Option<Placement> {
        self.description.as_ref()?.placement
    }
}

impl State {
    /// Reads the whole session, and returns its state when most bytes are live.
    pub(super) fn read(path: &Path) -> Result<Self, Failed> {
        if input::is_stream(path) {
            let path = input::name(path).display();
            return Err(Failed::bad_input(format_args!(
                "{path} can be read only once, but a session is read several times to recreate it; write it to a file first"
            )));
        }
        let record_count = last_record(path)?;
        let mut state = Self { record_count, ..Self::default() };
        let mut unplaced = BTreeMap::new();
        for record in open(path)?.take(record_count) {
            state.apply(record?, &mut unplaced);
        }
        state.skipped += unplaced.len() as u64;
        state.derive_heap_addresses();
        if state.buffers.is_empty() {
            let rule = "the session records no buffer in a heap, so nothing can be recreated";
            return Err(Failed::bad_input(rule).of(path.display()));
        }
        Ok(state)
    }

    fn apply(
        &mut self,
        record: Record,
        unplaced: &mut BTreeMap<u64, (Allocation, Option<Box<Description>>)>,
    ) {
        self.time_us = record.time_us;
        match record.action {
            Action::CreateHeap(heap) => {
                self.heaps.insert(heap.id, RecordedHeap { heap, address: None });
            }
            Action::DestroyHeap { heap } => {
                self.heaps.remove(&heap);
            }
            Action::HeapAddress { heap, address, .. } => {
                if let Some(heap) = self.heaps.get_mut(&heap) {
                    heap.address = Some(address);
                }
            }
            Action::Allocate(allocation) => {
                unplaced.insert(allocation.id, (allocation, None));
            }
            Action::Describe(description) => {
                if let Some((_, of_it)) = unplaced.get_mut(&description.allocation) {
                    *of_it = Some(description);
                }
            }
            Action::Ask { allocation, request } if request.memory.is_some() => {
                if let Some((memory, _)) = unplaced.get_mut(&allocation) {
                    // No more a buffer than a texture is.
                    memory.kind = ResourceKind::Texture;
                }
            }
            Action::Free { allocation } => {
                unplaced.remove(&allocation);
                self.buffers.remove(&allocation);
            }
            Action::Place { allocation, heap, offset } => {
                if let Some(buffer) = self.buffers.get_mut(&allocation) {
                    // It was moved, with its contents. Its new address follows.
                    (buffer.heap, buffer.offset, buffer.address) = (heap, offset, None);
                } else if is_committed_texture(unplaced.get(&allocation)) {
                    // Its implicit heap, which a residency manager records, cannot be created without it.
                    self.heaps.remove(&heap);
                } else if unplaced.get(&allocation).is_some_and(|(it, _)| it.kind != ResourceKind::Texture)
                    && let Some((of_buffer, description)) = unplaced.remove(&allocation)
                {
                    let buffer =
                        RecordedBuffer { allocation: of_buffer, description, heap, offset, address: None };
                    self.buffers.insert(allocation, buffer);
                }
            }
            Action::AllocationAddress { allocation, address, .. } => {
                if let Some(buffer) = self.buffers.get_mut(&allocation) {
                    buffer.address = Some(address);
                }
            }
            _ => {}
        }
    }

    /// Derives the addresses of heaps from those of their buffers.
    fn derive_heap_addresses(&mut self) {
        for buffer in self.buffers.values() {
            if let (Some(heap), Some(address)) = (self.heaps.get_mut(&buffer.heap), buffer.address) {
                heap.address = heap.address.or(address.checked_sub(buffer.offset));
            }
        }
    }
}

fn is_committed_texture(allocation: Option<&(Allocation, Option<Box<Description>>)>) -> bool {
    let Some((allocation, Some(description))) = allocation else { return false };
    allocation.kind == ResourceKind::Texture && description.placement == Some(Placement::Committed)
}

/// Reads and checks the whole session. Returns the number of records up to the last one at which the bytes of the live
/// allocations are at their maximum.
fn last_record(path: &Path) -> Result<usize, Failed> {
    let mut reader = open(path)?;
    let mut sizes = BTreeMap::new();
    let (mut live, mut most, mut last, mut count) = (0_u64, 0, 0, 0);
    for record in reader.by_ref() {
        let record = record?;
        match &record.action {
            Action::Allocate(allocation) => {
                sizes.insert(allocation.id, allocation.size);
                live += allocation.size;
            }
            Action::Free { allocation } => live -= sizes.remove(allocation).unwrap_or(0),
            _ => {}
        }
        count += 1;
        if live >= most {
            (most, last) = (live, count);
        }
    }
    match reader.truncated_at() {
        Some(offset) => Err(Failed::bad_input(format_args!(
            "{}: byte {offset}: the session has no end, as after a crash; `heapwright convert` saves what is complete",
            path.display()
        ))),
        None => Ok(last),
    }
}

/// Opens a session.
pub(super) fn open(path: &Path) -> Result<RecordReader<Box<dyn Read>>, Failed> {
    let reader = input::records(path)?;
    match reader.format() {
        Format::Session => Ok(reader),
        format => Err(Failed::bad_input(format_args!(
            "{}: {format} has no addresses; a session (.hws) is required",
            path.display()
        ))),
    }
}
