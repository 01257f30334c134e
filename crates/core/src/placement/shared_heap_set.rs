//! Heap sets with slabs, for many threads.

mod empty_heaps;
mod free_slots;
mod survey;

pub(super) use self::survey::SurveyedRanges;
pub use self::survey::{HeapSurvey, SurveyedRange};

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::heap_set::{FreeRoom, HeapChoice};
use super::idle_times::IdleTimes;
use super::lane::{Lane, SlabRanges, Source, correct};
use super::{
    HeapPrices, HeapRetention, HeapSet, HeapSetTotals, HeapSizing, HeapTally, Placed, PlacementAlgorithm,
    PlacementError, PlacementId, PlacementRequest,
};
use crate::suballoc::slab::class::SizeClass;
use crate::suballoc::{AuditError, FreeRangeChoice};
use crate::sync::{Mutex, MutexGuard, lock, try_lock};
use crate::{ByteSize, HeapRange};

/// Heaps with slabs for small sizes, from which many threads can allocate at the same time.
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
/// `H` is the owner's handle of a heap; each allocation gets a clone of it.
///
/// # Locking
///
/// A call holds the lock of at most one lane, and within it that of the heaps; never in the other order, and
/// none while the owner creates a heap. Two threads that both find no room may therefore both create one.
///
/// # Cost
///
/// [`allocate`](Self::allocate) and [`free`](Self::free) are O(1), and O(lanes) before a new heap is
/// requested. Each lane has its own slabs, so up to half a slab of each class and lane is unused.
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

/// Puts a value on its own cache lines, so that threads that use neighbouring values do not contend for them.
/// Processors fetch lines of 64 bytes in pairs.
#[repr(align(128))]
struct Alone<T>(T);

/// How a set places a request.
#[derive(Debug, Clone, Copy)]
enum Way {
    /// In a slot of this class.
    Slot(SizeClass),
    /// In a range of a heap.
    Range(HeapChoice),
}

/// Identifies a live allocation of a [`SharedHeapSet`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SharedPlacementId(pub(super) PlacementId);

/// The placement of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SharedPlaced<H> {
    /// The id that frees it.
    pub id: SharedPlacementId,
    /// The range of the allocation in the heap.
    pub range: HeapRange,
    /// The owner's handle of the heap.
    pub heap: H,
}

impl<H: Clone> Default for SharedHeapSet<H> {
    fn default() -> Self {
        Self::new(HeapSizing::default(), HeapRetention::default(), Self::SLOTS_UP_TO, Self::LANES)
    }
}

impl<H: Clone> SharedHeapSet<H> {
    /// The default for the largest request that gets a slot: 16 KiB.
    ///
    /// Larger requests share one lock. On the five traces that heapwright is developed with, slots hold 0.3 % more
    /// memory than ranges of which eight count as one operation, too (2026-11-25).
    pub const SLOTS_UP_TO: ByteSize = ByteSize::from_kib(16);

    /// The default number of lanes: 16.
    ///
    /// A lane that was never used takes 128 bytes, any other 20 KiB. More threads seldom create resources at
    /// the same time.
    pub const LANES: u32 = 16;

    /// Creates a set without heaps.
    ///
    /// Requests up to `slots_up_to` get a slot, if their size rounded up to their alignment is at most 64
    /// KiB. `lanes` is clamped to 1 to 4,096.
    #[must_use]
    pub fn new(sizing: HeapSizing, retention: HeapRetention, slots_up_to: ByteSize, lanes: u32) -> Self {
        Self::with_shared(sizing, retention, slots_up_to, lanes, Arc::default(), Arc::default())
    }

    /// Creates a set like [`new`](Self::new) that shares a tally and prices with others: with them it counts the
    /// operations after which an empty heap is released, and learns what heaps cost.
    #[must_use]
    pub fn with_shared(
        sizing: HeapSizing,
        retention: HeapRetention,
        slots_up_to: ByteSize,
        lanes: u32,
        tally: Arc<HeapTally>,
        prices: Arc<HeapPrices>,
    ) -> Self {
        let heaps = HeapSet::new(sizing, IdleTimes::new(retention, tally, prices));
        Self {
            room: Arc::clone(heaps.room()),
            slots_up_to,
            lanes: (0..lanes.clamp(1, 4096)).map(|number| Alone(Mutex::new(Lane::new(number)))).collect(),
            lanes_used: AtomicU32::new(0),
            keeps_slabs: retention != HeapRetention::NONE,
            heaps: Alone(Mutex::new(heaps)),
        }
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

    /// Returns how a request is placed.
    #[inline]
    fn way(&self, request: &PlacementRequest) -> Result<Way, PlacementError> {
        if request.upper {
            return Err(PlacementError::NoUpperEnd { algorithm: PlacementAlgorithm::Default });
        }
        if request.own_heap {
            return Ok(Way::Range(HeapChoice::Own));
        }
        if request.strategy == FreeRangeChoice::MinOffset {
            return Ok(Way::Range(HeapChoice::Lowest));
        }
        let class =
            SizeClass::of(request.size, request.alignment).filter(|_| request.size <= self.slots_up_to);
        Ok(class.map_or(Way::Range(HeapChoice::Shared), Way::Slot))
    }

    /// Places a request in one of the heaps. Returns `None` if it needs a new heap. O(1), and at the lowest offset O(n)
    /// for n ranges of up to 256 heaps.
    ///
    /// # Errors
    ///
    /// Returns an error if the size is zero, or the request asks for the upper end, which these heaps do not have.
    #[inline]
    pub fn allocate(&self, request: &PlacementRequest) -> Result<Option<SharedPlaced<H>>, PlacementError> {
        self.allocate_on(lane_of_thread(), request)
    }

    /// Places a request on a lane, like [`allocate`](Self::allocate).
    pub(super) fn allocate_on(
        &self,
        lane: u32,
        request: &PlacementRequest,
    ) -> Result<Option<SharedPlaced<H>>, PlacementError> {
        let choice = match self.way(request)? {
            Way::Slot(class) => return Ok(self.allocate_slot(lane, class, request.size)),
            Way::Range(choice) => choice,
        };
        let placed = self.allocate_range(choice, request)?;
        if placed.is_some() || choice != HeapChoice::Shared {
            return Ok(placed);
        }
        // The memory of empty slabs is used before a new heap.
        let any = self.lock_lane(lane).1.give_up_empty(&mut lock(&self.heaps.0));
        if any { self.allocate_range(choice, request) } else { Ok(None) }
    }

    fn allocate_slot(&self, lane: u32, class: SizeClass, size: ByteSize) -> Option<SharedPlaced<H>> {
        let (number, mut lane) = self.lock_lane(lane);
        let slot = match lane.allocate(class, size) {
            Some(slot) => return Some(placed(number, slot)),
            None => {
                self.lanes_used.fetch_max(number + 1, Ordering::Relaxed);
                lane.allocate_in_new_slab(&mut lock(&self.heaps.0), Source::AnyHeap, class, size)
            }
        };
        if let Some(slot) = slot {
            return Some(placed(number, slot));
        }
        drop(lane);
        // A free slot of another lane is used before a new heap.
        (0..).zip(self.used_lanes()).find_map(|(other, lane)| {
            let mut lane = try_lock(&lane.0)?;
            Some(placed(other, lane.allocate(class, size)?))
        })
    }

    /// Places a request that does not get a slot.
    fn allocate_range(
        &self,
        choice: HeapChoice,
        request: &PlacementRequest,
    ) -> Result<Option<SharedPlaced<H>>, PlacementError> {
        let mut heaps = lock(&self.heaps.0);
        let found = heaps.find_by_choice(choice, request.size, request.alignment)?;
        Ok(found.and_then(|found| heaps.place(found)).map(directly))
    }

    /// Places a request if the normal path finds room at once: in a free slot of the thread's lane, or for
    /// requests that get no slot, in a free range of the heaps. Returns `None` otherwise; then call
    /// [`allocate`](Self::allocate). O(1).
    ///
    /// It does not clone the owner's handle of the heap: `heap` is called with a reference to it, and its
    /// result is returned. The set keeps the heap until the allocation is freed.
    #[inline]
    pub fn allocate_at_hand<T>(
        &self,
        request: &PlacementRequest,
        heap: impl FnOnce(&H) -> T,
    ) -> Option<SharedPlaced<T>> {
        let PlacementRequest { size, alignment, .. } = *request;
        match self.way(request).ok()? {
            Way::Slot(class) => {
                let (number, mut lane) = self.lock_lane(lane_of_thread());
                let slot = lane.allocate(class, size)?;
                let id = SharedPlacementId(PlacementId::of_slot(number, slot.id));
                Some(SharedPlaced { id, range: slot.range, heap: heap(slot.heap) })
            }
            Way::Range(HeapChoice::Shared) => {
                let mut heaps = lock(&self.heaps.0);
                let Placed { id, range, heap: found } = heaps.allocate(size, alignment).ok()??;
                Some(SharedPlaced { id: SharedPlacementId(id), range, heap: heap(found) })
            }
            Way::Range(HeapChoice::Lowest | HeapChoice::Own) => None,
        }
    }

    /// Places a request in any heap with a free range for it, or returns `None` if there is none. Use it when
    /// no heap can be created.
    ///
    /// It first does what [`allocate`](Self::allocate) does. Then every free range is examined, and free slots of slabs
    /// are returned to the heaps where they make room for the request. O(n) for n free ranges and slabs that have free
    /// slots. For a request with a heap of its own, every empty heap is examined, and those that contain only unused
    /// slabs.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`allocate`](Self::allocate).
    pub fn allocate_anywhere(
        &self,
        request: &PlacementRequest,
    ) -> Result<Option<SharedPlaced<H>>, PlacementError> {
        if let Some(placed) = self.allocate(request)? {
            return Ok(Some(placed));
        }
        let PlacementRequest { size, alignment, own_heap, .. } = *request;
        let choice = if own_heap { HeapChoice::Own } else { HeapChoice::Shared };
        let place_anywhere = |heaps: &mut HeapSet<H>| {
            let found = heaps.find_anywhere(choice, size, alignment)?;
            Ok(found.and_then(|found| heaps.place(found)).map(directly))
        };
        if own_heap {
            self.give_up_unused_slabs();
            return place_anywhere(&mut lock(&self.heaps.0));
        }
        if let Some(placed) = place_anywhere(&mut lock(&self.heaps.0))? {
            return Ok(Some(placed));
        }
        Ok(self.allocate_in_free_slots(size, alignment))
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
        let class = match self.way(request)? {
            Way::Slot(class) => class,
            Way::Range(choice) => {
                let found = lock(&self.heaps.0).find_by_choice(choice, request.size, request.alignment)?;
                return Ok(found.is_some());
            }
        };
        {
            let (_, lane) = self.lock_lane(lane);
            if lane.has_room(class) {
                return Ok(true);
            }
            let heaps = lock(&self.heaps.0);
            // A slab of the usual number of slots, or of half as many, and so on.
            for shape in lane.shape(class).and_halves() {
                if heaps.find(shape.bytes(), shape.alignment())?.is_some() {
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
    /// Returns an error if the size of the heap overflows, or the request asks for the upper end.
    pub fn new_heap_size(&self, request: &PlacementRequest) -> Result<ByteSize, PlacementError> {
        let (choice, wanted) = match self.way(request)? {
            Way::Slot(class) => (HeapChoice::Shared, self.lock_lane(lane_of_thread()).1.shape(class).bytes()),
            Way::Range(choice) => (choice, request.size),
        };
        lock(&self.heaps.0).new_heap_size(choice, wanted)
    }

    /// Removes the empty heaps by which more would be held after a heap of `heap_size` bytes is created than was in use
    /// at once: release them before. With [`HeapRetention::FOR_EVER`], twice as much is held. `elsewhere` bytes that
    /// the owner uses beside the set, and will add to it empty, count as in use. O(1) per heap.
    pub fn make_way(&self, heap_size: ByteSize, elsewhere: ByteSize) -> Vec<H> {
        lock(&self.heaps.0).make_way(heap_size, elsewhere)
    }

    /// Adds a heap of `heap_size` bytes, and places a request in it before another thread can. O(1).
    ///
    /// # Errors
    ///
    /// Returns an error if the heap size cannot be managed, there are too many heaps, or the request has zero bytes or
    /// asks for the upper end. Returns [`PlacementError::TooLarge`] if the request does not fit into the heap, which is
    /// in the set nevertheless.
    pub fn allocate_in_new(
        &self,
        heap_size: ByteSize,
        payload: H,
        request: &PlacementRequest,
    ) -> Result<SharedPlaced<H>, PlacementError> {
        let PlacementRequest { size, alignment, .. } = *request;
        let class = match self.way(request)? {
            Way::Slot(class) => class,
            Way::Range(choice) => {
                let mut heaps = lock(&self.heaps.0);
                return heaps.allocate_in_new(choice, heap_size, payload, size, alignment).map(directly);
            }
        };
        let (number, mut lane) = self.lock_lane(lane_of_thread());
        self.lanes_used.fetch_max(number + 1, Ordering::Relaxed);
        let mut heaps = lock(&self.heaps.0);
        let heap = heaps.insert(heap_size, payload)?;
        let slot = lane.allocate_in_new_slab(&mut heaps, Source::Heap(heap), class, size);
        slot.map(|slot| placed(number, slot)).ok_or(PlacementError::TooLarge { requested: size })
    }

    /// Frees an allocation. Heaps that are not worth keeping leave the set and are returned. O(1), and O(1)
    /// per released slab.
    ///
    /// # Errors
    ///
    /// Returns an error if the id is not live in this set.
    #[inline]
    pub fn free(&self, id: SharedPlacementId) -> Result<Vec<H>, PlacementError> {
        let Some((lane, slot)) = id.0.slot() else {
            // Not collected from the option, which takes 20 instructions to find that it is empty.
            return Ok(match lock(&self.heaps.0).free(id.0)? {
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

    fn lane(&self, number: u32) -> &Alone<Mutex<Lane<H>>> {
        &self.lanes[number as usize]
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
        match try_lock(&self.lane(first).0) {
            Some(lane) => (first, lane),
            None => self.lock_another_lane(first),
        }
    }

    #[cold]
    fn lock_another_lane(&self, first: u32) -> (u32, MutexGuard<'_, Lane<H>>) {
        let others = (1..self.lanes.len()).map(|distance| self.nth_lane(first, distance));
        let unlocked = others.into_iter().find_map(|other| Some((other, try_lock(&self.lane(other).0)?)));
        unlocked.unwrap_or_else(|| (first, lock(&self.lane(first).0)))
    }
}

/// Converts the placement of an allocation that is directly in a heap, not in a slab.
fn directly<H: Clone>(placed: Placed<'_, H>) -> SharedPlaced<H> {
    SharedPlaced { id: SharedPlacementId(placed.id), range: placed.range, heap: placed.heap.clone() }
}

fn placed<H: Clone>(lane: u32, slot: super::lane::Slot<'_, H>) -> SharedPlaced<H> {
    SharedPlaced {
        id: SharedPlacementId(PlacementId::of_slot(lane, slot.id)),
        range: slot.range,
        heap: slot.heap.clone(),
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
