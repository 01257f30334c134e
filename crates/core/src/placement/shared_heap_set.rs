//! Heap sets with slabs, for many threads.

mod empty_heaps;
mod free_slots;
mod survey;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::heap_set::{Effort, FreeRoom};
use super::idle_times::IdleTimes;
use super::lane::{Lane, SlabRanges, correct};
use super::{
    HeapPrices, HeapRetention, HeapSet, HeapSetDesc, HeapSetTotals, HeapTally, Placed, PlacementAlgorithm,
    PlacementError, PlacementId, PlacementRequest, Sharing, SizeCacheCounts,
};
use crate::ByteSize;
use crate::suballoc::slab::class::SizeClass;
use crate::suballoc::{AuditError, FreeRangeChoice};
use crate::sync::{Mutex, MutexGuard, lock, try_lock};

/// Heaps from which many threads can allocate at the same time, with slabs for small sizes.
///
/// A [rule](super::PlacementRule), chosen at creation, says which requests share a heap, and what divides it. With the
/// default one:
///
/// ```text
///   thread 0    thread 1    thread 2          a lane each, while there are as many lanes
///      |           |           |
///    slabs       slabs       slabs            a lock each, that only a free from elsewhere contends for
///        \         |         /
///         heaps with a TLSF each              one lock: for new slabs, and for what is no slot
/// ```
///
/// Small requests get a slot of a slab of the thread's *lane*, without a lock that the other threads use. Two
/// threads may share a lane once more threads than lanes have allocated; the one that finds it locked uses
/// the next lane. Any thread may free any allocation.
///
/// The other rules have no slabs, and so only the lock of the heaps.
///
/// `H` is the owner's handle of a heap (an `ID3D12Heap`); each allocation gets a clone of it. The set creates and
/// destroys no heaps: it returns the size of the heap that it needs, and the heaps that it no longer needs.
///
/// # Locking
///
/// A call holds the lock of at most one lane, and within it that of the heaps; never in the other order, and
/// none while the owner creates a heap. Two threads that both find no room may therefore both create one.
///
/// # Cost
///
/// By the default rule, [`allocate`](Self::allocate) and [`free`](Self::free) are O(1), and O(lanes) before a new heap
/// is requested. Each lane has its own slabs, so up to half a slab of each class and lane is unused. By the others they
/// are O(log n) for n ranges of a heap, and with slabs by size, O(n) for n heaps of a block size if another is needed.
///
/// ```
/// use std::sync::Arc;
///
/// use heapwright_core::placement::{PlacementRequest, SharedHeapSet};
/// use heapwright_core::{Alignment, ByteSize};
///
/// let heaps: SharedHeapSet<Arc<str>> = SharedHeapSet::default();
/// let request = PlacementRequest::new(ByteSize::new(200), Alignment::new(256).unwrap());
/// let placed = match heaps.allocate(&request)? {
///     Some(placed) => placed,
///     None => {
///         let size = heaps.new_heap_size(&request)?;
///         heaps.allocate_in_new(size, Arc::from("a heap"), &request)?
///     }
/// };
/// assert_eq!(&*placed.heap, "a heap");
/// std::thread::scope(|threads| threads.spawn(|| heaps.free(placed.id)).join().unwrap())?;
/// assert_eq!(heaps.totals().allocation_count, 0);
/// # Ok::<(), heapwright_core::placement::PlacementError>(())
/// ```
pub struct SharedHeapSet<H> {
    algorithm: PlacementAlgorithm,
    /// The largest request that gets a slot.
    slots_up_to: ByteSize,
    lanes: Box<[Alone<Mutex<Lane<H>>>]>,
    /// The number from which on no lane ever had a slab.
    lanes_used: AtomicU32,
    heaps: Alone<Mutex<HeapSet<H>>>,
    room: Arc<FreeRoom>,
    /// Whether slabs without used slots may be kept.
    keeps_slabs: bool,
}

/// The kind of range that a request gets.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Choice {
    /// A slot of this class.
    Slot(SizeClass),
    /// Any range of a shared heap, each as good as another.
    AnyRange,
    /// A range that it asks for: at the lowest offset, at the upper end, or alone in a heap.
    ByRule,
}

/// Puts a value on its own cache lines, so that threads that use neighbouring values do not contend for them.
/// Processors fetch lines of 64 bytes in pairs.
#[repr(align(128))]
struct Alone<T>(T);

impl<H: Clone> Default for SharedHeapSet<H> {
    fn default() -> Self {
        Self::new(&HeapSetDesc::default())
    }
}

impl<H: Clone> SharedHeapSet<H> {
    /// Creates a set without heaps.
    #[must_use]
    pub fn new(desc: &HeapSetDesc) -> Self {
        Self::with_shared(desc, Arc::default(), Arc::default())
    }

    /// Creates a set like [`new`](Self::new) that shares a tally and prices with others: with them it counts the
    /// operations after which an empty heap is released, and learns what heaps cost.
    #[must_use]
    pub fn with_shared(desc: &HeapSetDesc, tally: Arc<HeapTally>, prices: Arc<HeapPrices>) -> Self {
        let HeapSetDesc { rule, retention, slots_up_to, lanes } = *desc;
        let heaps = HeapSet::new(rule, IdleTimes::new(retention, tally, prices));
        let (slots_up_to, lanes) = if rule.is_default() { (slots_up_to, lanes) } else { (ByteSize::ZERO, 1) };
        Self {
            algorithm: rule.algorithm(),
            room: Arc::clone(heaps.room()),
            slots_up_to,
            lanes: (0..lanes.clamp(1, 4096)).map(|number| Alone(Mutex::new(Lane::new(number)))).collect(),
            lanes_used: AtomicU32::new(0),
            keeps_slabs: retention != HeapRetention::NONE,
            heaps: Alone(Mutex::new(heaps)),
        }
    }

    /// Returns the algorithm chosen at creation. O(1), no lock.
    #[must_use]
    pub const fn algorithm(&self) -> PlacementAlgorithm {
        self.algorithm
    }

    /// Returns the totals of the set. O(lanes that were used). Each lane is read at its own time if other
    /// threads are active.
    #[must_use]
    pub fn totals(&self) -> HeapSetTotals {
        // The lanes are read first: the memory of their slabs is then used in the heaps, unless it is freed
        // meanwhile.
        let slabs: Vec<_> = self.used_lanes().map(|lane| lock(&lane.0).slab_totals()).collect();
        let mut totals = lock(&self.heaps.0).totals();
        for slabs in slabs {
            correct(&mut totals, slabs);
        }
        totals
    }

    /// Returns whether the free ranges of the heaps take less than half of a new heap for a request of `size` bytes. It
    /// is approximate. O(1), no lock.
    #[must_use]
    pub fn is_nearly_full(&self, size: ByteSize) -> bool {
        self.room.is_nearly_full(size)
    }

    #[inline]
    fn choice(&self, request: &PlacementRequest) -> Choice {
        if request.upper
            || request.sharing != Sharing::Shared
            || request.strategy == FreeRangeChoice::MinOffset
        {
            return Choice::ByRule;
        }
        let class = SizeClass::of(request.size, request.alignment);
        class.filter(|_| request.size <= self.slots_up_to).map_or(Choice::AnyRange, Choice::Slot)
    }

    /// Places a request in one of the heaps. Returns `None` if it needs a new heap. See [Cost](Self#cost); at the
    /// lowest offset O(n) for n ranges of up to 256 heaps.
    ///
    /// # Errors
    ///
    /// - The size is zero, or the size of a heap for it overflows.
    /// - [`PlacementError::NeedsOwnHeap`]: the request is larger than the heaps that the rule's requests share.
    /// - [`PlacementError::NoUpperEnd`]: the request asks for the upper end, which the heaps do not have.
    #[inline]
    pub fn allocate(&self, request: &PlacementRequest) -> Result<Option<Placed<H>>, PlacementError> {
        self.allocate_on(lane_of_thread(), request)
    }

    /// Places a request on a lane, like [`allocate`](Self::allocate).
    pub(super) fn allocate_on(
        &self,
        lane: u32,
        request: &PlacementRequest,
    ) -> Result<Option<Placed<H>>, PlacementError> {
        let choice = self.choice(request);
        if let Choice::Slot(class) = choice {
            return Ok(self.allocate_slot(lane, class, request.size));
        }
        let placed = self.allocate_range(request)?;
        if placed.is_some() || choice != Choice::AnyRange {
            return Ok(placed);
        }
        // The memory of empty slabs is used before a new heap.
        let any = self.lock_lane(lane).1.give_up_empty(&mut lock(&self.heaps.0));
        if any { self.allocate_range(request) } else { Ok(None) }
    }

    fn allocate_slot(&self, lane: u32, class: SizeClass, size: ByteSize) -> Option<Placed<H>> {
        let (number, mut lane) = self.lock_lane(lane);
        let slot = match lane.allocate(class, size) {
            Some(slot) => return Some(slot.cloned()),
            None => {
                self.lanes_used.fetch_max(number + 1, Ordering::Relaxed);
                lane.allocate_in_new_slab(&mut lock(&self.heaps.0), None, class, size)
            }
        };
        if let Some(slot) = slot {
            return Some(slot.cloned());
        }
        drop(lane);
        // A free slot of another lane is used before a new heap.
        self.used_lanes().find_map(|lane| Some(try_lock(&lane.0)?.allocate(class, size)?.cloned()))
    }

    /// Places a request that does not get a slot.
    fn allocate_range(&self, request: &PlacementRequest) -> Result<Option<Placed<H>>, PlacementError> {
        let mut heaps = lock(&self.heaps.0);
        heaps.count_size(request);
        Ok(heaps.find_and_place(request, Effort::Usual)?.map(Placed::cloned))
    }

    /// Places a request if the normal path of the default algorithm finds room at once: in a free slot of the thread's
    /// lane, or for requests that get no slot, in a free range of the heaps. Returns `None` otherwise; then call
    /// [`allocate`](Self::allocate). O(1).
    ///
    /// It does not clone the owner's handle of the heap: `heap` is called with a reference to it, and its
    /// result is returned. The set keeps the heap until the allocation is freed.
    #[inline]
    pub fn allocate_at_hand<T>(
        &self,
        request: &PlacementRequest,
        heap: impl FnOnce(&H) -> T,
    ) -> Option<Placed<T>> {
        let PlacementRequest { size, alignment, .. } = *request;
        match self.choice(request) {
            Choice::Slot(class) => {
                let (_, mut lane) = self.lock_lane(lane_of_thread());
                let Placed { id, range, heap: found } = lane.allocate(class, size)?;
                Some(Placed { id, range, heap: heap(found) })
            }
            Choice::AnyRange => {
                let mut heaps = lock(&self.heaps.0);
                let Placed { id, range, heap: found } = heaps.allocate(size, alignment)?;
                Some(Placed { id, range, heap: heap(found) })
            }
            Choice::ByRule => None,
        }
    }

    /// Places a request in any heap with a free range for it, or returns `None` if there is none. Use it when
    /// no heap can be created.
    ///
    /// It first does what [`allocate`](Self::allocate) does, and with other algorithms than the default one no more.
    /// Then every free range is examined, and free slots of slabs are returned to the heaps where they make room for
    /// the request. O(n) for n free ranges and slabs that have free slots. For a request with a heap of its own, every
    /// empty heap is examined, and those that contain only unused slabs.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`allocate`](Self::allocate).
    pub fn allocate_anywhere(&self, request: &PlacementRequest) -> Result<Option<Placed<H>>, PlacementError> {
        if let Some(placed) = self.allocate(request)? {
            return Ok(Some(placed));
        }
        let is_shared = request.sharing == Sharing::Shared;
        if !is_shared {
            self.give_up_unused_slabs();
        }
        let placed = lock(&self.heaps.0).find_and_place(request, Effort::Exhaustive)?.map(Placed::cloned);
        if placed.is_some() || !is_shared { Ok(placed) } else { self.allocate_in_free_slots(request) }
    }

    /// Returns whether [`allocate`](Self::allocate) would place a request on this thread if unused slabs keep their
    /// memory. Places nothing.
    ///
    /// The result is exact while no other thread calls and all slabs are in use. O(1), and O(lanes) before it returns
    /// `false`; at the lowest offset O(n) for n ranges of up to 256 heaps.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`allocate`](Self::allocate).
    ///
    /// ```
    /// use heapwright_core::placement::{PlacementRequest, SharedHeapSet};
    /// use heapwright_core::{Alignment, ByteSize};
    ///
    /// let heaps: SharedHeapSet<&str> = SharedHeapSet::default();
    /// let request = PlacementRequest::new(ByteSize::new(200), Alignment::ONE);
    /// assert!(!heaps.has_room(&request)?);
    /// heaps.insert(heaps.new_heap_size(&request)?, "a heap")?;
    /// assert!(heaps.has_room(&request)?);
    /// # Ok::<(), heapwright_core::placement::PlacementError>(())
    /// ```
    pub fn has_room(&self, request: &PlacementRequest) -> Result<bool, PlacementError> {
        self.has_room_on(lane_of_thread(), request)
    }

    /// Returns the result of [`has_room`](Self::has_room) for a lane.
    pub(super) fn has_room_on(&self, lane: u32, request: &PlacementRequest) -> Result<bool, PlacementError> {
        let Choice::Slot(class) = self.choice(request) else {
            return Ok(lock(&self.heaps.0).find(request, Effort::Usual)?.is_some());
        };
        {
            let (_, lane) = self.lock_lane(lane);
            if lane.has_room(class) {
                return Ok(true);
            }
            let heaps = lock(&self.heaps.0);
            // A slab of the usual number of slots, or of half as many, and so on.
            for shape in lane.shape(class).and_halves() {
                let slab = PlacementRequest::new(shape.bytes(), shape.alignment());
                if heaps.find(&slab, Effort::Usual)?.is_some() {
                    return Ok(true);
                }
            }
        }
        let has_slot = |lane: MutexGuard<'_, Lane<H>>| lane.has_room(class);
        Ok(self.used_lanes().any(|lane| try_lock(&lane.0).is_some_and(has_slot)))
    }

    /// Returns the size of the heap that a request needs after [`allocate`](Self::allocate) returned `None`. O(1).
    ///
    /// # Errors
    ///
    /// Returns the errors of [`allocate`](Self::allocate), and [`PlacementError::OneHeapFull`] if the set is limited to
    /// one heap and has it.
    pub fn new_heap_size(&self, request: &PlacementRequest) -> Result<ByteSize, PlacementError> {
        let size = match self.choice(request) {
            Choice::Slot(class) => self.lock_lane(lane_of_thread()).1.shape(class).bytes(),
            Choice::AnyRange | Choice::ByRule => request.size,
        };
        lock(&self.heaps.0).new_heap_size(&PlacementRequest { size, ..*request })
    }

    /// Returns the bytes that a heap must have for a request, at least.
    #[must_use]
    pub fn least_heap_size(&self, request: &PlacementRequest) -> ByteSize {
        if self.algorithm == PlacementAlgorithm::Default {
            return request.size;
        }
        lock(&self.heaps.0).rule().least_heap_size(request)
    }

    /// Returns the size of a heap worth creating in advance after such a request was placed, so that a later
    /// request does not wait for it. The owner creates it and calls [`insert`](Self::insert).
    ///
    /// Only slabs by size return a size, by GPGMM's rule: if at most one heap has room for the size, and that
    /// heap is half full; unless the next heap would have room for fewer than four blocks, be larger than 64
    /// MiB, or an empty heap of at least that size exists. The other algorithms return `None`. O(n) for n heaps of
    /// blocks of the same size.
    ///
    /// Heaps that are being created are not considered: called again before the heap is inserted, it returns
    /// the same size.
    #[must_use]
    pub fn next_heap(&self, request: &PlacementRequest) -> Option<ByteSize> {
        let may_have = self.algorithm == PlacementAlgorithm::SlabBySize;
        if may_have { lock(&self.heaps.0).next_heap(request) } else { None }
    }

    /// Returns how often the size of a request was known; zero in algorithms that keep no sizes. O(1).
    #[must_use]
    pub fn size_cache(&self) -> SizeCacheCounts {
        lock(&self.heaps.0).size_cache()
    }

    /// Removes the empty heaps by which more would be held after a heap of `heap_size` bytes is created than was in use
    /// at once: release them before. With [`HeapRetention::FOR_EVER`], twice as much is held. O(1) per heap.
    pub fn make_way(&self, heap_size: ByteSize) -> Vec<H> {
        lock(&self.heaps.0).make_way(heap_size)
    }

    /// Adds a heap of `heap_size` bytes, and places a request in it before another thread can. O(1).
    ///
    /// The heap may have another size than [`new_heap_size`](Self::new_heap_size) returned, as long as the request
    /// fits.
    ///
    /// # Errors
    ///
    /// Returns an error if the heap size cannot be managed, or there are too many heaps; the heap is then dropped.
    /// After other errors, the heap is in the set, empty: those of [`allocate`](Self::allocate),
    /// [`PlacementError::TooLarge`] if the request does not fit into the heap, and [`PlacementError::OneHeapFull`] if a
    /// second heap is not allowed.
    pub fn allocate_in_new(
        &self,
        heap_size: ByteSize,
        payload: H,
        request: &PlacementRequest,
    ) -> Result<Placed<H>, PlacementError> {
        let Choice::Slot(class) = self.choice(request) else {
            let mut heaps = lock(&self.heaps.0);
            return heaps.allocate_in_new(heap_size, payload, request).map(Placed::cloned);
        };
        let (number, mut lane) = self.lock_lane(lane_of_thread());
        self.lanes_used.fetch_max(number + 1, Ordering::Relaxed);
        let mut heaps = lock(&self.heaps.0);
        let heap = heaps.insert(heap_size, payload)?;
        let slot = lane.allocate_in_new_slab(&mut heaps, Some(heap), class, request.size);
        slot.map(Placed::cloned).ok_or(PlacementError::TooLarge { requested: request.size })
    }

    /// Frees an allocation. Heaps that are not worth keeping leave the set and are returned. O(1), and O(1)
    /// per released slab.
    ///
    /// # Errors
    ///
    /// Returns an error if the id is not live in this set.
    #[inline]
    pub fn free(&self, id: PlacementId) -> Result<Vec<H>, PlacementError> {
        let Some((lane, slot)) = id.slot() else {
            // Not collected from the option, which takes 20 instructions to find that it is empty.
            return Ok(match lock(&self.heaps.0).free(id)? {
                None => Vec::new(),
                Some(released) => vec![released],
            });
        };
        let lane = self.lanes.get(lane as usize).ok_or(PlacementError::UnknownHeap)?;
        let mut lane = lock(&lane.0);
        lane.free(slot)?;
        let surplus = if self.keeps_slabs { lane.take_surplus() } else { lane.take_empty() };
        match (surplus, lane.take_operations()) {
            (None, None) => Ok(Vec::new()),
            (surplus, operations) => Ok(self.tell_heaps(lane, surplus, operations)),
        }
    }

    /// Returns the memory of slabs that the lane does not keep, and counts operations of the lane.
    #[cold]
    fn tell_heaps(
        &self,
        mut lane: MutexGuard<'_, Lane<H>>,
        surplus: Option<SlabRanges>,
        operations: Option<u64>,
    ) -> Vec<H> {
        let mut slabs: Vec<_> = surplus.into_iter().collect();
        if !slabs.is_empty() {
            slabs.extend(std::iter::from_fn(|| lane.take_surplus()));
        }
        drop(lane);
        let mut heaps = lock(&self.heaps.0);
        heaps.count_operations(operations.unwrap_or(0));
        let mut released: Vec<_> = heaps.take_expired().into_iter().collect();
        for slab in &slabs {
            released.extend(slab.ids().filter_map(|id| heaps.free_of_slab(id)));
        }
        released
    }

    /// Checks that slabs, heaps and totals agree. O(slots + ranges); for tests.
    ///
    /// # Errors
    ///
    /// Returns the first disagreement.
    pub fn audit(&self) -> Result<(), AuditError> {
        for lane in &self.lanes {
            lock(&lane.0).audit()?;
        }
        lock(&self.heaps.0).audit()
    }

    /// Locks the heaps. The thread may hold the lock of a lane.
    pub(super) fn lock_heaps(&self) -> MutexGuard<'_, HeapSet<H>> {
        lock(&self.heaps.0)
    }

    /// Locks the lane with this number, if it exists. The thread must not hold the lock of the heaps or of a
    /// later lane.
    pub(super) fn lock_lane_of(&self, number: u32) -> Option<MutexGuard<'_, Lane<H>>> {
        Some(lock(&self.lanes.get(number as usize)?.0))
    }

    /// Returns the number from which on no lane has slabs.
    pub(super) fn lane_limit(&self) -> u32 {
        self.lanes_used.load(Ordering::Relaxed)
    }

    fn used_lanes(&self) -> impl Iterator<Item = &Alone<Mutex<Lane<H>>>> {
        self.lanes.iter().take(self.lanes_used.load(Ordering::Relaxed) as usize)
    }

    #[cold]
    fn nth_lane(&self, first: u32, distance: usize) -> u32 {
        let number = (first as usize + distance) % self.lanes.len();
        u32::try_from(number).expect("at most 4,096 lanes")
    }

    /// Locks the lane with this number, modulo the number of lanes, or the next one that is not locked.
    #[inline]
    fn lock_lane(&self, number: u32) -> (u32, MutexGuard<'_, Lane<H>>) {
        let first = if (number as usize) < self.lanes.len() { number } else { self.nth_lane(number, 0) };
        match try_lock(&self.lanes[first as usize].0) {
            Some(lane) => (first, lane),
            None => self.lock_another_lane(first),
        }
    }

    #[cold]
    fn lock_another_lane(&self, first: u32) -> (u32, MutexGuard<'_, Lane<H>>) {
        let others = (1..self.lanes.len()).map(|distance| self.nth_lane(first, distance));
        let unlocked =
            others.into_iter().find_map(|other| Some((other, try_lock(&self.lanes[other as usize].0)?)));
        unlocked.unwrap_or_else(|| (first, lock(&self.lanes[first as usize].0)))
    }
}

/// Returns the number of the calling thread, counted from zero in the order in which threads first allocate.
/// Modulo the number of lanes, it is the thread's lane.
///
/// It may also be used to separate other data by thread in the same way. O(1).
#[inline]
#[must_use]
pub fn lane_of_thread() -> u32 {
    static THREADS: AtomicU32 = AtomicU32::new(0);
    thread_local! {
        static NUMBER: u32 = THREADS.fetch_add(1, Ordering::Relaxed);
    }
    // In a destructor of thread-local data there may be no number; any lane is correct.
    NUMBER.try_with(|&number| number).unwrap_or(0)
}
