use proptest::prelude::*;

use super::*;

fn bytes(bytes: u64) -> ByteSize {
    ByteSize::new(bytes)
}

#[test]
fn heaps_that_fit_are_paged_in_once() {
    let mut sequence = Sequence::default();
    let evicted = sequence.heap(bytes(3), Beginning::Evicted);
    let created = sequence.heap(bytes(5), Beginning::Created);
    for _ in 0..4 {
        sequence.submission(bytes(8), [evicted, created, evicted]);
    }
    assert_eq!(sequence.lower_bound(), bytes(3));
}

#[test]
fn a_created_heap_is_paged_in_after_eviction() {
    let mut sequence = Sequence::default();
    let first = sequence.heap(bytes(4), Beginning::Created);
    let second = sequence.heap(bytes(4), Beginning::Created);
    for heap in [first, second, first] {
        sequence.submission(bytes(6), [heap]);
    }
    // Two bytes of the first heap are kept.
    assert_eq!(sequence.lower_bound(), bytes(2));
}

#[test]
fn a_submission_larger_than_its_budget_pushes_all_else_out() {
    let mut sequence = Sequence::default();
    let small = sequence.heap(bytes(1), Beginning::Created);
    let large = sequence.heap(bytes(9), Beginning::Evicted);
    for heap in [small, large, small] {
        sequence.submission(bytes(8), [heap]);
    }
    // Of the large heap, 7 bytes could be kept at the end, but are not used again.
    assert_eq!(sequence.lower_bound(), bytes(10));
}

#[test]
fn a_budget_that_shrinks_costs_what_no_longer_fits() {
    let mut sequence = Sequence::default();
    let heaps: Vec<_> = (0..4).map(|_| sequence.heap(bytes(2), Beginning::Created)).collect();
    sequence.submission(bytes(8), heaps.iter().copied());
    sequence.submission(bytes(5), [heaps[0]]);
    sequence.submission(bytes(8), heaps.iter().copied());
    assert_eq!(sequence.lower_bound(), bytes(3));
}

#[test]
fn the_largest_sizes_do_not_overflow() {
    let mut sequence = Sequence::default();
    let heaps: Vec<_> = (0..3).map(|_| sequence.heap(ByteSize::MAX, Beginning::Evicted)).collect();
    for _ in 0..2 {
        sequence.submission(ByteSize::ZERO, heaps.iter().copied());
        sequence.submission(ByteSize::ZERO, []);
    }
    assert_eq!(sequence.lower_bound(), ByteSize::MAX);
}

/// N equal heaps in turn, with room for C: once it is warm, the optimum misses (N - C) / (N - 1) of the uses.
#[test]
fn cyclic_use_costs_what_the_closed_form_says() {
    for (heaps, room) in [(10_u64, 4_u64), (7, 6), (20, 10), (5, 2)] {
        let mut sequence = Sequence::default();
        let all: Vec<_> = (0..heaps).map(|_| sequence.heap(bytes(1), Beginning::Evicted)).collect();
        let (warm, measured) = (heaps * 10, heaps * (heaps - 1) * 10);
        let after = |uses: u64| {
            let mut sequence = sequence.clone();
            for &heap in all.iter().cycle().take(usize::try_from(uses).unwrap()) {
                sequence.submission(bytes(room), [heap]);
            }
            sequence.lower_bound().get()
        };
        let (bound_warm, bound) = (after(warm), after(warm + measured));
        // The last uses before the end keep nothing: within one round.
        let expected = measured * (heaps - room) / (heaps - 1);
        assert!((bound - bound_warm).abs_diff(expected) <= heaps, "{heaps} heaps, room for {room}");
    }
}

/// A sequence small enough to try every choice.
#[derive(Debug, Clone)]
struct Tiny {
    heaps: Vec<(u64, Beginning)>,
    submissions: Vec<(u64, Vec<usize>)>,
}

impl Tiny {
    fn sequence(&self) -> Sequence {
        let mut sequence = Sequence::default();
        let heaps: Vec<_> =
            self.heaps.iter().map(|&(size, beginning)| sequence.heap(bytes(size), beginning)).collect();
        for (budget, uses) in &self.submissions {
            sequence.submission(bytes(*budget), uses.iter().map(|&heap| heaps[heap]));
        }
        sequence
    }

    /// Returns the sequence with every heap cut into heaps of one byte, which are used together.
    fn paged(&self) -> Self {
        let mut heaps = Vec::new();
        let mut pages = Vec::new();
        for &(size, beginning) in &self.heaps {
            pages.push(heaps.len()..heaps.len() + usize::try_from(size).unwrap());
            heaps.extend((0..size).map(|_| (1, beginning)));
        }
        let submissions = self
            .submissions
            .iter()
            .map(|(budget, uses)| (*budget, uses.iter().flat_map(|&heap| pages[heap].clone()).collect()))
            .collect();
        Self { heaps, submissions }
    }

    /// Returns the fewest bytes that can be paged in if only whole heaps are evicted: tries every set of
    /// resident heaps after every submission.
    fn optimum(&self) -> u64 {
        let sets = 1_usize << self.heaps.len();
        let size = |set: usize| -> u64 {
            self.heaps
                .iter()
                .enumerate()
                .filter(|(heap, _)| set >> heap & 1 == 1)
                .map(|(_, heap)| heap.0)
                .sum()
        };
        let sizes: Vec<_> = (0..sets).map(size).collect();
        let created = self.heaps.iter().enumerate().filter(|(_, heap)| heap.1 == Beginning::Created);
        let created: usize = created.map(|(heap, _)| 1 << heap).sum();
        let mut begun = 0;
        let mut cost = vec![None; sets];
        cost[0] = Some(0);
        for (budget, uses) in &self.submissions {
            let used = uses.iter().fold(0, |set, heap| set | 1 << heap);
            let free = created & !begun;
            begun |= used;
            let mut after: Vec<Option<u64>> = vec![None; sets];
            for before in 0..sets {
                let Some(paid) = cost[before] else { continue };
                let paid = paid + sizes[used & !before & !free];
                // Any subset of the other heaps may be kept, if it fits.
                let others = before & !used;
                let mut kept = others;
                loop {
                    if kept == 0 || sizes[kept | used] <= *budget {
                        let best = &mut after[kept | used];
                        *best = Some(best.map_or(paid, |best| best.min(paid)));
                    }
                    if kept == 0 {
                        break;
                    }
                    kept = (kept - 1) & others;
                }
            }
            cost = after;
        }
        cost.into_iter().flatten().min().unwrap()
    }
}

fn tiny(heaps: usize, size: u64) -> impl Strategy<Value = Tiny> {
    let beginning = prop_oneof![Just(Beginning::Created), Just(Beginning::Evicted)];
    prop::collection::vec((1..=size, beginning), 1..=heaps).prop_flat_map(move |heaps| {
        let all = heaps.len();
        let total: u64 = heaps.iter().map(|heap| heap.0).sum();
        let submission = (0..=total, prop::collection::vec(0..all, 0..=2));
        prop::collection::vec(submission, 1..9)
            .prop_map(move |submissions| Tiny { heaps: heaps.clone(), submissions })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_policy_beats_the_bound(tiny in tiny(5, 4)) {
        let (bound, optimum) = (tiny.sequence().lower_bound().get(), tiny.optimum());
        prop_assert!(bound <= optimum, "{} > {}", bound, optimum);
    }

    #[test]
    fn the_bound_is_the_optimum_when_heaps_are_paged_byte_by_byte(tiny in tiny(4, 2)) {
        prop_assert_eq!(tiny.sequence().lower_bound().get(), tiny.paged().optimum());
    }
}
