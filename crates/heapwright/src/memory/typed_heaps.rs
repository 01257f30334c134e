//! The heaps of one kind: an engine that divides them, and their store of empty heaps.

use std::sync::{Arc, OnceLock, RwLockReadGuard, RwLockWriteGuard, Weak};

use heapwright_core::placement::{
    EngineDesc, HeapEngine, HeapPool, HeapSetTotals, PlacementAlgorithm, PlacementError, PlacementRequest,
    ServingHeap,
};
use heapwright_core::{Alignment, ByteSize};
use heapwright_d3d12::*;
use windows_core::HRESULT;

use super::accounts::Charged;
use super::heap::Heap;
use super::heap_time::HeapTime;
use super::labels::Labels;
use super::managed::{NewMemory, create_managed};
use super::pool_heaps::{HeapPermit, PoolHeaps};
use super::pool_sums::{Counted, HeapsShare, PoolEntry, PoolSums};
use super::prefetch::{CreatedHeap, Prefetch};
use super::refusal::Refusal;
use super::siblings::Siblings;
use super::source::HeapSource;
use super::spare_heaps::SpareHeaps;
use crate::desc::HEAP_GRANULARITY;
use crate::error::{MemorySource, Obstacle};
use crate::plan::Constraints;
use crate::recording::{Event, RecordedPool};
use crate::requirements::ResourceClass;
use crate::{Error, HeapType, SegmentGroup};

/// Heaps of one kind, which the resources of one class share.
///
/// Locking is that of the engine and of the pool. Neither lock is held while a heap is created or destroyed.
#[derive(Debug)]
pub(crate) struct TypedHeaps {
    pub(crate) desc: TypedHeapsDesc,
    /// Resources that share heaps; with the default algorithm, also those with a heap of their own.
    shared: HeapEngine<Arc<Heap>>,
    /// Resources with a heap of their own that does not belong to the shared engine.
    dedicated: HeapEngine<Arc<Heap>>,
    /// Empty heaps that no engine keeps. Nested allocators use their parent's.
    spare: Arc<SpareHeaps>,
    /// The heaps of the same kind of nested allocators.
    siblings: Arc<Siblings<Self>>,
    pub(crate) source: Arc<HeapSource>,
    pub(crate) labels: Labels,
    pub(crate) prefetch: Prefetch,
    /// The number of heaps of a custom pool.
    pool_heaps: Option<Arc<PoolHeaps>>,
    this: Weak<Self>,
    /// A custom pool in the allocator's recording.
    pub(crate) recorded_pool: OnceLock<Weak<RecordedPool>>,
    /// Contribution of a custom pool to the totals of all pools.
    pub(crate) pool_entry: Option<PoolEntry>,
}

/// Properties of the heaps of one kind.
#[derive(Debug)]
pub(crate) struct TypedHeapsDesc {
    /// Unique in the process.
    pub(crate) number: u64,
    /// Name of a custom pool.
    pub(crate) pool: Option<Arc<str>>,
    /// For a custom pool: the totals of all pools of its allocator.
    pub(crate) pool_sums: Option<Arc<PoolSums>>,
    pub(crate) heap_type: HeapType,
    pub(crate) segment_group: SegmentGroup,
    pub(crate) class: ResourceClass,
    /// Whether a pool holds buffers and textures; its `class` is then that of buffers.
    pub(crate) holds_everything: bool,
    /// Everything except the size.
    pub(crate) heap: D3D12_HEAP_DESC,
    pub(crate) protected_session: Option<ID3D12ProtectedResourceSession>,
    pub(crate) residency_priority: Option<D3D12_RESIDENCY_PRIORITY>,
    /// Zero lets requests determine the size.
    pub(crate) heap_size: ByteSize,
    pub(crate) max_heap_size: ByteSize,
    pub(crate) min_heap_count: u64,
    pub(crate) max_heap_count: u64,
    pub(crate) min_alignment: Alignment,
    pub(crate) engine: EngineDesc,
    /// The treatment of empty heaps that an engine gives up.
    pub(crate) recycling: Recycling,
}

/// The treatment of empty heaps that an engine gives up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Recycling {
    /// The pool keeps those that it is for; the others are released to the device.
    IntoPool,
    /// They are released to the device.
    Never,
}

/// Whether a resource shares its heap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Sharing {
    /// Shared with other resources.
    Shared,
    /// Not shared.
    Own,
    /// Not shared, and not managed by the residency manager. The heap is never used for other allocations.
    Unmanaged,
}

impl TypedHeaps {
    pub(crate) fn new(
        desc: TypedHeapsDesc,
        spare: Arc<SpareHeaps>,
        siblings: Arc<Siblings<Self>>,
        source: Arc<HeapSource>,
    ) -> Arc<Self> {
        let granularity =
            Alignment::new(desc.heap.Alignment).unwrap_or(HEAP_GRANULARITY).max(HEAP_GRANULARITY);
        let dedicated = EngineDesc::Dedicated { granularity };
        let pool_entry = desc.pool_sums.as_ref().map(|sums| PoolEntry::new(sums, desc.heap_type));
        let pool_heaps = desc.pool.as_ref().map(|_| PoolHeaps::new(desc.min_heap_count, desc.max_heap_count));
        let heaps = Arc::new_cyclic(|this| Self {
            shared: HeapEngine::with_tally(&desc.engine, Arc::clone(&source.tally)),
            dedicated: HeapEngine::new(&dedicated),
            desc,
            spare,
            siblings,
            source,
            labels: Labels::default(),
            prefetch: Prefetch::default(),
            pool_heaps,
            this: Weak::clone(this),
            recorded_pool: OnceLock::new(),
            pool_entry,
        });
        heaps.source.tally.add_needed(heaps.needed());
        heaps.siblings.join(&heaps);
        heaps
    }

    /// Returns the bytes of heaps that a pool keeps in any case.
    fn needed(&self) -> ByteSize {
        ByteSize::new(self.desc.heap_size.get().saturating_mul(self.desc.min_heap_count))
    }

    #[inline]
    pub(crate) fn engine(&self, sharing: Sharing) -> &HeapEngine<Arc<Heap>> {
        if self.is_in_shared_engine(sharing) { &self.shared } else { &self.dedicated }
    }

    #[inline]
    pub(crate) fn is_in_shared_engine(&self, sharing: Sharing) -> bool {
        match sharing {
            Sharing::Shared => true,
            Sharing::Own => self.shared.algorithm() == PlacementAlgorithm::Default,
            Sharing::Unmanaged => false,
        }
    }

    pub(crate) fn shared(&self) -> &HeapEngine<Arc<Heap>> {
        &self.shared
    }

    pub(crate) fn dedicated(&self) -> &HeapEngine<Arc<Heap>> {
        &self.dedicated
    }

    /// Releases the empty heaps that are not worth keeping in addition to a new one for a request.
    pub(crate) fn make_way(
        &self,
        sharing: Sharing,
        request: &PlacementRequest,
    ) -> Result<(), PlacementError> {
        let transit = self.in_transit();
        let planned = self.engine(sharing).plan(request)?;
        self.recycle(planned.release, transit);
        if self.desc.recycling == Recycling::IntoPool {
            let members = self.siblings.members();
            let in_use = members.iter().map(|heaps| heaps.bytes_of_pooled_kind());
            let in_use = in_use.fold(ByteSize::ZERO, ByteSize::saturating_add);
            drop(self.spare.pool.make_way(in_use, planned.size));
        }
        self.note_change();
        Ok(())
    }

    /// Returns the bytes of the heaps that go to the pool once they are empty.
    fn bytes_of_pooled_kind(&self) -> ByteSize {
        match self.desc.recycling {
            Recycling::IntoPool => {
                self.shared.totals().reserved.saturating_add(self.dedicated.totals().reserved)
            }
            Recycling::Never => ByteSize::ZERO,
        }
    }

    /// Returns the size of the heap that a request would need, without changes.
    pub(crate) fn new_heap_size(
        &self,
        sharing: Sharing,
        request: &PlacementRequest,
    ) -> Result<ByteSize, PlacementError> {
        if sharing == Sharing::Shared && !self.desc.heap_size.is_zero() {
            return Ok(self.desc.heap_size);
        }
        self.engine(sharing).new_heap_size(request)
    }

    /// Takes an empty heap of a suitable size that is already held: pooled, or held by a nested allocator.
    pub(crate) fn take_spare(&self, least: ByteSize, wanted: ByteSize) -> Option<Arc<Heap>> {
        if let Some((_, heap)) = self.spare.pool.take_fitting(least, wanted) {
            match heap.transfer_to(&self.source.accounts) {
                Ok(()) => return Some(heap),
                Err(_) => self.spare.put(heap),
            }
        }
        self.take_empty_of_siblings(least, wanted)
    }

    /// Returns whether a request fits in the existing heaps, or the size of the heap that it would need. Nothing is
    /// placed.
    pub(crate) fn probe(
        &self,
        sharing: Sharing,
        request: &PlacementRequest,
    ) -> Result<ServingHeap, PlacementError> {
        let room = self.engine(sharing).probe(request)?;
        Ok(match room {
            ServingHeap::New { .. } if sharing == Sharing::Shared && !self.desc.heap_size.is_zero() => {
                ServingHeap::New { size: self.desc.heap_size }
            }
            room => room,
        })
    }

    /// Returns whether a request fits in the existing heaps, however much of an empty heap it wastes.
    pub(crate) fn has_any_room(
        &self,
        sharing: Sharing,
        request: &PlacementRequest,
    ) -> Result<bool, PlacementError> {
        self.engine(sharing).has_room_anywhere(request)
    }

    /// Returns whether [`take_spare`](Self::take_spare) would find a heap, provided that limits permit its transfer.
    pub(crate) fn has_spare(&self, least: ByteSize, wanted: ByteSize) -> bool {
        self.spare.pool.has_fitting(least, wanted)
            || self.siblings.others(self).iter().any(|other| other.shared.has_empty_fitting(least, wanted))
    }

    /// Checks whether one more heap is permitted after `released` of the existing heaps are released.
    pub(crate) fn check_heap_count(&self, released: u64) -> Result<(), Obstacle> {
        self.pool_heaps.as_ref().map_or(Ok(()), |pool| pool.check(released))
    }

    /// Returns how many heaps of a pool may be released, with these engines in the place of its own. O(n) for n empty heaps.
    pub(crate) fn releasable_of_engines(
        &self,
        shared: &HeapEngine<Arc<Heap>>,
        dedicated: &HeapEngine<Arc<Heap>>,
    ) -> u64 {
        let Some(pool) = &self.pool_heaps else { return 0 };
        let is_regular = |heap: &Arc<Heap>| heap.size() == self.desc.heap_size;
        let mut empty = shared.map_empty(is_regular);
        empty.extend(dedicated.map_empty(is_regular));
        let regular = empty.iter().filter(|&&is_regular| is_regular).count();
        pool.releasable(regular as u64, (empty.len() - regular) as u64)
    }

    /// Must be held while empty heaps are taken out of an engine, until those that a pool needs are back.
    #[inline]
    pub(crate) fn in_transit(&self) -> Option<RwLockReadGuard<'_, ()>> {
        self.pool_heaps.as_ref()?.in_transit()
    }

    /// Waits until the engines have all heaps of a pool with a limit, except those that are being created, and keeps it so.
    pub(crate) fn settled(&self) -> Option<RwLockWriteGuard<'_, ()>> {
        self.pool_heaps.as_ref()?.settled()
    }

    fn add_to_pool(&self, size: ByteSize) -> Result<Option<HeapPermit>, Refusal> {
        let Some(pool) = &self.pool_heaps else { return Ok(None) };
        let refuse = |obstacle| Refusal::of(MemorySource::NewHeap(size), obstacle);
        pool.add(size == self.desc.heap_size).map(Some).map_err(refuse)
    }

    /// Counts a new heap of a pool. If the pool has its maximum number of heaps, an empty one is released.
    fn replace_in_pool(&self, size: ByteSize) -> Result<Option<HeapPermit>, Refusal> {
        self.add_to_pool(size).or_else(|_| {
            // Declared first, to release the heap to the device without the lock.
            let _left;
            let _settled = self.settled();
            if let Ok(permit) = self.add_to_pool(size) {
                return Ok(permit);
            }
            _left = self.take_leaving(ByteSize::new(1));
            self.note_change();
            self.add_to_pool(size)
        })
    }

    /// Creates a heap, for which a residency manager makes memory available.
    pub(crate) fn create_heap(&self, size: ByteSize, constraints: Constraints) -> Result<Arc<Heap>, Refusal> {
        let permit = self.replace_in_pool(size)?;
        let heap = self.account_heap(size, constraints, permit, || self.create_d3d12_heap(size))?;
        if let Some(recording) = &self.source.recording {
            heap.record(recording, &self.desc.heap);
        }
        Ok(heap)
    }

    /// Counts a heap that a function creates, if limits and manager permit it.
    fn account_heap(
        &self,
        size: ByteSize,
        constraints: Constraints,
        permit: Option<HeapPermit>,
        create: impl FnOnce() -> Result<ID3D12Heap, HRESULT>,
    ) -> Result<Arc<Heap>, Refusal> {
        let new_heap = MemorySource::NewHeap(size);
        let refuse = |obstacle| Refusal::of(new_heap, obstacle);
        let of_device = |hresult| match hresult {
            E_OUTOFMEMORY => refuse(Obstacle::Device(hresult)),
            _ => Error::device("ID3D12Device::CreateHeap", hresult).into(),
        };
        let charge = self.source.accounts.charge(self.desc.heap_type, Charged::Heap, size).map_err(refuse)?;
        let (heap, residency) = match self.source.manager_for(constraints) {
            None => (create().map_err(of_device)?, None),
            Some(manager) => {
                let new = NewMemory {
                    group: self.desc.segment_group,
                    size,
                    flags: self.desc.heap.Flags,
                    within_budget: constraints.within_budget,
                    priority: self.desc.residency_priority,
                };
                let made = create_managed(manager, new, create);
                let (heap, residency) = made.map_err(|not| not.into_refusal(new_heap, of_device))?;
                (heap, Some(residency))
            }
        };
        self.source.accounts.count_created_heap();
        let (heap_type, class) = (self.desc.heap_type, self.desc.class);
        tracing::debug!(%heap_type, ?class, %size, "created a heap");
        let time = HeapTime::of_new(&self.source.accounts, heap_type, size);
        Ok(Heap::new(heap, residency, size, charge, time, permit))
    }

    pub(crate) fn create_d3d12_heap(&self, size: ByteSize) -> Result<ID3D12Heap, HRESULT> {
        let devices = &self.source.devices;
        let desc = D3D12_HEAP_DESC { SizeInBytes: size.get(), ..self.desc.heap };
        let mut heap: Option<ID3D12Heap> = None;
        match &self.desc.protected_session {
            None => {
                // SAFETY: the device is a live COM object, the description outlives the call, and the result is written to
                // a variable of the interface that is asked for.
                unsafe { devices.device.CreateHeap(&desc, &mut heap) }
            }
            Some(session) => {
                // `create_pool` rejects a session if the device lacks the interface.
                let device = devices.device4.as_ref().ok_or(E_NOINTERFACE)?;
                // SAFETY: as above; the session is a live COM object.
                unsafe { device.CreateHeap1(&desc, session, &mut heap) }
            }
        }
        .map_err(|error| error.code())?;
        let heap = heap.ok_or(E_POINTER)?;
        // A manager sets the priority itself.
        let priority = self.desc.residency_priority.filter(|_| self.source.residency.is_none());
        if let (Some(priority), Some(device)) = (priority, &devices.device1) {
            let pageable = Some(heap.clone().into());
            // SAFETY: one object and one priority, both readable; the object is a live heap.
            let set = unsafe { device.SetResidencyPriority(1, &pageable, &priority) };
            if set.is_err() {
                tracing::warn!(priority, "SetResidencyPriority failed: {:#}", hresult::Named(set));
            }
        }
        Ok(heap)
    }

    /// Adds an empty heap.
    pub(crate) fn insert_empty(&self, heap: Arc<Heap>) -> Result<(), PlacementError> {
        let inserted = self.shared.insert(heap.size(), heap);
        self.note_change();
        inserted
    }

    /// Adds a prefetched heap for requests of this kind, and records both. If limits do not permit it any more, or if the heap numbers
    /// are exhausted, the heap is released to the device.
    pub(crate) fn insert_prefetched(
        &self,
        sharing: Sharing,
        size: ByteSize,
        constraints: Constraints,
        create: impl FnOnce() -> Result<ID3D12Heap, HRESULT>,
    ) -> Result<(), Refusal> {
        let heap = self.account_heap(size, constraints, self.add_to_pool(size)?, create)?;
        heap.mark_prefetched();
        if let Some(recording) = &self.source.recording {
            let pool = match self.recorded_pool.get().map(Weak::upgrade) {
                // No allocation will ask for it: the last handle of the pool is gone.
                Some(None) => return Ok(()),
                Some(pool) => pool,
                None => None,
            };
            heap.record(recording, &self.desc.heap);
            if let Some(id) = heap.id_in(recording) {
                // The pool is held until the event is recorded, because none may name it after it was dropped.
                let (of_pool, is_shared) = (pool.as_ref().map(|pool| pool.id()), sharing == Sharing::Shared);
                recording.call(|instance| Event::PrefetchHeap {
                    instance,
                    heap: id,
                    pool: of_pool,
                    is_shared,
                });
            }
        }
        let _refused = self.engine(sharing).insert(heap.size(), heap);
        self.note_change();
        Ok(())
    }

    /// Adds the heaps that were prefetched while a recording is made. Without the allocator, they are released to the device.
    pub(crate) fn insert_created(&self) {
        let created = self.prefetch.take_created();
        if created.is_empty() {
            return;
        }
        // Held until all are recorded, because a recording has nothing of an allocator after its end.
        let Some(_allocator) = self.source.allocator.upgrade() else { return };
        for CreatedHeap { sharing, size, constraints, heap } in created {
            if let Err(refusal) = self.insert_prefetched(sharing, size, constraints, || Ok(heap)) {
                tracing::debug!(%size, ?refusal, "a prefetched heap is not permitted any more");
            }
        }
    }

    /// Keeps, pools or releases heaps that became empty, and ends their transit before any is released.
    pub(crate) fn recycle(&self, heaps: Vec<Arc<Heap>>, transit: Option<RwLockReadGuard<'_, ()>>) {
        let left = self.leave(heaps);
        drop(transit);
        if self.desc.recycling == Recycling::IntoPool {
            left.into_iter().filter(|heap| self.is_usable(heap)).for_each(|heap| self.spare.put(heap));
        }
    }

    /// Puts the heaps back that a pool needs, and returns the others, which the pool no longer counts.
    pub(crate) fn leave(&self, mut heaps: Vec<Arc<Heap>>) -> Vec<Arc<Heap>> {
        for heap in heaps.extract_if(.., |heap| !heap.leave_pool() && self.is_usable(heap)) {
            // Refused only if the heap numbers are exhausted; the heap is then released to the device.
            let _refused = self.insert_empty(heap);
        }
        heaps
    }

    /// Returns whether a heap may be used for other allocations: it is managed if there is a manager.
    fn is_usable(&self, heap: &Heap) -> bool {
        self.source.residency.is_none() || heap.residency().is_some()
    }

    /// Returns the sizes of empty heaps that no engine keeps.
    pub(crate) fn spare_sizes(&self) -> Vec<ByteSize> {
        self.own_spare().map(HeapPool::sizes).unwrap_or_default()
    }

    /// Returns whether a heap of any sufficient size can serve a request.
    pub(crate) fn takes_any_heap(&self) -> bool {
        self.shared.algorithm() == PlacementAlgorithm::Default && self.desc.heap_size.is_zero()
    }

    /// Returns whether no two resources share a heap.
    pub(crate) fn is_dedicated(&self) -> bool {
        self.shared.algorithm() == PlacementAlgorithm::Dedicated
    }

    /// Returns the free bytes of shared heaps.
    pub(crate) fn free_in_heaps(&self) -> ByteSize {
        let totals = self.shared.totals();
        totals.reserved.saturating_sub(totals.used)
    }

    /// Releases empty heaps of at least `bytes` bytes, or all of them, and returns the number of released bytes. Includes the pooled
    /// heaps of the allocator that this one is nested in.
    pub(crate) fn release(&self, bytes: ByteSize) -> ByteSize {
        let released = sum_of_sizes(&self.spare.pool.release(bytes));
        released.saturating_add(self.release_of_engines(bytes.saturating_sub(released)))
    }

    /// Releases empty heaps that are charged to this allocator, like [`release`](Self::release).
    pub(crate) fn release_own(&self, bytes: ByteSize) -> ByteSize {
        let released = self.own_spare().map(|spare| sum_of_sizes(&spare.release(bytes))).unwrap_or_default();
        released.saturating_add(self.release_of_engines(bytes.saturating_sub(released)))
    }

    fn release_of_engines(&self, bytes: ByteSize) -> ByteSize {
        let transit = self.in_transit();
        let left = self.take_leaving(bytes);
        drop(transit);
        self.note_change();
        left.iter().fold(ByteSize::ZERO, |sum, heap| sum.saturating_add(heap.size()))
    }

    /// Takes empty heaps that may leave, of at least `bytes` bytes or all of them, out of the engines.
    fn take_leaving(&self, bytes: ByteSize) -> Vec<Arc<Heap>> {
        let (mut left, mut needed) = (Vec::new(), Vec::new());
        let mut missing = bytes;
        while !missing.is_zero() {
            let taken = self.take_empty(missing);
            if taken.is_empty() {
                break;
            }
            for heap in taken {
                if heap.leave_pool() {
                    missing = missing.saturating_sub(heap.size());
                    left.push(heap);
                } else {
                    needed.push(heap);
                }
            }
        }
        for heap in needed {
            // Refused only if the heap numbers are exhausted; the heap is then released to the device.
            let _refused = self.insert_empty(heap);
        }
        left
    }

    /// Takes empty heaps of at least `bytes` bytes, or all of them, out of the engines.
    fn take_empty(&self, bytes: ByteSize) -> Vec<Arc<Heap>> {
        let mut taken = self.dedicated.take_empty(bytes);
        taken.extend(self.shared.take_empty(bytes.saturating_sub(sum_of_sizes(&taken))));
        taken.into_iter().map(|(_, heap)| heap).collect()
    }

    /// Releases heaps that are not worth keeping, after operations on any heaps.
    pub(crate) fn pass_operations(&self) {
        let transit = self.in_transit();
        self.recycle(self.shared.pass_operations(), transit);
        self.note_change();
    }

    /// Releases empty heaps as long as too many bytes are empty in the allocator.
    pub(crate) fn release_surplus(&self) {
        let transit = self.in_transit();
        self.recycle(self.shared.take_surplus(), transit);
        self.note_change();
    }

    /// Counts a frame, and releases heaps that have been empty for too many frames.
    pub(crate) fn pass_frame(&self) {
        let transit = self.in_transit();
        self.recycle(self.shared.pass_frame(), transit);
        self.note_change();
    }

    /// Counts a period, and releases heaps that were empty for two of them.
    pub(crate) fn pass_period(&self) {
        let transit = self.in_transit();
        self.recycle(self.shared.pass_period(), transit);
        self.note_change();
    }

    /// Returns the pooled heaps if they are charged to this allocator, and not to the one that it is nested in.
    fn own_spare(&self) -> Option<&HeapPool<Arc<Heap>>> {
        self.spare.owned_by(&self.source.accounts)
    }

    /// Takes an empty heap of a nested allocator.
    fn take_empty_of_siblings(&self, at_least: ByteSize, wanted: ByteSize) -> Option<Arc<Heap>> {
        for other in self.siblings.others(self) {
            let Some((_, heap)) = other.shared.take_empty_fitting(at_least, wanted) else { continue };
            match heap.transfer_to(&self.source.accounts) {
                Ok(()) => return Some(heap),
                Err(_) => drop(other.insert_empty(heap)),
            }
        }
        None
    }

    /// Marks the pool as changed for the totals of all pools. Must be called after each change of the heaps' contents.
    #[inline]
    pub(crate) fn note_change(&self) {
        if let Some(entry) = &self.pool_entry {
            entry.note_change(|| self.this.clone());
        }
    }

    /// Returns the totals of the heaps, including empty ones that are held.
    pub(crate) fn totals(&self) -> HeapSetTotals {
        self.totals_of_engines(&self.shared, &self.dedicated)
    }

    /// Returns the totals, with these engines in the place of its own.
    pub(crate) fn totals_of_engines(
        &self,
        shared: &HeapEngine<Arc<Heap>>,
        dedicated: &HeapEngine<Arc<Heap>>,
    ) -> HeapSetTotals {
        let [shared, own] = [shared.totals(), dedicated.totals()];
        let spare = self.own_spare().map(HeapPool::totals).unwrap_or_default();
        HeapSetTotals {
            used: shared.used.saturating_add(own.used),
            reserved: shared.reserved.saturating_add(own.reserved).saturating_add(spare.bytes),
            allocation_count: shared.allocation_count + own.allocation_count,
            heap_count: shared.heap_count + own.heap_count + spare.heap_count,
            empty_heap_count: shared.empty_heap_count + own.empty_heap_count + spare.heap_count,
            empty: shared.empty.saturating_add(own.empty).saturating_add(spare.bytes),
        }
    }

    pub(crate) fn audit(&self) -> Result<(), String> {
        self.prefetch.wait();
        self.insert_created();
        for (engine, name) in [(&self.shared, "shared"), (&self.dedicated, "own")] {
            engine.audit().map_err(|error| {
                format!("{name} {} heaps of {:?}: {error}", self.desc.heap_type, self.desc.class)
            })?;
        }
        // Another thread may be between a change and its mark.
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
            return Err("the totals over all pools do not include a change of this pool".to_owned());
        }
        Ok(())
    }
}

fn sum_of_sizes<H>(heaps: &[(ByteSize, H)]) -> ByteSize {
    heaps.iter().fold(ByteSize::ZERO, |sum, &(size, _)| sum.saturating_add(size))
}

impl Drop for TypedHeaps {
    fn drop(&mut self) {
        self.source.tally.subtract_needed(self.needed());
    }
}

impl Counted for TypedHeaps {
    fn entry(&self) -> Option<&PoolEntry> {
        self.pool_entry.as_ref()
    }

    fn share(&self) -> HeapsShare {
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
}
