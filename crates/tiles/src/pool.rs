//! The pool of tiles.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use heapwright::d3d12::*;
use heapwright::residency::OpenResidencyList;
use heapwright::{
    Alignment, ByteSize, Error, HeapType, MemoryAllocation, Pool, PoolDesc, ReservedRecord,
    ResourceAllocationDesc, ResourceAllocator, ResourceKind, SuballocationAlgorithm,
};
use windows_core::{IUnknown, Interface};

use crate::free_tiles::{FreeTiles, Heaps, Tile};
use crate::retired::Garbage;

/// Size of a tile: 64 KiB.
pub const TILE_SIZE: ByteSize = ByteSize::from_kib(64);

/// The size of heaps if the description names none.
const DEFAULT_HEAP_SIZE: ByteSize = ByteSize::from_mib(16);

/// Tiles of 64 KiB, in heaps of an allocator, for reserved resources. Cloning returns another handle to the same pool.
///
/// The heaps are those of a [custom pool](Pool) of the allocator: its limits, budgets, retention of empty heaps,
/// residency manager, reports and recordings apply to them as to any heap. While at
/// most a 20th of what is used is free, a resource gets tiles of heaps of which it has some, or of a new heap, so that
/// they are empty when the resource is gone. Otherwise it gets those of the fullest heap that has any. A heap goes back
/// to the allocator when its last tile is free.
///
/// [`GrowingBuffer`](crate::GrowingBuffer)s and [`StreamingTexture`](crate::StreamingTexture)s keep their pool alive.
/// Tiles that still wait for a fence when the last of them and the last handle are dropped are leaked, with a warning
/// in the log.
///
/// # Threads
///
/// `Send` and `Sync`. One lock for each pool, held for the bookkeeping of tiles and never while the device creates or
/// destroys an object.
#[derive(Debug, Clone)]
pub struct TilePool {
    pub(crate) shared: Arc<Shared>,
}

/// The heaps and tiles of a pool, at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct TilePoolStats {
    /// Number of heaps with a tile in use.
    pub heap_count: u64,
    /// Size of these heaps.
    pub reserved: ByteSize,
    /// Size of the tiles in use, with those that wait.
    pub used: ByteSize,
    /// Size of the tiles that were decommitted and wait for a fence.
    pub waiting: ByteSize,
}

/// The state that the handles of a pool share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) allocator: ResourceAllocator,
    heaps: Pool,
    resources: ResourceKind,
    heap_size: ByteSize,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    free: FreeTiles<MemoryAllocation>,
    waiting: Vec<Garbage>,
}

impl State {
    fn waiting_tiles(&self) -> u64 {
        self.waiting.iter().map(|garbage| garbage.tiles.len() as u64).sum()
    }
}

impl TilePool {
    /// Creates a pool whose heaps `desc` describes. `resources` are those whose tiles it can hold; `heap_size` is 16
    /// MiB by default.
    ///
    /// Heaps that are larger make longer ranges, so that `UpdateTileMappings` is called less; smaller ones hold less
    /// beyond what is in use.
    ///
    /// # Errors
    ///
    /// * unsupported: the device has no reserved resources (tiled resources tier 0);
    /// * invalid argument: a field that does not suit tiles (another heap type than DEFAULT, an algorithm,
    ///   `multisampled`, a protected session); what [`ResourceAllocator::create_pool`] refuses;
    /// * out of memory for the heaps of `min_heap_count`.
    pub fn new(allocator: &ResourceAllocator, mut desc: PoolDesc) -> Result<Self, Error> {
        if allocator.caps().tiled_resources_tier == 0 {
            let what = "reserved resources on this device (tiled resources tier 0); GrowingBuffer::plain works without them";
            return Err(Error::unsupported(what));
        }
        let is_usual = desc.heap_type == HeapType::Default
            && desc.custom_heap.is_none()
            && desc.algorithm == SuballocationAlgorithm::Default
            && desc.protected_session.is_none();
        if !is_usual || desc.multisampled {
            let rule = "heap_type, custom_heap, algorithm, multisampled and protected_session must be the defaults for tiles";
            return Err(Error::invalid_argument("PoolDesc", rule));
        }
        let heap_size = *desc.heap_size.get_or_insert(DEFAULT_HEAP_SIZE);
        // The allocator refuses heaps of 2^32 tiles.
        let tiles_per_heap = u32::try_from(heap_size.get() / TILE_SIZE.get()).unwrap_or(u32::MAX);
        let resources = desc.resources;
        let heaps = allocator.create_pool(desc)?;
        let state = State { free: FreeTiles::new(tiles_per_heap), waiting: Vec::new() };
        let (allocator, state) = (allocator.clone(), Mutex::new(state));
        Ok(Self { shared: Arc::new(Shared { allocator, heaps, resources, heap_size, state }) })
    }

    /// Frees the tiles and resources that waited for fence values that are reached, and returns the number of tiles.
    /// Call it once per frame. A pool without a free tile does so by itself, before it creates a heap.
    ///
    /// O(waiting). On a removed device, all fence values count as reached.
    pub fn collect(&self) -> u64 {
        let freed = self.shared.collect();
        self.shared.release_empty();
        freed
    }

    /// Returns what the pool holds. O(heaps + waiting).
    #[must_use]
    pub fn stats(&self) -> TilePoolStats {
        let state = self.shared.lock();
        let heap_count = state.free.heap_count();
        let of_tiles = |count| ByteSize::new(count * TILE_SIZE.get());
        TilePoolStats {
            heap_count,
            reserved: ByteSize::new(heap_count * self.shared.heap_size.get()),
            used: of_tiles(state.free.used()),
            waiting: of_tiles(state.waiting_tiles()),
        }
    }

    /// Returns the pool of heaps: its totals include the empty heaps that the allocator keeps for later, and
    /// [`release_empty_heaps`](Pool::release_empty_heaps) releases these.
    #[must_use]
    pub fn heaps(&self) -> &Pool {
        &self.shared.heaps
    }

    /// Checks whether tiles that are not committed read as zero, and writes to them are dropped: tiled resources tier
    /// 2. On tier 1 the GPU must not access them.
    #[must_use]
    pub fn null_tiles_are_defined(&self) -> bool {
        self.shared.allocator.caps().tiled_resources_tier >= 2
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it is locked, except for a bug.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Checks that the heaps may hold tiles of a resource.
    pub(crate) fn check_holds(&self, resource: ResourceKind) -> Result<(), Error> {
        if self.resources == resource || self.resources == ResourceKind::Any {
            return Ok(());
        }
        let (name, held) = (self.heaps.name(), self.resources);
        let rule = format!("the heaps of pool \"{name}\" hold {held:?}, not {resource:?}");
        Err(Error::invalid_argument("TilePool", rule))
    }

    /// Checks that an object belongs to the pool's device.
    pub(crate) fn check_device(&self, argument: &'static str, it: &ID3D12DeviceChild) -> Result<(), Error> {
        let mut device: Option<IUnknown> = None;
        // SAFETY: the object is a live COM object, and the result is of the interface asked for.
        unsafe { it.GetDevice(&mut device) }
            .map_err(|error| Error::device("ID3D12DeviceChild::GetDevice", error.code()))?;
        let is_own = device.is_some() && device == self.allocator.device().cast().ok();
        let rule = "belongs to another device than the pool";
        if is_own { Ok(()) } else { Err(Error::invalid_argument(argument, rule)) }
    }

    /// Takes tiles for a resource that has tiles of some heaps, and creates the heaps that are missing. O(tiles + heaps
    /// created + heaps that are not full), and `CreateHeap` for each that the allocator has not kept.
    pub(crate) fn take(&self, count: usize, own: &Heaps) -> Result<Vec<Tile>, Error> {
        let mut taken = Vec::with_capacity(count);
        if self.lock().free.take(count, own, true, &mut taken) {
            return Ok(taken);
        }
        self.collect();
        let mut has_all = self.lock().free.take(count, own, true, &mut taken);
        let mut failed = None;
        while !has_all && failed.is_none() {
            let made = self.create_heap();
            let free = &mut self.lock().free;
            has_all = match made {
                Ok(memory) => {
                    let slot = free.insert(memory);
                    free.take_from(slot, count, &mut taken);
                    free.take(count, own, true, &mut taken)
                }
                Err(_) if free.take(count, own, false, &mut taken) => true,
                Err(error) => {
                    free.give(&taken);
                    failed = Some(error);
                    false
                }
            };
        }
        self.release_empty();
        failed.map_or(Ok(taken), Err)
    }

    fn create_heap(&self) -> Result<MemoryAllocation, Error> {
        let desc = ResourceAllocationDesc { pool: Some(&self.heaps), ..Default::default() };
        let alignment = Alignment::new(TILE_SIZE.get()).expect("64 KiB is a power of two");
        let mut memory = self.allocator.allocate_memory(&desc, self.resources, self.heap_size, alignment)?;
        memory.set_debug_name("tiles");
        Ok(memory)
    }

    /// Frees garbage when its fences are reached: now, or in a later `collect`. O(its tiles).
    pub(crate) fn retire(&self, garbage: Garbage) {
        if garbage.is_free() {
            self.free(vec![garbage]);
            self.release_empty();
        } else {
            self.lock().waiting.push(garbage);
        }
    }

    fn collect(&self) -> u64 {
        let garbage = self.lock().waiting.extract_if(.., |garbage| garbage.is_free()).collect();
        self.free(garbage)
    }

    /// Frees garbage whose fences are reached, and returns the number of tiles.
    fn free(&self, mut garbage: Vec<Garbage>) -> u64 {
        // Outside of the lock, and before anything else may have their tiles.
        garbage.iter_mut().for_each(|garbage| drop(garbage.resource.take()));
        let free = &mut self.lock().free;
        garbage.iter().for_each(|garbage| free.give(&garbage.tiles));
        garbage.iter().map(|garbage| garbage.tiles.len() as u64).sum()
    }

    fn release_empty(&self) {
        let empty = self.lock().free.remove_empty();
        // Outside of the lock: this may release heaps.
        drop(empty);
    }

    /// Returns the heap in a slot with the tile at which the pool's part of it begins.
    pub(crate) fn heap(&self, slot: u32) -> (ID3D12Heap, u32) {
        let state = self.lock();
        let memory = state.free.memory(slot).expect("a heap stays while a tile of it is taken");
        let first = memory.offset().get() / TILE_SIZE.get();
        (memory.heap().clone(), u32::try_from(first).expect("heaps of a pool have fewer than 2^32 tiles"))
    }

    /// Records new mappings of a resource: tiles of it, from a first one on, and the first tile of memory.
    pub(crate) fn record(&self, record: &ReservedRecord, runs: impl Iterator<Item = (u32, u32, Tile)>) {
        let state = self.lock();
        for (first, count, tile) in runs {
            record.map_tiles(first, count, state.free.memory(tile.heap).map(|memory| (memory, tile.index)));
        }
    }

    /// Adds heaps to a residency list.
    pub(crate) fn add_heaps(
        &self,
        slots: impl Iterator<Item = u32>,
        list: &mut OpenResidencyList<'_>,
    ) -> Result<(), Error> {
        let state = self.lock();
        let mut heaps = slots.filter_map(|slot| state.free.memory(slot)?.memory());
        heaps.try_for_each(|heap| list.add(heap))
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.collect();
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        let tiles = state.waiting_tiles();
        if !state.waiting.is_empty() {
            tracing::warn!(tiles, "pool of tiles dropped while some wait for a fence; leaking them");
            // A leak is safe; freeing memory that the GPU uses is not.
            std::mem::forget(std::mem::take(&mut state.waiting));
            std::mem::forget(std::mem::replace(&mut state.free, FreeTiles::new(0)));
        }
    }
}
