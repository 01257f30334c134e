//! A set of heaps with a model of its owner, which knows what is live.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::super::{
    HeapSetDesc, HeapSetTotals, HeapSurvey, Placed, PlacementAlgorithm, PlacementError, PlacementId,
    PlacementRequest, PlacementRule, SharedHeapSet, Sharing, SizeCacheCounts, SurveyedRange,
};
use crate::suballoc::SuballocError;
use crate::{ByteSize, HeapOffset, HeapRange};

/// The owner's view of a heap: its name and its size.
pub(crate) type Heap = (u32, ByteSize);

/// A set with a model of its owner, which knows what is live.
pub(crate) struct DrivenSet {
    desc: HeapSetDesc,
    pub(crate) set: Arc<SharedHeapSet<Heap>>,
    /// The number of heaps made so far, which is also the name of the last.
    pub(crate) made: u32,
    /// The existing heaps by name, with their sizes.
    pub(crate) heaps: BTreeMap<u32, ByteSize>,
    /// The live allocations, with the names of their heaps.
    pub(crate) live: Vec<(PlacementId, u32, HeapRange)>,
    pub(crate) freed: Vec<PlacementId>,
}

impl DrivenSet {
    pub(crate) fn new(desc: HeapSetDesc) -> Self {
        let (set, heaps) = (Arc::new(SharedHeapSet::new(&desc)), BTreeMap::new());
        Self { desc, set, made: 0, heaps, live: Vec::new(), freed: Vec::new() }
    }

    pub(crate) fn make(&mut self, size: ByteSize) -> Heap {
        self.made += 1;
        self.heaps.insert(self.made, size);
        (self.made, size)
    }

    pub(crate) fn gone(&mut self, heaps: impl IntoIterator<Item = Heap>) {
        for (name, size) in heaps {
            assert!(self.live.iter().all(|&(_, heap, _)| heap != name), "released heap {name} is not empty");
            assert_eq!(self.heaps.remove(&name), Some(size), "heap {name} released twice");
        }
    }

    fn has_one_heap(&self) -> bool {
        matches!(self.desc.rule, PlacementRule::Linear { one_heap: true, .. })
    }

    /// Returns whether the set may refuse the request with this error.
    fn may_refuse(&self, request: &PlacementRequest, refused: PlacementError) -> bool {
        match refused {
            PlacementError::Suballocation(SuballocError::ZeroSize) => request.size.is_zero(),
            PlacementError::TooLarge { requested } => {
                requested == request.size && request.size.get() > 1 << 62
            }
            PlacementError::NoUpperEnd { algorithm } => {
                assert_eq!(algorithm, self.desc.algorithm());
                let is_ignored = request.sharing != Sharing::Shared && !self.desc.rule.is_default();
                request.upper && !self.has_one_heap() && !is_ignored
            }
            PlacementError::NeedsOwnHeap { requested, largest } => {
                assert_eq!(requested, request.size);
                match self.desc.rule {
                    PlacementRule::SlabBySize(sizing) => largest == sizing.maximum,
                    PlacementRule::BuddySystem { heap_size, .. }
                    | PlacementRule::Linear { heap_size, .. } => {
                        largest == heap_size && requested > heap_size
                    }
                    PlacementRule::Default(_) | PlacementRule::Dedicated { .. } => false,
                }
            }
            PlacementError::OneHeapFull { .. } => self.has_one_heap() && !self.live.is_empty(),
            _ => false,
        }
    }

    /// Returns the size of the heap that a request needs, or `None` if it needs none. Places nothing.
    pub(crate) fn heap_for(&self, request: &PlacementRequest) -> Result<Option<ByteSize>, PlacementError> {
        if self.set.has_room(request)? {
            return Ok(None);
        }
        self.set.new_heap_size(request).map(Some)
    }

    /// Places a request in existing heaps or, if `makes_heap`, in a new one. Returns the size of the heap that it
    /// needs, if it needs one, and the place.
    pub(crate) fn try_allocate(
        &mut self,
        request: &PlacementRequest,
        makes_heap: bool,
    ) -> (Result<Option<ByteSize>, PlacementError>, Option<Placed<Heap>>) {
        let existing = self.set.allocate(request);
        let (serving, placed) = match existing {
            Ok(Some(placed)) => (Ok(None), Some(placed)),
            Ok(None) => match self.set.new_heap_size(request) {
                Ok(size) => {
                    self.gone(self.set.make_way(size));
                    // The totals cannot count two heaps of 2^63 bytes.
                    let makes_heap = makes_heap && size.get() < 1 << 62;
                    let placed = makes_heap.then(|| {
                        let heap = self.make(size);
                        self.set.allocate_in_new(size, heap, request).unwrap()
                    });
                    (Ok(Some(size)), placed)
                }
                Err(refused) => (Err(refused), None),
            },
            Err(refused) => (Err(refused), None),
        };
        if let Err(refused) = serving {
            assert!(self.may_refuse(request, refused), "{refused} of {request:?} by {:?}", self.desc);
        }
        if let Some(placed) = placed {
            self.hold(placed, request);
        }
        (serving, placed)
    }

    /// Places a request, and returns its place unless it is refused.
    pub(crate) fn allocate(&mut self, request: &PlacementRequest) -> Option<(Heap, HeapRange)> {
        self.try_allocate(request, true).1.map(|placed| (placed.heap, placed.range))
    }

    /// Places a request on another lane, as a call of another thread, if it needs no heap.
    pub(crate) fn allocate_on(&mut self, lane: u32, request: &PlacementRequest) -> Option<Placed<Heap>> {
        let is_default = self.desc.rule.is_default();
        let set = is_default.then_some(&self.set)?;
        let has_room = set.has_room_on(lane, request);
        let placed = set.allocate_on(lane, request).ok().flatten();
        assert!(has_room != Ok(true) || placed.is_some(), "{has_room:?} and {placed:?}");
        self.hold(placed?, request);
        placed
    }

    /// Checks a place, and notes it.
    pub(crate) fn hold(&mut self, placed: Placed<Heap>, request: &PlacementRequest) {
        let Placed { id, range, heap } = placed;
        assert!(range.start().is_aligned(request.alignment) && range.size() == request.size, "{range}");
        assert!(range.end().get() <= self.heaps[&heap.0].get(), "{range} in {heap:?}");
        for &(_, other_heap, other) in &self.live {
            assert!(other_heap != heap.0 || !other.overlaps(range), "{range} overlaps {other}");
        }
        self.live.push((id, heap.0, range));
    }

    pub(crate) fn free(&mut self, position: usize) -> usize {
        let (id, ..) = self.live.swap_remove(position);
        let released = self.set.free(id).unwrap();
        let count = released.len();
        self.gone(released);
        assert!(self.set.free(id).is_err(), "freed twice");
        self.freed.push(id);
        count
    }

    /// Frees by id, as the owner.
    pub(crate) fn free_id(&mut self, id: PlacementId) {
        let position = self.live.iter().position(|&(live, ..)| live == id);
        self.free(position.expect("it is live"));
    }

    /// Notes that an allocation was freed by other means, and which heaps were released.
    pub(crate) fn note_freed(&mut self, id: PlacementId, released: Vec<Heap>) {
        self.live.retain(|&(live, ..)| live != id);
        self.gone(released);
    }

    pub(crate) fn take_empty(&mut self, up_to: ByteSize) {
        let taken = self.set.take_empty(up_to);
        let sum = taken.iter().map(|(size, _)| size.get()).sum::<u64>();
        let enough = sum >= up_to.get();
        assert!(taken.iter().all(|(size, _)| sum - size.get() < up_to.get()), "{taken:?} for {up_to}");
        assert!(taken.iter().all(|(size, heap)| *size == heap.1));
        self.gone(taken.into_iter().map(|(_, heap)| heap));
        let is_used = |name: &u32| self.live.iter().any(|(_, heap, _)| heap == name);
        assert!(
            enough || self.heaps.keys().all(is_used),
            "released {sum} of {up_to} although more are empty"
        );
    }

    pub(crate) fn take_fitting(&mut self, at_least: ByteSize, at_most: ByteSize) {
        let taken = self.set.take_empty_fitting(at_least, at_most);
        if let Some((size, heap)) = taken {
            assert!(size == heap.1 && (at_least..=at_most).contains(&size));
            self.gone([heap]);
        } else if self.desc.algorithm() != PlacementAlgorithm::Default {
            let is_used = |name| self.live.iter().any(|&(_, heap, _)| heap == name);
            let mut empty = self.heaps.iter().filter(|&(&name, _)| !is_used(name));
            assert!(
                !empty.any(|(_, size)| (at_least..=at_most).contains(size)),
                "an empty heap was not released"
            );
        }
    }

    pub(crate) fn check(&self) {
        self.set.audit().unwrap();
        let totals = self.set.totals();
        assert_eq!(totals.reserved.get(), self.heaps.values().map(|size| size.get()).sum::<u64>());
        assert_eq!(totals.used.get(), self.live.iter().map(|(.., range)| range.size().get()).sum::<u64>());
        assert_eq!(totals.heap_count, self.heaps.len() as u64);
        assert_eq!(totals.allocation_count, self.live.len() as u64);
        let is_used = |name: &&u32| self.live.iter().any(|(_, heap, _)| heap == *name);
        let empty = (self.heaps.len() - self.heaps.keys().filter(is_used).count()) as u64;
        match self.desc.rule {
            // A heap that contains an empty slab is not counted as empty.
            PlacementRule::Default(_) => assert!(totals.empty_heap_count <= empty),
            _ => assert_eq!(totals.empty_heap_count, empty),
        }
        self.check_survey();
    }

    /// Checks that each heap is surveyed once and without gaps, with exactly the live allocations, and that
    /// the empty heaps add up to the empty bytes.
    fn check_survey(&self) {
        let survey = self.set.survey();
        let mut found = Vec::new();
        let mut empty = [0, 0];
        for heap in &survey {
            assert_eq!(self.heaps[&heap.heap.0], heap.size);
            let mut end = HeapOffset::ZERO;
            for range in &heap.ranges {
                assert_eq!(range.range().start(), end, "{heap:?}");
                end = range.range().end();
                if let SurveyedRange::Used { id, range } = *range {
                    found.push((id, heap.heap.0, range));
                }
            }
            assert_eq!(end.get(), heap.size.get(), "{heap:?}");
            if matches!(heap.ranges[..], [SurveyedRange::Free(_)]) {
                empty = [empty[0] + 1, empty[1] + heap.size.get()];
            }
        }
        let names = |heaps: Vec<u32>| heaps.into_iter().collect::<BTreeSet<_>>();
        assert_eq!(survey.len(), self.heaps.len());
        assert_eq!(
            names(survey.iter().map(|heap| heap.heap.0).collect()),
            names(self.heaps.keys().copied().collect())
        );
        let key =
            |&(id, heap, range): &(PlacementId, u32, HeapRange)| (heap, range.start(), id.suballocation());
        let mut live = self.live.clone();
        live.sort_unstable_by_key(key);
        found.sort_unstable_by_key(key);
        assert_eq!(found, live);
        let totals = self.set.totals();
        assert_eq!([totals.empty_heap_count, totals.empty.get()], empty);
    }

    /// Returns the whole visible state.
    pub(crate) fn state(&self) -> (Vec<HeapSurvey<Heap>>, HeapSetTotals, SizeCacheCounts) {
        (self.set.survey(), self.set.totals(), self.set.size_cache())
    }

    /// Returns the state without slabs whose slots are all free, which a probe may release.
    pub(crate) fn live_state(&self) -> impl PartialEq + std::fmt::Debug + use<> {
        let (mut heaps, totals, size_cache) = self.state();
        for heap in &mut heaps {
            heap.ranges.retain(|range| matches!(range, SurveyedRange::Used { .. }));
        }
        (heaps, totals.used, totals.allocation_count, totals.reserved, totals.heap_count, size_cache)
    }
}
