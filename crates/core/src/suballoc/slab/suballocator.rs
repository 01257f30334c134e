//! The slab suballocator over the free ranges of one heap.

use std::fmt;

use super::super::suballocator::suballocator_by_methods;
use super::super::{AuditError, RangeUse, SuballocError, Suballocation, SuballocationId, Tlsf};
use super::class::SizeClass;
use super::table::{SlabShape, SlabTable};
use crate::{Alignment, ByteSize, HeapRange};

/// A suballocator with slots of slabs for small sizes, and good-fit ranges for large sizes.
///
/// It is the fastest of the algorithms if there are many small, short-lived suballocations. The [module
/// page](super) describes the algorithm.
///
/// | call | cost |
/// |---|---|
/// | [`allocate`](Self::allocate), [`free`](Self::free) | O(1); the tables grow by doubling |
/// | counts, sizes, [`largest_free_range`](Self::largest_free_range) | O(1) |
/// | [`ranges`](Self::ranges) | O(1) per step |
/// | [`clear`](Self::clear), [`audit`](Self::audit) | O(slabs); O(n log n) for n ranges |
///
/// # Examples
///
/// ```
/// use heapwright_core::suballoc::Slabs;
/// use heapwright_core::{Alignment, ByteSize};
///
/// let mut heap = Slabs::new(ByteSize::from_mib(64))?;
/// let constants = Alignment::new(256).unwrap();
/// let a = heap.allocate(ByteSize::new(640), constants)?;
/// let b = heap.allocate(ByteSize::new(700), constants)?;
/// // Both have a slot of 768 bytes, in one slab.
/// assert_eq!(b.range.start().get() - a.range.start().get(), 768);
/// heap.free(a.id)?;
/// assert_eq!(heap.allocate(ByteSize::new(768), constants)?.range.start(), a.range.start());
/// # Ok::<(), heapwright_core::suballoc::SuballocError>(())
/// ```
pub struct Slabs {
    pub(super) tlsf: Tlsf,
    pub(super) table: SlabTable<SuballocationId>,
    /// For each slot of a suballocation of `tlsf`, the slab whose memory it is, counted from one, or zero.
    pub(super) slab_in: Vec<u32>,
}

impl Slabs {
    /// The largest size that gets a slot, 64 KiB, at an alignment up to the same value.
    pub const MAX_SLOT_SIZE: ByteSize = ByteSize::new(SizeClass::MAX_SIZE);

    /// Creates a suballocator for the offsets from zero to `capacity`, all free.
    ///
    /// # Errors
    ///
    /// Returns [`SuballocError::CapacityOutOfBounds`] if `capacity` is zero or exceeds
    /// [`Tlsf::MAX_CAPACITY`].
    pub fn new(capacity: ByteSize) -> Result<Self, SuballocError> {
        // With fewer than 2^31 slots, one bit of the id can mark a slot of a slab.
        let tlsf = Tlsf::with_range_limit(capacity, (1 << 31) - 4096)?;
        Ok(Self { tlsf, table: SlabTable::default(), slab_in: Vec::new() })
    }

    /// Allocates `size` bytes at a multiple of `alignment`. O(1).
    ///
    /// A size that is at most [`MAX_SLOT_SIZE`](Self::MAX_SLOT_SIZE) when rounded up to the alignment gets a
    /// slot of its class, in an existing slab or in a new one. If a new slab does not fit, these are tried in
    /// order:
    ///
    /// 1. a slab with fewer slots;
    /// 2. a free range for this request alone;
    /// 3. the new slab and steps 1 and 2 again, after all slabs without a used slot are released;
    /// 4. a free slot of a larger class, less than twice as large.
    ///
    /// The request therefore succeeds wherever [`Tlsf::allocate`] is certain to find a range outside of the
    /// slabs that have used slots.
    ///
    /// # Errors
    ///
    /// On error, the used and free ranges are unchanged.
    ///
    /// - [`SuballocError::OutOfSpace`]: no free slot of the class and no free range was found.
    /// - [`SuballocError::LargerThanCapacity`], [`SuballocError::ZeroSize`]: this request can never succeed.
    /// - [`SuballocError::TooManyRanges`]: the limit of about two thousand million ranges is reached.
    #[inline]
    pub fn allocate(&mut self, size: ByteSize, alignment: Alignment) -> Result<Suballocation, SuballocError> {
        let class = SizeClass::of(size, alignment);
        if let Some(class) = class {
            if let Some((suballocation, _)) = self.table.allocate(class, size) {
                return Ok(suballocation);
            }
        }
        self.allocate_range(class, size, alignment)
    }

    /// The slow path of [`allocate`](Self::allocate), if no slot is free.
    #[cold]
    fn allocate_range(
        &mut self,
        class: Option<SizeClass>,
        size: ByteSize,
        alignment: Alignment,
    ) -> Result<Suballocation, SuballocError> {
        loop {
            if let Some(suballocation) = class.and_then(|class| self.allocate_in_new_slab(class, size)) {
                return Ok(suballocation);
            }
            match self.tlsf.allocate(size, alignment) {
                Err(SuballocError::OutOfSpace { .. }) if self.give_up_empty_slabs() => {}
                Err(SuballocError::OutOfSpace { requested, alignment, .. }) => {
                    if let Some(class) = class.and_then(|class| self.table.larger_class_with_room(class)) {
                        if class.slot_alignment() >= alignment {
                            if let Some((suballocation, _)) = self.table.allocate(class, size) {
                                return Ok(suballocation);
                            }
                        }
                    }
                    let (free, largest_free) = (self.free_size(), self.largest_free_range());
                    return Err(SuballocError::OutOfSpace { requested, alignment, free, largest_free });
                }
                answer => return answer,
            }
        }
    }

    /// Adds a slab to the class, of the preferred size or the largest that fits, and allocates a slot of it.
    fn allocate_in_new_slab(&mut self, class: SizeClass, size: ByteSize) -> Option<Suballocation> {
        let mut wanted = Some(self.table.shape(class));
        while let Some(shape) = wanted {
            if let Ok(memory) = self.tlsf.allocate(shape.bytes(), shape.alignment()) {
                return self.insert_slab(shape, memory, size);
            }
            // The free range may be large enough but misaligned.
            let halved = shape.halved();
            wanted = halved.and_then(|halved| halved.within(self.tlsf.largest_free_range()));
        }
        None
    }

    fn insert_slab(
        &mut self,
        shape: SlabShape,
        memory: Suballocation,
        size: ByteSize,
    ) -> Option<Suballocation> {
        match self.table.insert(shape, memory.range.start(), memory.id, size) {
            Ok((number, suballocation)) => {
                let at = slot_position(memory.id);
                if at >= self.slab_in.len() {
                    self.slab_in.resize(at + 1, 0);
                }
                self.slab_in[at] = number + 1;
                Some(suballocation)
            }
            Err(memory) => {
                // The limit on the number of slabs is reached.
                let freed = self.tlsf.free(memory);
                debug_assert!(freed.is_ok());
                None
            }
        }
    }

    /// Releases the memory of all slabs without a used slot. Returns whether there were any.
    fn give_up_empty_slabs(&mut self) -> bool {
        let mut any = false;
        while let Some(memory) = self.table.take_empty() {
            self.give_back(memory);
            any = true;
        }
        any
    }

    fn give_back(&mut self, memory: SuballocationId) {
        self.slab_in[slot_position(memory)] = 0;
        let freed = self.tlsf.free(memory);
        debug_assert!(freed.is_ok(), "slab memory is freed exactly once");
    }

    /// Frees a suballocation and returns its range. O(1).
    ///
    /// A slab without used slots is kept for later requests of its class while all such slabs together are at
    /// most a quarter of the other slabs, or 64 KiB. Beyond that, the empty slab with the smallest slots is
    /// released and its memory becomes a free range.
    ///
    /// # Errors
    ///
    /// Returns [`SuballocError::StaleId`] if the suballocation was freed before, or the id is not from this
    /// suballocator.
    #[inline]
    pub fn free(&mut self, id: SuballocationId) -> Result<HeapRange, SuballocError> {
        if SlabTable::<SuballocationId>::is_slot(id) {
            let range = self.table.free(id)?;
            while let Some(memory) = self.table.take_surplus() {
                self.give_back(memory);
            }
            return Ok(range);
        }
        if self.slab_of(id).is_some() {
            return Err(SuballocError::StaleId { id });
        }
        let range = self.tlsf.free(id)?;
        Ok(range)
    }

    /// Returns the slab whose memory a suballocation of the heap is.
    fn slab_of(&self, id: SuballocationId) -> Option<u32> {
        self.slab_in.get(slot_position(id)).and_then(|number| number.checked_sub(1))
    }

    /// Returns the range of a live suballocation. O(1).
    ///
    /// # Errors
    ///
    /// Returns [`SuballocError::StaleId`] if it was freed, or the id is not from this suballocator.
    pub fn range_of(&self, id: SuballocationId) -> Result<HeapRange, SuballocError> {
        if SlabTable::<SuballocationId>::is_slot(id) {
            Ok(self.table.get(id)?.0)
        } else if self.slab_of(id).is_some() {
            Err(SuballocError::StaleId { id })
        } else {
            self.tlsf.range_of(id)
        }
    }

    /// Frees everything at once. Ids of live suballocations become stale. O(slabs).
    pub fn clear(&mut self) {
        self.table.clear();
        self.tlsf.clear();
        self.slab_in.clear();
    }

    /// Returns the size of the managed range. O(1).
    #[must_use]
    pub const fn capacity(&self) -> ByteSize {
        self.tlsf.capacity()
    }

    /// Returns the sum of the requested sizes, without the padding of slots. O(1).
    #[must_use]
    pub fn used(&self) -> ByteSize {
        let totals = self.table.totals();
        ByteSize::new(self.tlsf.used().get() - totals.slab_bytes + totals.used)
    }

    /// Returns the total size of free ranges and free slots. O(1).
    #[must_use]
    pub fn free_size(&self) -> ByteSize {
        let totals = self.table.totals();
        ByteSize::new(self.tlsf.free_size().get() + totals.slab_bytes - totals.used_slot_bytes)
    }

    /// Returns the number of live suballocations. O(1).
    #[must_use]
    pub fn allocation_count(&self) -> u64 {
        let totals = self.table.totals();
        self.tlsf.allocation_count() - totals.slab_count + totals.allocation_count
    }

    /// Returns whether there are no live suballocations. O(1).
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.allocation_count() == 0
    }

    /// Returns the size of a large free range, or of the largest free slot if that is larger. O(1).
    ///
    /// The value is a lower bound: see [`Tlsf::largest_free_range`]; in addition, releasing slabs without a
    /// used slot may make room for more. A request of this size at alignment 1 succeeds.
    #[must_use]
    pub fn largest_free_range(&self) -> ByteSize {
        self.tlsf.largest_free_range().max(ByteSize::new(self.table.largest_free_slot()))
    }

    /// Returns an iterator over all ranges in address order. O(1) per step.
    ///
    /// Each free slot is a free range of its own, because it holds one suballocation at most. The part of a
    /// slot beyond the requested size is padding.
    pub fn ranges(&self) -> impl Iterator<Item = RangeUse> + '_ {
        self.tlsf.ranges().flat_map(|range_use| {
            let slab = match range_use {
                RangeUse::Used(suballocation) => self.slab_of(suballocation.id),
                RangeUse::Free(_) | RangeUse::Padding(_) => None,
            };
            let itself = slab.is_none().then_some(range_use);
            slab.into_iter().flat_map(|number| self.table.slots(number)).chain(itself)
        })
    }

    /// Checks every invariant of the [module page](super). O(n log n) for n ranges; for tests.
    ///
    /// # Errors
    ///
    /// Returns an [`AuditError`] with the first violated invariant, a defect in this crate.
    pub fn audit(&self) -> Result<(), AuditError> {
        self.tlsf.audit()?;
        super::audit::audit(self).map_err(AuditError::new)
    }
}

suballocator_by_methods!(Slabs);

impl fmt::Debug for Slabs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slabs")
            .field("capacity", &self.capacity())
            .field("used", &self.used())
            .field("allocation_count", &self.allocation_count())
            .field("slab_count", &self.table.totals().slab_count)
            .field("largest_free_range", &self.largest_free_range())
            .finish_non_exhaustive()
    }
}

#[inline]
fn slot_position(id: SuballocationId) -> usize {
    super::slabs::position(id.slot().get())
}
