//! The heaps of one kind: an engine that divides them, and where empty ones wait.

use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use heapwright_core::placement::{
    EngineDesc, HeapEngine, HeapPool, HeapPoolTotals, HeapPooling, HeapSetTotals, PlacementAlgorithm,
    PlacementError, PlacementRequest, Room, SharedPlaced, SharedPlacementId,
};
use heapwright_core::{Alignment, ByteSize, HeapRange};
use heapwright_d3d12::*;
use windows_core::HRESULT;

use super::accounts::{Accounts, Charged};
use super::desc::HEAP_GRANULARITY;
use super::devices::Devices;
use super::heap::Heap;
use super::heap_source::{Refusal, Terms, create_heap_refused};
use super::notes::Notes;
use super::plan::{GivenBack, HeapSizes};
use super::pool_sums::{HeapsShare, PoolEntry, PoolSums};
use super::prefetch::Prefetch;
use super::residency::{NewMemory, create_managed};
use super::striped::{Stripe, Striped};
use super::{HeapType, Inner};
use crate::error::{Obstacle, Way};
use crate::heap_family::{HeapFamilies, HeapFamily};
use crate::requirements::ResourceClass;
use crate::residency::ResidencyManager;
use crate::{AllocationId, DeviceCaps, SegmentGroup};

/// Heaps of one kind, which the resources of one class share.
///
/// Its lock is that of the engine and of the pool, and neither is held while a heap is created or destroyed.
#[derive(Debug)]
pub(super) struct TypedHeaps {
    pub(super) desc: TypedHeapsDesc,
    /// Resources that share heaps; with the default algorithm those with a heap of their own, too.
    shared: HeapEngine<Arc<Heap>>,
    /// Resources with a heap of their own that is not one of the shared engine's.
    dedicated: HeapEngine<Arc<Heap>>,
    /// Empty heaps that no engine keeps. Nested allocators have their parent's.
    spare: Arc<SpareHeaps>,
    /// The same of allocators that are nested with this one.
    pub(super) kin: Arc<Kin>,
    pub(super) accounts: Arc<Accounts>,
    pub(super) notes: Notes,
    pub(super) prefetch: Prefetch,
    /// Heaps that there are, for a pool's bounds.
    seats: Arc<AtomicU64>,
    /// Who decides which heaps are resident. That of all kin.
    residency: Option<ResidencyManager>,
    pub(super) allocator: Weak<Inner>,
    this: Weak<Self>,
    /// Of a custom pool: its part in the sums over all pools.
    pub(super) pool_entry: Option<PoolEntry>,
}

/// What heaps of one kind are like.
#[derive(Debug)]
pub(super) struct TypedHeapsDesc {
    /// Among all that this process made.
    pub(super) number: u64,
    /// A custom pool's name.
    pub(super) pool: Option<Arc<str>>,
    /// Of a custom pool: what the pools of its allocator hold together.
    pub(super) pool_sums: Option<Arc<PoolSums>>,
    pub(super) heap_type: HeapType,
    pub(super) segment_group: SegmentGroup,
    pub(super) class: ResourceClass,
    /// A pool for buffers and textures alike; its `class` is that of buffers.
    pub(super) holds_everything: bool,
    /// Everything but the size.
    pub(super) heap: D3D12_HEAP_DESC,
    pub(super) protected_session: Option<ID3D12ProtectedResourceSession>,
    pub(super) residency_priority: Option<D3D12_RESIDENCY_PRIORITY>,
    /// Zero: what is asked for decides.
    pub(super) heap_size: ByteSize,
    pub(super) max_heap_size: ByteSize,
    pub(super) min_heap_count: u64,
    pub(super) max_heap_count: u64,
    pub(super) min_alignment: Alignment,
    pub(super) engine: EngineDesc,
    /// What becomes of heaps that an engine gives up.
    pub(super) recycling: Recycling,
}

/// Heaps that nothing is in and that no engine keeps, and the accounts that they are charged to: those of the outermost allocator.
#[derive(Debug)]
pub(super) struct SpareHeaps {
    pool: HeapPool<Arc<Heap>>,
    accounts: Arc<Accounts>,
}

impl SpareHeaps {
    pub(super) fn new(pooling: HeapPooling, accounts: &Arc<Accounts>) -> Arc<Self> {
        Arc::new(Self { pool: HeapPool::new(pooling), accounts: Arc::clone(accounts) })
    }

    /// Keeps a heap if it is one that is pooled; drops it otherwise.
    fn put(&self, heap: Arc<Heap>) {
        if heap.transfer_to(&self.accounts).is_ok() {
            drop(self.pool.put(heap.size(), heap));
        }
    }
}

/// What becomes of empty heaps that an engine gives up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Recycling {
    /// The pool takes what it is for; the device gets the rest.
    IntoPool,
    /// The device gets them.
    Never,
}

/// With what a resource shares its heap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Sharing {
    /// With others.
    Shared,
    /// With nothing.
    Own,
    /// With nothing, and the residency manager does not know the heap: it is nobody else's, before and after.
    Unmanaged,
}

/// Heaps of one kind that exchange empty ones: an allocator's and those of allocators nested in it.
#[derive(Debug, Default)]
pub(super) struct Kin {
    members: Mutex<Vec<Weak<TypedHeaps>>>,
}

/// One of the heaps that a pool may have.
#[derive(Debug)]
pub(super) struct Seat {
    seats: Arc<AtomicU64>,
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.seats.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What keeps the heaps of a range alive.
#[derive(Debug)]
enum HeapsReference {
    Counted(Arc<TypedHeaps>),
    /// Without anything that other threads use.
    Striped(Arc<Stripe<TypedHeaps>>),
}

impl Deref for HeapsReference {
    type Target = Arc<TypedHeaps>;

    #[inline]
    fn deref(&self) -> &Arc<TypedHeaps> {
        match self {
            Self::Counted(heaps) => heaps,
            Self::Striped(stripe) => stripe,
        }
    }
}

/// A range of a heap that belongs to one allocation until dropped.
///
/// # Invariants
///
/// `heap` points to a heap that an engine of `heaps` holds an `Arc` of: it does until nothing is in the heap, which the range is until it
/// is freed.
#[derive(Debug)]
pub(super) struct PlacedRange {
    heaps: HeapsReference,
    heap: NonNull<Heap>,
    id: SharedPlacementId,
    range: HeapRange,
    sharing: Sharing,
    alignment: Alignment,
    /// Whether dropping it frees the range.
    is_held: bool,
}

// SAFETY: the pointer stands for an `Arc` of what is `Send` and `Sync`, and everything else in it is both.
unsafe impl Send for PlacedRange {}
// SAFETY: as above.
unsafe impl Sync for PlacedRange {}

const _: () = {
    const fn is_send_and_sync<T: Send + Sync>() {}
    is_send_and_sync::<(Arc<TypedHeaps>, Arc<Heap>)>();
};

impl PlacedRange {
    pub(super) fn new(
        heaps: Arc<TypedHeaps>,
        sharing: Sharing,
        placed: SharedPlaced<Arc<Heap>>,
        alignment: Alignment,
    ) -> Self {
        let SharedPlaced { id, range, heap } = placed;
        if heap.take_prefetched() {
            heaps.prefetch.count_eliminated();
        }
        let heap = NonNull::from(&*heap);
        Self { heaps: HeapsReference::Counted(heaps), heap, id, range, sharing, alignment, is_held: true }
    }

    /// Ends it without freeing the range: somebody else does.
    pub(super) fn forget(mut self) {
        self.is_held = false;
    }

    pub(super) fn range(&self) -> HeapRange {
        self.range
    }

    pub(super) fn alignment(&self) -> Alignment {
        self.alignment
    }

    #[inline]
    pub(super) fn heap(&self) -> &Heap {
        // SAFETY: it came of a reference of an `Arc` and is alive (type invariant); only shared references are ever made of it.
        unsafe { self.heap.as_ref() }
    }

    #[inline]
    pub(super) fn heaps(&self) -> &Arc<TypedHeaps> {
        &self.heaps
    }

    /// Whether nothing else can be in the heap.
    pub(super) fn has_own_heap(&self) -> bool {
        self.sharing != Sharing::Shared
    }

    /// How many allocations are in the heap, this one among them.
    pub(super) fn allocations_in_heap(&self) -> u64 {
        match self.heaps().engine(self.sharing).as_default() {
            Some(set) => set.count_in_heap_of(self.id).unwrap_or(u64::MAX),
            None if self.has_own_heap() => 1,
            // Other algorithms do not count them.
            None => u64::MAX,
        }
    }

    pub(super) fn id(&self) -> AllocationId {
        let is_in_dedicated = !self.heaps().is_in_shared_engine(self.sharing);
        AllocationId::placed(self.heaps().desc.number, is_in_dedicated, self.id)
    }
}

impl Drop for PlacedRange {
    #[inline]
    fn drop(&mut self) {
        if !self.is_held {
            return;
        }
        match self.heaps.engine(self.sharing).free(self.id) {
            Ok(left) if left.is_empty() => {}
            Ok(left) => self.heaps.recycle(left),
            Err(error) => debug_assert!(false, "a placed range is freed once: {error}"),
        }
        self.heaps.note_change();
    }
}

impl TypedHeaps {
    pub(super) fn new(
        desc: TypedHeapsDesc,
        spare: Arc<SpareHeaps>,
        kin: Arc<Kin>,
        accounts: Arc<Accounts>,
        residency: Option<ResidencyManager>,
        allocator: Weak<Inner>,
    ) -> Arc<Self> {
        let granularity =
            Alignment::new(desc.heap.Alignment).unwrap_or(HEAP_GRANULARITY).max(HEAP_GRANULARITY);
        let dedicated = EngineDesc::Dedicated { granularity };
        let pool_entry = desc.pool_sums.as_ref().map(|sums| PoolEntry::new(sums, desc.heap_type));
        let heaps = Arc::new_cyclic(|this| Self {
            shared: HeapEngine::new(&desc.engine),
            dedicated: HeapEngine::new(&dedicated),
            desc,
            spare,
            kin,
            accounts,
            notes: Notes::default(),
            prefetch: Prefetch::default(),
            seats: Arc::default(),
            residency,
            allocator,
            this: Weak::clone(this),
            pool_entry,
        });
        heaps.kin.join(&heaps);
        heaps
    }

    #[inline]
    fn engine(&self, sharing: Sharing) -> &HeapEngine<Arc<Heap>> {
        if self.is_in_shared_engine(sharing) { &self.shared } else { &self.dedicated }
    }

    #[inline]
    fn is_in_shared_engine(&self, sharing: Sharing) -> bool {
        match sharing {
            Sharing::Shared => true,
            Sharing::Own => self.shared.algorithm() == PlacementAlgorithm::Default,
            Sharing::Unmanaged => false,
        }
    }

    pub(super) fn shared(&self) -> &HeapEngine<Arc<Heap>> {
        &self.shared
    }

    pub(super) fn dedicated(&self) -> &HeapEngine<Arc<Heap>> {
        &self.dedicated
    }

    /// Room in the heaps that there are.
    #[inline]
    pub(super) fn find_room(
        self: &Arc<Self>,
        sharing: Sharing,
        request: &PlacementRequest,
    ) -> Result<Option<PlacedRange>, PlacementError> {
        let placed = self.engine(sharing).allocate(request);
        self.note_change();
        let placed = placed?;
        Ok(placed.map(|placed| PlacedRange::new(Arc::clone(self), sharing, placed, request.alignment)))
    }

    /// Room in the heaps that there are, whatever it wastes of an empty one.
    pub(super) fn find_any_room(
        self: &Arc<Self>,
        sharing: Sharing,
        request: &PlacementRequest,
    ) -> Result<Option<PlacedRange>, PlacementError> {
        let placed = self.engine(sharing).allocate_anywhere(request);
        self.note_change();
        let placed = placed?;
        Ok(placed.map(|placed| PlacedRange::new(Arc::clone(self), sharing, placed, request.alignment)))
    }

    /// Room in a heap that joins them.
    pub(super) fn room_in_new(
        self: &Arc<Self>,
        sharing: Sharing,
        heap: Arc<Heap>,
        request: &PlacementRequest,
    ) -> Result<PlacedRange, PlacementError> {
        let placed = self.engine(sharing).allocate_in_new(heap.size(), heap, request);
        self.note_change();
        let placed = placed?;
        Ok(PlacedRange::new(Arc::clone(self), sharing, placed, request.alignment))
    }

    /// Gives back the empty heaps that are not worth keeping beside a new one for a request.
    pub(super) fn make_way(
        &self,
        sharing: Sharing,
        request: &PlacementRequest,
    ) -> Result<(), PlacementError> {
        let planned = self.engine(sharing).plan(request)?;
        self.recycle(planned.release);
        if self.desc.recycling == Recycling::IntoPool {
            let members = self.kin.members();
            let in_use = members.iter().map(|heaps| heaps.bytes_of_pooled_kind());
            let in_use = in_use.fold(ByteSize::ZERO, ByteSize::saturating_add);
            drop(self.spare.pool.make_way(in_use, planned.size));
        }
        self.note_change();
        Ok(())
    }

    /// Bytes of the heaps that go to the pool once nothing is in them.
    fn bytes_of_pooled_kind(&self) -> ByteSize {
        match self.desc.recycling {
            Recycling::IntoPool => {
                self.shared.totals().reserved.saturating_add(self.dedicated.totals().reserved)
            }
            Recycling::Never => ByteSize::ZERO,
        }
    }

    /// The size of the heap that a request would need, with nothing changed.
    pub(super) fn new_heap_size(
        &self,
        sharing: Sharing,
        request: &PlacementRequest,
    ) -> Result<ByteSize, PlacementError> {
        if sharing == Sharing::Shared && !self.desc.heap_size.is_zero() {
            return Ok(self.desc.heap_size);
        }
        self.engine(sharing).new_heap_size(request)
    }

    /// An empty heap of a fitting size that is held already: pooled, or held by an allocator that is nested with this one.
    pub(super) fn take_spare(&self, HeapSizes { wanted, least }: HeapSizes) -> Option<Arc<Heap>> {
        if let Some((_, heap)) = self.spare.pool.take_fitting(least, wanted) {
            match heap.transfer_to(&self.accounts) {
                Ok(()) => return Some(heap),
                Err(_) => self.spare.put(heap),
            }
        }
        self.kin.take_empty(self, least, wanted)
    }

    /// Whether [`find_room`](Self::find_room) would find room, or the size of the heap that it would take. Nothing is placed.
    pub(super) fn room_for(
        &self,
        sharing: Sharing,
        request: &PlacementRequest,
    ) -> Result<Room, PlacementError> {
        let room = self.engine(sharing).room_for(request)?;
        Ok(match room {
            Room::NewHeap { .. } if sharing == Sharing::Shared && !self.desc.heap_size.is_zero() => {
                Room::NewHeap { size: self.desc.heap_size }
            }
            room => room,
        })
    }

    /// Whether [`find_any_room`](Self::find_any_room) would find room.
    pub(super) fn has_any_room(
        &self,
        sharing: Sharing,
        request: &PlacementRequest,
    ) -> Result<bool, PlacementError> {
        self.engine(sharing).has_room_anywhere(request)
    }

    /// Whether [`take_spare`](Self::take_spare) would find a heap, as long as limits let it change hands.
    pub(super) fn has_spare(&self, HeapSizes { wanted, least }: HeapSizes) -> bool {
        self.spare.pool.has_fitting(least, wanted)
            || self.kin.others(self).iter().any(|other| other.shared.has_empty_fitting(least, wanted))
    }

    /// Whether there may be one heap more.
    pub(super) fn check_seat(&self, given_back: GivenBack) -> Result<(), Obstacle> {
        let limit = self.desc.max_heap_count;
        let empty = match given_back {
            GivenBack::Nothing => 0,
            GivenBack::EmptyHeaps => self.totals().empty_heap_count,
        };
        let needed = self.seats.load(Ordering::Relaxed).saturating_sub(empty);
        let least = if given_back == GivenBack::Nothing { 0 } else { self.desc.min_heap_count };
        if self.desc.pool.is_some() && limit != 0 && needed.max(least) >= limit {
            return Err(Obstacle::HeapCount { limit });
        }
        Ok(())
    }

    /// Gives an empty heap back if the pool has as many heaps as it may have.
    pub(super) fn make_seat(&self) {
        if self.check_seat(GivenBack::Nothing).is_err() {
            let _released = self.release(ByteSize::new(1));
        }
    }

    /// Has the device create a heap, for which a residency manager makes room.
    pub(super) fn create_heap(
        &self,
        devices: &Devices,
        size: ByteSize,
        terms: Terms,
    ) -> Result<Arc<Heap>, Refusal> {
        let way = Way::NewHeap(size);
        let refuse = |obstacle| Refusal::of(way, obstacle);
        let of_device = |hresult| create_heap_refused(size, hresult);
        let charge = self.accounts.charge(self.desc.heap_type, Charged::Heap, size).map_err(refuse)?;
        let seat = self.take_seat().map_err(refuse)?;
        let (heap, residency) = match self.residency.as_ref().filter(|_| !terms.never_resident) {
            None => (self.create_d3d12_heap(devices, size).map_err(of_device)?, None),
            Some(manager) => {
                let new = NewMemory {
                    group: self.desc.segment_group,
                    size,
                    flags: self.desc.heap.Flags,
                    within_budget: terms.within_budget,
                    priority: self.desc.residency_priority,
                };
                let made = create_managed(manager, new, || self.create_d3d12_heap(devices, size));
                let (heap, residency) = made.map_err(|not| not.into_refusal(way, of_device))?;
                (heap, Some(residency))
            }
        };
        self.accounts.count_created_heap();
        let (heap_type, class) = (self.desc.heap_type, self.desc.class);
        tracing::debug!(%heap_type, ?class, %size, "created a heap");
        Ok(Heap::new(heap, residency, size, charge, seat))
    }

    fn create_d3d12_heap(&self, devices: &Devices, size: ByteSize) -> Result<ID3D12Heap, HRESULT> {
        let desc = D3D12_HEAP_DESC { SizeInBytes: size.get(), ..self.desc.heap };
        let mut heap: Option<ID3D12Heap> = None;
        match &self.desc.protected_session {
            None => {
                // SAFETY: the device is a live COM object, the description outlives the call, and the result is written to
                // a variable of the interface that is asked for.
                unsafe { devices.device.CreateHeap(&desc, &mut heap) }
            }
            Some(session) => {
                // A pool with a session is refused where the device lacks the interface.
                let device = devices.device4.as_ref().ok_or(E_NOINTERFACE)?;
                // SAFETY: as above; the session is a live COM object.
                unsafe { device.CreateHeap1(&desc, session, &mut heap) }
            }
        }
        .map_err(|error| error.code())?;
        let heap = heap.ok_or(E_POINTER)?;
        // A manager tells the device.
        let priority = self.desc.residency_priority.filter(|_| self.residency.is_none());
        if let (Some(priority), Some(device)) = (priority, &devices.device1) {
            let pageable = Some(heap.clone().into());
            // SAFETY: one object and one priority, both readable; the object is a live heap.
            let set = unsafe { device.SetResidencyPriority(1, &pageable, &priority) };
            if set.is_err() {
                tracing::warn!(
                    priority,
                    "the device did not take the residency priority: {:#}",
                    hresult::Named(set)
                );
            }
        }
        Ok(heap)
    }

    fn take_seat(&self) -> Result<Option<Seat>, Obstacle> {
        if self.desc.pool.is_none() {
            return Ok(None);
        }
        let limit = if self.desc.max_heap_count == 0 { u64::MAX } else { self.desc.max_heap_count };
        let next = |taken: u64| (taken < limit).then_some(taken + 1);
        self.seats
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, next)
            .map_err(|_| Obstacle::HeapCount { limit })?;
        Ok(Some(Seat { seats: Arc::clone(&self.seats) }))
    }

    /// Adds a heap that nothing is in.
    pub(super) fn insert_empty(&self, heap: Arc<Heap>) -> Result<(), PlacementError> {
        let inserted = self.shared.insert(heap.size(), heap);
        self.note_change();
        inserted
    }

    /// Adds a heap that was made in advance for requests of this kind. One that cannot be numbered goes back to the device.
    pub(super) fn insert_prefetched(&self, sharing: Sharing, heap: Arc<Heap>) {
        let _refused = self.engine(sharing).insert(heap.size(), heap);
        self.note_change();
    }

    /// What becomes of heaps that nothing is in any more.
    pub(super) fn recycle(&self, heaps: Vec<Arc<Heap>>) {
        for heap in heaps {
            self.recycle_one(heap);
        }
    }

    /// Whether a pool would have fewer heaps than it is to have without this one.
    pub(super) fn is_needed(&self, heap: &Heap) -> bool {
        self.desc.pool.is_some()
            && self.seats.load(Ordering::Relaxed) <= self.desc.min_heap_count
            && heap.size() == self.desc.heap_size
    }

    fn recycle_one(&self, heap: Arc<Heap>) {
        if self.residency.is_some() && heap.residency().is_none() {
            // What the manager does not know is for nobody else.
            return;
        }
        if self.is_needed(&heap) {
            // Refused only when there are as many heaps as can be numbered; the heap goes back to the device then.
            let _refused = self.insert_empty(heap);
        } else if self.desc.recycling == Recycling::IntoPool {
            self.spare.put(heap);
        }
    }

    /// The sizes of empty heaps that no engine keeps.
    pub(super) fn spare_sizes(&self) -> Vec<ByteSize> {
        if self.owns_spare() { self.spare.pool.sizes() } else { Vec::new() }
    }

    /// Whether a heap of any size that holds a request will do for it.
    pub(super) fn takes_any_heap(&self) -> bool {
        self.shared.algorithm() == PlacementAlgorithm::Default && self.desc.heap_size.is_zero()
    }

    /// Whether no two resources share a heap.
    pub(super) fn is_dedicated(&self) -> bool {
        self.shared.algorithm() == PlacementAlgorithm::Dedicated
    }

    /// Bytes of heaps that are shared and that nothing is in.
    pub(super) fn free_in_heaps(&self) -> ByteSize {
        let totals = self.shared.totals();
        totals.reserved.saturating_sub(totals.used)
    }

    /// Gives empty heaps of at least so many bytes back to the device, or all there are, and answers how many that was.
    pub(super) fn release(&self, bytes: ByteSize) -> ByteSize {
        let mut released = ByteSize::ZERO;
        let left = |released: ByteSize| bytes.saturating_sub(released);
        for (size, heap) in self.spare.pool.release(bytes) {
            released = released.saturating_add(size);
            drop(heap);
        }
        if released < bytes {
            for (size, heap) in self.dedicated.take_empty(left(released)) {
                released = released.saturating_add(size);
                drop(heap);
            }
        }
        if released < bytes {
            let mut kept = Vec::new();
            for (size, heap) in self.shared.take_empty(left(released)) {
                let is_needed = self.desc.pool.is_some()
                    && self.seats.load(Ordering::Relaxed) <= self.desc.min_heap_count;
                if is_needed {
                    kept.push(heap);
                } else {
                    released = released.saturating_add(size);
                    drop(heap);
                }
            }
            for heap in kept {
                let _refused = self.insert_empty(heap);
            }
        }
        self.note_change();
        released
    }

    /// Whether pooled heaps are charged to this allocator, and not to the one that it is nested in.
    fn owns_spare(&self) -> bool {
        Arc::ptr_eq(&self.spare.accounts, &self.accounts)
    }

    /// Has those who sum up all pools look at this one again; to be called behind each change of what the heaps hold.
    #[inline]
    pub(super) fn note_change(&self) {
        if let Some(entry) = &self.pool_entry {
            entry.note_change(&self.this);
        }
    }

    /// What the heaps add to statistics.
    pub(super) fn share(&self) -> HeapsShare {
        let (prefetch_misses, prefetch_eliminated) = self.prefetch.misses_and_eliminated();
        let cache = self.shared.size_cache();
        HeapsShare {
            totals: self.totals(),
            prefetch_misses,
            prefetch_eliminated,
            size_cache_hits: cache.hits,
            size_cache_misses: cache.misses,
        }
    }

    /// What is in the heaps, and the heaps that are held empty as well.
    pub(super) fn totals(&self) -> HeapSetTotals {
        let [shared, own] = [self.shared.totals(), self.dedicated.totals()];
        let spare = if self.owns_spare() { self.spare.pool.totals() } else { HeapPoolTotals::default() };
        HeapSetTotals {
            used: shared.used.saturating_add(own.used),
            reserved: shared.reserved.saturating_add(own.reserved).saturating_add(spare.bytes),
            allocation_count: shared.allocation_count + own.allocation_count,
            heap_count: shared.heap_count + own.heap_count + spare.heap_count,
            empty_heap_count: shared.empty_heap_count + own.empty_heap_count + spare.heap_count,
            empty: shared.empty.saturating_add(own.empty).saturating_add(spare.bytes),
        }
    }

    pub(super) fn audit(&self) -> Result<(), String> {
        self.prefetch.wait();
        for (engine, name) in [(&self.shared, "shared"), (&self.dedicated, "own")] {
            engine.audit().map_err(|error| {
                format!("{name} {} heaps of {:?}: {error}", self.desc.heap_type, self.desc.class)
            })?;
        }
        // Another thread may be between a change and its note.
        let is_counted = |entry: &PoolEntry| {
            (0..1000).any(|_| {
                let is_counted = entry.is_counted(|| self.share());
                if !is_counted {
                    std::thread::yield_now();
                }
                is_counted
            })
        };
        if !self.pool_entry.as_ref().is_none_or(is_counted) {
            return Err("the sums over all pools miss a change of one".to_owned());
        }
        Ok(())
    }
}

impl Striped<TypedHeaps> {
    /// Room that is found at once, in heaps that something is in as a rule. It takes no reference to the heap.
    #[inline(always)]
    pub(super) fn find_room_at_hand(&self, request: &PlacementRequest) -> Option<PlacedRange> {
        let of_heap = |heap: &Arc<Heap>| {
            if heap.take_prefetched() {
                self.prefetch.count_eliminated();
            }
            NonNull::from(&**heap)
        };
        let placed = self.shared.allocate_at_hand(request, of_heap)?;
        let SharedPlaced { id, range, heap } = placed;
        Some(PlacedRange {
            heaps: HeapsReference::Striped(self.reference()),
            heap,
            id,
            range,
            sharing: Sharing::Shared,
            alignment: request.alignment,
            is_held: true,
        })
    }
}

impl Kin {
    fn join(&self, heaps: &Arc<TypedHeaps>) {
        let mut members = self.members.lock().unwrap_or_else(PoisonError::into_inner);
        members.retain(|heaps| heaps.strong_count() > 0);
        members.push(Arc::downgrade(heaps));
    }

    /// The members that there are.
    fn members(&self) -> Vec<Arc<TypedHeaps>> {
        let members = self.members.lock().unwrap_or_else(PoisonError::into_inner);
        members.iter().filter_map(Weak::upgrade).collect()
    }

    /// The members but one.
    pub(super) fn others(&self, but: &TypedHeaps) -> Vec<Arc<TypedHeaps>> {
        {
            let members = self.members.lock().unwrap_or_else(PoisonError::into_inner);
            if members.len() < 2 {
                return Vec::new();
            }
        }
        let mut members = self.members();
        members.retain(|member| member.desc.number != but.desc.number);
        members
    }

    /// An empty heap of another member.
    fn take_empty(&self, asking: &TypedHeaps, at_least: ByteSize, wanted: ByteSize) -> Option<Arc<Heap>> {
        let others = self.others(asking);
        for other in others {
            let Some((_, heap)) = other.shared.take_empty_fitting(at_least, wanted) else { continue };
            match heap.transfer_to(&asking.accounts) {
                Ok(()) => return Some(heap),
                Err(_) => drop(other.insert_empty(heap)),
            }
        }
        None
    }
}

/// Which of the allocator's own heaps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HeapKind {
    pub(super) family: HeapFamily,
    /// What it is accounted for as.
    pub(super) heap_type: HeapType,
    pub(super) class: ResourceClass,
}

impl HeapKind {
    pub(super) const COUNT: usize = (HeapType::ALL.len() + 1) * ResourceClass::ALL.len();

    /// The kind of an [index](Self::index_of): those of the heap types, and the one of CUSTOM heaps, which are DEFAULT's and UPLOAD's
    /// with unified memory and GPU_UPLOAD's otherwise.
    pub(super) fn of(index: usize, families: &HeapFamilies, caps: &DeviceCaps) -> Self {
        let (place, class) = (index / ResourceClass::ALL.len(), index % ResourceClass::ALL.len());
        let class = ResourceClass::ALL[class];
        match HeapType::ALL.get(place) {
            Some(&heap_type) => Self { family: HeapFamily::Type(heap_type), heap_type, class },
            None => Self {
                family: families.custom(caps.architecture),
                heap_type: Self::account_of_custom(families),
                class,
            },
        }
    }

    /// What CUSTOM heaps are accounted for as.
    pub(super) fn account_of_custom(families: &HeapFamilies) -> HeapType {
        if families.has_unified_memory() { HeapType::Default } else { HeapType::GpuUpload }
    }

    #[inline]
    pub(super) fn index_of(family: HeapFamily, class: ResourceClass) -> usize {
        let place = match family {
            HeapFamily::Type(heap_type) => heap_type.index(),
            HeapFamily::Custom(_) => HeapType::ALL.len(),
        };
        place * ResourceClass::ALL.len() + class.index()
    }
}
