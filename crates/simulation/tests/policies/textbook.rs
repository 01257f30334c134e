//! Tests LRU against a textbook implementation, and the bounds of the default policy, with heaps of one byte.

use proptest::prelude::*;

use heapwright_core::residency::policy::{
    Admission, EvictionPolicy, HeapSlot, Moment, PolicyKind, Withdrawal,
};
use heapwright_core::residency::{
    GroupMemory, NewManagedHeap, Plan, PlanOutcome, PlanRequest, PriorityLevel, ResidencyPlanner, Status,
};
use heapwright_core::{ByteSize, FenceValue, SegmentGroup};

/// A policy, driven as a cache of a number of heaps of one byte.
struct Cache {
    policy: Box<dyn EvictionPolicy>,
    room: usize,
    held: Vec<u32>,
    requests: u64,
}

impl Cache {
    fn new(policy: PolicyKind, room: usize) -> Self {
        Self { policy: policy.create(), room, held: Vec::new(), requests: 0 }
    }
}

impl Cache {
    /// Returns whether the request is a hit.
    fn request(&mut self, id: u32) -> bool {
        self.requests += 1;
        let now = Moment { submission: self.requests, time: std::time::Duration::from_millis(self.requests) };
        let heap = HeapSlot(id);
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
            let at = self.held.iter().position(|&held| held == victim.0).expect("it is held");
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

impl TextbookLru {
    /// Returns whether the request is a hit.
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
        let mut textbook = TextbookLru { room, order: Vec::new() };
        let mut cache = Cache::new(PolicyKind::Lru, room);
        for (number, &id) in requests.iter().enumerate() {
            prop_assert_eq!(cache.request(id), textbook.request(id), "request {} for {}", number, id);
        }
    }
}

fn hits(policy: PolicyKind, room: usize, requests: impl IntoIterator<Item = u32>) -> Vec<bool> {
    let mut cache = Cache::new(policy, room);
    requests.into_iter().map(|id| cache.request(id)).collect()
}

/// N equal heaps in turn, with room for C < N: a policy based on age alone always evicts the heap that is
/// needed next.
#[test]
fn cyclic_use_always_misses_with_lru_and_is_near_the_optimum_with_next_use() {
    for (heaps, room) in [(10_u32, 7_usize), (50, 40), (100, 30)] {
        let (warm, measured) = (heaps as usize * 5, heaps as usize * 20);
        let misses = |policy| {
            let hits = hits(policy, room, (0..heaps).cycle().take(warm + measured));
            hits[warm..].iter().filter(|&&hit| !hit).count()
        };
        assert_eq!(misses(PolicyKind::Lru), measured, "{heaps} heaps, room for {room}");
        // (N - C) / (N - 1) of the uses, within one round.
        let optimum = measured * (heaps as usize - room) / (heaps as usize - 1);
        let next_use = misses(PolicyKind::NextUse);
        assert!(
            next_use + 2 * room >= optimum && next_use <= optimum + heaps as usize,
            "{heaps} heaps, room for {room}: {next_use} misses, the optimum is {optimum}"
        );
    }
}

/// Returns the number of misses of a policy alone, which is told of uses by a planner.
fn misses(kind: PolicyKind, room: usize, ids: &[u32]) -> usize {
    let mut planner = ResidencyPlanner::new(false, || kind.create());
    let (group, size, level) = (SegmentGroup::Local, ByteSize::new(1), PriorityLevel::Normal);
    let budget = ByteSize::new(room as u64);
    planner.set_memory(group, GroupMemory { budget, external: ByteSize::ZERO });
    let queue = planner.add_queue();
    let count = ids.iter().max().map_or(0, |&last| last + 1);
    let new = NewManagedHeap { group, size, level, status: Status::Evicted };
    let heaps: Vec<_> = (0..count).map(|_| planner.add(new).expect("few")).collect();
    let (mut misses, mut plan) = (0, Plan::default());
    for (value, &id) in (1..).map(FenceValue::new).zip(ids) {
        let heap = [heaps[id as usize]];
        let submission = planner.begin(queue, value);
        if planner.are_resident(&heap).expect("it lives") {
            planner.touch(&submission, &heap).expect("it lives");
        } else {
            let request = PlanRequest {
                submission: Some(&submission),
                heaps: &heap,
                list_ends: &[1],
                ..Default::default()
            };
            assert_eq!(planner.plan(&request, &mut plan), Ok(PlanOutcome::Ready));
            assert_eq!(plan.make_resident, heap);
            planner.paged_in(&plan, value);
            misses += 1;
        }
        planner.complete(queue, value);
        planner.complete_paging(value);
    }
    misses
}

/// Cyclic use of more than fits, which is the worst for LRU: what is needed last is evicted.
#[test]
fn the_default_keeps_a_part_of_a_cycle() {
    let cycle: Vec<u32> = (0..50).cycle().take(20_000).collect();
    let [default, lru] = [PolicyKind::default(), PolicyKind::Lru].map(|kind| misses(kind, 40, &cycle));
    assert_eq!(lru, cycle.len(), "lru always misses");
    // The optimum misses 10 of 49 in each round.
    assert!(default < cycle.len() / 4, "{default} of {}", cycle.len());
}
