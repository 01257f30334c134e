use std::collections::BTreeSet;

use super::*;

/// Heaps of one byte, some of them resident, and a program that uses them.
#[derive(Default)]
struct Program {
    policy: NextUse,
    resident: BTreeSet<u32>,
    submission: u64,
    missed: Vec<u32>,
}

impl Program {
    fn now(&self) -> Moment {
        Moment { submission: self.submission, time: std::time::Duration::ZERO }
    }

    /// Makes a submission that uses these heaps, and pages in the missing ones.
    fn submit(&mut self, heaps: impl IntoIterator<Item = u32>) {
        self.submission += 1;
        let now = self.now();
        for heap in heaps {
            if self.resident.insert(heap) {
                self.missed.push(heap);
                self.policy.admit(HeapSlot(heap), ByteSize::new(1), Admission::PagedIn, now);
            } else {
                self.policy.touch(HeapSlot(heap), now);
            }
        }
    }

    /// Returns the order of eviction of all resident heaps.
    fn order(&mut self) -> Vec<u32> {
        let mut victims = Vec::new();
        let now = self.now();
        self.policy.choose(ByteSize::MAX, now, &mut |heap| {
            victims.push(heap.0);
            Some(ByteSize::new(1))
        });
        victims
    }

    fn evict(&mut self, heap: u32) {
        let now = self.now();
        assert!(self.resident.remove(&heap));
        self.policy.withdraw(HeapSlot(heap), Withdrawal::Evicted, now);
    }

    /// Makes a submission like [`submit`](Self::submit), with at most `room` heaps resident, and without
    /// evicting its own heaps.
    fn submit_within(&mut self, room: usize, heaps: impl IntoIterator<Item = u32>) {
        let heaps: Vec<_> = heaps.into_iter().collect();
        let union: BTreeSet<_> = self.resident.iter().chain(&heaps).copied().collect();
        let over = union.len().saturating_sub(room);
        self.submission += 1;
        let order = self.order();
        self.submission -= 1;
        for &heap in order.iter().filter(|heap| !heaps.contains(heap)).take(over) {
            self.evict(heap);
        }
        self.submit(heaps);
    }

    fn ahead(&mut self, fullness: f64) -> Vec<u32> {
        let mut victims = Vec::new();
        let now = self.now();
        self.policy.choose_ahead(ByteSize::MAX, fullness, now, &mut |heap| {
            victims.push(heap.0);
            Some(ByteSize::new(1))
        });
        victims
    }
}

#[test]
fn cyclic_use_evicts_the_most_recently_used() {
    let mut program = Program::default();
    for turn in 0..40 {
        program.submit([turn % 8]);
    }
    // 7 was used now, and is needed again in eight submissions; 0 is needed next.
    assert_eq!(program.order(), [7, 6, 5, 4, 3, 2, 1, 0]);
}

#[test]
fn longer_intervals_are_evicted_first() {
    let mut program = Program::default();
    for turn in 0..120 {
        program.submit((1..=12).filter(|interval| turn % interval == 0));
    }
    // The last submission has number 119. 12, 6, 4, 3 and so on were last used a whole interval ago, and are
    // due next.
    let order = program.order();
    assert_eq!(order.len(), 12);
    // 11 was used in 110, 7 in 119, 8 in 112, 9 in 117, 10 in 110.
    let left = |heap: u32| (1..).find(|ahead| (119 + ahead) % heap == 0).unwrap();
    let lefts: Vec<u32> = order.iter().map(|&heap| left(heap)).collect();
    assert!(lefts.is_sorted_by(|sooner, later| sooner >= later), "{order:?}: {lefts:?}");
}

#[test]
fn uses_within_one_submission_are_one() {
    let (mut once, mut often) = (Program::default(), Program::default());
    for turn in 0..30 {
        once.submit([turn % 5]);
        often.submit([turn % 5, turn % 5, turn % 5]);
    }
    assert_eq!(once.order(), often.order());
}

#[test]
fn a_scan_is_recognised_in_its_second_pass() {
    let mut program = Program::default();
    for turn in 0..100_u32 {
        program.submit_within(20, [turn % 25]);
    }
    let misses = |program: &mut Program| std::mem::take(&mut program.missed).len();
    misses(&mut program);
    for turn in 0..96_u32 {
        program.submit_within(20, [turn % 25]);
    }
    // The optimum is (25 - 20) / (25 - 1) of 96; LRU misses all 96.
    assert_eq!(misses(&mut program), 20);
}

#[test]
fn finished_heaps_are_evicted_before_active_ones() {
    let mut program = Program::default();
    for _ in 0..50 {
        program.submit([0, 1, 2]);
    }
    // Another level: nothing of the old level is used any more.
    for _ in 0..4 {
        program.submit([10, 11, 12]);
    }
    let order = program.order();
    assert_eq!(BTreeSet::from_iter(&order[..3]), BTreeSet::from([&0, &1, &2]), "{order:?}");
}

#[test]
fn heaps_used_once_are_evicted_before_rarely_used_ones() {
    let mut program = Program::default();
    for turn in 0..400 {
        // 0 is used every 30 submissions, and each of the others once.
        let seldom = (turn % 30 == 0).then_some(0);
        program.submit_within(12, seldom.into_iter().chain([1, 1000 + turn]));
    }
    let of_seldom = program.missed.iter().filter(|&&heap| heap == 0).count();
    // Before its second use it was evicted, as nothing distinguished it from the others; from then on it is
    // kept. LRU pages it in 14 times.
    assert_eq!(of_seldom, 2);
}

#[test]
fn alternating_models_evict_the_one_just_served() {
    let mut program = Program::default();
    let serve = |program: &mut Program, model: u32, room| {
        for _ in 0..30 {
            for layer in 0..4 {
                program.submit_within(room, [model * 10 + layer]);
            }
        }
    };
    for round in 0..4 {
        for model in 0..3 {
            serve(&mut program, model, 9);
        }
        if round == 2 {
            program.missed.clear();
        }
    }
    // There is room for nine of twelve layers. LRU pages in all twelve in each round.
    assert!(program.missed.len() <= 8, "{:?}", program.missed);
}

#[test]
fn history_survives_eviction_but_not_removal() {
    let mut program = Program::default();
    for turn in 0..60 {
        program.submit([u32::from(turn % 20 != 0)]);
    }
    // 0 is used every 20 submissions.
    program.evict(0);
    program.submit([0, 1]);
    assert_eq!(program.policy.left(IN_RUN, HeapSlot(0), 61), 20 * u64::from(SUBMISSION));
    program.policy.forget(HeapSlot(0));
    program.resident.remove(&0);
    program.submit([0]);
    assert_eq!(program.policy.rows.get(HeapSlot(0)).map(|habit| habit.interval.mean), Some(0));
}

#[test]
fn alternating_gaps_are_predicted() {
    let mut habit = Habit::default();
    let mut now = 0;
    // Ten uses in a row, then a gap of 100 and one of 900 in turn.
    for gap in [100, 900, 100, 900, 100, 900, 100, 900] {
        for _ in 0..10 {
            now += 1;
            habit.learn(now);
        }
        assert_ne!(habit.gap(), gap * SUBMISSION / 2);
        now += gap;
    }
    for _ in 0..10 {
        now += 1;
        habit.learn(now);
    }
    assert!(habit.gap_is_regular());
    // One more than the pause: from the last use to the first use of the next run.
    assert_eq!(habit.gap(), 101 * SUBMISSION);
    assert_eq!(habit.interval.mean, SUBMISSION);
}

#[test]
fn only_long_absent_heaps_are_evicted_early() {
    let mut program = Program::default();
    for turn in 0..100 {
        program.submit([0, 1, 2 + turn % 2]);
    }
    program.submit([7]);
    for _ in 0..598 {
        program.submit([0]);
    }
    assert_eq!(program.ahead(1.0), []);
    program.submit([0]);
    assert_eq!(program.ahead(0.94), []);
    assert_eq!(program.ahead(f64::NAN), []);
    // 7 was used 599 submissions ago, 1 and 3 600, and 2 601.
    assert_eq!(BTreeSet::from_iter(program.ahead(0.95)), BTreeSet::from([1, 2, 3]));
    program.submit([0]);
    assert_eq!(BTreeSet::from_iter(program.ahead(0.95)), BTreeSet::from([1, 2, 3, 7]));
}
