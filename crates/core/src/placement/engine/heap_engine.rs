//! The engine: one of several algorithms behind the same calls.

use super::heaps::Heaps;
use super::rule::Rule;
use super::{EngineDesc, PlacementAlgorithm, PlacementRequest};
use crate::placement::{
    HeapSetTotals, HeapSurvey, NewHeap, PlacementError, Room, SharedHeapSet, SharedPlaced, SharedPlacementId,
};
use crate::suballoc::{AuditError, Strategy};
use crate::sync::{Mutex, lock};
use crate::{Alignment, ByteSize};

/// A family of heaps whose algorithm was chosen when it was made.
///
/// `H` is whatever the owner holds for a heap (an `ID3D12Heap`); each allocation gets a clone of it. The engine creates and
/// destroys nothing: it says which heap it wants, and hands back those that it does not need.
///
/// # Locking
///
/// It locks itself, and holds no lock while the owner makes a heap; so two threads that both find no room may both make
/// one. The default algorithm has a lock for each [lane](SharedHeapSet), the others have one for everything.
///
/// # Cost
///
/// [`allocate`](Self::allocate) and [`free`](Self::free) are O(1) with the default algorithm, and O(log n) with the others,
/// for n heaps or n distinct sizes, whichever is more.
///
/// ```
/// use heapwright_core::placement::{EngineDesc, HeapEngine, PlacementRequest};
/// use heapwright_core::{Alignment, ByteSize};
///
/// let heaps: HeapEngine<&str> = HeapEngine::new(&EngineDesc::default());
/// let request = PlacementRequest::new(ByteSize::new(200), Alignment::new(256).unwrap());
/// let placed = match heaps.allocate(&request)? {
///     Some(placed) => placed,
///     None => {
///         let wanted = heaps.plan(&request)?;
///         assert!(wanted.release.is_empty(), "nothing to give back first");
///         heaps.allocate_in_new(wanted.size, "a heap", &request)?
///     }
/// };
/// assert_eq!(placed.heap, "a heap");
/// let gone = heaps.free(placed.id)?;
/// assert!(gone.is_empty(), "the default algorithm keeps an empty heap for a while");
/// assert_eq!(heaps.take_empty(ByteSize::new(u64::MAX)).len(), 1);
/// # Ok::<(), heapwright_core::placement::PlacementError>(())
/// ```
#[derive(Debug)]
pub struct HeapEngine<H>(Inner<H>);

/// Not boxed, so that the default algorithm costs a comparison more than the set alone, and no look at memory elsewhere.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "an engine is made once, and the large one is the usual one")]
enum Inner<H> {
    Default(SharedHeapSet<H>),
    Locked(PlacementAlgorithm, Mutex<Heaps<H>>),
}

/// How often an engine knew the size of a request already: GPGMM's `SizeCacheHits` and `SizeCacheMisses`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SizeCacheCounts {
    /// Requests of a size that the engine knew.
    pub hits: u64,
    /// Requests of a size that was new, or had been forgotten.
    pub misses: u64,
}

impl<H: Clone> HeapEngine<H> {
    /// An engine without heaps.
    #[must_use]
    pub fn new(desc: &EngineDesc) -> Self {
        let rule = match *desc {
            EngineDesc::Default { sizing, retention, slots_up_to, lanes } => {
                let set = SharedHeapSet::new(sizing, retention, slots_up_to, lanes);
                return Self(Inner::Default(set));
            }
            EngineDesc::SlabBySize(sizing) => Rule::SlabBySize(sizing),
            EngineDesc::BuddySystem { preferred, maximum, granularity } => {
                Rule::BuddySystem { heap_size: buddy_heap_size(preferred, maximum, granularity) }
            }
            EngineDesc::Linear { heap_size, one_heap: false } => Rule::Linear { heap_size },
            EngineDesc::Linear { heap_size, one_heap: true } => Rule::LinearInOneHeap { heap_size },
            EngineDesc::Dedicated { granularity } => Rule::Dedicated { granularity },
        };
        Self(Inner::Locked(rule.algorithm(), Mutex::new(Heaps::new(rule))))
    }

    /// The algorithm that it was made with. O(1), no lock.
    #[must_use]
    pub fn algorithm(&self) -> PlacementAlgorithm {
        match &self.0 {
            Inner::Default(_) => PlacementAlgorithm::Default,
            Inner::Locked(algorithm, _) => *algorithm,
        }
    }

    /// Places a request in one of the heaps, or answers `None` when it needs a new one.
    ///
    /// # Errors
    ///
    /// - A size of zero, or one with which the size of a heap overflows.
    /// - [`PlacementError::NeedsOwnHeap`]: larger than the algorithm's heaps are. A heap for it alone is the caller's to make.
    /// - [`PlacementError::NoUpperEnd`]: the upper end of an algorithm that has none.
    #[inline]
    pub fn allocate(&self, request: &PlacementRequest) -> Result<Option<SharedPlaced<H>>, PlacementError> {
        match &self.0 {
            Inner::Default(set) if is_plain(request) => set.allocate(request.size, request.alignment),
            Inner::Default(set) => allocate_special(set, request),
            Inner::Locked(_, locked) => lock(locked).allocate(request),
        }
    }

    /// Places a request in any heap that has a free range for it: for when there can be no new heap.
    ///
    /// With the default algorithm it returns `None` only if no free range of any heap holds the request; see
    /// [`SharedHeapSet::allocate_anywhere`]. With the others it is [`allocate`](Self::allocate).
    ///
    /// # Errors
    ///
    /// As [`allocate`](Self::allocate).
    pub fn allocate_anywhere(
        &self,
        request: &PlacementRequest,
    ) -> Result<Option<SharedPlaced<H>>, PlacementError> {
        let PlacementRequest { size, alignment, own_heap, .. } = *request;
        match (self.allocate(request)?, &self.0) {
            (None, Inner::Default(set)) if own_heap => set.allocate_alone_anywhere(size, alignment),
            (None, Inner::Default(set)) => set.allocate_anywhere(size, alignment),
            (placed, _) => Ok(placed),
        }
    }

    /// Places a request where the default algorithm finds room at once, without a clone of its heap. Returns `None` for everything
    /// else, which [`allocate`](Self::allocate) is for. See [`SharedHeapSet::allocate_at_hand`]. O(1).
    #[inline]
    pub fn allocate_at_hand<T>(
        &self,
        request: &PlacementRequest,
        heap: impl FnOnce(&H) -> T,
    ) -> Option<SharedPlaced<T>> {
        match &self.0 {
            Inner::Default(set) if is_plain(request) => {
                set.allocate_at_hand(request.size, request.alignment, heap)
            }
            Inner::Default(_) | Inner::Locked(..) => None,
        }
    }

    /// The heap that a request needs, when [`allocate`](Self::allocate) found none.
    ///
    /// The default algorithm may also say which empty heaps to give back first; they have left it. See
    /// [`HeapSet::plan`](crate::placement::HeapSet::plan). Others release nothing.
    ///
    /// # Errors
    ///
    /// As [`allocate`](Self::allocate); and [`PlacementError::OneHeapFull`] when there is a heap and may be no other.
    pub fn plan(&self, request: &PlacementRequest) -> Result<NewHeap<H>, PlacementError> {
        match &self.0 {
            Inner::Default(_) if request.upper => Err(self.no_upper_end()),
            Inner::Default(set) if request.own_heap => set.plan_alone(request.size),
            Inner::Default(set) if is_plain(request) => set.plan(request.size, request.alignment),
            Inner::Default(set) => set.plan_range(request.size),
            Inner::Locked(_, locked) => {
                let size = lock(locked).heap_size(request)?;
                Ok(NewHeap { size, release: Vec::new() })
            }
        }
    }

    /// Returns what [`allocate`](Self::allocate) and then [`plan`](Self::plan) would do with the request. Nothing is placed.
    ///
    /// It is [`Room::Held`] where `allocate` would place the request, and else the size that `plan` would return. It is exact while
    /// no other thread calls; with the default algorithm that is for the calling thread, whose [lane](SharedHeapSet) it looks at.
    ///
    /// With the default algorithm O(1), and O(lanes) before it returns that a heap is needed: see
    /// [`SharedHeapSet::room_for`]; with [`Strategy::MinOffset`] O(n) for n ranges of up to 256 heaps. Else O(log n), for n heaps or
    /// n distinct sizes. It locks as `allocate` does.
    ///
    /// # Errors
    ///
    /// As these two.
    ///
    /// ```
    /// use heapwright_core::placement::{EngineDesc, HeapEngine, PlacementRequest, Room};
    /// use heapwright_core::{Alignment, ByteSize};
    ///
    /// let heaps: HeapEngine<&str> = HeapEngine::new(&EngineDesc::default());
    /// let request = PlacementRequest::new(ByteSize::from_kib(80), Alignment::ONE);
    /// let Room::NewHeap { size } = heaps.room_for(&request)? else { panic!("there is no heap yet") };
    /// heaps.insert(size, "a heap")?;
    /// assert_eq!(heaps.room_for(&request)?, Room::Held);
    /// # Ok::<(), heapwright_core::placement::PlacementError>(())
    /// ```
    pub fn room_for(&self, request: &PlacementRequest) -> Result<Room, PlacementError> {
        match &self.0 {
            Inner::Default(_) if request.upper => Err(self.no_upper_end()),
            Inner::Default(set) if request.own_heap => set.room_alone(request.size),
            Inner::Default(set) if is_plain(request) => set.room_for(request.size, request.alignment),
            Inner::Default(set) => set.room_for_lowest(request.size, request.alignment),
            Inner::Locked(_, locked) => {
                let heaps = lock(locked);
                if heaps.has_room(request)? {
                    return Ok(Room::Held);
                }
                Ok(Room::NewHeap { size: heaps.heap_size(request)? })
            }
        }
    }

    /// Every heap with everything that is in it: those that something is in, then the empty ones, whatever the algorithm.
    ///
    /// With the default algorithm see [`SharedHeapSet::survey`], which mixes the two. With slabs by size, blocks that are not
    /// used, and what a used block has more than was asked for, are [`InSlab`](crate::placement::SurveyedRange::InSlab), and
    /// what lies behind the last block is padding. O(n) for all that there is, under the engine's lock; with the default algorithm as there.
    ///
    /// ```
    /// use heapwright_core::placement::{EngineDesc, HeapEngine, PlacementRequest, SurveyedRange};
    /// use heapwright_core::{Alignment, ByteSize};
    ///
    /// let buddy = EngineDesc::BuddySystem {
    ///     preferred: ByteSize::from_mib(1),
    ///     maximum: ByteSize::from_mib(64),
    ///     granularity: Alignment::new(65_536).unwrap(),
    /// };
    /// let heaps: HeapEngine<&str> = HeapEngine::new(&buddy);
    /// let request = PlacementRequest::new(ByteSize::from_kib(80), Alignment::ONE);
    /// let placed = heaps.allocate_in_new(ByteSize::from_mib(1), "a heap", &request)?;
    /// let survey = heaps.survey();
    /// assert_eq!(survey[0].ranges[0], SurveyedRange::Used { id: placed.id, range: placed.range });
    /// assert!(matches!(survey[0].ranges[1], SurveyedRange::Padding(_)), "its block has 128 KiB");
    /// # Ok::<(), heapwright_core::placement::PlacementError>(())
    /// ```
    #[must_use]
    pub fn survey(&self) -> Vec<HeapSurvey<H>> {
        match &self.0 {
            Inner::Default(set) => set.survey(),
            Inner::Locked(_, locked) => lock(locked).survey(),
        }
    }

    /// Adds a heap of `heap_size` bytes, and places a request in it before another thread can.
    ///
    /// The heap may be of another size than [`plan`](Self::plan) said, as long as the request fits.
    ///
    /// # Errors
    ///
    /// As [`allocate`](Self::allocate); a heap size that cannot be managed, or more heaps than can be numbered: then the heap
    /// is dropped. With [`PlacementError::TooLarge`] when the request does not fit into the heap, and
    /// [`PlacementError::OneHeapFull`] when there may be no second one, it is in the engine nevertheless, empty.
    pub fn allocate_in_new(
        &self,
        heap_size: ByteSize,
        heap: H,
        request: &PlacementRequest,
    ) -> Result<SharedPlaced<H>, PlacementError> {
        let PlacementRequest { size, alignment, .. } = *request;
        match &self.0 {
            Inner::Default(_) if request.upper => Err(self.no_upper_end()),
            Inner::Default(set) if request.own_heap => {
                set.allocate_alone_in_new(heap_size, heap, size, alignment)
            }
            Inner::Default(set) if is_plain(request) => set.allocate_in_new(heap_size, heap, size, alignment),
            Inner::Default(set) => set.allocate_range_in_new(heap_size, heap, size, alignment),
            Inner::Locked(_, locked) => lock(locked).allocate_in_new(heap_size, heap, request),
        }
    }

    /// Adds an empty heap: the least that a pool holds, or one that was fetched in advance.
    ///
    /// It serves the next request that fits and that it is not too large for, and leaves when the last one in it does, as any other.
    /// O(1) with the default algorithm, else O(log n) for n distinct sizes of empty heaps.
    ///
    /// # Errors
    ///
    /// A heap size that cannot be managed, or more heaps than can be numbered; the heap is dropped.
    pub fn insert(&self, heap_size: ByteSize, heap: H) -> Result<(), PlacementError> {
        match &self.0 {
            Inner::Default(set) => set.insert(heap_size, heap),
            Inner::Locked(_, locked) => lock(locked).insert(heap_size, heap),
        }
    }

    /// Takes an allocation back. Heaps that leave the engine are returned; nothing is in them.
    ///
    /// # Errors
    ///
    /// An id that is not live in this engine.
    #[inline]
    pub fn free(&self, id: SharedPlacementId) -> Result<Vec<H>, PlacementError> {
        match &self.0 {
            Inner::Default(set) => set.free(id),
            Inner::Locked(_, locked) => Ok(lock(locked).free(id.0)?.into_iter().collect()),
        }
    }

    /// Takes empty heaps out, whole, until they are `up_to` bytes together or there are no more, with their sizes.
    ///
    /// None is taken without which the others would be enough: the largest go first, and the smallest that will do last.
    /// O(1) for each heap with the default algorithm, and O(lanes); else O(log n) for each.
    pub fn take_empty(&self, up_to: ByteSize) -> Vec<(ByteSize, H)> {
        match &self.0 {
            Inner::Default(set) => set.take_empty_up_to(up_to),
            Inner::Locked(_, locked) => lock(locked).empty_mut().take_up_to(up_to),
        }
    }

    /// Takes one of the smallest empty heaps of `at_least` to `at_most` bytes out, with its size.
    ///
    /// The default algorithm looks at eight of those that differ by less than an eighth, and may miss one among more.
    /// O(1) with the default algorithm, else O(log n).
    pub fn take_empty_fitting(&self, at_least: ByteSize, at_most: ByteSize) -> Option<(ByteSize, H)> {
        match &self.0 {
            Inner::Default(set) => set.take_empty_fitting(at_least, at_most),
            Inner::Locked(_, locked) => lock(locked).empty_mut().take_fitting(at_least, at_most),
        }
    }

    /// Whether [`take_empty_fitting`](Self::take_empty_fitting) would find a heap, at the same cost.
    #[must_use]
    pub fn has_empty_fitting(&self, at_least: ByteSize, at_most: ByteSize) -> bool {
        match &self.0 {
            Inner::Default(set) => set.has_empty_fitting(at_least, at_most),
            Inner::Locked(_, locked) => {
                lock(locked).empty().smallest_from(at_least).is_some_and(|size| size <= at_most)
            }
        }
    }

    /// Has slabs that nothing is in return their memory to the heaps; nothing happens in algorithms that have none. O(lanes).
    pub fn give_up_unused_slabs(&self) {
        if let Inner::Default(set) = &self.0 {
            set.give_up_unused_slabs();
        }
    }

    /// What the engine holds. O(lanes) with the default algorithm, else O(1).
    #[must_use]
    pub fn totals(&self) -> HeapSetTotals {
        match &self.0 {
            Inner::Default(set) => set.totals(),
            Inner::Locked(_, locked) => lock(locked).totals(),
        }
    }

    /// The size of the heap that [`plan`](Self::plan) would want, with no empty heap given up.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn new_heap_size(&self, request: &PlacementRequest) -> Result<ByteSize, PlacementError> {
        match &self.0 {
            Inner::Default(set) if request.own_heap => set.new_heap_size_alone(request.size),
            Inner::Default(set) => set.new_heap_size(request.size, request.alignment),
            Inner::Locked(_, locked) => lock(locked).heap_size(request),
        }
    }

    /// Whether [`allocate_anywhere`](Self::allocate_anywhere) would place the request, without changing anything.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn has_room_anywhere(&self, request: &PlacementRequest) -> Result<bool, PlacementError> {
        match &self.0 {
            Inner::Default(set) if request.own_heap => Ok(set.has_room_alone_anywhere(request.size)),
            Inner::Default(set) => set.has_room_anywhere(request.size, request.alignment),
            Inner::Locked(..) => Ok(self.room_for(request)? == Room::Held),
        }
    }

    /// The set of the default algorithm; `None` with the others. O(1), no lock.
    #[must_use]
    pub const fn as_default(&self) -> Option<&SharedHeapSet<H>> {
        match &self.0 {
            Inner::Default(set) => Some(set),
            Inner::Locked(..) => None,
        }
    }

    /// The size of a heap that is worth making in advance, now that such a request was placed, so that a later one does not
    /// wait for it; the owner [inserts](Self::insert) it.
    ///
    /// Slabs by size answer it, by GPGMM's rule: when what has room for the size is one heap at most, and that is half full;
    /// unless the next heap would have room for fewer than four, be larger than 64 MiB, or is there already. Other algorithms
    /// answer `None`. O(log n).
    ///
    /// It does not know of a heap that is being made: asked again before that is inserted, it answers the same.
    #[must_use]
    pub fn next_heap(&self, request: &PlacementRequest) -> Option<ByteSize> {
        match &self.0 {
            Inner::Default(_) => None,
            Inner::Locked(_, locked) => lock(locked).next_heap(request),
        }
    }

    /// Keeps what is known of a size from now on, as a request with [`PlacementRequest::cache_size`] does, without one.
    ///
    /// It counts as neither a hit nor a miss. O(log n) for n distinct sizes; nothing happens in algorithms that know no sizes.
    pub fn remember_size(&self, request: &PlacementRequest) {
        if let Inner::Locked(_, locked) = &self.0 {
            lock(locked).remember_size(request);
        }
    }

    /// How often the size of a request was known already; zero in algorithms that know no sizes. O(1).
    #[must_use]
    pub fn size_cache(&self) -> SizeCacheCounts {
        match &self.0 {
            Inner::Default(_) => SizeCacheCounts::default(),
            Inner::Locked(_, locked) => lock(locked).size_cache(),
        }
    }

    /// Checks the whole structure; for tests. O(n) or O(n log n) for all that there is.
    ///
    /// # Errors
    ///
    /// The first rule found broken, a defect in this crate.
    pub fn audit(&self) -> Result<(), AuditError> {
        match &self.0 {
            Inner::Default(set) => set.audit(),
            Inner::Locked(_, locked) => lock(locked).audit(),
        }
    }

    fn no_upper_end(&self) -> PlacementError {
        PlacementError::NoUpperEnd { algorithm: self.algorithm() }
    }
}

/// The size of all heaps of a buddy system: a power of two.
fn buddy_heap_size(preferred: ByteSize, maximum: ByteSize, granularity: Alignment) -> ByteSize {
    let wanted = preferred.get().max(granularity.get()).checked_next_power_of_two().unwrap_or(1 << 63);
    let largest = maximum.get().checked_ilog2().map_or(0, |log2| 1 << log2);
    ByteSize::new(wanted.min(largest))
}

/// Whether a shared set serves the request as it serves all.
#[inline]
fn is_plain(request: &PlacementRequest) -> bool {
    request.strategy != Strategy::MinOffset && !request.upper && !request.own_heap
}

#[cold]
fn allocate_special<H: Clone>(
    set: &SharedHeapSet<H>,
    request: &PlacementRequest,
) -> Result<Option<SharedPlaced<H>>, PlacementError> {
    if request.upper {
        return Err(PlacementError::NoUpperEnd { algorithm: PlacementAlgorithm::Default });
    }
    if request.own_heap {
        return set.allocate_alone(request.size, request.alignment);
    }
    set.allocate_lowest(request.size, request.alignment)
}
