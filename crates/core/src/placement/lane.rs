//! Slabs whose memory comes from the heaps of a set.

mod closing;
mod peek;

pub(super) use self::closing::NewSlabIn;
use super::heap_set::SlabPlace;
use super::{HeapId, HeapSet, HeapSetTotals, PlacementError, PlacementId};
use crate::suballoc::slab::class::SizeClass;
use crate::suballoc::slab::table::{SlabShape, SlabTable, SlabTotals};
use crate::suballoc::{AuditError, SuballocError, SuballocationId};
use crate::{Alignment, ByteSize, HeapRange};

/// What is held for a slab: where in the set its memory is, and what the owner holds for that heap.
#[derive(Debug, Clone)]
pub(super) struct SlabMemory<H> {
    id: PlacementId,
    heap: H,
}

/// The slabs that one thread allocates from at a time.
#[derive(Debug)]
pub(super) struct Lane<H> {
    number: u32,
    /// From the first slab on: most lanes of most sets are never used.
    slabs: Option<Box<SlabTable<SlabMemory<H>>>>,
}

/// Which requests get a slot.
#[derive(Debug, Clone, Copy)]
pub(super) struct SlotLimit(ByteSize);

impl SlotLimit {
    /// Requests up to this size, and no more than the largest slot there is.
    pub(super) fn new(up_to: ByteSize) -> Self {
        Self(up_to.min(ByteSize::new(SizeClass::MAX_SIZE)))
    }

    /// The class whose slots hold a request; `None` when it does not get one.
    #[inline]
    pub(super) fn class_of(self, size: ByteSize, alignment: Alignment) -> Option<SizeClass> {
        SizeClass::of(size, alignment).filter(|_| size <= self.0)
    }
}

/// A slot handed out.
pub(super) struct Slot<'a, H> {
    pub(super) id: SuballocationId,
    pub(super) range: HeapRange,
    pub(super) heap: &'a H,
}

impl<H> Default for Lane<H> {
    fn default() -> Self {
        Self::new(0)
    }
}

/// Where the memory of new slabs may come from.
#[derive(Clone, Copy)]
pub(super) enum Source {
    AnyHeap,
    Heap(HeapId),
}

impl<H> Lane<H> {
    /// The lane of this number in a set.
    pub(super) const fn new(number: u32) -> Self {
        Self { number, slabs: None }
    }
}

impl<H: Clone> Lane<H> {
    /// Whether the class has a free slot. O(1).
    #[inline]
    pub(super) fn has_room(&self, class: SizeClass) -> bool {
        self.slabs.as_ref().is_some_and(|slabs| slabs.has_room(class))
    }

    /// Hands out a free slot; `None` when the class has none. O(1).
    #[inline(always)]
    pub(super) fn allocate(&mut self, class: SizeClass, size: ByteSize) -> Option<Slot<'_, H>> {
        let (suballocation, memory) = self.slabs.as_mut()?.allocate(class, size)?;
        Some(Slot { id: suballocation.id, range: suballocation.range, heap: &memory.heap })
    }

    /// Adds a slab to a class that has no free slot, as large as it wants or the heaps have room for, and hands out a slot of
    /// it; `None` when the heaps have no room. O(1).
    #[cold]
    pub(super) fn allocate_in_new_slab(
        &mut self,
        heaps: &mut HeapSet<H>,
        source: Source,
        class: SizeClass,
        size: ByteSize,
    ) -> Option<Slot<'_, H>> {
        let slot_size = ByteSize::new(class.slot_size());
        let slabs = self.slabs.get_or_insert_default();
        let mut shape = slabs.shape(class);
        let (start, memory) = loop {
            let placed = match source {
                Source::AnyHeap => heaps.allocate_slab(slot_size, shape.bytes(), shape.alignment()),
                Source::Heap(heap) => {
                    heaps.allocate_slab_in(heap, slot_size, shape.bytes(), shape.alignment())
                }
            };
            if let Ok(Some(placed)) = placed {
                break (placed.range.start(), SlabMemory { id: placed.id, heap: placed.heap.clone() });
            }
            shape = match shape.halved() {
                Some(halved) => halved,
                // What empty slabs of other classes hold comes before a new heap.
                None if give_up_empty(slabs, heaps) => slabs.shape(class),
                None => return None,
            };
        };
        match slabs.insert(shape, start, memory, size) {
            Ok((number, suballocation)) => {
                let memory = slabs.parent(number)?;
                heaps.note_slab(memory.id, SlabPlace { lane: self.number, number });
                let heap = &memory.heap;
                Some(Slot { id: suballocation.id, range: suballocation.range, heap })
            }
            Err(memory) => {
                // There are as many slabs as can be numbered. The heap has others in it, or is the owner's to take.
                let freed = heaps.free(memory.id);
                debug_assert!(freed.is_ok());
                None
            }
        }
    }

    /// Gives the memory of slabs without a used slot to the heaps; whether there were any. O(1) for each.
    #[cold]
    pub(super) fn give_up_empty(&mut self, heaps: &mut HeapSet<H>) -> bool {
        self.slabs.as_mut().is_some_and(|slabs| give_up_empty(slabs, heaps))
    }

    /// What the next slab of the class should be.
    pub(super) fn shape(&mut self, class: SizeClass) -> SlabShape {
        self.slabs.get_or_insert_default().shape(class)
    }

    /// Takes a slot back and answers its range. O(1).
    #[inline]
    pub(super) fn free(&mut self, id: SuballocationId) -> Result<HeapRange, PlacementError> {
        let slabs = self.slabs.as_mut().ok_or(SuballocError::StaleId { id })?;
        Ok(slabs.free(id)?)
    }

    /// The memory of a slab without a used slot, if there are more of them than are worth keeping.
    #[inline]
    pub(super) fn take_surplus(&mut self) -> Option<PlacementId> {
        self.slabs.as_mut()?.take_surplus().map(|memory| memory.id)
    }

    /// The memory of a slab without a used slot.
    pub(super) fn take_empty(&mut self) -> Option<PlacementId> {
        self.slabs.as_mut()?.take_empty().map(|memory| memory.id)
    }

    /// What the slabs hold.
    pub(super) fn slab_totals(&self) -> SlabTotals {
        self.slabs.as_ref().map(|slabs| slabs.totals()).unwrap_or_default()
    }

    /// Checks the slabs themselves. O(slots).
    pub(super) fn audit(&self) -> Result<(), AuditError> {
        self.slabs.as_ref().map_or(Ok(()), |slabs| slabs.audit()).map_err(AuditError::new)
    }
}

fn give_up_empty<H>(slabs: &mut SlabTable<SlabMemory<H>>, heaps: &mut HeapSet<H>) -> bool {
    let mut any = false;
    while let Some(memory) = slabs.take_empty() {
        let freed = heaps.free_and_keep(memory.id);
        debug_assert!(freed.is_ok(), "a slab's memory is freed once");
        any = true;
    }
    any
}

/// Corrects the totals of a set by what is different for slabs in it: what they hold is used, and not the slabs.
pub(super) fn correct(totals: &mut HeapSetTotals, slabs: SlabTotals) {
    let used = totals.used.get().saturating_sub(slabs.slab_bytes) + slabs.used;
    totals.used = ByteSize::new(used);
    totals.allocation_count =
        totals.allocation_count.saturating_sub(slabs.slab_count) + slabs.allocation_count;
}
