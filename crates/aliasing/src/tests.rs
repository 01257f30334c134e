//! Random instances, compared with all packings.

use proptest::prelude::*;

use super::*;
use heapwright_core::{Alignment, ByteSize, HeapOffset};

/// A buffer with its lifetime, as numbers.
type Row = (u64, u32, Option<u64>, Vec<Interval>);

fn instance(rows: &[Row]) -> Result<Instance, InstanceError> {
    let buffers = rows.iter().map(|&(size, log2, fixed, _)| Buffer {
        alignment: Alignment::from_log2(log2).unwrap(),
        fixed_offset: fixed.map(|offset| HeapOffset::new(offset << log2)),
        ..Buffer::new(ByteSize::new(size))
    });
    Instance::with_intervals(buffers.collect(), rows.iter().map(|row| row.3.clone()).collect())
}

/// Finds the lowest height: places the buffers in every order, each as low as its conflicts permit. Without fixed
/// offsets, some order leads to a lowest packing.
fn lowest(instance: &Instance) -> u64 {
    fn place(instance: &Instance, offsets: &mut Vec<Option<u64>>, height: u64, best: &mut u64) {
        if height >= *best {
            return;
        }
        if offsets.iter().all(Option::is_some) {
            *best = height;
            return;
        }
        for buffer in 0..offsets.len() {
            if offsets[buffer].is_some() {
                continue;
            }
            let desc = instance.buffers()[buffer];
            let below =
                (0..offsets.len()).filter(|&other| instance.conflict(buffer, other)).filter_map(|other| {
                    offsets[other].map(|offset| offset + instance.buffers()[other].size.get())
                });
            let offset = below.max().unwrap_or(0).next_multiple_of(desc.alignment.get());
            offsets[buffer] = Some(offset);
            place(instance, offsets, height.max(offset + desc.size.get()), best);
            offsets[buffer] = None;
        }
    }
    let mut best = u64::MAX;
    place(instance, &mut vec![None; instance.buffers().len()], 0, &mut best);
    best
}

/// Finds the lowest height with fixed offsets: tries every offset.
fn lowest_with_fixed(instance: &Instance) -> u64 {
    fn place(instance: &Instance, offsets: &mut Vec<u64>, height: u64, best: &mut u64) {
        let buffer = offsets.len();
        if height >= *best {
            return;
        }
        let Some(desc) = instance.buffers().get(buffer) else {
            *best = height;
            return;
        };
        let all: Vec<u64> = match desc.fixed_offset {
            Some(offset) => vec![offset.get()],
            None => (0..*best).step_by(usize::try_from(desc.alignment.get()).unwrap()).collect(),
        };
        for offset in all {
            let end = offset + desc.size.get();
            let free = (0..buffer).all(|other| {
                !instance.conflict(buffer, other)
                    || offsets[other] >= end
                    || offsets[other] + instance.buffers()[other].size.get() <= offset
            });
            if free {
                offsets.push(offset);
                place(instance, offsets, height.max(end), best);
                offsets.pop();
            }
        }
    }
    let fixed = instance.buffers().iter().filter_map(|desc| Some(desc.fixed_offset?.get() + desc.size.get()));
    let mut best =
        fixed.max().unwrap_or(0) + instance.buffers().iter().map(|desc| desc.size.get() + 8).sum::<u64>();
    place(instance, &mut Vec::new(), 0, &mut best);
    best
}

fn intervals() -> impl Strategy<Value = Vec<Interval>> {
    let piece = (0_i64..6, 1_i64..5);
    let several = proptest::collection::vec(piece, 1..3);
    several.prop_map(|pieces| {
        let mut start = 0;
        let mut intervals = Vec::new();
        for (wait, length) in pieces {
            intervals.push(Interval { lower: start + wait, upper: start + wait + length });
            start += wait + length + 1;
        }
        intervals
    })
}

fn rows(count: std::ops::Range<usize>, largest: u64) -> impl Strategy<Value = Vec<Row>> {
    let row = (1..largest, prop_oneof![5 => Just(0_u32), 1 => 1_u32..3], Just(None), intervals());
    proptest::collection::vec(row, count)
}

fn solved(instance: &Instance, steps: u64) -> Packing {
    let packing = solve(instance, &SolveOptions { steps, ..SolveOptions::default() }, &mut || false);
    assert_eq!(check(instance, &packing.offsets), Ok(packing.height));
    assert!(instance.load().size <= packing.lower_bound && packing.lower_bound <= packing.height);
    assert_eq!(packing.proved, packing.lower_bound == packing.height);
    packing
}

/// Returns the instance with offsets as hints.
fn hinted(instance: &Instance, offsets: &[HeapOffset]) -> Instance {
    let mut instance = instance.clone();
    for (buffer, &offset) in instance.buffers.iter_mut().zip(offsets) {
        buffer.hint = Some(offset);
    }
    instance
}

#[test]
fn a_buffer_moves_where_it_takes_memory_from_fewer() {
    let row = |lower, offset| (Interval { lower, upper: lower + 1 }, HeapOffset::new(offset));
    // The third one lies across the first and the second, which it could have one of.
    let rows = [row(0, 0), row(0, 2), row(1, 1)];
    for (hints, pairs) in [(false, 2), (true, 4)] {
        let buffer =
            |(_, offset)| Buffer { hint: Some(offset).filter(|_| hints), ..Buffer::new(ByteSize::new(2)) };
        let lives = rows.map(|(life, _)| vec![life]);
        let instance = Instance::with_intervals(rows.map(buffer).into(), lives.into()).unwrap();
        let offsets = rows.map(|(_, offset)| offset).into();
        let mut packing = Packing { offsets, height: ByteSize::new(4), ..solved(&instance, 0) };
        assert_eq!(aliasing_pairs(&instance, &packing), 4);
        assert_eq!(reduce_aliasing_pairs(&instance, &mut packing, 100, &mut || false), pairs);
        assert_eq!(aliasing_pairs(&instance, &packing), pairs);
        assert!(check(&instance, &packing.offsets).unwrap() <= packing.height);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 60 }))]

    /// With several threads, a number of steps decides about the result, and the packing is one.
    #[test]
    fn threads_agree(rows in rows(10..30, 50), threads in 2_usize..5) {
        let instance = instance(&rows).unwrap();
        let threads = std::num::NonZero::new(threads).unwrap();
        let options = SolveOptions { steps: 3000, threads, ..SolveOptions::default() };
        let [packing, again] = [(); 2].map(|()| solve(&instance, &options, &mut || false));
        prop_assert_eq!(check(&instance, &packing.offsets), Ok(packing.height));
        prop_assert!(packing.steps <= 3000 && instance.load().size <= packing.lower_bound);
        prop_assert_eq!(&packing, &again);
        let alone = solved(&instance, 3000);
        prop_assert!(packing.lower_bound <= alone.height && alone.lower_bound <= packing.height);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 200 }))]

    /// A plan that is replanned with a change of one buffer keeps all others, if the slack permits it; without a change
    /// it stays as it is.
    #[test]
    fn hints_are_kept_within_the_slack(rows in rows(2..20, 30), changed in 0_usize..20, slack in 0_u32..1200) {
        let mut rows = rows;
        let before = instance(&rows).unwrap();
        let old = solved(&before, 10);
        let options = SolveOptions { steps: 2000, hint_slack_permille: slack, ..SolveOptions::default() };
        let within = |packing: &Packing, instance: &Instance| {
            let load = u128::from(instance.load().size.get());
            u128::from(packing.height.get()) * 1000 <= load * u128::from(1000 + slack)
        };
        let same = solve(&hinted(&before, &old.offsets), &options, &mut || false);
        prop_assert_eq!(check(&before, &same.offsets), Ok(same.height));
        prop_assert!(same.height <= old.height);
        if within(&old, &before) {
            prop_assert_eq!(&same.offsets, &old.offsets);
        }
        // A smaller buffer fits where it was, so all others can stay.
        let changed = changed % rows.len();
        rows[changed].0 = rows[changed].0.div_ceil(2);
        let after = instance(&rows).unwrap();
        let packing = solve(&hinted(&after, &old.offsets), &options, &mut || false);
        prop_assert_eq!(check(&after, &packing.offsets), Ok(packing.height));
        if within(&old, &after) {
            prop_assert_eq!(&packing.offsets, &old.offsets);
        }
    }

    #[test]
    fn packings_are_the_lowest(rows in rows(1..8, 9)) {
        let instance = instance(&rows).unwrap();
        let packing = solved(&instance, u64::MAX);
        prop_assert!(packing.proved);
        prop_assert_eq!(packing.height.get(), lowest(&instance));
    }

    #[test]
    fn equal_buffers_are_packed_the_lowest(
        lives in proptest::collection::vec(intervals(), 2..4),
        choice in proptest::collection::vec((0_usize..4, 1_u64..4), 2..8),
    ) {
        let rows: Vec<Row> =
            choice.iter().map(|&(life, size)| (size, 0, None, lives[life % lives.len()].clone())).collect();
        let instance = instance(&rows).unwrap();
        let packing = solved(&instance, u64::MAX);
        prop_assert_eq!((packing.proved, packing.height.get()), (true, lowest(&instance)));
    }

    #[test]
    fn fixed_offsets_are_kept(
        rows in rows(1..5, 4),
        fixed in proptest::collection::vec(proptest::option::weighted(0.3, 0_u64..6), 6),
    ) {
        let rows: Vec<Row> = rows.into_iter().zip(fixed).map(|(row, fixed)| (row.0, row.1, fixed, row.3)).collect();
        if let Ok(instance) = instance(&rows) {
            let packing = solved(&instance, u64::MAX);
            prop_assert_eq!((packing.proved, packing.height.get()), (true, lowest_with_fixed(&instance)));
        }
    }

    #[test]
    fn an_order_of_intervals_is_packed_as_the_intervals(rows in rows(1..8, 9)) {
        let rows: Vec<Row> = rows.into_iter().map(|row| (row.0, row.1, row.2, row.3[..1].to_vec())).collect();
        let by_time = instance(&rows).unwrap();
        let before = |a: usize, b: usize| rows[a].3[0].upper <= rows[b].3[0].lower;
        let by_order = Instance::with_order(by_time.buffers().to_vec(), before).unwrap();
        prop_assert_eq!(solved(&by_time, u64::MAX).height, solved(&by_order, u64::MAX).height);
    }

    #[test]
    fn an_order_is_packed_the_lowest(
        rows in rows(1..8, 9),
        edges in proptest::collection::vec((0_usize..8, 0_usize..8), 0..16),
    ) {
        // The transitive closure of random edges from lower to higher numbers.
        let mut before = [[false; 8]; 8];
        for (a, b) in edges {
            before[a.min(b)][a.max(b)] |= a != b;
        }
        for (middle, first, last) in
            (0..8).flat_map(|middle| (0..64).map(move |pair| (middle, pair / 8, pair % 8)))
        {
            before[first][last] |= before[first][middle] && before[middle][last];
        }
        let buffers = instance(&rows).unwrap().buffers().to_vec();
        let instance = Instance::with_order(buffers, |a, b| before[a][b]).unwrap();
        let packing = solved(&instance, u64::MAX);
        prop_assert_eq!((packing.proved, packing.height.get()), (true, lowest(&instance)));
    }

    #[test]
    fn few_steps_suffice_for_some_packing_and_repeat_it(rows in rows(1..40, 1000), steps in 0_u64..200) {
        let instance = instance(&rows).unwrap();
        let packing = solved(&instance, steps);
        prop_assert!(packing.steps <= steps);
        prop_assert_eq!(&packing, &solved(&instance, steps));
    }

    /// Hints lead to heights that are no multiples of the sizes' common factor.
    #[test]
    fn hints_do_not_hide_lower_packings(
        rows in rows(1..8, 5),
        hints in proptest::collection::vec(0_u64..60, 8),
    ) {
        let scaled = |(row, hint): (&Row, u64)| Buffer {
            hint: Some(HeapOffset::new(hint)),
            ..Buffer::new(ByteSize::new(4 * row.0))
        };
        let buffers = rows.iter().zip(hints).map(scaled).collect();
        let lives = rows.iter().map(|row| row.3.clone()).collect();
        let instance = Instance::with_intervals(buffers, lives).unwrap();
        let packing = solved(&instance, u64::MAX);
        prop_assert_eq!((packing.proved, packing.height.get()), (true, lowest(&instance)));
    }

    #[test]
    fn moves_make_fewer_pairs_in_the_same_height(rows in rows(1..14, 9)) {
        let instance = instance(&rows).unwrap();
        let mut packing = solved(&instance, 500);
        let before = (packing.height, aliasing_pairs(&instance, &packing));
        let pairs = reduce_aliasing_pairs(&instance, &mut packing, 100, &mut || false);
        prop_assert!(check(&instance, &packing.offsets).unwrap() <= before.0);
        prop_assert!(pairs <= before.1);
        prop_assert_eq!(pairs, aliasing_pairs(&instance, &packing));
    }

    #[test]
    fn the_check_finds_what_pairs_find(
        rows in rows(1..12, 9),
        offsets in proptest::collection::vec(0_u64..30, 12),
    ) {
        let instance = instance(&rows).unwrap();
        let offsets: Vec<HeapOffset> =
            rows.iter().zip(offsets).map(|(row, offset)| HeapOffset::new(offset >> row.1 << row.1)).collect();
        let ends: Vec<u64> = rows.iter().zip(&offsets).map(|(row, offset)| offset.get() + row.0).collect();
        let overlap = (0..rows.len()).any(|a| (0..a).any(|b| {
            instance.conflict(a, b) && offsets[a].get() < ends[b] && offsets[b].get() < ends[a]
        }));
        let expected = ends.iter().copied().max().map(ByteSize::new);
        prop_assert_eq!(check(&instance, &offsets).ok(), expected.filter(|_| !overlap));
    }
}

/// Hints are not limited: the ends of these buffers overflow, or sums of them would.
#[test]
fn impossible_hints_are_ignored() {
    let mut instance = instance(&vec![(64, 0, None, vec![Interval { lower: 0, upper: 2 }]); 3]).unwrap();
    for (buffer, hint) in instance.buffers.iter_mut().zip([u64::MAX - 7, u64::MAX - 64, 1 << 62]) {
        buffer.hint = Some(HeapOffset::new(hint));
    }
    let all = ByteSize::new(u64::MAX);
    for (capacity, hint_slack_permille) in [(Some(all), 0), (None, u32::MAX), (None, 0)] {
        let options = SolveOptions { capacity, hint_slack_permille, ..SolveOptions::default() };
        let packing = solve(&instance, &options, &mut || false);
        assert_eq!(
            (check(&instance, &packing.offsets), packing.height),
            (Ok(packing.height), ByteSize::new(192))
        );
    }
}

/// Cuts a rectangle of memory and time into pieces that fill it, so that the load is the lowest height.
fn cut(pieces: usize, seed: u64) -> Vec<Row> {
    let mut random = search::Random::new(seed);
    // Lower and upper time, bottom and top.
    let mut rectangles = vec![(0_i64, 1000_i64, 0_u64, 1000_u64)];
    while rectangles.len() < pieces {
        let number = usize::try_from(random.next_below(rectangles.len() as u64)).unwrap();
        let (lower, upper, bottom, top) = rectangles[number];
        if random.next_below(2) == 0 && upper - lower > 20 {
            let at =
                lower + 10 + i64::try_from(random.next_below((upper - lower - 19).unsigned_abs())).unwrap();
            rectangles[number] = (lower, at, bottom, top);
            rectangles.push((at, upper, bottom, top));
        } else if top - bottom > 20 {
            let at = bottom + 10 + random.next_below(top - bottom - 19);
            rectangles[number] = (lower, upper, bottom, at);
            rectangles.push((lower, upper, at, top));
        }
    }
    let row = |(lower, upper, bottom, top)| (top - bottom, 0, None, vec![Interval { lower, upper }]);
    rectangles.into_iter().map(row).collect()
}

#[test]
fn what_was_cut_from_a_rectangle_fills_it_again() {
    for seed in 1..if cfg!(miri) { 2 } else { 40 } {
        let packing = solved(&instance(&cut(24, seed)).unwrap(), 200_000);
        assert_eq!((packing.height.get(), packing.proved), (1000, true), "{seed}");
    }
}

#[test]
fn wrong_input_is_refused_with_the_buffer_and_the_rule() {
    let interval = |lower, upper| vec![Interval { lower, upper }];
    let wrong = |rows: &[Row]| {
        let error = instance(rows).unwrap_err();
        (error.buffer, error.to_string())
    };
    let good: Row = (4, 0, None, interval(0, 4));
    let cases: [(Row, &str); 6] = [
        ((0, 0, None, interval(0, 4)), "buffer 1: the size is zero"),
        ((4, 0, None, interval(4, 4)), "buffer 1: the lifetime [4, 4) is empty: it must end after it begins"),
        (
            (4, 0, None, interval(4, -1)),
            "buffer 1: the lifetime [4, -1) is empty: it must end after it begins",
        ),
        ((4, 0, None, vec![]), "buffer 1: the buffer has no lifetime"),
        (
            (u64::MAX - 4, 0, None, interval(0, 1)),
            "buffer 1: the sizes and alignments have more than 62 bits in all",
        ),
        (
            (4, 0, None, [interval(0, 5), interval(4, 6)].concat()),
            "buffer 1: the lifetime [4, 6) begins before the one in front of it ends",
        ),
    ];
    for (row, message) in cases {
        assert_eq!(wrong(&[good.clone(), row]), (Some(1), message.to_owned()));
    }
    let fixed = |offset| (4, 0, Some(offset), interval(0, 4));
    assert_eq!(
        wrong(&[fixed(0), fixed(3)]).1,
        "buffer 1: at its fixed offset the buffer overlaps buffer 0, which lives at the same time"
    );
    assert!(instance(&[fixed(0), fixed(4)]).is_ok());
    let buffer = Buffer {
        fixed_offset: Some(HeapOffset::new(6)),
        ..Buffer::new(ByteSize::new(4)).with_alignment(Alignment::new(4).unwrap())
    };
    let error = Instance::with_intervals(vec![buffer], vec![interval(0, 1)]).unwrap_err();
    assert_eq!(error.to_string(), "buffer 0: the fixed offset 6 is not a multiple of the alignment 4");
    let error = Instance::with_order(vec![Buffer::new(ByteSize::ZERO)], |_, _| false).unwrap_err();
    assert_eq!(error.rule, Violated::NoSize);
    let error = Instance::with_order(vec![Buffer::new(ByteSize::new(1)); 2], |_, _| true).unwrap_err();
    assert_eq!(error.to_string(), "buffer 0: the buffer is before buffer 0 and after it");
    assert_eq!(
        Instance::with_intervals(vec![], vec![interval(0, 1)]).unwrap_err().to_string(),
        "there are 0 buffers and 1 lifetimes"
    );
}

#[test]
fn nothing_takes_no_memory() {
    let packing = solved(&instance(&[]).unwrap(), 10);
    assert_eq!((packing.height, packing.proved), (ByteSize::ZERO, true));
}

#[test]
fn the_load_names_its_instant() {
    let rows: Vec<Row> = [(3, 0, 4), (5, 2, 6), (4, 6, 9)]
        .map(|(size, lower, upper)| (size, 0, None, vec![Interval { lower, upper }]))
        .into();
    assert_eq!(instance(&rows).unwrap().load(), Load { size: ByteSize::new(8), instant: Some(2) });
}

/// At time 1 three buffers of 2, 2 and 1 are live at most in pairs, but alignment keeps them apart.
#[test]
fn the_bound_rises_above_the_load_when_alignment_costs_memory() {
    let row = |size, log2, lower, upper| (size, log2, None, vec![Interval { lower, upper }]);
    let instance = instance(&[row(3, 2, 0, 2), row(3, 2, 1, 3)]).unwrap();
    let packing = solved(&instance, 1000);
    assert_eq!((packing.height.get(), packing.proved, instance.load().size.get()), (7, true, 6));
}

#[test]
fn the_planner_stops_when_it_is_told_to() {
    let rows: Vec<Row> = (0..60)
        .map(|number| {
            let lower = i64::try_from(number * 7 % 30).unwrap();
            (100 + number * 37 % 91, 0, None, vec![Interval { lower, upper: lower + 9 }])
        })
        .collect();
    let instance = instance(&rows).unwrap();
    let mut asked = 0;
    let packing = solve(&instance, &SolveOptions { steps: u64::MAX, ..SolveOptions::default() }, &mut || {
        asked += 1;
        asked > 3
    });
    assert_eq!(check(&instance, &packing.offsets), Ok(packing.height));
    assert!(asked <= 5, "{asked}");
}

/// A buffer that grows makes those move that conflict with it; what lives at another time stays where it was.
#[test]
fn a_change_moves_its_neighbours_alone() {
    let interval = |lower, upper| vec![Interval { lower, upper }];
    let lives = [(0, 2), (0, 2), (5, 7), (5, 7)].map(|(lower, upper)| interval(lower, upper));
    let offsets = [0, 4, 4, 0].map(HeapOffset::new);
    let buffers = |first| [first, 4, 4, 4].map(|size| Buffer::new(ByteSize::new(size))).to_vec();
    let grown = Instance::with_intervals(buffers(5), lives.to_vec()).unwrap();
    let packing = solve(&hinted(&grown, &offsets), &SolveOptions::default(), &mut || false);
    assert_eq!((packing.height.get(), packing.proved), (9, true));
    assert_eq!(packing.offsets[2..], offsets[2..]);
}

/// Instances that are too large to be searched are packed correctly, and better than by first fit.
#[test]
fn the_heaviest_sections_are_packed_first() {
    let mut random = search::Random::new(5);
    let mut below = |bound: u64| random.next_below(bound);
    let mut improved = 0;
    for _ in 0..10 {
        let rows: Vec<Row> = (0..60)
            .map(|number| {
                let lower = i64::try_from(below(30)).unwrap();
                let upper = lower + 1 + i64::try_from(below(20)).unwrap();
                let fixed = (number == 0).then_some(0);
                (1 + below(50), 0, fixed, vec![Interval { lower, upper }])
            })
            .collect();
        let instance = instance(&rows).unwrap();
        let (options, mut stop) = (SolveOptions { steps: 1500, ..SolveOptions::default() }, || false);
        let mut planner = solve::Planner::new(&instance, &options, &mut stop);
        let mut part = planner.part((0..60).collect());
        let first_fit = part.height;
        planner.search_in_turns(&mut part, None, 0);
        let offsets: Vec<HeapOffset> = planner.offsets.iter().copied().map(HeapOffset::new).collect();
        assert_eq!(check(&instance, &offsets), Ok(ByteSize::new(part.height)));
        assert!(part.height >= instance.load().size.get() && part.height <= first_fit);
        improved += usize::from(part.height < first_fit);
    }
    assert!(improved >= 8, "{improved} of 10");
}

/// Tables in which no fixed order of first fit is good: sizes over 14 powers of two, lifetimes over 10, each power as
/// likely as the others. The best of the fixed orders is 6 % above the load on average.
#[test]
fn changed_orders_close_most_of_the_gap() {
    let (mut ordered, mut searched) = (0, 0);
    for seed in 1..=4 {
        let mut random = search::Random::new(seed);
        let mut power = |powers: u64| {
            let power = random.next_below(powers);
            (1 << power) + random.next_below(1 << power)
        };
        let rows: Vec<_> = (0..600_u64)
            .map(|number| {
                let lower = i64::try_from(number * 2).unwrap();
                let interval = Interval { lower, upper: lower + i64::try_from(power(10)).unwrap() };
                (Buffer::new(ByteSize::new(power(14))), vec![interval])
            })
            .collect();
        let (buffers, lives) = rows.into_iter().unzip();
        let instance = Instance::with_intervals(buffers, lives).unwrap();
        let gap = |steps| {
            let packing = solve(&instance, &SolveOptions { steps, ..SolveOptions::default() }, &mut || false);
            assert_eq!(check(&instance, &packing.offsets), Ok(packing.height));
            (packing.height.get() - instance.load().size.get()) * 1000 / instance.load().size.get()
        };
        ordered += gap(0);
        searched += gap(400);
    }
    assert!(
        searched * 2 <= ordered,
        "permille above the load, four tables: {ordered} by fixed orders, {searched}"
    );
}

/// Buffers of random sizes that live for up to one part of `parts` of the time.
fn random_table(count: u64, parts: u64, seed: u64) -> Instance {
    let mut random = search::Random::new(seed);
    let rows = (0..count).map(|_| {
        let size = 512 * (1 + random.next_below(2048));
        let lower = i64::try_from(random.next_below(count)).unwrap();
        let upper = lower + 1 + i64::try_from(random.next_below(count / parts)).unwrap();
        (Buffer::new(ByteSize::new(size)), vec![Interval { lower, upper }])
    });
    let (buffers, lives) = rows.unzip();
    Instance::with_intervals(buffers, lives).unwrap()
}

/// Returns the height of the rule of production planners: the largest buffer first, each in the smallest gap that holds
/// it, or in the lowest.
fn height_by_size(instance: &Instance, is_best_fit: bool) -> u64 {
    let mut order: Vec<usize> = (0..instance.buffers.len()).collect();
    order.sort_by_key(|&buffer| (std::cmp::Reverse(instance.buffers[buffer].size), buffer));
    let mut placed: Vec<(u64, u64, usize)> = Vec::new();
    for buffer in order {
        let size = instance.buffers[buffer].size.get();
        let (mut bottom, mut gaps) = (0, Vec::new());
        for &(start, end, _) in placed.iter().filter(|&&(.., other)| instance.conflict(buffer, other)) {
            if start >= bottom + size {
                gaps.push((if is_best_fit { start - bottom } else { 0 }, bottom));
            }
            bottom = bottom.max(end);
        }
        let offset = gaps.into_iter().min().map_or(bottom, |(_, bottom)| bottom);
        let at = placed.partition_point(|&(start, ..)| start < offset);
        placed.insert(at, (offset, offset + size, buffer));
    }
    placed.iter().map(|&(_, end, _)| end).max().unwrap_or(0)
}

#[test]
fn the_first_packing_is_no_higher_than_those_of_the_rules_by_size() {
    for seed in 1..=6 {
        let instance = random_table(1500, 1 << seed, seed);
        let height = solved(&instance, 0).height.get();
        for is_best_fit in [false, true] {
            let by_rule = height_by_size(&instance, is_best_fit);
            assert!(height <= by_rule, "seed {seed}, best fit {is_best_fit}: {height} > {by_rule}");
        }
    }
}

#[test]
fn a_table_of_thousands_of_random_buffers_is_packed_at_its_load() {
    let packing = solved(&random_table(5000, 100, 1), 40_000);
    assert_eq!((packing.height, packing.proved), (packing.lower_bound, true), "{} steps", packing.steps);
}
