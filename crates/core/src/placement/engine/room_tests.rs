//! Tests that [`HeapEngine::room_for`] predicts what happens, and changes nothing.

use proptest::prelude::*;
use proptest::sample::Index;

use super::*;
use crate::placement::{
    HeapRetention, HeapSizing, PlacementError, ServingHeap, SharedPlaced, SharedPlacementId, SurveyedRange,
};
use crate::suballoc::Strategy as Prefer;
use crate::{Alignment, ByteSize};

const KIB_64: Alignment = desc::KIB_64;

fn kib(kib: u64) -> ByteSize {
    ByteSize::from_kib(kib)
}

/// Small heaps, so that full heaps and released slabs matter.
fn tight(lanes: u32, retention: u64) -> EngineDesc {
    EngineDesc::Default {
        sizing: HeapSizing { minimum: kib(64), maximum: kib(128), ..HeapSizing::default() },
        retention: HeapRetention { operations: retention, ..HeapRetention::default() },
        slots_up_to: kib(16),
        lanes,
    }
}

fn descs() -> Vec<EngineDesc> {
    let slabs = |growth_factor| SlabSizing { maximum: kib(4096), growth_factor, ..SlabSizing::default() };
    vec![
        tight(1, 4),
        tight(3, 18),
        tight(3, 30),
        EngineDesc::default(),
        EngineDesc::SlabBySize(slabs(1.25)),
        EngineDesc::SlabBySize(slabs(0.5)),
        EngineDesc::BuddySystem { preferred: kib(256), maximum: kib(4096), granularity: KIB_64 },
        EngineDesc::Linear { heap_size: kib(256), one_heap: false },
        EngineDesc::Linear { heap_size: kib(256), one_heap: true },
        EngineDesc::Dedicated { granularity: KIB_64 },
    ]
}

/// The engine and its owner.
struct Owned {
    engine: HeapEngine<u32>,
    made: u32,
    live: Vec<SharedPlacementId>,
}

/// The visible result of a call.
type Seen = Result<(Option<SharedPlaced<u32>>, Vec<u32>), PlacementError>;

impl Owned {
    fn new(desc: &EngineDesc) -> Self {
        Self { engine: HeapEngine::new(desc), made: 0, live: Vec::new() }
    }

    fn make(&mut self) -> u32 {
        self.made += 1;
        self.made
    }

    /// Calls `allocate` and then `plan`, and returns their result. Creates the heap if `makes` is true.
    fn allocate(
        &mut self,
        request: &PlacementRequest,
        makes: bool,
    ) -> (Result<ServingHeap, PlacementError>, Seen) {
        let placed = match self.engine.allocate(request) {
            Ok(placed) => placed,
            Err(refused) => return (Err(refused), Err(refused)),
        };
        if let Some(placed) = placed {
            self.live.push(placed.id);
            return (Ok(ServingHeap::Existing), Ok((Some(placed), Vec::new())));
        }
        let wanted = match self.engine.plan(request) {
            Ok(wanted) => wanted,
            Err(refused) => return (Err(refused), Err(refused)),
        };
        let room = Ok(ServingHeap::New { size: wanted.size });
        // The totals cannot count two heaps of 2^63 bytes.
        if !makes || request.size.get() >= 1 << 62 {
            return (room, Ok((None, wanted.release)));
        }
        let heap = self.make();
        let placed = self.engine.allocate_in_new(wanted.size, heap, request);
        self.live.extend(placed.iter().map(|placed| placed.id));
        (room, placed.map(|placed| (Some(placed), wanted.release)))
    }

    fn free(&mut self, at: Index) -> Seen {
        if self.live.is_empty() {
            return Ok((None, Vec::new()));
        }
        let id = self.live.swap_remove(at.index(self.live.len()));
        Ok((None, self.engine.free(id)?))
    }

    /// Allocates on another lane, which creates slabs there like another thread's calls.
    fn allocate_on(&mut self, lane: u32, request: &PlacementRequest) -> Seen {
        let Some(set) = self.engine.as_default() else { return Ok((None, Vec::new())) };
        let placed = set.allocate_on(lane, request.size, request.alignment)?;
        self.live.extend(placed.iter().map(|placed| placed.id));
        Ok((placed, Vec::new()))
    }

    /// The live ranges. Slabs without used slots may be released when room is needed.
    fn live_ranges(&self) -> impl PartialEq + std::fmt::Debug + use<> {
        self.engine.audit().unwrap();
        let used = |range: &SurveyedRange| matches!(range, SurveyedRange::Used { .. });
        let heaps = self.engine.survey().into_iter();
        let live: Vec<_> =
            heaps.map(|heap| (heap.heap, heap.ranges.into_iter().filter(used).collect::<Vec<_>>())).collect();
        let totals = self.engine.totals();
        (
            live,
            totals.used,
            totals.allocation_count,
            totals.reserved,
            totals.heap_count,
            self.engine.size_cache(),
        )
    }

    fn state(&self) -> impl PartialEq + std::fmt::Debug + use<> {
        self.engine.audit().unwrap();
        (self.engine.survey(), self.engine.totals(), self.engine.size_cache())
    }
}

#[derive(Debug, Clone)]
enum Step {
    Allocate(PlacementRequest, bool),
    AllocateOn(u32, PlacementRequest),
    Free(Index),
    FreeMany(Index, usize),
    Insert(ByteSize),
    TakeEmpty(ByteSize),
}

fn requests() -> impl Strategy<Value = PlacementRequest> {
    let size = prop_oneof![
        10 => prop::sample::select(vec![100_u64, 200, 256, 700, 1000, 4096, 5000, 8192, 9000, 16_384]),
        3 => 1_u64..20_000,
        3 => 16_000_u64..200_000,
        1 => 200_000_u64..5_000_000,
        1 => prop::sample::select(vec![0, 1 << 62, 1 << 63, (1 << 63) + 1, u64::MAX]),
    ];
    let strategy = prop::sample::select(vec![
        Prefer::MinMemory,
        Prefer::MinMemory,
        Prefer::MinMemory,
        Prefer::MinTime,
        Prefer::MinOffset,
    ]);
    let rare = || prop::sample::select(vec![false, false, false, false, false, true]);
    (size, prop::sample::select(vec![0, 0, 0, 8, 12, 14, 16, 18]), strategy, rare(), rare()).prop_map(
        |(size, log2, strategy, upper, cache_size)| {
            let alignment = Alignment::from_log2(log2).unwrap();
            let plain = PlacementRequest::new(ByteSize::new(size), alignment);
            PlacementRequest { strategy, upper, cache_size, ..plain }
        },
    )
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let heap_size = || (1_u64..30).prop_map(|count| kib(64 * count));
    let step = prop_oneof![
        24 => (requests(), prop::sample::select(vec![true, true, true, false])).prop_map(|(request, makes)| Step::Allocate(request, makes)),
        5 => (0_u32..3, requests()).prop_map(|(lane, request)| Step::AllocateOn(lane, request)),
        10 => any::<Index>().prop_map(Step::Free),
        2 => (any::<Index>(), 1_usize..40).prop_map(|(at, count)| Step::FreeMany(at, count)),
        1 => heap_size().prop_map(Step::Insert),
        1 => heap_size().prop_map(Step::TakeEmpty),
    ];
    prop::collection::vec(step, 0..if cfg!(miri) { 30 } else { 120 })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 4 } else { 192 }, failure_persistence: None, max_shrink_iters: 200, ..ProptestConfig::default()
    })]

    #[test]
    fn predictions_are_exact_and_change_nothing(
        desc in prop::sample::select(descs()), steps in steps()
    ) {
        // `room_for` is never called on the twin.
        let [mut asked, mut twin] = [Owned::new(&desc), Owned::new(&desc)];
        for step in steps {
            match step {
                Step::Allocate(request, makes) => {
                    let before = asked.live_ranges();
                    let told = asked.engine.room_for(&request);
                    prop_assert_eq!(asked.engine.room_for(&request), told, "repeated query differs");
                    prop_assert!(asked.live_ranges() == before, "the query changed the state");
                    let (room, seen) = asked.allocate(&request, makes);
                    prop_assert_eq!(told, room, "{:?}", request);
                    prop_assert_eq!((room, seen), twin.allocate(&request, makes));
                }
                Step::AllocateOn(lane, request) => {
                    let told = asked.engine.as_default().map(|set| set.room_on(lane, request.size, request.alignment));
                    let seen = asked.allocate_on(lane, &request);
                    if let Some(told) = told {
                        prop_assert_eq!(
                            matches!(told, Ok(ServingHeap::Existing)), matches!(seen, Ok((Some(_), _))), "{:?}", told
                        );
                    }
                    prop_assert_eq!(seen, twin.allocate_on(lane, &request));
                }
                Step::Free(at) => prop_assert_eq!(asked.free(at), twin.free(at)),
                Step::FreeMany(at, count) => {
                    for _ in 0..count {
                        prop_assert_eq!(asked.free(at), twin.free(at));
                    }
                }
                Step::Insert(size) => {
                    for owned in [&mut asked, &mut twin] {
                        let heap = owned.make();
                        owned.engine.insert(size, heap).unwrap();
                    }
                }
                Step::TakeEmpty(up_to) => {
                    prop_assert_eq!(asked.engine.take_empty(up_to), twin.engine.take_empty(up_to));
                }
            }
            prop_assert!(asked.state() == twin.state(), "the query changed a later result");
        }
    }
}
