//! All heaps of an allocator: its own of each kind, and its pools'.

use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use heapwright_core::placement::PlacementAlgorithm;
use heapwright_core::{Alignment, ByteSize};
use heapwright_d3d12::*;

use super::engine_desc::fixed_heap_size;
use super::nesting::Nesting;
use super::prefetch::Prefetcher;
use super::striped::Striped;
use super::take::HeapRequest;
use super::typed_heaps::{HeapsShare, Passed, Sharing, TypedHeaps, TypedHeapsDesc};
use crate::desc::{EmptyHeapPolicy, ResourceAllocationFlags, ResourceAllocatorDesc, ResourceAllocatorFlags};
use crate::error::Refusal;
use crate::request::{HeapFamilies, HeapFamily, ResourceClass};
use crate::source::{Account, Constraints, GivenBack, Heap, HeapSource, Limits, Owner, next_number};
use crate::{DeviceCaps, Error, HeapType, SegmentGroup};

/// All heaps of an allocator.
pub(crate) struct HeapKinds {
    pub(crate) source: Arc<HeapSource>,
    pub(crate) families: HeapFamilies,
    /// The device's capabilities, with the changes of the allocator's description.
    pub(crate) caps: DeviceCaps,
    /// Created on first use, because each takes 16 KiB.
    kinds: [OnceLock<Striped<TypedHeaps>>; HeapKind::COUNT],
    pools: Mutex<Vec<Weak<TypedHeaps>>>,
    nesting: Arc<Nesting>,
    pub(crate) prefetcher: Option<Prefetcher>,
}

impl HeapKinds {
    /// Creates the heaps of `source`; nested in those of a `parent`, if there is one.
    pub(crate) fn new(
        source: Arc<HeapSource>,
        families: HeapFamilies,
        caps: DeviceCaps,
        parent: Option<&Arc<Self>>,
    ) -> Arc<Self> {
        let prefetches = source.desc.flags.contains(ResourceAllocatorFlags::ALLOW_PREFETCH);
        Arc::new_cyclic(|this| Self {
            nesting: parent
                .map_or_else(|| Nesting::of_root(this), |parent| parent.nesting.joined(this, parent)),
            prefetcher: prefetches.then(Prefetcher::start).flatten(),
            families,
            caps,
            source,
            kinds: Default::default(),
            pools: Mutex::default(),
        })
    }

    /// Returns the allocator's own heaps of a kind.
    #[inline]
    pub(crate) fn of(&self, family: HeapFamily, class: ResourceClass) -> &Striped<TypedHeaps> {
        let place = match family {
            HeapFamily::Type(heap_type) => heap_type.index(),
            HeapFamily::Custom(_) => HeapType::ALL.len(),
        };
        let index = place * ResourceClass::ALL.len() + class.index();
        self.kinds[index].get_or_init(|| self.new_heaps(index))
    }

    #[cold]
    fn new_heaps(&self, index: usize) -> Striped<TypedHeaps> {
        let kind = HeapKind::of(index, &self.families, &self.caps);
        let HeapKind { family, heap_type, class } = kind;
        let source = &self.source;
        let typed = TypedHeapsDesc {
            number: next_number(),
            pool: None,
            heap_type,
            segment_group: family.segment_group(self.caps.architecture),
            class,
            holds_everything: false,
            heap: self.heap_desc(kind),
            protected_session: None,
            residency_priority: None,
            heap_size: ByteSize::ZERO,
            min_heap_count: 0,
            max_heap_count: 0,
            min_alignment: Alignment::ONE,
            kept_size: kept_size(&source.desc, class.heap_alignment()),
            algorithm: source.desc.suballocation_algorithm,
        };
        Striped::new(TypedHeaps::new(typed, Some((Arc::clone(&self.nesting), index)), Arc::clone(source)))
    }

    /// Returns everything of the heaps of a kind except the size.
    fn heap_desc(&self, kind: HeapKind) -> D3D12_HEAP_DESC {
        let HeapKind { family, heap_type: _, class } = kind;
        D3D12_HEAP_DESC {
            SizeInBytes: 0,
            Properties: self.families.properties(family),
            Alignment: class.heap_alignment(),
            Flags: class.heap_flags(&self.caps) | self.source.extra_heap_flags,
        }
    }

    /// Returns the allocator's own heaps that have a heap type, an alignment and flags as a recording has them.
    #[inline]
    pub(crate) fn like(&self, heap: &D3D12_HEAP_DESC) -> Option<&Striped<TypedHeaps>> {
        let mut kinds = (0..HeapKind::COUNT).map(|index| HeapKind::of(index, &self.families, &self.caps));
        let is_like = |kind: &HeapKind| {
            let own = self.heap_desc(*kind);
            (own.Properties.Type, own.Alignment, own.Flags)
                == (heap.Properties.Type, heap.Alignment, heap.Flags)
        };
        kinds.find(is_like).map(|kind| self.of(kind.family, kind.class))
    }

    /// Adds the heaps that were prefetched while a recording is made. At the beginning of a recorded call, never later: a replay adds them
    /// before the call.
    pub(crate) fn insert_prefetched(&self) {
        if let Some(prefetcher) = &self.prefetcher {
            prefetcher.insert_created();
        }
    }

    /// Returns the allocator's own heaps, of each kind that was ever used.
    pub(crate) fn own(&self) -> impl Iterator<Item = &Striped<TypedHeaps>> {
        self.kinds.iter().filter_map(OnceLock::get)
    }

    /// Returns the heaps of the existing pools.
    pub(crate) fn pools(&self) -> Vec<Arc<TypedHeaps>> {
        let pools = self.pools.lock().unwrap_or_else(PoisonError::into_inner);
        pools.iter().filter_map(Weak::upgrade).collect()
    }

    pub(crate) fn add_pool(&self, heaps: &Arc<TypedHeaps>) {
        let mut pools = self.pools.lock().unwrap_or_else(PoisonError::into_inner);
        // Only when the list is full, so that adding a pool is O(1) however many there are.
        if pools.len() == pools.capacity() {
            pools.retain(|pool| pool.strong_count() > 0);
            let count = pools.len();
            pools.reserve(count + 8);
        }
        pools.push(Arc::downgrade(heaps));
    }

    /// Returns the allocator's own heaps, and those of its pools.
    pub(crate) fn all(&self) -> Vec<Arc<TypedHeaps>> {
        self.own().map(|heaps| Arc::clone(heaps)).chain(self.pools()).collect()
    }

    /// Returns the heaps of this allocator and its pools, and those of allocators that are nested with it.
    pub(crate) fn of_family(&self) -> Vec<Arc<TypedHeaps>> {
        let mut heaps = self.all();
        self.relatives().iter().for_each(|relative| heaps.extend(relative.all()));
        heaps
    }

    /// Returns the allocators that are nested with this one. Each takes empty heaps of the own kinds of the others.
    pub(crate) fn relatives(&self) -> Vec<Arc<Self>> {
        self.nesting.others(self)
    }

    /// Returns the totals of the heaps, by heap type, in the order of [`HeapType::ALL`].
    ///
    /// O(pools), with the locks of each in turn.
    pub(crate) fn shares(&self) -> [HeapsShare; HeapType::ALL.len()] {
        let mut shares = <[HeapsShare; HeapType::ALL.len()]>::default();
        for heaps in self.all() {
            let share = &mut shares[heaps.desc.heap_type.index()];
            *share = share.with(&heaps.share());
        }
        shares
    }

    /// Returns the empty heaps that may be released for more memory of the type and segment group of `heaps`. O(pools),
    /// also of allocators that are nested with it.
    ///
    /// With `NEVER_OVER_ALLOCATE` nothing is released.
    pub(crate) fn given_back(&self, heaps: &TypedHeaps) -> GivenBack {
        if self.source.never_over_allocates() {
            return GivenBack::default();
        }
        let (mut bytes, Account { heap_type, group }) = (<[ByteSize; 3]>::default(), heaps.desc.account());
        for other in self.of_family() {
            let (desc, is_own) = (&other.desc, Arc::ptr_eq(&other.source, &self.source));
            let is_in_group = desc.segment_group == group;
            let counts = [is_in_group, is_own && desc.heap_type == heap_type, is_own && is_in_group];
            let empty = other.releasable_bytes();
            for (bytes, _) in bytes.iter_mut().zip(counts).filter(|&(_, counts)| counts) {
                *bytes = bytes.saturating_add(empty);
            }
        }
        GivenBack { bytes, heap_count: heaps.releasable_and_kept().0 }
    }

    /// Releases empty heaps that would exceed the limits and the budget after `size` more bytes are allocated: for the
    /// limits, this allocator's heaps of the type and of the segment group; for the budget, any heaps of the segment group,
    /// including those of pools and nested allocators.
    ///
    /// With `NEVER_OVER_ALLOCATE` nothing is released.
    pub(crate) fn give_back_for(&self, size: ByteSize, limits: &Limits<'_>) {
        if self.source.never_over_allocates() {
            return;
        }
        let [over_budget, over_limit, over_share] = limits.bytes_over(size);
        let Account { heap_type, group } = limits.account;
        let mut released = ByteSize::ZERO;
        let mut give_back = |over: ByteSize, heaps: fn(&Self) -> Vec<Arc<TypedHeaps>>, is_type: bool| {
            if over <= released {
                return;
            }
            released = released.saturating_add(self.return_unused_memory());
            let heaps = heaps(self);
            let is_of = |heaps: &&Arc<TypedHeaps>| match is_type {
                true => heaps.desc.heap_type == heap_type,
                false => heaps.desc.segment_group == group,
            };
            let bytes = over.saturating_sub(released).max(self.source.desc.release_size);
            released = released.saturating_add(release_from(heaps.iter().filter(is_of), bytes));
        };
        give_back(over_limit, Self::all, true);
        give_back(over_share, Self::all, false);
        give_back(over_budget, Self::of_family, false);
        if !released.is_zero() {
            tracing::debug!(%size, %released, "released empty heaps before allocating more memory");
        }
    }

    /// Returns the allocators that are nested in this one, except those that are nested deeper.
    pub(crate) fn nested(&self) -> Vec<Arc<dyn Owner>> {
        let nested = self.nesting.nested_in(self);
        nested.iter().filter_map(|heaps| heaps.source.owner.upgrade()).collect()
    }

    /// Releases heaps that are not worth keeping any more, and after a frame or a period those by which the process exceeds its
    /// budget.
    pub(crate) fn pass(&self, passed: Passed) {
        self.all().iter().for_each(|heaps| heaps.pass(passed));
        if passed != Passed::Operations {
            self.return_to_budget();
        }
    }

    /// Releases empty heaps by which the process exceeds its budget, because the budget sank, other code took memory, or the
    /// residency manager evicted heaps that are in use.
    fn return_to_budget(&self) {
        if self.source.never_over_allocates() {
            return;
        }
        for group in [SegmentGroup::Local, SegmentGroup::NonLocal] {
            let short = self.source.bytes_short(group);
            if !short.is_zero() {
                let family = self.of_family();
                let of_group = family.iter().filter(|heaps| heaps.desc.segment_group == group);
                let released = release_from(of_group, short);
                if !released.is_zero() {
                    tracing::debug!(%group, %short, %released, "released empty heaps to return to the budget");
                }
            }
        }
    }

    /// Releases empty heaps because the device has no memory for `size` bytes beside `heaps`. Returns whether there were
    /// any. Heaps of the segment group come first, because memory belongs to a segment group.
    ///
    /// With `NEVER_OVER_ALLOCATE` nothing is released.
    pub(crate) fn make_room(&self, heaps: &TypedHeaps, size: ByteSize) -> bool {
        if self.source.never_over_allocates() {
            return false;
        }
        let returned = self.return_unused_memory();
        let (group, heap_type) = (heaps.desc.segment_group, heaps.desc.heap_type);
        let all = self.of_family();
        // A stable sort of the standard library would be 7 KB of code in every program.
        let mut nearest_first = Vec::with_capacity(all.len());
        for wanted in [(true, true), (true, false), (false, true), (false, false)] {
            let nearness = |desc: &TypedHeapsDesc| (desc.segment_group == group, desc.heap_type == heap_type);
            nearest_first.extend(all.iter().filter(|heaps| nearness(&heaps.desc) == wanted).cloned());
        }
        let released = release_from(nearest_first.iter(), size.max(self.source.desc.release_size));
        let released = returned.saturating_add(released);
        tracing::debug!(%size, %released, "the device has no memory; released empty heaps to retry");
        !released.is_zero()
    }

    /// Calls `create`, and again after empty heaps were released if the device has no memory for `size` bytes beside `heaps`.
    pub(super) fn with_room<T>(
        &self,
        heaps: &TypedHeaps,
        size: ByteSize,
        create: impl Fn() -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        match create() {
            Err(refusal) if refusal.is_shortage() && self.make_room(heaps, size) => create(),
            made => made,
        }
    }

    /// Releases whole empty heaps of the allocator and its pools until at least `bytes` are released, then those of the own kinds of
    /// allocators that are nested with it, and returns their bytes.
    pub(crate) fn release(&self, bytes: ByteSize) -> ByteSize {
        let returned = self.return_unused_memory();
        let (mut heaps, relatives) = (self.all(), self.relatives());
        heaps.extend(relatives.iter().flat_map(|relative| relative.own()).map(|heaps| Arc::clone(heaps)));
        returned.saturating_add(release_from(heaps.iter(), bytes.saturating_sub(returned)))
    }

    /// Returns the memory of empty backing buffers and slabs to the heaps, also of allocators that are nested with this one. Heaps that
    /// are then empty and not kept are released: returns their bytes, which those that other threads create or release meanwhile change.
    pub(crate) fn return_unused_memory(&self) -> ByteSize {
        let reserved = || {
            let totals = self.of_family().into_iter().map(|heaps| heaps.totals().reserved);
            totals.fold(ByteSize::ZERO, ByteSize::saturating_add)
        };
        let before = reserved();
        let owners = self.relatives().into_iter().map(|relative| relative.source.owner.upgrade());
        for owner in owners.chain([self.source.owner.upgrade()]).flatten() {
            owner.release_unused_buffers();
        }
        for heaps in self.of_family() {
            if let Some(set) = heaps.shared.as_default() {
                set.give_up_unused_slabs();
            }
        }
        before.saturating_sub(reserved())
    }

    /// Creates a heap, after releasing the empty heaps that limit, budget and pool require. A residency manager makes memory available
    /// for it.
    pub(crate) fn create_heap(
        &self,
        heaps: &TypedHeaps,
        size: ByteSize,
        constraints: Constraints,
        limits: &Limits<'_>,
    ) -> Result<Arc<Heap>, Refusal> {
        self.give_back_for(size, limits);
        let permit = heaps.add_to_pool(size, true)?;
        let heap = heaps.account_heap(size, constraints, permit, None)?;
        if let Some(recording) = &self.source.recording {
            heap.record(recording, &heaps.desc.heap);
        }
        Ok(heap)
    }

    /// Creates one of the initial heaps of a pool.
    pub(crate) fn create_empty_heap(
        &self,
        heaps: &TypedHeaps,
        size: ByteSize,
        constraints: Constraints,
    ) -> Result<(), Refusal> {
        let create = || self.create_heap(heaps, size, constraints, &heaps.limits(constraints));
        let heap = self.with_room(heaps, size, create)?;
        heaps
            .insert_empty(heap)
            .map_err(|error| Error::invalid_argument("PoolDesc::heap_size", error.to_string()).into())
    }

    /// Prefetches the next heap if it is likely to be needed soon, or if the allocation requests it.
    ///
    /// It is likely if the existing heaps have less free than half of the next one's size, or if slabs report it.
    /// Nothing is created that the budget does not permit, where the budget applies.
    pub(crate) fn prefetch_after(
        &self,
        prefetcher: &Prefetcher,
        &HeapRequest { heaps, sharing, ref placement, .. }: &HeapRequest<'_>,
        flags: ResourceAllocationFlags,
    ) {
        if sharing == Sharing::Unmanaged || flags.contains(ResourceAllocationFlags::NEVER_ALLOCATE_HEAP) {
            return;
        }
        let always = flags.contains(ResourceAllocationFlags::ALWAYS_PREFETCH_HEAP);
        let next = if always || heaps.shared.algorithm() == PlacementAlgorithm::Default {
            let planned = heaps.new_heap_size(sharing, placement).ok();
            let totals = heaps.shared.totals();
            let free = totals.reserved.saturating_sub(totals.used);
            planned.filter(|next| always || free < ByteSize::new(next.get() / 2))
        } else {
            heaps.shared.next_heap(placement)
        };
        let Some(next) = next else { return };
        let own = self.source.own_constraints();
        let within_budget = own.within_budget || flags.contains(ResourceAllocationFlags::WITHIN_BUDGET);
        let constraints = Constraints { within_budget, ..own };
        if self.source.may_prefetch(heaps.desc.segment_group, next, constraints) {
            prefetcher.request(heaps, sharing, next, constraints);
        }
    }
}

fn release_from<'a>(heaps: impl Iterator<Item = &'a Arc<TypedHeaps>>, bytes: ByteSize) -> ByteSize {
    let mut released = ByteSize::ZERO;
    for heaps in heaps {
        if released >= bytes {
            break;
        }
        released = released.saturating_add(heaps.release(bytes.saturating_sub(released)));
    }
    released
}

/// A kind of the allocator's own heaps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HeapKind {
    pub(crate) family: HeapFamily,
    /// The heap type to which it is charged.
    pub(crate) heap_type: HeapType,
    pub(crate) class: ResourceClass,
}

impl HeapKind {
    pub(crate) const COUNT: usize = (HeapType::ALL.len() + 1) * ResourceClass::ALL.len();

    /// Returns the kind with an index: one of a heap type, or the one of CUSTOM heaps. With unified
    /// memory, CUSTOM heaps are those of DEFAULT and UPLOAD, otherwise those of GPU_UPLOAD.
    pub(crate) fn of(index: usize, families: &HeapFamilies, caps: &DeviceCaps) -> Self {
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

    /// Returns the heap type to which CUSTOM heaps are charged.
    pub(crate) fn account_of_custom(families: &HeapFamilies) -> HeapType {
        if families.has_unified_memory() { HeapType::Default } else { HeapType::GpuUpload }
    }
}

/// Returns the size of the empty heaps that a fixed pool keeps; zero keeps none.
fn kept_size(desc: &ResourceAllocatorDesc, heap_alignment: u64) -> Option<ByteSize> {
    let is_fixed = desc.empty_heap_policy == EmptyHeapPolicy::FixedPool
        && !desc.flags.contains(ResourceAllocatorFlags::ALWAYS_ON_DEMAND);
    let size = || desc.preferred_heap_size.map(|_| fixed_heap_size(desc, heap_alignment)).unwrap_or_default();
    is_fixed.then(size)
}
