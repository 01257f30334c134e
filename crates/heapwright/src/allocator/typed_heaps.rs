//! The heaps of one kind: an engine that divides them, and where empty ones wait.

use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use heapwright_core::placement::{
    EngineDesc, HeapEngine, HeapPool, HeapSetTotals, PlacementAlgorithm, PlacementError, PlacementRequest,
    Room, SharedPlaced, SharedPlacementId,
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
use super::prefetch::Prefetch;
use super::residency::{NewMemory, create_managed};
use super::striped::{Stripe, Striped};
use super::{HeapType, Inner};
use crate::error::{Obstacle, Way};
use crate::heap_family::{HeapFamilies, HeapFamily};
use crate::requirements::ResourceClass;
use crate::{AllocationId, Architecture, ResidencyManager, SegmentGroup};

/// Heaps of one kind, which the resources of one class share.
///
/// Its lock is that of the engine and of the pool, and neither is held while a heap is created or destroyed.
#[derive(Debug)]
pub(super) struct TypedHeaps {
    pub(super) desc: TypedHeapsDesc,
    /// Resources that share heaps.
    shared: HeapEngine<Arc<Heap>>,
    /// Resources with a heap of their own.
    dedicated: HeapEngine<Arc<Heap>>,
    /// Empty heaps that no engine keeps.
    spare: Arc<HeapPool<Arc<Heap>>>,
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
}

/// What heaps of one kind are like.
#[derive(Debug)]
pub(super) struct TypedHeapsDesc {
    /// Among all that this process made.
    pub(super) number: u64,
    /// A custom pool's name.
    pub(super) pool: Option<Arc<str>>,
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

/// What becomes of empty heaps that an engine gives up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Recycling {
    /// A resource's own heap joins those that are shared, which keep it as long as they would one of theirs.
    IntoShared,
    /// The pool takes what it is for; the device gets the rest.
    IntoPool,
    /// The device gets them.
    Never,
}

/// Which of the engines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Sharing {
    Shared,
    Own,
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
    /// Of a slot, which is allocated and freed without anything that other threads use.
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
/// `heap` points to a heap that an `Arc` holds as long as the range is live: either `_held` is one, or the range is a slot, whose
/// slab has one until the slot is freed; and the slab is a part of `heaps`.
#[derive(Debug)]
pub(super) struct PlacedRange {
    heaps: HeapsReference,
    heap: NonNull<Heap>,
    id: SharedPlacementId,
    range: HeapRange,
    sharing: Sharing,
    alignment: Alignment,
    _held: Option<Arc<Heap>>,
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
        let (pointer, held) = (NonNull::from(&*heap), Some(heap));
        let heaps = HeapsReference::Counted(heaps);
        Self { heaps, heap: pointer, id, range, sharing, alignment, _held: held, is_held: true }
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
        self.sharing == Sharing::Own
    }

    pub(super) fn id(&self) -> AllocationId {
        AllocationId::placed(self.heaps().desc.number, self.has_own_heap(), self.id)
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
            Ok(left) => self.heaps.recycle(left, self.sharing),
            Err(error) => debug_assert!(false, "a placed range is freed once: {error}"),
        }
    }
}

impl TypedHeaps {
    pub(super) fn new(
        desc: TypedHeapsDesc,
        spare: Arc<HeapPool<Arc<Heap>>>,
        kin: Arc<Kin>,
        accounts: Arc<Accounts>,
        residency: Option<ResidencyManager>,
        allocator: Weak<Inner>,
    ) -> Arc<Self> {
        let granularity =
            Alignment::new(desc.heap.Alignment).unwrap_or(HEAP_GRANULARITY).max(HEAP_GRANULARITY);
        let dedicated = EngineDesc::Dedicated { granularity };
        let heaps = Arc::new(Self {
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
        });
        heaps.kin.join(&heaps);
        heaps
    }

    #[inline]
    fn engine(&self, sharing: Sharing) -> &HeapEngine<Arc<Heap>> {
        match sharing {
            Sharing::Shared => &self.shared,
            Sharing::Own => &self.dedicated,
        }
    }

    pub(super) fn shared(&self) -> &HeapEngine<Arc<Heap>> {
        &self.shared
    }

    pub(super) fn dedicated(&self) -> &HeapEngine<Arc<Heap>> {
        &self.dedicated
    }

    pub(super) fn spare(&self) -> &Arc<HeapPool<Arc<Heap>>> {
        &self.spare
    }

    /// Room in the heaps that there are.
    #[inline]
    pub(super) fn find_room(
        self: &Arc<Self>,
        sharing: Sharing,
        request: &PlacementRequest,
    ) -> Result<Option<PlacedRange>, PlacementError> {
        let placed = self.engine(sharing).allocate(request)?;
        Ok(placed.map(|placed| PlacedRange::new(Arc::clone(self), sharing, placed, request.alignment)))
    }

    /// Room in the heaps that there are, whatever it wastes of an empty one.
    pub(super) fn find_any_room(
        self: &Arc<Self>,
        sharing: Sharing,
        request: &PlacementRequest,
    ) -> Result<Option<PlacedRange>, PlacementError> {
        let placed = self.engine(sharing).allocate_anywhere(request)?;
        Ok(placed.map(|placed| PlacedRange::new(Arc::clone(self), sharing, placed, request.alignment)))
    }

    /// Room in a heap that joins them.
    pub(super) fn room_in_new(
        self: &Arc<Self>,
        sharing: Sharing,
        heap: Arc<Heap>,
        request: &PlacementRequest,
    ) -> Result<PlacedRange, PlacementError> {
        let placed = self.engine(sharing).allocate_in_new(heap.size(), heap, request)?;
        Ok(PlacedRange::new(Arc::clone(self), sharing, placed, request.alignment))
    }

    /// The size of the heap that a request needs. Heaps that are not worth keeping beside it go back to the device.
    pub(super) fn plan(
        &self,
        sharing: Sharing,
        request: &PlacementRequest,
    ) -> Result<ByteSize, PlacementError> {
        let planned = self.engine(sharing).plan(request)?;
        self.recycle(planned.release, Sharing::Shared);
        if sharing == Sharing::Shared && !self.desc.heap_size.is_zero() {
            return Ok(self.desc.heap_size);
        }
        Ok(planned.size)
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

    /// An empty heap of a fitting size that is held already: made in advance, in the pool, or a relative's.
    pub(super) fn take_spare(&self, at_least: ByteSize, wanted: ByteSize) -> Option<Arc<Heap>> {
        if let Some(heap) = self.prefetch.take(at_least, wanted) {
            return Some(heap);
        }
        if let Some(heap) = self.spare.take(wanted) {
            match heap.transfer_to(&self.accounts) {
                Ok(()) => return Some(heap),
                Err(_) => drop(self.spare.put(heap.size(), heap)),
            }
        }
        self.kin.take_empty(self, at_least, wanted)
    }

    /// What [`find_room`](Self::find_room) and [`plan`](Self::plan) would answer, with nothing changed.
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

    /// Whether [`take_spare`](Self::take_spare) would find a heap, those of relatives left out.
    pub(super) fn has_spare(&self, at_least: ByteSize, wanted: ByteSize) -> bool {
        let [count, size] = self.prefetch.held();
        let is_ready = count > 0 && at_least.get() <= size && size <= wanted.get();
        is_ready || self.spare.sizes().contains(&wanted)
    }

    /// Whether there may be one heap more.
    pub(super) fn check_seat(&self) -> Result<(), Obstacle> {
        let limit = self.desc.max_heap_count;
        let empty = self.totals().empty_heap_count;
        let needed = self.seats.load(Ordering::Relaxed).saturating_sub(empty);
        if self.desc.pool.is_some() && limit != 0 && needed.max(self.desc.min_heap_count) >= limit {
            return Err(Obstacle::HeapCount { limit });
        }
        Ok(())
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
                tracing::warn!(priority, "the device did not take the residency priority: {:#010x}", set.0);
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
        self.shared.insert(heap.size(), heap)
    }

    /// What becomes of heaps that nothing is in any more.
    pub(super) fn recycle(&self, heaps: Vec<Arc<Heap>>, from: Sharing) {
        for heap in heaps {
            self.recycle_one(heap, from);
        }
    }

    /// Whether a pool would have fewer heaps than it is to have without this one.
    pub(super) fn is_needed(&self, heap: &Heap) -> bool {
        self.desc.pool.is_some()
            && self.seats.load(Ordering::Relaxed) <= self.desc.min_heap_count
            && heap.size() == self.desc.heap_size
    }

    fn recycle_one(&self, heap: Arc<Heap>, from: Sharing) {
        if self.residency.is_some() && heap.residency().is_none() {
            // What the manager does not know is for nobody else.
            return;
        }
        let is_needed = self.is_needed(&heap);
        let joins = from == Sharing::Own && self.desc.recycling == Recycling::IntoShared;
        if is_needed || joins {
            // Refused only when there are as many heaps as can be numbered; the heap goes back to the device then.
            let _refused = self.insert_empty(heap);
        } else if self.desc.recycling == Recycling::IntoPool {
            drop(self.spare.put(heap.size(), heap));
        }
    }

    /// The sizes of empty heaps that no engine keeps.
    pub(super) fn spare_sizes(&self) -> Vec<ByteSize> {
        let mut sizes = self.spare.sizes();
        let [count, prefetched] = self.prefetch.held();
        if count > 0 {
            sizes.push(ByteSize::new(prefetched));
        }
        sizes
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
        let mut released = self.prefetch.give_up();
        let left = |released: ByteSize| bytes.saturating_sub(released);
        if released < bytes {
            for (size, heap) in self.spare.release(left(released)) {
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
        released
    }

    /// What is in the heaps, and the heaps that are held empty as well.
    pub(super) fn totals(&self) -> HeapSetTotals {
        let [shared, own] = [self.shared.totals(), self.dedicated.totals()];
        let spare = self.spare.totals();
        let [prefetched_count, prefetched_size] = self.prefetch.held();
        HeapSetTotals {
            used: shared.used.saturating_add(own.used),
            reserved: [own.reserved, spare.bytes, ByteSize::new(prefetched_size)]
                .into_iter()
                .fold(shared.reserved, ByteSize::saturating_add),
            allocation_count: shared.allocation_count + own.allocation_count,
            heap_count: shared.heap_count + own.heap_count + spare.heap_count + prefetched_count,
            empty_heap_count: shared.empty_heap_count
                + own.empty_heap_count
                + spare.heap_count
                + prefetched_count,
            empty: [own.empty, spare.bytes, ByteSize::new(prefetched_size)]
                .into_iter()
                .fold(shared.empty, ByteSize::saturating_add),
        }
    }

    pub(super) fn audit(&self) -> Result<(), String> {
        for (engine, name) in [(&self.shared, "shared"), (&self.dedicated, "own")] {
            engine.audit().map_err(|error| {
                format!("{name} {} heaps of {:?}: {error}", self.desc.heap_type, self.desc.class)
            })?;
        }
        Ok(())
    }
}

impl Striped<TypedHeaps> {
    /// A slot of the thread's slabs, if they have one that serves the request. It takes no reference to the heap.
    #[inline(always)]
    pub(super) fn find_slot(&self, request: &PlacementRequest) -> Option<PlacedRange> {
        let placed = self.shared.slot_at_hand(request, |heap| NonNull::from(&**heap))?;
        let SharedPlaced { id, range, heap } = placed;
        Some(PlacedRange {
            heaps: HeapsReference::Striped(self.reference()),
            heap,
            id,
            range,
            sharing: Sharing::Shared,
            alignment: request.alignment,
            _held: None,
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

    /// An empty heap of another member.
    fn take_empty(&self, asking: &TypedHeaps, at_least: ByteSize, wanted: ByteSize) -> Option<Arc<Heap>> {
        let others: Vec<Arc<TypedHeaps>> = {
            let members = self.members.lock().unwrap_or_else(PoisonError::into_inner);
            if members.len() < 2 {
                return None;
            }
            members.iter().filter_map(Weak::upgrade).collect()
        };
        let others = others.iter().filter(|other| other.desc.number != asking.desc.number);
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

    /// Every kind, at its [`index`](Self::index): those of the heap types, and the one of CUSTOM heaps, which are DEFAULT's and
    /// UPLOAD's with unified memory and GPU_UPLOAD's otherwise.
    pub(super) fn all(families: &HeapFamilies, architecture: Architecture) -> [Self; Self::COUNT] {
        std::array::from_fn(|index| {
            let (place, class) = (index / ResourceClass::ALL.len(), index % ResourceClass::ALL.len());
            let class = ResourceClass::ALL[class];
            match HeapType::ALL.get(place) {
                Some(&heap_type) => Self { family: HeapFamily::Type(heap_type), heap_type, class },
                None => Self {
                    family: families.custom(architecture),
                    heap_type: if families.has_unified_memory() {
                        HeapType::Default
                    } else {
                        HeapType::GpuUpload
                    },
                    class,
                },
            }
        })
    }

    pub(super) fn index(self) -> usize {
        Self::index_of(self.family, self.class)
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
