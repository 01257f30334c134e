//! Random orders of allocating, freeing, planning, completing and abandoning, compared with a simple model.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use proptest::sample::Index;

use crate::placement::tests::take_all_empty;
use crate::placement::{
    Evacuation, EvacuationBudget, EvacuationState, HeapRetention, HeapSetDesc, HeapSizing, Keeping, Placed,
    PlacementId, PlacementRequest, PlacementRule, PlannedMove, SharedHeapSet, SurveyedRange,
};
use crate::{Alignment, ByteSize, HeapRange};

/// A heap: its name and its size.
type Heap = (u32, ByteSize);

#[derive(Debug, Clone)]
enum Operation {
    Allocate {
        lane: u32,
        size: u64,
        alignment_log2: u32,
    },
    /// Allocates in existing memory, whatever the request wastes there; slabs return their free slots to the
    /// heaps.
    AllocateAnywhere {
        size: u64,
        alignment_log2: u32,
    },
    Free(Index),
    FreeMany {
        first: Index,
        of_ten: usize,
    },
    Step {
        moves: u32,
        bytes: u64,
        looks: u32,
    },
    Complete(Index),
    Abandon(Index),
    /// The owner frees the source directly, not through the run.
    FreeSourceOf(Index),
    Supply,
    Refuse,
    Restart,
    TakeEmpty,
    Reopen,
}

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    let size = prop_oneof![6 => 1_u64..3000, 3 => 1_u64..40_000, 1 => 40_000_u64..600_000];
    let operation = prop_oneof![
        24 => (0_u32..4, size, prop_oneof![2 => Just(8), 3 => 0..=16_u32])
            .prop_map(|(lane, size, alignment_log2)| Operation::Allocate { lane, size, alignment_log2 }),
        2 => (3000_u64..300_000, 0..=16_u32)
            .prop_map(|(size, alignment_log2)| Operation::AllocateAnywhere { size, alignment_log2 }),
        6 => any::<Index>().prop_map(Operation::Free),
        1 => (any::<Index>(), 2_usize..9).prop_map(|(first, of_ten)| Operation::FreeMany { first, of_ten }),
        8 => (1_u32..20, 1_u64..200_000, 1_u32..60)
            .prop_map(|(moves, bytes, looks)| Operation::Step { moves, bytes, looks }),
        10 => any::<Index>().prop_map(Operation::Complete),
        1 => any::<Index>().prop_map(Operation::Abandon),
        1 => any::<Index>().prop_map(Operation::FreeSourceOf),
        3 => Just(Operation::Supply),
        1 => Just(Operation::Refuse),
        1 => Just(Operation::Restart),
        1 => Just(Operation::TakeEmpty),
        1 => Just(Operation::Reopen),
    ];
    prop::collection::vec(operation, 0..if cfg!(miri) { 30 } else { 250 })
}

/// The owner's view of an allocation.
#[derive(Debug, Clone, Copy)]
struct Live {
    placed: Placed<Heap>,
    alignment: Alignment,
}

/// A set, its owner, and the content of its memory.
struct Scene<'a> {
    set: &'a SharedHeapSet<Heap>,
    run: Evacuation<&'a SharedHeapSet<Heap>, Heap>,
    made: u32,
    heaps: BTreeMap<u32, ByteSize>,
    /// The live allocations by number; the number is also their content.
    live: BTreeMap<u32, Live>,
    next: u32,
    /// The content at the start of each range.
    memory: BTreeMap<(u32, u64), u32>,
    /// Moves neither completed nor abandoned, with the number of their allocation.
    /// Each with its allocation and the heap that it leaves.
    moves: Vec<(PlannedMove<Heap>, u32, Heap)>,
    wanted: Option<ByteSize>,
    /// The heaps created for a run.
    supplied: BTreeSet<u32>,
    /// The number of moves of each allocation out of each heap.
    moved: BTreeMap<(u32, u32), u32>,
}

impl<'a> Scene<'a> {
    fn new(set: &'a SharedHeapSet<Heap>) -> Self {
        Self {
            set,
            run: Evacuation::new(set),
            made: 0,
            heaps: BTreeMap::new(),
            live: BTreeMap::new(),
            next: 0,
            memory: BTreeMap::new(),
            moves: Vec::new(),
            wanted: None,
            supplied: BTreeSet::new(),
            moved: BTreeMap::new(),
        }
    }

    fn make(&mut self, size: ByteSize) -> Heap {
        self.made += 1;
        self.heaps.insert(self.made, size);
        (self.made, size)
    }

    fn release(&mut self, heaps: Vec<Heap>) {
        for (name, size) in heaps {
            assert_eq!(self.heaps.remove(&name), Some(size), "released twice");
            assert!(self.live.values().all(|live| live.placed.heap.0 != name), "released heap is not empty");
        }
    }

    fn closed(&self) -> BTreeSet<u32> {
        let closed = self.set.survey().into_iter().filter(|heap| heap.is_closed);
        closed.map(|heap| heap.heap.0).filter(|name| !self.supplied.contains(name)).collect()
    }

    fn write(&mut self, placed: &Placed<Heap>, content: u32) {
        self.memory.insert((placed.heap.0, placed.range.start().get()), content);
    }

    fn allocate(&mut self, lane: u32, size: u64, alignment: Alignment) {
        let closed = self.closed();
        // As for D3D12 resources, sizes are multiples of the alignment.
        let size = ByteSize::new(size.next_multiple_of(alignment.get()));
        let placed = match self.set.allocate_on(lane, &PlacementRequest::new(size, alignment)).unwrap() {
            Some(placed) => placed,
            None => {
                let heap_size = self.set.new_heap_size(&PlacementRequest::new(size, alignment)).unwrap();
                self.release(self.set.make_way(heap_size));
                let heap = self.make(heap_size);
                self.set.allocate_in_new(heap_size, heap, &PlacementRequest::new(size, alignment)).unwrap()
            }
        };
        assert!(
            self.run.is_gathering() || !closed.contains(&placed.heap.0),
            "{placed:?} is in a closed heap"
        );
        assert!(placed.range.start().is_aligned(alignment) && placed.range.size() == size);
        self.note(placed, alignment);
    }

    fn note(&mut self, placed: Placed<Heap>, alignment: Alignment) {
        self.next += 1;
        self.write(&placed, self.next);
        self.live.insert(self.next, Live { placed, alignment });
    }

    fn allocate_anywhere(&mut self, size: u64, alignment: Alignment) {
        let closed = self.closed();
        let size = ByteSize::new(size.next_multiple_of(alignment.get()));
        let placed = self.set.allocate_anywhere(&PlacementRequest::new(size, alignment)).unwrap();
        if let Some(placed) = placed {
            assert!(
                self.run.is_gathering() || !closed.contains(&placed.heap.0),
                "{placed:?} is in a closed heap"
            );
            assert!(placed.range.start().is_aligned(alignment) && placed.range.size() == size);
            self.note(placed, alignment);
        }
    }

    fn free(&mut self, number: u32) {
        let live = self.live.remove(&number).unwrap();
        let released = self.set.free(live.placed.id).unwrap();
        self.release(released);
    }

    fn number_at(&self, at: Index) -> Option<u32> {
        let at = (!self.live.is_empty()).then(|| at.index(self.live.len()))?;
        self.live.keys().nth(at).copied()
    }

    fn step(&mut self, budget: EvacuationBudget, mut looks: u32) -> EvacuationState {
        let closed = self.closed();
        let step = self.run.step(budget, &mut || {
            looks = looks.saturating_sub(1);
            looks > 0
        });
        assert!(step.moves.len() <= budget.moves as usize);
        let bytes: u64 = step.moves.iter().map(|planned| planned.source_range.size().get()).sum();
        assert!(bytes <= budget.bytes.get() || step.moves.len() == 1);
        self.release(step.release);
        if let Some(size) = step.create {
            assert_eq!(step.state, EvacuationState::AwaitingHeap);
            assert!(self.wanted.replace(size).is_none(), "requested twice");
        }
        // A heap that was given up in the step is open again.
        let closed: BTreeSet<_> = closed.intersection(&self.closed()).copied().collect();
        for planned in step.moves {
            let (number, live) = self
                .live
                .iter()
                .find(|(_, live)| live.placed.id == planned.source)
                .expect("a freed allocation is moved");
            assert_eq!(live.placed.range, planned.source_range);
            let source_heap = live.placed.heap;
            let target = planned.target;
            assert!(target.range.start().is_aligned(live.alignment));
            assert_eq!(target.range.size(), live.placed.range.size());
            let name = target.heap.0;
            assert!(!closed.contains(&name), "{planned:?} targets a closed heap");
            let number = *number;
            let is_under_way = self.moves.iter().any(|(other, ..)| other.source == planned.source);
            assert!(!is_under_way, "{planned:?} is already in progress");
            *self.moved.entry((number, source_heap.0)).or_default() += 1;
            self.moves.push((planned, number, source_heap));
        }
        step.state
    }

    fn complete(&mut self, at: usize) {
        let (planned, number, source_heap) = self.moves.swap_remove(at);
        let is_live = self.live.get(&number).is_some_and(|live| live.placed.id == planned.source);
        if is_live {
            let content = self.memory[&(source_heap.0, planned.source_range.start().get())];
            self.write(&planned.target, content);
            self.live.get_mut(&number).unwrap().placed = planned.target;
        }
        let completed = self.run.complete(&planned);
        assert_eq!(completed.is_moved, is_live);
        self.release(completed.release);
    }

    fn abandon(&mut self, at: usize) {
        let (planned, _, source_heap) = self.moves.swap_remove(at);
        let released = self.run.abandon(&planned);
        self.release(released);
        let name = source_heap.0;
        let closed = self.set.survey().into_iter().find(|heap| heap.is_closed && heap.heap.0 == name);
        assert!(
            closed.is_none() || !self.heaps.contains_key(&name),
            "{closed:?} is closed after {planned:?}, {:?}, supplied {:?}",
            self.run.progress(),
            self.supplied
        );
    }

    fn supply(&mut self, is_made: bool) {
        let Some(size) = self.wanted.take() else { return };
        let heap = is_made.then(|| self.make(size));
        self.supplied.extend(heap.map(|heap| heap.0));
        self.run.supply(size, heap).unwrap();
    }

    fn restart(&mut self) {
        // Moves of a run that has ended are completed and abandoned by freeing either place.
        let mut former = std::mem::replace(&mut self.run, Evacuation::new(self.set));
        former.cancel();
        for (at, (planned, number, source_heap)) in std::mem::take(&mut self.moves).into_iter().enumerate() {
            let is_live = self.live.get(&number).is_some_and(|live| live.placed.id == planned.source);
            let mut unused = planned.target.id;
            if at % 2 == 0 && is_live {
                let content = self.memory[&(source_heap.0, planned.source_range.start().get())];
                self.write(&planned.target, content);
                self.live.get_mut(&number).unwrap().placed = planned.target;
                unused = planned.source;
            }
            let released = self.set.free(unused).unwrap();
            self.release(released);
        }
        self.wanted = None;
        self.moved.clear();
        let closed = self.set.survey().into_iter().filter(|heap| heap.is_closed);
        // A heap that became empty is not reopened.
        for heap in closed {
            assert!(heap.ranges.iter().all(|range| !matches!(range, SurveyedRange::Used { .. })), "{heap:?}");
        }
        self.set.audit().unwrap();
    }

    fn check(&self) {
        self.set.audit().unwrap();
        let mut places: BTreeMap<(u32, u64), HeapRange> = BTreeMap::new();
        let mut ids: BTreeSet<String> = BTreeSet::new();
        let mut used = 0;
        let targets = self.moves.iter().map(|(planned, ..)| planned.target);
        for placed in self.live.values().map(|live| live.placed).chain(targets) {
            assert!(places.insert((placed.heap.0, placed.range.start().get()), placed.range).is_none());
            assert!(placed.range.end().get() <= placed.heap.1.get());
            assert!(self.heaps.contains_key(&placed.heap.0), "the heap was released");
            ids.insert(format!("{:?}", placed.id));
            used += placed.range.size().get();
        }
        for (one, next) in places.iter().zip(places.iter().skip(1)) {
            assert!(one.0.0 != next.0.0 || !one.1.overlaps(*next.1), "{one:?} and {next:?}");
        }
        for (number, live) in &self.live {
            let content = self.memory.get(&(live.placed.heap.0, live.placed.range.start().get()));
            assert_eq!(content, Some(number), "the content of {live:?} was lost");
        }
        let totals = self.set.totals();
        let reserved: u64 = self.heaps.values().map(|size| size.get()).sum();
        assert_eq!((totals.used.get(), totals.reserved.get()), (used, reserved));
        assert_eq!(totals.allocation_count, ids.len() as u64);
        let mut surveyed = BTreeSet::new();
        for heap in self.set.survey() {
            let mut end = 0;
            for range in &heap.ranges {
                assert_eq!(range.range().start().get(), end, "{heap:?}");
                end = range.range().end().get();
                if let SurveyedRange::Used { id, range } = range {
                    assert_eq!(places.get(&(heap.heap.0, range.start().get())), Some(range));
                    surveyed.insert(format!("{id:?}"));
                }
            }
            assert_eq!((end, heap.size), (heap.size.get(), self.heaps[&heap.heap.0]));
        }
        assert_eq!(surveyed, ids);
    }

    fn perform(&mut self, operation: Operation) {
        match operation {
            Operation::Allocate { lane, size, alignment_log2 } => {
                self.allocate(lane, size, Alignment::from_log2(alignment_log2).unwrap());
            }
            Operation::AllocateAnywhere { size, alignment_log2 } => {
                self.allocate_anywhere(size, Alignment::from_log2(alignment_log2).unwrap());
            }
            Operation::Free(at) => {
                if let Some(number) = self.number_at(at) {
                    self.free(number);
                }
            }
            Operation::FreeMany { first, of_ten } => {
                let numbers: Vec<_> = self.live.keys().copied().collect();
                for (at, &number) in numbers.iter().enumerate() {
                    if (at + first.index(10)) * 7 % 10 < of_ten {
                        self.free(number);
                    }
                }
            }
            Operation::Step { moves, bytes, looks } => {
                self.step(
                    EvacuationBudget { moves, bytes: ByteSize::new(bytes), ..EvacuationBudget::default() },
                    looks,
                );
            }
            Operation::Complete(at) if !self.moves.is_empty() => self.complete(at.index(self.moves.len())),
            Operation::Abandon(at) if !self.moves.is_empty() => self.abandon(at.index(self.moves.len())),
            Operation::FreeSourceOf(at) if !self.moves.is_empty() => {
                let number = self.moves[at.index(self.moves.len())].1;
                if self.live.contains_key(&number) {
                    self.free(number);
                }
            }
            Operation::Complete(_) | Operation::Abandon(_) | Operation::FreeSourceOf(_) => {}
            Operation::Supply => self.supply(true),
            Operation::Refuse => self.supply(false),
            Operation::Restart => self.restart(),
            Operation::TakeEmpty => {
                let taken = take_all_empty(self.set);
                self.release(taken);
            }
            Operation::Reopen => {
                self.set.reopen_closed();
                assert!(!self.set.survey().iter().any(|heap| heap.is_closed));
            }
        }
    }

    /// Carries out all actions until the run is finished.
    fn finish(&mut self) {
        for _ in 0..10_000 {
            self.supply(true);
            let state = self.step(EvacuationBudget::default(), u32::MAX);
            if state == EvacuationState::Finished && self.moves.is_empty() {
                return;
            }
            while !self.moves.is_empty() {
                self.complete(0);
            }
        }
        panic!("the run does not terminate: {:?}", self.run.progress());
    }
}

fn set(lanes: u32) -> SharedHeapSet<Heap> {
    let sizing = HeapSizing {
        minimum: ByteSize::from_kib(64),
        maximum: ByteSize::from_kib(256),
        ..HeapSizing::default()
    };
    let retention = HeapRetention { keeping: Keeping::Operations(64), ..HeapRetention::default() };
    SharedHeapSet::new(&HeapSetDesc { lanes, ..HeapSetDesc::new(PlacementRule::Default(sizing), retention) })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 2 } else { 64 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_order_of_calls(operations in operations(), lanes in 1_u32..4) {
        let set = set(lanes);
        let mut scene = Scene::new(&set);
        for operation in operations {
            scene.perform(operation);
            scene.check();
        }
        scene.finish();
        scene.check();
        let numbers: Vec<PlacementId> = scene.live.values().map(|live| live.placed.id).collect();
        prop_assert_eq!(numbers.len() as u64, set.totals().allocation_count);
        for number in scene.live.keys().copied().collect::<Vec<_>>() {
            scene.free(number);
        }
        let taken = take_all_empty(&set);
        scene.release(taken);
        prop_assert_eq!(set.totals(), Default::default());
        prop_assert!(scene.heaps.is_empty());
    }

    /// An undisturbed run moves each allocation at most once out of each heap, and leaves no more heap bytes
    /// than before.
    #[test]
    fn an_undisturbed_run_ends_without_additional_heaps(operations in operations()) {
        let set = set(2);
        let mut scene = Scene::new(&set);
        for operation in operations {
            if matches!(
                operation,
                Operation::Allocate { .. }
                    | Operation::AllocateAnywhere { .. }
                    | Operation::Free(_)
                    | Operation::FreeMany { .. }
            ) {
                scene.perform(operation);
            }
        }
        let before = set.totals().reserved;
        scene.finish();
        scene.check();
        prop_assert!(set.totals().reserved <= before);
        prop_assert!(scene.moved.values().all(|&times| times == 1), "{:?}", scene.moved);
        prop_assert!(scene.run.unit.heaps.is_empty() && scene.run.draining.is_empty(), "heaps stay closed");
        let (freed, supplied) = (scene.run.progress().bytes_freed, scene.run.progress().bytes_created);
        prop_assert_eq!(before.saturating_add(supplied), set.totals().reserved.saturating_add(freed));
    }
}
