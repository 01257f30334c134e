//! Where the memory of a request comes from.
//!
//! | step | source |
//! |---|---|
//! | found | a free range of the existing heaps, as the placement algorithm chooses it |
//! | spare | an empty heap of a suitable size that is kept, or held by a nested allocator or the parent |
//! | permitted | a new heap that limit, budget and pool permit without releasing anything |
//! | any | a free range that only an exhaustive search finds, including free slots of slabs |
//! | reclaimed | the same, after unused slabs and backing buffers returned their memory |
//! | released | a new heap for which empty heaps are released, or beyond the budget; if it is refused, the smallest possible one |
//! | reopened | the same, after heaps that a defragmentation is emptying were reopened |
//! | largest | an empty heap of any sufficient size |
//!
//! So a request fails only if no free range of its possible heaps is large enough, and no new heap is permitted.
//!
//! No lock is held while the device creates or destroys a heap. With a residency manager, idle heaps are evicted to
//! keep a new heap within the budget, after empty heaps are released. `NEVER_RESIDENT` allocations never use a heap
//! that is held, and with `NEVER_OVER_ALLOCATE` no heap is released.

use std::ptr::NonNull;
use std::sync::Arc;

use heapwright_core::ByteSize;
use heapwright_core::placement::{PlacementAlgorithm, PlacementError, PlacementRequest, SharedPlaced};

use super::heap_kinds::{GivenBack, HeapKinds};
use super::placed_range::PlacedRange;
use super::striped::Striped;
use super::typed_heaps::{Sharing, TypedHeaps};
use crate::desc::HEAP_GRANULARITY;
use crate::error::{MemorySource, Obstacle};
use crate::source::{Account, Budget, Constraints, Heap, Refusal};

/// The fraction of what limit and budget leave that a new heap takes, unless the request itself needs more. A heap that
/// takes everything leaves nothing to resources of other kinds.
const FRACTION_OF_REST: u64 = 8;

/// A request for a range of a heap of one kind.
#[derive(Clone, Copy)]
pub(crate) struct HeapRequest<'a> {
    pub(crate) kinds: &'a HeapKinds,
    pub(crate) heaps: &'a Striped<TypedHeaps>,
    pub(crate) sharing: Sharing,
    pub(crate) placement: PlacementRequest,
    pub(crate) constraints: Constraints,
}

/// The predicted source of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PredictedMemory {
    /// Memory that is already held. Nothing is charged.
    Held,
    /// A new heap of this size; for a committed resource, its own. Empty heaps may be released for it.
    NewHeap(ByteSize),
}

/// The possible sizes of a new heap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct HeapSizes {
    wanted: ByteSize,
    least: ByteSize,
}

/// The state of a request that the existing heaps do not serve.
struct Shortage {
    sizes: HeapSizes,
    /// Whether a new heap is possible, apart from what is held.
    may_create: bool,
    /// Whether a heap of the wanted size was permitted and then refused.
    is_refused: bool,
    budget: Budget,
    refusal: Refusal,
}

impl<'a> HeapRequest<'a> {
    /// Creates a request. A heap of its own is not managed if the constraints say so.
    #[inline]
    pub(crate) fn new(
        kinds: &'a HeapKinds,
        heaps: &'a Striped<TypedHeaps>,
        placement: PlacementRequest,
        constraints: Constraints,
    ) -> Self {
        let sharing = match placement.own_heap {
            false => Sharing::Shared,
            true if constraints.never_resident && kinds.source.residency.is_some() => Sharing::Unmanaged,
            true => Sharing::Own,
        };
        Self { kinds, heaps, sharing, placement, constraints }
    }
}

impl HeapRequest<'_> {
    /// Finds a free range, or creates a heap.
    #[inline]
    pub(crate) fn take(&self) -> Result<PlacedRange, Refusal> {
        if let (Sharing::Shared, Some(set)) = (self.sharing, self.heaps.shared().as_default()) {
            // Found at once, usually in a heap that is not empty. Takes no reference to the heap.
            let address = |heap: &Arc<Heap>| NonNull::from(&**heap);
            if let Some(found) = set.allocate_at_hand(&self.placement, address) {
                return Ok(self.placed(found));
            }
        }
        self.take_in_steps()
    }

    #[cold]
    fn take_in_steps(&self) -> Result<PlacedRange, Refusal> {
        type Step<'a> = fn(&HeapRequest<'a>, &mut Shortage) -> Result<Option<PlacedRange>, Refusal>;
        let steps: [Step<'_>; 7] = [
            Self::spare,
            Self::permitted,
            Self::any,
            Self::reclaimed,
            Self::released,
            Self::reopened,
            Self::largest,
        ];
        if self.may_be_held() {
            if let Some(range) = self.find()? {
                return Ok(range);
            }
        }
        self.heaps.prefetch.count_miss();
        let mut shortage = self.shortage()?;
        for step in steps {
            if let Some(range) = step(self, &mut shortage)? {
                return Ok(range);
            }
        }
        Err(shortage.refusal)
    }

    /// Predicts the source of the memory, without the memory of unused slabs and backing buffers, and what
    /// only an exhaustive search finds.
    pub(crate) fn probe(&self) -> Result<PredictedMemory, Refusal> {
        if self.may_be_held() && self.heaps.engine(self.sharing).has_room(&self.placement)? {
            return Ok(PredictedMemory::Held);
        }
        let Shortage { sizes, may_create, budget, mut refusal, .. } = self.shortage()?;
        let HeapSizes { wanted, least } = sizes;
        if self.may_be_held() && self.heaps.has_spare(self.sharing, least, wanted) {
            return Ok(PredictedMemory::Held);
        }
        for size in sizes.distinct().filter(|_| may_create) {
            let now = self.may_create(size, &budget, GivenBack::default());
            match now.or_else(|_| self.may_create(size, &budget, self.given_back())) {
                Ok(()) => return Ok(PredictedMemory::NewHeap(size)),
                Err(other) => refusal.append(other),
            }
        }
        let is_held = self.may_be_held() && self.heaps.has_spare(self.sharing, least, ByteSize::MAX);
        if is_held { Ok(PredictedMemory::Held) } else { Err(refusal) }
    }

    fn spare(&self, shortage: &mut Shortage) -> Result<Option<PlacedRange>, Refusal> {
        self.in_spare(shortage.sizes.least, shortage.sizes.wanted)
    }

    fn permitted(&self, shortage: &mut Shortage) -> Result<Option<PlacedRange>, Refusal> {
        let size = shortage.sizes.wanted;
        if !shortage.may_create
            || self.may_create(size, &shortage.budget, GivenBack::default()).is_err()
            || !shortage.budget.bytes_over(size).is_zero()
        {
            return Ok(None);
        }
        if !self.never_releases() {
            self.heaps.make_way(self.sharing, size);
        }
        self.create(size, shortage)
    }

    fn any(&self, _: &mut Shortage) -> Result<Option<PlacedRange>, Refusal> {
        // For a heap of its own, any free range is a whole empty heap, which is the last resort.
        if self.sharing != Sharing::Shared {
            return Ok(None);
        }
        Ok(self.find_anywhere()?)
    }

    fn reclaimed(&self, shortage: &mut Shortage) -> Result<Option<PlacedRange>, Refusal> {
        self.kinds.return_unused_memory();
        self.found_again(shortage)
    }

    fn released(&self, shortage: &mut Shortage) -> Result<Option<PlacedRange>, Refusal> {
        if !shortage.may_create {
            return Ok(None);
        }
        for size in shortage.sizes.distinct() {
            if let Err(refusal) = self.may_create(size, &shortage.budget, self.given_back()) {
                shortage.refusal.append(refusal);
                continue;
            }
            // A heap that was refused is only requested again after more is released.
            let mut made = None;
            if !std::mem::take(&mut shortage.is_refused) {
                made = self.create(size, shortage)?;
            }
            if made.is_none() && self.kinds.make_room(self.heaps, size) {
                shortage.budget = self.heaps.budget(self.constraints);
                made = self.create(size, shortage)?;
            }
            if made.is_some() {
                return Ok(made);
            }
            shortage.is_refused = false;
        }
        Ok(None)
    }

    fn reopened(&self, shortage: &mut Shortage) -> Result<Option<PlacedRange>, Refusal> {
        if !self.may_be_held() || !self.heaps.reopen_closed() {
            return Ok(None);
        }
        match self.found_again(shortage)? {
            Some(range) => Ok(Some(range)),
            None => self.released(shortage),
        }
    }

    fn largest(&self, shortage: &mut Shortage) -> Result<Option<PlacedRange>, Refusal> {
        if self.may_be_held() {
            if let Some(range) = self.find_anywhere()? {
                return Ok(Some(range));
            }
        }
        self.in_spare(shortage.sizes.least, ByteSize::MAX)
    }

    fn found_again(&self, shortage: &mut Shortage) -> Result<Option<PlacedRange>, Refusal> {
        if !self.may_be_held() {
            return Ok(None);
        }
        match self.find()? {
            None => self.any(shortage),
            found => Ok(found),
        }
    }

    fn in_spare(&self, least: ByteSize, most: ByteSize) -> Result<Option<PlacedRange>, Refusal> {
        let spare = if self.may_be_held() { self.heaps.take_spare(self.sharing, least, most) } else { None };
        spare.map(|heap| self.in_new(heap)).transpose()
    }

    /// Creates a heap, unless limit, manager or device refuse it.
    fn create(&self, size: ByteSize, shortage: &mut Shortage) -> Result<Option<PlacedRange>, Refusal> {
        match self.kinds.create_heap(self.heaps, size, self.constraints, &shortage.budget) {
            Ok(heap) => self.in_new(heap).map(Some),
            Err(refusal) if refusal.fatal.is_some() => Err(refusal),
            Err(refusal) => {
                shortage.refusal.append(refusal);
                shortage.is_refused = true;
                // Empty heaps may have been released for it.
                shortage.budget = self.heaps.budget(self.constraints);
                Ok(None)
            }
        }
    }

    fn may_be_held(&self) -> bool {
        self.sharing != Sharing::Unmanaged
    }

    fn never_releases(&self) -> bool {
        self.kinds.source.never_over_allocates()
    }

    /// Returns the possible sizes of a new heap.
    fn shortage(&self) -> Result<Shortage, Refusal> {
        let least = self.heaps.least_heap_size(self.sharing, &self.placement);
        let limit = self.heaps.source.max_heap_size;
        let planned = self.heaps.new_heap_size(self.sharing, &self.placement)?.min(limit);
        let sizes = HeapSizes { wanted: least, least };
        let budget = self.heaps.budget(self.constraints);
        let refused = |refusal| Ok(Shortage { sizes, may_create: false, is_refused: false, budget, refusal });
        if planned < least {
            // The request exceeds the limit, or the one size of the pool's heaps.
            let limit = if least > limit { limit } else { planned };
            return refused(Refusal::of(MemorySource::NewHeap(least), Obstacle::HeapSize { limit }));
        }
        if !self.constraints.may_create_heap {
            return refused(Refusal::of(MemorySource::HeldMemory, Obstacle::NoRoom));
        }
        let sizes = self.sizes(planned, least, &budget);
        Ok(Shortage { sizes, may_create: true, is_refused: false, budget, refusal: Refusal::default() })
    }

    /// Returns the possible sizes of a new heap of `planned` bytes, of which the request needs `least`.
    fn sizes(&self, planned: ByteSize, least: ByteSize, budget: &Budget) -> HeapSizes {
        if self.heaps.fixed_heap_size(self.sharing).is_some() {
            return HeapSizes { wanted: planned, least: planned };
        }
        if planned == least {
            return HeapSizes { wanted: least, least };
        }
        let takes_any_size = self.heaps.shared().algorithm() == PlacementAlgorithm::Default;
        let fraction =
            if takes_any_size && self.heaps.desc.max_heap_count == 0 { FRACTION_OF_REST } else { 1 };
        let left =
            self.bytes_left(planned.checked_mul(fraction).unwrap_or(ByteSize::MAX), budget).get() / fraction;
        let wanted = if left >= planned.get() {
            planned
        } else if takes_any_size {
            // A whole number of requests.
            let request = self.placement.size.get();
            let requests = ByteSize::new((left & !(HEAP_GRANULARITY.get() - 1)) / request * request);
            requests.align_up(HEAP_GRANULARITY).unwrap_or(least).max(least)
        } else {
            least
        };
        HeapSizes { wanted, least }
    }

    /// Returns how much of `size` bytes budget and limit permit, after empty heaps are released.
    fn bytes_left(&self, size: ByteSize, budget: &Budget) -> ByteSize {
        let over_budget = budget.bytes_over(size);
        let Account { heap_type, group } = self.heaps.desc.account();
        let accounts = &self.kinds.source.accounts;
        let over_limit = accounts.of_type(heap_type).bytes_over(size);
        let over_share = accounts.of_group(group).bytes_over(size);
        if over_budget.is_zero() && over_limit.is_zero() && over_share.is_zero() {
            return size;
        }
        let GivenBack { in_group, of_group, of_type, .. } = self.given_back();
        let over_limits = over_limit.saturating_sub(of_type).max(over_share.saturating_sub(of_group));
        size.saturating_sub(over_budget.saturating_sub(in_group).max(over_limits))
    }

    fn given_back(&self) -> GivenBack {
        if self.never_releases() { GivenBack::default() } else { self.kinds.given_back(self.heaps) }
    }

    /// Checks whether a heap of `size` bytes may be created after some memory is released, apart from the device's
    /// decision.
    fn may_create(&self, size: ByteSize, budget: &Budget, given_back: GivenBack) -> Result<(), Refusal> {
        let may_take = self.kinds.may_take(self.heaps, size, budget, given_back);
        let may_have = || self.heaps.check_heap_count(given_back.heap_count);
        may_take
            .and_then(|()| may_have())
            .map_err(|obstacle| Refusal::of(MemorySource::NewHeap(size), obstacle))
    }
}

impl HeapSizes {
    fn distinct(self) -> impl Iterator<Item = ByteSize> + use<> {
        std::iter::once(self.wanted).chain((self.least < self.wanted).then_some(self.least))
    }
}

/// Returns the address of the heap in which something is placed.
fn addressed(placed: SharedPlaced<Arc<Heap>>) -> SharedPlaced<NonNull<Heap>> {
    SharedPlaced { id: placed.id, range: placed.range, heap: NonNull::from(&*placed.heap) }
}

impl HeapRequest<'_> {
    /// Allocates a range in the existing heaps.
    fn find(&self) -> Result<Option<PlacedRange>, PlacementError> {
        let found = self.heaps.engine(self.sharing).allocate(&self.placement)?;
        Ok(found.map(|placed| self.placed(addressed(placed))))
    }

    /// Allocates a range in the existing heaps, however much of an empty heap it wastes.
    fn find_anywhere(&self) -> Result<Option<PlacedRange>, PlacementError> {
        let found = self.heaps.engine(self.sharing).allocate_anywhere(&self.placement)?;
        Ok(found.map(|placed| self.placed(addressed(placed))))
    }

    /// Allocates a range in a heap that is added to the others.
    fn in_new(&self, heap: Arc<Heap>) -> Result<PlacedRange, Refusal> {
        let placed = self.heaps.engine(self.sharing).allocate_in_new(heap.size(), heap, &self.placement);
        Ok(self.placed(addressed(placed?)))
    }

    #[inline]
    fn placed(&self, placed: SharedPlaced<NonNull<Heap>>) -> PlacedRange {
        PlacedRange::new(self.heaps.reference(), self.sharing, placed, self.placement.alignment)
    }
}
