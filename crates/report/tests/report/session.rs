//! Histories of sessions, and their pages.

use heapwright::report::AllocationKind;
use heapwright_report::session::{
    Block, BudgetSummary, GroupName, HistoryBuilder, Paging, PlacementSource, SessionHistory, SessionTitle,
    Submission, write_session_html,
};
use heapwright_trace::session::{
    Action, Allocation, Counter, Description, Heap, HeapType, Placement, PlacementReason, Record,
    ResourceKind,
};
use proptest::prelude::*;

use crate::html;

fn allocation(id: u64, size: u64) -> Allocation {
    let (kind, heap_type) = (ResourceKind::Buffer, HeapType::Default);
    Allocation { id, size, kind, heap_type, flags: 0, name: Some(format!("buffer {id}").into()) }
}

fn heap(id: u64, size: u64) -> Heap {
    Heap { id, size, alignment: 0, heap_type: HeapType::Default, flags: 0, name: None }
}

fn history(actions: impl IntoIterator<Item = Action>) -> SessionHistory {
    let mut builder = HistoryBuilder::new();
    for (time_us, action) in (0..).step_by(10).zip(actions) {
        builder.push(&Record { time_us, action }).unwrap();
    }
    builder.finish()
}

/// Two heaps; an allocation moves from one to the other.
fn sample() -> Vec<Action> {
    vec![
        Action::CreateHeap(heap(7, 100)),
        Action::Allocate(allocation(1, 20)),
        Action::Place { allocation: 1, heap: 7, offset: 10 },
        Action::CreateHeap(heap(9, 50)),
        Action::DefineSet { set: 3, heaps: vec![7, 9, 7] },
        Action::Submit { queue: 2, fence_value: 1, sets: vec![3] },
        Action::Place { allocation: 1, heap: 9, offset: 30 },
        Action::DestroyHeap { heap: 7 },
        Action::Allocate(allocation(2, 5)),
        Action::Free { allocation: 1 },
    ]
}

#[test]
fn a_history_has_every_place_and_lifetime() {
    let history = history(sample());
    // Allocation, submission, move, allocation, free.
    assert_eq!(history.times_us, [10, 50, 60, 80, 90]);
    let blocks: Vec<_> = history
        .blocks
        .iter()
        .map(|block| (block.id, block.heap, block.offset, block.start, block.end))
        .collect();
    assert_eq!(blocks, [(1, Some(0), 10, 0, 2), (1, Some(1), 30, 2, 4), (2, None, 0, 3, 5)]);
    let heaps: Vec<_> = history.heaps.iter().map(|heap| (heap.id, heap.start, heap.end)).collect();
    assert_eq!(heaps, [(7, 0, 3), (9, 1, 5)]);
    assert_eq!(history.submissions, [Submission { moment: 1, queue: 2, bytes: 150 }]);
    assert_eq!(history.used(), [20, 20, 20, 25, 5]);
    assert_eq!(history.reserved(), [100, 150, 150, 50, 50]);
    // Free: 10 and 70; with the second heap 50 more; then 100, and 30 and 0; then 30; then 50.
    assert_eq!(history.scattered, [10, 10, 0, 0, 0]);
    assert_eq!((history.allocation_count, history.unknown_references), (2, 0));
    assert!(history.has_placements);
    let sums = history.summary();
    assert_eq!(
        (sums.peak_used_bytes, sums.peak_event, sums.peak_reserved_bytes, sums.end_used_bytes),
        (25, 4, 150, 5)
    );
    assert_eq!((sums.duration_us, sums.heaps, sums.submissions), (80, 2, 1));
}

/// Memory of which a reserved resource has tiles is shown as these tiles.
#[test]
fn mapped_tiles_are_blocks_of_their_resource() {
    const TILE: u64 = 65536;
    let reserve = |resource, name: &str| {
        let kind = ResourceKind::Texture;
        Action::Reserve { resource, tiles: 9, kind, name: Some(name.into()) }
    };
    let map = |resource, first, count, memory| Action::MapTiles { resource, first, count, memory };
    let actions = [
        Action::CreateHeap(heap(7, 10 * TILE)),
        Action::Allocate(allocation(1, 8 * TILE)),
        Action::Place { allocation: 1, heap: 7, offset: 2 * TILE },
        reserve(20, "map"),
        reserve(21, "sky"),
        map(20, 0, 4, Some((1, 0))),
        map(21, 5, 1, Some((1, 4))),
        // The middle goes, and the end moves.
        map(20, 1, 2, None),
        map(20, 3, 1, Some((1, 7))),
        Action::Unreserve { resource: 21 },
        // What does not exist is counted.
        map(21, 0, 1, None),
        map(20, 8, 1, Some((99, 0))),
    ];
    let history = history(actions);
    let in_tiles = |block: &Block| (block.id, block.offset / TILE, block.size / TILE);
    let blocks = history.blocks.iter().map(|block| (in_tiles(block), block.start, block.end));
    let blocks: Vec<_> = blocks.collect();
    let end = u32::try_from(history.times_us.len()).unwrap();
    assert_eq!(
        blocks,
        [
            ((20, 2, 4), 1, 3),
            ((21, 6, 1), 2, 5),
            ((20, 2, 1), 3, end),
            ((20, 5, 1), 3, 4),
            ((20, 9, 1), 4, end)
        ]
    );
    assert!(history.blocks.iter().all(|block| block.heap == Some(0)));
    let names: Vec<&str> = history.blocks.iter().map(|block| &*block.name).collect();
    assert_eq!(names, ["map", "sky", "map", "map", "map"]);
    let used: Vec<u64> = history.used().iter().map(|bytes| bytes / TILE).collect();
    assert_eq!(used[..6], [0, 4, 5, 3, 3, 2]);
    let sums = history.summary();
    assert_eq!((sums.reserved_resources, sums.allocations), (2, 1));
    assert_eq!((sums.peak_mapped_bytes / TILE, sums.end_mapped_bytes / TILE), (5, 2));
    // Tiles 0 and 7 of the memory are mapped, between two tiles before it.
    assert_eq!(history.scattered.last(), Some(&(2 * TILE)));
    assert_eq!(history.unknown_references, 2);
    page_of("tiles", &history);
}

/// All sets of the submission together would have 2^32 heaps.
#[test]
fn a_heap_that_a_submission_names_often_counts_once() {
    const COUNT: u64 = 1 << 16;
    let count = usize::try_from(COUNT).unwrap();
    let submit = |sets| Action::Submit { queue: 2, fence_value: 1, sets };
    let created = (0..COUNT).map(|id| Action::CreateHeap(heap(id, 3)));
    let history = history(created.chain([
        Action::DefineSet { set: 1, heaps: (0..COUNT).collect() },
        Action::DefineSet { set: 2, heaps: vec![5, 6, 5, COUNT] },
        submit(vec![1; count]),
        submit([2, 1].repeat(count / 2)),
        Action::DestroyHeap { heap: 5 },
        submit(vec![2, 2]),
        submit(vec![1, 2]),
    ]));
    let bytes: Vec<u64> = history.submissions.iter().map(|submission| submission.bytes).collect();
    assert_eq!(bytes, [3 * COUNT, 3 * COUNT, 3, 3 * (COUNT - 1)]);
    assert_eq!(
        history.unknown_references, 3,
        "a heap that never existed, and one that is gone in two submissions"
    );
}

#[test]
fn names_paging_and_budgets_are_those_of_the_records() {
    let history = history([
        Action::CreateHeap(heap(7, 100)),
        Action::Count { counter: Counter::LocalBudget, value: 500 },
        Action::Allocate(allocation(1, 20)),
        Action::Name { allocation: 1, name: "shadow map".into() },
        Action::Evict { heap: 7 },
        Action::Count { counter: Counter::LocalUsage, value: 3 },
        Action::MakeResident { heap: 7 },
        Action::Name { allocation: 2, name: "nothing".into() },
        Action::Evict { heap: 8 },
    ]);
    assert_eq!(&*history.blocks[0].name, "shadow map");
    let paging: Vec<_> =
        history.paging.iter().map(|event| (event.moment, event.heap, event.paging)).collect();
    assert_eq!(paging, [(1, 0, Paging::Evict), (2, 0, Paging::MakeResident)]);
    assert_eq!((&*history.groups[0].budget, &*history.groups[0].usage), (&[(0, 500)][..], &[(1, 3)][..]));
    assert_eq!(history.unknown_references, 2);
}

fn count(counter: Counter, value: u64) -> Action {
    Action::Count { counter, value }
}

/// Heaps of both groups together exceed either budget, and each group keeps its own.
#[test]
fn each_segment_group_is_compared_with_its_own_budget() {
    let upload = Heap { heap_type: HeapType::Upload, ..heap(8, 90) };
    let recorded = |usages: [u64; 2]| {
        history([
            Action::CreateHeap(heap(7, 80)),
            Action::CreateHeap(upload.clone()),
            Action::Allocate(allocation(1, 20)),
            count(Counter::LocalBudget, 100),
            count(Counter::LocalUsage, usages[0]),
            count(Counter::NonLocalBudget, 120),
            count(Counter::NonLocalUsage, usages[1]),
            Action::Evict { heap: 7 },
        ])
        .budgets()
    };
    use GroupName::{Local, NonLocal};
    let kept = |segment_group, least_left_bytes, most_others_bytes| BudgetSummary {
        segment_group,
        is_kept: true,
        exceeded_bytes: 0,
        first_exceeded_event: None,
        least_left_bytes,
        most_others_bytes,
    };
    assert_eq!(recorded([95, 90]), [kept(Local, 5, 15), kept(NonLocal, 30, 0)]);
    // An application of which all heaps are UPLOAD.
    assert_eq!(recorded([0, 90]), [kept(Local, 100, 0), kept(NonLocal, 30, 0)]);
    let exceeded = BudgetSummary {
        is_kept: false,
        exceeded_bytes: 7,
        first_exceeded_event: Some(1),
        ..kept(NonLocal, 0, 37)
    };
    assert_eq!(recorded([95, 127]), [kept(Local, 5, 15), exceeded]);
}

/// Without usage, the resident heaps of the group are compared.
#[test]
fn a_budget_without_usage_is_that_of_the_groups_heaps() {
    let upload = Heap { heap_type: HeapType::Upload, ..heap(8, 90) };
    let budgets = history([
        Action::CreateHeap(heap(7, 80)),
        Action::CreateHeap(upload),
        count(Counter::LocalBudget, 100),
        Action::Allocate(allocation(1, 20)),
        Action::CreateHeap(heap(9, 30)),
        Action::Evict { heap: 7 },
        Action::MakeResident { heap: 7 },
        Action::Free { allocation: 1 },
    ])
    .budgets();
    let expected = BudgetSummary {
        segment_group: GroupName::Local,
        is_kept: false,
        exceeded_bytes: 10,
        first_exceeded_event: Some(3),
        least_left_bytes: 0,
        most_others_bytes: 0,
    };
    assert_eq!(budgets, [expected]);
}

#[test]
fn kinds_and_pools_are_those_of_the_records() {
    let texture =
        |id, flags| Action::Allocate(Allocation { kind: ResourceKind::Texture, flags, ..allocation(id, 20) });
    let history = history([
        Action::CreatePool { pool: 6, options: Vec::new() },
        Action::CreatePool { pool: 9, options: Vec::new() },
        Action::Allocate(allocation(1, 20)),
        Action::UsePool { allocation: 1, pool: 9 },
        texture(2, 0),
        // ALLOW_RENDER_TARGET.
        texture(3, 1),
        texture(4, 1),
        Action::Describe(Box::new(Description { allocation: 4, sample_count: 4, ..description() })),
        Action::Reason { allocation: 4, reason: PlacementReason::OutOfMemory },
        Action::UsePool { allocation: 4, pool: 7 },
    ]);
    let found: Vec<_> = history.blocks.iter().map(|block| (block.kind, block.pool)).collect();
    use AllocationKind::{Buffer, Multisampled, RenderTarget, Texture};
    assert_eq!(found, [(Buffer, 2), (Texture, 0), (RenderTarget, 0), (Multisampled, 0)]);
    assert_eq!(history.pools, ["pool 6".into(), "pool 9".into()]);
    let placed: Vec<_> = history.blocks.iter().map(|block| (block.placement, block.reason)).collect();
    let multisampled = (Some(Placement::SharedHeap), Some(PlacementReason::OutOfMemory));
    assert_eq!(placed[2..], [(None, None), multisampled]);
}

fn description() -> Description {
    Description {
        allocation: 0,
        placement: Some(Placement::SharedHeap),
        allocation_flags: 0,
        heap_flags: 0,
        padding: 0,
        strategy: 0,
        initial_state: 0,
        dimension: 3,
        alignment: 0,
        width: 1,
        height: 1,
        depth_or_array_size: 1,
        mip_levels: 1,
        format: 28,
        sample_count: 1,
        sample_quality: 0,
        layout: 0,
    }
}

#[test]
fn references_to_nothing_are_counted_and_ignored() {
    let history = history([
        Action::Free { allocation: 1 },
        Action::Place { allocation: 1, heap: 1, offset: 0 },
        Action::DestroyHeap { heap: 1 },
        Action::Submit { queue: 0, fence_value: 1, sets: vec![4] },
        Action::Allocate(allocation(1, 8)),
        // The id is in use.
        Action::Allocate(allocation(1, 16)),
        Action::CreateHeap(heap(1, 100)),
        Action::CreateHeap(heap(1, 200)),
    ]);
    assert_eq!(history.unknown_references, 6);
    assert_eq!(history.used(), [0, 0, 8, 16, 16]);
    assert_eq!(history.reserved(), [0, 0, 0, 0, 200]);
}

#[test]
fn paging_has_moments() {
    let mut builder = HistoryBuilder::new();
    builder.create_heap(&heap(1, 100)).unwrap();
    builder.page(1, Paging::Evict).unwrap();
    builder.page(2, Paging::Evict).unwrap();
    builder.page(1, Paging::MakeResident).unwrap();
    let history = builder.finish();
    let paging: Vec<_> =
        history.paging.iter().map(|event| (event.moment, event.heap, event.paging)).collect();
    assert_eq!(paging, [(0, 0, Paging::Evict), (1, 0, Paging::MakeResident)]);
    assert_eq!(history.unknown_references, 1);
}

#[test]
fn sizes_beyond_64_bits_do_not_overflow() {
    let huge = [
        Action::CreateHeap(heap(1, u64::MAX)),
        Action::CreateHeap(heap(2, u64::MAX)),
        Action::Allocate(allocation(1, u64::MAX)),
        Action::Place { allocation: 1, heap: 1, offset: u64::MAX },
        Action::Allocate(allocation(2, u64::MAX)),
    ];
    let history = history(huge);
    assert_eq!(history.used(), [u64::MAX, u64::MAX]);
    assert_eq!(history.reserved(), [u64::MAX, u64::MAX]);
    page_of("huge", &history);
}

/// Returns the page, which must be well-formed and load nothing.
#[track_caller]
fn page_of(name: &str, history: &SessionHistory) -> (String, html::Page) {
    let placements = PlacementSource::Replayed { device: "<b>GPU</b>".to_owned() };
    let title = SessionTitle {
        name,
        format: "CSV",
        placements: &placements,
        is_truncated: true,
        is_followed: false,
        facts: &[],
    };
    let mut page = Vec::new();
    write_session_html(&title, history, &mut page).unwrap();
    let text = String::from_utf8(page).unwrap();
    for word in
        ["http:", "https:", "url(", "@import", "innerHTML", "insertAdjacentHTML", "document.write", "eval("]
    {
        assert!(!text.contains(word), "{word}");
    }
    let parsed = html::parse(&text).unwrap_or_else(|error| panic!("{error}"));
    (text, parsed)
}

#[test]
fn the_page_of_the_sample() {
    let (text, page) = page_of("</title><script>x</script>", &history(sample()));
    assert_eq!(page.scripts.len(), 2);
    for words in [
        "</title><script>x</script>",
        "<b>GPU</b>",
        "The session has no end",
        "Budgets and residency were not recorded",
    ] {
        assert!(page.text.contains(words), "{words}: {}", page.text);
    }
    assert!(text.contains("default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-"));
    let data: serde_json::Value = serde_json::from_str(&page.scripts[0]).unwrap();
    assert_eq!(data["counts"]["moments"], 5);
    assert_eq!(data["counts"]["blocks"], 3);
    // Differences 10, 40, 10, 20, 10 as zigzag integers.
    assert_eq!(data["times"], "FFAUKBQ=");
    assert_eq!(data["blocks"]["names"], serde_json::json!(["", "buffer 1", "buffer 2"]));
    assert_eq!(page_of("x", &history(sample())).0, page_of("x", &history(sample())).0);
}

#[test]
fn a_history_without_events_has_a_page() {
    let history = history([]);
    assert_eq!(history.summary().events, 0);
    page_of("nothing", &history);
}

proptest! {
    /// The model keeps lists and sums them up after each action.
    #[test]
    fn sums_match_a_model(actions in proptest::collection::vec((0_u8..5, 0_u64..6, 0_u64..100), 0..80)) {
        let mut builder = HistoryBuilder::new();
        let (mut live, mut heaps) = (Vec::new(), Vec::new());
        let mut expected = Vec::new();
        for (number, (what, id, size)) in (0_u64..).zip(actions) {
            let is_live = live.iter().any(|&(other, _)| other == id);
            let has_heap = heaps.iter().any(|&(other, _)| other == id);
            let action = match what {
                0 if !is_live => {
                    live.push((id, size + 1));
                    Action::Allocate(allocation(id, size + 1))
                }
                1 if is_live => {
                    live.retain(|&(other, _)| other != id);
                    Action::Free { allocation: id }
                }
                2 if !has_heap => {
                    heaps.push((id, size));
                    Action::CreateHeap(heap(id, size))
                }
                3 if has_heap => {
                    heaps.retain(|&(other, _)| other != id);
                    Action::DestroyHeap { heap: id }
                }
                _ => Action::Submit { queue: 0, fence_value: number, sets: Vec::new() },
            };
            let is_moment = !matches!(action, Action::CreateHeap(_) | Action::DestroyHeap { .. });
            builder.push(&Record { time_us: number, action }).unwrap();
            let sum = |list: &[(u64, u64)]| list.iter().map(|&(_, size)| size).sum::<u64>();
            if is_moment {
                expected.push((sum(&live), sum(&heaps)));
            }
        }
        let history = builder.finish();
        let found: Vec<(u64, u64)> = history.used().into_iter().zip(history.reserved()).collect();
        prop_assert_eq!(&found[..expected.len()], &expected[..]);
        // At most one moment more, for heaps after the last event.
        prop_assert!(found.len() <= expected.len() + 1);
        prop_assert_eq!(history.unknown_references, 0);
    }
}

proptest! {
    /// Whatever a file claims, the history is consistent and has a page.
    #[test]
    fn any_records_have_a_history(
        records in proptest::collection::vec((0_u8..8, 0_u64..4, 0_u64..4, any::<u64>(), any::<u64>()), 0..60)
    ) {
        let history = history(records.into_iter().map(|(what, id, other, size, offset)| {
            // Small numbers overlap, large ones overflow.
            let [size, offset] = [size, offset].map(|number| if number % 3 == 0 { number } else { number % 64 });
            match what {
                0 | 1 => Action::Allocate(allocation(id, size.max(1))),
                2 => Action::Free { allocation: id },
                3 => Action::CreateHeap(heap(id, size)),
                4 => Action::DestroyHeap { heap: id },
                5 => Action::DefineSet { set: id, heaps: vec![other, id] },
                6 => Action::Submit { queue: id, fence_value: size, sets: vec![other] },
                _ => Action::Place { allocation: id, heap: other, offset },
            }
        }));
        let end = u32::try_from(history.times_us.len()).unwrap();
        prop_assert!(history.blocks.iter().all(|block| block.start < block.end && block.end <= end));
        prop_assert!(history.blocks.is_sorted_by_key(|block| block.start));
        prop_assert!(history.heaps.iter().all(|heap| heap.start <= heap.end && heap.end <= end));
        prop_assert!((0.0..=1.0).contains(&history.end_fragmentation));
        prop_assert_eq!(history.scattered.len(), history.times_us.len());
        let mut page = Vec::new();
        let title = SessionTitle { name: "any", format: "session", placements: &PlacementSource::Recorded, is_truncated: false, is_followed: false, facts: &[] };
        write_session_html(&title, &history, &mut page).unwrap();
    }
}
