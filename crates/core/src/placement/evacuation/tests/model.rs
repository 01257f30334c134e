//! Random orders of allocating, freeing, planning, completing and abandoning, compared with a simple model.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::Index;

use crate::placement::tests::driven_set::{DrivenSet, Heap};
use crate::placement::{
    Evacuation, EvacuationBudget, EvacuationState, HeapRetention, HeapSetDesc, HeapSizing, Keeping, Placed,
    PlacementRequest, PlacementRule, PlannedMove, SharedHeapSet, SurveyedRange,
};
use crate::{Alignment, ByteSize};

#[derive(Debug, Clone)]
enum Operation {
    /// Without a lane, in existing memory, whatever the request wastes there; slabs return their free slots to the
    /// heaps.
    Allocate {
        lane: Option<u32>,
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
        24 => ((0_u32..4).prop_map(Some), size, prop_oneof![2 => Just(8), 3 => 0..=16_u32])
            .prop_map(|(lane, size, alignment_log2)| Operation::Allocate { lane, size, alignment_log2 }),
        2 => (3000_u64..300_000, 0..=16_u32)
            .prop_map(|(size, alignment_log2)| Operation::Allocate { lane: None, size, alignment_log2 }),
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
struct Scene {
    /// Targets of moves are live, too.
    driven: DrivenSet,
    run: Evacuation<Arc<SharedHeapSet<Heap>>, Heap>,
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

impl Scene {
    fn new(lanes: u32) -> Self {
        let sizing = HeapSizing {
            minimum: ByteSize::from_kib(64),
            maximum: ByteSize::from_kib(256),
            ..HeapSizing::default()
        };
        let retention = HeapRetention { keeping: Keeping::Operations(64), ..HeapRetention::default() };
        let driven = DrivenSet::new(HeapSetDesc {
            lanes,
            ..HeapSetDesc::new(PlacementRule::Default(sizing), retention)
        });
        Self {
            run: Evacuation::new(Arc::clone(&driven.set)),
            driven,
            live: BTreeMap::new(),
            next: 0,
            memory: BTreeMap::new(),
            moves: Vec::new(),
            wanted: None,
            supplied: BTreeSet::new(),
            moved: BTreeMap::new(),
        }
    }

    /// Returns the closed heaps, but for those created for a run.
    fn closed(&self) -> BTreeSet<u32> {
        let closed = self.driven.set.survey().into_iter().filter(|heap| heap.is_closed);
        closed.map(|heap| heap.heap.0).filter(|name| !self.supplied.contains(name)).collect()
    }

    fn write(&mut self, placed: &Placed<Heap>, content: u32) {
        self.memory.insert((placed.heap.0, placed.range.start().get()), content);
    }

    /// Allocates on a lane, or in existing memory, whatever the request wastes there.
    fn allocate(&mut self, lane: Option<u32>, size: u64, alignment: Alignment) {
        let closed = self.closed();
        // As for D3D12 resources, sizes are multiples of the alignment.
        let request = PlacementRequest::new(ByteSize::new(size.next_multiple_of(alignment.get())), alignment);
        let placed = match lane {
            Some(lane) => {
                self.driven.allocate_on(lane, &request).or_else(|| self.driven.try_allocate(&request, true).1)
            }
            None => {
                let placed = self.driven.set.allocate_anywhere(&request).unwrap();
                placed.inspect(|&placed| self.driven.hold(placed, &request))
            }
        };
        let Some(placed) = placed else { return };
        assert!(
            self.run.is_gathering() || !closed.contains(&placed.heap.0),
            "{placed:?} is in a closed heap"
        );
        self.next += 1;
        self.write(&placed, self.next);
        self.live.insert(self.next, Live { placed, alignment });
    }

    fn free(&mut self, number: u32) {
        let live = self.live.remove(&number).unwrap();
        self.driven.free_id(live.placed.id);
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
        self.driven.gone(step.release);
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
            let request = PlacementRequest::new(live.placed.range.size(), live.alignment);
            self.driven.hold(planned.target, &request);
            assert!(!closed.contains(&planned.target.heap.0), "{planned:?} targets a closed heap");
            let number = *number;
            let is_under_way = self.moves.iter().any(|(other, ..)| other.source == planned.source);
            assert!(!is_under_way, "{planned:?} is already in progress");
            *self.moved.entry((number, source_heap.0)).or_default() += 1;
            self.moves.push((planned, number, source_heap));
        }
        step.state
    }

    /// Copies the content of a move, and returns whether its source is live.
    fn copy(&mut self, (planned, number, source_heap): &(PlannedMove<Heap>, u32, Heap)) -> bool {
        let is_live = self.live.get(number).is_some_and(|live| live.placed.id == planned.source);
        if is_live {
            let content = self.memory[&(source_heap.0, planned.source_range.start().get())];
            self.write(&planned.target, content);
            self.live.get_mut(number).unwrap().placed = planned.target;
        }
        is_live
    }

    fn complete(&mut self, at: usize) {
        let one = self.moves.swap_remove(at);
        let is_live = self.copy(&one);
        let completed = self.run.complete(&one.0);
        assert_eq!(completed.is_moved, is_live);
        let freed = if is_live { one.0.source } else { one.0.target.id };
        self.driven.note_freed(freed, completed.release);
    }

    fn abandon(&mut self, at: usize) {
        let (planned, _, source_heap) = self.moves.swap_remove(at);
        let released = self.run.abandon(&planned);
        self.driven.note_freed(planned.target.id, released);
        let name = source_heap.0;
        let closed = self.driven.set.survey().into_iter().find(|heap| heap.is_closed && heap.heap.0 == name);
        assert!(
            closed.is_none() || !self.driven.heaps.contains_key(&name),
            "{closed:?} is closed after {planned:?}, {:?}, supplied {:?}",
            self.run.progress(),
            self.supplied
        );
    }

    fn supply(&mut self, is_made: bool) {
        let Some(size) = self.wanted.take() else { return };
        let heap = is_made.then(|| self.driven.make(size));
        self.supplied.extend(heap.map(|heap| heap.0));
        self.run.supply(size, heap).unwrap();
    }

    fn restart(&mut self) {
        // Moves of a run that has ended are completed and abandoned by freeing either place.
        let mut former = std::mem::replace(&mut self.run, Evacuation::new(Arc::clone(&self.driven.set)));
        former.cancel();
        for (at, one) in std::mem::take(&mut self.moves).into_iter().enumerate() {
            let is_moved = at % 2 == 0 && self.copy(&one);
            self.driven.free_id(if is_moved { one.0.source } else { one.0.target.id });
        }
        self.wanted = None;
        self.moved.clear();
        let closed = self.driven.set.survey().into_iter().filter(|heap| heap.is_closed);
        // A heap that became empty is not reopened.
        for heap in closed {
            assert!(heap.ranges.iter().all(|range| !matches!(range, SurveyedRange::Used { .. })), "{heap:?}");
        }
    }

    fn check(&self) {
        self.driven.check();
        let ids = self.live.values().map(|live| live.placed.id);
        let ids: HashSet<_> = ids.chain(self.moves.iter().map(|(planned, ..)| planned.target.id)).collect();
        assert_eq!(ids.len(), self.driven.live.len());
        assert!(self.driven.live.iter().all(|(id, ..)| ids.contains(id)));
        for (number, live) in &self.live {
            let content = self.memory.get(&(live.placed.heap.0, live.placed.range.start().get()));
            assert_eq!(content, Some(number), "the content of {live:?} was lost");
        }
    }

    fn perform(&mut self, operation: Operation) {
        match operation {
            Operation::Allocate { lane, size, alignment_log2 } => {
                self.allocate(lane, size, Alignment::from_log2(alignment_log2).unwrap());
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
            Operation::TakeEmpty => self.driven.take_empty(ByteSize::MAX),
            Operation::Reopen => {
                self.driven.set.reopen_closed();
                assert!(!self.driven.set.survey().iter().any(|heap| heap.is_closed));
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

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 2 } else { 64 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_order_of_calls(operations in operations(), lanes in 1_u32..4) {
        let mut scene = Scene::new(lanes);
        for operation in operations {
            scene.perform(operation);
            scene.check();
        }
        scene.finish();
        scene.check();
        for number in scene.live.keys().copied().collect::<Vec<_>>() {
            scene.free(number);
        }
        scene.driven.take_empty(ByteSize::MAX);
        prop_assert_eq!(scene.driven.set.totals(), Default::default());
        prop_assert!(scene.driven.heaps.is_empty());
    }

    /// An undisturbed run moves each allocation at most once out of each heap, and leaves no more heap bytes
    /// than before.
    #[test]
    fn an_undisturbed_run_ends_without_additional_heaps(operations in operations()) {
        use Operation::{Allocate, Free, FreeMany};

        let mut scene = Scene::new(2);
        let is_of_owner = |one: &Operation| matches!(one, Allocate { .. } | Free(_) | FreeMany { .. });
        operations.into_iter().filter(is_of_owner).for_each(|operation| scene.perform(operation));
        let reserved = |scene: &Scene| scene.driven.set.totals().reserved;
        let before = reserved(&scene);
        scene.finish();
        scene.check();
        prop_assert!(reserved(&scene) <= before);
        prop_assert!(scene.moved.values().all(|&times| times == 1), "{:?}", scene.moved);
        prop_assert!(scene.run.unit.heaps.is_empty() && scene.run.draining.is_empty(), "heaps stay closed");
        let (freed, supplied) = (scene.run.progress().bytes_freed, scene.run.progress().bytes_created);
        prop_assert_eq!(before.saturating_add(supplied), reserved(&scene).saturating_add(freed));
    }
}
