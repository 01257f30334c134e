//! Tests the published policies against separate textbook implementations, with heaps of one byte.

use std::collections::{BTreeMap, VecDeque};

use proptest::prelude::*;

use heapwright_core::residency::policy::{
    Admission, EvictionPolicy, HeapSlot, Moment, PolicyKind, Withdrawal,
};
use heapwright_core::residency::{
    GroupMemory, NewManagedHeap, Plan, PlanOutcome, PlanRequest, PriorityLevel, ResidencyPlanner,
    SegmentGroup, Status,
};
use heapwright_core::{ByteSize, FenceValue};
use heapwright_simulation::policy_kinds as kinds;

/// A cache as in the literature: `request` returns whether it is a hit.
trait Textbook {
    fn request(&mut self, id: u32) -> bool;
}

/// A policy, driven as a cache of a number of heaps of one byte.
#[derive(Debug)]
struct Cache {
    policy: Box<dyn EvictionPolicy>,
    room: usize,
    held: Vec<u32>,
    requests: u64,
}

impl Cache {
    fn new(kind: &PolicyKind, room: usize) -> Self {
        Self { policy: kind.create(), room, held: Vec::new(), requests: 0 }
    }
}

impl Textbook for Cache {
    fn request(&mut self, id: u32) -> bool {
        self.requests += 1;
        let now = Moment { submission: self.requests, time: std::time::Duration::from_millis(self.requests) };
        let heap = HeapSlot::new(id);
        if self.held.contains(&id) {
            self.policy.touch(heap, now);
            return true;
        }
        if self.held.len() == self.room {
            let mut victims = Vec::new();
            let one = ByteSize::new(1);
            self.policy.choose(one, now, &mut |heap| {
                victims.push(heap);
                Some(one)
            });
            let &[victim] = &*victims else { panic!("{victims:?} is not one victim") };
            self.policy.withdraw(victim, Withdrawal::Evicted, now);
            let at = self.held.iter().position(|&held| held == victim.get()).expect("it is held");
            self.held.remove(at);
        }
        self.policy.admit(heap, ByteSize::new(1), Admission::PagedIn, now);
        self.held.push(id);
        false
    }
}

/// LRU: the order of last use, the oldest first.
struct TextbookLru {
    room: usize,
    order: Vec<u32>,
}

impl Textbook for TextbookLru {
    fn request(&mut self, id: u32) -> bool {
        let at = self.order.iter().position(|&other| other == id);
        match at {
            Some(at) => {
                self.order.remove(at);
            }
            None if self.order.len() == self.room => {
                self.order.remove(0);
            }
            None => {}
        }
        self.order.push(id);
        at.is_some()
    }
}

/// SIEVE's queue, the newest first, as in its paper; the hand is an object.
struct TextbookSieve {
    room: usize,
    queue: Vec<(u32, bool)>,
    hand: Option<u32>,
}

impl Textbook for TextbookSieve {
    fn request(&mut self, id: u32) -> bool {
        if let Some(object) = self.queue.iter_mut().find(|object| object.0 == id) {
            object.1 = true;
            return true;
        }
        if self.queue.len() == self.room {
            let tail = self.queue.len() - 1;
            let mut at =
                self.hand.map_or(tail, |hand| self.queue.iter().position(|object| object.0 == hand).unwrap());
            while self.queue[at].1 {
                self.queue[at].1 = false;
                at = at.checked_sub(1).unwrap_or(tail);
            }
            self.hand = at.checked_sub(1).map(|before| self.queue[before].0);
            self.queue.remove(at);
        }
        self.queue.insert(0, (id, false));
        false
    }
}

/// S3-FIFO's queues, the head first, as in its paper; an object that moves from S to M does not cause an
/// eviction from M at once.
struct TextbookS3Fifo {
    room: usize,
    small: VecDeque<(u32, u8)>,
    main: VecDeque<(u32, u8)>,
    ghost: VecDeque<u32>,
}

impl TextbookS3Fifo {
    fn evict(&mut self) {
        // S.size >= 0.1 * cache size, in whole objects.
        let mut from_small = self.small.len() * 10 >= self.room;
        loop {
            if from_small && let Some((id, uses)) = self.small.pop_back() {
                if uses > 1 {
                    self.main.push_front((id, 0));
                    from_small = self.small.len() * 10 >= self.room;
                    continue;
                }
                self.ghost.push_front(id);
                self.ghost.truncate(self.room - self.room / 10);
                return;
            }
            match self.main.pop_back() {
                Some((_, 0)) => return,
                Some((id, uses)) => self.main.push_front((id, uses - 1)),
                None => from_small = true,
            }
        }
    }
}

impl Textbook for TextbookS3Fifo {
    fn request(&mut self, id: u32) -> bool {
        if let Some(object) = self.small.iter_mut().chain(&mut self.main).find(|object| object.0 == id) {
            object.1 = (object.1 + 1).min(3);
            return true;
        }
        if self.small.len() + self.main.len() == self.room {
            self.evict();
        }
        if let Some(at) = self.ghost.iter().position(|&ghost| ghost == id) {
            self.ghost.remove(at);
            self.main.push_front((id, 0));
        } else {
            self.small.push_front((id, 0));
        }
        false
    }
}

/// LIRS' stack and queue; the top is last and the front is first. Until memory is full for the first time,
/// all blocks are LIR.
struct TextbookLirs {
    room: usize,
    most_lir: usize,
    stack: Vec<u32>,
    queue: Vec<u32>,
    lir: BTreeMap<u32, bool>,
}

impl TextbookLirs {
    fn prune(&mut self) {
        while self.stack.first().is_some_and(|id| self.lir.get(id) != Some(&true)) {
            self.stack.remove(0);
        }
    }

    fn demote(&mut self) {
        self.prune();
        while self.lir.values().filter(|&&lir| lir).count() > self.most_lir {
            let bottom = self.stack.remove(0);
            self.lir.insert(bottom, false);
            self.queue.push(bottom);
            self.prune();
        }
    }

    fn raise(&mut self, id: u32) -> bool {
        let at = self.stack.iter().position(|&other| other == id);
        if let Some(at) = at {
            self.stack.remove(at);
        }
        self.stack.push(id);
        at.is_some()
    }
}

impl Textbook for TextbookLirs {
    fn request(&mut self, id: u32) -> bool {
        let resident = self.lir.get(&id).copied();
        if resident.is_none() && self.lir.len() == self.room {
            self.most_lir = self.room - self.room.div_ceil(100);
            self.demote();
            let victim = self.queue.remove(0);
            self.lir.remove(&victim);
        }
        let in_stack = self.raise(id);
        let room_for_lir = self.lir.values().filter(|&&lir| lir).count() < self.most_lir;
        self.queue.retain(|&other| other != id);
        let lir = resident == Some(true) || in_stack || resident.is_none() && room_for_lir;
        self.lir.insert(id, lir);
        if !lir {
            self.queue.push(id);
        }
        self.demote();
        resident.is_some()
    }
}

fn textbook(kind: &PolicyKind, room: usize) -> Option<Box<dyn Textbook>> {
    Some(match kind.name() {
        // Nothing is evicted ahead of need here, so it is LRU.
        "lru" | "d3dx12-residency" => Box::new(TextbookLru { room, order: Vec::new() }),
        "sieve" => Box::new(TextbookSieve { room, queue: Vec::new(), hand: None }),
        "s3-fifo" => Box::new(TextbookS3Fifo {
            room,
            small: VecDeque::new(),
            main: VecDeque::new(),
            ghost: VecDeque::new(),
        }),
        "lirs" => Box::new(TextbookLirs {
            room,
            most_lir: usize::MAX,
            stack: Vec::new(),
            queue: Vec::new(),
            lir: BTreeMap::new(),
        }),
        _ => return None,
    })
}

/// Generates realistic requests, from consecutive parts of several kinds.
fn requests() -> impl Strategy<Value = Vec<u32>> {
    let uniform = prop::collection::vec(0..60_u32, 1..200);
    // A few heaps are requested often: the square of a uniform number.
    let skewed = prop::collection::vec((0..100_u32).prop_map(|unit| unit * unit / 200), 1..200);
    let cyclic = (0..40_u32, 1..40_u32, 1..5_usize)
        .prop_map(|(from, len, rounds)| (from..from + len).cycle().take(len as usize * rounds).collect());
    let part = prop_oneof![uniform, skewed, cyclic];
    prop::collection::vec(part, 1..6).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn hits_are_those_of_a_textbook(requests in requests(), room in 2..40_usize) {
        for kind in kinds() {
            let Some(mut textbook) = textbook(&kind, room) else { continue };
            let mut cache = Cache::new(&kind, room);
            for (number, &id) in requests.iter().enumerate() {
                prop_assert_eq!(
                    cache.request(id), textbook.request(id), "{}, request {} for {}", kind, number, id
                );
            }
        }
    }
}

fn hits(name: &str, room: usize, requests: impl IntoIterator<Item = u32>) -> Vec<bool> {
    let kind = kinds().into_iter().find(|kind| kind.name() == name).expect("it is one of them");
    let mut cache = Cache::new(&kind, room);
    requests.into_iter().map(|id| cache.request(id)).collect()
}

/// N equal heaps in turn, with room for C < N: a policy based on age alone always evicts the heap that is
/// needed next.
#[test]
fn cyclic_use_always_misses_with_lru_and_is_near_the_optimum_with_next_use() {
    for (heaps, room) in [(10_u32, 7_usize), (50, 40), (100, 30)] {
        let (warm, measured) = (heaps as usize * 5, heaps as usize * 20);
        let misses = |kind| {
            let hits = hits(kind, room, (0..heaps).cycle().take(warm + measured));
            hits[warm..].iter().filter(|&&hit| !hit).count()
        };
        for kind in ["lru", "d3dx12-residency"] {
            assert_eq!(misses(kind), measured, "{kind}, {heaps} heaps, room for {room}");
        }
        // (N - C) / (N - 1) of the uses, within one round.
        let optimum = measured * (heaps as usize - room) / (heaps as usize - 1);
        let next_use = misses("next-use");
        assert!(
            next_use + 2 * room >= optimum && next_use <= optimum + heaps as usize,
            "{heaps} heaps, room for {room}: {next_use} misses, the optimum is {optimum}"
        );
        // LIRS always keeps its share: all other heaps always miss.
        let kept = room - room.div_ceil(100);
        assert_eq!(misses("lirs"), measured / heaps as usize * (heaps as usize - kept));
    }
}

/// Room for three; worked out by hand from the description in each paper.
#[test]
fn small_examples_go_as_worked_out_by_hand() {
    let requests = [1, 2, 3, 1, 4, 5, 1, 2];
    let marks =
        |kind| hits(kind, 3, requests).into_iter().map(|hit| if hit { 'h' } else { '.' }).collect::<String>();
    // 4 replaces 2, 5 replaces 3; 1 stays; 2 replaces 4.
    assert_eq!(marks("lru"), "...h..h.");
    // The hand skips 1 and evicts 2, then 3; 1 is a hit.
    assert_eq!(marks("sieve"), "...h..h.");
    // Two heaps are kept: 2 was used longest ago, and becomes a passing heap first, then 4 and 5 replace each
    // other.
    assert_eq!(marks("lirs"), "...h..h.");
}

/// An example for S3-FIFO, with more requests.
#[test]
fn s3_fifo_goes_as_worked_out_by_hand() {
    // All are in the small queue: 4, 5 and the second 1 evict 1 (used only once more), 2 and 3; the second 2
    // evicts 4. Both return while they are remembered, and so enter the main queue: 6 to 9 evict 5, and one
    // another.
    let requests = [1, 2, 3, 1, 4, 5, 1, 2, 6, 7, 8, 9, 1, 2];
    let hits = hits("s3-fifo", 3, requests);
    let hits: Vec<_> = hits.iter().enumerate().filter(|(_, hit)| **hit).map(|(at, _)| at).collect();
    assert_eq!(hits, [3, 12, 13]);
}

#[test]
fn sieve_lets_new_data_leave_before_old_data_in_use() {
    // 1 and 2 are used repeatedly, while the other heaps are used once.
    let requests = [1, 2, 3, 1, 2, 4, 1, 2, 5, 1, 2, 6, 1, 2];
    let hits = hits("sieve", 3, requests);
    let of_used: Vec<_> =
        requests.iter().zip(&hits).skip(3).filter(|(id, _)| **id < 3).map(|(_, hit)| *hit).collect();
    assert_eq!(of_used, [true; 8]);
}

/// Returns the number of misses of a policy alone, which is told of uses by a planner.
fn misses(kind: &PolicyKind, room: usize, ids: &[u32]) -> usize {
    let mut planner = ResidencyPlanner::new(false, || kind.create());
    let (group, size, level) = (SegmentGroup::Local, ByteSize::new(1), PriorityLevel::Normal);
    let budget = ByteSize::new(room as u64);
    planner.set_memory(group, GroupMemory { budget, external: ByteSize::ZERO });
    let queue = planner.add_queue();
    let count = ids.iter().max().map_or(0, |&last| last + 1);
    let new = NewManagedHeap { group, size, level, status: Status::Evicted };
    let heaps: Vec<_> = (0..count).map(|_| planner.add(new, Moment::default()).expect("few")).collect();
    let (mut misses, mut plan) = (0, Plan::default());
    for (value, &id) in (1..).map(FenceValue::new).zip(ids) {
        let heap = [heaps[id as usize]];
        let submission = planner.begin(queue, value, std::time::Duration::ZERO);
        if planner.are_resident(&heap).expect("it lives") {
            planner.touch(&submission, &heap).expect("it lives");
        } else {
            let request = PlanRequest {
                submission: Some(&submission),
                heaps: &heap,
                list_ends: &[1],
                ..PlanRequest::new(submission.moment())
            };
            assert_eq!(planner.plan(&request, &mut plan), Ok(PlanOutcome::Ready));
            assert_eq!(plan.make_resident, heap);
            planner.paged_in(&plan, value, submission.moment());
            misses += 1;
        }
        planner.complete(queue, value);
        planner.complete_paging(value);
    }
    misses
}

/// Checks the bounds of `Adaptive`. First uses count for no policy, and the capacity is the room.
fn check_bound(room: usize, ids: &[u32]) -> Result<(), String> {
    let first = ids.iter().collect::<std::collections::BTreeSet<_>>().len();
    let [adaptive, next_use, lru] = [PolicyKind::Adaptive, PolicyKind::NextUse, PolicyKind::Lru]
        .map(|kind| misses(&kind, room, ids) - first);
    // A submission has one heap here.
    let of_lru = lru * 17 / 16 + room * 65 / 64 + 1;
    // `next-use` is simulated at other moments than it is asked alone, which changes few of its choices.
    let of_both = next_use + lru + room + 1;
    let of_next_use = 37 * next_use + 3 * room + 1;
    if adaptive <= of_lru.min(of_both).min(of_next_use) {
        return Ok(());
    }
    Err(format!("{adaptive} misses with room for {room}; next-use alone {next_use}, lru alone {lru}"))
}

/// An adversary that always requests what the policy has just evicted makes every request a miss, also with
/// the experts alone as far as it is the same for them.
#[test]
fn adversaries_do_not_exceed_the_bound_of_adaptive() {
    for (heaps, room) in [(6_u32, 5_usize), (12, 8), (40, 20), (40, 39)] {
        let mut cache = Cache::new(&PolicyKind::Adaptive, room);
        let mut ids = Vec::new();
        for turn in 0..6_000_u32 {
            // From time to time a hit, so that there are different intervals.
            let missing = (0..heaps).map(|at| (at + turn / 7) % heaps).find(|id| !cache.held.contains(id));
            let id = if turn % 5 == 4 { turn * 7 % heaps } else { missing.expect("not all fit") };
            cache.request(id);
            ids.push(id);
        }
        check_bound(room, &ids).expect("within the bound");
        // Cyclic use, which is bad for LRU, and use with LRU's best order, in turn.
        for length in [10, 100, 500] {
            let phase = |turn: u32| {
                if (turn / length).is_multiple_of(2) {
                    turn % heaps
                } else {
                    (turn * turn % 7919) % (heaps / 2)
                }
            };
            let ids: Vec<u32> = (0..6_000).map(phase).collect();
            check_bound(room, &ids).expect("within the bound");
        }
    }
}

/// The policy changes its leader: it is near the better expert where they differ most, in both directions.
#[test]
fn adaptive_is_near_the_better_expert() {
    let cycle: Vec<u32> = (0..50).cycle().take(20_000).collect();
    let [adaptive, next_use, lru] =
        [PolicyKind::Adaptive, PolicyKind::NextUse, PolicyKind::Lru].map(|kind| misses(&kind, 40, &cycle));
    assert_eq!(lru, cycle.len(), "lru always misses");
    assert!(adaptive < next_use + 200, "{adaptive} misses, next-use alone {next_use}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn random_sequences_do_not_exceed_the_bound_of_adaptive(
        room in 1..12_usize,
        // Phases: the first heap, the number of heaps, the step, and the length.
        phases in prop::collection::vec((0..10_u32, 1..16_u32, 0..5_u32, 1..200_u32), 1..20),
    ) {
        let ids: Vec<u32> = phases
            .iter()
            .flat_map(|&(first, count, step, length)| {
                (0..length).map(move |turn| first + turn.wrapping_mul(step + turn % (step + 1)) % count)
            })
            .collect();
        if let Err(exceeded) = check_bound(room, &ids) {
            prop_assert!(false, "{}", exceeded);
        }
    }
}
