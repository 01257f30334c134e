//! A reserved resource: the tiles that it has, and the changes of its mappings that no queue knows yet.

use std::ops::Range;
use std::sync::Arc;

use heapwright::d3d12::*;
use heapwright::residency::OpenResidencyList;
use heapwright::{ByteSize, Error, FenceValue, ReservedRecord};

use crate::free_tiles::{Heaps, Tile, counts_by_heap};
use crate::pool::{Shared, TILE_SIZE};
use crate::retired::{FencePoint, Garbage};

/// Consecutive tiles of a resource that have coordinates of one subresource.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Segment {
    pub(crate) subresource: u32,
    /// The first tile, counted over the whole resource.
    pub(crate) first: u32,
    pub(crate) count: u32,
    /// Width, height and depth in tiles. Packed mips and buffers are one row.
    pub(crate) extent: [u32; 3],
    /// Whether these are the packed mips of a slice.
    pub(crate) is_packed: bool,
}

impl Segment {
    fn coordinate(&self, tile: u32) -> D3D12_TILED_RESOURCE_COORDINATE {
        let (at, [width, height, _]) = (tile - self.first, self.extent);
        D3D12_TILED_RESOURCE_COORDINATE {
            X: at % width,
            Y: at / width % height,
            Z: at / width / height,
            Subresource: self.subresource,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Reserved {
    shared: Arc<Shared>,
    pub(crate) resource: ID3D12Resource,
    /// In the order of their tiles, without gaps.
    segments: Vec<Segment>,
    /// The tile of memory behind each tile of the resource, as of all changes. NULL beyond the end.
    tiles: Vec<Tile>,
    /// The tiles that changed since the last update.
    changed: Vec<u32>,
    /// The tiles of memory that are decommitted, but still mapped until the next update.
    unmapped: Vec<Tile>,
    /// The number of tiles in each heap, with those in `unmapped`.
    heaps: Heaps,
    /// The point of the last update.
    updated: Option<FencePoint>,
    record: Option<ReservedRecord>,
}

/// Consecutive tiles of a segment, with consecutive tiles of a heap from `memory` on, or with none.
struct Run {
    segment: Segment,
    first: u32,
    count: u32,
    memory: Tile,
}

impl Run {
    fn is_followed_by(&self, tile: u32, memory: Tile) -> bool {
        let is_next = tile == self.first + self.count && tile - self.segment.first < self.segment.count;
        let is_same = memory.heap == self.memory.heap;
        is_next && is_same && (memory.is_null() || memory.index == self.memory.index + self.count)
    }
}

impl Reserved {
    /// Takes a new reserved resource, which has no tiles yet.
    pub(crate) fn new(shared: &Arc<Shared>, resource: ID3D12Resource, segments: Vec<Segment>) -> Self {
        Self {
            shared: Arc::clone(shared),
            resource,
            segments,
            tiles: Vec::new(),
            changed: Vec::new(),
            unmapped: Vec::new(),
            heaps: Heaps::new(),
            updated: None,
            record: None,
        }
    }

    /// Returns the size of the tiles that have memory. O(heaps).
    pub(crate) fn committed(&self) -> ByteSize {
        let mapped: u64 = self.heaps.values().map(|&count| u64::from(count)).sum();
        ByteSize::new((mapped - self.unmapped.len() as u64) * TILE_SIZE.get())
    }

    /// Gives memory to each tile of ranges that has none. O(tiles).
    pub(crate) fn commit(&mut self, ranges: &[Range<u32>]) -> Result<(), Error> {
        let is_missing = |tile: &u32| self.tiles.get(*tile as usize).is_none_or(|memory| memory.is_null());
        let missing: Vec<u32> = ranges.iter().cloned().flatten().filter(is_missing).collect();
        let taken = self.shared.take(missing.len(), &self.heaps)?;
        let end = ranges.iter().map(|range| range.end as usize).max().unwrap_or(0);
        if end > self.tiles.len() {
            self.tiles.resize(end, Tile::NULL);
        }
        for (&tile, &memory) in missing.iter().zip(&taken) {
            self.tiles[tile as usize] = memory;
            self.changed.push(tile);
        }
        for (heap, count) in counts_by_heap(&taken) {
            *self.heaps.entry(heap).or_default() += count;
        }
        Ok(())
    }

    /// Takes its memory from each tile of ranges. O(tiles).
    pub(crate) fn decommit(&mut self, ranges: &[Range<u32>]) {
        let end = u32::try_from(self.tiles.len()).unwrap_or(u32::MAX);
        for tile in ranges.iter().flat_map(|range| range.start..range.end.min(end)) {
            let memory = std::mem::replace(&mut self.tiles[tile as usize], Tile::NULL);
            if !memory.is_null() {
                self.unmapped.push(memory);
                self.changed.push(tile);
            }
        }
    }

    /// Maps what changed since the last update, and frees what was decommitted once `fence` reaches `value`.
    ///
    /// # Safety
    ///
    /// As [`GrowingBuffer::update`](crate::GrowingBuffer::update).
    pub(crate) unsafe fn update(
        &mut self,
        queue: &ID3D12CommandQueue,
        fence: &ID3D12Fence,
        value: FenceValue,
    ) -> Result<(), Error> {
        self.shared.check_device("queue", queue)?;
        self.shared.check_device("fence", fence)?;
        if self.changed.is_empty() {
            return Ok(());
        }
        let runs = self.changed_runs();
        if self.record.is_none() {
            let count = self.segments.last().map_or(0, |last| last.first + last.count);
            self.record = self.shared.allocator.record_reserved(&self.resource, count);
        }
        if let Some(record) = &self.record {
            self.shared.record(record, runs.iter().map(|run| (run.first, run.count, run.memory)));
        }
        // NULL is mapped along with the tiles of the first heap.
        for runs in runs.chunk_by(|one, next| one.memory.is_null() || one.memory.heap == next.memory.heap) {
            let memory = runs[runs.len() - 1].memory;
            let heap = (!memory.is_null()).then(|| self.shared.heap(memory.heap));
            // SAFETY: the caller's promises. The tiles belong to this resource until the queue has executed a later
            // update.
            unsafe { self.map(queue, heap, runs) };
        }
        self.updated = Some((fence.clone(), value));
        let tiles = std::mem::take(&mut self.unmapped);
        for (heap, count) in counts_by_heap(&tiles) {
            self.heaps.entry(heap).and_modify(|all| *all -= count);
        }
        self.heaps.retain(|_, count| *count > 0);
        if !tiles.is_empty() {
            self.shared.retire(Garbage { tiles, resource: None, until: [self.updated.clone(), None] });
        }
        // `UpdateTileMappings` returns nothing.
        // SAFETY: the device is a live COM object.
        let hresult = unsafe { self.shared.allocator.device().GetDeviceRemovedReason() };
        hresult.ok().map_err(|_| Error::device("ID3D12CommandQueue::UpdateTileMappings", hresult))
    }

    /// Takes what changed since the last update: first the tiles without memory, then those of each heap.
    fn changed_runs(&mut self) -> Vec<Run> {
        let mut changed = std::mem::take(&mut self.changed);
        changed.sort_unstable();
        changed.dedup();
        let mut runs: Vec<Run> = Vec::new();
        for tile in changed {
            let memory = self.tiles[tile as usize];
            if let Some(run) = runs.last_mut().filter(|run| run.is_followed_by(tile, memory)) {
                run.count += 1;
                continue;
            }
            let segment = self.segments[self.segments.partition_point(|segment| segment.first <= tile) - 1];
            runs.push(Run { segment, first: tile, count: 1, memory });
        }
        runs.sort_by_key(|run| (!run.memory.is_null(), run.memory.heap));
        runs
    }

    /// Calls `UpdateTileMappings` for runs of a heap, whose part of the pool begins at a tile, and runs without memory.
    ///
    /// # Safety
    ///
    /// As for [`update`](Self::update).
    unsafe fn map(&self, queue: &ID3D12CommandQueue, heap: Option<(ID3D12Heap, u32)>, runs: &[Run]) {
        let base = heap.as_ref().map_or(0, |(_, base)| *base);
        let starts: Vec<_> = runs.iter().map(|run| run.segment.coordinate(run.first)).collect();
        let size = |run: &Run| D3D12_TILE_REGION_SIZE { NumTiles: run.count, ..Default::default() };
        let sizes: Vec<_> = runs.iter().map(size).collect();
        let memory = runs.iter().map(|run| (run.memory.is_null(), run.memory.index));
        let ranges = memory.map(|(is_null, index)| {
            if is_null { (D3D12_TILE_RANGE_FLAG_NULL, 0) } else { (D3D12_TILE_RANGE_FLAG_NONE, base + index) }
        });
        let (flags, offsets): (Vec<_>, Vec<_>) = ranges.unzip();
        let counts: Vec<u32> = runs.iter().map(|run| run.count).collect();
        let len = u32::try_from(runs.len()).expect("at most the number of tiles, which has 32 bits");
        let (starts, sizes) = (Some(starts.as_ptr()), Some(sizes.as_ptr()));
        let (flags, offsets, counts) = (Some(flags.as_ptr()), Some(offsets.as_ptr()), Some(counts.as_ptr()));
        let (resource, heap) = (&self.resource, heap.as_ref().map(|(heap, _)| heap));
        let none = D3D12_TILE_MAPPING_FLAG_NONE;
        // SAFETY: the arrays have `len` elements, and outlive the call; for the rest, the caller's promises.
        unsafe {
            queue.UpdateTileMappings(resource, len, starts, sizes, heap, len, flags, offsets, counts, none);
        }
    }

    pub(crate) fn add_to(&self, list: &mut OpenResidencyList<'_>) -> Result<(), Error> {
        self.shared.add_heaps(self.heaps.keys().copied(), list)
    }

    /// Frees resource and tiles once `fence` reaches `value`.
    pub(crate) fn free_after(mut self, fence: &ID3D12Fence, value: FenceValue) {
        self.retire(Some((fence.clone(), value)));
    }

    fn retire(&mut self, until: Option<FencePoint>) {
        // Before the memory may be freed.
        self.record = None;
        let mut tiles = std::mem::take(&mut self.tiles);
        tiles.retain(|tile| !tile.is_null());
        tiles.append(&mut self.unmapped);
        let resource = Some(self.resource.clone());
        self.shared.retire(Garbage { tiles, resource, until: [self.updated.take(), until] });
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        // Queues may still have to execute the last update.
        self.retire(None);
    }
}
