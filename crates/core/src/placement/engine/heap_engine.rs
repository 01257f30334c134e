//! Heap engines: several placement algorithms behind one interface.

use std::sync::Arc;

use super::heaps::Heaps;
use super::rule::Rule;
use super::{EngineDesc, PlacementAlgorithm, PlacementRequest};
use crate::placement::{
    HeapPrices, HeapSetTotals, HeapSurvey, HeapTally, NewHeap, PlacementError, ServingHeap, SharedHeapSet,
    SharedPlaced, SharedPlacementId,
};
use crate::suballoc::{AuditError, FreeRangeChoice};
use crate::sync::{Mutex, lock};
use crate::{Alignment, ByteSize};

/// A family of heaps with a placement algorithm that is chosen at creation.
///
/// `H` is the owner's handle of a heap (an `ID3D12Heap`); each allocation gets a clone of it. The engine
/// creates and destroys no heaps: it returns the size of the heap that it needs, and the heaps that it no
/// longer needs.
///
/// # Locking
///
/// The engine locks itself, and holds no lock while the owner creates a heap. Two threads that both find no
/// room may therefore both create one. The default algorithm has a lock per [lane](SharedHeapSet), the others
/// have one lock.
///
/// # Cost
///
/// [`allocate`](Self::allocate) and [`free`](Self::free) are O(1) with the default algorithm, and O(log n)
/// with the others, where n is the number of heaps or of distinct sizes, whichever is larger.
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

/// Not boxed, so that the default algorithm costs one comparison more than the set alone, and no further
/// memory access.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "engines are created rarely, and the large variant is the common one"
)]
enum Inner<H> {
    Default(SharedHeapSet<H>),
    Locked(PlacementAlgorithm, Mutex<Heaps<H>>),
}

/// The numbers of requests of known and of new sizes: GPGMM's `SizeCacheHits` and `SizeCacheMisses`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SizeCacheCounts {
    /// The number of requests of a known size.
    pub hits: u64,
    /// The number of requests of a size that was new, or had been forgotten.
    pub misses: u64,
}

impl<H: Clone> HeapEngine<H> {
    /// Creates an engine without heaps.
    #[must_use]
    pub fn new(desc: &EngineDesc) -> Self {
        Self::with_shared(desc, Arc::default(), Arc::default())
    }

    /// Creates an engine that shares a tally and prices with others: see [`SharedHeapSet::with_shared`]. The other algorithms keep no
    /// empty heaps by themselves, and count nothing.
    #[must_use]
    pub fn with_shared(desc: &EngineDesc, tally: Arc<HeapTally>, prices: Arc<HeapPrices>) -> Self {
        let rule = match *desc {
            EngineDesc::Default { sizing, retention, slots_up_to, lanes } => {
                let set = SharedHeapSet::with_shared(sizing, retention, slots_up_to, lanes, tally, prices);
                return Self(Inner::Default(set));
            }
            EngineDesc::SlabBySize(sizing) => Rule::SlabBySize(sizing),
            EngineDesc::BuddySystem { preferred, maximum, granularity } => {
                Rule::BuddySystem { heap_size: buddy_heap_size(preferred, maximum, granularity) }
            }
            EngineDesc::Linear { heap_size, one_heap } => Rule::Linear { heap_size, one_heap },
            EngineDesc::Dedicated { granularity } => Rule::Dedicated { granularity },
        };
        Self(Inner::Locked(rule.algorithm(), Mutex::new(Heaps::new(rule))))
    }

    /// Returns the algorithm chosen at creation. O(1), no lock.
    #[must_use]
    pub fn algorithm(&self) -> PlacementAlgorithm {
        match &self.0 {
            Inner::Default(_) => PlacementAlgorithm::Default,
            Inner::Locked(algorithm, _) => *algorithm,
        }
    }

    /// Places a request in one of the heaps. Returns `None` if the request needs a new heap.
    ///
    /// # Errors
    ///
    /// - The size is zero, or the size of a heap for it overflows.
    /// - [`PlacementError::NeedsOwnHeap`]: the request is larger than the algorithm's heaps. The caller may
    ///   create a heap for it alone.
    /// - [`PlacementError::NoUpperEnd`]: the request asks for the upper end, which the algorithm does not
    ///   have.
    #[inline]
    pub fn allocate(&self, request: &PlacementRequest) -> Result<Option<SharedPlaced<H>>, PlacementError> {
        match &self.0 {
            Inner::Default(set) if is_plain(request) => set.allocate(request.size, request.alignment),
            Inner::Default(set) => allocate_special(set, request),
            Inner::Locked(_, locked) => lock(locked).allocate(request),
        }
    }

    /// Places a request in any heap with a free range for it. Use it when no heap can be created.
    ///
    /// With the default algorithm it returns `None` only if no free range of any heap holds the request; see
    /// [`SharedHeapSet::allocate_anywhere`]. With the others it is the same as [`allocate`](Self::allocate).
    ///
    /// # Errors
    ///
    /// Returns the errors of [`allocate`](Self::allocate).
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

    /// Places a request on the fast path of the default algorithm, without cloning the heap. Returns `None`
    /// otherwise; then call [`allocate`](Self::allocate). See [`SharedHeapSet::allocate_at_hand`]. O(1).
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

    /// Returns the heap that a request needs after [`allocate`](Self::allocate) returned `None`.
    ///
    /// The default algorithm may also return empty heaps to release first, which it has removed. See
    /// [`HeapSet::plan`](crate::placement::HeapSet::plan). The other algorithms release none.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`allocate`](Self::allocate), and [`PlacementError::OneHeapFull`] if the engine
    /// is limited to one heap and has it.
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

    /// Returns what [`allocate`](Self::allocate) and then [`plan`](Self::plan) would do with the request.
    /// Places nothing.
    ///
    /// The result is [`ServingHeap::Existing`] if `allocate` would place the request, and otherwise the size that `plan`
    /// would return. It is exact while no other thread calls; with the default algorithm, for the calling
    /// thread, whose [lane](SharedHeapSet) it examines.
    ///
    /// With the default algorithm it is O(1), and O(lanes) before it returns that a heap is needed: see
    /// [`SharedHeapSet::probe`]; with [`FreeRangeChoice::MinOffset`] O(n) for n ranges of up to 256 heaps. With
    /// the others it is O(log n), for n heaps or n distinct sizes. It locks like `allocate`.
    ///
    /// # Errors
    ///
    /// Returns the errors of these two.
    ///
    /// ```
    /// use heapwright_core::placement::{EngineDesc, HeapEngine, PlacementRequest, ServingHeap};
    /// use heapwright_core::{Alignment, ByteSize};
    ///
    /// let heaps: HeapEngine<&str> = HeapEngine::new(&EngineDesc::default());
    /// let request = PlacementRequest::new(ByteSize::from_kib(80), Alignment::ONE);
    /// let ServingHeap::New { size } = heaps.probe(&request)? else { panic!("there is no heap yet") };
    /// heaps.insert(size, "a heap")?;
    /// assert_eq!(heaps.probe(&request)?, ServingHeap::Existing);
    /// # Ok::<(), heapwright_core::placement::PlacementError>(())
    /// ```
    pub fn probe(&self, request: &PlacementRequest) -> Result<ServingHeap, PlacementError> {
        match &self.0 {
            Inner::Default(_) if request.upper => Err(self.no_upper_end()),
            Inner::Default(set) if request.own_heap => set.probe_alone(request.size),
            Inner::Default(set) if is_plain(request) => set.probe(request.size, request.alignment),
            Inner::Default(set) => set.probe_lowest(request.size, request.alignment),
            Inner::Locked(_, locked) => {
                let heaps = lock(locked);
                if heaps.has_room(request)? {
                    return Ok(ServingHeap::Existing);
                }
                Ok(ServingHeap::New { size: heaps.heap_size(request)? })
            }
        }
    }

    /// Returns every heap with all of its ranges: first the heaps in use, then the empty ones.
    ///
    /// With the default algorithm the order is mixed, see [`SharedHeapSet::survey`]. With slabs by size,
    /// unused blocks and the rest of used blocks are [`InSlab`](crate::placement::SurveyedRange::InSlab), and
    /// the bytes after the last block are padding. O(n) for all ranges, under the engine's lock; for the
    /// default algorithm see there.
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
    /// The heap may have another size than [`plan`](Self::plan) returned, as long as the request fits.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`allocate`](Self::allocate). If the heap size cannot be managed, or there are
    /// too many heaps, the heap is dropped. With [`PlacementError::TooLarge`], when the request does not fit
    /// into the heap, and with [`PlacementError::OneHeapFull`], when a second heap is not allowed, the heap
    /// is in the engine nevertheless, empty.
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

    /// Adds an empty heap, for example to fill a pool to its minimum, or a prefetched heap.
    ///
    /// It serves the next request that fits and for which it is not too large. It leaves the engine like any
    /// other heap. O(1) with the default algorithm; otherwise O(log
    /// n) for n distinct sizes of empty heaps.
    ///
    /// # Errors
    ///
    /// Returns an error if the heap size cannot be managed, or there are too many heaps; the heap is then
    /// dropped.
    pub fn insert(&self, heap_size: ByteSize, heap: H) -> Result<(), PlacementError> {
        match &self.0 {
            Inner::Default(set) => set.insert(heap_size, heap),
            Inner::Locked(_, locked) => lock(locked).insert(heap_size, heap),
        }
    }

    /// Frees an allocation. Returns the heaps that leave the engine, which are empty.
    ///
    /// # Errors
    ///
    /// Returns an error if the id is not live in this engine.
    #[inline]
    pub fn free(&self, id: SharedPlacementId) -> Result<Vec<H>, PlacementError> {
        match &self.0 {
            Inner::Default(set) => set.free(id),
            Inner::Locked(_, locked) => Ok(lock(locked).free(id.0)?.into_iter().collect()),
        }
    }

    /// Removes empty heaps until their total size is `up_to`, or none are left, and returns them with their
    /// sizes.
    ///
    /// It removes no heap that is not needed to reach the total: the largest are removed first, and last the
    /// smallest that suffices. O(1) per heap with the default algorithm, and O(lanes); otherwise O(log n) per
    /// heap.
    pub fn take_empty(&self, up_to: ByteSize) -> Vec<(ByteSize, H)> {
        match &self.0 {
            Inner::Default(set) => set.take_empty_up_to(up_to),
            Inner::Locked(_, locked) => lock(locked).empty_mut().take_up_to(up_to),
        }
    }

    /// Calls a function with each empty heap, and collects the results. O(n) for n empty heaps, under the lock of the heaps.
    pub fn map_empty<T>(&self, of: impl FnMut(&H) -> T) -> Vec<T> {
        match &self.0 {
            Inner::Default(set) => set.map_empty(of),
            Inner::Locked(_, locked) => lock(locked).empty().heaps().map(of).collect(),
        }
    }

    /// Removes a smallest empty heap of `at_least` to `at_most` bytes, and returns it with its size.
    ///
    /// The default algorithm examines eight of the heaps whose sizes differ by less than an eighth, and may
    /// miss one among more. O(1) with the default algorithm, otherwise O(log n).
    pub fn take_empty_fitting(&self, at_least: ByteSize, at_most: ByteSize) -> Option<(ByteSize, H)> {
        match &self.0 {
            Inner::Default(set) => set.take_empty_fitting(at_least, at_most),
            Inner::Locked(_, locked) => lock(locked).empty_mut().take_fitting(at_least, at_most),
        }
    }

    /// Returns whether [`take_empty_fitting`](Self::take_empty_fitting) would find a heap, at the same cost.
    #[must_use]
    pub fn has_empty_fitting(&self, at_least: ByteSize, at_most: ByteSize) -> bool {
        match &self.0 {
            Inner::Default(set) => set.has_empty_fitting(at_least, at_most),
            Inner::Locked(_, locked) => {
                lock(locked).empty().smallest_from(at_least).is_some_and(|size| size <= at_most)
            }
        }
    }

    /// Returns the memory of slabs without used slots to the heaps. No effect in algorithms without slabs.
    /// O(lanes).
    pub fn give_up_unused_slabs(&self) {
        if let Inner::Default(set) = &self.0 {
            set.give_up_unused_slabs();
        }
    }

    /// Removes heaps that are not worth keeping: see [`SharedHeapSet::pass_operations`]. No effect in the other
    /// algorithms.
    pub fn pass_operations(&self) -> Vec<H> {
        self.as_default().map(SharedHeapSet::pass_operations).unwrap_or_default()
    }

    /// Counts a frame, and removes heaps that have been empty for too long: see
    /// [`SharedHeapSet::pass_frame`]. No effect in the other algorithms, which keep no empty heaps by time.
    pub fn pass_frame(&self) -> Vec<H> {
        self.as_default().map(SharedHeapSet::pass_frame).unwrap_or_default()
    }

    /// Counts a period, and removes heaps that were empty for too many: see [`SharedHeapSet::pass_period`]. No effect in
    /// the other algorithms.
    pub fn pass_period(&self) -> Vec<H> {
        self.as_default().map(SharedHeapSet::pass_period).unwrap_or_default()
    }

    /// Returns the totals of the engine. O(lanes) with the default algorithm, otherwise O(1).
    #[must_use]
    pub fn totals(&self) -> HeapSetTotals {
        match &self.0 {
            Inner::Default(set) => set.totals(),
            Inner::Locked(_, locked) => lock(locked).totals(),
        }
    }

    /// Returns the size of the heap that [`plan`](Self::plan) would return if it released no empty heap.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`plan`](Self::plan).
    pub fn new_heap_size(&self, request: &PlacementRequest) -> Result<ByteSize, PlacementError> {
        match &self.0 {
            Inner::Default(set) if request.own_heap => set.new_heap_size_alone(request.size),
            Inner::Default(set) => set.new_heap_size(request.size, request.alignment),
            Inner::Locked(_, locked) => lock(locked).heap_size(request),
        }
    }

    /// Returns the bytes that a heap must have for a request, at least.
    #[must_use]
    pub fn least_heap_size(&self, request: &PlacementRequest) -> ByteSize {
        match &self.0 {
            Inner::Default(_) => request.size,
            Inner::Locked(_, locked) => lock(locked).least_heap_size(request),
        }
    }

    /// Returns the set of the default algorithm, or `None` with the others. O(1), no lock.
    #[must_use]
    pub const fn as_default(&self) -> Option<&SharedHeapSet<H>> {
        match &self.0 {
            Inner::Default(set) => Some(set),
            Inner::Locked(..) => None,
        }
    }

    /// Returns the size of a heap worth creating in advance after such a request was placed, so that a later
    /// request does not wait for it. The owner creates it and calls [`insert`](Self::insert).
    ///
    /// Only slabs by size return a size, by GPGMM's rule: if at most one heap has room for the size, and that
    /// heap is half full; unless the next heap would have room for fewer than four blocks, be larger than 64
    /// MiB, or an empty heap of at least that size exists. The other algorithms return `None`. O(log n).
    ///
    /// Heaps that are being created are not considered: called again before the heap is inserted, it returns
    /// the same size.
    #[must_use]
    pub fn next_heap(&self, request: &PlacementRequest) -> Option<ByteSize> {
        match &self.0 {
            Inner::Default(_) => None,
            Inner::Locked(_, locked) => lock(locked).next_heap(request),
        }
    }

    /// Keeps the data of a size from now on, like a request with [`PlacementRequest::cache_size`], but
    /// without a request.
    ///
    /// It counts as neither a hit nor a miss. O(log n) for n distinct sizes. No effect in algorithms that
    /// keep no sizes.
    pub fn remember_size(&self, request: &PlacementRequest) {
        if let Inner::Locked(_, locked) = &self.0 {
            lock(locked).remember_size(request);
        }
    }

    /// Returns how often the size of a request was known; zero in algorithms that keep no sizes. O(1).
    #[must_use]
    pub fn size_cache(&self) -> SizeCacheCounts {
        match &self.0 {
            Inner::Default(_) => SizeCacheCounts::default(),
            Inner::Locked(_, locked) => lock(locked).size_cache(),
        }
    }

    /// Checks the whole structure; for tests. O(n) or O(n log n) for n ranges.
    ///
    /// # Errors
    ///
    /// Returns the first violated invariant, a defect in this crate.
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

/// Returns the size of all heaps of a buddy system, a power of two.
fn buddy_heap_size(preferred: ByteSize, maximum: ByteSize, granularity: Alignment) -> ByteSize {
    let wanted = preferred.get().max(granularity.get()).checked_next_power_of_two().unwrap_or(1 << 63);
    let largest = maximum.get().checked_ilog2().map_or(0, |log2| 1 << log2);
    ByteSize::new(wanted.min(largest))
}

/// Returns whether a shared set serves the request on its normal path.
#[inline]
fn is_plain(request: &PlacementRequest) -> bool {
    request.strategy != FreeRangeChoice::MinOffset && !request.upper && !request.own_heap
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
