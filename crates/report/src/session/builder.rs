//! Follows the records of a session.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use heapwright::report::AllocationKind;
use heapwright_trace::session::{Action, Allocation, Heap, Record, ResourceKind, TILE_SIZE};

use super::budget::GroupCounters;
use super::free_space::{FreeBytes, FreeSpace};
use super::history::{Block, HeapLife, Paging, PagingEvent, SessionHistory, Submission};

/// Builds a [`SessionHistory`] from records in order of time.
///
/// Records about objects that do not exist are counted and otherwise ignored.
#[derive(Debug, Default)]
pub struct HistoryBuilder {
    history: SessionHistory,
    /// Time of the last record.
    time_us: u64,
    /// Index of the current block of each live allocation, by id.
    allocations: HashMap<u64, u32>,
    /// Index of each live heap, by id.
    heaps: HashMap<u64, u32>,
    /// Free ranges of the live heaps, by index.
    spaces: HashMap<u32, FreeSpace>,
    /// Number of the last submission that used each heap, by the heap's index.
    used_by: Vec<u32>,
    /// Pools, by id: the index in the history and 1.
    pools: HashMap<u64, u32>,
    /// Reserved resources, by id.
    reserved: HashMap<u64, Reserved>,
    /// Residency sets, by id.
    sets: HashMap<u64, ResidencySet>,
    /// Sum of the lengths of the sets of all submissions, of which each counts once in a submission.
    uses: usize,
    counters: GroupCounters,
    /// Whether each heap is evicted, by its index.
    is_evicted: Vec<bool>,
    /// Sum over `spaces`.
    free: FreeBytes,
}

/// D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET and D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL.
const TARGETS: u32 = 0x1 | 0x2;

#[derive(Debug, Default)]
struct ResidencySet {
    /// Indexes of the heaps that existed when the set was defined, each once.
    heaps: Vec<u32>,
    /// Number of the last submission that named the set, from 1 on.
    submission: u32,
}

#[derive(Debug)]
struct Reserved {
    kind: AllocationKind,
    name: Box<str>,
    /// The end and the block of the mapped tiles that begin with each of these.
    mapped: BTreeMap<u32, (u32, u32)>,
}

/// Error of a history that is too long: a number exceeds its limit, which bounds the memory for malicious files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the session has more than {limit} {what}, which is the most that a page can show")]
pub struct HistoryError {
    what: &'static str,
    limit: usize,
}

impl HistoryBuilder {
    /// Maximum number of moments, of heaps, and of blocks: 2^22.
    pub const MAX_COUNT: usize = 1 << 22;

    /// Maximum number of uses of heaps by submissions, which bounds the time: 2^31. A residency set that a submission
    /// names several times counts once.
    pub const MAX_USES: usize = 1 << 31;

    /// Creates a builder of an empty history.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Follows a record.
    ///
    /// # Errors
    ///
    /// Returns an error if the history exceeds [`MAX_COUNT`](Self::MAX_COUNT).
    pub fn push(&mut self, record: &Record) -> Result<(), HistoryError> {
        let is_later = record.time_us > self.time_us;
        if is_later || !matches!(record.action, Action::Count { .. }) {
            self.settle_counters();
        }
        self.set_time(record.time_us);
        match &record.action {
            Action::Allocate(allocation) => self.allocate(allocation),
            &Action::Free { allocation } => self.free(allocation),
            Action::CreateHeap(heap) => self.create_heap(heap),
            &Action::DestroyHeap { heap } => {
                self.destroy_heap(heap);
                Ok(())
            }
            &Action::Place { allocation, heap, offset } => self.place(allocation, heap, offset, None),
            Action::DefineSet { set, heaps } => self.define_set(*set, heaps),
            Action::Submit { queue, sets, .. } => self.submit(*queue, sets),
            &Action::Evict { heap } => self.page(heap, Paging::Evict),
            &Action::MakeResident { heap } => self.page(heap, Paging::MakeResident),
            &Action::Count { counter, value } => {
                self.counters.count(counter, value);
                Ok(())
            }
            Action::Name { allocation, name } => {
                self.name(*allocation, name);
                Ok(())
            }
            Action::Describe(description) => {
                self.change(description.allocation, |block| {
                    block.placement = description.placement;
                    if description.sample_count > 1 {
                        block.kind = AllocationKind::Multisampled;
                    }
                });
                Ok(())
            }
            &Action::Reason { allocation, reason } => {
                self.change(allocation, |block| block.reason = Some(reason));
                Ok(())
            }
            &Action::CreatePool { pool, .. } => self.create_pool(pool),
            &Action::UsePool { allocation, pool } => {
                let pool = self.pools.get(&pool).copied().unwrap_or(0);
                self.change(allocation, |block| block.pool = pool);
                Ok(())
            }
            Action::Reserve { resource, kind, name, tiles: _ } => {
                check_count("reserved resources", self.reserved.len())?;
                let name = name.clone().unwrap_or_else(|| format!("reserved resource {resource}").into());
                let reserved = Reserved { kind: kind_of(*kind, 0), name, mapped: BTreeMap::new() };
                self.reserved.insert(*resource, reserved);
                self.history.reserved_resource_count += 1;
                Ok(())
            }
            &Action::MapTiles { resource, first, count, memory } => {
                self.map_tiles(resource, first..first.saturating_add(count), memory)
            }
            &Action::Unreserve { resource } => {
                self.map_tiles(resource, 0..u32::MAX, None)?;
                self.reserved.remove(&resource);
                Ok(())
            }
            // Contents, addresses and options do not change what the page shows.
            _ => Ok(()),
        }
    }

    /// Sets the time of the next calls. Time does not go back.
    pub fn set_time(&mut self, time_us: u64) {
        self.time_us = self.time_us.max(time_us);
    }

    /// Creates an allocation outside of all heaps.
    ///
    /// # Errors
    ///
    /// As [`push`](Self::push).
    pub fn allocate(&mut self, allocation: &Allocation) -> Result<(), HistoryError> {
        let &Allocation { id, size, kind, heap_type, flags, .. } = allocation;
        let block = Block {
            id,
            requested: size,
            size,
            heap: None,
            offset: 0,
            start: self.next_moment(),
            end: u32::MAX,
            kind: kind_of(kind, flags),
            heap_type,
            pool: 0,
            placement: None,
            reason: None,
            name: allocation.name.clone().unwrap_or_default(),
        };
        let index = self.add_block(block)?;
        self.history.allocation_count += 1;
        if let Some(other) = self.allocations.insert(id, index) {
            self.end_block(other);
            self.history.unknown_references += 1;
        }
        self.add_moment()
    }

    /// Places an allocation in a heap. `size` is the size of its range, if it is known. A second call moves the
    /// allocation.
    ///
    /// # Errors
    ///
    /// As [`push`](Self::push).
    pub fn place(
        &mut self,
        allocation: u64,
        heap: u64,
        offset: u64,
        size: Option<u64>,
    ) -> Result<(), HistoryError> {
        let (Some(&index), Some(&heap)) = (self.allocations.get(&allocation), self.heaps.get(&heap)) else {
            self.history.unknown_references += 1;
            return Ok(());
        };
        let place = |block: &mut Block| {
            (block.heap, block.offset, block.size) = (Some(heap), offset, size.unwrap_or(block.requested));
        };
        let block = &mut self.history.blocks[index as usize];
        let (has_same_place, is_first) =
            (block.heap == Some(heap) && block.offset == offset, block.heap.is_none());
        let size = size.unwrap_or(block.requested);
        if has_same_place {
            return Ok(());
        }
        if is_first {
            place(block);
        } else {
            let mut moved = block.clone();
            self.end_block(index);
            place(&mut moved);
            moved.start = self.next_moment();
            let index = self.add_block(moved)?;
            self.allocations.insert(allocation, index);
        }
        self.history.has_placements = true;
        self.change_space(heap, |space| space.take(offset, size));
        if is_first {
            // The placement belongs to the moment of the allocation.
            if let Some(last) = self.history.scattered.last_mut() {
                *last = self.free.scattered();
            }
            return Ok(());
        }
        self.add_moment()
    }

    /// Frees an allocation.
    ///
    /// # Errors
    ///
    /// As [`push`](Self::push).
    pub fn free(&mut self, allocation: u64) -> Result<(), HistoryError> {
        match self.allocations.remove(&allocation) {
            Some(index) => self.end_block(index),
            None => self.history.unknown_references += 1,
        }
        self.add_moment()
    }

    /// Maps tiles of a reserved resource to an allocation, from a tile of it on, or unmaps them. What is mapped is a
    /// block of its own, and what is not mapped in the allocation counts as free.
    fn map_tiles(
        &mut self,
        resource: u64,
        tiles: Range<u32>,
        memory: Option<(u64, u32)>,
    ) -> Result<(), HistoryError> {
        let Some(mut reserved) = self.reserved.remove(&resource) else {
            self.history.unknown_references += 1;
            return Ok(());
        };
        let before = reserved.mapped.range(..tiles.start).next_back();
        let from = before.map_or(tiles.start, |(&first, _)| first);
        let lost = reserved.mapped.range(from..tiles.end).filter(|&(_, &(end, _))| end > tiles.start);
        let lost: Vec<(u32, u32, u32)> = lost.map(|(&first, &(end, index))| (first, end, index)).collect();
        for (first, end, index) in lost {
            reserved.mapped.remove(&first);
            self.end_block(index);
            self.history.end_mapped -= bytes_of_tiles(end - first);
            let old = self.history.blocks[index as usize].clone();
            for kept in [first..tiles.start, tiles.end..end] {
                if !kept.is_empty() {
                    let offset = old.offset + bytes_of_tiles(kept.start.saturating_sub(first));
                    self.add_tiles(resource, &mut reserved, kept, Block { offset, ..old.clone() })?;
                }
            }
        }
        if let Some((allocation, first)) = memory {
            match self.allocations.get(&allocation) {
                Some(&index) => {
                    let whole = &mut self.history.blocks[index as usize];
                    let size = std::mem::take(&mut whole.size);
                    let memory = whole.clone();
                    if let Some(heap) = memory.heap {
                        self.change_space(heap, |space| space.give_back(memory.offset, size));
                    }
                    let offset = memory.offset.saturating_add(bytes_of_tiles(first));
                    self.add_tiles(resource, &mut reserved, tiles, Block { offset, ..memory })?;
                }
                None => self.history.unknown_references += 1,
            }
        }
        self.reserved.insert(resource, reserved);
        self.add_moment()
    }

    /// Adds a block for mapped tiles of a resource, at the place and in the heap of another block.
    fn add_tiles(
        &mut self,
        resource: u64,
        reserved: &mut Reserved,
        tiles: Range<u32>,
        at: Block,
    ) -> Result<(), HistoryError> {
        let size = bytes_of_tiles(tiles.end - tiles.start);
        let (name, start) = (reserved.name.clone(), self.next_moment());
        let block = Block {
            id: resource,
            requested: size,
            size,
            start,
            end: u32::MAX,
            kind: reserved.kind,
            reason: None,
            name,
            ..at
        };
        let (heap, offset) = (block.heap, block.offset);
        let index = self.add_block(block)?;
        reserved.mapped.insert(tiles.start, (tiles.end, index));
        self.history.end_mapped += size;
        self.history.peak_mapped = self.history.peak_mapped.max(self.history.end_mapped);
        if let Some(heap) = heap {
            self.change_space(heap, |space| space.take(offset, size));
        }
        Ok(())
    }

    /// Creates a heap, which exists from the next moment on.
    ///
    /// # Errors
    ///
    /// As [`push`](Self::push).
    pub fn create_heap(&mut self, heap: &Heap) -> Result<(), HistoryError> {
        let &Heap { id, size, heap_type, .. } = heap;
        check_count("heaps", self.history.heaps.len())?;
        let index = index_of(self.history.heaps.len());
        if let Some(other) = self.heaps.insert(id, index) {
            self.end_heap(other);
            self.history.unknown_references += 1;
        }
        let name = heap.name.clone().unwrap_or_default();
        let start = self.next_moment();
        self.counters.add_heap(heap_type, size);
        self.is_evicted.push(false);
        self.used_by.push(0);
        self.history.heaps.push(HeapLife {
            id,
            size,
            start,
            end: u32::MAX,
            heap_type,
            name,
            detail: "".into(),
        });
        let space = FreeSpace::new(size);
        self.free.add(&space);
        self.spaces.insert(index, space);
        Ok(())
    }

    /// Destroys a heap, which does not exist from the next moment on.
    pub fn destroy_heap(&mut self, heap: u64) {
        match self.heaps.remove(&heap) {
            Some(index) => self.end_heap(index),
            None => self.history.unknown_references += 1,
        }
    }

    /// Defines a residency set, or replaces its heaps.
    ///
    /// # Errors
    ///
    /// As [`push`](Self::push).
    pub fn define_set(&mut self, set: u64, heaps: &[u64]) -> Result<(), HistoryError> {
        check_count("residency sets", self.sets.len())?;
        let mut indexes: Vec<u32> = heaps.iter().filter_map(|heap| self.heaps.get(heap).copied()).collect();
        self.history.unknown_references += (heaps.len() - indexes.len()) as u64;
        indexes.sort_unstable();
        indexes.dedup();
        self.sets.entry(set).or_default().heaps = indexes;
        Ok(())
    }

    /// Submits command lists that use the heaps of these residency sets. Heaps that were destroyed after the definition
    /// of their set are references to nothing.
    ///
    /// # Errors
    ///
    /// As [`push`](Self::push).
    pub fn submit(&mut self, queue: u64, sets: &[u64]) -> Result<(), HistoryError> {
        let number = index_of(self.history.submissions.len() + 1);
        let mut bytes = 0_u64;
        for set in sets {
            let Some(set) = self.sets.get_mut(set) else {
                self.history.unknown_references += 1;
                continue;
            };
            if std::mem::replace(&mut set.submission, number) == number {
                continue;
            }
            self.uses = self.uses.saturating_add(set.heaps.len());
            if self.uses > Self::MAX_USES {
                return Err(HistoryError { what: "uses of heaps by submissions", limit: Self::MAX_USES });
            }
            for index in set.heaps.iter().map(|&index| index as usize) {
                if std::mem::replace(&mut self.used_by[index], number) == number {
                    continue;
                }
                match &self.history.heaps[index] {
                    heap if heap.end == u32::MAX => bytes = bytes.saturating_add(heap.size),
                    _ => self.history.unknown_references += 1,
                }
            }
        }
        self.history.submissions.push(Submission { moment: self.next_moment(), queue, bytes });
        self.add_moment()
    }

    /// Names an allocation.
    pub fn name(&mut self, allocation: u64, name: &str) {
        self.change(allocation, |block| block.name = name.into());
    }

    /// Changes the block of a live allocation.
    fn change(&mut self, allocation: u64, change: impl FnOnce(&mut Block)) {
        match self.allocations.get(&allocation) {
            Some(&index) => change(&mut self.history.blocks[index as usize]),
            None => self.history.unknown_references += 1,
        }
    }

    fn create_pool(&mut self, id: u64) -> Result<(), HistoryError> {
        check_count("pools", self.history.pools.len())?;
        self.history.pools.push(format!("pool {id}").into());
        self.pools.insert(id, index_of(self.history.pools.len()));
        Ok(())
    }

    /// Evicts a heap or makes it resident.
    ///
    /// # Errors
    ///
    /// As [`push`](Self::push).
    pub fn page(&mut self, heap: u64, paging: Paging) -> Result<(), HistoryError> {
        let Some(&heap) = self.heaps.get(&heap) else {
            self.history.unknown_references += 1;
            return Ok(());
        };
        let HeapLife { heap_type, size, .. } = self.history.heaps[heap as usize];
        let was_evicted = std::mem::replace(&mut self.is_evicted[heap as usize], paging == Paging::Evict);
        match (was_evicted, paging) {
            (false, Paging::Evict) => self.counters.remove_heap(heap_type, size),
            (true, Paging::MakeResident) => self.counters.add_heap(heap_type, size),
            _ => {}
        }
        self.history.paging.push(PagingEvent { moment: self.next_moment(), heap, paging });
        self.add_moment()
    }

    /// Returns the history.
    #[must_use]
    pub fn finish(mut self) -> SessionHistory {
        self.settle_counters();
        // What happened after the last event gets a moment of its own, unless the limit is reached.
        let next = self.next_moment();
        let heaps = self.history.heaps.iter();
        if heaps.flat_map(|heap| [heap.start, heap.end]).any(|moment| moment == next) {
            let _ = self.add_moment();
        }
        let end = self.next_moment();
        let SessionHistory { blocks, heaps, .. } = &mut self.history;
        // Memory of which reserved resources have tiles.
        blocks.retain(|block| block.size > 0);
        blocks.iter_mut().for_each(|block| block.end = block.end.min(end));
        heaps.iter_mut().for_each(|heap| (heap.start, heap.end) = (heap.start.min(end), heap.end.min(end)));
        self.history.end_fragmentation = self.free.fragmentation();
        self.counters.finish(&mut self.history);
        self.history
    }

    /// Ends a query of counters, which tells the state after the last event.
    fn settle_counters(&mut self) {
        self.counters.settle(self.next_moment().saturating_sub(1));
    }

    fn next_moment(&self) -> u32 {
        index_of(self.history.times_us.len())
    }

    fn add_moment(&mut self) -> Result<(), HistoryError> {
        check_count("events", self.history.times_us.len())?;
        self.history.times_us.push(self.time_us);
        self.history.scattered.push(self.free.scattered());
        Ok(())
    }

    fn add_block(&mut self, block: Block) -> Result<u32, HistoryError> {
        check_count("allocations", self.history.blocks.len())?;
        let index = index_of(self.history.blocks.len());
        self.history.blocks.push(block);
        Ok(index)
    }

    fn end_block(&mut self, index: u32) {
        let end = self.next_moment();
        let block = &mut self.history.blocks[index as usize];
        block.end = end;
        let (offset, size) = (block.offset, block.size);
        if let Some(heap) = block.heap {
            self.change_space(heap, |space| space.give_back(offset, size));
        }
    }

    fn end_heap(&mut self, index: u32) {
        let end = self.next_moment();
        let heap = &mut self.history.heaps[index as usize];
        heap.end = end;
        if !self.is_evicted[index as usize] {
            self.counters.remove_heap(heap.heap_type, heap.size);
        }
        if let Some(space) = self.spaces.remove(&index) {
            self.free.remove(&space);
        }
    }

    /// Changes the free ranges of a heap, if it still exists, and the sums.
    fn change_space(&mut self, heap: u32, change: impl FnOnce(&mut FreeSpace)) {
        let Some(space) = self.spaces.get_mut(&heap) else { return };
        self.free.remove(space);
        change(space);
        self.free.add(space);
    }
}

fn kind_of(kind: ResourceKind, flags: u32) -> AllocationKind {
    match kind {
        ResourceKind::Unknown => AllocationKind::Unknown,
        ResourceKind::Buffer => AllocationKind::Buffer,
        ResourceKind::Texture if flags & TARGETS != 0 => AllocationKind::RenderTarget,
        ResourceKind::Texture => AllocationKind::Texture,
    }
}

fn check_count(what: &'static str, count: usize) -> Result<(), HistoryError> {
    let limit = HistoryBuilder::MAX_COUNT;
    if count < limit { Ok(()) } else { Err(HistoryError { what, limit }) }
}

fn bytes_of_tiles(count: u32) -> u64 {
    u64::from(count) * TILE_SIZE
}

/// Returns an index of a list whose length `check_count` limits.
fn index_of(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}
