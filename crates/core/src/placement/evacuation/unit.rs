//! The unit: the heaps that are being emptied together, and their remaining allocations.

use crate::placement::slab_notes::SlabPlace;
use crate::placement::{HeapId, PlacementId};
use crate::{Alignment, HeapRange};

/// The maximum alignment that is preserved, as a base-2 logarithm. The alignment is inferred from offset and
/// size, and no resource needs more than 4 MiB.
const MAX_ALIGNMENT_LOG2: u32 = 22;

/// The number of alignments.
const ALIGNMENTS: usize = MAX_ALIGNMENT_LOG2 as usize + 1;

/// A closed heap.
pub(super) struct ClosedHeap {
    pub(super) id: HeapId,
    pub(super) size: u64,
    /// Its slabs, which are closed as well, and their memory.
    pub(super) slabs: Vec<(SlabPlace, PlacementId)>,
    /// The number of its allocations for which no move is planned yet.
    pub(super) waiting: u64,
    /// Whether the heap was given up, and is open again.
    pub(super) is_given_up: bool,
}

/// An allocation that is to move.
#[derive(Debug, Clone, Copy)]
pub(super) struct Item {
    /// The index of its heap in the unit.
    pub(super) heap: usize,
    pub(super) id: PlacementId,
    /// The size of the allocation, rounded up to the alignment of its range.
    pub(super) bytes: u64,
}

const _: () = assert!(size_of::<Item>() <= 32);

/// Returns the alignment of a range as far as it matters, where `size` is that of the allocation or of its slot.
#[inline]
pub(super) fn alignment_of(range: HeapRange, size: u64) -> Alignment {
    let log2 = (range.start().get() | size).trailing_zeros().min(MAX_ALIGNMENT_LOG2);
    Alignment::from_log2(log2).unwrap_or(Alignment::ONE)
}

/// Heaps that are being emptied together, and the items for which no move is planned yet.
pub(super) struct Unit {
    pub(super) heaps: Vec<ClosedHeap>,
    /// The items by the logarithm of their alignment, the largest of which moves first. Placed in this order in a new
    /// heap they leave no gaps, because sizes are rounded up to the alignment.
    queues: [Vec<Item>; ALIGNMENTS],
    /// The number of queues from the first to the last that has items.
    used_queues: usize,
    /// The total size of the items in the queues.
    pub(super) bytes: u64,
    /// The heap that was supplied for the items in the queues.
    pub(super) replacement: Option<HeapId>,
}

impl Unit {
    #[inline]
    pub(super) fn new() -> Self {
        let queues = std::array::from_fn(|_| Vec::new());
        Self { heaps: Vec::new(), queues, used_queues: 0, bytes: 0, replacement: None }
    }

    /// Adds an item. Amortized O(1).
    #[inline]
    pub(super) fn push(&mut self, alignment: Alignment, item: Item) {
        let at = alignment.log2() as usize;
        self.queues[at].push(item);
        self.used_queues = self.used_queues.max(at + 1);
        self.bytes = self.bytes.saturating_add(item.bytes);
        self.heaps[item.heap].waiting += 1;
    }

    /// Returns the next item and its alignment. Amortized O(1).
    #[inline]
    pub(super) fn next(&mut self) -> Option<(Alignment, Item)> {
        loop {
            let at = self.used_queues.checked_sub(1)?;
            if let Some(&item) = self.queues[at].last() {
                return Some((Alignment::from_log2(u32::try_from(at).ok()?)?, item));
            }
            self.used_queues = at;
        }
    }

    /// Removes the item that [`next`](Self::next) returns. O(1).
    #[inline]
    pub(super) fn pop(&mut self) {
        let last = self.used_queues.checked_sub(1).and_then(|at| self.queues[at].pop());
        if let Some(item) = last {
            self.bytes = self.bytes.saturating_sub(item.bytes);
            self.heaps[item.heap].waiting -= 1;
        }
    }

    /// Discards the remaining items, and returns the heaps.
    #[inline]
    pub(super) fn finish(&mut self) -> Vec<ClosedHeap> {
        self.queues.iter_mut().for_each(Vec::clear);
        (self.used_queues, self.bytes) = (0, 0);
        std::mem::take(&mut self.heaps)
    }
}
