//! All heaps of an allocator: its own of each kind, and its pools'.
//!
//! * `nesting`: the state that nested allocators share.
//! * `process`: the allocators of the process, which release empty heaps for each other.

mod nesting;
mod process;

use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use heapwright_core::ByteSize;
use heapwright_core::placement::{PlacementAlgorithm, PlacementRequest, Sharing};
use heapwright_d3d12::*;

use self::nesting::Nesting;
use super::prefetch::Prefetcher;
use super::set_desc::{TypedHeapsDesc, fixed_heap_size};
use super::striped::Striped;
use super::typed_heaps::{Passed, TypedHeaps};
use crate::desc::{EmptyHeapPolicy, ResourceAllocationFlags, ResourceAllocatorDesc, ResourceAllocatorFlags};
use crate::error::Refusal;
use crate::request::{HeapFamilies, HeapFamily, ResourceClass};
use crate::source::{Heap, HeapSource, NewMemory, Owner, next_number};
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
        // SAFETY: the device is a live COM object.
        let adapter = unsafe { source.devices.device.GetAdapterLuid() };
        let new_family = |this: &Weak<Self>| {
            let nesting = Nesting::of_root(this);
            process::add(adapter, &nesting);
            nesting
        };
        Arc::new_cyclic(|this| Self {
            nesting: parent.map_or_else(|| new_family(this), |parent| parent.nesting.joined(this, parent)),
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
            kind: Some(index),
            pool: None,
            family,
            heap_type,
            segment_group: self.families.segment_group(family, heap_type),
            class,
            heap: self.heap_desc(kind),
            protected_session: None,
            residency_priority: None,
            heap_size: ByteSize::ZERO,
            min_heap_count: 0,
            max_heap_count: 0,
            min_alignment: source.desc.min_alignment,
            kept_size: kept_size(&source.desc, class.heap_alignment()),
            algorithm: source.desc.suballocation_algorithm,
        };
        let heaps = TypedHeaps::new(typed, Arc::clone(source));
        self.nesting.add_heaps(index, &heaps);
        Striped::new(heaps)
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

    /// Returns the heaps of the same kind of allocators that are nested with this one.
    pub(super) fn siblings(&self, heaps: &TypedHeaps) -> Vec<Arc<TypedHeaps>> {
        heaps.desc.kind.map(|kind| self.nesting.siblings(kind, heaps)).unwrap_or_default()
    }

    /// Returns this allocator and those that are nested with it, unless their last handles were dropped.
    pub(super) fn owners_of_family(&self) -> Vec<Arc<dyn Owner>> {
        let relatives = self.relatives().into_iter().map(|relative| relative.source.owner.upgrade());
        relatives.chain([self.source.owner.upgrade()]).flatten().collect()
    }

    /// Returns the allocators that are nested in this one, except those that are nested deeper.
    pub(crate) fn nested(&self) -> Vec<Arc<dyn Owner>> {
        let nested = self.nesting.nested_in(self);
        nested.iter().filter_map(|heaps| heaps.source.owner.upgrade()).collect()
    }

    /// Releases heaps that are not worth keeping any more, and after a frame or a period those by which the process
    /// exceeds its budget.
    pub(crate) fn pass(&self, passed: Passed) -> bool {
        let mut are_any = false;
        for heaps in &self.all() {
            are_any |= heaps.pass(passed);
        }
        if !matches!(passed, Passed::Operations | Passed::PartOfPeriod) {
            self.return_to_budget();
        }
        are_any
    }

    /// Releases empty heaps by which the process exceeds its budget, because the budget sank, other code took memory,
    /// or the residency manager evicted heaps that are in use.
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

    /// Releases whole empty heaps of the allocator and its pools until at least `bytes` are released, then those of the
    /// own kinds of allocators that are nested with it, and returns their bytes.
    pub(crate) fn release(&self, bytes: ByteSize) -> ByteSize {
        let is_of =
            |heaps: &TypedHeaps| Arc::ptr_eq(&heaps.source, &self.source) || heaps.desc.pool.is_none();
        let _alone = self.source.release_alone();
        self.release_of(&is_of, bytes)
    }

    /// Creates a heap, after releasing the empty heaps that limit, budget and pool require.
    pub(crate) fn create_heap(
        &self,
        heaps: &TypedHeaps,
        size: ByteSize,
        allocation_flags: ResourceAllocationFlags,
    ) -> Result<Arc<Heap>, Refusal> {
        self.with_room(heaps, &heaps.new_memory(size, allocation_flags), || {
            heaps.make_way(size);
            heaps.create_heap(size, allocation_flags)
        })
    }

    /// Releases the empty heaps that stand in the way of the initial heaps of a pool.
    pub(crate) fn make_room_for_heaps(&self, heaps: &TypedHeaps, count: u32) -> Result<(), Refusal> {
        let one = heaps.desc.heap_size;
        let all = NewMemory {
            size: one.checked_mul(count.into()).unwrap_or(ByteSize::MAX),
            ..heaps.new_memory(one, ResourceAllocationFlags::empty())
        };
        self.with_room(heaps, &all, || self.source.check(&all).map_err(|row| all.refused(row)))
    }

    /// Creates one of the initial heaps of a pool.
    pub(crate) fn create_empty_heap(&self, heaps: &TypedHeaps, size: ByteSize) -> Result<(), Refusal> {
        let heap = self.create_heap(heaps, size, ResourceAllocationFlags::empty())?;
        heaps
            .insert_empty(heap)
            .map_err(|error| Error::invalid_argument("PoolDesc::heap_size", error.to_string()).into())
    }

    /// Prefetches the next heap if it is likely to be needed soon, or if the allocation requests it.
    ///
    /// It is likely if the free ranges of the existing heaps take less than half of the next one's size, or if slabs
    /// report it. Nothing is created that the budget does not permit, where the budget applies.
    pub(crate) fn prefetch_after(
        &self,
        prefetcher: &Prefetcher,
        heaps: &Arc<TypedHeaps>,
        request: &PlacementRequest,
        flags: ResourceAllocationFlags,
    ) {
        let is_reusable = request.sharing != Sharing::Alone { reusable: false };
        if !is_reusable || flags.contains(ResourceAllocationFlags::NEVER_ALLOCATE_HEAP) {
            return;
        }
        let always = flags.contains(ResourceAllocationFlags::ALWAYS_PREFETCH_HEAP);
        let is_default = heaps.set.algorithm() == PlacementAlgorithm::Default;
        let next = if always || is_default && heaps.set.is_nearly_full(request.size) {
            heaps.new_heap_size(request).ok()
        } else {
            heaps.set.next_heap(request)
        };
        let Some(next) = next.filter(|&size| size <= LARGEST_PREFETCHED) else { return };
        let flags = flags & ResourceAllocationFlags::WITHIN_BUDGET;
        if self.source.may_prefetch(heaps.desc.segment_group, next, flags) {
            let kind = Arc::downgrade(heaps);
            prefetcher.request(&heaps.prefetch, self.source.is_repeatable(), move || {
                if let Some(heaps) = kind.upgrade() {
                    heaps.prefetch_heap(next, flags);
                }
            });
        }
    }
}

/// Larger heaps are not prefetched. GPGMM has the same limit.
const LARGEST_PREFETCHED: ByteSize = ByteSize::from_mib(64);

/// Releases empty heaps of at least `bytes` bytes, or all of them, and returns their bytes.
pub(super) fn release_from<'a>(
    heaps: impl Iterator<Item = &'a Arc<TypedHeaps>>,
    bytes: ByteSize,
) -> ByteSize {
    heaps.fold(ByteSize::ZERO, |released, heaps| {
        // None, once these are enough.
        released.saturating_add(heaps.release(bytes.saturating_sub(released)))
    })
}

/// A kind of the allocator's own heaps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct HeapKind {
    family: HeapFamily,
    /// The heap type to which it is charged.
    heap_type: HeapType,
    class: ResourceClass,
}

impl HeapKind {
    const COUNT: usize = (HeapType::ALL.len() + 1) * ResourceClass::ALL.len();

    /// Returns the kind with an index: one of a heap type, or the one of CUSTOM heaps. With unified
    /// memory, CUSTOM heaps are those of DEFAULT and UPLOAD, otherwise those of GPU_UPLOAD.
    fn of(index: usize, families: &HeapFamilies, caps: &DeviceCaps) -> Self {
        let (place, class) = (index / ResourceClass::ALL.len(), index % ResourceClass::ALL.len());
        let class = ResourceClass::ALL[class];
        match HeapType::ALL.get(place) {
            Some(&heap_type) => Self { family: HeapFamily::Type(heap_type), heap_type, class },
            None => Self {
                family: families.custom(caps.architecture),
                heap_type: families.account_of_custom(),
                class,
            },
        }
    }
}

/// Returns the size of the empty heaps that a fixed pool keeps; zero keeps none.
fn kept_size(desc: &ResourceAllocatorDesc, heap_alignment: u64) -> Option<ByteSize> {
    let is_fixed = desc.empty_heap_policy == EmptyHeapPolicy::FixedPool
        && !desc.flags.contains(ResourceAllocatorFlags::ALWAYS_ON_DEMAND);
    let size = || desc.preferred_heap_size.map(|_| fixed_heap_size(desc, heap_alignment)).unwrap_or_default();
    is_fixed.then(size)
}
