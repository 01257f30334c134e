//! Compares sets by every rule with a list of live allocations, and probes with what follows them.

use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::Index;

use super::slab_sizing::KIB_64;
use super::*;
use crate::placement::tests::driven_set::{DrivenSet, Heap};
use crate::placement::tests::unaligned;
use crate::suballoc::FreeRangeChoice as Prefer;
use crate::{Alignment, ByteSize, HeapOffset, HeapRange};

const ALL: ByteSize = ByteSize::new(u64::MAX);

fn kib(kib: u64) -> ByteSize {
    ByteSize::from_kib(kib)
}

fn mib(mib: u64) -> ByteSize {
    ByteSize::from_mib(mib)
}

/// The default rule with heaps of `minimum` to twice as many bytes.
pub(super) fn default_set(
    minimum: ByteSize,
    slots_up_to: ByteSize,
    lanes: u32,
    operations: u64,
) -> HeapSetDesc {
    let sizing = HeapSizing { minimum, maximum: minimum.checked_mul(2).unwrap(), ..HeapSizing::default() };
    let retention = HeapRetention { keeping: Keeping::Operations(operations), ..HeapRetention::default() };
    HeapSetDesc { slots_up_to, lanes, ..by_rule(PlacementRule::Default(sizing), retention) }
}

fn by_rule(rule: PlacementRule, retention: HeapRetention) -> HeapSetDesc {
    HeapSetDesc::new(rule, retention)
}

fn buddy(preferred: ByteSize) -> HeapSetDesc {
    by_rule(PlacementRule::buddy_system(preferred, mib(64), KIB_64), NONE)
}

fn linear(one_heap: bool) -> HeapSetDesc {
    by_rule(PlacementRule::Linear { granularity: KIB_64, heap_size: kib(512), one_heap }, NONE)
}

const NONE: HeapRetention = HeapRetention::NONE;

fn slabs(sizing: SlabSizing) -> HeapSetDesc {
    by_rule(PlacementRule::SlabBySize(sizing), NONE)
}

fn dedicated(retention: HeapRetention) -> HeapSetDesc {
    by_rule(PlacementRule::Dedicated { granularity: KIB_64 }, retention)
}

pub(super) fn descs() -> Vec<HeapSetDesc> {
    vec![
        default_set(mib(1), kib(16), 2, 16),
        default_set(mib(1), kib(64), 3, 16),
        HeapSetDesc {
            retention: HeapRetention {
                keeping: Keeping::Operations(10),
                frames: 2,
                ..HeapRetention::default()
            },
            slots_up_to: ByteSize::ZERO,
            lanes: 1,
            ..HeapSetDesc::default()
        },
        HeapSetDesc::default(),
        // Small heaps, so that full heaps and released slabs matter.
        default_set(kib(64), kib(16), 1, 4),
        default_set(kib(64), kib(16), 3, 18),
        default_set(kib(64), kib(16), 3, 30),
        slabs(SlabSizing { maximum: mib(4), ..SlabSizing::default() }),
        slabs(SlabSizing { growth_factor: 0.5, ..SlabSizing::default() }),
        buddy(mib(1)),
        linear(false),
        linear(true),
        dedicated(NONE),
    ]
}

/// Descriptions of sets that keep empty heaps for a few operations, two frames or two periods.
fn descs_that_keep() -> Vec<HeapSetDesc> {
    let retention =
        HeapRetention { keeping: Keeping::Operations(6), frames: 2, periods: 2, ..Default::default() };
    let others = descs().into_iter().filter(|desc| !desc.rule.is_default());
    others.map(|desc| HeapSetDesc { retention, ..desc }).collect()
}

#[derive(Debug, Clone)]
enum Step {
    /// Whether a heap is made for the request if it needs one.
    Allocate(PlacementRequest, bool),
    /// On another lane, as by another thread.
    AllocateOn(u32, PlacementRequest),
    Free(Index, usize),
    FreeStale(Index),
    Insert(ByteSize),
    TakeEmpty(ByteSize),
    TakeFitting(ByteSize, ByteSize),
    Frame,
    Period,
}

fn requests() -> impl Strategy<Value = PlacementRequest> {
    let size = prop_oneof![
        // Sizes that share slabs, and many others.
        30 => prop::sample::select(vec![100_u64, 200, 256, 700, 1000, 4096, 5000, 8192, 9000, 16_384]),
        20 => 1_u64..20_000,
        20 => prop::sample::select(vec![64_u64 << 10, 65 << 10, 128 << 10, 320 << 10]),
        20 => 16_000_u64..300_000,
        8 => 300_000_u64..5_000_000,
        1 => 5_000_000_u64..1 << 34,
        1 => prop::sample::select(vec![0, 1 << 62, 1 << 63, (1 << 63) + 1, u64::MAX]),
    ];
    let strategy =
        prop_oneof![3 => Just(Prefer::MinMemory), 1 => Just(Prefer::MinTime), 1 => Just(Prefer::MinOffset)];
    let rare = || prop::bool::weighted(0.2);
    let sharing = prop_oneof![
        18 => Just(Sharing::Shared),
        1 => any::<bool>().prop_map(|reusable| Sharing::Alone { reusable }),
    ];
    let log2 = prop::sample::select(vec![0, 0, 0, 8, 12, 14, 16, 18, 22]);
    (size, log2, strategy, rare(), rare(), sharing).prop_map(
        |(size, log2, strategy, upper, cache_size, sharing)| {
            let plain = PlacementRequest::new(ByteSize::new(size), Alignment::from_log2(log2).unwrap());
            PlacementRequest { strategy, upper, cache_size, sharing, ..plain }
        },
    )
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let heap_size = || (1_u64..40).prop_map(|count| kib(64 * count));
    let step = prop_oneof![
        24 => (requests(), prop::bool::weighted(0.8)).prop_map(|(request, makes)| Step::Allocate(request, makes)),
        8 => (0_u32..3, requests()).prop_map(|(lane, request)| Step::AllocateOn(lane, request)),
        14 => any::<Index>().prop_map(|at| Step::Free(at, 1)),
        1 => (any::<Index>(), 1_usize..40).prop_map(|(at, count)| Step::Free(at, count)),
        1 => any::<Index>().prop_map(Step::FreeStale),
        2 => heap_size().prop_map(Step::Insert),
        1 => prop_oneof![Just(ALL), heap_size(), Just(ByteSize::ZERO)].prop_map(Step::TakeEmpty),
        1 => (heap_size(), heap_size()).prop_map(|(a, b)| Step::TakeFitting(a.min(b), a.max(b))),
        1 => Just(Step::Frame),
        1 => Just(Step::Period),
    ];
    prop::collection::vec(step, 0..if cfg!(miri) { 30 } else { 150 })
}

/// Performs a step. Returns what its calls returned.
fn perform(driven: &mut DrivenSet, step: &Step) -> String {
    match *step {
        Step::Allocate(request, makes_heap) => format!("{:?}", driven.try_allocate(&request, makes_heap)),
        Step::AllocateOn(lane, request) => format!("{:?}", driven.allocate_on(lane, &request)),
        Step::Free(at, count) => {
            let count = count.min(driven.live.len());
            let freed: Vec<_> = (0..count).map(|_| driven.free(at.index(driven.live.len()))).collect();
            format!("{freed:?}")
        }
        Step::FreeStale(at) => {
            if !driven.freed.is_empty() {
                let id = driven.freed[at.index(driven.freed.len())];
                assert!(driven.set.free(id).is_err(), "{id:?} was freed");
            }
            String::new()
        }
        Step::Insert(size) => {
            let heap = driven.make(size);
            format!("{:?}", driven.set.insert(size, heap).unwrap())
        }
        Step::TakeEmpty(up_to) => format!("{:?}", driven.take_empty(up_to)),
        Step::TakeFitting(at_least, at_most) => format!("{:?}", driven.take_fitting(at_least, at_most)),
        Step::Frame | Step::Period => {
            let is_frame = matches!(step, Step::Frame);
            let gone = if is_frame { driven.set.pass_frame() } else { driven.set.pass_period() };
            driven.gone(gone.iter().copied());
            format!("{gone:?}")
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 4 } else { 256 }, failure_persistence: None, max_shrink_iters: 200, ..ProptestConfig::default()
    })]

    /// Each set agrees with the model, and each call with the probe before it, except that it may use the memory of
    /// unused slabs. No probe has an effect:
    /// the twin is never probed, except on other lanes.
    #[test]
    fn agrees_with_the_model_and_probes_promise_no_more(desc in prop::sample::select([descs(), descs_that_keep()].concat()), steps in steps()) {
        let [mut driven, mut twin] = [DrivenSet::new(desc), DrivenSet::new(desc)];
        for step in steps {
            let probed = if let Step::Allocate(request, _) = &step {
                let before = driven.live_state();
                let probed = driven.heap_for(request);
                prop_assert_eq!(driven.heap_for(request), probed, "repeated probe differs");
                prop_assert!(driven.live_state() == before, "the probe changed the state");
                Some(probed)
            } else {
                None
            };
            let seen = perform(&mut driven, &step);
            if let Some(probed) = probed {
                // A probe does not count the memory of unused slabs.
                let may_be_held = matches!(probed, Ok(Some(_))) && seen.starts_with("(Ok(None), ");
                let is_exact = seen.starts_with(&format!("({probed:?}, "));
                prop_assert!(is_exact || may_be_held, "{:?} before {}", probed, seen);
            }
            prop_assert_eq!(&seen, &perform(&mut twin, &step));
            prop_assert!(driven.state() == twin.state(), "the probe changed a later result");
            driven.check();
        }
        while !driven.live.is_empty() {
            driven.free(0);
        }
        driven.take_empty(ALL);
        driven.check();
        prop_assert_eq!(driven.set.totals(), HeapSetTotals::default());
    }
}

/// Full heaps with a free slot of another lane are rare among random calls.
#[test]
fn a_probe_sees_the_free_slots_of_other_lanes() {
    let mut driven = DrivenSet::new(default_set(kib(64), kib(16), 2, 16));
    let request = unaligned(kib(4));
    driven.allocate(&request).unwrap();
    // Requests for the lowest offset get no slot.
    let filler = PlacementRequest { strategy: Prefer::MinOffset, ..unaligned(kib(1)) };
    while driven.try_allocate(&filler, false).1.is_some() {}
    for lane in 0..2 {
        assert_eq!(driven.set.has_room_on(lane, &request), Ok(true), "lane {lane}");
        assert!(driven.allocate_on(lane, &request).is_some(), "lane {lane}");
    }
}

#[test]
fn a_probe_sees_the_room_for_a_slab_of_fewer_slots() {
    let mut driven = DrivenSet::new(default_set(kib(64), kib(16), 1, 16));
    let low = |size| PlacementRequest { strategy: Prefer::MinOffset, ..unaligned(kib(size)) };
    driven.allocate(&low(50)).unwrap();
    let slot = unaligned(kib(4));
    assert_eq!(driven.set.has_room(&slot), Ok(true));
    driven.allocate(&low(12)).unwrap();
    assert_eq!(driven.set.has_room(&slot), Ok(false));
}

#[test]
fn impossible_requests_are_rejected_and_change_nothing() {
    for desc in descs() {
        let set: SharedHeapSet<()> = SharedHeapSet::new(&desc);
        let request = |size| PlacementRequest::new(ByteSize::new(size), KIB_64);
        assert!(set.allocate(&request(0)).is_err());
        for size in [u64::MAX, u64::MAX - 70_000, (1 << 63) + 1] {
            let refused = set.allocate(&request(size)).and_then(|_| set.new_heap_size(&request(size)));
            assert!(
                matches!(refused, Err(PlacementError::TooLarge { .. } | PlacementError::NeedsOwnHeap { .. })),
                "{refused:?} by {desc:?}"
            );
        }
        for (sharing, is_shared) in [(Sharing::Shared, true), (Sharing::Alone { reusable: true }, false)] {
            let upper = PlacementRequest { upper: true, sharing, ..request(100) };
            let is_possible = match desc.rule {
                PlacementRule::Default(_) => false,
                PlacementRule::Dedicated { .. } | PlacementRule::Linear { one_heap: true, .. } => true,
                _ => !is_shared,
            };
            assert_eq!(set.allocate(&upper).is_ok(), is_possible, "{desc:?}");
        }
        assert!(set.insert(ByteSize::ZERO, ()).is_err());
        assert!(set.insert(ByteSize::new((1 << 63) + 1), ()).is_err());
        assert_eq!(set.totals(), HeapSetTotals::default());
    }
}

#[test]
fn a_heap_is_vacated_only_by_all_that_is_live_in_it() {
    for desc in descs() {
        let mut driven = DrivenSet::new(desc);
        let request = unaligned(kib(65));
        // The third and the fourth share a heap by all rules by which requests do.
        (0..4).for_each(|_| assert!(driven.allocate(&request).is_some()));
        driven.free(3);
        driven.allocate(&request);
        let [.., (kept, heap, _), (_, last, _)] = driven.live[..] else { unreachable!("there are four") };
        let listed = driven.set.vacated(&[kept, driven.freed[0]], |heap| heap.0);
        let are_alone = driven.live.iter().filter(|live| live.1 == heap).count() == 1;
        assert_eq!((listed.contains(&heap), heap == last), (are_alone, !are_alone), "{desc:?}");
        let all: Vec<_> = driven.live.iter().map(|live| live.0).collect();
        assert_eq!(driven.set.vacated(&all, |_| ()).len(), driven.heaps.len());
    }
}

#[test]
fn a_request_that_is_alone_needs_no_whole_block() {
    let slabs = slabs(SlabSizing::default());
    for (desc, shared) in
        [(HeapSetDesc::default(), 100), (buddy(mib(1)), 128), (slabs, 128), (linear(true), 100)]
    {
        let set: SharedHeapSet<()> = SharedHeapSet::new(&desc);
        for (sharing, least) in [(Sharing::Shared, shared), (Sharing::Alone { reusable: true }, 100)] {
            let request = PlacementRequest { sharing, ..PlacementRequest::new(kib(100), KIB_64) };
            assert_eq!(set.least_heap_size(&request), kib(least), "{desc:?}");
        }
    }
}

#[test]
fn a_heap_that_is_too_small_stays_in_the_set() {
    for desc in descs() {
        let set = SharedHeapSet::new(&desc);
        let request = unaligned(kib(256));
        let refused = set.allocate_in_new(kib(64), 'a', &request);
        assert_eq!(refused, Err(PlacementError::TooLarge { requested: kib(256) }), "{desc:?}");
        assert_eq!((set.totals().heap_count, set.totals().empty_heap_count), (1, 1));
        assert!(set.has_empty_fitting(kib(64), kib(64)));
        assert_eq!(set.take_empty_fitting(kib(64), kib(64)), Some((kib(64), 'a')));
        assert!(!set.has_empty_fitting(kib(64), kib(64)));
        assert_eq!(set.totals().heap_count, 0);
    }
}

/// However many empty heaps of about the same size there are.
#[test]
fn the_smallest_empty_heap_within_bounds_is_found() {
    for desc in descs() {
        let set = SharedHeapSet::new(&desc);
        set.insert(kib(1088), 'a').unwrap();
        (0..20).for_each(|_| set.insert(kib(1024), 'b').unwrap());
        set.insert(kib(1100), 'c').unwrap();
        assert!(set.has_empty_fitting(kib(1088), kib(1088)), "{desc:?}");
        assert_eq!(set.take_empty_fitting(kib(1025), kib(1100)), Some((kib(1088), 'a')), "{desc:?}");
        assert_eq!(set.take_empty_fitting(kib(1025), kib(1099)), None);
    }
}

#[test]
fn a_heap_that_was_inserted_serves_before_a_new_one_and_leaves_with_the_last() {
    for desc in descs() {
        let mut driven = DrivenSet::new(desc);
        let heap = driven.make(kib(512));
        driven.set.insert(kib(512), heap).unwrap();
        // Dedicated heaps are as large as their content.
        let request = unaligned(kib(512));
        assert_eq!(driven.allocate(&request).map(|(heap, _)| heap), Some((1, kib(512))), "{desc:?}");
        let released = driven.free(0);
        let is_default = desc.algorithm() == PlacementAlgorithm::Default;
        assert_eq!(released, usize::from(!is_default), "{desc:?}");
        driven.take_empty(ALL);
        driven.check();
    }
}

#[test]
fn requests_that_want_to_lie_low_lie_in_the_first_heap_at_the_lowest_offset() {
    let mut driven = DrivenSet::new(HeapSetDesc::default());
    let low = |size| PlacementRequest { strategy: Prefer::MinOffset, ..unaligned(ByteSize::new(size)) };
    // Three heaps of 1 MiB each.
    for _ in 0..3 {
        let heap = driven.make(mib(1));
        driven.set.insert(mib(1), heap).unwrap();
        driven.allocate(&unaligned(mib(1))).unwrap();
    }
    while !driven.live.is_empty() {
        driven.free(driven.live.len() - 1);
    }
    // Small enough for a slab, which would start at a multiple of its slot size.
    for (size, start) in [(100, 0), (31, 100), (1000, 131)] {
        let (heap, range) = driven.allocate(&low(size)).unwrap();
        assert_eq!((heap.0, range.start()), (1, HeapOffset::new(start)));
    }
    // A gap is used before the range after it.
    let (heap, range) = driven.allocate(&low(100 << 10)).unwrap();
    assert_eq!((heap.0, range.start()), (1, HeapOffset::new(1131)));
    driven.free(0);
    let (heap, range) = driven.allocate(&low(60)).unwrap();
    assert_eq!((heap.0, range.start()), (1, HeapOffset::ZERO));
    driven.check();
}

#[test]
fn buddy_heaps_are_powers_of_two() {
    let size_of = |preferred, maximum| {
        let desc = by_rule(PlacementRule::buddy_system(preferred, maximum, KIB_64), NONE);
        let set: SharedHeapSet<()> = SharedHeapSet::new(&desc);
        set.new_heap_size(&unaligned(kib(4))).unwrap()
    };
    assert_eq!(size_of(ByteSize::ZERO, ALL), kib(64));
    assert_eq!(size_of(mib(3), ALL), mib(4));
    assert_eq!(size_of(mib(16), mib(9)), mib(8));
    assert_eq!(size_of(ALL, ALL), ByteSize::new(1 << 63));

    let mut driven = DrivenSet::new(buddy(mib(1)));
    for _ in 0..2 {
        for _ in 0..16 {
            driven.allocate(&unaligned(kib(33))).unwrap();
        }
    }
    assert_eq!(driven.made, 2, "sixteen blocks of 64 KiB are in 1 MiB");
    // The first heap has room, but none that is aligned.
    let at_64_kib = |&(_, heap, range): &(_, u32, HeapRange)| (heap, range.start().get()) == (1, 64 << 10);
    driven.free(driven.live.iter().position(at_64_kib).unwrap());
    let pair = |&(_, heap, range): &(_, u32, HeapRange)| heap == 2 && range.start().get() < 128 << 10;
    while let Some(position) = driven.live.iter().position(pair) {
        driven.free(position);
    }
    let aligned = PlacementRequest::new(kib(33), Alignment::new(128 << 10).unwrap());
    assert_eq!(driven.allocate(&aligned).map(|(heap, _)| heap.0), Some(2));
    let one = unaligned(mib(1));
    driven.allocate(&one).unwrap();
    let more = unaligned(ByteSize::new((1 << 20) + 1));
    let refused = PlacementError::NeedsOwnHeap { requested: more.size, largest: mib(1) };
    assert_eq!(driven.set.allocate(&more), Err(refused));
    assert_eq!(driven.set.new_heap_size(&more), Err(refused));
    driven.check();
}

#[test]
fn dedicated_heaps_are_as_large_as_what_is_in_them() {
    let mut driven = DrivenSet::new(dedicated(NONE));
    for (size, heap_size) in [(1, 64), (65_536, 64), (65_537, 128), (709_171_200, 692_608)] {
        let request = unaligned(ByteSize::new(size));
        let (heap, range) = driven.allocate(&request).unwrap();
        assert_eq!((heap.1, range.start()), (kib(heap_size), HeapOffset::ZERO));
    }
    driven.check();
    assert_eq!(driven.free(0), 1);
}

#[test]
fn linear_heaps_are_used_in_a_row() {
    let mut driven = DrivenSet::new(linear(false));
    let request = unaligned(kib(200));
    let heaps: Vec<_> = (0..5).map(|_| driven.allocate(&request).unwrap().0.0).collect();
    assert_eq!(heaps, [1, 1, 2, 2, 3]);
    // Bytes freed below the newest become free when nothing older is live.
    driven.live.sort_by_key(|&(_, heap, range)| (heap, range.start()));
    driven.free(0);
    assert_eq!(driven.allocate(&request).unwrap().0.0, 1);
    let upper = PlacementRequest { upper: true, ..request };
    let refused = driven.set.allocate(&upper).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "linear does not support the upper end; only linear with at most one heap does"
    );
    driven.check();
}

#[test]
fn one_linear_heap_is_a_double_stack_while_something_is_at_its_upper_end_and_else_a_ring() {
    let mut driven = DrivenSet::new(linear(true));
    let lower = unaligned(kib(100));
    let upper = PlacementRequest { upper: true, ..lower };
    let start = |placed: Option<(Heap, HeapRange)>| placed.map(|(_, range)| range.start().get() >> 10);
    assert_eq!(start(driven.allocate(&lower)), Some(0));
    assert_eq!(start(driven.allocate(&upper)), Some(412));
    assert_eq!(start(driven.allocate(&lower)), Some(100));
    assert_eq!(start(driven.allocate(&upper)), Some(312));
    assert_eq!(start(driven.allocate(&lower)), Some(200));
    // 12 KiB are left between the ends.
    assert_eq!((driven.allocate(&lower), driven.allocate(&upper)), (None, None));
    let refused = driven.set.new_heap_size(&upper);
    assert_eq!(refused, Err(PlacementError::OneHeapFull { requested: kib(100) }));
    driven.check();

    // With its front freed, the stack does not wrap while the upper end is in use.
    driven.live.sort_by_key(|&(.., range)| range.start());
    driven.free(0);
    assert_eq!(driven.allocate(&lower), None);
    let top =
        |driven: &DrivenSet| driven.live.iter().position(|(.., range)| range.start().get() >= 312 << 10);
    while let Some(position) = top(&driven) {
        driven.free(position);
    }
    for at in [300, 400, 0] {
        assert_eq!(start(driven.allocate(&lower)), Some(at), "after the newest, then wrapping");
    }
    // While it is wrapped, it has no upper end.
    let small = PlacementRequest { size: ByteSize::new(1), ..upper };
    assert_eq!(driven.allocate(&small), None);
    driven.check();
    assert_eq!((driven.made, driven.heaps.len()), (1, 1));
    while !driven.live.is_empty() {
        driven.free(0);
    }
    assert!(driven.heaps.is_empty());
}

#[test]
fn of_two_heaps_that_threads_made_for_one_linear_set_the_second_is_spare() {
    let set = SharedHeapSet::new(&linear(true));
    let request = unaligned(kib(300));
    assert_eq!(set.allocate_in_new(kib(512), 1, &request).unwrap().heap, 1);
    let full = PlacementError::OneHeapFull { requested: kib(300) };
    assert_eq!(set.allocate_in_new(kib(512), 2, &request), Err(full));
    let small = unaligned(kib(200));
    assert_eq!(set.allocate_in_new(kib(512), 3, &small).unwrap().heap, 1);
    assert_eq!(set.allocate(&request), Ok(None));
    assert_eq!(set.take_empty(ALL).len(), 2);
    set.audit().unwrap();
}

#[test]
fn a_request_that_is_alone_may_waste_a_quarter_of_a_heap_by_the_default_rule_alone() {
    for (desc, is_used) in [(HeapSetDesc::default(), true), (dedicated(NONE), false)] {
        let set = SharedHeapSet::new(&desc);
        set.insert(kib(320), 'a').unwrap();
        let sharing = Sharing::Alone { reusable: true };
        let request = PlacementRequest { sharing, ..unaligned(kib(256)) };
        assert_eq!(set.allocate(&request).unwrap().is_some(), is_used);
    }
}

/// Every algorithm keeps an empty heap by the same rule.
#[test]
fn empty_heaps_leave_by_operations_frames_and_periods() {
    let retention =
        HeapRetention { keeping: Keeping::Operations(6), frames: 2, periods: 2, ..Default::default() };
    let default = HeapSetDesc { retention, slots_up_to: ByteSize::ZERO, ..HeapSetDesc::default() };
    let request = unaligned(kib(512));
    for desc in [vec![default], descs_that_keep()].concat() {
        for is_frame in [true, false] {
            let mut driven = DrivenSet::new(desc);
            let step = if is_frame { Step::Frame } else { Step::Period };
            driven.allocate(&request).unwrap();
            assert_eq!(driven.free(0), 0, "{desc:?}");
            perform(&mut driven, &step);
            driven.allocate(&request).unwrap();
            assert_eq!((driven.made, driven.free(0)), (1, 0), "the heap was kept: {desc:?}");
            perform(&mut driven, &step);
            assert_eq!(driven.heaps.len(), 1);
            perform(&mut driven, &step);
            assert_eq!(driven.heaps.len(), 0);
            driven.check();
        }
        let tally = Arc::<HeapTally>::default();
        let set = SharedHeapSet::with_shared(&desc, Arc::clone(&tally), Arc::default());
        let placed = set.allocate_in_new(kib(512), 1, &request).unwrap();
        assert_eq!(set.free(placed.id).unwrap(), []);
        assert!(tally.take_became_empty());
        let none = SharedHeapSet::with_shared(
            &HeapSetDesc { retention: NONE, ..desc },
            Arc::clone(&tally),
            Arc::default(),
        );
        none.insert(kib(512), 2).unwrap();
        assert!(!tally.became_empty(), "none is kept for a time");
        tally.count_operations(4);
        assert_eq!(set.pass_operations(), []);
        tally.count_operations(2);
        assert_eq!(set.pass_operations(), [1], "{desc:?}");
    }
}

#[test]
fn no_more_empty_heaps_are_held_than_were_once_in_use() {
    let late = HeapRetention { keeping: Keeping::Operations(u64::MAX), ..Default::default() };
    // In units of 64 KiB: 1, 2 and 3 are twice 3 together, so 3 leaves for 4, and 4 for 5.
    for (retention, counts) in [(late, [1; 5]), (HeapRetention::FOR_EVER, [1, 2, 3, 3, 3])] {
        let mut driven = DrivenSet::new(dedicated(retention));
        for (size, count) in (1..).zip(counts) {
            driven.allocate(&unaligned(kib(64 * size))).unwrap();
            driven.free(0);
            assert_eq!(driven.heaps.len(), count, "{retention:?}: {size}");
        }
    }
}

#[test]
fn a_heap_that_a_better_one_makes_superfluous_is_put_back() {
    let set: SharedHeapSet<Heap> = SharedHeapSet::new(&HeapSetDesc::default());
    // A small empty heap, and a large heap that contains only an empty slab: the lane keeps its surplus slab
    // while something else is live in that lane.
    let slot = unaligned(ByteSize::new(200));
    let other = unaligned(ByteSize::new(3000));
    let kept = set.allocate_in_new(kib(64), (1, kib(64)), &other).unwrap();
    let gone = set.allocate_in_new(mib(4), (2, mib(4)), &slot).unwrap();
    set.insert(kib(128), (3, kib(128))).unwrap();
    assert!(set.free(gone.id).unwrap().is_empty());
    let totals = set.totals();
    assert_eq!((totals.empty_heap_count, totals.empty), (1, kib(128)), "a heap with a slab is not empty");
    assert_eq!(set.take_empty(mib(4)), [(mib(4), (2, mib(4)))]);
    assert_eq!(set.totals().empty, kib(128));
    set.audit().unwrap();
    assert_eq!(set.take_empty(ALL), [(kib(128), (3, kib(128)))]);
    set.free(kept.id).unwrap();
}
