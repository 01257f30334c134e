//! Slabs over heaps that grow, for many threads.

mod at_hand;
mod last_resort;
mod lowest_offset;
mod own_heap;
mod room;
mod survey;
mod whole_heaps;

pub(super) use self::survey::SurveyedRanges;
pub use self::survey::{HeapSurvey, SurveyedRange};

use std::sync::atomic::{AtomicU32, Ordering};

use super::lane::{Lane, SlabRanges, SlotLimit, Source, correct};
use super::{
    HeapRetention, HeapSet, HeapSetTotals, HeapSizing, NewHeap, Placed, PlacementError, PlacementId,
};
use crate::suballoc::AuditError;
use crate::sync::{Mutex, MutexGuard, lock, try_lock};
use crate::{Alignment, ByteSize, HeapRange};

/// A [`HeapSet`] with slabs for small sizes, that many threads allocate from at the same time.
///
/// ```text
///   thread 0    thread 1    thread 2          a lane each, while there are as many lanes
///      |           |           |
///    slabs       slabs       slabs            a lock each, that only a free from elsewhere contends for
///        \         |         /
///         heaps with a TLSF each              one lock: for new slabs, and for what is no slot
/// ```
///
/// Small requests get a slot of a slab of the thread's *lane*, without any lock that other threads take for theirs. Two
/// threads have the same lane when there are more of them than lanes; then the one that finds it locked goes to the next.
/// Anything may be freed by any thread.
///
/// `H` is whatever the owner holds for a heap; each allocation gets a clone of it.
///
/// # Locking
///
/// A call holds the lock of at most one lane, and within it that of the heaps; never the other way round, and none while the
/// owner makes a heap. So two threads that both find no room may both make one.
///
/// # Cost
///
/// [`allocate`](Self::allocate) and [`free`](Self::free) are O(1), and O(lanes) before a new heap is asked for. Each lane has
/// slabs of its own, so that up to half a slab of each class and lane is unused.
///
/// ```
/// use std::sync::Arc;
///
/// use heapwright_core::placement::SharedHeapSet;
/// use heapwright_core::{Alignment, ByteSize};
///
/// let heaps: SharedHeapSet<Arc<str>> = SharedHeapSet::default();
/// let (size, alignment) = (ByteSize::new(200), Alignment::new(256).unwrap());
/// let placed = match heaps.allocate(size, alignment)? {
///     Some(placed) => placed,
///     None => {
///         let wanted = heaps.plan(size, alignment)?;
///         heaps.allocate_in_new(wanted.size, Arc::from("a heap"), size, alignment)?
///     }
/// };
/// assert_eq!(&*placed.heap, "a heap");
/// std::thread::scope(|threads| threads.spawn(|| heaps.free(placed.id)).join().unwrap())?;
/// assert_eq!(heaps.totals().allocation_count, 0);
/// # Ok::<(), heapwright_core::placement::PlacementError>(())
/// ```
#[derive(Debug)]
pub struct SharedHeapSet<H> {
    slots: SlotLimit,
    lanes: Box<[Alone<Mutex<Lane<H>>>]>,
    /// Lanes from this number on never had a slab.
    lanes_used: AtomicU32,
    heaps: Alone<Mutex<HeapSet<H>>>,
}

/// On cache lines of its own, so that threads that use neighbours do not take them from each other. Processors fetch lines of
/// 64 bytes in pairs.
#[derive(Debug)]
#[repr(align(128))]
struct Alone<T>(T);

/// Names a live allocation of a [`SharedHeapSet`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SharedPlacementId(pub(super) PlacementId);

/// Where a request was placed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SharedPlaced<H> {
    /// To free it by.
    pub id: SharedPlacementId,
    /// The bytes of the heap that are its own.
    pub range: HeapRange,
    /// What the owner holds for the heap.
    pub heap: H,
}

impl<H: Clone> Default for SharedHeapSet<H> {
    fn default() -> Self {
        Self::new(HeapSizing::default(), HeapRetention::default(), Self::SLOTS_UP_TO, Self::LANES)
    }
}

impl<H: Clone> SharedHeapSet<H> {
    /// The size up to which requests get a slot by default: 16 KiB.
    ///
    /// Larger ones share a lock. Peak bytes of heaps over peak live bytes, on the five traces that heapwright is developed
    /// with, geometric mean, for slots up to 0, 1, 4, 16 and 64 KiB (2026-11-21): 1.024, 1.030, 1.027, 1.028 and 1.034.
    pub const SLOTS_UP_TO: ByteSize = ByteSize::from_kib(16);

    /// How many lanes there are by default: 16.
    ///
    /// A lane that was never used costs 128 bytes, another 20 KiB. More threads seldom create resources at the same time.
    pub const LANES: u32 = 16;

    /// A set without heaps.
    ///
    /// Requests up to `slots_up_to` get a slot, if they are no larger than 64 KiB once they are rounded up to their alignment.
    /// There are `lanes` lanes, 1 to 4,096; other numbers count as the nearest of these.
    #[must_use]
    pub fn new(sizing: HeapSizing, retention: HeapRetention, slots_up_to: ByteSize, lanes: u32) -> Self {
        Self {
            slots: SlotLimit::new(slots_up_to),
            lanes: (0..lanes.clamp(1, 4096)).map(|number| Alone(Mutex::new(Lane::new(number)))).collect(),
            lanes_used: AtomicU32::new(0),
            heaps: Alone(Mutex::new(HeapSet::new(sizing, retention))),
        }
    }

    /// What the set holds. O(lanes that were used); each is counted at its own time when other threads are at work.
    #[must_use]
    pub fn totals(&self) -> HeapSetTotals {
        // The lanes first: what their slabs lie in is used in the heaps by then, unless it is freed meanwhile.
        let slabs: Vec<_> = self.used_lanes().map(|lane| lock(&lane.0).slab_totals()).collect();
        let mut totals = lock(&self.heaps.0).totals();
        for slabs in slabs {
            correct(&mut totals, slabs);
        }
        totals
    }

    /// Places a request in one of the heaps, or answers `None` when it needs a new one. O(1).
    ///
    /// # Errors
    ///
    /// A size of zero.
    #[inline]
    pub fn allocate(
        &self,
        size: ByteSize,
        alignment: Alignment,
    ) -> Result<Option<SharedPlaced<H>>, PlacementError> {
        self.allocate_on(lane_of_thread(), size, alignment)
    }

    /// As [`allocate`](Self::allocate), on a lane.
    pub(super) fn allocate_on(
        &self,
        lane: u32,
        size: ByteSize,
        alignment: Alignment,
    ) -> Result<Option<SharedPlaced<H>>, PlacementError> {
        let Some(class) = self.slots.class_of(size, alignment) else {
            if let Some(placed) = self.allocate_range(size, alignment)? {
                return Ok(Some(placed));
            }
            // Rather than a new heap, what empty slabs hold.
            let (_, mut lane) = self.lock_lane(lane);
            let any = lane.give_up_empty(&mut lock(&self.heaps.0));
            drop(lane);
            return if any { self.allocate_range(size, alignment) } else { Ok(None) };
        };
        let (number, mut lane) = self.lock_lane(lane);
        let slot = match lane.allocate(class, size) {
            Some(slot) => return Ok(Some(placed(number, slot))),
            None => {
                self.lanes_used.fetch_max(number + 1, Ordering::Relaxed);
                lane.allocate_in_new_slab(&mut lock(&self.heaps.0), Source::AnyHeap, class, size)
            }
        };
        if let Some(slot) = slot {
            return Ok(Some(placed(number, slot)));
        }
        drop(lane);
        // Rather than a new heap, a slot that another lane has free.
        Ok((0..).zip(self.used_lanes()).find_map(|(other, lane)| {
            let mut lane = try_lock(&lane.0)?;
            Some(placed(other, lane.allocate(class, size)?))
        }))
    }

    /// Places a request that is no slot.
    fn allocate_range(
        &self,
        size: ByteSize,
        alignment: Alignment,
    ) -> Result<Option<SharedPlaced<H>>, PlacementError> {
        let mut heaps = lock(&self.heaps.0);
        Ok(heaps.allocate(size, alignment)?.map(directly))
    }

    /// The heap that a request needs, when [`allocate`](Self::allocate) found none: see [`HeapSet::plan`].
    ///
    /// # Errors
    ///
    /// A request so large that the heap's size overflows.
    pub fn plan(&self, size: ByteSize, alignment: Alignment) -> Result<NewHeap<H>, PlacementError> {
        let wanted = self.bytes_wanted(size, alignment);
        lock(&self.heaps.0).plan(wanted)
    }

    /// The bytes that a heap has to have for a request on this thread: those of a slab, when the request gets a slot.
    fn bytes_wanted(&self, size: ByteSize, alignment: Alignment) -> ByteSize {
        match self.slots.class_of(size, alignment) {
            Some(class) => self.lock_lane(lane_of_thread()).1.shape(class).bytes(),
            None => size,
        }
    }

    /// Adds a heap of `heap_size` bytes, and places a request in it before another thread can. O(1).
    ///
    /// # Errors
    ///
    /// A heap size that a suballocator cannot manage, more heaps than can be numbered, a request of zero bytes; or
    /// [`PlacementError::TooLarge`] when the request does not fit into the heap, which is in the set nevertheless.
    pub fn allocate_in_new(
        &self,
        heap_size: ByteSize,
        payload: H,
        size: ByteSize,
        alignment: Alignment,
    ) -> Result<SharedPlaced<H>, PlacementError> {
        let Some(class) = self.slots.class_of(size, alignment) else {
            return self.allocate_range_in_new(heap_size, payload, size, alignment);
        };
        let (number, mut lane) = self.lock_lane(lane_of_thread());
        self.lanes_used.fetch_max(number + 1, Ordering::Relaxed);
        let mut heaps = lock(&self.heaps.0);
        let heap = heaps.insert(heap_size, payload)?;
        let slot = lane.allocate_in_new_slab(&mut heaps, Source::Heap(heap), class, size);
        slot.map(|slot| placed(number, slot)).ok_or(PlacementError::TooLarge { requested: size })
    }

    /// Takes an allocation back. Heaps that are not worth keeping leave the set and are returned. O(1), and O(1) for each slab
    /// that goes.
    ///
    /// # Errors
    ///
    /// An id that is not live in this set.
    #[inline]
    pub fn free(&self, id: SharedPlacementId) -> Result<Vec<H>, PlacementError> {
        let Some((lane, slot)) = id.0.slot() else {
            // Not collected from the option, which takes 20 instructions to find that there is nothing.
            return Ok(match lock(&self.heaps.0).free(id.0)? {
                None => Vec::new(),
                Some(released) => vec![released],
            });
        };
        let lane = self.lanes.get(lane as usize).ok_or(PlacementError::UnknownHeap)?;
        let mut lane = lock(&lane.0);
        lane.free(slot)?;
        match lane.take_surplus() {
            None => Ok(Vec::new()),
            Some(surplus) => self.give_back(lane, surplus),
        }
    }

    /// Gives the memory of slabs back that the lane does not keep.
    #[cold]
    fn give_back(
        &self,
        mut lane: MutexGuard<'_, Lane<H>>,
        surplus: SlabRanges,
    ) -> Result<Vec<H>, PlacementError> {
        let mut slabs = vec![surplus];
        slabs.extend(std::iter::from_fn(|| lane.take_surplus()));
        drop(lane);
        let mut heaps = lock(&self.heaps.0);
        let mut released = Vec::new();
        for id in slabs.iter().flat_map(SlabRanges::ids) {
            released.extend(heaps.free(id)?);
        }
        Ok(released)
    }

    /// Takes all empty heaps out of the set, those that only slabs without a used slot are in among them. O(1) for each, and
    /// O(lanes).
    pub fn take_empty(&self) -> Vec<H> {
        let mut taken = Vec::new();
        for lane in self.used_lanes() {
            let mut lane = lock(&lane.0);
            let mut heaps = lock(&self.heaps.0);
            while let Some(slab) = lane.take_empty() {
                for id in slab.ids() {
                    let freed = heaps.free(id);
                    debug_assert!(freed.is_ok(), "a slab's memory is freed once");
                    taken.extend(freed.ok().flatten());
                }
            }
        }
        taken.append(&mut lock(&self.heaps.0).take_empty());
        taken
    }

    /// Checks that slabs, heaps and totals agree. O(slots + ranges); for tests.
    ///
    /// # Errors
    ///
    /// What disagrees.
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

    /// Locks a lane, if there is one of this number. The thread must not hold the lock of the heaps or of a later lane.
    pub(super) fn lock_lane_of(&self, number: u32) -> Option<MutexGuard<'_, Lane<H>>> {
        Some(lock(&self.lanes.get(number as usize)?.0))
    }

    /// Lanes from this number on have no slabs.
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
        u32::try_from(number).expect("there are at most 4,096 lanes")
    }

    /// Locks the lane of this number, counted round, or the next one that nobody has locked.
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

/// What lies in a heap directly, not in a slab.
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

/// The number of the calling thread, counted from zero in the order in which threads first allocate: its lane, counted round.
///
/// For what else should be apart by threads in the same way. O(1).
#[inline]
#[must_use]
pub fn lane_of_thread() -> u32 {
    static THREADS: AtomicU32 = AtomicU32::new(0);
    thread_local! {
        static NUMBER: u32 = THREADS.fetch_add(1, Ordering::Relaxed);
    }
    // Without a number, in a destructor of the thread's, any lane does.
    NUMBER.try_with(|&number| number).unwrap_or(0)
}
