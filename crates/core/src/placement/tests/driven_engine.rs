//! A heap engine with a model of its owner, which knows what is live.

use std::collections::{BTreeMap, BTreeSet};

use super::super::engine::{EngineDesc, HeapEngine, PlacementAlgorithm, PlacementRule};
use super::super::{
    HeapSetTotals, HeapSurvey, PlacementError, PlacementRequest, SharedPlaced, SharedPlacementId,
    SizeCacheCounts, SurveyedRange,
};
use crate::suballoc::SuballocError;
use crate::{ByteSize, HeapOffset, HeapRange};

/// The owner's view of a heap: its name and its size.
pub(crate) type Heap = (u32, ByteSize);

/// An engine with a model of its owner, which knows what is live.
pub(crate) struct DrivenEngine {
    desc: EngineDesc,
    pub(crate) engine: HeapEngine<Heap>,
    /// The number of heaps made so far, which is also the name of the last.
    pub(crate) made: u32,
    /// The existing heaps by name, with their sizes.
    pub(crate) heaps: BTreeMap<u32, ByteSize>,
    /// The live allocations, with the names of their heaps.
    pub(crate) live: Vec<(SharedPlacementId, u32, HeapRange)>,
    pub(crate) freed: Vec<SharedPlacementId>,
}

impl DrivenEngine {
    pub(crate) fn new(desc: EngineDesc) -> Self {
        let (engine, heaps) = (HeapEngine::new(&desc), BTreeMap::new());
        Self { desc, engine, made: 0, heaps, live: Vec::new(), freed: Vec::new() }
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
        let EngineDesc::ByRule { rule, .. } = self.desc else { return false };
        matches!(rule, PlacementRule::Linear { one_heap: true, .. })
    }

    /// Returns whether the engine may refuse the request with this error.
    fn may_refuse(&self, request: &PlacementRequest, refused: PlacementError) -> bool {
        match refused {
            PlacementError::Suballocation(SuballocError::ZeroSize) => request.size.is_zero(),
            PlacementError::TooLarge { requested } => {
                requested == request.size && request.size.get() > 1 << 62
            }
            PlacementError::NoUpperEnd { algorithm } => {
                assert_eq!(algorithm, self.desc.algorithm());
                request.upper && !self.has_one_heap()
            }
            PlacementError::NeedsOwnHeap { requested, largest } => {
                assert_eq!(requested, request.size);
                match self.desc {
                    EngineDesc::ByRule { rule: PlacementRule::SlabBySize(sizing), .. } => {
                        largest == sizing.maximum
                    }
                    EngineDesc::ByRule {
                        rule:
                            PlacementRule::BuddySystem { heap_size } | PlacementRule::Linear { heap_size, .. },
                        ..
                    } => largest == heap_size && requested > heap_size,
                    _ => false,
                }
            }
            PlacementError::OneHeapFull { .. } => self.has_one_heap() && !self.live.is_empty(),
            _ => false,
        }
    }

    /// Returns the size of the heap that a request needs, or `None` if it needs none. Places nothing.
    pub(crate) fn heap_for(&self, request: &PlacementRequest) -> Result<Option<ByteSize>, PlacementError> {
        if self.engine.has_room(request)? {
            return Ok(None);
        }
        self.engine.new_heap_size(request).map(Some)
    }

    /// Places a request in existing heaps or, if `makes_heap`, in a new one. Returns the size of the heap that it
    /// needs, if it needs one, and the place.
    pub(crate) fn try_allocate(
        &mut self,
        request: &PlacementRequest,
        makes_heap: bool,
    ) -> (Result<Option<ByteSize>, PlacementError>, Option<SharedPlaced<Heap>>) {
        let existing = self.engine.allocate(request);
        let (serving, placed) = match existing {
            Ok(Some(placed)) => (Ok(None), Some(placed)),
            Ok(None) => match self.engine.new_heap_size(request) {
                Ok(size) => {
                    self.gone(self.engine.make_way(size, ByteSize::ZERO));
                    // The totals cannot count two heaps of 2^63 bytes.
                    let makes_heap = makes_heap && size.get() < 1 << 62;
                    let placed = makes_heap.then(|| {
                        let heap = self.make(size);
                        self.engine.allocate_in_new(size, heap, request).unwrap()
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
    pub(crate) fn allocate_on(
        &mut self,
        lane: u32,
        request: &PlacementRequest,
    ) -> Option<SharedPlaced<Heap>> {
        let set = self.engine.as_default()?;
        let has_room = set.has_room_on(lane, request);
        let placed = set.allocate_on(lane, request).ok().flatten();
        assert!(has_room != Ok(true) || placed.is_some(), "{has_room:?} and {placed:?}");
        self.hold(placed?, request);
        placed
    }

    /// Checks a place, and notes it.
    fn hold(&mut self, placed: SharedPlaced<Heap>, request: &PlacementRequest) {
        let SharedPlaced { id, range, heap } = placed;
        assert!(range.start().is_aligned(request.alignment) && range.size() == request.size, "{range}");
        assert!(range.end().get() <= self.heaps[&heap.0].get(), "{range} in {heap:?}");
        for &(_, other_heap, other) in &self.live {
            assert!(other_heap != heap.0 || !other.overlaps(range), "{range} overlaps {other}");
        }
        self.live.push((id, heap.0, range));
    }

    pub(crate) fn free(&mut self, position: usize) -> usize {
        let (id, ..) = self.live.swap_remove(position);
        let released = self.engine.free(id).unwrap();
        let count = released.len();
        self.gone(released);
        assert!(self.engine.free(id).is_err(), "freed twice");
        self.freed.push(id);
        count
    }

    pub(crate) fn take_empty(&mut self, up_to: ByteSize) {
        let taken = self.engine.take_empty(up_to);
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
        let taken = self.engine.take_empty_fitting(at_least, at_most);
        if let Some((size, heap)) = taken {
            assert!(size == heap.1 && (at_least..=at_most).contains(&size));
            self.gone([heap]);
        } else if self.desc.algorithm() != PlacementAlgorithm::Default {
            let is_used = |name| self.live.iter().any(|&(_, heap, _)| heap == name);
            let fits = |(&name, size)| !is_used(name) && (&at_least..=&at_most).contains(&size);
            assert!(!self.heaps.iter().any(fits), "an empty heap was not released");
        }
    }

    pub(crate) fn check(&self) {
        self.engine.audit().unwrap();
        let totals = self.engine.totals();
        assert_eq!(totals.reserved.get(), self.heaps.values().map(|size| size.get()).sum::<u64>());
        assert_eq!(totals.used.get(), self.live.iter().map(|(.., range)| range.size().get()).sum::<u64>());
        assert_eq!(totals.heap_count, self.heaps.len() as u64);
        assert_eq!(totals.allocation_count, self.live.len() as u64);
        let is_used = |name: &&u32| self.live.iter().any(|(_, heap, _)| heap == *name);
        let empty = (self.heaps.len() - self.heaps.keys().filter(is_used).count()) as u64;
        match self.desc {
            // A heap that contains an empty slab is not counted as empty.
            EngineDesc::Default { .. } => assert!(totals.empty_heap_count <= empty),
            _ => assert_eq!(totals.empty_heap_count, empty),
        }
        self.check_survey();
    }

    /// Checks that each heap is surveyed once and without gaps, with exactly the live allocations, and that
    /// the empty heaps add up to the empty bytes.
    fn check_survey(&self) {
        let survey = self.engine.survey();
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
        let key = |&(id, heap, range): &(SharedPlacementId, u32, HeapRange)| {
            (heap, range.start(), id.0.suballocation())
        };
        let mut live = self.live.clone();
        live.sort_unstable_by_key(key);
        found.sort_unstable_by_key(key);
        assert_eq!(found, live);
        let totals = self.engine.totals();
        assert_eq!([totals.empty_heap_count, totals.empty.get()], empty);
    }

    /// Returns the whole visible state.
    pub(crate) fn state(&self) -> (Vec<HeapSurvey<Heap>>, HeapSetTotals, SizeCacheCounts) {
        (self.engine.survey(), self.engine.totals(), self.engine.size_cache())
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
