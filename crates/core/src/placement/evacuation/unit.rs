//! The unit: the heaps that are being emptied together, and their remaining allocations.

use crate::placement::heap_set::SlabPlace;
use crate::placement::{HeapId, PlacementId};
use crate::suballoc::slab::class::SizeClass;
use crate::{Alignment, ByteSize, HeapRange};

/// The maximum alignment that is preserved, as a base-2 logarithm. The alignment is inferred from offset and
/// size, and no resource needs more than 4 MiB.
const MAX_ALIGNMENT_LOG2: u32 = 22;

/// A closed heap.
#[derive(Debug)]
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
    /// The size of the allocation or of its slot, in bytes.
    pub(super) bytes: u64,
}

const _: () = assert!(size_of::<Item>() <= 32);

/// The common property of the items of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Slots(SizeClass),
    /// Ranges of this alignment.
    Ranges(Alignment),
}

impl Kind {
    /// Returns the kind of a range that is directly in a heap.
    pub(super) fn of_range(range: HeapRange) -> Self {
        let log2 = (range.start().get() | range.size().get()).trailing_zeros().min(MAX_ALIGNMENT_LOG2);
        Self::Ranges(Alignment::from_log2(log2).unwrap_or(Alignment::ONE))
    }

    fn alignment(self) -> Alignment {
        match self {
            Self::Slots(class) => class.slot_alignment(),
            Self::Ranges(alignment) => alignment,
        }
    }
}

/// Heaps that are being emptied together, and the items for which no move is planned yet.
#[derive(Debug)]
pub(super) struct Unit {
    pub(super) heaps: Vec<ClosedHeap>,
    /// The items by kind, in descending order of alignment. Placed in this order in a new heap they leave no
    /// gaps, because sizes are multiples of their alignment.
    queues: Vec<(Kind, Vec<Item>)>,
    /// The index before which all queues are empty.
    first: usize,
    /// The indices of the queues of each class, and of ranges by the logarithm of their alignment.
    of_class: [usize; SizeClass::COUNT],
    of_alignment: [usize; MAX_ALIGNMENT_LOG2 as usize + 1],
    /// The total size of the items in the queues.
    bytes: u64,
    /// The heap that was supplied for the items in the queues.
    pub(super) replacement: Option<HeapId>,
    /// The lane whose slabs had room for the last item.
    pub(super) lane: Option<u32>,
}

impl Unit {
    pub(super) fn new() -> Self {
        let alignments = (0..=MAX_ALIGNMENT_LOG2).filter_map(Alignment::from_log2).map(Kind::Ranges);
        let mut kinds: Vec<_> = SizeClass::all().map(Kind::Slots).chain(alignments).collect();
        kinds.sort_by_key(|kind| std::cmp::Reverse(kind.alignment()));
        let (mut of_class, mut of_alignment) = ([0; SizeClass::COUNT], [0; MAX_ALIGNMENT_LOG2 as usize + 1]);
        for (at, kind) in kinds.iter().enumerate() {
            match kind {
                Kind::Slots(class) => of_class[class.index()] = at,
                Kind::Ranges(alignment) => of_alignment[alignment.log2() as usize] = at,
            }
        }
        Self {
            heaps: Vec::new(),
            first: kinds.len(),
            queues: kinds.into_iter().map(|kind| (kind, Vec::new())).collect(),
            of_class,
            of_alignment,
            bytes: 0,
            replacement: None,
            lane: None,
        }
    }

    pub(super) fn push_heap(&mut self, id: HeapId, size: ByteSize) {
        self.heaps.push(ClosedHeap {
            id,
            size: size.get(),
            slabs: Vec::new(),
            waiting: 0,
            is_given_up: false,
        });
    }

    /// Adds an item. Amortized O(1).
    pub(super) fn push(&mut self, kind: Kind, item: Item) {
        let at = match kind {
            Kind::Slots(class) => self.of_class[class.index()],
            Kind::Ranges(alignment) => self.of_alignment[alignment.log2() as usize],
        };
        self.queues[at].1.push(item);
        self.first = self.first.min(at);
        self.bytes = self.bytes.saturating_add(item.bytes);
        self.heaps[item.heap].waiting += 1;
    }

    /// Returns the next item, its kind, and the number of items of that kind. Amortized O(1).
    pub(super) fn next(&mut self) -> Option<(Kind, Item, u32)> {
        loop {
            let (kind, items) = self.queues.get(self.first)?;
            if let Some(&item) = items.last() {
                return Some((*kind, item, u32::try_from(items.len()).unwrap_or(u32::MAX)));
            }
            self.first += 1;
            self.lane = None;
        }
    }

    /// Removes the item that [`next`](Self::next) returns. O(1).
    pub(super) fn pop(&mut self) {
        if let Some(item) = self.queues.get_mut(self.first).and_then(|(_, items)| items.pop()) {
            self.bytes = self.bytes.saturating_sub(item.bytes);
            self.heaps[item.heap].waiting -= 1;
        }
    }

    /// Returns the total size of the remaining items.
    pub(super) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the total size of the heaps with remaining items.
    pub(super) fn size_of_waiting(&self) -> u64 {
        let waiting = self.heaps.iter().filter(|heap| heap.waiting > 0 && !heap.is_given_up);
        waiting.fold(0, |sum, heap| sum.saturating_add(heap.size))
    }

    /// Discards the remaining items, and returns the heaps.
    pub(super) fn finish(&mut self) -> Vec<ClosedHeap> {
        self.queues.iter_mut().for_each(|(_, items)| items.clear());
        self.first = self.queues.len();
        (self.bytes, self.lane) = (0, None);
        std::mem::take(&mut self.heaps)
    }
}
