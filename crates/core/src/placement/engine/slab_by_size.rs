//! GPGMM's slab allocator: heaps of blocks of one size.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

use super::locked::{HeapTable, InUse, LockedEngine};
use super::{EmptyHeaps, PlacementAlgorithm, PlacementRequest, SizeCacheCounts, SlabSizing};
use crate::placement::heap_set::PlacementId;
use crate::placement::shared_heap_set::SurveyedRanges;
use crate::placement::{
    HeapSetTotals, HeapSurvey, PlacementError, SharedPlaced, SharedPlacementId, SurveyedRange,
};
use crate::suballoc::{AuditError, Stamp, SuballocError, SuballocationId};
use crate::{ByteSize, HeapOffset, HeapRange};

/// A set of slabs for each distinct block size; a slab is a heap.
///
/// A block is what is left of a request once it is rounded up to its alignment. Requests of different block sizes never share
/// a heap. What the algorithm wastes is what requests are smaller than their blocks, the blocks not in use, and the *tail* of
/// each heap: the bytes behind its last whole block, as heaps are powers of two ([`SlabSizing`]). All of it is in what is
/// reserved and not in what is used.
///
/// Of the slabs of a size that have room, that with the lowest number is taken, so that the others become empty; in it, the
/// block that was freed last, or else the first that was never used.
///
/// O(log n) for n sizes, heaps or slabs of a size, whichever is most. Memory is O(sizes + heaps), and 16 bytes for each block
/// that was ever used: with one block live of each of 1,000 sizes it is 521 bytes a size (2026-11-21).
#[derive(Debug)]
pub(super) struct SlabBySize<H> {
    sizing: SlabSizing,
    sizes: BTreeMap<ByteSize, BlockSize>,
    slabs: HeapTable<Slab<H>>,
    empty: EmptyHeaps<H>,
    in_use: InUse,
    next_stamp: Stamp,
    size_cache: SizeCacheCounts,
}

/// What is known of a block size. It is forgotten with its last slab, unless it is to be remembered.
#[derive(Debug, Default)]
struct BlockSize {
    is_remembered: bool,
    /// What the rule of sizes gave for the last slab.
    last_heap_size: Option<ByteSize>,
    /// Slabs with a free block.
    with_room: BTreeSet<u32>,
    /// How many slabs have none, by the size of their heap.
    full: BTreeMap<ByteSize, u64>,
}

#[derive(Debug)]
struct Slab<H> {
    heap: H,
    heap_size: ByteSize,
    block_size: ByteSize,
    /// How many blocks the heap holds.
    block_count: u32,
    live: u32,
    /// Those that were ever used, from the lowest.
    blocks: Vec<Block>,
    /// The block that was freed last.
    first_free: Option<u32>,
}

#[derive(Debug, Clone, Copy)]
enum Block {
    Live {
        stamp: Stamp,
        /// Of the request.
        size: ByteSize,
    },
    Free {
        next: Option<u32>,
    },
}

const _: () = assert!(size_of::<Block>() == 16);

impl<H> Slab<H> {
    fn has_room(&self) -> bool {
        self.live < self.block_count
    }

    /// Uses a free block, and answers its number.
    fn take(&mut self, stamp: Stamp, size: ByteSize) -> Option<u32> {
        let block = Block::Live { stamp, size };
        let number = match self.first_free {
            Some(number) => {
                let Block::Free { next } = std::mem::replace(&mut self.blocks[number as usize], block) else {
                    return None;
                };
                self.first_free = next;
                number
            }
            None => {
                let number = u32::try_from(self.blocks.len()).ok().filter(|&n| n < self.block_count)?;
                self.blocks.push(block);
                number
            }
        };
        self.live += 1;
        Some(number)
    }

    /// Takes a block back, and answers the size of its request; `None` when it is not live.
    fn put_back(&mut self, number: u32, id: Stamp) -> Option<ByteSize> {
        let block = self.blocks.get_mut(number as usize)?;
        let Block::Live { stamp, size } = *block else { return None };
        if stamp != id {
            return None;
        }
        *block = Block::Free { next: self.first_free };
        self.first_free = Some(number);
        self.live -= 1;
        Some(size)
    }
}

impl<H: Clone> SlabBySize<H> {
    pub(super) fn new(sizing: SlabSizing) -> Self {
        Self {
            sizing,
            sizes: BTreeMap::new(),
            slabs: HeapTable::default(),
            empty: EmptyHeaps::default(),
            in_use: InUse::default(),
            next_stamp: Stamp::FIRST,
            size_cache: SizeCacheCounts::default(),
        }
    }

    /// The block of a request, if it is sound.
    fn block_size(request: &PlacementRequest) -> Result<ByteSize, PlacementError> {
        let PlacementRequest { size, alignment, .. } = *request;
        if size.is_zero() {
            return Err(SuballocError::ZeroSize.into());
        }
        if request.upper {
            return Err(PlacementError::NoUpperEnd { algorithm: PlacementAlgorithm::SlabBySize });
        }
        SlabSizing::block_size(size, alignment).ok_or(PlacementError::TooLarge { requested: size })
    }

    /// Uses a block of a slab that has room.
    fn allocate_in(&mut self, number: u32, size: ByteSize) -> Option<SharedPlaced<H>> {
        let slab = self.slabs.get_mut(number)?;
        let stamp = self.next_stamp;
        let block = slab.take(stamp, size)?;
        if !slab.has_room() {
            if let Some(known) = self.sizes.get_mut(&slab.block_size) {
                known.with_room.remove(&number);
                *known.full.entry(slab.heap_size).or_default() += 1;
            }
        }
        self.next_stamp = stamp.next();
        self.in_use.allocated(size);
        let start = HeapOffset::new(u64::from(block) * slab.block_size.get());
        let suballocation = SuballocationId::new(NonZeroU32::MIN.saturating_add(block), stamp);
        Some(SharedPlaced {
            id: SharedPlacementId(PlacementId::new(number, suballocation)),
            range: HeapRange::new(start, size)?,
            heap: slab.heap.clone(),
        })
    }

    /// Makes a slab of a heap that holds the block, and uses its first.
    fn allocate_in_fresh(
        &mut self,
        (heap_size, heap): (ByteSize, H),
        block_size: ByteSize,
        request: &PlacementRequest,
    ) -> Result<Option<SharedPlaced<H>>, PlacementError> {
        let number = self.slabs.next_number()?;
        let by_rule = self.heap_size(request).ok();
        let known = self.sizes.entry(block_size).or_default();
        known.is_remembered |= request.cache_size;
        known.last_heap_size = by_rule.or(known.last_heap_size);
        known.with_room.insert(number);
        let fits = if self.sizing.is_one_per_heap() { 1 } else { heap_size.get() / block_size.get() };
        // The number of a block and one more has 31 bits, which is what ids have for it.
        let block_count = u32::try_from(fits).unwrap_or(u32::MAX).min(MAX_BLOCKS);
        let (blocks, first_free) = (Vec::new(), None);
        self.slabs.insert(Slab { heap, heap_size, block_size, block_count, live: 0, blocks, first_free });
        self.in_use.reserved = self.in_use.reserved.saturating_add(heap_size);
        Ok(self.allocate_in(number, request.size))
    }

    /// The size of the empty heap to make a slab of, rather than a new one: that which the rule gives or the next larger one; if
    /// all are smaller, the largest that holds the block.
    fn empty_for(&self, block_size: ByteSize, by_rule: ByteSize) -> Option<ByteSize> {
        let or_smaller = || self.empty.largest().filter(|&size| size >= block_size);
        self.empty.smallest_from(by_rule).or_else(or_smaller)
    }

    fn take_empty(&mut self, block_size: ByteSize, by_rule: ByteSize) -> Option<(ByteSize, H)> {
        let size = self.empty_for(block_size, by_rule)?;
        Some((size, self.empty.take(size)?))
    }
}

/// A heap for fewer blocks is not fetched in advance, nor a larger one than this: GPGMM's rule.
const MIN_BLOCKS_TO_FETCH: u64 = 4;
const MAX_FETCHED: ByteSize = ByteSize::from_mib(64);

const MAX_BLOCKS: u32 = (1 << 31) - 2;

impl<H: Clone> LockedEngine<H> for SlabBySize<H> {
    fn allocate(&mut self, request: &PlacementRequest) -> Result<Option<SharedPlaced<H>>, PlacementError> {
        let block_size = Self::block_size(request)?;
        match self.sizes.get_mut(&block_size) {
            Some(known) => {
                self.size_cache.hits += 1;
                known.is_remembered |= request.cache_size;
                if let Some(&number) = known.with_room.first() {
                    return Ok(self.allocate_in(number, request.size));
                }
            }
            None => {
                self.size_cache.misses += 1;
                if request.cache_size {
                    self.remember_size(request);
                }
            }
        }
        let by_rule = self.heap_size(request)?;
        self.slabs.next_number()?;
        match self.take_empty(block_size, by_rule) {
            Some(heap) => self.allocate_in_fresh(heap, block_size, request),
            None => Ok(None),
        }
    }

    fn heap_size(&self, request: &PlacementRequest) -> Result<ByteSize, PlacementError> {
        let PlacementRequest { size, rounding, alignment, .. } = *request;
        let known = self.sizes.get(&Self::block_size(request)?);
        let last = known.and_then(|known| known.last_heap_size);
        let full_of = |heap_size| known.and_then(|known| known.full.get(&heap_size)).copied().unwrap_or(0);
        let heap_size = self.sizing.next_heap_size(size.saturating_sub(rounding), alignment, last, full_of);
        heap_size.ok_or(PlacementError::NeedsOwnHeap { requested: size, largest: self.sizing.largest() })
    }

    fn allocate_in_new(
        &mut self,
        heap_size: ByteSize,
        heap: H,
        request: &PlacementRequest,
    ) -> Result<SharedPlaced<H>, PlacementError> {
        let too_large = PlacementError::TooLarge { requested: request.size };
        let refused = match Self::block_size(request) {
            Ok(block_size) if block_size <= heap_size => {
                return self.allocate_in_fresh((heap_size, heap), block_size, request)?.ok_or(too_large);
            }
            Ok(_) => too_large,
            Err(refused) => refused,
        };
        self.empty.insert(heap_size, heap);
        Err(refused)
    }

    fn free(&mut self, id: PlacementId) -> Result<Option<H>, PlacementError> {
        let number = id.heap();
        let suballocation = id.suballocation();
        let slab = self.slabs.get_mut(number).ok_or(PlacementError::UnknownHeap)?;
        let had_room = slab.has_room();
        let block = suballocation.slot().get() - 1;
        let size = slab
            .put_back(block, suballocation.stamp())
            .ok_or(SuballocError::StaleId { id: suballocation })?;
        self.in_use.freed(size);
        let (block_size, heap_size, is_empty) = (slab.block_size, slab.heap_size, slab.live == 0);
        let Some(known) = self.sizes.get_mut(&block_size) else { return Ok(None) };
        if !had_room {
            known.with_room.insert(number);
            if let Some(full) = known.full.get_mut(&heap_size) {
                *full -= 1;
                if *full == 0 {
                    known.full.remove(&heap_size);
                }
            }
        }
        if !is_empty {
            return Ok(None);
        }
        known.with_room.remove(&number);
        if known.with_room.is_empty() && known.full.is_empty() && !known.is_remembered {
            self.sizes.remove(&block_size);
        }
        self.in_use.reserved = self.in_use.reserved.saturating_sub(heap_size);
        Ok(self.slabs.remove(number).map(|slab| slab.heap))
    }

    fn has_room(&self, request: &PlacementRequest) -> Result<bool, PlacementError> {
        let block_size = Self::block_size(request)?;
        if self.sizes.get(&block_size).is_some_and(|known| !known.with_room.is_empty()) {
            return Ok(true);
        }
        let by_rule = self.heap_size(request)?;
        self.slabs.next_number()?;
        Ok(self.empty_for(block_size, by_rule).is_some())
    }

    fn survey(&self) -> Vec<HeapSurvey<H>> {
        self.slabs.iter().map(|(number, slab)| slab.survey(number)).collect()
    }

    fn empties(&self) -> &EmptyHeaps<H> {
        &self.empty
    }

    fn empty_heaps(&mut self) -> &mut EmptyHeaps<H> {
        &mut self.empty
    }

    fn largest_heap(&self) -> ByteSize {
        ByteSize::new(1 << 63)
    }

    fn totals(&self) -> HeapSetTotals {
        self.in_use.totals(self.slabs.count(), &self.empty)
    }

    fn audit(&self) -> Result<(), AuditError> {
        self.empty.audit()?;
        self.slabs.audit()?;
        let mut counted = InUse::default();
        let mut sizes: BTreeMap<ByteSize, BlockSize> = BTreeMap::new();
        for (number, slab) in self.slabs.iter() {
            counted.reserved = counted.reserved.saturating_add(slab.heap_size);
            let used = slab.audit(number, self.next_stamp)?;
            counted.used = counted.used.saturating_add(used);
            counted.allocation_count += u64::from(slab.live);
            let size = sizes.entry(slab.block_size).or_default();
            if slab.has_room() {
                size.with_room.insert(number);
            } else {
                *size.full.entry(slab.heap_size).or_default() += 1;
            }
        }
        for (block_size, known) in &self.sizes {
            let counted = sizes.remove(block_size).unwrap_or_default();
            if (&counted.with_room, &counted.full) != (&known.with_room, &known.full) {
                return Err(AuditError::new(format!("blocks of {block_size}: {counted:?}, noted {known:?}")));
            }
            if counted.with_room.is_empty() && counted.full.is_empty() && !known.is_remembered {
                return Err(AuditError::new(format!("blocks of {block_size} are known, and there are none")));
            }
        }
        if let Some((block_size, _)) = sizes.first_key_value() {
            return Err(AuditError::new(format!("there are blocks of {block_size}, which are not known")));
        }
        counted.agrees_with(&self.in_use)
    }

    fn next_heap(&self, request: &PlacementRequest) -> Option<ByteSize> {
        let PlacementRequest { size, rounding, alignment, .. } = *request;
        let block_size = Self::block_size(request).ok()?;
        let known = self.sizes.get(&block_size)?;
        // What is filled up before the next heap is wanted.
        let last = known.with_room.first().and_then(|&number| self.slabs.get(number));
        if known.with_room.len() > 1 || last.is_some_and(|slab| slab.live < slab.block_count.div_ceil(2)) {
            return None;
        }
        let will_be_full = |heap_size| u64::from(last.is_some_and(|slab| slab.heap_size == heap_size));
        let full_of = |heap_size| known.full.get(&heap_size).copied().unwrap_or(0) + will_be_full(heap_size);
        let asked = size.saturating_sub(rounding);
        let next = self.sizing.next_heap_size(asked, alignment, known.last_heap_size, full_of)?;
        let is_worth_it = next.get() / block_size.get() >= MIN_BLOCKS_TO_FETCH && next <= MAX_FETCHED;
        (is_worth_it && self.empty.smallest_from(next).is_none()).then_some(next)
    }

    fn remember_size(&mut self, request: &PlacementRequest) {
        if let Ok(block_size) = Self::block_size(request) {
            self.sizes.entry(block_size).or_default().is_remembered = true;
        }
    }

    fn size_cache(&self) -> SizeCacheCounts {
        self.size_cache
    }
}

impl<H> Slab<H> {
    /// Checks the blocks, and answers the bytes of live ones.
    fn audit(&self, slab: u32, next_stamp: Stamp) -> Result<ByteSize, AuditError> {
        let broken = |what: String| Err(AuditError::new(format!("slab {slab}: {what}")));
        let (mut live, mut used) = (0, ByteSize::ZERO);
        for block in &self.blocks {
            if let Block::Live { stamp, size } = *block {
                if stamp >= next_stamp || size > self.block_size {
                    return broken(format!("{block:?} in blocks of {}", self.block_size));
                }
                (live, used) = (live + 1, used.saturating_add(size));
            }
        }
        let (mut free, mut next) = (0, self.first_free);
        while let Some(number) = next {
            match self.blocks.get(number as usize) {
                Some(Block::Free { next: after }) if free < self.blocks.len() => next = *after,
                other => return broken(format!("{other:?} is in the list of free blocks")),
            }
            free += 1;
        }
        let end = u64::from(self.block_count).checked_mul(self.block_size.get());
        if live == 0
            || live != self.live
            || free + self.live as usize != self.blocks.len()
            || self.blocks.len() > self.block_count as usize
            || end.is_none_or(|end| end > self.heap_size.get())
        {
            return broken(format!(
                "{live} live and {free} free, noted {} of {}",
                self.live, self.block_count
            ));
        }
        Ok(used)
    }
}

impl<H: Clone> Slab<H> {
    fn survey(&self, number: u32) -> HeapSurvey<H> {
        let mut ranges = SurveyedRanges::with_capacity(2 * self.live as usize + 2);
        for (block, at) in self.blocks.iter().zip(0_u32..) {
            let start = HeapOffset::new(u64::from(at) * self.block_size.get());
            if let Block::Live { stamp, size } = *block {
                if let Some(range) = HeapRange::new(start, size) {
                    let id = SuballocationId::new(NonZeroU32::MIN.saturating_add(at), stamp);
                    let id = SharedPlacementId(PlacementId::new(number, id));
                    ranges.push_used(id, range, SurveyedRange::InSlab);
                }
            }
        }
        let end = HeapOffset::new(u64::from(self.block_count) * self.block_size.get());
        ranges.fill_to(end, SurveyedRange::InSlab);
        ranges.into_heap(self.heap.clone(), self.heap_size, SurveyedRange::Padding)
    }
}
