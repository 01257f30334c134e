//! Heap engines: several placement algorithms behind one interface.

use std::sync::Arc;

use super::heaps::{Heaps, SizeCacheCounts};
use super::{EngineDesc, PlacementAlgorithm};
use crate::ByteSize;
use crate::placement::idle_times::IdleTimes;
use crate::placement::{
    HeapPrices, HeapSetTotals, HeapSurvey, HeapTally, PlacementError, PlacementRequest, SharedHeapSet,
    SharedPlaced, SharedPlacementId,
};
use crate::suballoc::AuditError;
use crate::sync::{Mutex, lock};

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
/// [`allocate`](Self::allocate) and [`free`](Self::free) are O(1) with the default algorithm, and O(log n) with the
/// others, where n is the number of heaps or of distinct sizes, whichever is larger. A request that needs another heap
/// of slabs by size is O(n) for n full heaps of its block size.
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
///         let size = heaps.new_heap_size(&request)?;
///         assert!(heaps.make_way(size, ByteSize::ZERO).is_empty(), "nothing to release first");
///         heaps.allocate_in_new(size, "a heap", &request)?
///     }
/// };
/// assert_eq!(placed.heap, "a heap");
/// let gone = heaps.free(placed.id)?;
/// assert!(gone.is_empty(), "the default algorithm keeps an empty heap for a while");
/// assert_eq!(heaps.take_empty(ByteSize::new(u64::MAX)).len(), 1);
/// # Ok::<(), heapwright_core::placement::PlacementError>(())
/// ```
pub struct HeapEngine<H>(Inner<H>);

/// Not boxed, so that the default algorithm costs one comparison more than the set alone, and no further
/// memory access.
#[expect(
    clippy::large_enum_variant,
    reason = "engines are created rarely, and the large variant is the common one"
)]
enum Inner<H> {
    Default(SharedHeapSet<H>),
    Locked(PlacementAlgorithm, Mutex<Heaps<H>>),
}

impl<H: Clone> HeapEngine<H> {
    /// Creates an engine without heaps.
    #[must_use]
    pub fn new(desc: &EngineDesc) -> Self {
        Self::with_shared(desc, Arc::default(), Arc::default())
    }

    /// Creates an engine that shares a tally and prices with others: see [`SharedHeapSet::with_shared`].
    #[must_use]
    pub fn with_shared(desc: &EngineDesc, tally: Arc<HeapTally>, prices: Arc<HeapPrices>) -> Self {
        let (rule, retention) = match *desc {
            EngineDesc::Default { sizing, retention, slots_up_to, lanes } => {
                let set = SharedHeapSet::with_shared(sizing, retention, slots_up_to, lanes, tally, prices);
                return Self(Inner::Default(set));
            }
            EngineDesc::ByRule { rule, retention } => (rule, retention),
        };
        let times = IdleTimes::new(retention, tally, prices);
        Self(Inner::Locked(rule.algorithm(), Mutex::new(Heaps::new(rule, times))))
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
            Inner::Default(set) => set.allocate(request),
            Inner::Locked(_, locked) => lock(locked).allocate(request),
        }
    }

    /// Places a request in any heap with a free range for it. Use it when no heap can be created. See
    /// [`SharedHeapSet::allocate_anywhere`]; with the other algorithms it is the same as [`allocate`](Self::allocate).
    ///
    /// # Errors
    ///
    /// Returns the errors of [`allocate`](Self::allocate).
    pub fn allocate_anywhere(
        &self,
        request: &PlacementRequest,
    ) -> Result<Option<SharedPlaced<H>>, PlacementError> {
        match &self.0 {
            Inner::Default(set) => set.allocate_anywhere(request),
            Inner::Locked(_, locked) => lock(locked).allocate(request),
        }
    }

    /// Returns whether [`allocate`](Self::allocate) would place the request. Places nothing. With the default
    /// algorithm, see [`SharedHeapSet::has_room`]; with the others, O(log n) for n heaps or n distinct sizes.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`allocate`](Self::allocate).
    pub fn has_room(&self, request: &PlacementRequest) -> Result<bool, PlacementError> {
        match &self.0 {
            Inner::Default(set) => set.has_room(request),
            Inner::Locked(_, locked) => lock(locked).has_room(request),
        }
    }

    /// Returns the size of the heap that a request needs after [`allocate`](Self::allocate) returned `None`.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`allocate`](Self::allocate), and [`PlacementError::OneHeapFull`] if the engine
    /// is limited to one heap and has it.
    pub fn new_heap_size(&self, request: &PlacementRequest) -> Result<ByteSize, PlacementError> {
        match &self.0 {
            Inner::Default(set) => set.new_heap_size(request),
            Inner::Locked(_, locked) => lock(locked).heap_size(request),
        }
    }

    /// Removes the empty heaps that are not kept in addition to a new one of `heap_size` bytes: release them before it
    /// is created. See [`SharedHeapSet::make_way`].
    pub fn make_way(&self, heap_size: ByteSize, elsewhere: ByteSize) -> Vec<H> {
        match &self.0 {
            Inner::Default(set) => set.make_way(heap_size, elsewhere),
            Inner::Locked(_, locked) => lock(locked).make_way(heap_size, elsewhere),
        }
    }

    /// Returns every heap with all of its ranges: first the heaps in use, then the empty ones.
    ///
    /// With the default algorithm the order is mixed, see [`SharedHeapSet::survey`]. With slabs by size,
    /// unused blocks and the rest of used blocks are [`InSlab`](crate::placement::SurveyedRange::InSlab), and
    /// the bytes after the last block are padding. O(n) for all ranges, under the engine's lock; for the
    /// default algorithm see there.
    #[must_use]
    pub fn survey(&self) -> Vec<HeapSurvey<H>> {
        match &self.0 {
            Inner::Default(set) => set.survey(),
            Inner::Locked(_, locked) => lock(locked).survey(),
        }
    }

    /// Adds a heap of `heap_size` bytes, and places a request in it before another thread can.
    ///
    /// The heap may have another size than [`new_heap_size`](Self::new_heap_size) returned, as long as the request
    /// fits.
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
        match &self.0 {
            Inner::Default(set) => set.allocate_in_new(heap_size, heap, request),
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
            Inner::Locked(_, locked) => lock(locked).free(id.0),
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
            Inner::Default(set) => set.take_empty(up_to),
            Inner::Locked(_, locked) => lock(locked).empty_mut().take_up_to(up_to),
        }
    }

    /// See [`SharedHeapSet::vacated`].
    pub fn map_vacated<T>(&self, unused: &[SharedPlacementId], of: impl FnMut(&H) -> T) -> Vec<T> {
        match &self.0 {
            Inner::Default(set) => set.vacated(unused, of),
            Inner::Locked(_, locked) => lock(locked).vacated(unused).map(of).collect(),
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

    /// Removes heaps that are not worth keeping, because of operations and heaps of this engine and of those that share
    /// its tally. See [`SharedHeapSet::pass_operations`].
    pub fn pass_operations(&self) -> Vec<H> {
        match &self.0 {
            Inner::Default(set) => set.pass_operations(),
            Inner::Locked(_, locked) => lock(locked).take_expired(u64::MAX),
        }
    }

    /// Counts a frame, and removes heaps that have been empty for too many. See [`SharedHeapSet::pass_frame`].
    pub fn pass_frame(&self) -> Vec<H> {
        match &self.0 {
            Inner::Default(set) => set.pass_frame(),
            Inner::Locked(_, locked) => lock(locked).pass_frame(),
        }
    }

    /// Counts a period, and removes heaps that were empty for too many. See [`SharedHeapSet::pass_period`].
    pub fn pass_period(&self) -> Vec<H> {
        match &self.0 {
            Inner::Default(set) => set.pass_period(),
            Inner::Locked(_, locked) => lock(locked).pass_period(),
        }
    }

    /// Counts a period like [`pass_period`](Self::pass_period). With the default algorithm, removes only as many heaps
    /// as [`take_overdue`](Self::take_overdue).
    pub fn begin_period(&self) -> Vec<H> {
        match &self.0 {
            Inner::Default(set) => {
                set.count_period();
                set.take_overdue()
            }
            Inner::Locked(_, locked) => lock(locked).pass_period(),
        }
    }

    /// Removes some more of the heaps that were empty for too many periods: see [`SharedHeapSet::take_overdue`].
    pub fn take_overdue(&self) -> Vec<H> {
        match &self.0 {
            Inner::Default(set) => set.take_overdue(),
            Inner::Locked(..) => Vec::new(),
        }
    }

    /// Returns the totals of the engine. O(lanes) with the default algorithm, otherwise O(1).
    #[must_use]
    pub fn totals(&self) -> HeapSetTotals {
        match &self.0 {
            Inner::Default(set) => set.totals(),
            Inner::Locked(_, locked) => lock(locked).totals(),
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
}
