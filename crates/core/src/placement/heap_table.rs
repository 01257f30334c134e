//! The heaps of a set, by slot.

use super::idle_times::Moment;
use super::ids::Slot;
use super::ranges::Ranges;
use super::slab_notes::SlabNotes;
use super::{HeapId, Sharing};
use crate::suballoc::Stamp;

/// The end of a list of heaps.
pub(super) const NO_SLOT: Slot = Slot::MAX;

/// A heap of a set.
pub(super) struct Heap<H> {
    pub(super) ranges: Ranges,
    pub(super) payload: H,
    /// Whether requests share the heap; meaningless while it is empty.
    pub(super) sharing: Sharing,
    pub(super) closing: Closing,
    pub(super) slabs: SlabNotes,
}

/// Whether a heap is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Closing {
    Open,
    Closed,
    /// The heap was added closed, and nothing was placed in it yet.
    Fresh,
}

/// A slot of the table.
pub(super) struct Entry<H> {
    pub(super) generation: u32,
    /// The first stamp of the next heap in this slot.
    pub(super) next_stamp: Stamp,
    /// The place among the empty heaps; meaningless while the heap is in use.
    pub(super) idle: IdleLinks,
    pub(super) heap: Option<Heap<H>>,
}

/// The place of a heap among the empty ones, and when it became empty.
#[derive(Debug, Clone, Copy)]
pub(super) struct IdleLinks {
    pub(super) before: Slot,
    pub(super) after: Slot,
    pub(super) since: Moment,
}

/// The values of a heap that a search compares. They are stored apart from the entries, so that a search reads few
/// cache lines.
#[derive(Clone, Copy)]
pub(super) struct IndexEntry {
    /// The number of the operation that put the heap to use; meaningless while it is empty.
    pub(super) in_use_since: u64,
    pub(super) links: Links,
}

/// The links of a heap in its index, which therefore allocates nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Links {
    pub(super) bin: u16,
    pub(super) before: Slot,
    pub(super) after: Slot,
}

/// The heaps by slot.
pub(super) struct HeapTable<H> {
    pub(super) entries: Vec<Entry<H>>,
    pub(super) indexed: Vec<IndexEntry>,
    pub(super) vacant: Vec<Slot>,
}

impl<H> Heap<H> {
    /// Returns whether the heap is among those by whose largest free range a place is found, if it is in use.
    pub(super) fn is_found(&self) -> bool {
        self.sharing == Sharing::Shared && self.closing == Closing::Open
    }
}

impl<H> HeapTable<H> {
    pub(super) const fn new() -> Self {
        Self { entries: Vec::new(), indexed: Vec::new(), vacant: Vec::new() }
    }

    /// Adds a heap, and returns its slot, or `None` if there are too many.
    pub(super) fn insert(&mut self, mut heap: Heap<H>) -> Option<Slot> {
        if let Some(slot) = self.vacant.pop() {
            let entry = &mut self.entries[slot as usize];
            heap.ranges.continue_stamps(entry.next_stamp);
            entry.heap = Some(heap);
            return Some(slot);
        }
        let slot = Slot::try_from(self.entries.len()).ok().filter(|&slot| slot < NO_SLOT)?;
        let idle = IdleLinks { before: NO_SLOT, after: NO_SLOT, since: Moment::default() };
        self.entries.push(Entry { generation: 0, next_stamp: Stamp::FIRST, idle, heap: Some(heap) });
        let links = Links { bin: 0, before: NO_SLOT, after: NO_SLOT };
        self.indexed.push(IndexEntry { in_use_since: 0, links });
        Some(slot)
    }

    /// Removes the heap in an occupied slot.
    pub(super) fn remove(&mut self, slot: Slot) -> Heap<H> {
        let entry = &mut self.entries[slot as usize];
        entry.generation = entry.generation.wrapping_add(1);
        let heap = entry.heap.take().expect(OCCUPIED);
        entry.next_stamp = heap.ranges.next_stamp();
        self.vacant.push(slot);
        heap
    }

    /// Returns the heap in an occupied slot.
    pub(super) fn heap(&self, slot: Slot) -> &Heap<H> {
        self.entries[slot as usize].heap.as_ref().expect(OCCUPIED)
    }

    /// Returns the heap in an occupied slot.
    pub(super) fn heap_mut(&mut self, slot: Slot) -> &mut Heap<H> {
        self.entries[slot as usize].heap.as_mut().expect(OCCUPIED)
    }

    /// Returns the heap in a slot, which may be any number.
    pub(super) fn get(&self, slot: Slot) -> Option<&Heap<H>> {
        self.entries.get(slot as usize)?.heap.as_ref()
    }

    /// Returns the heap in a slot, which may be any number.
    pub(super) fn get_mut(&mut self, slot: Slot) -> Option<&mut Heap<H>> {
        self.entries.get_mut(slot as usize)?.heap.as_mut()
    }

    /// Returns the heap with an id, if it is in the set.
    pub(super) fn find(&self, id: HeapId) -> Option<&Heap<H>> {
        self.get(id.slot).filter(|_| self.entries[id.slot as usize].generation == id.generation)
    }

    pub(super) fn id(&self, slot: Slot) -> HeapId {
        HeapId { slot, generation: self.entries[slot as usize].generation }
    }

    /// Returns the size by which a heap is found: its largest free range.
    pub(super) fn key(&self, slot: Slot) -> u64 {
        self.heap(slot).ranges.largest_free_range().get()
    }

    /// Returns the suballocator's size class of that size.
    pub(super) fn key_class(&self, slot: Slot) -> u32 {
        self.heap(slot).ranges.largest_size_class()
    }
}

const OCCUPIED: &str = "indexed slots contain a heap";
